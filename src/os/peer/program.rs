//! A program's file before it runs, measured as it will be when it does.
//!
//! Decides nothing of its own: hash, package and interpreter mean here what they mean of a running process, so that what
//! is paired from a file is what is found later. Refuses what is no plain file.

use std::fs::File;
use std::path::Path;

use super::image::{self, Running};
use super::script::is_interpreter;
use crate::os::OsRefusal;
use crate::wire::client::{Image, Script};

/// What would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its file.
    pub image: Image,
    /// Whether it runs whatever script it is given.
    pub interpreter: bool,
    /// Whether it is this very program.
    pub is_own: bool,
}

/// Measures the file at a path whose links are resolved.
pub fn program(path: &Path) -> Result<Program, OsRefusal> {
    let running = open(path)?;
    let is_own = image::own()?.is(&running)?;
    Ok(Program { image: image::measure(&running)?, interpreter: is_interpreter(path), is_own })
}

/// Measures a script at a path whose links are resolved.
pub fn script_at(path: &Path) -> Result<Script, OsRefusal> {
    let Running { path, file } = open(path)?;
    Ok(Script { sha256: image::hash(&file, &path)?, path: image::text(&path) })
}

fn open(path: &Path) -> Result<Running, OsRefusal> {
    let refusal = |error| OsRefusal::io("measure", path, error);
    // Looked at before it is opened: to open a pipe would wait.
    if !std::fs::metadata(path).map_err(refusal)?.is_file() {
        return Err(OsRefusal::NotAPlainFile { path: path.into() });
    }
    Ok(Running { path: path.into(), file: File::open(path).map_err(refusal)? })
}
