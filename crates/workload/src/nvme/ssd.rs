//! One NVMe drive: its media, its buffer and the path between them.
//!
//! A read is cut into pieces. A piece comes from its die, which serves one at a time, or from the read-ahead buffer
//! when the read goes on where another one ended; then it crosses the controller at the read rate, piece by piece,
//! and waits in the data buffer until DMA has taken it. A write's pieces take room in a buffer of their own, arrive by
//! DMA and drain to the media at the write rate; the write is answered when all of it is in the buffer.
//!
//! Leaves out: the translation layer, garbage collection, wear, power states, several namespaces, and errors.

use crate::memory::PAGE;
use crate::server::{RateServer, Server, reading};
use crate::streams::{Place, Streams};
use crate::waiting::Waiting;
use lanewise_fabric::workload::{ChannelId, DeviceId};
use lanewise_fabric::{ResourceKind, ResourceReading};
use lanewise_observe::RequesterState;
use lanewise_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// Settings of a drive.
#[derive(Clone, Debug)]
pub struct SsdConfig {
    /// Name of the endpoint.
    pub name: String,
    /// The endpoint.
    pub device: DeviceId,
    /// Index of the host that it is assigned to.
    pub host: usize,
    /// Bytes of the namespace.
    pub capacity: Bytes,
    /// Commands that one read of the submission queue fetches at most.
    pub fetch_batch: u32,
    /// Time of the controller's processors for each command, one after another.
    pub command_time: Span,
    /// Rate of the controller from the media to the buffer.
    pub read_rate: Rate,
    /// Rate of the controller from the buffer to the media.
    pub write_rate: Rate,
    /// Pieces that the media can read at a time.
    pub dies: u32,
    /// Bytes of a piece.
    pub piece: Bytes,
    /// Time in which a die reads a piece.
    pub read_time: Span,
    /// Time for a read that finds its data read ahead.
    pub hit_time: Span,
    /// Time from the arrival of a write's last byte to its completion.
    pub write_time: Span,
    /// Room for read data between the controller and DMA, and as much again for write data.
    pub buffer: Bytes,
    /// Data behind the end of a sequential stream that reads find in the buffer; zero for no read-ahead.
    pub read_ahead: Bytes,
    /// Such streams that it keeps apart; at least one.
    pub streams: u32,
    /// Completions after which an interrupt is due.
    pub interrupt_completions: u32,
    /// Longest time that a completion waits for others before an interrupt is due.
    pub interrupt_delay: Span,
}

/// A command that is about to be fetched, and its queue.
pub(crate) type Pending = (u32, u32);

/// A drive at work. Slots stand for commands.
#[derive(Debug)]
pub(crate) struct Ssd {
    pub(crate) config: SsdConfig,
    /// Data to memory, completions and interrupts, in order.
    pub(crate) posted_channel: ChannelId,
    /// Commands and lists of pages.
    pub(crate) command_channel: ChannelId,
    /// Data from memory.
    pub(crate) data_channel: ChannelId,
    /// Commands whose doorbell has arrived, in order.
    announced: VecDeque<Pending>,
    /// Commands that are being fetched, in order.
    fetching: VecDeque<u32>,
    processor: Server,
    dies: Vec<Server>,
    streams: Streams,
    /// Pieces out of the media: slot and bytes.
    ready: VecDeque<(u32, u64)>,
    /// The piece that is crossing the controller.
    crossing: Option<(u32, u64)>,
    inbound: RateServer,
    outbound: RateServer,
    read_room: u64,
    write_room: u64,
    /// Write commands and the bytes of each for which no room was found yet.
    wanting: VecDeque<(u32, u64)>,
    /// Pieces that the media is asked for.
    in_media: u32,
    /// Writes whose data is here and that are not answered.
    accepting: u32,
    /// I/Os that were asked of it and are not over.
    pub(crate) in_flight: u32,
    /// Of these, those that software of its host has in hand: on their way down, or on their way up.
    pub(crate) in_software: u32,
    /// What it last said it waits for.
    pub(crate) waiting: Waiting,
    /// The move that it is in, if it is in one: it takes no commands then.
    pub(crate) leaving: Option<u32>,
}

impl Ssd {
    pub(crate) fn new(config: SsdConfig, channels: [ChannelId; 3]) -> Self {
        let [posted_channel, command_channel, data_channel] = channels;
        Self {
            posted_channel,
            command_channel,
            data_channel,
            announced: VecDeque::new(),
            fetching: VecDeque::new(),
            processor: Server::default(),
            dies: vec![Server::default(); config.dies.max(1) as usize],
            streams: Streams::new(config.streams, config.read_ahead),
            ready: VecDeque::new(),
            crossing: None,
            inbound: RateServer::new(Some(config.read_rate)),
            outbound: RateServer::new(Some(config.write_rate)),
            read_room: config.buffer.get(),
            write_room: config.buffer.get(),
            wanting: VecDeque::new(),
            in_media: 0,
            accepting: 0,
            in_flight: 0,
            in_software: 0,
            waiting: Waiting::default(),
            leaving: None,
            config,
        }
    }

    /// Its media, its controller's processors and the data paths of the controller, with what they have done up to `at`.
    pub(crate) fn resources(&self, at: Time) -> impl Iterator<Item = ResourceReading> {
        let SsdConfig { name, dies, command_time, .. } = &self.config;
        let media =
            reading(format!("{name}.media"), ResourceKind::Media, format!("{dies} dies"), &self.dies, at);
        let processor = reading(
            format!("{name}.controller"),
            ResourceKind::Pipeline,
            format!("{command_time} a command"),
            std::slice::from_ref(&self.processor),
            at,
        );
        let paths = [("read_path", &self.inbound), ("write_path", &self.outbound)];
        let paths =
            paths.into_iter().filter_map(move |(part, path)| path.reading(format!("{name}.{part}"), at));
        [media, processor].into_iter().chain(paths)
    }

    /// Whether it has nothing to do and no data in its buffers.
    pub(crate) fn is_at_rest(&self) -> bool {
        let buffer = self.config.buffer.get();
        self.in_flight == 0 && self.read_room == buffer && self.write_room == buffer
    }

    /// What a drive with nothing to ask for waits for: its media if that holds up writes, else its controller if that is
    /// at work, else its media, else the host's software if that has anything of it.
    pub(crate) fn waits_for(&self, now: Time) -> RequesterState {
        let drains = self.outbound.is_busy(now);
        if drains && !self.wanting.is_empty() {
            RequesterState::Media
        } else if self.processor.is_busy(now) || self.crossing.is_some() || self.accepting > 0 {
            RequesterState::Device
        } else if drains || self.in_media > 0 {
            RequesterState::Media
        } else if self.in_software > 0 {
            RequesterState::Cpu
        } else {
            RequesterState::NothingAsked
        }
    }

    /// It belongs to another host now.
    pub(crate) fn attach(&mut self, device: DeviceId, host: usize, channels: [ChannelId; 3]) {
        (self.config.device, self.config.host) = (device, host);
        [self.posted_channel, self.command_channel, self.data_channel] = channels;
        self.leaving = None;
    }

    /// A doorbell told of a command.
    pub(crate) fn announce(&mut self, queue: u32, slot: u32) {
        self.announced.push_back((queue, slot));
    }

    /// The commands of the next fetch: neighbours in one queue, as many as fit a batch. Their queue, the first, and
    /// how many. None while a fetch is under way: Assumed, one fetch engine for all queues.
    pub(crate) fn next_fetch(&mut self) -> Option<(u32, u32, u32)> {
        if !self.fetching.is_empty() {
            return None;
        }
        let (queue, first) = *self.announced.front()?;
        let batch = self.config.fetch_batch.max(1) as usize;
        let count = self.announced.iter().take(batch).take_while(|(of, _)| *of == queue).count();
        self.fetching.extend(self.announced.drain(..count).map(|(_, slot)| slot));
        Some((queue, first, count as u32))
    }

    /// The next of the commands that were fetched, and when the controller's processors have understood it.
    pub(crate) fn take_fetched(&mut self, now: Time) -> Option<(u32, Time)> {
        let slot = self.fetching.pop_front()?;
        Some((slot, self.processor.occupy(now, self.config.command_time)))
    }

    /// Starts the media on a read; calls `piece` with the bytes of each piece and when they are out of the media.
    pub(crate) fn read_media(&mut self, offset: u64, size: u64, now: Time, mut piece: impl FnMut(u64, Time)) {
        let sequential = self.config.read_ahead > Bytes::ZERO
            && self.streams.place(offset, size, false) != Place::Elsewhere;
        let unit = self.config.piece.get();
        let mut done = 0;
        while done < size {
            let bytes = unit.min(size - done);
            let at = if sequential {
                now + self.config.hit_time
            } else {
                // Neighbouring pieces lie on neighbouring dies, as controllers stripe.
                let die = ((offset + done) / unit) as usize % self.dies.len();
                self.dies[die].occupy(now, self.config.read_time)
            };
            piece(bytes, at);
            self.in_media += 1;
            done += bytes;
        }
    }

    /// A piece is out of the media.
    pub(crate) fn media_ready(&mut self, slot: u32, bytes: u64) {
        self.in_media -= 1;
        self.ready.push_back((slot, bytes));
    }

    /// Starts the next piece across the controller, if it is free and there is room; returns when it has crossed.
    pub(crate) fn start_crossing(&mut self, now: Time) -> Option<Time> {
        if self.crossing.is_some() {
            return None;
        }
        let (_, bytes) = *self.ready.front()?;
        if bytes > self.read_room {
            return None;
        }
        self.read_room -= bytes;
        self.crossing = self.ready.pop_front();
        Some(self.inbound.reserve(now, Bytes::new(bytes)))
    }

    /// The piece that has crossed.
    pub(crate) fn take_crossed(&mut self) -> (u32, u64) {
        self.crossing.take().expect("a piece was crossing")
    }

    /// Read data has left.
    pub(crate) fn data_sent(&mut self, bytes: u64) {
        self.read_room += bytes;
        assert!(self.read_room <= self.config.buffer.get(), "{}: sent more than was read", self.config.name);
    }

    /// Write data is on the media.
    pub(crate) fn drained(&mut self, bytes: u64) {
        self.write_room += bytes;
        assert!(self.write_room <= self.config.buffer.get(), "{}: drained too much", self.config.name);
    }

    /// A write wants its data.
    pub(crate) fn want_data(&mut self, slot: u32, bytes: u64) {
        self.wanting.push_back((slot, bytes));
    }

    /// The next piece of write data for which there is room.
    pub(crate) fn next_piece(&mut self) -> Option<(u32, u64)> {
        let (slot, wanted) = self.wanting.front_mut()?;
        let bytes = self.config.piece.get().min(*wanted);
        if bytes > self.write_room {
            return None;
        }
        let slot = *slot;
        *wanted -= bytes;
        if *wanted == 0 {
            self.wanting.pop_front();
        }
        self.write_room -= bytes;
        Some((slot, bytes))
    }

    /// All data of a write is here; when it is answered.
    pub(crate) fn accept(&mut self, now: Time) -> Time {
        self.accepting += 1;
        now + self.config.write_time
    }

    /// A write is answered.
    pub(crate) fn accepted(&mut self) {
        self.accepting -= 1;
    }

    /// When a piece of write data that is in the buffer will be on the media.
    pub(crate) fn drain(&mut self, now: Time, bytes: u64) -> Time {
        self.outbound.reserve(now, Bytes::new(bytes))
    }
}

/// Bytes of a submission queue entry (NVMe Base 2.0 §3.3.3).
pub(crate) const COMMAND: Bytes = Bytes::new(64);
/// Bytes of a completion queue entry (NVMe Base 2.0 §3.3.3.2).
pub(crate) const COMPLETION: Bytes = Bytes::new(16);
/// Bytes of a doorbell register (NVMe over PCIe Transport 1.0 §3.1.2).
pub(crate) const DOORBELL: Bytes = Bytes::new(4);

/// Bytes of the PRP list of a command, which the drive has to read; none when two entries in the command are enough
/// (NVMe Base 2.0 §4.1.1: 8 B for each page, the first page's in the command itself).
pub(crate) fn page_list(size: Bytes) -> Option<Bytes> {
    match size.div_ceil(PAGE) {
        0..=2 => None,
        pages => Some(Bytes::new(8 * (pages - 1))),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn config() -> SsdConfig {
        SsdConfig {
            name: "ssd".into(),
            device: DeviceId(0),
            host: 0,
            capacity: Bytes::new(1 << 40),
            fetch_batch: 4,
            command_time: Span::from_ns(500),
            read_rate: Rate::from_bytes_per_second(5_000_000_000),
            write_rate: Rate::from_bytes_per_second(4_000_000_000),
            dies: 4,
            piece: Bytes::from_kib(16),
            read_time: Span::from_us(60),
            hit_time: Span::from_us(5),
            write_time: Span::from_us(3),
            buffer: Bytes::from_kib(64),
            read_ahead: Bytes::from_kib(1024),
            streams: 256,
            interrupt_completions: 1,
            interrupt_delay: Span::ZERO,
        }
    }

    fn ssd() -> Ssd {
        let channel = |index| ChannelId { device: DeviceId(0), index };
        Ssd::new(config(), [channel(0), channel(1), channel(2)])
    }

    #[test]
    fn a_page_list_is_read_from_the_third_page_on() {
        assert_eq!(page_list(Bytes::from_kib(4)), None);
        assert_eq!(page_list(Bytes::from_kib(8)), None);
        assert_eq!(page_list(Bytes::from_kib(12)), Some(Bytes::new(16)));
        assert_eq!(page_list(Bytes::from_kib(128)), Some(Bytes::new(248)), "the 31 pages after the first");
    }

    #[test]
    fn a_batch_is_of_one_queue_and_one_fetch_runs_at_a_time() {
        let mut ssd = ssd();
        for (queue, slot) in [(0, 1), (0, 2), (1, 3), (1, 4), (1, 5), (1, 6), (1, 7)] {
            ssd.announce(queue, slot);
        }
        assert_eq!(ssd.next_fetch(), Some((0, 1, 2)), "two of the first queue");
        assert_eq!(ssd.next_fetch(), None, "one at a time");
        let first = ssd.take_fetched(Time::ZERO).unwrap();
        let second = ssd.take_fetched(Time::ZERO).unwrap();
        assert_eq!((first.0, second.0), (1, 2));
        assert_eq!(second.1 - first.1, Span::from_ns(500), "one processor");
        assert_eq!(ssd.next_fetch(), Some((1, 3, 4)), "a full batch of the second queue");
    }

    #[test]
    fn scattered_reads_wait_for_their_die_and_sequential_ones_hit() {
        let mut ssd = ssd();
        let mut times = Vec::new();
        let unit = 16 * 1024;
        ssd.read_media(1 << 30, unit, Time::ZERO, |_, at| times.push(at));
        ssd.read_media((1 << 30) + 8 * unit, unit, Time::ZERO, |_, at| times.push(at));
        ssd.read_media((1 << 32) + unit, unit, Time::ZERO, |_, at| times.push(at));
        ssd.read_media((1 << 30) + unit, unit, Time::ZERO, |_, at| times.push(at));
        let us = |us| Time::ZERO + Span::from_us(us);
        assert_eq!(times, [us(60), us(120), us(60), us(5)], "same die, same die, another die, read ahead");
    }

    #[test]
    fn pieces_wait_for_room_in_the_buffer() {
        let mut ssd = ssd();
        ssd.read_media(0, 6 * 16 * 1024, Time::ZERO, |_, _| {});
        for slot in 0..6 {
            ssd.media_ready(slot, 16 * 1024);
        }
        for _ in 0..4 {
            assert!(ssd.start_crossing(Time::ZERO).is_some());
            ssd.take_crossed();
        }
        assert_eq!(ssd.start_crossing(Time::ZERO), None, "64 KiB are full");
        ssd.data_sent(16 * 1024);
        assert!(ssd.start_crossing(Time::ZERO).is_some());
    }
}
