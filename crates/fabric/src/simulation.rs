//! Owns all state in typed arenas, and holds the one `match` over events.

use crate::config::FabricConfig;
use crate::endpoint::{Endpoint, Transfers, resolve_target};
use crate::errors::Watch;
use crate::packet::{Address, Flags, Kind, Packet, PacketId, PacketPool};
use crate::phases::Changes;
use crate::port::{Owner, Port, PortId};
use crate::root_complex::RootComplex;
use crate::switch::Switch;
use crate::workload::{ChannelId, DeviceId, Metric, Target, Transfer, Workload, WorkloadEvent, WorkloadId};
use lanewise_engine::Engine;
use lanewise_engine::random::RandomStream;
use lanewise_observe::{Fact, FlowId, FlowSpec, Observers, RequesterState};
use lanewise_pcie::flow_control::Credits;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// What can happen at a point in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// A port looks at its wire.
    Wake(PortId),
    /// The oldest TLP on its way to a port is acted on.
    Arrival(PortId),
    /// The replay timer of a port may have run out.
    ReplayTimer(PortId),
    /// A timer of a workload.
    Timer(u32),
    /// Something that may have gone wrong is looked at.
    Watch(u32),
}

/// An event in four bytes: the event queue's entries decide how much fits a cache line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PackedEvent(u32);

const INDEX_BITS: u32 = 29;

impl Event {
    #[inline]
    pub(crate) fn pack(self) -> PackedEvent {
        let (kind, index) = match self {
            Self::Wake(port) => (0, port.0),
            Self::Arrival(port) => (1, port.0),
            Self::ReplayTimer(port) => (2, port.0),
            Self::Timer(index) => (3, index),
            Self::Watch(index) => (4, index),
        };
        debug_assert!(index < 1 << INDEX_BITS);
        PackedEvent(kind << INDEX_BITS | index)
    }
}

impl PackedEvent {
    #[inline]
    fn unpack(self) -> Event {
        let index = self.0 & ((1 << INDEX_BITS) - 1);
        match self.0 >> INDEX_BITS {
            0 => Event::Wake(PortId(index)),
            1 => Event::Arrival(PortId(index)),
            2 => Event::ReplayTimer(PortId(index)),
            3 => Event::Timer(index),
            _ => Event::Watch(index),
        }
    }
}

/// Ingress buffer bytes that credits stand for: 16 B per header unit and per data unit.
pub(crate) fn buffer_bytes(credits: Credits) -> u32 {
    16 * (u32::from(credits.header) + u32::from(credits.data))
}

/// A timer, or a notice that is due later.
#[derive(Clone, Copy, Debug)]
struct PendingNotice {
    workload: WorkloadId,
    event: WorkloadEvent,
}

/// An MMIO operation of the CPU that has not ended.
#[derive(Clone, Copy, Debug)]
struct MmioOperation {
    workload: WorkloadId,
    token: u64,
    endpoint: u32,
}

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
    pub(crate) packets: PacketPool,
    pub(crate) transfers: Transfers,
    pub(crate) observers: Observers,
    pub(crate) scratch: Vec<PacketId>,
    pub(crate) changes: Changes,
    seed: u64,
    mmio: Vec<MmioOperation>,
    mmio_free: Vec<u32>,
    mmio_open: usize,
    pending: Vec<PendingNotice>,
    pending_free: Vec<u32>,
    notices: VecDeque<(WorkloadId, WorkloadEvent)>,
    watches: Vec<Watch>,
    watches_free: Vec<u32>,
    /// Ports that may do something at this very time, drained at the end of the event: no event of their own.
    pub(crate) ready: VecDeque<PortId>,
    current: WorkloadId,
    hops_seen: u64,
    progress_at: Time,
}

impl Fabric {
    /// The time of the event being handled.
    pub fn now(&self) -> Time {
        self.engine.now()
    }

    /// What has been observed so far.
    pub fn observers(&self) -> &Observers {
        &self.observers
    }

    /// Gives the calling workload a [`WorkloadEvent::Timer`] at `at`.
    pub fn set_timer(&mut self, at: Time, token: u64) {
        let notice = PendingNotice { workload: self.current, event: WorkloadEvent::Timer { token } };
        self.schedule_notice(at.max(self.now()), notice);
    }

    /// Opens a DMA channel of an endpoint.
    ///
    /// # Panics
    /// When the device is not an endpoint.
    pub fn open_channel(&mut self, device: DeviceId) -> ChannelId {
        let index = self.endpoint_index(device);
        ChannelId { device, index: self.endpoints[index as usize].open_channel() }
    }

    /// Queues a transfer on a channel.
    ///
    /// # Panics
    /// When the transfer is empty, or its target cannot be reached from the device.
    pub fn submit(&mut self, channel: ChannelId, transfer: Transfer) {
        assert!(transfer.length > Bytes::ZERO, "a transfer moves at least a byte");
        let endpoint = self.endpoint_index(channel.device);
        let device = self.devices[channel.device.0 as usize];
        let peer = match transfer.target {
            Target::HostMemory | Target::Nobody => None,
            Target::Endpoint(peer) => {
                assert_eq!(
                    self.devices[peer.0 as usize].root_complex, device.root_complex,
                    "peers share a root"
                );
                Some(self.endpoints[self.endpoint_index(peer) as usize].ordinal)
            }
        };
        let memory = self.root_complexes[device.root_complex as usize].config.memory_base;
        let (address, destination) = resolve_target(transfer.target, transfer.offset, memory, peer);
        let index = self.transfers.insert(transfer, self.current, address, destination);
        self.endpoints[endpoint as usize].submit(channel.index, index, &self.transfers);
        self.refill(endpoint);
    }

    /// The CPU above `device` writes to its BAR; [`WorkloadEvent::MmioWriteArrived`] follows.
    ///
    /// # Panics
    /// When the write does not fit one TLP.
    pub fn mmio_write(&mut self, device: DeviceId, bytes: Bytes, token: u64) {
        self.mmio(Kind::MemoryWrite, device, bytes, token);
    }

    /// The CPU above `device` reads from its BAR; [`WorkloadEvent::MmioReadDone`] follows.
    ///
    /// # Panics
    /// When the answer does not fit one TLP.
    pub fn mmio_read(&mut self, device: DeviceId, bytes: Bytes, token: u64) {
        self.mmio(Kind::MemoryRead, device, bytes, token);
    }

    fn mmio(&mut self, kind: Kind, device: DeviceId, bytes: Bytes, token: u64) {
        let now = self.now();
        let endpoint = self.endpoint_index(device);
        let operation = MmioOperation { workload: self.current, token, endpoint };
        let context = insert(&mut self.mmio, &mut self.mmio_free, operation);
        self.mmio_open += 1;
        self.endpoints[endpoint as usize].mmio_open += 1;
        let destination = self.endpoints[endpoint as usize].ordinal;
        let mut packet = Packet::new(kind, destination, Address::HOST, now);
        packet.carry(0, bytes);
        packet.context = context;
        // Registers sit in a 32-bit BAR (Assumed), hence 3 DW headers.
        packet.flags = Flags::MMIO.with(Flags::LAST);
        let index = self.devices[device.0 as usize].root_complex;
        packet.header_bytes += self.root_complexes[index as usize].digest_bytes();
        let packet_id = self.packets.insert(packet);
        let egress = self.root_complexes[index as usize].routes.port_to(destination);
        let egress = egress.expect("every endpoint is below a root port");
        let port = self.root_complexes[index as usize].ports[usize::from(egress)];
        let mps = self.ports[port.index()].settings.mps;
        assert!(bytes > Bytes::ZERO && bytes <= mps, "a load or store is one TLP of 1 to {mps}, not {bytes}");
        self.queue_at_root_port(index, egress, packet_id);
    }

    pub(crate) fn mmio_write_arrived(&mut self, packet: &Packet) {
        let operation = self.mmio_done(packet);
        self.notify(
            operation.workload,
            WorkloadEvent::MmioWriteArrived { token: operation.token },
            Span::ZERO,
        );
    }

    pub(crate) fn mmio_read_done(&mut self, packet: &Packet) {
        let operation = self.mmio_done(packet);
        self.notify(operation.workload, WorkloadEvent::MmioReadDone { token: operation.token }, Span::ZERO);
    }

    fn mmio_done(&mut self, packet: &Packet) -> MmioOperation {
        self.mmio_free.push(packet.context);
        self.mmio_open -= 1;
        let operation = self.mmio[packet.context as usize];
        self.endpoints[operation.endpoint as usize].mmio_open -= 1;
        operation
    }

    /// Adds a flow to the results.
    pub fn add_flow(&mut self, spec: FlowSpec) -> FlowId {
        self.observers.add_flow(spec)
    }

    /// Counts payload of a flow that did not travel as a transfer: what the CPU loaded or stored.
    pub fn payload_delivered(&mut self, flow: FlowId, payload: Bytes) {
        let now = self.now();
        self.observers.observe(now, Fact::Delivered { flow, payload });
    }

    /// Counts one operation of a flow with [`lanewise_observe::LatencyOf::Operation`].
    pub fn operation_done(&mut self, flow: FlowId, latency: Span) {
        let now = self.now();
        self.observers.observe(now, Fact::OperationDone { flow, latency });
    }

    /// The random stream for this component and purpose.
    pub fn random_stream(&self, path: &str, purpose: &str) -> RandomStream {
        RandomStream::new(self.seed, path, purpose)
    }

    pub(crate) fn endpoint_index(&self, device: DeviceId) -> u32 {
        match self.devices[device.0 as usize].owner {
            Owner::Endpoint(index) => index,
            other => panic!("device {} is no endpoint but {other:?}", device.0),
        }
    }

    /// Stages the next posted write and the next read request of an endpoint, and says what holds it back.
    pub(crate) fn refill(&mut self, index: u32) {
        match self.endpoints[index as usize].errors {
            None => self.refill_as::<false>(index),
            Some(_) => self.refill_watched(index),
        }
    }

    #[cold]
    fn refill_watched(&mut self, index: u32) {
        self.refill_as::<true>(index);
        self.arm_deadlines(index);
    }

    #[inline(always)]
    fn refill_as<const WATCHED: bool>(&mut self, index: u32) {
        let now = self.engine.now();
        let endpoint = &mut self.endpoints[index as usize];
        let id = endpoint.port;
        let port = &mut self.ports[id.index()];
        let mut staged_at = Time::NEVER;
        if port.queues.head(FlowClass::Posted).is_none()
            && let Some(packet) = match WATCHED {
                false => endpoint.next_write(now, &self.transfers),
                true => endpoint.next_write_touched(now, &self.transfers),
            }
        {
            staged_at = packet.eligible_at;
            let packet_id = self.packets.insert(packet);
            port.queues.push(&mut self.packets, packet_id);
        }
        if port.queues.head(FlowClass::NonPosted).is_none()
            && let Some(packet) = match WATCHED {
                false => endpoint.next_read(now, &self.transfers),
                true => endpoint.next_watched_read(now, &self.transfers),
            }
        {
            staged_at = staged_at.min(packet.eligible_at);
            let packet_id = self.packets.insert(packet);
            port.queues.push(&mut self.packets, packet_id);
        }
        let state = if staged_at > now && staged_at != Time::NEVER {
            RequesterState::RequestInterval
        } else if port.queues.is_empty() {
            endpoint.idle_state()
        } else {
            RequesterState::Port
        };
        self.observers.observe(now, Fact::Requester { endpoint: index, state });
        if staged_at != Time::NEVER {
            self.offer(id, staged_at);
        }
    }

    /// States what `device` waits for whenever it has nothing to ask for: a [`RequesterState`] that the fabric cannot
    /// see by itself, such as its wire or the host's software.
    pub fn waits_for(&mut self, device: DeviceId, state: RequesterState) {
        let now = self.now();
        let index = self.endpoint_index(device);
        let endpoint = &mut self.endpoints[index as usize];
        endpoint.waits_for = state;
        if self.ports[endpoint.port.index()].queues.is_empty() {
            let state = endpoint.idle_state();
            self.observers.observe(now, Fact::Requester { endpoint: index, state });
        }
    }

    pub(crate) fn notify(&mut self, workload: WorkloadId, event: WorkloadEvent, delay: Span) {
        if delay.is_zero() {
            self.notices.push_back((workload, event));
        } else {
            self.schedule_notice(self.now() + delay, PendingNotice { workload, event });
        }
    }

    fn schedule_notice(&mut self, at: Time, notice: PendingNotice) {
        let index = insert(&mut self.pending, &mut self.pending_free, notice);
        self.engine.schedule(at, Event::Timer(index).pack());
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        match event {
            Event::Wake(port) => self.on_wake(port),
            Event::Arrival(port) => self.on_arrival(port),
            Event::ReplayTimer(port) => self.on_replay_timer(port),
            Event::Timer(index) => {
                self.pending_free.push(index);
                let PendingNotice { workload, event } = self.pending[index as usize];
                self.notices.push_back((workload, event));
            }
            Event::Watch(index) => {
                self.watches_free.push(index);
                self.on_watch(self.watches[index as usize]);
            }
        }
    }

    /// Has [`Self::on_watch`] called at `at`.
    pub(crate) fn watch_at(&mut self, at: Time, watch: Watch) {
        let index = insert(&mut self.watches, &mut self.watches_free, watch);
        self.engine.schedule(at, Event::Watch(index).pack());
    }

    /// Whether a read that has not come back will be given up, or answered, in time.
    fn anything_watched(&self) -> bool {
        self.watches.len() > self.watches_free.len()
    }

    fn timers_pending(&self) -> usize {
        self.pending.len() - self.pending_free.len()
    }

    /// Whether anybody still waits for something.
    fn anything_open(&self) -> bool {
        self.transfers.open() > 0 || self.mmio_open > 0 || self.timers_pending() > 0
    }

    /// TLPs have moved since the last look, or workloads are about to act.
    fn made_progress(&mut self, now: Time) -> bool {
        let hops = self.observers.tlp_hops();
        if hops != self.hops_seen || self.timers_pending() > 0 || self.anything_watched() {
            self.hops_seen = hops;
            self.progress_at = now;
        }
        now.saturating_since(self.progress_at) < STALL_AFTER
    }
}

/// Puts `item` into a free slot.
fn insert<T>(slots: &mut Vec<T>, free: &mut Vec<u32>, item: T) -> u32 {
    match free.pop() {
        Some(index) => {
            slots[index as usize] = item;
            index
        }
        None => {
            slots.push(item);
            slots.len() as u32 - 1
        }
    }
}

/// A fabric on which nothing has moved for so long, with requests open, is stalled: longer than any replay timer,
/// flow control period or Recovery.
const STALL_AFTER: Span = Span::from_ms(2);

/// How a call of [`Simulation::run_until`] ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The time asked for was reached.
    Reached,
    /// Every workload is done.
    Finished,
    /// Requests are open and nothing moves: who waits for whom.
    Stalled {
        /// One sentence per port that waits.
        waiting: Vec<String>,
    },
    /// The number of events asked for was reached first.
    EventLimit,
}

/// A fabric and who asks it for what.
pub struct Simulation {
    /// The fabric.
    pub fabric: Fabric,
    workloads: Vec<Box<dyn Workload>>,
    started: bool,
    window_start: Time,
}

impl Simulation {
    /// Builds the fabric, at rest.
    ///
    /// # Errors
    /// When the configuration does not describe a tree of devices; see [`crate::AssemblyError`].
    pub fn build(config: &FabricConfig) -> Result<Self, crate::AssemblyError> {
        let parts = crate::assembly::assemble(config)?;
        let observers = Observers::new(parts.ports.len(), parts.endpoints.len());
        let fabric = Fabric {
            engine: Engine::new(),
            ports: parts.ports,
            switches: parts.switches,
            root_complexes: parts.root_complexes,
            endpoints: parts.endpoints,
            devices: parts.devices,
            device_ports: parts.device_ports,
            packets: PacketPool::default(),
            transfers: Transfers::default(),
            observers,
            scratch: Vec::new(),
            changes: Changes::default(),
            seed: config.seed,
            mmio: Vec::new(),
            mmio_free: Vec::new(),
            mmio_open: 0,
            pending: Vec::new(),
            pending_free: Vec::new(),
            notices: VecDeque::new(),
            watches: Vec::new(),
            watches_free: Vec::new(),
            ready: VecDeque::new(),
            current: WorkloadId(0),
            hops_seen: 0,
            progress_at: Time::ZERO,
        };
        Ok(Self { fabric, workloads: Vec::new(), started: false, window_start: Time::ZERO })
    }

    /// Adds a workload; it starts with the run.
    pub fn add_workload(&mut self, workload: Box<dyn Workload>) -> WorkloadId {
        self.workloads.push(workload);
        WorkloadId(self.workloads.len() as u32 - 1)
    }

    fn start(&mut self) {
        self.started = true;
        for index in 0..self.fabric.ports.len() {
            self.fabric.wake(PortId(index as u32), Time::ZERO);
        }
        for (index, workload) in self.workloads.iter_mut().enumerate() {
            self.fabric.current = WorkloadId(index as u32);
            workload.start(&mut self.fabric);
        }
        self.finish_event();
    }

    /// Runs until `limit`, or until `events` more were handled.
    pub fn run_until(&mut self, limit: Time, events: u64) -> Progress {
        if !self.started {
            self.start();
        }
        let last_event = self.fabric.engine.events_handled().saturating_add(events);
        let mut look_at = self.fabric.engine.events_handled() + LOOK_EVERY;
        while let Some((now, event)) = self.fabric.engine.next_before(limit) {
            self.fabric.handle(event.unpack());
            self.finish_event();
            let handled = self.fabric.engine.events_handled();
            if handled >= look_at {
                look_at = handled + LOOK_EVERY;
                if !self.fabric.anything_open() || self.have_ended() == Some(true) {
                    return Progress::Finished;
                }
                if !self.fabric.made_progress(now) {
                    return Progress::Stalled { waiting: self.fabric.who_waits() };
                }
                if handled >= last_event {
                    return Progress::EventLimit;
                }
            }
        }
        if !self.fabric.anything_open() {
            self.fabric.catch_up_all(self.fabric.now());
            return Progress::Finished;
        }
        self.fabric.catch_up_all(limit);
        if self.fabric.engine.pending() == 0 {
            Progress::Stalled { waiting: self.fabric.who_waits() }
        } else {
            Progress::Reached
        }
    }

    /// Tells the workloads what happened and lets the ports that became able to send do so, until both are quiet.
    #[inline]
    fn finish_event(&mut self) {
        loop {
            if let Some(port) = self.fabric.ready.pop_front() {
                self.fabric.on_wake(port);
            } else if !self.fabric.notices.is_empty() {
                self.deliver_notices();
            } else {
                return;
            }
        }
    }

    fn deliver_notices(&mut self) {
        while let Some((workload, event)) = self.fabric.notices.pop_front() {
            self.fabric.current = workload;
            self.workloads[workload.0 as usize].handle(event, &mut self.fabric);
        }
    }

    /// The warm-up ends at `at`: what was observed so far is forgotten.
    ///
    /// `at` is a time that [`Self::run_until`] has reached.
    pub fn start_measuring(&mut self, at: Time) {
        self.window_start = at;
        self.fabric.changes.start_measuring();
        self.fabric.settle_all(at);
        let accounted: Vec<Time> = self.fabric.ports.iter().map(|port| port.busy_until).collect();
        self.fabric.observers.start_measuring(at, accounted.into_iter());
        for workload in &mut self.workloads {
            workload.start_measuring(at);
        }
    }

    /// Accounts for all time up to `at`, so that results can be read.
    pub fn stop_measuring(&mut self, at: Time) {
        self.fabric.settle_all(at);
    }

    /// What the tools of each workload report, from the end of the warm-up to `until`.
    pub fn reports(&self, until: Time) -> Vec<Vec<Vec<Metric>>> {
        self.workloads.iter().map(|workload| workload.reports((self.window_start, until))).collect()
    }

    /// Whether every workload with an end of its own has reached it; none when there is no such workload.
    pub fn have_ended(&self) -> Option<bool> {
        self.workloads.iter().filter_map(|workload| workload.has_ended()).reduce(|all, one| all && one)
    }

    /// Events handled so far.
    pub fn events_handled(&self) -> u64 {
        self.fabric.engine.events_handled()
    }
}

/// Events between two looks at whether the run goes anywhere.
const LOOK_EVERY: u64 = 4096;
