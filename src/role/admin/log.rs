//! The audit log for people and programs.

use std::time::Duration;

use super::table::{Table, line, utc};
use super::{print, warn};
use crate::base::limits::TRUST_TICK_MS;
use crate::base::refusal::{Code, Refusal};
use crate::os::audit_log::{AuditLog, Tail};
use crate::os::runtime_dir::Environment;
use crate::os::terminal;
use crate::trust::audit::{AuditOutcome, AuditRecord, Auth, Surface};

const TICK: Duration = Duration::from_millis(TRUST_TICK_MS as u64);
const HEAD: [&str; 5] = ["WHEN (UTC)", "WHAT", "HOW", "WHERE", "DETAILS"];
/// Of all columns but the last, for rows that come one by one: the longest words they can hold.
const WIDTHS: [usize; 5] = [19, 15, 9, 9, 0];

/// Shows the newest records, and then, if asked, whatever comes.
pub fn show(environment: &Environment, limit: u32, json: bool, follow: bool) -> Result<(), Refusal> {
    let log = AuditLog::open(environment)?;
    let mut tail = log.read(usize::try_from(limit).unwrap_or(usize::MAX))?;
    if json {
        print(&lines(&tail));
    } else if follow {
        print(&row(&HEAD.map(str::to_string)));
        print(&rows(&tail));
    } else {
        print(&table(&tail, limit));
    }
    if !follow {
        return Ok(());
    }
    loop {
        std::thread::sleep(TICK);
        let mut position = std::mem::take(&mut tail.end);
        tail = log.since(&mut position)?;
        tail.end = position;
        watched(&tail).into_iter().for_each(|sentence| warn(&Refusal::new(Code::InternalError, sentence)));
        if !print(&if json { lines(&tail) } else { rows(&tail) }) {
            return Ok(());
        }
    }
}

/// What a watcher must hear beside the records, in either form.
fn watched(tail: &Tail) -> Vec<String> {
    let gone = tail
        .older
        .then(|| "Records were taken out of the audit log, or came and went between two looks.".to_string());
    let damaged = (tail.damaged > 0)
        .then(|| format!("{} lines that came to the audit log are no records.", tail.damaged));
    gone.into_iter().chain(damaged).collect()
}

fn table(tail: &Tail, limit: u32) -> String {
    if tail.records.is_empty() && tail.damaged == 0 {
        return "Nothing is in the audit log yet.\n".into();
    }
    let mut table = Table::new(&HEAD);
    tail.records.iter().for_each(|record| table.row(cells(record)));
    let mut text = table.text();
    if tail.older {
        text.push_str(&format!("These are the newest {limit}; --limit N shows more.\n"));
    }
    if tail.damaged > 0 {
        text.push_str(&format!("{} lines of the log are no records and are left out.\n", tail.damaged));
    }
    text
}

fn lines(tail: &Tail) -> String {
    tail.records.iter().map(|record| record.line() + "\n").collect()
}

fn rows(tail: &Tail) -> String {
    tail.records.iter().map(|record| row(&cells(record))).collect()
}

fn row(cells: &[String; 5]) -> String {
    line(cells, &WIDTHS, terminal::columns())
}

fn cells(record: &AuditRecord) -> [String; 5] {
    let how = match record.outcome {
        Some(AuditOutcome::Begun) => "begun",
        Some(AuditOutcome::Done) => "done",
        Some(AuditOutcome::Unchanged) => "unchanged",
        Some(AuditOutcome::Refused) => "refused",
        Some(AuditOutcome::Failed) => "failed",
        Some(AuditOutcome::Cancelled) => "cancelled",
        None => "-",
    };
    let surface = match record.surface {
        Surface::Cli => "command",
        Surface::Extension => "extension",
        Surface::Broker => "broker",
        Surface::Host => "host",
        Surface::Core => "server",
    };
    [utc(record.ts_ms), record.event_kind.name().into(), how.into(), surface.into(), details(record)]
}

fn details(record: &AuditRecord) -> String {
    let auth = record.auth.map(|auth| match auth {
        Auth::Terminal => "by the terminal",
        Auth::Webauthn => "by an authenticator",
        Auth::Window => "by the window",
    });
    let parts = [
        record.tool.clone(),
        record.code.map(|code| code.spec().name.to_string()),
        record.req.map(|number| format!("request {number}")),
        record.conn.map(|number| format!("connection {number}")),
        record.dur_ms.map(|ms| format!("{ms} ms")),
        auth.map(str::to_string),
        record.detail.clone(),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::audit::AuditKind;

    #[test]
    fn every_kind_and_outcome_fits_its_column() {
        let names =
            crate::trust::audit::HOST_AUDIT_KINDS.iter().chain(crate::trust::audit::EXTENSION_AUDIT_KINDS);
        assert!(names.clone().all(|name| name.len() <= WIDTHS[1]), "{names:?}");
        let record = AuditRecord::new(0, AuditKind::ToolCall, Surface::Extension, AuditOutcome::Unchanged);
        for (cell, width) in cells(&record).iter().zip(WIDTHS).take(4) {
            assert!(cell.len() <= width, "{cell}");
        }
    }

    #[test]
    fn a_watcher_hears_what_is_missing_and_what_is_no_record() {
        assert_eq!(watched(&Tail::default()), [""; 0]);
        let said = watched(&Tail { older: true, damaged: 2, ..Tail::default() });
        assert!(said[0].starts_with("Records were taken out"), "{said:?}");
        assert!(said[1].starts_with("2 lines"), "{said:?}");
    }

    #[test]
    fn a_row_says_all_that_the_record_says() {
        let mut record = AuditRecord::new(1_000, AuditKind::ToolCall, Surface::Broker, AuditOutcome::Refused);
        record.tool = Some("page_click".into());
        record.code = Some(Code::SiteNotAllowed);
        (record.req, record.conn, record.dur_ms) = (Some(3), Some(2), Some(41));
        record.auth = Some(Auth::Window);
        let record = record.with_detail("claude");
        let row = row(&cells(&record));
        assert_eq!(
            row,
            "1970-01-01 00:00:01  tool_call        refused    broker     page_click, SITE_NOT_ALLOWED, request 3, connection 2, 41 ms, by the window, claude\n"
        );
    }
}
