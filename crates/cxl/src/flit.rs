//! Flits of CXL.mem: their bytes and slots, and what one carries.
//!
//! | flit | bytes on the wire | slots | source |
//! |---|---|---|---|
//! | 68 B | 2 protocol ID, 64 slots, 2 CRC | 1 header slot (4 of its bytes are the flit header) and 3 general, or 4 of data | CXL 3.1 §4.2.2, §6.2.2 |
//! | 256 B | 2 header, 238 slots, 2 credits, 8 CRC, 6 FEC | 1 header slot of 14 B, 14 general | §4.3.2, Figure 4-41 |
//! | 256 B, latency-optimised | 2 header, 234 slots, 2 credits, 12 CRC, 6 FEC | 1 of 14 B, 13 general, 1 of 12 B | §4.3.2, Figure 4-42 |

use crate::message::Way;
use crate::slot::{Place, SlotFormat, formats_68, formats_256};
use lanewise_units::Bytes;

/// Most slots of a flit.
pub const MOST_SLOTS: usize = 15;
/// Most messages that are complete with one flit: 12 NDR and what ends in 14 slots of data.
pub const MOST_ENDS: usize = 16;

/// Which flits a link uses. Both ends agree when it trains.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FlitFormat {
    /// 68 B: CXL 1.1 and 2.0, and CXL 3 up to 32 GT/s.
    Bytes68,
    /// 256 B: CXL 3, at 64 GT/s always.
    Bytes256,
    /// 256 B whose halves are checked on their own.
    Bytes256LowLatency,
}

impl FlitFormat {
    /// Bytes on the wire.
    pub const fn bytes(self) -> Bytes {
        match self {
            Self::Bytes68 => Bytes::new(68),
            Self::Bytes256 | Self::Bytes256LowLatency => Bytes::new(256),
        }
    }

    /// Slots of a flit.
    pub const fn slots(self) -> usize {
        match self {
            Self::Bytes68 => 4,
            Self::Bytes256 | Self::Bytes256LowLatency => MOST_SLOTS,
        }
    }

    /// What a slot is.
    pub const fn place(self, slot: usize) -> Place {
        match (self, slot) {
            (_, 0) => Place::Header,
            (Self::Bytes256LowLatency, 8) => Place::HeaderSubset,
            _ => Place::General,
        }
    }

    /// What a slot may hold.
    pub const fn formats(self, slot: usize, way: Way) -> &'static [SlotFormat] {
        match self {
            Self::Bytes68 => formats_68(self.place(slot), way),
            Self::Bytes256 | Self::Bytes256LowLatency => formats_256(self.place(slot), way),
        }
    }

    /// Name in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes68 => "68 B",
            Self::Bytes256 => "256 B",
            Self::Bytes256LowLatency => "256 B low latency",
        }
    }

    /// Whether the link layer itself sends again what was damaged. The physical layer does for 256 B flits. CXL 3.1 §4.3.1.
    pub const fn has_link_layer_retry(self) -> bool {
        matches!(self, Self::Bytes68)
    }
}

/// What a slot of a flit holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Slot {
    /// Nothing.
    #[default]
    Empty,
    /// 16 B of a line.
    Data,
    /// Headers, in this format: so many messages without data and so many with.
    Headers {
        /// Which of [`FlitFormat::formats`] of its place.
        format: u8,
        /// Messages without data.
        plain: u8,
        /// Headers of messages with data.
        data: u8,
    },
}

/// A flit of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flit {
    /// Its slots; those that its format does not have are empty.
    pub slots: [Slot; MOST_SLOTS],
    /// Whether it has a header: room for acknowledgements and credits. An all-data flit of 68 B has none.
    pub has_header: bool,
    ends: [u32; MOST_ENDS],
    count: u8,
}

impl Flit {
    /// One with nothing in it yet.
    pub const fn empty(has_header: bool) -> Self {
        Self { slots: [Slot::Empty; MOST_SLOTS], has_header, ends: [0; MOST_ENDS], count: 0 }
    }

    /// Messages whose last byte is in it, in their order.
    pub fn ends(&self) -> &[u32] {
        &self.ends[..usize::from(self.count)]
    }

    pub(crate) fn end(&mut self, message: u32) {
        self.ends[usize::from(self.count)] = message;
        self.count += 1;
    }

    /// Slots that hold something.
    pub fn slots_used(&self) -> u32 {
        self.slots.iter().filter(|slot| **slot != Slot::Empty).count() as u32
    }
}
