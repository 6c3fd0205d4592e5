//! Address translation of a root complex: a cache of translations, and walks of page tables for those that it does not have. The cache
//! has a translation from the end of its walk on.
//!
//! Rules: docs/explanation/root-complex.md ("Address translation"). The bandwidth of a walk is taken when it is asked for, as that of reads is.

use super::memory::{HOST, Memory};
use super::system::System;
use super::tlp::{COMPLETION, POSTED, Tlp};
use lanewise_fabric::config::IommuConfig;
use lanewise_units::{Span, Time};

/// What one read of a page table moves.
const LINE: u64 = 64;

#[derive(Clone, Copy, PartialEq)]
struct Translation {
    requester: usize,
    page: u64,
}

/// A translation unit.
pub struct Iommu {
    config: IommuConfig,
    ways: usize,
    /// Those of each set, in the order of their last use.
    sets: Vec<Vec<Translation>>,
    /// What is walked for and when it is found, in the order in which it was asked for.
    sought: Vec<(Time, Translation)>,
    /// When the last walk began, and when each ends, in order of time.
    last_start: Option<Time>,
    ends: Vec<Time>,
    /// By root port, when all of its posted writes so far are translated.
    posted: Vec<Time>,
}

impl Iommu {
    pub fn new(config: &IommuConfig, ports: usize) -> Self {
        let ways = config.ways.min(config.entries);
        let sets = (0..config.entries / ways).map(|_| Vec::new()).collect();
        let posted = vec![Time::ZERO; ports];
        Self {
            config: config.clone(),
            ways: ways as usize,
            sets,
            sought: Vec::new(),
            last_start: None,
            ends: Vec::new(),
            posted,
        }
    }

    /// When the translation of an address of a requester is there. Who asks for what is walked for waits for that walk.
    fn find(&mut self, now: Time, requester: usize, address: u64, memory: &mut Memory) -> Time {
        self.take_what_is_found(now);
        let wanted = Translation { requester, page: address / self.config.page.get() };
        let set = self.set_of(wanted);
        if let Some(place) = self.sets[set].iter().position(|known| *known == wanted) {
            self.sets[set].remove(place);
            self.sets[set].push(wanted);
            return now;
        }
        if let Some((ready, _)) = self.sought.iter().find(|(_, other)| *other == wanted) {
            return *ready;
        }
        let ready = self.walk(now, wanted.page, memory);
        self.sought.push((ready, wanted));
        ready
    }

    fn set_of(&self, translation: Translation) -> usize {
        (translation.page % self.sets.len() as u64) as usize
    }

    /// What has been found by now goes into the cache, in the order in which it was found. In a full set it takes the place of the one used
    /// longest ago.
    fn take_what_is_found(&mut self, now: Time) {
        let (mut found, sought): (Vec<_>, Vec<_>) = self.sought.iter().partition(|(ready, _)| *ready <= now);
        self.sought = sought;
        found.sort_by_key(|(ready, _)| *ready);
        for (_, translation) in found {
            let set = self.set_of(translation);
            if self.sets[set].len() == self.ways {
                self.sets[set].remove(0);
            }
            self.sets[set].push(translation);
        }
    }

    /// When a walk ends that is asked for now: it starts when a walker is free, and a while after the one before it at the earliest.
    fn walk(&mut self, now: Time, page: u64, memory: &mut Memory) -> Time {
        let free = self.ends.iter().rev().nth(self.config.walkers as usize - 1).map_or(now, |end| *end);
        let turn = self.last_start.map_or(now, |last| last + self.config.walk_interval);
        let start = now.max(free).max(turn);
        self.last_start = Some(start);
        let mut end = start;
        for step in 0..u64::from(self.config.walk_steps) {
            end = end.max(memory.serve(now, HOST, (page << 3 | step) * LINE, LINE));
        }
        end += self.config.walk_step_latency * u64::from(self.config.walk_steps);
        self.ends.insert(self.ends.partition_point(|other| *other <= end), end);
        end
    }
}

impl System {
    /// How long the request that came in at a root port waits for its translation. Writes of one root port stay in order, but those with
    /// Relaxed Ordering pass others.
    pub fn translate(&mut self, device: usize, root_port: usize, tlp: &Tlp) -> Span {
        let now = self.now;
        let host = self.host(device);
        let Some(iommu) = host.iommu.as_mut().filter(|_| tlp.class() != COMPLETION) else {
            return Span::ZERO;
        };
        let requester = tlp.from.expect("an endpoint asks");
        let translated = iommu.find(now, requester, tlp.address, &mut host.memory);
        if tlp.class() != POSTED {
            return translated - now;
        }
        let all = &mut iommu.posted[root_port];
        *all = translated.max(*all);
        if tlp.relaxed { translated - now } else { all.saturating_since(now) }
    }
}
