//! One NVMe drive: its media, its buffer and the path between them.
//!
//! ```text
//!  command ─► processors ─► dies ─────────► data path ─► read buffer ─► DMA            each its own rate,
//!             command_time  read_time each  read_rate,   buffer         in units of    and its own latency
//!             sector_time   of so many      by units                    dma_unit
//!             + latency
//!                        └► hit_time, for reads that go on where another ended
//!  DMA ─► write buffer ─► write_time: answered          ─► data path: write_rate or random_write_rate
//! ```
//!
//! Each is a station: at work on several commands at once, with a rate that limits how many pass and a latency that a
//! command alone has. A read is cut into pieces. A piece comes from its die, which serves one at a time, or from the
//! read-ahead buffer. When the first unit of it is out, the units enter the data path one after another at its rate,
//! and each goes by DMA as soon as it has: the rest of the piece crosses while the first is on the link. What the dies,
//! the channels and the error correction add to that alone is part of `read_time` and `hit_time`. A write's pieces take
//! room in a buffer of their own, arrive by DMA and drain to the media; the write is answered when all of it is there.
//!
//! Leaves out: channels between dies and controller as stations of their own, reads that wait for a die that writes,
//! the translation layer, wear, power states, several namespaces, and errors. Garbage collection is the rate that it
//! leaves to scattered writes.

use super::config::SsdConfig;
use super::fetch::Fetches;
use crate::device::streams::{Place, Streams};
use crate::device::waiting::Waiting;
use crate::host::memory::PAGE;
use crate::server::reading;
use lanewise_fabric::workload::{DeviceId, DmaQueueId};
use lanewise_fabric::{NvmePart, ResourceId, ResourceReading, Station};
use lanewise_observe::RequesterState;
use lanewise_units::{Bytes, SpanSum, Time};
use std::collections::VecDeque;

/// Pieces of write data after which a drive knows whether writes are sequential. Assumed: as many as tools keep under way.
const WRITES_TO_SEE: u32 = 64;
/// Parts in which what was written before the run leaves the buffer.
const EARLIER_PARTS: u64 = 64;

/// A drive at work. Slots stand for commands.
#[derive(Debug)]
pub(crate) struct Ssd {
    pub(crate) config: SsdConfig,
    /// Data to memory, completions and interrupts, in order.
    pub(crate) posted_queue: DmaQueueId,
    /// Commands and lists of pages.
    pub(crate) command_queue: DmaQueueId,
    /// Data from memory.
    pub(crate) data_queue: DmaQueueId,
    pub(super) fetches: Fetches,
    processor: Station,
    /// Commands that are with the processors.
    processing: u32,
    dies: Vec<Station>,
    streams: Streams,
    written: Streams,
    /// Pieces out of the media: slot, bytes, and since when.
    ready: VecDeque<(u32, u64, Time)>,
    /// The unit that enters the data path next.
    crossing: Option<(u32, u64)>,
    inbound: Station,
    outbound: Station,
    /// Time that sequential writes took of it, and that scattered ones did.
    drained_for: [SpanSum; 2],
    read_room: u64,
    write_room: u64,
    /// Bytes that are here: out of the media and not sent, or arrived and not on the media.
    held: u64,
    /// Pieces of write data until the drive knows what is written, and one while its buffer is filled with the like.
    writes_to_see: u32,
    /// A write has gone on where one ended, or is known to be scattered.
    knows_writes: bool,
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
    pub(crate) fn new(config: SsdConfig, queues: [DmaQueueId; 3]) -> Self {
        let [posted_queue, command_queue, data_queue] = queues;
        Self {
            posted_queue,
            command_queue,
            data_queue,
            fetches: Fetches::default(),
            processor: Station::default(),
            processing: 0,
            dies: vec![Station::default(); config.dies.max(1) as usize],
            streams: Streams::new(config.streams, config.read_ahead),
            written: Streams::new(config.streams, Bytes::ZERO),
            ready: VecDeque::new(),
            crossing: None,
            inbound: Station::default(),
            outbound: Station::default(),
            drained_for: [SpanSum::ZERO; 2],
            read_room: config.buffer.get(),
            write_room: config.buffer.get(),
            held: 0,
            writes_to_see: if config.preconditioned { WRITES_TO_SEE } else { 0 },
            knows_writes: false,
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

    /// Bytes that are here, between media and DMA. Room that is kept for what is still on its way holds nothing.
    pub(crate) fn held(&self) -> u64 {
        self.held
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
        } else if self.processing > 0 || self.crossing.is_some() || self.accepting > 0 {
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
    pub(crate) fn attach(&mut self, device: DeviceId, host: usize, queues: [DmaQueueId; 3]) {
        (self.config.device, self.config.host) = (device, host);
        [self.posted_queue, self.command_queue, self.data_queue] = queues;
        self.leaving = None;
    }

    /// The controller's processors turn to a command of so many bytes: when they have understood it.
    pub(crate) fn process(&mut self, now: Time, size: Bytes) -> Time {
        self.processing += 1;
        let further = size.min(PAGE).get().div_ceil(SECTOR.get()).saturating_sub(1);
        let busy = self.config.command_time + self.config.sector_time * further;
        self.processor.enter(now, busy) + self.config.command_latency
    }

    /// The processors have understood a command.
    pub(crate) fn processed(&mut self) {
        self.processing -= 1;
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

    /// A piece is out of the media, or the first unit of it.
    pub(crate) fn media_ready(&mut self, slot: u32, bytes: u64, now: Time) {
        self.in_media -= 1;
        self.held += bytes;
        self.ready.push_back((slot, bytes, now));
    }

    /// Takes the next unit for the data path, if none waits to enter it and there is room; returns when it enters.
    pub(crate) fn start_crossing(&mut self, now: Time) -> Option<Time> {
        if self.crossing.is_some() {
            return None;
        }
        let (slot, left, since) = self.ready.front_mut()?;
        let bytes = self.config.dma_unit.get().min(*left);
        if bytes > self.read_room {
            return None;
        }
        self.read_room -= bytes;
        self.crossing = Some((*slot, bytes));
        let span = self.config.read_rate.span_ceil(Bytes::new(bytes));
        let enters = self.inbound.occupy_since(*since, now, span) - span;
        *left -= bytes;
        // The next unit of a piece is there when this one has gone in.
        *since = enters + span;
        if *left == 0 {
            self.ready.pop_front();
        }
        Some(enters)
    }

    /// The unit that enters the data path now.
    pub(crate) fn take_crossed(&mut self) -> (u32, u64) {
        self.crossing.take().expect("a piece was crossing")
    }

    /// Read data has left.
    pub(crate) fn data_sent(&mut self, bytes: u64) {
        self.read_room += bytes;
        self.held -= bytes;
        assert!(self.read_room <= self.config.buffer.get(), "{}: sent more than was read", self.config.name);
    }

    /// Write data is on the media.
    pub(crate) fn drained(&mut self, bytes: u64) {
        self.write_room += bytes;
        self.held -= bytes;
        assert!(self.write_room <= self.config.buffer.get(), "{}: drained too much", self.config.name);
    }

    /// Data of writes before the run, which are taken to have been like those that have come so far: the next part of what fills
    /// the buffer. Asked for with each piece that arrives; none until the drive has seen what is written, and none after.
    pub(crate) fn earlier_writes(&mut self) -> Option<u64> {
        match self.writes_to_see {
            0 => return None,
            1 if self.knows_writes => {}
            1 => return None,
            _ => {
                self.writes_to_see -= 1;
                return None;
            }
        }
        let part = (self.config.buffer.get() / EARLIER_PARTS).max(self.config.piece.get());
        if part > self.write_room {
            self.writes_to_see = 0;
            return None;
        }
        self.write_room -= part;
        Some(part)
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

    /// Whether a write goes on where one of the last ended, or may be the first of those that will.
    pub(crate) fn is_sequential_write(&mut self, offset: u64, size: u64) -> bool {
        let goes_on = self.written.place(offset, size, true) != Place::Elsewhere;
        let is_sequential = goes_on || self.written.may_begin(self.config.new_streams as usize);
        self.knows_writes |= goes_on || !is_sequential;
        is_sequential
    }

    /// When a piece of write data that has come into the buffer will be on the media.
    pub(crate) fn drain(&mut self, now: Time, bytes: u64, sequential: bool) -> Time {
        self.held += bytes;
        let rate = if sequential { self.config.write_rate } else { self.config.random_write_rate };
        let span = rate.span_ceil(Bytes::new(bytes));
        self.drained_for[usize::from(!sequential)] += span;
        self.outbound.occupy(now, span)
    }

    /// The rates of the path to the media in words: those that it spent a fair share of its time at.
    fn write_rates(&self) -> String {
        let SsdConfig { write_rate, random_write_rate, .. } = &self.config;
        let scattered = format!("{random_write_rate} for scattered writes");
        let [one_after_another, apart] = self.drained_for.map(|span| span.as_seconds());
        let least = MINOR * (one_after_another + apart);
        if write_rate == random_write_rate || apart < least {
            write_rate.to_string()
        } else if one_after_another < least {
            scattered
        } else {
            format!("{write_rate}, {scattered}")
        }
    }

    /// The fetching of commands, with what it has done up to `at`: each command of a batch has a place.
    fn fetching(&self, at: Time) -> ResourceReading {
        let batch = self.config.fetch_batch.max(1);
        ResourceReading {
            id: ResourceId::of(self.config.device, NvmePart::Fetch),
            name: format!("{}.fetch", self.config.name),
            places: batch,
            limit: format!("{batch} of a queue's commands at a time"),
            book: self.fetches.book_at(at),
        }
    }

    /// Its media, its controller's processors and data paths, with what they have done up to `at`.
    pub(crate) fn resources(&self, at: Time) -> impl Iterator<Item = ResourceReading> {
        let SsdConfig { name, device, dies, command_time, sector_time, read_rate, .. } = &self.config;
        let of = |name_of_part: &str, part, limit, servers: &[Station]| {
            let id = ResourceId::of(*device, part);
            reading(id, format!("{name}.{name_of_part}"), limit, servers, at)
        };
        let one = std::slice::from_ref;
        let further = match sector_time.is_zero() {
            true => String::new(),
            false => format!(" and {sector_time} for each further sector of a page"),
        };
        [
            of("media", NvmePart::Media, format!("{dies} dies"), &self.dies),
            of(
                "controller",
                NvmePart::Controller,
                format!("{command_time} a command{further}"),
                one(&self.processor),
            ),
            of("read_path", NvmePart::ReadPath, read_rate.to_string(), one(&self.inbound)),
            of("write_path", NvmePart::WritePath, self.write_rates(), one(&self.outbound)),
            self.fetching(at),
        ]
        .into_iter()
    }
}

/// A rate at which less of a path's time was spent does not describe it.
const MINOR: f64 = 0.05;
/// The smallest block that drives have.
const SECTOR: Bytes = Bytes::new(512);
/// Bytes of a submission queue entry (NVMe Base 2.0 §3.3.3).
pub(crate) const COMMAND: Bytes = Bytes::new(64);
/// Bytes of a completion queue entry (NVMe Base 2.0 §3.3.3.2).
pub(crate) const COMPLETION: Bytes = Bytes::new(16);
/// Bytes of a doorbell register (NVMe over PCIe Transport 1.0 §3.1.2).
pub(crate) const DOORBELL: Bytes = Bytes::new(4);

/// Bytes of an entry of a PRP list.
const ENTRY: Bytes = Bytes::new(8);

/// Entries of the PRP list of a command, which the drive has to read; none when the two in the command are enough
/// (NVMe Base 2.0 §4.1.1: one for each page, the first page's in the command itself).
pub(crate) fn page_list(size: Bytes) -> u64 {
    match size.div_ceil(PAGE) {
        0..=2 => 0,
        pages => pages - 1,
    }
}

/// How many of so many entries are in the first page of a list, and its bytes: the last entry of a page that does not hold them
/// all says where the list goes on.
pub(crate) fn first_page(entries: u64) -> (u64, Bytes) {
    let room = PAGE.get() / ENTRY.get();
    match entries <= room {
        true => (entries, ENTRY * entries),
        false => (room - 1, PAGE),
    }
}

#[cfg(test)]
pub(crate) mod tests;
