//! The attacker is another user of the machine. The kernel's word about user ids must refuse it before a byte is read
//! or sent. These tests run as root and drop to uid 65534, or they would prove nothing.

use std::io::Read;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::stage::{HANG, Home, Host, Link};

pub const NOBODY: u32 = 65_534;

pub fn as_nobody(program: &std::ffi::OsStr) -> Command {
    let mut command = Command::new("setpriv");
    let drop = format!("{NOBODY}");
    command.args(["--reuid", &drop, "--regid", &drop, "--clear-groups"]).arg(program);
    command
}

/// A broker of another user, with a home, a program and a client of that user.
pub struct Unprivileged {
    pub home: Home,
    pub program: std::path::PathBuf,
    family: std::process::Child,
}

impl Unprivileged {
    pub fn open() -> Self {
        use std::os::unix::process::CommandExt;
        let home = Home::new();
        let program = home.path().join("program");
        let binary = crate::stage::binary();
        assert!(Command::new("cp").arg(binary).arg(&program).status().unwrap().success());
        chown(home.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        let mut command = as_nobody("/bin/sh".as_ref());
        // Its client is whoever holds the pipes: programs of that user too, or it would have none.
        command.args(["-c", "sleep 600 | \"$0\" | cat >/dev/null"]).arg(&program);
        command.env_clear().env("PATH", "/usr/bin:/bin");
        command.env("HOME", home.path()).env("XDG_RUNTIME_DIR", home.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        let family = command.spawn().unwrap();
        let unprivileged = Self { home, program, family };
        unprivileged.await_door();
        unprivileged
    }

    fn await_door(&self) {
        let end = std::time::Instant::now() + HANG;
        while std::os::unix::net::UnixStream::connect(self.home.socket()).is_err() {
            assert!(std::time::Instant::now() < end, "the broker opened");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    fn signal(&self, name: &str) {
        let group = format!("-{}", self.family.id());
        let _ = Command::new("kill").args(["-s", name, "--", &group]).status();
    }

    /// Tells it to end, so that what it was about to say is said; what it logged.
    pub fn log(mut self) -> String {
        self.signal("TERM");
        let mut text = String::new();
        self.family.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Unprivileged {
    fn drop(&mut self) {
        self.signal("KILL");
        let _ = self.family.wait();
    }
}

pub fn running_as_root() -> bool {
    let root =
        std::fs::metadata("/proc/self").is_ok_and(|file| std::os::unix::fs::MetadataExt::uid(&file) == 0);
    assert!(
        root || std::env::var_os("GENKAN_TESTS_WITHOUT_ROOT").is_some(),
        "run as root, or say that you do not"
    );
    root
}

/// Layer: os/socket. The socket is reachable, the lock readable, the secret right: only the server's user id is wrong.
#[test]
fn t035_a_host_does_not_speak_to_a_server_of_another_user() {
    if !running_as_root() {
        return;
    }
    let home = Home::new();
    home.plant_lock(std::process::id());
    let theirs = tempfile::tempdir().unwrap();
    chown(theirs.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let socket = theirs.path().join("bridge.sock");
    let code = "use IO::Socket::UNIX; $SIG{PIPE} = 'IGNORE'; \
        my $server = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 4) or die; \
        $| = 1; print \"ready\\n\"; \
        while (my $peer = $server->accept) { \
            print $peer '{\"type\":\"hello\",\"nonce\":\"' . '00' x 32 . \"\\\"}\\n\"; $peer->flush; \
            my $line = <$peer>; print defined $line ? \"heard $line\" : \"nothing\\n\"; }";
    let mut server =
        as_nobody("perl".as_ref()).args(["-e", code]).arg(&socket).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = server.stdout.take().unwrap();
    let mut ready = [0; 6];
    said.read_exact(&mut ready).unwrap();
    std::fs::rename(&socket, home.runtime().join("bridge.sock")).unwrap();

    let host = Host::greeted(&home);
    let status = host.hear();
    assert_eq!(status["link"]["state"], "refused");
    assert!(status["link"]["error"]["message"].as_str().unwrap().contains("runs as user 65534"), "{status}");
    host.close();
    let mut heard = [0; 8];
    said.read_exact(&mut heard).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(&heard, b"nothing\n", "not one byte was sent");
}

/// Layer: os/socket. Root may open any socket; the broker of another user refuses it unread all the same.
#[test]
fn t035_a_broker_does_not_speak_to_a_peer_of_another_user() {
    if !running_as_root() {
        return;
    }
    let unprivileged = Unprivileged::open();
    let home = &unprivileged.home;
    let mut link = Link::foreign(&home.socket());
    assert_eq!(link.hear_line(), None, "not even a hello");
}

/// Layer: os/runtime_dir.
#[test]
fn t050_a_runtime_directory_of_another_user_is_refused() {
    if !running_as_root() {
        return;
    }
    let home = Home::new();
    home.plant_lock(1);
    chown(home.runtime(), Some(NOBODY), Some(NOBODY)).unwrap();
    let output = home.command(&["doctor"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("belongs to user 65534"), "{text}");
    let host = Host::greeted(&home);
    assert_eq!(host.hear()["link"]["state"], "refused");
    host.close();
}

/// Layer: os/files and the kernel. An unprivileged doctor that may not write says so and leaves nothing.
#[test]
fn t050_a_doctor_that_may_not_write_says_so() {
    if !running_as_root() {
        return;
    }
    let home = Home::new();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let own = home.path().join("own");
    std::fs::create_dir(&own).unwrap();
    chown(&own, Some(NOBODY), Some(NOBODY)).unwrap();
    let program = own.join("genkan");
    std::fs::copy(crate::stage::binary(), &program).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = as_nobody(program.as_os_str())
        .args(["doctor", "--fix", "--browser", "chromium", "--json"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home.path())
        .env("XDG_RUNTIME_DIR", &own)
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &report["healthy"]), (Some(1), &json!(false)));
    assert!(report.to_string().contains("Permission denied"), "{report}");
    assert!(!home.path().join(".config").exists() && !home.path().join(".local").exists());
}
