//! The one tool that the server answers itself: which browsers are connected and how to name them.

use serde_json::{Map, json};

use crate::bridge::session::BrowserRow;
use crate::wire::bridge::Outcome;

/// The rows as text and as data.
pub fn list(rows: &[BrowserRow]) -> Outcome {
    let text = if rows.is_empty() {
        "No browser is connected. Open the browser with the genkan extension.".into()
    } else {
        rows.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    let data: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({
                "browser": row.browser,
                "label": row.label,
                "instance": row.instance,
                "extension": row.extension,
                "capabilities": row.capabilities,
            })
        })
        .collect();
    let structured = Map::from_iter([("browsers".into(), json!(data))]);
    Outcome { text, structured: Some(structured), image: None }
}

fn line(row: &BrowserRow) -> String {
    format!("{} (extension {})", row.browser, row.extension)
}
