//! The attacker is the MCP client, or whoever writes into its pipe: the built binary over real pipes, in a home of its
//! own, with no browser. What must refuse is our transport in front of rmcp, unless a test says otherwise.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// A hang is a failure; nothing is measured.
const HANG: Duration = Duration::from_secs(60);
const ABORTED: i32 = 6;
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A server process and both ends of its pipes.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    home: Option<TempDir>,
}

impl Server {
    /// A server in a home of its own.
    fn start(environment: &[(&str, &str)]) -> Self {
        let home = home();
        let mut server = Self::start_in(&home, environment);
        server.home = Some(home);
        server
    }

    fn start_in(home: &TempDir, environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(crate::stage::binary());
        command.env_clear().env("HOME", home.path()).env("XDG_RUNTIME_DIR", home.path());
        command.envs(environment.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = lines(child.stdout.take().unwrap());
        let stderr = lines(child.stderr.take().unwrap());
        Self { child, stdin, stdout, stderr, home: None }
    }

    fn send_raw(&mut self, bytes: &[u8]) {
        // A server that has gone is seen in what it says, not here.
        let _ = self.stdin.as_mut().unwrap().write_all(bytes);
    }

    fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    fn line(&self) -> String {
        self.stdout.recv_timeout(HANG).expect("an answer")
    }

    fn hear(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        self.hear()
    }

    /// Closes its input and returns how it ended, with all that it still said and logged.
    fn end(mut self) -> (ExitStatus, Vec<String>, String) {
        drop(self.stdin.take());
        self.wait()
    }

    fn wait(mut self) -> (ExitStatus, Vec<String>, String) {
        let said = rest(&self.stdout);
        let logged = rest(&self.stderr).join("\n");
        drop(self.home.take());
        (self.child.wait().unwrap(), said, logged)
    }
}

fn lines(stream: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            if line.map(|line| sender.send(line)).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Everything until the stream ends.
fn rest(stream: &Receiver<String>) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        match stream.recv_timeout(HANG) {
            Ok(line) => all.push(line),
            Err(RecvTimeoutError::Disconnected) => return all,
            Err(RecvTimeoutError::Timeout) => panic!("the server does not end; it said {all:?}"),
        }
    }
}

fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

/// A request of the modern era.
fn modern(id: impl Into<Value>, method: &str, mut params: Value) -> Value {
    params["_meta"][VERSION] = json!("2026-07-28");
    params["_meta"][CAPABILITIES] = json!({});
    request(id, method, params)
}

fn call(id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
    modern(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

fn initialize(id: i64, version: &str) -> Value {
    let client = json!({"name": "test", "version": "1"});
    request(id, "initialize", json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client}))
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}

fn refusal(answer: &Value) -> String {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["_meta"]["com.vivswan.genkan/refusal"]["code"].as_str().unwrap().to_owned()
}

/// That the connection is alive and in the modern era.
fn serves(server: &mut Server) {
    let answer = server.ask(&modern("alive", "tools/list", json!({})));
    assert_eq!(answer["id"], "alive");
    assert_eq!(answer["result"]["resultType"], "complete");
}

mod calls;
mod lines;
mod metadata;
mod streams;
mod transcript;
