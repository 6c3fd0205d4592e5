//! Queues that have a request to make take turns, on each virtual channel; where a device has functions, functions do, and then
//! the queues of one.

use crate::workload::Direction;
use lanewise_pcie::arbitration::{Arbiter, Arbitration};
use lanewise_pcie::virtual_channel::{ChannelArbiter, ChannelArbitration, ChannelMap};
use std::collections::VecDeque;

/// Queues whose current transfer is a read, and a write; each takes one request in its turn. There is seldom more than one
/// of either: the others are kept elsewhere.
#[derive(Debug, Default)]
pub(super) struct Turns {
    first: [Option<u32>; 2],
    others: Option<Box<Others>>,
}

/// Queues beside the first.
#[derive(Debug)]
enum Others {
    InTurn([VecDeque<u32>; 2]),
    /// The first one is then any of those that wait.
    ByFunction([FunctionTurns; 2]),
}

impl Turns {
    #[inline]
    pub(super) fn push(&mut self, direction: Direction, queue: u32) {
        let direction = direction as usize;
        match self.first[direction] {
            None => self.first[direction] = Some(queue),
            Some(_) => self.push_behind(direction, queue),
        }
    }

    fn push_behind(&mut self, direction: usize, queue: u32) {
        match &mut **self.others.get_or_insert_with(|| Box::new(Others::InTurn(Default::default()))) {
            Others::InTurn(others) => others[direction].push_back(queue),
            Others::ByFunction(functions) => functions[direction].push(queue),
        }
    }

    #[inline]
    pub(super) fn pop(&mut self, direction: Direction) -> Option<u32> {
        let direction = direction as usize;
        let first = self.first[direction].take()?;
        match self.others.as_deref_mut() {
            None => Some(first),
            Some(Others::InTurn(others)) => {
                self.first[direction] = others[direction].pop_front();
                Some(first)
            }
            Some(Others::ByFunction(functions)) => {
                let functions = &mut functions[direction];
                functions.put_back(first);
                let chosen = functions.choose();
                self.first[direction] = functions.any();
                chosen
            }
        }
    }

    #[inline]
    pub(super) fn is_empty(&self, direction: Direction) -> bool {
        self.first[direction as usize].is_none()
    }

    /// Functions compete for turns from now on, before any queue is open.
    pub(super) fn arbitrate(&mut self, functions: usize, arbitration: &Arbitration) {
        let turns = || FunctionTurns::new(functions, arbitration.clone());
        self.others = Some(Box::new(Others::ByFunction([turns(), turns()])));
    }

    /// A queue was opened, of this function.
    pub(super) fn channel_opened(&mut self, function: u8) {
        if let Some(Others::ByFunction(turns)) = self.others.as_deref_mut() {
            turns.iter_mut().for_each(|turns| turns.of_queue.push(function));
        }
    }

    /// A queue is of another function than it was.
    pub(super) fn queue_is_of(&mut self, queue: u32, function: u8) {
        if let Some(Others::ByFunction(turns)) = self.others.as_deref_mut() {
            turns.iter_mut().for_each(|turns| turns.of_queue[queue as usize] = function);
        }
    }
}

/// Functions of which a queue waits take turns.
#[derive(Debug)]
struct FunctionTurns {
    arbitration: Arbitration,
    turn: Arbiter,
    /// By queue.
    of_queue: Vec<u8>,
    /// By function, the queues that wait.
    waiting: Vec<VecDeque<u32>>,
}

impl FunctionTurns {
    fn new(functions: usize, arbitration: Arbitration) -> Self {
        let turn = Arbiter::first(arbitration.weights());
        Self { arbitration, turn, of_queue: Vec::new(), waiting: vec![VecDeque::new(); functions] }
    }

    fn of(&mut self, queue: u32) -> &mut VecDeque<u32> {
        &mut self.waiting[usize::from(self.of_queue[queue as usize])]
    }

    fn push(&mut self, queue: u32) {
        self.of(queue).push_back(queue);
    }

    fn put_back(&mut self, queue: u32) {
        self.of(queue).push_front(queue);
    }

    /// The next queue of the function whose turn it is, or of the next one with any.
    fn choose(&mut self) -> Option<u32> {
        let count = self.waiting.len();
        let first = usize::from(self.turn.whose());
        let function =
            (first..first + count).map(|at| at % count).find(|at| !self.waiting[*at].is_empty())?;
        self.turn.served(function as u8, count, self.arbitration.weights());
        self.waiting[function].pop_front()
    }

    /// Any queue that waits.
    fn any(&mut self) -> Option<u32> {
        self.waiting.iter_mut().find_map(VecDeque::pop_front)
    }
}

/// Traffic classes of an endpoint's queues, and what takes turns on which virtual channel.
pub(super) struct TrafficClasses {
    pub(super) map: ChannelMap,
    /// By queue of the endpoint.
    pub(super) of_queue: Vec<u8>,
    /// What takes turns on VC1, VC2 and so on.
    pub(super) beyond_vc0: Vec<Turns>,
    /// Which virtual channel the next tag is for: all share the tags, as they share the link.
    pub(super) tags: ChannelArbiter,
}

impl TrafficClasses {
    /// With so many queues of TC0 open, all on VC0.
    pub(super) fn on_vc0(open: usize) -> Box<Self> {
        Self::new(ChannelMap::ONLY_VC0, ChannelArbitration::RoundRobin, open)
    }

    /// The same on the virtual channels of a link, for which the port arbitrates like this.
    pub(super) fn new(map: ChannelMap, arbitration: ChannelArbitration, open: usize) -> Box<Self> {
        let beyond_vc0 = (1..map.channels()).map(|_| Default::default()).collect();
        let tags = ChannelArbiter::new(arbitration, map.channels());
        Box::new(Self { map, of_queue: vec![0; open], beyond_vc0, tags })
    }

    pub(super) fn add(&mut self, class: u8) {
        self.of_queue.push(class);
    }

    pub(super) fn virtual_channel(&self, queue: u32) -> u8 {
        self.map.channel_of(self.of_queue[queue as usize])
    }

    pub(super) fn want(&self, direction: Direction) -> bool {
        self.beyond_vc0.iter().any(|turns| !turns.is_empty(direction))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_take_turns_and_then_their_channels() {
        let taken = |arbitration: Arbitration, count: usize| {
            let mut turns = Turns::default();
            turns.arbitrate(3, &arbitration);
            // Queues 0 and 1 are of function 1, queue 2 of function 2; function 0 asks for nothing.
            [1, 1, 2].into_iter().for_each(|function| turns.channel_opened(function));
            (0..3).for_each(|queue| turns.push(Direction::Read, queue));
            let mut take = |_| {
                let queue = turns.pop(Direction::Read).expect("all of them wait");
                turns.push(Direction::Read, queue);
                queue
            };
            (0..count).map(&mut take).collect::<Vec<u32>>()
        };
        assert_eq!(taken(Arbitration::RoundRobin, 6), [0, 2, 1, 2, 0, 2]);
        let weighted = Arbitration::WeightedRoundRobin { weights: vec![1, 1, 3] };
        assert_eq!(taken(weighted, 8).iter().filter(|queue| **queue == 2).count(), 6);
    }

    #[test]
    fn turns_are_taken_in_order() {
        let mut turns = Turns::default();
        [3, 1, 2].into_iter().for_each(|queue| turns.push(Direction::Read, queue));
        turns.push(Direction::Write, 4);
        let first = turns.pop(Direction::Read).expect("there are three");
        turns.push(Direction::Read, first);
        assert_eq!(std::iter::from_fn(|| turns.pop(Direction::Read)).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(turns.is_empty(Direction::Read) && !turns.is_empty(Direction::Write));
    }
}
