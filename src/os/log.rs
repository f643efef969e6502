//! The log: levels by `GENKAN_LOG`, text or JSON by `GENKAN_LOG_FORMAT`, on stderr and nowhere else.
//!
//! Decides what is shown; the default is `warn`, and an unknown word counts as the default. A line stays one line:
//! control and direction characters, which could forge lines or hide text in a terminal, are escaped. Nobody waits for
//! whoever should read it: a thread writes, and what does not fit into its queue is counted and lost. Never call it with
//! page content, argument values or secrets.

mod queue;
mod throttle;

use std::fmt::{Arguments, Write as _};
use std::io::Write as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use queue::Queue;
pub use throttle::Throttle;

use crate::base::identity::{LOG_ENV, LOG_FORMAT_ENV};
use crate::base::limits::LAST_LINES_MS;

/// How bad, or how detailed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something failed.
    Error,
    /// Something was refused or is odd.
    Warn,
    /// Connections come and go.
    Info,
    /// Decisions on single frames.
    Debug,
    /// Every step.
    Trace,
}

impl Level {
    const ALL: [(Level, &'static str); 5] = [
        (Level::Error, "error"),
        (Level::Warn, "warn"),
        (Level::Info, "info"),
        (Level::Debug, "debug"),
        (Level::Trace, "trace"),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(level, _)| *level == self).map_or("", |(_, name)| name)
    }
}

/// Something failed.
pub fn error(text: Arguments<'_>) {
    write(Level::Error, text);
}

/// Something was refused or is odd.
pub fn warn(text: Arguments<'_>) {
    write(Level::Warn, text);
}

/// Connections come and go.
pub fn info(text: Arguments<'_>) {
    write(Level::Info, text);
}

/// Decisions on single frames.
pub fn debug(text: Arguments<'_>) {
    write(Level::Debug, text);
}

/// Every step.
pub fn trace(text: Arguments<'_>) {
    write(Level::Trace, text);
}

/// Writes one line if its level is switched on. A stderr that nobody reads is no reason to fail.
fn write(level: Level, text: Arguments<'_>) {
    let settings = SETTINGS.get_or_init(Settings::of_this_process);
    if level <= settings.level {
        queue().push(settings.line(level, &text.to_string()));
    }
}

/// Waits until what was logged is written, at most [`LAST_LINES_MS`]. To be called before the process ends.
pub fn flush() {
    if let Some(queue) = QUEUE.get() {
        queue.settle(Duration::from_millis(LAST_LINES_MS.into()));
    }
}

fn queue() -> &'static Queue {
    QUEUE.get_or_init(|| {
        let queue = Arc::new(Queue::default());
        let lines = queue.clone();
        let writes = move || {
            lines.drain(|line| {
                let _ = std::io::stderr().lock().write_all(line.as_bytes());
            });
        };
        // Without a thread there is no log, and everything else goes on.
        let _ = std::thread::Builder::new().name("log".into()).spawn(writes);
        queue
    })
}

static QUEUE: OnceLock<Arc<Queue>> = OnceLock::new();

static SETTINGS: OnceLock<Settings> = OnceLock::new();

#[derive(Debug, PartialEq, Eq)]
struct Settings {
    level: Level,
    json: bool,
}

impl Settings {
    fn of_this_process() -> Self {
        let read = |name| std::env::var(name).unwrap_or_default();
        Self::from_words(&read(LOG_ENV), &read(LOG_FORMAT_ENV))
    }

    fn from_words(level: &str, format: &str) -> Self {
        let level =
            Level::ALL.iter().find(|(_, name)| *name == level).map_or(Level::Warn, |(level, _)| *level);
        Self { level, json: format == "json" }
    }

    fn line(&self, level: Level, text: &str) -> String {
        let (name, text) = (level.name(), escape(text));
        if self.json {
            format!("{}\n", serde_json::json!({ "level": name, "pid": std::process::id(), "text": text }))
        } else {
            format!("genkan[{}] {name}: {text}\n", std::process::id())
        }
    }
}

/// The same text with everything visible that a terminal would obey or swallow.
pub fn escape(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, character| {
        if hides(character) {
            let _ = write!(shown, "{}", character.escape_unicode());
        } else {
            shown.push(character);
        }
        shown
    })
}

/// Controls, line and paragraph separators, zero-width and direction marks, the byte order mark.
fn hides(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_choose_the_level_and_unknown_ones_the_default() {
        let settings = Settings::from_words("trace", "json");
        assert_eq!(settings, Settings { level: Level::Trace, json: true });
        for unknown in ["", "TRACE", "all", "5"] {
            assert_eq!(Settings::from_words(unknown, "").level, Level::Warn, "{unknown}");
        }
        assert!(Level::Error < Level::Trace);
    }

    #[test]
    fn an_entry_is_one_line_whatever_it_quotes() {
        for json in [false, true] {
            let settings = Settings { level: Level::Warn, json };
            let line = settings.line(Level::Warn, "a\nb\u{1b}[2J\u{202e}c\u{2028}d\r");
            assert_eq!(line.matches('\n').count(), 1);
            assert!(line.ends_with('\n'));
            assert!(!line.contains(['\u{1b}', '\u{202e}', '\u{2028}', '\r']), "{line:?}");
        }
    }

    #[test]
    fn a_json_entry_parses() {
        let line = Settings { level: Level::Warn, json: true }.line(Level::Info, "say \"hi\"");
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["level"], "info");
        assert_eq!(value["text"], "say \"hi\"");
    }
}
