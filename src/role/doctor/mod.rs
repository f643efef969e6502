//! The doctor: what is set up, what is missing, and one remedy for each problem; with `--fix`, registration.
//!
//! Decides what counts as a problem. It reads, and writes only when told to fix. It never overwrites a manifest that is
//! not ours, and starts or stops no process.

mod attestation;
mod record;
mod registration;
mod report;

use std::path::{Path, PathBuf};

use crate::base::identity::SOCKET_FILE;
use crate::os::browsers::{BROWSERS, Browser};
use crate::os::runtime_dir::{Environment, RuntimeDir};
use crate::os::{OsRefusal, lock, socket};
use crate::role::argv::{DoctorOptions, Fix};
use crate::role::records;
use registration::{Registration, Standing};
use report::{Finding, Report};

/// Where the extension lies below the folder that also holds this program.
const EXTENSION: &str = "build/extension/chrome-mv3";

/// What the doctor found, ready to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// Text for people or JSON, as asked.
    pub text: String,
    /// Whether nothing needs to be done.
    pub healthy: bool,
}

/// Looks at everything, after repairing what was asked for.
pub fn examine(environment: &Environment, options: &DoctorOptions) -> Examined {
    let program = std::env::current_exe().unwrap_or_default();
    let mut findings = vec![runtime_dir(environment)];
    findings.extend(broker(environment));
    findings.extend(record::findings(environment));
    findings.extend(registrations(environment, &program, options.fix.as_ref()));
    findings.push(extension(&program));
    findings.extend(attestation::findings());
    let report = Report { program, findings };
    let text = if options.json { report.json() } else { report.text() };
    Examined { text, healthy: report.healthy() }
}

fn runtime_dir(environment: &Environment) -> Finding {
    let subject = "runtime directory";
    match RuntimeDir::locate(environment) {
        Ok(path) if is_unmade(&path) => {
            Finding::note(subject, "missing", "made when genkan first runs").at(&path)
        }
        Ok(path) => match RuntimeDir::resolve(environment) {
            Ok(_) => Finding::ok(subject, "private to you").at(&path),
            Err(refusal) => refused(subject, &refusal).at(&path),
        },
        Err(refusal) => refused(subject, &refusal),
    }
}

fn is_unmade(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err() && path.parent().is_some_and(Path::is_dir)
}

/// The lock's holder and the socket. Where the directory itself is refused or not made, there is nothing to say.
fn broker(environment: &Environment) -> Vec<Finding> {
    let subject = "broker";
    let made = RuntimeDir::locate(environment).is_ok_and(|path| !is_unmade(&path));
    let Some(dir) = made.then(|| RuntimeDir::resolve(environment).ok()).flatten() else {
        return Vec::new();
    };
    let lock = match lock::read(&dir).and_then(|_| lock::holder(&dir)) {
        Ok(Some(pid)) => Finding::ok(subject, &format!("process {pid} serves an MCP client")),
        Ok(None) => Finding::note(subject, "missing", "no MCP client runs genkan now"),
        Err(refusal) => refused(subject, &refusal),
    };
    let held = lock.is_ok();
    let elsewhere = records::elsewhere(environment).map(|refusal| {
        Finding::problem(subject, "elsewhere", &refusal.message)
            .remedy("start both with the same HOME and XDG folders")
    });
    let socket = dir.path_of(SOCKET_FILE);
    let answers = socket::answers(&dir);
    let socket = match (answers, held) {
        (Ok(_), true) => Finding::ok("socket", "answers").at(&socket),
        (Ok(_), false) => {
            Finding::problem("socket", "foreign", "something answers that does not hold the lock")
                .remedy("close the program that holds the socket, then start your MCP client again")
                .at(&socket)
        }
        (Err(error), true) => Finding::problem("socket", "unreadable", &format!("does not answer: {error}"))
            .remedy("restart the MCP client that runs genkan")
            .at(&socket),
        (Err(_), false) => return vec![lock],
    };
    [Some(lock), elsewhere, Some(socket)].into_iter().flatten().collect()
}

fn refused(subject: &str, refusal: &OsRefusal) -> Finding {
    Finding::problem(subject, "refused", &refusal.to_string())
        .remedy("do what the line above says, then look again")
}

fn registrations(environment: &Environment, program: &Path, fix: Option<&Fix>) -> Vec<Finding> {
    if let Some(Fix::ManifestDir(folder)) = fix {
        return vec![match Registration::of_folder(folder, environment, program) {
            Ok(registration) => registered("profile", &registration, true),
            Err(refusal) => refused("profile", &refusal),
        }];
    }
    let mut findings: Vec<_> =
        BROWSERS.iter().filter_map(|browser| of_browser(browser, environment, program, fix)).collect();
    if !findings.iter().any(Finding::is_ok) && !findings.iter().any(Finding::is_problem) {
        findings.push(
            Finding::problem("browsers", "missing", "genkan is not registered with any browser")
                .remedy("run `genkan doctor --fix --browser chrome` (or chromium)"),
        );
    }
    findings
}

fn of_browser(
    browser: &Browser,
    environment: &Environment,
    program: &Path,
    fix: Option<&Fix>,
) -> Option<Finding> {
    match Registration::of_browser(browser, environment, program) {
        Ok(None) => None,
        Ok(Some(registration)) => {
            let asked = match fix {
                Some(Fix::Browser(key)) => *key == browser.key,
                Some(Fix::Found) => registration.browser_was_used(),
                Some(Fix::ManifestDir(_)) | None => false,
            };
            Some(registered(browser.key, &registration, asked))
        }
        Err(refusal) => Some(refused(browser.key, &refusal)),
    }
}

/// Writes if asked to and allowed to, then judges what can be read back.
fn registered(subject: &str, registration: &Registration, fix: bool) -> Finding {
    let before = registration.examine();
    let writable = !matches!(before, Standing::Foreign(_) | Standing::Ok);
    if fix
        && writable
        && let Err(refusal) = registration.write()
    {
        return refused(subject, &refusal).at(&registration.manifest);
    }
    let again = if subject == "profile" {
        "run the same command again".to_string()
    } else {
        format!("run `genkan doctor --fix --browser {subject}`")
    };
    let file = registration.manifest.display();
    match if fix { registration.examine() } else { before } {
        Standing::Ok => Finding::ok(subject, "registered"),
        Standing::Missing if !registration.browser_was_used() => {
            Finding::note(subject, "missing", "not registered; this browser was never used here")
        }
        Standing::Missing => Finding::note(subject, "missing", "not registered").remedy(&again),
        Standing::Stale(why) => Finding::problem(subject, "stale", &why).remedy(&again),
        Standing::Unreadable(why) => Finding::problem(subject, "unreadable", &why).remedy(&again),
        Standing::Foreign(what) => {
            Finding::problem(subject, "foreign", &format!("a manifest that genkan did not write: {what}"))
                .remedy(&format!("if you do not need it, remove {file} yourself, then {again}"))
        }
    }
    .at(&registration.manifest)
}

/// The unpacked extension lies in the repository that this program was built in, or beside the program.
fn extension(program: &Path) -> Finding {
    let found = program
        .ancestors()
        .skip(1)
        .map(|folder| folder.join(EXTENSION))
        .find(|folder: &PathBuf| folder.join("manifest.json").is_file());
    match found {
        Some(folder) => Finding::ok("extension", "load it unpacked at chrome://extensions").at(&folder),
        None => Finding::note("extension", "missing", "no built extension lies beside this program")
            .remedy("run `make demo` in the repository, or load the extension from where you keep it"),
    }
}
