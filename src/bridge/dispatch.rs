//! The gates of one call, in the only order there is: the arguments fit the tool, one browser is meant and speaks our
//! version, its extension offers the tool. Whatever fails is refused before anything is sent. It does not know the
//! policy of sites, which the extension judges, or how long the call may wait.

use alloc::{format, string::String};
use serde_json::{Map, Value};

use crate::base::refusal::{Code, Refusal};
use crate::bridge::catalogue::{BROWSER_ARG, Tool};
use crate::bridge::session::{InFlight, Link, Session, Unmet, Unsent, Watch};
use crate::wire::bridge::{BridgeReq, Caller, Capability};

/// A call whose arguments were checked. Made by [`Ask::check`] only.
pub struct Ask {
    capability: Capability,
    request: BridgeReq,
}

impl Ask {
    /// The first gate: the arguments, the browser's name included, are what the tool's schema says.
    pub fn check(
        tool: &'static Tool,
        browser: Option<String>,
        mut args: Map<String, Value>,
        caller: Caller,
    ) -> Result<Self, Refusal> {
        let Some(capability) = tool.capability else {
            return Err(Refusal::new(
                Code::InternalError,
                format!("{} is answered without a browser.", tool.name),
            ));
        };
        if let Some(browser) = browser {
            args.insert(BROWSER_ARG.name.into(), Value::String(browser));
        }
        tool.check(&args)?;
        let browser = args.remove(BROWSER_ARG.name).and_then(|b| b.as_str().map(String::from));
        let request = BridgeReq { id: 0, op: tool.name.into(), browser, args, caller, deadline: 0 };
        Ok(Self { capability, request })
    }

    /// What the client wrote to name a browser.
    pub fn target(&self) -> Option<&str> {
        self.request.browser.as_deref()
    }

    /// The other gates: opens the call at the one browser meant, if that one offers the tool.
    pub fn open<L: Link>(
        &self,
        session: &Session<L>,
        watch: Option<Watch>,
        now: u64,
    ) -> Result<InFlight<L>, Unmet> {
        let call = session.begin(self.target(), watch, now)?;
        if !call.browser().capabilities.contains(&self.capability) {
            return Err(Unmet::Refused(Refusal::new(
                Code::ExtensionNotReady,
                format!(
                    "The extension in {} does not offer {} now. Update or reload the extension, then try again.",
                    call.browser().identity.label,
                    self.request.op
                ),
            )));
        }
        Ok(call)
    }

    /// Sends the request with what is left of its time, in milliseconds.
    pub fn send<L: Link>(&mut self, call: &mut InFlight<L>, deadline: u32) -> Result<(), Unsent> {
        self.request.deadline = deadline;
        call.send(&mut self.request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::catalogue::tool;
    use crate::bridge::session::Browser;
    use crate::bridge::target::Identity;
    use crate::wire::bridge::BRIDGE_PROTOCOL_VERSION;
    use alloc::{sync::Arc, vec, vec::Vec};
    use serde_json::json;
    use std::sync::Mutex;

    /// Keeps what it was asked to send.
    #[derive(Clone, Default)]
    struct Outbox(Arc<Mutex<Vec<BridgeReq>>>);

    impl Link for Outbox {
        fn request(&self, request: &BridgeReq) -> Result<(), Unsent> {
            self.0.lock().unwrap().push(request.clone());
            Ok(())
        }
        fn cancel(&self, _: u64) {}
        fn close(&self) {}
    }

    fn attached(label: &str, bridge: u32, capabilities: Vec<Capability>) -> (Session<Outbox>, Outbox) {
        let (session, outbox) = (Session::default(), Outbox::default());
        let identity = Identity { label: label.into(), instance: "0123456789abcdef".repeat(2) };
        let browser = Browser { identity, bridge, extension: "0.1.0".into(), capabilities };
        let _ = session.attach(browser, outbox.clone(), 0);
        (session, outbox)
    }

    fn ask(name: &str, browser: Option<&str>, args: Value) -> Result<Ask, Refusal> {
        let caller = Caller { key: "k".into(), name: "n".into(), image: "/i".into(), verified: false };
        let Value::Object(args) = args else { panic!("arguments are an object") };
        Ask::check(tool(name).unwrap(), browser.map(String::from), args, caller)
    }

    fn refused(session: &Session<Outbox>, ask: &Ask) -> Code {
        match ask.open(session, None, 0) {
            Err(Unmet::Refused(refusal)) => refusal.code,
            Err(Unmet::Absent { .. }) => panic!("absent"),
            Ok(_) => panic!("opened"),
        }
    }

    #[test]
    fn wrong_arguments_are_refused_before_a_browser_is_looked_for() {
        let code = |result: Result<Ask, Refusal>| result.err().map(|refusal| refusal.code);
        assert_eq!(code(ask("tab_focus", None, json!({}))), Some(Code::InvalidArgument));
        assert_eq!(code(ask("tab_focus", None, json!({"tabId": 1, "x": 1}))), Some(Code::InvalidArgument));
        assert_eq!(code(ask("tab_list", Some(""), json!({}))), Some(Code::InvalidArgument));
        assert_eq!(code(ask("tab_list", Some(&"x".repeat(129)), json!({}))), Some(Code::InvalidArgument));
        assert_eq!(code(ask("list_browsers", None, json!({}))), Some(Code::InternalError));
    }

    #[test]
    fn a_tool_that_is_not_offered_is_refused_and_nothing_is_sent() {
        let (session, outbox) = attached("chrome", BRIDGE_PROTOCOL_VERSION, vec![Capability::PageRead]);
        assert_eq!(refused(&session, &ask("tab_list", None, json!({})).unwrap()), Code::ExtensionNotReady);
        assert!(outbox.0.lock().unwrap().is_empty());
        assert!(ask("page_text", None, json!({})).unwrap().open(&session, None, 0).is_ok());
    }

    #[test]
    fn a_browser_of_another_version_is_named_with_both_versions() {
        let (session, _) = attached("chrome", BRIDGE_PROTOCOL_VERSION + 1, vec![Capability::TabControl]);
        let Err(Unmet::Refused(refusal)) = ask("tab_list", None, json!({})).unwrap().open(&session, None, 0)
        else {
            panic!("opened")
        };
        assert_eq!(refusal.code, Code::ProtocolMismatch);
        assert!(
            refusal.message.contains("bridge version 2") && refusal.message.contains("program version 1"),
            "{refusal}"
        );
    }

    #[test]
    fn the_request_carries_target_arguments_and_what_is_left_of_the_time() {
        let (session, outbox) = attached("chrome", BRIDGE_PROTOCOL_VERSION, vec![Capability::TabControl]);
        let mut ask = ask("tab_focus", None, json!({"tabId": 7, "browser": "chrome"})).unwrap();
        assert_eq!(ask.target(), Some("chrome"));
        let mut call = ask.open(&session, None, 0).unwrap_or_else(|_| panic!("not opened"));
        ask.send(&mut call, 1234).unwrap();
        let sent = outbox.0.lock().unwrap().pop().unwrap();
        assert_eq!((sent.id, sent.op.as_str(), sent.deadline), (call.id(), "tab_focus", 1234));
        assert_eq!(sent.browser.as_deref(), Some("chrome"));
        assert_eq!(Value::Object(sent.args), json!({"tabId": 7}));
    }
}
