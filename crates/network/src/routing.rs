//! Which way packets take: tables of switches over the shortest ways to each adapter's port.
//!
//! Where several ways are as short, a table of InfiniBand names one of them for each destination ([`FatTree`]), and Ethernet chooses by a
//! hash of the flow. Both are fixed for a flow, so that its packets stay in order. Assumed: each switch mixes a number of its own into
//! its hash; where all hash alike, flows that one tier sends one way stay together at the next. Leaves out: adaptive routing,
//! dragonflies and other topologies whose ways are not the shortest.
//! Sources: Zahavi, Fat-trees routing and node ordering providing contention free traffic for MPI global collectives,
//! JPDC 2012 (ways by destination); RFC 2992 (hash of the flow).

use std::collections::VecDeque;

mod fat_tree;

pub use fat_tree::FatTree;

/// How a switch chooses among ways that are as short.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Choice {
    /// By destination, as its table says.
    Destination,
    /// By a hash of source, destination and connection.
    Flow,
}

/// One of `ways` for a packet of a connection between two ports of adapters, by the hash that a switch makes.
///
/// # Panics
/// When there is no way.
pub fn by_flow(ways: &[u32], switch: u32, ends: (u32, u32), connection: u32) -> u32 {
    match ways {
        [only] => *only,
        _ => ways[(hash([switch, ends.0, ends.1, connection]) % ways.len() as u64) as usize],
    }
}

/// The finisher of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) after each of the numbers: every bit of each moves half of all bits.
fn hash(numbers: [u32; 4]) -> u64 {
    numbers.into_iter().fold(0, |mixed, number| {
        let mut mixed = (mixed ^ u64::from(number)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    })
}

/// The other end of a cable: a node, and its port there.
type FarEnd = (usize, usize);

/// Both ends of each cable, by node.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// What each port of each node leads to.
    neighbours: Vec<Vec<FarEnd>>,
}

impl Graph {
    /// So many nodes without a cable.
    pub fn new(nodes: usize) -> Self {
        Self { neighbours: vec![Vec::new(); nodes] }
    }

    /// A cable; returns the number of the port at each end.
    pub fn join(&mut self, ends: [usize; 2]) -> [usize; 2] {
        let [first, second] = ends;
        let at_first = self.neighbours[first].len();
        // A cable from a node to itself has two of its ports.
        let at_second = self.neighbours[second].len() + usize::from(first == second);
        self.neighbours[first].push((second, at_second));
        self.neighbours[second].push((first, at_first));
        [at_first, at_second]
    }

    /// At each node, its ports from which the way to `destination` is shortest. Only nodes for which `forwards` holds pass anything on.
    pub fn ways_to(&self, destination: usize, forwards: impl Fn(usize) -> bool) -> Vec<Vec<u32>> {
        let mut distance = vec![usize::MAX; self.neighbours.len()];
        distance[destination] = 0;
        let mut queue = VecDeque::from([destination]);
        while let Some(node) = queue.pop_front() {
            if node != destination && !forwards(node) {
                continue;
            }
            for (neighbour, _) in &self.neighbours[node] {
                if distance[*neighbour] == usize::MAX {
                    distance[*neighbour] = distance[node] + 1;
                    queue.push_back(*neighbour);
                }
            }
        }
        let nearer = |node: usize, next: usize| {
            distance[next] != usize::MAX
                && distance[next] + 1 == distance[node]
                && (next == destination || forwards(next))
        };
        let ways = |(node, neighbours): (usize, &Vec<FarEnd>)| {
            let ports = neighbours.iter().enumerate().filter(|(_, (next, _))| nearer(node, *next));
            ports.map(|(port, _)| port as u32).collect()
        };
        self.neighbours.iter().enumerate().map(ways).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two leaves (0, 1), two spines (2, 3), two adapters at each leaf (4, 5 and 6, 7); ports in this order.
    fn tree() -> Graph {
        let mut graph = Graph::new(8);
        for (leaf, adapters) in [(0, [4, 5]), (1, [6, 7])] {
            adapters.into_iter().chain([2, 3]).for_each(|other| {
                graph.join([leaf, other]);
            });
        }
        graph
    }

    #[test]
    fn ways_are_the_shortest_and_adapters_forward_nothing() {
        let ways = tree().ways_to(6, |node| node < 4);
        assert_eq!(ways[0], [2, 3], "both uplinks");
        assert_eq!(ways[1], [0], "the adapter itself");
        assert_eq!((&ways[2][..], &ways[3][..]), (&[1][..], &[1][..]), "down to its leaf");
        assert_eq!(ways[4], [0], "an adapter has one port");
        assert!(ways[6].is_empty());
    }

    #[test]
    fn an_adapter_with_two_cables_does_not_join_switches() {
        let mut graph = Graph::new(4);
        // Switches 0 and 1, adapter 2 at both, adapter 3 at switch 1.
        [[0, 2], [1, 2], [1, 3]].into_iter().for_each(|ends| {
            graph.join(ends);
        });
        assert!(graph.ways_to(3, |node| node < 2)[0].is_empty());
    }

    #[test]
    fn hashes_use_all_ways_nearly_alike_and_each_switch_has_its_own() {
        let ways = [4, 5, 6, 7];
        // Of what the first switch sends each way, what the second does.
        let mut taken = [[0; 4]; 4];
        for destination in 0..64 {
            for connection in 0..256 {
                let [first, second] =
                    [0, 1].map(|switch| by_flow(&ways, switch, (9, destination), connection));
                taken[first as usize - 4][second as usize - 4] += 1;
            }
        }
        // 16,384 draws of one in sixteen: four standard deviations are 124.
        assert!(taken.iter().flatten().all(|count: &i32| (count - 1024).abs() < 124), "{taken:?}");
    }
}
