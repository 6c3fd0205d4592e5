//! What stands before the header of a TLP and before a DLLP: what the simulator knows and no header says.
//!
//! Everything in it is big-endian, as headers are. The layout is told in `docs/reference/trace-formats.md`; a change that readers notice
//! is another [`VERSION`].

use lanewise_observe::{Cause, Transmission, What};
use lanewise_sim::TraceRow;

/// Of the layout.
const VERSION: u8 = 1;

/// Kinds of records.
const TLP: u8 = 1;
const DLLP: u8 = 2;

/// Bits of the flags.
const AGAIN: u16 = 1;
const NULLIFIED: u16 = 1 << 1;
const HEADER_IS_KNOWN: u16 = 1 << 2;
const BYTE_COUNT_IS_KNOWN: u16 = 1 << 3;
const LAST_COMPLETION: u16 = 1 << 4;
const IN_A_FLIT: u16 = 1 << 5;

/// A number of 16 bits that is not there: a credit that is infinite or not said, a sequence number that is none.
const NONE: u16 = u16::MAX;

pub(super) fn record(row: &TraceRow, what: &What, link: usize, is_count_known: bool) -> Vec<u8> {
    let (kind, flags, address) = match what {
        What::Tlp(tlp) => {
            let flags = [
                (tlp.transmission == Transmission::Again, AGAIN),
                (tlp.transmission == Transmission::Nullified, NULLIFIED),
                (true, HEADER_IS_KNOWN),
                (is_count_known, BYTE_COUNT_IS_KNOWN),
                (tlp.is_last_completion, LAST_COMPLETION),
                (row.span_ticks == 0, IN_A_FLIT),
            ];
            let flags = flags.into_iter().filter(|(is, _)| *is).fold(0, |all, (_, flag)| all | flag);
            (TLP, flags, tlp.address)
        }
        What::Duplicate { .. } => (TLP, AGAIN, 0),
        What::DllpInFlit(_) | What::AnswerInFlit(_) => (DLLP, HEADER_IS_KNOWN | IN_A_FLIT, 0),
        _ => (DLLP, HEADER_IS_KNOWN, 0),
    };
    let parts = row.waits.iter().filter_map(|wait| Some((number_of(wait.cause)?, wait.ticks)));
    let parts: Vec<(u8, u64)> = parts.collect();
    let mut out = Vec::with_capacity(LENGTH + 9 * parts.len());
    out.extend_from_slice(&[VERSION, kind]);
    out.extend_from_slice(&((LENGTH + 9 * parts.len()) as u16).to_be_bytes());
    out.extend_from_slice(&flags.to_be_bytes());
    out.extend_from_slice(&[row.channel.unwrap_or(0), parts.len() as u8]);
    out.extend_from_slice(&row.at_ticks.to_be_bytes());
    out.extend_from_slice(&row.span_ticks.to_be_bytes());
    out.extend_from_slice(&row.issued_at_ticks.unwrap_or(0).to_be_bytes());
    out.extend_from_slice(&row.ready_at_ticks.unwrap_or(0).to_be_bytes());
    out.extend_from_slice(&address.to_be_bytes());
    for number in [row.sequence, row.tag, row.length_bytes, row.header_credits, row.data_credits] {
        out.extend_from_slice(&number.unwrap_or(NONE).to_be_bytes());
    }
    let depth = row.queue_depth.map_or(NONE, |depth| u16::try_from(depth).unwrap_or(NONE - 1));
    out.extend_from_slice(&depth.to_be_bytes());
    out.extend_from_slice(&(link as u16).to_be_bytes());
    out.extend_from_slice(&[0; 2]);
    debug_assert_eq!(out.len(), LENGTH);
    for (cause, ticks) in parts {
        out.push(cause);
        out.extend_from_slice(&ticks.to_be_bytes());
    }
    out
}

/// Bytes before the parts of a wait.
const LENGTH: usize = 64;

/// Causes have the numbers of their order from 1 on; a test compares the dissector.
fn number_of(cause: &str) -> Option<u8> {
    Cause::ALL.into_iter().zip(1..).find(|(of, _)| of.name() == cause).map(|(_, number)| number)
}
