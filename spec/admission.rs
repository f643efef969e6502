//! What admission promises, and the smallest machine that keeps it.
//!
//! It decides whether a client may speak, what a call under way is worth, and what each command of the person writes. It
//! knows files by a number and a version of their bytes, clients by the files that run, and nothing of the program it is
//! compared with.
//!
//! - admission-1: where a list exists, a client is admitted only if every process of it is covered by an entry.
//! - admission-2: every change raises the record's epoch by exactly one, and what was decided in a later epoch is never
//!   judged by an earlier record.
//! - admission-3: while there is no list everybody is admitted and marked as not verified.
//! - admission-4: an empty list admits nobody, and a list never turns into none.
//! - admission-5: a file at a paired path with other bytes is refused as changed, not as a stranger.
//! - admission-6: what was revoked, replaced or paused while a call was under way does not count for that call, even if
//!   the same was granted again.
//! - admission-7: a paused entry refuses what it covers, whatever other entry covers it too.
//! - admission-8: an interpreter is covered only by an entry that names its script, with these bytes, or says any.
//! - admission-9: an entry is what the person was shown and said yes to. A program that changed between the question and
//!   the entry, and other words than those shown, write nothing.
//! - admission-10: taking access away needs nobody's yes; giving it, and giving it back, does.
//! - admission-11: the first entry ends what unpaired clients had under way.

/// A file that can be run, or a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum File {
    A,
    B,
    Interpreter,
    Script,
    OtherScript,
}

/// What an entry says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    Native(File),
    Exactly(File),
    Any,
}

/// Which processes stand behind a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Client {
    A,
    B,
    /// One process each.
    AAndB,
    Scripted,
    OtherScripted,
    /// The interpreter with code that is in no file.
    Scriptless,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// The person is asked to pair under this name; the question stands open.
    Ask(u8, Rule),
    /// The words that were shown are typed.
    Yes,
    OtherWords,
    Revoke(u8),
    Pause(u8),
    /// Asked and answered at once.
    Resume(u8),
    /// A file gets other bytes.
    Update(File),
    Begin(Client),
    /// The call under way would end well.
    End,
}

pub const NAMES: u8 = 2;

/// Every step there is.
pub fn steps() -> Vec<Step> {
    let rules = [Rule::Native(File::A), Rule::Native(File::B), Rule::Exactly(File::Script), Rule::Any];
    let clients =
        [Client::A, Client::B, Client::AAndB, Client::Scripted, Client::OtherScripted, Client::Scriptless];
    let mut steps = vec![Step::Yes, Step::OtherWords, Step::End];
    steps.extend((0..NAMES).flat_map(|name| rules.map(|rule| Step::Ask(name, rule))));
    steps.extend((0..NAMES).flat_map(|name| [Step::Revoke(name), Step::Pause(name), Step::Resume(name)]));
    steps.extend([File::A, File::Script].map(Step::Update));
    steps.extend(clients.map(Step::Begin));
    steps
}

/// What the step itself showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Done,
    /// It did nothing, and said why.
    Refused,
    /// Admitted, and whether it is on the list.
    Admitted {
        verified: bool,
    },
    Stranger,
    Changed,
    Paused,
    Revoked,
    /// There was no question, or no call, that it could be about.
    Nothing,
}

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    name: u8,
    rule: Rule,
    /// Of the file that the rule names, and of the image that runs it.
    bytes: (u32, u32),
    paused: bool,
    since: u64,
}

#[derive(Clone, Debug)]
struct Call {
    client: Client,
    verified: bool,
    /// Name and age of the entry of each process.
    under: Vec<(u8, u64)>,
}

#[derive(Clone, Debug, Default)]
pub struct Machine {
    pub epoch: u64,
    list: Option<Vec<Entry>>,
    versions: [u32; 5],
    question: Option<Entry>,
    call: Option<Call>,
    pub last: Option<Seen>,
    pub steps: Vec<Step>,
}

/// How a client stands to the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Standing {
    Open,
    Stranger,
    Covered,
    CoveredTwice,
    Changed,
    Paused,
}

/// How each client stands, which names are paused, what is asked and whether it still fits, what is under way and
/// whether it still counts.
pub type Key = (Vec<Standing>, Vec<Option<bool>>, Option<(u8, Rule, bool)>, Option<(Client, bool)>);

impl Machine {
    pub fn step(&mut self, step: Step) {
        self.steps.push(step);
        self.last = Some(match step {
            Step::Ask(name, rule) => {
                self.question = Some(self.entry(name, rule));
                Seen::Done
            }
            Step::Yes => self.yes(),
            Step::OtherWords => self.question.take().map_or(Seen::Nothing, |_| Seen::Refused),
            Step::Revoke(name) => self.change(name, false, |list, at| {
                list.remove(at);
            }),
            Step::Pause(name) => match self.paused(name) {
                Some(true) => Seen::Refused,
                _ => self.change(name, true, |list, at| list[at].paused = true),
            },
            Step::Resume(name) => match self.paused(name) {
                Some(false) => Seen::Nothing,
                _ => self.change(name, true, |list, at| list[at].paused = false),
            },
            Step::Update(file) => {
                self.versions[file as usize] += 1;
                Seen::Done
            }
            Step::Begin(client) => self.begin(client),
            Step::End => self.end(),
        });
    }

    /// Names in the order of the list, and whether each is paused; nothing while there is no list.
    pub fn listed(&self) -> Option<Vec<(u8, bool)>> {
        self.list.as_ref().map(|list| list.iter().map(|entry| (entry.name, entry.paused)).collect())
    }

    pub fn standing(&self, client: Client) -> Standing {
        let Some(list) = &self.list else { return Standing::Open };
        match self.judge(client) {
            Ok(_) => {
                let covering =
                    |process: &Process| list.iter().filter(|entry| self.covers(entry, process)).count();
                if processes(client).iter().all(|process| covering(process) > 1) {
                    Standing::CoveredTwice
                } else {
                    Standing::Covered
                }
            }
            Err(Seen::Changed) => Standing::Changed,
            Err(Seen::Paused) => Standing::Paused,
            Err(_) => Standing::Stranger,
        }
    }

    /// Everything about a state that a promise could depend on.
    pub fn key(&self) -> Key {
        let clients = [
            Client::A,
            Client::B,
            Client::AAndB,
            Client::Scripted,
            Client::OtherScripted,
            Client::Scriptless,
        ];
        (
            clients.map(|client| self.standing(client)).to_vec(),
            (0..NAMES).map(|name| self.paused(name)).collect(),
            self.question
                .as_ref()
                .map(|asked| (asked.name, asked.rule, *asked == self.entry(asked.name, asked.rule))),
            self.call
                .as_ref()
                .map(|call| (call.client, self.clone().end() == Seen::Admitted { verified: call.verified })),
        )
    }

    /// What would be written for this name and rule now.
    fn entry(&self, name: u8, rule: Rule) -> Entry {
        Entry { name, rule, bytes: self.bytes(rule), paused: false, since: 0 }
    }

    fn bytes(&self, rule: Rule) -> (u32, u32) {
        let version = |file: File| self.versions[file as usize];
        match rule {
            Rule::Native(file) => (version(file), version(file)),
            Rule::Exactly(script) => (version(script), version(File::Interpreter)),
            Rule::Any => (0, version(File::Interpreter)),
        }
    }

    fn yes(&mut self) -> Seen {
        let Some(asked) = self.question.take() else { return Seen::Nothing };
        if asked != self.entry(asked.name, asked.rule) {
            return Seen::Refused;
        }
        self.epoch += 1;
        let list = self.list.get_or_insert_default();
        list.retain(|entry| entry.name != asked.name);
        list.push(Entry { since: self.epoch, ..asked });
        Seen::Done
    }

    fn paused(&self, name: u8) -> Option<bool> {
        self.list.iter().flatten().find(|entry| entry.name == name).map(|entry| entry.paused)
    }

    fn change(&mut self, name: u8, stamps: bool, change: impl FnOnce(&mut Vec<Entry>, usize)) -> Seen {
        let Some(list) = &mut self.list else { return Seen::Refused };
        let Some(at) = list.iter().position(|entry| entry.name == name) else { return Seen::Refused };
        self.epoch += 1;
        if stamps {
            list[at].since = self.epoch;
        }
        change(list, at);
        Seen::Done
    }

    fn covers(&self, entry: &Entry, process: &Process) -> bool {
        let now = entry.bytes == self.bytes(entry.rule);
        match (entry.rule, process) {
            (Rule::Native(file), Process::Native(runs)) => file == *runs && now,
            (Rule::Exactly(script), Process::Interpreter(Some(runs))) => script == *runs && now,
            (Rule::Any, Process::Interpreter(_)) => now,
            _ => false,
        }
    }

    /// The file that an entry names lies where this process's file does, but one of them changed.
    fn misses(&self, entry: &Entry, process: &Process) -> bool {
        let changed = entry.bytes != self.bytes(entry.rule);
        match (entry.rule, process) {
            (Rule::Native(file), Process::Native(runs)) => file == *runs && changed,
            (Rule::Exactly(script), Process::Interpreter(Some(runs))) => script == *runs && changed,
            _ => false,
        }
    }

    /// The entries under which a client may speak.
    fn judge(&self, client: Client) -> Result<Vec<(u8, u64)>, Seen> {
        let Some(list) = &self.list else { return Ok(vec![]) };
        let mut under = vec![];
        for process in processes(client) {
            let covering: Vec<&Entry> = list.iter().filter(|entry| self.covers(entry, &process)).collect();
            match covering.as_slice() {
                [] if list.iter().any(|entry| self.misses(entry, &process)) => return Err(Seen::Changed),
                [] => return Err(Seen::Stranger),
                covering if covering.iter().any(|entry| entry.paused) => return Err(Seen::Paused),
                [first, ..] => under.push((first.name, first.since)),
            }
        }
        Ok(under)
    }

    fn begin(&mut self, client: Client) -> Seen {
        match self.judge(client) {
            Ok(under) => {
                let verified = self.list.is_some();
                self.call = Some(Call { client, verified, under });
                Seen::Admitted { verified }
            }
            Err(seen) => seen,
        }
    }

    fn end(&mut self) -> Seen {
        let Some(call) = self.call.take() else { return Seen::Nothing };
        match self.judge(call.client) {
            Ok(under) if call.verified && under != call.under => Seen::Revoked,
            Ok(_) => Seen::Admitted { verified: self.list.is_some() },
            Err(Seen::Stranger) if call.verified => Seen::Revoked,
            Err(seen) => seen,
        }
    }
}

enum Process {
    Native(File),
    Interpreter(Option<File>),
}

fn processes(client: Client) -> Vec<Process> {
    match client {
        Client::A => vec![Process::Native(File::A)],
        Client::B => vec![Process::Native(File::B)],
        Client::AAndB => vec![Process::Native(File::A), Process::Native(File::B)],
        Client::Scripted => vec![Process::Interpreter(Some(File::Script))],
        Client::OtherScripted => vec![Process::Interpreter(Some(File::OtherScript))],
        Client::Scriptless => vec![Process::Interpreter(None)],
    }
}
