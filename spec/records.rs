//! What is promised about records on disk, and the smallest machine that keeps it.
//!
//! It decides what each step on the trust record must show, given what lies in two files: the record and its mark. It
//! knows time, locks and system calls only as steps, and nothing of the program it is compared with. What happens inside
//! one write is not seen here; the fault sweep interrupts that at every system call.
//!
//! - records-1: a record is replaced whole. Whoever reads it, and whoever starts after a crash at any point, finds the
//!   old or the new one, and the next change works.
//! - records-2: only the one text that would be written for a record is one. Everything else is damage, never a default.
//! - records-3: a record of an older version climbs one rung a version to what would be written now. One below the
//!   floor and one above our version are refused and named.
//! - records-4: missing, unreadable, damaged and of another version are different things.
//! - records-5: a change happens in the next epoch, alone, and on what is on disk now; one that is refused leaves
//!   everything as it was.
//! - records-6: a missing record is a first run only where no mark says that there was one.
//! - records-7: a record older than its mark is refused. One ahead of its mark counts, and its mark is put right.
//! - records-8: what cannot be used allows nothing and is changed by nothing but recovery: the switch on, nobody paired,
//!   an epoch above all that either file says. A record that is good, or a newer program's, is not recovered.
//! - records-9: a switch that could not be written holds by a stop beside the record in every process and after any
//!   restart, and where no stop could be put in the process that was asked, until the record says the same.
//! - records-10: an audit line is in the log whole or not at all, and is there before what it records is done.
//! - records-11: a full log keeps the newest lines of each class; no amount of one class pushes out another.
//! - records-12: what a process has read is never undone for it: an older record, or none, is refused also where the mark
//!   went with it, and so is everything once a folder was moved or replaced.

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trust {
    pub epoch: u64,
    pub killed: bool,
    /// When it was last engaged.
    pub engaged: u64,
    /// Whether there is a list of clients. Nobody is ever on it here.
    pub list: bool,
}

const FIRST_RUN: Trust = Trust { epoch: 0, killed: false, engaged: 0, list: false };

/// What lies where the record should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    Missing,
    Good(Trust),
    /// As good, but others may read it.
    Loose(Trust),
    /// As good, but its version is not known yet.
    Newer(Trust),
    /// Not a record; it may still say an epoch.
    Damaged(Option<u64>),
}

/// What lies where the mark should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Missing,
    At(u64),
    Damaged(Option<u64>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Read,
    /// A change that makes a list.
    List,
    /// A change that is refused by whoever asked for it.
    Decline,
    Engage,
    /// Refused where the switch is off.
    Release,
    /// Engaging while another process holds the record's lock.
    EngageLocked,
    /// Engaging while nothing can be written.
    EngageUnwritten,
    /// A change that was killed after the record and before the mark.
    CutShort,
    Recover,
    /// The process ends and another begins.
    Restart,
    /// Somebody keeps a copy of the record.
    Keep,
    /// Somebody puts a copy in its place; the oldest is 0.
    PutBack(usize),
    RemoveRecord,
    RemoveMark,
    DamageRecord(Option<u64>),
    DamageMark(Option<u64>),
    Loosen,
    MakeNewer,
}

/// What the step itself returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Nothing,
    State(Trust),
    /// Nothing is allowed: no record counts.
    Closed,
    /// Whoever asked, or the rules, said no.
    Declined,
    /// It could not be written.
    Unwritten,
}

/// The cases in which a step may find the files, for the table of what was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Case {
    FirstRun,
    Good,
    Killed,
    HeldInMemory,
    Stopped,
    AheadOfMark,
    BehindMark,
    Gone,
    Damaged,
    Loose,
    Newer,
    DamagedMark,
}

pub const CASES: [Case; 12] = [
    Case::FirstRun,
    Case::Good,
    Case::Killed,
    Case::HeldInMemory,
    Case::Stopped,
    Case::AheadOfMark,
    Case::BehindMark,
    Case::Gone,
    Case::Damaged,
    Case::Loose,
    Case::Newer,
    Case::DamagedMark,
];

/// What this process knows of an engagement that the record may not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    No,
    /// It holds while the record was last engaged before this epoch.
    Since(u64),
    /// The record could not be read then.
    Unknown,
}

#[derive(Clone, Debug)]
pub struct Machine {
    pub record: Record,
    pub mark: Mark,
    /// Engaged in memory alone.
    pub held: Held,
    /// Whether a stop lies beside the record.
    pub stop: bool,
    /// The highest epoch that this process has read or written.
    pub memory: u64,
    pub kept: Vec<Record>,
    pub last: Seen,
    pub steps: Vec<Step>,
}

impl Machine {
    pub fn new() -> Self {
        Machine {
            record: Record::Missing,
            mark: Mark::Missing,
            held: Held::No,
            stop: false,
            memory: 0,
            kept: vec![],
            last: Seen::Nothing,
            steps: vec![],
        }
    }

    pub fn step(&mut self, step: Step) {
        self.steps.push(step);
        self.last = match step {
            Step::Read => self.read(),
            Step::List => self.change(|trust| {
                trust.list = true;
                true
            }),
            Step::Decline => self.change(|_| false),
            Step::Engage => {
                self.hold();
                self.stop = true;
                self.change(|_| true)
            }
            Step::Release => self.change(|trust| core::mem::replace(&mut trust.killed, false)),
            Step::EngageLocked => {
                self.hold();
                self.stop = true;
                Seen::Unwritten
            }
            Step::EngageUnwritten => {
                // Nothing can be read just then, either.
                self.held = Held::Unknown;
                Seen::Unwritten
            }
            Step::CutShort => {
                let mark = self.mark;
                let seen = self.change(|_| true);
                self.mark = mark;
                (self.held, self.memory) = (Held::No, 0);
                if seen == Seen::Closed { seen } else { Seen::Nothing }
            }
            Step::Recover => self.recover(),
            Step::Restart => {
                (self.held, self.memory) = (Held::No, 0);
                Seen::Nothing
            }
            Step::Keep | Step::PutBack(_) | Step::RemoveRecord | Step::RemoveMark => self.meddle(step),
            Step::DamageRecord(_) | Step::DamageMark(_) | Step::Loosen | Step::MakeNewer => self.meddle(step),
        };
    }

    pub fn case(&self) -> Case {
        let mark = match self.mark {
            Mark::Damaged(_) => return Case::DamagedMark,
            Mark::At(epoch) => epoch,
            Mark::Missing => 0,
        };
        match self.record {
            Record::Missing if mark.max(self.memory) == 0 => match (self.stop, self.is_held(&FIRST_RUN)) {
                (true, _) => Case::Stopped,
                (false, true) => Case::HeldInMemory,
                (false, false) => Case::FirstRun,
            },
            Record::Missing => Case::Gone,
            Record::Damaged(_) => Case::Damaged,
            Record::Loose(_) => Case::Loose,
            Record::Newer(_) => Case::Newer,
            Record::Good(trust) if trust.epoch < mark.max(self.memory) => Case::BehindMark,
            Record::Good(trust) if trust.epoch > mark => Case::AheadOfMark,
            Record::Good(_) if self.stop => Case::Stopped,
            Record::Good(trust) if self.is_held(&trust) => Case::HeldInMemory,
            Record::Good(trust) if trust.killed => Case::Killed,
            Record::Good(_) => Case::Good,
        }
    }

    /// The record that counts.
    fn counting(&self) -> Option<Trust> {
        match (self.case(), self.record) {
            (Case::FirstRun | Case::HeldInMemory | Case::Stopped, Record::Missing) => Some(FIRST_RUN),
            (
                Case::Good | Case::Killed | Case::HeldInMemory | Case::Stopped | Case::AheadOfMark,
                Record::Good(trust),
            ) => Some(trust),
            _ => None,
        }
    }

    /// Engaged by this process in the epoch that it knows, or in whatever comes after what it reads first.
    fn hold(&mut self) {
        self.see();
        let since = self.counting().map_or(Held::Unknown, |trust| Held::Since(trust.epoch + 1));
        self.held = self.held.max(since);
    }

    fn is_held(&self, trust: &Trust) -> bool {
        match self.held {
            Held::No => false,
            Held::Since(epoch) => trust.engaged < epoch,
            Held::Unknown => true,
        }
    }

    /// What a look at the record teaches this process.
    fn see(&mut self) {
        let Some(trust) = self.counting() else { return };
        self.memory = trust.epoch;
        if self.stop && !trust.killed {
            self.held = self.held.max(Held::Since(trust.epoch + 1));
        }
        self.weigh(&trust);
    }

    /// What was held meets the record: it is taken for known, or was taken over.
    fn weigh(&mut self, trust: &Trust) {
        self.held = match self.held {
            Held::Unknown => Held::Since(trust.epoch + 1),
            _ if !self.is_held(trust) => Held::No,
            held => held,
        };
    }

    fn read(&mut self) -> Seen {
        self.see();
        let Some(mut trust) = self.counting() else { return Seen::Closed };
        if self.record != Record::Missing {
            self.mark = Mark::At(trust.epoch);
        }
        if self.held != Held::No && !trust.killed {
            (trust.killed, trust.engaged) = (true, trust.epoch + 1);
        }
        Seen::State(trust)
    }

    fn change(&mut self, change: impl FnOnce(&mut Trust) -> bool) -> Seen {
        let Some(mut trust) = self.counting() else { return Seen::Closed };
        self.memory = trust.epoch;
        self.weigh(&trust);
        let is_held = self.stop || self.is_held(&trust);
        trust.epoch += 1;
        if is_held {
            (trust.killed, trust.engaged) = (true, trust.epoch);
        }
        if !change(&mut trust) {
            return Seen::Declined;
        }
        self.written(trust)
    }

    fn written(&mut self, trust: Trust) -> Seen {
        (self.record, self.mark) = (Record::Good(trust), Mark::At(trust.epoch));
        (self.stop, self.memory) = (false, trust.epoch);
        Seen::State(trust)
    }

    fn recover(&mut self) -> Seen {
        if matches!(self.record, Record::Newer(_)) {
            return Seen::Closed;
        }
        if let Some(trust) = self.counting() {
            self.memory = trust.epoch;
            return Seen::Declined;
        }
        let record = match self.record {
            Record::Good(trust) | Record::Loose(trust) | Record::Newer(trust) => trust.epoch,
            Record::Damaged(says) => says.unwrap_or(0),
            Record::Missing => 0,
        };
        let mark = match self.mark {
            Mark::At(epoch) => epoch,
            Mark::Damaged(says) => says.unwrap_or(0),
            Mark::Missing => 0,
        };
        let epoch = record.max(mark).max(self.memory) + 1;
        self.written(Trust { epoch, killed: true, engaged: epoch, list: true })
    }

    /// What others do to the files.
    fn meddle(&mut self, step: Step) -> Seen {
        match step {
            Step::Keep => {
                if let Record::Good(_) = self.record {
                    self.kept.push(self.record);
                }
            }
            Step::PutBack(n) => self.record = self.kept.get(n).copied().unwrap_or(self.record),
            Step::RemoveRecord => self.record = Record::Missing,
            Step::RemoveMark => self.mark = Mark::Missing,
            Step::DamageRecord(says) => self.record = Record::Damaged(says),
            Step::DamageMark(says) => self.mark = Mark::Damaged(says),
            Step::Loosen => {
                if let Record::Good(trust) = self.record {
                    self.record = Record::Loose(trust);
                }
            }
            Step::MakeNewer => {
                if let Record::Good(trust) = self.record {
                    self.record = Record::Newer(trust);
                }
            }
            _ => {}
        }
        Seen::Nothing
    }
}
