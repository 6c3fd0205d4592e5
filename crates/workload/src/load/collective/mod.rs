//! Collective operations among devices, as nccl-tests time them.
//!
//! ```text
//!  launch ─► slice ─► path ─► arrives ─► hop ─► next rank's slice ─► … ─► last slice arrives ─► hop ─► over, when it is for all
//! ```
//!
//! Ranks send round a ring, up and down a tree, or to each other straight; channels are several of these side by side, each with its share
//! of the data. A block of threads of each rank and channel goes through its chunks in order ([`plan`]): it takes the next slice that has
//! arrived, adds its own where the operation reduces, and gives it to the next rank, as soon as that has room. So the slices of a chunk are
//! under way at the same time, at different hops. A receiver has room again when it has passed a slice on, and the sender may use it after
//! what the path takes for a line.
//!
//! A slice goes ([`transport`]) straight into the next rank's memory, by PCI Express or a side link; or into memory of their host, from where
//! the next rank reads it; or through adapters and a wire. A hop costs what kernels take to see and deal with what has arrived: given, or
//! as much of NCCL's own figure for a whole hop as the path of a single line leaves ([`tuning`]). Before the first operation every pair
//! sends a line for that, one after another.
//!
//! The report is in the words of nccl-tests: `algbw` is the size over the time, `busbw` that times a factor of the operation, so that it can
//! be set beside a link (NVIDIA/nccl-tests, doc/PERFORMANCE.md). Sources: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for
//! clusters of workstations, J. Parallel Distrib. Comput. 69 (2009); NVIDIA/nccl 2.30.7.
//!
//! Leaves out: counters that travel beside slices, memory of the devices and their adding as limits of their own, rings that differ within a host,
//! NVLink SHARP and other networks that add, PAT.

mod config;
mod plan;
mod report;
pub mod search;
mod settings;
#[cfg(test)]
mod tests;
mod transport;
mod tree;
pub mod tuning;

pub use config::{CollectiveConfig, Hop, NetworkPath, Operation, Pass, Path, Rank, Way};
pub use plan::{Layout, pairs};
pub use tuning::{Algorithm, Hardware, Protocol};

use crate::device::rdma::{self, RdmaNetwork};
use crate::ports::{self, Event, Instrument, needs, split};
use crate::token::{self, Joined, kinds};
use lanewise_fabric::Station;
use lanewise_observe::FlowId;
use lanewise_units::{Bytes, Time};
use plan::{Plan, Step};
use report::Timed;
use std::collections::BTreeMap;
use transport::{Carrier, RankFlows};

kinds! {
    /// What may happen.
    pub(crate) enum Kind {
        /// An operation has been launched.
        Launched,
        /// Data are in memory of the sender's host. Carrier.
        Gathered,
        /// A proxy thread has seen what came off the wire. Carrier.
        Seen,
        /// Data are in the receiver. Carrier.
        Arrived,
        /// The receiver has the counter of slices in memory of its host. Carrier.
        Counted,
        /// The receiver has dealt with what has arrived. Connection.
        Ready,
        /// The sender knows that the receiver has room for another slice. Connection; the size that it was of.
        Freed,
    }
}

/// That, or something of the adapters'.
pub(crate) type Kinds = Joined<Kind, rdma::Kind>;
type Token = token::Token<Kinds>;
needs!(pub(crate) Needs: Timers, Dma, Mmio, Tally);

/// The machine as it sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kinds>;

/// Slices of a connection.
#[derive(Clone, Copy, Default, Debug)]
struct Slices {
    /// Carrier that they go by.
    carrier: u32,
    /// Sent, and no room for others yet.
    open: u32,
    /// Arrived and dealt with.
    ready: u32,
    sent: u64,
    /// When threads have dealt with all that has arrived.
    busy_until: Time,
}

/// How far a block is.
#[derive(Clone, Default, Debug)]
struct Progress {
    loops: u64,
    steps: Vec<Step>,
    at: usize,
    /// Data of the step at hand that it has dealt with.
    done: u64,
    over: bool,
}

/// The instrument.
#[derive(Debug)]
pub struct CollectiveWorkload {
    config: CollectiveConfig,
    network: RdmaNetwork,
    /// Of each node.
    proxies: Vec<Station>,
    /// Ways of single channels, which connections use.
    carriers: Vec<Carrier>,
    /// By sender, receiver and channel.
    carrier_of: BTreeMap<(u32, u32, u32), u32>,
    /// Carriers whose path is still to be tried with a line.
    untried: Vec<u32>,
    /// Since when a line is on its way.
    trying: Time,
    /// Index of the size that is under way.
    pass: usize,
    plan: Plan,
    slices: Vec<Slices>,
    progress: Vec<Progress>,
    /// Blocks that have something to do.
    busy: usize,
    launched: bool,
    started: Time,
    /// Operations of this size so far.
    operations: u32,
    over: bool,
    /// Of each rank.
    rank_flows: Vec<RankFlows>,
    /// Of the operations.
    flow: Option<FlowId>,
    /// By size.
    timed: Vec<Timed>,
}

impl CollectiveWorkload {
    /// An instrument with nothing under way.
    ///
    /// # Panics
    /// When there are no two ranks, no size, or a size without bytes, chunks or an end.
    pub fn new(config: CollectiveConfig) -> Self {
        let CollectiveConfig { name, ranks, passes, operations, root, .. } = &config;
        assert!(ranks.len() > 1 && (*root as usize) < ranks.len(), "{name}: two ranks at least, and a root");
        assert!(
            operations.map_or(passes.len() == 1, |operations| operations > 0),
            "{name}: a size without an end"
        );
        for pass in passes {
            assert!(pass.size > Bytes::ZERO && pass.chunk > Bytes::ZERO, "{name}: an empty chunk");
            assert!(pass.channels > 0 && pass.slices > 0 && pass.window > 0, "{name}: nothing may be sent");
        }
        Self {
            network: RdmaNetwork::new(config.network.clone()),
            proxies: vec![Station::default(); config.proxies.len()],
            carriers: Vec::new(),
            carrier_of: BTreeMap::new(),
            untried: Vec::new(),
            trying: Time::ZERO,
            pass: 0,
            plan: Plan::default(),
            slices: Vec::new(),
            progress: Vec::new(),
            busy: 0,
            launched: false,
            started: Time::ZERO,
            operations: 0,
            over: false,
            rank_flows: Vec::new(),
            flow: None,
            timed: vec![Timed::default(); config.passes.len()],
            config,
        }
    }

    fn pass(&self) -> &Pass {
        &self.config.passes[self.pass]
    }

    /// The plan of the size at hand, and the first operation.
    fn start_pass<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        self.plan = Plan::new(&self.config, self.pass());
        let slices = |connection: &plan::Connection| {
            let carrier = self.carrier_of[&(connection.from, connection.to, connection.channel)];
            Slices { carrier, ..Slices::default() }
        };
        self.slices = self.plan.connections.iter().map(slices).collect();
        self.operations = 0;
        self.launch(ports);
    }

    fn launch<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        (self.started, self.launched) = (ports.now(), false);
        self.progress = vec![Progress::default(); self.plan.blocks.len()];
        self.busy = self.progress.len();
        let launch = self.pass().launch;
        ports.set_timer(self.started + launch, Token::of(Kind::Launched, 0));
    }

    /// A block goes on as far as it can.
    fn go_on<M: Needs>(&mut self, block: usize, ports: &mut Ports<'_, M>) {
        if !self.launched || self.progress[block].over {
            return;
        }
        while let Some(bytes) = self.next_slice(block) {
            let Step { receives, sends, .. } = self.progress[block].steps[self.progress[block].at];
            let plan::Block { from, to, .. } = &self.plan.blocks[block];
            let window = self.config.passes[self.pass].window;
            let lacks = from.iter().any(|from| receives && self.slices[*from as usize].ready == 0);
            if lacks || to.iter().any(|to| sends && self.slices[*to as usize].open == window) {
                return;
            }
            self.progress[block].done += bytes;
            if receives {
                self.take(block, ports);
            }
            if sends {
                self.give(block, Bytes::new(bytes), ports);
            }
        }
        self.progress[block].over = true;
        self.busy -= 1;
        if self.busy == 0 {
            self.operation_over(ports);
        }
    }

    /// Bytes of the next slice of a block; none when it is through.
    fn next_slice(&mut self, block: usize) -> Option<u64> {
        let Pass { chunk, slices, least_slice, .. } = self.config.passes[self.pass];
        let progress = &mut self.progress[block];
        loop {
            if let Some(step) = progress.steps.get(progress.at) {
                let slice =
                    step.bytes.div_ceil(u64::from(slices)).next_multiple_of(16).max(least_slice.get());
                let left = step.bytes - progress.done;
                if left > 0 {
                    return Some(left.min(slice));
                }
                (progress.at, progress.done) = (progress.at + 1, 0);
                continue;
            }
            let count = self.config.ranks.len() as u32;
            let operation = self.config.operation;
            progress.steps = self.plan.blocks[block].steps(progress.loops, operation, count, chunk)?;
            (progress.loops, progress.at) = (progress.loops + 1, 0);
        }
    }

    /// A block takes a slice of each connection that it receives from, whose senders have room again.
    fn take<M: Needs>(&mut self, block: usize, ports: &mut Ports<'_, M>) {
        for number in 0..self.plan.blocks[block].from.len() {
            let connection = self.plan.blocks[block].from[number];
            let slices = &mut self.slices[connection as usize];
            slices.ready -= 1;
            let back = self.carriers[slices.carrier as usize].line;
            ports.set_timer(ports.now() + back, Token::with(Kind::Freed, connection, self.pass as u64));
        }
    }

    /// A block gives a slice to each connection that it sends to.
    fn give<M: Needs>(&mut self, block: usize, data: Bytes, ports: &mut Ports<'_, M>) {
        let wire = self.pass().protocol.wire(data);
        let window = u64::from(self.pass().window);
        for number in 0..self.plan.blocks[block].to.len() {
            let connection = self.plan.blocks[block].to[number];
            let slices = &mut self.slices[connection as usize];
            slices.open += 1;
            let place = slices.sent % window;
            slices.sent += 1;
            let carrier = slices.carrier;
            self.carry(carrier, Some(connection), (place, wire), ports);
        }
    }

    /// Data have arrived at the receiver of a connection.
    fn arrived<M: Needs>(&mut self, connection: u32, ports: &mut Ports<'_, M>) {
        let slices = self.slices[connection as usize];
        let carrier = &self.carriers[slices.carrier as usize];
        let hop = match self.pass().hops[carrier.hardware as usize] {
            Hop::AfterArrival(span) => span,
            Hop::Whole(span) => span.saturating_sub(carrier.write),
        };
        let start = if self.pass().in_turn { ports.now().max(slices.busy_until) } else { ports.now() };
        self.slices[connection as usize].busy_until = start + hop;
        ports.set_timer(start + hop, Token::of(Kind::Ready, connection));
    }

    fn happened<M: Needs>(&mut self, token: token::Token<Kind>, ports: &mut Ports<'_, M>) {
        let token::Token { kind, subject, detail } = token;
        match kind {
            Kind::Launched => {
                self.launched = true;
                (0..self.plan.blocks.len()).for_each(|block| self.go_on(block, ports));
            }
            Kind::Gathered => self.gathered(subject, ports),
            Kind::Seen => self.seen(subject, ports),
            Kind::Arrived => match self.carriers[subject as usize].arrives() {
                Some(connection) => {
                    self.arrived(connection, ports);
                    if self.pass().counts_slices() {
                        self.dealt_with(subject, ports);
                    }
                }
                None => self.tried(subject, ports),
            },
            Kind::Counted => self.counted(subject, ports),
            Kind::Ready => {
                self.slices[subject as usize].ready += 1;
                if !self.pass().counts_slices() {
                    self.dealt_with(self.slices[subject as usize].carrier, ports);
                }
                self.go_on(self.plan.connections[subject as usize].receiver as usize, ports);
            }
            Kind::Freed => self.freed(subject, detail as usize, ports),
        }
    }

    fn operation_over<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        let latency = ports.now() - self.started;
        self.operations += 1;
        if self.operations > self.config.warm_up || self.config.operations.is_none() {
            self.timed[self.pass].add(latency);
        }
        if let Some(flow) = self.flow {
            ports.operation_done(flow, latency);
        }
        let all = self.config.operations.map(|operations| operations.saturating_add(self.config.warm_up));
        if all.is_none_or(|all| self.operations < all) {
            return self.launch(ports);
        }
        if self.pass + 1 < self.config.passes.len() {
            self.pass += 1;
            return self.start_pass(ports);
        }
        self.over = true;
    }

    /// There is room for a slice of a connection.
    fn freed<M: Needs>(&mut self, connection: u32, pass: usize, ports: &mut Ports<'_, M>) {
        if pass == self.pass {
            self.slices[connection as usize].open -= 1;
            self.go_on(self.plan.connections[connection as usize].sender as usize, ports);
        }
    }
}

impl<M: Needs> Instrument<M> for CollectiveWorkload {
    type Kind = Kinds;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        self.network.begin(&mut ports.second());
        self.open_carriers(ports);
        self.try_next(ports);
    }

    fn react(&mut self, event: Event<Kinds>, ports: &mut Ports<'_, M>) {
        match split(event) {
            Joined::First(event) => self.happened(event.token(), ports),
            Joined::Second(event) => {
                self.network.react(event, &mut ports.second());
                self.poll(ports);
            }
        }
    }
}
