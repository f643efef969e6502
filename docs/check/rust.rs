//! Rust text without what is not code, and the paths it names.

/// The text without comments and without the content of strings.
pub fn code(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skip = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = string(rest) {
            out.push_str("\"\"");
            length
        } else {
            out.push(c);
            // A name that ends in r or b before a quote is no raw string.
            let word = if c.is_alphanumeric() || c == '_' { name_length(rest) } else { c.len_utf8() };
            out.push_str(rest.get(c.len_utf8()..word).unwrap_or_default());
            word
        };
        rest = rest.get(skip..).unwrap_or_default();
    }
    out
}

fn name_length(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

/// Length of the string or character that the text begins with.
fn string(text: &str) -> Option<usize> {
    let prefix = ["b", "c", ""]
        .into_iter()
        .find(|p| text.strip_prefix(p).is_some_and(|t| t.starts_with(['"', 'r', '\''])))?;
    let body = text.strip_prefix(prefix)?;
    if let Some(raw) = body.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let inner = raw.trim_start_matches('#').strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let length = inner.find(&end).map_or(inner.len(), |at| at + end.len());
        return Some(text.len() - inner.len() + length);
    }
    if let Some(inner) = body.strip_prefix('"') {
        return Some(text.len() - inner.len() + quoted(inner, '"')?);
    }
    let inner = body.strip_prefix('\'')?;
    let mut letters = inner.chars();
    let first = letters.next()?;
    // 'a is a lifetime, 'a' is a character.
    (first == '\\' || letters.next() == Some('\''))
        .then(|| quoted(inner, '\'').map(|n| text.len() - inner.len() + n))?
}

fn quoted(inner: &str, end: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in inner.char_indices() {
        match (escaped, c) {
            (true, _) => escaped = false,
            (false, '\\') => escaped = true,
            (false, c) if c == end => return Some(at + c.len_utf8()),
            (false, _) => {}
        }
    }
    Some(inner.len())
}

/// Code without what only tests compile.
pub fn product(code: &str) -> String {
    let mut out = String::new();
    let mut rest = code;
    while let Some((before, after)) = rest.split_once("#[cfg(test)]") {
        out.push_str(before);
        rest = after.get(item_length(after)..).unwrap_or_default();
    }
    out + rest
}

fn item_length(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// Every path that begins with `root`, such as `crate`, one entry per leaf of a `use` tree.
pub fn paths(code: &str, root: &str) -> Vec<Vec<String>> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let starts = *token == root && tokens.get(at + 1).is_some_and(|t| *t == "::");
        if starts && at.checked_sub(1).and_then(|b| tokens.get(b)).is_none_or(|t| *t != "::") {
            tree(&tokens, at + 2, &[], &mut found);
        }
    }
    found
}

fn tree(tokens: &[&str], mut at: usize, above: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut path = above.to_vec();
    while let Some(token) = tokens.get(at) {
        match *token {
            "::" => at += 1,
            "{" => {
                at += 1;
                while let Some(token) = tokens.get(at).filter(|t| **t != "}") {
                    at = if *token == "," { at + 1 } else { tree(tokens, at, &path, found).max(at + 1) };
                }
                return at + 1;
            }
            name if name.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                path.push(name.into());
                at += 1;
                if tokens.get(at).is_none_or(|t| *t != "::") {
                    break;
                }
            }
            _ => break,
        }
    }
    // `as other` belongs to the leaf.
    if tokens.get(at).is_some_and(|t| *t == "as") {
        at += 2;
    }
    found.push(path);
    at
}

fn tokens(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        let length = if rest.starts_with("::") { 2 } else { name_length(rest).max(c.len_utf8()) };
        let (token, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        if !token.trim().is_empty() {
            found.push(token);
        }
        rest = after;
    }
    found
}
