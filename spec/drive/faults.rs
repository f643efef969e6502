//! Interrupts every durable operation at every system call, in a process of its own and on real files: killed, refused
//! with ENOSPC or EIO, or cut short in the middle of a write. Whatever happened, the files hold the old or the new
//! state, what was reported as done is there, and the next operation works and leaves nothing behind.
//!
//! This program runs itself once per case under `strace`, which counts and injects. Calls that no disk answers, such as those
//! for memory, are killed at but not refused. A writer that overwrites in place is swept too, and must be caught.
// A test says what is wrong by panicking.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::wildcard_enum_match_arm
)]

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::{ExitStatusExt, parent_id};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use genkan::base::limits::AUDIT_BYTES_MAX;
use genkan::base::refusal::Refusal;
use genkan::os::audit_log::AuditLog;
use genkan::os::lock::{self, Acquired, RunLock};
use genkan::os::records;
use genkan::os::runtime_dir::{Environment, RuntimeDir};
use genkan::os::state_dir::StateDir;
use genkan::os::trust_store::{Hold, TrustStore};
use genkan::trust::audit::{AuditKind, AuditOutcome, AuditRecord, Surface};
use genkan::trust::state::TrustState;
use genkan::wire::record::{Members, Record, Rung};
use serde::{Deserialize, Serialize};

/// The word by which this program knows that it is to do one operation.
const CHILD: &str = "durable-operation";
/// The word by which it knows that it is one of several writers.
const WRITER: &str = "writer";
/// Calls that no disk answers.
const DISKLESS: [&str; 7] = ["brk", "geteuid", "madvise", "mmap", "mprotect", "mremap", "munmap"];

/// One durable operation: what is there before, the operation itself from the moment it calls its argument, what can be
/// seen of it, and what must work afterwards.
struct Operation {
    name: &'static str,
    prepare: fn(&Path),
    run: fn(&Path, &dyn Fn()) -> Result<(), String>,
    view: fn(&Path) -> String,
    next: fn(&Path),
    /// The file whose writes are cut short, below the home.
    written: &'static str,
}

const OPERATIONS: [Operation; 14] = [
    Operation {
        name: "the first change",
        prepare: |_| {},
        run: first_change,
        view: trust,
        next: next_trust,
        written: "",
    },
    Operation {
        name: "a change",
        prepare: two_changes,
        run: pair,
        view: trust,
        next: next_trust,
        written: "",
    },
    Operation {
        name: "engaging",
        prepare: two_changes,
        run: engage,
        view: trust,
        next: next_trust,
        written: "",
    },
    Operation { name: "marking", prepare: unmarked, run: mark, view: marked, next: next_trust, written: "" },
    Operation {
        name: "recovering a record",
        prepare: damaged,
        run: recover,
        view: trust,
        next: next_trust,
        written: "",
    },
    Operation {
        name: "recovering a mark",
        prepare: damaged_mark,
        run: recover,
        view: trust,
        next: next_trust,
        written: "",
    },
    Operation {
        name: "climbing a rung",
        prepare: old_lamp,
        run: relight,
        view: lamp,
        next: next_lamp,
        written: "",
    },
    Operation {
        name: "the first grant",
        prepare: |_| {},
        run: grant,
        view: audit,
        next: next_audit,
        written: LOG,
    },
    Operation { name: "a grant", prepare: logged, run: grant, view: audit, next: next_audit, written: LOG },
    Operation { name: "a call", prepare: logged, run: call, view: audit, next: next_audit, written: LOG },
    Operation {
        name: "a grant after a torn line",
        prepare: torn,
        run: grant,
        view: audit,
        next: next_audit,
        written: LOG,
    },
    Operation { name: "compacting", prepare: full, run: call, view: audit, next: next_audit, written: "" },
    Operation {
        name: "the first run lock",
        prepare: |_| {},
        run: take,
        view: taken,
        next: next_lock,
        written: "",
    },
    Operation {
        name: "a run lock",
        prepare: stale_lock,
        run: take,
        view: taken,
        next: next_lock,
        written: "",
    },
];

/// Its kind of writing is what the sweep must catch.
const IN_PLACE: Operation = Operation {
    name: "overwriting in place",
    prepare: two_changes,
    run: |home, begin| {
        let (path, text) = (home.join(RECORD), std::fs::read_to_string(home.join(RECORD)).unwrap());
        begin();
        std::fs::write(path, text.replace("\"epoch\":2", "\"epoch\":3")).map_err(|e| e.to_string())
    },
    view: trust,
    next: next_trust,
    written: "",
};

/// For what should not take long.
const HANG: Duration = Duration::from_secs(20);
const RECORD: &str = "state/genkan/trust.json";
const MARK: &str = "data/genkan/trust.epoch";
const LOG: &str = "state/genkan/audit.log";

fn environment(home: &Path) -> Environment {
    Environment {
        home: Some(home.into()),
        xdg_runtime_dir: Some(home.into()),
        xdg_state_home: Some(home.join("state").into()),
        xdg_data_home: Some(home.join("data").into()),
        ..Environment::default()
    }
}

fn words(refusal: Refusal) -> String {
    refusal.message
}

fn store(home: &Path) -> TrustStore {
    TrustStore::open(&environment(home)).unwrap()
}

fn two_changes(home: &Path) {
    for _ in 0..2 {
        store(home).change(|_| Ok(())).unwrap();
    }
}

fn unmarked(home: &Path) {
    two_changes(home);
    let mark = std::fs::read(home.join(MARK)).unwrap();
    held(store(home).engage_within(HANG)).unwrap();
    std::fs::write(home.join(MARK), mark).unwrap();
}

fn damaged(home: &Path) {
    two_changes(home);
    std::fs::write(home.join(RECORD), "{\"epoch\":5}\n").unwrap();
}

fn damaged_mark(home: &Path) {
    two_changes(home);
    std::fs::write(home.join(MARK), "").unwrap();
}

fn first_change(home: &Path, begin: &dyn Fn()) -> Result<(), String> {
    begin();
    let store = TrustStore::open(&environment(home)).map_err(words)?;
    held(store.engage_within(HANG))
}

fn held(hold: Hold) -> Result<(), String> {
    match hold {
        Hold::Recorded(..) => Ok(()),
        Hold::Stop(refusal) | Hold::Memory(refusal) => Err(words(refusal)),
    }
}

fn pair(home: &Path, begin: &dyn Fn()) -> Result<(), String> {
    let store = store(home);
    begin();
    let changed = store.change(|state| {
        state.clients = Some(vec![]);
        Ok(())
    });
    changed.map(drop).map_err(words)
}

fn engage(home: &Path, begin: &dyn Fn()) -> Result<(), String> {
    let store = store(home);
    begin();
    let hold = store.engage_within(HANG);
    // A failing disk takes nothing back: the switch holds here, or nothing is allowed at all.
    assert!(store.read().map_or(true, |state| state.killed));
    held(hold)
}

/// Reading heals the mark, and says nothing if it cannot: the record counts either way.
fn mark(home: &Path, begin: &dyn Fn()) -> Result<(), String> {
    let store = store(home);
    let before = std::fs::read(home.join(MARK)).unwrap();
    begin();
    store.read().map_err(words)?;
    if std::fs::read(home.join(MARK)).is_ok_and(|mark| mark != before) {
        Ok(())
    } else {
        Err("unmarked".into())
    }
}

fn recover(home: &Path, begin: &dyn Fn()) -> Result<(), String> {
    let store = store(home);
    begin();
    store.recover().map(drop).map_err(words)
}

/// The record, or that nothing is allowed.
fn trust(home: &Path) -> String {
    // Seen from a copy: reading may heal, and the next operation must meet what was left.
    let copy = home.with_extension("seen");
    assert!(Command::new("cp").arg("-a").arg(home).arg(&copy).status().unwrap().success());
    let seen = TrustStore::open(&environment(&copy)).unwrap().read();
    std::fs::remove_dir_all(&copy).unwrap();
    // What a stop holds on reads as the record will once it has taken it over.
    let settled = |state: TrustState| TrustState { epoch: state.epoch.max(state.engaged), ..state };
    seen.map_or_else(|_| "nothing is allowed".into(), |state| format!("{:?}", settled(state)))
}

fn marked(home: &Path) -> String {
    format!("{} {:?}", trust(home), std::fs::read_to_string(home.join(MARK)))
}

fn next_trust(home: &Path) {
    let store = store(home);
    let epoch = match store.read() {
        Ok(state) => state.epoch,
        Err(_) => store.recover().expect("what is refused can be recovered").epoch,
    };
    let Hold::Recorded(state, _) = store.engage_within(HANG) else { panic!("it cannot be recorded") };
    assert_eq!((state.epoch, store.read().as_ref()), (epoch + 1, Ok(&*state)));
    assert_eq!(names(home, "state/genkan"), ["trust.json"]);
    assert_eq!(names(home, "data/genkan"), ["trust.epoch"]);
}

/// A record whose first version had no `on`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lamp {
    count: u64,
    on: bool,
}

impl Record for Lamp {
    const NAME: &'static str = "lamp.json";
    const FIRST_VERSION: u32 = 1;
    const MIGRATIONS: &'static [Rung] = &[|mut members: Members| {
        members.insert("on".into(), true.into());
        Some(members)
    }];
    const BYTES_MAX: usize = 1_024;

    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

fn old_lamp(home: &Path) {
    let dir = StateDir::open(&environment(home)).unwrap();
    private(&dir.path_of(Lamp::NAME), b"{\"count\":7,\"version\":1}\n");
}

fn relight(home: &Path, begin: &dyn Fn()) -> Result<(), String> {
    let dir = StateDir::open(&environment(home)).unwrap();
    begin();
    let lit = || {
        let lock = dir.lock(std::time::Duration::from_secs(5))?;
        let lamp: Lamp = records::read(&dir)?.expect("the lamp is there");
        records::write(&dir, &lock, &lamp)
    };
    lit().map_err(|refusal: records::RecordRefusal| refusal.to_string())
}

fn lamp(home: &Path) -> String {
    let dir = StateDir::open(&environment(home)).unwrap();
    let lamp = records::read::<Lamp>(&dir).unwrap().unwrap();
    assert!(lamp.count == 7 && lamp.on, "every version says the same");
    std::fs::read_to_string(dir.path_of(Lamp::NAME)).unwrap()
}

fn next_lamp(home: &Path) {
    relight(home, &|| ()).unwrap();
    assert_eq!(lamp(home), "{\"count\":7,\"on\":true,\"version\":2}\n");
    assert_eq!(names(home, "state/genkan"), [Lamp::NAME]);
}

fn log(home: &Path) -> AuditLog {
    AuditLog::open(&environment(home)).unwrap()
}

fn entry(ts_ms: u64, kind: AuditKind) -> AuditRecord {
    AuditRecord::new(ts_ms, kind, Surface::Cli, AuditOutcome::Done)
}

fn logged(home: &Path) {
    log(home).append(&entry(1, AuditKind::PairClient)).unwrap();
    log(home).append(&entry(2, AuditKind::ToolCall)).unwrap();
}

fn torn(home: &Path) {
    logged(home);
    std::fs::File::options().append(true).open(home.join(LOG)).unwrap().write_all(b"{\"ts_ms\":9").unwrap();
}

/// As large as it may become; most of it is one line that is no record, so that a case stays small.
fn full(home: &Path) {
    logged(home);
    let lines = std::fs::read(home.join(LOG)).unwrap();
    let file = std::fs::File::options().write(true).open(home.join(LOG)).unwrap();
    file.set_len(0).unwrap();
    file.write_all_at(b"\n", (AUDIT_BYTES_MAX - lines.len() - 1) as u64).unwrap();
    file.write_all_at(&lines, (AUDIT_BYTES_MAX - lines.len()) as u64).unwrap();
}

fn grant(home: &Path, begin: &dyn Fn()) -> Result<(), String> {
    let log = log(home);
    begin();
    log.append(&entry(3, AuditKind::PairClient)).map_err(words)
}

fn call(home: &Path, begin: &dyn Fn()) -> Result<(), String> {
    let log = log(home);
    begin();
    log.append(&entry(3, AuditKind::ToolCall)).map_err(words)
}

fn audit(home: &Path) -> String {
    let tail = log(home).read(100).unwrap();
    let times: Vec<u64> = tail.records.iter().map(|record| record.ts_ms).collect();
    // The line with which the full log was filled is the only damage that may be there.
    assert!(tail.damaged <= usize::from(std::fs::metadata(home.join(LOG)).is_ok_and(|m| m.len() > 1 << 20)));
    format!("{times:?}")
}

fn next_audit(home: &Path) {
    let before = audit(home);
    log(home).append(&entry(4, AuditKind::KillEngage)).unwrap();
    let expected = if before == "[]" { "[4]".into() } else { before.replace(']', ", 4]") };
    assert_eq!(audit(home), expected);
    assert_eq!(names(home, "state/genkan"), ["audit.log"]);
}

fn stale_lock(home: &Path) {
    drop(RuntimeDir::resolve(&environment(home)).unwrap());
    let secret = "07".repeat(32);
    private(
        &home.join("genkan/run.lock"),
        format!("{{\"pid\":1,\"secret\":\"{secret}\",\"records\":\"{secret}\"}}").as_bytes(),
    );
}

fn take(home: &Path, begin: &dyn Fn()) -> Result<(), String> {
    let dir = RuntimeDir::resolve(&environment(home)).unwrap();
    begin();
    match RunLock::acquire(&dir, [1; 32]) {
        Ok(Acquired::Held(_)) => Ok(()),
        Ok(Acquired::Busy { pid }) => Err(format!("held by {pid:?}")),
        Err(refusal) => Err(refusal.to_string()),
    }
}

fn taken(home: &Path) -> String {
    let dir = RuntimeDir::resolve(&environment(home)).unwrap();
    match lock::read(&dir).unwrap() {
        None => "none".into(),
        Some(record) => if record.secret == [7; 32] { "the old run" } else { "a new run" }.into(),
    }
}

fn next_lock(home: &Path) {
    let dir = RuntimeDir::resolve(&environment(home)).unwrap();
    let Ok(Acquired::Held(lock)) = RunLock::acquire(&dir, [1; 32]) else {
        panic!("the next one cannot take the lock")
    };
    assert_eq!(lock::read(&dir).unwrap().unwrap().secret, lock.secret());
    assert_eq!(names(home, "genkan"), ["run.lock"]);
}

fn private(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

fn names(home: &Path, dir: &str) -> Vec<String> {
    let entries = std::fs::read_dir(home.join(dir)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// What is done to the operation.
#[derive(Clone, Debug)]
enum Fault {
    /// `strace` injects at the n-th call of this name.
    /// With `refuses`, it must then be refused: a flush that failed once is not made good by one that works.
    Inject { call: String, nth: usize, what: &'static str, refuses: bool },
    /// No file grows beyond this size: the write that crosses it is cut short, the next one fails. With `killed`, the
    /// n-th write, which is that next one, kills instead.
    Short { size: u64, killed: Option<usize> },
}

impl Fault {
    fn kind(&self) -> &'static str {
        match self {
            Self::Inject { what: "signal=KILL", .. } => "SIGKILL",
            Self::Inject { what, .. } => what.trim_start_matches("error="),
            Self::Short { .. } => "short write",
        }
    }
}

/// How the process that did the operation ended.
#[derive(Debug, PartialEq)]
enum End {
    Done,
    Refused,
    Killed,
    Else(String),
}

/// Does the operation under `strace`; returns how it ended and the calls since it began, each with its ordinal.
fn trial(operation: &Operation, home: &Path, fault: Option<&Fault>) -> (End, Vec<(String, usize)>) {
    let trace = home.with_extension("trace");
    let mut command = Command::new("strace");
    command.arg("-o").arg(&trace);
    match fault {
        Some(Fault::Inject { call, nth, what, .. }) => {
            command.args(["-e", &format!("trace={call}"), "-e", &format!("inject={call}:{what}:when={nth}")]);
        }
        Some(Fault::Short { size, killed }) => {
            if let Some(nth) = killed {
                command.args(["-e", &format!("inject=write:signal=KILL:when={nth}")]);
            }
            // Ignored, so that the write fails instead of killing.
            command.args(["env", "--ignore-signal=XFSZ", "prlimit", &format!("--fsize={size}")]);
        }
        None => {}
    }
    command.arg(std::env::current_exe().unwrap()).args([CHILD, operation.name]).arg(home);
    let output = command.env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null()).output().unwrap();
    let end = match (output.status.code(), output.status.signal()) {
        (Some(0), _) => End::Done,
        (Some(1), _) => End::Refused,
        (_, Some(9)) => End::Killed,
        _ => End::Else(format!("{} {}", output.status, String::from_utf8_lossy(&output.stderr))),
    };
    let text = std::fs::read_to_string(&trace).unwrap_or_default();
    let _ = std::fs::remove_file(&trace);
    (end, calls(&text))
}

/// The calls between the two marks, counted from the start of the process.
fn calls(trace: &str) -> Vec<(String, usize)> {
    let mut seen = BTreeMap::<&str, usize>::new();
    let (mut marks, mut calls) = (0, vec![]);
    for name in trace.lines().filter_map(|line| line.split_once('(').map(|(name, _)| name)) {
        let nth = seen.entry(name).or_default();
        *nth += 1;
        match name {
            "getppid" => marks += 1,
            _ if marks == 1 => calls.push((name.to_string(), *nth)),
            _ => {}
        }
    }
    calls
}

/// Every way to interrupt the operation.
fn faults(operation: &Operation, room: &Room) -> Vec<Fault> {
    let home = room.home(operation);
    let size = || std::fs::metadata(home.join(operation.written)).map_or(0, |file| file.len());
    let before = if operation.written.is_empty() { 0 } else { size() };
    let (end, calls) = trial(operation, &home, None);
    assert_eq!(end, End::Done, "{}", operation.name);
    let (mut faults, mut flushes) = (vec![], 0);
    for (call, nth) in &calls {
        flushes += usize::from(call.ends_with("sync"));
        let diskless = DISKLESS.contains(&call.as_str());
        for what in ["signal=KILL", "error=ENOSPC", "error=EIO"].iter().take(if diskless { 1 } else { 3 }) {
            // File and folder; what comes after them is the mark, which may lag.
            let refuses = call.ends_with("sync") && flushes <= 2 && what.starts_with("error");
            faults.push(Fault::Inject { call: call.clone(), nth: *nth, what, refuses });
        }
    }
    for size in [0, 1, 20, 40, 60].map(|cut| before + cut) {
        faults.push(Fault::Short { size, killed: None });
        let home = room.home(operation);
        let (_, calls) = trial(operation, &home, Some(&Fault::Short { size, killed: None }));
        // The write after the one that was cut.
        if let Some((_, nth)) = calls.iter().filter(|(name, _)| name == "write").nth(1) {
            faults.push(Fault::Short { size, killed: Some(*nth) });
        }
    }
    faults
}

/// Where homes are made: in memory if possible, because what a power failure does to a disk is not asked here.
struct Room {
    temp: tempfile::TempDir,
    count: AtomicUsize,
}

impl Room {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let temp = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        Self { temp: temp.unwrap(), count: AtomicUsize::new(0) }
    }

    fn home(&self, operation: &Operation) -> PathBuf {
        let home = self.temp.path().join(format!("home-{}", self.count.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir(&home).unwrap();
        (operation.prepare)(&home);
        home
    }
}

/// Puts every fault to the operation; returns how often each kind was tried, and what it found.
fn sweep(operation: &Operation) -> (BTreeMap<&'static str, usize>, Vec<String>) {
    let room = Room::new();
    let home = room.home(operation);
    let old = (operation.view)(&home);
    assert_eq!(trial(operation, &home, None).0, End::Done, "{}", operation.name);
    let new = (operation.view)(&home);
    assert_ne!(old, new, "{}", operation.name);
    let faults = faults(operation, &room);
    let (turn, found) = (AtomicUsize::new(0), Mutex::new(vec![]));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(fault) = faults.get(turn.fetch_add(1, Ordering::Relaxed)) {
                    let home = room.home(operation);
                    let (end, _) = trial(operation, &home, Some(fault));
                    let judged =
                        std::panic::catch_unwind(|| judge(operation, &home, fault, &end, (&old, &new)));
                    if let Err(fault_found) = judged.unwrap_or_else(|panic| Err(said(&*panic))) {
                        found.lock().unwrap().push(format!("{}, {fault:?}: {fault_found}", operation.name));
                    }
                    std::fs::remove_dir_all(&home).unwrap();
                }
            });
        }
    });
    let mut tried = BTreeMap::new();
    faults.iter().for_each(|fault| *tried.entry(fault.kind()).or_default() += 1);
    (tried, found.into_inner().unwrap())
}

fn judge(
    operation: &Operation,
    home: &Path,
    fault: &Fault,
    end: &End,
    (old, new): (&str, &str),
) -> Result<(), String> {
    let seen = (operation.view)(home);
    match end {
        End::Else(how) => return Err(format!("it neither worked nor refused: {how}")),
        End::Done if matches!(fault, Fault::Inject { refuses: true, .. }) => {
            return Err("a failed flush counted as done".into());
        }
        End::Done if seen != new => return Err(format!("it was reported as done, but there is {seen}")),
        _ if seen != old && seen != new => return Err(format!("neither old nor new: {seen}")),
        _ => {}
    }
    (operation.next)(home);
    Ok(())
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).into())).unwrap_or_default()
}

// SHOWS records-1, records-3, records-10
fn t057_t059_t071_every_durable_operation_interrupted_at_every_call_leaves_old_or_new() {
    let (mut all, mut found) = (BTreeMap::<&str, usize>::new(), vec![]);
    for operation in &OPERATIONS {
        let (tried, faults) = sweep(operation);
        let counts: Vec<String> = tried.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        println!("{:28} {}", operation.name, counts.join(", "));
        tried.into_iter().for_each(|(kind, count)| *all.entry(kind).or_default() += count);
        found.extend(faults);
    }
    let cases: usize = all.values().sum();
    println!("{} operations, {cases} cases: {all:?}", OPERATIONS.len());
    assert!(found.is_empty(), "{} of {cases}:\n  {}", found.len(), found.join("\n  "));
}

fn a_writer_in_place_is_caught() {
    let (_, found) = sweep(&IN_PLACE);
    assert!(!found.is_empty(), "the sweep finds nothing");
    println!("{} of its cases leave a third thing", found.len());
}

/// What one of several writers does: changes of the one record and lines of the log in turn.
fn write(home: &Path, who: u64) {
    let (store, log) = (store(home), log(home));
    for n in 0..WRITES {
        store.change(|_| Ok(())).unwrap();
        log.append(&entry(who * WRITES + n, AuditKind::ToolCall)).unwrap();
    }
}

const WRITERS: u64 = 3;
const WRITES: u64 = 1_000;

// SHOWS records-5, records-10
fn t064_several_processes_that_write_at_once_lose_nothing_and_nobody_reads_a_torn_record() {
    let room = Room::new();
    let home = room.temp.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let start = |who: u64| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([WRITER, &who.to_string()]).arg(&home).spawn().unwrap()
    };
    let mut writers: Vec<_> = (0..WRITERS).map(start).collect();
    let (store, log) = (store(&home), log(&home));
    let (mut reads, mut epoch, mut open) = (0, 0, true);
    while open {
        open = writers.iter_mut().any(|writer| writer.try_wait().unwrap().is_none());
        let now = store.read().expect("every read finds a whole record").epoch;
        assert!(now >= epoch, "the epoch fell from {epoch} to {now}");
        assert_eq!(log.read(10).unwrap().damaged, 0);
        (reads, epoch) = (reads + 1, now);
    }
    assert!(writers.iter_mut().all(|writer| writer.wait().unwrap().success()));
    assert_eq!(store.read().unwrap().epoch, WRITERS * WRITES);
    let mut lines: Vec<u64> =
        log.read(usize::MAX).unwrap().records.iter().map(|record| record.ts_ms).collect();
    lines.sort();
    assert_eq!(lines, (0..WRITERS * WRITES).collect::<Vec<_>>());
    println!(
        "{} changes and as many lines by {WRITERS} processes, {reads} reads beside them",
        WRITERS * WRITES
    );
}

const TESTS: [(&str, fn()); 3] = [
    (
        "t064_several_processes_that_write_at_once_lose_nothing_and_nobody_reads_a_torn_record",
        t064_several_processes_that_write_at_once_lose_nothing_and_nobody_reads_a_torn_record,
    ),
    (
        "t057_t059_t071_every_durable_operation_interrupted_at_every_call_leaves_old_or_new",
        t057_t059_t071_every_durable_operation_interrupted_at_every_call_leaves_old_or_new,
    ),
    ("a_writer_in_place_is_caught", a_writer_in_place_is_caught),
];

/// No harness of the language's own: it would run an operation in a thread, and `strace` counts calls by thread.
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, name, home] = arguments.as_slice()
        && word == CHILD
    {
        let operation =
            OPERATIONS.iter().chain([&IN_PLACE]).find(|operation| operation.name == name).unwrap();
        let mark = || {
            std::hint::black_box(parent_id());
        };
        let done = (operation.run)(Path::new(home), &mark);
        mark();
        return if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(1) };
    }
    if let [word, who, home] = arguments.as_slice()
        && word == WRITER
    {
        write(Path::new(home), who.parse().unwrap());
        return ExitCode::SUCCESS;
    }
    let wanted: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let mut failed = 0;
    std::panic::set_hook(Box::new(|_| ()));
    for (name, test) in TESTS {
        if !wanted.is_empty() && !wanted.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        match std::panic::catch_unwind(test) {
            Ok(()) => println!("test {name} ... ok"),
            Err(panic) => {
                println!("test {name} ... FAILED\n{}", said(&*panic));
                failed += 1;
            }
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
