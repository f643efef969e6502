//! The attacker is one of several clients, or chance: servers start, die, are told to end and flood in any order, and a
//! scripted extension behind the genuine host counts what reaches it. What must refuse is named at each test.

use std::path::{Path, PathBuf};
use std::process::Command;

use genkan::base::limits::{
    ATTACHED_CLIENTS_MAX, CLIENT_CALLS_MAX, FILL_BYTES_MAX, HAND_OVER_MS, LAST_LINES_MS, OPEN_BYTES_MAX,
};
use genkan::os::runtime_dir::Environment;
use genkan::os::trust_store::TrustStore;
use genkan::trust::state::{Anchor, ClientEntry, ScriptRule};
use genkan::wire::client::Sha256;
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::files::held;
use crate::stage::{Home, Host, Serving, done};

/// The next request that reaches the extension, whatever the host says of itself meanwhile.
pub fn request(host: &Host) -> Value {
    loop {
        let frame = host.hear();
        if frame.get("op").is_some() {
            return frame;
        }
    }
}

fn id(request: &Value) -> u64 {
    request["id"].as_u64().unwrap()
}

pub fn focus(tab: u64) -> Value {
    json!({ "tabId": tab })
}

/// A host that has introduced itself; it attaches as soon as there is a broker.
pub fn browser(home: &Home) -> Host {
    Host::greeted(home)
}

/// The record of this home, as the commands of the person change it.
fn store(home: &Home) -> TrustStore {
    let place = Some(home.path().as_os_str().to_owned());
    TrustStore::open(&Environment { home: place, ..Environment::default() }).unwrap()
}

/// Pairs the program that runs these tests, or nobody.
pub fn pair(home: &Home, us: bool) {
    let image = std::fs::read("/proc/self/exe").unwrap();
    let sha256 = Sha256(sha2::Sha256::digest(&image).into());
    store(home)
        .change(|state| {
            let entry = ClientEntry {
                name: "suite".into(),
                anchor: Anchor::Hash { sha256 },
                image: String::new(),
                script: ScriptRule::Native,
                paused: false,
                epoch: state.epoch,
                paired_ms: 0,
            };
            state.clients = Some(if us { vec![entry] } else { Vec::new() });
            Ok(())
        })
        .unwrap();
}

/// Layer: os/lock and role/mcp/door. Two start at the same instant: one broker, the other relays, both are served.
#[test]
fn t032_two_started_at_the_same_instant_share_one_broker_200_times() {
    let mut relayed = 0;
    for _ in 0..200 {
        let home = Home::new();
        let mut both = [Serving::start(home.command(&[])), Serving::start(home.command(&[]))];
        both.iter_mut().for_each(|one| one.ask(1, "list_browsers", &json!({})));
        for one in &mut both {
            assert!(one.answer().unwrap().1.contains("No browser is connected"));
        }
        let holder = home.lock().unwrap().0;
        let holds = both.iter().filter(|one| u64::from(one.pid()) == holder).count();
        assert_eq!(holds, 1);
        relayed += both.len() - holds;
    }
    println!("t032: 200 pairs started, {relayed} relays");
}

/// Layer: bridge/clients. The last client leaves while another arrives: the living broker serves it, or one successor.
#[test]
fn t029_a_client_that_arrives_while_the_last_one_leaves_is_served_500_times() {
    let home = Home::new();
    let mut last = Serving::open(&home);
    for _ in 0..500 {
        let mut next = Serving::start(home.command(&[]));
        next.ask(1, "list_browsers", &json!({}));
        last.hang_up();
        assert!(next.answer().unwrap().1.contains("No browser is connected"));
        assert!(last.ended().success());
        last = next;
    }
    println!("t029: 500 departures met an arrival");
}

/// Layer: role/broker. The client of the broker leaves; the broker serves on until the last relay has gone.
#[test]
fn a_broker_whose_client_left_serves_its_relays_and_ends_with_the_last() {
    let home = Home::new();
    let mut first = Serving::open(&home);
    let mut second = Serving::start(home.command(&[]));
    let mut host = browser(&home);
    second.ask(1, "tab_focus", &focus(1));
    let asked = request(&host);
    first.hang_up();
    host.say(&done(id(&asked), "still there"));
    assert_eq!(second.answer().unwrap().1, "still there");
    second.ask(2, "tab_focus", &focus(2));
    let asked = request(&host);
    host.say(&done(id(&asked), "and again"));
    assert_eq!(second.answer().unwrap().1, "and again");
    assert!(first.is_running());
    second.hang_up();
    assert!(second.ended().success() && first.ended().success());
}

/// Layer: role/relay. A broker killed in the middle: what it may have done is said to be lost, and never done again.
#[test]
fn a_broker_killed_outright_loses_what_it_dispatched_and_nothing_is_done_twice() {
    let home = Home::new();
    let first = Serving::open(&home);
    let mut second = Serving::start(home.command(&[]));
    let mut host = browser(&home);
    second.ask(1, "tab_focus", &focus(1));
    assert_eq!(request(&host)["args"], focus(1));
    first.signal("KILL");
    let (_, lost) = second.answer().unwrap();
    assert!(lost.starts_with("CONNECTION_LOST"), "{lost}");
    second.ask(2, "tab_focus", &focus(2));
    let next = request(&host);
    assert_eq!(next["args"], focus(2), "the first call never comes again");
    host.say(&done(id(&next), "elected"));
    assert_eq!(second.answer().unwrap(), (2, "elected".into()));
    assert_eq!(home.lock().unwrap().0, u64::from(second.pid()));
}

/// Layer: role/broker. SIGTERM: the dispatched call ends where it is, the waiting one is served by the next broker.
#[test]
fn a_broker_told_to_end_lets_dispatched_calls_end_and_hands_the_rest_over() {
    let grace = std::time::Duration::from_millis(HAND_OVER_MS.into());
    for signal in ["TERM", "INT"] {
        // On a machine that stands still for longer than the broker waits, nothing is shown: then once more.
        assert!((0..10).any(|_| hands_over(signal, grace)), "{signal}: the machine never kept up");
    }

    fn hands_over(signal: &str, grace: std::time::Duration) -> bool {
        let home = Home::new();
        let mut first = Serving::open(&home);
        let mut second = Serving::start(home.command(&[]));
        let mut host = browser(&home);
        second.ask(1, "tab_focus", &focus(1));
        let sent = request(&host);
        let told = std::time::Instant::now();
        first.signal(signal);
        home.await_closed_door();
        second.ask(2, "tab_focus", &focus(2));
        // The answer is there, and its record cannot be written for longer than last words may take.
        let busy = held(&home.path().join(".local/state/genkan"));
        host.say(&done(id(&sent), "in time"));
        std::thread::sleep(std::time::Duration::from_millis(u64::from(LAST_LINES_MS) + 300));
        busy.ends();
        let answer = second.answer().unwrap();
        if told.elapsed() > grace {
            return false;
        }
        assert_eq!(answer, (1, "in time".into()));
        let handed = request(&host);
        assert_eq!(handed["args"], focus(2));
        host.say(&done(id(&handed), "handed over"));
        assert_eq!(second.answer().unwrap(), (2, "handed over".into()));
        assert!(first.ended().success(), "{signal}");
        true
    }
}

/// Layer: role/native_host/link. Whoever ends hands its browser over, and no door is taken for the one before it.
#[test]
fn a_browser_follows_every_hand_over_30_times() {
    let home = Home::new();
    let mut serving = Serving::open(&home);
    let mut host = browser(&home);
    for n in 0..30 {
        serving.signal("TERM");
        assert!(serving.ended().success());
        // Spread over the pauses in which the host looks for a door.
        std::thread::sleep(std::time::Duration::from_millis(50 + 10 * n));
        let mut next = Serving::start(home.command(&[]));
        next.ask(n, "tab_focus", &focus(n));
        let asked = request(&host);
        assert_eq!(asked["args"], focus(n));
        host.say(&done(id(&asked), "followed"));
        assert_eq!(next.answer().unwrap(), (n, "followed".into()));
        serving = next;
    }
}

/// Layer: bridge/clients. One client floods; it gets its share and no more, and the other waits for nobody.
#[test]
fn t024_a_client_that_floods_does_not_keep_another_from_its_turn() {
    let home = Home::new();
    let mut flood = Serving::open(&home);
    let mut other = Serving::start(home.command(&[]));
    let mut host = browser(&home);
    for n in 0..120 {
        flood.ask(n, "tab_focus", &focus(n));
    }
    let flooded: Vec<Value> = (0..CLIENT_CALLS_MAX).map(|_| request(&host)).collect();
    other.ask(1, "tab_focus", &focus(777));
    let asked = request(&host);
    assert_eq!(asked["args"], focus(777), "before the rest of the flood");
    assert_ne!(asked["caller"]["key"], flooded[0]["caller"]["key"]);
    host.say(&done(id(&asked), "served"));
    assert_eq!(other.answer().unwrap().1, "served");
    let mut waiting: Vec<u64> = flooded.iter().map(id).collect();
    for n in 0..120 {
        host.say(&done(waiting.remove(0), "x"));
        assert_eq!(flood.answer().unwrap().1, "x");
        if n < 120 - CLIENT_CALLS_MAX {
            waiting.push(id(&request(&host)));
        }
    }
}

/// Layer: role/broker/relay. Each of many calls of four clients is answered with its own number, whatever the order.
#[test]
fn an_answer_reaches_only_the_caller_that_asked() {
    let home = Home::new();
    let mut all = vec![Serving::open(&home)];
    all.extend((0..3).map(|_| Serving::start(home.command(&[]))));
    let mut host = browser(&home);
    for round in 0..50_u64 {
        for (n, one) in (0..).zip(&mut all) {
            one.ask(round, "tab_focus", &focus(round * 10 + n));
        }
        let mut asked: Vec<Value> = all.iter().map(|_| request(&host)).collect();
        asked.rotate_left(usize::try_from(round).unwrap() % 4);
        for call in asked.iter().rev() {
            host.say(&done(id(call), &call["args"]["tabId"].to_string()));
        }
        for (n, one) in (0..).zip(&mut all) {
            assert_eq!(one.answer().unwrap(), (round, (round * 10 + n).to_string()));
        }
    }
}

/// Layer: trust/admission, at the release of an answer.
#[test]
fn t085_a_client_revoked_during_its_call_gets_no_answer_and_no_next_call() {
    let home = Home::new();
    pair(&home, true);
    let mut broker = Serving::open(&home);
    let mut relay = Serving::start(home.command(&[]));
    let mut host = browser(&home);
    for (n, one) in [&mut broker, &mut relay].into_iter().enumerate() {
        one.ask(1, "tab_focus", &focus(n as u64));
        let asked = request(&host);
        assert_eq!(asked["caller"]["verified"], true);
        pair(&home, false);
        host.say(&done(id(&asked), "secret"));
        let (_, text) = one.answer().unwrap();
        assert!(text.starts_with("CLIENT_REVOKED"), "{text}");
        assert!(one.call("tab_focus", &focus(9)).starts_with("CLIENT_NOT_ADMITTED"));
        pair(&home, true);
    }
}

/// Layer: bridge/clients, by the watch alone: nobody asks for anything.
#[test]
fn t083_the_first_entry_of_a_list_ends_the_calls_of_unpaired_clients_at_once() {
    let home = Home::new();
    let mut broker = Serving::open(&home);
    let mut relay = Serving::start(home.command(&[]));
    let host = browser(&home);
    broker.ask(1, "tab_focus", &focus(1));
    relay.ask(1, "tab_focus", &focus(2));
    let asked = [id(&request(&host)), id(&request(&host))];
    pair(&home, false);
    for one in [&mut broker, &mut relay] {
        let (_, text) = one.answer().unwrap();
        assert!(text.starts_with("CLIENT_NOT_ADMITTED"), "{text}");
    }
    let mut called_off: Vec<u64> = Vec::new();
    while called_off.len() < 2 {
        let frame = host.hear();
        if frame["type"] == "cancel" {
            called_off.push(id(&frame));
        }
    }
    called_off.sort_unstable();
    assert_eq!(called_off, asked);
}

/// Layer: trust/kill, in the broker: calls of the broker's own client and of relays end, and no act starts afterwards.
#[test]
fn t072_the_kill_switch_ends_the_calls_of_every_client_and_nothing_starts_afterwards() {
    let home = Home::new();
    let mut broker = Serving::open(&home);
    let mut relay = Serving::start(home.command(&[]));
    let host = browser(&home);
    broker.ask(1, "tab_focus", &focus(1));
    relay.ask(1, "tab_focus", &focus(2));
    request(&host);
    request(&host);
    store(&home).engage_within(crate::stage::HANG);
    for one in [&mut broker, &mut relay] {
        let (_, text) = one.answer().unwrap();
        assert!(text.starts_with("BRIDGE_KILLED"), "{text}");
        for tool in ["list_browsers", "tab_list"] {
            assert!(one.call(tool, &json!({})).starts_with("BRIDGE_KILLED"));
        }
    }
}

/// The program at a place where an update can replace it.
fn copied(home: &Home) -> PathBuf {
    let program = home.path().join("genkan-program");
    std::fs::copy(crate::stage::binary(), &program).unwrap();
    program
}

fn run(home: &Home, program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    let plain = home.command(&[]);
    command
        .env_clear()
        .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .args(arguments);
    command
}

fn update(home: &Home, program: &Path) {
    let update = home.path().join("update");
    std::fs::copy(crate::stage::binary(), &update).unwrap();
    std::fs::rename(&update, program).unwrap();
}

/// Layer: os/own_image. The host of a replaced program carries the answer that is owed, then makes room for the new one.
#[test]
fn t042_a_host_whose_program_was_replaced_answers_what_is_open_and_ends_by_itself() {
    let home = Home::new();
    let program = copied(&home);
    let mut serving = Serving::start(run(&home, &program, &[]));
    home.await_broker(serving.pid());
    let mut host = Host::run(run(&home, &program, &["--native-host", "--label", "chromium"]));
    host.greet();
    serving.ask(1, "tab_focus", &focus(1));
    let asked = request(&host);
    update(&home, &program);
    host.say(&done(id(&asked), "still told"));
    assert_eq!(serving.answer().unwrap().1, "still told");
    let (status, _, log) = host.end();
    assert!(status.success(), "{log}");
}

/// Layer: os/own_image. An update replaces the program on disk while it works.
#[test]
fn t042_a_program_replaced_on_disk_takes_no_new_calls_and_the_new_one_takes_over() {
    let home = Home::new();
    let program = copied(&home);
    let start = || Serving::start(run(&home, &program, &[]));
    let mut old = start();
    home.await_broker(old.pid());
    assert!(old.call("list_browsers", &json!({})).contains("No browser"));
    update(&home, &program);
    let mut new = start();
    assert!(new.call("list_browsers", &json!({})).contains("No browser"));
    assert_eq!(home.lock().unwrap().0, u64::from(new.pid()));
    assert!(!old.ended().success(), "it says why and ends");
}

/// Layer: os/socket. Descriptors run out; the broker neither dies nor spins, and serves once there are some again.
#[test]
fn t031_a_broker_without_descriptors_survives_and_serves_again() {
    let home = Home::new();
    let inner = format!("ulimit -n 24; exec '{}'", crate::stage::binary());
    let mut broker = Serving::start(run(&home, Path::new("/bin/sh"), &["-c", &inner]));
    home.await_broker(broker.pid());
    let ticks = || -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", broker.pid())).unwrap();
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    // Genuine relays: whoever is no genkan is cut off and keeps nothing open.
    let crowd: Vec<_> = (0..24).map(|_| Serving::start(home.command(&[]))).collect();
    let open = || std::fs::read_dir(format!("/proc/{}/fd", broker.pid())).unwrap().count();
    let end = std::time::Instant::now() + crate::stage::HANG;
    while open() < 24 {
        assert!(std::time::Instant::now() < end, "its descriptors run out");
        std::thread::yield_now();
    }
    let before = ticks();
    std::thread::sleep(std::time::Duration::from_secs(2));
    let spent = ticks() - before;
    assert!(spent < 100, "half a processor went into waiting: {spent} ticks in two seconds");
    broker.ask(1, "list_browsers", &json!({}));
    let (_, text) = broker.answer().unwrap();
    assert!(text.contains("Too many open files"), "what it cannot read allows nothing: {text}");
    drop(crowd);
    let end = std::time::Instant::now() + crate::stage::HANG;
    let mut next = Serving::start(home.command(&[]));
    while !next.call("list_browsers", &json!({})).contains("No browser") {
        assert!(std::time::Instant::now() < end, "a relay is served again");
    }
    assert!(broker.is_running());
}

/// Layer: bridge/clients. Every client there may be is there, and twenty of them ask for more than all may hold.
#[test]
fn t221_clients_that_ask_for_more_bytes_than_all_may_hold_are_refused_and_the_others_served() {
    let home = Home::new();
    let broker = Serving::open(&home);
    let mut relays: Vec<_> = (1..ATTACHED_CLIENTS_MAX).map(|_| Serving::start(home.command(&[]))).collect();
    for relay in &mut relays {
        assert!(relay.call("list_browsers", &json!({})).contains("No browser"));
    }
    let mut one_too_many = Serving::start(home.command(&[]));
    assert!(one_too_many.call("list_browsers", &json!({})).starts_with("BROKER_BUSY"));
    let fill = json!({ "tabId": 1, "selector": "#field", "value": "x".repeat(FILL_BYTES_MAX) });
    let (floods, others) = relays.split_at_mut(20);
    for flood in &mut *floods {
        (0..8).for_each(|n| flood.ask(n, "page_fill", &fill));
    }
    for flood in floods {
        let (_, refused) = flood.answer().unwrap();
        assert!(refused.starts_with("BROKER_BUSY"), "{refused}");
    }
    for other in others {
        assert!(other.call("list_browsers", &json!({})).contains("No browser"));
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", broker.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    let peak: usize = peak.strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024;
    println!("t221: {ATTACHED_CLIENTS_MAX} clients, {} MiB at most", peak >> 20);
    assert!(
        peak < 2 * OPEN_BYTES_MAX,
        "{peak} bytes, while the clients asked for five times {OPEN_BYTES_MAX}"
    );
}

/// Layer: wire/handshake. A program that is not on the list starts genkan with a HOME of its own, where there is no list,
/// and is the broker before anybody else. The browser gives it nothing, and says why.
#[test]
fn a_broker_that_judges_by_other_records_gets_no_browser() {
    let home = Home::new();
    pair(&home, true);
    let elsewhere = Home::new();
    let mut command = home.command(&[]);
    command.env("HOME", elsewhere.path());
    let mut stranger = Serving::start(command);
    home.await_broker(stranger.pid());
    let host = browser(&home);
    let told = loop {
        let frame = host.hear();
        if frame["link"]["state"] == "refused" {
            break frame["link"]["error"]["message"].as_str().unwrap().to_string();
        }
    };
    assert!(told.contains("another HOME"), "{told}");
    stranger.ask(1, "tab_list", &json!({}));
    let own = Serving::start(home.command(&[])).call("list_browsers", &json!({}));
    assert!(own.starts_with("CLIENT_NOT_ADMITTED") && own.contains("another HOME"), "{own}");
    stranger.signal("TERM");
    stranger.ended();
    let frames = host.close();
    assert!(!frames.contains("tab_list"), "{frames}");
}

/// Layer: role/mcp/door. A broker that hangs keeps the lock; whoever cannot get in is told which process that is. If it was
/// stopped while it wrote a record, the log is what others cannot get at.
#[test]
fn a_broker_that_was_stopped_is_named_to_whoever_cannot_get_in() {
    let home = Home::new();
    let broker = Serving::open(&home);
    broker.signal("STOP");
    let refused = Serving::start(home.command(&[])).call("list_browsers", &json!({}));
    assert!(refused.starts_with("BROKER_BUSY") || refused.contains("holds the lock"), "{refused}");
    assert!(refused.contains(&format!("process {}", broker.pid())), "{refused}");
}
