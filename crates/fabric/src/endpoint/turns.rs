//! Channels that have a request to make take turns, on each virtual channel.

use crate::workload::Direction;
use lanewise_pcie::virtual_channel::ChannelMap;
use std::collections::VecDeque;

/// Channels whose current transfer is a read, and a write; each takes one request in its turn. There is seldom more than one
/// of either: the others are kept elsewhere.
#[derive(Debug, Default)]
pub(super) struct Turns {
    first: [Option<u32>; 2],
    others: Option<Box<[VecDeque<u32>; 2]>>,
}

impl Turns {
    #[inline]
    pub(super) fn push(&mut self, direction: Direction, channel: u32) {
        let direction = direction as usize;
        match self.first[direction] {
            None => self.first[direction] = Some(channel),
            Some(_) => self.others.get_or_insert_default()[direction].push_back(channel),
        }
    }

    #[inline]
    pub(super) fn pop(&mut self, direction: Direction) -> Option<u32> {
        let direction = direction as usize;
        let first = self.first[direction].take()?;
        self.first[direction] = self.others.as_mut().and_then(|others| others[direction].pop_front());
        Some(first)
    }

    #[inline]
    pub(super) fn is_empty(&self, direction: Direction) -> bool {
        self.first[direction as usize].is_none()
    }
}

/// Traffic classes of an endpoint's channels, and what takes turns on which virtual channel.
pub(super) struct TrafficClasses {
    pub(super) map: ChannelMap,
    /// By channel of the endpoint.
    pub(super) of_channel: Vec<u8>,
    /// What takes turns on VC1, VC2 and so on.
    pub(super) beyond_vc0: Vec<Turns>,
}

impl TrafficClasses {
    /// With so many channels of TC0 open.
    pub(super) fn new(map: ChannelMap, open: usize) -> Box<Self> {
        let beyond_vc0 = (1..map.channels()).map(|_| Default::default()).collect();
        Box::new(Self { map, of_channel: vec![0; open], beyond_vc0 })
    }

    pub(super) fn add(&mut self, class: u8) {
        self.of_channel.push(class);
    }

    pub(super) fn virtual_channel(&self, channel: u32) -> u8 {
        self.map.channel_of(self.of_channel[channel as usize])
    }

    pub(super) fn want(&self, direction: Direction) -> bool {
        self.beyond_vc0.iter().any(|turns| !turns.is_empty(direction))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_taken_in_order() {
        let mut turns = Turns::default();
        [3, 1, 2].into_iter().for_each(|channel| turns.push(Direction::Read, channel));
        turns.push(Direction::Write, 4);
        let first = turns.pop(Direction::Read).expect("there are three");
        turns.push(Direction::Read, first);
        assert_eq!(std::iter::from_fn(|| turns.pop(Direction::Read)).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(turns.is_empty(Direction::Read) && !turns.is_empty(Direction::Write));
    }
}
