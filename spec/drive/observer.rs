//! Whoever speaks MCP to the built program, and is told what it may do: every process of it real.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

/// A client in the making: its processes, the server between them, and what came back.
pub struct Observer {
    input: Option<ChildStdin>,
    answers: Receiver<Value>,
    /// Answers that nobody asked about yet.
    kept: Vec<Value>,
    processes: Vec<Child>,
}

impl Observer {
    /// The test itself holds both ends.
    pub fn starts(mut server: Command) -> Self {
        server.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = server.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        Self { input, answers: lines(output), kept: vec![], processes: vec![child] }
    }

    /// One program writes to the server, one reads from it; the test only speaks to these.
    pub fn starts_behind(mut server: Command, mut writes: Command, mut reads: Command) -> Self {
        let spawn = |command: &mut Command| command.stderr(Stdio::null()).spawn().unwrap();
        let mut writer = spawn(writes.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let mut reader = spawn(reads.stdin(Stdio::piped()).stdout(Stdio::piped()));
        // What the test still holds of these pipes is the server's own side of them.
        let (from, to) = (writer.stdout.take().unwrap(), reader.stdin.take().unwrap());
        let between = spawn(server.stdin(from).stdout(to));
        drop(server);
        let (input, output) = (writer.stdin.take(), reader.stdout.take().unwrap());
        Self { input, answers: lines(output), kept: vec![], processes: vec![writer, between, reader] }
    }

    pub fn asks(&mut self, id: u64, tool: &str, arguments: &Value) {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        writeln!(self.input.as_mut().unwrap(), "{request}").unwrap();
    }

    /// The answer to this request, if it is there already: what it says.
    pub fn heard(&mut self, id: u64) -> Option<String> {
        while let Ok(answer) = self.answers.try_recv() {
            self.kept.push(answer);
        }
        let at = self.kept.iter().position(|answer| answer["id"] == id)?;
        Some(text(&self.kept.remove(at)))
    }

    /// The answer to this request.
    pub fn hears(&mut self, id: u64) -> String {
        loop {
            if let Some(text) = self.heard(id) {
                return text;
            }
            self.kept.push(self.answers.recv_timeout(crate::stage::HANG).expect("an answer"));
        }
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        drop(self.input.take());
        for process in &mut self.processes {
            process.wait().unwrap();
        }
    }
}

fn text(answer: &Value) -> String {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_string()
}

fn lines(output: impl std::io::Read + Send + 'static) -> Receiver<Value> {
    let (sender, answers) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(serde_json::from_str(&line).unwrap()).is_err() {
                return;
            }
        }
    });
    answers
}
