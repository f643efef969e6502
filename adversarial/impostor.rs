//! The attacker is a program of the same user that wants to pass for genkan on the bridge, or for a paired client on our
//! standard streams: another program, a copy, a debugged or replaced one, one that hands its connection on, one that
//! hides between processes or namespaces. What cannot be refused is shown to work, so that nobody relies on it.
//!
//! Who our client is, is read from the doctor: it measures its own standard streams as the server does.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::many_clients::{browser, focus, pair, request};
use crate::other_user::{Unprivileged, running_as_root};
use crate::person::Person;
use crate::same_user::{is_welcome, proof};
use crate::stage::{Carrier, HANG, Home, Host, Link, Serving, binary, puppet};

/// A broker whose log can be read afterwards.
struct Logged {
    child: Child,
    serving: std::process::ChildStdin,
}

impl Logged {
    fn open(home: &Home, mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        home.await_broker(child.id());
        Self { child, serving: stdin }
    }

    /// Ends it as its client does, so that what it was about to say is said.
    fn log(self) -> String {
        let Self { mut child, serving } = self;
        drop(serving);
        let mut text = String::new();
        child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        child.wait().unwrap();
        text
    }
}

/// Copied by another process: a file that this one has open for writing would be busy in every child it starts meanwhile.
fn copied(from: &Path, to: &Path) -> PathBuf {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
    std::fs::set_permissions(to, std::fs::Permissions::from_mode(0o755)).unwrap();
    to.into()
}

fn copy_of_the_program(to: &Path) -> PathBuf {
    copied(binary().as_ref(), to)
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

/// Whether a carrier that shows itself as `program` is spoken to.
fn is_spoken_to(home: &Home, before: &[&str], program: &str) -> bool {
    let mut link = Link::through(Carrier::start(before, program, "d", &home.socket(), &[]));
    link.hear_line().is_some()
}

/// The state in which a host of this program stands to whoever listens, with the reason.
fn standing(home: &Home, program: &Path) -> (String, String) {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home.path()).env("XDG_RUNTIME_DIR", home.path());
    let mut host = Host::run({
        command.args(["--native-host", "--label", "chromium"]);
        command
    });
    host.greet();
    let link = loop {
        let frame = host.hear();
        if frame["type"] == "host_status_result" && frame["link"]["state"] != "waiting" {
            break frame["link"].clone();
        }
    };
    host.close_input();
    let _ = host.child.kill();
    let _ = host.child.wait();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    (text(&link["state"]), text(&link["error"]["message"]))
}

/// Layer: os/peer. Two sentences: who may not come in, and who may not be spoken to.
#[test]
fn t036_another_program_of_the_same_user_is_refused_before_a_byte() {
    let home = Home::new();
    let broker = Logged::open(&home, home.command(&[]));
    let mut link = Link::foreign(&home.socket());
    link.say(&json!({ "type": "proof" }));
    assert_eq!(link.hear_line(), None, "not even a hello");
    assert!(!is_spoken_to(&home, &[], "-"), "the suite's own program neither");
    assert!(is_spoken_to(&home, &[], binary()), "the program itself is");
    let log = broker.log();
    let us = std::env::current_exe().unwrap();
    assert!(log.contains(us.to_str().unwrap()) && log.contains(binary()), "both paths are named: {log}");
}

/// Layer: os/peer. The secret may be known: it lies in a file of this user.
#[test]
fn t033_a_foreign_program_at_the_sockets_place_hears_nothing() {
    let home = Home::new();
    home.plant_lock(std::process::id());
    let listener = UnixListener::bind(home.socket()).unwrap();
    let host = std::thread::scope(|scope| {
        let host = scope.spawn(|| standing(&home, binary().as_ref()));
        let (mut peer, _) = listener.accept().unwrap();
        peer.set_read_timeout(Some(HANG)).unwrap();
        let mut heard = Vec::new();
        let _ = peer.read_to_end(&mut heard);
        assert_eq!(heard, b"", "not one byte");
        host.join().unwrap()
    });
    assert_eq!(host.0, "refused");
    assert!(host.1.contains("not the same file as this program"), "{}", host.1);
}

/// Layer: os/peer. A relay would have to be the program itself; what that one measured is what the broker relies on.
#[test]
fn t034_a_forged_relay_is_refused_as_another_program_before_it_can_name_a_client() {
    let home = Home::new();
    let broker = Logged::open(&home, home.command(&[]));
    let mut link = Link::through(Carrier::start(&[], "-", "d", &home.socket(), &[]));
    link.say(&json!({ "type": "attach", "role": "relay", "client": { "holders": [] } }));
    assert_eq!(link.hear_line(), None);
    assert!(broker.log().contains("only one genkan program file may be in use"));
}

/// Layer: os/socket. The genuine process connects and is greeted; a child of it holds the connection and speaks.
#[test]
fn t038_a_connection_handed_to_another_process_is_cut_at_its_first_word() {
    let home = Home::new();
    let broker = Logged::open(&home, home.command(&[]));
    let mut link = Link::through(Carrier::start(&[], binary(), "h", &home.socket(), &[]));
    let proof = proof(&home, &mut link, "chrome");
    assert!(!is_welcome(&mut link, &proof), "right in every bit, and of the wrong process");
    let log = broker.log();
    assert!(log.contains("a connection may not be handed on"), "{log}");
}

/// Layer: os/socket. The broker is held still while a foreign program connects, leaves the connection with a child and
/// becomes the genuine program: what the kernel then shows is our own file, and still the child cannot speak.
#[test]
fn t038_connecting_and_becoming_the_genuine_program_afterwards_gains_nothing() {
    let home = Home::new();
    let broker = Logged::open(&home, home.command(&[]));
    signal("-STOP", broker.child.id());
    let carrier = Carrier::start(&[], "-", "x", &home.socket(), &[binary()]);
    let exe = PathBuf::from(format!("/proc/{}/exe", carrier.child.id()));
    let end = std::time::Instant::now() + HANG;
    while std::fs::read_link(&exe).ok().as_deref() != Some(binary().as_ref()) {
        assert!(std::time::Instant::now() < end, "it became the program");
        std::thread::yield_now();
    }
    signal("-CONT", broker.child.id());
    let mut link = Link::through(carrier);
    let proof = proof(&home, &mut link, "chrome");
    assert!(!is_welcome(&mut link, &proof), "it was greeted as genuine, and cut when its child spoke");
    assert!(broker.log().contains("a connection may not be handed on"));
}

/// Layer: residual. A debugger makes the genuine program say anything; only a kernel that forbids debugging stops it.
#[test]
fn t041_a_debugged_genuine_program_is_believed_and_security_md_says_so() {
    let home = Home::new();
    let _serving = Serving::open(&home);
    let mut link = Link::to(&home.socket());
    let proof = proof(&home, &mut link, "chrome");
    assert!(is_welcome(&mut link, &proof));
    let page = include_str!("../docs/security.md");
    assert!(page.contains("**Debuggers.**"), "it is stated as not stopped");
}

/// Layer: os/peer. One file, wherever it lies; the same bytes in another file are another program, on both sides.
#[test]
fn t043_a_copy_and_a_memory_image_are_refused_and_another_name_of_the_file_is_not() {
    let home = Home::new();
    let copy = copy_of_the_program(&home.path().join("copy"));
    let link = home.path().join("link");
    let genuine = copy_of_the_program(&home.path().join("genuine"));
    std::fs::hard_link(&genuine, &link).unwrap();
    let mut command = Command::new(&genuine);
    command.env_clear().env("HOME", home.path()).env("XDG_RUNTIME_DIR", home.path());
    let broker = Logged::open(&home, command);

    assert!(is_spoken_to(&home, &[], link.to_str().unwrap()), "a hard link is the same file");
    assert!(!is_spoken_to(&home, &[], copy.to_str().unwrap()));
    let (state, why) = standing(&home, &copy);
    assert_eq!(state, "refused", "a copy does not speak to the genuine one either");
    assert!(why.contains("copy") && why.contains("genuine"), "both are named: {why}");

    let mut memory = Command::new(puppet());
    memory.args(["-", "m"]).arg(&genuine).arg("--native-host");
    memory.env_clear().env("HOME", home.path()).env("XDG_RUNTIME_DIR", home.path());
    let mut host = Host::run(memory);
    host.greet();
    assert_eq!(host.hear()["link"]["state"], "refused");
    host.close();
    let log = broker.log();
    assert!(log.contains("/copy"), "{log}");
}

/// Layer: os/peer. Root binds the file over another one: still the same file.
#[test]
fn t043_a_bind_mount_of_the_program_is_the_same_file() {
    if !running_as_root() {
        return;
    }
    let home = Home::new();
    let _serving = Serving::open(&home);
    let bound = copy_of_the_program(&home.path().join("bound"));
    let script = format!("mount --bind '{}' '{}' && exec \"$0\" \"$@\"", binary(), bound.display());
    let before = ["unshare", "-m", "/bin/sh", "-c", &script];
    assert!(is_spoken_to(&home, &before, bound.to_str().unwrap()));
}

/// Layer: os/peer. What runs is measured, not what lies at the path; an update is told from a stranger.
#[test]
fn t042_a_program_that_was_replaced_while_it_ran_is_told_from_a_stranger() {
    let home = Home::new();
    let program = copy_of_the_program(&home.path().join("genkan-program"));
    home.plant_lock(std::process::id());
    let outdated = Carrier::start(&[], program.to_str().unwrap(), "l", &home.socket(), &[]);
    copy_of_the_program(&home.path().join("new"));
    std::fs::rename(home.path().join("new"), &program).unwrap();
    let (state, why) = standing(&home, &program);
    assert_eq!(state, "refused");
    assert!(why.contains("was replaced while it ran") && why.contains("restart"), "{why}");
    drop(outdated);
}

/// What the doctor says about one subject.
fn finding(report: &[u8], subject: &str) -> Value {
    let report: Value = serde_json::from_slice(report).unwrap();
    let findings = report["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["subject"] == subject).cloned().unwrap_or(Value::Null)
}

fn client_in(report: &[u8]) -> String {
    finding(report, "client")["detail"].as_str().unwrap().to_string()
}

/// Our own image, as the doctor would name it.
fn us() -> String {
    format!("process {} runs {}", std::process::id(), std::env::current_exe().unwrap().display())
}

/// Whether nobody but this program is named. A child of another test has all our descriptors until it becomes another
/// program, so that it may be seen in passing; it is this program then.
fn is_only_us(client: &str) -> bool {
    let image = std::env::current_exe().unwrap();
    client.starts_with(&us()) && client.split("; ").all(|holder| holder.contains(image.to_str().unwrap()))
}

fn report_of(mut command: Command) -> Vec<u8> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let _held = child.stdin.take();
    let mut report = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut report).unwrap();
    child.wait().unwrap();
    report
}

/// Layer: os/peer. What stands between holds the same ends as we do, not the other ones.
#[test]
fn t046_a_shell_or_launcher_in_between_is_not_taken_for_the_client() {
    let home = Home::new();
    let direct = client_in(&report_of(home.command(&["doctor", "--json"])));
    assert!(is_only_us(&direct), "{direct}");
    let wrappers: [&[&str]; 3] = [
        &["/bin/sh", "-c", "\"$0\" \"$@\"; true"],
        &["/usr/bin/env"],
        &["/bin/sh", "-c", "/bin/sh -c '\"$0\" \"$@\"; true' \"$0\" \"$@\"; true"],
    ];
    for wrapper in wrappers {
        let plain = home.command(&[]);
        let mut command = Command::new(wrapper[0]);
        command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.args(&wrapper[1..]).arg(binary()).args(["doctor", "--json"]);
        let client = client_in(&report_of(command));
        assert!(is_only_us(&client), "{wrapper:?}: {client}");
    }
}

/// Layers: os/peer and role/mcp. The serving process judges whoever is behind the shell, and not the shell.
#[test]
fn t046_a_paired_client_is_served_through_a_shell_and_a_paired_shell_lets_nobody_in() {
    let through = |home: &Home| {
        let plain = home.command(&[]);
        let mut shell = Command::new("/bin/sh");
        shell.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.args(["-c", "\"$0\"; true", binary()]);
        Serving::start(shell).call("list_browsers", &json!({}))
    };
    let home = Home::new();
    pair(&home, true);
    assert!(through(&home).contains("No browser is connected"));
    let home = Home::new();
    let mut person =
        Person::runs(&home.command(&["pair-client", "--name", "shell", "--exec", "/bin/sh", "--any-script"]));
    assert!(person.asked_for().is_some(), "{}", person.text());
    person.agrees();
    assert_eq!(person.ends().0, 0);
    assert!(through(&home).starts_with("CLIENT_NOT_ADMITTED"));
}

/// Layer: os/peer. Whoever keeps an end of the pipes speaks to us, whatever else holds them.
#[test]
fn a_program_that_keeps_the_pipes_while_a_paired_one_holds_them_too_is_measured_beside_it() {
    let home = Home::new();
    let (input, keeps_input) = std::io::pipe().unwrap();
    // The innocent one: it holds our input's other end and knows nothing of it.
    let mut innocent = Command::new("/bin/sleep")
        .arg("600")
        .stdin(Stdio::null())
        .stdout(OwnedFd::from(keeps_input.try_clone().unwrap()))
        .spawn()
        .unwrap();
    let exe = PathBuf::from(format!("/proc/{}/exe", innocent.id()));
    while std::fs::read_link(&exe).unwrap() == std::env::current_exe().unwrap() {
        std::thread::yield_now();
    }
    let report = |input: OwnedFd| {
        let mut command = home.command(&["doctor", "--json"]);
        command.stdin(input).stderr(Stdio::null());
        client_in(&command.output().unwrap().stdout)
    };
    let both = report(input.try_clone().unwrap().into());
    assert!(both.contains(&us()) && both.contains("/sleep"), "{both}");
    drop(keeps_input);
    let alone = report(input.into());
    assert!(alone.contains("/sleep") && alone.contains(&us()), "we still read its output: {alone}");
    innocent.kill().unwrap();
    innocent.wait().unwrap();
}

/// Layers: os/peer, role/mcp. A paired client serves itself; then another program opens its input through /proc.
#[test]
fn t045_a_program_that_joins_a_paired_client_after_its_first_call_ends_its_calls_and_is_refused() {
    let home = Home::new();
    pair(&home, true);
    let mut serving = Serving::open(&home);
    let host = browser(&home);
    serving.ask(2, "tab_focus", &focus(1));
    request(&host);
    let input = File::options().write(true).open(format!("/proc/{}/fd/0", serving.pid())).unwrap();
    let mut stranger =
        Command::new("/bin/sleep").arg("600").stdin(Stdio::null()).stdout(input).spawn().unwrap();
    let end = std::time::Instant::now() + HANG;
    let mut refused = Vec::new();
    while refused.len() < 2 {
        assert!(std::time::Instant::now() < end, "{refused:?}");
        serving.ask(3, "list_browsers", &json!({}));
        while let Some((id, text)) = serving.answer() {
            if text.starts_with("CLIENT_NOT_ADMITTED") && text.contains("/sleep") {
                refused.push(id);
            }
            if id == 3 {
                break;
            }
        }
    }
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    assert!(refused.contains(&2), "what was under way ended: {refused:?}");
    // It has been there, so it counts for as long as this server lives.
    assert!(serving.call("list_browsers", &json!({})).starts_with("CLIENT_NOT_ADMITTED"));
    let told = home.command(&["audit", "--limit", "1000"]).output().unwrap();
    assert!(String::from_utf8(told.stdout).unwrap().contains("/sleep"));
}

/// Layer: os/peer. Node gives its children socket pairs, not pipes.
#[test]
fn the_holder_of_a_socket_pair_is_found_as_node_makes_it() {
    let home = Home::new();
    let (near, far) = UnixStream::pair().unwrap();
    let near = OwnedFd::from(near);
    let mut command = home.command(&["doctor", "--json"]);
    command.stdin(near.try_clone().unwrap()).stdout(near).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut report = Vec::new();
    (&far).read_to_end(&mut report).unwrap();
    child.wait().unwrap();
    assert!(client_in(&report).starts_with(&us()), "{}", client_in(&report));
}

/// Layer: os/peer. A process of ours between the client and us is no client; who stands behind it is.
#[test]
fn our_own_program_in_between_is_walked_through_to_who_stands_behind_it() {
    let home = Home::new();
    let (input, input_end) = std::io::pipe().unwrap();
    let (output_end, output) = std::io::pipe().unwrap();
    let (number, kept) = (output_end.as_raw_fd().to_string(), [output_end.as_fd(), input_end.as_fd()]);
    let mut gateway = Command::new(puppet());
    gateway.args([binary(), "g", &number]).stdin(Stdio::piped()).stdout(Stdio::piped());
    inherit(&mut gateway, &kept.map(|fd| fd.as_raw_fd()));
    let mut gateway = gateway.spawn().unwrap();
    let exe = PathBuf::from(format!("/proc/{}/exe", gateway.id()));
    let end = std::time::Instant::now() + HANG;
    while std::fs::read_link(&exe).unwrap() != Path::new(binary()) {
        assert!(std::time::Instant::now() < end, "it became the program");
        std::thread::yield_now();
    }
    drop((input_end, output_end));
    let mut command = home.command(&["doctor", "--json"]);
    let mut child = command.stdin(input).stdout(output).stderr(Stdio::null()).spawn().unwrap();
    drop(command);
    let mut report = Vec::new();
    gateway.stdout.take().unwrap().read_to_end(&mut report).unwrap();
    child.wait().unwrap();
    gateway.wait().unwrap();
    let client = client_in(&report);
    assert!(is_only_us(&client), "{client}");
}

/// Lets a child keep descriptors under their numbers; in the child alone, so that no other test's child gets them.
#[allow(unsafe_code, reason = "the standard library gives children three descriptors only")]
fn inherit(command: &mut Command, numbers: &[i32]) {
    use std::os::fd::BorrowedFd;
    use std::os::unix::process::CommandExt;
    let numbers = numbers.to_vec();
    // SAFETY: between fork and exec it makes system calls only; the descriptors are open in the parent until then.
    unsafe {
        command.pre_exec(move || {
            for number in &numbers {
                let fd = BorrowedFd::borrow_raw(*number);
                rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty())?;
            }
            Ok(())
        });
    }
}

/// Layer: os/peer. An orphan has no client, whoever adopted it.
#[test]
fn t045_an_orphan_has_no_client() {
    let home = Home::new();
    let report = home.path().join("report");
    let script = "setsid \"$0\" doctor --json </dev/null >\"$1\" 2>/dev/null & exit 0";
    let plain = home.command(&[]);
    let mut shell = Command::new("/bin/sh");
    shell.env_clear().env("PATH", "/usr/bin:/bin");
    shell.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.args(["-c", script, binary()]).arg(&report);
    assert!(shell.status().unwrap().success());
    let end = std::time::Instant::now() + HANG;
    let text = loop {
        let text = std::fs::read(&report).unwrap_or_default();
        if text.ends_with(b"}\n") {
            break text;
        }
        assert!(std::time::Instant::now() < end, "the doctor answered");
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    assert_eq!(finding(&text, "client")["state"], "unknown");
    assert!(client_in(&text).contains("gone"), "{}", client_in(&text));
}

/// Layers: os/log and os/peer. A program's name is quoted, and a line of the log stays one line.
#[test]
fn t047_a_program_named_to_forge_the_log_writes_one_escaped_line() {
    let home = Home::new();
    let broker = Logged::open(&home, home.command(&[]));
    let name = home.path().join("genk\u{430}n\u{1b}[2J\u{202e}\ngenkan[1] warn: all is well");
    copied(puppet(), &name);
    let control = home.path().join("control");
    let _control = UnixListener::bind(&control).unwrap();
    let mut child = Command::new(&name).args(["-", "d"]).arg(home.socket()).arg(&control).spawn().unwrap();
    let mut line = String::new();
    let log = {
        // Its connection is gone as soon as it was judged.
        let (mut stream, _) = _control.accept().unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        let _ = stream.read_to_string(&mut line);
        child.kill().unwrap();
        child.wait().unwrap();
        broker.log()
    };
    let lines: Vec<_> = log.lines().filter(|line| line.contains("all is well")).collect();
    assert!(matches!(lines.as_slice(), [line] if line.contains("refused a connection")), "{log}");
    assert!(!log.contains(['\u{1b}', '\u{202e}']), "{log:?}");
}

/// Layer: os/peer. What cannot be measured is refused: no /proc, and one that is not the kernel's.
#[test]
fn t048_without_the_kernels_proc_nobody_is_measured_and_nothing_opens() {
    if !running_as_root() {
        return;
    }
    let home = Home::new();
    for cover in [
        "mount -t tmpfs none /proc",
        "mount -t tmpfs none /proc && mkdir /proc/$$ && ln -s \"$0\" /proc/$$/exe",
    ] {
        let script = format!("{cover} && exec \"$0\" \"$@\"");
        let plain = home.command(&[]);
        let mut command = Command::new("unshare");
        command.env_clear().env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.args(["-m", "/bin/sh", "-c", &script, binary(), "doctor", "--json"]);
        let report = report_of(command);
        assert_eq!(finding(&report, "program")["state"], "refused", "{cover}");
        assert_eq!(finding(&report, "client")["state"], "unknown", "{cover}");
        let detail = finding(&report, "program").to_string();
        assert!(detail.contains("/proc"), "{detail}");
    }
}

/// Layer: os/peer. With hidepid a user still sees their own processes, which is all that is needed.
#[test]
fn t048_where_proc_hides_other_users_our_own_client_is_still_found() {
    if !running_as_root() {
        return;
    }
    let home = Home::new();
    let script = "mount -t proc -o hidepid=invisible none /proc && exec \"$0\" \"$@\"";
    let plain = home.command(&[]);
    let mut command = Command::new("unshare");
    command.env_clear().env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.args(["-m", "/bin/sh", "-c", script, binary(), "doctor", "--json"]);
    let client = client_in(&report_of(command));
    assert!(client.starts_with(&us()), "{client}");
}

const AS_NOBODY: [&str; 6] = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];

/// Layer: os/peer. In a namespace of its own a process is root there: it may name another sender, or cover /proc.
#[test]
fn t049_a_genuine_program_in_another_user_or_process_namespace_is_refused() {
    if !running_as_root() {
        return;
    }
    let broker = Unprivileged::open();
    let (home, program) = (&broker.home, broker.program.to_str().unwrap());
    let within = |more: &[&'static str]| [AS_NOBODY.as_slice(), more].concat();
    assert!(is_spoken_to(home, &within(&[]), program), "outside of any it is spoken to");
    for namespaces in [
        &["unshare", "--user"][..],
        &["unshare", "--user", "--map-root-user"],
        &["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"],
    ] {
        assert!(!is_spoken_to(home, &within(namespaces), program), "{namespaces:?}");
    }
    let log = broker.log();
    assert_eq!(log.matches("lives in another container").count(), 3, "{log}");
}

/// Layer: os/peer. Where the user's own number is the one that stands for all unknown users, it proves nothing.
#[test]
fn t049_inside_an_unmapped_user_namespace_no_peer_is_provably_us() {
    if !running_as_root() {
        return;
    }
    let home = Home::new();
    let plain = home.command(&["doctor", "--json"]);
    let mut command = Command::new("unshare");
    command.env_clear().env("PATH", "/usr/bin:/bin");
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.args(["--user", binary(), "doctor", "--json"]);
    let report = report_of(command);
    assert_eq!(finding(&report, "client")["state"], "unknown");
}

/// Layer: residual. The host is measured as started by whoever started it, and shows no browser's name.
#[test]
fn t015_a_script_with_a_browsers_arguments_is_served_and_not_named_as_a_browser() {
    let home = Home::new();
    let plain = home.command(&[]);
    let mut shell = Command::new("/bin/sh");
    shell.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let line = "\"$0\" chrome-extension://fhfbdalnecakiolkelkaididjlheojno/; true";
    shell.args(["-c", line, binary()]);
    let mut host = Host::run(shell);
    assert_eq!(host.hear()["type"], "host_hello");
    host.say(&crate::stage::hello());
    let status = loop {
        let frame = host.hear();
        if frame["type"] == "host_status_result" {
            break frame;
        }
    };
    assert_eq!(status["label"], "browser", "the measured parent is a shell");
    host.close();
}
