//! The JSON of answers: what `lanewise VERB --json` prints, and for mistakes what its `error` is.

use lanewise_scenario::{DiagnosticRecord, Diagnostics};
use lanewise_sim::Document;
use serde::Serialize;
use serde_json::json;

/// Exit status of the command line for wrong input.
const WRONG_INPUT: u8 = 2;

/// Exit status of the command line for a fault of ours.
const INTERNAL: u8 = 3;

/// An answer with its format in front.
pub(crate) fn stamped(document: &impl Serialize) -> String {
    serde_json::to_string(&Document::of(document)).unwrap_or_else(|error| internal(&error.to_string(), false))
}

/// The mistakes of a scenario, each by itself, and `report` as a person would read them.
pub(crate) fn mistakes(diagnostics: &Diagnostics) -> String {
    stamped(&json!({
        "status": WRONG_INPUT,
        "errors": diagnostics.records(),
        "report": diagnostics.to_string(),
    }))
}

/// A request that is none.
pub(crate) fn wrong_request(message: &str) -> String {
    alone(WRONG_INPUT, "wrong-input", message, false)
}

/// A fault of ours. After one that `discard` goes with, the instance answers nothing else and has to be thrown away.
pub fn internal(message: &str, discard: bool) -> String {
    alone(INTERNAL, "internal", message, discard)
}

fn alone(status: u8, code: &'static str, message: &str, discard: bool) -> String {
    let record = DiagnosticRecord {
        code,
        message: message.to_owned(),
        path: None,
        line: None,
        column: None,
        hint: None,
    };
    let mut document = json!({ "status": status, "errors": [record] });
    if discard {
        document["discard"] = true.into();
    }
    stamped(&document)
}
