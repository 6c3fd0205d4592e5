//! How slices come from one rank to another: straight into its memory, through memory of the host, or through adapters and a wire.
//!
//! ```text
//!  peer      write into the receiver's memory
//!  host      write into memory of the host ─► the receiver reads
//!  network   [write into memory of the host ─►] proxy thread posts ─► adapter, wire, adapter ─► proxy thread sees [─► the receiver reads]
//! ```
//!
//! What is in brackets is left out at an end whose adapter reaches memory of the device. Of one sender, receiver and channel data arrive in
//! the order in which they were sent. Sources: NVIDIA/nccl 2.30.7, `src/transport/{p2p,shm,net}.cc`.
//!
//! Leaves out: the write of a counter that a proxy thread waits for, flushes of what an adapter wrote into a device, copies within devices;
//! that the line which measures the path of a pair waits for other workloads, if any run then: that is taken for the path's.

use super::config::{CollectiveConfig, Path};
use super::tuning::Hardware;
use super::{CollectiveWorkload, Kind, Needs, Ports, Token};
use crate::device::rdma::{CompletionKind, EndId, Opcode, WorkRequest};
use crate::flows::{Flows, Repeats};
use lanewise_fabric::workload::{Direction, DmaQueueId, Notify, Target, Transfer};
use lanewise_observe::{FlowDevices, FlowId, FlowSpec, LatencyOf};
use lanewise_units::{Bytes, Span, order};
use std::collections::{BTreeSet, VecDeque};

/// What a pair is tried with: a line of LL.
const LINE: Bytes = Bytes::new(16);
/// A counter of slices.
const COUNTER: Bytes = Bytes::new(8);
/// Memory of one carrier's buffers.
const AREA: u64 = 8 << 20;

/// A way between two ranks, of one channel.
#[derive(Debug)]
pub(super) struct Carrier {
    pair: (u32, u32),
    pub(super) hardware: Hardware,
    means: Means,
    /// What the path takes for a line.
    pub(super) line: Span,
    /// What of that is the write of the line: all of it, but for what is read from memory of the host after that.
    pub(super) write: Span,
    /// What is under way, in order.
    under_way: VecDeque<Load>,
    /// How many of them have been in memory of the sender's host, and how many have been seen at the receiver's.
    gathered: usize,
    seen: usize,
    /// Whether threads of the receiver deal with a slice, or ask for the counter, and look for no other.
    is_busy: bool,
    /// How many of what is under way the receiver knows of, and how many the counter said when it was last asked for.
    known: usize,
    counted: usize,
}

/// Data of a connection, or a line that tries the path.
#[derive(Clone, Copy, Debug)]
struct Load {
    connection: Option<u32>,
    offset: u64,
    bytes: Bytes,
}

#[derive(Clone, Copy, Debug)]
enum Means {
    Peer { channel: DmaQueueId, target: Target },
    Host { write: DmaQueueId, read: DmaQueueId },
    Network { end: EndId, write: Option<DmaQueueId>, read: Option<DmaQueueId>, memory: [Target; 2] },
}

impl Carrier {
    /// Takes the oldest of what is under way; its connection, if it is no try.
    pub(super) fn arrives(&mut self) -> Option<u32> {
        self.gathered = self.gathered.saturating_sub(1);
        self.seen = self.seen.saturating_sub(1);
        self.known = self.known.saturating_sub(1);
        self.counted = self.counted.saturating_sub(1);
        self.under_way.pop_front().and_then(|load| load.connection)
    }
}

/// Flows of a rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankFlows {
    write: FlowId,
    /// Of what it reads from its host.
    read: Option<FlowId>,
}

/// Ranks that read from memory of their host.
fn readers(config: &CollectiveConfig) -> BTreeSet<u32> {
    let reads = |path: &Path| match path {
        Path::Peer(_) => false,
        Path::HostMemory => true,
        Path::Network(network) => !network.direct[1],
    };
    order::set(config.ways.iter().filter(|way| reads(&way.path)).map(|way| way.pair.1))
}

impl CollectiveWorkload {
    /// Flows of all ranks and of the operations, and the way of each pair and channel.
    pub(super) fn open_carriers<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        let readers = readers(&self.config);
        for (number, rank) in (0..).zip(&self.config.ranks) {
            let mut flow = |direction: Direction| {
                let (of, devices) = (&self.config.name, rank.name.as_str().into());
                // What a rank reads from its host another has written there, or an adapter.
                let repeats = matches!(direction, Direction::Read);
                let (direction, latency) = (direction.name(), LatencyOf::Request);
                let (name, entry) = (of.to_string(), of.entry());
                ports.add_flow(FlowSpec { name, entry, devices, direction, latency, repeats })
            };
            let write = flow(Direction::Write);
            let read = readers.contains(&number).then(|| flow(Direction::Read));
            self.rank_flows.push(RankFlows { write, read });
        }
        let names = self.config.ranks.iter().map(|rank| rank.name.clone()).collect();
        self.flow = Some(ports.add_flow(FlowSpec {
            name: self.config.name.to_string(),
            entry: self.config.name.entry(),
            devices: FlowDevices::together(names),
            direction: "collective",
            latency: LatencyOf::Operation,
            repeats: false,
        }));
        let channels = self.config.passes.iter().map(|pass| pass.channels).max().unwrap_or(1);
        for way in 0..self.config.ways.len() {
            self.untried.push(self.carriers.len() as u32);
            (0..channels).for_each(|channel| self.open_carrier(way, channel, ports));
        }
        self.untried.reverse();
    }

    fn open_carrier<M: Needs>(&mut self, way: usize, channel: u32, ports: &mut Ports<'_, M>) {
        let way = self.config.ways[way].clone();
        let [sender, receiver] =
            [way.pair.0, way.pair.1].map(|rank| self.config.ranks[rank as usize].clone());
        let mut open = |rank: &super::Rank| ports.open_queue_with(rank.device, &rank.engine);
        let means = match &way.path {
            Path::Peer(_) => {
                Means::Peer { channel: open(&sender), target: Target::Endpoint(receiver.device) }
            }
            Path::HostMemory => Means::Host { write: open(&sender), read: open(&receiver) },
            Path::Network(path) => {
                let (write, read) =
                    ((!path.direct[0]).then(|| open(&sender)), (!path.direct[1]).then(|| open(&receiver)));
                let ends = path.ports[channel as usize % path.ports.len()];
                let flows = ends.map(|end| {
                    let device = self.network.config().nics[end.nic].name.clone();
                    // A rank counts what it writes; of memory that adapters reach by themselves the first counts.
                    let repeats = Repeats { read: !path.direct[0], write: true };
                    Flows::add(&self.config.name, &device, LatencyOf::Request, repeats, ports)
                });
                let [end, _] = self.network.connect(ends, flows);
                let place = |direct: bool, rank: &super::Rank| match direct {
                    true => Target::Endpoint(rank.device),
                    false => Target::HostMemory,
                };
                let memory = [place(path.direct[0], &sender), place(path.direct[1], &receiver)];
                Means::Network { end, write, read, memory }
            }
        };
        self.carrier_of.insert((way.pair.0, way.pair.1, channel), self.carriers.len() as u32);
        self.carriers.push(Carrier {
            pair: way.pair,
            hardware: way.path.hardware(),
            means,
            line: Span::ZERO,
            write: Span::ZERO,
            under_way: VecDeque::new(),
            gathered: 0,
            seen: 0,
            is_busy: false,
            known: 0,
            counted: 0,
        });
    }

    /// Sends a line over the next pair that has not been tried, or begins with the first size.
    pub(super) fn try_next<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        match self.untried.pop() {
            Some(carrier) => {
                self.trying = ports.now();
                self.carry(carrier, None, (0, LINE), ports);
            }
            None => self.start_pass(ports),
        }
    }

    /// A line has arrived.
    pub(super) fn tried<M: Needs>(&mut self, carrier: u32, ports: &mut Ports<'_, M>) {
        let pair = self.carriers[carrier as usize].pair;
        let took = ports.now() - self.trying;
        let written = match self.carriers[carrier as usize].means {
            Means::Host { .. } => self.carriers[carrier as usize].write,
            Means::Peer { .. } | Means::Network { .. } => took,
        };
        // The channels of a pair follow each other, and the first is tried.
        let of_pair = self.carriers[carrier as usize..].iter_mut().take_while(|carrier| carrier.pair == pair);
        of_pair.for_each(|carrier| (carrier.line, carrier.write) = (took, written));
        self.try_next(ports);
    }

    /// Sends data on their way.
    pub(super) fn carry<M: Needs>(
        &mut self,
        carrier: u32,
        connection: Option<u32>,
        (place, bytes): (u64, Bytes),
        ports: &mut Ports<'_, M>,
    ) {
        let it = &mut self.carriers[carrier as usize];
        let first_buffer = match it.means {
            Means::Network { .. } => self.network.first_buffer(),
            Means::Peer { .. } | Means::Host { .. } => 0,
        };
        let offset = first_buffer + u64::from(carrier) * AREA + place * bytes.get();
        it.under_way.push_back(Load { connection, offset, bytes });
        let flow = self.rank_flows[it.pair.0 as usize].write;
        let (channel, target, kind) = match it.means {
            Means::Peer { channel, target } => (channel, target, Kind::Arrived),
            Means::Host { write, .. } => (write, Target::HostMemory, Kind::Gathered),
            Means::Network { write: Some(write), .. } => (write, Target::HostMemory, Kind::Gathered),
            Means::Network { .. } => return self.gathered(carrier, ports),
        };
        let (direction, token) = (Direction::Write, Token::of(kind, carrier));
        let notify = Notify::Done;
        ports.submit(channel, Transfer { direction, target, offset, length: bytes, flow, token, notify });
    }

    /// The oldest data that were not yet are where the receiver, or an adapter, takes them from.
    pub(super) fn gathered<M: Needs>(&mut self, carrier: u32, ports: &mut Ports<'_, M>) {
        let it = &mut self.carriers[carrier as usize];
        let load = it.under_way[it.gathered];
        it.gathered += 1;
        match it.means {
            Means::Network { end, memory, .. } => {
                let node = self.config.ranks[it.pair.0 as usize].node as usize;
                self.post(node, end, (carrier, load), memory, ports);
            }
            Means::Host { .. } => {
                if load.connection.is_none() {
                    self.carriers[carrier as usize].write = ports.now() - self.trying;
                }
                self.look(carrier, ports);
            }
            Means::Peer { .. } => {}
        }
    }

    /// The receiver reads what is in memory of its host: everything at once, or in turn.
    ///
    /// With flags, each thread loads a line, waits for it, and deals with it before it loads the next; a load of memory of the host goes over
    /// PCI Express: `LLGenericOp`, src/device/prims_ll.h of NVIDIA/nccl 2.30.7. By Simple the counter of slices is in that memory, too, where the
    /// receiver asks for it, unless it knows already of a slice that it has not read: `waitPeer`, src/device/prims_simple.h, and
    /// `shmRecvConnect`, src/transport/shm.cc. So it reads a slice when it has asked, and asks when it has read the slice before.
    fn look<M: Needs>(&mut self, carrier: u32, ports: &mut Ports<'_, M>) {
        let (in_turn, counts) = (self.pass().in_turn, self.pass().counts_slices());
        let it = &mut self.carriers[carrier as usize];
        let Means::Host { read, .. } = it.means else { return };
        if it.seen == it.gathered || ((in_turn || counts) && it.is_busy) {
            return;
        }
        let load = it.under_way[it.seen];
        if counts && load.connection.is_some() && it.seen == it.known {
            (it.is_busy, it.counted) = (true, it.gathered);
            let offset = u64::from(carrier + 1) * AREA - COUNTER.get();
            let counter = Load { connection: None, offset, bytes: COUNTER };
            return self.load(carrier, (read, Kind::Counted), counter, ports);
        }
        it.seen += 1;
        it.is_busy = load.connection.is_some();
        self.load(carrier, (read, Kind::Arrived), load, ports);
    }

    /// The receiver has the counter.
    pub(super) fn counted<M: Needs>(&mut self, carrier: u32, ports: &mut Ports<'_, M>) {
        let it = &mut self.carriers[carrier as usize];
        it.known = it.counted;
        self.dealt_with(carrier, ports);
    }

    /// Threads of the receiver have dealt with a slice, and look for the next.
    pub(super) fn dealt_with<M: Needs>(&mut self, carrier: u32, ports: &mut Ports<'_, M>) {
        self.carriers[carrier as usize].is_busy = false;
        self.look(carrier, ports);
    }

    /// A proxy thread posts data to an adapter.
    fn post<M: Needs>(
        &mut self,
        node: usize,
        end: EndId,
        (carrier, load): (u32, Load),
        memory: [Target; 2],
        ports: &mut Ports<'_, M>,
    ) {
        let costs = &self.config.proxies[node];
        let posted = self.proxies[node].occupy(
            ports.now() + costs.poll_latency,
            costs.poll_cost + costs.post_cost + costs.doorbell_cost,
        );
        let request = WorkRequest {
            opcode: Opcode::Send,
            length: load.bytes,
            local: load.offset,
            remote: load.offset,
            memory,
            inline: false,
            signaled: false,
            id: carrier.into(),
        };
        self.network.post(posted, end, request, &mut ports.second());
    }

    /// What came off a wire is seen by the proxy threads.
    pub(super) fn poll<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        while let Some(completion) = self.network.poll() {
            if completion.kind != CompletionKind::Received {
                continue;
            }
            let carrier = completion.id as u32;
            let receiver = self.carriers[carrier as usize].pair.1;
            let node = self.config.ranks[receiver as usize].node as usize;
            let costs = &self.config.proxies[node];
            let seen = self.proxies[node].occupy(ports.now() + costs.poll_latency, costs.poll_cost);
            ports.set_timer(seen, Token::of(Kind::Seen, carrier));
        }
    }

    /// A proxy thread has seen that data are in memory of its host, or of the receiver.
    pub(super) fn seen<M: Needs>(&mut self, carrier: u32, ports: &mut Ports<'_, M>) {
        let it = &mut self.carriers[carrier as usize];
        let load = it.under_way[it.seen];
        it.seen += 1;
        match it.means {
            Means::Network { read: Some(read), .. } => {
                self.load(carrier, (read, Kind::Arrived), load, ports);
            }
            _ => self.happened(Token::of(Kind::Arrived, carrier).with_kind(Kind::Arrived), ports),
        }
    }

    /// The receiver reads from memory of its host, which is told as this.
    fn load<M: Needs>(
        &self,
        carrier: u32,
        (channel, kind): (DmaQueueId, Kind),
        load: Load,
        ports: &mut Ports<'_, M>,
    ) {
        let receiver = self.carriers[carrier as usize].pair.1;
        let RankFlows { read, write } = self.rank_flows[receiver as usize];
        let transfer = Transfer {
            direction: Direction::Read,
            target: Target::HostMemory,
            offset: load.offset,
            length: load.bytes,
            flow: read.unwrap_or(write),
            token: Token::of(kind, carrier),
            notify: Notify::Done,
        };
        ports.submit(channel, transfer);
    }
}
