//! What must hold for every input of every parser of `wire`: it never panics, never exceeds the limits, and either
//! refuses or round-trips. The fuzz targets and the replay of seeds call the same functions.
#![allow(dead_code, clippy::expect_used, clippy::panic)] // each fuzz target calls one of these; a panic is a finding

use genkan::base::limits::{
    AUDIT_LINE_BYTES_MAX, CHUNK_TEXT_BYTES_MAX, CLIENT_PATH_BYTES_MAX, HOLDERS_MAX, JSON_DEPTH_MAX,
    JSON_VALUES_MAX, NM_OUT_BYTES_MAX, RESULT_BYTES_MAX, SAFE_INTEGER_MAX,
};
use genkan::trust::audit::AuditRecord;
use genkan::wire::bridge::{
    BridgeFrame, BridgeResp, Capability, Notice, chunks, is_instance, is_label, is_version,
};
use genkan::wire::client::Client;
use genkan::wire::control::{Routed, from_extension, from_socket};
use genkan::wire::framing::{FrameFault, Lines, NmFrames, nm_frame};
use genkan::wire::handshake::{Acceptor, AcceptorStep, Dialer, DialerStep, Run};
use genkan::wire::json::{self as strict, JsonFault};
use genkan::wire::lock::LockRecord;
use genkan::wire::record::{self, Members, Record, Rung};
use genkan::wire::relay::{FromRelay, ToRelay};
use genkan::wire::rpc;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A text that is accepted is the value an ordinary parser sees; one that is refused has a reason of its own.
pub fn json(input: &[u8]) {
    let ordinary = serde_json::from_slice::<Value>(input);
    match strict::parse(input) {
        Ok(value) => {
            let (depth, values) = measure(&value);
            assert!(depth <= JSON_DEPTH_MAX && values <= JSON_VALUES_MAX);
            assert_eq!(strict::parse(strict::written(&value).as_bytes()).as_ref(), Ok(&value));
            assert_eq!(ordinary.ok().as_ref(), Some(&value));
        }
        Err(JsonFault::Duplicate | JsonFault::Depth | JsonFault::Values) => {}
        Err(fault) => assert!(ordinary.is_err(), "{fault}"),
    }
}

fn measure(value: &Value) -> (usize, usize) {
    let inner = |values: &mut dyn Iterator<Item = &Value>| {
        values.map(measure).fold((1, 1), |(deep, all), (depth, count)| (deep.max(depth + 1), all + count))
    };
    match value {
        Value::Array(list) => inner(&mut list.iter()),
        Value::Object(map) => inner(&mut map.values()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (0, 1),
    }
}

/// However a stream is cut into pieces, the same messages come out, and written again they are its beginning.
pub fn framing(input: &[u8]) {
    let [step, max, stream @ ..] = input else { return };
    let (step, max) = (usize::from(*step).max(1), usize::from(*max));
    let pieces = || stream.chunks(step);

    let mut frames = NmFrames::new(max);
    let verdict = pieces().try_for_each(|piece| frames.push(piece));
    let mut written = Vec::new();
    while let Some(json) = frames.next() {
        written.extend(nm_frame(&json, max).expect("what was read can be written"));
    }
    assert!(stream.starts_with(&written));
    whole_or_faulty(verdict, frames.finish(), written.len() == stream.len());
    if verdict.is_err() {
        assert_eq!(frames.push(b"{}"), verdict, "a fault is the end");
    }

    let mut lines = Lines::new(max);
    let verdict = pieces().try_for_each(|piece| lines.push(piece));
    let mut written = Vec::new();
    while let Some(line) = lines.next() {
        assert!(line.len() <= max && !line.contains(&b'\n'));
        written.extend(line);
        written.push(b'\n');
    }
    assert!(stream.starts_with(&written));
    whole_or_faulty(verdict, lines.finish(), written.len() == stream.len());
}

fn whole_or_faulty(verdict: Result<(), FrameFault>, end: Result<(), FrameFault>, whole: bool) {
    match verdict {
        Err(fault) => assert!(end == Err(fault) && !whole),
        Ok(()) => assert_eq!(end, if whole { Ok(()) } else { Err(FrameFault::CutShort) }),
    }
}

/// A line is a message that writes back equal, or a refusal whose answer is itself a proper response.
pub fn rpc(input: &[u8]) {
    match rpc::parse(input) {
        Ok(message) => {
            let value = message.clone().into_value();
            assert_eq!(strict::parse(input).as_ref(), Ok(&value));
            assert_eq!(rpc::parse(strict::written(&value).as_bytes()), Ok(message));
        }
        Err(fault) => {
            assert!(matches!(fault.code(), -32_700 | -32_600));
            let Some(answer) = fault.answer() else { return };
            let read = rpc::parse(strict::written(&answer).as_bytes());
            assert!(matches!(read, Ok(rpc::Message::Response { id, outcome: Err(_) }) if id == fault.id));
        }
    }
}

/// A frame is a request or a reply, never both; accepted frames keep their bounds and write back equal.
pub fn bridge(input: &[u8]) {
    let (frame, reply) = (BridgeFrame::parse(input), BridgeResp::parse(input));
    assert!(frame.is_err() || reply.is_err());
    if let Ok(frame) = frame {
        assert!(frame.id() <= SAFE_INTEGER_MAX);
        assert_eq!(BridgeFrame::parse(strict::written(&frame).as_bytes()), Ok(frame));
    }
    if let Ok(reply) = reply {
        assert!(reply.id() <= SAFE_INTEGER_MAX);
        if let BridgeResp::Done { data, .. } = &reply {
            assert!(data.text.len() <= RESULT_BYTES_MAX && (!data.text.is_empty() || data.image.is_some()));
            assert!(data.structured.is_none() || data.image.is_none());
        }
        assert_eq!(BridgeResp::parse(strict::written(&reply).as_bytes()), Ok(reply));
    }
    // A quote opens no frame; what follows it serves as text to cut, made long enough for several chunks.
    if let Some(Ok(text)) = input.strip_prefix(b"\"").map(core::str::from_utf8) {
        chunked(&text.repeat(CHUNK_TEXT_BYTES_MAX / text.len().max(1) + 2));
    }
}

/// A line goes one way only; accepted ones keep their bounds and write back equal.
pub fn relay(input: &[u8]) {
    let (up, down) = (FromRelay::parse(input), ToRelay::parse(input));
    assert!(up.is_err() || down.is_err());
    if let Ok(up) = up {
        assert_eq!(FromRelay::parse(strict::written(&up).as_bytes()), Ok(up));
    }
    if let Ok(down) = down {
        assert!(down.id() <= SAFE_INTEGER_MAX);
        assert_eq!(ToRelay::parse(strict::written(&down).as_bytes()), Ok(down));
    }
}

fn chunked(text: &str) {
    let Ok(pieces) = chunks(text, SAFE_INTEGER_MAX) else { return };
    let mut joined = String::new();
    for piece in &pieces {
        assert!(nm_frame(strict::written(piece).as_bytes(), NM_OUT_BYTES_MAX).is_ok());
        let Notice::Chunk { data, .. } = piece else { panic!("only chunks") };
        joined.push_str(data);
    }
    assert_eq!(joined, text);
}

/// A client has holders, not too many, each with whole paths; written again it is the same client.
pub fn client(input: &[u8]) {
    let Ok(client) = Client::parse(input) else { return };
    let holders = client.holders();
    assert!((1..=HOLDERS_MAX).contains(&holders.len()));
    for holder in holders {
        let script = holder.script.as_ref().map(|script| &script.path);
        assert!(holder.pid != 0 && (script.is_none() || holder.interpreter));
        assert!([Some(&holder.image.path), script].into_iter().flatten().all(|path| {
            path.starts_with(['/', '\\']) | path.contains(":\\") && path.len() <= CLIENT_PATH_BYTES_MAX
        }));
    }
    assert_eq!(Client::parse(strict::written(&client).as_bytes()), Ok(client));
}

/// What passes is one line, of exactly one link; control frames never leave the link of the extension.
pub fn control(input: &[u8]) {
    let (outward, inward) = (from_extension(input), from_socket(input));
    match &outward {
        Routed::Forward(reply) => {
            assert!(!input.contains(&b'\n'));
            assert_eq!(BridgeResp::parse(input).as_ref(), Ok(reply));
        }
        Routed::Handle(frame) => {
            assert!(matches!(inward, Routed::Dropped { .. }));
            assert_eq!(from_extension(strict::written(frame).as_bytes()), outward);
        }
        Routed::OtherVersion { .. } => assert!(matches!(inward, Routed::Dropped { .. })),
        Routed::Dropped { .. } => panic!("the extension's own link has no injections"),
        Routed::Malformed { ends, .. } => assert!(ends.is_none_or(|id| id <= SAFE_INTEGER_MAX)),
    }
    match &inward {
        Routed::Forward(frame) => assert_eq!(BridgeFrame::parse(input).as_ref(), Ok(frame)),
        Routed::Dropped { .. } => assert!(!matches!(outward, Routed::Forward(_))),
        Routed::Handle(_) | Routed::OtherVersion { .. } => panic!("the socket commands nothing"),
        Routed::Malformed { .. } => {}
    }
}

/// The run and nonces under which the seeds of the handshake were recorded.
pub const RUN: Run = Run { secret: [7; 32], records: [5; 32] };
/// The broker's.
pub const BROKER_NONCE: [u8; 32] = [1; 32];
/// The host's.
pub const PEER_NONCE: [u8; 32] = [2; 32];

/// The host's end, as in the seeds.
pub fn dialer() -> Dialer {
    let instance = "0123456789abcdef0123456789abcdef".into();
    let capabilities = vec![Capability::TabControl, Capability::PageRead];
    Dialer::new(RUN, PEER_NONCE, "chrome".into(), instance, 1, "0.1.0".into(), capabilities)
}

/// A relay's end, as in the seeds.
pub fn relay_dialer() -> Dialer {
    let client = r#"{"holders":[{"pid":7,"image":{"path":"/bin/client","device":1,"inode":2,"sha256":"HASH","package":false,"replaced":false},"interpreter":false}]}"#;
    let client = Client::parse(client.replace("HASH", &"5e".repeat(32)).as_bytes()).expect("a client");
    Dialer::relay(RUN, PEER_NONCE, "0123456789abcdef0123456789abcdef".into(), client)
}

/// Whatever lines come in whatever order: an end attaches at most once, only to proper names, and stays closed after a fault.
pub fn handshake(input: &[u8]) {
    let (mut broker, mut peer) = (Acceptor::new(RUN, BROKER_NONCE), dialer());
    let (mut broker_steps, mut peer_steps) = (Course::default(), Course::default());
    for line in input.split(|byte| *byte == b'\n') {
        let step = broker.on_line(line);
        broker_steps.went(step.is_ok());
        match step {
            Ok(AcceptorStep::Attach(browser)) => {
                assert!(
                    is_label(&browser.label)
                        && is_instance(&browser.instance)
                        && is_version(&browser.extension)
                );
                assert!(Capability::each_once(&browser.capabilities) && broker_steps.right == 2);
            }
            Ok(AcceptorStep::AttachRelay(relay)) => {
                assert!(is_instance(&relay.instance) && broker_steps.right == 2);
            }
            Ok(AcceptorStep::SendWelcome(_)) => assert_eq!(broker_steps.right, 1),
            Err(_) => {}
        }
        let step = peer.on_line(line);
        peer_steps.went(step.is_ok());
        match step {
            Ok(DialerStep::Attached { .. } | DialerStep::Refused(_)) => assert_eq!(peer_steps.right, 3),
            Ok(DialerStep::Send(_)) => assert!(peer_steps.right < 3),
            Err(_) => {}
        }
    }
}

#[derive(Default)]
struct Course {
    right: usize,
    closed: bool,
}

impl Course {
    fn went(&mut self, right: bool) {
        assert!(!(right && self.closed), "a fault is the end");
        self.closed |= !right;
        self.right += usize::from(right);
    }
}

/// A lock that is accepted writes back to one that says the same.
pub fn lock(input: &[u8]) {
    if let Ok(lock) = LockRecord::parse(input) {
        assert_eq!(LockRecord::parse(lock.written().as_bytes()), Ok(lock));
    }
}

/// A record in its third version, with one rung for each version before.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lamp {
    count: u64,
    on: Option<bool>,
    names: Vec<String>,
}

impl Record for Lamp {
    const NAME: &'static str = "lamp.json";
    const FIRST_VERSION: u32 = 1;
    const MIGRATIONS: &'static [Rung] = &[name_the_count, list_the_name];
    const BYTES_MAX: usize = 1_024;

    fn check(&self) -> Result<(), String> {
        if self.names.len() > 8 { Err("more names than fit on a lamp".into()) } else { Ok(()) }
    }
}

fn name_the_count(mut members: Members) -> Option<Members> {
    let count = members.remove("n")?;
    members.insert("count".into(), count).is_none().then_some(members)
}

fn list_the_name(mut members: Members) -> Option<Members> {
    let name = members.remove("name")?;
    members.insert("names".into(), Value::Array(vec![name])).is_none().then_some(members)
}

/// What is accepted keeps the bound and the type's rules; in our version it is written back byte for byte, and from an
/// older one it is lifted to what we would write now.
pub fn record(input: &[u8]) {
    let Ok(lamp) = record::parse::<Lamp>(input) else { return };
    assert!(input.len() <= Lamp::BYTES_MAX && lamp.names.len() <= 8);
    let Ok(written) = record::written(&lamp) else { panic!("what was read can be written") };
    assert_eq!(record::parse::<Lamp>(&written).as_ref(), Ok(&lamp));
    let current = format!("\"version\":{}}}\n", record::current::<Lamp>());
    assert!(written.ends_with(current.as_bytes()));
    assert_eq!(input.ends_with(current.as_bytes()), input == written);
}

/// A line that is accepted is the one way to write its record, and it is one line.
pub fn audit(input: &[u8]) {
    if let Ok(record) = AuditRecord::parse(input) {
        assert!(record.is_well_formed() && input.len() <= AUDIT_LINE_BYTES_MAX && !input.contains(&b'\n'));
        assert_eq!(record.line().as_bytes(), input);
        assert!(!record.line().contains(char::is_control));
    }
}
