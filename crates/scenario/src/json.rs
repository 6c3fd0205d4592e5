//! A scenario as JSON, the same tables as in TOML: what programs write. Every key and value knows its place there, too.

use crate::diagnostic::Diagnostic;
use crate::document::{Entry, NESTING_LIMIT, Node, Table, Value};
use crate::problem::Problem;
use crate::source::{FileId, Place, SourceFile};
use jsonc_parser::ast::{Object, ObjectProp, ObjectPropName, Value as Ast};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// JSON as RFC 8259 has it, without what editors add to it.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Whether a text is meant as JSON: TOML never begins like that.
pub(crate) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Keys of the outermost object; none when the text is not sound.
pub(crate) fn keys(text: &str) -> Option<Vec<String>> {
    let object = parsed(text).ok()??;
    Some(object.properties.into_iter().map(|property| property.name.into_string()).collect())
}

/// The tables of a JSON text; nothing when it is not sound, which is reported.
pub(crate) fn parse(file: FileId, source: &SourceFile, diagnostics: &mut Vec<Diagnostic>) -> Option<Table> {
    match parsed(&source.text) {
        Ok(Some(object)) => Some(Reader { file, diagnostics }.table(object, 0)),
        Ok(None) => {
            report(Place::new(file, 0..1), "a scenario in JSON is one object", diagnostics);
            None
        }
        Err(error) => {
            let reason = error.kind().to_string();
            let Range { start, end } = error.range();
            report(Place::new(file, start..end), &format!("not JSON: {reason}"), diagnostics);
            None
        }
    }
}

fn parsed(text: &str) -> Result<Option<Object<'_>>, ParseError> {
    let ast = parse_to_ast(text, &CollectOptions::default(), &STRICT)?;
    Ok(match ast.value {
        Some(Ast::Object(object)) => Some(object),
        _ => None,
    })
}

fn report(place: Place, reason: &str, diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.push(Diagnostic::at(place, Problem::Syntax { reason: reason.to_owned() }));
}

struct Reader<'d> {
    file: FileId,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl Reader<'_> {
    fn place(&self, range: Range) -> Place {
        Place::new(self.file, range.start..range.end)
    }

    fn table(&mut self, object: Object<'_>, depth: usize) -> Table {
        let mut table = Table::default();
        for ObjectProp { name, value, .. } in object.properties {
            let key_place = self.place(name.range());
            let key = match name {
                ObjectPropName::String(text) => text.value.into_owned(),
                ObjectPropName::Word(word) => word.value.to_owned(),
            };
            if table.get(&key).is_some() {
                report(key_place, &format!("the key `{key}` is written twice"), self.diagnostics);
            } else if let Some(node) = self.node(value, depth + 1) {
                table.push(Entry { key, key_place, node });
            }
        }
        table
    }

    fn node(&mut self, value: Ast<'_>, depth: usize) -> Option<Node> {
        let place = self.place(value.range());
        if depth > NESTING_LIMIT {
            let allowed = NESTING_LIMIT.to_string();
            self.diagnostics.push(Diagnostic::at(place, Problem::NestedTooDeeply { allowed }));
            return None;
        }
        let value = match value {
            Ast::StringLit(text) => Value::String(text.value.into_owned()),
            Ast::BooleanLit(truth) => Value::Boolean(truth.value),
            Ast::NumberLit(number) => match number.value.parse() {
                Ok(whole) => Value::Integer(whole),
                Err(_) if number.value.contains(['.', 'e', 'E']) => Value::Float(number.value.to_owned()),
                Err(_) => {
                    report(place, crate::document::BEYOND_128_BITS, self.diagnostics);
                    return None;
                }
            },
            Ast::Object(object) => Value::Table(self.table(object, depth)),
            Ast::Array(array) => {
                let nodes = array.elements.into_iter().filter_map(|item| self.node(item, depth + 1));
                Value::Array(nodes.collect())
            }
            Ast::NullKeyword(_) => {
                report(place, "null has no meaning; leave the key out", self.diagnostics);
                return None;
            }
        };
        Some(Node { place, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<Table>, Vec<String>) {
        let mut diagnostics = Vec::new();
        let table = parse(FileId(0), &SourceFile::new("a.json", text), &mut diagnostics);
        (table, diagnostics.iter().map(|each| each.problem.to_string()).collect())
    }

    #[test]
    fn values_and_places_are_those_of_the_text() {
        let (table, problems) = read("{\"b\": {\"x\": \"1 ns\", \"y\": [1, 2.50, true]}}");
        assert_eq!(problems, [""; 0]);
        let table = table.unwrap();
        let b = table.get("b").unwrap().as_table().unwrap();
        let x = b.get("x").unwrap();
        assert_eq!((x.as_str(), x.place.start, x.place.end), (Some("1 ns"), 12, 18));
        let Value::Array(items) = &b.get("y").unwrap().value else { panic!("no list") };
        assert!(matches!(&items[0].value, Value::Integer(1)));
        assert!(matches!(&items[1].value, Value::Float(text) if text == "2.50"));
        assert!(matches!(&items[2].value, Value::Boolean(true)));
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        assert!(read("{\"a\": }").1[0].starts_with("not JSON"));
        assert!(read("{\"a\": 1, }").1[0].starts_with("not JSON"));
        assert!(read("{\"a\": 1, \"a\": 2}").1[0].contains("twice"));
        assert!(read("{\"a\": null}").1[0].contains("null"));
        assert!(read(&format!("{{\"a\": {}}}", "9".repeat(50))).1[0].contains("128 bits"));
    }

    #[test]
    fn deep_nesting_is_refused_in_bounded_time() {
        assert!(!read(&format!("{{\"a\": {}", "[".repeat(100_000))).1.is_empty());
        let lists = format!("{{\"a\": {}1{}}}", "[".repeat(30), "]".repeat(30));
        assert_eq!(read(&lists).1.len(), 1);
    }
}
