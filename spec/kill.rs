//! What the kill switch promises, and the smallest machine that keeps it.
//!
//! It decides what each step must show to the person, and to a client that asks. It knows one record that may be damaged,
//! one question that may stand open at a terminal, and one call that may be under way; and nothing of the program it is
//! compared with.
//!
//! - kill-1: while the switch is on nobody is admitted and no call begins, whoever asks and whoever is paired.
//! - kill-2: engaging needs no person and is never refused. Engaging again changes nothing that shows.
//! - kill-3: a call that was under way when the switch was engaged never counts, even if it is released since.
//! - kill-4: only the words that were shown, typed by the person in answer to this question, release it.
//! - kill-5: an engagement after the question was asked is not released by its answer.
//! - kill-6: nothing else releases it: no other change, no restart, no time.
//! - kill-7: a record that cannot be used refuses calls and releasing. Only recovering it ends that.
//! - kill-8: recovering needs the person and a damaged record, and leaves the switch on and every earlier call void.
//! - kill-9: a stop beside the record engages without it, and holds until a change has taken it over. A question that was
//!   asked before does not release it.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    Engage,
    /// A stop is put, as by somebody who could not write the record.
    Stop,
    /// The question is asked and stands open.
    Ask,
    /// The words that were shown are typed.
    Yes,
    /// Other words are typed.
    OtherWords,
    /// Something else in the record is changed.
    Change,
    /// Whoever holds the record open starts anew.
    Restart,
    Damage,
    /// Recovered, and the client paired anew.
    Recover,
    /// A client begins a call.
    Begin,
    /// The call under way would end well.
    End,
}

pub const STEPS: [Step; 11] = [
    Step::Engage,
    Step::Stop,
    Step::Ask,
    Step::Yes,
    Step::OtherWords,
    Step::Change,
    Step::Restart,
    Step::Damage,
    Step::Recover,
    Step::Begin,
    Step::End,
];

/// What the step itself showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It did what it says.
    Done,
    /// It was so already.
    Already,
    /// It did nothing, and said why.
    Refused,
    /// A call was refused or ended because of the switch.
    Killed,
    /// There was no question, or no call, that it could be about.
    Nothing,
}

#[derive(Clone, Debug, PartialEq)]
struct Record {
    epoch: u64,
    on: bool,
    engaged: u64,
}

#[derive(Clone, Debug)]
pub struct Machine {
    record: Option<Record>,
    stop: bool,
    highest: u64,
    /// The engagement that the open question is about.
    question: Option<u64>,
    /// The epoch in which the call under way began.
    call: Option<u64>,
    pub last: Seen,
    pub steps: Vec<Step>,
}

/// Everything about a state that a promise could depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Standing {
    pub switch: Switch,
    pub question: Question,
    pub call: Call,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Switch {
    Off,
    On,
    Stopped,
    Damaged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Question {
    No,
    Open,
    Outdated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Call {
    No,
    Live,
    Void,
}

impl Default for Machine {
    /// One client is paired and nothing else was decided.
    fn default() -> Self {
        let record = Some(Record { epoch: 1, on: false, engaged: 0 });
        Self { record, stop: false, highest: 1, question: None, call: None, last: Seen::Done, steps: vec![] }
    }
}

impl Machine {
    /// What the record says of itself; nothing if it is damaged.
    pub fn record(&self) -> Option<(u64, bool)> {
        self.record.as_ref().map(|record| (record.epoch, record.on || self.stop))
    }

    pub fn standing(&self) -> Standing {
        let engaged = self.record.as_ref().map(|record| record.engaged);
        Standing {
            switch: match &self.record {
                None => Switch::Damaged,
                Some(record) if !record.on && self.stop => Switch::Stopped,
                Some(record) if record.on => Switch::On,
                Some(_) => Switch::Off,
            },
            question: match self.question {
                None => Question::No,
                Some(asked) if engaged == Some(asked) && !self.stop => Question::Open,
                Some(_) => Question::Outdated,
            },
            call: match self.call {
                None => Call::No,
                Some(begun) if engaged.is_some_and(|engaged| engaged <= begun) && !self.stop => Call::Live,
                Some(_) => Call::Void,
            },
        }
    }

    pub fn step(&mut self, step: Step) {
        self.steps.push(step);
        self.last = match step {
            Step::Engage => self.engage(),
            Step::Stop => {
                self.stop = true;
                Seen::Done
            }
            Step::Ask => self.ask(),
            Step::Yes => self.yes(),
            Step::OtherWords => match self.question.take() {
                Some(_) => Seen::Refused,
                None => Seen::Nothing,
            },
            Step::Change => self.change(|_| ()),
            Step::Restart => Seen::Done,
            Step::Damage => {
                self.record = None;
                Seen::Done
            }
            Step::Recover => self.recover(),
            Step::Begin => self.begin(),
            Step::End => self.end(),
        };
    }

    fn change(&mut self, change: impl FnOnce(&mut Record)) -> Seen {
        let Some(record) = &mut self.record else { return Seen::Refused };
        record.epoch += 1;
        if core::mem::take(&mut self.stop) {
            (record.on, record.engaged) = (true, record.epoch);
        }
        change(record);
        self.highest = record.epoch;
        Seen::Done
    }

    fn engage(&mut self) -> Seen {
        let was_on = self.record.as_ref().is_some_and(|record| record.on || self.stop);
        self.stop = true;
        self.change(|_| ());
        if was_on { Seen::Already } else { Seen::Done }
    }

    fn ask(&mut self) -> Seen {
        self.question = None;
        if self.stop {
            self.change(|_| ());
        }
        match &self.record {
            None => Seen::Refused,
            Some(record) if !record.on => Seen::Already,
            Some(record) => {
                self.question = Some(record.engaged);
                Seen::Done
            }
        }
    }

    fn yes(&mut self) -> Seen {
        let Some(asked) = self.question.take() else { return Seen::Nothing };
        match &self.record {
            Some(record) if record.on && record.engaged == asked && !self.stop => {
                self.change(|record| record.on = false)
            }
            _ => Seen::Refused,
        }
    }

    fn recover(&mut self) -> Seen {
        if self.record.is_some() {
            return Seen::Already;
        }
        let engaged = self.highest + 1;
        // The client is paired anew in the next epoch.
        self.record = Some(Record { epoch: engaged + 1, on: true, engaged });
        (self.highest, self.stop) = (engaged + 1, false);
        Seen::Done
    }

    fn begin(&mut self) -> Seen {
        match &self.record {
            Some(record) if !record.on && !self.stop => {
                self.call = Some(record.epoch);
                Seen::Done
            }
            _ => Seen::Killed,
        }
    }

    fn end(&mut self) -> Seen {
        let Some(begun) = self.call.take() else { return Seen::Nothing };
        match &self.record {
            Some(record) if !record.on && !self.stop && record.engaged <= begun => Seen::Done,
            _ => Seen::Killed,
        }
    }
}
