//! One clone of a job: which block of which file comes next, and when it may be asked for.

use super::FioConfig;
use lanewise_engine::random::RandomStream;
use lanewise_units::Time;

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
    /// Slots without an I/O.
    free: Vec<u32>,
    next_file: usize,
    /// Next sequential block of each file: reads, writes.
    next_block: Vec<[u64; 2]>,
    /// I/Os that it may still issue; none for no limit.
    left: Option<u64>,
    ends_at: Option<Time>,
    next_at: Time,
    /// I/Os that may still complete before it thinks.
    until_thought: u32,
    directions: RandomStream,
    offsets: RandomStream,
    asleep: bool,
}

impl Job {
    pub(crate) fn new(
        (group, host, core): (u32, u32, u32),
        config: FioConfig,
        slots: Vec<u32>,
        [directions, offsets]: [RandomStream; 2],
        now: Time,
    ) -> Self {
        let files = config.files.len();
        let blocks = config.size.div_floor(config.block) * files as u64;
        let until_thought = config.thinking.map_or(0, |pause| pause.blocks);
        Self {
            group,
            host,
            core,
            free: slots.into_iter().rev().collect(),
            next_file: 0,
            next_block: vec![[0, 0]; files],
            left: (!config.time_based).then_some(blocks),
            ends_at: config.runtime.map(|runtime| now + runtime),
            next_at: now,
            until_thought,
            directions,
            offsets,
            asleep: false,
            config,
        }
    }

    /// The next I/O, if there is one to issue now. `usable` says which files can be used.
    pub(crate) fn next(&mut self, now: Time, usable: impl Fn(usize) -> bool) -> Next {
        let over = self.ends_at.is_some_and(|end| now >= end) || self.left == Some(0);
        if over || self.free.is_empty() || self.asleep {
            return Next::Wait;
        }
        if self.is_about_to_think() {
            if self.is_busy() {
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
        if let Some(left) = &mut self.left {
            *left -= 1;
        }
        if let Some(interval) = self.config.interval {
            // fio holds the average, so an I/O that was late does not delay those after it.
            self.next_at += interval;
        }
        Next::Issue(slot, self.request(file))
    }

    fn is_about_to_think(&self) -> bool {
        self.config.thinking.is_some() && self.until_thought == 0
    }

    fn is_busy(&self) -> bool {
        self.free.len() < self.config.effective_depth() as usize
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
        let size = self.config.block.get();
        let blocks = self.config.size.div_floor(self.config.block);
        let block = if self.config.pattern.random {
            self.offsets.below(blocks)
        } else {
            let next = &mut self.next_block[file][usize::from(write)];
            let block = *next;
            *next = if block + 1 == blocks { 0 } else { block + 1 };
            block
        };
        Request { file: file as u32, write, offset: block * size, size }
    }

    /// Its rate lets it go on.
    pub(crate) fn awake(&mut self) {
        self.asleep = false;
    }

    /// An I/O is over.
    pub(crate) fn completed(&mut self, slot: u32) {
        self.until_thought = self.until_thought.saturating_sub(1);
        self.free.push(slot);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::{IoEngine, Pattern, Thinking};
    use super::*;
    use lanewise_units::{Bytes, Span};

    pub(crate) fn config() -> FioConfig {
        FioConfig {
            name: "job".into(),
            pattern: Pattern { read_percent: 100, random: false },
            block: Bytes::from_kib(4),
            depth: 4,
            jobs: 1,
            engine: IoEngine::Asynchronous,
            polled: false,
            files: vec![0, 1],
            size: Bytes::from_kib(16),
            time_based: true,
            runtime: None,
            interval: None,
            thinking: None,
            group_reporting: true,
        }
    }

    fn job(config: FioConfig) -> Job {
        let stream = |purpose| RandomStream::new(1, "job", purpose);
        let slots = (0..config.depth).collect();
        Job::new((0, 0, 0), config, slots, [stream("directions"), stream("offsets")], Time::ZERO)
    }

    fn issue(job: &mut Job, now: Time) -> Request {
        match job.next(now, |_| true) {
            Next::Issue(slot, request) => {
                job.completed(slot);
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
        let mut job = job(FioConfig { interval: Some(Span::from_us(1)), ..config() });
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
        job.completed(first);
        assert_eq!(job.next(one, |_| true), Next::Wait, "one is still on its way");
        job.completed(second);
        let over = two + pause.time;
        assert_eq!(job.next(two, |_| true), Next::Sleep(over), "from the last completion on");
        job.awake();
        assert!(matches!(job.next(over, |_| true), Next::Issue(..)));
        assert!(matches!(job.next(over, |_| true), Next::Issue(..)));
    }

    #[test]
    fn a_mix_has_its_share_of_reads() {
        let mix = Pattern { read_percent: 70, random: true };
        let mut job = job(FioConfig { pattern: mix, size: Bytes::new(1 << 30), ..config() });
        let writes = (0..10_000).filter(|_| issue(&mut job, Time::ZERO).write).count();
        assert!((2_800..3_200).contains(&writes), "{writes}");
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
