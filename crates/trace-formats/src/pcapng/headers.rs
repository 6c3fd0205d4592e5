//! TLP headers and DLLPs, byte by byte, as on a link outside Flit Mode.
//!
//! Leaves out: prefixes, LCRC and ECRC; codes of messages, which are not modelled and are 0; bits of a tag above the tenth, which need a
//! prefix or Flit Mode (the record has the whole tag).

use lanewise_observe::WireTlp;
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::flow_control::Scale;
use lanewise_pcie::tlp::{DWORD, FlowClass, HeaderFormat, TlpKind, whole_dwords};
use lanewise_units::{Bytes, Time};
use std::collections::BTreeMap;

/// Fmt of a header of four DW, and of one that data follow. PCIe Base §2.2.1.
const FOUR_DW: u8 = 0b001;
const WITH_DATA: u8 = 0b010;

/// The Type field. PCIe Base §2.2.1, Table 2-5.
const fn type_of(kind: TlpKind) -> u8 {
    match kind {
        TlpKind::MemoryRead | TlpKind::MemoryWrite => 0b0_0000,
        TlpKind::MemoryReadLocked => 0b0_0001,
        TlpKind::IoRead | TlpKind::IoWrite => 0b0_0010,
        TlpKind::ConfigRead0 | TlpKind::ConfigWrite0 => 0b0_0100,
        TlpKind::ConfigRead1 | TlpKind::ConfigWrite1 => 0b0_0101,
        TlpKind::Completion | TlpKind::CompletionWithData => 0b0_1010,
        TlpKind::LockedCompletion | TlpKind::LockedCompletionWithData => 0b0_1011,
        TlpKind::FetchAdd => 0b0_1100,
        TlpKind::Swap => 0b0_1101,
        TlpKind::CompareAndSwap => 0b0_1110,
        TlpKind::Message | TlpKind::MessageWithData => 0b1_0000, // Routed to the root complex.
        TlpKind::DeferrableMemoryWrite => 0b1_1011,
    }
}

/// The header of a TLP: three or four DW. PCIe Base §2.2.
pub(super) fn tlp_header(tlp: &WireTlp, byte_count: Option<u16>) -> Vec<u8> {
    let format = tlp.kind.fixed_header().unwrap_or(HeaderFormat::for_address(tlp.address));
    let mut header = vec![0; format.bytes().get() as usize];
    let four_dw = if format == HeaderFormat::FourDw { FOUR_DW } else { 0 };
    let data = if tlp.kind.carries_data() { WITH_DATA } else { 0 };
    let (tag, attributes) = (tlp.tag, tlp.attributes.bits());
    header[0] = (four_dw | data) << 5 | type_of(tlp.kind);
    let bit = |of: u16, from: u32, to: u32| u8::from(of >> from & 1 == 1) << to;
    header[1] = bit(tag, 9, 7) | tlp.traffic_class << 4 | bit(tag, 8, 3) | bit(u16::from(attributes), 2, 2);
    let dwords = length_field(tlp);
    header[2] = u8::from(tlp.digest) << 7
        | u8::from(tlp.poisoned) << 6
        | (attributes & 3) << 4
        | (dwords >> 8 & 3) as u8;
    header[3] = dwords as u8;
    match tlp.cost.class() {
        FlowClass::Completion => completion(tlp, byte_count, &mut header),
        FlowClass::Posted | FlowClass::NonPosted => request(tlp, format, &mut header),
    }
    header
}

/// DW of data carried or asked for; 1,024 as 0. PCIe Base §2.2.2.
fn length_field(tlp: &WireTlp) -> u16 {
    let bytes = match tlp.kind {
        TlpKind::Message | TlpKind::Completion | TlpKind::LockedCompletion => Bytes::ZERO,
        kind if kind.carries_data() => tlp.cost.payload(),
        // A read of nothing asks for one DW without a byte of it.
        _ => whole_dwords(tlp.address, Bytes::new(u64::from(tlp.length))).max(DWORD),
    };
    (bytes.get() / DWORD.get()) as u16 & 0x3ff
}

fn request(tlp: &WireTlp, format: HeaderFormat, header: &mut [u8]) {
    header[4..6].copy_from_slice(&tlp.requester_id.id.get().to_be_bytes());
    header[6] = tlp.tag as u8;
    match tlp.kind {
        TlpKind::Message | TlpKind::MessageWithData => {}
        TlpKind::ConfigRead0 | TlpKind::ConfigRead1 | TlpKind::ConfigWrite0 | TlpKind::ConfigWrite1 => {
            header[7] = byte_enables(tlp);
            header[8..10].copy_from_slice(&tlp.completer_id.id.get().to_be_bytes());
            header[10..12].copy_from_slice(&(tlp.address as u16 & 0xffc).to_be_bytes());
        }
        _ => {
            header[7] = byte_enables(tlp);
            let address = tlp.address & !3;
            match format {
                HeaderFormat::ThreeDw => header[8..12].copy_from_slice(&(address as u32).to_be_bytes()),
                HeaderFormat::FourDw => header[8..16].copy_from_slice(&address.to_be_bytes()),
            }
        }
    }
}

/// Last and first byte enables. PCIe Base §2.2.5.
fn byte_enables(tlp: &WireTlp) -> u8 {
    let (before, length) = (tlp.address as u16 & 3, tlp.length);
    let end = before + length;
    let from = 0xf_u16 << before & 0xf;
    let until = 0xf_u16 >> ((4 - end % 4) % 4);
    match length {
        0 => 0,
        _ if end <= 4 => (from & until) as u8,
        _ => (until << 4 | from) as u8,
    }
}

/// PCIe Base §2.2.9.
fn completion(tlp: &WireTlp, byte_count: Option<u16>, header: &mut [u8]) {
    header[4..6].copy_from_slice(&tlp.completer_id.id.get().to_be_bytes());
    let count = byte_count.unwrap_or(0) & 0xfff; // 4,096 as 0.
    header[6..8].copy_from_slice(&((tlp.status as u16) << 13 | count).to_be_bytes());
    header[8..10].copy_from_slice(&tlp.requester_id.id.get().to_be_bytes());
    header[10] = tlp.tag as u8;
    header[11] = tlp.address as u8 & 0x7f;
}

/// How many bytes of each request are still to come: what completions say, which depends on the request.
#[derive(Default)]
pub(super) struct ByteCounts {
    /// Of each request that was seen, by requester and tag: its issue and the end of its address range.
    requests: BTreeMap<(u32, u16), (Time, u64)>,
}

impl ByteCounts {
    /// Of a completion the bytes that its header says are left, this one included; none where its request was not in the trace.
    pub(super) fn of(&mut self, tlp: &WireTlp) -> Option<u16> {
        let requester = u32::from(tlp.requester_id.segment) << 16 | u32::from(tlp.requester_id.id.get());
        let key = (requester, tlp.tag);
        match tlp.cost.class() {
            FlowClass::Posted => None,
            FlowClass::NonPosted => {
                self.requests.insert(key, (tlp.issued_at, tlp.address + u64::from(tlp.length)));
                None
            }
            FlowClass::Completion => match self.requests.get(&key) {
                Some((issued_at, end)) if *issued_at == tlp.issued_at => {
                    u16::try_from(end.checked_sub(tlp.address)?).ok()
                }
                _ => tlp.is_last_completion.then_some(tlp.length),
            },
        }
    }
}

/// A DLLP with its CRC: six bytes. PCIe Base §3.5. Its transmitter tells of its credits in the first of these steps, by class, and the
/// other end of the link in the second.
pub(super) fn dllp_bytes(dllp: Dllp, scales: [&[Scale; 3]; 2]) -> Vec<u8> {
    let word = match dllp {
        Dllp::Ack(sequence) => u32::from(sequence.get()),
        Dllp::Nak(sequence) => 0x10 << 24 | u32::from(sequence.get()),
        Dllp::InitFlowControl1 { channel, class, header, data } => {
            credits(0b0100, (channel, class), (header, data), scales)
        }
        Dllp::InitFlowControl2 { channel, class, header, data } => {
            credits(0b1100, (channel, class), (header, data), scales)
        }
        Dllp::UpdateFlowControl { channel, class, header, data } => {
            credits(0b1000, (channel, class), (header, data), scales)
        }
    };
    let mut bytes = word.to_be_bytes().to_vec();
    bytes.extend_from_slice(&crc(&bytes).to_le_bytes());
    bytes
}

/// PCIe Base §3.5; the scale is coded as in §3.4.2, and the fields are in steps of it. One is said in another way on a link whose flow
/// control is scaled, at either end, than on one where it is not.
fn credits(
    kind: u32,
    (channel, class): (u8, FlowClass),
    (header, data): (u16, u16),
    scales: [&[Scale; 3]; 2],
) -> u32 {
    let scale = scales[0][class.index()];
    let code = match scale {
        Scale::One => u32::from(scales != [&[Scale::One; 3]; 2]),
        Scale::Four => 0b10,
        Scale::Sixteen => 0b11,
    };
    let steps = |credits: u16| u32::from(credits / scale.factor());
    (kind | class.index() as u32) << 28
        | u32::from(channel & 7) << 24
        | code << 22
        | (steps(header) & 0xff) << 14
        | code << 12
        | steps(data) & 0xfff
}

/// The 16 bits of CRC: polynomial 100Bh over bits from the lowest of each byte on, begun with ones, inverted. PCIe Base §3.5.
fn crc(bytes: &[u8]) -> u16 {
    const REFLECTED: u16 = 0x100b_u16.reverse_bits();
    let step = |crc: u16| if crc & 1 == 1 { crc >> 1 ^ REFLECTED } else { crc >> 1 };
    !bytes.iter().fold(u16::MAX, |crc, byte| (0..8).fold(crc ^ u16::from(*byte), |crc, _| step(crc)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanewise_observe::{Place, Transmission};
    use lanewise_pcie::ack_nak::Sequence;
    use lanewise_pcie::enumeration::Location;
    use lanewise_pcie::flow_control::CreditPool;
    use lanewise_pcie::tlp::{Attributes, CompletionStatus, FunctionId, Routing, Tlp};

    /// Of 01:02.3 to 04:05.6, tag 2a5h, at an address of 32 bits.
    fn tlp(kind: TlpKind, address: u64, length: u16) -> WireTlp {
        let id = |bus, device, function| Location { segment: 0, id: FunctionId::new(bus, device, function) };
        WireTlp {
            sequence: 0,
            transmission: Transmission::First,
            kind,
            address,
            length,
            cost: Tlp::new(kind, Routing::Address(address), Bytes::new(u64::from(length))).cost(false),
            source: Place::Host,
            destination: Place::Host,
            requester_id: id(1, 2, 3),
            completer_id: id(4, 5, 6),
            tag: 0x2a5,
            attributes: Attributes::NONE,
            traffic_class: 0,
            channel: 0,
            ingress: None,
            poisoned: false,
            digest: false,
            status: CompletionStatus::Successful,
            is_last_completion: false,
            issued_at: Time::ZERO,
            ready_at: Time::ZERO,
            credits_left: CreditPool::INFINITE,
        }
    }

    /// First bytes by kind, in the order of [`TlpKind::ALL`], at 32-bit addresses: PCIe Base §2.2.1, Table 2-5.
    #[test]
    fn every_kind_has_its_format_and_type() {
        let first = [
            0x00, 0x01, 0x40, 0x5b, 0x02, 0x42, 0x04, 0x44, 0x05, 0x45, 0x4c, 0x4d, 0x4e, 0x30, 0x70, 0x0a,
            0x4a, 0x0b, 0x4b,
        ];
        for (kind, first) in TlpKind::ALL.into_iter().zip(first) {
            assert_eq!(tlp_header(&tlp(kind, 0x1000, 4), None)[0], first, "{kind:?}");
        }
        assert_eq!(tlp_header(&tlp(TlpKind::MemoryWrite, 1 << 32, 4), None)[0], 0x60);
    }

    /// PCIe Base §2.2.7 and §2.2.9.
    #[test]
    fn headers_are_laid_out_as_in_the_specification() {
        let write = WireTlp {
            traffic_class: 5,
            poisoned: true,
            attributes: Attributes::RELAXED_ORDERING.with(Attributes::ID_BASED_ORDERING),
            ..tlp(TlpKind::MemoryWrite, 0x1_2345_6789, 10)
        };
        assert_eq!(
            tlp_header(&write, None),
            // Bytes 1 to 10 of three DW.
            [0x60, 0xd4, 0x60, 0x03, 0x01, 0x13, 0xa5, 0x7e, 0, 0, 0, 1, 0x23, 0x45, 0x67, 0x88]
        );
        let config = tlp(TlpKind::ConfigWrite0, 0x123c, 4);
        assert_eq!(tlp_header(&config, None), [0x44, 0x80, 0, 1, 1, 0x13, 0xa5, 0x0f, 4, 0x2e, 2, 0x3c]);
        let failed =
            WireTlp { status: CompletionStatus::CompleterAbort, ..tlp(TlpKind::Completion, 0x10c4, 0) };
        assert_eq!(
            tlp_header(&failed, Some(4096)),
            [0x0a, 0x80, 0, 0, 4, 0x2e, 0x80, 0, 1, 0x13, 0xa5, 0x44]
        );
    }

    /// From byte 0 to 3 of a DW, so many bytes: last and first byte enables, PCIe Base §2.2.5.
    #[test]
    fn byte_enables_say_which_bytes_are_meant() {
        for (address, length, enables) in [
            (0, 0, 0x00),
            (0, 1, 0x01),
            (3, 1, 0x08),
            (1, 2, 0x06),
            (0, 4, 0x0f),
            (3, 2, 0x18),
            (0, 5, 0x1f),
            (2, 6, 0xfc),
            (0, 4096, 0xff),
        ] {
            assert_eq!(
                byte_enables(&tlp(TlpKind::MemoryRead, address, length)),
                enables,
                "{address} {length}"
            );
        }
        let whole = tlp_header(&tlp(TlpKind::MemoryRead, 0, 4096), None);
        assert_eq!(whole[2..4], [0, 0]);
        assert_eq!(tlp_header(&tlp(TlpKind::MemoryRead, 0, 0), None)[3], 1);
    }

    #[test]
    fn dllps_say_steps_of_their_scale() {
        let update =
            Dllp::UpdateFlowControl { channel: 3, class: FlowClass::NonPosted, header: 40, data: 400 };
        let word = |dllp, own: [Scale; 3], peer: [Scale; 3]| dllp_bytes(dllp, [&own, &peer])[..4].to_vec();
        let (one, four) = ([Scale::One; 3], [Scale::Four; 3]);
        let posted_alone = [Scale::Four, Scale::One, Scale::One];
        assert_eq!(word(update, one, one), [0x93, 0x0a, 0x01, 0x90]);
        assert_eq!(word(update, four, four), [0x93, 0x82, 0xa0, 0x64]);
        assert_eq!(word(update, four, one), [0x93, 0x82, 0xa0, 0x64]);
        // A scale of one is said where any other is, at whichever end.
        assert_eq!(word(update, posted_alone, one), [0x93, 0x4a, 0x11, 0x90]);
        assert_eq!(word(update, one, posted_alone), [0x93, 0x4a, 0x11, 0x90]);
        assert_eq!(word(Dllp::Nak(Sequence::new(0xabc)), one, one), [0x10, 0, 0x0a, 0xbc]);
    }
}
