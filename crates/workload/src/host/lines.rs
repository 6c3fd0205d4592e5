//! Cores and the lines of memory that they have in flight: line-fill buffers, and write-backs of what stores have changed.
//!
//! A load needs a buffer until its line is there. A store to memory that is cached reads its line first, for ownership; a line that was
//! changed before leaves the caches for it and is written back, and where too many write-backs are open the buffer stays taken. A
//! non-temporal store writes a whole line without reading it, and has a buffer until that is answered. Source: Intel 64 and IA-32 Architectures Optimization
//! Reference Manual, on fill buffers and non-temporal stores. Left out: caches that hit, prefetchers (a core has as many lines in flight as
//! it is given, whoever asks for them), buffers that hold half a line.

use lanewise_fabric::{Book, Level, ResourceId, ResourceReading, Slots};
use lanewise_units::Time;
use std::collections::VecDeque;

/// What a store does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Store {
    /// Reads the line for ownership; another one is written back.
    Cached,
    /// Writes the line.
    NonTemporal,
}

/// What a line is under way for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    Load,
    /// Reading for ownership.
    Ownership,
    NonTemporalStore,
    WriteBack,
}

impl Purpose {
    /// Whether memory is read for it.
    pub(crate) fn is_read(self) -> bool {
        matches!(self, Self::Load | Self::Ownership)
    }
}

/// A line under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) core: u32,
    pub(crate) purpose: Purpose,
    pub(crate) address: u64,
    pub(crate) since: Time,
}

/// The buffers of one core.
#[derive(Clone, Debug, Default)]
struct Core {
    taken: u32,
    write_backs: u32,
    /// Write-backs that wait, oldest first, each of which keeps a buffer taken.
    held: VecDeque<u64>,
}

/// Buffers of all cores, and the lines in them.
#[derive(Debug)]
pub(crate) struct LineBuffers {
    per_core: u32,
    cores: Vec<Core>,
    lines: Slots<Line>,
    taken: Level,
    served: u64,
}

impl LineBuffers {
    pub(crate) fn new(cores: u32, per_core: u32) -> Self {
        Self {
            per_core,
            cores: vec![Core::default(); cores as usize],
            lines: Slots::default(),
            taken: Level::default(),
            served: 0,
        }
    }

    /// Whether a core has a buffer free.
    pub(crate) fn has_room(&self, core: u32) -> bool {
        self.cores[core as usize].taken < self.per_core
    }

    /// Takes a buffer for a line; its slot.
    pub(crate) fn take(&mut self, core: u32, purpose: Purpose, address: u64, now: Time) -> u32 {
        self.taken.set(self.taken.number() + 1, now);
        self.served += 1;
        self.cores[core as usize].taken += 1;
        self.lines.insert(Line { core, purpose, address, since: now })
    }

    /// A line is done; its buffer is free when [`Self::free`] or [`Self::write_back`] says so.
    pub(crate) fn done(&mut self, slot: u32) -> Line {
        self.lines.take(slot)
    }

    /// Frees a buffer.
    pub(crate) fn free(&mut self, core: u32, now: Time) {
        self.taken.set(self.taken.number() - 1, now);
        self.cores[core as usize].taken -= 1;
    }

    /// A line that was changed has to be written back: its slot, if there is room; the buffer of what took its place is free then.
    pub(crate) fn write_back(&mut self, core: u32, address: u64, now: Time) -> Option<u32> {
        let room = self.cores[core as usize].write_backs < self.per_core;
        if !room {
            self.cores[core as usize].held.push_back(address);
            return None;
        }
        self.cores[core as usize].write_backs += 1;
        self.free(core, now);
        Some(self.lines.insert(Line { core, purpose: Purpose::WriteBack, address, since: now }))
    }

    /// A line has been written back: the slot of one that has waited for that.
    pub(crate) fn written_back(&mut self, core: u32, now: Time) -> Option<u32> {
        self.cores[core as usize].write_backs -= 1;
        let address = self.cores[core as usize].held.pop_front()?;
        self.write_back(core, address, now)
    }

    /// A line that is under way.
    pub(crate) fn line(&self, slot: u32) -> Line {
        *self.lines.get(slot)
    }

    /// How much they were in use up to `at`.
    pub(crate) fn reading(&self, id: ResourceId, name: String, at: Time) -> ResourceReading {
        let places = self.per_core * self.cores.len() as u32;
        let book = Book { busy: self.taken.area_at(at), served: self.served, ..Book::default() };
        let limit = format!("{} lines of each of {} cores", self.per_core, self.cores.len());
        ResourceReading { id, name, places, limit, book }
    }

    /// Memory that it takes when it grows next, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.lines.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanewise_fabric::LoadPart;
    use lanewise_units::Span;

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    /// With two buffers, two write-backs may be open; the third keeps its buffer until one of them is done.
    #[test]
    fn a_write_back_without_room_keeps_its_buffer() {
        let mut buffers = LineBuffers::new(1, 2);
        let mut written = Vec::new();
        for _ in 0..2 {
            let slot = buffers.take(0, Purpose::Ownership, 0, at(0));
            assert_eq!(buffers.done(slot).purpose, Purpose::Ownership);
            written.push(buffers.write_back(0, 64, at(0)).expect("there is room"));
        }
        let slots = [buffers.take(0, Purpose::Ownership, 0, at(0)), buffers.take(0, Purpose::Load, 0, at(0))];
        assert!(!buffers.has_room(0));
        buffers.done(slots[0]);
        assert_eq!(buffers.write_back(0, 128, at(10)), None);
        assert!(!buffers.has_room(0));
        buffers.done(written[0]);
        let third = buffers.written_back(0, at(20)).expect("it has waited");
        assert!(buffers.has_room(0) && buffers.line(third).address == 128);
        let id = ResourceId::of_load("stream", LoadPart::Lines);
        let reading = buffers.reading(id, "lines".into(), at(30));
        assert_eq!((reading.places, reading.book.busy), (2, (Span::from_ns(2 * 20 + 10)).into()));
    }

    /// With two buffers and two write-backs open, two more wait, and go in the order in which their lines were replaced.
    #[test]
    fn write_backs_that_wait_go_oldest_first() {
        let mut buffers = LineBuffers::new(1, 2);
        let replace = |buffers: &mut LineBuffers, address| {
            let slot = buffers.take(0, Purpose::Ownership, 0, at(0));
            buffers.done(slot);
            buffers.write_back(0, address, at(0))
        };
        let open = [64, 128].map(|address| replace(&mut buffers, address).expect("there is room"));
        assert_eq!([192, 256].map(|address| replace(&mut buffers, address)), [None, None]);
        let next = open.map(|slot| {
            buffers.done(slot);
            let next = buffers.written_back(0, at(10)).expect("it has waited");
            buffers.line(next).address
        });
        assert_eq!(next, [192, 256]);
    }
}
