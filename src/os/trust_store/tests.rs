use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::*;

struct Place {
    temp: tempfile::TempDir,
    store: TrustStore,
}

impl Place {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let store = open(temp.path());
        Self { temp, store }
    }

    fn record(&self) -> PathBuf {
        self.temp.path().join("state/genkan").join(TRUST_FILE)
    }

    fn mark(&self) -> PathBuf {
        self.temp.path().join("data/genkan").join(EPOCH_MARK_FILE)
    }

    fn nothing_is_allowed(&self, because: &str) {
        let refusal = self.store.read().unwrap_err();
        assert_eq!(refusal.code, Code::BridgeKilled);
        assert!(refusal.message.contains(because), "{}", refusal.message);
        assert_eq!(self.store.change(|_| Ok(())).unwrap_err().code, Code::BridgeKilled);
    }
}

fn open(below: &Path) -> TrustStore {
    let environment = Environment {
        xdg_state_home: Some(below.join("state").into()),
        xdg_data_home: Some(below.join("data").into()),
        ..Environment::default()
    };
    TrustStore::open(&environment).unwrap().with_patience(Duration::ZERO)
}

fn empty_list(state: &mut TrustState) -> Result<(), Refusal> {
    state.clients = Some(vec![]);
    Ok(())
}

#[test]
fn a_first_run_is_open_and_the_first_change_is_epoch_one() {
    let place = Place::new();
    assert_eq!(place.store.read(), Ok(TrustState::first_run()));
    assert!(!place.record().exists(), "reading writes nothing");
    let state = place.store.change(empty_list).unwrap();
    assert_eq!((state.epoch, &state.clients), (1, &Some(vec![])));
    assert_eq!(open(place.temp.path()).read(), Ok(state));
    for file in [place.record(), place.mark()] {
        assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(std::fs::read(place.mark()).unwrap(), b"{\"epoch\":1,\"version\":1}\n");
}

#[test]
fn a_refused_change_changes_nothing() {
    let place = Place::new();
    place.store.change(empty_list).unwrap();
    let (before, stamp) = (std::fs::read(place.record()).unwrap(), place.store.stamp());
    let refused = place.store.change(|state| {
        state.killed = true;
        Err(Refusal::plain(Code::UserDenied))
    });
    assert_eq!(refused.unwrap_err().code, Code::UserDenied);
    assert_eq!((std::fs::read(place.record()).unwrap(), place.store.stamp()), (before, stamp));
}

#[test]
fn every_change_shows_in_the_stamp_also_one_of_equal_size() {
    let place = Place::new();
    let mut stamps = vec![place.store.stamp()];
    for _ in 0..3 {
        place.store.change(empty_list).unwrap();
        stamps.push(place.store.stamp());
    }
    std::fs::remove_file(place.mark()).unwrap();
    stamps.push(place.store.stamp());
    stamps.dedup();
    assert_eq!(stamps.len(), 5);
}

#[test]
fn an_older_record_put_back_is_refused_and_named() {
    let place = Place::new();
    place.store.change(empty_list).unwrap();
    let old = place.temp.path().join("old");
    std::fs::copy(place.record(), &old).unwrap();
    place.store.engage_within(Duration::ZERO);
    std::fs::rename(&old, place.record()).unwrap();
    place.nothing_is_allowed("it has epoch 1, and its mark says epoch 2");
    let state = place.store.recover().unwrap();
    assert_eq!((state.epoch, state.killed, &state.clients), (3, true, &Some(vec![])));
    assert_eq!(place.store.read(), Ok(state));
    assert_eq!(place.store.recover().unwrap_err().code, Code::InvalidArgument);
}

#[test]
fn t063_a_record_that_is_gone_is_a_first_run_only_without_a_mark() {
    let place = Place::new();
    place.store.change(empty_list).unwrap();
    std::fs::remove_file(place.record()).unwrap();
    place.nothing_is_allowed("there was one: its mark says epoch 1");
    assert_eq!(place.store.recover().unwrap().epoch, 2);
    std::fs::remove_file(place.record()).unwrap();
    std::fs::remove_file(place.mark()).unwrap();
    assert_eq!(open(place.temp.path()).read(), Ok(TrustState::first_run()));
}

#[test]
fn a_record_ahead_of_its_mark_counts_and_heals_the_mark() {
    let place = Place::new();
    place.store.change(empty_list).unwrap();
    let mark = std::fs::read(place.mark()).unwrap();
    let state = place.store.change(empty_list).unwrap();
    for behind in [Some(&mark), None] {
        std::fs::remove_file(place.mark()).unwrap();
        if let Some(mark) = behind {
            std::fs::write(place.mark(), mark).unwrap();
            std::fs::set_permissions(place.mark(), std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        assert_eq!(place.store.read().as_ref(), Ok(&state));
        assert_eq!(std::fs::read(place.mark()).unwrap(), b"{\"epoch\":2,\"version\":1}\n");
    }
}

#[test]
fn t062_t077_a_damaged_record_or_mark_refuses_both_directions() {
    for what in ["record", "mark"] {
        for bytes in ["", "{}", "null", "{\"epoch\":9}\n", "\0\0\0\0"] {
            let place = Place::new();
            place.store.change(empty_list).unwrap();
            let file = if what == "mark" { place.mark() } else { place.record() };
            std::fs::write(&file, bytes).unwrap();
            place.nothing_is_allowed("is damaged");
            let Hold::Stop(refused) = place.store.engage_within(Duration::ZERO) else { panic!("{bytes:?}") };
            assert!(refused.message.contains("recover-trust"), "{}", refused.message);
            let beyond = if bytes.contains('9') { 9 } else { 1 };
            let recovered = place.store.recover().unwrap();
            assert_eq!((recovered.epoch, recovered.killed), (beyond + 1, true), "{what} {bytes:?}");
            assert_eq!(place.store.read(), Ok(recovered));
        }
    }
}

#[test]
fn t061_a_record_of_a_newer_genkan_is_neither_used_nor_replaced() {
    let place = Place::new();
    place.store.change(empty_list).unwrap();
    let text = std::fs::read_to_string(place.record()).unwrap().replace("\"version\":1", "\"version\":2");
    std::fs::write(place.record(), &text).unwrap();
    place.nothing_is_allowed("Update genkan");
    assert_eq!(place.store.recover().unwrap_err().code, Code::BridgeKilled);
    assert_eq!(std::fs::read_to_string(place.record()).unwrap(), text);
    std::fs::write(place.record(), text.replace("\"version\":2", "\"version\":0")).unwrap();
    place.nothing_is_allowed("the oldest that this genkan can read is 1");
    assert_eq!(place.store.recover().unwrap().epoch, 2);
}

#[test]
fn t052_t054_a_record_that_is_not_a_private_plain_file_is_refused_and_recovered() {
    type Plant = (&'static str, fn(&Path));
    let plants: [Plant; 4] = [
        ("not a plain file", |path| {
            std::fs::rename(path, path.with_extension("real")).unwrap();
            symlink(path.with_extension("real"), path).unwrap();
        }),
        ("not a plain file", |path| std::fs::hard_link(path, path.with_extension("twin")).unwrap()),
        ("chmod 0600", |path| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap()
        }),
        ("not a plain file", |path| {
            std::fs::remove_file(path).unwrap();
            rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        }),
    ];
    for (because, plant) in plants {
        let place = Place::new();
        place.store.change(empty_list).unwrap();
        plant(&place.record());
        place.nothing_is_allowed(because);
        assert_eq!(place.store.recover().unwrap().epoch, 2);
        assert!(place.store.read().is_ok());
    }
    let place = Place::new();
    place.store.change(empty_list).unwrap();
    std::fs::remove_file(place.record()).unwrap();
    std::fs::create_dir(place.record()).unwrap();
    place.nothing_is_allowed("not a plain file");
    assert!(
        place.store.recover().unwrap_err().message.contains("could not replace"),
        "a folder is not swept aside"
    );
}

#[test]
fn t060_an_oversized_record_is_refused_by_its_size() {
    let place = Place::new();
    place.store.change(empty_list).unwrap();
    std::fs::File::options().write(true).open(place.record()).unwrap().set_len(10 << 20).unwrap();
    place.nothing_is_allowed("larger than genkan ever writes it");
}

// SHOWS records-12
#[test]
fn t055_a_folder_that_was_moved_or_replaced_allows_nothing_and_nothing_is_written_there() {
    for which in ["state", "data"] {
        for replaced in [false, true] {
            let place = Place::new();
            place.store.change(empty_list).unwrap();
            let stamp = place.store.stamp();
            let (ours, aside) =
                (place.temp.path().join(which).join("genkan"), place.temp.path().join("aside"));
            std::fs::rename(&ours, &aside).unwrap();
            if replaced {
                std::fs::create_dir(&ours).unwrap();
                std::fs::set_permissions(&ours, std::fs::Permissions::from_mode(0o700)).unwrap();
            }
            assert_ne!(place.store.stamp(), stamp, "whoever watches the stamp sees it");
            place.nothing_is_allowed("was moved, removed or replaced");
            let hold = place.store.engage_within(Duration::ZERO);
            assert_eq!(matches!(hold, Hold::Memory(_)), which == "state", "{hold:?}");
            for dir in [Some(&ours).filter(|_| replaced), Some(&aside)].into_iter().flatten() {
                let names = std::fs::read_dir(dir).unwrap().count();
                assert_eq!(names, usize::from(dir == &aside), "nothing was written to {dir:?}");
            }
            if replaced {
                std::fs::remove_dir(&ours).unwrap();
            }
            std::fs::rename(&aside, &ours).unwrap();
            assert!(place.store.read().unwrap().killed, "it was engaged meanwhile");
        }
    }
}

// SHOWS records-12
#[test]
fn t054_a_folder_that_became_open_to_others_allows_nothing_until_it_is_closed() {
    for which in ["state/genkan", "data/genkan"] {
        let place = Place::new();
        place.store.change(empty_list).unwrap();
        let (dir, stamp) = (place.temp.path().join(which), place.store.stamp());
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_ne!(place.store.stamp(), stamp);
        place.nothing_is_allowed("chmod 0700");
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert!(place.store.read().is_ok());
    }
}

// SHOWS records-12
#[test]
fn what_a_process_has_read_is_not_undone_by_removing_record_and_mark() {
    let place = Place::new();
    place.store.change(empty_list).unwrap();
    let old = std::fs::read(place.record()).unwrap();
    place.store.engage_within(Duration::ZERO);
    for file in [place.record(), place.mark()] {
        std::fs::remove_file(file).unwrap();
    }
    place.nothing_is_allowed("this process has read epoch 2");
    std::fs::write(place.record(), old).unwrap();
    std::fs::set_permissions(place.record(), std::fs::Permissions::from_mode(0o600)).unwrap();
    place.nothing_is_allowed("it has epoch 1, and this process has read epoch 2");
    assert_eq!(place.store.recover().unwrap().epoch, 3);
}

#[test]
fn a_record_that_was_set_to_the_last_epoch_is_recovered_and_counts_on() {
    for (record, mark) in [((1 << 52) - 1, (1 << 52) - 1), (u64::MAX, 1), (1, (1 << 52) - 1), (1, 1 << 53)] {
        let place = Place::new();
        place.store.change(empty_list).unwrap();
        for (file, epoch) in [(place.record(), record), (place.mark(), mark)] {
            let text = std::fs::read_to_string(&file).unwrap();
            std::fs::write(&file, text.replace("\"epoch\":1", &format!("\"epoch\":{epoch}"))).unwrap();
        }
        // Started after that was done.
        let store = open(place.temp.path());
        assert!(store.change(|_| Ok(())).is_err(), "{record} {mark}");
        assert!(matches!(store.engage_within(Duration::ZERO), Hold::Stop(_)), "{record} {mark}");
        assert!(store.read().map_or(true, |state| state.killed));
        assert!(store.recover().unwrap().epoch < 3, "{record} {mark}");
        assert!(store.change(|_| Ok(())).unwrap().killed);
    }
}

#[test]
fn t056_a_temporary_name_taken_in_advance_is_neither_followed_nor_used() {
    let place = Place::new();
    place.store.change(empty_list).unwrap();
    let (fresh, victim) =
        (place.record().with_file_name(".trust.json.new"), place.temp.path().join("victim"));
    std::fs::write(&victim, "theirs").unwrap();
    symlink(&victim, &fresh).unwrap();
    place.store.engage_within(Duration::ZERO);
    assert_eq!(std::fs::read(&victim).unwrap(), b"theirs");
    assert!(!fresh.exists());
    std::fs::create_dir(&fresh).unwrap();
    let refused = place.store.change(|_| Ok(())).unwrap_err();
    assert!(refused.message.contains(".trust.json.new"), "{}", refused.message);
}

#[test]
fn t065_a_lock_that_is_held_does_not_hold_up_the_kill_switch() {
    let place = Place::new();
    place.store.change(empty_list).unwrap();
    let other = open(place.temp.path());
    let stamp = other.stamp();
    let busy = place.store.inner.dir.lock(Duration::ZERO).unwrap();
    let hold = place.store.engage_within(Duration::ZERO);
    let Hold::Stop(refused) = hold else { panic!("{hold:?}") };
    assert!(refused.message.contains(&format!("process {}", std::process::id())), "{}", refused.message);
    assert_ne!(other.stamp(), stamp, "whoever watches the stamp sees it");
    for store in [&place.store, &other, &open(place.temp.path())] {
        let held = store.read().unwrap();
        assert!(held.killed && held.engaged > held.epoch);
    }
    assert!(other.settled().is_err(), "nothing can be asked before it is in the record");
    drop(busy);
    // Any other change carries it into the record.
    assert!(other.change(|_| Ok(())).unwrap().killed);
    let names = std::fs::read_dir(place.temp.path().join("state/genkan")).unwrap().count();
    assert_eq!(names, 1, "the stop is gone");
    let state = other.change(off).unwrap();
    assert_eq!(place.store.read(), Ok(state), "the record had taken over what memory held, and was released");
}

#[test]
fn a_stop_that_comes_while_another_is_taken_over_stays() {
    let place = Place::new();
    place.store.engage_within(Duration::ZERO);
    place
        .store
        .change(|state| {
            stop::put(&place.store.inner.dir).unwrap();
            off(state)
        })
        .unwrap();
    assert!(place.store.read().unwrap().killed);
    // Whatever has the name engages, and what cannot be removed is named.
    std::fs::remove_file(place.temp.path().join("state/genkan/stop")).unwrap();
    std::fs::create_dir(place.temp.path().join("state/genkan/stop")).unwrap();
    assert!(place.store.read().unwrap().killed);
    let refused = place.store.settled().unwrap_err();
    assert!(refused.message.contains("/stop"), "{}", refused.message);
}

#[test]
fn a_process_that_saw_a_stop_is_held_by_it_although_somebody_removes_it() {
    let place = Place::new();
    place.store.change(empty_list).unwrap();
    let [seen, late] = [open(place.temp.path()), open(place.temp.path())];
    let busy = place.store.inner.dir.lock(Duration::ZERO).unwrap();
    assert!(matches!(place.store.engage_within(Duration::ZERO), Hold::Stop(_)));
    assert!(seen.read().unwrap().killed);
    std::fs::remove_file(place.temp.path().join("state/genkan/stop")).unwrap();
    assert!(seen.read().unwrap().killed && place.store.read().unwrap().killed);
    assert!(!late.read().unwrap().killed, "who starts afterwards cannot know");
    drop(busy);
    // What either of them writes next says so to everybody; and it is released as any other.
    assert!(seen.change(|_| Ok(())).unwrap().killed);
    let state = late.change(off).unwrap();
    for store in [&seen, &place.store, &late] {
        assert_eq!(store.read().as_ref(), Ok(&state));
    }
}

fn off(state: &mut TrustState) -> Result<(), Refusal> {
    state.killed = false;
    Ok(())
}

#[test]
fn t065_a_holder_that_does_not_let_go_is_named_and_one_that_was_killed_holds_nothing() {
    let place = Place::new();
    place.store.change(empty_list).unwrap();
    let dir = place.temp.path().join("state/genkan");
    let mut holder = std::process::Command::new("flock")
        .arg("--no-fork")
        .arg(&dir)
        .args(["sh", "-c", "echo held; exec sleep 600"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 5];
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut said).unwrap();
    let refused = place.store.change(|_| Ok(())).unwrap_err();
    assert!(refused.message.contains("does not let go"), "{}", refused.message);
    assert!(place.store.read().is_ok(), "reading needs no lock");
    let pid = rustix::process::Pid::from_child(&holder);
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    holder.wait().unwrap();
    let patient = open(place.temp.path()).with_patience(Duration::from_secs(60));
    assert_eq!(patient.change(|_| Ok(())).map(|state| state.epoch), Ok(2));
}

#[test]
fn without_a_home_there_is_no_mark_and_the_record_counts_alone() {
    let temp = tempfile::tempdir().unwrap();
    let environment = Environment { xdg_state_home: Some(temp.path().into()), ..Environment::default() };
    let store = TrustStore::open(&environment).unwrap();
    store.engage_within(Duration::ZERO);
    assert!(store.read().unwrap().killed);
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
}

#[test]
fn the_records_folder_may_be_neither_the_runtime_folder_nor_that_of_the_mark() {
    let temp = tempfile::tempdir().unwrap();
    let place = || Some(temp.path().into());
    let records = Environment { xdg_state_home: place(), ..Environment::default() };
    for environment in [
        Environment { xdg_runtime_dir: place(), ..records.clone() },
        Environment { xdg_data_home: place(), ..records.clone() },
    ] {
        let refused = TrustStore::open(&environment).unwrap_err();
        assert!(refused.message.contains("XDG_STATE_HOME"), "{}", refused.message);
    }
}
