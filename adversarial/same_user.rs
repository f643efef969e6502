//! The attacker is a process of the same user beside us: it owns the files and may take the socket's place first. What
//! must refuse is named a test. Stated residual: such a process can read the lock file, run the genuine host and debug a
//! genuine process of its own; whoever speaks over the socket here is such a debugged one, since any other is refused
//! before (`impostor.rs`).

use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::process::Command;

use genkan::wire::bridge::Capability;
use genkan::wire::handshake::{Dialer, DialerStep, Run};
use serde_json::{Value, json};

use crate::stage::{Home, Host, Link, Serving, done, request};

const INSTANCE: &str = "0123456789abcdef0123456789abcdef";

fn doctor(home: &Home) -> (Option<i32>, String) {
    let output = home.command(&["doctor"]).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// Layer: wire/control, the router.
#[test]
fn t012_control_frames_from_the_socket_are_dropped_and_the_link_lives() {
    let home = Home::new();
    let (mut host, mut link) = Host::attached(&home);
    let injected = [
        json!({ "type": "host_status" }),
        json!({ "type": "host_hello", "bridge": 1, "host": "9.9.9" }),
        json!({ "type": "host_status_result", "label": "x", "link": { "state": "waiting" } }),
        json!({ "type": "kill_engage" }),
        json!({ "type": "kill_status_result", "ok": true, "killed": false, "epoch": 9, "engaged": 0 }),
        json!({ "type": "client_list_result", "ok": true, "enrolled": true, "clients": [] }),
        json!({ "type": "audit_event", "kind": "confirm_allowed" }),
    ];
    for frame in &injected {
        link.say(frame);
    }
    link.say(&request(5));
    assert_eq!(host.hear(), request(5), "nothing came before it");
    host.say(&done(5, "fine"));
    assert_eq!(link.hear(), done(5, "fine"));
    let log = host.close();
    assert_eq!(log.matches("came over the socket").count(), injected.len(), "{log}");
    let audit = std::fs::read_to_string(home.path().join(".local/state/genkan/audit.log")).unwrap();
    assert_eq!(audit.matches("came over the socket").count(), injected.len(), "{audit}");
    assert!(audit.lines().all(|line| line.contains("attach_refuse")), "nothing else took effect: {audit}");
}

fn dialer(home: &Home, label: &str) -> Dialer {
    let (_, secret) = home.lock().unwrap();
    Dialer::new(
        Run { secret, records: home.records() },
        [3; 32],
        label.into(),
        INSTANCE.into(),
        1,
        "1.0.0".into(),
        vec![Capability::TabControl],
    )
}

/// The proof of a genuine peer for the nonce that this connection was given.
pub fn proof(home: &Home, link: &mut Link, label: &str) -> Value {
    let hello = link.hear_line().unwrap();
    let step = dialer(home, label).on_line(hello.as_bytes()).unwrap();
    let DialerStep::Send(line) = step else { panic!("{step:?}") };
    serde_json::from_slice(&line).unwrap()
}

pub fn is_welcome(link: &mut Link, proof: &Value) -> bool {
    link.say(proof);
    link.hear_line().is_some_and(|line| line.contains("\"welcome\""))
}

/// Layer: wire/handshake.
#[test]
fn t016_a_proof_seen_on_one_connection_opens_no_other() {
    let home = Home::new();
    let _serving = Serving::open(&home);
    let mut first = Link::to(&home.socket());
    let captured = proof(&home, &mut first, "chrome");
    let mut second = Link::to(&home.socket());
    second.hear_line().unwrap();
    assert!(!is_welcome(&mut second, &captured));
    assert!(is_welcome(&mut first, &captured), "it was good where it belonged");
}

/// Layer: wire/handshake.
#[test]
fn t017_a_proof_for_one_label_or_instance_does_not_admit_another() {
    let home = Home::new();
    let _serving = Serving::open(&home);
    for (member, value) in [
        ("label", json!("brave")),
        ("label", json!("chr\u{0}me")),
        ("label", json!("")),
        ("instance", json!("f".repeat(32))),
    ] {
        let mut link = Link::to(&home.socket());
        let mut proof = proof(&home, &mut link, "chrome");
        proof[member] = value;
        assert!(!is_welcome(&mut link, &proof), "{proof}");
    }
    let mut link = Link::to(&home.socket());
    let mut unlabelled = proof(&home, &mut link, "chrome");
    unlabelled.as_object_mut().unwrap().remove("label");
    assert!(!is_welcome(&mut link, &unlabelled));
}

/// Layer: wire/handshake.
#[test]
fn t018_a_mac_of_another_form_is_refused() {
    let home = Home::new();
    let _serving = Serving::open(&home);
    let reshaped: [&dyn Fn(&str) -> Value; 6] = [
        &|_| json!(""),
        &|mac| json!(mac[..62]),
        &|mac| json!(format!("{mac}00")),
        &|mac| json!(mac.to_uppercase()),
        &|mac| json!(format!("{}zz", &mac[..62])),
        &|_| json!("0".repeat(64)),
    ];
    for reshape in reshaped {
        let mut link = Link::to(&home.socket());
        let mut proof = proof(&home, &mut link, "chrome");
        let mac = proof["mac"].as_str().unwrap().to_string();
        proof["mac"] = reshape(&mac);
        if proof["mac"] != json!(mac) {
            assert!(!is_welcome(&mut link, &proof), "{proof}");
        }
    }
}

/// Layer: wire/framing. Before a peer is proven, a line is short.
#[test]
fn t023_a_line_without_an_end_is_cut_at_its_limit() {
    let home = Home::new();
    let _serving = Serving::open(&home);
    let mut link = Link::to(&home.socket());
    link.hear_line().unwrap();
    link.send(&vec![b'x'; 1_048_576]);
    assert_eq!(link.hear_line(), None);
    let told = home.command(&["audit", "--json"]).output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("is longer than"), "by its length, not because time ran out: {told}");
}

/// Layer: os/lock. The pid in a stale lock is nobody's business.
#[test]
fn t030_a_stale_lock_and_socket_are_taken_over_without_touching_the_process_with_that_number() {
    let home = Home::new();
    let mut stranger = Command::new("sleep").arg("600").spawn().unwrap();
    home.plant_lock(stranger.id());
    drop(std::os::unix::net::UnixListener::bind(home.socket()).unwrap());
    let serving = Serving::open(&home);
    let (holder, secret) = home.lock().unwrap();
    assert_eq!(holder, u64::from(serving.pid()));
    assert_ne!(secret, crate::stage::SECRET, "the old run's secret is worthless");
    assert!(stranger.try_wait().unwrap().is_none(), "the stranger lives");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

/// Layers: os/lock, os/socket, os/runtime_dir.
#[test]
fn t070_files_are_private_under_an_open_umask() {
    let home = Home::new();
    let inner = format!("umask 000; exec '{}'", crate::stage::binary());
    let plain = home.command(&[]);
    let mut shell = Command::new("/bin/sh");
    shell.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.args(["-c", &inner]);
    let serving = Serving::start(shell);
    home.await_broker(serving.pid());
    let mode = |path: std::path::PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(home.runtime()), 0o700);
    assert_eq!(mode(home.runtime().join("run.lock")), 0o600);
    assert_eq!(mode(home.socket()), 0o600);
}

/// Layer: wire/handshake. Whoever holds the socket without the run's secret learns a proof and no more.
#[test]
fn t033_a_server_that_does_not_know_the_secret_is_never_attached_to() {
    let home = Home::new();
    let broker = home.broker();
    let mut host = Host::greeted(&home);
    let mut link = broker.accept();
    link.say(&json!({ "type": "hello", "nonce": "00".repeat(32) }));
    let proof = link.hear();
    assert_eq!(proof["type"], "proof");
    let secret: String = crate::stage::SECRET.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(!proof.to_string().contains(&secret), "the secret never crosses");
    link.say(&json!({ "type": "welcome", "mac": proof["mac"] }));
    assert_eq!(link.hear_line(), None, "a reflected MAC is no proof");
    host.say(&json!({ "type": "host_status" }));
    assert_eq!(host.hear()["link"]["state"], "waiting", "the port stays open");
    host.close();
}

/// Layer: role/native_host/link. A broker that lives and cut us off has a newer host of this browser.
#[test]
fn a_host_cut_off_by_a_living_broker_ends_and_one_whose_broker_died_redials() {
    let home = Home::new();
    let broker = home.broker();
    let host = Host::greeted(&home);
    let mut link = broker.attach();
    assert_eq!(host.hear()["link"]["state"], "attached");
    link.say(&request(3));
    assert_eq!(host.hear()["id"], 3);
    drop((link, broker));
    assert_eq!(host.hear(), json!({ "type": "cancel", "id": 3 }), "what was open is called off");
    assert_eq!(host.hear()["link"]["state"], "waiting");

    std::fs::remove_file(home.runtime().join("bridge.sock")).unwrap();
    let successor = Home::broker(&home);
    let (status, _, log) = {
        // The lock names the same run as before, so this broker is the one that cut the host off.
        let _refused = successor.accept();
        host.end()
    };
    assert_eq!(status.code(), Some(0), "{log}");
}

/// Layer: os/runtime_dir. The doctor says what is wrong and where; the host says so to the extension.
#[test]
fn t050_a_runtime_directory_that_is_a_symlink_or_open_to_others_is_refused() {
    let home = Home::new();
    std::fs::create_dir(home.path().join("elsewhere")).unwrap();
    symlink(home.path().join("elsewhere"), home.runtime()).unwrap();
    let (code, text) = doctor(&home);
    assert_eq!(code, Some(1));
    assert!(text.contains("a symlink does not count"), "{text}");
    let host = Host::greeted(&home);
    assert!(host.hear()["link"]["error"]["message"].as_str().unwrap().contains("symlink"));
    host.close();

    std::fs::remove_file(home.runtime()).unwrap();
    std::fs::create_dir(home.runtime()).unwrap();
    std::fs::set_permissions(home.runtime(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let (code, text) = doctor(&home);
    assert_eq!(code, Some(1));
    assert!(text.contains("0777") && text.contains("chmod 0700"), "{text}");
    assert_eq!(std::fs::read_dir(home.runtime()).unwrap().count(), 0, "nothing was put there");
}

/// Layer: os/runtime_dir.
#[test]
fn t051_relative_climbing_and_shared_places_are_refused_and_an_unset_one_falls_back() {
    let home = Home::new();
    let with = |dir: &str| {
        let mut command = home.command(&["doctor"]);
        command.env("XDG_RUNTIME_DIR", dir).current_dir(home.path());
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    for dir in ["run", "./run", "/tmp/../tmp"] {
        let (code, text) = with(dir);
        assert_eq!(code, Some(1), "{dir}");
        assert!(text.contains("absolute path"), "{text}");
    }
    let shared = home.path().join("shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o777)).unwrap();
    std::fs::create_dir(shared.join("genkan")).unwrap();
    let (code, text) = with(shared.to_str().unwrap());
    assert!(code == Some(1) && text.contains("others may replace"), "{text}");

    let output = home.command(&["doctor"]).env_remove("XDG_RUNTIME_DIR").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("/.cache") || text.contains("/run/user/"), "{text}");
}

/// Layer: os/socket. The address goes through our own descriptor, so its length does not matter.
#[test]
fn t051_a_runtime_directory_longer_than_a_socket_address_works() {
    let home = Home::new();
    let long = home.path().join("d".repeat(150));
    std::fs::create_dir(&long).unwrap();
    home.plant_lock(std::process::id());
    std::fs::rename(home.runtime(), long.join("genkan")).unwrap();
    let short = home.path().join("s");
    symlink(long.join("genkan"), &short).unwrap();
    let broker = crate::stage::Broker::at(&short.join("bridge.sock"), home.records());
    let mut command = home.command(&["--native-host"]);
    command.env("XDG_RUNTIME_DIR", &long);
    let mut host = Host::run(command);
    host.greet();
    let _link = broker.attach();
    assert_eq!(host.hear()["link"]["state"], "attached");
    host.close();
}

/// Layer: os/lock.
#[test]
fn t052_a_lock_that_is_a_symlink_directory_or_device_is_never_followed() {
    let home = Home::new();
    home.plant_lock(1);
    let lock = home.runtime().join("run.lock");
    let victim = home.path().join("victim");
    let plants: [&dyn Fn(); 4] = [
        &|| symlink(&victim, &lock).unwrap(),
        &|| std::fs::create_dir(&lock).unwrap(),
        &|| assert!(Command::new("mkfifo").arg(&lock).status().unwrap().success()),
        &|| assert!(Command::new("mknod").arg(&lock).args(["c", "1", "3"]).status().unwrap().success()),
    ];
    std::fs::copy(&lock, &victim).unwrap();
    for plant in plants {
        let _ = std::fs::remove_file(&lock).or_else(|_| std::fs::remove_dir(&lock));
        plant();
        let (code, text) = doctor(&home);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("not a plain file"), "{text}");
        let host = Host::greeted(&home);
        assert_eq!(host.hear()["link"]["state"], "refused");
        host.close();
    }
}

/// Layer: os/log. Nobody reads the server's standard error, which is full, and strangers knock without end.
#[test]
fn t010_a_log_that_nobody_reads_holds_up_no_call_and_no_end() {
    let home = Home::new();
    let (_unread, mut log) = std::io::pipe().unwrap();
    log.write_all(&vec![b'x'; 65_536]).unwrap();
    let mut command = home.command(&[]);
    command.env("GENKAN_LOG", "trace");
    let mut serving = Serving::logging_to(command, log);
    home.await_broker(serving.pid());
    for _ in 0..300 {
        let mut stranger = UnixStream::connect(home.socket()).unwrap();
        let _ = stranger.read(&mut [0]);
    }
    assert!(!serving.call("list_browsers", &json!({})).is_empty());
    serving.signal("TERM");
    assert!(serving.ended().success());
    let told = home.command(&["audit", "--json", "--limit", "1000"]).output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    let refusals = told.matches("attach_refuse").count();
    assert!((1..=40).contains(&refusals), "a flood is told and does not fill the log: {refusals}");
}
