//! Virtual channels beyond VC0 at one port: credits and queues of their own, and whose turn it is. Their buffers are the receiver's.
//!
//! A port keeps VC0 within itself, so that a link without other channels costs nothing for them. A transmitter that leaves a
//! silence after each TLP is one with channels too, be it only VC0. Sequence numbers, the
//! retry buffer and Acks are the link's and common to all channels (PCIe Base 6.3 §2.5). Leaves out: enabling a channel by
//! software after VC0 is up (all are initialised together, before the first TLP), and order between traffic classes on one
//! channel, which is kept although no packet asks for it (§2.4.1).

use crate::config::PortConfig;
use crate::link::ChannelCredits;
use crate::packet::{ClassQueues, Packet, PacketId, PacketPool};
use crate::port::Port;
use lanewise_pcie::flow_control::TransmitCredits;
use lanewise_pcie::tlp::FlowClass;
use lanewise_pcie::virtual_channel::{ChannelArbiter, ChannelMap};
use lanewise_units::{Span, Time};

/// VC0, which every link has.
pub(crate) const VC0: u8 = 0;

/// What a port with several channels keeps beside VC0.
pub(crate) struct PortChannels {
    pub(crate) map: ChannelMap,
    pub(crate) arbiter: ChannelArbiter,
    /// Credits of VC1, VC2 and so on.
    pub(crate) credits: ChannelCredits,
    /// By channel beyond VC0, TLPs of an endpoint or root port that wait here.
    queues: Vec<ClassQueues>,
    /// Silence that the transmitter leaves after each TLP, and until when it leaves it now.
    pub(crate) tlp_gap: Span,
    silent_until: Time,
}

impl PortChannels {
    /// The channels of a port on a link with this map.
    pub(crate) fn new(map: ChannelMap, config: &PortConfig, peer: &PortConfig) -> Box<Self> {
        let beyond_vc0 = config.more_credits.len();
        Box::new(Self {
            map,
            arbiter: ChannelArbiter::new(config.channel_arbitration.clone(), map.channels()),
            credits: ChannelCredits::new(peer.scale, beyond_vc0),
            queues: (0..beyond_vc0).map(|_| ClassQueues::default()).collect(),
            tlp_gap: Span::ZERO,
            silent_until: Time::ZERO,
        })
    }

    /// Heap memory, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.credits.heap_bytes() + size_of_val(&*self.queues)
    }
}

impl Port {
    /// Numbers of all its channels.
    pub(crate) fn channel_numbers(&self) -> std::ops::Range<u8> {
        let count = || self.channels.as_ref().map_or(1, |channels| channels.queues.len() as u8 + 1);
        0..if self.more_channels() { count() } else { 1 }
    }

    /// The channel that carries a traffic class.
    #[inline(always)]
    pub(crate) fn channel_of(&self, traffic_class: u8) -> u8 {
        if self.more_channels() { self.mapped(traffic_class) } else { VC0 }
    }

    #[cold]
    fn mapped(&self, traffic_class: u8) -> u8 {
        self.channels.as_ref().map_or(VC0, |channels| channels.map.channel_of(traffic_class))
    }

    /// Channels in the order in which arbitration lets them send; for a port with several.
    pub(crate) fn channel_order(&self) -> impl Iterator<Item = u8> + use<> {
        self.channels.as_ref().expect("a port with several channels").arbiter.order()
    }

    /// The transmitter's credits of a channel. VC0's are found without a look at `channels`, which lie apart from what VC0 needs.
    #[inline(always)]
    pub(crate) fn credits_of(&self, channel: u8) -> &[TransmitCredits; 3] {
        match &self.channels {
            Some(channels) if channel != VC0 => channels.credits.of(channel),
            _ => &self.transmitter.credits,
        }
    }

    #[inline(always)]
    pub(crate) fn credits_of_mut(&mut self, channel: u8) -> &mut [TransmitCredits; 3] {
        match &mut self.channels {
            Some(channels) if channel != VC0 => channels.credits.of_mut(channel),
            _ => &mut self.transmitter.credits,
        }
    }

    /// Until when it leaves a silence after its last TLP.
    pub(crate) fn silent_until(&self) -> Time {
        self.channels.as_ref().map_or(Time::ZERO, |channels| channels.silent_until)
    }

    /// A TLP has left: silence follows, where its transmitter leaves one.
    pub(crate) fn leave_gap(&mut self) {
        if let Some(channels) = self.channels.as_mut().filter(|channels| !channels.tlp_gap.is_zero()) {
            channels.silent_until = self.transmitter.busy_until + channels.tlp_gap;
        }
    }

    /// What waits at an endpoint or root port for a channel.
    #[inline(always)]
    pub(crate) fn queues_of(&self, channel: u8) -> &ClassQueues {
        match &self.channels {
            Some(channels) if channel != VC0 => &channels.queues[usize::from(channel) - 1],
            _ => &self.queues,
        }
    }

    #[inline(always)]
    pub(crate) fn queues_of_mut(&mut self, channel: u8) -> &mut ClassQueues {
        match &mut self.channels {
            Some(channels) if channel != VC0 => &mut channels.queues[usize::from(channel) - 1],
            _ => &mut self.queues,
        }
    }

    /// Puts a packet into the queues of its channel. True when it is the first of its class there.
    #[inline(always)]
    pub(crate) fn queue(&mut self, packets: &mut PacketPool, id: PacketId) -> bool {
        let channel = self.channel_of(packets[id].traffic_class);
        self.queues_of_mut(channel).push(packets, id)
    }

    /// Puts a packet into the queues of its channel. A posted write in front there that may leave only later is no request yet, since its
    /// pace or its data hold it back: it counts as the younger of the two.
    #[cold]
    #[inline(never)]
    pub(crate) fn queue_before_unstarted_write(&mut self, packets: &mut PacketPool, id: PacketId) {
        self.queue(packets, id);
        let channel = self.channel_of(packets[id].traffic_class);
        let write = self.queues_of(channel).head(FlowClass::Posted);
        if let Some(write) = write.filter(|write| packets[*write].eligible_at > packets[id].eligible_at) {
            let (written, own) = (packets[write].order, packets[id].order);
            (packets[write].order, packets[id].order) = (own, written);
        }
    }

    /// Puts a packet into the queues of its channel, in front of those of its class that may leave later. True when it is the first.
    pub(crate) fn queue_when_ready(&mut self, packets: &mut PacketPool, id: PacketId) -> bool {
        let (class, ready_at) = (packets[id].class(), packets[id].eligible_at);
        let channel = self.channel_of(packets[id].traffic_class);
        let queues = self.queues_of_mut(channel);
        let before =
            queues.ids_of_class(packets, class).take_while(|id| packets[*id].eligible_at <= ready_at);
        let before = before.last();
        queues.insert_behind(packets, before, id)
    }

    /// Its queues, channel by channel.
    fn all_queues(&self) -> impl Iterator<Item = &ClassQueues> {
        let beyond = self.channels.iter().flat_map(|channels| channels.queues.iter());
        std::iter::once(&self.queues).chain(beyond)
    }

    /// Whether a request waits, whatever the channel.
    pub(crate) fn has_requests(&self) -> bool {
        self.all_queues().any(ClassQueues::has_requests)
    }

    /// When the first of the requests that wait may leave, whatever the channel; none when none does.
    pub(crate) fn requests_start(&self, packets: &PacketPool) -> Option<Time> {
        let classes = [FlowClass::Posted, FlowClass::NonPosted];
        let heads = self.all_queues().flat_map(|queues| classes.map(|class| queues.head(class)));
        heads.flatten().map(|id| packets[id].eligible_at).min()
    }

    /// Whether nothing waits in its own queues, whatever the channel.
    #[inline]
    pub(crate) fn nothing_queued(&self) -> bool {
        let beyond = |channels: &PortChannels| channels.queues.iter().all(|queues| queues.is_empty());
        self.queues.is_empty() && self.channels.as_deref().is_none_or(beyond)
    }

    /// A TLP goes out: its channel pays for it, and others may have the next turn. Returns the channel.
    #[cold]
    pub(crate) fn spend_on_channel(&mut self, packet: &Packet) -> u8 {
        let channel = self.mapped(packet.traffic_class);
        let (class, credits) = (packet.class(), packet.credits());
        if channel == VC0 {
            self.transmitter.credits[class.index()].consume(credits);
        }
        if let Some(channels) = &mut self.channels {
            if channel != VC0 {
                channels.credits.consume(channel, class, credits);
            }
            channels.arbiter.served(channel);
        }
        channel
    }
}
