//! pcapng with link type USER0, for Wireshark: one packet for each TLP and DLLP, an interface for each direction of each link.
//!
//! A packet is a record of ours (`record.rs`), then the header of the TLP or the DLLP as the specification lays them out. Source of the
//! blocks: <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html>.
//!
//! Leaves out: payloads, which are not simulated, and rows that are no packet: ordered sets, flits, what is held up, errors.

mod headers;
mod record;

use crate::directions::Directions;
use headers::{ByteCounts, dllp_bytes, tlp_header};
use lanewise_observe::{OnWire, What, WireFact};
use lanewise_sim::{TraceEnd, TraceForm, TraceFrame, TraceRow};
use lanewise_units::Span;
use record::record;

/// A trace for Wireshark.
#[derive(Default)]
pub struct Pcapng {
    /// From the beginning on.
    directions: Option<Directions>,
    byte_counts: ByteCounts,
}

/// `LINKTYPE_USER0`: <https://www.tcpdump.org/linktypes.html>.
const LINK_TYPE_USER0: u16 = 147;

/// Types of blocks, and codes of options.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const SHB_USER_APPLICATION: u16 = 4;
const OPTION_COMMENT: u16 = 1;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TIME_RESOLUTION: u16 = 9;
const EPB_FLAGS: u16 = 2;

impl TraceForm for Pcapng {
    fn begin(&mut self, frame: &TraceFrame, out: &mut Vec<u8>) {
        let directions = Directions::of(frame);
        section_header(frame, out);
        for direction in directions.all() {
            let name = format!("{} {}", direction.link, direction.way);
            let description = format!("{} to {}, {}", direction.from, direction.to, direction.mode);
            interface(&name, &description, out);
        }
        self.directions = Some(directions);
    }

    fn rows(&mut self, rows: &[TraceRow], out: &mut Vec<u8>) {
        rows.iter().for_each(|row| self.row(row, out));
    }

    fn end(&mut self, _: &TraceEnd, _: &mut Vec<u8>) {}
}

impl Pcapng {
    fn row(&mut self, row: &TraceRow, out: &mut Vec<u8>) {
        let directions = self.directions.as_ref().expect("it was begun");
        let Some(number) = directions.number(row) else { return };
        let Some(WireFact::OnWire(OnWire { what, .. })) = &row.fact else { return };
        let direction = &directions.all()[number];
        let scales = [&direction.own_scale, &direction.scale];
        let (bytes, is_count_known) = match what {
            What::Tlp(tlp) => {
                let count = self.byte_counts.of(tlp);
                (tlp_header(tlp, count), count.is_some())
            }
            What::Dllp(dllp) | What::DllpInFlit(dllp) | What::AnswerInFlit(dllp) => {
                (dllp_bytes(*dllp, scales), false)
            }
            What::Duplicate { .. } => (Vec::new(), false),
            What::OrderedSets { .. } | What::Flit { .. } => return,
        };
        let mut data = record(row, what, directions.link(number), is_count_known);
        data.extend_from_slice(&bytes);
        packet(number, row, &data, out);
    }
}

fn section_header(frame: &TraceFrame, out: &mut Vec<u8>) {
    let mut body = Vec::new();
    body.extend_from_slice(&0x1a2b_3c4d_u32.to_le_bytes());
    body.extend_from_slice(&1_u16.to_le_bytes()); // Version 1.0.
    body.extend_from_slice(&0_u16.to_le_bytes());
    body.extend_from_slice(&u64::MAX.to_le_bytes()); // Its length is not said.
    option(OPTION_COMMENT, frame.title.as_bytes(), &mut body);
    option(SHB_USER_APPLICATION, concat!("lanewise ", env!("CARGO_PKG_VERSION")).as_bytes(), &mut body);
    end_of_options(&mut body);
    block(SECTION_HEADER, &body, out);
}

fn interface(name: &str, description: &str, out: &mut Vec<u8>) {
    let mut body = Vec::new();
    body.extend_from_slice(&LINK_TYPE_USER0.to_le_bytes());
    body.extend_from_slice(&0_u16.to_le_bytes());
    body.extend_from_slice(&0_u32.to_le_bytes()); // No limit to the length of a packet.
    option(IF_NAME, name.as_bytes(), &mut body);
    option(IF_DESCRIPTION, description.as_bytes(), &mut body);
    option(IF_TIME_RESOLUTION, &[9], &mut body); // 10⁻⁹ s.
    end_of_options(&mut body);
    block(INTERFACE_DESCRIPTION, &body, out);
}

fn packet(interface: usize, row: &TraceRow, data: &[u8], out: &mut Vec<u8>) {
    let ns = row.at_ticks / Span::from_ns(1).ticks();
    let length = data.len() as u32;
    let mut body = Vec::with_capacity(data.len() + 40);
    body.extend_from_slice(&(interface as u32).to_le_bytes());
    body.extend_from_slice(&((ns >> 32) as u32).to_le_bytes());
    body.extend_from_slice(&(ns as u32).to_le_bytes());
    body.extend_from_slice(&length.to_le_bytes());
    body.extend_from_slice(&length.to_le_bytes());
    padded(data, &mut body);
    // As the root complex sees it: what goes upstream comes in.
    let inbound = if row.direction == "upstream" { 1_u32 } else { 2 };
    option(EPB_FLAGS, &inbound.to_le_bytes(), &mut body);
    end_of_options(&mut body);
    block(ENHANCED_PACKET, &body, out);
}

fn block(kind: u32, body: &[u8], out: &mut Vec<u8>) {
    let length = (body.len() + 12) as u32;
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(body);
    out.extend_from_slice(&length.to_le_bytes());
}

fn option(code: u16, value: &[u8], out: &mut Vec<u8>) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&(value.len() as u16).to_le_bytes());
    padded(value, out);
}

fn end_of_options(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0; 4]);
}

/// Up to the next four bytes.
fn padded(data: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(data);
    out.resize(out.len() + (4 - data.len() % 4) % 4, 0);
}
