//! Facts and observers.
//!
//! Models say what happened, once, as a [`Fact`]; observers turn facts into attributions, histograms, occupancies
//! and a fingerprint. No model keeps a mean. To observe something new, add a fact where it happens and an arm in
//! [`Observers::observe`].

mod attribution;
mod fact;
mod fingerprint;
mod flow;
mod latency;
mod level;
mod observers;
mod recorder;
mod wire;

pub use attribution::{DirectionTally, Use};
pub use fact::{Fact, RequesterState, TransactionError};
pub use fingerprint::Fingerprint;
pub use flow::{CONTROL, FlowSpec, FlowTally, LatencyOf};
pub use latency::{LatencySummary, LatencyTally, PERCENTILES};
pub use level::Level;
pub use observers::{LinkCounters, LinkErrors, Observer, Observers};
pub use recorder::{Entry, EntryOf, Recorder, Selection, TraceKind, TraceKinds};
pub use wire::{OnWire, Place, Transmission, WaitingTlp, What, WireFact, WireTlp};

/// Index of a flow: one stream of payload that results are reported for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowId(pub u32);
