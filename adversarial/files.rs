//! The attacker is a process of the same user, or a disk, that tampers with the files in which decisions are kept. The
//! commands must refuse in both directions, name the file, and touch nothing else.

use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::stage::{HANG, Home, Serving, binary};

const NOBODY: u32 = 65_534;

/// A home in which the switch was engaged once.
fn engaged() -> Home {
    let home = Home::new();
    let output = home.command(&["kill"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    home
}

pub fn state(home: &Home) -> PathBuf {
    home.path().join(".local/state/genkan")
}

fn record(home: &Home) -> PathBuf {
    state(home).join("trust.json")
}

/// What the record says by the command's word, or the sentence that refuses it.
fn listed(mut command: Command) -> Result<Value, String> {
    let output = command.output().unwrap();
    match output.status.code() {
        Some(0) => Ok(serde_json::from_slice(&output.stdout).unwrap()),
        Some(1) => Err(String::from_utf8(output.stderr).unwrap()),
        _ => panic!("{output:?}"),
    }
}

fn list(home: &Home) -> Result<Value, String> {
    listed(home.command(&["list-clients", "--json"]))
}

/// Reading is refused for this reason, and engaging cannot be recorded.
fn is_closed(home: &Home, because: &str) {
    let refused = list(home).unwrap_err();
    assert!(refused.contains(because) && refused.contains("Nothing is allowed"), "{because}: {refused}");
    let output = home.command(&["kill"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains(because), "{because}: {said}");
}

/// Layer: os/private_file. Neither followed, nor waited for, nor replaced.
#[test]
fn t052_t054_a_record_that_is_no_private_plain_file_refuses_both_directions() {
    type Plant = (&'static str, fn(&Path));
    let plants: [Plant; 6] = [
        ("not a plain file", |path| {
            std::fs::rename(path, path.with_extension("real")).unwrap();
            symlink(path.with_extension("real"), path).unwrap();
        }),
        ("not a plain file", |path| {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        }),
        ("not a plain file", |path| {
            std::fs::remove_file(path).unwrap();
            assert!(Command::new("mkfifo").args(["-m", "600"]).arg(path).status().unwrap().success());
        }),
        ("not a plain file", |path| {
            std::fs::remove_file(path).unwrap();
            assert!(
                Command::new("mknod")
                    .args(["-m", "600"])
                    .arg(path)
                    .args(["c", "1", "5"])
                    .status()
                    .unwrap()
                    .success()
            );
        }),
        ("not a plain file", |path| std::fs::hard_link(path, path.with_extension("twin")).unwrap()),
        ("chmod 0600", |path| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
        }),
    ];
    let home = engaged();
    let good = std::fs::read(record(&home)).unwrap();
    for (because, plant) in plants {
        plant(&record(&home));
        let inode = std::fs::symlink_metadata(record(&home)).unwrap().ino();
        is_closed(&home, because);
        assert_eq!(std::fs::symlink_metadata(record(&home)).unwrap().ino(), inode, "it was left alone");
        let _ = std::fs::remove_file(record(&home)).or_else(|_| std::fs::remove_dir(record(&home)));
        std::fs::write(record(&home), &good).unwrap();
        std::fs::set_permissions(record(&home), std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(list(&home).unwrap()["killed"], true);
    }
}

/// Layers: os/private_file, wire/record. Nothing is ever taken for a default.
#[test]
fn t060_t061_t062_a_record_of_any_other_text_refuses_both_directions() {
    let home = engaged();
    let good = std::fs::read_to_string(record(&home)).unwrap();
    let with = |before: &str, after: &str| {
        let bad = good.replacen(before, after, 1);
        assert_ne!(bad, good);
        bad.into_bytes()
    };
    let utf16: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (because, bytes) in [
        ("damaged", Vec::new()),
        ("damaged", b"{}\n".to_vec()),
        ("damaged", with("\n", "\n\0\0\0\0")),
        ("damaged", with("\n", "\r\n")),
        ("damaged", with("\n", "")),
        ("damaged", with("\"killed\":true", "\"killed\":true,\"killed\":false")),
        ("damaged", with("\"killed\":true", "\"killed\":true,\"extra\":1")),
        ("damaged", with("\"killed\":true", "\"killed\":null")),
        ("damaged", utf16),
        ("damaged", with("\"version\":1", "\"version\":\"1\"")),
        ("damaged", with("\"version\":1", "\"version\":-1")),
        ("damaged", with(",\"version\":1", "")),
        ("Update genkan", with("\"version\":1", "\"version\":2")),
        ("the oldest that this genkan can read", with("\"version\":1", "\"version\":0")),
        ("larger than genkan ever writes it", vec![b' '; 10 << 20]),
        ("larger than genkan ever writes it", "[".repeat(1_000_000).repeat(3).into_bytes()),
    ] {
        std::fs::write(record(&home), &bytes).unwrap();
        is_closed(&home, because);
        assert_eq!(std::fs::read(record(&home)).unwrap(), bytes, "it was left alone");
    }
}

/// Layer: os/trust_store. An older record is good in itself; the mark outside its folder knows better.
#[test]
fn t063_an_older_record_and_a_missing_one_are_told_from_a_first_run_by_the_mark() {
    let home = engaged();
    let old = std::fs::read(record(&home)).unwrap();
    assert!(home.command(&["kill"]).output().unwrap().status.success());
    std::fs::write(record(&home), old).unwrap();
    is_closed(&home, "it has epoch 1, and its mark says epoch 2");
    std::fs::remove_file(record(&home)).unwrap();
    is_closed(&home, "The trust record is gone");
    // The stated gap: whoever removes everything makes a first run for whoever starts afterwards.
    std::fs::remove_file(home.path().join(".local/share/genkan/trust.epoch")).unwrap();
    assert_eq!(list(&home).unwrap()["killed"], true, "the stop is still there");
    std::fs::remove_dir_all(state(&home)).unwrap();
    let first = list(&home).unwrap();
    assert_eq!((&first["epoch"], &first["killed"]), (&Value::from(0), &Value::from(false)));
}

fn running_as_root() -> bool {
    let root = std::fs::metadata("/proc/self").is_ok_and(|file| file.uid() == 0);
    assert!(
        root || std::env::var_os("GENKAN_TESTS_WITHOUT_ROOT").is_some(),
        "run as root, or say that you do not"
    );
    root
}

/// Layer: os/private_file and the kernel. Root may read everything, so an ordinary user is asked.
#[test]
fn t063_a_record_that_may_not_be_read_is_not_taken_for_a_missing_one() {
    if !running_as_root() {
        return;
    }
    let home = Home::new();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let own = home.path().join("own");
    std::fs::create_dir(&own).unwrap();
    let program = own.join("genkan");
    std::fs::copy(binary(), &program).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    chown(&own, Some(NOBODY), Some(NOBODY)).unwrap();
    let command = |word: &str| {
        let mut command = Command::new("setpriv");
        let user = NOBODY.to_string();
        command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]).arg(&program).arg(word);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", &own).env("XDG_RUNTIME_DIR", &own);
        command
    };
    let listed = || {
        let mut list = command("list-clients");
        listed(std::mem::replace(list.arg("--json"), Command::new("true")))
    };
    assert_eq!(listed().unwrap()["door"], "open");
    assert!(command("kill").output().unwrap().status.success());
    let record = own.join(".local/state/genkan/trust.json");
    assert_eq!(std::fs::metadata(&record).unwrap().uid(), NOBODY);
    std::fs::set_permissions(&record, std::fs::Permissions::from_mode(0o0)).unwrap();
    let refused = listed().unwrap_err();
    assert!(refused.contains("Permission denied") && refused.contains("Nothing is allowed"), "{refused}");
    // One that another user owns, be it root, is not ours.
    std::fs::set_permissions(&record, std::fs::Permissions::from_mode(0o644)).unwrap();
    chown(&record, Some(0), Some(0)).unwrap();
    let refused = listed().unwrap_err();
    assert!(refused.contains("belongs to user 0"), "{refused}");
}

/// Layer: os/private_file.
#[test]
fn t056_a_temporary_name_taken_in_advance_is_not_written_through() {
    let home = engaged();
    let (victim, fresh) = (home.path().join("victim"), state(&home).join(".trust.json.new"));
    std::fs::write(&victim, "theirs").unwrap();
    symlink(&victim, &fresh).unwrap();
    assert!(home.command(&["kill"]).output().unwrap().status.success());
    assert_eq!(std::fs::read(&victim).unwrap(), b"theirs");
    assert!(std::fs::symlink_metadata(&fresh).is_err());
    assert_eq!(list(&home).unwrap()["epoch"], 2);
}

/// Layers: os/private_dir, os/private_file. Under a loose umask, with strangers' descriptors, and with a disk that takes nothing.
#[test]
fn t070_what_a_process_inherits_opens_no_file_and_breaks_no_record() {
    let run = |home: &Home, before: &str| {
        let inner = format!("umask 000; {before} exec '{}' kill", binary());
        let plain = home.command(&[]);
        let mut shell = Command::new("/bin/bash");
        shell.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.args(["-c", &inner]).output().unwrap()
    };
    let home = Home::new();
    let output = run(
        &home,
        "exec 3</dev/null 4</dev/null 5</dev/null 6</dev/null 7</dev/null 8</dev/null 9</dev/null;",
    );
    assert!(output.status.success(), "{output:?}");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&state(&home)), 0o700);
    for file in
        [record(&home), state(&home).join("audit.log"), home.path().join(".local/share/genkan/trust.epoch")]
    {
        assert_eq!(mode(&file), 0o600, "{file:?}");
    }
    let before = std::fs::read(record(&home)).unwrap();
    // No byte can be written, which is an error and ends nothing.
    for before in ["trap '' XFSZ; ulimit -f 0;", "ulimit -f 0;"] {
        let output = run(&home, before);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && said.contains("by a stop file"), "{before} {said}");
    }
    assert_eq!(std::fs::read(record(&home)).unwrap(), before);
    assert!(run(&home, "").status.success());
    assert_eq!(list(&home).unwrap()["epoch"], 2);
}

/// Somebody who holds a folder's lock, and ends when dropped.
pub struct Holding(std::process::Child);

impl Holding {
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn ends(self) {}
}

impl Drop for Holding {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn held(dir: &Path) -> Holding {
    let mut holder = Command::new("flock")
        .arg("--no-fork")
        .arg(dir)
        .args(["sh", "-c", "echo held; exec sleep 600"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    holder.stdout.as_mut().unwrap().read_exact(&mut [0; 5]).unwrap();
    Holding(holder)
}

/// Layer: os/private_dir. A stopped holder is named; a killed one holds nothing; reading never waits.
#[test]
fn t065_a_holder_that_never_lets_go_is_named_and_one_that_is_killed_is_no_obstacle() {
    let home = engaged();
    let holder = held(&state(&home));
    let output = home.command(&["pause-client", "nobody"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains(&format!("process {} holds the lock", holder.id())), "{said}");
    assert_eq!(list(&home).unwrap()["epoch"], 1);
    holder.ends();
    assert!(home.command(&["kill"]).output().unwrap().status.success());
    assert_eq!(list(&home).unwrap()["epoch"], 2);
}

/// Layers: os/lock, role/broker. The lock is on the folder, so whoever deletes the file frees nothing.
#[test]
fn t065_a_lock_file_deleted_under_a_living_broker_comes_back_and_makes_no_second_one() {
    let home = Home::new();
    let serving = Serving::open(&home);
    let before = home.lock().unwrap();
    assert_eq!(before.0, u64::from(serving.pid()));
    for _ in 0..3 {
        std::fs::remove_file(home.runtime().join("run.lock")).unwrap();
        let _second = Serving::start(home.command(&[]));
        let end = std::time::Instant::now() + HANG;
        while home.lock().as_ref() != Some(&before) {
            assert!(std::time::Instant::now() < end, "the broker put its lock file back");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
    assert_eq!(home.lock(), Some(before));
}

/// Layers: os/socket, role/broker. Whoever comes later still finds the door, and whoever is inside does not notice.
#[test]
fn a_socket_removed_or_replaced_under_a_living_broker_is_made_anew() {
    let home = Home::new();
    let mut serving = Serving::open(&home);
    let mut inside = Serving::start(home.command(&[]));
    inside.call("list_browsers", &json!({}));
    let attacks: [fn(&Path); 2] = [
        |socket| std::fs::remove_file(socket).unwrap(),
        |socket| {
            std::fs::remove_file(socket).unwrap();
            drop(std::os::unix::net::UnixListener::bind(socket).unwrap());
        },
    ];
    for attack in attacks {
        attack(&home.socket());
        let late = Serving::start(home.command(&[])).call("list_browsers", &json!({}));
        assert!(late.contains("No browser is connected"), "{late}");
        assert!(inside.call("list_browsers", &json!({})).contains("No browser is connected"));
        assert_eq!(home.lock().unwrap().0, u64::from(serving.pid()));
    }
    assert!(serving.is_running());
}

/// Layer: role/broker. Two brokers in two folders would share nothing: neither turns nor browsers.
#[test]
fn a_broker_whose_runtime_folder_was_moved_gives_up_the_door() {
    let home = Home::new();
    let mut serving = Serving::open(&home);
    std::fs::rename(home.runtime(), home.path().join("elsewhere")).unwrap();
    let end = std::time::Instant::now() + HANG;
    while serving.is_running() {
        assert!(std::time::Instant::now() < end, "it ends although its client is there");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let next = Serving::open(&home);
    assert_eq!(home.lock().unwrap().0, u64::from(next.pid()));
}
