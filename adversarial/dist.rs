//! The attacker owns the environment of the program that is handed out. It must be one static file with nothing beside it:
//! no loader that takes libraries from the environment, no library that is loaded later.
//!
//! Attacks the program that `GENKAN_BIN` names; `make dist` builds it and runs this.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
#![allow(dead_code, reason = "the stage serves the other attackers too")]

mod stage;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use stage::{Home, Host, Serving, binary, done};

const DYN: u16 = 3;
const INTERP: u32 = 3;
const DYNAMIC: u32 = 2;
const NEEDED: u64 = 1;

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    *bytes[at..].first_chunk().unwrap()
}

/// Kind, offset and length of each segment of a 64-bit little-endian file.
fn segments(elf: &[u8]) -> Vec<(u32, usize, usize)> {
    assert_eq!(&elf[..6], b"\x7fELF\x02\x01");
    let table = u64::from_le_bytes(number(elf, 32)) as usize;
    let (size, count) = (u16::from_le_bytes(number(elf, 54)), u16::from_le_bytes(number(elf, 56)));
    let all = (0..count).map(|index| table + usize::from(index) * usize::from(size));
    all.map(|at| {
        let word = |offset| u64::from_le_bytes(number(elf, at + offset)) as usize;
        (u32::from_le_bytes(number(elf, at)), word(8), word(32))
    })
    .collect()
}

#[test]
fn the_program_that_is_handed_out_is_one_static_position_independent_file() {
    let elf = std::fs::read(binary()).unwrap();
    assert_eq!(u16::from_le_bytes(number(&elf, 16)), DYN, "position independent");
    let segments = segments(&elf);
    assert!(segments.iter().all(|(kind, ..)| *kind != INTERP), "no loader");
    for (_, at, length) in segments.iter().filter(|(kind, ..)| *kind == DYNAMIC) {
        let mut tags =
            elf[*at..at + length].chunks_exact(16).map(|entry| u64::from_le_bytes(number(entry, 0)));
        assert!(tags.all(|tag| tag != NEEDED), "no library");
    }
}

/// A library whose constructor, audit interface or converter writes a file once it is loaded.
fn smuggled(folder: &Path) -> (PathBuf, PathBuf) {
    let (library, marker) = (folder.join("smuggled.so"), folder.join("loaded"));
    let code = format!(
        "#include <fcntl.h>\n#include <unistd.h>\n\
         static void leave(void) {{ close(open(\"{0}\", O_CREAT | O_WRONLY, 0600)); }}\n\
         __attribute__((constructor)) static void start(void) {{ leave(); }}\n\
         unsigned la_version(unsigned v) {{ leave(); return v; }}\n\
         int gconv(void) {{ leave(); return 0; }}\nint gconv_init(void) {{ leave(); return 0; }}\n\
         int getaddrinfo(void) {{ leave(); return 1; }}\nvoid *malloc_hook(void) {{ leave(); return 0; }}\n",
        marker.display()
    );
    let source = folder.join("smuggled.c");
    std::fs::write(&source, code).unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-w", "-o"]).arg(&library).arg(&source).status();
    assert!(built.unwrap().success());
    let modules = folder.join("gconv-modules");
    std::fs::write(modules, "module UTF-8// INTERNAL smuggled 1\nmodule INTERNAL UTF-8// smuggled 1\n")
        .unwrap();
    (library, marker)
}

/// Every way by which an environment has a loader or the C library take in a file.
fn environment(folder: &Path, library: &Path) -> Vec<(&'static str, String)> {
    let (library, folder) = (library.display().to_string(), folder.display().to_string());
    vec![
        ("LD_PRELOAD", library.clone()),
        ("LD_AUDIT", library.clone()),
        ("LD_LIBRARY_PATH", folder.clone()),
        ("GCONV_PATH", folder.clone()),
        ("NIS_PATH", folder.clone()),
        ("LOCPATH", folder.clone()),
        ("NLSPATH", folder),
        ("HOSTALIASES", library.clone()),
        ("RES_OPTIONS", "debug".into()),
        ("MALLOC_CHECK_", "3".into()),
        ("GLIBC_TUNABLES", "glibc.malloc.check=3".into()),
    ]
}

/// Layer: the build.
#[test]
fn t040_libraries_in_the_environment_are_not_loaded() {
    let home = Home::new();
    let (library, marker) = smuggled(home.path());
    let smuggling = environment(home.path(), &library);
    let any = Command::new("/bin/true").envs(smuggling.clone()).status().unwrap();
    assert!(any.success() && marker.exists(), "the attack works on a program with a loader");
    std::fs::remove_file(&marker).unwrap();

    for arguments in [&["--version"][..], &["doctor", "--json"], &["list-clients"]] {
        let mut command = home.command(arguments);
        command.envs(smuggling.clone()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().unwrap();
        assert!(!marker.exists(), "{arguments:?}");
    }
    through_a_call(&home, &smuggling);
    assert!(!marker.exists());
}

/// Layer: the build. No name lookup, no conversion of texts, nothing loads a second file.
#[test]
fn after_a_call_each_process_has_one_executable_file_mapped() {
    through_a_call(&Home::new(), &[]);
}

/// A server and a host work through one call, and are then looked at.
fn through_a_call(home: &Home, environment: &[(&'static str, String)]) {
    let with = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command
    };
    let mut serving = Serving::start(with(&[]));
    home.await_broker(serving.pid());
    let mut host = Host::run(with(&["--native-host", "--label", "chromium"]));
    host.greet();
    while host.hear()["link"]["state"] != "attached" {}
    serving.ask(1, "tab_focus", &json!({ "tabId": 1 }));
    let request = loop {
        let frame = host.hear();
        if frame["op"] == "tab_focus" {
            break frame;
        }
    };
    host.say(&done(request["id"].as_u64().unwrap(), "it is in front"));
    let (_, answer) = serving.answer().expect("an answer");
    assert!(answer.contains("it is in front"), "{answer}");
    for pid in [serving.pid(), host.child.id()] {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        let mut files: Vec<_> = maps.lines().filter_map(executable_file).collect();
        files.dedup();
        assert_eq!(files, [binary()], "{maps}");
    }
    host.close();
}

/// The file of a row of `maps`, if it is mapped executable: `address perms offset device inode path`.
fn executable_file(row: &str) -> Option<&str> {
    let mut fields = row.split_whitespace();
    let (_, permissions) = (fields.next()?, fields.next()?);
    let path = fields.nth(3)?;
    (permissions.contains('x') && path.starts_with('/')).then_some(path)
}
