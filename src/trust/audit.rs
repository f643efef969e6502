//! What the audit log may hold: closed kinds, closed outcomes, and never content or argument values.
//!
//! Decides which records count as grants, refusals or traffic, so that noise of one sort never pushes out another, and
//! which kinds the extension may report. It knows no file and no clock.

use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::base::limits::{AUDIT_DETAIL_CHARS_MAX, AUDIT_LINE_BYTES_MAX, LABEL_BYTES_MAX, SAFE_INTEGER_MAX};
use crate::base::refusal::Code;
use crate::base::shown::shown;
use crate::wire::json::{self, JsonFault};

macro_rules! kinds {
    (host { $($host:ident $host_text:literal $host_class:ident)* } extension { $($own:ident $own_text:literal)* }) => {
        /// What happened.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum AuditKind {
            $(#[doc = $host_text] #[serde(rename = $host_text)] $host,)*
            $(#[doc = $own_text] #[serde(rename = $own_text)] $own,)*
        }

        /// Kinds that only the host writes.
        pub const HOST_AUDIT_KINDS: &[&str] = &[$($host_text),*];

        /// Kinds that the extension may report; anything else from there is refused.
        pub const EXTENSION_AUDIT_KINDS: &[&str] = &[$($own_text),*];

        impl AuditKind {
            /// Its name in the log.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$host => $host_text,)*
                    $(Self::$own => $own_text,)*
                }
            }

            /// The kind that the extension may report under this name.
            pub fn of_extension(name: &str) -> Option<Self> {
                match name {
                    $($own_text => Some(Self::$own),)*
                    _ => None,
                }
            }

            /// The class of this kind when it took effect. What only the extension says is traffic: a program that
            /// plays the browser could say it without end.
            const fn class(self) -> Class {
                match self {
                    $(Self::$host => Class::$host_class,)*
                    $(Self::$own => Class::Traffic,)*
                }
            }
        }
    };
}

kinds! {
    host {
        ToolCall "tool_call" Traffic
        HarnessAdmit "harness_admit" Traffic
        HarnessRefuse "harness_refuse" Refusals
        AttachRefuse "attach_refuse" Refusals
        BrowserAttach "browser_attach" Traffic
        BrowserRefuse "browser_refuse" Refusals
        PairClient "pair_client" Grants
        RevokeClient "revoke_client" Grants
        HostKeyRevoke "host_key_revoke" Grants
        KillEngage "kill_engage" Grants
        KillRelease "kill_release" Grants
        PresenceSign "presence_sign" Grants
        PolicyWrite "policy_write" Grants
    }
    extension {
        ConfirmShown "confirm_shown"
        ConfirmAllowed "confirm_allowed"
        ConfirmDenied "confirm_denied"
        EnrollApproved "enroll_approved"
        EnrollRejected "enroll_rejected"
        EnrollRevoked "enroll_revoked"
    }
}

/// Which part of the program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// A command that the person typed.
    Cli,
    /// The extension, through its host.
    Extension,
    /// The broker.
    Broker,
    /// The native host.
    Host,
    /// The MCP server before the broker.
    Core,
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditOutcome {
    /// Decided; the effect comes after this record is written.
    Begun,
    /// It took effect.
    Done,
    /// It was so already; nothing changed.
    Unchanged,
    /// A rule or the person said no.
    Refused,
    /// It was allowed and did not work.
    Failed,
    /// It was called off.
    Cancelled,
}

/// Who vouched for a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// A phrase typed at the controlling terminal.
    Terminal,
    /// An authenticator.
    Webauthn,
    /// The extension's confirmation window.
    Window,
}

/// Which records compete for the same space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// What gave or took power.
    Grants,
    /// What was turned away.
    Refusals,
    /// What clients and browsers did.
    Traffic,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 3] = [Class::Grants, Class::Refusals, Class::Traffic];
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditRecord {
    /// When, in milliseconds of the wall clock.
    pub ts_ms: u64,
    /// What happened.
    pub event_kind: AuditKind,
    /// Who writes.
    pub surface: Surface,
    /// How it went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<AuditOutcome>,
    /// The code of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// The tool's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The number of the bridge request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub req: Option<u64>,
    /// The generation of the connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conn: Option<u64>,
    /// How long it took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dur_ms: Option<u64>,
    /// What ties the records of one matter together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cid: Option<String>,
    /// Names, paths and hashes for people, fit to show. Never content, never an argument's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Who vouched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
}

impl AuditRecord {
    /// A record with nothing but what every record has.
    pub fn new(ts_ms: u64, event_kind: AuditKind, surface: Surface, outcome: AuditOutcome) -> Self {
        Self {
            ts_ms,
            event_kind,
            surface,
            outcome: Some(outcome),
            code: None,
            tool: None,
            req: None,
            conn: None,
            dur_ms: None,
            cid: None,
            detail: None,
            auth: None,
        }
    }

    /// With words for people: what could mislead the eye is spelt out, what is too long is cut.
    pub fn with_detail(mut self, detail: &str) -> Self {
        let words = shown(detail, AUDIT_DETAIL_CHARS_MAX);
        self.detail = Some(match words.char_indices().nth(AUDIT_DETAIL_CHARS_MAX) {
            Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
            None => words,
        });
        self
    }

    /// Its line in the log, without the LF.
    pub fn line(&self) -> String {
        json::written(self)
    }

    /// The record of a line, which must be as we would write it.
    pub fn parse(line: &[u8]) -> Result<Self, JsonFault> {
        if line.len() > AUDIT_LINE_BYTES_MAX {
            return Err(JsonFault::Shape("it is longer than a line of the log".into()));
        }
        let record: Self = json::typed(line)?;
        if record.is_well_formed() && record.line().as_bytes() == line {
            Ok(record)
        } else {
            Err(JsonFault::Shape("it is not written the way the log is written".into()))
        }
    }

    /// What it competes with for space. An attempt that changed nothing never competes with what did.
    pub fn class(&self) -> Class {
        match (self.event_kind.class(), self.outcome) {
            (Class::Grants, Some(AuditOutcome::Done | AuditOutcome::Begun)) => Class::Grants,
            (Class::Grants, Some(AuditOutcome::Unchanged)) => Class::Traffic,
            (
                Class::Grants,
                Some(AuditOutcome::Refused | AuditOutcome::Failed | AuditOutcome::Cancelled) | None,
            ) => Class::Refusals,
            (class, _) => class,
        }
    }

    /// Whether it is in bounds, as everything that we write is.
    pub fn is_well_formed(&self) -> bool {
        let numbers = [Some(self.ts_ms), self.req, self.conn, self.dur_ms];
        // One more, for the mark of a cut.
        let words = |text: &Option<String>, chars_max: usize| {
            text.as_ref().is_none_or(|text| *text == shown(text, chars_max + 1))
        };
        numbers.into_iter().flatten().all(|number| number <= SAFE_INTEGER_MAX)
            && words(&self.detail, AUDIT_DETAIL_CHARS_MAX)
            && words(&self.tool, LABEL_BYTES_MAX)
            && words(&self.cid, LABEL_BYTES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: AuditKind, outcome: AuditOutcome) -> AuditRecord {
        AuditRecord::new(1, kind, Surface::Cli, outcome)
    }

    #[test]
    fn a_record_reads_back_and_names_only_what_it_holds() {
        let mut record = record(AuditKind::PairClient, AuditOutcome::Done).with_detail("shell");
        record.auth = Some(Auth::Terminal);
        let text = r#"{"ts_ms":1,"event_kind":"pair_client","surface":"cli","outcome":"done","detail":"shell","auth":"terminal"}"#;
        assert_eq!(json::written(&record), text);
        assert_eq!(json::typed::<AuditRecord>(text.as_bytes()), Ok(record.clone()));
        assert_eq!(record.line(), text);
        assert_eq!(AuditRecord::parse(text.as_bytes()), Ok(record));
    }

    #[test]
    fn a_line_is_read_only_as_we_write_it_and_up_to_its_longest() {
        let record = record(AuditKind::PairClient, AuditOutcome::Done);
        let line = record.line();
        assert!(AuditRecord::parse(line.replacen(':', ": ", 1).as_bytes()).is_err(), "another spelling");
        let odd = AuditRecord { detail: Some("\n".into()), ..record };
        assert!(AuditRecord::parse(odd.line().as_bytes()).is_err(), "out of bounds");
        let shaped = |length: usize| {
            let fault = AuditRecord::parse(&vec![b' '; length]).unwrap_err();
            fault.to_string().contains("longer than a line")
        };
        assert!(!shaped(AUDIT_LINE_BYTES_MAX - 1) && !shaped(AUDIT_LINE_BYTES_MAX));
        assert!(shaped(AUDIT_LINE_BYTES_MAX + 1));
    }

    #[test]
    fn unknown_fields_kinds_and_nulls_are_refused() {
        let good = r#"{"ts_ms":1,"event_kind":"kill_engage","surface":"cli","outcome":"done"}"#;
        assert!(json::typed::<AuditRecord>(good.as_bytes()).is_ok());
        for (before, after) in [
            ("\"ts_ms\":1", "\"ts_ms\":1,\"args\":{}"),
            ("\"ts_ms\":1", "\"ts_ms\":1,\"tool\":null"),
            ("\"ts_ms\":1", "\"ts_ms\":-1"),
            ("\"ts_ms\":1,", ""),
            ("kill_engage", "KILL_ENGAGE"),
            ("kill_engage", "page_text"),
            ("\"cli\"", "\"shell\""),
            ("\"done\"", "\"maybe\""),
        ] {
            let bad = good.replace(before, after);
            assert_ne!(bad, good);
            assert!(json::typed::<AuditRecord>(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_kind_belongs_to_one_side() {
        assert!(HOST_AUDIT_KINDS.iter().all(|name| AuditKind::of_extension(name).is_none()));
        for name in EXTENSION_AUDIT_KINDS {
            assert_eq!(AuditKind::of_extension(name).map(AuditKind::name), Some(*name));
        }
    }

    #[test]
    fn attempts_and_repetitions_take_no_space_from_grants() {
        for kind in [AuditKind::KillRelease, AuditKind::PairClient, AuditKind::KillEngage] {
            assert_eq!(record(kind, AuditOutcome::Done).class(), Class::Grants);
            assert_eq!(record(kind, AuditOutcome::Begun).class(), Class::Grants);
            assert_eq!(record(kind, AuditOutcome::Refused).class(), Class::Refusals);
            assert_eq!(record(kind, AuditOutcome::Failed).class(), Class::Refusals);
            assert_eq!(record(kind, AuditOutcome::Unchanged).class(), Class::Traffic);
        }
        assert_eq!(record(AuditKind::EnrollApproved, AuditOutcome::Done).class(), Class::Traffic);
        assert_eq!(record(AuditKind::HarnessRefuse, AuditOutcome::Refused).class(), Class::Refusals);
        assert_eq!(record(AuditKind::ToolCall, AuditOutcome::Refused).class(), Class::Traffic);
    }

    #[test]
    fn words_for_people_are_cut_and_cannot_mislead() {
        let record = record(AuditKind::PairClient, AuditOutcome::Done);
        assert!(record.is_well_formed());
        for detail in ["\u{1b}[2J", "\u{202e}x", "plain", &"\u{7}".repeat(5_000), &"ж".repeat(5_000)] {
            let record = record.clone().with_detail(detail);
            assert!(record.is_well_formed(), "{record:?}");
        }
        let sized = |length| AuditRecord { detail: Some("x".repeat(length)), ..record.clone() };
        assert!(sized(AUDIT_DETAIL_CHARS_MAX + 1).is_well_formed(), "with the mark of its cut");
        assert!(!sized(AUDIT_DETAIL_CHARS_MAX + 2).is_well_formed());
        assert!(!AuditRecord { detail: Some("\n".into()), ..record.clone() }.is_well_formed());
        assert!(!AuditRecord { detail: Some("x".repeat(5_000)), ..record.clone() }.is_well_formed());
        assert!(!AuditRecord { req: Some(u64::MAX), ..record }.is_well_formed());
    }
}
