//! What the policy promises, and the smallest machine that keeps it.
//!
//! A value is the set of what it gives away, so that of two values the tighter is what both give. The machine knows
//! fields by their number, documents by their revision, and nothing of the program it is compared with.
//!
//! - policy-1: what holds gives nowhere more than what was signed.
//! - policy-2: taking away needs nobody. A change that would give more in any field changes nothing at all.
//! - policy-3: a grant is exactly one revision later and changes what it names; what was taken away elsewhere stays away.
//!   The first document is a grant, and before it there is nothing to take away.
//! - policy-4: a browser that has applied a policy gives more only in fields granted after that revision, whatever its
//!   host leaves out or repeats, and never goes back to an earlier revision.
//! - policy-5: putting back an earlier document is free only where it gives nowhere more; otherwise it is a grant.
//! - policy-6: what an honest host pushes is applied, however much the browser missed.

pub const FIELDS: usize = 15;

/// What a value gives away, one bit each.
pub type Gives = u8;

const SWITCH: &[Gives] = &[0b0, 0b1];
const SPAN: &[Gives] = &[0b00, 0b01, 0b11];
/// Two tools: each given or not.
const TOOLS: &[Gives] = &[0b00, 0b01, 0b10, 0b11];

/// Every value of each field: ten switches, four spans, one list.
pub const VALUES: [&[Gives]; FIELDS] = [
    SWITCH, SWITCH, SWITCH, SWITCH, SWITCH, SWITCH, SWITCH, SWITCH, SWITCH, SWITCH, SPAN, SPAN, SPAN, SPAN,
    TOOLS,
];

/// What holds where nobody decided anything: the span to the next check of the host key is endless, and no tool is off.
pub const DEFAULT: [Gives; FIELDS] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0b11, 0b01, 0b01, 0b01, 0b11];

/// Values for some of the fields.
pub type Change = Vec<(usize, Gives)>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Restrict(Change),
    /// The person says yes.
    Grant(Change),
    /// The values of an earlier document, counted from 0; the person says yes if it takes that.
    Rollback(usize),
    /// The host tells the browser what holds.
    Push,
    /// The host leaves out what was taken away.
    PushBare,
    /// The host repeats an earlier document, counted from 0.
    PushOld(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Done,
    /// Nothing changed.
    Refused,
    /// There is no such document.
    Nothing,
}

#[derive(Clone, Debug)]
struct Doc {
    values: [Gives; FIELDS],
    /// The revision in which each field was last granted; 0 for never.
    granted: [usize; FIELDS],
}

#[derive(Clone, Debug)]
pub struct Machine {
    /// The n-th has revision n + 1.
    docs: Vec<Doc>,
    pub holds: [Gives; FIELDS],
    applied: usize,
    pub in_browser: [Gives; FIELDS],
}

impl Default for Machine {
    fn default() -> Self {
        Self { docs: Vec::new(), holds: DEFAULT, applied: 0, in_browser: DEFAULT }
    }
}

impl Machine {
    pub fn revision(&self) -> usize {
        self.docs.len()
    }

    pub fn step(&mut self, step: &Step) -> Seen {
        match step {
            Step::Restrict(_) if self.docs.is_empty() => Seen::Refused,
            Step::Restrict(change) => {
                let next = changed(self.holds, change);
                if more(self.holds, next).any(|gives| gives) {
                    return Seen::Refused;
                }
                self.holds = next;
                Seen::Done
            }
            Step::Grant(change) => self.grant(changed(self.holds, change)),
            Step::Rollback(n) => match self.docs.get(*n).map(|doc| doc.values) {
                None => Seen::Nothing,
                Some(values) if more(self.holds, values).any(|gives| gives) => self.grant(values),
                Some(values) => {
                    self.holds = values;
                    Seen::Done
                }
            },
            Step::Push => self.push(self.docs.len(), self.holds),
            Step::PushBare => match self.docs.last() {
                None => Seen::Nothing,
                Some(doc) => self.push(self.docs.len(), doc.values),
            },
            Step::PushOld(n) => match self.docs.get(*n) {
                None => Seen::Nothing,
                Some(doc) => self.push(n + 1, doc.values),
            },
        }
    }

    fn grant(&mut self, values: [Gives; FIELDS]) -> Seen {
        if values == self.holds && !self.docs.is_empty() {
            return Seen::Refused;
        }
        let mut granted = self.docs.last().map_or([0; FIELDS], |doc| doc.granted);
        for (field, at) in granted.iter_mut().enumerate() {
            if values[field] != self.holds[field] {
                *at = self.docs.len() + 1;
            }
        }
        self.docs.push(Doc { values, granted });
        self.holds = values;
        Seen::Done
    }

    fn push(&mut self, revision: usize, values: [Gives; FIELDS]) -> Seen {
        let granted = if revision == 0 { [0; FIELDS] } else { self.docs[revision - 1].granted };
        let may = |field: usize, gives: bool| !gives || granted[field] > self.applied;
        let is_believed = more(self.in_browser, values).enumerate().all(|(field, gives)| may(field, gives));
        if revision < self.applied || !is_believed {
            return Seen::Refused;
        }
        (self.applied, self.in_browser) = (revision, values);
        Seen::Done
    }
}

fn changed(mut values: [Gives; FIELDS], change: &Change) -> [Gives; FIELDS] {
    for (field, value) in change {
        values[*field] = *value;
    }
    values
}

/// For each field, whether it gives something that it did not.
fn more(before: [Gives; FIELDS], next: [Gives; FIELDS]) -> impl Iterator<Item = bool> {
    before.into_iter().zip(next).map(|(before, next)| next & !before != 0)
}
