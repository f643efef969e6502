//! A real socket and a peer that speaks the whole handshake; time is the runtime's and stands still unless all wait.

use crate::os::socket::{ReadHalf, WriteHalf};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::*;
use crate::base::limits::{
    CALL_BUDGET_MS, CALL_BUDGET_PROGRESS_MS, CLIENT_CALLS_MAX, CLIENT_OPEN_CALLS_MAX, CONNECT_WAIT_ASLEEP_MS,
    CONNECT_WAIT_MS, HALF_OPEN_MAX, HANDSHAKE_LINE_BYTES_MAX, HANDSHAKE_MS, OUTBOX_BYTES_MAX, REDIAL_MS_MAX,
    SLOW_READER_MS,
};
use crate::base::refusal::Code;
use crate::bridge::catalogue::tool;
use crate::os::lock::Acquired;
use crate::os::runtime_dir::Environment;
use crate::os::stdio::Incoming;
use crate::os::{OsRefusal, lock, socket};
use crate::role::relay::{Relay, Unattached};
use crate::trust::kill;
use crate::trust::presence::Grant;
use crate::wire::bridge::{
    BRIDGE_PROTOCOL_VERSION, BridgeFrame, BridgeReq, BridgeResp, Capability, Door, LinkNotice, Notice,
    ProgressState,
};
use crate::wire::client::{Holder, Image, Sha256};
use crate::wire::framing::Lines;
use crate::wire::handshake::{Dialer, DialerStep, Run};
use crate::wire::json as text;

struct Place {
    temp: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { temp: tempfile::tempdir().unwrap() }
    }

    fn environment(&self) -> Environment {
        let home = Some(self.temp.path().into());
        Environment { home, xdg_runtime_dir: Some(self.temp.path().into()), ..Environment::default() }
    }

    fn dir(&self) -> RuntimeDir {
        RuntimeDir::resolve(&self.environment()).unwrap()
    }

    fn records(&self) -> Arc<Records> {
        Arc::new(Records::open(&self.environment()).unwrap())
    }

    fn lock(&self) -> RunLock {
        match RunLock::acquire(&self.dir(), self.records().trust.place().unwrap()).unwrap() {
            Acquired::Held(lock) => lock,
            Acquired::Busy { .. } => panic!("busy"),
        }
    }

    /// A broker and its own client.
    async fn broker(&self) -> Held {
        let broker = Broker::open(self.dir(), self.lock(), self.records()).unwrap_or_else(|r| panic!("{r}"));
        let guest = broker.enter(client(0), "0".repeat(32)).unwrap();
        Held { broker: Arc::new(broker), guest: Arc::new(guest) }
    }

    /// What a peer of this run knows.
    fn run(&self) -> Run {
        let secret = lock::read(&self.dir()).unwrap().unwrap().secret;
        Run { secret, records: self.records().trust.place().unwrap() }
    }

    /// A relay of another client.
    async fn relay(&self, n: u8) -> Result<Relay, Unattached> {
        Relay::attach(&self.dir(), self.records().trust.place().unwrap(), client(n), format!("{n:032x}"))
            .await
    }

    /// A browser's host that attached, or what it was told instead.
    async fn host(&self, label: &str, instance: u8, bridge: u32) -> Result<Host, Refusal> {
        let run = self.run();
        let (source, mut sink) = socket::dial(&self.dir()).await.unwrap().into_split();
        let mut lines = Incoming::new(source, Lines::new(1 << 24));
        let capabilities = vec![Capability::TabControl, Capability::PageInteract];
        let instance = format!("{instance:032x}");
        let mut dialer = Dialer::new(
            run,
            [instance.len() as u8; 32],
            label.into(),
            instance,
            bridge,
            "1.2.3".into(),
            capabilities,
        );
        loop {
            let line = lines.next().await.unwrap().expect("the broker cut the handshake");
            match dialer.on_line(&line).unwrap() {
                DialerStep::Send(line) => sink.write_all(&line).await.unwrap(),
                DialerStep::Attached { .. } => return Ok(Host { lines, sink }),
                DialerStep::Refused(refusal) => return Err(refusal),
            }
        }
    }

    async fn chrome(&self) -> Host {
        self.host("chrome", 1, BRIDGE_PROTOCOL_VERSION).await.unwrap()
    }
}

#[derive(Clone)]
struct Held {
    broker: Arc<Broker>,
    guest: Arc<Guest>,
}

impl Held {
    async fn call(&self, call: Call) -> Result<Outcome, Refusal> {
        match self.broker.call(&self.guest, call).await {
            Ok(outcome) => Ok(outcome),
            Err(End::Refused(refusal)) => Err(refusal),
            Err(End::Returned) => panic!("given back"),
        }
    }

    fn browsers(&self) -> Vec<crate::bridge::session::BrowserRow> {
        self.broker.service.core.session.browsers()
    }
}

fn client(n: u8) -> Client {
    let (path, sha256) = (format!("/opt/client-{n}"), Sha256([n; 32]));
    let image =
        Image { path, device: 1, inode: n.into(), sha256, package: false, signer: None, replaced: false };
    Client::new(vec![Holder { pid: 7, image, interpreter: false, script: None }]).unwrap()
}

struct Host {
    lines: Incoming<ReadHalf, Lines>,
    sink: WriteHalf,
}

impl Host {
    async fn frame(&mut self) -> Option<BridgeFrame> {
        self.lines.next().await.unwrap().map(|line| BridgeFrame::parse(&line).unwrap())
    }

    async fn line(&mut self) -> String {
        String::from_utf8(self.lines.next().await.unwrap().unwrap()).unwrap()
    }

    async fn request(&mut self) -> BridgeReq {
        match self.frame().await {
            Some(BridgeFrame::Request(request)) => request,
            other => panic!("no request but {other:?}"),
        }
    }

    async fn say(&mut self, answer: &BridgeResp) {
        self.sink.write_all(format!("{}\n", text::written(answer)).as_bytes()).await.unwrap();
    }

    async fn done(&mut self, id: u64, words: &str) {
        self.say(&BridgeResp::Done { id, data: outcome(words) }).await;
    }
}

fn outcome(words: &str) -> Outcome {
    Outcome { text: words.into(), structured: None, image: None }
}

fn call(name: &str, args: Value) -> Call {
    let Value::Object(args) = args else { panic!("arguments are an object") };
    let (tool, name) = (tool(name).unwrap(), "test".into());
    Call { tool, browser: None, args, name, budget_ms: CALL_BUDGET_MS, progress: None }
}

fn tabs(browser: Option<&str>) -> Call {
    Call { browser: browser.map(String::from), ..call("tab_list", json!({})) }
}

/// A call under way in a task of its own.
fn start(broker: &Held, call: Call) -> tokio::task::JoinHandle<Result<Outcome, Refusal>> {
    let broker = broker.clone();
    tokio::spawn(async move { broker.call(call).await })
}

fn code(result: Result<Outcome, Refusal>) -> Code {
    result.expect_err("it was refused").code
}

#[tokio::test(start_paused = true)]
async fn a_call_reaches_the_browser_and_its_answer_comes_back() {
    let place = Place::new();
    let broker = place.broker().await;
    let mut host = place.chrome().await;
    let (progress, mut states) = mpsc::channel(4);
    let running = start(&broker, Call { progress: Some(progress), ..call("tab_focus", json!({"tabId": 7})) });
    let request = host.request().await;
    assert_eq!((request.op.as_str(), &Value::Object(request.args)), ("tab_focus", &json!({"tabId": 7})));
    assert_eq!(request.deadline, CALL_BUDGET_MS);
    host.say(&BridgeResp::Progress { id: request.id, state: ProgressState::Confirming }).await;
    assert_eq!(states.recv().await, Some(ProgressState::Confirming));
    host.done(request.id, "done").await;
    assert_eq!(running.await.unwrap(), Ok(outcome("done")));
    let row = broker.browsers().pop().unwrap();
    assert_eq!((row.browser.as_str(), row.extension.as_str()), ("chrome", "1.2.3"));
}

#[tokio::test(start_paused = true)]
async fn t026_unasked_late_and_repeated_answers_are_dropped() {
    let place = Place::new();
    let broker = place.broker().await;
    let mut host = place.chrome().await;
    host.done(1, "unasked").await;
    tokio::time::sleep(ms(1)).await;
    let first = start(&broker, tabs(None));
    let id = host.request().await.id;
    host.done(id, "first").await;
    host.done(id, "repeated").await;
    assert_eq!(first.await.unwrap(), Ok(outcome("first")));
    let second = start(&broker, tabs(None));
    let next = host.request().await.id;
    assert!(next > id);
    host.done(id, "late").await;
    host.done(next, "second").await;
    assert_eq!(second.await.unwrap(), Ok(outcome("second")));
}

#[tokio::test(start_paused = true)]
async fn t179_a_dropped_call_is_cancelled_at_the_browser() {
    let place = Place::new();
    let broker = place.broker().await;
    let mut host = place.chrome().await;
    let running = start(&broker, tabs(None));
    let id = host.request().await.id;
    running.abort();
    assert_eq!(host.frame().await, Some(BridgeFrame::Notice(Notice::Cancel { id })));
    host.done(id, "late").await;
    let next = start(&broker, tabs(None));
    let id = host.request().await.id;
    host.done(id, "next").await;
    assert_eq!(next.await.unwrap(), Ok(outcome("next")));
}

#[tokio::test(start_paused = true)]
async fn a_call_not_answered_in_time_ends_and_is_cancelled() {
    let place = Place::new();
    let broker = place.broker().await;
    let mut host = place.chrome().await;
    let begun = Instant::now();
    let running = start(&broker, tabs(None));
    let id = host.request().await.id;
    assert_eq!(code(running.await.unwrap()), Code::ResponseTimeout);
    assert!(begun.elapsed() >= ms(CALL_BUDGET_MS) && begun.elapsed() < ms(CALL_BUDGET_MS + 1_000));
    assert_eq!(host.frame().await, Some(BridgeFrame::Notice(Notice::Cancel { id })));
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_the_browser_and_is_told_what_is_left_of_its_time() {
    let place = Place::new();
    let broker = place.broker().await;
    let running = start(&broker, tabs(None));
    tokio::time::sleep(ms(20_000)).await;
    let mut host = place.chrome().await;
    let request = host.request().await;
    assert!((30_000..=35_000).contains(&request.deadline), "{}", request.deadline);
    host.done(request.id, "done").await;
    assert_eq!(running.await.unwrap(), Ok(outcome("done")));
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_long_while_no_host_is_known_short_after_and_never_beyond_the_budget() {
    let place = Place::new();
    let broker = place.broker().await;
    let waited = async |budget_ms| {
        let begun = Instant::now();
        assert_eq!(code(broker.call(Call { budget_ms, ..tabs(None) }).await), Code::NotConnected);
        begun.elapsed().as_millis() as u32
    };
    let near = |took: u32, wanted: u32| (wanted..wanted + 50).contains(&took);
    assert!(near(waited(CALL_BUDGET_PROGRESS_MS).await, CONNECT_WAIT_ASLEEP_MS));
    assert!(near(waited(5_000).await, 5_000));
    drop(place.chrome().await);
    tokio::time::sleep(ms(10)).await;
    assert!(broker.browsers().is_empty());
    assert!(near(waited(CALL_BUDGET_PROGRESS_MS).await, CONNECT_WAIT_MS));
}

#[tokio::test(start_paused = true)]
async fn t130_a_newer_host_of_the_same_browser_takes_over() {
    let place = Place::new();
    let broker = place.broker().await;
    let mut old = place.chrome().await;
    let lost = start(&broker, tabs(None));
    let id = old.request().await.id;
    let mut new = place.chrome().await;
    assert_eq!(code(lost.await.unwrap()), Code::ConnectionLost);
    assert_eq!(old.frame().await, None, "the old link is closed");
    let _ = old
        .sink
        .write_all(format!("{}\n", text::written(&BridgeResp::Done { id, data: outcome("x") })).as_bytes())
        .await;
    assert_eq!(broker.browsers().len(), 1);
    let running = start(&broker, tabs(None));
    let id = new.request().await.id;
    new.done(id, "new").await;
    assert_eq!(running.await.unwrap(), Ok(outcome("new")));
}

#[tokio::test(start_paused = true)]
async fn two_profiles_are_two_targets_and_none_is_guessed() {
    let place = Place::new();
    let broker = place.broker().await;
    let mut first = place.host("chrome", 1, BRIDGE_PROTOCOL_VERSION).await.unwrap();
    let _second = place.host("chrome", 2, BRIDGE_PROTOCOL_VERSION).await.unwrap();
    assert_eq!(code(broker.call(tabs(None)).await), Code::BrowserAmbiguous);
    assert_eq!(code(broker.call(tabs(Some("chrome"))).await), Code::BrowserAmbiguous);
    assert_eq!(code(broker.call(tabs(Some("brave"))).await), Code::BrowserNotFound);
    let name = broker.browsers().first().unwrap().browser.clone();
    let running = start(&broker, tabs(Some(&name)));
    let request = first.request().await;
    assert_eq!(request.browser, Some(name));
    first.done(request.id, "first").await;
    assert_eq!(running.await.unwrap(), Ok(outcome("first")));
}

#[tokio::test(start_paused = true)]
async fn a_browser_that_comes_late_to_a_new_broker_is_waited_for_and_one_that_never_does_is_not_found() {
    let place = Place::new();
    let broker = place.broker().await;
    let _first = place.chrome().await;
    let late = start(&broker, tabs(Some("brave")));
    let never = start(&broker, tabs(Some("opera")));
    tokio::time::sleep(ms(REDIAL_MS_MAX)).await;
    assert!(!late.is_finished() && !never.is_finished());
    let mut brave = place.host("brave", 2, BRIDGE_PROTOCOL_VERSION).await.unwrap();
    let asked = brave.request().await;
    brave.done(asked.id, "here").await;
    assert!(late.await.unwrap().is_ok());
    assert_eq!(code(never.await.unwrap()), Code::BrowserNotFound);
}

#[tokio::test(start_paused = true)]
async fn another_version_is_refused_and_calls_fail_at_once_for_that_reason() {
    let place = Place::new();
    let broker = place.broker().await;
    let waiting = start(&broker, tabs(None));
    tokio::task::yield_now().await;
    let told = place.host("chrome", 1, BRIDGE_PROTOCOL_VERSION + 1).await.err().unwrap();
    assert_eq!(told.code, Code::ProtocolMismatch);
    assert_eq!(code(waiting.await.unwrap()), Code::ProtocolMismatch);
    let begun = Instant::now();
    let refusal = broker.call(tabs(None)).await.unwrap_err();
    assert_eq!(refusal.code, Code::ProtocolMismatch);
    assert!(refusal.message.contains("version 2") && refusal.message.contains("version 1"), "{refusal}");
    assert!(begun.elapsed() < ms(10), "it waited");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_not_offered_reaches_no_browser() {
    let place = Place::new();
    let broker = place.broker().await;
    let mut host = place.chrome().await;
    assert_eq!(code(broker.call(call("page_text", json!({}))).await), Code::ExtensionNotReady);
    let running = start(&broker, tabs(None));
    assert_eq!(host.request().await.op, "tab_list");
    running.abort();
}

/// Reads until the broker cuts the connection.
async fn is_cut(stream: &mut (impl AsyncReadExt + Unpin)) -> bool {
    let mut rest = Vec::new();
    matches!(tokio::time::timeout(ms(1_000), stream.read_to_end(&mut rest)).await, Ok(Ok(_) | Err(_)))
}

#[tokio::test(start_paused = true)]
async fn t016_a_captured_proof_is_worth_nothing_on_another_connection() {
    let place = Place::new();
    let broker = place.broker().await;
    let mut dialer =
        Dialer::new(place.run(), [9; 32], "chrome".into(), "0".repeat(32), 1, "1".into(), Vec::new());
    let (source, mut sink) = socket::dial(&place.dir()).await.unwrap().into_split();
    let mut lines = Incoming::new(source, Lines::new(1 << 16));
    let hello = lines.next().await.unwrap().unwrap();
    let DialerStep::Send(proof) = dialer.on_line(&hello).unwrap() else { panic!("no proof") };
    sink.write_all(&proof).await.unwrap();
    assert!(lines.next().await.unwrap().is_some(), "the proof holds where it belongs");

    let mut replay = socket::dial(&place.dir()).await.unwrap();
    replay.write_all(&proof).await.unwrap();
    assert!(is_cut(&mut replay).await);
    let mut junk = socket::dial(&place.dir()).await.unwrap();
    let _ = junk.write_all(&vec![b'x'; HANDSHAKE_LINE_BYTES_MAX + 65_536]).await;
    assert!(is_cut(&mut junk).await);
    assert!(broker.browsers().is_empty());
}

#[tokio::test(start_paused = true)]
async fn peers_that_prove_nothing_are_few_and_do_not_stay() {
    let place = Place::new();
    let _broker = place.broker().await;
    let mut silent = Vec::new();
    for _ in 0..HALF_OPEN_MAX {
        silent.push(socket::dial(&place.dir()).await.unwrap());
        tokio::time::sleep(ms(1)).await;
    }
    let mut one_more = socket::dial(&place.dir()).await.unwrap();
    assert!(is_cut(&mut one_more).await);
    tokio::time::sleep(ms(HANDSHAKE_MS)).await;
    for peer in &mut silent {
        assert!(is_cut(peer).await);
    }
    place.chrome().await;
}

#[tokio::test(start_paused = true)]
async fn t019_without_randomness_nobody_gets_in_and_no_nonce_comes_twice() {
    let place = Place::new();
    let lock = place.lock();
    let listener = Listener::bind(&place.dir(), &lock).unwrap();
    let fails = || Err(OsRefusal::NoHome);
    let service = Arc::new(Service::new(place.records()).unwrap());
    let (_open, stays_open) = watch::channel(true);
    let doorway = Doorway::new(service, Run { secret: lock.secret(), records: [0; 32] }, fails);
    let accepting = tokio::spawn(doorway.keep_open(listener, |_| None, stays_open));
    let mut peer = socket::dial(&place.dir()).await.unwrap();
    assert!(is_cut(&mut peer).await);
    accepting.abort();
    drop(lock);
    let _broker = place.broker().await;
    let mut seen = std::collections::HashSet::new();
    for _ in 0..1_000 {
        let (source, _sink) = socket::dial(&place.dir()).await.unwrap().into_split();
        let hello = Incoming::new(source, Lines::new(1 << 16)).next().await.unwrap().unwrap();
        assert!(seen.insert(hello), "a nonce came twice");
        tokio::time::sleep(ms(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn t009_fifty_calls_at_once_keep_every_line_whole() {
    let place = Place::new();
    let broker = place.broker().await;
    let mut host = place.chrome().await;
    let mut calls = JoinSet::new();
    for n in 0..50u32 {
        let (broker, value) = (broker.clone(), n.to_string().repeat(50_000));
        let fill = call("page_fill", json!({"ref": "e1", "value": value}));
        calls.spawn(async move { (value, broker.call(fill).await.unwrap().text) });
    }
    let echo = async {
        for _ in 0..50 {
            let request = host.request().await;
            let value = request.args.get("value").and_then(Value::as_str).unwrap().to_owned();
            host.done(request.id, &value[..value.len().min(40_000)]).await;
        }
    };
    echo.await;
    while let Some(ended) = calls.join_next().await {
        let (sent, got) = ended.unwrap();
        assert_eq!(sent.get(..got.len()), Some(got.as_str()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_above_its_share_waits_and_above_its_cap_is_refused() {
    let place = Place::new();
    let broker = place.broker().await;
    let mut host = place.chrome().await;
    let calls: Vec<_> = (0..CLIENT_OPEN_CALLS_MAX).map(|_| start(&broker, tabs(None))).collect();
    let mut asked = Vec::new();
    for _ in 0..CLIENT_CALLS_MAX {
        asked.push(host.request().await.id);
    }
    assert_eq!(code(broker.call(tabs(None)).await), Code::BrokerBusy);
    for _ in 0..CLIENT_OPEN_CALLS_MAX - CLIENT_CALLS_MAX {
        host.done(asked.remove(0), "done").await;
        asked.push(host.request().await.id);
    }
    for id in asked {
        host.done(id, "done").await;
    }
    for call in calls {
        assert_eq!(call.await.unwrap(), Ok(outcome("done")));
    }
}

#[tokio::test(start_paused = true)]
async fn a_browser_that_stops_reading_is_cut() {
    let place = Place::new();
    let broker = place.broker().await;
    let _host = place.chrome().await;
    // Unread megabytes fill the kernel's buffer, then the queue; what finds no room there is refused.
    let mut last = None;
    for _ in 0..=OUTBOX_BYTES_MAX >> 20 {
        let big = call("page_fill", json!({"ref": "e1", "value": "x".repeat(1 << 20)}));
        last = Some(code(start(&broker, Call { budget_ms: 10, ..big }).await.unwrap()));
    }
    assert_eq!(last, Some(Code::ExtensionNotReady));
    tokio::time::sleep(ms(SLOW_READER_MS)).await;
    assert!(broker.browsers().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_breaks_the_protocol_after_attaching_is_cut() {
    let place = Place::new();
    let broker = place.broker().await;
    for junk in ["{}", "{\"id\":1,\"ok\":true,\"data\":{\"text\":\"x\"},\"more\":1}", "nonsense"] {
        let mut host = place.chrome().await;
        let running = start(&broker, tabs(None));
        host.request().await;
        host.sink.write_all(format!("{junk}\n").as_bytes()).await.unwrap();
        assert_eq!(code(running.await.unwrap()), Code::ConnectionLost, "{junk}");
    }
}

/// A call of a relay under way in a task of its own.
fn ask(relay: &Arc<Relay>, call: Call) -> tokio::task::JoinHandle<Option<Result<Outcome, Refusal>>> {
    let relay = relay.clone();
    tokio::spawn(async move { relay.call(&call, Instant::now() + ms(CALL_BUDGET_MS)).await })
}

#[tokio::test(start_paused = true)]
async fn a_relays_call_reaches_the_browser_and_its_answer_only_that_relay() {
    let place = Place::new();
    let broker = place.broker().await;
    let mut host = place.chrome().await;
    let (one, two) = (Arc::new(place.relay(1).await.unwrap()), Arc::new(place.relay(2).await.unwrap()));
    let (progress, mut states) = mpsc::channel(4);
    let first = ask(&one, Call { progress: Some(progress), ..tabs(None) });
    let asked = host.request().await;
    let second = ask(&two, tabs(None));
    let asked_second = host.request().await;
    assert_eq!(asked.caller.key, format!("{:032x}", 1));
    assert_eq!((asked.caller.name.as_str(), asked.caller.image.as_str()), ("test", "/opt/client-1"));
    assert!(!asked.caller.verified && asked_second.caller.key != asked.caller.key);
    host.say(&BridgeResp::Progress { id: asked.id, state: ProgressState::Confirming }).await;
    assert_eq!(states.recv().await, Some(ProgressState::Confirming));
    host.done(asked_second.id, "for two").await;
    assert_eq!(second.await.unwrap(), Some(Ok(outcome("for two"))));
    host.done(asked.id, "for one").await;
    assert_eq!(first.await.unwrap(), Some(Ok(outcome("for one"))));
    let listed = one.call(&call("list_browsers", json!({})), Instant::now() + ms(1_000)).await;
    assert!(listed.unwrap().unwrap().text.starts_with("chrome"));
    drop(broker);
}

#[tokio::test(start_paused = true)]
async fn a_relays_cancelled_call_and_a_relay_that_leaves_are_called_off_at_the_browser() {
    let place = Place::new();
    let _broker = place.broker().await;
    let mut host = place.chrome().await;
    let relay = Arc::new(place.relay(1).await.unwrap());
    let running = ask(&relay, tabs(None));
    let id = host.request().await.id;
    running.abort();
    assert_eq!(host.frame().await, Some(BridgeFrame::Notice(Notice::Cancel { id })));
    let running = ask(&relay, tabs(None));
    let id = host.request().await.id;
    running.abort();
    drop(running);
    tokio::task::yield_now().await;
    drop(relay);
    assert_eq!(host.frame().await, Some(BridgeFrame::Notice(Notice::Cancel { id })));
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_dies_returns_what_it_did_not_dispatch_and_loses_what_it_did() {
    let place = Place::new();
    let broker = place.broker().await;
    let relay = Arc::new(place.relay(1).await.unwrap());
    let waiting = ask(&relay, tabs(Some("chrome")));
    tokio::time::sleep(ms(10)).await;
    let mut host = place.chrome().await;
    let asked = host.request().await;
    let undispatched = ask(&relay, tabs(Some("brave")));
    tokio::time::sleep(ms(10)).await;
    let broken: Option<Result<Outcome, Refusal>> = undispatched.await.unwrap();
    assert_eq!(code(broken.unwrap()), Code::BrowserNotFound);
    drop(host);
    assert_eq!(code(waiting.await.unwrap().unwrap()), Code::ConnectionLost);
    assert!(asked.id > 0);
    let mut host = place.chrome().await;
    let sent = ask(&relay, tabs(None));
    host.request().await;
    drop(host);
    assert_eq!(code(sent.await.unwrap().unwrap()), Code::ConnectionLost);
    let (undispatched, mut host) = (ask(&relay, tabs(None)), place.host("brave", 2, 1).await.unwrap());
    let dispatched = ask(&relay, tabs(Some("brave")));
    host.request().await;
    host.request().await;
    drop(undispatched);
    drop(broker);
    assert_eq!(code(dispatched.await.unwrap().unwrap()), Code::ConnectionLost);
    assert!(!relay.is_attached());
    assert_eq!(relay.call(&tabs(None), Instant::now() + ms(1_000)).await, None, "it was never dispatched");
}

#[tokio::test(start_paused = true)]
async fn handing_over_returns_what_waits_lets_dispatched_calls_end_and_frees_the_lock() {
    let place = Place::new();
    let broker = place.broker().await;
    let relay = Arc::new(place.relay(1).await.unwrap());
    drop(place.host("brave", 2, 1).await.unwrap());
    tokio::time::sleep(ms(10)).await;
    let waiting = ask(&relay, tabs(Some("brave")));
    let own = start(&broker, tabs(Some("chrome")));
    tokio::time::sleep(ms(10)).await;
    let mut host = place.chrome().await;
    let id = host.request().await.id;
    let ending = tokio::spawn({
        let broker = broker.clone();
        async move { broker.broker.hand_over().await }
    });
    assert_eq!(waiting.await.unwrap(), None, "returned, to be asked of the next broker");
    assert!(matches!(place.relay(2).await, Err(Unattached::Absent(_))));
    host.done(id, "still in time").await;
    assert_eq!(own.await.unwrap(), Ok(outcome("still in time")));
    ending.await.unwrap();
    tokio::time::sleep(ms(1)).await;
    assert!(!relay.is_attached() && host.frame().await.is_none());
    drop(broker);
    place.lock();
}

#[tokio::test(start_paused = true)]
async fn a_dispatched_call_that_does_not_end_holds_a_hand_over_up_for_a_bounded_time() {
    let place = Place::new();
    let broker = place.broker().await;
    let mut host = place.chrome().await;
    let relay = Arc::new(place.relay(1).await.unwrap());
    let sent = ask(&relay, tabs(None));
    host.request().await;
    let begun = Instant::now();
    broker.broker.hand_over().await;
    assert!(begun.elapsed() <= ms(HAND_OVER_MS + LAST_LINES_MS));
    assert_eq!(code(sent.await.unwrap().unwrap()), Code::ConnectionLost);
}

#[tokio::test(start_paused = true)]
async fn the_kill_switch_ends_calls_cuts_browsers_and_lets_nobody_in_until_it_is_released() {
    let place = Place::new();
    let broker = place.broker().await;
    let mut host = place.chrome().await;
    let relay = Arc::new(place.relay(1).await.unwrap());
    let (own, theirs) = (start(&broker, tabs(None)), ask(&relay, tabs(None)));
    host.request().await;
    host.request().await;
    let records = place.records();
    records.trust.engage_within(Duration::ZERO);
    // The watch sees it without anybody asking for anything.
    assert_eq!(code(own.await.unwrap()), Code::BridgeKilled);
    assert_eq!(code(theirs.await.unwrap().unwrap()), Code::BridgeKilled);
    while host.frame().await.is_some() {}
    assert_eq!(place.host("chrome", 1, 1).await.err().unwrap().code, Code::BridgeKilled);
    assert!(matches!(place.relay(2).await, Err(Unattached::Refused(r)) if r.code == Code::BridgeKilled));
    assert_eq!(code(broker.call(tabs(None)).await), Code::BridgeKilled);
    let engaged = records.trust.read().unwrap().engaged;
    let present = Grant::Release { engaged }.answered("release the kill switch").unwrap();
    records.trust.change(|state| kill::release(state, &present)).unwrap();
    let mut host = place.chrome().await;
    let running = ask(&relay, tabs(None));
    let id = host.request().await.id;
    host.done(id, "again").await;
    assert_eq!(running.await.unwrap(), Some(Ok(outcome("again"))));
}

fn pair(records: &Records, list: &[u8]) {
    let entries = |epoch: u64| list.iter().map(move |n| entry(*n, epoch)).collect();
    records
        .trust
        .change(|state| {
            state.clients = Some(entries(state.epoch));
            Ok(())
        })
        .unwrap();
}

fn entry(n: u8, epoch: u64) -> crate::trust::state::ClientEntry {
    crate::trust::state::ClientEntry {
        name: format!("client-{n}"),
        anchor: crate::trust::state::Anchor::Hash { sha256: Sha256([n; 32]) },
        image: format!("/opt/client-{n}"),
        script: crate::trust::state::ScriptRule::Native,
        paused: false,
        epoch,
        paired_ms: 0,
    }
}

#[tokio::test(start_paused = true)]
async fn t083_the_first_pairing_cuts_unpaired_relays_and_tells_browsers_that_the_door_is_closed() {
    let place = Place::new();
    let broker = place.broker().await;
    let mut host = place.chrome().await;
    let (one, two) = (Arc::new(place.relay(1).await.unwrap()), Arc::new(place.relay(2).await.unwrap()));
    let lost = ask(&two, tabs(None));
    let id = host.request().await.id;
    pair(&place.records(), &[0, 1]);
    assert_eq!(code(lost.await.unwrap().unwrap()), Code::ClientNotAdmitted);
    let mut lines = vec![host.line().await, host.line().await];
    lines.sort();
    assert_eq!(
        lines,
        [text::written(&Notice::Cancel { id }), text::written(&LinkNotice::Door { door: Door::Paired })]
    );
    while two.is_attached() {
        tokio::time::sleep(ms(10)).await;
    }
    assert!(matches!(place.relay(2).await, Err(Unattached::Refused(r)) if r.code == Code::ClientNotAdmitted));
    let running = ask(&one, tabs(None));
    let asked = host.request().await;
    assert!(asked.caller.verified);
    host.done(asked.id, "paired").await;
    assert_eq!(running.await.unwrap(), Some(Ok(outcome("paired"))));
    drop(broker);
}

#[tokio::test(start_paused = true)]
async fn t085_a_revoked_relays_answer_is_withheld_and_its_link_cut() {
    let place = Place::new();
    let records = place.records();
    pair(&records, &[0, 1]);
    let broker = place.broker().await;
    let mut host = place.chrome().await;
    let relay = Arc::new(place.relay(1).await.unwrap());
    let running = ask(&relay, tabs(None));
    let id = host.request().await.id;
    pair(&records, &[0]);
    // The answer is there before the watch looks again: the release itself judges.
    host.done(id, "late").await;
    assert_eq!(code(running.await.unwrap().unwrap()), Code::ClientRevoked);
    drop(broker);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_recorded_is_not_done_and_what_is_done_is_recorded_before() {
    let place = Place::new();
    let broker = place.broker().await;
    let mut host = place.chrome().await;
    let running = start(&broker, call("page_fill", json!({"ref": "e1", "value": "s3cret"})));
    let asked = host.request().await;
    let log = std::fs::read_to_string(place.temp.path().join(".local/state/genkan/audit.log")).unwrap();
    assert!(log.contains(r#""event_kind":"tool_call","surface":"broker","outcome":"begun""#), "{log}");
    host.done(asked.id, "done").await;
    running.await.unwrap().unwrap();
    let file = place.temp.path().join(".local/state/genkan/audit.log");
    let log = std::fs::read_to_string(&file).unwrap();
    assert!(log.contains(r#""outcome":"done","tool":"page_fill""#) && log.contains("dur_ms"), "{log}");
    assert!(!log.contains("s3cret") && log.contains("browser_attach"), "{log}");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert!(broker.call(call("page_fill", json!({"ref": "e1", "value": "x"}))).await.is_err());
    let quiet = tokio::time::timeout(ms(50), host.frame()).await;
    assert!(quiet.is_err(), "nothing reached the browser: {quiet:?}");
}
