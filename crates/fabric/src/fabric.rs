//! The state of a whole fabric, in typed arenas. What happens to it is in the other files, one for each kind of thing.

use crate::addresses::Addresses;
use crate::assembly::Parts;
use crate::audit::OwnBooks;
use crate::cxl::Cxl;
use crate::endpoint::{Endpoint, Transfers};
use crate::errors::Watch;
use crate::event::PackedEvent;
use crate::mmio::MmioOperation;
use crate::notices::PendingNotice;
use crate::packet::{PacketId, PacketPool};
use crate::parts::Border;
use crate::peers::CutPacket;
use crate::phases::Changes;
use crate::port::{Owner, Port, PortId};
use crate::ports::{Randomness, Tally};
use crate::ready::Ready;
use crate::root_complex::RootComplex;
use crate::side_link::Beside;
use crate::slots::Slots;
use crate::switch::Switch;
use crate::workload::{DeviceId, WorkloadEvent, WorkloadId};
use lanewise_engine::Engine;
use lanewise_engine::random::RandomStream;
use lanewise_observe::{Fact, FlowId, FlowSpec, Observers};
use lanewise_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// What a device is, and where it is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    pub(crate) owner: Owner,
    /// The root complex above it (itself, for a root complex).
    pub(crate) root_complex: u32,
}

/// Ports, links, devices and everything under way between them.
pub struct Fabric {
    pub(crate) engine: Engine<PackedEvent>,
    pub(crate) ports: Vec<Port>,
    pub(crate) switches: Vec<Switch>,
    pub(crate) root_complexes: Vec<RootComplex>,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) devices: Vec<Device>,
    pub(crate) device_ports: Vec<Vec<PortId>>,
    pub(crate) addresses: Addresses,
    pub(crate) packets: PacketPool,
    pub(crate) transfers: Transfers,
    pub(crate) observers: Observers,
    pub(crate) scratch: Vec<PacketId>,
    pub(crate) changes: Changes,
    pub(crate) seed: u64,
    pub(crate) mmio: Slots<MmioOperation>,
    pub(crate) pending: Slots<PendingNotice>,
    /// Transfers over side links, each with a notice of its next step.
    pub(crate) beside: Slots<Beside>,
    pub(crate) notices: VecDeque<(WorkloadId, WorkloadEvent)>,
    pub(crate) watches: Slots<Watch>,
    pub(crate) cut_packets: Slots<CutPacket>,
    /// Ports that may do something at this very time, once everything else of it has happened: no event of their own.
    pub(crate) ready: Ready,
    pub(crate) current: WorkloadId,
    pub(crate) hops_seen: u64,
    pub(crate) progress_at: Time,
    /// It is stalled when nothing has moved for longer.
    pub(crate) stall_after: Span,
    /// What only audits look at.
    pub(crate) own_books: Box<OwnBooks>,
    /// Links of CXL.mem; none where there are no memory expanders.
    pub(crate) cxl: Option<Box<Cxl>>,
    /// Where other threads have the rest of it; none where this is the whole.
    pub(crate) border: Option<Box<Border>>,
}

impl Fabric {
    /// Everything at rest.
    pub(crate) fn new(parts: Parts, seed: u64) -> Self {
        let observers = Observers::new(parts.ports.len(), parts.endpoints.len());
        Self {
            engine: Engine::new(),
            stall_after: crate::simulation::stall_after(&parts.ports),
            ports: parts.ports,
            switches: parts.switches,
            root_complexes: parts.root_complexes,
            endpoints: parts.endpoints,
            devices: parts.devices,
            device_ports: parts.device_ports,
            addresses: parts.addresses,
            packets: PacketPool::default(),
            transfers: Transfers::default(),
            observers,
            scratch: Vec::new(),
            changes: Changes::default(),
            seed,
            mmio: Slots::default(),
            pending: Slots::default(),
            beside: Slots::default(),
            notices: VecDeque::new(),
            watches: Slots::default(),
            cut_packets: Slots::default(),
            ready: Ready::default(),
            current: WorkloadId(0),
            hops_seen: 0,
            progress_at: Time::ZERO,
            own_books: Box::default(),
            cxl: None,
            border: None,
        }
    }

    /// The time of the event being handled.
    pub fn now(&self) -> Time {
        self.engine.now()
    }

    /// What has been observed so far.
    pub fn observers(&self) -> &Observers {
        &self.observers
    }

    pub(crate) fn endpoint_index(&self, device: DeviceId) -> u32 {
        match self.devices[device.0 as usize].owner {
            Owner::Endpoint(index) => index,
            other => panic!("device {} is no endpoint but {other:?}", device.0),
        }
    }
}

impl Tally for Fabric {
    fn add_flow(&mut self, spec: FlowSpec) -> FlowId {
        self.observers.add_flow(spec)
    }

    fn payload_delivered(&mut self, flow: FlowId, payload: Bytes) {
        let now = self.now();
        self.own_books.told_bytes += payload.get();
        self.observers.observe(now, Fact::Delivered { flow, payload });
    }

    fn operation_done(&mut self, flow: FlowId, latency: Span) {
        let now = self.now();
        self.observers.observe(now, Fact::OperationDone { flow, latency });
    }
}

impl Randomness for Fabric {
    fn random_stream(&self, path: &str, purpose: &str) -> RandomStream {
        RandomStream::new(self.seed, path, purpose)
    }
}
