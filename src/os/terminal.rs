//! The controlling terminal: where a person is asked, and where their words are read.
//!
//! Decides what counts as the person's answer: one line, typed after the question was shown, at the terminal that the
//! system gave this process. Refuses a process without one, one in the background, words that waited before the
//! question, and silence. Standard input is never read. It does not know who types: a program can make a terminal for
//! itself and type there, so [`Terminal::origin`] says which program stands behind it, for the question and the log.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::{Terminal, columns};
#[cfg(windows)]
pub use windows::{Terminal, columns};

/// What stands before the person's words.
const PROMPT: &str = "> ";

/// Why nobody could be asked, or no answer counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalRefusal {
    /// This process has no controlling terminal.
    Absent,
    /// Another program stands in front at the terminal.
    Background,
    /// The terminal was closed.
    Closed,
    /// Nobody typed a line in time.
    Silent,
    /// The line has no end, or is no text.
    NotALine,
    /// The system failed.
    Io(String),
}

impl core::fmt::Display for TerminalRefusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Absent => "this takes a person at a terminal; run it yourself in a terminal window",
            Self::Background => "this asks at the terminal, so it must run in front; bring it there with fg",
            Self::Closed => "the terminal was closed before anything was typed",
            Self::Silent => "nobody typed anything in time",
            Self::NotALine => "what was typed is no line of text",
            Self::Io(error) => return write!(f, "the terminal failed: {error}"),
        })
    }
}

impl core::error::Error for TerminalRefusal {}
