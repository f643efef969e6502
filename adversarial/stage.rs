//! What every attacker needs: a home of its own, the real binary, both ends of its pipes, and a broker's end of the
//! socket that speaks the real handshake.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use genkan::os::runtime_dir::Environment;
use genkan::os::trust_store::TrustStore;
use genkan::wire::bridge::Door;
use genkan::wire::handshake::{Acceptor, AcceptorStep, Run, attached_line};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A hang is a failure; nothing is measured.
pub const HANG: Duration = Duration::from_secs(60);
pub const SECRET: [u8; 32] = [7; 32];
pub const ABORTED: i32 = 6;

/// The program under attack: the one built with the suite, or whichever `GENKAN_BIN` names.
pub fn binary() -> &'static str {
    static NAMED: OnceLock<Option<String>> = OnceLock::new();
    let named = NAMED.get_or_init(|| std::env::var("GENKAN_BIN").ok());
    named.as_deref().unwrap_or(env!("CARGO_BIN_EXE_genkan"))
}

/// Whether the program has places to fail at on request. One that was handed in has none if it is a release.
#[allow(clippy::print_stdout, reason = "a run says what it left out")]
pub fn fails_on_request() -> bool {
    let built_here = std::env::var_os("GENKAN_BIN").is_none();
    if !built_here {
        println!("left out: failures on request, which only a debug build holds");
    }
    built_here
}

/// The suite's own foreign program and debugger (`puppet.c`), compiled once.
pub fn puppet() -> &'static Path {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = BUILT.get_or_init(|| {
        let temp = tempfile::tempdir().unwrap();
        std::fs::set_permissions(temp.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = temp.path().join("puppet");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/adversarial/puppet.c");
        let flags = "-Os -ffreestanding -fno-builtin -fno-jump-tables -fno-stack-protector -fcf-protection=none \
            -fno-toplevel-reorder -fPIE -pie";
        let built = Command::new("cc").args(flags.split_whitespace()).arg("-o").arg(&path).arg(source).status();
        assert!(built.unwrap().success());
        (temp, path)
    });
    path
}

/// A puppet that carries between a bridge socket and one of ours; see `puppet.c`.
pub struct Carrier {
    pub child: Child,
    control: UnixListener,
    _temp: TempDir,
}

impl Carrier {
    /// `program` is what it shows itself as, `-` for what it is; `before` runs it, such as `setpriv`.
    pub fn start(before: &[&str], program: &str, mode: &str, socket: &Path, more: &[&str]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        std::fs::set_permissions(temp.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let address = temp.path().join("control");
        let control = UnixListener::bind(&address).unwrap();
        std::fs::set_permissions(&address, std::fs::Permissions::from_mode(0o777)).unwrap();
        let mut line: Vec<&std::ffi::OsStr> = before.iter().map(|word| word.as_ref()).collect();
        line.extend([
            puppet().as_os_str(),
            program.as_ref(),
            mode.as_ref(),
            socket.as_os_str(),
            address.as_os_str(),
        ]);
        line.extend(more.iter().map(|word| std::ffi::OsStr::new(*word)));
        let mut command = Command::new(line[0]);
        let mut child =
            command.args(&line[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        if mode != "x" {
            let mut ready = [0];
            child.stdout.as_mut().unwrap().read_exact(&mut ready).expect("the puppet reached its socket");
        }
        Self { child, control, _temp: temp }
    }

    /// The next connection that it carries.
    pub fn link(&self) -> Link {
        let (stream, _) = self.control.accept().unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        Link { lines: BufReader::new(stream.try_clone().unwrap()), stream, carrier: None }
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A home and runtime directory for one test.
pub struct Home(TempDir);

impl Home {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn runtime(&self) -> PathBuf {
        self.path().join("genkan")
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.env_clear().env("HOME", self.path()).env("XDG_RUNTIME_DIR", self.path()).args(arguments);
        command
    }

    /// Makes the runtime directory and a lock file as a broker of this user leaves them.
    pub fn plant_lock(&self, pid: u32) {
        let _ = std::fs::DirBuilder::new().mode(0o700).create(self.runtime());
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let record = json!({ "pid": pid, "secret": hex(&SECRET), "records": hex(&self.records()) });
        let mut file = std::fs::File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(self.runtime().join("run.lock"))
            .unwrap();
        file.write_all(record.to_string().as_bytes()).unwrap();
    }

    pub fn broker(&self) -> Broker {
        self.plant_lock(std::process::id());
        Broker::at(&self.runtime().join("bridge.sock"), self.records())
    }

    /// Names the folders of its records, as every genkan of this home does.
    pub fn records(&self) -> [u8; 32] {
        let home = Some(self.path().as_os_str().to_owned());
        TrustStore::open(&Environment { home, ..Environment::default() }).unwrap().place().unwrap()
    }
}

/// The host as a browser starts it.
pub struct Host {
    pub child: Child,
    stdin: Option<ChildStdin>,
    frames: Receiver<Vec<u8>>,
    stderr: std::thread::JoinHandle<String>,
}

impl Host {
    pub fn start(home: &Home) -> Self {
        Self::run(home.command(&["--native-host", "--label", "chromium"]))
    }

    pub fn run(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let mut stdout = child.stdout.take().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let (sender, frames) = channel();
        std::thread::spawn(move || {
            while let Some(frame) = read_frame(&mut stdout) {
                if sender.send(frame).is_err() {
                    return;
                }
            }
        });
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        Self { child, stdin, frames, stderr }
    }

    /// Past both hellos, with no broker.
    pub fn greeted(home: &Home) -> Self {
        let mut host = Self::start(home);
        host.greet();
        host
    }

    /// Past both hellos and attached to a broker of the test.
    pub fn attached(home: &Home) -> (Self, Link) {
        let broker = home.broker();
        let host = Self::greeted(home);
        let mut link = broker.attach();
        link.carrier = Some(broker.carrier);
        loop {
            if host.hear()["link"]["state"] == "attached" {
                return (host, link);
            }
        }
    }

    pub fn greet(&mut self) {
        assert_eq!(self.hear()["type"], "host_hello");
        self.say(&hello());
        assert_eq!(self.hear()["type"], "kill_status_result");
        assert_eq!(self.hear()["type"], "host_status_result");
    }

    pub fn hear(&self) -> Value {
        self.hear_within(HANG).expect("a frame")
    }

    /// The next frame, if one comes in this time.
    pub fn hear_within(&self, time: Duration) -> Option<Value> {
        self.frames.recv_timeout(time).ok().map(|frame| serde_json::from_slice(&frame).unwrap())
    }

    pub fn say(&mut self, frame: &Value) {
        self.say_bytes(frame.to_string().as_bytes());
    }

    pub fn say_bytes(&mut self, json: &[u8]) {
        let length = u32::try_from(json.len()).unwrap();
        self.say_raw(&length.to_le_bytes());
        self.say_raw(json);
    }

    /// A host that has gone is seen in how it ended, not here.
    pub fn say_raw(&mut self, bytes: &[u8]) {
        let _ = self.stdin.as_mut().unwrap().write_all(bytes);
    }

    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end: status, frames not yet heard, and everything logged.
    pub fn end(mut self) -> (ExitStatus, Vec<Value>, String) {
        let mut rest = Vec::new();
        loop {
            match self.frames.recv_timeout(HANG) {
                Ok(frame) => {
                    rest.push(serde_json::from_slice(&frame).expect("only whole JSON frames on stdout"))
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the host did not end"),
            }
        }
        self.stdin = None;
        (self.child.wait().unwrap(), rest, self.stderr.join().unwrap())
    }

    /// Ends it as the browser does.
    pub fn close(mut self) -> String {
        self.close_input();
        let (status, _, log) = self.end();
        assert_eq!(status.code(), Some(0), "{log}");
        log
    }

    pub fn peak_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

fn read_frame(stdout: &mut impl Read) -> Option<Vec<u8>> {
    let mut prefix = [0; 4];
    stdout.read_exact(&mut prefix).ok()?;
    let mut frame = vec![0; u32::from_le_bytes(prefix) as usize];
    stdout.read_exact(&mut frame).expect("stdout holds whole frames");
    Some(frame)
}

pub fn hello() -> Value {
    json!({
        "type": "extension_hello", "bridge": 1, "extension": "0.1.0",
        "instance": "0123456789abcdef0123456789abcdef", "capabilities": ["tab_control"],
    })
}

pub fn request(id: u64) -> Value {
    let caller = json!({ "key": "k", "name": "n", "image": "", "verified": false });
    json!({ "id": id, "op": "tab_list", "args": {}, "caller": caller, "deadline": 55_000 })
}

pub fn done(id: u64, text: &str) -> Value {
    json!({ "id": id, "ok": true, "data": { "text": text } })
}

/// The broker's end of the socket in the hands of the test: a genuine program that says what the test says.
pub struct Broker {
    carrier: Carrier,
    run: Run,
}

impl Broker {
    pub fn at(socket: &Path, records: [u8; 32]) -> Self {
        let run = Run { secret: SECRET, records };
        Self { carrier: Carrier::start(&[], binary(), "l", socket, &[]), run }
    }

    pub fn accept(&self) -> Link {
        self.carrier.link()
    }

    /// Takes the next host through the real handshake.
    pub fn attach(&self) -> Link {
        let mut link = self.accept();
        let mut acceptor = Acceptor::new(self.run, [9; 32]);
        link.send(&acceptor.hello());
        loop {
            let line = link.hear_line().expect("a line of the handshake");
            match acceptor.on_line(line.as_bytes()).unwrap() {
                AcceptorStep::SendWelcome(line) => link.send(&line),
                AcceptorStep::AttachRelay(_) => panic!("a host attaches as a browser"),
                AcceptorStep::Attach(_) => {
                    link.send(&attached_line(1, Door::Open));
                    return link;
                }
            }
        }
    }
}

pub struct Link {
    lines: BufReader<UnixStream>,
    pub stream: UnixStream,
    carrier: Option<Carrier>,
}

impl Link {
    /// As a genuine program that says what the test says.
    pub fn to(socket: &Path) -> Self {
        Self::through(Carrier::start(&[], binary(), "d", socket, &[]))
    }

    /// Over a carrier that lives as long as the link.
    pub fn through(carrier: Carrier) -> Self {
        let link = carrier.link();
        Self { carrier: Some(carrier), ..link }
    }

    /// As the foreign program that this test is.
    pub fn foreign(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        Self { lines: BufReader::new(stream.try_clone().unwrap()), stream, carrier: None }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    pub fn say(&mut self, line: &Value) {
        self.send(format!("{line}\n").as_bytes());
    }

    /// The next line without its LF; `None` once the other end closed.
    pub fn hear_line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(0) => None,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            read => {
                read.expect("a line or an end");
                assert!(line.ends_with('\n'), "whole lines only: {line:?}");
                line.pop();
                Some(line)
            }
        }
    }

    pub fn hear(&mut self) -> Value {
        serde_json::from_str(&self.hear_line().expect("a line")).unwrap()
    }
}

/// The real broker: the program as an MCP client starts it.
pub struct Serving {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Serving {
    pub fn start(command: Command) -> Self {
        Self::logging_to(command, Stdio::null())
    }

    pub fn logging_to(mut command: Command, log: impl Into<Stdio>) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers }
    }

    /// Started, and its socket answers.
    pub fn open(home: &Home) -> Self {
        let serving = Self::start(home.command(&[]));
        home.await_broker(serving.pid());
        serving
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks for a tool without waiting for the answer.
    pub fn ask(&mut self, id: u64, tool: &str, arguments: &Value) {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        // A server that has gone is seen in what it answers, not here.
        let _ = writeln!(self.child.stdin.as_mut().unwrap(), "{call}");
    }

    /// The next answer: its id, and the text of its result; `None` once the server has gone.
    pub fn answer(&mut self) -> Option<(u64, String)> {
        let mut line = String::new();
        if self.answers.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        let answer: Value = serde_json::from_str(&line).unwrap();
        let text = answer["result"]["content"][0]["text"].as_str();
        Some((answer["id"].as_u64().unwrap(), text.unwrap_or_else(|| panic!("{answer}")).to_string()))
    }

    /// One call and its answer.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> String {
        self.ask(1, tool, arguments);
        self.answer().expect("an answer").1
    }

    /// Sends a signal, as a client or the person would.
    pub fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        assert!(std::process::Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Its client leaves.
    pub fn hang_up(&mut self) {
        self.child.stdin = None;
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Home {
    pub fn socket(&self) -> PathBuf {
        self.runtime().join("bridge.sock")
    }

    /// What the lock file says now.
    pub fn lock(&self) -> Option<(u64, [u8; 32])> {
        let record: Value =
            serde_json::from_slice(&std::fs::read(self.runtime().join("run.lock")).ok()?).ok()?;
        let text = record["secret"].as_str()?.to_string();
        let mut secret = [0; 32];
        for (byte, at) in secret.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
        }
        Some((record["pid"].as_u64()?, secret))
    }

    pub fn await_broker(&self, pid: u32) {
        let end = std::time::Instant::now() + HANG;
        let is_open = || {
            self.lock().is_some_and(|(holder, _)| holder == u64::from(pid))
                && UnixStream::connect(self.socket()).is_ok()
        };
        while !is_open() {
            assert!(std::time::Instant::now() < end, "the broker opened");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Nothing answers any more, although whoever did may still be there.
    pub fn await_closed_door(&self) {
        let end = std::time::Instant::now() + HANG;
        while UnixStream::connect(self.socket()).is_ok() {
            assert!(std::time::Instant::now() < end, "the door closed");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
