//! JSON Schema of scenario files, for editors. Generated from the parameter tables.

use crate::parameter::{FieldDefault, Names, ParameterTable, Provenance, TableSchema};
use crate::parameters::{FirmwareParameters, RunParameters};
use crate::resolve::WORKLOAD_KINDS;
use crate::structure::{ComponentKind, StructuralKey};
use crate::value::ParameterType;
use serde_json::{Map, Value as Json, json};

/// The schema of a scenario file (JSON Schema, draft 2020-12).
pub fn schema() -> Json {
    let mut properties = Map::new();
    properties.insert("title".into(), json!({ "type": "string", "description": "What the scenario is." }));
    properties.insert("run".into(), table_schema(&RunParameters::SCHEMA, &[]));
    properties.insert("firmware".into(), table_schema(&FirmwareParameters::SCHEMA, &[]));
    for kind in ComponentKind::ALL {
        let component = table_schema(kind.schema(), kind.structural());
        properties.insert(kind.word().into(), json!({ "type": "object", "additionalProperties": component }));
    }
    let kinds = WORKLOAD_KINDS.map(|kind| workload_schema(kind.word, kind.table));
    properties.insert("workload".into(), json!({ "type": "array", "items": { "oneOf": kinds } }));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:lanewise:scenario:1",
        "title": "Lanewise scenario",
        "type": "object",
        "additionalProperties": false,
        "required": ["host"],
        "properties": properties,
        "$defs": { "provenance": Provenance::schema(), "sourced": sourced() },
    })
}

fn workload_schema(kind: &str, table: &'static TableSchema) -> Json {
    let mut schema = table_schema(table, &[]);
    schema["properties"]["kind"] = json!({ "const": kind });
    schema["properties"]["name"] = json!({ "type": "string", "description": "Its name in the results." });
    let required: Vec<&str> = table
        .fields
        .iter()
        .filter(|field| field.default == FieldDefault::Required)
        .map(|field| field.key)
        .collect();
    schema["required"] = json!(["kind"].into_iter().chain(required).collect::<Vec<_>>());
    schema
}

/// The schema of one table of parameters.
pub(crate) fn table_schema(table: &'static TableSchema, structural: &[StructuralKey]) -> Json {
    let mut properties = Map::new();
    for key in structural {
        let mut schema = (key.schema)();
        schema["description"] = json!(key.doc);
        mark(&mut schema, key.names);
        properties.insert(key.key.into(), schema);
    }
    for field in table.all_fields() {
        let mut schema = annotated((field.schema)());
        let mut description = one_line(field.doc);
        if let FieldDefault::Text(text) = field.default {
            description.push_str(&format!(" Default: {text}."));
        }
        schema["description"] = json!(description);
        mark(&mut schema, field.names);
        properties.insert(field.key.into(), schema);
    }
    for (key, group) in table.all_groups() {
        properties.insert(key.into(), table_schema(group, &[]));
    }
    json!({
        "type": "object",
        "description": one_line(table.doc),
        "additionalProperties": false,
        "properties": properties,
    })
}

/// Says what the texts of a key name.
fn mark(schema: &mut Json, names: Option<Names>) {
    if let Some(names) = names {
        schema["x-names"] = json!(names.word());
    }
}

/// A value, or the value with its provenance.
pub(crate) fn annotated(value: Json) -> Json {
    json!({ "anyOf": [
        value.clone(),
        { "$ref": "#/$defs/sourced", "properties": { "value": value } },
    ] })
}

/// Any value with its provenance.
fn sourced() -> Json {
    json!({
        "type": "object",
        "description": "A value and where it comes from.",
        "additionalProperties": false,
        "required": ["value"],
        "properties": {
            "value": {},
            "provenance": { "$ref": "#/$defs/provenance" },
            "source": { "type": "string", "description": "In a sentence." },
            "fitted_on": { "type": "array", "items": { "type": "string" }, "description": "Cells it was fitted on." },
            "out_of_the_way": {
                "type": "boolean",
                "description": "Chosen so that nothing depends on it: something is switched off, or never the limit.",
            },
        },
    })
}

/// Documentation as one line.
pub(crate) fn one_line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_and_every_parameter_is_in_the_schema() {
        let schema = schema();
        for kind in ComponentKind::ALL {
            let properties = &schema["properties"][kind.word()]["additionalProperties"]["properties"];
            for field in kind.schema().all_fields() {
                assert!(properties[field.key].is_object(), "{}.{}", kind.word(), field.key);
            }
            for key in kind.structural() {
                assert!(properties[key.key].is_object(), "{}.{}", kind.word(), key.key);
            }
        }
        let kinds =
            schema["properties"]["workload"]["items"]["oneOf"].as_array().expect("a choice of tables");
        for (kind, schema) in WORKLOAD_KINDS.iter().zip(kinds) {
            assert_eq!(schema["properties"]["kind"]["const"], kind.word);
        }
        assert_eq!(kinds.len(), WORKLOAD_KINDS.len());
    }
}
