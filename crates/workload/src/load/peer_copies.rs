//! Copies between pairs of devices, in the order in which a program issues them, round after round.
//!
//! A program issues copies faster than they are done, so each waits in the queues that it is put into: copies of a queue follow
//! each other in the order of issue, and a copy starts when it is the first of all its queues. Which queues there are is
//! [`Waiting`]. The device that holds the data writes. An engine of it takes one copy after another, whatever queues they are in.
//! What a copy costs beside its data is the software of the program, a resource: it works for as many copies at a time as may be under way.
//! Leaves out: the time in which a core issues a copy, while others are under way.
//! Sources: CUDA C++ Programming Guide, peer-to-peer memory copy (the null stream); PyTorch,
//! `aten/src/ATen/native/cuda/Copy.cu` (the barrier between the current streams of both devices).

use crate::device::gpu::{Copies, CopyCosts, Kind, Way};
use crate::load::{Demand, Draft, Enlarge, LoadConfig, LoadName, Owner, Reached, Step, Tool};
use crate::ports::{self, Event, Instrument, called_by_fabric, needs};
use crate::server::asked_for;
use lanewise_fabric::config::EngineConfig;
use lanewise_fabric::workload::{DeviceId, Direction, DmaQueueId, Target, Workload};
use lanewise_fabric::{LoadPart, ResourceId, ResourceReading};
use lanewise_observe::{FlowId, FlowSpec, LatencyOf};
use lanewise_units::{Bytes, Time, order};

/// What a copy waits for, beside the copies before it between the same two devices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Waiting {
    /// Nothing: each pair has a stream of its own.
    Pair,
    /// Copies that were issued to the same target: the current stream of the target waits for each.
    Target,
    /// Copies that were issued from or to either of both devices: the null stream.
    Both,
}

/// A device, and what moves its data.
#[derive(Clone, Debug, PartialEq)]
pub struct Copier {
    /// The device.
    pub device: DeviceId,
    /// Its name.
    pub name: String,
    /// Units and bytes in flight of an engine.
    pub engine: EngineConfig,
    /// Engines for what the device writes; at least one.
    pub engines: u32,
    /// What each copy costs beside its data.
    pub costs: CopyCosts,
}

/// Settings of the instrument.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerCopiesConfig {
    /// Name of its flows.
    pub name: LoadName,
    /// Who copies to whom is said by place in this list.
    pub devices: Vec<Copier>,
    /// From whom to whom, by place in `devices`, in the order of issue; at least one, none from a device to itself.
    pub pairs: Vec<[usize; 2]>,
    /// Bytes of a copy.
    pub size: Bytes,
    /// What each copy waits for.
    pub waiting: Waiting,
}

needs!(pub(crate) Needs: Timers, Dma, Tally);

/// The machine as it sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kind>;

/// Pairs whose copies follow each other, in the order of issue, over and over.
#[derive(Clone, Default, Debug)]
struct Queue {
    pairs: Vec<usize>,
    first: usize,
}

impl Queue {
    fn first(&self) -> usize {
        self.pairs[self.first]
    }

    fn advance(&mut self) {
        self.first = (self.first + 1) % self.pairs.len();
    }
}

#[derive(Debug)]
struct Pair {
    flow: FlowId,
    /// When its copy became the first of all its queues.
    started: Time,
    under_way: bool,
}

/// The instrument.
#[derive(Debug)]
pub struct PeerCopies {
    config: PeerCopiesConfig,
    copies: Copies,
    /// As streams are numbered in `copies`.
    pairs: Vec<Pair>,
    /// By device; empty where copies wait for their own pair only.
    queues: Vec<Queue>,
}

/// Memory of one pair.
const PAIR_SPAN: u64 = 1 << 32;

impl PeerCopies {
    /// An instrument with nothing under way yet.
    ///
    /// # Panics
    /// When there is no pair, a device copies to itself, or copies are of nothing.
    pub fn new(config: PeerCopiesConfig) -> Self {
        let PeerCopiesConfig { name, devices, pairs, size, .. } = &config;
        assert!(!pairs.is_empty() && *size > Bytes::ZERO, "{name}: nothing to copy");
        assert!(pairs.iter().all(|[from, to]| from != to), "{name}: a copy from a device to itself");
        assert!(devices.iter().all(|device| device.engines > 0), "{name}: nobody copies");
        let mut queues = vec![Queue::default(); devices.len()];
        for (number, pair) in pairs.iter().enumerate() {
            for device in Self::waits_at(config.waiting, *pair) {
                queues[device].pairs.push(number);
            }
        }
        Self { copies: Copies::default(), pairs: Vec::new(), queues, config }
    }

    /// Devices in whose queues the copies of a pair are.
    fn waits_at(waiting: Waiting, [from, to]: [usize; 2]) -> impl Iterator<Item = usize> {
        let at = match waiting {
            Waiting::Pair => [None, None],
            Waiting::Target => [Some(to), None],
            Waiting::Both => [Some(from), Some(to)],
        };
        at.into_iter().flatten()
    }

    fn open<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        let mut opened: Vec<(FlowId, Vec<DmaQueueId>, usize)> = Vec::new();
        for copier in &self.config.devices {
            let flow = ports.add_flow(FlowSpec {
                name: self.config.name.to_string(),
                entry: self.config.name.entry(),
                devices: copier.name.as_str().into(),
                direction: "peer write",
                latency: LatencyOf::Operation,
                repeats: false,
            });
            let dma_queue = |_| ports.open_queue_with(copier.device, &copier.engine);
            opened.push((flow, (0..copier.engines).map(dma_queue).collect(), 0));
        }
        for (number, [from, to]) in self.config.pairs.iter().enumerate() {
            let (flow, dma_queues, taken) = &mut opened[*from];
            // Streams use the engines in turn.
            let dma_queue = dma_queues[*taken % dma_queues.len()];
            *taken += 1;
            let target = Target::Endpoint(self.config.devices[*to].device);
            self.copies.open(Way {
                direction: Direction::Write,
                target,
                dma_queue,
                flow: *flow,
                offset: number as u64 * PAIR_SPAN,
                costs: self.config.devices[*from].costs,
                queued: false,
            });
            self.pairs.push(Pair { flow: *flow, started: Time::ZERO, under_way: false });
        }
    }

    /// Starts the copy of a pair if it is the first of all its queues.
    fn start_if_first<M: Needs>(&mut self, pair: usize, ports: &mut Ports<'_, M>) {
        let mut queues = Self::waits_at(self.config.waiting, self.config.pairs[pair]);
        if self.pairs[pair].under_way || queues.any(|device| self.queues[device].first() != pair) {
            return;
        }
        let it = &mut self.pairs[pair];
        (it.under_way, it.started) = (true, ports.now());
        self.copies.start(pair as u32, self.config.size, ports);
    }

    fn copy_ended<M: Needs>(&mut self, pair: usize, ports: &mut Ports<'_, M>) {
        let it = &mut self.pairs[pair];
        it.under_way = false;
        let took = ports.now() - it.started;
        ports.operation_done(it.flow, took);
        for device in Self::waits_at(self.config.waiting, self.config.pairs[pair]) {
            self.queues[device].advance();
        }
        for device in Self::waits_at(self.config.waiting, self.config.pairs[pair]) {
            self.start_if_first(self.queues[device].first(), ports);
        }
        // Alone in its queues, or in none.
        self.start_if_first(pair, ports);
    }
}

impl<M: Needs> Instrument<M> for PeerCopies {
    type Kind = Kind;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        self.open(ports);
        for pair in 0..self.pairs.len() {
            self.start_if_first(pair, ports);
        }
    }

    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M>) {
        self.copies.react(event, ports);
        while let Some(pair) = self.copies.poll() {
            self.copy_ended(pair as usize, ports);
        }
    }
}

impl Workload for PeerCopies {
    called_by_fabric!();

    fn resources(&self, at: Time) -> Vec<ResourceReading> {
        let (id, name) = (self.config.software(), format!("{}.core", self.config.name));
        let software = self.copies.software(id, name, at);
        // Copies that wait for each other have their software work in turn.
        let places = self.config.at_once();
        software
            .map(|software| ResourceReading { places, ..software })
            .into_iter()
            .filter(asked_for)
            .collect()
    }
}

impl PeerCopiesConfig {
    /// The resource that the software of its copies is.
    fn software(&self) -> ResourceId {
        ResourceId::of_load(&self.name, LoadPart::Copies)
    }

    /// Copies that may be under way at a time, whatever the order of issue: one in each queue, and in no more queues than each is in.
    fn at_once(&self) -> u32 {
        let most = match self.waiting {
            Waiting::Pair => self.pairs.len(),
            Waiting::Target => order::set(self.pairs.iter().map(|[_, to]| *to)).len(),
            Waiting::Both => (order::set(self.pairs.iter().flatten().copied()).len() / 2).max(1),
        };
        most as u32
    }
}

impl LoadConfig for PeerCopiesConfig {
    fn build(&self) -> Box<dyn Workload> {
        Box::new(PeerCopies::new(self.clone()))
    }

    fn boxed(&self) -> Box<dyn LoadConfig> {
        Box::new(self.clone())
    }

    fn tools(&self) -> Vec<Tool> {
        vec![Tool::of(&self.name, "peer_copies")]
    }

    fn demands(&self) -> Vec<Demand> {
        vec![Demand { operations: self.pairs.len() as u64, of: format!("{}.pairs", self.name) }]
    }

    fn enlarge(&mut self, resource: &ResourceId, larger: &mut Enlarge) -> Option<()> {
        if *resource != self.software() {
            return None;
        }
        for CopyCosts { overhead, completion, .. } in self.devices.iter_mut().map(|copier| &mut copier.costs)
        {
            larger.shorten_all([overhead, completion]);
        }
        Some(())
    }

    fn edits(&self, resource: &ResourceId) -> Vec<Draft> {
        if *resource != self.software() {
            return Vec::new();
        }
        let engine = |copier: &Copier| (Owner::Device(copier.device), "copy_engine.overhead");
        let parameters = self.devices.iter().map(engine).collect();
        vec![Draft { what: "half the overhead of a copy", parameters, step: Step::Halve, is_stated: false }]
    }

    fn targets(&self) -> Vec<Reached<'_>> {
        let device = |at: usize| self.devices[at].device;
        let pair = |[from, to]: &[usize; 2]| Reached {
            flow: &self.name,
            by: Some(device(*from)),
            device: device(*to),
        };
        self.pairs.iter().map(pair).collect()
    }

    fn peer_memory(&self) -> Vec<(DeviceId, Bytes)> {
        self.pairs.iter().map(|[_, to]| (self.devices[*to].device, self.size)).collect()
    }
}

#[cfg(test)]
mod tests;
