//! What a load is called.

use lanewise_observe::WorkloadEntry;
use std::fmt::{self, Display, Formatter};
use std::ops::Deref;

/// Name of a load, or of one of its tools, as results have it, with the workload of the scenario that it belongs to: `write`, or `write
/// nic[3]` where that workload has an instrument on each of several devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadName {
    text: String,
    entry: WorkloadEntry,
}

impl LoadName {
    /// A name, for a workload.
    pub fn new(text: impl Into<String>, entry: WorkloadEntry) -> Self {
        Self { text: text.into(), entry }
    }

    /// The workload that it belongs to.
    pub const fn entry(&self) -> WorkloadEntry {
        self.entry
    }

    /// Another name, which belongs to the same workload.
    pub fn beside(&self, text: String) -> Self {
        Self { text, entry: self.entry }
    }
}

/// That of the first workload.
impl From<&str> for LoadName {
    fn from(text: &str) -> Self {
        Self::new(text, WorkloadEntry::default())
    }
}

impl Deref for LoadName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl Display for LoadName {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}
