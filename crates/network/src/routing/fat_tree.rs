//! Tables by destination, so that what all adapters of a fat tree send to adapters of their own does not meet on a wire.
//!
//! Adapters are numbered leaf by leaf. A leaf counts through its ways by this number; a switch above divides it first by the ways that
//! those below have had to choose from, because of all numbers it sees only those for which they chose it. So the packets for an adapter
//! all come down the same wires, which are those that its leaf and the switches above would send it up by. Several cables to
//! one switch are counted through after the switches: the way down of a port is then the way up of no other.
//! Source: Zahavi, JPDC 2012 (D-Mod-K on parallel-port generalised fat trees). Assumed: where a network is no such tree, the same rule; its
//! ways are still the shortest, but what goes different ways may meet.

use super::Graph;
use lanewise_units::order;
use std::collections::BTreeMap;

/// What the rule needs to know of a network.
#[derive(Clone, Debug)]
pub struct FatTree {
    /// Of each switch, how far below it the nearest adapter is: 0 for those with adapters of their own.
    heights: Vec<usize>,
    /// Of each height, the product of the switches that those below choose from on the way up.
    divisors: Vec<u64>,
    /// Of each node that is an adapter's port, its number.
    numbers: BTreeMap<usize, u64>,
}

impl FatTree {
    /// That of a network whose first nodes are so many switches, and whose others are ports of adapters.
    pub fn of(graph: &Graph, switches: usize) -> Self {
        let mut tree =
            Self { heights: heights(graph, switches), divisors: vec![1], numbers: BTreeMap::new() };
        let highest = tree.heights.iter().filter(|height| **height != usize::MAX).max().copied().unwrap_or(0);
        for height in 0..highest {
            let at_height = (0..switches).filter(|switch| tree.heights[*switch] == height);
            let above = at_height.map(|switch| tree.in_turn(graph, switch, &tree.up_from(graph, switch)).0);
            let most = above.max().unwrap_or(1).max(1) as u64;
            tree.divisors.push(tree.divisors[height] * most);
        }
        tree.number_adapters(graph, switches);
        tree
    }

    /// Adapters in the order of their leaf's ports. Each leaf's first has the same rest when it is divided by the ways up.
    fn number_adapters(&mut self, graph: &Graph, switches: usize) {
        let adapters_of = |leaf: usize| {
            let ends = graph.neighbours[leaf].iter().map(|(node, _)| *node);
            ends.filter(|node| *node >= switches).collect::<Vec<usize>>()
        };
        let leaves: Vec<usize> = (0..switches).filter(|switch| self.heights[*switch] == 0).collect();
        let most = leaves.iter().map(|leaf| adapters_of(*leaf).len()).max().unwrap_or(0);
        let ways = leaves.iter().map(|leaf| self.up_from(graph, *leaf).len()).max().unwrap_or(0);
        let apart = most.next_multiple_of(ways.max(1)) as u64;
        for (row, leaf) in leaves.into_iter().enumerate() {
            let first = row as u64 * apart;
            self.numbers.extend(adapters_of(leaf).into_iter().zip(first..));
        }
    }

    /// Of each switch, the one of its `ways` to a destination that its table names; none where there is no way.
    pub fn table(&self, graph: &Graph, destination: usize, ways: &[Vec<u32>]) -> Vec<Option<u32>> {
        let down = self.down_to(graph, destination);
        let choose = |(switch, ways): (usize, &Vec<u32>)| match down[switch] {
            Some(port) if ways.contains(&port) => Some(port),
            _ => self.choose(graph, switch, ways, destination),
        };
        ways.iter().take(self.heights.len()).enumerate().map(choose).collect()
    }

    /// Of each switch above a destination that packets for it come down through, the port that they leave by.
    fn down_to(&self, graph: &Graph, destination: usize) -> Vec<Option<u32>> {
        let mut down = vec![None; self.heights.len()];
        let mut cable = graph.neighbours[destination].first();
        while let Some((above, port)) = cable {
            down[*above] = Some(*port as u32);
            let up = self.choose(graph, *above, &self.up_from(graph, *above), destination);
            cable = up.map(|port| &graph.neighbours[*above][port as usize]);
        }
        down
    }

    /// One of these ports of a switch, by the number of a destination.
    fn choose(&self, graph: &Graph, switch: usize, ports: &[u32], destination: usize) -> Option<u32> {
        let (_, ports) = self.in_turn(graph, switch, ports);
        let number =
            self.numbers.get(&destination)?.checked_div(*self.divisors.get(self.heights[switch])?)?;
        let place = number.checked_rem(ports.len() as u64)?;
        Some(ports[place as usize])
    }

    /// Ports of a switch that lead one up.
    fn up_from(&self, graph: &Graph, switch: usize) -> Vec<u32> {
        let above =
            |node: usize| self.heights.get(node).is_some_and(|height| *height == self.heights[switch] + 1);
        let ports = graph.neighbours[switch].iter().enumerate();
        ports.filter(|(_, (node, _))| above(*node)).map(|(port, _)| port as u32).collect()
    }

    /// How many nodes these ports of a switch lead to, and the ports: one to each of them first, then the second of each.
    fn in_turn(&self, graph: &Graph, switch: usize, ports: &[u32]) -> (usize, Vec<u32>) {
        let mut cables: BTreeMap<usize, usize> = BTreeMap::new();
        let mut turns: Vec<(usize, u32)> = Vec::with_capacity(ports.len());
        for port in ports {
            let cable = cables.entry(graph.neighbours[switch][*port as usize].0).or_default();
            turns.push((*cable, *port));
            *cable += 1;
        }
        order::sort(&mut turns);
        (cables.len(), turns.into_iter().map(|(_, port)| port).collect())
    }
}

/// Of each switch, how many others lie between it and the nearest adapter.
fn heights(graph: &Graph, switches: usize) -> Vec<usize> {
    let mut heights = vec![usize::MAX; switches];
    let has_adapter = |switch: &usize| graph.neighbours[*switch].iter().any(|(node, _)| *node >= switches);
    let mut row: Vec<usize> = (0..switches).filter(has_adapter).collect();
    let mut height = 0;
    while !row.is_empty() {
        row.iter().for_each(|switch| heights[*switch] = height);
        let above = row.iter().flat_map(|switch| &graph.neighbours[*switch]).map(|(node, _)| *node);
        let mut above: Vec<usize> =
            above.filter(|node| *node < switches && heights[*node] == usize::MAX).collect();
        order::sort(&mut above);
        above.dedup();
        row = above;
        height += 1;
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pods of leaves below switches of their own, all of which are joined to all at the top, by so many wires each.
    struct Shape {
        pods: usize,
        leaves: usize,
        middle: usize,
        top: usize,
        adapters: usize,
        wires: [usize; 2],
    }

    struct Network {
        graph: Graph,
        switches: usize,
        adapters: usize,
    }

    impl Shape {
        fn build(&self) -> Network {
            let (leaves, middle) = (self.pods * self.leaves, self.pods * self.middle);
            let switches = leaves + middle + self.top;
            let adapters = leaves * self.adapters;
            let mut graph = Graph::new(switches + adapters);
            for leaf in 0..leaves {
                for adapter in 0..self.adapters {
                    graph.join([switches + leaf * self.adapters + adapter, leaf]);
                }
            }
            for leaf in 0..leaves {
                for above in 0..self.middle {
                    let above = leaves + leaf / self.leaves * self.middle + above;
                    (0..self.wires[0]).for_each(|_| _ = graph.join([leaf, above]));
                }
            }
            for below in 0..middle {
                for top in 0..self.top {
                    (0..self.wires[1]).for_each(|_| _ = graph.join([leaves + below, leaves + middle + top]));
                }
            }
            Network { graph, switches, adapters }
        }
    }

    impl Network {
        /// The most packets on any wire, one way, when each adapter sends to the one so many places on.
        fn most_on_a_wire(&self, shift: usize) -> u32 {
            let tree = FatTree::of(&self.graph, self.switches);
            let mut taken: BTreeMap<(usize, u32), u32> = BTreeMap::new();
            for adapter in 0..self.adapters {
                let destination = self.switches + (adapter + shift) % self.adapters;
                let ways = self.graph.ways_to(destination, |node| node < self.switches);
                let table = tree.table(&self.graph, destination, &ways);
                let (mut at, _) = self.graph.neighbours[self.switches + adapter][0];
                while at != destination {
                    let port = table[at].expect("there is a way");
                    *taken.entry((at, port)).or_default() += 1;
                    (at, _) = self.graph.neighbours[at][port as usize];
                }
            }
            taken.into_values().max().expect("packets go somewhere")
        }

        fn shifts_meet_nowhere(&self) {
            for shift in 1..self.adapters {
                assert_eq!(self.most_on_a_wire(shift), 1, "by {shift} of {}", self.adapters);
            }
        }
    }

    #[test]
    fn shifts_do_not_meet_in_two_tiers() {
        Shape { pods: 1, leaves: 4, middle: 4, top: 0, adapters: 4, wires: [1, 0] }
            .build()
            .shifts_meet_nowhere();
        Shape { pods: 1, leaves: 4, middle: 2, top: 0, adapters: 4, wires: [2, 0] }
            .build()
            .shifts_meet_nowhere();
    }

    #[test]
    fn shifts_do_not_meet_in_three_tiers() {
        Shape { pods: 2, leaves: 2, middle: 2, top: 2, adapters: 4, wires: [2, 2] }
            .build()
            .shifts_meet_nowhere();
        Shape { pods: 4, leaves: 2, middle: 2, top: 2, adapters: 2, wires: [1, 1] }
            .build()
            .shifts_meet_nowhere();
        Shape { pods: 3, leaves: 4, middle: 4, top: 4, adapters: 4, wires: [1, 1] }
            .build()
            .shifts_meet_nowhere();
    }

    /// Half the wires that would be needed carry two each, never three.
    #[test]
    fn where_wires_are_few_all_are_used_alike() {
        let thin = Shape { pods: 2, leaves: 2, middle: 2, top: 2, adapters: 4, wires: [1, 1] }.build();
        assert_eq!(thin.most_on_a_wire(8), 2);
    }

    /// Uplinks that were plugged in before the adapters change nothing.
    #[test]
    fn adapters_are_counted_and_uplinks_are_not() {
        let mut graph = Graph::new(3 + 4);
        [[0, 2], [0, 2], [1, 2], [1, 2], [0, 3], [0, 4], [1, 5], [1, 6]].into_iter().for_each(|ends| {
            graph.join(ends);
        });
        let network = Network { graph, switches: 3, adapters: 4 };
        network.shifts_meet_nowhere();
    }

    #[test]
    fn where_no_way_leads_a_table_names_none() {
        let mut graph = Graph::new(2 + 2);
        [[0, 2], [1, 3]].into_iter().for_each(|ends| {
            graph.join(ends);
        });
        let tree = FatTree::of(&graph, 2);
        let ways = graph.ways_to(3, |node| node < 2);
        assert_eq!(tree.table(&graph, 3, &ways), [None, Some(0)]);
    }
}
