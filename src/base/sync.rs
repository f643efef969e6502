//! The only place that knows which lock is in use: std's with the host, a spin lock without it, loom's under
//! `--cfg genkan_loom`, so that the models explore the shipping code. It also holds [`Slot`], the one way in
//! which a pure layer lets somebody wait. It refuses to lend a guard: nothing can be held across an await.
//! It does not know what it protects.

use alloc::sync::Arc;
use core::{
    future::Future,
    mem,
    pin::Pin,
    task::{Context, Poll, Waker},
};

#[cfg(genkan_loom)]
use loom::sync::Mutex as Lock;
#[cfg(all(not(genkan_loom), not(any(test, feature = "host"))))]
use spin::Mutex as Lock;
#[cfg(all(not(genkan_loom), any(test, feature = "host")))]
use std::sync::Mutex as Lock;

/// Exclusive access to a value, for the length of one closure.
#[derive(Debug)]
pub struct Mutex<T>(Lock<T>);

impl<T> Mutex<T> {
    /// Protects `value`.
    pub fn new(value: T) -> Self {
        Self(Lock::new(value))
    }

    /// Runs `act` alone. Wake and drop foreign things after it, not inside: they may come back here.
    pub fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        #[cfg(any(genkan_loom, test, feature = "host"))]
        // A poisoned value is whole: `act` is ours, and a panic ends the process.
        let mut value = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        #[cfg(not(any(genkan_loom, test, feature = "host")))]
        let mut value = self.0.lock();
        act(&mut value)
    }
}

enum Cell<T> {
    /// Nothing yet; whom to wake.
    Empty(Option<Waker>),
    Full(T),
    /// Read, or either side is gone.
    Over,
}

/// Where one value will be: a future that resolves to it, or to `None` if the [`Filler`] was dropped empty.
#[derive(Debug)]
pub struct Slot<T>(Arc<Mutex<Cell<T>>>);

/// The other side of a [`Slot`]: gives the value at most once.
#[derive(Debug)]
pub struct Filler<T>(Arc<Mutex<Cell<T>>>);

/// A slot and its only filler.
pub fn slot<T>() -> (Filler<T>, Slot<T>) {
    let cell = Arc::new(Mutex::new(Cell::Empty(None)));
    (Filler(cell.clone()), Slot(cell))
}

impl<T> Filler<T> {
    /// Gives the value and wakes who waits; gives it back if nobody can read it any more.
    pub fn fill(self, value: T) -> Result<(), T> {
        self.0
            .with(|cell| match mem::replace(cell, Cell::Over) {
                Cell::Empty(waker) => {
                    *cell = Cell::Full(value);
                    Ok(waker)
                }
                Cell::Full(_) | Cell::Over => Err(value),
            })
            .map(|waker| waker.into_iter().for_each(Waker::wake))
    }

    /// Whether nobody can read the value any more.
    pub fn is_abandoned(&self) -> bool {
        self.0.with(|cell| matches!(cell, Cell::Over))
    }
}

impl<T> Drop for Filler<T> {
    fn drop(&mut self) {
        let waker = self.0.with(|cell| match mem::replace(cell, Cell::Over) {
            Cell::Empty(waker) => waker,
            full @ Cell::Full(_) => {
                *cell = full;
                None
            }
            Cell::Over => None,
        });
        waker.into_iter().for_each(Waker::wake);
    }
}

impl<T> Future for Slot<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mine = cx.waker().clone();
        let (answer, _unused) = self.0.with(|cell| match mem::replace(cell, Cell::Over) {
            Cell::Empty(old) => {
                *cell = Cell::Empty(Some(mine));
                (Poll::Pending, old)
            }
            Cell::Full(value) => (Poll::Ready(Some(value)), Some(mine)),
            Cell::Over => (Poll::Ready(None), Some(mine)),
        });
        answer
    }
}

impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        // Taken out under the lock, dropped after it.
        let _unread = self.0.with(|cell| mem::replace(cell, Cell::Over));
    }
}

impl<T> core::fmt::Debug for Cell<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Cell::Empty(_) => "empty",
            Cell::Full(_) => "full",
            Cell::Over => "over",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::pin::pin;

    fn poll<T>(slot: &mut Slot<T>) -> Poll<Option<T>> {
        pin!(slot).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_value_is_read_once() {
        let (filler, mut slot) = slot();
        assert_eq!(poll(&mut slot), Poll::Pending);
        assert_eq!(filler.fill(7), Ok(()));
        assert_eq!(poll(&mut slot), Poll::Ready(Some(7)));
        assert_eq!(poll(&mut slot), Poll::Ready(None));
    }

    #[test]
    fn a_filler_dropped_empty_ends_the_wait() {
        let (filler, mut slot) = slot::<u8>();
        drop(filler);
        assert_eq!(poll(&mut slot), Poll::Ready(None));
    }

    #[test]
    fn a_value_nobody_can_read_comes_back() {
        let (filler, slot) = slot();
        assert!(!filler.is_abandoned());
        drop(slot);
        assert!(filler.is_abandoned());
        assert_eq!(filler.fill(7), Err(7));
    }
}
