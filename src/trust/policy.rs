//! What tools may do on this machine: fifteen fields, each with a direction in which it gives away more.
//!
//! Decides what a signed baseline and an unsigned overlay mean together, which change only takes away, which one grants,
//! and what a browser that has applied one policy may apply next. Refuses, by the names of the fields, whatever would
//! give more than it may. All of it follows from one operation, the tighter of two values. It does not know keys: whoever
//! calls has verified the exact bytes of a document before they are parsed here.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize};

use self::leaning::{Given, Kept, Leaning, OffList, Pause, Span};
use crate::base::limits::{
    POLICY_BYTES_MAX, POLICY_MS_MAX, POLICY_TOOL_BYTES_MAX, POLICY_TOOLS_MAX, SAFE_INTEGER_MAX,
};
use crate::base::refusal::{Code, Refusal};
use crate::wire::json;

mod leaning;

/// What the host key signs: this, then the exact bytes of a document. No signature over anything else begins so.
pub const SIGNED_DOMAIN: &[u8] = b"genkan-policy-v1\0";
/// The only form of a document that there is.
const FORM: u32 = 1;

/// Absent is none; a value that is there must be one.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

macro_rules! fields {
    ($($(#[$about:meta])* $name:literal $field:ident $variant:ident: $leaning:ty = $default:expr;)*) => {
        /// A field of the policy. Its name is the same on the wire, in a file and on a page.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Field { $($(#[$about])* #[serde(rename = $name)] $variant,)* }

        impl Field {
            /// Every field there is.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// As people and files write it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        /// A value for every field.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct PolicyValues {
            $($(#[$about])* #[serde(rename = $name)] pub $field: <$leaning as Leaning>::Value,)*
        }

        /// Values for some of the fields.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Overlay {
            $($(#[$about])* #[serde(
                rename = $name, default, deserialize_with = "given", skip_serializing_if = "Option::is_none"
            )] pub $field: Option<<$leaning as Leaning>::Value>,)*
        }

        impl Default for PolicyValues {
            /// What holds where nobody decided anything: no grant is on, every question is asked.
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl PolicyValues {
            /// Of each field what both allow.
            pub fn tighter(&self, other: &Self) -> Self {
                Self { $($field: <$leaning>::tighter(&self.$field, &other.$field),)* }
            }

            /// With the values that are given in place of its own, in whatever direction.
            pub fn with(&self, change: &Overlay) -> Self {
                Self { $($field: change.$field.as_ref().unwrap_or(&self.$field).clone(),)* }
            }

            /// The fields that have another value in `next`.
            pub fn changed(&self, next: &Self) -> Vec<Field> {
                let mut fields = Vec::new();
                $(if self.$field != next.$field { fields.push(Field::$variant); })*
                fields
            }
        }

        impl Overlay {
            /// Without every other field.
            fn only(self, fields: &[Field]) -> Self {
                Self { $($field: self.$field.filter(|_| fields.contains(&Field::$variant)),)* }
            }
        }

        impl From<PolicyValues> for Overlay {
            fn from(values: PolicyValues) -> Self {
                Self { $($field: Some(values.$field),)* }
            }
        }
    };
}

fields! {
    /// Tools that need the browser's debugger.
    "cdpMode" cdp_mode CdpMode: Given = false;
    /// `page_upload`
    "fileUploadEnabled" file_upload_enabled FileUploadEnabled: Given = false;
    /// `page_handle_dialog`
    "handleDialogEnabled" handle_dialog_enabled HandleDialogEnabled: Given = false;
    /// `page_eval`
    "pageEvalEnabled" page_eval_enabled PageEvalEnabled: Given = false;
    /// Whether an act that turns out to be high-risk is asked about.
    "confirmHighRiskClick" confirm_high_risk_click ConfirmHighRiskClick: Kept = true;
    /// Whether each evaluation is asked about.
    "confirmPageEval" confirm_page_eval ConfirmPageEval: Kept = true;
    /// Reserved: an authenticator in place of the window. Neither value has an effect yet.
    "presenceConfirm" presence_confirm PresenceConfirm: Kept = true;
    /// Whether closing a tab is asked about.
    "confirmTabClose" confirm_tab_close ConfirmTabClose: Kept = true;
    /// Whether a snapshot through the debugger is announced.
    "warnPreciseSnapshot" warn_precise_snapshot WarnPreciseSnapshot: Kept = true;
    /// Whether the result of an evaluation is masked.
    "evalMask" eval_mask EvalMask: Kept = true;
    /// Milliseconds after which the extension checks the host key again; 0 for never.
    "hostReverifyMs" host_reverify_ms HostReverifyMs: Pause = 0;
    /// Milliseconds in which one yes covers the next click of its kind on the same page.
    "confirmGraceMs" confirm_grace_ms ConfirmGraceMs: Span = 60_000;
    /// Milliseconds until an unanswered question about an act is a no.
    "clickToastTimeoutMs" click_toast_timeout_ms ClickToastTimeoutMs: Span = 30_000;
    /// Milliseconds until an unanswered question about an evaluation is a no.
    "evalToastTimeoutMs" eval_toast_timeout_ms EvalToastTimeoutMs: Span = 45_000;
    /// Tools that nobody may use.
    "disabledTools" disabled_tools DisabledTools: OffList = BTreeSet::new();
}

/// A grant that some tools stand on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// The browser's debugger.
    Cdp,
    /// Files of the person.
    FileUpload,
    /// The page's own dialogs.
    HandleDialog,
    /// Code in the page.
    PageEval,
}

impl PolicyValues {
    /// The fields in which `next` gives more than this.
    pub fn loosened(&self, next: &Self) -> Vec<Field> {
        self.tighter(next).changed(next)
    }

    /// Whether a tool may be used at all.
    pub fn allows(&self, tool: &str, needs: Option<Needs>) -> Result<(), Refusal> {
        let off = |field: Field| {
            let sentence = format!(
                "This tool is switched off by the policy of this machine ({}); only the person can switch it on, in the \
                 extension's options or with `genkan policy set`.",
                field.name()
            );
            Err(Refusal::new(Code::ToolDisabled, sentence))
        };
        if self.disabled_tools.contains(tool) {
            return off(Field::DisabledTools);
        }
        match needs {
            Some(Needs::Cdp) if !self.cdp_mode => off(Field::CdpMode),
            Some(Needs::FileUpload) if !self.file_upload_enabled => off(Field::FileUploadEnabled),
            Some(Needs::HandleDialog) if !self.handle_dialog_enabled => off(Field::HandleDialogEnabled),
            Some(Needs::PageEval) if !self.page_eval_enabled => off(Field::PageEvalEnabled),
            Some(Needs::Cdp | Needs::FileUpload | Needs::HandleDialog | Needs::PageEval) | None => Ok(()),
        }
    }

    fn check(&self) -> Result<(), Refusal> {
        let spans = [
            (Field::HostReverifyMs, self.host_reverify_ms),
            (Field::ConfirmGraceMs, self.confirm_grace_ms),
            (Field::ClickToastTimeoutMs, self.click_toast_timeout_ms),
            (Field::EvalToastTimeoutMs, self.eval_toast_timeout_ms),
        ];
        if let Some((field, _)) = spans.iter().find(|(_, span)| *span > POLICY_MS_MAX) {
            return Err(invalid(&format!("{} is at most {POLICY_MS_MAX} milliseconds", field.name())));
        }
        if self.disabled_tools.len() > POLICY_TOOLS_MAX {
            return Err(invalid(&format!("disabledTools holds at most {POLICY_TOOLS_MAX} names")));
        }
        let is_name = |name: &String| {
            (1..=POLICY_TOOL_BYTES_MAX).contains(&name.len()) && !name.contains(',') && name.trim() == name
        };
        if !self.disabled_tools.iter().all(is_name) {
            return Err(invalid(&format!(
                "a name in disabledTools has 1 to {POLICY_TOOL_BYTES_MAX} bytes, no comma and no space around it"
            )));
        }
        Ok(())
    }
}

/// What the host key signs: the values that hold before anybody restricts them further.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyDoc {
    v: u32,
    /// One more than the document before it.
    revision: u64,
    /// The revision in which each field was last changed by a grant. A browser that missed some revisions can still tell
    /// what was granted since.
    touched: BTreeMap<Field, u64>,
    values: PolicyValues,
}

impl PolicyDoc {
    /// Reads verified bytes: strict JSON in the one form in which it is written.
    pub fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        if bytes.len() > POLICY_BYTES_MAX {
            return Err(invalid(&format!("a document has at most {POLICY_BYTES_MAX} bytes")));
        }
        let doc: Self = json::typed(bytes).map_err(|fault| invalid(&fault.to_string()))?;
        if doc.v != FORM {
            return Err(invalid("its document has a form that this genkan does not know; update genkan"));
        }
        if doc.revision == 0 || doc.revision > SAFE_INTEGER_MAX {
            return Err(invalid("its revision is no number that is counted to"));
        }
        if !doc.touched.values().all(|at| (1..=doc.revision).contains(at)) {
            return Err(invalid("it names a field as granted in a revision that there was not"));
        }
        doc.values.check()?;
        if doc.written() != bytes {
            return Err(invalid("its document is not written as genkan writes it"));
        }
        Ok(doc)
    }

    /// The bytes to sign and to keep. They are never made again from the parsed document.
    pub fn written(&self) -> Vec<u8> {
        json::written(self).into_bytes()
    }

    /// How many documents there were, this one included.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The revision in which each field was last granted.
    pub fn touched(&self) -> &BTreeMap<Field, u64> {
        &self.touched
    }

    /// What it says by itself.
    pub fn values(&self) -> &PolicyValues {
        &self.values
    }
}

/// The policy as it stands: a signed baseline, if there ever was a grant, and what was taken away since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    baseline: Option<PolicyDoc>,
    overlay: Overlay,
}

/// What putting back an earlier document takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rollback {
    /// Nothing: it only takes away, so it is this overlay.
    Free(Overlay),
    /// The person: it is a grant of this document.
    Grant(PolicyDoc),
}

impl Policy {
    /// From what is kept. An overlay that would loosen its baseline is refused: nobody signed it.
    pub fn new(baseline: Option<PolicyDoc>, overlay: Overlay) -> Result<Self, Refusal> {
        let policy = Self { baseline, overlay };
        let before = policy.before();
        let given = before.with(&policy.overlay);
        given.check()?;
        tightening(&before, &given)?;
        Ok(policy)
    }

    /// What holds now.
    // INVARIANT policy-1
    pub fn effective(&self) -> PolicyValues {
        let before = self.before();
        before.tighter(&before.with(&self.overlay))
    }

    /// What was signed.
    pub fn baseline(&self) -> Option<&PolicyDoc> {
        self.baseline.as_ref()
    }

    /// What was taken away since.
    pub fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    /// With these fields tighter than before. Free for anybody; a value that gives more is refused, and the whole with it.
    // INVARIANT policy-2
    pub fn restricted(&self, by: &Overlay) -> Result<Self, Refusal> {
        let Some(baseline) = &self.baseline else {
            return Err(Refusal::new(
                Code::InvalidArgument,
                "There is no signed policy yet, so there is nothing to restrict: every grant is off.",
            ));
        };
        let effective = self.effective();
        let next = effective.with(by);
        next.check()?;
        tightening(&effective, &next)?;
        let overlay = merged(baseline, next);
        Ok(Self { baseline: Some(baseline.clone()), overlay })
    }

    /// The document that a person grants: what holds now, with this change. What was taken away since is part of it, so
    /// that a grant of one field gives back no other.
    // INVARIANT policy-3
    pub fn granting(&self, change: &Overlay) -> Result<PolicyDoc, Refusal> {
        let before = self.effective();
        let values = before.with(change);
        values.check()?;
        let changed = before.changed(&values);
        if changed.is_empty() && self.baseline.is_some() {
            return Err(Refusal::new(
                Code::InvalidArgument,
                "The policy says this already; nothing is changed.",
            ));
        }
        let revision = self.baseline.as_ref().map_or(0, |doc| doc.revision) + 1;
        if revision > SAFE_INTEGER_MAX {
            return Err(Refusal::new(
                Code::InvalidArgument,
                "No further revision of the policy can be counted; pair the host key anew.",
            ));
        }
        let mut touched = self.baseline.as_ref().map(|doc| doc.touched.clone()).unwrap_or_default();
        // INVARIANT policy-6
        touched.extend(changed.into_iter().map(|field| (field, revision)));
        Ok(PolicyDoc { v: FORM, revision, touched, values })
    }

    /// What putting back the values of an earlier document takes.
    // INVARIANT policy-5
    pub fn rolling_back(&self, earlier: &PolicyDoc) -> Result<Rollback, Refusal> {
        let effective = self.effective();
        match &self.baseline {
            Some(baseline) if effective.loosened(&earlier.values).is_empty() => {
                Ok(Rollback::Free(merged(baseline, earlier.values.clone())))
            }
            Some(_) | None => self.granting(&earlier.values.clone().into()).map(Rollback::Grant),
        }
    }

    fn before(&self) -> PolicyValues {
        self.baseline.as_ref().map(|doc| doc.values.clone()).unwrap_or_default()
    }
}

/// What a browser has applied, kept where only it writes. It never believes its host about which way a change points.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratchet {
    revision: u64,
    values: PolicyValues,
}

impl Default for Ratchet {
    /// Nothing was ever applied.
    fn default() -> Self {
        Self { revision: 0, values: PolicyValues::default() }
    }
}

impl Ratchet {
    /// What holds in this browser.
    pub fn values(&self) -> &PolicyValues {
        &self.values
    }

    /// Moves to what is pushed. More than before needs a document in which each field that
    /// gives more was granted after the revision applied here.
    // INVARIANT policy-4
    pub fn applied(&self, pushed: &Policy) -> Result<Self, Refusal> {
        let revision = pushed.baseline.as_ref().map_or(0, |doc| doc.revision);
        if revision < self.revision {
            return Err(untrusted(&format!(
                "revision {} was applied here, and the host offers revision {revision}",
                self.revision
            )));
        }
        let values = pushed.effective();
        let granted = |field: &Field| pushed.baseline.as_ref()?.touched.get(field).copied();
        let mut unnamed = self.values.loosened(&values);
        unnamed.retain(|field| granted(field).is_none_or(|at| at <= self.revision));
        if unnamed.is_empty() {
            Ok(Self { revision, values })
        } else {
            Err(untrusted(&format!("nothing signed since grants what it would loosen: {}", names(&unnamed))))
        }
    }
}

/// The overlay that makes of the baseline these values, which are nowhere looser.
fn merged(baseline: &PolicyDoc, values: PolicyValues) -> Overlay {
    let changed = baseline.values.changed(&values);
    Overlay::from(values).only(&changed)
}

fn tightening(before: &PolicyValues, next: &PolicyValues) -> Result<(), Refusal> {
    let loosened = before.loosened(next);
    if loosened.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(
        Code::UserDenied,
        format!(
            "This would loosen {}, and only a grant by the person may; nothing was changed.",
            names(&loosened)
        ),
    ))
}

fn names(fields: &[Field]) -> String {
    fields.iter().map(|field| field.name()).collect::<Vec<_>>().join(", ")
}

fn invalid(why: &str) -> Refusal {
    Refusal::new(Code::InvalidArgument, format!("This is no policy: {why}."))
}

fn untrusted(why: &str) -> Refusal {
    Refusal::new(
        Code::ToolDisabled,
        format!(
            "The policy that the host pushed is not believed: {why}. Nothing runs until the person grants it anew."
        ),
    )
}

#[cfg(test)]
mod tests;
