//! From the command line to a role.
//!
//! Decides which of its programs this process is. An extension origin among the arguments selects the browser's host,
//! because that is how browsers call one; any origin but our extension's is refused. Refuses every argument it does not
//! know, with the usage. Touches nothing: whoever asked acts on the answer.

mod commands;

use std::ffi::OsString;
use std::path::PathBuf;

use crate::base::identity::PINNED_EXTENSION_ORIGIN;
use crate::os::browsers;
use crate::wire::bridge::is_label;
pub use commands::{Command, Pairing, Scripts, Who};

const EXTENSION_SCHEME: &str = "chrome-extension://";

/// What `genkan --help` prints.
pub const USAGE: &str = "\
genkan stands between software that acts for you and the browser you are logged in with.

Usage:
  genkan                                  serve one MCP client over standard input and output
  genkan doctor [--json]                  show what is set up, what is missing and how to mend it
  genkan doctor --fix [--browser NAME]    register with chrome or chromium (not named: those found)
  genkan doctor --fix --manifest-dir DIR  register with one browser profile's NativeMessagingHosts folder
  genkan --native-host [--label NAME]     the browser's end; browsers start it themselves
  genkan help | --help | --version

Stop and go on:
  genkan kill                             stop everything, at once and until you release it
  genkan unkill                           release; asks you at the terminal

Who may speak (no list yet: any program that runs as you; the first pairing closes the door):
  genkan pair-client --name NAME --exec PATH     let a program in; asks you at the terminal
  genkan pair-client --name NAME --this-parent   the program that starts this command
  genkan pair-client --name NAME --hash HASH     any file with this SHA-256
  genkan pair-client --name NAME --signer NAME   what this signer signed (not on Linux)
      --script PATH                              for an interpreter: exactly this script
      --any-script                               for an interpreter: whatever it runs
  genkan pause-client NAME [--resume]     suspend; --resume asks you at the terminal
  genkan revoke-client NAME               take access away, also from what is under way
  genkan list-clients [--json]            who is paired

Look back:
  genkan audit [--limit N] [--json] [--follow]   what was allowed, refused and done; 200 records unless said
  genkan recover-trust                    replace a damaged trust record: all stopped, nobody paired; asks you

Exit codes: 0 done; 1 refused or failed, said in one sentence on standard error; 2 not understood.

Environment:
  GENKAN_LOG         error, warn (default), info, debug or trace; always to standard error
  GENKAN_LOG_FORMAT  text (default) or json
";

/// What this process is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invocation {
    /// Serve an MCP client.
    Mcp,
    /// Speak to a browser.
    NativeHost {
        /// The browser's label, if the wrapper script gave one.
        label: Option<String>,
    },
    /// Report on the installation, and repair it.
    Doctor(DoctorOptions),
    /// Decide who may speak, or look back.
    Command(Command),
    /// Print the usage.
    Help,
    /// Print the version.
    Version,
}

/// How the doctor works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DoctorOptions {
    /// What to repair; `None` only looks.
    pub fix: Option<Fix>,
    /// Whether the report is for programs.
    pub json: bool,
}

/// What to register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    /// Every browser found on this machine.
    Found,
    /// The browser with this key.
    Browser(&'static str),
    /// One profile's folder of manifests.
    ManifestDir(PathBuf),
}

/// Why the command line was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misuse(pub String);

/// Reads the arguments after the program's name.
pub fn parse(arguments: &[OsString]) -> Result<Invocation, Misuse> {
    let text = |words: &[OsString]| -> Vec<String> {
        words.iter().map(|word| word.to_str().unwrap_or("\u{fffd}").to_string()).collect()
    };
    let said = text(arguments);
    if said.iter().any(|word| is_host_word(word)) {
        return native_host(&said.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let arguments: Vec<OsString> = arguments.iter().flat_map(apart).collect();
    let said = text(&arguments);
    let words: Vec<&str> = said.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => Ok(Invocation::Mcp),
        ["help", ..] => Ok(Invocation::Help),
        words if words.iter().any(|word| matches!(*word, "--help" | "-h")) => Ok(Invocation::Help),
        ["--version" | "-V"] => Ok(Invocation::Version),
        ["doctor", rest @ ..] => doctor(rest, arguments.get(1..).unwrap_or_default()).map(Invocation::Doctor),
        [unknown, ..] => match commands::parse(&words, &arguments) {
            Some(command) => command.map(Invocation::Command),
            None => Err(unexpected(unknown)),
        },
    }
}

/// `--option=value` is the option and its value.
fn apart(word: &OsString) -> Vec<OsString> {
    match word.to_str().and_then(|text| text.split_once('=')) {
        Some((option, value)) if option.starts_with("--") => vec![option.into(), value.into()],
        _ => vec![word.clone()],
    }
}

fn is_host_word(word: &str) -> bool {
    word == "--native-host" || word.starts_with(EXTENSION_SCHEME)
}

fn native_host(words: &[&str]) -> Result<Invocation, Misuse> {
    let mut label = None;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--native-host" => {}
            "--label" => match rest.next() {
                Some(name) if is_label(name) => label = Some((*name).to_string()),
                _ => return Err(Misuse("--label takes a short name of a-z, 0-9 and -".into())),
            },
            PINNED_EXTENSION_ORIGIN => {}
            other if other.starts_with(EXTENSION_SCHEME) => {
                return Err(Misuse(format!(
                    "the caller {other:?} is not the genkan extension, so it is refused"
                )));
            }
            // Windows browsers add the handle of the window that asked.
            other if other.starts_with("--parent-window=") => {}
            other => return Err(unexpected(other)),
        }
    }
    Ok(Invocation::NativeHost { label })
}

fn doctor(words: &[&str], raw: &[OsString]) -> Result<DoctorOptions, Misuse> {
    let (mut json, mut fix, mut target) = (false, false, None);
    let mut rest = words.iter().zip(raw);
    while let Some((word, _)) = rest.next() {
        match (*word, &target) {
            ("--json", _) => json = true,
            ("--fix", _) => fix = true,
            ("--browser", None) => target = Some(browser(rest.next().map(|(name, _)| *name))?),
            ("--manifest-dir", None) => target = Some(manifest_dir(rest.next().map(|(_, raw)| raw))?),
            (other, _) => return Err(unexpected(other)),
        }
    }
    match (fix, target) {
        (true, target) => Ok(DoctorOptions { fix: Some(target.unwrap_or(Fix::Found)), json }),
        (false, None) => Ok(DoctorOptions { fix: None, json }),
        (false, Some(_)) => {
            Err(Misuse("--browser and --manifest-dir belong to `genkan doctor --fix`".into()))
        }
    }
}

fn browser(name: Option<&str>) -> Result<Fix, Misuse> {
    let known = name.and_then(browsers::by_key).filter(|browser| browser.place.is_some());
    known
        .map(|browser| Fix::Browser(browser.key))
        .ok_or_else(|| Misuse("--browser takes chrome or chromium; for others use --manifest-dir".into()))
}

fn manifest_dir(dir: Option<&OsString>) -> Result<Fix, Misuse> {
    let dir = dir.map(PathBuf::from).filter(|dir| dir.is_absolute());
    dir.map(Fix::ManifestDir).ok_or_else(|| Misuse("--manifest-dir takes an absolute path".into()))
}

fn unexpected(word: &str) -> Misuse {
    Misuse(format!("{word:?} is not understood here, or was said already"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Invocation, Misuse> {
        parse(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn every_command_of_the_usage_is_on_the_page_and_none_is_invented() {
        let command = |line: &str| {
            line.split("  ").next().unwrap_or_default().trim_matches(['|', '`', ' ']).to_string()
        };
        let usage =
            USAGE.lines().filter(|line| line.starts_with("  genkan")).map(|line| command(line.trim_start()));
        let page = include_str!("../../docs/cli.md").replace("\\|", "|");
        let page = page
            .lines()
            .filter_map(|line| line.strip_prefix("| `"))
            .map(|line| line.split('`').next().unwrap_or_default().to_string());
        let sorted = |lines: Vec<String>| std::collections::BTreeSet::from_iter(lines);
        assert_eq!(sorted(usage.collect()), sorted(page.collect()));
    }

    #[test]
    fn help_is_given_wherever_it_is_asked_for_and_nothing_else_is_done() {
        for words in
            [&["help"][..], &["--help"], &["-h"], &["help", "kill"], &["kill", "--help"], &["unkill", "-h"]]
        {
            assert_eq!(read(words), Ok(Invocation::Help), "{words:?}");
        }
    }

    #[test]
    fn an_option_and_its_value_may_be_one_word() {
        for (one, two) in [
            (&["audit", "--limit=3"][..], &["audit", "--limit", "3"][..]),
            (&["pair-client", "--name=a", "--exec=/x=y"], &["pair-client", "--name", "a", "--exec", "/x=y"]),
            (&["doctor", "--fix", "--browser=chrome"], &["doctor", "--fix", "--browser", "chrome"]),
        ] {
            assert!(read(one).is_ok(), "{one:?}");
            assert_eq!(read(one), read(two));
        }
    }

    #[test]
    fn no_argument_serves_a_client() {
        assert_eq!(read(&[]), Ok(Invocation::Mcp));
    }

    #[test]
    fn our_extensions_origin_selects_the_host_and_any_other_is_refused() {
        let host = |label: Option<&str>| Ok(Invocation::NativeHost { label: label.map(str::to_string) });
        assert_eq!(read(&[PINNED_EXTENSION_ORIGIN]), host(None));
        assert_eq!(read(&["--native-host"]), host(None));
        assert_eq!(
            read(&["--native-host", "--label", "chrome", PINNED_EXTENSION_ORIGIN]),
            host(Some("chrome"))
        );
        let bare = PINNED_EXTENSION_ORIGIN.trim_end_matches('/');
        for origin in ["chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/", bare, "chrome-extension://"] {
            assert!(read(&[origin]).is_err(), "{origin}");
            assert!(read(&["--native-host", origin]).is_err(), "{origin}");
        }
    }

    #[test]
    fn a_label_that_the_wire_would_refuse_is_refused_here() {
        for label in ["", "Chrome", "a b", "a\u{0}b", &"x".repeat(33)] {
            assert!(read(&["--native-host", "--label", label]).is_err(), "{label:?}");
        }
        assert!(read(&["--native-host", "--label"]).is_err());
    }

    #[test]
    fn the_doctor_looks_unless_told_to_fix() {
        let options = |fix, json| Ok(Invocation::Doctor(DoctorOptions { fix, json }));
        assert_eq!(read(&["doctor"]), options(None, false));
        assert_eq!(read(&["doctor", "--json"]), options(None, true));
        assert_eq!(read(&["doctor", "--fix"]), options(Some(Fix::Found), false));
        let chromium = options(Some(Fix::Browser("chromium")), true);
        assert_eq!(read(&["doctor", "--fix", "--browser", "chromium", "--json"]), chromium);
        let dir = options(Some(Fix::ManifestDir("/p/N".into())), false);
        assert_eq!(read(&["doctor", "--fix", "--manifest-dir", "/p/N"]), dir);
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for words in [
            &["serve"][..],
            &["--native-hosts"],
            &["--native-host", "--verbose"],
            &["doctor", "--browser", "chrome"],
            &["doctor", "--fix", "--browser", "opera"],
            &["doctor", "--fix", "--browser", "chrome", "--manifest-dir", "/d"],
            &["doctor", "--fix", "--manifest-dir", "relative"],
            &["kill", "--now"],
            &["--version", "more"],
            &["pair-client", "--name", "a", "--name", "b", "--exec", "/x"],
        ] {
            assert!(read(words).is_err(), "{words:?}");
        }
    }
}
