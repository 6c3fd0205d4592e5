//! Which message goes into which slot of the next flit.
//!
//! What the specification demands (CXL 3.1 §4.2.5 for 68 B flits, §4.3.4 for 256 B): data follow their header in the next slots
//! that may hold data, in order; of a 68 B flit the first slot holds none, and where four or more chunks are left the flit is all
//! data; slots are filled from the first on; each flit (each rolling half of a 256 B flit) has at most so many messages of a
//! class; new headers of data go into the header slot of a 256 B flit only while no more than 16 data slots are left.
//!
//! What it leaves to the implementer is which message goes first: here the format that takes most messages, then the one with
//! the oldest message, then the one with one class. Two responses without data and three with take two slots of one 68 B flit (H4 and
//! G6), where slots of one flit each would take two and a half. A message may be overtaken by one of the other class.

use crate::flit::{Flit, FlitFormat, Slot};
use crate::message::{DATA_SLOTS, Way};
use crate::slot::{Place, SlotFormat};
use std::collections::VecDeque;

/// Slots of data that may be left when a header slot of a 256 B flit takes another header. CXL 3.1 §4.3.4.
const MOST_LEFT_256: u32 = 16;

/// What waits to be sent: messages of each class, oldest first, of which as many may go as there are credits.
#[derive(Debug)]
pub struct Offer<'q> {
    /// Messages without data, each with a number that grows with its age's end: later ones have larger numbers.
    pub plain: &'q mut VecDeque<(u32, u64)>,
    /// Messages with data.
    pub data: &'q mut VecDeque<(u32, u64)>,
    /// Credits for messages without data.
    pub plain_credits: &'q mut u32,
    /// Credits for messages with data.
    pub data_credits: &'q mut u32,
}

impl Offer<'_> {
    fn ready(&self) -> Headers {
        Headers {
            plain: (self.plain.len() as u32).min(*self.plain_credits),
            data: (self.data.len() as u32).min(*self.data_credits),
        }
    }

    /// Whether the oldest message that may go has no data.
    fn is_plain_older(&self, ready: Headers) -> bool {
        match (ready.plain > 0, ready.data > 0) {
            (true, true) => self.plain[0].1 < self.data[0].1,
            (is_plain, _) => is_plain,
        }
    }
}

/// Headers of each class: waiting, allowed, or taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Headers {
    plain: u32,
    data: u32,
}

impl Headers {
    fn least(self, other: Self) -> Self {
        Self { plain: self.plain.min(other.plain), data: self.data.min(other.data) }
    }

    fn less(self, other: Self) -> Self {
        Self { plain: self.plain.saturating_sub(other.plain), data: self.data.saturating_sub(other.data) }
    }

    fn add(&mut self, other: Self) {
        self.plain += other.plain;
        self.data += other.data;
    }

    /// What of these a slot of this format takes.
    fn in_format(self, format: &SlotFormat) -> Self {
        self.least(Self { plain: format.plain.into(), data: format.data.into() })
    }
}

/// Puts the messages of one direction of a link into flits.
#[derive(Clone, Debug)]
pub struct Packer {
    format: FlitFormat,
    way: Way,
    several_headers: bool,
    /// Messages whose data have not all been sent, with the slots that are left.
    open: VecDeque<(u32, u32)>,
    /// Slots of data that are left of all of them.
    left: u32,
    /// Headers in the last group of slots of the flit before.
    last_group: Headers,
}

impl Packer {
    /// One that has sent nothing. `several_headers`: slots may have more than one header of data (MDH), if both ends can.
    pub fn new(format: FlitFormat, way: Way, several_headers: bool) -> Self {
        let (open, last_group) = (VecDeque::new(), Headers::default());
        Self { format, way, several_headers, open, left: 0, last_group }
    }

    /// Whether data are left of messages that have begun.
    pub fn is_amid_data(&self) -> bool {
        self.left > 0
    }

    /// Whether the next flit is all data, without a header. CXL 3.1 §4.2.5.
    pub fn is_all_data_next(&self) -> bool {
        self.format == FlitFormat::Bytes68 && self.left >= DATA_SLOTS
    }

    /// The next flit, and the messages of `offer` that it takes; none when nothing may go. `may_begin`: whether messages may begin.
    pub fn pack(&mut self, mut offer: Offer<'_>, may_begin: bool) -> Option<Flit> {
        let ready = offer.ready();
        if self.left == 0 && (!may_begin || ready == Headers::default()) {
            return None;
        }
        let all_data = self.is_all_data_next();
        let mut flit = Flit::empty(!all_data);
        let mut groups = Groups::new(self.format, self.way, self.last_group);
        for slot in 0..self.format.slots() {
            groups.enter(slot);
            let holds_data = all_data || self.format.place(slot) == Place::General;
            if holds_data && self.left > 0 {
                self.put_data(&mut flit, slot);
            } else if may_begin {
                self.put_headers(&mut flit, slot, &mut offer, &mut groups);
            }
        }
        self.last_group = groups.now;
        Some(flit)
    }

    fn put_data(&mut self, flit: &mut Flit, slot: usize) {
        flit.slots[slot] = Slot::Data;
        self.left -= 1;
        let first = self.open.front_mut().expect("data are of a message");
        first.1 -= 1;
        if first.1 == 0 {
            flit.end(first.0);
            self.open.pop_front();
        }
    }

    fn put_headers(&mut self, flit: &mut Flit, slot: usize, offer: &mut Offer<'_>, groups: &mut Groups) {
        let ready = offer.ready();
        let mut room = ready.least(groups.room());
        if self.format != FlitFormat::Bytes68 && self.left > MOST_LEFT_256 {
            room.data = 0;
        }
        if slot == 0 && self.fills_two_slots(room) {
            room.data = 0;
        }
        let Some((format, taken)) = self.choose(slot, room, offer.is_plain_older(ready)) else { return };
        groups.take(taken);
        flit.slots[slot] = Slot::Headers { format, plain: taken.plain as u8, data: taken.data as u8 };
        for _ in 0..taken.plain {
            flit.end(offer.plain.pop_front().expect("it is ready").0);
        }
        for _ in 0..taken.data {
            let message = offer.data.pop_front().expect("it is ready").0;
            self.open.push_back((message, DATA_SLOTS));
            self.left += DATA_SLOTS;
        }
        *offer.plain_credits -= taken.plain;
        *offer.data_credits -= taken.data;
    }

    /// Whether five responses go into the header slot and a general one behind what is left of data.
    fn fills_two_slots(&self, room: Headers) -> bool {
        let is_response = self.format == FlitFormat::Bytes68 && self.way == Way::S2m;
        is_response && self.several_headers && self.left < 3 && room.plain >= 2 && room.data >= 3
    }

    /// The format of a slot that takes most of what there is room for; of several, one with the oldest message.
    fn choose(&self, slot: usize, room: Headers, plain_is_older: bool) -> Option<(u8, Headers)> {
        let worth = |format: &SlotFormat| {
            let mut taken = room.in_format(format);
            if !self.several_headers {
                taken.data = taken.data.min(1);
            }
            let has_oldest = if plain_is_older { taken.plain > 0 } else { taken.data > 0 };
            (taken, (taken.plain + taken.data, has_oldest, taken.plain.min(taken.data) == 0))
        };
        let mut best = None;
        let mut most = (0, false, false);
        for (index, format) in self.format.formats(slot, self.way).iter().enumerate() {
            let (taken, value) = worth(format);
            // A 68 B format for several headers is used for several only.
            let is_idle_mdh = self.format == FlitFormat::Bytes68 && format.data > 1 && taken.data < 2;
            if value.0 > 0 && value > most && !is_idle_mdh {
                (best, most) = (Some((index as u8, taken)), value);
            }
        }
        best
    }
}

/// How many headers there may be: in a 68 B flit, or in any two neighbouring groups of four slots of 256 B flits.
#[derive(Debug)]
struct Groups {
    format: FlitFormat,
    most: Headers,
    before: Headers,
    now: Headers,
}

impl Groups {
    fn new(format: FlitFormat, way: Way, before: Headers) -> Self {
        let most = match (format, way) {
            (FlitFormat::Bytes68, Way::M2s) => Headers { plain: 2, data: 1 },
            (FlitFormat::Bytes68, Way::S2m) => Headers { plain: 2, data: 3 },
            (_, Way::M2s) => Headers { plain: 4, data: 2 },
            (_, Way::S2m) => Headers { plain: 6, data: 3 },
        };
        Self { format, most, before: Headers::default(), now: before }
    }

    /// The first slot of a group: the one before is now the neighbour. Every 68 B flit stands alone.
    fn enter(&mut self, slot: usize) {
        if slot.is_multiple_of(4) {
            let alone = self.format == FlitFormat::Bytes68;
            self.before = if alone { Headers::default() } else { self.now };
            self.now = Headers::default();
        }
    }

    fn room(&self) -> Headers {
        self.most.less(self.before).less(self.now)
    }

    fn take(&mut self, taken: Headers) {
        self.now.add(taken);
    }
}

#[cfg(test)]
mod tests;
