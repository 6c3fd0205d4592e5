//! The seam between the fabric and the workloads, which ask it for bytes.
//!
//! A [`Workload`] is told that something happened and answers by asking the [`Fabric`] for transfers, MMIO and
//! timers, through [its ports](crate::ports). It sees no credits or packets, and no port of a device; the fabric knows nothing of disks,
//! files or benchmarks.

use crate::Fabric;
use crate::resources::ResourceReading;
use lanewise_observe::FlowId;
use lanewise_units::{Bytes, Time};
use std::any::Any;

/// Index of a device among [`crate::config::FabricConfig::devices`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeviceId(pub u32);

/// A queue of transfers of one endpoint, processed in order; queues of an endpoint take turns packet by packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DmaQueueId {
    /// The endpoint.
    pub device: DeviceId,
    /// Index among the endpoint's queues.
    pub index: u32,
}

/// Direction of a DMA transfer, seen from the device that asks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// Memory reads: requests leave, completions with data come back.
    Read,
    /// Posted memory writes.
    Write,
}

impl Direction {
    /// Name of its flow in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// Where the data lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// Memory of the root complex above the device.
    HostMemory,
    /// Memory of another endpoint: peer to peer.
    Endpoint(DeviceId),
    /// An address that no device has.
    Nobody,
}

/// One piece of DMA. To the fabric a token is 64 bits; the requester may have a type of its own for them.
#[derive(Clone, Copy, Debug)]
pub struct Transfer<T = u64> {
    /// Read or write.
    pub direction: Direction,
    /// Whose memory.
    pub target: Target,
    /// Offset into that memory; decides how requests are cut at 4 KiB, MPS and RCB.
    pub offset: u64,
    /// Bytes to move; never zero.
    pub length: Bytes,
    /// Flow that the payload is counted for.
    pub flow: FlowId,
    /// Given back in the event that ends the transfer.
    pub token: T,
    /// Which event, if any, the workload wants.
    pub notify: Notify,
}

impl<T> Transfer<T> {
    /// The same with its token written in another way.
    #[inline]
    pub fn map<U>(self, write: impl FnOnce(T) -> U) -> Transfer<U> {
        let Self { direction, target, offset, length, flow, token, notify } = self;
        Transfer { direction, target, offset, length, flow, token: write(token), notify }
    }
}

/// Which event a workload wants of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Notify {
    /// None.
    Nothing,
    /// [`WorkloadEvent::TransferSent`], when the last request has left the endpoint's queue.
    Sent,
    /// [`WorkloadEvent::TransferDone`]: a read's last byte is in the device, a write's last byte at its target.
    Done,
}

/// What a workload is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkloadEvent<T = u64> {
    /// A timer set with [`Timers::set_timer`](crate::ports::Timers::set_timer).
    Timer {
        /// As given.
        token: T,
    },
    /// The last request of a transfer left the endpoint's queue.
    TransferSent {
        /// As given in the transfer.
        token: T,
    },
    /// A read's last byte arrived in the device, or a write's last byte at its target.
    TransferDone {
        /// As given in the transfer.
        token: T,
    },
    /// A write by the CPU arrived at the endpoint.
    MmioWriteArrived {
        /// As given to [`Mmio::mmio_write`](crate::ports::Mmio::mmio_write).
        token: T,
    },
    /// A write by the CPU has left the root port: what held it in the core is free.
    MmioWriteLeft {
        /// As given to [`Mmio::mmio_write_followed`](crate::ports::Mmio::mmio_write_followed).
        token: T,
    },
    /// A line of a memory expander has been read or written: its data, or the answer to it, are at the core.
    LineDone {
        /// As given to [`CxlMem::line`](crate::ports::CxlMem::line).
        token: T,
    },
    /// A read by the CPU came back.
    MmioReadDone {
        /// As given to [`Mmio::mmio_read`](crate::ports::Mmio::mmio_read).
        token: T,
    },
}

impl<T: Copy> WorkloadEvent<T> {
    /// What the workload gave with the request that this is the answer to.
    #[inline]
    pub const fn token(self) -> T {
        let (Self::Timer { token }
        | Self::TransferSent { token }
        | Self::TransferDone { token }
        | Self::MmioWriteArrived { token }
        | Self::MmioWriteLeft { token }
        | Self::LineDone { token }
        | Self::MmioReadDone { token }) = self;
        token
    }

    /// The same event with its token read in another way.
    #[inline]
    pub fn map<U>(self, read: impl FnOnce(T) -> U) -> WorkloadEvent<U> {
        let token = read(self.token());
        match self {
            Self::Timer { .. } => WorkloadEvent::Timer { token },
            Self::TransferSent { .. } => WorkloadEvent::TransferSent { token },
            Self::TransferDone { .. } => WorkloadEvent::TransferDone { token },
            Self::MmioWriteArrived { .. } => WorkloadEvent::MmioWriteArrived { token },
            Self::MmioWriteLeft { .. } => WorkloadEvent::MmioWriteLeft { token },
            Self::LineDone { .. } => WorkloadEvent::LineDone { token },
            Self::MmioReadDone { .. } => WorkloadEvent::MmioReadDone { token },
        }
    }
}

/// Index of a workload, in the order they were added.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WorkloadId(pub u32);

/// What asks for bytes, when and where.
pub trait Workload {
    /// Called once, at the start of the run.
    fn start(&mut self, fabric: &mut Fabric);

    /// Called for each event that belongs to this workload, at [`Fabric::now`].
    fn handle(&mut self, event: WorkloadEvent, fabric: &mut Fabric);

    /// What an instrument reports about the window since the last call, in its own words; see the workload crate.
    /// `window` is the measured part of the run.
    fn report(&self, window: (Time, Time)) -> Vec<Metric> {
        let _ = window;
        Vec::new()
    }

    /// Whether a workload with an end of its own has reached it; none for one that goes on for as long as it is let.
    /// A run is over when every workload with an end has reached it, whatever the others do.
    fn has_ended(&self) -> Option<bool> {
        None
    }

    /// The reports of a workload that stands for several tools, in their order; of any other, its one report.
    fn reports(&self, window: (Time, Time)) -> Vec<Vec<Metric>> {
        vec![self.report(window)]
    }

    /// Every shared resource of the workload's own, with what it has done from the start of the run to `at`: cores, drives,
    /// pipelines of adapters, wires beyond them.
    fn resources(&self, at: Time) -> Vec<ResourceReading> {
        let _ = at;
        Vec::new()
    }

    /// Bytes that its devices hold between where they come from and where they go: buffers that fill make what comes in faster
    /// than what goes out, until they are full.
    fn held(&self) -> u64 {
        0
    }

    /// Memory, in bytes, of tables of its own that grow with what is under way, and that nothing in its settings bounds.
    fn bytes_under_way(&self) -> u64 {
        0
    }

    /// Takes other settings, of its own kind, while it is at work; they differ from those that it has in what may change.
    ///
    /// # Panics
    /// When it has nothing that may change, or the settings are another workload's.
    fn change(&mut self, to: &dyn Any, fabric: &mut Fabric) {
        let _ = (to, fabric);
        panic!("nothing of this workload may change while it is at work");
    }

    /// Forget what was measured so far: the warm-up is over.
    fn start_measuring(&mut self, now: Time) {
        let _ = now;
    }
}

/// One number of an instrument's report.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Name in the instrument's own words, with the unit: `Total MBs per Second (MiB/s)`.
    pub name: String,
    /// The number.
    pub value: f64,
}
