//! Bytes on the wire for a mix of reads and writes of whole lines, in closed form: with enough of both waiting at all times.
//!
//! In 68 B flits a slot is 17 B of the wire (68 B by 4). M2S: a read is a header of one slot, a write a header and four of data.
//! S2M: two headers share a slot, so a response without data is half a slot and one with data four and a half; but two without and
//! three with data take two slots, which saves a quarter for each without. Nothing is
//! empty on the way that is the limit: the header slot always finds a header while reads or writes wait. On the other way flits go
//! as they come, so what is said of it is the least.
//!
//! In 256 B flits the header slot holds headers alone, the others both: M2S all 15 slots are used as long as there is a header
//! for each flit; S2M the header slot holds two headers and a general one three. With few responses without data, headers of data are
//! the limit: two neighbouring groups of four slots hold three of them (§4.3.4), so a full general slot at the end of a flit leaves the
//! header slot behind it to responses without data. Reads alone repeat after three flits, with ten lines. A latency-optimised flit has two
//! slots for headers alone, which take all headers of as many lines as its 13 slots have data for.

use crate::flit::FlitFormat;
use crate::message::Way;

/// Bytes that each way of the wire has for `reads` and `writes` of lines, in flits of this format.
pub fn wire_bytes(format: FlitFormat, reads: f64, writes: f64) -> [f64; 2] {
    let lines = reads + writes;
    let flits = match format {
        FlitFormat::Bytes68 => {
            let m2s = (reads + 5.0 * writes) / 4.0;
            let s2m = (4.0 * reads + lines / 2.0 - writes.min(reads / 1.5) / 4.0) / 4.0;
            // No more than two messages without data go in a flit.
            [m2s.max(reads / 2.0), s2m.max(writes / 2.0)]
        }
        FlitFormat::Bytes256 => {
            let m2s = (reads + 5.0 * writes) / 15.0;
            // Four requests, or six responses without data, are in half a flit at most.
            let s2m = (4.0 * reads + lines / 3.0) / (14.0 + 2.0 / 3.0);
            [m2s.max(reads / 8.0), s2m.max(0.3 * reads).max(writes / 12.0)]
        }
        FlitFormat::Bytes256LowLatency => {
            let m2s = (reads + 5.0 * writes) / 15.0;
            // Two of its slots have no data.
            let s2m = (4.0 * reads + lines / 3.0) / (13.0 + 4.0 / 3.0);
            let data = |lines: f64| 4.0 * lines / 13.0;
            [m2s.max(data(writes)).max(reads / 8.0), s2m.max(data(reads)).max(writes / 12.0)]
        }
    };
    flits.map(|flits| flits * format.bytes().get() as f64)
}

/// Bytes of lines, read and written together, for each byte on the busier way of the wire.
pub fn efficiency(format: FlitFormat, reads: f64, writes: f64) -> f64 {
    let [m2s, s2m] = wire_bytes(format, reads, writes);
    (reads + writes) * 64.0 / m2s.max(s2m)
}

/// The way that is the limit of a mix.
pub fn busier(format: FlitFormat, reads: f64, writes: f64) -> Way {
    let [m2s, s2m] = wire_bytes(format, reads, writes);
    if m2s > s2m { Way::M2s } else { Way::S2m }
}
