//! Syntax errors: how they are told, and what they are to blame for.
//!
//! The parser goes on after a mistake as well as it can. What it makes of the rest of the line, or of a list that is
//! never closed, is no mistake of its own; nor is it one to name what stood where nothing could be read.

use crate::diagnostic::Diagnostic;
use crate::document::{BEYOND_128_BITS, NESTING_LIMIT, Node, Table, Value, shortened};
use crate::file::is_plain;
use crate::problem::Problem;
use crate::source::{FileId, Place, SourceFile};
use crate::structure::ComponentKind;
use lanewise_units::order;
use std::collections::BTreeSet;

/// Which part of a text could not be read.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    file: Option<FileId>,
    /// Lines with a syntax error, from 1.
    lines: BTreeSet<usize>,
    /// Where a list, a table or a text begins that is never closed.
    open_at: Option<u32>,
    /// Whether keys or tables were lost, not only values.
    loses_keys: bool,
}

/// Beginnings of the parser's messages after which it knows the key all the same. Of any other error it is assumed
/// that something was lost.
const KEY_IS_KNOWN: [&str; 13] = [
    "carriage return",
    "extra `=`",
    "invalid basic string",
    "invalid boolean",
    "invalid float",
    "invalid literal string",
    "invalid mantissa",
    "invalid multi-line",
    "missing escaped value",
    "missing opening quote",
    "string values must be quoted",
    "unexpected key or value",
    "unexpected leading zero",
];

/// Reports syntax errors: one for each line, and one for what is never closed.
pub(crate) fn report(
    file: FileId,
    source: &SourceFile,
    errors: &[toml::de::Error],
    root: &Table,
    diagnostics: &mut Vec<Diagnostic>,
) -> Damage {
    let mut damage = Damage { file: Some(file), ..Damage::default() };
    let mut errors: Vec<_> =
        errors.iter().map(|error| (error.span().unwrap_or(0..0), error.message())).collect();
    order::sort_by_key(&mut errors, |(span, _)| span.start);
    let values = if errors.is_empty() { Vec::new() } else { values_of_several_lines(root, source) };
    let mut unclosed = errors.iter().filter(|(_, message)| *message != "duplicate key");
    // The errors are in order, so the first is that of what begins first.
    let open = unclosed.find_map(|(span, _)| open_before(&values, source, span.start));
    if let Some(place) = open {
        damage.open_at = Some(place.start);
        damage.loses_keys = true;
        diagnostics.push(never_closed(source, place));
    }
    for (span, message) in errors {
        let place = Place::new(file, span.clone());
        if damage.open_at.is_some_and(|open| place.start > open) {
            continue;
        }
        let (line, _) = source.line_column(span.start);
        if message == "duplicate key" {
            // After a heading that could not be read, the parser is wrong about what came before.
            if damage.lines.contains(&line) || (damage.loses_keys && is_heading(source, line)) {
                continue;
            }
            if is_heading(source, line) {
                damage.lose_table(source, line);
            }
            diagnostics.push(written_twice(source, place));
            continue;
        }
        if !damage.lines.insert(line) {
            continue;
        }
        if is_heading(source, line) {
            // The keys below belong to a table that is not known.
            damage.lose_table(source, line);
        }
        damage.loses_keys |= !KEY_IS_KNOWN.iter().any(|known| message.starts_with(known));
        if !is_too_deep(message) {
            diagnostics.push(syntax_error(source, place, message));
        } else if !is_reported_in(source, line, diagnostics) {
            let allowed = NESTING_LIMIT.to_string();
            diagnostics.push(Diagnostic::at(place, Problem::NestedTooDeeply { allowed }));
        }
    }
    damage
}

/// Whether the parser has its own limit, which is above ours.
fn is_too_deep(message: &str) -> bool {
    message.contains("recursion") || message.contains("recurse")
}

/// Whether a line is known to be nested too deeply.
fn is_reported_in(source: &SourceFile, line: usize, diagnostics: &[Diagnostic]) -> bool {
    let too_deep = diagnostics.iter().filter(|each| matches!(each.problem, Problem::NestedTooDeeply { .. }));
    let mut places = too_deep.filter_map(|each| each.place);
    places.any(|place| source.line_column(place.start as usize).0 == line)
}

fn is_heading(source: &SourceFile, line: usize) -> bool {
    source.text[source.line_range(line)].trim_start().starts_with('[')
}

/// Outermost values that take several lines, in the order of the text; none is inside another.
fn values_of_several_lines(root: &Table, source: &SourceFile) -> Vec<Place> {
    fn collect(node: &Node, source: &SourceFile, found: &mut Vec<Place>) {
        let line = |at: u32| source.line_column(at as usize).0;
        if line(node.place.start) < line(node.place.end) {
            found.push(node.place);
            return;
        }
        match &node.value {
            Value::Table(table) => table.iter().for_each(|entry| collect(&entry.node, source, found)),
            Value::Array(items) => items.iter().for_each(|item| collect(item, source, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    root.iter().for_each(|entry| collect(&entry.node, source, &mut found));
    order::sort_by_key(&mut found, |place| place.start);
    found
}

/// The one of these values that begins in a line above the error and has no end before it.
fn open_before(values: &[Place], source: &SourceFile, error: usize) -> Option<Place> {
    let above = values.partition_point(|place| (place.start as usize) < error);
    let place = values[..above].last().filter(|place| error <= place.end as usize)?;
    (source.line_column(place.start as usize).0 < source.line_column(error).0).then_some(*place)
}

fn never_closed(source: &SourceFile, place: Place) -> Diagnostic {
    let text = &source.text[place.start as usize..];
    let (opening, closing) = match text.as_bytes() {
        [b'[', ..] => ("[", "]"),
        [b'{', ..] => ("{", "}"),
        [b'\'', ..] => ("'''", "'''"),
        _ => ("\"\"\"", "\"\"\""),
    };
    let end = place.start as usize + opening.len();
    let place = Place::new(place.file, place.start as usize..end.min(source.text.len()));
    let reason = format!("what `{opening}` opens is not closed with `{closing}`, or not where it should be");
    Diagnostic::at(place, Problem::Syntax { reason }).hint("what follows could not be read")
}

/// The first `[workload]` in single brackets, which makes every other one a second one.
fn single_bracket(source: &SourceFile, file: FileId) -> Option<Place> {
    let is_it = |line: &usize| source.text[source.line_range(*line)].trim() == "[workload]";
    let range = source.line_range((1..=source.lines()).find(is_it)?);
    Some(Place::new(file, range))
}

fn written_twice(source: &SourceFile, place: Place) -> Diagnostic {
    let key = shortened(source.text.get(place.start as usize..place.end as usize).unwrap_or_default());
    if let Some(place) = single_bracket(source, place.file).filter(|_| key == "workload") {
        let reason = "a workload is one of a list of tables".to_owned();
        return Diagnostic::at(place, Problem::Syntax { reason })
            .hint("write `[[workload]]`, in double brackets");
    }
    let reason = format!("`{key}` is written a second time; a table and a key have one place each");
    let hint = "put what belongs together in one place, or choose another name";
    Diagnostic::at(place, Problem::Syntax { reason }).hint(hint)
}

fn syntax_error(source: &SourceFile, place: Place, message: &str) -> Diagnostic {
    let found = source.text.get(place.start as usize..place.end as usize).unwrap_or_default();
    let strange = source.text.get(place.start as usize..).and_then(|text| text.chars().next());
    let strange = strange.filter(|c| !c.is_ascii_graphic() && !c.is_ascii_whitespace());
    let (line, _) = source.line_column(place.start as usize);
    let hint = hint_of_line(message, &source.text[source.line_range(line)])
        .or_else(|| hint(message, found))
        .or_else(|| strange.map(|c| format!("the character here is U+{:04X}", u32::from(c))));
    let reason = message.split_whitespace().collect::<Vec<_>>().join(" ");
    Diagnostic::at(place, Problem::Syntax { reason }).maybe_hint(hint)
}

/// How it is written, where the whole line tells what was meant.
fn hint_of_line(message: &str, line: &str) -> Option<String> {
    let text = line.trim();
    let is_key = |key: &str| !key.is_empty() && is_plain(key);
    if text.starts_with('[') {
        return heading_meant(text).filter(|meant| meant != text).map(|meant| format!("write `{meant}`"));
    }
    if ["//", "/*", ";", "--", "!"].iter().any(|start| text.starts_with(start)) {
        return Some("a comment begins with `#`".to_owned());
    }
    if text.split_once("==").is_some_and(|(key, _)| is_key(key.trim())) {
        return Some("write one `=`".to_owned());
    }
    if text.split_once(':').is_some_and(|(key, _)| is_key(key.trim())) {
        return Some("write `key = value`".to_owned());
    }
    let (_, value) = text.split_once('=')?;
    let value = value.trim();
    if message.contains("unicode value digits") || message.starts_with("missing escaped value") {
        return Some("in single quotes a backslash stands for itself".to_owned());
    }
    let colon = value.starts_with('{')
        && value
            .split(['{', ','])
            .any(|entry| is_key(entry.split(':').next().unwrap_or_default().trim()) && entry.contains(':'));
    if message.starts_with("missing assignment") || colon {
        return Some("in braces, too, write `key = value`".to_owned());
    }
    if value.starts_with(|c: char| c.is_ascii_digit()) {
        let number = value.trim_start_matches(|c: char| c.is_ascii_digit() || "._".contains(c)).trim_start();
        return match number.chars().next()? {
            ';' => Some("a line ends after its value".to_owned()),
            '/' if number.starts_with("//") => Some("a comment begins with `#`".to_owned()),
            '*' | '+' | '-' | '/' => Some("nothing is calculated: a line ends after its value".to_owned()),
            _ => None,
        };
    }
    None
}

/// The heading that was meant by one that cannot be read: `[switch sw0`, `[switch = sw0]`, `[switch.my switch]`.
fn heading_meant(text: &str) -> Option<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let words: Vec<&str> = text.split(|c: char| !is_name(c)).filter(|word| !word.is_empty()).collect();
    let (kind, name) = words.split_first()?;
    Some(match (*kind, name) {
        ("workload", []) => "[[workload]]".to_owned(),
        (kind, []) if ComponentKind::from_word(kind).is_some() => format!("[{kind}.NAME]"),
        (kind, []) => format!("[{kind}]"),
        (kind, name) => format!("[{kind}.{}]", name.join("_")),
    })
}

/// How it is written, for what people write often.
fn hint(message: &str, found: &str) -> Option<String> {
    let says = |start: &str| message.starts_with(start);
    let word = shortened(found.trim_matches(|c: char| c.is_whitespace() || "\"'“”‘’„".contains(c)));
    Some(match word.as_str() {
        "" if says("string values must be quoted") => "a value follows the `=`".to_owned(),
        "yes" | "on" | "True" | "TRUE" => "write true, or a text in quotes".to_owned(),
        "no" | "off" | "False" | "FALSE" => "write false, or a text in quotes".to_owned(),
        _ if says("string values must be quoted") => format!("write \"{word}\""),
        _ if says("missing opening quote") => "a text has a quote on either side".to_owned(),
        _ if message.ends_with("string, expected `\"`") || message.ends_with("string, expected `'`") => {
            "the text is not closed with the quote that it begins with".to_owned()
        }
        _ if says("invalid boolean") || says("invalid float") => "a text stands in quotes".to_owned(),
        _ if says("key with no value") => "write `key = value`".to_owned(),
        _ if says("unexpected key or value") => {
            "a line ends after its value; a comment begins with `#`".to_owned()
        }
        _ if says("missing escaped value") => "in single quotes a backslash stands for itself".to_owned(),
        _ if says("unexpected leading zero") => "write the number without its leading zeros".to_owned(),
        _ if says("carriage return") => "save the file with the line ends of Unix or Windows".to_owned(),
        _ => return None,
    })
}

impl Damage {
    /// Nothing of the text could be read.
    pub(crate) fn of_all(file: FileId) -> Self {
        Self { file: Some(file), open_at: Some(0), loses_keys: true, ..Self::default() }
    }

    /// Counts the lines below a heading as unread.
    fn lose_table(&mut self, source: &SourceFile, heading: usize) {
        self.lines.extend((heading + 1..=source.lines()).take_while(|below| !is_heading(source, *below)));
        self.loses_keys = true;
    }

    /// Takes away what only follows from what could not be read.
    pub(crate) fn remove_consequences(&self, source: &SourceFile, diagnostics: &mut Vec<Diagnostic>) {
        if self.lines.is_empty() && self.open_at.is_none() {
            return;
        }
        diagnostics.retain(|diagnostic| match (&diagnostic.problem, diagnostic.place) {
            (Problem::NestedTooDeeply { .. }, _) => true,
            (Problem::Syntax { reason }, _) if reason != BEYOND_128_BITS => true,
            (problem, _) if self.loses_keys && may_be_in_the_rest(problem) => false,
            (Problem::WrongType { path, .. }, _) if self.loses_keys && path == "workload" => false,
            (_, Some(place)) if Some(place.file) == self.file => !self.covers(source, place),
            _ => true,
        });
    }

    fn covers(&self, source: &SourceFile, place: Place) -> bool {
        // What the parser puts in the place of a value that it could not read stands nowhere.
        let nowhere = place.end == 0;
        let unread = self.open_at.is_some_and(|open| place.start >= open);
        nowhere || unread || self.lines.contains(&source.line_column(place.start as usize).0)
    }
}

/// Whether a problem is that something is missing, which may be written where nothing could be read.
fn may_be_in_the_rest(problem: &Problem) -> bool {
    matches!(
        problem,
        Problem::MissingKey { .. }
            | Problem::NoHost {}
            | Problem::UnknownAttachTarget { .. }
            | Problem::UnknownSlot { .. }
            | Problem::UnknownDevice { .. }
            | Problem::NoFreeSlot { .. }
            | Problem::SlotOccupied { .. }
            | Problem::TooManyLanes { .. }
    )
}
