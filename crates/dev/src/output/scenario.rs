//! Scenarios as types: one for each kind of component and of workload, from the JSON Schema of scenario files.

use serde_json::{Map, Value, json};

/// Sections whose tables have names.
const NAMED: [&str; 6] = ["endpoint", "host", "network", "storage", "switch", "system"];

/// Sections that are one table.
const ALONE: [&str; 2] = ["firmware", "run"];

/// Definitions of the tables of a scenario, sorted by name.
///
/// # Errors
/// When the schema has another form than is known here.
pub fn definitions() -> Result<Map<String, Value>, String> {
    let schema = lanewise_scenario::schema();
    let sections = schema["properties"].as_object().ok_or("the schema of scenarios has no properties")?;
    let mut found =
        ["sourced", "provenance"].map(|name| (name.to_owned(), schema["$defs"][name].clone())).to_vec();
    let mut root = Map::new();
    let mut workloads = Vec::new();
    for (name, section) in sections {
        let shape = match name.as_str() {
            named if NAMED.contains(&named) => {
                found.push((name.clone(), simple(&section["additionalProperties"])));
                json!({ "type": "object", "additionalProperties": reference(name) })
            }
            alone if ALONE.contains(&alone) => {
                found.push((name.clone(), simple(section)));
                reference(name)
            }
            "workload" => {
                for kind in section["items"]["oneOf"].as_array().into_iter().flatten() {
                    let word =
                        kind["properties"]["kind"]["const"].as_str().ok_or("a workload without a kind")?;
                    let name = format!("workload_{}", word.replace('-', "_"));
                    workloads.push(reference(&name));
                    found.push((name, simple(kind)));
                }
                json!({ "type": "array", "items": reference("workload") })
            }
            _ => section.clone(),
        };
        root.insert(name.clone(), shape);
    }
    found.push(("workload".to_owned(), json!({ "anyOf": workloads, "description": "Who asks for what." })));
    let description =
        "A scenario, as a file or a program writes it; docs/reference/scenario.md says what the keys mean.";
    found.push((
        "scenario".to_owned(),
        json!({ "type": "object", "description": description, "properties": root }),
    ));
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(found.into_iter().collect())
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// The same with all that says where a value comes from as one type.
fn simple(schema: &Value) -> Value {
    match schema {
        Value::Object(_) if is_sourced(schema) => reference("sourced"),
        Value::Object(entries) if entries.get("const").is_some_and(is_quantity) => {
            json!({ "type": "string" })
        }
        Value::Object(entries) if entries.get("enum").is_some_and(are_quantities) => {
            json!({ "type": "string" })
        }
        Value::Object(entries) => entries.iter().map(|(key, value)| (key.clone(), simple(value))).collect(),
        Value::Array(items) => items.iter().map(simple).collect(),
        other => other.clone(),
    }
}

/// Whether words are numbers with a unit, which programs put together.
fn are_quantities(words: &Value) -> bool {
    words.as_array().is_some_and(|words| words.iter().all(is_quantity))
}

fn is_quantity(word: &Value) -> bool {
    word.as_str().is_some_and(|word| word.contains(' ') && word.starts_with(|c: char| c.is_ascii_digit()))
}

fn is_sourced(schema: &Value) -> bool {
    schema["$ref"] == "#/$defs/sourced"
}
