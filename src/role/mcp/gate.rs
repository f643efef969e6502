//! Between the client's lines and rmcp: lets in only what is well formed for its era, pairs every answer with an
//! open request, and writes each refusal itself, so that no line can end the service.
//!
//! rmcp sees ids of ours, never used twice; the client's own id comes back on the one answer. An id that is in use
//! cannot be used again, a cancelled request has no answer, and progress is reported for open requests only.
//! Duplicate ids are refused without naming the id: an error that carried it would answer the first request.

use std::collections::BTreeMap;

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    ClientRequest, ErrorData, JsonRpcMessage, NumberOrString, ProgressToken, ServerJsonRpcMessage,
    ServerNotification,
};
use serde_json::{Map, Value, json};

use super::eras::{Era, malformed};
use super::requests;
use crate::base::limits::{MCP_LINE_BYTES_MAX, MCP_OPEN_REQUESTS_MAX};
use crate::wire::rpc::{self, Message, RequestId};

/// The state of one connection.
pub struct Gate {
    legacy: bool,
    era: Era,
    open: BTreeMap<i64, Open>,
    last: i64,
}

/// A request that has no answer yet.
struct Open {
    id: RequestId,
    token: Option<ProgressToken>,
}

/// What becomes of one line from the client.
pub enum Admitted {
    /// rmcp serves it.
    Serve(Box<ClientJsonRpcMessage>),
    /// It is answered with this line.
    Answer(Vec<u8>),
    /// Nothing follows from it.
    Nothing,
}

impl Gate {
    /// A connection on which nothing has been said; `legacy` is [`super::eras::LEGACY_ERA_SERVED`] outside tests.
    pub fn new(legacy: bool) -> Self {
        Self { legacy, era: Era::Unopened, open: BTreeMap::new(), last: 0 }
    }

    /// Judges one line; an empty one was too long to keep.
    pub fn admit(&mut self, line: &[u8]) -> Admitted {
        if line.is_empty() {
            let why = format!("The line is longer than {MCP_LINE_BYTES_MAX} bytes");
            return Admitted::Answer(self.refusal(None, ErrorData::invalid_request(why, None)));
        }
        match rpc::parse(line) {
            Ok(Message::Request { id, method, params }) => self.request(id, &method, params),
            Ok(Message::Notification { method, params }) if method == "notifications/cancelled" => {
                self.cancel(&params.unwrap_or_default())
            }
            // Nothing else that a client may announce changes what this server does, and it asks clients nothing.
            Ok(Message::Notification { .. } | Message::Response { .. }) => Admitted::Nothing,
            Err(fault) => match fault.answer() {
                Some(answer) => Admitted::Answer(self.line(answer)),
                None => Admitted::Nothing,
            },
        }
    }

    /// The line for a message of rmcp's, unless nobody waits for it any more.
    pub fn release(&mut self, message: ServerJsonRpcMessage) -> Option<Vec<u8>> {
        let message: ServerJsonRpcMessage = match message {
            JsonRpcMessage::Response(mut response) => {
                response.id = self.close(&response.id)?;
                JsonRpcMessage::Response(response)
            }
            JsonRpcMessage::Error(mut error) => {
                error.id = Some(self.close(error.id.as_ref()?)?);
                JsonRpcMessage::Error(error)
            }
            JsonRpcMessage::Notification(notification) => {
                let ServerNotification::ProgressNotification(progress) = &notification.notification else {
                    return None;
                };
                let token = &progress.params.progress_token;
                self.open.values().any(|open| open.token.as_ref() == Some(token)).then_some(())?;
                JsonRpcMessage::Notification(notification)
            }
            JsonRpcMessage::Request(_) => return None,
        };
        serde_json::to_vec(&message).ok().map(ended)
    }

    fn request(&mut self, id: RequestId, method: &str, params: Option<Map<String, Value>>) -> Admitted {
        if self.open.values().any(|open| open.id == id) {
            let error =
                ErrorData::invalid_request("The id of a request that is still open was used again", None);
            return Admitted::Answer(self.refusal(None, error));
        }
        match self.typed(method, params.unwrap_or_default()) {
            Ok((request, token)) => {
                self.era = self.era.after(method);
                self.last += 1;
                self.open.insert(self.last, Open { id, token });
                let id = NumberOrString::Number(self.last);
                Admitted::Serve(Box::new(ClientJsonRpcMessage::request(request, id)))
            }
            Err(error) => Admitted::Answer(self.refusal(Some(&id), error)),
        }
    }

    fn typed(
        &self,
        method: &str,
        mut params: Map<String, Value>,
    ) -> Result<(ClientRequest, Option<ProgressToken>), ErrorData> {
        if self.open.len() >= MCP_OPEN_REQUESTS_MAX {
            return Err(ErrorData::internal_error("Too many requests are open; wait for an answer", None));
        }
        let meta = requests::take_meta(&mut params)?;
        if let Some(error) = self.era.fault(method, &params, &meta, self.legacy) {
            return Err(error);
        }
        let token = meta.get_progress_token();
        if token.is_some() && self.open.values().any(|open| open.token == token) {
            return Err(malformed("_meta", &["progressToken"]));
        }
        Ok((requests::typed(method, &params, meta)?, token))
    }

    fn cancel(&mut self, params: &Map<String, Value>) -> Admitted {
        let named = |open: &Open| params.get("requestId") == Some(&open.id.to_value());
        let Some(ours) = self.open.iter().find(|(_, open)| named(open)).map(|(ours, _)| *ours) else {
            return Admitted::Nothing;
        };
        self.open.remove(&ours);
        let gone = CancelledNotificationParam::new(Some(NumberOrString::Number(ours)), None);
        let notification = ClientNotification::CancelledNotification(CancelledNotification::new(gone));
        Admitted::Serve(Box::new(ClientJsonRpcMessage::notification(notification)))
    }

    fn close(&mut self, ours: &NumberOrString) -> Option<NumberOrString> {
        match ours {
            NumberOrString::Number(ours) => self.open.remove(ours).map(|open| theirs(&open.id)),
            NumberOrString::String(_) => None,
        }
    }

    fn refusal(&self, id: Option<&RequestId>, error: ErrorData) -> Vec<u8> {
        self.line(match id {
            Some(id) => json!({"jsonrpc": "2.0", "id": id.to_value(), "error": error}),
            None => json!({"jsonrpc": "2.0", "error": error}),
        })
    }

    /// Without a known id the modern revision leaves `id` out; JSON-RPC, and so the legacy era, writes `null`.
    fn line(&self, mut error: Value) -> Vec<u8> {
        if self.era == Era::Handshake
            && let Some(members) = error.as_object_mut()
        {
            members.entry("id").or_insert(Value::Null);
        }
        ended(error.to_string().into_bytes())
    }
}

fn ended(mut line: Vec<u8>) -> Vec<u8> {
    line.push(b'\n');
    line
}

fn theirs(id: &RequestId) -> NumberOrString {
    match id {
        RequestId::Number(number) => NumberOrString::Number(*number),
        RequestId::Text(text) => NumberOrString::String(text.as_str().into()),
    }
}
