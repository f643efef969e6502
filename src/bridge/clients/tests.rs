use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::sync::Mutex;

use super::*;
use crate::trust::state::{Anchor, ClientEntry, ScriptRule};
use crate::wire::client::{Holder, Image, Sha256};
use alloc::vec;

/// Remembers why it was cut.
#[derive(Clone, Default)]
struct Line(Arc<Mutex<Vec<Code>>>);

impl Cord for Line {
    fn cut(&self, why: &Refusal) {
        self.0.lock().unwrap().push(why.code);
    }
}

impl Line {
    fn cuts(&self) -> Vec<Code> {
        self.0.lock().unwrap().clone()
    }
}

fn client(n: u8) -> Client {
    let path = format!("/opt/client-{n}");
    let image = Image {
        path,
        device: 1,
        inode: n.into(),
        sha256: Sha256([n; 32]),
        package: false,
        signer: None,
        replaced: false,
    };
    Client::new(vec![Holder { pid: 100 + u32::from(n), image, interpreter: false, script: None }]).unwrap()
}

fn entry(n: u8, epoch: u64) -> ClientEntry {
    ClientEntry {
        name: format!("client-{n}"),
        anchor: Anchor::Hash { sha256: Sha256([n; 32]) },
        image: format!("/opt/client-{n}"),
        script: ScriptRule::Native,
        paused: false,
        epoch,
        paired_ms: 0,
    }
}

fn list(epoch: u64, entries: &[(u8, u64)]) -> TrustState {
    let clients = Some(entries.iter().map(|(n, epoch)| entry(*n, *epoch)).collect());
    TrustState { epoch, clients, ..TrustState::first_run() }
}

fn killed(before: &TrustState) -> TrustState {
    let epoch = before.epoch + 1;
    TrustState { epoch, killed: true, engaged: epoch, ..before.clone() }
}

fn released(before: &TrustState) -> TrustState {
    TrustState { epoch: before.epoch + 1, killed: false, ..before.clone() }
}

fn poll<T>(slot: &mut Slot<T>) -> Poll<Option<T>> {
    pin!(slot).poll(&mut Context::from_waker(Waker::noop()))
}

fn refused(end: &mut Slot<End>) -> Option<Code> {
    match poll(end) {
        Poll::Ready(Some(End::Refused(refusal))) => Some(refusal.code),
        Poll::Ready(Some(End::Returned)) => panic!("given back"),
        Poll::Ready(None) | Poll::Pending => None,
    }
}

fn code<T>(result: Result<T, End>) -> Code {
    match result {
        Err(End::Refused(refusal)) => refusal.code,
        Err(End::Returned) => panic!("given back"),
        Ok(_) => panic!("allowed"),
    }
}

fn open() -> Clients<Line> {
    Clients::new(TrustState::first_run())
}

#[test]
fn an_open_door_admits_everybody_and_an_empty_list_nobody() {
    let clients = open();
    let one = clients.enter(client(1), Line::default()).unwrap();
    assert!(!one.open(0).unwrap().call.admitted().verified());
    assert_eq!(clients.standing(), Ok(Door::Open));
    clients.learn(&list(1, &[]));
    assert_eq!(clients.standing(), Ok(Door::Paired));
    assert_eq!(code(one.open(0)), Code::ClientNotAdmitted);
    assert_eq!(clients.enter(client(2), Line::default()).err().unwrap().code, Code::ClientNotAdmitted);
}

#[test]
fn t083_the_first_entry_cuts_unpaired_clients_and_ends_their_calls_at_once() {
    let clients = open();
    let (paired, other) = (Line::default(), Line::default());
    let one = clients.enter(client(1), paired.clone()).unwrap();
    let two = clients.enter(client(2), other.clone()).unwrap();
    let (mut kept, mut lost) = (one.open(0).unwrap(), two.open(0).unwrap());
    clients.learn(&list(1, &[(1, 1)]));
    assert_eq!((paired.cuts(), other.cuts()), (vec![], vec![Code::ClientNotAdmitted]));
    assert_eq!((refused(&mut kept.end), refused(&mut lost.end)), (None, Some(Code::ClientNotAdmitted)));
    assert_eq!(lost.call.dispatch(|| ()), None);
    assert!(!lost.call.release() && kept.call.release());
}

#[test]
fn t085_a_revoked_clients_call_is_neither_dispatched_nor_answered() {
    let before = list(1, &[(1, 1), (2, 1)]);
    let clients = Clients::new(before);
    let line = Line::default();
    let one = clients.enter(client(1), line.clone()).unwrap();
    let (begun, mut sent) = (one.open(0).unwrap(), one.open(0).unwrap());
    assert_eq!(sent.call.dispatch(|| 7), Some(7));
    clients.learn(&list(2, &[(2, 1)]));
    assert_eq!(begun.call.dispatch(|| ()), None);
    assert!(!sent.call.release(), "its answer is nobody's");
    assert_eq!(refused(&mut sent.end), Some(Code::ClientRevoked));
    assert_eq!(line.cuts(), [Code::ClientRevoked]);
    assert_eq!(code(one.open(0)), Code::ClientNotAdmitted);
}

#[test]
fn t086_what_was_begun_before_a_revocation_stays_ended_after_another_pairing() {
    let clients = Clients::new(list(1, &[(1, 1)]));
    let one = clients.enter(client(1), Line::default()).unwrap();
    let begun = one.open(0).unwrap();
    clients.learn(&list(3, &[(1, 3)]));
    assert_eq!(begun.call.dispatch(|| ()), None);
    assert!(one.open(0).is_ok(), "it may begin anew");
}

#[test]
fn the_kill_switch_ends_calls_and_a_release_within_one_look_does_not_revive_them() {
    let clients = open();
    let line = Line::default();
    let one = clients.enter(client(1), line.clone()).unwrap();
    let mut begun = one.open(0).unwrap();
    clients.learn(&released(&killed(&TrustState::first_run())));
    assert_eq!(refused(&mut begun.end), Some(Code::BridgeKilled));
    let mut again = one.open(0).unwrap();
    let state = killed(&released(&killed(&TrustState::first_run())));
    clients.learn(&state);
    assert_eq!(refused(&mut again.end), Some(Code::BridgeKilled));
    assert_eq!(code(one.open(0)), Code::BridgeKilled);
    assert_eq!(clients.standing().unwrap_err().code, Code::BridgeKilled);
    assert_eq!(clients.enter(client(2), Line::default()).err().unwrap().code, Code::BridgeKilled);
    assert!(line.cuts().is_empty(), "it stays where it stands");
    clients.learn(&released(&state));
    assert!(one.open(0).is_ok());
}

#[test]
fn an_older_record_read_late_changes_nothing() {
    let clients = open();
    let one = clients.enter(client(1), Line::default()).unwrap();
    let state = killed(&TrustState::first_run());
    clients.learn(&state);
    clients.learn(&TrustState::first_run());
    assert_eq!(code(one.open(0)), Code::BridgeKilled);
    clients.learn(&TrustState { killed: false, ..state });
    assert_eq!(code(one.open(0)), Code::BridgeKilled, "the switch holds in memory where the disk failed");
}

#[test]
fn a_record_that_cannot_be_read_stops_everything_until_it_can() {
    let clients = open();
    let one = clients.enter(client(1), Line::default()).unwrap();
    let mut begun = one.open(0).unwrap();
    clients.distrust(&Refusal::new(Code::BridgeKilled, "damaged"));
    assert_eq!(refused(&mut begun.end), Some(Code::BridgeKilled));
    assert_eq!(code(one.open(0)), Code::BridgeKilled);
    assert!(clients.standing().is_err());
    clients.learn(&TrustState::first_run());
    assert!(one.open(0).is_ok());
}

#[test]
fn t024_a_client_that_floods_waits_for_itself() {
    let clients = open();
    let (flood, other) = (
        clients.enter(client(1), Line::default()).unwrap(),
        clients.enter(client(2), Line::default()).unwrap(),
    );
    let mut calls: Vec<_> = (0..CLIENT_OPEN_CALLS_MAX).map(|_| flood.open(0).unwrap()).collect();
    assert_eq!(code(flood.open(0)), Code::BrokerBusy);
    let running = calls.iter_mut().filter_map(|c| poll(&mut c.turn).is_ready().then_some(())).count();
    assert_eq!(running, CLIENT_CALLS_MAX);
    let mut one = other.open(0).unwrap();
    assert!(poll(&mut one.turn).is_ready());
    let mut next = calls.remove(CLIENT_CALLS_MAX);
    assert_eq!(next.call.dispatch(|| ()), None, "it is not its turn");
    calls.remove(0);
    assert!(poll(&mut next.turn).is_ready());
}

#[test]
fn t024_a_place_that_gets_free_goes_to_whoever_has_fewest() {
    let clients = open();
    let floods: Vec<_> = (0..CALLS_MAX / CLIENT_CALLS_MAX)
        .map(|n| clients.enter(client(n as u8), Line::default()).unwrap())
        .collect();
    let mut calls: Vec<Vec<_>> =
        floods.iter().map(|f| (0..CLIENT_OPEN_CALLS_MAX).map(|_| f.open(0).unwrap()).collect()).collect();
    let late = clients.enter(client(99), Line::default()).unwrap();
    let mut waiting = late.open(0).unwrap();
    assert!(poll(&mut waiting.turn).is_pending(), "all places are taken");
    calls[2].remove(0);
    assert!(poll(&mut waiting.turn).is_ready());
    for round in 0..CLIENT_OPEN_CALLS_MAX - CLIENT_CALLS_MAX {
        let served = round % floods.len();
        calls[served].remove(0);
        let running =
            |calls: &mut Vec<Opened<Line>>| calls.iter().filter(|c| c.call.dispatch(|| ()).is_some()).count();
        let shares: Vec<_> = calls.iter_mut().map(running).collect();
        assert!(shares.iter().all(|n| n.abs_diff(CLIENT_CALLS_MAX) <= 1), "round {round}: {shares:?}");
    }
}

#[test]
fn handing_over_gives_back_what_was_not_dispatched_and_takes_nothing_new() {
    let clients = open();
    let one = clients.enter(client(1), Line::default()).unwrap();
    let (mut waiting, mut sent) = (one.open(0).unwrap(), one.open(0).unwrap());
    sent.call.dispatch(|| ()).unwrap();
    let mut quiet = clients.quiet();
    clients.hand_over();
    assert_eq!(poll(&mut waiting.end), Poll::Ready(Some(End::Returned)));
    assert_eq!(waiting.call.dispatch(|| ()), None);
    assert!(matches!(one.open(0), Err(End::Returned)));
    assert_eq!(clients.enter(client(2), Line::default()).err().unwrap().code, Code::BrokerBusy);
    assert!(poll(&mut sent.end).is_pending() && poll(&mut quiet).is_pending());
    assert!(sent.call.release());
    assert!(poll(&mut quiet).is_ready());
    assert!(poll(&mut clients.closed()).is_pending());
    drop((waiting, sent, one));
    assert!(poll(&mut clients.closed()).is_ready());
}

#[test]
fn t029_the_last_to_leave_closes_and_nobody_enters_afterwards() {
    let clients = open();
    let one = clients.enter(client(1), Line::default()).unwrap();
    let two = clients.enter(client(2), Line::default()).unwrap();
    let mut closed = clients.closed();
    drop(one);
    assert!(poll(&mut closed).is_pending());
    drop(two);
    assert!(poll(&mut closed).is_ready());
    assert_eq!(clients.enter(client(3), Line::default()).err().unwrap().code, Code::BrokerBusy);
}

#[test]
fn who_leaves_takes_its_calls_along_and_its_places_are_free() {
    let clients = open();
    let lines: Vec<_> = (0..=CALLS_MAX / CLIENT_CALLS_MAX)
        .map(|n| clients.enter(client(n as u8), Line::default()).unwrap())
        .collect();
    let mut calls: Vec<Vec<_>> =
        lines.iter().map(|p| (0..CLIENT_CALLS_MAX).map(|_| p.open(0).unwrap()).collect()).collect();
    let mut last = calls.pop().unwrap();
    assert!(last.iter_mut().all(|c| poll(&mut c.turn).is_pending()));
    let mut lines = lines;
    drop(lines.remove(0));
    assert_eq!(refused(&mut calls[0][0].end), Some(Code::Cancelled));
    assert!(last.iter_mut().all(|c| poll(&mut c.turn).is_ready()));
    drop(calls);
    clients.close(&Refusal::plain(Code::ConnectionLost));
    assert_eq!(refused(&mut last[0].end), Some(Code::ConnectionLost));
}

#[test]
fn clients_above_the_cap_are_refused() {
    let clients = open();
    let all: Vec<_> =
        (0..ATTACHED_CLIENTS_MAX).map(|_| clients.enter(client(1), Line::default()).unwrap()).collect();
    assert_eq!(clients.enter(client(1), Line::default()).err().unwrap().code, Code::BrokerBusy);
    drop(all);
}

#[test]
fn t221_what_waits_takes_no_more_memory_than_one_client_and_all_may() {
    let clients = open();
    let many: Vec<_> = (1..6).map(|n| clients.enter(client(n), Line::default()).unwrap()).collect();
    let whole = many[0].open(CLIENT_OPEN_BYTES_MAX).unwrap();
    assert_eq!(code(many[0].open(1)), Code::BrokerBusy, "its share is used up");
    assert!(many[0].open(0).is_ok());
    let rest: Vec<_> = many[1..4].iter().map(|one| one.open(CLIENT_OPEN_BYTES_MAX).unwrap()).collect();
    assert_eq!(code(many[4].open(1)), Code::BrokerBusy, "all there is is used up");
    assert_eq!(code(many[4].open(usize::MAX)), Code::BrokerBusy);
    whole.call.dispatch(|| ()).unwrap();
    let again = many[0].open(CLIENT_OPEN_BYTES_MAX).unwrap();
    drop(rest);
    assert!(many[4].open(CLIENT_OPEN_BYTES_MAX).is_ok(), "what ended holds nothing");
    drop(again);
}
