//! fio: jobs that keep I/Os in flight on NVMe drives, and its report.
//!
//! Options mean what they mean in fio 3 (HOWTO): `numjobs` clones of a job run side by side, each keeps `iodepth`
//! I/Os in flight and spreads them over its files in turn; sequential jobs start at the beginning of
//! each file and wrap at `size`. I/Os have one size, or several: `blocks.rs`. Synchronous engines keep one I/O in flight. Latencies are `slat` (from the start of
//! the I/O until the kernel has it), `clat` (from there to its completion) and `lat`, their sum.
//!
//! A job that thinks lets everything that is in flight come back first, as fio does (`io_u_quiesce`), whatever its depth.
//!
//! Leaves out: the page cache (`direct=0`), verification, trims, `thinktime_spin`, zoned modes, a rate of its own for each
//! direction of a mix, and the map with which fio visits each random block once before it visits any twice.

use super::blocks::Blocks;
use crate::load::LoadName;
use lanewise_units::{Bytes, Rate, Span};

/// What a job does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pattern {
    /// Percentage of reads; the rest are writes.
    pub read_percent: u32,
    /// Whether blocks are picked at random instead of one after another.
    pub random: bool,
}

/// Who drives the drive, and how it is asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IoEngine {
    /// Asynchronous, by system calls for each I/O: `libaio`.
    Asynchronous,
    /// Asynchronous, by rings that job and kernel share: `io_uring`.
    Ring,
    /// Asynchronous, by a driver in the job's own thread, which the kernel has no part in: `spdk`.
    UserSpace,
    /// One I/O at a time, the thread waits: `sync`, `psync`, `libcufile`.
    Synchronous,
}

/// Whose job it is, and in whose words it is reported.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum JobTool {
    /// fio.
    Fio,
    /// gdsio of GPUDirect Storage, whose threads have one I/O in flight each.
    Gdsio,
}

/// Pauses of a job: what an application computes between its I/Os.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Thinking {
    /// How long each takes.
    pub time: Span,
    /// I/Os that have completed between two of them, at least one.
    pub blocks: u32,
}

/// What a clone of a job is held to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// So many bytes a second (`rate`).
    Bytes(Rate),
    /// So much time from one I/O of the smallest size to the next (`rate_iops`).
    Ios(Span),
}

/// One job section of a job file, with its clones.
#[derive(Clone, Debug, PartialEq)]
pub struct FioConfig {
    /// Name of the job.
    pub name: LoadName,
    /// Whose it is.
    pub tool: JobTool,
    /// What it does.
    pub pattern: Pattern,
    /// Bytes of an I/O.
    pub blocks: Blocks,
    /// I/Os in flight for each clone, at least one.
    pub depth: u32,
    /// Clones, at least one.
    pub jobs: u32,
    /// How the kernel is asked.
    pub engine: IoEngine,
    /// Whether completions are polled for instead of announced by interrupts (`hipri`).
    pub polled: bool,
    /// Files, as indexes of the paths to drives; not empty.
    pub files: Vec<usize>,
    /// Bytes of each file that a clone uses.
    pub size: Bytes,
    /// Whether a clone goes on after it has moved `size` on each of its files.
    pub time_based: bool,
    /// Time after which no more I/Os are issued.
    pub runtime: Option<Span>,
    /// What each clone is held to, on average.
    pub pace: Option<Pace>,
    /// What a clone does besides.
    pub thinking: Option<Thinking>,
    /// Whether clones are reported together.
    pub group_reporting: bool,
    /// Whether the job is in the group of the one before it, which has the report of both when they are reported together.
    pub same_group: bool,
}

impl FioConfig {
    /// These settings, with what may change while the job is at work as in `other`: its mix, as long as it goes both ways or one as
    /// before; the sizes of its blocks, up to the largest of `first`, for which its buffers are; how many are in flight;
    /// its rate and its pauses.
    #[must_use]
    pub(crate) fn with_live_settings_of(&self, other: &Self, first: &Self) -> Self {
        let mut mixed = self.clone();
        let same_ways = self.blocks.reads.is_some() == other.blocks.reads.is_some()
            && self.blocks.writes.is_some() == other.blocks.writes.is_some();
        if same_ways {
            mixed.pattern.read_percent = other.pattern.read_percent;
        }
        if same_ways && other.blocks.largest() <= first.blocks.largest() {
            mixed.blocks = other.blocks.clone();
        }
        if self.engine != IoEngine::Synchronous {
            mixed.depth = other.depth;
        }
        // A job without a rate keeps no account of when its next I/O is due.
        if self.pace.is_some() == other.pace.is_some() {
            mixed.pace = other.pace;
        }
        if self.thinking.is_some() == other.thinking.is_some() {
            mixed.thinking = other.thinking;
        }
        mixed
    }

    /// Time between two I/Os of the smallest size that a clone is held to; longer ones take more.
    pub(crate) fn interval(&self) -> Option<Span> {
        self.pace.map(|pace| match pace {
            Pace::Bytes(rate) => rate.span_ceil(self.blocks.smallest()),
            Pace::Ios(interval) => interval,
        })
    }

    /// I/Os in flight for each clone, after what the engine allows.
    pub(crate) fn effective_depth(&self) -> u32 {
        match self.engine {
            IoEngine::Asynchronous | IoEngine::Ring | IoEngine::UserSpace => self.depth,
            IoEngine::Synchronous => 1,
        }
    }

    /// # Panics
    /// When there is nothing to do, or nowhere to do it.
    pub(crate) fn check(&self) {
        assert!(
            self.depth > 0 && self.jobs > 0 && !self.files.is_empty(),
            "{}: nothing in flight",
            self.name
        );
        self.blocks.check(&self.name, self.pattern.read_percent);
        assert!(self.size >= self.blocks.largest(), "{}: no block in the file", self.name);
        assert!(self.pattern.read_percent <= 100, "{}: more than all are reads", self.name);
        assert!(self.interval() != Some(Span::ZERO), "{}: a rate without end", self.name);
        assert!(self.thinking.is_none_or(|pause| pause.blocks > 0), "{}: nothing but pauses", self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::super::BlockSizes;
    use super::super::job::tests::config;
    use super::*;

    fn reads(kib: u64) -> Blocks {
        Blocks { reads: Some(BlockSizes::One(Bytes::from_kib(kib))), writes: None }
    }

    /// Buffers are for 64 KiB: 128 are not taken, and nothing else is another for it.
    #[test]
    fn blocks_that_are_not_taken_leave_the_rate_as_it_is() {
        let pace = Some(Pace::Bytes(Rate::from_bytes_per_second(65_536_000)));
        let first = FioConfig { blocks: reads(64), pace, size: Bytes::new(1 << 30), ..config() };
        let wanted = FioConfig { blocks: reads(128), ..first.clone() };
        assert_eq!(first.with_live_settings_of(&wanted, &first), first);
        let taken = first.with_live_settings_of(&FioConfig { blocks: reads(16), ..first.clone() }, &first);
        assert_eq!([&first, &taken].map(FioConfig::interval), [1_000, 250].map(|us| Some(Span::from_us(us))));
        let quicker =
            FioConfig { pace: Some(Pace::Bytes(Rate::from_bytes_per_second(131_072_000))), ..wanted };
        let found = first.with_live_settings_of(&quicker, &first);
        assert_eq!((found.interval(), &found.blocks), (Some(Span::from_us(500)), &first.blocks));
    }
}
