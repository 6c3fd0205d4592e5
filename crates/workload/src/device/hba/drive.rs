//! A drive, or one port of a RAM-disk array: serves one command at a time from its queue.
//!
//! The media moves one frame's worth at a time between itself and the buffer, at the rate of its direction, after
//! what the command costs first: overhead, a turnaround when the direction changes, positioning when the command
//! does not go on where another ended. The buffer lets the wire run behind (reads) or ahead (writes) of the media.
//!
//! A drive is a state machine: it is told of commands, data and its own timer, offers frames for the wire, and
//! returns the time at which it wants to be called again.
//!
//! Leaves out: zones, geometry, reordering of the queue, errors. Commands that go on where *any* of the last
//! [`DriveConfig::streams`] ended cost no positioning: segmented caches and read-ahead hide those seeks.

use super::write_buffer::WriteBuffer;
use crate::device::streams::{Place, Streams};
use lanewise_engine::random::RandomStream;
use lanewise_fabric::{Book, ResourceId, ResourceReading};
use lanewise_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// Settings of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveConfig {
    /// Bytes that can be addressed.
    pub capacity: Bytes,
    /// Rate from the media into the buffer.
    pub read_rate: Rate,
    /// Rate from the buffer to the media.
    pub write_rate: Rate,
    /// Fixed cost of a read before its data moves.
    pub read_overhead: Span,
    /// Fixed cost of a write before its data moves.
    pub write_overhead: Span,
    /// Largest random addition to the overhead, evenly distributed from zero; zero for none.
    pub overhead_variation: Span,
    /// Additional cost when a read follows a write or a write a read.
    pub turnaround: Span,
    /// Additional cost when a command does not go on where one of the last ended.
    pub positioning: Span,
    /// Largest random addition to the positioning, evenly distributed from zero; zero for none. One revolution, for
    /// a disk.
    pub positioning_variation: Span,
    /// Room for data that was read and not sent, and as much again for data received and not written. With a write
    /// cache the steady state begins when it is full, which for 16 MiB takes longer than most runs last.
    pub buffer: Bytes,
    /// Data that the idle drive reads ahead of a stream of reads; zero for none.
    pub read_ahead: Bytes,
    /// Most data that the drive asks for with one XFER_RDY; not above `buffer`.
    pub write_burst: Bytes,
    /// Whether a write is answered when its data is in the buffer, instead of on the media.
    pub write_cache: bool,
    /// Sequential streams that the drive keeps apart; at least one.
    pub streams: u32,
    /// Data behind the end of a stream that reads find in the cache; zero for none.
    pub cache_window: Bytes,
}

impl DriveConfig {
    /// These settings, with what may change while the drive is at work as in `other`: its rates and what commands cost. A frame that
    /// is on its way between media and buffer stays as it was.
    #[must_use]
    pub(crate) fn with_live_settings_of(&self, other: &Self) -> Self {
        let Self { read_rate, write_rate, read_overhead, write_overhead, turnaround, positioning, .. } =
            *other;
        let mixed = Self { read_rate, write_rate, read_overhead, write_overhead, ..self.clone() };
        Self { turnaround, positioning, ..mixed }
    }
}

/// A command as it arrives at the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Command {
    /// Whose it is; given back in every frame.
    pub slot: u32,
    /// Write or read.
    pub write: bool,
    /// First byte on the drive.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// A frame from the drive to the adapter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DriveFrame {
    /// Asks for so many bytes of write data.
    TransferReady { slot: u32, bytes: u64 },
    /// Read data.
    Data { slot: u32, bytes: u64 },
    /// The command is over.
    Response { slot: u32 },
}

/// What the media is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Media {
    /// No command.
    Idle,
    /// Overhead, turnaround, positioning.
    Preparing,
    /// So many bytes are between media and buffer.
    Moving(u64),
    /// A read with a full buffer.
    NeedsRoom,
    /// A write with an empty buffer.
    NeedsData,
}

/// The drive.
#[derive(Clone, Debug)]
pub(crate) struct Drive {
    config: DriveConfig,
    /// What the media moves at a time: a full frame of the wire.
    quantum: u64,
    random: RandomStream,
    streams: Streams,
    /// Commands that wait for the media, and since when.
    queue: VecDeque<(Command, Time)>,
    media: Media,
    /// What the media was busy with, up to the end of what it does now; and that end.
    book: Book,
    busy_until: Time,
    /// Command on the media, the bytes of it that have moved, and how many of them cost no media time.
    active: Option<Command>,
    moved: u64,
    cached: u64,
    last_was_write: Option<bool>,
    idle_since: Time,
    write_buffer: WriteBuffer,
    outbox: VecDeque<DriveFrame>,
    read_room_used: u64,
}

impl Drive {
    /// An idle drive behind a wire whose frames hold `quantum`.
    ///
    /// # Panics
    /// When a burst does not fit in the buffer, or a frame is more than a burst.
    pub(crate) fn new(config: DriveConfig, quantum: Bytes, random: RandomStream) -> Self {
        assert!(quantum <= config.write_burst, "a write burst is at least a frame");
        Self {
            quantum: quantum.get(),
            random,
            streams: Streams::new(config.streams, config.cache_window),
            queue: VecDeque::new(),
            media: Media::Idle,
            book: Book::default(),
            busy_until: Time::ZERO,
            active: None,
            moved: 0,
            cached: 0,
            last_was_write: None,
            idle_since: Time::ZERO,
            write_buffer: WriteBuffer::new(config.buffer, config.write_burst),
            outbox: VecDeque::new(),
            read_room_used: 0,
            config,
        }
    }

    /// Takes other settings, which differ in what may change.
    pub(crate) fn retune(&mut self, config: &DriveConfig) {
        self.config = self.config.with_live_settings_of(config);
    }

    /// Bytes in its buffer.
    pub(crate) fn held(&self) -> u64 {
        self.write_buffer.held() + self.read_room_used
    }

    /// Takes a command off the wire.
    pub(crate) fn accept(&mut self, now: Time, command: Command) -> Option<Time> {
        assert!(command.size > 0, "a command moves something");
        self.queue.push_back((command, now));
        if command.write {
            self.write_buffer.accept(command.slot, command.size);
        }
        self.start_next(now)
    }

    /// Takes write data off the wire.
    pub(crate) fn receive(&mut self, now: Time, slot: u32, bytes: u64) -> Option<Time> {
        if self.write_buffer.receive(slot, bytes) && self.config.write_cache {
            self.outbox.push_back(DriveFrame::Response { slot });
        }
        if self.media == Media::NeedsData { self.move_next(now) } else { None }
    }

    /// Its media, under this name, with what it has done up to `at`: what it prepares and moves.
    pub(crate) fn media(&self, id: ResourceId, name: String, at: Time) -> ResourceReading {
        let DriveConfig { read_rate, write_rate, .. } = &self.config;
        let ahead = self.busy_until.saturating_since(at);
        let book = Book { busy: self.book.busy.saturating_sub(ahead), ..self.book };
        let limit = match read_rate == write_rate {
            true => read_rate.to_string(),
            false => format!("reads {read_rate}, writes {write_rate}"),
        };
        ResourceReading { id, name, places: 1, limit, book }
    }

    /// The media is busy for some time from now on; returns the end.
    fn works(&mut self, now: Time, span: Span) -> Time {
        self.book.busy += span;
        self.busy_until = now + span;
        self.busy_until
    }

    /// Whether the media is at work on a command.
    pub(crate) fn media_is_busy(&self) -> bool {
        matches!(self.media, Media::Preparing | Media::Moving(_))
    }

    /// Whether a frame waits for the wire.
    #[inline]
    pub(crate) fn has_frame(&self) -> bool {
        !self.outbox.is_empty() || self.write_buffer.peek_request().is_some()
    }

    /// The frame that would go on the wire next.
    pub(crate) fn peek_frame(&self) -> Option<DriveFrame> {
        if let Some((slot, bytes)) = self.write_buffer.peek_request() {
            return Some(DriveFrame::TransferReady { slot, bytes });
        }
        match self.outbox.front() {
            Some(&DriveFrame::Data { slot, bytes }) => {
                Some(DriveFrame::Data { slot, bytes: bytes.min(self.quantum) })
            }
            other => other.copied(),
        }
    }

    /// The frame of [`Self::peek_frame`] starts on the wire.
    pub(crate) fn take_frame(&mut self, now: Time) -> Option<Time> {
        if self.write_buffer.take_request().is_some() {
            return None;
        }
        match self.outbox.front_mut() {
            Some(DriveFrame::Data { bytes, .. }) => {
                let sent = (*bytes).min(self.quantum);
                *bytes -= sent;
                if *bytes == 0 {
                    self.outbox.pop_front();
                }
                self.read_room_used -= sent;
                if self.media == Media::NeedsRoom { self.move_next(now) } else { None }
            }
            _ => {
                self.outbox.pop_front();
                None
            }
        }
    }

    /// The time that the drive asked for has come.
    pub(crate) fn media_due(&mut self, now: Time) -> Option<Time> {
        if let Media::Moving(bytes) = self.media {
            self.moved_one(bytes);
        }
        self.move_next(now)
    }

    /// Starts the next command when the media has none.
    fn start_next(&mut self, now: Time) -> Option<Time> {
        if self.media != Media::Idle {
            return None;
        }
        let (command, since) = self.queue.pop_front()?;
        self.book.waited += now - since;
        self.book.served += 1;
        let place = self.streams.place(command.offset, command.size, command.write);
        let preparation = self.preparation(command, place);
        self.cached = match place {
            Place::Cached => command.size,
            Place::Sequential if !command.write => self.read_ahead_by(now),
            Place::Sequential | Place::Elsewhere => 0,
        };
        self.active = Some(command);
        self.moved = 0;
        self.last_was_write = Some(command.write);
        self.media = Media::Preparing;
        if preparation.is_zero() { self.move_next(now) } else { Some(self.works(now, preparation)) }
    }

    /// What a command costs before its first byte.
    fn preparation(&mut self, command: Command, place: Place) -> Span {
        let config = &self.config;
        let overhead = if command.write { config.write_overhead } else { config.read_overhead };
        let turns = self.last_was_write.is_some_and(|last| last != command.write) && place != Place::Cached;
        let turnaround = if turns { config.turnaround } else { Span::ZERO };
        let variation = draw(&mut self.random, config.overhead_variation);
        let positioning = match place {
            Place::Elsewhere => config.positioning + draw(&mut self.random, config.positioning_variation),
            Place::Sequential | Place::Cached => Span::ZERO,
        };
        overhead + variation + turnaround + positioning
    }

    /// What an idle drive has read ahead of a stream of reads by now.
    fn read_ahead_by(&self, now: Time) -> u64 {
        if self.last_was_write != Some(false) {
            return 0;
        }
        let quantum_span = self.config.read_rate.span_ceil(Bytes::new(self.quantum));
        let quanta = now.saturating_since(self.idle_since).div_floor(quantum_span);
        (quanta * self.quantum).min(self.config.read_ahead.get())
    }

    /// Moves what can move at once, and returns when the next piece has moved.
    fn move_next(&mut self, now: Time) -> Option<Time> {
        loop {
            let command = self.active?;
            let bytes = self.quantum.min(command.size - self.moved);
            if bytes == 0 {
                return self.finish(now, command);
            }
            if command.write {
                if self.write_buffer.received_of_first() < self.moved + bytes {
                    self.media = Media::NeedsData;
                    return None;
                }
                return self.start_moving(now, self.config.write_rate, bytes);
            }
            if self.read_room_used + bytes > self.config.buffer.get() {
                self.media = Media::NeedsRoom;
                return None;
            }
            if self.cached < bytes {
                return self.start_moving(now, self.config.read_rate, bytes);
            }
            self.cached -= bytes;
            self.moved_one(bytes);
        }
    }

    fn start_moving(&mut self, now: Time, rate: Rate, bytes: u64) -> Option<Time> {
        self.media = Media::Moving(bytes);
        Some(self.works(now, rate.span_ceil(Bytes::new(bytes))))
    }

    /// A piece has moved between media and buffer.
    fn moved_one(&mut self, bytes: u64) {
        self.moved += bytes;
        let Some(command) = self.active else { return };
        if command.write {
            self.write_buffer.release(bytes);
            return;
        }
        self.read_room_used += bytes;
        match self.outbox.back_mut() {
            Some(DriveFrame::Data { slot, bytes: waiting }) if *slot == command.slot => *waiting += bytes,
            _ => self.outbox.push_back(DriveFrame::Data { slot: command.slot, bytes }),
        }
    }

    fn finish(&mut self, now: Time, command: Command) -> Option<Time> {
        if command.write {
            self.write_buffer.finish_first();
        }
        if !(command.write && self.config.write_cache) {
            self.outbox.push_back(DriveFrame::Response { slot: command.slot });
        }
        self.active = None;
        self.media = Media::Idle;
        self.idle_since = now;
        self.start_next(now)
    }
}

/// Evenly distributed from zero to `largest`.
fn draw(random: &mut RandomStream, largest: Span) -> Span {
    if largest.is_zero() {
        return Span::ZERO;
    }
    Span::from_ticks(random.below(largest.ticks() + 1))
}

#[cfg(test)]
mod tests;
