//! The clients of one broker: who is attached, on what proof, which calls each has open, and whose turn it is.
//!
//! Every decision is [`admission`](crate::trust::admission)'s, over the newest record that anybody here has read: once
//! it is learnt, nothing that it forbids begins, is dispatched or is answered. It refuses clients and calls above their
//! bounds and everything new once the broker hands over; the last client to leave closes it in the same step. Places
//! go to whoever has fewest, so a client that floods waits for itself. It does not know browsers, files or time.

use alloc::{
    collections::{BTreeMap, btree_map::Entry},
    format,
    string::String,
    sync::Arc,
    vec::Vec,
};
use core::mem;

use crate::base::limits::{
    ATTACHED_CLIENTS_MAX, CALLS_MAX, CLIENT_CALLS_MAX, CLIENT_OPEN_BYTES_MAX, CLIENT_OPEN_CALLS_MAX,
    OPEN_BYTES_MAX,
};
use crate::base::refusal::{Code, Refusal};
use crate::base::sync::{Filler, Mutex, Slot, slot};
use crate::trust::admission::{self, Admitted};
use crate::trust::state::TrustState;
use crate::wire::bridge::Door;
use crate::wire::client::Client;

/// The connection of an attached client. It returns at once and does not call back into the clients.
pub trait Cord: Clone {
    /// This client may no longer be served: end its connection once it was told about its calls.
    fn cut(&self, why: &Refusal);
}

/// How a call ends before its browser answered it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It may not go on.
    Refused(Refusal),
    /// It was not dispatched, and this broker is ending: the next one can take it.
    Returned,
}

/// All clients of one broker. Clones share them.
pub struct Clients<C>(Arc<Mutex<Roll<C>>>);

impl<C> Clone for Clients<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

struct Roll<C> {
    known: TrustState,
    /// Why the record cannot be read now.
    unreadable: Option<Refusal>,
    course: Course,
    seats: BTreeMap<u64, Seat<C>>,
    last_seat: u64,
    last_call: u64,
    last_turn: u64,
    running: usize,
    quiet: Vec<Filler<()>>,
    closed: Vec<Filler<()>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Course {
    Serving,
    /// Nothing new; what was dispatched may end.
    HandingOver,
    Closed,
}

struct Seat<C> {
    client: Client,
    /// `None` while the newest record does not admit it.
    admitted: Option<Admitted>,
    cord: C,
    /// When it last got a place.
    served: u64,
    running: usize,
    calls: BTreeMap<u64, Open>,
}

struct Open {
    /// What its arguments take.
    bytes: usize,
    /// What it was begun under: what the person withdraws later ends it, even if granted again.
    admitted: Admitted,
    stage: Stage,
    end: Filler<End>,
}

impl<C> Seat<C> {
    /// What its calls hold here. A dispatched one has handed its arguments over to the queue of a browser.
    fn bytes(&self) -> usize {
        let held = |open: &&Open| !matches!(open.stage, Stage::Dispatched);
        self.calls.values().filter(held).map(|open| open.bytes).sum()
    }
}

enum Stage {
    Waiting(Filler<()>),
    Running,
    Dispatched,
}

impl<C: Cord> Clients<C> {
    /// Nobody is attached yet; `known` is the record as it is now.
    pub fn new(known: TrustState) -> Self {
        Self(Arc::new(Mutex::new(Roll {
            known,
            unreadable: None,
            course: Course::Serving,
            seats: BTreeMap::new(),
            last_seat: 0,
            last_call: 0,
            last_turn: 0,
            running: 0,
            quiet: Vec::new(),
            closed: Vec::new(),
        })))
    }

    /// Takes note of the record as somebody has just read it. Whatever it forbids has ended when this returns.
    pub fn learn(&self, state: &TrustState) {
        self.act(|r, after| r.learn(state, after));
    }

    /// The record cannot be read: nothing is allowed until it can.
    pub fn distrust(&self, why: &Refusal) {
        self.act(|r, after| {
            r.unreadable = Some(why.clone());
            r.judge_all(after);
        });
    }

    /// Whether browsers may be attached, and who may enter.
    pub fn standing(&self) -> Result<Door, Refusal> {
        self.0.with(|r| r.standing())
    }

    /// Attaches a client if it is admitted.
    pub fn enter(&self, client: Client, cord: C) -> Result<Presence<C>, Refusal> {
        let seat = self.0.with(|r| r.enter(client, cord))?;
        Ok(Presence { clients: self.clone(), seat })
    }

    /// Begins to end: nothing new enters, and every call that was not dispatched is given back.
    pub fn hand_over(&self) {
        self.act(|r, after| {
            if r.course == Course::Serving {
                r.course = Course::HandingOver;
                r.end_calls(after, |open| match open.stage {
                    Stage::Waiting(_) | Stage::Running => Some(End::Returned),
                    Stage::Dispatched => None,
                });
            }
        });
    }

    /// Ends: calls that are still open end for this reason, and every connection is cut.
    pub fn close(&self, why: &Refusal) {
        self.act(|r, after| {
            r.close(after);
            r.end_calls(after, |_| Some(End::Refused(why.clone())));
            after.cords.extend(r.seats.values().map(|seat| (seat.cord.clone(), why.clone())));
        });
    }

    /// Resolves when no call is open.
    pub fn quiet(&self) -> Slot<()> {
        let (filler, quiet) = slot();
        self.act(|r, after| {
            let list = if r.is_quiet() { &mut after.told } else { &mut r.quiet };
            list.push(filler);
        });
        quiet
    }

    /// Resolves when the last client has left, or [`Clients::close`] was called.
    pub fn closed(&self) -> Slot<()> {
        let (filler, closed) = slot();
        self.act(|r, after| {
            let list = if r.course == Course::Closed { &mut after.told } else { &mut r.closed };
            list.push(filler);
        });
        closed
    }

    /// Changes the roll alone, then tells whom it concerns.
    fn act<R>(&self, change: impl FnOnce(&mut Roll<C>, &mut After<C>) -> R) -> R {
        let mut after = After { ends: Vec::new(), turns: Vec::new(), cords: Vec::new(), told: Vec::new() };
        let result = self.0.with(|r| {
            let result = change(r, &mut after);
            r.give_turns(&mut after);
            if r.is_quiet() {
                after.told.append(&mut r.quiet);
            }
            result
        });
        after.tell();
        result
    }
}

impl<C: Cord> Roll<C> {
    /// A record is newer by its epoch; in one epoch a switch that is on is newer than one that is off.
    fn learn(&mut self, state: &TrustState, after: &mut After<C>) {
        let readable_again = self.unreadable.take().is_some();
        let newer = (state.epoch, state.killed) > (self.known.epoch, self.known.killed);
        if newer {
            self.known = state.clone();
        }
        if newer || readable_again {
            self.judge_all(after);
        }
    }

    fn standing(&self) -> Result<Door, Refusal> {
        match &self.unreadable {
            Some(why) => Err(why.clone()),
            None if self.known.killed => Err(Refusal::plain(Code::BridgeKilled)),
            None => Ok(self.known.door()),
        }
    }

    fn judge(&self, before: Option<&Admitted>, client: &Client) -> Result<Admitted, Refusal> {
        if let Some(why) = &self.unreadable {
            return Err(why.clone());
        }
        match before {
            Some(before) => admission::recheck(before, &self.known, client),
            None => admission::decide(&self.known, client),
        }
    }

    /// Ends every call that the record no longer allows, and cuts every client that it no longer admits. The kill
    /// switch ends calls only: what it stops may go on where it stands once the person releases it.
    fn judge_all(&mut self, after: &mut After<C>) {
        let (mut seats, mut freed) = (mem::take(&mut self.seats), 0);
        for seat in seats.values_mut() {
            let verdict = seat.admitted.as_ref().map(|before| self.judge(Some(before), &seat.client));
            seat.admitted = match verdict {
                Some(Ok(admitted)) => Some(admitted),
                Some(Err(why)) => {
                    if why.code != Code::BridgeKilled {
                        after.cords.push((seat.cord.clone(), why));
                    }
                    None
                }
                None => None,
            };
            let client = &seat.client;
            let forbidden = |open: &Open| self.judge(Some(&open.admitted), client).err().map(End::Refused);
            freed += end(&mut seat.calls, &mut seat.running, forbidden, after);
        }
        self.running -= freed;
        self.seats = seats;
    }

    fn enter(&mut self, client: Client, cord: C) -> Result<u64, Refusal> {
        if self.course != Course::Serving {
            return Err(ending());
        }
        if self.seats.len() >= ATTACHED_CLIENTS_MAX {
            return Err(Refusal::new(
                Code::BrokerBusy,
                format!("genkan already serves {ATTACHED_CLIENTS_MAX} clients. Close one, then try again."),
            ));
        }
        let admitted = Some(self.judge(None, &client)?);
        self.last_seat += 1;
        let seat = Seat { client, admitted, cord, served: 0, running: 0, calls: BTreeMap::new() };
        self.seats.insert(self.last_seat, seat);
        Ok(self.last_seat)
    }

    fn leave(&mut self, seat: u64, after: &mut After<C>) {
        let Some(mut seat) = self.seats.remove(&seat) else { return };
        let left = |_: &Open| Some(End::Refused(Refusal::plain(Code::Cancelled)));
        self.running -= end(&mut seat.calls, &mut seat.running, left, after);
        if self.seats.is_empty() {
            self.close(after);
        }
    }

    fn close(&mut self, after: &mut After<C>) {
        self.course = Course::Closed;
        after.told.append(&mut self.closed);
    }

    fn open(&mut self, seat: u64, bytes: usize) -> Result<(u64, Admitted, Slot<()>, Slot<End>), End> {
        let all: usize = self.seats.values().map(Seat::bytes).sum();
        let Some(at) = self.seats.get(&seat) else { return Err(End::Returned) };
        let admitted = self.judge(at.admitted.as_ref(), &at.client).map_err(End::Refused)?;
        if self.course != Course::Serving {
            return Err(End::Returned);
        }
        let Entry::Occupied(mut at) = self.seats.entry(seat) else { return Err(End::Returned) };
        let at = at.get_mut();
        at.admitted = Some(admitted.clone());
        if at.calls.len() >= CLIENT_OPEN_CALLS_MAX {
            return Err(End::Refused(too_many()));
        }
        if at.bytes().saturating_add(bytes) > CLIENT_OPEN_BYTES_MAX
            || all.saturating_add(bytes) > OPEN_BYTES_MAX
        {
            return Err(End::Refused(too_much()));
        }
        self.last_call += 1;
        let ((turn, turned), (end, ended)) = (slot(), slot());
        let open = Open { bytes, admitted: admitted.clone(), stage: Stage::Waiting(turn), end };
        at.calls.insert(self.last_call, open);
        Ok((self.last_call, admitted, turned, ended))
    }

    /// The open call, unless it has ended.
    fn call(&mut self, seat: u64, call: u64) -> Option<&mut Open> {
        self.seats.get_mut(&seat)?.calls.get_mut(&call)
    }

    fn remove(&mut self, seat: u64, call: u64) -> Option<()> {
        let seat = self.seats.get_mut(&seat)?;
        let held = usize::from(seat.calls.remove(&call)?.holds_a_place());
        seat.running -= held;
        self.running -= held;
        Some(())
    }

    fn end_calls(&mut self, after: &mut After<C>, verdict: impl Fn(&Open) -> Option<End>) {
        for seat in self.seats.values_mut() {
            self.running -= end(&mut seat.calls, &mut seat.running, &verdict, after);
        }
    }

    /// Free places go one by one to the client that has fewest, and among those to the one that waited longest.
    fn give_turns(&mut self, after: &mut After<C>) {
        while self.running < CALLS_MAX {
            let waiting =
                self.seats.values_mut().filter(|seat| seat.running < CLIENT_CALLS_MAX && seat.waits());
            let Some(seat) = waiting.min_by_key(|seat| (seat.running, seat.served)) else { return };
            self.last_turn += 1;
            seat.served = self.last_turn;
            seat.running += 1;
            self.running += 1;
            let next = seat.calls.values_mut().find(|open| !open.holds_a_place());
            if let Some(Stage::Waiting(turn)) = next.map(|open| mem::replace(&mut open.stage, Stage::Running))
            {
                after.turns.push(turn);
            }
        }
    }

    fn is_quiet(&self) -> bool {
        self.seats.values().all(|seat| seat.calls.is_empty())
    }
}

impl<C> Seat<C> {
    fn waits(&self) -> bool {
        self.calls.values().any(|open| !open.holds_a_place())
    }
}

impl Open {
    fn holds_a_place(&self) -> bool {
        match self.stage {
            Stage::Waiting(_) => false,
            Stage::Running | Stage::Dispatched => true,
        }
    }
}

/// Ends those calls of one client for which `verdict` gives an end. Returns how many places that frees.
fn end<C>(
    calls: &mut BTreeMap<u64, Open>,
    running: &mut usize,
    verdict: impl Fn(&Open) -> Option<End>,
    after: &mut After<C>,
) -> usize {
    let ends: Vec<(u64, End)> =
        calls.iter().filter_map(|(id, open)| verdict(open).map(|end| (*id, end))).collect();
    let mut freed = 0;
    for (id, end) in ends {
        if let Some(open) = calls.remove(&id) {
            freed += usize::from(open.holds_a_place());
            after.ends.push((open.end, end));
        }
    }
    *running -= freed;
    freed
}

/// Whom to tell once the lock is free.
struct After<C> {
    ends: Vec<(Filler<End>, End)>,
    turns: Vec<Filler<()>>,
    cords: Vec<(C, Refusal)>,
    told: Vec<Filler<()>>,
}

impl<C: Cord> After<C> {
    /// Who left meanwhile needs no word.
    fn tell(self) {
        self.ends.into_iter().for_each(|(filler, end)| _ = filler.fill(end));
        self.cords.into_iter().for_each(|(cord, why)| cord.cut(&why));
        self.turns.into_iter().chain(self.told).for_each(|filler| _ = filler.fill(()));
    }
}

/// One attached client. Dropping it detaches the client and ends its calls; the last one closes the broker.
pub struct Presence<C: Cord> {
    clients: Clients<C>,
    seat: u64,
}

impl<C: Cord> Presence<C> {
    /// Which client of this broker: counts from 1, never used twice.
    pub fn number(&self) -> u64 {
        self.seat
    }

    /// Opens a call whose arguments take so many bytes, if the client is admitted now. It then waits for its turn.
    pub fn open(&self, bytes: usize) -> Result<Opened<C>, End> {
        let (call, admitted, turn, end) = self.clients.act(|r, _| r.open(self.seat, bytes))?;
        let call = OpenCall { clients: self.clients.clone(), seat: self.seat, call, admitted };
        Ok(Opened { call, turn, end })
    }
}

impl<C: Cord> Drop for Presence<C> {
    fn drop(&mut self) {
        self.clients.act(|r, after| r.leave(self.seat, after));
    }
}

/// A call that was just opened.
pub struct Opened<C: Cord> {
    /// The call.
    pub call: OpenCall<C>,
    /// Resolves when it is its turn.
    pub turn: Slot<()>,
    /// Resolves if it ends before its release.
    pub end: Slot<End>,
}

/// One open call. Dropping it gives its place to the next.
pub struct OpenCall<C: Cord> {
    clients: Clients<C>,
    seat: u64,
    call: u64,
    admitted: Admitted,
}

impl<C: Cord> OpenCall<C> {
    /// The proof it was begun under.
    pub fn admitted(&self) -> &Admitted {
        &self.admitted
    }

    /// Runs `send` unless the call has ended. No end comes between the two: what has ended is never sent, and what was
    /// sent is never given back. `send` does not call back into the clients.
    pub fn dispatch<R>(&self, send: impl FnOnce() -> R) -> Option<R> {
        self.clients.0.with(|r| {
            let open = r.call(self.seat, self.call)?;
            open.holds_a_place().then_some(())?;
            open.stage = Stage::Dispatched;
            Some(send())
        })
    }

    /// Ends the call with its answer, unless it has ended otherwise: then its answer is nobody's.
    pub fn release(&self) -> bool {
        self.clients.act(|r, _| r.remove(self.seat, self.call)).is_some()
    }
}

impl<C: Cord> Drop for OpenCall<C> {
    fn drop(&mut self) {
        let _ = self.release();
    }
}

/// Why nothing new is taken in: whoever reads this code asks the next broker.
pub fn ending() -> Refusal {
    Refusal::new(
        Code::BrokerBusy,
        String::from("This genkan process is ending. Another one takes over; try again."),
    )
}

fn too_many() -> Refusal {
    let sentence = format!(
        "This client already has {CLIENT_OPEN_CALLS_MAX} calls open. Wait for one to end, then try again."
    );
    Refusal::new(Code::BrokerBusy, sentence)
}

fn too_much() -> Refusal {
    let sentence = "Calls that no browser has yet hold as much memory as they may. Nothing was done; wait for one to end, then try again.";
    Refusal::new(Code::BrokerBusy, sentence)
}

#[cfg(test)]
mod tests;
