//! Integrity and Data Encryption: what it adds to TLPs, and to which of them. PCIe Base §6.33.
//!
//! Encryption leaves the length of a TLP as it is. Each TLP of a stream says so in one DW: the IDE prefix outside Flit Mode, OHC-C in
//! it. The last one of each aggregated unit ends in the message authentication code (MAC) of the unit, and in a PCRC where that is
//! on. Units are made of TLPs of one sub-stream: posted requests, non-posted requests or completions. Leaves out: units that end early
//! because nothing follows, IDE Sync messages, keys, and TLPs with an ECRC beside the MAC in Flit Mode, where there is no such trailer.

use crate::tlp::{DWORD, FlowClass};
use lanewise_units::Bytes;

/// What every TLP of a stream has: the IDE prefix, or OHC-C. Source: PCIe Base §6.33.5, Table 2-6.
pub const IDE_PREFIX: Bytes = DWORD;
/// The MAC: 96 bits of AES-GCM. Source: PCIe Base §6.33.5.
pub const IDE_MAC: Bytes = Bytes::new(12);
/// A CRC of the plain data, beside the MAC. Source: PCIe Base §2.2.1.2, §6.33.5.
pub const IDE_PCRC: Bytes = DWORD;
/// Most TLPs that one MAC may stand for. Source: PCIe Base §7.9.26, Tx Aggregation Mode: 2, 4 or 8.
pub const LONGEST_UNIT: u8 = 8;

/// How a stream is protected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ide {
    /// TLPs of a sub-stream for each MAC: 1, 2, 4 or 8.
    pub unit: u8,
    /// Whether a PCRC stands beside each MAC.
    pub pcrc: bool,
}

impl Ide {
    /// Bytes that it adds to a TLP that ends its unit, or does not: the same in either mode.
    pub const fn added(self, ends_unit: bool) -> Bytes {
        let pcrc = if self.pcrc { IDE_PCRC.get() } else { 0 };
        let trailer = if ends_unit { IDE_MAC.get() + pcrc } else { 0 };
        Bytes::new(IDE_PREFIX.get() + trailer)
    }
}

/// One direction of a stream, at its transmitter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdeTransmitter {
    ide: Ide,
    /// TLPs of the unit under way, by sub-stream.
    in_unit: [u8; 3],
}

impl IdeTransmitter {
    /// With no unit under way.
    ///
    /// # Panics
    /// When the unit is not of 1, 2, 4 or 8 TLPs.
    pub const fn new(ide: Ide) -> Self {
        assert!(ide.unit.is_power_of_two() && ide.unit <= LONGEST_UNIT, "units are of 1, 2, 4 or 8 TLPs");
        Self { ide, in_unit: [0; 3] }
    }

    /// Bytes that the next TLP of a sub-stream has because of it.
    pub const fn next(&mut self, sub_stream: FlowClass) -> Bytes {
        let in_unit = &mut self.in_unit[sub_stream.index()];
        *in_unit += 1;
        let ends_unit = *in_unit == self.ide.unit;
        if ends_unit {
            *in_unit = 0;
        }
        self.ide.added(ends_unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tlp::Tlp;

    fn stream(unit: u8, pcrc: bool) -> IdeTransmitter {
        IdeTransmitter::new(Ide { unit, pcrc })
    }

    #[test]
    fn a_mac_for_every_tlp_is_sixteen_bytes_with_the_prefix() {
        let mut each = stream(1, false);
        assert_eq!([FlowClass::Posted; 3].map(|class| each.next(class).get()), [16; 3]);
        let mut with_pcrc = stream(1, true);
        assert_eq!(with_pcrc.next(FlowClass::NonPosted).get(), 20);
    }

    #[test]
    fn each_sub_stream_has_units_of_its_own() {
        let mut stream = stream(4, false);
        let of = |class: FlowClass, stream: &mut IdeTransmitter| stream.next(class).get();
        assert_eq!([0; 3].map(|_| of(FlowClass::Posted, &mut stream)), [4; 3]);
        assert_eq!([0; 4].map(|_| of(FlowClass::Completion, &mut stream)), [4, 4, 4, 16]);
        assert_eq!([0; 2].map(|_| of(FlowClass::Posted, &mut stream)), [16, 4]);
    }

    /// Writes of 256 B with a header of 4 DW at Gen5: 280 B become 296, or 285.5 with a MAC for eight.
    #[test]
    fn what_it_costs_writes_of_256_bytes() {
        let write = Tlp::memory_write(1 << 32, Bytes::new(256)).cost(false);
        let share = |unit: u8| {
            let mut stream = stream(unit, false);
            let sealed = (0..8).map(|_| write.with_more(stream.next(FlowClass::Posted)).on_wire().get());
            100.0 * (8.0 * write.on_wire().get() as f64 / sealed.sum::<u64>() as f64 - 1.0)
        };
        assert_eq!(
            [1, 2, 4, 8].map(|unit| format!("{:.2}", share(unit))),
            ["-5.41", "-3.45", "-2.44", "-1.93"]
        );
    }

    #[test]
    #[should_panic(expected = "1, 2, 4 or 8")]
    fn a_unit_is_not_of_three() {
        stream(3, false);
    }
}
