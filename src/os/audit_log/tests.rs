use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::*;
use crate::trust::audit::{AuditKind, AuditOutcome, Surface};

struct Place {
    _temp: tempfile::TempDir,
    log: AuditLog,
}

impl Place {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let log = open(temp.path());
        Self { _temp: temp, log }
    }

    /// Adds bytes as no writer of ours does.
    fn plant(&self, bytes: &[u8]) {
        let mut file = File::options().append(true).open(self.log.path()).unwrap();
        file.write_all(bytes).unwrap();
    }

    /// Adds lines fast, and as a writer of ours once the log is full.
    fn fill(&self, from: u64, count: u64, kind: AuditKind, outcome: AuditOutcome) {
        let mut room = 0;
        for ts in from..from + count {
            let record = record(ts, kind, outcome).with_detail(&"x".repeat(900));
            let line = record.line() + "\n";
            if line.len() > room {
                self.log.append(&record).unwrap();
                room = AUDIT_BYTES_MAX - std::fs::metadata(self.log.path()).unwrap().len() as usize;
            } else {
                self.plant(line.as_bytes());
                room -= line.len();
            }
        }
    }

    fn times(&self) -> Vec<u64> {
        self.log.read(usize::MAX).unwrap().records.iter().map(|record| record.ts_ms).collect()
    }
}

fn open(below: &Path) -> AuditLog {
    AuditLog::open(&Environment { xdg_state_home: Some(below.into()), ..Environment::default() }).unwrap()
}

fn record(ts_ms: u64, kind: AuditKind, outcome: AuditOutcome) -> AuditRecord {
    AuditRecord::new(ts_ms, kind, Surface::Broker, outcome)
}

fn call(ts_ms: u64) -> AuditRecord {
    record(ts_ms, AuditKind::ToolCall, AuditOutcome::Begun)
}

fn grant(ts_ms: u64) -> AuditRecord {
    record(ts_ms, AuditKind::PairClient, AuditOutcome::Done).with_detail("shell")
}

/// `count` lines of a kind, as one text.
fn noise(from: u64, count: u64, kind: AuditKind, outcome: AuditOutcome) -> String {
    (from..from + count)
        .map(|ts| record(ts, kind, outcome).with_detail(&"x".repeat(900)).line() + "\n")
        .collect()
}

#[test]
fn records_are_read_back_newest_last_and_within_the_limit() {
    let place = Place::new();
    assert_eq!(place.log.read(10).unwrap().records, []);
    for ts in 1..=5 {
        place.log.append(&call(ts)).unwrap();
    }
    let tail = place.log.read(2).unwrap();
    assert_eq!((tail.records, tail.older, tail.damaged), (vec![call(4), call(5)], true, 0));
    let tail = place.log.read(5).unwrap();
    assert_eq!((tail.records.len(), tail.older), (5, false));
    assert!(place.log.read(0).unwrap().older);
    assert_eq!(std::fs::metadata(place.log.path()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_is_no_record_is_skipped_and_counted() {
    let place = Place::new();
    place.log.append(&grant(1)).unwrap();
    for line in [
        "{}",
        "{\"ts_ms\":9,\"event_kind\":\"tool_call\",\"surface\":\"cli\",\"args\":{}}",
        &format!(" {}", call(9).line()),
        "\u{1b}[2J",
    ] {
        place.plant(format!("{line}\n").as_bytes());
    }
    place.log.append(&grant(2)).unwrap();
    let tail = place.log.read(10).unwrap();
    assert_eq!((tail.records, tail.damaged), (vec![grant(1), grant(2)], 4));
}

#[test]
fn a_line_that_a_killed_writer_left_unfinished_is_no_record_and_joins_no_other() {
    let place = Place::new();
    place.log.append(&grant(1)).unwrap();
    let half = grant(2).line();
    place.plant(&half.as_bytes()[..half.len() - 1]);
    assert_eq!(place.times(), [1]);
    place.log.append(&grant(3)).unwrap();
    let tail = place.log.read(10).unwrap();
    assert_eq!((tail.records, tail.damaged), (vec![grant(1), grant(3)], 0));
}

// SHOWS records-11
#[test]
fn a_full_log_keeps_the_newest_of_each_class_and_no_noise_pushes_out_a_grant() {
    let place = Place::new();
    for ts in 1..=20 {
        place.log.append(&grant(ts)).unwrap();
    }
    for round in 1..=4 {
        place.fill(round * 10_000, 1_500, AuditKind::HarnessRefuse, AuditOutcome::Refused);
        place.fill(round * 10_000 + 5_000, 1_500, AuditKind::ToolCall, AuditOutcome::Begun);
    }
    let tail = place.log.read(usize::MAX).unwrap();
    let of = |kind: AuditKind| {
        tail.records.iter().filter(|r| r.event_kind == kind).map(|r| r.ts_ms).collect::<Vec<_>>()
    };
    assert_eq!(of(AuditKind::PairClient), (1..=20).collect::<Vec<_>>());
    let refused = of(AuditKind::HarnessRefuse);
    assert!(refused.len() > 900 && refused.ends_with(&[41_499]) && refused.is_sorted());
    assert_eq!(of(AuditKind::ToolCall).last(), Some(&46_499));
    assert!(tail.records.len() as u64 * 1_000 < AUDIT_BYTES_MAX as u64);
}

#[test]
fn a_class_keeps_no_line_older_than_one_it_dropped() {
    let text = [
        call(1).line(),
        call(2).with_detail(&"x".repeat(500)).line(),
        grant(3).line(),
        call(4).line(),
        "junk".into(),
        call(5).line(),
    ]
    .join("\n")
        + "\n";
    let room = call(1).line().len() * 3 + 10;
    let kept = kept(text.as_bytes(), room);
    let times: Vec<u64> = lines(&kept).map(|line| AuditRecord::parse(line).unwrap().ts_ms).collect();
    assert_eq!(times, [3, 4, 5]);
}

#[test]
fn a_follower_sees_every_record_once_across_a_compaction() {
    let place = Place::new();
    place.log.append(&grant(1)).unwrap();
    let mut tail = place.log.read(10).unwrap();
    let mut seen: Vec<u64> = tail.records.iter().map(|r| r.ts_ms).collect();
    let mut position = std::mem::take(&mut tail.end);
    let mut look = |seen: &mut Vec<u64>| {
        let news = place.log.since(&mut position).unwrap();
        seen.extend(news.records.iter().map(|r| r.ts_ms));
        news.older
    };
    assert!(!look(&mut seen));
    place.log.append(&call(2)).unwrap();
    assert!(!look(&mut seen));
    let before = std::fs::metadata(place.log.path()).unwrap();
    place.log.append(&call(3)).unwrap();
    let filler = noise(4, AUDIT_BYTES_MAX as u64 / 1_000 - 3, AuditKind::ToolCall, AuditOutcome::Done);
    let last = 3 + filler.lines().count() as u64;
    place.plant(filler.as_bytes());
    for ts in last + 1..last + 60 {
        place.log.append(&call(ts).with_detail(&"y".repeat(900))).unwrap();
    }
    assert_ne!(std::fs::metadata(place.log.path()).unwrap().ino(), before.ino(), "it was compacted");
    assert!(!look(&mut seen));
    assert_eq!(seen, (1..last + 60).collect::<Vec<_>>());
    // What was compacted away twice between two looks is said to be missing.
    for round in 0..2 {
        let from = 100_000 * (round + 1);
        place.plant(noise(from, 1_000, AuditKind::ToolCall, AuditOutcome::Done).as_bytes());
        let bytes = std::fs::read(place.log.path()).unwrap();
        let lock = place.log.dir.lock(Duration::from_secs(5)).unwrap();
        private_file::replace(&place.log.dir, &lock, AUDIT_FILE, &kept(&bytes, 100_000)).unwrap();
    }
    assert!(look(&mut seen));
    assert!(!look(&mut seen));
}

#[test]
fn a_follower_that_began_before_the_log_sees_all_of_it() {
    let place = Place::new();
    let mut position = place.log.read(10).unwrap().end;
    place.log.append(&grant(1)).unwrap();
    let news = place.log.since(&mut position).unwrap();
    assert_eq!((news.records, news.older), (vec![grant(1)], false));
    assert_eq!(place.log.since(&mut position).unwrap().records, []);
}

#[test]
fn a_follower_hears_of_a_log_that_was_cut_removed_or_moved_away() {
    let place = Place::new();
    place.log.append(&grant(1)).unwrap();
    place.log.append(&grant(2)).unwrap();
    let mut position = place.log.read(10).unwrap().end;
    File::options().write(true).open(place.log.path()).unwrap().set_len(0).unwrap();
    assert!(place.log.since(&mut position).unwrap().older, "cut");
    assert!(!place.log.since(&mut position).unwrap().older);
    place.log.append(&grant(3)).unwrap();
    assert_eq!(place.log.since(&mut position).unwrap().records, [grant(3)]);
    std::fs::remove_file(place.log.path()).unwrap();
    assert!(place.log.since(&mut position).unwrap().older, "removed");
    let folder = place.log.path().parent().unwrap().to_path_buf();
    std::fs::rename(&folder, folder.with_extension("away")).unwrap();
    let refusal = place.log.since(&mut position).unwrap_err();
    assert!(refusal.message.starts_with("The audit log cannot be read"), "{refusal}");
}

#[test]
fn t052_t054_t060_a_log_that_is_not_ours_or_too_large_takes_no_record() {
    let place = Place::new();
    place.log.append(&grant(1)).unwrap();
    let path = place.log.path();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let refused = place.log.append(&grant(2)).unwrap_err();
    assert!(refused.message.contains("so it is not done"), "{}", refused.message);
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    assert!(place.log.append(&grant(2)).is_err() && place.log.read(1).is_err());
    std::fs::remove_file(&path).unwrap();
    place.log.append(&grant(1)).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(10 << 20).unwrap();
    assert!(place.log.append(&grant(2)).is_err() && place.log.read(1).is_err());
}

#[test]
fn a_record_out_of_bounds_is_refused() {
    let place = Place::new();
    let bad = AuditRecord { detail: Some("a\nb".into()), ..grant(1) };
    assert!(place.log.append(&bad).is_err());
    assert!(!place.log.path().exists());
}

#[test]
fn where_a_lock_is_not_let_go_one_record_waits_for_it_and_the_next_are_refused_at_once() {
    let place = Place::new();
    let busy = place.log.dir.lock(Duration::ZERO).unwrap();
    let impatient = place.log.clone().with_patience(Duration::ZERO);
    // This one would wait for an hour, had the one before it not waited in vain.
    let patient = place.log.clone().with_patience(Duration::from_secs(3_600));
    for log in [&impatient, &patient, &patient] {
        let refused = log.append(&call(1)).unwrap_err();
        assert!(refused.message.contains("does not let go"), "{}", refused.message);
    }
    drop(busy);
    patient.append(&call(2)).unwrap();
    assert!(!patient.is_stuck.load(Ordering::Relaxed));
}

// SHOWS records-12
#[test]
fn t055_a_log_whose_folder_was_moved_is_not_written_to() {
    let place = Place::new();
    place.log.append(&call(1)).unwrap();
    let dir = place.log.dir.path().to_path_buf();
    std::fs::rename(&dir, dir.with_extension("aside")).unwrap();
    let refused = place.log.append(&call(2)).unwrap_err();
    assert!(refused.message.contains("was moved, removed or replaced"), "{}", refused.message);
    std::fs::rename(dir.with_extension("aside"), &dir).unwrap();
    place.log.append(&call(3)).unwrap();
    assert_eq!(place.log.read(9).unwrap().records.len(), 2);
}
