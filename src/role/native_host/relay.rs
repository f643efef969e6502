//! What the host does with each frame: pass it on, answer it, drop it, or end the link. Pure but for the open calls.
//!
//! Decides that only answers to open calls reach the broker, that only requests and cancellations reach the browser,
//! and that a request too large for one browser frame is cut into chunks or refused for that call alone.

use std::collections::BTreeSet;

use crate::base::limits::{CALLS_MAX, NM_OUT_BYTES_MAX};
use crate::base::refusal::{Code, Refusal};
use crate::wire::bridge::{BridgeFrame, BridgeReq, BridgeResp, Door, LinkNotice, Notice, chunks};
use crate::wire::control::{FromExtension, Routed, from_extension, from_socket};
use crate::wire::json;

/// The calls that the browser has and the broker waits for.
#[derive(Debug, Default)]
pub struct Relay {
    open: BTreeSet<u64>,
}

/// What to do with a frame from the extension.
#[derive(Debug, PartialEq)]
pub enum BrowserFrame {
    /// For the host itself.
    Own(FromExtension),
    /// The extension speaks another version of the bridge.
    OtherVersion {
        /// The version it named.
        bridge: u32,
    },
    /// Send this line to the broker.
    Pass(Vec<u8>),
    /// An answer that nobody waits for.
    Late {
        /// The call it answers.
        id: u64,
    },
    /// The extension broke the protocol.
    Broken(String),
}

/// What to do with a line from the broker.
#[derive(Debug, PartialEq)]
pub enum BrokerLine {
    /// Send these JSON texts to the extension, each as a frame.
    Pass(Vec<String>),
    /// Send this line back to the broker.
    Answer(Vec<u8>),
    /// Who may enter through the broker now.
    Door(Door),
    /// Nobody needs to hear of it.
    Nothing,
    /// A control frame that came the wrong way.
    Injected {
        /// Its `type`.
        tag: &'static str,
    },
    /// The broker broke the protocol.
    Broken(String),
}

impl Relay {
    /// Judges one frame from the extension.
    pub fn judge_frame(&mut self, frame: &[u8]) -> BrowserFrame {
        match from_extension(frame) {
            Routed::Handle(own) => BrowserFrame::Own(own),
            Routed::OtherVersion { bridge } => BrowserFrame::OtherVersion { bridge },
            Routed::Forward(resp) if self.answers(&resp) => BrowserFrame::Pass(line(frame)),
            Routed::Forward(resp) => BrowserFrame::Late { id: resp.id() },
            Routed::Malformed { why, ends: Some(id) } if self.open.remove(&id) => {
                let why = format!("The extension's answer was not one genkan passes on: {why}.");
                BrowserFrame::Pass(failed(id, Refusal::new(Code::ExecutionFailed, why)))
            }
            Routed::Malformed { ends: Some(id), .. } => BrowserFrame::Late { id },
            Routed::Malformed { why, ends: None } => BrowserFrame::Broken(why.to_string()),
            Routed::Dropped { tag } => BrowserFrame::Broken(format!("it sent the host's own frame {tag}")),
        }
    }

    /// Judges one line from the broker. `may_pass` is asked for requests alone: a refused one never reaches the browser.
    pub fn judge_line(&mut self, line: &[u8], may_pass: impl FnOnce() -> Result<(), Refusal>) -> BrokerLine {
        if let Some(LinkNotice::Door { door }) = LinkNotice::parse(line) {
            return BrokerLine::Door(door);
        }
        match from_socket(line) {
            Routed::Forward(frame) => self.asked(frame, line, may_pass),
            Routed::Dropped { tag } => BrokerLine::Injected { tag },
            Routed::Malformed { why, .. } => BrokerLine::Broken(why.to_string()),
            Routed::Handle(_) | Routed::OtherVersion { .. } => {
                BrokerLine::Broken("it spoke as the extension".into())
            }
        }
    }

    /// Forgets every open call: what to tell the extension about them once the broker is gone.
    pub fn forget(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.open).into_iter().map(|id| Notice::Cancel { id }).collect()
    }

    /// Whether no call is open.
    pub fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether an open call is answered; a final answer closes it.
    fn answers(&mut self, resp: &BridgeResp) -> bool {
        match resp {
            BridgeResp::Progress { id, .. } => self.open.contains(id),
            BridgeResp::Done { id, .. } | BridgeResp::Failed { id, .. } => self.open.remove(id),
        }
    }

    fn asked(
        &mut self,
        frame: BridgeFrame,
        line: &[u8],
        may_pass: impl FnOnce() -> Result<(), Refusal>,
    ) -> BrokerLine {
        let Ok(text) = std::str::from_utf8(line) else { return BrokerLine::Nothing };
        match frame {
            BridgeFrame::Request(BridgeReq { id, .. }) => match may_pass() {
                Ok(()) => self.open(id, text),
                Err(refusal) => BrokerLine::Answer(failed(id, refusal)),
            },
            BridgeFrame::Notice(Notice::Cancel { id }) if self.open.remove(&id) => {
                BrokerLine::Pass(vec![text.into()])
            }
            BridgeFrame::Notice(Notice::Cancel { .. }) => BrokerLine::Nothing,
            BridgeFrame::Notice(Notice::Chunk { .. }) => {
                BrokerLine::Broken("it sent a chunk, which only the host makes".into())
            }
        }
    }

    fn open(&mut self, id: u64, text: &str) -> BrokerLine {
        if self.open.len() >= CALLS_MAX {
            return BrokerLine::Broken(format!("it left more than {CALLS_MAX} calls open"));
        }
        let texts = if text.len() <= NM_OUT_BYTES_MAX {
            vec![text.into()]
        } else {
            match chunks(text, id) {
                Ok(pieces) => pieces.iter().map(json::written).collect(),
                Err(_) => return BrokerLine::Answer(failed(id, Refusal::plain(Code::PayloadTooLarge))),
            }
        };
        if self.open.insert(id) {
            BrokerLine::Pass(texts)
        } else {
            BrokerLine::Broken("it used an id twice".into())
        }
    }
}

fn failed(id: u64, error: Refusal) -> Vec<u8> {
    line(json::written(&BridgeResp::Failed { id, error }).as_bytes())
}

fn line(text: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(text.len() + 1);
    line.extend_from_slice(text);
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::limits::CHUNK_TOTAL_BYTES_MAX;

    fn request(id: u64, value: &str) -> Vec<u8> {
        let caller = json!({ "key": "k", "name": "n", "image": "", "verified": false });
        let args = json!({ "value": value });
        json!({ "id": id, "op": "page_fill", "args": args, "caller": caller, "deadline": 1000 })
            .to_string()
            .into_bytes()
    }

    fn done(id: u64) -> Vec<u8> {
        json!({ "id": id, "ok": true, "data": { "text": "done" } }).to_string().into_bytes()
    }

    fn pass(relay: &mut Relay, line: &[u8]) -> BrokerLine {
        relay.judge_line(line, || Ok(()))
    }

    fn with_open(id: u64) -> Relay {
        let mut relay = Relay::default();
        assert!(matches!(pass(&mut relay, &request(id, "")), BrokerLine::Pass(texts) if texts.len() == 1));
        relay
    }

    #[test]
    fn an_answer_passes_once_and_only_to_an_open_call() {
        let mut relay = with_open(7);
        assert_eq!(relay.judge_frame(&done(8)), BrowserFrame::Late { id: 8 });
        assert!(matches!(relay.judge_frame(&done(7)), BrowserFrame::Pass(line) if line.ends_with(b"}\n")));
        assert_eq!(relay.judge_frame(&done(7)), BrowserFrame::Late { id: 7 });
    }

    #[test]
    fn progress_leaves_the_call_open() {
        let mut relay = with_open(7);
        let progress = br#"{"type":"progress","id":7,"state":"confirming"}"#;
        assert!(matches!(relay.judge_frame(progress), BrowserFrame::Pass(_)));
        assert!(matches!(relay.judge_frame(&done(7)), BrowserFrame::Pass(_)));
        assert_eq!(relay.judge_frame(progress), BrowserFrame::Late { id: 7 });
    }

    #[test]
    fn a_cancelled_call_is_closed_and_its_late_answer_dropped() {
        let mut relay = with_open(7);
        let cancel = br#"{"type":"cancel","id":7}"#;
        assert!(matches!(pass(&mut relay, cancel), BrokerLine::Pass(_)));
        assert_eq!(pass(&mut relay, cancel), BrokerLine::Nothing);
        assert_eq!(relay.judge_frame(&done(7)), BrowserFrame::Late { id: 7 });
    }

    #[test]
    fn a_request_too_large_for_a_frame_is_cut_and_one_too_large_for_chunks_is_answered() {
        let mut relay = Relay::default();
        let large = request(1, &"x".repeat(NM_OUT_BYTES_MAX));
        let BrokerLine::Pass(texts) = pass(&mut relay, &large) else { panic!("not cut") };
        assert!(texts.len() > 1 && texts.iter().all(|text| text.len() <= NM_OUT_BYTES_MAX));
        let huge = request(2, &"x".repeat(CHUNK_TOTAL_BYTES_MAX));
        let BrokerLine::Answer(line) = pass(&mut relay, &huge) else { panic!("not answered") };
        assert!(String::from_utf8(line).unwrap().contains("PAYLOAD_TOO_LARGE"));
        assert_eq!(relay.judge_frame(&done(2)), BrowserFrame::Late { id: 2 });
    }

    #[test]
    fn a_frame_exactly_at_the_browsers_limit_is_not_cut() {
        let empty = request(1, "").len();
        let exact = request(1, &"x".repeat(NM_OUT_BYTES_MAX - empty));
        assert_eq!(exact.len(), NM_OUT_BYTES_MAX);
        assert!(matches!(pass(&mut Relay::default(), &exact), BrokerLine::Pass(texts) if texts.len() == 1));
        let over = request(1, &"x".repeat(NM_OUT_BYTES_MAX - empty + 1));
        assert!(matches!(pass(&mut Relay::default(), &over), BrokerLine::Pass(texts) if texts.len() > 1));
    }

    #[test]
    fn a_malformed_answer_fails_its_call_alone_and_other_junk_ends_the_link() {
        let mut relay = with_open(7);
        let bad = br#"{"id":7,"ok":true,"data":{"text":""}}"#;
        let BrowserFrame::Pass(line) = relay.judge_frame(bad) else { panic!("not answered") };
        assert!(String::from_utf8(line).unwrap().contains("EXECUTION_FAILED"));
        assert!(matches!(relay.judge_frame(b"{}"), BrowserFrame::Broken(_)));
        assert!(matches!(relay.judge_frame(b"\xff"), BrowserFrame::Broken(_)));
    }

    #[test]
    fn the_broker_may_only_request_and_cancel() {
        let mut relay = with_open(7);
        let status = br#"{"type":"host_status"}"#;
        assert_eq!(pass(&mut relay, status), BrokerLine::Injected { tag: "host_status" });
        let chunk = br#"{"type":"chunk","id":7,"seq":0,"last":true,"data":"x"}"#;
        assert!(matches!(pass(&mut relay, chunk), BrokerLine::Broken(_)));
        assert!(matches!(pass(&mut relay, &request(7, "")), BrokerLine::Broken(_)));
        assert!(matches!(pass(&mut relay, &done(7)), BrokerLine::Broken(_)));
    }

    #[test]
    fn a_request_that_may_not_pass_is_answered_and_opens_nothing() {
        let mut relay = with_open(7);
        let killed = || Err(Refusal::plain(Code::BridgeKilled));
        let BrokerLine::Answer(line) = relay.judge_line(&request(8, ""), killed) else { panic!("passed") };
        assert!(String::from_utf8(line).unwrap().contains("BRIDGE_KILLED"));
        assert_eq!(relay.judge_frame(&done(8)), BrowserFrame::Late { id: 8 });
        let cancel = br#"{"type":"cancel","id":7}"#;
        assert!(
            matches!(relay.judge_line(cancel, killed), BrokerLine::Pass(_)),
            "what runs may still be stopped"
        );
    }

    #[test]
    fn open_calls_are_bounded() {
        let mut relay = Relay::default();
        for id in 0..CALLS_MAX as u64 {
            assert!(matches!(pass(&mut relay, &request(id, "")), BrokerLine::Pass(_)));
        }
        assert!(matches!(pass(&mut relay, &request(CALLS_MAX as u64, "")), BrokerLine::Broken(_)));
        assert_eq!(relay.forget().len(), CALLS_MAX);
        assert!(relay.forget().is_empty());
    }
}
