//! Reads the mermaid diagrams of a page.

/// One flowchart.
#[derive(Debug, Default)]
pub struct Diagram {
    /// Line on which it begins, for people.
    pub line: usize,
    /// `%% layers: NAME` in it says that it states a layer order.
    pub layers: Option<String>,
    pub boxes: Vec<Node>,
    /// (from, to) by box id.
    pub edges: Vec<(String, String)>,
    /// The paragraph behind the diagram.
    pub after: String,
}

/// A box: its id, and the lines of its label.
#[derive(Debug)]
pub struct Node {
    pub id: String,
    pub label: Vec<String>,
}

/// Every diagram of a page.
pub fn diagrams(page: &str) -> Vec<Diagram> {
    let mut found: Vec<Diagram> = Vec::new();
    let (mut inside, mut waiting) = (false, false);
    for (number, line) in page.lines().enumerate() {
        let text = line.trim();
        if inside {
            inside = text != "```";
            waiting = !inside;
            if let (true, Some(diagram)) = (inside, found.last_mut()) {
                diagram.read(text);
            }
        } else if text == "```mermaid" {
            inside = true;
            found.push(Diagram { line: number + 1, ..Diagram::default() });
        } else if let (true, Some(diagram)) = (waiting, found.last_mut()) {
            waiting =
                text.is_empty() && diagram.after.is_empty() || !text.is_empty() && !text.starts_with('#');
            if waiting {
                diagram.after += &format!("{text} ");
            }
            diagram.after = diagram.after.trim_start().into();
        }
    }
    found
}

impl Diagram {
    fn read(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("%% layers:") {
            self.layers = Some(name.trim().into());
        } else if let Some((id, rest)) = line.split_once("[\"") {
            let label = rest.split("\"]").next().unwrap_or_default();
            let label = label.split("<br>").map(|part| part.trim().to_string()).collect();
            self.boxes.push(Node { id: id.trim().into(), label });
        } else if let Some((from, rest)) = line.split_once("-->") {
            let to = rest.rsplit('|').next().unwrap_or_default();
            self.edges.push((from.trim().into(), to.trim().into()));
        }
    }
}

/// The links `[text](target)` of a text.
pub fn links(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let name = before.rsplit('[').next().unwrap_or_default();
        let target = after.split(')').next().unwrap_or_default();
        found.push((name, target));
        rest = after;
    }
    found
}
