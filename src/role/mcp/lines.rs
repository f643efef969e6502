//! The client's lines, cut so that no line can end the connection: one above the bound is skipped up to its LF and
//! comes out empty, to be refused like any other; blank lines do not come out at all.

use std::collections::VecDeque;

use crate::base::limits::MCP_LINE_BYTES_MAX;
use crate::os::stdio::Splitter;
use crate::wire::framing::{FrameFault, Lines};

/// See the module.
pub struct ClientLines {
    max: usize,
    lines: Lines,
    whole: VecDeque<Vec<u8>>,
    skipping: bool,
}

impl Default for ClientLines {
    fn default() -> Self {
        Self::bounded(MCP_LINE_BYTES_MAX)
    }
}

impl ClientLines {
    fn bounded(max: usize) -> Self {
        Self { max, lines: Lines::new(max), whole: VecDeque::new(), skipping: false }
    }

    fn piece(&mut self, piece: &[u8]) {
        let ends = piece.ends_with(b"\n");
        if self.skipping {
            self.skipping = !ends;
        } else if self.lines.push(piece).is_err() {
            self.whole.push_back(Vec::new());
            self.lines = Lines::new(self.max);
            self.skipping = !ends;
        }
        self.whole.extend(self.lines.next().filter(|line| !line.is_empty()));
    }
}

impl Splitter for ClientLines {
    fn push(&mut self, bytes: &[u8]) -> Result<(), FrameFault> {
        bytes.split_inclusive(|byte| *byte == b'\n').for_each(|piece| self.piece(piece));
        Ok(())
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        self.whole.pop_front()
    }

    fn finish(&self) -> Result<(), FrameFault> {
        self.lines.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines that come out of `bytes`, fed in pieces of `step`.
    fn cut(bytes: &[u8], step: usize) -> Vec<String> {
        let mut lines = ClientLines::bounded(4);
        bytes.chunks(step).for_each(|piece| lines.push(piece).unwrap());
        std::iter::from_fn(|| lines.next()).map(|line| String::from_utf8(line).unwrap()).collect()
    }

    #[test]
    fn a_line_above_the_bound_comes_out_empty_and_the_next_one_whole() {
        for step in 1..12 {
            assert_eq!(
                cut(b"a\nfour\nfive5\n\nmuch too long\nb\n", step),
                ["a", "four", "", "", "b"],
                "{step}"
            );
        }
    }
}
