//! What a client reads: an outcome or a refusal as an MCP tool result.
//!
//! A refusal is a result with `isError`, so that the model can read it and react. Its text is
//! `CODE: sentence (retryable: yes|no)`; the same facts as data travel in `_meta` under [`REFUSAL_META`], because
//! `structuredContent` belongs to the output schema and some clients show nothing else beside it.
//! `structuredContent` appears only for a tool with an output schema, and never beside an image.

use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Value, json};

use crate::base::refusal::{Code, Refusal};
use crate::wire::bridge::Outcome;

/// The `_meta` member of a refused call: `{"code", "category", "retryable"}`.
pub const REFUSAL_META: &str = "com.vivswan.genkan/refusal";

/// The result of one call; `structured` says whether the tool declares an output schema.
pub fn result(structured: bool, outcome: Result<Outcome, Refusal>) -> CallToolResult {
    match outcome {
        Ok(outcome) if structured => listed(outcome),
        Ok(outcome) => plain(outcome),
        Err(refusal) => refused(&refusal),
    }
}

fn plain(outcome: Outcome) -> CallToolResult {
    let text = (!outcome.text.is_empty()).then(|| ContentBlock::text(outcome.text));
    let image = outcome.image.map(|image| ContentBlock::image(image.data, image.mime));
    CallToolResult::success(text.into_iter().chain(image).collect())
}

/// A declared schema is a promise: without the data the call failed, whatever the text says.
fn listed(outcome: Outcome) -> CallToolResult {
    let Some(data) = outcome.structured else {
        return refused(&Refusal::new(
            Code::InternalError,
            "The browser answered without the list as data. Update the genkan extension.",
        ));
    };
    let mut result = CallToolResult::success(vec![ContentBlock::text(outcome.text)]);
    result.structured_content = Some(Value::Object(data));
    result
}

fn refused(refusal: &Refusal) -> CallToolResult {
    let spec = refusal.code.spec();
    let retryable = if spec.retryable { "yes" } else { "no" };
    let text = format!("{refusal} (retryable: {retryable})");
    let mut meta = MetaObject::new();
    meta.insert(
        REFUSAL_META.into(),
        json!({"code": spec.code, "category": spec.category, "retryable": spec.retryable}),
    );
    CallToolResult::error(vec![ContentBlock::text(text)]).with_meta(Some(meta))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::bridge::Image;
    use serde_json::Map;

    fn json_of(structured: bool, outcome: Result<Outcome, Refusal>) -> Value {
        serde_json::to_value(result(structured, outcome)).unwrap()
    }

    fn outcome(text: &str) -> Outcome {
        Outcome { text: text.into(), structured: None, image: None }
    }

    #[test]
    fn a_refusal_reads_the_same_to_a_model_and_to_a_program() {
        let got = json_of(false, Err(Refusal::plain(Code::NotConnected)));
        assert_eq!(got["isError"], true);
        let text = got["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("NOT_CONNECTED: "), "{text}");
        assert!(text.ends_with("(retryable: yes)"), "{text}");
        assert_eq!(
            got["_meta"][REFUSAL_META],
            json!({"code": "NOT_CONNECTED", "category": "connection", "retryable": true})
        );
        assert!(got.get("structuredContent").is_none());
    }

    #[test]
    fn every_code_and_its_flag_stand_within_the_first_300_characters() {
        for spec in crate::base::refusal::ERROR_SPECS {
            let got = json_of(false, Err(Refusal::plain(spec.code)));
            assert!(got["content"][0]["text"].as_str().unwrap().len() <= 300, "{}", spec.name);
        }
    }

    #[test]
    fn an_image_never_travels_beside_structured_content() {
        let shot = Outcome {
            text: String::new(),
            structured: Some(Map::new()),
            image: Some(Image { mime: "image/png".into(), data: "AAAA".into() }),
        };
        let got = json_of(false, Ok(shot));
        assert_eq!(got["content"], json!([{"type": "image", "data": "AAAA", "mimeType": "image/png"}]));
        assert!(got.get("structuredContent").is_none());
    }

    #[test]
    fn a_declared_schema_without_its_data_is_a_failure() {
        assert_eq!(json_of(true, Ok(outcome("2 tabs")))["isError"], true);
        let mut listed = outcome("no tabs");
        listed.structured = Some(Map::from_iter([("tabs".into(), json!([]))]));
        let got = json_of(true, Ok(listed));
        assert_eq!(got["structuredContent"], json!({"tabs": []}));
        assert_eq!(got["content"], json!([{"type": "text", "text": "no tabs"}]));
    }
}
