//! One call in the log: written before it is dispatched, and again with how it ended.
//!
//! Decides the words for an end. A call that is dropped was called off. It knows the tool's name and never an argument.

use tokio::time::Instant;

use crate::base::refusal::{Category, Code, Refusal};
use crate::bridge::clients::End;
use crate::os::log;
use crate::role::records::Records;
use crate::trust::audit::{AuditKind, AuditOutcome, AuditRecord, Surface};
use crate::wire::bridge::Outcome;

/// The records of one call. Dropping it writes the last one.
pub struct Entry<'a> {
    records: &'a Records,
    tool: &'static str,
    client: &'a str,
    started: Instant,
    sent: Option<(u64, u64)>,
    end: (AuditOutcome, Option<Code>),
}

impl<'a> Entry<'a> {
    /// Nothing is written yet. `client` ties the records of one client together.
    pub fn new(records: &'a Records, tool: &'static str, client: &'a str) -> Self {
        let end = (AuditOutcome::Cancelled, Some(Code::Cancelled));
        Self { records, tool, client, started: Instant::now(), sent: None, end }
    }

    /// It goes out as request `id` over the connection `generation`. What cannot be recorded is not done.
    pub fn begin(&mut self, id: u64, generation: u64) -> Result<(), Refusal> {
        self.sent = Some((id, generation));
        self.records
            .note(AuditKind::ToolCall, Surface::Broker, AuditOutcome::Begun, |record| self.fill(record))
    }

    /// How it ended.
    pub fn end(&mut self, result: &Result<Outcome, End>) {
        self.end = match result {
            Ok(_) => (AuditOutcome::Done, None),
            Err(End::Returned) => (AuditOutcome::Unchanged, None),
            Err(End::Refused(refusal)) => (outcome(refusal.code), Some(refusal.code)),
        };
    }

    fn fill(&self, mut record: AuditRecord) -> AuditRecord {
        record.tool = Some(self.tool.into());
        record.cid = Some(self.client.into());
        (record.req, record.conn) = self.sent.unzip();
        record
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let (outcome, code) = self.end;
        let took = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let written = self.records.note(AuditKind::ToolCall, Surface::Broker, outcome, |record| {
            AuditRecord { code, dur_ms: Some(took), ..self.fill(record) }
        });
        if let Err(refusal) = written {
            // What it ends was recorded before; the next call will be refused.
            log::error(format_args!("the end of a call was not recorded: {refusal}"));
        }
    }
}

fn outcome(code: Code) -> AuditOutcome {
    if code == Code::Cancelled {
        return AuditOutcome::Cancelled;
    }
    match code.spec().category {
        Category::Permission | Category::User | Category::Protocol => AuditOutcome::Refused,
        Category::Connection | Category::Execution | Category::Internal => AuditOutcome::Failed,
    }
}
