//! What the fabric does for the components of a workload, port by port: a component names those that it needs, and may be
//! joined to anything that has them.
//!
//! The fabric has all of them, each where its mechanism is (`notices.rs`, `requests.rs`, `mmio.rs`, `fabric.rs`, `hot_plug.rs`,
//! `phases.rs`). Tokens are the caller's own and come back as they were given.

use crate::config::EngineConfig;
use crate::workload::{DeviceId, DmaQueueId, Transfer};
use lanewise_engine::random::RandomStream;
use lanewise_observe::{FlowId, FlowSpec, RequesterState};
use lanewise_units::{Bytes, Span, Time};

/// Wakes a component.
pub trait Timers {
    /// Gives the calling workload a [`WorkloadEvent::Timer`](crate::workload::WorkloadEvent::Timer) at `at`.
    fn set_timer(&mut self, at: Time, token: u64);
}

/// DMA of an endpoint.
pub trait Dma {
    /// Opens a queue of transfers.
    ///
    /// # Panics
    /// When the device is not an endpoint.
    fn open_queue(&mut self, device: DeviceId) -> DmaQueueId;

    /// The same, whose requests carry a traffic class other than the device's own.
    ///
    /// # Panics
    /// When the device is not an endpoint, or there is no such class.
    fn open_queue_of(&mut self, device: DeviceId, traffic_class: u8) -> DmaQueueId;

    /// The same, with a DMA engine of its own.
    ///
    /// # Panics
    /// When the device is not an endpoint, or a unit is no power of two from 32 to 4096 bytes.
    fn open_queue_with(&mut self, device: DeviceId, engine: &EngineConfig) -> DmaQueueId;

    /// The same, of a virtual function of the device, counted from 0.
    ///
    /// # Panics
    /// When the device is not an endpoint, or has no such function.
    fn open_queue_of_function(&mut self, device: DeviceId, function: u8) -> DmaQueueId;

    /// Puts a transfer into a queue.
    ///
    /// # Panics
    /// When the transfer is empty, or its target cannot be reached from the device.
    fn submit(&mut self, queue: DmaQueueId, transfer: Transfer);

    /// States what `device` waits for whenever it has nothing to ask for: a [`RequesterState`] that the fabric cannot
    /// see by itself, such as its wire or the host's software.
    fn waits_for(&mut self, device: DeviceId, state: RequesterState);
}

/// Loads and stores of a core.
pub trait Mmio {
    /// The CPU above `device` writes to its BAR;
    /// [`WorkloadEvent::MmioWriteArrived`](crate::workload::WorkloadEvent::MmioWriteArrived) follows.
    ///
    /// # Panics
    /// When the write does not fit one TLP.
    fn mmio_write(&mut self, device: DeviceId, bytes: Bytes, token: u64);

    /// The same for a write-combining buffer of the core: when the root port has sent it, and the buffer is free again,
    /// [`WorkloadEvent::MmioWriteLeft`](crate::workload::WorkloadEvent::MmioWriteLeft) comes before.
    ///
    /// # Panics
    /// When the write does not fit one TLP.
    fn mmio_write_followed(&mut self, device: DeviceId, bytes: Bytes, token: u64);

    /// The CPU above `device` reads from its BAR;
    /// [`WorkloadEvent::MmioReadDone`](crate::workload::WorkloadEvent::MmioReadDone) follows.
    ///
    /// # Panics
    /// When the answer does not fit one TLP.
    fn mmio_read(&mut self, device: DeviceId, bytes: Bytes, token: u64);
}

/// Loads and stores of a core to the memory of an expander, over CXL.mem.
pub trait CxlMem {
    /// The CPU above `device` reads or writes a line of its memory.
    /// [`WorkloadEvent::LineDone`](crate::workload::WorkloadEvent::LineDone) follows: the data are at the core, or the answer to
    /// the write.
    ///
    /// # Panics
    /// When the device is not a memory expander.
    fn line(&mut self, device: DeviceId, access: LineAccess, token: u64);
}

pub use lanewise_cxl::message::LINE;

/// A read or write of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineAccess {
    /// Read or write, as the core sees it.
    pub direction: crate::workload::Direction,
    /// Address in the expander's memory; a multiple of 64.
    pub address: u64,
}

/// Flows in the results.
pub trait Tally {
    /// Adds a flow to the results.
    fn add_flow(&mut self, spec: FlowSpec) -> FlowId;

    /// Counts payload of a flow that did not travel as a transfer: what the CPU loaded or stored.
    fn payload_delivered(&mut self, flow: FlowId, payload: Bytes);

    /// Counts one operation of a flow with [`lanewise_observe::LatencyOf::Operation`].
    fn operation_done(&mut self, flow: FlowId, latency: Span);
}

/// Random numbers.
pub trait Randomness {
    /// The random stream for this component and purpose; the same names give the same draws.
    fn random_stream(&self, path: &str, purpose: &str) -> RandomStream;
}

/// Devices that come and go while the run goes on.
pub trait HotPlug {
    /// Whether nothing of an endpoint is under way: no access of the CPU to it, no request of its own that is not answered,
    /// no packet for it at the port above, nothing unacknowledged on its link, nothing in the buffers at either end.
    fn is_at_rest(&mut self, device: DeviceId) -> bool;

    /// Takes the link above an endpoint down.
    ///
    /// # Panics
    /// When the endpoint is not at rest, or its link is in Flit Mode.
    fn disconnect(&mut self, device: DeviceId);

    /// Lets the link above an endpoint come up again: both ends begin to initialise flow control.
    fn connect(&mut self, device: DeviceId);

    /// A workload will call [`Self::changed`] so many times: until then the run is not over.
    fn expect_changes(&mut self, count: usize);

    /// Something about the machine is different from now on: the next part of the run begins, under this name.
    fn changed(&mut self, name: String);
}
