//! What a session of attached browsers promises, and the smallest machine that keeps it.
//!
//! It decides what each step must show to the outside. It knows time only as steps of a clock, browsers only as a
//! label and an instance, and nothing of the program it is compared with.
//!
//! - session-1: every call has a number greater than all calls before it; no number is used twice.
//! - session-2: an answer counts only if it comes over the connection the call was sent over.
//! - session-3: the first answer ends a call; whatever comes later, again or unasked changes nothing.
//! - session-4: a call goes to the one browser that its target fits. Several: refused. None, but one may come: it
//!   may wait. None, and others are there that it never meant: refused. Never a guess.
//! - session-5: a browser that attaches again takes the place of its own earlier connection, which is closed and
//!   whose open calls end as lost. Another instance of the same label is another browser.
//! - session-6: a connection that ends is closed, and its open calls, no others, end as lost. Ending it again, or
//!   ending one that was replaced, changes nothing.
//! - session-7: a call dropped after it was sent and before it ended is cancelled at its browser, once. No other is.
//! - session-8: a browser or a call above the cap is refused and leaves everything as it was.
//! - session-9: a browser of another version is refused. For a while, calls that it would have served are refused
//!   for that reason; that ends when it attaches in the right version.
//! - session-10: who waits for a browser is woken when one attaches or is refused.

/// Bounds, given by whoever compares.
#[derive(Clone, Debug)]
pub struct Caps {
    pub browsers: usize,
    pub calls: usize,
    pub mismatch_ms: u64,
}

/// Label and instance.
pub type Who = (u8, u8);

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    Any,
    Label(u8),
    Instance(u8),
    Both(u8, u8),
}

impl Target {
    fn fits(self, (label, instance): Who) -> bool {
        match self {
            Target::Any => true,
            Target::Label(l) => l == label,
            Target::Instance(i) => i == instance,
            Target::Both(l, i) => (l, i) == (label, instance),
        }
    }
}

/// What can happen. Connections, calls and waits are named by the order in which they came to be.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Attach { who: Who, right_version: bool },
    Detach { connection: usize },
    Begin { target: Target, send: bool },
    Answer { call: usize, connection: usize },
    Progress { call: usize, connection: usize },
    Drop { call: usize },
    GiveUp { wait: usize },
    Tick { ms: u64 },
}

/// What the step itself returned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seen {
    Nothing,
    Attached,
    Counted(bool),
    Begun { connection: usize },
    Waits { known: bool },
    Ambiguous,
    NotFound,
    Mismatch,
    Busy,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    Answered,
    Lost,
    Dropped,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    pub who: Who,
    pub open: bool,
    /// Calls cancelled here, in order.
    pub cancelled: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub connection: usize,
    pub sent: bool,
    pub progress: usize,
    pub end: Option<End>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wait {
    Waiting,
    Woken,
    GivenUp,
}

#[derive(Clone, Debug)]
pub struct Machine {
    pub caps: Caps,
    pub now: u64,
    pub connections: Vec<Connection>,
    pub calls: Vec<Call>,
    pub waits: Vec<Wait>,
    past: Vec<Who>,
    mismatches: Vec<(Who, u64)>,
    pub last: Seen,
    pub steps: Vec<Step>,
}

impl Machine {
    pub fn new(caps: Caps) -> Self {
        Machine {
            caps,
            now: 0,
            connections: vec![],
            calls: vec![],
            waits: vec![],
            past: vec![],
            mismatches: vec![],
            last: Seen::Nothing,
            steps: vec![],
        }
    }

    pub fn step(&mut self, step: Step) {
        self.steps.push(step);
        self.last = match step {
            Step::Attach { who, right_version } => self.attach(who, right_version),
            Step::Detach { connection } => {
                let open = self.connections.get(connection).is_some_and(|c| c.open);
                self.end(connection);
                Seen::Counted(open)
            }
            Step::Begin { target, send } => self.begin(target, send),
            Step::Answer { call, connection } => match self.asked(call, connection) {
                Some(call) => {
                    call.end = Some(End::Answered);
                    Seen::Counted(true)
                }
                None => Seen::Counted(false),
            },
            Step::Progress { call, connection } => match self.asked(call, connection) {
                Some(call) => {
                    call.progress += 1;
                    Seen::Counted(true)
                }
                None => Seen::Counted(false),
            },
            Step::Drop { call } => self.abandon(call),
            Step::GiveUp { wait } => {
                if self.waits.get(wait) == Some(&Wait::Waiting) {
                    self.waits[wait] = Wait::GivenUp;
                }
                Seen::Nothing
            }
            Step::Tick { ms } => {
                self.now += ms;
                Seen::Nothing
            }
        };
    }

    /// Connections that are open, oldest first.
    pub fn open(&self) -> impl Iterator<Item = (usize, &Connection)> {
        self.connections.iter().enumerate().filter(|(_, c)| c.open)
    }

    fn attach(&mut self, who: Who, right_version: bool) -> Seen {
        self.waits.iter_mut().filter(|w| **w == Wait::Waiting).for_each(|w| *w = Wait::Woken);
        self.mismatches.retain(|(other, _)| *other != who);
        if !right_version {
            self.mismatches.push((who, self.now));
            return Seen::Mismatch;
        }
        let earlier = self.open().find(|(_, c)| c.who == who).map(|(n, _)| n);
        match earlier {
            Some(earlier) => self.end(earlier),
            None if self.open().count() == self.caps.browsers => return Seen::Busy,
            None => {}
        }
        self.past.retain(|other| *other != who);
        self.past.push(who);
        self.connections.push(Connection { who, open: true, cancelled: vec![] });
        Seen::Attached
    }

    fn end(&mut self, connection: usize) {
        let Some(it) = self.connections.get_mut(connection) else { return };
        it.open = false;
        for call in self.calls.iter_mut().filter(|c| c.connection == connection && c.end.is_none()) {
            call.end = Some(End::Lost);
        }
    }

    fn begin(&mut self, target: Target, send: bool) -> Seen {
        let calls = self.calls.iter().filter(|c| c.end.is_none()).count();
        let waits = self.waits.iter().filter(|w| **w == Wait::Waiting).count();
        if calls + waits >= self.caps.calls {
            return Seen::Busy;
        }
        let fitting: Vec<usize> = self.open().filter(|(_, c)| target.fits(c.who)).map(|(n, _)| n).collect();
        match fitting.as_slice() {
            [connection] => {
                let connection = *connection;
                self.calls.push(Call { connection, sent: send, progress: 0, end: None });
                Seen::Begun { connection }
            }
            [] => self.wait(target),
            _ => Seen::Ambiguous,
        }
    }

    fn wait(&mut self, target: Target) -> Seen {
        let recent = |at: u64| self.now - at < self.caps.mismatch_ms;
        if last(&self.mismatches, self.caps.browsers).any(|(who, at)| target.fits(*who) && recent(*at)) {
            return Seen::Mismatch;
        }
        let known = last(&self.past, self.caps.browsers).any(|who| target.fits(*who));
        if !known && self.open().next().is_some() {
            return Seen::NotFound;
        }
        self.waits.push(Wait::Waiting);
        Seen::Waits { known }
    }

    fn asked(&mut self, call: usize, connection: usize) -> Option<&mut Call> {
        self.calls.get_mut(call).filter(|c| c.connection == connection && c.end.is_none())
    }

    fn abandon(&mut self, call: usize) -> Seen {
        if let Some(it) = self.calls.get_mut(call).filter(|c| c.end.is_none()) {
            it.end = Some(End::Dropped);
            if it.sent {
                self.connections[it.connection].cancelled.push(call);
            }
        }
        Seen::Nothing
    }
}

/// The newest `n`: what is remembered of browsers is as bounded as the browsers themselves.
fn last<T>(list: &[T], n: usize) -> impl Iterator<Item = &T> {
    list.iter().skip(list.len().saturating_sub(n))
}
