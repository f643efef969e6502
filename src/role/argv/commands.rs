//! The commands by which the person decides who may speak.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Misuse, unexpected};
use crate::base::limits::{AUDIT_ENTRIES_MAX, SIGNER_BYTES_MAX};
use crate::trust::state::is_client_name;
use crate::wire::client::Sha256;

const AUDIT_LIMIT: u32 = 200;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Stop everything.
    Kill,
    /// Let it go on.
    Unkill,
    /// Let a client in.
    PairClient(Pairing),
    /// Take a client's access.
    RevokeClient {
        /// Its name.
        name: String,
    },
    /// Suspend a client, or let it go on.
    PauseClient {
        /// Its name.
        name: String,
        /// Whether it goes on.
        resume: bool,
    },
    /// Show who is paired.
    ListClients {
        /// For programs.
        json: bool,
    },
    /// Show what happened.
    Audit {
        /// The newest so many records.
        limit: u32,
        /// For programs.
        json: bool,
        /// Go on with what happens from now on.
        follow: bool,
    },
    /// Replace a damaged or lost trust record.
    RecoverTrust,
}

/// Which client is paired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// Under which name.
    pub name: String,
    /// Which program.
    pub who: Who,
    /// Which of an interpreter's scripts.
    pub script: Scripts,
}

/// How the program is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// The program that started this command.
    ThisParent,
    /// The program in this file.
    Exec(PathBuf),
    /// Any file with this hash.
    Hash(Sha256),
    /// Whatever this signer signed.
    Signer(String),
}

/// What was said about scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scripts {
    /// Nothing.
    Unsaid,
    /// Exactly this one.
    At(PathBuf),
    /// All that there are and will be.
    Any,
}

/// Reads one, if the first word names one.
pub fn parse(words: &[&str], raw: &[OsString]) -> Option<Result<Command, Misuse>> {
    let (first, rest) = words.split_first()?;
    let raw = raw.get(1..).unwrap_or_default();
    Some(match *first {
        "kill" => alone(rest, Command::Kill),
        "unkill" => alone(rest, Command::Unkill),
        "recover-trust" => alone(rest, Command::RecoverTrust),
        "pair-client" => pairing(rest, raw).map(Command::PairClient),
        "revoke-client" => revoke(rest),
        "pause-client" => pause(rest),
        "list-clients" => list(rest),
        "audit" => audit(rest),
        _ => return None,
    })
}

fn alone(rest: &[&str], command: Command) -> Result<Command, Misuse> {
    match rest {
        [] => Ok(command),
        [word, ..] => Err(unexpected(word)),
    }
}

fn revoke(rest: &[&str]) -> Result<Command, Misuse> {
    match rest {
        [] => Err(Misuse(
            "revoke-client takes the name of a paired client; `genkan list-clients` shows them".into(),
        )),
        [name] => Ok(Command::RevokeClient { name: named(Some(name))? }),
        [_, word, ..] => Err(unexpected(word)),
    }
}

fn pause(rest: &[&str]) -> Result<Command, Misuse> {
    let (resume, others): (Vec<&str>, Vec<&str>) = rest.iter().partition(|word| **word == "--resume");
    match (resume.as_slice(), others.as_slice()) {
        ([] | [_], [name]) => {
            Ok(Command::PauseClient { name: named(Some(name))?, resume: !resume.is_empty() })
        }
        ([] | [_], []) => Err(Misuse(
            "pause-client takes the name of a paired client; `genkan list-clients` shows them".into(),
        )),
        ([_, word, ..], _) | (_, [_, word, ..]) => Err(unexpected(word)),
    }
}

fn list(rest: &[&str]) -> Result<Command, Misuse> {
    match rest {
        [] => Ok(Command::ListClients { json: false }),
        ["--json"] => Ok(Command::ListClients { json: true }),
        ["--json", word, ..] | [word, ..] => Err(unexpected(word)),
    }
}

fn audit(rest: &[&str]) -> Result<Command, Misuse> {
    let (mut limit, mut json, mut follow) = (None, false, false);
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match *word {
            "--json" if !json => json = true,
            "--follow" if !follow => follow = true,
            "--limit" if limit.is_none() => {
                let number = words.next().and_then(|number| number.parse().ok());
                limit = Some(number.filter(|number| (1..=AUDIT_ENTRIES_MAX).contains(number)).ok_or_else(
                    || Misuse(format!("--limit takes a number from 1 to {AUDIT_ENTRIES_MAX}")),
                )?);
            }
            other => return Err(unexpected(other)),
        }
    }
    Ok(Command::Audit { limit: limit.unwrap_or(AUDIT_LIMIT), json, follow })
}

fn pairing(words: &[&str], raw: &[OsString]) -> Result<Pairing, Misuse> {
    let (mut name, mut who, mut script) = (None, None, Scripts::Unsaid);
    let mut rest = words.iter().zip(raw);
    while let Some((word, _)) = rest.next() {
        match (*word, &who, &script) {
            ("--name", ..) if name.is_none() => name = Some(named(rest.next().map(|(name, _)| *name))?),
            ("--this-parent", None, _) => who = Some(Who::ThisParent),
            ("--exec", None, _) => who = Some(Who::Exec(file("--exec", rest.next().map(|(_, raw)| raw))?)),
            ("--hash", None, _) => who = Some(Who::Hash(hash(rest.next().map(|(hash, _)| *hash))?)),
            ("--signer", None, _) => who = Some(Who::Signer(signer(rest.next().map(|(name, _)| *name))?)),
            ("--this-parent" | "--exec" | "--hash" | "--signer", Some(_), _) => {
                return Err(Misuse(
                    "name the program once: --this-parent, --exec, --hash or --signer".into(),
                ));
            }
            ("--script", _, Scripts::Unsaid) => {
                script = Scripts::At(file("--script", rest.next().map(|(_, raw)| raw))?);
            }
            ("--any-script", _, Scripts::Unsaid) => script = Scripts::Any,
            ("--script" | "--any-script", _, Scripts::At(_) | Scripts::Any) => {
                return Err(Misuse("say either --script PATH or --any-script".into()));
            }
            (other, ..) => return Err(unexpected(other)),
        }
    }
    let name = name.ok_or_else(|| Misuse("pair-client takes --name NAME, a name of your choice".into()))?;
    let who = who.ok_or_else(|| {
        Misuse(
            "pair-client takes the program: --exec PATH, --this-parent, --hash HASH or --signer NAME".into(),
        )
    })?;
    Ok(Pairing { name, who, script })
}

fn named(name: Option<&str>) -> Result<String, Misuse> {
    name.filter(|name| is_client_name(name)).map(str::to_string).ok_or_else(|| {
        Misuse(
            "a client's name takes 1 to 64 letters, digits and . _ -, and starts with a letter or digit"
                .into(),
        )
    })
}

fn file(option: &str, path: Option<&OsString>) -> Result<PathBuf, Misuse> {
    let path = path.filter(|path| !path.is_empty()).map(PathBuf::from);
    path.ok_or_else(|| Misuse(format!("{option} takes the path of a file")))
}

fn hash(text: Option<&str>) -> Result<Sha256, Misuse> {
    text.and_then(Sha256::from_hex).ok_or_else(|| {
        Misuse("--hash takes a whole SHA-256: 64 digits 0-9 a-f, as sha256sum prints them".into())
    })
}

fn signer(name: Option<&str>) -> Result<String, Misuse> {
    let name = name
        .filter(|name| (1..=SIGNER_BYTES_MAX).contains(&name.len()) && !name.chars().any(char::is_control));
    name.map(str::to_string).ok_or_else(|| Misuse("--signer takes the name in a signature".into()))
}

#[cfg(test)]
mod tests {
    use super::super::{Invocation, parse};
    use super::*;

    fn read(words: &[&str]) -> Result<Command, String> {
        match parse(&words.iter().map(OsString::from).collect::<Vec<_>>()) {
            Ok(Invocation::Command(command)) => Ok(command),
            Ok(other) => Err(format!("{other:?}")),
            Err(misuse) => Err(misuse.0),
        }
    }

    #[test]
    fn each_command_reads_its_own_words() {
        let name = || "shell".to_string();
        assert_eq!(read(&["kill"]), Ok(Command::Kill));
        assert_eq!(read(&["unkill"]), Ok(Command::Unkill));
        assert_eq!(read(&["recover-trust"]), Ok(Command::RecoverTrust));
        assert_eq!(read(&["revoke-client", "shell"]), Ok(Command::RevokeClient { name: name() }));
        for words in [["pause-client", "shell", "--resume"], ["pause-client", "--resume", "shell"]] {
            assert_eq!(read(&words), Ok(Command::PauseClient { name: name(), resume: true }));
        }
        assert_eq!(read(&["list-clients", "--json"]), Ok(Command::ListClients { json: true }));
        assert_eq!(read(&["audit"]), Ok(Command::Audit { limit: 200, json: false, follow: false }));
        let all = read(&["audit", "--follow", "--limit", "7", "--json"]);
        assert_eq!(all, Ok(Command::Audit { limit: 7, json: true, follow: true }));
    }

    #[test]
    fn a_pairing_names_one_program_and_at_most_one_rule_for_scripts() {
        let pair = |words: &[&str]| read(&[&["pair-client", "--name", "n"], words].concat());
        let paired = |who, script| Ok(Command::PairClient(Pairing { name: "n".into(), who, script }));
        assert_eq!(pair(&["--this-parent"]), paired(Who::ThisParent, Scripts::Unsaid));
        assert_eq!(pair(&["--exec", "a"]), paired(Who::Exec("a".into()), Scripts::Unsaid));
        assert_eq!(
            pair(&["--script", "b", "--exec", "a"]),
            paired(Who::Exec("a".into()), Scripts::At("b".into()))
        );
        assert_eq!(pair(&["--signer", "S", "--any-script"]), paired(Who::Signer("S".into()), Scripts::Any));
        let digits = "ab".repeat(32);
        assert_eq!(pair(&["--hash", &digits]), paired(Who::Hash(Sha256([0xab; 32])), Scripts::Unsaid));
        for words in [
            &[][..],
            &["--exec"],
            &["--exec", ""],
            &["--exec", "a", "--this-parent"],
            &["--hash", &digits, "--hash", &digits],
            &["--exec", "a", "--script"],
            &["--exec", "a", "--script", "b", "--any-script"],
            &["--exec", "a", "--yes"],
            &["--exec", "a", "--name", "m"],
            &["--signer", "a\nb"],
        ] {
            assert!(pair(words).is_err(), "{words:?}");
        }
        assert!(read(&["pair-client", "--exec", "a"]).is_err(), "without a name");
    }

    #[test]
    fn t087_a_hash_of_another_spelling_or_length_is_no_hash() {
        let digits = "ab".repeat(32);
        for hash in
            [&digits.to_uppercase(), &digits[..62], &format!("{digits}00"), &format!("sha256:{digits}"), ""]
        {
            let read = read(&["pair-client", "--name", "n", "--hash", hash]);
            assert!(read.is_err_and(|misuse| misuse.contains("64 digits")), "{hash}");
        }
    }

    #[test]
    fn more_words_other_words_and_odd_names_are_refused() {
        for words in [
            &["kill", "now"][..],
            &["unkill", "--yes"],
            &["recover-trust", "--force"],
            &["revoke-client"],
            &["revoke-client", "a", "b"],
            &["revoke-client", "a\u{202e}b"],
            &["pause-client"],
            &["pause-client", "a", "b"],
            &["pause-client", "a", "--resume", "--resume"],
            &["list-clients", "--json", "--json"],
            &["list-clients", "a"],
            &["audit", "--limit", "0"],
            &["audit", "--limit", "1001"],
            &["audit", "--limit"],
            &["audit", "--json", "--json"],
            &["audit", "all"],
        ] {
            assert!(read(words).is_err(), "{words:?}");
        }
    }
}
