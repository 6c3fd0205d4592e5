//! Sizes of a job's I/Os in each direction: one, any of a range, or a mix of some.
//!
//! Source: fio 3.33, HOWTO on `bs`, `bsrange` and `bssplit`, and its `get_next_buflen`: every size is a multiple of the
//! smallest, except the largest of a range, and one that does not fit what is left of the file is drawn again.

use lanewise_engine::random::RandomStream;
use lanewise_units::Bytes;

/// Sizes of both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    /// Sizes of reads; none for a job that does not read.
    pub reads: Option<BlockSizes>,
    /// Sizes of writes; none for a job that does not write.
    pub writes: Option<BlockSizes>,
}

impl Blocks {
    /// The smallest of all.
    pub fn smallest(&self) -> Bytes {
        self.each().map(BlockSizes::smallest).min().unwrap_or(Bytes::ZERO)
    }

    /// The largest of all.
    pub fn largest(&self) -> Bytes {
        self.each().map(BlockSizes::largest).max().unwrap_or(Bytes::ZERO)
    }

    /// Sizes of one direction.
    pub(super) fn of(&self, write: bool) -> &BlockSizes {
        let sizes = if write { &self.writes } else { &self.reads };
        sizes.as_ref().expect("a job has sizes for each direction that it has")
    }

    fn each(&self) -> impl Iterator<Item = &BlockSizes> {
        self.reads.iter().chain(&self.writes)
    }

    pub(super) fn check(&self, job: &str, read_percent: u32) {
        assert_eq!(self.reads.is_some(), read_percent > 0, "{job}: sizes of reads");
        assert_eq!(self.writes.is_some(), read_percent < 100, "{job}: sizes of writes");
        self.each().for_each(|sizes| sizes.check(job));
    }
}

/// Sizes of I/Os.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockSizes {
    /// All alike (`bs`).
    One(Bytes),
    /// From the first to the second (`bsrange`).
    Range(Bytes, Bytes),
    /// Each with its share in percent, which make 100 (`bssplit`).
    Split(Vec<(Bytes, u32)>),
}

impl BlockSizes {
    /// The smallest, of which blocks start at multiples.
    pub fn smallest(&self) -> Bytes {
        match self {
            Self::One(size) | Self::Range(size, _) => *size,
            Self::Split(parts) => parts.iter().map(|part| part.0).min().unwrap_or(Bytes::ZERO),
        }
    }

    /// All that are stated: the ends of a range.
    pub fn stated(&self) -> Vec<Bytes> {
        match self {
            Self::One(size) => vec![*size],
            Self::Range(least, most) => vec![*least, *most],
            Self::Split(parts) => parts.iter().map(|part| part.0).collect(),
        }
    }

    /// The largest.
    pub fn largest(&self) -> Bytes {
        match self {
            Self::One(size) | Self::Range(_, size) => *size,
            Self::Split(parts) => parts.iter().map(|part| part.0).max().unwrap_or(Bytes::ZERO),
        }
    }

    /// The size of the next I/O where so many bytes are left, which hold the smallest.
    pub(super) fn draw(&self, left: Bytes, stream: &mut RandomStream) -> Bytes {
        let smallest = self.smallest();
        loop {
            let drawn = match self {
                Self::One(size) => return *size,
                Self::Range(_, largest) => {
                    let beyond = Bytes::new(stream.below(largest.get()));
                    let whole = smallest * (smallest + beyond).div_floor(smallest);
                    whole.min(*largest)
                }
                Self::Split(parts) => {
                    let size = select_size(parts, stream.below(100));
                    smallest * size.div_floor(smallest)
                }
            };
            if drawn <= left {
                return drawn;
            }
        }
    }

    fn check(&self, job: &str) {
        assert!(self.smallest() > Bytes::ZERO, "{job}: a block of no bytes");
        match self {
            Self::One(_) => {}
            Self::Range(from, to) => assert!(from <= to, "{job}: the smallest block is above the largest"),
            Self::Split(parts) => {
                let shares: u32 = parts.iter().map(|part| part.1).sum();
                assert!(shares == 100 && parts.iter().all(|part| part.1 > 0), "{job}: shares of {shares} %");
            }
        }
    }
}

/// The part that a number below 100 falls into.
fn select_size(parts: &[(Bytes, u32)], number: u64) -> Bytes {
    let mut up_to = 0;
    let hit = parts.iter().find(|(_, percent)| {
        up_to += u64::from(*percent);
        number < up_to
    });
    hit.expect("shares make 100").0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const KIB: fn(u64) -> Bytes = Bytes::from_kib;

    /// How often each size in KiB comes in ten thousand.
    fn drawn(sizes: &BlockSizes, left: Bytes) -> BTreeMap<u64, u32> {
        sizes.check("job");
        let mut stream = RandomStream::new(1, "job", "sizes");
        let mut counts = BTreeMap::new();
        for _ in 0..10_000 {
            *counts.entry(sizes.draw(left, &mut stream).get() / 1024).or_insert(0) += 1;
        }
        counts
    }

    #[test]
    fn a_split_has_its_shares_and_its_sizes_are_multiples_of_the_smallest() {
        let counts = drawn(&BlockSizes::Split(vec![(KIB(16), 30), (KIB(4), 60), (KIB(66), 10)]), KIB(1024));
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [4, 16, 64]);
        assert!((5_800..6_200).contains(&counts[&4]) && (2_800..3_200).contains(&counts[&16]), "{counts:?}");
    }

    #[test]
    fn sizes_of_a_range_are_as_likely_as_each_other() {
        let counts = drawn(&BlockSizes::Range(KIB(4), KIB(16)), KIB(1024));
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [4, 8, 12, 16]);
        assert!(counts.values().all(|count| (2_300..2_700).contains(count)), "{counts:?}");
    }

    #[test]
    fn what_does_not_fit_is_not_drawn() {
        let counts = drawn(&BlockSizes::Split(vec![(KIB(4), 1), (KIB(64), 99)]), KIB(8));
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [4]);
    }
}
