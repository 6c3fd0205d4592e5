//! Flow control initialisation, as the transmitter of a link has it: which InitFCs go out when, and when TLPs may flow
//! (PCIe Base 6.3 §3.2.1, §3.4). All virtual channels are initialised together; credits of those beyond VC0 are [`ChannelCredits`].
//!
//! While a link comes up the transmitter's one timer is that of InitFCs; afterwards it is the replay timer.

use super::dllp_set::ALL_CLASSES;
use super::transmitter::Transmitter;
use lanewise_pcie::dllp::INIT_FLOW_CONTROL_INTERVAL;
use lanewise_pcie::flow_control::{CreditPool, Credits, Scale, TransmitCredits};
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::Time;

/// State of the data link layer, PCIe Base 6.3 §3.2.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LinkState {
    /// Sending InitFC1, waiting for the peer's three of each channel.
    InitFlowControl1,
    /// Sending InitFC2, waiting for the peer's.
    InitFlowControl2,
    /// TLPs may flow.
    Active,
}

/// Which InitFC triplets go out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InitFlowControl {
    First,
    Second,
}

/// CREDITS_CONSUMED and CREDIT_LIMIT of VC1, VC2 and so on, by class.
pub(crate) struct ChannelCredits {
    beyond: Vec<OfChannel>,
}

struct OfChannel {
    credits: [TransmitCredits; 3],
    /// Classes that the peer has advertised, a bit each.
    initialised: u8,
}

impl ChannelCredits {
    /// Of so many channels beside VC0, on a link that is down. The peer tells of its credits in steps of `scale`, by class.
    pub(crate) fn new(scale: [Scale; 3], beyond_vc0: usize) -> Self {
        let channel = || OfChannel { credits: scale.map(TransmitCredits::new), initialised: 0 };
        Self { beyond: (0..beyond_vc0).map(|_| channel()).collect() }
    }

    /// Those of a channel other than VC0.
    pub(crate) fn of(&self, channel: u8) -> &[TransmitCredits; 3] {
        &self.beyond[usize::from(channel) - 1].credits
    }

    /// Those of a channel other than VC0.
    pub(crate) fn of_mut(&mut self, channel: u8) -> &mut [TransmitCredits; 3] {
        &mut self.beyond[usize::from(channel) - 1].credits
    }

    /// A TLP of a channel other than VC0 goes out.
    pub(crate) fn consume(&mut self, channel: u8, class: FlowClass, credits: Credits) {
        self.of_mut(channel)[class.index()].consume(credits);
    }

    /// The link goes down.
    pub(crate) fn reset(&mut self) {
        for channel in &mut self.beyond {
            channel.credits = channel.credits.map(|credits| TransmitCredits::new(credits.scale()));
            channel.initialised = 0;
        }
    }

    fn all_initialised(&self) -> bool {
        self.beyond.iter().all(|channel| channel.initialised == ALL_CLASSES)
    }

    /// Heap memory, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.beyond)
    }
}

impl<T: Copy> Transmitter<T> {
    /// Whether the link is down and stays so until it is brought up.
    pub(crate) fn is_down(&self) -> bool {
        self.state != LinkState::Active && self.deadline == Time::NEVER
    }

    /// The link comes up: flow control is initialised from `now` on.
    pub(crate) fn start_initialisation(&mut self, now: Time) {
        self.deadline = now;
    }

    /// The InitFC triplets that are due by `now`: those of the present state, on entry and again every 34 us (PCIe Base 6.3 §3.4).
    pub(crate) fn take_init(&mut self, now: Time) -> Option<InitFlowControl> {
        if self.deadline > now {
            return None;
        }
        self.deadline = now + INIT_FLOW_CONTROL_INTERVAL;
        match self.state {
            LinkState::InitFlowControl1 => Some(InitFlowControl::First),
            LinkState::InitFlowControl2 | LinkState::Active => Some(InitFlowControl::Second),
        }
    }

    /// An InitFC1 or InitFC2 of the peer is read at `now`. Either says the same, and the first may be lost (PCIe Base 6.3 §3.4.1);
    /// once all channels are advertised, InitFC2s are due.
    pub(crate) fn hear_init(
        &mut self,
        beyond: Option<&mut ChannelCredits>,
        channel: u8,
        class: FlowClass,
        pool: CreditPool,
        now: Time,
    ) {
        if self.state != LinkState::InitFlowControl1 {
            return;
        }
        let bit = 1 << class as u8;
        let note = |initialised: &mut u8, credits: &mut [TransmitCredits; 3]| {
            if *initialised & bit == 0 {
                *initialised |= bit;
                credits[class.index()].initialise(pool);
            }
        };
        let others_are = match beyond {
            None => true,
            Some(beyond) => {
                if let Some(other) = usize::from(channel).checked_sub(1) {
                    let OfChannel { credits, initialised } = &mut beyond.beyond[other];
                    note(initialised, credits);
                }
                beyond.all_initialised()
            }
        };
        if channel == 0 {
            note(&mut self.initialised, &mut self.credits);
        }
        if others_are && self.initialised == ALL_CLASSES {
            (self.state, self.deadline) = (LinkState::InitFlowControl2, now);
        }
    }

    /// The peer has left FC_INIT1, and the InitFC2 of this side is out: TLPs may flow. The replay timer stands still.
    pub(crate) fn become_active(&mut self, now: Time) {
        (self.state, self.deadline) = (LinkState::Active, Time::NEVER);
        self.decide_not_before(now);
    }
}
