//! Lines on their way to a writer that may be held up for ever.
//!
//! Decides what is lost: the newest lines while the queue is full, and says how many once there is room. It does not know
//! what a line says.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::base::limits::LOG_QUEUE_LINES_MAX;

#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<String>,
    lost: u64,
    is_writing: bool,
}

impl Queue {
    /// Never waits for the writer.
    pub fn push(&self, line: String) {
        let mut state = self.state();
        if state.lines.len() < LOG_QUEUE_LINES_MAX {
            state.lines.push_back(line);
            self.changed.notify_all();
        } else {
            state.lost = state.lost.saturating_add(1);
        }
    }

    /// Hands every line to `write`, for ever.
    pub fn drain(&self, mut write: impl FnMut(&str)) -> ! {
        loop {
            write(&self.next());
            self.state().is_writing = false;
            self.changed.notify_all();
        }
    }

    /// Waits until everything was written, at most this long; says whether it was.
    pub fn settle(&self, patience: Duration) -> bool {
        let is_busy = |state: &mut State| !state.lines.is_empty() || state.is_writing;
        let waited = self.changed.wait_timeout_while(self.state(), patience, is_busy);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// The next line, and before it how many had no room. `settle` counts it as unwritten until the writer is back.
    fn next(&self) -> String {
        let waited = self.changed.wait_while(self.state(), |state| state.lines.is_empty());
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_writing = true;
        let line = state.lines.pop_front().unwrap_or_default();
        match std::mem::take(&mut state.lost) {
            0 => line,
            lost => {
                format!("{line}genkan[{}] warn: {lost} lines of this log had no room\n", std::process::id())
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use super::*;

    #[test]
    fn t010_a_writer_that_is_held_up_holds_nobody_up_and_the_lost_lines_are_counted() {
        let queue = Arc::new(Queue::default());
        let (written, read) = mpsc::sync_channel::<String>(0);
        let lines = queue.clone();
        std::thread::spawn(move || lines.drain(|line| written.send(line.into()).unwrap()));
        let pushed = 2 * LOG_QUEUE_LINES_MAX;
        // Nobody reads yet: one line is with the writer, or all are in the queue.
        for n in 0..pushed {
            queue.push(format!("{n}\n"));
        }
        assert!(!queue.settle(Duration::ZERO));
        let (mut seen, mut lost) = (0, 0);
        while seen + lost < pushed {
            let line = read.recv().unwrap();
            assert_eq!(
                line.lines().next(),
                Some(seen.to_string().as_str()),
                "the oldest lines are kept, in order"
            );
            seen += 1;
            if let Some((_, note)) = line.split_once("warn: ") {
                lost += note.split(' ').next().unwrap().parse::<usize>().unwrap();
            }
        }
        assert!(lost >= LOG_QUEUE_LINES_MAX - 1, "{lost}");
        assert!(queue.settle(Duration::from_secs(60)), "every line was written or counted, none twice");
    }
}
