//! Draws a problem with the line that it is in, as `rustc` does:
//!
//! ```text
//! error[unknown-key]: unknown key `latencie` in `sw0`
//!  --> rig.toml:2:1
//!   |
//! 2 | latencie = "1 ns"
//!   | ^^^^^^^^
//!   |
//!   = hint: did you mean `latency`?
//! ```

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

/// Of a longer line a part of so many columns is drawn.
const WIDTH: usize = 140;
/// Columns that are drawn before and behind what is underlined, where there are some.
const AROUND: usize = 6;

/// Where a problem is.
pub(crate) struct Excerpt<'a> {
    pub path: &'a str,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The line, and which of its bytes are underlined, both ends between characters; nothing where it is only named.
    pub drawn: Option<(&'a str, Range<usize>)>,
}

/// Draws a problem: its code and message, where it is, and what to do. What would steer a terminal is replaced by a picture of it.
pub(crate) fn draw(code: &str, message: &str, excerpt: Option<Excerpt<'_>>, hint: Option<&str>) -> String {
    let label = format!("error[{code}]: ");
    let mut drawing = hanging(&label, message);
    let mut margin = String::new();
    // A line without an end, and its margin: what is drawn is joined to what follows.
    let mut is_open = true;
    if let Some(Excerpt { path, line, column, drawn }) = excerpt {
        let number = line.to_string();
        if drawn.is_some() {
            margin = " ".repeat(number.len());
        }
        let _ = write!(drawing, "\n{margin}--> {path}:{line}:{column}");
        is_open = drawn.is_some();
        if let Some((text, underlined)) = drawn {
            let (text, before, carets) = part_of(text, underlined);
            let gap = if text.is_empty() { "" } else { " " };
            let _ = write!(drawing, "\n{margin} |\n{number} |{gap}{text}");
            let _ = write!(drawing, "\n{margin} | {}{}", " ".repeat(before), "^".repeat(carets));
        }
    }
    if let Some(hint) = hint {
        if is_open {
            let _ = write!(drawing, "\n{margin} |");
        }
        let _ = write!(drawing, "\n{}", hanging(&format!("{margin} = hint: "), hint));
    }
    drawing
}

/// A text behind a label, its further lines below the first.
fn hanging(label: &str, text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(visible).collect();
    label.to_owned() + &lines.join(&format!("\n{}", " ".repeat(label.len())))
}

fn visible(text: &str) -> String {
    text.chars().map(picture).collect()
}

/// A line, or the part of a long one around what is underlined; columns before that, and its columns, at least one.
fn part_of(line: &str, underlined: Range<usize>) -> (String, usize, usize) {
    let columns = |text: &str| text.chars().map(width).sum::<usize>();
    let start = columns(&line[..underlined.start]);
    let end = start + columns(&line[underlined]).max(1);
    if columns(line) <= WIDTH {
        return (visible(line), start, end - start);
    }
    let spare = WIDTH.saturating_sub(end - start).max(2 * AROUND);
    let left = if end + AROUND <= WIDTH { 0 } else { start.saturating_sub(spare / 2) };
    let (mut part, mut at) = (String::from(if left > 0 { "..." } else { "" }), 0);
    let before = start - left + part.len();
    for character in line.chars() {
        if at >= left && at < left + WIDTH {
            part.push_str(&picture(character));
        }
        at += width(character);
    }
    if at > left + WIDTH {
        part.push_str("...");
    }
    (part, before, end.min(left + WIDTH) - start)
}

/// How a character is drawn.
fn picture(character: char) -> Cow<'static, str> {
    match character {
        '\t' => Cow::Borrowed("    "),
        // The pictures of these characters have their order.
        '\0'..'\u{20}' => {
            Cow::Owned(char::from_u32(0x2400 + character as u32).unwrap_or('\u{fffd}').to_string())
        }
        '\u{7f}' => Cow::Borrowed("\u{2421}"),
        // Joins two characters to one, in terminals that know the pair.
        '\u{200d}' => Cow::Borrowed(""),
        // Further controls, and what turns the direction of text.
        '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Cow::Borrowed("\u{fffd}"),
        _ => Cow::Owned(character.to_string()),
    }
}

/// Columns that a character takes: two if it is wide (Unicode Standard Annex 11; its large blocks), none if it is joined to another.
fn width(character: char) -> usize {
    match character {
        '\t' => 4,
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{303e}'
        | '\u{3041}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f900}'..='\u{1f9ff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, underlined: Range<usize>) -> String {
        let excerpt = Excerpt { path: "rig.toml", line: 12, column: 5, drawn: Some((text, underlined)) };
        draw("c", "m", Some(excerpt), None)
    }

    #[test]
    fn a_problem_is_drawn_with_its_line_and_hint() {
        let excerpt = Excerpt { path: "rig.toml", line: 2, column: 1, drawn: Some(("latencie = 1", 0..8)) };
        assert_eq!(
            draw("unknown-key", "unknown key", Some(excerpt), Some("one\ntwo")),
            "error[unknown-key]: unknown key\n --> rig.toml:2:1\n  |\n2 | latencie = 1\n  | ^^^^^^^^\n  |\n  = hint: one\n          two"
        );
        assert_eq!(draw("c", "m\nn", None, Some("h")), "error[c]: m\n          n\n |\n = hint: h");
        let named = Excerpt { path: "rig.toml", line: 2, column: 1, drawn: None };
        assert_eq!(draw("c", "m", Some(named), Some("h")), "error[c]: m\n--> rig.toml:2:1\n = hint: h");
    }

    #[test]
    fn what_is_underlined_stands_above_the_carets() {
        let tail = |text, underlined| drawn(text, underlined).split_once("12 |").unwrap().1.to_owned();
        assert_eq!(tail("", 0..0), "\n   | ^");
        assert_eq!(tail("ab", 2..2), " ab\n   |   ^");
        assert_eq!(tail("a\tb日本c\u{1b} d", 3..9), " a    b日本c\u{241b} d\n   |       ^^^^");
        assert_eq!(tail("e\u{301} = \u{202e}", 6..9), " e\u{301} = \u{fffd}\n   |     ^");
    }

    #[test]
    fn of_a_long_line_the_part_around_the_problem_is_drawn() {
        let line: String = ('a'..='z').flat_map(|letter| [letter; 20]).collect();
        for start in 0..line.len() {
            for length in [0, 1, 50, 127, 128, 140, 500] {
                let end = (start + length).min(line.len());
                let drawing = drawn(&line, start..end);
                let rows: Vec<&str> = drawing.lines().skip(3).map(|row| &row[5..]).collect();
                let carets = rows[1].chars().filter(|c| *c == '^').count();
                let at = rows[1].len() - carets;
                assert!(rows[0].len() <= WIDTH + 6 && carets > 0, "{drawing}");
                let shown = rows[0].get(at..at + carets).unwrap_or_default();
                assert!(start == line.len() || line[start..].starts_with(shown), "{drawing}");
                assert!(carets == (end - start).max(1) || carets > WIDTH - 2 * AROUND, "{drawing}");
            }
        }
    }
}
