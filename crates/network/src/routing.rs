//! Which way packets take: tables of switches over the shortest ways to each adapter's port.
//!
//! Where several ways are as short, a table of InfiniBand names one of them for each destination, and Ethernet chooses by a hash of
//! the flow. Both are fixed for a flow, so that its packets stay in order. Leaves out: adaptive routing, dragonflies and
//! other topologies whose ways are not the shortest.
//! Sources: Zahavi, Fat-trees routing and node ordering providing contention free traffic for MPI global collectives,
//! JPDC 2012 (ways by destination); RFC 2992 (hash of the flow).

use std::collections::VecDeque;

/// How a switch chooses among ways that are as short.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Choice {
    /// By destination: the adapters of a switch in their order, over the ways in theirs.
    Destination,
    /// By a hash of source, destination and connection.
    Flow,
}

/// Both ends of each cable, by node.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Neighbours of each node, in the order of its ports.
    neighbours: Vec<Vec<usize>>,
}

impl Graph {
    /// So many nodes without a cable.
    pub fn new(nodes: usize) -> Self {
        Self { neighbours: vec![Vec::new(); nodes] }
    }

    /// A cable; returns the number of the port at each end.
    pub fn join(&mut self, ends: [usize; 2]) -> [usize; 2] {
        let [first, second] = ends;
        self.neighbours[first].push(second);
        let at_first = self.neighbours[first].len() - 1;
        self.neighbours[second].push(first);
        [at_first, self.neighbours[second].len() - 1]
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
            for neighbour in &self.neighbours[node] {
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
        let ways = |(node, neighbours): (usize, &Vec<usize>)| {
            let ports = neighbours.iter().enumerate().filter(|(_, next)| nearer(node, **next));
            ports.map(|(port, _)| port as u32).collect()
        };
        self.neighbours.iter().enumerate().map(ways).collect()
    }
}

impl Choice {
    /// One of `ways` for a packet between two ports of adapters, of which the second has this place at its switch.
    ///
    /// # Panics
    /// When there is no way.
    pub fn among(self, ways: &[u32], ends: (u32, u32), place: u32, connection: u32) -> u32 {
        let number = match self {
            Self::Destination => u64::from(place),
            Self::Flow => hash([ends.0, ends.1, connection]),
        };
        ways[(number % ways.len() as u64) as usize]
    }
}

/// FNV-1a over the bytes of the numbers, and its upper half: the lower bits of products are poorly mixed.
fn hash(numbers: [u32; 3]) -> u64 {
    let bytes = numbers.into_iter().flat_map(u32::to_le_bytes);
    let mixed = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    mixed >> 32
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
    fn destinations_use_all_ways_alike_and_hashes_nearly() {
        let ways = [4, 5, 6, 7];
        let mut by_destination = [0; 4];
        let mut by_flow = [0; 4];
        for destination in 0..64 {
            by_destination[Choice::Destination.among(&ways, (9, 1), destination, 1) as usize - 4] += 1;
            for connection in 0..64 {
                by_flow[Choice::Flow.among(&ways, (9, destination), 0, connection) as usize - 4] += 1;
            }
        }
        assert_eq!(by_destination, [16; 4]);
        // 4,096 draws of one in four: four standard deviations are 111.
        assert!(by_flow.iter().all(|count: &i32| (count - 1024).abs() < 111), "{by_flow:?}");
    }
}
