//! What every document begins with: the version of its format.

use serde::Serialize;

/// Version of all documents, with which the `$id` of `schema/output.schema.json` ends. Keys are only added within a version.
pub const FORMAT: u32 = 1;

/// A document as it leaves the core.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Document<T> {
    /// Version of the format. Another one means keys that were taken away or have another meaning.
    format: u32,
    #[serde(flatten)]
    content: T,
}

impl<T> Document<T> {
    /// With its format in front.
    pub fn of(content: T) -> Self {
        Self { format: FORMAT, content }
    }
}
