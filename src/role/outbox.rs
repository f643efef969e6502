//! The writing side of one connection of the bridge socket.
//!
//! Decides that lines leave whole and in order through one writer, that few lines and bytes may wait, and that a peer
//! which takes in nothing for a while is lost. Whoever must know that a line is in the kernel's hands can wait for that.
//! It does not know what a line says.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::base::limits::{OUTBOX_BYTES_MAX, OUTBOX_FRAMES_MAX, SLOW_READER_MS};
use crate::os::stdio::Unsent;
use crate::wire::json;

/// Where lines to one peer go. Clones share the queue.
#[derive(Clone, Debug)]
pub struct Outbox {
    sender: mpsc::Sender<Line>,
    waiting: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Line {
    bytes: Vec<u8>,
    written: Option<oneshot::Sender<()>>,
}

/// What an [`Outbox`] holds until there is a stream to write it to.
#[derive(Debug)]
pub struct Queued {
    receiver: mpsc::Receiver<Line>,
    waiting: Arc<AtomicUsize>,
}

/// An outbox whose stream does not take lines yet.
pub fn outbox() -> (Outbox, Queued) {
    let (sender, receiver) = mpsc::channel(OUTBOX_FRAMES_MAX);
    let waiting = Arc::new(AtomicUsize::new(0));
    (Outbox { sender, waiting: waiting.clone() }, Queued { receiver, waiting })
}

impl Outbox {
    /// Queues one frame if there is room for it.
    pub fn send<T: Serialize>(&self, frame: &T) -> Result<(), Unsent> {
        self.queue(frame, None)
    }

    /// Queues one frame and waits until the kernel has it.
    pub async fn write<T: Serialize>(&self, frame: &T) -> Result<(), Unsent> {
        let (written, wait) = oneshot::channel();
        self.queue(frame, Some(written))?;
        wait.await.map_err(|_| Unsent::Closed)
    }

    fn queue<T: Serialize>(&self, frame: &T, written: Option<oneshot::Sender<()>>) -> Result<(), Unsent> {
        let mut bytes = json::written(frame).into_bytes();
        bytes.push(b'\n');
        let length = bytes.len();
        let before = self.waiting.fetch_add(length, Ordering::Relaxed);
        // One line alone may be larger than all that may wait.
        let queued = if before > 0 && before + length > OUTBOX_BYTES_MAX {
            Err(Unsent::Full)
        } else {
            self.sender.try_send(Line { bytes, written }).map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => Unsent::Full,
                mpsc::error::TrySendError::Closed(_) => Unsent::Closed,
            })
        };
        if queued.is_err() {
            self.waiting.fetch_sub(length, Ordering::Relaxed);
        }
        queued
    }
}

impl Queued {
    /// The one writer of the connection. It ends when every [`Outbox`] is gone, the stream breaks or the peer takes in
    /// nothing for [`SLOW_READER_MS`]; aborting it closes the stream at once.
    pub fn write_to<W: AsyncWrite + Unpin + Send + 'static>(mut self, mut sink: W) -> JoinHandle<()> {
        tokio::spawn(async move {
            while let Some(line) = self.receiver.recv().await {
                if !write(&mut sink, &line.bytes).await {
                    return;
                }
                self.waiting.fetch_sub(line.bytes.len(), Ordering::Relaxed);
                line.written.into_iter().for_each(|written| _ = written.send(()));
            }
        })
    }
}

async fn write<W: AsyncWrite + Unpin>(sink: &mut W, mut bytes: &[u8]) -> bool {
    let patience = Duration::from_millis(SLOW_READER_MS.into());
    while !bytes.is_empty() {
        match timeout(patience, sink.write(bytes)).await {
            Ok(Ok(taken)) if taken > 0 => bytes = bytes.get(taken..).unwrap_or_default(),
            Ok(Ok(_) | Err(_)) | Err(_) => return false,
        }
    }
    sink.flush().await.is_ok()
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test]
    async fn a_line_is_reported_written_only_once_the_kernel_has_it() {
        let (outbox, queued) = outbox();
        let waiting = tokio::spawn({
            let outbox = outbox.clone();
            async move { outbox.write(&"x").await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        let (near, mut far) = tokio::io::duplex(64);
        let writer = queued.write_to(near);
        assert_eq!(waiting.await.unwrap(), Ok(()));
        drop(outbox);
        let mut text = String::new();
        far.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "\"x\"\n");
        writer.await.unwrap();
    }

    #[tokio::test]
    async fn few_lines_and_few_bytes_may_wait() {
        let (outbox, _queued) = outbox();
        for _ in 0..OUTBOX_FRAMES_MAX {
            outbox.send(&"x").unwrap();
        }
        assert_eq!(outbox.send(&"x"), Err(Unsent::Full));
        let (outbox, queued) = super::outbox();
        let half = "x".repeat(OUTBOX_BYTES_MAX / 2 + 1);
        outbox.send(&half).unwrap();
        assert_eq!(outbox.send(&half), Err(Unsent::Full));
        assert_eq!(outbox.send(&"x"), Ok(()));
        drop(queued);
        assert_eq!(outbox.send(&"x"), Err(Unsent::Closed));
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_in_nothing_is_given_up() {
        let (outbox, queued) = outbox();
        let (near, _far) = tokio::io::duplex(1);
        let writer = queued.write_to(near);
        outbox.send(&"xx").unwrap();
        let begun = Instant::now();
        writer.await.unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(SLOW_READER_MS.into()));
    }
}
