//! One grant from the question to the log: ask, write down the yes, do it, write down how it went.

use std::time::Duration;

use super::{now_ms, warn};
use crate::base::limits::{PATH_SHOWN_CHARS_MAX, TERMINAL_WAIT_MS};
use crate::base::refusal::{Code, Refusal};
use crate::base::shown::quoted;
use crate::os::audit_log::AuditLog;
use crate::os::peer;
use crate::os::random;
use crate::os::runtime_dir::Environment;
use crate::os::terminal::{Terminal, TerminalRefusal};
use crate::trust::audit::{AuditKind, AuditOutcome, AuditRecord, Auth, Surface};
use crate::trust::presence::{Grant, Present};

const CID_HEX: usize = 16;

/// What is asked, and how it is written down.
pub struct Asked<'a> {
    /// Its kind in the log.
    pub kind: AuditKind,
    /// What is granted, for the log: names, paths and hashes.
    pub detail: &'a str,
    /// What the person reads before the words are asked for.
    pub question: &'a str,
    /// What is granted.
    pub grant: Grant,
}

/// Asks, and does it on a yes.
pub fn grant<T>(
    environment: &Environment,
    asked: Asked<'_>,
    commit: impl FnOnce(&Present) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let log = AuditLog::open(environment)?;
    let Asked { kind, detail, question, grant } = asked;
    let cid = random::hex(&random::bytes32()?).chars().take(CID_HEX).collect::<String>();
    let record = |outcome, words: String| {
        let mut record = AuditRecord::new(now_ms(), kind, Surface::Cli, outcome).with_detail(&words);
        record.cid = Some(cid.clone());
        record
    };
    let by_terminal = |record: AuditRecord| AuditRecord { auth: Some(Auth::Terminal), ..record };
    let (present, origin) = match ask(question, grant) {
        Ok(answer) => answer,
        Err((refusal, origin)) => {
            let mut record = record(AuditOutcome::Refused, format!("{}; {detail}", origin.text()));
            record.auth = origin.auth();
            record.code = Some(refusal.code);
            log.append(&record)?;
            return Err(refusal);
        }
    };
    // The yes is on disk before anything comes of it. Where it was typed comes first, so that no long name cuts it off.
    log.append(&by_terminal(record(AuditOutcome::Begun, format!("{}; {detail}", origin.text()))))?;
    let done = commit(&present);
    let (outcome, code) = match &done {
        Ok(_) => (AuditOutcome::Done, None),
        Err(refusal) => (AuditOutcome::Failed, Some(refusal.code)),
    };
    // Its beginning said what and where.
    let mut record = by_terminal(record(outcome, detail.split(',').next().unwrap_or_default().into()));
    record.code = code;
    if let Err(unwritten) = log.append(&record) {
        warn(&unwritten);
    }
    done
}

/// Where the person was asked.
enum Origin {
    Terminal(String),
    /// There was none; who tried.
    None(String),
}

impl Origin {
    fn text(&self) -> &str {
        match self {
            Self::Terminal(text) | Self::None(text) => text,
        }
    }

    fn auth(&self) -> Option<Auth> {
        match self {
            Self::Terminal(_) => Some(Auth::Terminal),
            Self::None(_) => None,
        }
    }
}

/// The yes, and where it was typed.
fn ask(question: &str, grant: Grant) -> Result<(Present, Origin), (Refusal, Origin)> {
    let terminal = Terminal::open().map_err(|refusal| (denied(&refusal), Origin::None(no_terminal())))?;
    let origin = Origin::Terminal(format!("terminal {}", terminal.origin()));
    let question = format!("{question}\nAsked at {}.\nType exactly: {}\n", origin.text(), grant.phrase());
    let typed = terminal.ask(&question, Duration::from_millis(TERMINAL_WAIT_MS.into()));
    match typed.map_err(|refusal| denied(&refusal)).and_then(|typed| grant.answered(&typed)) {
        Ok(present) => Ok((present, origin)),
        Err(refusal) => Err((refusal, origin)),
    }
}

fn denied(refusal: &TerminalRefusal) -> Refusal {
    Refusal::new(Code::UserDenied, format!("Nothing was changed: {refusal}."))
}

/// Who tried without a terminal.
fn no_terminal() -> String {
    let parent = peer::parent().image.unwrap_or_default();
    format!("no terminal, started by {}", quoted(&parent.to_string_lossy(), PATH_SHOWN_CHARS_MAX))
}
