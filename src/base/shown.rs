//! A stranger's text made fit to show to a person: cut to a length, and free of characters that move the
//! cursor, reorder the line or hide. It changes looks only; what is compared or forwarded is the original.

use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

/// At most `chars_max` characters of `text`; controls and invisible or reordering characters as `\u{…}`.
pub fn shown(text: &str, chars_max: usize) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    for c in chars.by_ref().take(chars_max) {
        if misleads(c) {
            let _ = write!(out, "{}", c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

/// A path between quotes, at most `chars_max` characters of it as they are shown, with the middle left out: whoever chose
/// its length and its words cannot end the quotes, nor push out what is said after it.
pub fn quoted(path: &str, chars_max: usize) -> String {
    let mut text = String::new();
    for c in path.chars() {
        if misleads(c) || matches!(c, '"' | '\\') {
            let _ = write!(text, "{}", c.escape_unicode());
        } else {
            text.push(c);
        }
    }
    let (length, half) = (text.chars().count(), chars_max / 2);
    if length > chars_max {
        let at = |n| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
        text.replace_range(at(half)..at(length - half), "…");
    }
    format!("\"{text}\"")
}

/// Controls, everything that Unicode lets a font leave out (Default_Ignorable_Code_Point), reordering marks, and each
/// space but the plain one: two texts that look alike are spelt alike.
fn misleads(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}')
        || matches!(c, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
        || matches!(c, '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}')
        || matches!(c, '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_reorder_or_hide_are_spelt_out() {
        assert_eq!(shown("a\u{202e}b\n\u{200b}\u{1b}[2J", 64), "a\\u{202e}b\\u{a}\\u{200b}\\u{1b}[2J");
    }

    #[test]
    fn what_cannot_be_seen_is_spelt_out() {
        let unseen = "\u{fe0f}\u{e0100}\u{34f}\u{17b5}\u{1d173}\u{115f}\u{3164}\u{2800}\u{a0}\u{206a}\u{ad}\u{3000}\u{ffa0}";
        for c in unseen.chars() {
            assert_eq!(shown(&format!("claude{c}"), 64), format!("claude{}", c.escape_unicode()));
        }
    }

    #[test]
    fn a_quoted_path_ends_where_it_ends_and_keeps_both_ends_of_a_long_one() {
        assert_eq!(quoted("/bin/a\", made by \"/b\\", 64), r#""/bin/a\u{22}, made by \u{22}/b\u{5c}""#);
        assert_eq!(quoted("/usr/bin/python3", 8), "\"/usr…hon3\"");
        // Spelt out, a character takes ten: the bound is on what is shown.
        let long = quoted(&"\u{e0100}\"".repeat(500), 96);
        assert_eq!((long.chars().count(), long.matches('"').count()), (99, 2));
        assert_eq!(quoted("/a\n", 64), "\"/a\\u{a}\"");
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        assert_eq!(shown("abcdef", 3), "abc…");
        assert_eq!(shown("abc", 3), "abc");
    }

    #[test]
    fn letters_of_any_script_stay() {
        assert_eq!(shown("玄関 Ünïcode", 64), "玄関 Ünïcode");
    }
}
