//! Whole messages in, whole messages out.
//!
//! Decides that one stream has one writer, which writes a message completely and flushes it before the next, through a
//! bounded queue. Standard input and output may be pipes, sockets, files or terminals, and none of them may be switched
//! to non-blocking behind the back of whoever shares it: where the runtime cannot wait for one as it is, a thread does,
//! which costs two changes of thread a message. Does not know what a message means.

#[cfg(unix)]
mod direct;
#[cfg(windows)]
#[path = "stdio/threaded.rs"]
mod direct;

use std::io::{self, Read, Write};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use self::direct::{Direct, take_stdout};
use super::fail_point;
use crate::base::limits::OUTBOX_FRAMES_MAX;
use crate::wire::framing::{FrameFault, Lines, NmFrames};

/// Bytes asked of a stream at once.
const READ_BYTES: usize = 65_536;
/// Whole messages read ahead of their consumer: they may be large, so only one.
const READ_AHEAD: usize = 1;

/// Cuts messages out of a stream.
pub trait Splitter: Send + 'static {
    /// Takes the next bytes.
    fn push(&mut self, bytes: &[u8]) -> Result<(), FrameFault>;
    /// The next whole message.
    fn next(&mut self) -> Option<Vec<u8>>;
    /// Whether the stream may end here.
    fn finish(&self) -> Result<(), FrameFault>;
}

macro_rules! splitters {
    ($($splitter:ident)*) => {$(
        impl Splitter for $splitter {
            fn push(&mut self, bytes: &[u8]) -> Result<(), FrameFault> {
                $splitter::push(self, bytes)
            }
            fn next(&mut self) -> Option<Vec<u8>> {
                $splitter::next(self)
            }
            fn finish(&self) -> Result<(), FrameFault> {
                $splitter::finish(self)
            }
        }
    )*};
}
splitters! { NmFrames Lines }

/// Why no further message comes out of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamFault {
    /// The peer broke the framing.
    Frame(FrameFault),
    /// The system failed to read.
    Io(String),
}

impl core::fmt::Display for StreamFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Frame(fault) => fault.fmt(f),
            Self::Io(error) => write!(f, "the stream could not be read: {error}"),
        }
    }
}

impl core::error::Error for StreamFault {}

/// Messages read from an asynchronous stream.
#[derive(Debug)]
pub struct Incoming<R, S> {
    source: R,
    splitter: S,
    buffer: Box<[u8]>,
    /// Told once what was whole before it is delivered.
    fault: Option<FrameFault>,
}

impl<R: AsyncRead + Unpin, S: Splitter> Incoming<R, S> {
    /// Reads `source` through `splitter`.
    pub fn new(source: R, splitter: S) -> Self {
        Self { source, splitter, buffer: vec![0; READ_BYTES].into(), fault: None }
    }

    /// The next message; `None` at a clean end. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, StreamFault> {
        loop {
            if let Some(message) = self.splitter.next() {
                return Ok(Some(message));
            }
            if let Some(fault) = self.fault {
                return Err(StreamFault::Frame(fault));
            }
            match self.source.read(&mut self.buffer).await {
                Ok(0) => return self.splitter.finish().map(|()| None).map_err(StreamFault::Frame),
                Ok(read) => {
                    self.fault = self.splitter.push(self.buffer.get(..read).unwrap_or_default()).err()
                }
                Err(error) => return Err(StreamFault::Io(error.to_string())),
            }
        }
    }

    /// The splitter, to change its bound.
    pub fn splitter_mut(&mut self) -> &mut S {
        &mut self.splitter
    }
}

/// Messages from standard input. The channel closes at a clean end. Must be called inside a tokio runtime.
pub fn stdin_messages<S: Splitter>(splitter: S) -> mpsc::Receiver<Result<Vec<u8>, StreamFault>> {
    let (sender, receiver) = mpsc::channel(READ_AHEAD);
    match Direct::reading(io::stdin()) {
        Some(source) => _ = tokio::spawn(hand_over(Incoming::new(source, splitter), sender)),
        None => {
            _ = std::thread::spawn(move || {
                fail_point::reach("reader");
                if let Err(fault) = read_through(io::stdin().lock(), splitter, &sender) {
                    let _ = sender.blocking_send(Err(fault));
                }
            })
        }
    }
    receiver
}

async fn hand_over<S: Splitter>(
    mut incoming: Incoming<Direct, S>,
    sender: mpsc::Sender<Result<Vec<u8>, StreamFault>>,
) {
    fail_point::reach("reader");
    while let Some(next) = incoming.next().await.transpose() {
        let last = next.is_err();
        if sender.send(next).await.is_err() || last {
            return;
        }
    }
}

fn read_through<S: Splitter>(
    mut source: impl Read,
    mut splitter: S,
    sender: &mpsc::Sender<Result<Vec<u8>, StreamFault>>,
) -> Result<(), StreamFault> {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let read = match source.read(&mut buffer) {
            Ok(0) => return splitter.finish().map_err(StreamFault::Frame),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(StreamFault::Io(error.to_string())),
        };
        let pushed = splitter.push(buffer.get(..read).unwrap_or_default());
        while let Some(message) = splitter.next() {
            if sender.blocking_send(Ok(message)).is_err() {
                return Ok(());
            }
        }
        pushed.map_err(StreamFault::Frame)?;
    }
}

/// The queue in front of the one writer of a stream.
#[derive(Clone, Debug)]
pub struct Outbox {
    sender: mpsc::Sender<Vec<u8>>,
}

/// Why a message was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// The stream is broken or was closed.
    Closed,
    /// The other end does not read.
    Full,
}

impl Outbox {
    /// Queues one whole message, waiting for room.
    pub async fn send(&self, message: Vec<u8>) -> Result<(), Unsent> {
        self.sender.send(message).await.map_err(|_| Unsent::Closed)
    }

    /// Queues one whole message if there is room.
    pub fn try_send(&self, message: Vec<u8>) -> Result<(), Unsent> {
        self.sender.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Unsent::Full,
            mpsc::error::TrySendError::Closed(_) => Unsent::Closed,
        })
    }

    /// Resolves when the writer has ended.
    pub async fn closed(&self) {
        self.sender.closed().await;
    }
}

/// What an [`Outbox`] holds until there is a stream to write it to.
#[derive(Debug)]
pub struct Queued(mpsc::Receiver<Vec<u8>>);

/// An outbox whose stream does not take messages yet.
pub fn outbox() -> (Outbox, Queued) {
    let (sender, receiver) = mpsc::channel(OUTBOX_FRAMES_MAX);
    (Outbox { sender }, Queued(receiver))
}

impl Queued {
    /// The one writer of an asynchronous stream. It ends when every [`Outbox`] is gone or the stream breaks; aborting
    /// it closes the stream at once.
    pub fn write_to<W: AsyncWrite + Unpin + Send + 'static>(self, sink: W) -> JoinHandle<()> {
        tokio::spawn(self.write(sink))
    }

    async fn write<W: AsyncWrite + Unpin>(mut self, mut sink: W) {
        while let Some(message) = self.0.recv().await {
            if sink.write_all(&message).await.is_err() || sink.flush().await.is_err() {
                return;
            }
        }
    }
}

/// An outbox and its writer, for a stream that takes messages at once.
pub fn stream_outbox<W: AsyncWrite + Unpin + Send + 'static>(sink: W) -> (Outbox, JoinHandle<()>) {
    let (outbox, queued) = outbox();
    (outbox, queued.write_to(sink))
}

/// The one writer of standard output. The receiver resolves once everything queued is written and every [`Outbox`] is
/// gone, or the stream broke. Must be called inside a tokio runtime.
pub fn stdout_outbox() -> io::Result<(Outbox, oneshot::Receiver<()>)> {
    // A descriptor of our own: the standard handle would split messages at every LF. What anything else prints goes to
    // standard error from here on, because standard output is protocol.
    let stdout = take_stdout()?;
    let (outbox, queued) = outbox();
    let (ended, end) = oneshot::channel();
    match Direct::writing(&stdout) {
        Some(sink) => {
            _ = tokio::spawn(async move {
                fail_point::reach("writer");
                queued.write(sink).await;
                let _ = ended.send(());
            })
        }
        None => {
            _ = std::thread::spawn(move || {
                fail_point::reach("writer");
                write_through(stdout, queued.0);
                let _ = ended.send(());
            })
        }
    }
    Ok((outbox, end))
}

fn write_through(mut sink: impl Write, mut receiver: mpsc::Receiver<Vec<u8>>) {
    while let Some(message) = receiver.blocking_recv() {
        if sink.write_all(&message).is_err() || sink.flush().is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_come_out_whole_however_they_arrive() {
        let (mut near, far) = tokio::io::duplex(3);
        let mut lines = Incoming::new(far, Lines::new(16));
        tokio::spawn(async move { near.write_all(b"one\ntwo\n\nthree\n").await });
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            seen.push(String::from_utf8(line).unwrap());
        }
        assert_eq!(seen, ["one", "two", "", "three"]);
    }

    #[tokio::test]
    async fn an_end_inside_a_message_is_a_fault() {
        let mut lines = Incoming::new(&b"half"[..], Lines::new(16));
        assert_eq!(lines.next().await, Err(StreamFault::Frame(FrameFault::CutShort)));
    }

    #[tokio::test]
    async fn what_was_whole_before_a_fault_is_still_delivered() {
        let (sender, mut receiver) = mpsc::channel(READ_AHEAD);
        let reader =
            std::thread::spawn(move || read_through(&b"ok\nmuch too long\n"[..], Lines::new(4), &sender));
        assert_eq!(receiver.recv().await, Some(Ok(b"ok".to_vec())));
        assert_eq!(receiver.recv().await, None);
        assert_eq!(reader.join().unwrap(), Err(StreamFault::Frame(FrameFault::TooLong { max: 4 })));
    }

    #[tokio::test]
    async fn a_fault_is_told_after_what_was_whole_before_it_and_stays() {
        let mut lines = Incoming::new(&b"ok\nmuch too long\n"[..], Lines::new(4));
        assert_eq!(lines.next().await, Ok(Some(b"ok".to_vec())));
        for _ in 0..2 {
            assert_eq!(lines.next().await, Err(StreamFault::Frame(FrameFault::TooLong { max: 4 })));
        }
    }

    #[tokio::test]
    async fn queued_messages_are_written_in_order_before_the_stream_ends() {
        let (near, mut far) = tokio::io::duplex(2);
        let (outbox, writer) = stream_outbox(near);
        for message in ["a\n", "bb\n", "ccc\n"] {
            outbox.send(message.into()).await.unwrap();
        }
        drop(outbox);
        let mut written = String::new();
        far.read_to_string(&mut written).await.unwrap();
        writer.await.unwrap();
        assert_eq!(written, "a\nbb\nccc\n");
    }

    #[tokio::test]
    async fn a_broken_stream_closes_the_outbox_and_a_stuck_one_fills_it() {
        let (near, far) = tokio::io::duplex(1);
        let (outbox, _writer) = stream_outbox(near);
        let filled = loop {
            match outbox.try_send(b"xx".to_vec()) {
                Ok(()) => tokio::task::yield_now().await,
                Err(unsent) => break unsent,
            }
        };
        assert_eq!(filled, Unsent::Full);
        drop(far);
        outbox.closed().await;
        assert_eq!(outbox.try_send(b"xx".to_vec()), Err(Unsent::Closed));
    }
}
