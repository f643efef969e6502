//! Conversations with the server in one process: what the built binary cannot show, an ended legacy era and time
//! that passes at will. The real binary over real pipes is in `adversarial/mcp_client.rs`.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::bridge::catalogue::tool;
use crate::os::lock::{Acquired, RunLock};
use crate::os::runtime_dir::RuntimeDir;
use crate::os::socket::Listener;
use crate::os::stdio::Splitter as _;
use crate::os::stdio::{StreamFault, stream_outbox};
use crate::role::broker::Call;
use crate::wire::client::{Client, Holder, Image, Sha256};
use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, DuplexStream, Lines};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// One client of one server, both in this process.
struct Talk {
    input: mpsc::Sender<Result<Vec<u8>, StreamFault>>,
    output: Lines<BufReader<DuplexStream>>,
    served: tokio::task::JoinHandle<()>,
    _home: Home,
}

impl Talk {
    fn open(legacy: bool) -> Self {
        let home = Home::new();
        let (near, far) = tokio::io::duplex(1 << 20);
        let (out, _writer) = stream_outbox(near);
        let (input, lines) = mpsc::channel(1);
        let door = home.door();
        let served = tokio::spawn(converse(door, lines, out, legacy));
        Self { input, output: BufReader::new(far).lines(), served, _home: home }
    }

    async fn say(&self, message: Value) {
        self.input.send(Ok(message.to_string().into_bytes())).await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        serde_json::from_str(&self.output.next_line().await.unwrap().expect("the server has left")).unwrap()
    }

    async fn ask(&mut self, message: Value) -> Value {
        self.say(message).await;
        self.hear().await
    }

    /// Hangs up and returns what was still said.
    async fn end(self) -> Vec<String> {
        let Self { input, mut output, served, _home } = self;
        drop(input);
        served.await.unwrap();
        let mut rest = Vec::new();
        while let Some(line) = output.next_line().await.unwrap() {
            rest.push(line);
        }
        rest
    }
}

fn client() -> Client {
    let (path, sha256) = ("/opt/client".into(), Sha256([1; 32]));
    let image = Image { path, device: 1, inode: 1, sha256, package: false, signer: None, replaced: false };
    Client::new(vec![Holder { pid: 7, image, interpreter: false, script: None }]).unwrap()
}

fn modern(id: i64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn initialize(version: &str) -> Value {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

struct Home {
    temp: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Self { temp: tempfile::tempdir().unwrap() }
    }

    fn environment(&self) -> Environment {
        let place = Some(self.temp.path().as_os_str().to_owned());
        Environment { home: place.clone(), xdg_runtime_dir: place, ..Environment::default() }
    }

    fn door(&self) -> Arc<Door> {
        Arc::new(Door::new(self.environment(), Entrance::new(|| Ok(client())), "0".repeat(32)))
    }
}

fn list(budget_ms: u32) -> Call {
    Call {
        tool: tool("list_browsers").unwrap(),
        browser: None,
        args: serde_json::Map::new(),
        name: String::new(),
        budget_ms,
        progress: None,
    }
}

/// A process that holds the lock and listens, and never says a word.
#[tokio::test(start_paused = true)]
async fn behind_a_broker_that_hangs_every_call_ends_within_its_budget_however_many_wait() {
    let home = Home::new();
    let dir = RuntimeDir::resolve(&home.environment()).unwrap();
    let Acquired::Held(lock) = RunLock::acquire(&dir, [1; 32]).unwrap() else { panic!("busy") };
    let _silent = Listener::bind(&dir, &lock).unwrap();
    let door = home.door();
    let start = Instant::now();
    let calls: Vec<_> = (0..20)
        .map(|_| {
            tokio::spawn({
                let door = door.clone();
                async move { door.call(list(4_000)).await }
            })
        })
        .collect();
    for call in calls {
        let refusal = call.await.unwrap().unwrap_err();
        assert_eq!(refusal.code, Code::BrokerBusy);
        assert!(refusal.message.contains(&format!("process {}", std::process::id())), "{refusal}");
    }
    // Of the clock that the test drives: nobody waited for another's turn.
    assert!(start.elapsed() <= Duration::from_millis(4_000 + 100), "{:?}", start.elapsed());
    // A later call looks again, and one with a longer budget is not kept to it by others.
    assert_eq!(door.call(list(60_000)).await.unwrap_err().code, Code::BrokerBusy);
}

#[tokio::test]
async fn a_client_whose_admission_could_not_be_written_down_is_served_nothing_until_it_is() {
    let home = Home::new();
    let door = home.door();
    let log = home.temp.path().join(".local/state/genkan/audit.log");
    std::fs::create_dir_all(&log).unwrap();
    std::fs::set_permissions(log.parent().unwrap(), std::fs::Permissions::from_mode(0o700)).unwrap();
    assert!(door.open().await.is_err());
    for _ in 0..2 {
        let refusal = door.call(list(1_000)).await.unwrap_err();
        assert!(refusal.message.contains("cannot be recorded in the audit log"), "{refusal}");
    }
    std::fs::remove_dir(&log).unwrap();
    door.call(list(1_000)).await.unwrap();
    assert!(std::fs::read_to_string(&log).unwrap().contains("harness_admit"));
}

#[test]
fn the_newest_revision_is_2026_07_28() {
    assert_eq!(eras::supported(true).last(), Some(&ProtocolVersion::V_2026_07_28));
    assert_eq!(eras::supported(false), [ProtocolVersion::V_2026_07_28]);
}

#[tokio::test]
async fn with_the_legacy_era_ended_initialize_names_the_revisions_and_the_connection_stays() {
    let mut talk = Talk::open(false);
    let refused = talk.ask(initialize("2025-11-25")).await;
    assert_eq!(refused["error"]["code"], -32022);
    assert_eq!(refused["error"]["data"], json!({"supported": ["2026-07-28"], "requested": "2025-11-25"}));
    let ping = talk.ask(json!({"jsonrpc": "2.0", "id": 2, "method": "ping"})).await;
    assert_eq!(ping["error"]["code"], -32601);
    let bare = talk.ask(json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"})).await;
    assert_eq!(bare["error"]["code"], -32602);
    let found = talk.ask(modern(4, "server/discover", json!({}))).await;
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]));
    let listed = talk.ask(modern(5, "tools/list", json!({}))).await;
    assert_eq!(listed["result"]["ttlMs"], 3_600_000);
    assert!(talk.end().await.is_empty());
}

#[tokio::test]
async fn an_older_revision_named_by_a_request_is_refused_once_its_era_has_ended() {
    let mut talk = Talk::open(false);
    let mut request = modern(1, "tools/list", json!({}));
    request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2025-11-25");
    assert_eq!(talk.ask(request).await["error"]["code"], -32022);
}

#[tokio::test]
async fn a_second_initialize_cannot_turn_a_legacy_session_modern() {
    let mut talk = Talk::open(true);
    for _ in 0..2 {
        let answer = talk.ask(initialize("2026-07-28")).await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    }
    let listed = talk.ask(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).await;
    assert!(listed["result"].get("ttlMs").is_none() && listed["result"].get("resultType").is_none());
}

#[tokio::test]
async fn a_line_too_long_to_keep_is_refused_and_the_service_goes_on() {
    let mut lines = ClientLines::default();
    lines.push(&vec![b' '; crate::base::limits::MCP_LINE_BYTES_MAX + 1]).unwrap();
    let mut talk = Talk::open(true);
    talk.input.send(Ok(lines.next().unwrap())).await.unwrap();
    assert_eq!(talk.hear().await["error"]["code"], -32600);
    assert!(talk.ask(modern(1, "tools/list", json!({}))).await["result"]["tools"].is_array());
}

/// What is said about a call that waits for a browser until its patience ends; the last line is the answer.
async fn waiting_call(meta: Value) -> Vec<Value> {
    let mut talk = Talk::open(true);
    let mut call = modern(1, "tools/call", json!({"name": "tab_list"}));
    call["params"]["_meta"].as_object_mut().unwrap().extend(meta.as_object().unwrap().clone());
    talk.say(call).await;
    let mut said = Vec::new();
    loop {
        said.push(talk.hear().await);
        if said.last().unwrap().get("id").is_some() {
            assert!(talk.end().await.is_empty(), "nothing follows the answer");
            return said;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_waiting_call_reports_progress_in_strictly_increasing_steps_until_its_answer() {
    let mut said = waiting_call(json!({"progressToken": "t"})).await;
    assert_eq!(said.pop().unwrap()["result"]["isError"], true);
    // Thirty-five seconds of patience, a report every five; the last may meet the answer.
    assert!((6..=7).contains(&said.len()), "{said:?}");
    for (report, step) in said.iter().zip(1..) {
        assert_eq!(report["method"], "notifications/progress");
        let told =
            json!({"progressToken": "t", "progress": f64::from(step), "message": "Waiting for the browser."});
        assert_eq!(report["params"], told);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_token_is_never_reported_on() {
    let said = waiting_call(json!({})).await;
    assert_eq!(said.len(), 1, "{said:?}");
}

#[test]
fn only_a_client_that_hears_of_progress_may_wait_beyond_a_minute() {
    use rmcp::model::{NumberOrString, ProgressToken};
    assert!(wait::budget_ms(None) < 60_000);
    assert_eq!(wait::budget_ms(Some(&ProgressToken(NumberOrString::Number(0)))), 120_000);
}
