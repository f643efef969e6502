//! A session so small that its bugs are plain: one lock, and for each [`Cut`] one critical section that lets go of it
//! in the middle. It exists to show that the models would notice, and knows of the real one only the writer's side.

use std::collections::BTreeMap;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::{End, Log, Subject};
use genkan::base::sync;
use genkan::bridge::session::Link;
use loom::sync::{Mutex, MutexGuard};

/// Between which two steps the lock is let go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cut {
    AnswerChecksThenRemoves,
    BeginChoosesThenRegisters,
    BeginLooksThenWaits,
    CancelChecksThenRemoves,
    DetachLooksThenRemoves,
    NumberIsReadThenWritten,
    PollLooksThenLeavesItsWaker,
    SupersedeDrainsThenReplaces,
    SupersedeRemovesThenEnters,
}

/// A lock that is let go and taken again at one place.
struct Cuttable<T> {
    cut: Option<Cut>,
    lock: Mutex<T>,
}

impl<T> Cuttable<T> {
    fn lock(&self) -> MutexGuard<'_, T> {
        self.lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn at<'a>(&'a self, here: Cut, held: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        if self.cut != Some(here) {
            return held;
        }
        drop(held);
        self.lock()
    }
}

#[derive(Clone)]
pub(crate) struct Twin(Arc<Cuttable<State>>);

#[derive(Default)]
struct State {
    generation: u64,
    id: u64,
    seats: Vec<(u64, Log)>,
    pending: BTreeMap<u64, (u64, sync::Filler<End>)>,
    waiting: Vec<sync::Filler<()>>,
}

impl State {
    fn calls_of(&mut self, generation: u64) -> Vec<sync::Filler<End>> {
        self.pending.extract_if(.., |_, call| call.0 == generation).map(|(_, call)| call.1).collect()
    }

    fn asked(&self, generation: u64, id: u64) -> bool {
        self.pending.get(&id).is_some_and(|call| call.0 == generation)
    }
}

fn lose(seats: Vec<(u64, Log)>, calls: Vec<sync::Filler<End>>) {
    seats.into_iter().for_each(|(_, log)| log.close());
    calls.into_iter().for_each(|call| _ = call.fill(End::Lost));
}

impl Subject for Twin {
    type Call = Call;

    fn new(cut: Option<Cut>) -> Self {
        Twin(Arc::new(Cuttable { cut, lock: Mutex::new(State::default()) }))
    }

    fn attach(&self) -> (u64, Log) {
        let log = Log::default();
        let mut s = self.0.lock();
        let old = s.generation;
        let calls = s.calls_of(old);
        s = self.0.at(Cut::SupersedeDrainsThenReplaces, s);
        let seats = mem::take(&mut s.seats);
        s = self.0.at(Cut::SupersedeRemovesThenEnters, s);
        s.generation += 1;
        let generation = s.generation;
        s.seats.push((generation, log.clone()));
        let waiting = mem::take(&mut s.waiting);
        drop(s);
        lose(seats, calls);
        waiting.into_iter().for_each(|w| _ = w.fill(()));
        (generation, log)
    }

    fn detach(&self, generation: u64) -> bool {
        let mut s = self.0.lock();
        let Some(at) = s.seats.iter().position(|seat| seat.0 == generation) else { return false };
        // Trusts that the place still holds the one it looked at.
        s = self.0.at(Cut::DetachLooksThenRemoves, s);
        let seat = s.seats.remove(at);
        let calls = s.calls_of(seat.0);
        drop(s);
        lose(vec![seat], calls);
        true
    }

    fn begin(&self) -> Result<(u64, Call), sync::Slot<()>> {
        let mut s = self.0.lock();
        let Some((generation, log)) = s.seats.last().cloned() else {
            s = self.0.at(Cut::BeginLooksThenWaits, s);
            let (filler, arrival) = sync::slot();
            s.waiting.push(filler);
            return Err(arrival);
        };
        let id = s.id + 1;
        s = self.0.at(Cut::NumberIsReadThenWritten, s);
        s.id = id;
        s = self.0.at(Cut::BeginChoosesThenRegisters, s);
        let (filler, reply) = sync::slot();
        s.pending.insert(id, (generation, filler));
        drop(s);
        Ok((id, Call { twin: self.clone(), id, log, reply }))
    }

    fn answer(&self, generation: u64, id: u64) -> bool {
        let mut s = self.0.lock();
        let asked = s.asked(generation, id);
        s = self.0.at(Cut::AnswerChecksThenRemoves, s);
        let call = s.pending.remove(&id);
        drop(s);
        call.into_iter().for_each(|call| _ = call.1.fill(End::Answered));
        asked
    }

    fn attached(&self) -> usize {
        self.0.lock().seats.len()
    }
}

pub(crate) struct Call {
    twin: Twin,
    id: u64,
    log: Log,
    reply: sync::Slot<End>,
}

impl Future for Call {
    type Output = End;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<End> {
        Pin::new(&mut self.reply).poll(cx).map(|end| end.unwrap_or(End::Lost))
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let lock = self.twin.0.clone();
        let mut s = lock.lock();
        let open = s.pending.contains_key(&self.id);
        s = lock.at(Cut::CancelChecksThenRemoves, s);
        let call = s.pending.remove(&self.id);
        drop(s);
        drop(call);
        if open {
            self.log.cancel(self.id);
        }
    }
}

/// One value and one waker.
pub(crate) fn slot(cut: Option<Cut>) -> (Filler, Slot) {
    let cell = Arc::new(Cuttable { cut, lock: Mutex::new((None, None)) });
    (Filler(cell.clone()), Slot(cell))
}

type Cell = Cuttable<(Option<u8>, Option<Waker>)>;

pub(crate) struct Filler(Arc<Cell>);

pub(crate) struct Slot(Arc<Cell>);

impl Filler {
    pub(crate) fn fill(self, value: u8) -> Result<(), u8> {
        let mut cell = self.0.lock();
        cell.0 = Some(value);
        let waker = cell.1.take();
        drop(cell);
        waker.into_iter().for_each(Waker::wake);
        Ok(())
    }
}

impl Future for Slot {
    type Output = Option<u8>;
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<u8>> {
        let mut cell = self.0.lock();
        if let Some(value) = cell.0.take() {
            return Poll::Ready(Some(value));
        }
        cell = self.0.at(Cut::PollLooksThenLeavesItsWaker, cell);
        cell.1 = Some(cx.waker().clone());
        Poll::Pending
    }
}
