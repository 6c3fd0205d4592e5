//! A ports of plain arithmetic for the tests of this crate: a link per device with a rate and a latency.

use crate::ports::{Instrument, Ports, typed};
use crate::server::RateServer;
use lanewise_engine::random::RandomStream;
use lanewise_fabric::Slots;
use lanewise_fabric::config::EngineConfig;
use lanewise_fabric::ports::{Dma, HotPlug, Mmio, Randomness, Tally, Timers};
use lanewise_fabric::workload::{DeviceId, Direction, DmaQueueId, Notify, Transfer, WorkloadEvent};
use lanewise_observe::{FlowId, FlowSpec, RequesterState};
use lanewise_units::{Bytes, Rate, Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Devices that the bench has links for.
const DEVICES: usize = 12;

/// When something happens, its number, which keeps the order of equal times, and its slot.
type Pending = Reverse<(Time, u64, u32)>;

/// The ports.
pub(crate) struct Bench {
    pub(crate) now: Time,
    occurrences: Slots<Occurrence>,
    put: u64,
    pending: BinaryHeap<Pending>,
    latency: Span,
    upstream: Vec<RateServer>,
    downstream: Vec<RateServer>,
    flows: Vec<FlowTally>,
    queues: u32,
    /// Offsets of the transfers of the first flow, in order of submission.
    pub(crate) offsets: Vec<u64>,
    /// When each read was submitted, and its bytes.
    pub(crate) reads: Vec<(Time, Bytes)>,
    /// Stores by cores.
    pub(crate) stores: u64,
    /// Largest latency of any operation.
    pub(crate) worst_latency: Span,
    /// Events handed to the instrument.
    pub(crate) handled: u64,
}

#[derive(Clone, Copy)]
enum Occurrence {
    Event(WorkloadEvent),
    Delivered { flow: usize, payload: u64 },
}

struct FlowTally {
    spec: FlowSpec,
    payload: u64,
    operations: u64,
    latency_sum: u128,
}

impl Bench {
    /// Links of this rate in each direction and with this latency one way.
    pub(crate) fn new(rate: Rate, latency: Span) -> Self {
        let link = || vec![RateServer::new(Some(rate)); DEVICES];
        Self {
            now: Time::ZERO,
            occurrences: Slots::default(),
            put: 0,
            pending: BinaryHeap::new(),
            latency,
            upstream: link(),
            downstream: link(),
            flows: Vec::new(),
            queues: 0,
            offsets: Vec::new(),
            reads: Vec::new(),
            stores: 0,
            worst_latency: Span::ZERO,
            handled: 0,
        }
    }

    /// Runs an instrument from the start, up to and including `limit`.
    pub(crate) fn run<I: Instrument<Self>>(&mut self, instrument: &mut I, limit: Span) {
        let now = self.now;
        instrument.begin(&mut Ports::of(self, now));
        self.go_on(instrument, limit);
    }

    /// Runs an instrument on from now, for `span` more.
    pub(crate) fn go_on<I: Instrument<Self>>(&mut self, instrument: &mut I, span: Span) {
        let limit = self.now + span;
        while let Some(Reverse((time, ..))) = self.pending.peek()
            && *time <= limit
        {
            let Some(Reverse((time, _, slot))) = self.pending.pop() else { break };
            self.now = time;
            match self.occurrences.take(slot) {
                Occurrence::Delivered { flow, payload } => self.flows[flow].payload += payload,
                Occurrence::Event(event) => {
                    self.handled += 1;
                    instrument.react(typed(event), &mut Ports::of(self, time));
                }
            }
        }
        self.now = limit;
    }

    /// Payload that arrived for the flow of this name and direction.
    pub(crate) fn payload(&self, name: &str, direction: &str) -> u64 {
        self.flow(name, direction).payload
    }

    /// The same for one of several devices.
    pub(crate) fn payload_of(&self, name: &str, device: &str, direction: &str) -> u64 {
        let wanted = |flow: &&FlowTally| (&*flow.spec.name, &*flow.spec.devices.label) == (name, device);
        let mut flows = self.flows.iter().filter(wanted);
        flows.find(|flow| flow.spec.direction == direction).expect("a flow of that device").payload
    }

    /// Operations of the flow of this name and direction, and their mean latency in ns.
    pub(crate) fn operations(&self, name: &str, direction: &str) -> (u64, f64) {
        let flow = self.flow(name, direction);
        let mean = flow.latency_sum as f64 / flow.operations.max(1) as f64;
        (flow.operations, Span::from_ticks(mean as u64).as_ns())
    }

    fn flow(&self, name: &str, direction: &str) -> &FlowTally {
        let wanted = |flow: &&FlowTally| flow.spec.name == name && flow.spec.direction == direction;
        self.flows.iter().find(wanted).expect("a flow of that name")
    }

    fn at(&mut self, time: Time, event: WorkloadEvent) {
        self.put(time, Occurrence::Event(event));
    }

    fn put(&mut self, time: Time, occurrence: Occurrence) {
        self.put += 1;
        self.pending.push(Reverse((time, self.put, self.occurrences.insert(occurrence))));
    }
}

impl Timers for Bench {
    fn set_timer(&mut self, at: Time, token: u64) {
        assert!(at >= self.now, "a timer in the past");
        self.at(at, WorkloadEvent::Timer { token });
    }
}

impl Dma for Bench {
    fn open_queue(&mut self, device: DeviceId) -> DmaQueueId {
        self.queues += 1;
        DmaQueueId { device, index: self.queues - 1 }
    }

    /// It knows no traffic classes.
    fn open_queue_of(&mut self, device: DeviceId, _traffic_class: u8) -> DmaQueueId {
        self.open_queue(device)
    }

    /// It has no use for an engine's units.
    fn open_queue_of_function(&mut self, device: DeviceId, _function: u8) -> DmaQueueId {
        self.open_queue(device)
    }

    fn open_queue_with(&mut self, device: DeviceId, _engine: &EngineConfig) -> DmaQueueId {
        self.open_queue(device)
    }

    fn submit(&mut self, queue: DmaQueueId, transfer: Transfer) {
        assert!(transfer.length > Bytes::ZERO, "a transfer moves something");
        let device = queue.device.0 as usize;
        let (sent, done) = match transfer.direction {
            Direction::Write => {
                let sent = self.upstream[device].reserve(self.now, transfer.length);
                (sent, sent + self.latency)
            }
            Direction::Read => {
                self.reads.push((self.now, transfer.length));
                let done = self.downstream[device].reserve(self.now + self.latency, transfer.length);
                (self.now, done)
            }
        };
        let token = transfer.token;
        let flow = transfer.flow.0 as usize;
        self.put(done, Occurrence::Delivered { flow, payload: transfer.length.get() });
        match transfer.notify {
            Notify::Nothing => {}
            Notify::Sent => self.at(sent, WorkloadEvent::TransferSent { token }),
            Notify::Done => self.at(done, WorkloadEvent::TransferDone { token }),
        }
        if flow == 0 {
            self.offsets.push(transfer.offset);
        }
    }

    fn waits_for(&mut self, _device: DeviceId, _state: RequesterState) {}
}

impl Mmio for Bench {
    fn mmio_write(&mut self, _device: DeviceId, _bytes: Bytes, token: u64) {
        self.stores += 1;
        self.at(self.now + self.latency, WorkloadEvent::MmioWriteArrived { token });
    }

    fn mmio_write_followed(&mut self, device: DeviceId, bytes: Bytes, token: u64) {
        let sent = self.downstream[device.0 as usize].reserve(self.now, bytes);
        self.at(sent, WorkloadEvent::MmioWriteLeft { token });
        self.at(sent + self.latency, WorkloadEvent::MmioWriteArrived { token });
    }

    fn mmio_read(&mut self, _device: DeviceId, _bytes: Bytes, token: u64) {
        self.at(self.now + self.latency * 2, WorkloadEvent::MmioReadDone { token });
    }
}

impl Tally for Bench {
    fn add_flow(&mut self, spec: FlowSpec) -> FlowId {
        self.flows.push(FlowTally { spec, payload: 0, operations: 0, latency_sum: 0 });
        FlowId(self.flows.len() as u32 - 1)
    }

    fn payload_delivered(&mut self, flow: FlowId, payload: Bytes) {
        self.flows[flow.0 as usize].payload += payload.get();
    }

    fn operation_done(&mut self, flow: FlowId, latency: Span) {
        let flow = &mut self.flows[flow.0 as usize];
        flow.operations += 1;
        flow.latency_sum += u128::from(latency.ticks());
        self.worst_latency = self.worst_latency.max(latency);
    }
}

impl Randomness for Bench {
    fn random_stream(&self, path: &str, purpose: &str) -> RandomStream {
        RandomStream::new(1, path, purpose)
    }
}

/// Its devices are always there, and always at rest.
impl HotPlug for Bench {
    fn is_at_rest(&mut self, _device: DeviceId) -> bool {
        true
    }

    fn disconnect(&mut self, _device: DeviceId) {}

    fn connect(&mut self, _device: DeviceId) {}

    fn expect_changes(&mut self, _count: usize) {}

    fn changed(&mut self, _name: String) {}
}
