//! Which program would be paired: measured, put into words, and with every weakness said.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::base::refusal::{Code, Refusal};
use crate::base::shown::shown;
use crate::os::peer;
use crate::role::argv::{Pairing, Scripts, Who};
use crate::trust::presence::Candidate;
use crate::trust::state::{Anchor, ScriptRule};
use crate::wire::client::{Image, Script, Sha256};

/// A program as it is now. Two measurements are compared whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// What would be paired.
    pub candidate: Candidate,
    /// Of the image, if there is one to measure.
    pub sha256: Option<Sha256>,
    package: bool,
}

/// Measures the program that the person named.
pub fn measure(pairing: &Pairing) -> Result<Measured, Refusal> {
    let (anchor, image, seen) = match &pairing.who {
        Who::Hash(sha256) => (
            Anchor::Hash { sha256: *sha256 },
            String::new(),
            Seen { sha256: Some(*sha256), ..Seen::default() },
        ),
        Who::Signer(signer) => (signed(signer)?, String::new(), Seen::default()),
        Who::Exec(path) => {
            let program = measured(path)?;
            let seen = Seen { interpreter: program.interpreter, ..Seen::of(&program.image) };
            (anchor(&program.image), program.image.path, seen)
        }
        Who::ThisParent => parent()?,
    };
    let script = script_rule(&pairing.script, &image, &seen)?;
    let candidate = Candidate { name: pairing.name.clone(), anchor, image, script };
    Ok(Measured { candidate, sha256: seen.sha256, package: seen.package })
}

/// What was seen of a program beside its path.
#[derive(Default)]
struct Seen {
    sha256: Option<Sha256>,
    package: bool,
    interpreter: bool,
    script: Option<Script>,
}

impl Seen {
    fn of(image: &Image) -> Self {
        Self { sha256: Some(image.sha256), package: image.package, ..Self::default() }
    }
}

/// The package's word where there is one: it survives updates, and no program of the person's can write there.
fn anchor(image: &Image) -> Anchor {
    if image.package && !image.replaced {
        Anchor::Package { path: image.path.clone() }
    } else {
        Anchor::Hash { sha256: image.sha256 }
    }
}

fn signed(signer: &str) -> Result<Anchor, Refusal> {
    if cfg!(target_os = "linux") {
        Err(refused(
            "Linux has no signature that its kernel checks, so --signer means nothing here; use --exec PATH.",
        ))
    } else {
        Ok(Anchor::Signer { signer: signer.into() })
    }
}

/// Who would be our client, were we to serve instead of asking.
fn parent() -> Result<(Anchor, String, Seen), Refusal> {
    let client = peer::client().map_err(|refusal| {
        refused(format!("The program that started this is not known: {refusal}. Use --exec PATH."))
    })?;
    let [holder] = client.holders() else {
        return Err(refused(
            "Several programs stand behind this command; name the one you mean with --exec PATH.",
        ));
    };
    let seen =
        Seen { interpreter: holder.interpreter, script: holder.script.clone(), ..Seen::of(&holder.image) };
    Ok((anchor(&holder.image), holder.image.path.clone(), seen))
}

fn measured(path: &Path) -> Result<peer::Program, Refusal> {
    let path = resolved(path)?;
    if !path.is_file() {
        let shown = shown(&path.display().to_string(), usize::MAX);
        return Err(refused(format!("{shown} is no file that can be run; name the program itself.")));
    }
    let mut start = [0; 2];
    let read = std::fs::File::open(&path).and_then(|mut file| file.read(&mut start));
    if read.is_ok() && start == *b"#!" {
        return Err(refused(format!(
            "{} is a script, and what runs is its interpreter. Name both: --exec INTERPRETER --script {0}.",
            shown(&path.display().to_string(), usize::MAX)
        )));
    }
    let program =
        peer::program(&path).map_err(|refusal| refused(format!("It cannot be paired: {refusal}.")))?;
    if program.is_own {
        return Err(refused(
            "That is genkan itself, which speaks for whoever starts it; pair the client, not genkan.",
        ));
    }
    Ok(program)
}

fn script_rule(said: &Scripts, image: &str, seen: &Seen) -> Result<ScriptRule, Refusal> {
    let path = shown(image, usize::MAX);
    let exactly = |script: Script| ScriptRule::Exactly { path: script.path, sha256: script.sha256 };
    // Of a bare hash or signer nothing is known.
    let unseen = image.is_empty();
    match said {
        Scripts::Unsaid if !seen.interpreter => Ok(ScriptRule::Native),
        Scripts::Unsaid => match &seen.script {
            Some(script) => Ok(exactly(script.clone())),
            None => Err(refused(format!(
                "{path} is an interpreter: to pair it alone would let in everything that it can run. Add --script PATH for one script, or --any-script if you mean all."
            ))),
        },
        Scripts::At(_) | Scripts::Any if !seen.interpreter && !unseen => Err(refused(format!(
            "{path} is not known to be an interpreter, so leave out --script and --any-script."
        ))),
        Scripts::At(script) => {
            let script = resolved(script)?;
            let measured = peer::script_at(&script)
                .map_err(|refusal| refused(format!("It cannot be paired: {refusal}.")))?;
            Ok(exactly(measured))
        }
        Scripts::Any => Ok(ScriptRule::Any),
    }
}

/// As the kernel will name it when it runs.
fn resolved(path: &Path) -> Result<PathBuf, Refusal> {
    let resolved = std::fs::canonicalize(path);
    let resolved = resolved.map_err(|error| {
        refused(format!("{} cannot be found: {error}.", shown(&path.display().to_string(), usize::MAX)))
    })?;
    match resolved.to_str() {
        Some(_) => Ok(resolved),
        None => Err(refused("The path is not UTF-8 text; give the program a path that is.")),
    }
}

fn refused(message: impl Into<String>) -> Refusal {
    Refusal::new(Code::InvalidArgument, message)
}

impl Measured {
    /// What the person reads, one fact a line.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let Candidate { name, anchor, image, script } = &self.candidate;
        let mut facts = vec![("Name", name.clone())];
        facts.push(("Program", if image.is_empty() { "not seen".into() } else { shown(image, usize::MAX) }));
        if let Some(sha256) = &self.sha256 {
            facts.push(("SHA-256", format!("{}  ({sha256})", sha256.short())));
        }
        facts.push(("Counts as", counts_as(anchor)));
        match script {
            ScriptRule::Native => facts.push(("Script", "none: a program of its own".into())),
            ScriptRule::Any => facts.push(("Script", "ANY that it runs, now and later".into())),
            ScriptRule::Exactly { path, sha256 } => {
                facts.push(("Script", shown(path, usize::MAX)));
                facts.push(("its SHA-256", format!("{}  ({sha256})", sha256.short())));
            }
        }
        facts
    }

    /// What the person should know before they say yes.
    pub fn warnings(&self) -> Vec<&'static str> {
        let Candidate { anchor, image, script, .. } = &self.candidate;
        let mut warnings = Vec::new();
        match script {
            ScriptRule::Any => warnings.push(
                "It is an interpreter: whatever runs as you can start it with a script of its own and is let in.",
            ),
            ScriptRule::Exactly { .. } => warnings.push(
                "It is an interpreter: modules, settings and environment variables can make it load other code than this script.",
            ),
            ScriptRule::Native if image.is_empty() => warnings.push(
                "genkan has not seen this program: if it is an interpreter under another name, whatever it runs is let in.",
            ),
            ScriptRule::Native => warnings.push(
                "Whatever this program can be made to run, by plugins, settings or variables such as ELECTRON_RUN_AS_NODE, is let in with it.",
            ),
        }
        if matches!(anchor, Anchor::Hash { .. }) && !image.is_empty() && !self.package {
            warnings.push(
                "It is no system package: programs that run as you can change files beside it. After each update you pair it again.",
            );
        }
        warnings
    }

    /// For the log: the same in one line.
    pub fn detail(&self) -> String {
        let Candidate { name, anchor, image, script } = &self.candidate;
        let kind = match anchor {
            Anchor::Hash { .. } => "hash",
            Anchor::Signer { .. } => "signer",
            Anchor::Package { .. } => "package",
        };
        let hash = self.sha256.map(|sha256| format!(" {sha256}")).unwrap_or_default();
        let script = match script {
            ScriptRule::Native => String::new(),
            ScriptRule::Any => ", ANY script".into(),
            ScriptRule::Exactly { path, sha256 } => format!(", script {} {sha256}", shown(path, usize::MAX)),
        };
        format!("{name}, {kind}{hash}{script}, program {}", shown(image, usize::MAX))
    }
}

/// What an anchor means to a person.
pub fn counts_as(anchor: &Anchor) -> String {
    match anchor {
        Anchor::Hash { .. } => "this exact file; a changed one is refused".into(),
        Anchor::Signer { signer } => format!("whatever is signed by {}", shown(signer, usize::MAX)),
        Anchor::Package { .. } => {
            "the system's own file at this path, also after updates; root alone can write it".into()
        }
    }
}
