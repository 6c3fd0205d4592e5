//! Who sends what to whom in which order: blocks of threads, the connections between them, and their steps.
//!
//! A block belongs to a rank and a channel. In each step it takes the next data of each connection that it receives from, and gives data
//! to each that it sends to. The data of a channel are dealt with chunk by chunk; round a ring, a chunk for each rank at a time, a loop.

use super::config::{CollectiveConfig, Operation, Pass};
use super::tree::{TreeNode, node_of};
use super::tuning::Algorithm;
use lanewise_units::{Bytes, order};
use std::collections::BTreeSet;

/// Data are cut at multiples of what a thread moves.
const ALIGNMENT: u64 = 16;

/// One way between two ranks, of one channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Connection {
    pub from: u32,
    pub to: u32,
    pub channel: u32,
    /// Block that sends.
    pub sender: u32,
    /// Block that receives.
    pub receiver: u32,
}

/// A block of threads.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Connections that it receives from.
    pub from: Vec<u32>,
    /// Connections that it sends to.
    pub to: Vec<u32>,
    /// Its data, all in all.
    bytes: u64,
    role: Role,
}

#[derive(Clone, Copy, Debug)]
enum Role {
    /// At this place of a ring, where each passes on what it has got.
    Ring(u32),
    /// All data pass through it, or begin or end there.
    Through,
}

/// What a block does next, with so many bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub bytes: u64,
    pub receives: bool,
    pub sends: bool,
}

/// Blocks and connections of one size.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub connections: Vec<Connection>,
    pub blocks: Vec<Block>,
}

/// Hosts of the ranks, and where rings enter them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Host of each rank.
    pub nodes: Vec<u32>,
    /// Of each ring, the rank of each host at which it enters; channels take them in turn. None where all rings are the ranks in their order.
    ///
    /// A ring goes on through the ranks of the host in their order, the first after the last, and leaves the host at the rank before that one.
    pub entries: Vec<Vec<u32>>,
}

impl Layout {
    /// The ranks in the order of the ring of a channel.
    fn ring(&self, channel: u32) -> Vec<u32> {
        let all = 0..self.nodes.len() as u32;
        let Some(entries) = self.entries.get(channel as usize % self.entries.len().max(1)) else {
            return all.collect();
        };
        let of_node = |(node, entry): (u32, &u32)| {
            let ranks: Vec<u32> = all.clone().filter(|rank| self.nodes[*rank as usize] == node).collect();
            let first = ranks.iter().position(|rank| rank == entry).unwrap_or(0);
            [&ranks[first..], &ranks[..first]].concat()
        };
        (0..).zip(entries).flat_map(of_node).collect()
    }

    /// Which of the two trees a channel takes: as many as there are rings one, as many the other.
    fn tree(&self, channel: u32) -> u32 {
        channel / self.entries.len().max(1) as u32 % 2
    }
}

/// Pairs that send in any pass.
pub fn pairs(
    operation: Operation,
    root: u32,
    ways: &[(Algorithm, u32)],
    layout: &Layout,
) -> BTreeSet<(u32, u32)> {
    let plan = |(algorithm, channels): &(Algorithm, u32)| {
        let mut making = Making::new(operation, root, layout);
        (0..*channels).for_each(|channel| making.add_channel(*algorithm, channel, 1));
        making.plan.connections
    };
    order::set(ways.iter().flat_map(plan).map(|connection| (connection.from, connection.to)))
}

impl Plan {
    pub(super) fn new(config: &CollectiveConfig, pass: &Pass) -> Self {
        let mut making = Making::new(config.operation, config.root, &config.layout);
        let share = aligned(pass.size.get().div_ceil(u64::from(pass.channels)));
        for channel in 0..pass.channels {
            let bytes = share.min(pass.size.get().saturating_sub(share * u64::from(channel)));
            making.add_channel(pass.algorithm, channel, bytes);
        }
        making.plan
    }
}

struct Making<'l> {
    operation: Operation,
    root: u32,
    layout: &'l Layout,
    plan: Plan,
}

impl<'l> Making<'l> {
    fn new(operation: Operation, root: u32, layout: &'l Layout) -> Self {
        Self { operation, root, layout, plan: Plan::default() }
    }

    fn count(&self) -> u32 {
        self.layout.nodes.len() as u32
    }

    /// A connection, for blocks that come later.
    fn connect(&mut self, from: u32, to: u32, channel: u32) -> u32 {
        self.plan.connections.push(Connection { from, to, channel, sender: 0, receiver: 0 });
        self.plan.connections.len() as u32 - 1
    }

    fn add_block(&mut self, (from, to): (Vec<u32>, Vec<u32>), bytes: u64, role: Role) {
        let at = self.plan.blocks.len() as u32;
        from.iter().for_each(|connection| self.plan.connections[*connection as usize].receiver = at);
        to.iter().for_each(|connection| self.plan.connections[*connection as usize].sender = at);
        self.plan.blocks.push(Block { from, to, bytes, role });
    }

    fn add_channel(&mut self, algorithm: Algorithm, channel: u32, bytes: u64) {
        match (self.operation, algorithm) {
            (Operation::AllToAll, _) => {
                let part = aligned(bytes.div_ceil(self.count().into()));
                for distance in 1..self.count() {
                    self.add_pairs(channel, distance, part.min(bytes));
                }
            }
            (Operation::SendReceive, _) => self.add_pairs(channel, 1, bytes),
            (Operation::Broadcast | Operation::Reduce, _) => self.add_chain(channel, bytes),
            (_, Algorithm::Ring) => self.add_ring(channel, bytes),
            (_, Algorithm::Tree) => self.add_tree(channel, bytes),
        }
    }

    /// Every rank sends to the one so many places on: a block that sends, and one that receives.
    fn add_pairs(&mut self, channel: u32, distance: u32, bytes: u64) {
        for rank in 0..self.count() {
            let connection = self.connect(rank, (rank + distance) % self.count(), channel);
            for ends in [(vec![connection], vec![]), (vec![], vec![connection])] {
                self.add_block(ends, bytes, Role::Through);
            }
        }
    }

    /// Round the ring from the root, or to it.
    fn add_chain(&mut self, channel: u32, bytes: u64) {
        let ring = self.layout.ring(channel);
        let of_root = ring.iter().position(|rank| *rank == self.root).unwrap_or(0);
        let first = of_root + usize::from(self.operation == Operation::Reduce);
        let at = |place: usize| ring[(first + place) % ring.len()];
        let mut from = None;
        for place in 0..ring.len() {
            let is_last = place + 1 == ring.len();
            let to = (!is_last).then(|| self.connect(at(place), at(place + 1), channel));
            self.add_block((from.into_iter().collect(), to.into_iter().collect()), bytes, Role::Through);
            from = to;
        }
    }

    fn add_ring(&mut self, channel: u32, bytes: u64) {
        let (count, first) = (self.count(), self.plan.connections.len() as u32);
        let ring = self.layout.ring(channel);
        for (rank, next) in ring.iter().zip(ring.iter().cycle().skip(1)) {
            self.connect(*rank, *next, channel);
        }
        for place in 0..count {
            let before = (place + count - 1) % count;
            self.add_block((vec![first + before], vec![first + place]), bytes, Role::Ring(place));
        }
    }

    /// Up to the root and down again; two blocks of each rank, one of the root.
    fn add_tree(&mut self, channel: u32, bytes: u64) {
        let (ring, tree) = (self.layout.ring(channel), self.layout.tree(channel));
        let hosts: Vec<u32> = ring.iter().map(|rank| self.layout.nodes[*rank as usize]).collect();
        // By place in the order of the ring, as are parents and children.
        let nodes: Vec<TreeNode> = (0..self.count()).map(|place| node_of(place, &hosts, tree)).collect();
        // The connection to its parent, and the one from it.
        let mut joined = Vec::new();
        for (rank, node) in ring.iter().zip(&nodes) {
            let up_and_down = |parent: u32| {
                let parent = ring[parent as usize];
                [self.connect(*rank, parent, channel), self.connect(parent, *rank, channel)]
            };
            joined.push(node.parent.map(up_and_down));
        }
        for (place, node) in nodes.iter().enumerate() {
            let ways = |way: usize| -> Vec<u32> {
                node.children.iter().filter_map(|child| Some(joined[*child as usize]?[way])).collect()
            };
            let Some([up, down]) = joined[place] else {
                self.add_block((ways(0), ways(1)), bytes, Role::Through);
                continue;
            };
            self.add_block((ways(0), vec![up]), bytes, Role::Through);
            self.add_block((vec![down], ways(1)), bytes, Role::Through);
        }
    }
}

impl Block {
    /// What it does with a loop of its data, from the first; none when there is no such loop.
    pub(super) fn steps(
        &self,
        number: u64,
        operation: Operation,
        count: u32,
        chunk: Bytes,
    ) -> Option<Vec<Step>> {
        let parts = if matches!(self.role, Role::Ring(_)) { u64::from(count) } else { 1 };
        let of_loop = parts * chunk.get();
        let left = self.bytes.checked_sub(number * of_loop).filter(|left| *left > 0)?;
        let Role::Ring(place) = self.role else {
            let (receives, sends) = (!self.from.is_empty(), !self.to.is_empty());
            return Some(vec![Step { bytes: left.min(of_loop), receives, sends }]);
        };
        let part = if left < of_loop { aligned(left.div_ceil(parts)) } else { chunk.get() };
        let (last, first_part) = match operation {
            Operation::AllReduce => (2 * (count - 1), place + 2 * count - 1),
            Operation::ReduceScatter => (count - 1, place + count - 1),
            _ => (count - 1, place + count),
        };
        let steps = (0..=last).map(|step| {
            let at = u64::from((first_part - step) % count) * part;
            Step { bytes: left.saturating_sub(at).min(part), receives: step > 0, sends: step < last }
        });
        Some(steps.filter(|step| step.bytes > 0).collect())
    }
}

/// The next multiple of what a thread moves.
fn aligned(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNMENT)
}
