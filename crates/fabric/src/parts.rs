//! One run on several threads: each simulates a part of the fabric, and between parts go messages.
//!
//! Part 0 has the hosts, each other part the devices below some of the root ports, and all have the whole fabric, so that numbers and
//! with them the order of an instant are the same everywhere; what a part does not have lies in it at rest. Links between parts are cut:
//! what is put on one cannot be at its other end before a while has passed ([`plan`]), and so long is the window that parts run ahead on
//! their own. Then they exchange what they have sent ([`exchange`]), which is in time for everything that it may change. [`border`] has
//! what a fabric does at a cut, `crew.rs` the threads.
//!
//! Two things would be in two parts at one instant. A posted write is done when it is at its root port, and its requester hears of
//! that at once: so the part that sent it, which knows when that will be, has an event for it, too. And ports of a link look at each
//! other to save events: at a cut each sends what it owes at the end of a window instead, which is the same as when it is asked.
//! So packets and all that is counted are those of one thread, bit for bit; only the number of events is a little different.
//!
//! Left out: cuts below switches, for the reason above; workloads with cores, whose devices belong to the host; fabrics with a link that
//! loses something, replays, sleeps or is in Flit Mode; cuts of links with several virtual channels; faults; listeners. See [ADR 20](../../../docs/adr/0020-threads.md).

mod border;
pub(crate) mod crew;
mod exchange;
mod plan;

pub(crate) use border::Border;
pub(crate) use exchange::{Reached, Until};
pub use plan::NotShared;

use crate::workload::{DeviceId, Workload};
use lanewise_units::Span;

/// A workload that may run on a thread of its own.
///
/// It asks for nothing but DMA between memory of the host and these devices, timers, flows and random numbers; it has no report,
/// resource or end of its own, and holds nothing.
pub struct Apart {
    /// The endpoints that ask.
    pub devices: Vec<DeviceId>,
    /// Makes it, on its thread.
    pub make: Box<dyn Fn() -> Box<dyn Workload> + Send>,
}

/// How threads that share a run get on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedRun {
    /// Windows so far.
    pub windows: u64,
    /// How far parts may run ahead in each.
    pub window: Span,
    /// Events of the part that had most of them in each window, added up: as many as one thread would have if it were as fast as all.
    pub longest_way: u64,
}
