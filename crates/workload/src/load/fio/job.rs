//! One clone of a job: which block of which file comes next, and when it may be asked for.

use super::blocks::{BlockSizes, Blocks};
use super::jobs::FioConfig;
use lanewise_engine::random::RandomStream;
use lanewise_units::{Bytes, Span, Time};

/// What a job asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    /// Index among the job's files.
    pub file: u32,
    pub write: bool,
    pub offset: u64,
    pub size: u64,
}

/// What a job does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// All its I/Os are in flight, or it has done its work.
    Wait,
    /// Its rate lets it go on then, or it has thought for long enough.
    Sleep(Time),
    /// This, with the slot for it.
    Issue(u32, Request),
}

/// A clone at work.
#[derive(Debug)]
pub(crate) struct Job {
    /// Index of the job section.
    pub(crate) group: u32,
    /// Index of its host.
    pub(crate) host: u32,
    /// Core it runs on.
    pub(crate) core: u32,
    config: FioConfig,
    /// Slots that it may use, and those of them without an I/O.
    slots: u32,
    free: Vec<u32>,
    /// Slots that it used when more I/Os might be in flight.
    spare: Vec<u32>,
    next_file: usize,
    /// Where the next sequential block of each file starts: reads, writes.
    next_offset: Vec<[u64; 2]>,
    /// Bytes that it may still ask for; none for no limit.
    left: Option<u64>,
    ends_at: Option<Time>,
    /// When its last I/O was over.
    last: Time,
    next_at: Time,
    /// I/Os that may still complete before it thinks.
    until_thought: u32,
    directions: RandomStream,
    offsets: RandomStream,
    sizes: RandomStream,
    asleep: bool,
}

impl Job {
    pub(crate) fn new(
        (group, host, core): (u32, u32, u32),
        config: FioConfig,
        slots: Vec<u32>,
        [directions, offsets, sizes]: [RandomStream; 3],
        now: Time,
    ) -> Self {
        let files = config.files.len();
        let smallest = config.blocks.smallest();
        let bytes = smallest * (config.size.div_floor(smallest) * files as u64);
        let until_thought = config.thinking.map_or(0, |pause| pause.blocks);
        Self {
            group,
            host,
            core,
            slots: slots.len() as u32,
            free: slots.into_iter().rev().collect(),
            spare: Vec::new(),
            next_file: 0,
            next_offset: vec![[0, 0]; files],
            left: (!config.time_based).then_some(bytes.get()),
            ends_at: config.runtime.map(|runtime| now + runtime),
            last: now,
            next_at: now,
            until_thought,
            directions,
            offsets,
            sizes,
            asleep: false,
            config,
        }
    }

    /// The next I/O, if there is one to issue now. `usable` says which files can be used.
    pub(crate) fn next(&mut self, now: Time, usable: impl Fn(usize) -> bool) -> Next {
        if self.is_over(now) || self.free.is_empty() || self.asleep {
            return Next::Wait;
        }
        if self.is_about_to_think() {
            if self.in_flight() > 0 {
                return Next::Wait;
            }
            self.think(now);
        }
        if self.next_at > now {
            self.asleep = true;
            return Next::Sleep(self.next_at);
        }
        let Some(file) = self.pick_file(usable) else { return Next::Wait };
        let Some(slot) = self.free.pop() else { return Next::Wait };
        let request = self.request(file);
        if let Some(left) = &mut self.left {
            // fio asks whether the last I/O was beyond the end, not whether the next one is.
            *left = left.saturating_sub(request.size);
        }
        if let Some(interval) = self.config.interval() {
            // fio holds the average, so an I/O that was late does not delay those after it.
            self.next_at += times(interval, request.size, self.config.blocks.smallest());
        }
        Next::Issue(slot, request)
    }

    /// Whether it asks for nothing more.
    fn is_over(&self, now: Time) -> bool {
        self.ends_at.is_some_and(|end| now >= end) || self.left == Some(0)
    }

    /// When it ended, if it has: with its last I/O, or with its runtime if nothing was in flight then.
    pub(crate) fn ended(&self, now: Time) -> Option<Time> {
        let by_time = self.ends_at.filter(|end| *end <= now && self.left != Some(0));
        let has_ended = self.is_over(now) && self.in_flight() == 0;
        has_ended.then(|| by_time.map_or(self.last, |end| end.max(self.last)))
    }

    /// Takes other settings, which hold from the next I/O on. Slots beyond those that may be in flight are left out as they come
    /// back; how many are wanted in addition.
    pub(crate) fn retune(&mut self, config: FioConfig) -> u32 {
        let before = self.config.effective_depth();
        let after = config.effective_depth();
        self.config = config;
        let Blocks { reads, writes } = &self.config.blocks;
        for (way, sizes) in [reads, writes].into_iter().enumerate() {
            let Some(smallest) = sizes.as_ref().map(BlockSizes::smallest) else { continue };
            for next in self.next_offset.iter_mut().map(|next| &mut next[way]) {
                *next = after_block(Bytes::new(*next), smallest, self.config.size);
            }
        }
        let back = self.spare.len().min(after.saturating_sub(before) as usize);
        self.free.extend(self.spare.drain(..back));
        self.slots += back as u32;
        while self.slots > after
            && let Some(slot) = self.free.pop()
        {
            self.spare.push(slot);
            self.slots -= 1;
        }
        after.saturating_sub(self.slots)
    }

    /// One more slot for an I/O.
    pub(crate) fn add_slot(&mut self, slot: u32) {
        self.free.push(slot);
        self.slots += 1;
    }

    fn is_about_to_think(&self) -> bool {
        self.config.thinking.is_some() && self.until_thought == 0
    }

    /// I/Os in flight.
    pub(crate) fn in_flight(&self) -> u32 {
        self.slots - self.free.len() as u32
    }

    fn think(&mut self, now: Time) {
        if let Some(pause) = self.config.thinking {
            self.until_thought = pause.blocks;
            self.next_at = self.next_at.max(now + pause.time);
        }
    }

    /// The files take turns; one that cannot be used is passed over.
    fn pick_file(&mut self, usable: impl Fn(usize) -> bool) -> Option<usize> {
        let count = self.config.files.len();
        let file = (self.next_file..self.next_file + count)
            .map(|file| file % count)
            .find(|file| usable(self.config.files[*file]))?;
        self.next_file = (file + 1) % count;
        Some(file)
    }

    fn request(&mut self, file: usize) -> Request {
        let write = match self.config.pattern.read_percent {
            100 => false,
            0 => true,
            percent => self.directions.below(100) >= u64::from(percent),
        };
        let sizes = self.config.blocks.of(write);
        let (smallest, end) = (sizes.smallest(), self.config.size);
        let next = &mut self.next_offset[file][usize::from(write)];
        let offset = if self.config.pattern.random {
            smallest * self.offsets.below(end.div_floor(smallest))
        } else {
            Bytes::new(*next)
        };
        let size = sizes.draw(end - offset, &mut self.sizes);
        *next = after_block(offset + size, smallest, end);
        Request { file: file as u32, write, offset: offset.get(), size: size.get() }
    }

    /// Its rate lets it go on.
    pub(crate) fn awake(&mut self) {
        self.asleep = false;
    }

    /// An I/O is over.
    pub(crate) fn completed(&mut self, slot: u32, now: Time) {
        self.last = now;
        self.until_thought = self.until_thought.saturating_sub(1);
        if self.slots > self.config.effective_depth() {
            self.slots -= 1;
            self.spare.push(slot);
        } else {
            self.free.push(slot);
        }
    }
}

/// Where a sequential block starts when the last ended here: at the start of the file if the smallest of its direction does not fit.
fn after_block(at: Bytes, smallest: Bytes, end: Bytes) -> u64 {
    if at + smallest > end { 0 } else { at.get() }
}

/// The time for `size` bytes when so many take `interval`.
fn times(interval: Span, size: u64, bytes: Bytes) -> Span {
    Span::from_ticks((u128::from(interval.ticks()) * u128::from(size) / u128::from(bytes.get())) as u64)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::{IoEngine, JobTool, Pace, Pattern, Thinking};
    use super::*;

    const KIB_4: BlockSizes = BlockSizes::One(Bytes::from_kib(4));

    fn reads(sizes: BlockSizes) -> Blocks {
        Blocks { reads: Some(sizes), writes: None }
    }

    pub(crate) fn config() -> FioConfig {
        FioConfig {
            name: "job".into(),
            tool: JobTool::Fio,
            pattern: Pattern { read_percent: 100, random: false },
            blocks: reads(KIB_4),
            depth: 4,
            jobs: 1,
            engine: IoEngine::Asynchronous,
            polled: false,
            files: vec![0, 1],
            size: Bytes::from_kib(16),
            time_based: true,
            runtime: None,
            pace: None,
            thinking: None,
            group_reporting: true,
            same_group: false,
        }
    }

    fn job(config: FioConfig) -> Job {
        let stream = |purpose| RandomStream::new(1, "job", purpose);
        let slots = (0..config.depth).collect();
        Job::new((0, 0, 0), config, slots, ["directions", "offsets", "sizes"].map(stream), Time::ZERO)
    }

    fn issue(job: &mut Job, now: Time) -> Request {
        match job.next(now, |_| true) {
            Next::Issue(slot, request) => {
                job.completed(slot, now);
                request
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn files_take_turns_and_blocks_follow_each_other_to_the_end_of_the_file() {
        let mut job = job(config());
        let seen: Vec<(u32, u64)> = (0..10)
            .map(|_| issue(&mut job, Time::ZERO))
            .map(|request| (request.file, request.offset / 4096))
            .collect();
        assert_eq!(seen[..4], [(0, 0), (1, 0), (0, 1), (1, 1)]);
        assert_eq!(seen[8..], [(0, 0), (1, 0)], "from the end back to the start");
    }

    #[test]
    fn depth_size_and_runtime_end_it() {
        let mut deep = job(config());
        for _ in 0..4 {
            assert!(matches!(deep.next(Time::ZERO, |_| true), Next::Issue(..)));
        }
        assert_eq!(deep.next(Time::ZERO, |_| true), Next::Wait, "all in flight");

        let mut sized = job(FioConfig { time_based: false, ..config() });
        for _ in 0..8 {
            issue(&mut sized, Time::ZERO);
        }
        assert_eq!(sized.next(Time::ZERO, |_| true), Next::Wait, "four blocks of each of two files");

        let mut timed = job(FioConfig { runtime: Some(Span::from_us(10)), ..config() });
        issue(&mut timed, Time::ZERO + Span::from_us(9));
        assert_eq!(timed.next(Time::ZERO + Span::from_us(10), |_| true), Next::Wait);
    }

    #[test]
    fn a_rate_spaces_the_ios() {
        let mut job = job(FioConfig { pace: Some(Pace::Ios(Span::from_us(1))), ..config() });
        issue(&mut job, Time::ZERO);
        let due = Time::ZERO + Span::from_us(1);
        assert_eq!(job.next(Time::ZERO, |_| true), Next::Sleep(due));
        assert_eq!(job.next(due, |_| true), Next::Wait, "asleep until it is woken");
        job.awake();
        issue(&mut job, due);
    }

    #[test]
    fn a_job_thinks_when_everything_in_flight_is_back() {
        let pause = Thinking { time: Span::from_us(5), blocks: 1 };
        let mut job = job(FioConfig { thinking: Some(pause), depth: 2, ..config() });
        let [Next::Issue(first, _), Next::Issue(second, _)] = [0; 2].map(|_| job.next(Time::ZERO, |_| true))
        else {
            panic!("two are allowed in flight")
        };
        let (one, two) = (Time::ZERO + Span::from_us(1), Time::ZERO + Span::from_us(2));
        job.completed(first, one);
        assert_eq!(job.next(one, |_| true), Next::Wait, "one is still on its way");
        job.completed(second, two);
        let over = two + pause.time;
        assert_eq!(job.next(two, |_| true), Next::Sleep(over), "from the last completion on");
        job.awake();
        assert!(matches!(job.next(over, |_| true), Next::Issue(..)));
        assert!(matches!(job.next(over, |_| true), Next::Issue(..)));
    }

    #[test]
    fn a_mix_has_its_share_of_reads() {
        let mix = Pattern { read_percent: 70, random: true };
        let blocks = Blocks { writes: Some(KIB_4), ..reads(KIB_4) };
        let mut job = job(FioConfig { pattern: mix, blocks, size: Bytes::new(1 << 30), ..config() });
        let writes = (0..10_000).filter(|_| issue(&mut job, Time::ZERO).write).count();
        assert!((2_800..3_200).contains(&writes), "{writes}");
    }

    #[test]
    fn blocks_of_several_sizes_follow_each_other_without_a_gap_and_end_where_the_file_does() {
        let split = BlockSizes::Split(vec![(Bytes::from_kib(4), 50), (Bytes::from_kib(12), 50)]);
        let size = Bytes::from_kib(400);
        let mut job = job(FioConfig { blocks: reads(split), size, files: vec![0], ..config() });
        let mut at = 0;
        for _ in 0..200 {
            let request = issue(&mut job, Time::ZERO);
            assert!(request.offset == at || request.offset == 0 && at == size.get(), "{request:?} at {at}");
            at = request.offset + request.size;
            assert!(at <= size.get(), "{request:?}");
        }
    }

    #[test]
    fn directions_have_sizes_of_their_own() {
        let mix = Pattern { read_percent: 50, random: true };
        let blocks = Blocks { reads: Some(KIB_4), writes: Some(BlockSizes::One(Bytes::from_kib(16))) };
        let mut job = job(FioConfig { pattern: mix, blocks, size: Bytes::from_kib(1024), ..config() });
        for _ in 0..100 {
            let Request { write, offset, size, .. } = issue(&mut job, Time::ZERO);
            assert_eq!(size, if write { 16_384 } else { 4_096 });
            assert_eq!(offset % size, 0);
        }
    }

    #[test]
    fn a_rate_gives_longer_blocks_more_time() {
        let blocks = BlockSizes::Split(vec![(Bytes::from_kib(4), 1), (Bytes::from_kib(16), 99)]);
        let pace = Some(Pace::Ios(Span::from_us(1)));
        let mut job = job(FioConfig { blocks: reads(blocks), pace, ..config() });
        let first = issue(&mut job, Time::ZERO);
        let due = Time::ZERO + Span::from_us(first.size / 4_096);
        assert_eq!(job.next(Time::ZERO, |_| true), Next::Sleep(due));
    }

    /// What begins behind the last place where a block of its own direction fits begins again at the start of the file.
    #[test]
    fn blocks_that_become_larger_end_where_the_file_does() {
        for larger in [
            BlockSizes::Range(Bytes::from_kib(64), Bytes::from_kib(128)),
            BlockSizes::One(Bytes::from_kib(128)),
        ] {
            let sizes = BlockSizes::Range(Bytes::from_kib(4), Bytes::from_kib(128));
            let pattern = Pattern { read_percent: 1, random: false };
            let size = Bytes::from_kib(256);
            let before = FioConfig {
                pattern,
                blocks: Blocks { writes: Some(sizes), ..reads(KIB_4) },
                size,
                files: vec![0],
                ..config()
            };
            let mut job = job(before.clone());
            job.next_offset[0][1] = 248 << 10;
            job.retune(FioConfig { blocks: Blocks { writes: Some(larger), ..reads(KIB_4) }, ..before });
            assert_eq!(job.next_offset, [[0, 0]]);
            for _ in 0..100 {
                let Request { offset, size: bytes, .. } = issue(&mut job, Time::ZERO);
                assert!(offset + bytes <= size.get(), "{bytes} B at {offset}");
            }
        }
    }

    #[test]
    fn a_file_that_is_elsewhere_is_passed_over() {
        let mut job = job(config());
        let mut files = Vec::new();
        for _ in 0..3 {
            let Next::Issue(_, request) = job.next(Time::ZERO, |file| file == 1) else {
                panic!("one is left")
            };
            files.push(request.file);
        }
        assert_eq!(files, [1, 1, 1]);
    }
}
