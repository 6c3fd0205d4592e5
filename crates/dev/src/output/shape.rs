//! What a JSON Schema of ours says, as types with names: objects within objects get names of their own.

use serde_json::{Map, Value};

/// A type with a name.
#[derive(Clone, PartialEq, Debug)]
pub struct Type {
    /// `LiveLink`.
    pub name: String,
    /// A sentence, or nothing.
    pub description: String,
    /// What it is.
    pub shape: Shape,
}

/// What a value may be.
#[derive(Clone, PartialEq, Debug)]
pub enum Shape {
    Text,
    Integer,
    Number,
    Boolean,
    Null,
    Anything,
    /// One of these values.
    Words(Vec<Value>),
    List(Box<Shape>),
    /// Any keys, one type of values.
    Map(Box<Shape>),
    /// Known keys; only as the shape of a [`Type`].
    Object(Vec<Field>),
    /// Another type, by its name.
    Named(String),
    Either(Vec<Shape>),
}

/// A key of an object.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    pub name: String,
    pub description: String,
    pub shape: Shape,
    /// Whether it is always there.
    pub required: bool,
}

/// Types of all definitions, in their order, each before those that stand within it.
///
/// # Errors
/// Names the definition with something that no type can be made of.
pub fn types_of(definitions: &Map<String, Value>) -> Result<Vec<Type>, String> {
    let mut types = Vec::new();
    for (name, schema) in definitions {
        let at = types.len();
        let name = joined("", name);
        let mut within = Vec::new();
        let shape = shape_of(schema, &name, true, &mut within)?;
        types.insert(at, Type { name, description: description(schema), shape });
        types.extend(within);
    }
    Ok(types)
}

fn description(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `Run` and `live_link` make `RunLiveLink`.
fn joined(prefix: &str, name: &str) -> String {
    let words = name.split(['_', '-']).map(|word| {
        let mut letters = word.chars();
        letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
    });
    prefix.to_owned() + &words.collect::<String>()
}

/// What an item of a list is called: `findings` are of `finding`.
fn singular(name: &str) -> String {
    let cut = |ending: &str, other: &str| name.strip_suffix(ending).map(|stem| format!("{stem}{other}"));
    cut("ies", "y")
        .or_else(|| cut("ches", "ch"))
        .or_else(|| cut("sses", "ss"))
        .or_else(|| cut("s", ""))
        .unwrap_or_else(|| name.to_owned())
}

/// The shape of a schema that stands under a name; objects in it are added to `within`, unless it `is_named` itself.
fn shape_of(schema: &Value, name: &str, is_named: bool, within: &mut Vec<Type>) -> Result<Shape, String> {
    if let Some(path) = schema["$ref"].as_str() {
        return Ok(Shape::Named(joined("", path.trim_start_matches("#/$defs/"))));
    }
    if let Some(value) = schema.get("const") {
        return Ok(Shape::Words(vec![value.clone()]));
    }
    if let Some(words) = schema["enum"].as_array() {
        return Ok(Shape::Words(words.clone()));
    }
    if let Some(choices) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
        let shapes = choices.iter().map(|choice| shape_of(choice, name, false, within));
        return Ok(either(shapes.collect::<Result<_, _>>()?));
    }
    if let Some(kinds) = schema["type"].as_array() {
        let each = kinds.iter().map(|kind| {
            let mut alone = schema.clone();
            alone["type"] = kind.clone();
            shape_of(&alone, name, false, within)
        });
        return Ok(either(each.collect::<Result<_, _>>()?));
    }
    Ok(match schema["type"].as_str() {
        Some("string") => Shape::Text,
        Some("integer") => Shape::Integer,
        Some("number") => Shape::Number,
        Some("boolean") => Shape::Boolean,
        Some("null") => Shape::Null,
        Some("array") => Shape::List(Box::new(shape_of(&schema["items"], &singular(name), false, within)?)),
        Some("object") => match schema["properties"].as_object() {
            Some(properties) if is_named => Shape::Object(fields(schema, properties, name, within)?),
            Some(properties) => {
                let mut deeper = Vec::new();
                let shape = Shape::Object(fields(schema, properties, name, &mut deeper)?);
                within.push(Type { name: name.to_owned(), description: description(schema), shape });
                within.append(&mut deeper);
                Shape::Named(name.to_owned())
            }
            None => Shape::Map(Box::new(match &schema["additionalProperties"] {
                Value::Object(_) => {
                    shape_of(&schema["additionalProperties"], &singular(name), false, within)?
                }
                _ => Shape::Anything,
            })),
        },
        None => Shape::Anything,
        Some(other) => return Err(format!("{name}: no type can be made of '{other}'")),
    })
}

fn fields(
    schema: &Value,
    properties: &Map<String, Value>,
    name: &str,
    within: &mut Vec<Type>,
) -> Result<Vec<Field>, String> {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let field = |(key, value): (&String, &Value)| {
        Ok(Field {
            name: key.clone(),
            description: description(value),
            shape: shape_of(value, &joined(name, key), false, within)?,
            required: required.iter().any(|each| each == key),
        })
    };
    properties.iter().map(field).collect()
}

/// One of several, each once, words together.
fn either(shapes: Vec<Shape>) -> Shape {
    let mut kept: Vec<Shape> = Vec::new();
    for shape in shapes {
        if let (Some(Shape::Words(words)), Shape::Words(more)) = (kept.last_mut(), &shape) {
            words.extend(more.iter().cloned());
        } else if !kept.contains(&shape) {
            kept.push(shape);
        }
    }
    // Words say nothing more beside what they are words of.
    if kept.contains(&Shape::Text) {
        let has_numbers =
            kept.iter().any(|shape| matches!(shape, Shape::Words(words) if words.iter().any(Value::is_i64)));
        kept.retain(
            |shape| !matches!(shape, Shape::Words(words) if words.iter().all(|word| !word.is_null())),
        );
        if has_numbers && !kept.contains(&Shape::Integer) {
            kept.push(Shape::Integer);
        }
    }
    if kept.len() == 1 { kept.remove(0) } else { Shape::Either(kept) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn types(definitions: Value) -> Vec<Type> {
        types_of(definitions.as_object().unwrap()).unwrap()
    }

    #[test]
    fn objects_in_lists_get_names_of_their_own() {
        let found = types(
            json!({ "doctor_run": { "type": "object", "required": ["findings"], "properties": {
            "findings": { "type": "array", "items": { "type": "object", "properties": { "a": { "type": "string" } } } },
        } } }),
        );
        let names: Vec<&str> = found.iter().map(|each| each.name.as_str()).collect();
        assert_eq!(names, ["DoctorRun", "DoctorRunFinding"]);
        let Shape::Object(fields) = &found[0].shape else { panic!("{found:?}") };
        assert_eq!(fields[0].shape, Shape::List(Box::new(Shape::Named("DoctorRunFinding".to_owned()))));
        assert!(fields[0].required);
    }

    #[test]
    fn what_may_be_null_and_words_are_told() {
        let found = types(json!({
            "a": { "type": ["number", "null"] },
            "b": { "oneOf": [{ "const": "x" }, { "enum": ["y"] }] },
        }));
        assert_eq!(found[0].shape, Shape::Either(vec![Shape::Number, Shape::Null]));
        assert_eq!(found[1].shape, Shape::Words(vec![json!("x"), json!("y")]));
    }
}
