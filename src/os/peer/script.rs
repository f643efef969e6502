//! Interpreters: images that run whatever they are given, so that the image alone says little.
//!
//! Decides which images are known to be one, and which script such a process was started with. Says nothing rather than
//! guess: code given as an argument, a module name, an option that is not known to be harmless, arguments that were
//! rewritten. It is a weak word all the same: arguments belong to the process, and environment, configuration and the
//! script itself may load other code. An interpreter under another name, or inside another program, is not known.

use std::path::{Path, PathBuf};

use super::image;
use super::system::Process;
use crate::base::limits::CLIENT_PATH_BYTES_MAX;
use crate::wire::client::Script;

/// A family of interpreters.
struct Interpreter {
    /// File names, without a version at their end.
    names: &'static [&'static str],
    /// Options before the script that change nothing about which code runs. One ending in `=` takes a value after it.
    harmless: &'static [&'static str],
    /// Words that may stand before the script.
    verbs: &'static [&'static str],
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: &["node", "nodejs", "electron"],
        harmless: &[
            "--no-warnings",
            "--no-deprecation",
            "--enable-source-maps",
            "--max-old-space-size=",
            "--max-semi-space-size=",
        ],
        verbs: &[],
    },
    Interpreter { names: &["bun", "deno"], harmless: &["-A", "--allow-all", "--quiet"], verbs: &["run"] },
    Interpreter {
        names: &["python", "pypy", "ipython"],
        harmless: &["-u", "-E", "-s", "-S", "-I", "-B", "-O", "-OO", "-P", "-q"],
        verbs: &[],
    },
    Interpreter {
        names: &["sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "busybox", "tcsh", "csh", "pwsh"],
        harmless: &["-e", "-u", "-l"],
        verbs: &[],
    },
    Interpreter {
        names: &[
            "perl",
            "ruby",
            "php",
            "php-cgi",
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
            "qemu-x86_64",
            "qemu-aarch64",
            "ld.so",
            "ld-linux-x86-64.so",
            "ld-linux-aarch64.so",
            "ld-musl-x86_64.so",
            "ld-musl-aarch64.so",
        ],
        harmless: &[],
        verbs: &[],
    },
];

/// Whether an image is known to run whatever script it is given.
pub fn is_interpreter(image: &Path) -> bool {
    family(image).is_some()
}

/// The script of a process that runs an interpreter, if it can be told and read.
pub fn of(process: &Process, image: &Path) -> Option<Script> {
    let arguments = process.arguments().ok()?;
    let name = script_among(family(image)?, &arguments)?;
    let opened = process.open_as_it_would(&path_of(name)?).ok()?;
    let path = image::text(&opened.path);
    if path.len() > CLIENT_PATH_BYTES_MAX {
        return None;
    }
    Some(Script { sha256: image::hash(&opened.file, &opened.path).ok()?, path })
}

#[cfg(unix)]
fn path_of(argument: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(std::ffi::OsStr::from_bytes(argument).into())
}

/// What is not Unicode there could be no name that we show.
#[cfg(windows)]
fn path_of(argument: &[u8]) -> Option<PathBuf> {
    str::from_utf8(argument).ok().map(PathBuf::from)
}

fn family(image: &Path) -> Option<&'static Interpreter> {
    let name = image.file_name()?.to_str()?;
    let bare = name.strip_suffix(".exe").unwrap_or(name);
    let bare = bare.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    INTERPRETERS.iter().find(|family| {
        family.names.iter().any(|known| known.eq_ignore_ascii_case(name) || known.eq_ignore_ascii_case(bare))
    })
}

fn script_among<'a>(family: &Interpreter, arguments: &'a [Vec<u8>]) -> Option<&'a [u8]> {
    for argument in arguments.iter().skip(1) {
        let text = str::from_utf8(argument).unwrap_or_default();
        if argument.first() != Some(&b'-') {
            if family.verbs.contains(&text) {
                continue;
            }
            return Some(argument).filter(|name| !name.is_empty()).map(Vec::as_slice);
        }
        let is_known =
            |known: &&str| if known.ends_with('=') { text.starts_with(known) } else { text == *known };
        if !family.harmless.iter().any(is_known) {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_known_by_name_in_any_version() {
        for path in [
            "/usr/bin/node",
            "/usr/bin/node22",
            "/usr/bin/python3.11",
            "/usr/bin/python3",
            "/bin/dash",
            "/usr/bin/perl5.36.0",
            "/bin/busybox",
            "/usr/bin/lua5.4",
            "/opt/Python",
            "C:/node.exe",
            "/lib64/ld-linux-x86-64.so.2",
            "/usr/lib/jvm/bin/java",
        ] {
            assert!(is_interpreter(Path::new(path)), "{path}");
        }
        for path in ["/opt/claude", "/usr/bin/codex", "/opt/nodes", "/opt/cursor", "/", "/usr/bin/pythonic"] {
            assert!(!is_interpreter(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn a_script_is_named_only_where_nothing_else_can_be_meant() {
        let of = |line: &str| {
            let words: Vec<_> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
            let family = family(Path::new(words.first().map_or("", |name| str::from_utf8(name).unwrap())));
            script_among(family.unwrap(), &words).map(|name| String::from_utf8(name.to_vec()).unwrap())
        };
        for (line, script) in [
            ("node cli.js -e x", "cli.js"),
            ("node --max-old-space-size=8192 --no-warnings /a/cli.js", "/a/cli.js"),
            ("python3 -u -I server.py", "server.py"),
            ("bash -e run.sh", "run.sh"),
            ("bun run cli.ts", "cli.ts"),
            ("perl x.pl", "x.pl"),
        ] {
            assert_eq!(of(line).as_deref(), Some(script), "{line}");
        }
        for line in [
            "node -e code cli.js",
            "node --require=./evil.js cli.js",
            "node -r ./evil.js cli.js",
            "node",
            "node --import ./evil.mjs cli.js",
            "python3 -m module",
            "python3 -c code x.py",
            "bash -c script",
            "sh -c genkan",
            "node -",
            "perl -e code",
            "java -jar a.jar",
            "node --max-old-space-size",
            "node ",
            "bash --rcfile evil run.sh",
            "deno run --preload=evil.ts cli.ts",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
