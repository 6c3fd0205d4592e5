//! A text in TOML or JSON as a tree in which every key and value knows its place.
//!
//! The `toml` crate parses, and [`json`] what programs write; this module bounds what comes out and keeps the order of the file.

use crate::diagnostic::Diagnostic;
use crate::json;
use crate::problem::Problem;
use crate::source::{FileId, Place, SourceFile};
use crate::syntax::{self, Damage};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Deepest nesting of tables and arrays. A real scenario needs five.
pub const NESTING_LIMIT: usize = 16;

/// What is wrong with a number that no parameter could hold.
pub(crate) const BEYOND_128_BITS: &str = "a whole number beyond 128 bits";

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it is written.
    pub place: Place,
    /// What is written.
    pub value: Value,
}

/// What can be written.
#[derive(Clone, Debug)]
pub enum Value {
    /// Text, which also holds quantities with units.
    String(String),
    /// A whole number.
    Integer(i128),
    /// A number with a point or exponent, as text, so that nothing is rounded before its unit is known.
    Float(String),
    /// `true` or `false`.
    Boolean(bool),
    /// A date or time, which no parameter takes.
    Datetime,
    /// A list.
    Array(Vec<Node>),
    /// Keys and values.
    Table(Table),
}

/// Keys and values in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Table {
    entries: Vec<Entry>,
}

/// One key and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key is written.
    pub key_place: Place,
    /// The value.
    pub node: Node,
}

impl Table {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// The entry of a key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Every entry, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Every entry, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.iter_mut()
    }

    /// The value of a key, to be changed.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Entry> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at))
    }

    /// Every entry, in the order of the file, given away.
    pub(crate) fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    /// Adds the entries of another table whose keys are not there yet.
    pub(crate) fn extend_missing(&mut self, other: Self) {
        for entry in other.entries {
            if self.get(&entry.key).is_none() {
                self.entries.push(entry);
            }
        }
    }

    /// Adds an entry whose key is not there yet.
    pub(crate) fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// A table with one entry.
    pub(crate) fn with_one(key: &str, node: Node) -> Self {
        Self { entries: vec![Entry { key: key.to_owned(), key_place: node.place, node }] }
    }

    /// Sets the value of a key.
    pub(crate) fn set(&mut self, key: &str, node: Node) {
        match self.get_mut(key) {
            Some(known) => *known = node,
            None => self.entries.push(Entry { key: key.to_owned(), key_place: node.place, node }),
        }
    }

    /// Sets the value at a path of keys, making tables on the way. Gives the path's conflicting part back when a
    /// value that is not a table is in the way.
    pub(crate) fn insert_path<'k>(
        &mut self,
        path: &[&'k str],
        place: Place,
        node: Node,
    ) -> Result<(), &'k str> {
        let (key, rest) = path.split_first().ok_or("")?;
        let at = match self.entries.iter().position(|entry| entry.key == *key) {
            Some(at) => at,
            None => {
                let empty = Node { place, value: Value::Table(Table::default()) };
                self.entries.push(Entry { key: (*key).to_owned(), key_place: place, node: empty });
                self.entries.len() - 1
            }
        };
        let entry = &mut self.entries[at];
        if rest.is_empty() {
            let hides_keys = entry.node.as_table().is_some_and(|table| !table.entries.is_empty());
            if hides_keys && node.as_table().is_none() {
                return Err(key);
            }
            (entry.key_place, entry.node) = (place, node);
            return Ok(());
        }
        match &mut entry.node.value {
            Value::Table(table) => table.insert_path(rest, place, node),
            _ => Err(key),
        }
    }
}

impl Node {
    /// The table, when it is one.
    pub fn as_table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The text, when it is text.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// What was found, for a message: shortened, so that a message stays a sentence.
    pub fn describe(&self) -> String {
        match &self.value {
            Value::String(text) => format!("\"{}\"", shortened(text)),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => shortened(number),
            Value::Boolean(truth) => truth.to_string(),
            Value::Datetime => "a date".to_owned(),
            Value::Array(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
        }
    }

    /// The node that a plain text stands for: a number or truth value when it reads as one, text otherwise. This
    /// is how defaults and command line values are written.
    pub(crate) fn from_plain_text(text: &str, place: Place) -> Self {
        match plain_word(text) {
            Some(value) => Self { place, value },
            None => Self::from_any_text(text, place),
        }
    }

    fn from_any_text(text: &str, place: Place) -> Self {
        let parsed = DeValue::parse(text).ok().map(|value| value.into_inner());
        let value = match parsed {
            Some(DeValue::String(text)) => Some(Value::String(text.into_owned())),
            Some(value) => convert(FileId(0), value, 0, &mut Vec::new()).map(|mut value| {
                relocate(&mut value, place);
                value
            }),
            // As `explain` shows a list: its texts without quotes.
            None => items_of(text).map(|items| {
                Value::Array(items.into_iter().map(|item| Self::from_plain_text(item, place)).collect())
            }),
        };
        Self { place, value: value.unwrap_or_else(|| Value::String(text.to_owned())) }
    }
}

/// What most defaults are, told at a glance: a whole number in decimal, one with a unit behind it, or a word that no value of TOML
/// begins like. Nothing for all else, which a parser reads. A thousand defaults are read for each run.
fn plain_word(text: &str) -> Option<Value> {
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    if digits == 0 {
        // `false`, `inf`, `nan` and `true` are values.
        let is_word = text.starts_with(|c| is_letter(c) && !"fint".contains(c));
        return is_word.then(|| Value::String(text.to_owned()));
    }
    if rest.is_empty() && digits <= 18 && (digits == 1 || !number.starts_with('0')) {
        return number.parse().ok().map(Value::Integer);
    }
    let has_unit = rest.strip_prefix(' ').is_some_and(|unit| unit.starts_with(is_letter));
    has_unit.then(|| Value::String(text.to_owned()))
}

/// What stands between the commas of a list, nested ones whole; nothing when the text is no list.
fn items_of(text: &str) -> Option<Vec<&str>> {
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let mut depth = 0i32;
    let comma = |c: char| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    };
    let items: Vec<&str> = inner.split(comma).map(str::trim).collect();
    (text.len() <= 4_096 && items.iter().all(|item| !item.is_empty())).then_some(items)
}

/// At most 60 characters of a text, on one line.
pub(crate) fn shortened(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(60).collect();
    if line.len() < text.len() { format!("{line}…") } else { line }
}

/// Parses a text, as far as it can be read; every syntax error is reported.
pub(crate) fn parse(file: FileId, source: &SourceFile, diagnostics: &mut Vec<Diagnostic>) -> (Table, Damage) {
    if json::is_json(&source.text) {
        return match json::parse(file, source, diagnostics) {
            Some(table) => (table, Damage::default()),
            None => (Table::default(), Damage::of_all(file)),
        };
    }
    let (root, errors) = DeTable::parse_recoverable(&source.text);
    let table = convert_table(file, root.into_inner(), 0, diagnostics);
    let damage = syntax::report(file, source, &errors, &table, diagnostics);
    (table, damage)
}

fn convert_table(file: FileId, table: DeTable<'_>, depth: usize, diagnostics: &mut Vec<Diagnostic>) -> Table {
    let entries = table.into_iter().filter_map(|(key, value)| {
        let key_place = Place::new(file, key.span());
        let node = convert_node(file, value, depth + 1, diagnostics)?;
        Some(Entry { key: key.into_inner().into_owned(), key_place, node })
    });
    Table { entries: entries.collect() }
}

fn convert_node(
    file: FileId,
    value: Spanned<DeValue<'_>>,
    depth: usize,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Node> {
    let place = Place::new(file, value.span());
    if depth > NESTING_LIMIT {
        let allowed = NESTING_LIMIT.to_string();
        diagnostics.push(Diagnostic::at(place, Problem::NestedTooDeeply { allowed }));
        return None;
    }
    let value = convert(file, value.into_inner(), depth, diagnostics);
    if value.is_none() {
        let reason = BEYOND_128_BITS.to_owned();
        diagnostics.push(Diagnostic::at(place, Problem::Syntax { reason }));
    }
    Some(Node { place, value: value? })
}

/// The value without its place; nothing for an integer that no parameter could hold.
fn convert(
    file: FileId,
    value: DeValue<'_>,
    depth: usize,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Integer(number) => {
            Value::Integer(i128::from_str_radix(number.as_str(), number.radix()).ok()?)
        }
        DeValue::Float(number) => Value::Float(number.as_str().to_owned()),
        DeValue::Boolean(truth) => Value::Boolean(truth),
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(items) => Value::Array(
            items.into_iter().filter_map(|item| convert_node(file, item, depth + 1, diagnostics)).collect(),
        ),
        DeValue::Table(table) => Value::Table(convert_table(file, table, depth, diagnostics)),
    })
}

/// Gives everything inside a value one place, for values that were not read from a file.
fn relocate(value: &mut Value, place: Place) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| {
            item.place = place;
            relocate(&mut item.value, place);
        }),
        Value::Table(table) => table.entries.iter_mut().for_each(|entry| {
            entry.key_place = place;
            entry.node.place = place;
            relocate(&mut entry.node.value, place);
        }),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Table, Vec<&'static str>) {
        let mut diagnostics = Vec::new();
        let (table, _) = parse(FileId(0), &SourceFile::new("a.toml", text), &mut diagnostics);
        (table, diagnostics.iter().map(|d| d.problem.code()).collect())
    }

    #[test]
    fn order_and_places_are_kept() {
        let (table, codes) = parsed("[z]\nb = \"1 ns\"\n[a]\n");
        assert!(codes.is_empty());
        assert_eq!(table.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), ["z", "a"]);
        let b = table.get("z").unwrap().as_table().unwrap().get("b").unwrap();
        assert_eq!((b.place.start, b.place.end), (8, 14));
    }

    #[test]
    fn several_syntax_errors_are_all_reported() {
        let (_, codes) = parsed("a = \nb = 'x\nc = 1\nc = 2\n");
        assert!(codes.len() >= 3, "{codes:?}");
        assert!(codes.iter().all(|code| *code == "syntax-error"));
    }

    #[test]
    fn deep_nesting_is_refused_in_bounded_time() {
        let arrays = format!("a = {}", "[".repeat(100_000));
        assert!(!parsed(&arrays).1.is_empty());
        let keys = format!("{}z = 1", "a.".repeat(100_000));
        assert!(!parsed(&keys).1.is_empty());
        let tables = format!("a = {}1{}", "{ b = ".repeat(30), " }".repeat(30));
        assert!(parsed(&tables).1.contains(&"nested-too-deeply"));
    }

    #[test]
    fn plain_text_is_a_number_when_it_reads_as_one() {
        let place = Place::new(FileId(0), 0..0);
        assert!(matches!(Node::from_plain_text("4", place).value, Value::Integer(4)));
        assert!(matches!(Node::from_plain_text("true", place).value, Value::Boolean(true)));
        assert_eq!(Node::from_plain_text("150 ns", place).as_str(), Some("150 ns"));
        assert_eq!(Node::from_plain_text("\"x4\"", place).as_str(), Some("x4"));
        let Value::Array(items) = Node::from_plain_text("[10 us, 20 us]", place).value else {
            panic!("no list")
        };
        assert_eq!(items.iter().map(Node::as_str).collect::<Vec<_>>(), [Some("10 us"), Some("20 us")]);
        assert!(matches!(Node::from_plain_text("[a,, b]", place).value, Value::String(_)));
    }

    #[test]
    fn what_is_told_at_a_glance_is_what_a_parser_reads() {
        let place = Place::new(FileId(0), 0..0);
        let told = "0|4|128|999999999999999999|150 ns|64 B|2 KiB|1 x|auto|gen4 x8|x16|a = 1".split('|');
        let numbers = "00|01|0x10|1_000|1000000000000000000|1.5|1.5 ns|1e3|+1|-1| 1|1 |1  ns|8 # eight|2 3";
        let words = "|true|false|inf|nan|infinite|none|text|fixed|\"x4\"|'x4'|[a, b]|{ a = 1 }|µs";
        let left = [numbers, words, "07:32:00|1979-05-27|1979-05-27 07:32:00"].map(|texts| texts.split('|'));
        for text in told.clone().chain(left.clone().into_iter().flatten()) {
            let (fast, slow) = (Node::from_plain_text(text, place), Node::from_any_text(text, place));
            assert_eq!(format!("{fast:?}"), format!("{slow:?}"), "{text}");
        }
        told.for_each(|text| assert!(plain_word(text).is_some(), "{text}"));
        left.into_iter().flatten().for_each(|text| assert!(plain_word(text).is_none(), "{text}"));
    }

    #[test]
    fn a_path_makes_tables_on_its_way_but_never_through_a_value() {
        let place = Place::new(FileId(0), 0..0);
        let node = |text: &str| Node::from_plain_text(text, place);
        let mut table = Table::default();
        table.insert_path(&["a", "b"], place, node("1")).unwrap();
        table.insert_path(&["a", "c"], place, node("2")).unwrap();
        assert_eq!(table.get("a").unwrap().as_table().unwrap().iter().count(), 2);
        assert_eq!(table.insert_path(&["a", "b", "c"], place, node("3")), Err("b"));
        assert_eq!(table.insert_path(&["a"], place, node("3")), Err("a"));
    }
}
