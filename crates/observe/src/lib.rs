//! Facts and observers.
//!
//! Models say what happened, once, as a [`Fact`]; observers turn facts into attributions, histograms, occupancies
//! and a fingerprint. No model keeps a mean. To observe something new, add a fact where it happens and an arm in
//! [`Observers::observe`].

mod attribution;
mod cause;
mod fact;
mod fingerprint;
mod flow;
mod holds;
mod latency;
mod level;
mod log;
mod observers;
mod packed;
mod reader;
mod recorder;
mod selection;
mod waits;
mod wire;

pub use attribution::{DirectionTally, Use};
pub use cause::Cause;
pub use fact::{Fact, RequestId, RequesterState, TransactionError};
pub use fingerprint::Fingerprint;
pub use flow::{CONTROL, FlowDevices, FlowSpec, FlowTally, LatencyOf, WorkloadEntry};
pub use latency::{LatencyBucket, LatencySummary, LatencyTally, PERCENTILES};
pub use level::Level;
pub use observers::{LinkCounters, LinkErrors, Observer, Observers, Owners, Shells, Tallies};
pub use recorder::{Entry, EntryOf, Found, Recorder};
pub use selection::{Around, Selection, Sought, TraceKind, TraceKinds, Whose};
pub use waits::{Joined, Waits};
pub use wire::{HeldUp, OnWire, Place, Queued, Transmission, WaitingTlp, What, WireFact, WireTlp};

/// Index of a flow: one stream of payload that results are reported for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowId(pub u32);
