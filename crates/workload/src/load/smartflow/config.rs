//! Settings of SmartFlow, and of the system that it tests.

use crate::device::ethernet::NicConfig;
use crate::host::bridge::StackConfig;
use crate::load::LoadName;
use lanewise_units::{Bytes, Span};

/// Parts per million of the line rate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Load(pub u32);

impl Load {
    /// The line full.
    pub const FULL: Self = Self(1_000_000);

    /// In percent, for a reader.
    pub fn as_percent(self) -> f64 {
        f64::from(self.0) / 1e4
    }
}

/// Distance of two loads at which a search ends, in parts per million of the load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resolution(pub u32);

/// Frames from one port to another.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficFlow {
    /// Name in results.
    pub name: String,
    /// Group that it is summed in; flows without a name of their own share one.
    pub group: String,
    /// Class of service of its frames, 0 to 7 (IEEE 802.1p).
    pub priority: u8,
    /// Adapter and port at which its frames enter the host.
    pub from: (usize, usize),
    /// Adapter and port at which they leave it.
    pub to: (usize, usize),
}

/// What SmartFlow measures.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SmartFlowTest {
    /// The highest load without loss, by search (RFC 2544 §26.1).
    Throughput,
    /// Share of frames lost at each load (RFC 2544 §26.3).
    FrameLoss,
    /// Least, mean and largest latency at each load (RFC 2544 §26.2).
    Latency,
    /// How many frames had a latency within each bucket.
    LatencyDistribution,
    /// Latency of single frames, one after another.
    LatencySnapshot,
    /// Each flow on its own: sent, received, lost, latency.
    SmartTracker,
}

/// Settings of SmartFlow.
#[derive(Clone, Debug, PartialEq)]
pub struct SmartFlowConfig {
    /// What is measured.
    pub test: SmartFlowTest,
    /// The flows, all at the same load.
    pub flows: Vec<TrafficFlow>,
    /// Sizes of frames, one after another, frame check sequence included.
    pub sizes: Vec<Bytes>,
    /// Loads to test; a search starts at the first and goes no higher.
    pub loads: Vec<Load>,
    /// When a search ends.
    pub resolution: Resolution,
    /// How long frames are sent in a trial; for longer where that is too short for sixteen frames of each flow.
    pub trial: Span,
    /// Upper ends of the buckets of a latency distribution, ascending; one more is for everything above.
    pub buckets: Vec<Span>,
    /// Frames of each flow in a latency snapshot.
    pub snapshot_frames: u32,
}

/// Adapters of one host, the operating system between them, and SmartFlow.
#[derive(Clone, Debug, PartialEq)]
pub struct EthernetConfig {
    /// Name of the instrument.
    pub name: LoadName,
    /// The adapters.
    pub nics: Vec<NicConfig>,
    /// The host's software.
    pub stack: StackConfig,
    /// What the lines are connected to.
    pub smartflow: SmartFlowConfig,
}
