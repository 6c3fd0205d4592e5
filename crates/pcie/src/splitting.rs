//! Cutting transfers into TLPs: MPS, MRRS, RCB and the 4 KiB rule. PCIe Base §2.2.2, §2.2.7, §2.3.1.1.
//!
//! Everything here is an iterator over [`Chunk`]s and allocates nothing. The limits of the specification are
//! on the Length field, whole DW from the DW of the first byte to that of the last, and so they are here: an
//! unaligned write of 256 bytes at MPS 256 is two TLPs.

use crate::tlp::whole_dwords;
use lanewise_units::Bytes;

/// No request may cross a multiple of this. Source: PCIe Base §2.2.7.
pub const PAGE: Bytes = Bytes::from_kib(4);
/// Read Completion Boundary of every completer but a root complex, which may have 64 B. Source: PCIe Base
/// §2.3.1.1.
pub const RCB: Bytes = Bytes::new(128);

/// A piece of a transfer: one request, or the data of one completion.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Chunk {
    /// Address of its first byte.
    pub address: u64,
    /// Bytes in it.
    pub length: Bytes,
}

impl Chunk {
    /// The address after its last byte.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.address + self.length.get()
    }

    /// Bytes of the whole DW it touches: what the Length field says and a payload takes on the wire.
    #[inline]
    pub const fn dwords(&self) -> Bytes {
        whole_dwords(self.address, self.length)
    }
}

/// Length of the first of the memory requests that write or read `length` bytes at `address`: up to the next multiple of `limit`, so
/// that only the first and the last are short, as DMA engines cut. `limit` is the MPS for writes, the MRRS for reads, or the
/// smaller unit of an engine, a power of two from 32 to 4096 bytes, of which [`PAGE`] is a multiple.
#[inline(always)]
pub const fn first_request(address: u64, length: Bytes, limit: Bytes) -> Bytes {
    let to_next = limit.get() - (address & (limit.get() - 1));
    if length.get() < to_next { length } else { Bytes::new(to_next) }
}

/// Data of the completions that answer a read of `length` bytes at `address`.
///
/// A request inside one RCB is answered by one completion; otherwise every completion but the last ends at a
/// multiple of `rcb`. A completer joins the lines of one RCB each, as many as `combine_max` holds: one line
/// when it is the RCB itself, up to the MPS for those that combine. Source: PCIe Base §2.3.1.1.
///
/// # Panics
/// When `rcb` is neither 64 nor 128 bytes, or `combine_max` is not a multiple of it up to 4096 bytes.
pub const fn completions(address: u64, length: Bytes, rcb: Bytes, combine_max: Bytes) -> Completions {
    let (rcb, longest) = (rcb.get(), combine_max.get());
    assert!(rcb == 64 || rcb == 128, "the RCB is 64 or 128 B");
    assert!(
        longest >= rcb && longest % rcb == 0 && longest <= 4096,
        "completions carry whole RCBs up to 4096 B"
    );
    Completions { rest: Chunk { address, length }, rcb, longest }
}

/// Iterator of [`completions`].
#[derive(Clone, Debug)]
pub struct Completions {
    rest: Chunk,
    rcb: u64,
    longest: u64,
}

impl Completions {
    /// Bytes still to come: the Byte Count of the next completion.
    #[inline]
    pub const fn byte_count(&self) -> Bytes {
        self.rest.length
    }
}

impl Iterator for Completions {
    type Item = Chunk;

    #[inline]
    fn next(&mut self) -> Option<Chunk> {
        if self.rest.length == Bytes::ZERO {
            return None;
        }
        let first_line = self.rest.address & !(self.rcb - 1); // An RCB is a power of two.
        Some(cut(&mut self.rest, first_line + self.longest))
    }
}

/// Takes what lies before `end` off the front of `rest`.
#[inline]
fn cut(rest: &mut Chunk, end: u64) -> Chunk {
    let length = Bytes::new(end - rest.address).min(rest.length);
    let chunk = Chunk { address: rest.address, length };
    *rest = Chunk { address: chunk.end(), length: rest.length.saturating_sub(length) };
    chunk
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MPS: Bytes = Bytes::new(256);

    fn lengths(chunks: impl IntoIterator<Item = Chunk>) -> Vec<u64> {
        chunks.into_iter().map(|chunk| chunk.length.get()).collect()
    }

    fn requests(address: u64, length: u64, limit: u64) -> Vec<Chunk> {
        let mut rest = Chunk { address, length: Bytes::new(length) };
        let mut chunks = Vec::new();
        while rest.length > Bytes::ZERO {
            let length = first_request(rest.address, rest.length, Bytes::new(limit));
            chunks.push(Chunk { address: rest.address, length });
            rest = Chunk { address: rest.address + length.get(), length: rest.length - length };
        }
        chunks
    }

    #[test]
    fn a_257_byte_write_at_mps_256_is_two_tlps() {
        assert_eq!(lengths(requests(0, 257, 256)), [256, 1]);
    }

    #[test]
    fn requests_stop_at_4_kib() {
        assert_eq!(lengths(requests(4096 - 64, 512, 512)), [64, 448]);
    }

    #[test]
    fn an_unaligned_write_may_not_exceed_mps_in_dwords() {
        let chunks = requests(1, 256, 256);
        assert_eq!(lengths(chunks.iter().copied()), [255, 1]);
        assert_eq!(chunks[0].dwords(), Bytes::new(256));
        assert_eq!(chunks[1].dwords(), Bytes::new(4));
    }

    #[test]
    fn only_the_first_request_and_the_last_are_short() {
        assert_eq!(lengths(requests(96, 1024, 256)), [160, 256, 256, 256, 96]);
    }

    #[test]
    fn completions_end_at_rcb_multiples() {
        let of = |address, length, combine| {
            lengths(completions(address, Bytes::new(length), Bytes::new(64), Bytes::new(combine)))
        };
        assert_eq!(of(0, 256, 64), [64, 64, 64, 64]);
        assert_eq!(of(16, 256, 64), [48, 64, 64, 64, 16]);
        assert_eq!(of(16, 512, 256), [240, 256, 16]);
        assert_eq!(of(16, 32, 256), [32], "inside one RCB");
        assert_eq!(of(60, 8, 64), [4, 4], "across one");
        assert_eq!(of(60, 8, 256), [8], "combined");
        assert_eq!(of(16, 250, 256), [240, 10], "four lines and a bit");
    }

    #[test]
    fn byte_count_is_what_is_still_to_come() {
        let mut chunks = completions(0, Bytes::new(200), Bytes::new(64), Bytes::new(128));
        assert_eq!(chunks.byte_count(), Bytes::new(200));
        chunks.next();
        assert_eq!(chunks.byte_count(), Bytes::new(72));
    }

    #[test]
    fn nothing_to_send_is_no_completion() {
        assert_eq!(completions(64, Bytes::ZERO, Bytes::new(64), MPS).count(), 0);
    }

    fn limit() -> impl Strategy<Value = u64> {
        prop::sample::select(vec![128, 256, 512, 1024, 2048, 4096])
    }

    fn unit() -> impl Strategy<Value = u64> {
        prop::sample::select(vec![32, 64, 128, 256, 512, 1024, 2048, 4096])
    }

    /// Whether chunks follow each other without gap and cover the transfer.
    fn covers(chunks: &[Chunk], address: u64, length: u64) -> bool {
        let mut next = address;
        let contiguous = chunks.iter().all(|chunk| {
            let follows = chunk.address == next && chunk.length > Bytes::ZERO;
            next = chunk.end();
            follows
        });
        contiguous && next == address + length
    }

    proptest! {
        /// Requests cover the transfer once, stay within the limit in DW, and never cross 4 KiB.
        #[test]
        fn requests_obey_every_limit(address in 0u64..1 << 40, length in 1u64..40_000, limit in unit()) {
            let chunks = requests(address, length, limit);
            prop_assert!(covers(&chunks, address, length));
            for chunk in &chunks {
                prop_assert!(chunk.dwords().get() <= limit);
                prop_assert_eq!(chunk.address / PAGE.get(), (chunk.end() - 1) / PAGE.get());
            }
            let (_, all_but_last) = chunks.split_last().expect("a request");
            prop_assert!(all_but_last.iter().all(|chunk| chunk.end() % limit == 0));
        }

        /// Completions cover the request once, in order, at most as long as allowed, cut at RCB multiples
        /// only.
        #[test]
        fn completions_obey_the_rcb(
            address in 0u64..1 << 40,
            length in 1u64..=4096,
            rcb in prop::sample::select(vec![64u64, 128]),
            combine in limit(),
            combines in any::<bool>(),
        ) {
            let longest = if combines { combine } else { rcb };
            let chunks: Vec<Chunk> =
                completions(address, Bytes::new(length), Bytes::new(rcb), Bytes::new(longest)).collect();
            prop_assert!(covers(&chunks, address, length));
            prop_assert!(chunks.iter().all(|chunk| chunk.dwords().get() <= longest));
            let (_, all_but_last) = chunks.split_last().expect("a completion");
            prop_assert!(all_but_last.iter().all(|chunk| chunk.end() % rcb == 0));
            if address / rcb == (address + length - 1) / rcb {
                prop_assert_eq!(chunks.len(), 1);
            }
        }
    }
}
