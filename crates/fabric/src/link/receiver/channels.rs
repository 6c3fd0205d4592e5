//! Buffers of a receiver by class and virtual channel, and the periods of their UpdateFCs.

use super::super::buffer::IngressBuffer;
use super::{InFlight, Rare, Receiver};
use crate::config::{PortConfig, UpdatePolicy};
use lanewise_pcie::ack_nak::ReceiveSequence;
use lanewise_pcie::flow_control::CreditPool;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Span, Time};

/// One buffer for each class.
pub(super) fn buffers(pools: &[CreditPool; 3], config: &PortConfig) -> [IngressBuffer; 3] {
    FlowClass::ALL.map(|class| IngressBuffer::new(class, pools, config))
}

impl Rare {
    /// When the next UpdateFC is due.
    pub(super) fn update_due_at(&self) -> Time {
        self.beyond.iter().flat_map(|channel| channel.update_at).min().unwrap_or(Time::NEVER)
    }
}

impl<T: Copy> Receiver<T> {
    /// How many virtual channels have buffers here, VC0 included.
    pub(crate) fn channels(&self) -> u8 {
        self.rare.as_ref().map_or(1, |rare| rare.beyond.len() as u8 + 1)
    }

    /// The buffer of a class on a channel.
    #[inline(always)]
    pub(crate) fn buffer(&self, channel: u8, class: FlowClass) -> &IngressBuffer {
        match &self.rare {
            Some(rare) if channel > 0 => &rare.beyond[usize::from(channel) - 1].buffers[class as usize],
            _ => &self.buffers[class as usize],
        }
    }

    /// The same with when its next UpdateFC is due.
    #[inline(always)]
    pub(super) fn buffer_mut(&mut self, channel: u8, class: FlowClass) -> (&mut IngressBuffer, &mut Time) {
        let (buffers, update_at) = match &mut self.rare {
            Some(rare) if channel > 0 => {
                let channel = &mut rare.beyond[usize::from(channel) - 1];
                (&mut channel.buffers, &mut channel.update_at)
            }
            _ => (&mut self.buffers, &mut self.update_at),
        };
        (&mut buffers[class as usize], &mut update_at[class as usize])
    }

    /// By class, when the next UpdateFC of a channel is due.
    #[inline(always)]
    pub(super) fn update_at(&self, channel: u8) -> &[Time; 3] {
        match &self.rare {
            Some(rare) if channel > 0 => &rare.beyond[usize::from(channel) - 1].update_at,
            _ => &self.update_at,
        }
    }

    /// Buffers of every class on every channel, each with when its next UpdateFC is due.
    pub(crate) fn all_buffers(&self) -> impl Iterator<Item = (&IngressBuffer, Time)> {
        let beyond = self.rare.iter().flat_map(|rare| &rare.beyond);
        let beyond = beyond.flat_map(|channel| channel.buffers.iter().zip(channel.update_at));
        self.buffers.iter().zip(self.update_at).chain(beyond)
    }

    #[inline(always)]
    pub(super) fn find_update_due(&mut self) {
        let [posted, non_posted, completion] = self.update_at;
        self.update_due_at = posted.min(non_posted).min(completion);
        if let Some(rare) = &self.rare {
            self.update_due_at = self.update_due_at.min(rare.update_due_at());
        }
        self.find_owed();
    }

    /// Flow control is initialised at `now`: starts the periodic UpdateFC of every buffer that counts credits. What the peer sent before has
    /// UpdateFCs due already, if an InitFC2 was lost.
    pub(crate) fn start_updates(&mut self, now: Time, period: Span) {
        self.plan_updates(|due| due.min(now + period));
    }

    /// The link wakes at `at`: the periods of UpdateFCs that stopped start anew.
    pub(crate) fn resume_updates(&mut self, at: Time, period: Span) {
        self.plan_updates(|due| due.min(at + period));
    }

    fn plan_updates(&mut self, from: impl Fn(Time) -> Time) {
        for channel in 0..self.channels() {
            for class in FlowClass::ALL {
                let (buffer, update_at) = self.buffer_mut(channel, class);
                if !buffer.credits.is_infinite() {
                    *update_at = from(*update_at);
                }
            }
        }
        self.find_update_due();
    }

    /// UpdateFCs due by `at`, which [only repeat](Self::only_repeats), are put off until space is free or [`Self::resume_updates`]:
    /// they are not due in L1 (PCIe Base 6.3 §2.6.1.2).
    pub(crate) fn stop_updates(&mut self, at: Time, policy: &UpdatePolicy) {
        for channel in 0..self.channels() {
            for class in FlowClass::ALL {
                let (buffer, update_at) = self.buffer_mut(channel, class);
                if *update_at <= at {
                    *update_at = buffer.update_after_update(Time::NEVER, policy);
                }
            }
        }
        self.find_update_due();
    }

    /// The link goes down with nothing under way: everything starts anew when it comes up.
    ///
    /// # Panics
    /// When something is still in a buffer.
    pub(crate) fn reset(&mut self) {
        (self.ack_at, self.update_due_at, self.owed_at) = (Time::NEVER, Time::NEVER, Time::NEVER);
        if let Some(rare) = &mut self.rare {
            rare.nak_at = Time::NEVER;
        }
        self.next_arrival = Time::NEVER;
        self.unacknowledged = 0;
        self.sequence = ReceiveSequence::default();
        for channel in 0..self.channels() {
            for class in FlowClass::ALL {
                let (buffer, update_at) = self.buffer_mut(channel, class);
                buffer.reset();
                *update_at = Time::NEVER;
            }
        }
    }

    // --- read from outside -------------------------------------------------------------------------------------

    /// NEXT_RCV_SEQ and NAK_SCHEDULED.
    pub(crate) fn sequence(&self) -> &ReceiveSequence {
        &self.sequence
    }

    /// TLPs on their way, the oldest first.
    pub(crate) fn in_flight(&self) -> impl ExactSizeIterator<Item = &InFlight<T>> {
        self.in_flight.iter()
    }

    /// Heap memory, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let draining: usize = self.all_buffers().map(|(buffer, _)| buffer.draining.heap_bytes()).sum();
        let rare = self.rare.as_ref().map_or(0, |rare| {
            size_of::<Rare>() + size_of_val(&*rare.beyond) + rare.unchecked.capacity() * size_of::<Time>()
        });
        draining + rare + self.in_flight.heap_bytes()
    }
}
