//! Messages of CXL.mem: two classes each way, one without data and one with a cache line.

use lanewise_units::Bytes;

/// A cache line: what a message with data carries.
pub const LINE: Bytes = Bytes::new(64);

/// Slots that the data of a line take: chunks of 16 B, in order. CXL 3.1 §4.2.5.
pub const DATA_SLOTS: u32 = 4;

/// Which way a message goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Way {
    /// Master to subordinate: from the host to the memory.
    M2s,
    /// Subordinate to master: from the memory to the host.
    S2m,
}

impl Way {
    /// Both ways.
    pub const ALL: [Self; 2] = [Self::M2s, Self::S2m];

    /// The other one.
    #[must_use]
    pub const fn back(self) -> Self {
        match self {
            Self::M2s => Self::S2m,
            Self::S2m => Self::M2s,
        }
    }

    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::M2s => "m2s",
            Self::S2m => "s2m",
        }
    }
}

/// Whether a message has data behind its header. With the way that is its class, and each class has credits of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// A request (M2S Req) or a response without data (S2M NDR).
    Plain,
    /// A request with data (M2S RwD) or a data response (S2M DRS).
    Data,
}

impl Class {
    /// Both classes.
    pub const ALL: [Self; 2] = [Self::Plain, Self::Data];

    /// Its name in the specification.
    pub const fn name(self, way: Way) -> &'static str {
        match (way, self) {
            (Way::M2s, Self::Plain) => "Req",
            (Way::M2s, Self::Data) => "RwD",
            (Way::S2m, Self::Plain) => "NDR",
            (Way::S2m, Self::Data) => "DRS",
        }
    }

    /// Bits of its header in a flit of 68 B. CXL 3.1 Tables 3-35 to 3-49, column "68B flit".
    pub const fn header_bits_68(self, way: Way) -> u16 {
        match (way, self) {
            (Way::M2s, _) => 87,
            (Way::S2m, Self::Plain) => 30,
            (Way::S2m, Self::Data) => 40,
        }
    }

    /// The same in a flit of 256 B. CXL 3.1 Tables 4-14 and 4-15.
    pub const fn header_bits_256(self, way: Way) -> u16 {
        match (way, self) {
            (Way::M2s, Self::Plain) => 100,
            (Way::M2s, Self::Data) => 104,
            (Way::S2m, _) => 40,
        }
    }
}
