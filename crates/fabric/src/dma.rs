//! DMA engines with units, paces and a data path of their own: what an endpoint has beyond cutting at MPS and MRRS. Its end of an IDE
//! stream, its translation cache and the tags of its virtual functions hang here, too, because they say when a request may go.
//!
//! An engine cuts what it moves at multiples of its unit, however much more MPS and MRRS would allow, and has so much in
//! flight. Between the engines and the port lies the device's own data path, store and forward: written data have passed it
//! before their TLP may leave, read data pass it after they have arrived. It runs ahead of the port, from the moment that a
//! transfer is asked for, so its latency is paid once and its rate always. A device may also collect what it reads before it
//! moves it on: then the first byte of a transfer passes the path when the last one has arrived. Assumed: its buffers never
//! fill up.
//!
//! All of it is cold: an endpoint with none of these settings has a null pointer instead.

use crate::ats::Translations;
use crate::config::{DmaConfig, EndpointConfig, EngineConfig, FunctionsConfig};
use crate::errors::Watch;
use crate::fabric::Fabric;
use crate::ide::IdeEnd;
use crate::packet::{Flags, Packet, PacketId};
use crate::server::{Book, Server, Station};
use crate::workload::Direction;
use lanewise_observe::Fact;
use lanewise_pcie::virtual_channel::TRAFFIC_CLASSES;
use lanewise_units::{Bytes, Few, Rate, Span, Time};
use std::collections::VecDeque;

impl DmaConfig {
    /// Whether a device with these settings does nothing but cut at its units.
    fn is_plain(&self, completion_latency: Span) -> bool {
        // Units are fields of the endpoint, gaps its port's.
        self.write_interval.is_zero()
            && self.read_interval.is_zero()
            && self.path_rate.is_none()
            && self.path_latency.is_zero()
            && !self.collects_reads
            && self.tag_hold.unwrap_or(completion_latency).is_zero()
            && self.ide.is_none()
            && self.ats.is_none()
            && self.functions.is_none()
    }
}

impl EndpointConfig {
    /// Whether the device has engines beyond cutting at its units.
    pub(crate) fn has_engines(&self) -> bool {
        !self.dma.is_plain(self.completion_latency)
    }
}

/// Smallest time between the starts of two requests of one direction.
#[derive(Debug)]
struct Pace {
    interval: Span,
    next_at: Time,
}

impl Pace {
    fn new(interval: Span) -> Self {
        Self { interval, next_at: Time::ZERO }
    }

    /// When a request that could start at `at` starts.
    fn start(&mut self, at: Time) -> Time {
        let start = at.max(self.next_at);
        self.next_at = start + self.interval;
        start
    }
}

/// The device's own data path, one direction.
#[derive(Debug)]
struct InternalPath {
    rate: Option<Server>,
    /// The same work, none of it before it was asked for here: data pass ahead of their request, and nobody knows of them before. What
    /// somebody reads in between must not grow afterwards.
    known: Station,
    latency: Span,
}

impl InternalPath {
    fn new(rate: Option<Rate>, latency: Span) -> Self {
        Self { rate: rate.map(Server::new), known: Station::default(), latency }
    }

    /// When data that are ready at `at`, which may be before now, have passed it.
    fn pass(&mut self, at: Time, now: Time, bytes: Bytes) -> Time {
        let Some(server) = &mut self.rate else { return at + self.latency };
        self.known.occupy(at.max(now), server.rate().span_ceil(bytes));
        server.serve(at, bytes) + self.latency
    }

    /// Its rate, and the book of what is known at `at`.
    fn book_at(&self, at: Time) -> Option<(Rate, Book)> {
        let server = self.rate.as_ref()?;
        Some((server.rate(), Book { busy: self.known.book_at(at).busy, ..server.book_at(at) }))
    }
}

/// What has come of a transfer that the device collects before it moves it on.
#[derive(Debug, Default)]
struct Collected {
    bytes: u64,
    completions: Vec<Packet>,
}

/// A queue's engine, and what it has under way.
#[derive(Debug, Default)]
struct Engine {
    /// Largest write and read request; none for the endpoint's own.
    units: [Option<Bytes>; 2],
    /// Bytes of reads that may be in flight, and those that are.
    most: Option<Bytes>,
    in_flight: Bytes,
    /// It has a read to ask for and may not: it takes no turns.
    is_parked: bool,
    /// The function that it belongs to, 0 for the physical one.
    function: u8,
    /// When each of its transfers was asked for that still have requests to make, the current one first.
    asked_at: VecDeque<Time>,
}

/// Reads that functions have out, of those that each may have, and queues of each that wait for one to end.
#[derive(Debug)]
struct FunctionTags {
    each: u16,
    /// By function.
    out: Vec<(u16, VecDeque<u32>)>,
}

impl FunctionTags {
    fn new(config: &FunctionsConfig) -> Option<Self> {
        let each = config.own_tags?;
        Some(Self { each, out: vec![Default::default(); usize::from(config.count) + 1] })
    }

    fn has_free(&self, function: u8) -> bool {
        self.out[usize::from(function)].0 < self.each
    }

    fn park(&mut self, function: u8, queue: u32) {
        self.out[usize::from(function)].1.push_back(queue);
    }

    fn take(&mut self, function: u8) {
        self.out[usize::from(function)].0 += 1;
    }

    /// A read has ended. Returns a queue that waited for that.
    fn give(&mut self, function: u8) -> Option<u32> {
        self.out[usize::from(function)].0 -= 1;
        self.unpark(function)
    }

    /// The queue of a function that has waited longest.
    fn unpark(&mut self, function: u8) -> Option<u32> {
        self.out[usize::from(function)].1.pop_front()
    }
}

/// What a queue makes of its turn to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// It asks for data.
    Reads,
    /// It may not, and takes no turns until [`DmaEngines::ended`] says so. The tag that is there for it is for a queue of the same
    /// function that waits for one, if any does: that takes turns again.
    PassesTo(Option<u32>),
}

/// What one endpoint has of this.
#[derive(Debug)]
pub(crate) struct DmaEngines {
    paces: [Pace; 2],
    paths: [InternalPath; 2],
    tag_hold: Option<Span>,
    /// By transfer, what has come of it, in a device that collects what it reads.
    collected: Option<Few<u32, Collected>>,
    /// By queue of the endpoint.
    engines: Vec<Engine>,
    /// By slot of an outstanding read: the queue that asked, and for how much.
    of_slot: Vec<Option<(u32, Bytes)>>,
    /// By virtual channel, whose the write is that was staged last.
    wrote_last: [u32; TRAFFIC_CLASSES],
    /// Queues that wait for a tag of their function.
    parked: u32,
    /// Reads of its functions, where each has tags of its own.
    function_tags: Option<FunctionTags>,
    /// Its end of an IDE stream.
    pub(crate) ide: Option<IdeEnd>,
    /// Its translation cache.
    pub(crate) translations: Option<Box<Translations>>,
}

impl DmaEngines {
    /// Those of a device with these settings and so many queues; none where nothing can come of them.
    pub(crate) fn new(config: &DmaConfig, completion_latency: Span) -> Option<Box<Self>> {
        (!config.is_plain(completion_latency)).then(|| Box::new(Self::with_queues(config, 0)))
    }

    pub(crate) fn with_queues(config: &DmaConfig, open: usize) -> Self {
        let path = || InternalPath::new(config.path_rate, config.path_latency);
        Self {
            paces: [Pace::new(config.read_interval), Pace::new(config.write_interval)],
            paths: [path(), path()],
            tag_hold: config.tag_hold,
            collected: config.collects_reads.then(Few::default),
            engines: std::iter::repeat_with(Engine::default).take(open).collect(),
            of_slot: Vec::new(),
            wrote_last: [u32::MAX; TRAFFIC_CLASSES],
            parked: 0,
            function_tags: config.functions.as_ref().and_then(FunctionTags::new),
            ide: config.ide.as_ref().map(IdeEnd::new),
            translations: config.ats.as_ref().map(Translations::new),
        }
    }

    /// Paces and paths as these settings have them, from now on.
    pub(crate) fn take_live_settings(&mut self, config: &DmaConfig) {
        for (pace, interval) in self.paces.iter_mut().zip([config.read_interval, config.write_interval]) {
            pace.interval = interval;
        }
        for path in &mut self.paths {
            path.latency = config.path_latency;
            if let (Some(server), Some(rate)) = (&mut path.rate, config.path_rate) {
                server.set_rate(rate);
            }
        }
    }

    pub(crate) fn open_queue(&mut self, engine: &EngineConfig) {
        self.engines.push(Engine {
            units: [engine.read_unit, engine.write_unit],
            most: engine.outstanding,
            ..Engine::default()
        });
    }

    /// Largest request of a queue in this direction, where its engine has one of its own.
    pub(crate) fn unit(&self, queue: u32, direction: Direction) -> Option<Bytes> {
        self.engines[queue as usize].units[direction as usize]
    }

    /// A transfer was put into a queue.
    pub(crate) fn asked(&mut self, queue: u32, at: Time) {
        self.engines[queue as usize].asked_at.push_back(at);
    }

    /// When a request of so many bytes, which could start at `at`, not before now, starts; `is_last` of its transfer.
    pub(crate) fn start(
        &mut self,
        (queue, direction): (u32, Direction),
        (at, now): (Time, Time),
        bytes: Bytes,
        is_last: bool,
    ) -> Time {
        let engine = &mut self.engines[queue as usize];
        let asked_at = engine.asked_at.front().copied().unwrap_or(at); // None of what came before the first engine.
        if is_last {
            engine.asked_at.pop_front();
        }
        let data_at = match direction {
            Direction::Write => self.paths[direction as usize].pass(asked_at, now, bytes),
            Direction::Read => at,
        };
        // Encryption runs ahead of the port, too.
        let sealed_at = self.ide.as_ref().map_or(at, |ide| asked_at + ide.latency());
        self.paces[direction as usize].start(at.max(data_at).max(sealed_at))
    }

    /// A queue, whose requests are of up to `unit`, has its turn to have one more read in flight.
    pub(crate) fn turn_to_read(&mut self, queue: u32, unit: Bytes) -> Turn {
        let engine = &mut self.engines[queue as usize];
        if let Some(tags) = &mut self.function_tags
            && !tags.has_free(engine.function)
        {
            tags.park(engine.function, queue);
            self.parked += 1;
            return Turn::PassesTo(None);
        }
        let fits = |most| engine.in_flight == Bytes::ZERO || engine.in_flight + unit <= most;
        if engine.most.is_none_or(fits) {
            return Turn::Reads;
        }
        engine.is_parked = true;
        let other = self.function_tags.as_mut().and_then(|tags| tags.unpark(engine.function));
        self.parked -= u32::from(other.is_some());
        Turn::PassesTo(other)
    }

    /// A queue has asked for so many bytes, with the tag of this slot.
    pub(crate) fn began(&mut self, queue: u32, slot: u16, bytes: Bytes) {
        let slot = usize::from(slot);
        if self.of_slot.len() <= slot {
            self.of_slot.resize(slot + 1, None);
        }
        self.of_slot[slot] = Some((queue, bytes));
        let engine = &mut self.engines[queue as usize];
        engine.in_flight += bytes;
        if let Some(tags) = &mut self.function_tags {
            tags.take(engine.function);
        }
    }

    /// A write of this queue was staged on a virtual channel.
    pub(crate) fn writes_on(&mut self, vc: u8, queue: u32) {
        self.wrote_last[usize::from(vc)] = queue;
    }

    /// Whether the write staged last on a virtual channel is of another queue than the read of this slot.
    pub(crate) fn is_of_another_than_the_write_on(&self, vc: u8, slot: u16) -> bool {
        let read = self.of_slot.get(usize::from(slot)).copied().flatten();
        read.is_some_and(|(queue, _)| queue != self.wrote_last[usize::from(vc)])
    }

    /// A queue belongs to a function, 0 for the physical one.
    pub(crate) fn queue_is_of(&mut self, queue: u32, function: u8) {
        self.engines[queue as usize].function = function;
    }

    /// The tag of this slot is free again. Returns queues that take turns again because of it: that of the read, and another
    /// of its function.
    pub(crate) fn ended(&mut self, slot: u16) -> [Option<u32>; 2] {
        let Some((queue, bytes)) = self.of_slot.get_mut(usize::from(slot)).and_then(Option::take) else {
            return [None; 2];
        };
        let engine = &mut self.engines[queue as usize];
        engine.in_flight = engine.in_flight.saturating_sub(bytes);
        let was_parked = std::mem::replace(&mut engine.is_parked, false);
        let of_function = self.function_tags.as_mut().and_then(|tags| tags.give(engine.function));
        self.parked -= u32::from(of_function.is_some());
        [was_parked.then_some(queue), of_function]
    }

    /// Whether a queue waits for a translation.
    pub(crate) fn lacks_translations(&self) -> bool {
        self.translations.as_ref().is_some_and(|translations| translations.anybody_parked())
    }

    /// Whether a queue waits for a tag of its function. One that waits because its engine has as much in flight as it may does not.
    pub(crate) fn lacks_function_tags(&self) -> bool {
        self.parked > 0
    }

    /// The rate of its data path, where it has one, and its book at `at`: of what is read, and of what is written.
    pub(crate) fn paths_at(&self, at: Time) -> [Option<(Rate, Book)>; 2] {
        self.paths.each_ref().map(|path| path.book_at(at))
    }

    /// When data that arrive `now` are in the device.
    pub(crate) fn take_in(&mut self, now: Time, bytes: Bytes) -> Time {
        self.paths[Direction::Read as usize].pass(now, now, bytes)
    }

    /// When a tag is free again whose last completion arrived `now`, given when the data can be used.
    pub(crate) fn tag_free_at(&self, now: Time, usable_at: Time) -> Time {
        self.tag_hold.map_or(usable_at, |hold| now + hold)
    }
}

impl Fabric {
    /// A completion arrived at an endpoint whose data take their time, or whose tags do.
    #[cold]
    pub(crate) fn completion_on_path(&mut self, index: u32, packet: &Packet, now: Time) {
        if packet.flags.has(Flags::TRANSLATION) {
            return self.translations_came(index, packet, now);
        }
        let request_done = self.endpoints[index as usize].count_completion(packet);
        let usable_at = self.take_in(index, packet, now);
        if request_done {
            self.end_read(index, packet.read, now, usable_at);
        }
    }

    /// Data of a read have come. Returns when their tag has no more use for them: when they can be used, or at once where the
    /// device collects them.
    pub(crate) fn take_in(&mut self, index: u32, packet: &Packet, now: Time) -> Time {
        let dma = self.endpoints[index as usize].dma.as_mut();
        let Some(collected) = dma.and_then(|dma| dma.collected.as_mut()) else {
            return self.pass_path(index, packet, now);
        };
        let transfer = collected.or_insert_with(packet.context, Collected::default);
        transfer.bytes += u64::from(packet.length);
        transfer.completions.push(*packet);
        self.move_on_if_whole(index, packet.context, now);
        now
    }

    /// Moves on what a device has collected of a transfer, if nothing of it is missing any more.
    pub(crate) fn move_on_if_whole(&mut self, index: u32, transfer: u32, now: Time) {
        let dma = self.endpoints[index as usize].dma.as_mut();
        let Some(collected) = dma.and_then(|dma| dma.collected.as_mut()) else { return };
        let Some(bytes) = collected.get(transfer).map(|collected| collected.bytes) else { return };
        let active = self.transfers.get(transfer);
        if active.arrived + bytes < active.transfer.length.get() {
            return;
        }
        let whole = collected.remove(transfer).expect("it was there a moment ago");
        for completion in whole.completions {
            self.pass_path(index, &completion, now);
        }
    }

    /// Data of a read pass the device's own path. Returns when they can be used.
    fn pass_path(&mut self, index: u32, packet: &Packet, now: Time) -> Time {
        let endpoint = &mut self.endpoints[index as usize];
        let delay = endpoint.config.completion_latency;
        let in_device_at = endpoint.dma.as_mut().map_or(now, |dma| dma.take_in(now, packet.payload()));
        if in_device_at > now {
            let mut on_path = *packet;
            on_path.ingress = index; // Whose path it is on.
            let on_path = self.packets.insert(on_path);
            self.watch_at(in_device_at, Watch::TakenIn(on_path));
        } else {
            self.data_in_device(packet, now, delay);
        }
        in_device_at + delay
    }

    /// Data of a read have passed the device's own path.
    pub(crate) fn taken_in(&mut self, packet: PacketId) {
        let packet = self.packets.remove(packet);
        let delay = self.endpoints[packet.ingress as usize].config.completion_latency;
        self.data_in_device(&packet, self.engine.now(), delay);
    }

    fn data_in_device(&mut self, packet: &Packet, now: Time, delay: Span) {
        let flow = self.transfers.get(packet.context).transfer.flow;
        self.observers.observe(now, Fact::Delivered { flow, payload: packet.payload() });
        if packet.flags.has(Flags::LAST) {
            let latency = now - packet.issued_at + delay;
            self.own_books.beside_tags = self.own_books.beside_tags.wrapping_add(latency.ticks());
            let request = packet.request_id();
            self.observers.observe(now, Fact::RequestDone { flow, latency, request });
        }
        self.transfer_progressed(packet, delay);
    }

    /// The last completion of a read has arrived, whose data can be used at `usable_at`: its tag is given back in time.
    pub(crate) fn end_read(&mut self, index: u32, slot: u16, now: Time, usable_at: Time) {
        let dma = self.endpoints[index as usize].dma.as_ref();
        let free_at = dma.map_or(now, |dma| dma.tag_free_at(now, usable_at));
        if free_at > now {
            self.watch_at(free_at, Watch::TagFree { endpoint: index, slot });
        } else {
            self.tag_free(index, slot);
        }
    }

    /// The tag of a read that is over is free again.
    pub(crate) fn tag_free(&mut self, index: u32, slot: u16) {
        self.endpoints[index as usize].abandon(slot, self.engine.now());
        self.refill(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Arbitration;

    /// Two tags for two queues of a function, of which the first may have one read in flight. When the second's read ends, the first is
    /// woken, has no use for the tag, and the second has.
    #[test]
    fn a_tag_that_a_queue_has_no_use_for_goes_to_another_of_its_function() {
        let unit = Bytes::new(512);
        let functions = FunctionsConfig {
            count: 1,
            own_tags: Some(2),
            arbitration: Arbitration::RoundRobin,
            offset_and_stride: (1, 1),
        };
        let config = DmaConfig { functions: Some(functions), ..DmaConfig::default() };
        let mut engines = DmaEngines::with_queues(&config, 0);
        engines.open_queue(&EngineConfig { outstanding: Some(unit), ..EngineConfig::default() });
        engines.open_queue(&EngineConfig::default());
        for queue in [0, 1] {
            assert_eq!(engines.turn_to_read(queue, unit), Turn::Reads);
            engines.began(queue, queue as u16, unit);
        }
        for queue in [0, 1] {
            assert_eq!(engines.turn_to_read(queue, unit), Turn::PassesTo(None), "no tag is free");
        }
        assert!(engines.lacks_function_tags());
        assert_eq!(engines.ended(1), [None, Some(0)]);
        assert_eq!(engines.turn_to_read(0, unit), Turn::PassesTo(Some(1)));
        assert_eq!(engines.turn_to_read(1, unit), Turn::Reads);
        engines.began(1, 1, unit);
        assert!(!engines.lacks_function_tags(), "the first waits for its engine");
        assert_eq!(engines.ended(0), [Some(0), None]);
    }
}
