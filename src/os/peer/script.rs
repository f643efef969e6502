//! Interpreters: images that run whatever they are given, so that the image alone says little.
//!
//! Decides which images are known to be one, and which script such a process was started with. Says nothing rather than
//! guess: code given as an argument, a module name, an option that is not known to be harmless, arguments that were
//! rewritten. It is a weak word all the same: arguments belong to the process, and environment, configuration and the
//! script itself may load other code: the name is a word against mistakes, not against a program of the same user. A carrier,
//! which hands on what others say, counts as one, for it speaks for whoever uses it. An interpreter under another name, or
//! inside another program, is not known.

use std::path::{Path, PathBuf};

use super::image;
use super::system::Process;
use crate::base::limits::CLIENT_PATH_BYTES_MAX;
use crate::wire::client::Script;

/// A family of interpreters.
struct Interpreter {
    /// File names, without a version or a flavour at their end.
    names: &'static [&'static str],
    /// Options before the script that change nothing about which code runs. One ending in `=` takes a value after it.
    harmless: &'static [&'static str],
    /// Words that may stand before the script.
    verbs: &'static [&'static str],
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: &["node", "nodejs", "electron", "iojs"],
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
        names: &["python", "pythonw", "pypy", "ipython", "graalpy", "micropython", "circuitpython", "jython"],
        harmless: &["-u", "-E", "-s", "-S", "-I", "-B", "-O", "-OO", "-P", "-q"],
        verbs: &[],
    },
    Interpreter {
        names: &[
            "sh", "bash", "rbash", "dash", "zsh", "rzsh", "fish", "ksh", "rksh", "mksh", "lksh", "ash",
            "yash", "busybox", "toybox", "tcsh", "csh", "pwsh", "nu", "xonsh", "elvish", "osh", "oil",
        ],
        harmless: &["-e", "-u", "-l"],
        verbs: &[],
    },
    Interpreter {
        names: &[
            "perl",
            "raku",
            "moar",
            "ruby",
            "irb",
            "truffleruby",
            "jruby",
            "php",
            "php-cgi",
            "phpdbg",
            "hhvm",
            "lua",
            "luajit",
            "texlua",
            "tclsh",
            "wish",
            "expect",
            "Rscript",
            "R",
            "julia",
            "octave",
            "guile",
            "racket",
            "gsi",
            "sbcl",
            "clisp",
            "ecl",
            "ghci",
            "runghc",
            "ocaml",
            "swipl",
            "gjs",
            "cjs",
            "qjs",
            "tjs",
            "llrt",
            "d8",
            "hermes",
            "emacs",
            "emacsclient",
            "vim",
            "nvim",
            "java",
            "jshell",
            "scala",
            "groovy",
            "dotnet",
            "mono",
            "csi",
            "wine",
            "wine64",
            "erl",
            "beam.smp",
            "elixir",
            "iex",
            "awk",
            "gawk",
            "mawk",
            "nawk",
            "original-awk",
            "sed",
            "make",
            "gdb",
            "lldb",
            "osascript",
            "qemu-x86_64",
            "qemu-i386",
            "qemu-aarch64",
            "qemu-arm",
            "qemu-riscv64",
            "box64",
            "FEXInterpreter",
            "ld.so",
            "ld-linux.so",
            "ld-linux-x86-64.so",
            "ld-linux-aarch64.so",
            "ld-musl-x86_64.so",
            "ld-musl-aarch64.so",
        ],
        harmless: &[],
        verbs: &[],
    },
    Interpreter {
        names: &[
            "socat",
            "nc",
            "ncat",
            "netcat",
            "nc.openbsd",
            "nc.traditional",
            "websocat",
            "ssh",
            "sshd",
            "tmux",
            "screen",
            "script",
            "dtach",
            "abduco",
            "mosh-server",
            "docker",
            "podman",
            "nerdctl",
            "kubectl",
            "env",
            "uv",
            "uvx",
            "pixi",
            "mise",
            "nohup",
            "xargs",
            "parallel",
            "strace",
            "ltrace",
            "rr",
            "valgrind",
            "unshare",
            "nsenter",
            "bwrap",
            "flatpak",
            "sudo",
            "su",
            "doas",
            "systemd-run",
            "cat",
            "tee",
            "stdbuf",
            "unbuffer",
        ],
        harmless: &[],
        verbs: &[],
    },
];

/// What may stand after a name and a separator without making it another program: how it was built, and for what.
const FLAVOURS: &[&str] = &[
    "static",
    "dbg",
    "debug",
    "dev",
    "real",
    "wrapped",
    "bin",
    "console",
    "preloader",
    "sgen",
    "boehm",
    "gtk",
    "nox",
    "lucid",
    "pgtk",
    "basic",
    "tiny",
    "jit",
    "nojit",
    "linux",
    "gnu",
    "gnueabihf",
    "musl",
    "pc",
    "unknown",
    "x86",
    "64",
    "x86_64",
    "amd64",
    "i386",
    "i686",
    "aarch64",
    "arm64",
    "arm",
    "armhf",
    "riscv64",
    "stable",
    "beta",
    "nightly",
    "lts",
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
    let name = image.file_name()?.to_str()?.to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let is_one = |known: &&str| name.strip_prefix(&known.to_ascii_lowercase()).is_some_and(is_same_program);
    INTERPRETERS.iter().find(|family| family.names.iter().any(is_one))
}

/// Whether what follows a program's name is only a version (`3.13t`, `-2.1.0-beta3`) or a flavour.
fn is_same_program(rest: &str) -> bool {
    let is_version = |word: &str| {
        let digits = word.trim_start_matches(|c: char| c.is_ascii_digit());
        digits.len() < word.len()
            && digits.len() <= VERSION_LETTERS_MAX
            && digits.chars().all(char::is_alphanumeric)
    };
    let is_part = |word: &str| {
        let bare = word.trim_end_matches(|c: char| c.is_ascii_digit());
        word.is_empty()
            || is_version(word)
            || word.len() == 1
            || FLAVOURS.contains(&word)
            || FLAVOURS.contains(&bare)
    };
    rest.is_empty()
        || rest.starts_with(|c: char| c.is_ascii_digit() || is_separator(c))
            && rest.split(is_separator).all(is_part)
}

/// Letters after a number: `3.13td`, `8.4rc`.
const VERSION_LETTERS_MAX: usize = 3;

fn is_separator(c: char) -> bool {
    matches!(c, '.' | '-' | '_')
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
            "/usr/bin/perl5.36-x86_64-linux-gnu",
            "/usr/bin/python3.13t",
            "/usr/bin/python3.13td",
            "/usr/bin/python3-dbg",
            "/opt/pypy3.10-c",
            "/bin/bash-static",
            "/bin/zsh5-static",
            "/usr/bin/luajit-2.1.0-beta3",
            "/usr/bin/mono-sgen",
            "/usr/bin/qemu-x86_64-static",
            "/usr/lib/wine/wine64-preloader",
            "/usr/bin/emacs-gtk",
            "/bin/rbash",
            "/opt/graalpy",
            "/usr/bin/micropython",
            "/usr/bin/qjs",
            "/usr/bin/nu",
            "/usr/bin/gjs-console",
            "/usr/bin/tmux",
            "/usr/bin/socat1",
            "/usr/bin/env",
            "/usr/bin/ruby3.1",
            "/usr/bin/php8.4rc1",
            "/usr/bin/nc.openbsd",
            "/lib/ld-musl-x86_64.so.1",
        ] {
            assert!(is_interpreter(Path::new(path)), "{path}");
        }
        for path in [
            "/opt/claude",
            "/usr/bin/codex",
            "/opt/nodes",
            "/opt/cursor",
            "/",
            "/usr/bin/pythonic",
            "/opt/nodemon",
            "/opt/perlite",
            "/opt/bashful",
            "/opt/python-notes",
            "/opt/shell-server",
            "/opt/envoy",
            "/opt/node_exporter",
            "/opt/rust-analyzer",
            "/opt/nuclei",
            "/opt/catalog",
            "/opt/java-language-server",
            "/opt/codex-x86_64-unknown-linux-musl",
            "/opt/gemini",
            "/opt/goose",
            "/opt/zed",
            "/usr/bin/make-mcp",
        ] {
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
