//! Which messages a slot may hold, format by format.
//!
//! Only formats that CXL.mem alone can fill are listed: those of CXL.cache are left out, and of shared ones (G4, G5 and H0 of
//! 68 B flits) the part of CXL.mem. Sources: CXL 3.1 Tables 4-7 and 4-8 for 68 B flits, 4-14 to 4-16 for those of 256 B.

use crate::message::Way;

/// What a slot is by its place in the flit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The first slot, which holds no data: 12 B in flits of 68 B, 14 B in those of 256 B.
    Header,
    /// The ninth slot of a latency-optimised flit of 256 B, of 12 B: no data either.
    HeaderSubset,
    /// A slot of 16 B: headers, or 16 B of data.
    General,
}

/// A format of a slot: how many messages of each class fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotFormat {
    /// Its name in the specification.
    pub name: &'static str,
    /// Messages without data.
    pub plain: u8,
    /// Headers of messages with data.
    pub data: u8,
    /// Bits of the slot that they take, as the specification counts them.
    pub bits: u16,
}

const fn format(name: &'static str, plain: u8, data: u8, bits: u16) -> SlotFormat {
    SlotFormat { name, plain, data, bits }
}

const H_M2S_68: [SlotFormat; 2] = [format("H4", 0, 1, 87), format("H5", 1, 0, 87)];
/// With an empty place for CXL.cache each.
const G_M2S_68: [SlotFormat; 2] = [format("G5", 0, 1, 119), format("G4", 1, 0, 111)];
const H_S2M_68: [SlotFormat; 3] = [format("H3", 1, 1, 70), format("H5", 0, 2, 80), format("H4", 2, 0, 60)];
const G_S2M_68: [SlotFormat; 3] = [format("G4", 2, 1, 100), format("G6", 0, 3, 120), format("G5", 2, 0, 60)];
const H_M2S_256: [SlotFormat; 2] = [format("H14", 0, 1, 104), format("H4", 1, 0, 100)];
/// Zero-extended: what does not fit has to be zero, and is for the fields used here.
const HS_M2S_256: [SlotFormat; 2] = [format("HS14", 0, 1, 92), format("HS4", 1, 0, 92)];
const G_M2S_256: [SlotFormat; 2] = [format("G14", 0, 1, 104), format("G4", 1, 0, 100)];
const H_S2M_256: [SlotFormat; 2] = [format("H15", 0, 2, 80), format("H7", 2, 0, 80)];
const HS_S2M_256: [SlotFormat; 2] = [format("HS15", 0, 2, 80), format("HS7", 2, 0, 80)];
const G_S2M_256: [SlotFormat; 2] = [format("G15", 0, 3, 120), format("G7", 3, 0, 120)];

/// Formats of a slot of a 68 B flit.
pub(crate) const fn formats_68(place: Place, way: Way) -> &'static [SlotFormat] {
    match (place, way) {
        (Place::General, Way::M2s) => &G_M2S_68,
        (Place::General, Way::S2m) => &G_S2M_68,
        (Place::Header | Place::HeaderSubset, Way::M2s) => &H_M2S_68,
        (Place::Header | Place::HeaderSubset, Way::S2m) => &H_S2M_68,
    }
}

/// Formats of a slot of a 256 B flit.
pub(crate) const fn formats_256(place: Place, way: Way) -> &'static [SlotFormat] {
    match (place, way) {
        (Place::Header, Way::M2s) => &H_M2S_256,
        (Place::HeaderSubset, Way::M2s) => &HS_M2S_256,
        (Place::General, Way::M2s) => &G_M2S_256,
        (Place::Header, Way::S2m) => &H_S2M_256,
        (Place::HeaderSubset, Way::S2m) => &HS_S2M_256,
        (Place::General, Way::S2m) => &G_S2M_256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Class;

    /// The tables are consistent: as many bits as the messages have, and no more than the slot.
    #[test]
    fn formats_hold_what_they_say() {
        for way in Way::ALL {
            for (place, room) in [(Place::Header, 96), (Place::General, 128)] {
                for format in formats_68(place, way) {
                    let bits = u16::from(format.plain) * Class::Plain.header_bits_68(way)
                        + u16::from(format.data) * Class::Data.header_bits_68(way);
                    // G4 and G5 of requests have a place for CXL.cache: 24 and 32 bits.
                    let other = match (place, way, format.name) {
                        (Place::General, Way::M2s, "G4") => 24,
                        (Place::General, Way::M2s, "G5") => 32,
                        _ => 0,
                    };
                    assert_eq!(format.bits, bits + other, "{format:?}");
                    assert!(format.bits <= room, "{format:?}");
                }
            }
            for (place, room) in [(Place::Header, 108), (Place::HeaderSubset, 92), (Place::General, 124)] {
                for format in formats_256(place, way) {
                    let bits = u16::from(format.plain) * Class::Plain.header_bits_256(way)
                        + u16::from(format.data) * Class::Data.header_bits_256(way);
                    assert_eq!(format.bits, bits.min(room), "{format:?}");
                }
            }
        }
    }
}
