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

/// Pairs that send in any pass.
pub fn pairs(
    operation: Operation,
    root: u32,
    ways: &[(Algorithm, u32)],
    nodes: &[u32],
) -> BTreeSet<(u32, u32)> {
    let plan = |(algorithm, channels): &(Algorithm, u32)| {
        let mut making = Making::new(operation, root, nodes);
        (0..*channels).for_each(|channel| making.add_channel(*algorithm, channel, 1));
        making.plan.connections
    };
    order::set(ways.iter().flat_map(plan).map(|connection| (connection.from, connection.to)))
}

impl Plan {
    pub(super) fn new(config: &CollectiveConfig, pass: &Pass) -> Self {
        let nodes: Vec<u32> = config.ranks.iter().map(|rank| rank.node).collect();
        let mut making = Making::new(config.operation, config.root, &nodes);
        let share = aligned(pass.size.get().div_ceil(u64::from(pass.channels)));
        for channel in 0..pass.channels {
            let bytes = share.min(pass.size.get().saturating_sub(share * u64::from(channel)));
            making.add_channel(pass.algorithm, channel, bytes);
        }
        making.plan
    }
}

struct Making<'n> {
    operation: Operation,
    root: u32,
    /// Host of each rank.
    nodes: &'n [u32],
    plan: Plan,
}

impl<'n> Making<'n> {
    fn new(operation: Operation, root: u32, nodes: &'n [u32]) -> Self {
        Self { operation, root, nodes, plan: Plan::default() }
    }

    fn count(&self) -> u32 {
        self.nodes.len() as u32
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
        let first = self.root + u32::from(self.operation == Operation::Reduce);
        let mut from = None;
        for place in 0..self.count() {
            let rank = (first + place) % self.count();
            let is_last = place + 1 == self.count();
            let to = (!is_last).then(|| self.connect(rank, (rank + 1) % self.count(), channel));
            self.add_block((from.into_iter().collect(), to.into_iter().collect()), bytes, Role::Through);
            from = to;
        }
    }

    fn add_ring(&mut self, channel: u32, bytes: u64) {
        let (count, first) = (self.count(), self.plan.connections.len() as u32);
        for rank in 0..count {
            self.connect(rank, (rank + 1) % count, channel);
        }
        for rank in 0..count {
            let before = (rank + count - 1) % count;
            self.add_block((vec![first + before], vec![first + rank]), bytes, Role::Ring(rank));
        }
    }

    /// Up to the root and down again; two blocks of each rank, one of the root.
    fn add_tree(&mut self, channel: u32, bytes: u64) {
        let nodes: Vec<TreeNode> = (0..self.count()).map(|rank| node_of(rank, self.nodes, channel)).collect();
        // By rank: the connection to its parent, and the one from it.
        let mut joined = Vec::new();
        for (rank, node) in (0..).zip(&nodes) {
            let up_and_down =
                |parent| [self.connect(rank, parent, channel), self.connect(parent, rank, channel)];
            joined.push(node.parent.map(up_and_down));
        }
        for (rank, node) in nodes.iter().enumerate() {
            let ways = |way: usize| -> Vec<u32> {
                node.children.iter().filter_map(|child| Some(joined[*child as usize]?[way])).collect()
            };
            let Some([up, down]) = joined[rank] else {
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
