//! A stranger's text made fit to show to a person: cut to a length, and free of characters that move the
//! cursor, reorder the line or hide. It changes looks only; what is compared or forwarded is the original.

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

/// Controls, line and paragraph separators, bidirectional marks, zero-width characters, tags, the byte order mark.
fn misleads(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_reorder_or_hide_are_spelt_out() {
        assert_eq!(shown("a\u{202e}b\n\u{200b}\u{1b}[2J", 64), "a\\u{202e}b\\u{a}\\u{200b}\\u{1b}[2J");
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
