//! Every parameter as an axis: what it may be set to at its ends and otherwise, for tests that try all of them.

use crate::parameter::{Field, FieldDefault, ParameterTable, TableSchema};
use crate::parameters::{FirmwareParameters, LinkParameters, RunParameters};
use crate::resolve::WORKLOAD_KINDS;
use crate::structure::ComponentKind;
use serde_json::Value as Json;

/// A parameter and what may be written for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// Keys within its component or workload, joined by dots: `link.propagation`.
    pub path: String,
    /// Lowest and highest value, where there are such.
    pub ends: Vec<String>,
    /// Words that it may say, and its default.
    pub others: Vec<String>,
}

/// Every parameter of every kind of component and workload, of links and of a run.
pub fn axes() -> Vec<Axis> {
    let mut found = Vec::new();
    for kind in ComponentKind::ALL {
        add(&mut found, "", kind.schema());
    }
    add(&mut found, "link.", &LinkParameters::SCHEMA);
    add(&mut found, "", &FirmwareParameters::SCHEMA);
    add(&mut found, "", &RunParameters::SCHEMA);
    for kind in &WORKLOAD_KINDS {
        add(&mut found, "", kind.table);
    }
    found
}

fn add(found: &mut Vec<Axis>, prefix: &str, table: &'static TableSchema) {
    found.extend(table.all_fields().into_iter().map(|field| axis(prefix, field)));
    for (key, inner) in table.all_groups() {
        add(found, &format!("{prefix}{key}."), inner);
    }
}

fn axis(prefix: &str, field: &'static Field) -> Axis {
    let ends = field.range.map(|(low, high)| vec![low.to_owned(), high.to_owned()]).unwrap_or_default();
    let mut others = Vec::new();
    words(&(field.schema)(), &mut others);
    if let FieldDefault::Text(text) = field.default {
        others.push(text.to_owned());
    }
    others.sort_unstable();
    others.dedup();
    Axis { path: format!("{prefix}{}", field.key), ends, others }
}

/// What a schema lists as the only values, and truth values.
fn words(schema: &Json, found: &mut Vec<String>) {
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match schema {
        Json::Object(object) => {
            found.extend(object.get("const").map(text));
            found.extend(object.get("enum").and_then(Json::as_array).into_iter().flatten().map(text));
            if object.get("type").and_then(Json::as_str) == Some("boolean") {
                found.extend(["true", "false"].map(str::to_owned));
            }
            for key in ["anyOf", "oneOf"] {
                object.get(key).into_iter().for_each(|inner| words(inner, found));
            }
        }
        Json::Array(list) => list.iter().for_each(|inner| words(inner, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::axes;

    #[test]
    fn ends_and_words_of_parameters_are_found() {
        let axes = axes();
        let named = |path: &str| axes.iter().find(|axis| axis.path == path).expect("a parameter");
        assert_eq!(named("link.l0s_exit").ends, ["0 ns", "100 us"]);
        assert_eq!(named("link.l0s_exit").others, ["1 us"]);
        assert_eq!(named("link.aspm").others, ["l0s", "l0s and l1", "l1", "off"]);
        assert_eq!(named("ecrc").others, ["false", "true"]);
        assert_eq!(named("credits.posted_header").ends, ["1", "2032"]);
        assert!(axes.len() > 400, "{}", axes.len());
    }
}
