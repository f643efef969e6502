//! A real socket and a peer that speaks the whole handshake; time is the runtime's and stands still unless all wait.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use tokio::task::JoinSet;

use super::*;
use crate::base::limits::{
    CALL_BUDGET_MS, CALL_BUDGET_PROGRESS_MS, CALLS_MAX, HALF_OPEN_MAX, HANDSHAKE_MS, OUTBOX_FRAMES_MAX,
};
use crate::bridge::catalogue::tool;
use crate::os::runtime_dir::Environment;
use crate::os::socket::{ReadHalf, WriteHalf};
use crate::os::stdio::Incoming;
use crate::os::{OsRefusal, lock, socket};
use crate::wire::bridge::{
    BRIDGE_PROTOCOL_VERSION, BridgeFrame, BridgeReq, BridgeResp, Capability, Door, Notice,
};
use crate::wire::framing::Lines;
use crate::wire::handshake::{Dialer, DialerStep};
use crate::wire::json as text;

struct Place {
    temp: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { temp: tempfile::tempdir().unwrap() }
    }

    fn dir(&self) -> RuntimeDir {
        let xdg_runtime_dir = Some(self.temp.path().into());
        RuntimeDir::resolve(&Environment { xdg_runtime_dir, ..Environment::default() }).unwrap()
    }

    async fn broker(&self) -> Arc<Broker> {
        Broker::open(self.dir()).await.unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    /// A browser's host that attached, or what it was told instead.
    async fn host(&self, label: &str, instance: u8, bridge: u32) -> Result<Host, Refusal> {
        let secret = lock::read(&self.dir()).unwrap().unwrap().secret;
        let (source, mut sink) = socket::dial(&self.dir()).await.unwrap().into_split();
        let mut lines = Incoming::new(source, Lines::new(1 << 24));
        let capabilities = vec![Capability::TabControl, Capability::PageInteract];
        let instance = format!("{instance:032x}");
        let mut dialer = Dialer::new(
            secret,
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
                DialerStep::Attached { door, .. } => {
                    assert_eq!(door, Door::Open);
                    return Ok(Host { lines, sink });
                }
                DialerStep::Refused(refusal) => return Err(refusal),
            }
        }
    }

    async fn chrome(&self) -> Host {
        self.host("chrome", 1, BRIDGE_PROTOCOL_VERSION).await.unwrap()
    }
}

struct Host {
    lines: Incoming<ReadHalf, Lines>,
    sink: WriteHalf,
}

impl Host {
    async fn frame(&mut self) -> Option<BridgeFrame> {
        self.lines.next().await.unwrap().map(|line| BridgeFrame::parse(&line).unwrap())
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
    let caller = Caller { key: "k".into(), name: "test".into(), image: "/bin/test".into(), verified: false };
    Call { tool: tool(name).unwrap(), browser: None, args, caller, budget_ms: CALL_BUDGET_MS, progress: None }
}

fn tabs(browser: Option<&str>) -> Call {
    Call { browser: browser.map(String::from), ..call("tab_list", json!({})) }
}

/// A call under way in a task of its own.
fn start(broker: &Arc<Broker>, call: Call) -> tokio::task::JoinHandle<Result<Outcome, Refusal>> {
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
    let secret = lock::read(&place.dir()).unwrap().unwrap().secret;
    let mut dialer = Dialer::new(secret, [9; 32], "chrome".into(), "0".repeat(32), 1, "1".into(), Vec::new());
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
    junk.write_all(&[b'x'; 20_000]).await.unwrap();
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
    let Acquired::Held(lock) = RunLock::acquire(&place.dir()).unwrap() else { panic!("busy") };
    let listener = Listener::bind(&place.dir(), &lock).unwrap();
    let fails = || Err(OsRefusal::NoHome);
    let doorway = Doorway::new(Session::default(), Instant::now(), lock.secret(), fails);
    let accepting = tokio::spawn(doorway.keep_open(listener));
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
async fn t032_one_broker_holds_the_door_and_the_second_is_told_who() {
    let place = Place::new();
    for _ in 0..200 {
        let (one, two) = tokio::join!(Broker::open(place.dir()), Broker::open(place.dir()));
        let refusal = match (one, two) {
            (Ok(_held), Err(refusal)) | (Err(refusal), Ok(_held)) => refusal,
            (Ok(_), Ok(_)) => panic!("two brokers"),
            (Err(_), Err(_)) => panic!("no broker"),
        };
        assert_eq!(refusal.code, Code::BrokerBusy);
        assert!(refusal.message.contains(&format!("Process {}", std::process::id())), "{refusal}");
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
async fn a_browser_that_stops_reading_is_cut_and_the_calls_above_the_cap_are_refused() {
    let place = Place::new();
    let broker = place.broker().await;
    let mut host = place.chrome().await;
    let mut calls: Vec<_> = (0..CALLS_MAX).map(|_| start(&broker, tabs(None))).collect();
    for _ in 0..CALLS_MAX {
        host.request().await;
    }
    assert_eq!(code(broker.call(tabs(None)).await), Code::BrokerBusy);
    calls.drain(..).for_each(|call| call.abort());
    tokio::time::sleep(ms(1)).await;
    // Unread megabytes fill the kernel's buffer; then the queue fills, and the first cancel that finds no room cuts.
    for _ in 0..=OUTBOX_FRAMES_MAX {
        let big = call("page_fill", json!({"ref": "e1", "value": "x".repeat(1 << 20)}));
        let running = start(&broker, Call { budget_ms: 10, ..big });
        let _ = running.await.unwrap();
    }
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
