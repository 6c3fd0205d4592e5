//! The smallest machine with traffic, for the tests of the door, and how they read an answer.

use serde_json::Value;

/// A card that writes to memory.
pub(crate) const RIG: &str = r#"
[host.server]
slots = { slot1 = "gen3 x8" }
[endpoint.nic]
attach = "server.slot1"
generation = "gen3"
width = "x8"
[[workload]]
kind = "dma"
device = "nic"
direction = "write"
"#;

/// An answer as JSON.
pub(crate) fn read(answer: &str) -> Value {
    serde_json::from_str(answer).expect("an answer is JSON")
}
