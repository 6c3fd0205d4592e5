//! Endpoints: DMA queues that cut transfers into requests, tags, and the completer behind a BAR.
//!
//! Queues take turns packet by packet. A queue issues the requests of its transfers in order and does not wait
//! for one transfer to complete before the next starts. Left out: interrupts other than the memory
//! writes that MSI are.
//!
//! Transfers are in `endpoint/transfers.rs`, whose turn it is in `turns.rs`, the next request in `cutting.rs`, reads that are out in
//! `reads.rs`, virtual functions in `functions.rs`, requests that wait for a translation in `translating.rs`.

use crate::channels::VC0;
use crate::config::{EndpointConfig, EngineConfig};
use crate::dma::DmaEngines;
use crate::errors::DeviceErrors;
use crate::packet::{Flags, Packet, RouteEnd};
use crate::port::PortId;
use crate::server::Server;
use crate::side_link::SideLink;
use crate::workload::{Direction, Notify, Transfer};
use lanewise_observe::RequesterState;
use lanewise_pcie::tlp::Attributes;
use lanewise_pcie::virtual_channel::{ChannelArbiter, ChannelArbitration, ChannelMap};
use lanewise_units::{Bytes, Time};
use reads::{ReadTimes, Reads};
use std::sync::Arc;
use transfers::DmaQueue;
pub(crate) use transfers::Transfers;
use turns::{TrafficClasses, Turns};

mod cutting;
mod functions;
mod reads;
mod transfers;
mod translating;
mod turns;

impl EndpointConfig {
    /// Ordering attributes of every packet it makes, but Relaxed Ordering of completions, which is the requester's.
    fn attributes(&self) -> Attributes {
        let relaxed = if self.relaxed_ordering { Attributes::RELAXED_ORDERING } else { Attributes::NONE };
        relaxed.with(self.id_ordering())
    }

    /// ID-based ordering, if it asks for it.
    pub(crate) fn id_ordering(&self) -> Attributes {
        if self.id_based_ordering { Attributes::ID_BASED_ORDERING } else { Attributes::NONE }
    }
}

/// One endpoint.
///
/// Fields lie in cache lines by what uses them: what every request is made from; whose turn it is; what is kept of reads; what
/// others find at it.
#[repr(C, align(64))]
pub(crate) struct Endpoint {
    /// The same for all that are alike.
    pub(crate) config: Arc<EndpointConfig>,
    queues: Vec<DmaQueue>,
    next_request_at: Time,
    /// Largest write and read request.
    units: [u16; 2],
    pub(crate) port: PortId,
    /// By which packets find it.
    pub(crate) route_end: RouteEnd,
    /// What the header of every request says.
    attributes: Attributes,
    prefixes: u8,
    digest: bool,
    /// What the device waits for when it has nothing to ask for.
    pub(crate) waits_for: RequesterState,
    /// Accesses of the CPU to it that have not ended.
    pub(crate) mmio_open: u32,

    /// What takes turns on VC0.
    turns: Turns,
    /// Faults of its own, and its completion timeout, where it has any.
    pub(crate) errors: Option<Box<DeviceErrors>>,
    /// Traffic classes other than TC0, and virtual channels other than VC0, where there are any.
    classes: Option<Box<TrafficClasses>>,
    /// Engines, paces and a data path of its own, where it has any.
    pub(crate) dma: Option<Box<DmaEngines>>,

    reads: Reads,

    /// Internal path of posted writes that arrive.
    pub(crate) drain: Server,
    /// Its memory, as peers read it; none where that is never the limit.
    pub(crate) memory: Option<Server>,
    /// What joins it to others beside PCI Express.
    pub(crate) side_link: Option<Box<SideLink>>,
}

impl Endpoint {
    pub(crate) fn new(config: Arc<EndpointConfig>, port: PortId, route_end: RouteEnd, mps: Bytes) -> Self {
        let limit = config.tags.min(u32::from(u16::MAX)) as u16;
        let (read_unit, write_unit) = (config.dma.read_unit, config.dma.write_unit);
        let units = [read_unit.unwrap_or(config.mrrs).min(config.mrrs), write_unit.unwrap_or(mps).min(mps)];
        let mut turns = Turns::default();
        if let Some(functions) = &config.dma.functions {
            turns.arbitrate(usize::from(functions.count) + 1, &functions.arbitration);
        }
        Self {
            reads: Reads {
                tags: functions::tag_pool(&config, limit),
                out: Vec::new(),
                times: ReadTimes::default(),
            },
            drain: Server::new(config.write_drain),
            attributes: config.attributes(),
            prefixes: config.tlp_prefixes,
            digest: config.ecrc,
            memory: config.memory_read_rate.map(Server::new),
            side_link: config.side_link.map(|link| Box::new(SideLink::new(link))),
            errors: DeviceErrors::new(&config.errors),
            dma: DmaEngines::new(&config.dma, config.completion_latency),
            units: units.map(checked_unit),
            classes: (config.traffic_class != 0).then(|| TrafficClasses::on_vc0(0)),
            config,
            port,
            route_end,
            queues: Vec::new(),
            turns,
            mmio_open: 0,
            next_request_at: Time::ZERO,
            waits_for: RequesterState::NothingAsked,
        }
    }

    /// It watches over nothing, has one traffic class, and its DMA does nothing but cut.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.errors.is_none() && self.classes.is_none() && self.dma.is_none()
    }

    pub(crate) fn open_queue(&mut self) -> u32 {
        self.queues.push(DmaQueue::default());
        self.turns.channel_opened(0);
        if let Some(dma) = &mut self.dma {
            dma.open_queue(&EngineConfig::default());
        }
        if let Some(classes) = &mut self.classes {
            classes.add(self.config.traffic_class);
        }
        self.queues.len() as u32 - 1
    }

    /// Opens a queue whose requests carry this traffic class.
    pub(crate) fn open_queue_of(&mut self, traffic_class: u8) -> u32 {
        if traffic_class == self.config.traffic_class {
            return self.open_queue();
        }
        let open = self.queues.len();
        self.queues.push(DmaQueue::default());
        self.turns.channel_opened(0);
        if let Some(dma) = &mut self.dma {
            dma.open_queue(&EngineConfig::default());
        }
        let classes = self.classes.get_or_insert_with(|| TrafficClasses::on_vc0(open));
        classes.add(traffic_class);
        open as u32
    }

    /// Opens a queue with an engine of its own.
    pub(crate) fn open_queue_with(&mut self, engine: &EngineConfig, mps: Bytes) -> u32 {
        let open = self.queues.len();
        let with_queues = || Box::new(DmaEngines::with_queues(&self.config.dma, open));
        [engine.write_unit, engine.read_unit].into_iter().flatten().for_each(|unit| _ = checked_unit(unit));
        let engine = EngineConfig {
            write_unit: engine.write_unit.map(|unit| unit.min(mps)),
            read_unit: engine.read_unit.map(|unit| unit.min(self.config.mrrs)),
            outstanding: engine.outstanding,
        };
        self.dma.get_or_insert_with(with_queues).open_queue(&engine);
        self.queues.push(DmaQueue::default());
        self.turns.channel_opened(0);
        if let Some(classes) = &mut self.classes {
            classes.add(self.config.traffic_class);
        }
        open as u32
    }

    /// Completions may be lost on their way: it has to know which reads are broken.
    pub(crate) fn watch_all_reads(&mut self) {
        self.errors.get_or_insert_with(|| Box::new(DeviceErrors::watching(&self.config.errors)));
    }

    /// Its link has these virtual channels, and its port arbitrates among them like this.
    pub(crate) fn use_channels(&mut self, map: ChannelMap, arbitration: &ChannelArbitration) {
        self.classes = Some(TrafficClasses::new(map, arbitration.clone(), 0));
    }

    /// Virtual channels in the order in which they get the tags that are free.
    pub(crate) fn channel_order(&self) -> impl Iterator<Item = u8> + use<> {
        let only_vc0 = || ChannelArbiter::new(ChannelArbitration::RoundRobin, 1).order();
        self.classes.as_ref().map_or_else(only_vc0, |classes| classes.tags.order())
    }

    /// A virtual channel has got a tag.
    pub(crate) fn tag_taken(&mut self, vc: u8) {
        if let Some(classes) = &mut self.classes {
            classes.tags.served(vc);
        }
    }

    /// Puts a transfer behind the others of its queue.
    pub(crate) fn submit(&mut self, queue: u32, index: u32, now: Time, transfers: &Transfers) {
        if let Some(dma) = &mut self.dma {
            dma.asked(queue, now);
            if let Some(translations) = &mut dma.translations {
                transfers.looked_up_by(translations, index, now);
            }
        }
        let own = &mut self.queues[queue as usize];
        if own.current.is_some() {
            return own.waiting.push_back(index);
        }
        let rest = transfers.whole(index);
        own.current = Some(rest);
        self.takes_turns(queue, rest.direction);
    }

    /// A queue has something to ask for: it takes turns with the others on its virtual channel.
    #[inline(always)]
    fn takes_turns(&mut self, queue: u32, direction: Direction) {
        let vc = self.classes.as_ref().map_or(VC0, |classes| classes.virtual_channel(queue));
        self.turns_on(vc).push(direction, queue);
    }

    #[inline(always)]
    fn turns_on(&mut self, vc: u8) -> &mut Turns {
        match &mut self.classes {
            Some(classes) if vc != VC0 => &mut classes.beyond_vc0[usize::from(vc) - 1],
            _ => &mut self.turns,
        }
    }

    /// Whether any queue has a request of this direction to make.
    #[inline]
    pub(crate) fn wants(&self, direction: Direction) -> bool {
        let on_vc0 = !self.turns.is_empty(direction);
        on_vc0 || self.classes.as_ref().is_some_and(|classes| classes.want(direction))
    }

    /// What holds the endpoint back while no request of its own waits at the port.
    pub(crate) fn idle_state(&self) -> RequesterState {
        match &self.dma {
            Some(dma) if dma.lacks_translations() => return RequesterState::Device,
            Some(dma) if dma.lacks_function_tags() => return RequesterState::Tags,
            _ => {}
        }
        if self.wants(Direction::Read) {
            RequesterState::Tags
        } else if self.outstanding_reads() > 0 {
            RequesterState::Window
        } else {
            self.waits_for
        }
    }

    /// Whether a read that is staged on a virtual channel may go before a write that is, and has not started: they are of two queues.
    pub(crate) fn may_read_before_write(&self, vc: u8, read: &Packet) -> bool {
        self.dma.as_ref().is_some_and(|dma| dma.is_of_another_than_the_write_on(vc, read.read))
    }

    /// When the data of a completion of another's read is there, for a read that arrived `now`.
    pub(crate) fn data_at(&mut self, now: Time, completion: &Packet) -> Time {
        if completion.flags.has(Flags::MMIO) {
            return now + self.config.mmio_read_latency;
        }
        // As in a root complex: bandwidth is taken when the read starts, not when its data comes.
        let read = self.memory.as_mut().map_or(now, |memory| memory.serve(now, completion.payload()));
        read + self.config.memory_read_latency
    }
}

/// The largest request of a kind.
fn checked_unit(unit: Bytes) -> u16 {
    let unit = unit.get();
    assert!(unit.is_power_of_two() && (32..=4096).contains(&unit), "units are 32 to 4096 B");
    unit as u16
}

/// Whether a transfer asks to hear of this.
pub(crate) fn wants_notice(transfer: &Transfer, notify: Notify) -> bool {
    transfer.notify == notify
}

#[cfg(test)]
mod tests {
    use super::transfers::ActiveTransfer;
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn what_a_request_is_cut_from_fits_cache_lines() {
        assert_eq!(size_of::<ActiveTransfer>(), 64);
        assert_eq!(size_of::<DmaQueue>(), 64);
        assert_eq!([offset_of!(Endpoint, turns), offset_of!(Endpoint, reads)], [64, 128]);
    }
}
