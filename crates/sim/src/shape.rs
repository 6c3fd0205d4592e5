//! Shapes of maps in results, where a type of their own would only rename their keys.

use schemars::JsonSchema;
use std::collections::BTreeMap;

/// Parts of a time by what it went into; they sum to 1, unless no time has passed.
#[derive(JsonSchema)]
#[schemars(transparent)]
pub(crate) struct Shares(#[expect(dead_code, reason = "only its shape is used")] BTreeMap<String, Share>);

#[derive(JsonSchema)]
#[schemars(transparent, inline)]
struct Share(
    #[schemars(range(min = 0.0, max = 1.0))]
    #[expect(dead_code, reason = "only its shape is used")]
    f64,
);
