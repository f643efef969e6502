//! Facts and rows for people: aligned, and wrapped to the terminal where one is looked at.

use crate::os::terminal;

/// Narrower than this, wrapping makes things worse.
const LAST_COLUMN_MIN: usize = 24;
const GAP: usize = 2;

/// Rows under a head. The last column holds what is long.
pub struct Table<const COLUMNS: usize> {
    rows: Vec<[String; COLUMNS]>,
    columns: Option<usize>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// A table with this head, for whoever looks at standard output.
    pub fn new(head: &[&str; COLUMNS]) -> Self {
        Self { rows: vec![head.map(str::to_string)], columns: terminal::columns() }
    }

    /// Adds a row.
    pub fn row(&mut self, row: [String; COLUMNS]) {
        self.rows.push(row);
    }

    /// The whole table.
    pub fn text(&self) -> String {
        let mut widths = [0; COLUMNS];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        self.rows.iter().map(|row| line(row, &widths, self.columns)).collect()
    }
}

/// One row with fixed widths, for tables that never end. The width of the last column is not looked at.
pub fn line<const COLUMNS: usize>(
    row: &[String; COLUMNS],
    widths: &[usize; COLUMNS],
    columns: Option<usize>,
) -> String {
    let Some((last, first)) = row.split_last() else { return String::new() };
    let mut text = String::new();
    for (cell, width) in first.iter().zip(widths) {
        text.push_str(cell);
        text.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count()) + GAP));
    }
    let indent = text.chars().count();
    let room = columns.map(|columns| columns.saturating_sub(indent)).filter(|room| *room >= LAST_COLUMN_MIN);
    for (index, part) in wrapped(last, room).iter().enumerate() {
        if index > 0 {
            text.extend(std::iter::repeat_n(' ', indent));
        }
        text.push_str(part);
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// Cut at spaces where possible, within a word where not.
fn wrapped(text: &str, room: Option<usize>) -> Vec<String> {
    let Some(room) = room else { return vec![text.into()] };
    let mut lines = vec![String::new()];
    let mut length = 0;
    for word in text.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        let gap = usize::from(length > 0);
        if length + gap + word.len() > room && length > 0 {
            lines.push(String::new());
            length = 0;
        } else if gap == 1 {
            lines.iter_mut().next_back().into_iter().for_each(|line| line.push(' '));
            length += 1;
        }
        loop {
            let rest = word.split_off(word.len().min(room - length));
            length += word.len();
            lines.iter_mut().next_back().into_iter().for_each(|line| line.extend(&word));
            if rest.is_empty() {
                break;
            }
            lines.push(String::new());
            (word, length) = (rest, 0);
        }
    }
    lines
}

/// One fact a line, indented under a question.
pub fn facts(facts: &[(&'static str, String)]) -> String {
    facts.iter().map(|(what, is)| format!("  {what:<13}{is}\n")).collect()
}

/// `2026-11-30 22:33:12` for milliseconds since 1970, in UTC.
pub fn utc(ms: u64) -> String {
    let seconds = ms / 1_000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", rest / 3_600, rest / 60 % 60, rest % 60)
}

/// Days since 1970 as a date; years are counted from March, so that leap days come last.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (951_868_800, "2000-03-01 00:00:00"),
            (1_798_761_599, "2026-12-31 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(utc(seconds * 1_000), text);
        }
    }

    #[test]
    fn a_long_last_column_goes_on_below_itself() {
        let row = ["a".to_string(), "one two three-and-a-very-long-word-without-a-space end".to_string()];
        let text = line(&row, &[4, 0], Some(30));
        assert_eq!(text, "a     one two\n      three-and-a-very-long-wo\n      rd-without-a-space end\n");
        assert!(text.lines().all(|line| line.chars().count() <= 30));
        assert_eq!(line(&row, &[4, 0], None).lines().count(), 1);
        assert_eq!(line(&row, &[4, 0], Some(10)).lines().count(), 1, "too narrow to wrap");
    }

    #[test]
    fn columns_stand_under_each_other() {
        let mut table = Table { rows: vec![["A".into(), "B".into()]], columns: None };
        table.row(["long".into(), "x".into()]);
        assert_eq!(table.text(), "A     B\nlong  x\n");
    }
}
