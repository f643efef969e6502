//! A person at a terminal: a real pseudo-terminal that is the controlling terminal of the command they run. The words of
//! a program that makes a terminal for itself arrive the same way; that is the residual which this shows.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use rustix::pty::OpenptFlags;

use crate::stage::HANG;

/// A command that runs at the person's terminal.
pub struct Person {
    child: Child,
    terminal: File,
    shown: Receiver<Vec<u8>>,
    text: String,
}

impl Person {
    /// Runs a command with the terminal as all three standard streams.
    pub fn runs(command: &Command) -> Self {
        Self::runs_as(command, &[])
    }

    /// Runs it through words before it, such as a shell that turns its standard input elsewhere.
    pub fn runs_as(command: &Command, before: &[&str]) -> Self {
        let terminal =
            rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        rustix::pty::grantpt(&terminal).unwrap();
        rustix::pty::unlockpt(&terminal).unwrap();
        let name = rustix::pty::ptsname(&terminal, Vec::new()).unwrap();
        let theirs = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let stream = || Stdio::from(theirs.try_clone().unwrap());
        // Makes standard input the controlling terminal of a session of its own.
        let mut session = Command::new("/usr/bin/setsid");
        session.arg("--ctty").args(before).arg(command.get_program()).args(command.get_args()).env_clear();
        session.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(dir) = command.get_current_dir() {
            session.current_dir(dir);
        }
        session.stdin(stream()).stdout(stream()).stderr(stream());
        let child = session.spawn().unwrap();
        drop((session, theirs));
        let terminal = File::from(terminal);
        let mut reader = terminal.try_clone().unwrap();
        let (sender, shown) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            // The system says EIO once nobody has the other end open.
            while let Ok(length) = reader.read(&mut piece) {
                if length == 0 || sender.send(piece[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, terminal, shown, text: String::new() }
    }

    /// Waits until a text was shown, or the command ended; says which.
    pub fn sees(&mut self, text: &str) -> bool {
        let end = Instant::now() + HANG;
        while !self.text.contains(text) {
            match self.shown.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(piece) => self.text.push_str(&String::from_utf8_lossy(&piece).replace('\r', "")),
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => panic!("{text:?} was not shown: {}", self.text),
            }
        }
        true
    }

    /// What was shown so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The words that the question asks for.
    pub fn asked_for(&mut self) -> Option<String> {
        if !self.sees("\n> ") {
            return None;
        }
        let (_, rest) = self.text.rsplit_once("Type exactly: ")?;
        Some(rest.lines().next()?.to_string())
    }

    pub fn types(&mut self, words: &str) {
        writeln!(self.terminal, "{words}").unwrap();
    }

    /// Answers the question as it asks.
    pub fn agrees(&mut self) {
        let words = self.asked_for().unwrap_or_else(|| panic!("nothing was asked: {}", self.text));
        self.types(&words);
    }

    /// Waits for the end: exit code and everything shown.
    pub fn ends(mut self) -> (i32, String) {
        // Never shown, so this reads to the end.
        assert!(!self.sees("\u{0}"));
        (self.child.wait().unwrap().code().unwrap_or(-1), std::mem::take(&mut self.text))
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
