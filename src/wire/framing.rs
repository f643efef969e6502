//! Decides where one message ends: native-messaging frames (little-endian length, then JSON) and lines (LF).
//!
//! Refuses before it buffers: a declared length of zero or above the limit ends the stream at its fourth byte, a line at
//! the first byte too many. Memory grows with the bytes that arrived, never with a length that was only declared.
//! It does not know what the bytes mean, and reads or writes nothing itself.

use alloc::{collections::VecDeque, vec::Vec};
use core::fmt;

/// Bytes of a frame's length prefix.
const PREFIX: usize = 4;

/// Why a stream cannot be cut any further. After one, the splitter refuses everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameFault {
    /// A frame of no bytes.
    Empty,
    /// Above the limit in bytes.
    TooLong {
        /// The limit.
        max: usize,
    },
    /// The stream ended inside a message.
    CutShort,
}

impl fmt::Display for FrameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameFault::Empty => f.write_str("the peer sent a frame without content"),
            FrameFault::TooLong { max } => write!(f, "the message is longer than {max} bytes"),
            FrameFault::CutShort => f.write_str("the stream ended in the middle of a message"),
        }
    }
}

impl core::error::Error for FrameFault {}

/// Puts one JSON text into a native-messaging frame.
pub fn nm_frame(json: &[u8], max: usize) -> Result<Vec<u8>, FrameFault> {
    let length = u32::try_from(json.len()).map_err(|_| FrameFault::TooLong { max })?;
    admit(json.len(), max)?;
    let mut frame = Vec::with_capacity(PREFIX + json.len());
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(json);
    Ok(frame)
}

/// Cuts native-messaging frames out of a stream.
#[derive(Debug)]
pub struct NmFrames {
    max: usize,
    prefix: Vec<u8>,
    body: Option<Body>,
    whole: VecDeque<Vec<u8>>,
    fault: Option<FrameFault>,
}

#[derive(Debug)]
struct Body {
    missing: usize,
    bytes: Vec<u8>,
}

impl NmFrames {
    /// Frames of 1 to `max` bytes.
    pub fn new(max: usize) -> Self {
        Self { max, prefix: Vec::new(), body: None, whole: VecDeque::new(), fault: None }
    }

    /// Takes the next bytes of the stream. Frames completed before a fault stay available.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), FrameFault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        while !bytes.is_empty() {
            bytes = match self.body.take() {
                None => self.take_prefix(bytes).inspect_err(|fault| self.fault = Some(*fault))?,
                Some(body) => self.take_body(body, bytes),
            };
        }
        Ok(())
    }

    /// The next complete frame's JSON.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<Vec<u8>> {
        self.whole.pop_front()
    }

    /// Whether the stream may end here.
    pub fn finish(&self) -> Result<(), FrameFault> {
        match self.fault {
            Some(fault) => Err(fault),
            None if self.body.is_some() || !self.prefix.is_empty() => Err(FrameFault::CutShort),
            None => Ok(()),
        }
    }

    fn take_prefix<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], FrameFault> {
        let (taken, rest) = split(bytes, PREFIX - self.prefix.len());
        self.prefix.extend_from_slice(taken);
        if let Ok(length) = <[u8; PREFIX]>::try_from(self.prefix.as_slice()) {
            self.prefix.clear();
            let missing = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
            admit(missing, self.max)?;
            self.body = Some(Body { missing, bytes: Vec::new() });
        }
        Ok(rest)
    }

    fn take_body<'a>(&mut self, mut body: Body, bytes: &'a [u8]) -> &'a [u8] {
        let (taken, rest) = split(bytes, body.missing);
        grow(&mut body.bytes, taken, body.missing);
        body.missing -= taken.len();
        if body.missing == 0 {
            self.whole.push_back(body.bytes);
        } else {
            self.body = Some(body);
        }
        rest
    }
}

/// Cuts lines out of a stream. Only LF separates; CR, NUL and U+2028 are content, for the parser to judge.
#[derive(Debug)]
pub struct Lines {
    max: usize,
    open: Vec<u8>,
    whole: VecDeque<Vec<u8>>,
    fault: Option<FrameFault>,
}

impl Lines {
    /// Lines of at most `max` bytes, not counting their LF.
    pub fn new(max: usize) -> Self {
        Self { max, open: Vec::new(), whole: VecDeque::new(), fault: None }
    }

    /// Takes the next bytes of the stream. Lines completed before a fault stay available.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), FrameFault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        while !bytes.is_empty() {
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let (piece, rest) = split(bytes, end.unwrap_or(bytes.len()));
            let room = self.max - self.open.len();
            if piece.len() > room {
                let fault = FrameFault::TooLong { max: self.max };
                (self.fault, self.open) = (Some(fault), Vec::new());
                return Err(fault);
            }
            grow(&mut self.open, piece, room);
            if end.is_some() {
                self.whole.push_back(core::mem::take(&mut self.open));
            }
            bytes = split(rest, 1).1;
        }
        Ok(())
    }

    /// The next complete line, without its LF. It may be empty.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<Vec<u8>> {
        self.whole.pop_front()
    }

    /// Lets lines be longer from here on: a peer that proved itself may say more.
    pub fn widen(&mut self, max: usize) {
        self.max = self.max.max(max);
    }

    /// Whether the stream may end here.
    pub fn finish(&self) -> Result<(), FrameFault> {
        match self.fault {
            Some(fault) => Err(fault),
            None if !self.open.is_empty() => Err(FrameFault::CutShort),
            None => Ok(()),
        }
    }
}

fn admit(length: usize, max: usize) -> Result<(), FrameFault> {
    match length {
        0 => Err(FrameFault::Empty),
        n if n > max => Err(FrameFault::TooLong { max }),
        _ => Ok(()),
    }
}

fn split(bytes: &[u8], at: usize) -> (&[u8], &[u8]) {
    bytes.split_at_checked(at).unwrap_or((bytes, &[]))
}

/// Appends with doubling, but never reserves past `room`, the bytes that may still come.
fn grow(buffer: &mut Vec<u8>, piece: &[u8], room: usize) {
    if buffer.capacity() - buffer.len() < piece.len() {
        buffer.reserve_exact(buffer.len().max(piece.len()).min(room));
    }
    buffer.extend_from_slice(piece);
}

#[cfg(test)]
mod tests;
