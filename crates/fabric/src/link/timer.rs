//! Why a direction of a link must act at a certain time.

/// Why a direction of a link must act at a certain time. What is due at one instant happens in this order: DLLPs by their priority
/// (PCIe Base 6.3 §3.6.2.1), then what arrives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Timer {
    /// The receiver owes a Nak: a TLP was damaged, or one before it is missing.
    Nak,
    /// The receiver owes an Ack: as many TLPs as it lets pass, or its latency is over.
    Ack,
    /// The receiver owes an UpdateFC of some class: credits are free, or its period is over.
    UpdateFlowControl,
    /// The oldest TLP on its way is there, and that is no event of its own.
    Arrival,
    /// The link comes up: the InitFCs of every channel go out, and again every 34 us.
    InitFlowControl,
    /// The transmitter has waited for an Ack for as long as it may: it sends again what is not acknowledged.
    Replay,
    /// A transmitter has been silent for as long as its sleep asks for, or the link further down calls it.
    Sleep,
    /// A transmitter that wakes can use its wire.
    ExitFromSleep,
}
