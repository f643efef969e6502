//! That the person said yes, and to what.
//!
//! Decides which words a grant takes, and binds the yes to exactly what was shown. Refuses any other words. It does not
//! know who typed: that the words came from the controlling terminal is the asker's to see to, and a program that makes
//! itself a terminal can type them too.

use alloc::format;
use alloc::string::String;

use super::state::{Anchor, ScriptRule};
use crate::base::refusal::{Code, Refusal};

/// What only the person may grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Release the kill switch as it was engaged in this epoch. An engagement after the question stays.
    Release {
        /// [`engaged`](super::state::TrustState::engaged) when the question was asked.
        engaged: u64,
    },
    /// Pair this client.
    Pair(Candidate),
    /// Let a paused client go on.
    Resume {
        /// Its name.
        name: String,
        /// The epoch of the entry that was shown.
        epoch: u64,
    },
    /// Replace a damaged or lost trust record.
    Recover,
}

/// A client as it would be paired: what the person is shown, and what is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The person's name for it.
    pub name: String,
    /// What will have to hold of its image.
    pub anchor: Anchor,
    /// Path of its image; empty if only an anchor was given.
    pub image: String,
    /// What will have to hold of its script.
    pub script: ScriptRule,
}

impl Candidate {
    /// The words that pair it.
    pub fn phrase(&self) -> String {
        let anchor = match &self.anchor {
            Anchor::Hash { sha256 } => sha256.short(),
            Anchor::Signer { .. } => String::from("signer"),
            Anchor::Package { .. } => String::from("package"),
        };
        let script = match self.script {
            ScriptRule::Native | ScriptRule::Exactly { .. } => "",
            ScriptRule::Any => " with any script",
        };
        format!("pair {} {anchor}{script}", self.name)
    }
}

impl Grant {
    /// The words that the person must type. They name what is granted, so that they cannot be typed by habit.
    pub fn phrase(&self) -> String {
        match self {
            Self::Release { .. } => "release the kill switch".into(),
            Self::Pair(candidate) => candidate.phrase(),
            Self::Resume { name, .. } => format!("resume {name}"),
            Self::Recover => "recover".into(),
        }
    }

    /// Takes what was typed in answer to the question that showed this grant.
    pub fn answered(self, typed: &str) -> Result<Present, Refusal> {
        // INVARIANT kill-4, admission-9
        if typed.trim() == self.phrase() {
            Ok(Present { grant: self })
        } else {
            Err(Refusal::new(Code::UserDenied, "The words were not typed, so nothing was changed."))
        }
    }
}

/// That the person was asked about a grant and said yes. Made by [`Grant::answered`] alone, and good for one use.
#[derive(Debug, PartialEq, Eq)]
pub struct Present {
    grant: Grant,
}

impl Present {
    /// What they said yes to.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::client::Sha256;

    /// What the page of the commands says: docs/cli.md.
    #[test]
    fn each_grant_has_words_that_name_it() {
        let script = ScriptRule::Exactly { path: "/s.py".into(), sha256: Sha256([2; 32]) };
        let hash = Anchor::Hash { sha256: Sha256([0xab; 32]) };
        let package = Anchor::Package { path: "/usr/bin/p".into() };
        let signer = Anchor::Signer { signer: "Example".into() };
        let pair = |anchor: &Anchor, script: &ScriptRule| {
            let candidate = Candidate {
                name: "n".into(),
                anchor: anchor.clone(),
                image: String::new(),
                script: script.clone(),
            };
            Grant::Pair(candidate).phrase()
        };
        assert_eq!(pair(&hash, &ScriptRule::Native), "pair n abababababab");
        assert_eq!(pair(&package, &script), "pair n package");
        assert_eq!(pair(&signer, &ScriptRule::Any), "pair n signer with any script");
        assert_eq!(Grant::Resume { name: "n".into(), epoch: 3 }.phrase(), "resume n");
        assert_eq!(Grant::Recover.phrase(), "recover");
    }

    #[test]
    fn only_the_words_count_and_nothing_but_the_line_end_beside_them() {
        let resume = || Grant::Resume { name: "n".into(), epoch: 3 };
        assert_eq!(resume().answered("resume n\r\n").map(|present| present.grant().clone()), Ok(resume()));
        for typed in ["", "resume", "Resume n", "resume  n", "resume n!", "yes"] {
            assert_eq!(
                resume().answered(typed).map_err(|refusal| refusal.code),
                Err(Code::UserDenied),
                "{typed:?}"
            );
        }
    }
}
