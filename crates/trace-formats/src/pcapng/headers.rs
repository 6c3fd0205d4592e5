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

/// Fmt of a header of four DW, and of one that data follow. PCIe Base Table 2-2.
const FOUR_DW: u8 = 0b001;
const WITH_DATA: u8 = 0b010;

/// The Type field. PCIe Base Table 2-3.
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

/// A DLLP with its CRC: six bytes. PCIe Base §3.5.
pub(super) fn dllp_bytes(dllp: Dllp, scale: Scale) -> Vec<u8> {
    let word = match dllp {
        Dllp::Ack(sequence) => u32::from(sequence.get()),
        Dllp::Nak(sequence) => 0x10 << 24 | u32::from(sequence.get()),
        Dllp::InitFlowControl1 { channel, class, header, data } => {
            credits(0b0100, (channel, class), (header, data), scale)
        }
        Dllp::InitFlowControl2 { channel, class, header, data } => {
            credits(0b1100, (channel, class), (header, data), scale)
        }
        Dllp::UpdateFlowControl { channel, class, header, data } => {
            credits(0b1000, (channel, class), (header, data), scale)
        }
    };
    let mut bytes = word.to_be_bytes().to_vec();
    bytes.extend_from_slice(&crc(&bytes).to_le_bytes());
    bytes
}

/// PCIe Base Figures 3-8 to 3-10; the scale is coded as in Table 3-2, and the fields are in steps of it.
fn credits(kind: u32, (channel, class): (u8, FlowClass), (header, data): (u16, u16), scale: Scale) -> u32 {
    let code = match scale {
        Scale::One => 0,
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

/// The 16 bits of CRC: polynomial 100Bh over bits from the lowest of each byte on, begun with ones, inverted. PCIe Base §3.5.3.
fn crc(bytes: &[u8]) -> u16 {
    const REFLECTED: u16 = 0x100b_u16.reverse_bits();
    let step = |crc: u16| if crc & 1 == 1 { crc >> 1 ^ REFLECTED } else { crc >> 1 };
    !bytes.iter().fold(u16::MAX, |crc, byte| (0..8).fold(crc ^ u16::from(*byte), |crc, _| step(crc)))
}
