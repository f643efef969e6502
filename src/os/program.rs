//! A program's file before it runs, measured as it will be when it does.
//!
//! Decides what its identity is: the hash of its bytes, read through one descriptor, whether root alone can write it and
//! everything above it, and whether it is known to run scripts. It does not know whether the program is a good one, and
//! an interpreter under a name of its own is not recognised.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sha2::Digest as _;

use super::OsRefusal;
use super::files::Seen;
use crate::wire::client::{Image, Script, Sha256};

const PIECE: usize = 256 * 1024;

/// Names of interpreters, without the version at their end.
const INTERPRETERS: &[&str] = &[
    "node",
    "nodejs",
    "electron",
    "bun",
    "deno",
    "python",
    "pypy",
    "ipython",
    "sh",
    "bash",
    "dash",
    "zsh",
    "fish",
    "ksh",
    "mksh",
    "ash",
    "busybox",
    "tcsh",
    "csh",
    "pwsh",
    "perl",
    "ruby",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "wish",
    "Rscript",
    "R",
    "julia",
    "guile",
    "emacs",
    "java",
    "dotnet",
    "mono",
    "wine",
    "wine64",
    "erl",
    "beam.smp",
    "awk",
    "gawk",
    "mawk",
    "gdb",
    "osascript",
];

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
    let (sha256, seen) = digest(path)?;
    let image = Image {
        path: path.to_string_lossy().into_owned(),
        device: seen.file.0,
        inode: seen.file.1,
        sha256,
        package: is_package(path),
        signer: None,
        replaced: false,
    };
    let own = std::env::current_exe().and_then(std::fs::canonicalize);
    let is_own = own.is_ok_and(|own| own == path);
    Ok(Program { image, interpreter: is_interpreter(path), is_own })
}

/// Measures a script at a path whose links are resolved.
pub fn script(path: &Path) -> Result<Script, OsRefusal> {
    Ok(Script { path: path.to_string_lossy().into_owned(), sha256: digest(path)?.0 })
}

fn digest(path: &Path) -> Result<(Sha256, Seen), OsRefusal> {
    let refusal = |error| OsRefusal::io("measure", path, error);
    // Looked at before it is opened: to open a pipe would wait.
    if !std::fs::metadata(path).map_err(refusal)?.is_file() {
        return Err(OsRefusal::NotAPlainFile { path: path.into() });
    }
    let mut file = File::open(path).map_err(refusal)?;
    let before = Seen::of(&file).map_err(refusal)?;
    let (mut hasher, mut piece) = (sha2::Sha256::new(), vec![0; PIECE]);
    loop {
        match file.read(&mut piece).map_err(refusal)? {
            0 => return Ok((Sha256(hasher.finalize().into()), before)),
            length => hasher.update(piece.get(..length).unwrap_or_default()),
        }
    }
}

/// Root's own, with every folder above it, and writable by nobody else.
#[cfg(unix)]
fn is_package(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const ROOT: u32 = 0;
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    let is_roots = |part: &Path| {
        std::fs::symlink_metadata(part).is_ok_and(|file| {
            file.uid() == ROOT && file.mode() & WRITABLE_BY_OTHERS == 0 && !file.is_symlink()
        })
    };
    path.is_absolute() && path.ancestors().all(is_roots)
}

/// What an installer left there may be changed by every administrator's program, so nothing is taken for a package.
#[cfg(windows)]
fn is_package(_path: &Path) -> bool {
    false
}

fn is_interpreter(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return true };
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    INTERPRETERS.iter().any(|known| known.eq_ignore_ascii_case(name) || known.eq_ignore_ascii_case(bare))
}
