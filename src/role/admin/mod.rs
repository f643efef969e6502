//! The commands by which the person stops everything, decides who may speak, and looks back.
//!
//! What takes power away is done at once. What gives power is asked at the controlling terminal, bound to what was
//! shown there, and written to the audit log before it takes effect; attempts are written too. Refuses to give
//! anything while the log cannot be written. It does not decide who may speak: `trust` does.

mod clients;
mod grant;
mod identity;
mod log;
mod switch;
mod table;

use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::argv::Command;
use super::records;
use crate::base::limits::SAFE_INTEGER_MAX;
use crate::base::refusal::Refusal;
use crate::os::log as stderr;
use crate::os::runtime_dir::Environment;

/// Runs one command; `true` if it was done. What went wrong is said on standard error.
pub fn run(environment: &Environment, command: &Command) -> bool {
    let done = match command {
        Command::Kill => switch::kill(environment),
        Command::Unkill => switch::unkill(environment),
        Command::RecoverTrust => switch::recover(environment),
        Command::PairClient(pairing) => clients::pair(environment, pairing),
        Command::RevokeClient { name } => clients::revoke(environment, name),
        Command::PauseClient { name, resume: false } => clients::pause(environment, name),
        Command::PauseClient { name, resume: true } => clients::resume(environment, name),
        Command::ListClients { json } => clients::list(environment, *json),
        Command::Audit { limit, json, follow } => log::show(environment, *limit, *json, *follow),
    };
    // Also where it was done: the person takes it to hold for whoever is served now.
    let decides = !matches!(command, Command::Audit { .. } | Command::Kill);
    let elsewhere = decides.then(|| records::elsewhere(environment)).flatten();
    let refusals = [done.err(), elsewhere];
    refusals.iter().flatten().for_each(warn);
    refusals.iter().all(Option::is_none) && !IS_UNSHOWN.load(Ordering::Relaxed)
}

/// For people and programs. Whoever reads it may have gone, as `head` does; that is no failure of ours. Anything else is
/// told, for what was to be shown was not.
fn print(text: &str) -> bool {
    let shown = std::io::stdout().write_all(text.as_bytes());
    match &shown {
        Err(error) if error.kind() != ErrorKind::BrokenPipe && !IS_UNSHOWN.swap(true, Ordering::Relaxed) => {
            let _ =
                writeln!(std::io::stderr(), "genkan: this could not be shown on standard output: {error}.");
        }
        _ => {}
    }
    shown.is_ok()
}

/// Whether something could not be shown.
static IS_UNSHOWN: AtomicBool = AtomicBool::new(false);

/// A sentence beside what was done.
fn warn(refusal: &Refusal) {
    let _ = writeln!(std::io::stderr(), "genkan: {}", stderr::escape(&refusal.message));
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(SAFE_INTEGER_MAX).min(SAFE_INTEGER_MAX)
}
