//! Address translation of a root complex: a cache of translations, and walks of page tables for those that it does not have.
//!
//! Rules: docs/explanation/root-complex.md ("Address translation"). The bandwidth of a walk is taken when it is asked for, as that of reads is.

use super::memory::{HOST, Memory};
use super::system::System;
use super::tlp::{COMPLETION, POSTED, Tlp};
use lanewise_fabric::config::IommuConfig;
use lanewise_units::{Span, Time};

/// What one read of a page table moves.
const LINE: u64 = 64;

struct Translation {
    requester: usize,
    page: u64,
    /// When its walk ends.
    ready: Time,
}

/// A translation unit.
pub struct Iommu {
    config: IommuConfig,
    ways: usize,
    /// Those of each set, in the order of their last use.
    sets: Vec<Vec<Translation>>,
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
        Self { config: config.clone(), ways: ways as usize, sets, last_start: None, ends: Vec::new(), posted }
    }

    /// When the translation of an address of a requester is there. In a full set it takes the place of the one used longest ago.
    fn find(&mut self, now: Time, requester: usize, address: u64, memory: &mut Memory) -> Time {
        let page = address / self.config.page.get();
        let set = (page % self.sets.len() as u64) as usize;
        let is_it = |known: &Translation| (known.requester, known.page) == (requester, page);
        if let Some(place) = self.sets[set].iter().position(is_it) {
            let known = self.sets[set].remove(place);
            let ready = known.ready;
            self.sets[set].push(known);
            return ready.max(now);
        }
        let ready = self.walk(now, page, memory);
        if self.sets[set].len() == self.ways {
            self.sets[set].remove(0);
        }
        self.sets[set].push(Translation { requester, page, ready });
        ready
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
