//! Traffic classes, the virtual channels of a link that carry them, and which channel a transmitter serves next.
//! PCIe Base 6.3 §2.5, §6.3, §7.9.1.
//!
//! A packet keeps its traffic class from end to end. Each link maps the eight classes onto its channels, and each channel
//! has six credit pools of its own, so that one that is blocked does not block the others. Leaves out: the split into a
//! low-priority group with an arbitration of its own below strict priorities, arbitration tables with phases (weights stand
//! for how often a channel is listed in one), time-based round robin, and channel numbers with gaps.

use crate::arbitration::{Arbiter, Arbitration};

/// Traffic classes: 0 to 7. Source: PCIe Base 6.3 §2.2.6.6.
pub const TRAFFIC_CLASSES: usize = 8;

/// Onto which virtual channel of a link each traffic class is mapped, the same at both ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ChannelMap([u8; TRAFFIC_CLASSES]);

/// Why classes cannot be mapped like that. Source: PCIe Base 6.3 §2.5.2.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MapProblem {
    /// There are traffic classes 0 to 7.
    NoSuchClass(u8),
    /// TC0 is hardwired to VC0.
    ClassZero,
    /// A class is on one channel of a link.
    Twice(u8),
    /// A channel without a class carries nothing.
    Empty(usize),
    /// There are no more channels than classes.
    TooMany(usize),
}

impl std::fmt::Display for MapProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoSuchClass(class) => write!(f, "there is no TC{class}, only TC0 to TC7"),
            Self::ClassZero => f.write_str("TC0 is always on VC0"),
            Self::Twice(class) => write!(f, "TC{class} is mapped twice"),
            Self::Empty(channel) => write!(f, "VC{channel} has no traffic class"),
            Self::TooMany(channels) => {
                write!(f, "{channels} channels beside VC0, and TC1 to TC7 can fill 7 at most")
            }
        }
    }
}

impl ChannelMap {
    /// Every class on VC0: the only channel there is.
    pub const ONLY_VC0: Self = Self([0; TRAFFIC_CLASSES]);

    /// The map with these classes on VC1, VC2 and so on; those not named are on VC0.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn new<L: AsRef<[u8]>>(channels: &[L]) -> Result<Self, Vec<MapProblem>> {
        let mut problems = Vec::new();
        if channels.len() >= TRAFFIC_CLASSES {
            problems.push(MapProblem::TooMany(channels.len()));
        }
        let mut map = [0; TRAFFIC_CLASSES];
        for (index, classes) in channels.iter().enumerate() {
            let channel = index + 1;
            if classes.as_ref().is_empty() {
                problems.push(MapProblem::Empty(channel));
            }
            for class in classes.as_ref() {
                match map.get_mut(usize::from(*class)) {
                    None => problems.push(MapProblem::NoSuchClass(*class)),
                    Some(_) if *class == 0 => problems.push(MapProblem::ClassZero),
                    Some(0) => map[usize::from(*class)] = channel as u8,
                    Some(_) => problems.push(MapProblem::Twice(*class)),
                }
            }
        }
        if problems.is_empty() { Ok(Self(map)) } else { Err(problems) }
    }

    /// Channel of a traffic class.
    #[inline]
    pub const fn channel_of(&self, class: u8) -> u8 {
        self.0[class as usize]
    }

    /// How many channels there are, VC0 included.
    pub fn channels(&self) -> usize {
        usize::from(self.0.into_iter().max().unwrap_or(0)) + 1
    }

    /// Classes on a channel, in ascending order.
    pub fn classes(&self, channel: u8) -> impl Iterator<Item = u8> + use<> {
        let map = self.0;
        (0..TRAFFIC_CLASSES as u8).filter(move |class| map[usize::from(*class)] == channel)
    }
}

/// How the channels of a link compete for it; weights are VC0's first. Source: PCIe Base 6.3 §6.3.3.4.
pub type ChannelArbitration = Arbitration;

/// Which channel may send next. One with nothing to send, or that may not send, loses its turn to the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChannelArbiter {
    policy: ChannelArbitration,
    channels: u8,
    arbiter: Arbiter,
}

impl ChannelArbiter {
    /// Before anything was sent.
    ///
    /// # Panics
    /// When there is not one weight above 0 for each channel.
    pub fn new(policy: ChannelArbitration, channels: usize) -> Self {
        if let Some(weights) = policy.weights() {
            assert!(weights.len() == channels && !weights.contains(&0), "a weight for each channel");
        }
        let arbiter = Arbiter::first(policy.weights());
        Self { policy, channels: channels as u8, arbiter }
    }

    /// Channels in the order in which they may send.
    pub fn order(&self) -> impl Iterator<Item = u8> + use<> {
        let (channels, first) = (self.channels, self.arbiter.whose());
        let strict = self.policy == ChannelArbitration::Strict;
        (0..channels).map(move |place| if strict { channels - 1 - place } else { (first + place) % channels })
    }

    /// A channel has sent a packet.
    pub fn served(&mut self, channel: u8) {
        self.arbiter.served(channel, usize::from(self.channels), self.policy.weights());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_that_are_not_named_are_on_vc0() {
        let map = ChannelMap::new(&[vec![5], vec![7, 6]]).expect("a legal map");
        assert_eq!(map.channels(), 3);
        let of_each: Vec<u8> = (0..8).map(|class| map.channel_of(class)).collect();
        assert_eq!(of_each, [0, 0, 0, 0, 0, 1, 2, 2]);
        assert_eq!(map.classes(2).collect::<Vec<u8>>(), [6, 7]);
        assert_eq!(ChannelMap::new::<Vec<u8>>(&[]), Ok(ChannelMap::ONLY_VC0));
        assert_eq!(ChannelMap::ONLY_VC0.channels(), 1);
    }

    #[test]
    fn everything_that_is_wrong_with_a_map_is_told() {
        let wrong = ChannelMap::new(&[vec![0], vec![3, 3], vec![], vec![8]]);
        let problems =
            [MapProblem::ClassZero, MapProblem::Twice(3), MapProblem::Empty(3), MapProblem::NoSuchClass(8)];
        assert_eq!(wrong, Err(problems.to_vec()));
        let many: Vec<Vec<u8>> = (1..=8).map(|class| vec![class % 8]).collect();
        assert!(ChannelMap::new(&many).is_err_and(|problems| problems.contains(&MapProblem::TooMany(8))));
    }

    /// So many packets of channels that always have some.
    fn sent(policy: ChannelArbitration, channels: usize, packets: usize) -> Vec<u8> {
        let mut arbiter = ChannelArbiter::new(policy, channels);
        let mut send = || {
            let first = arbiter.order().next().expect("VC0 at least");
            arbiter.served(first);
            first
        };
        (0..packets).map(|_| send()).collect()
    }

    #[test]
    fn channels_take_turns_as_the_policy_says() {
        assert_eq!(sent(ChannelArbitration::Strict, 3, 3), [2, 2, 2]);
        assert_eq!(sent(ChannelArbitration::RoundRobin, 3, 4), [0, 1, 2, 0]);
        let weights = vec![1, 3];
        assert_eq!(
            sent(ChannelArbitration::WeightedRoundRobin { weights }, 2, 9),
            [0, 1, 1, 1, 0, 1, 1, 1, 0]
        );
    }

    #[test]
    fn a_channel_that_cannot_send_gives_its_turn_away() {
        let weights = vec![2, 2];
        let mut arbiter = ChannelArbiter::new(ChannelArbitration::WeightedRoundRobin { weights }, 2);
        arbiter.served(1); // VC0 had the turn and nothing to send.
        assert_eq!(arbiter.order().collect::<Vec<u8>>(), [1, 0]);
        arbiter.served(1);
        assert_eq!(arbiter.order().collect::<Vec<u8>>(), [0, 1]);
    }

    #[test]
    fn behind_the_one_whose_turn_it_is_come_the_next_and_then_the_first() {
        let mut arbiter = ChannelArbiter::new(ChannelArbitration::RoundRobin, 4);
        arbiter.served(1);
        assert_eq!(arbiter.order().collect::<Vec<u8>>(), [2, 3, 0, 1]);
    }

    #[test]
    fn a_problem_says_which_class_or_channel() {
        let said = [
            (MapProblem::NoSuchClass(9), "TC9"),
            (MapProblem::ClassZero, "TC0"),
            (MapProblem::Twice(3), "TC3"),
            (MapProblem::Empty(2), "VC2"),
            (MapProblem::TooMany(8), "8 channels"),
        ];
        said.into_iter().for_each(|(problem, what)| assert!(problem.to_string().contains(what), "{problem}"));
    }
}
