//! A broker so small that its bugs are plain: one client's calls, one place, one lock, and for each [`Cut`] one critical
//! section that lets go of it in the middle. It exists to show that the models would notice.

use std::sync::Arc;

use super::{Subject, is_ready};
use genkan::base::sync::{Filler, Slot, slot};
use loom::sync::{Mutex, MutexGuard};

/// Between which two steps the lock is let go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cut {
    AttachLooksThenEnters,
    DispatchLooksThenSends,
    LeaveLooksThenCloses,
    OpenLooksThenWaits,
    ReleaseChecksThenRemoves,
}

#[derive(Clone)]
pub(crate) struct Twin(Arc<Shared>);

struct Shared {
    cut: Option<Cut>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    seats: usize,
    closed: bool,
    forbidden: bool,
    browsers: usize,
    busy: bool,
    calls: Vec<Open>,
    last: usize,
}

struct Open {
    id: usize,
    sent: bool,
    waiting: Option<Filler<()>>,
    end: Filler<()>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn at<'a>(&'a self, here: Cut, held: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if self.cut != Some(here) {
            return held;
        }
        drop(held);
        self.lock()
    }
}

impl State {
    /// Ends the calls that `which` names, and gives the place to the next that waits.
    fn end(&mut self, which: impl Fn(&Open) -> bool) -> Vec<Filler<()>> {
        let ended: Vec<Open> = self.calls.extract_if(.., |open| which(open)).collect();
        if ended.iter().any(|open| open.waiting.is_none()) {
            self.busy = false;
        }
        let next = self.calls.iter_mut().find(|open| open.waiting.is_some());
        let turn = next.and_then(|open| open.waiting.take());
        self.busy |= turn.is_some();
        turn.into_iter().chain(ended.into_iter().map(|open| open.end)).collect()
    }
}

fn tell(fillers: Vec<Filler<()>>) {
    fillers.into_iter().for_each(|filler| _ = filler.fill(()));
}

pub(crate) struct Seat(Twin);

impl Drop for Seat {
    fn drop(&mut self) {
        let shared = &self.0.0;
        let mut s = shared.lock();
        s.seats -= 1;
        if s.seats == 0 {
            s = shared.at(Cut::LeaveLooksThenCloses, s);
            s.closed = true;
        }
    }
}

pub(crate) struct Call {
    twin: Twin,
    id: usize,
    turn: Option<Slot<()>>,
    end: Slot<()>,
}

impl Subject for Twin {
    type Seat = Seat;
    type Call = Call;
    const PLACES: usize = 1;

    fn new(cut: Option<Cut>) -> Self {
        Twin(Arc::new(Shared { cut, state: Mutex::new(State::default()) }))
    }

    fn enter(&self) -> Option<Seat> {
        let mut s = self.0.lock();
        (!s.closed && !s.forbidden).then(|| {
            s.seats += 1;
            Seat(self.clone())
        })
    }

    fn open(seat: &Seat) -> Option<Call> {
        let shared = &seat.0.0;
        let mut s = shared.lock();
        if s.closed || s.forbidden {
            return None;
        }
        let busy = s.busy;
        s = shared.at(Cut::OpenLooksThenWaits, s);
        s.busy = true;
        s.last += 1;
        let ((turn, turned), (end, ended)) = (slot(), slot());
        let (id, mut waiting) = (s.last, Some(turn));
        let now = if busy { None } else { waiting.take() };
        s.calls.push(Open { id, sent: false, waiting, end });
        drop(s);
        tell(now.into_iter().collect());
        Some(Call { twin: seat.0.clone(), id, turn: Some(turned), end: ended })
    }

    fn turn(call: &mut Call) -> Slot<()> {
        call.turn.take().unwrap()
    }

    fn dispatch(call: &Call, send: impl FnOnce()) -> bool {
        let shared = &call.twin.0;
        let mut s = shared.lock();
        if !s.calls.iter().any(|open| open.id == call.id) {
            return false;
        }
        s = shared.at(Cut::DispatchLooksThenSends, s);
        s.calls.iter_mut().filter(|open| open.id == call.id).for_each(|open| open.sent = true);
        send();
        true
    }

    fn release(call: &Call) -> bool {
        let shared = &call.twin.0;
        let mut s = shared.lock();
        let open = s.calls.iter().any(|open| open.id == call.id);
        s = shared.at(Cut::ReleaseChecksThenRemoves, s);
        let mut told = s.end(|open| open.id == call.id);
        drop(s);
        // Its own end is nobody's business.
        told.pop().filter(|_| open).into_iter().for_each(drop);
        tell(told);
        open
    }

    fn has_ended(call: &mut Call) -> bool {
        is_ready(&mut call.end)
    }

    fn hand_over(&self) {
        let mut s = self.0.lock();
        s.closed = true;
        let told = s.end(|open| !open.sent);
        drop(s);
        tell(told);
    }

    fn learn(&self, killed: bool) {
        let mut s = self.0.lock();
        s.forbidden = true;
        if killed {
            s.browsers = 0;
        }
        let told = s.end(|_| true);
        drop(s);
        tell(told);
    }

    fn attach_browser(&self) -> bool {
        let mut s = self.0.lock();
        if s.forbidden {
            return false;
        }
        s = self.0.at(Cut::AttachLooksThenEnters, s);
        s.browsers = 1;
        true
    }

    fn browsers(&self) -> usize {
        self.0.lock().browsers
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let _ = <Twin as Subject>::release(self);
    }
}
