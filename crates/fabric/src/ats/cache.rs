//! Pages whose translations a device has: so many, those used longest ago make room, and invalidations take the oldest.

use lanewise_units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// What a page is counted for.
const USED: usize = 0;
const FILLED: usize = 1;

/// A fully associative cache of pages.
#[derive(Debug)]
pub(super) struct PageCache {
    entries: usize,
    /// By page, when it was used last and when it was filled, as counts.
    pages: BTreeMap<u64, [u64; 2]>,
    /// Pages in the order in which they were used and filled, with the counts of that; what has changed since or is gone, too.
    by: [VecDeque<(u64, u64)>; 2],
    counted: u64,
    /// Time between invalidations, and when the next one comes.
    invalidate: Option<(Span, Time)>,
}

impl PageCache {
    pub(super) fn new(entries: u32, invalidate_interval: Option<Span>) -> Self {
        Self {
            entries: entries.max(1) as usize,
            pages: BTreeMap::new(),
            by: [VecDeque::new(), VecDeque::new()],
            counted: 0,
            invalidate: invalidate_interval.map(|interval| (interval, Time::ZERO + interval)),
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.pages.len() as u64
    }

    /// Whether it has a page, without using it.
    pub(super) fn has(&self, page: u64) -> bool {
        self.pages.contains_key(&page)
    }

    /// Whether it has a page, which is used.
    pub(super) fn find(&mut self, page: u64, now: Time) -> bool {
        self.invalidate_until(now);
        let Some(times) = self.pages.get_mut(&page) else { return false };
        self.counted += 1;
        times[USED] = self.counted;
        self.note(USED, page);
        true
    }

    /// A page comes in.
    pub(super) fn fill(&mut self, page: u64, now: Time) {
        self.invalidate_until(now);
        if self.pages.len() == self.entries && !self.has(page) {
            self.drop_first(USED);
        }
        self.counted += 1;
        self.pages.insert(page, [self.counted; 2]);
        self.note(USED, page);
        self.note(FILLED, page);
    }

    /// A page was used or filled just now.
    fn note(&mut self, how: usize, page: u64) {
        let Self { pages, by, .. } = self;
        by[how].push_back((page, self.counted));
        if by[how].len() > 4 * self.entries.max(16) {
            by[how].retain(|(page, count)| pages.get(page).is_some_and(|own| own[how] == *count));
        }
    }

    /// Drops the page that was used or filled longest ago. Whether there was one.
    fn drop_first(&mut self, how: usize) -> bool {
        while let Some((page, count)) = self.by[how].pop_front() {
            if self.pages.get(&page).is_some_and(|own| own[how] == count) {
                self.pages.remove(&page);
                return true;
            }
        }
        false
    }

    /// Invalidations that came meanwhile: each takes the page that was filled longest ago.
    fn invalidate_until(&mut self, now: Time) {
        while let Some((interval, next)) = self.invalidate.filter(|(_, next)| *next <= now) {
            if !self.drop_first(FILLED) {
                // Nothing is there to take: the next that could comes after now.
                let skipped = (now - next).div_floor(interval);
                self.invalidate = Some((interval, next + interval * (skipped + 1)));
                return;
            }
            self.invalidate = Some((interval, next + interval));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    #[test]
    fn the_page_used_longest_ago_makes_room() {
        let mut cache = PageCache::new(2, None);
        cache.fill(1, at(0));
        cache.fill(2, at(1));
        assert!(cache.find(1, at(2)));
        cache.fill(3, at(3));
        assert_eq!([1, 2, 3].map(|page| cache.has(page)), [true, false, true]);
    }

    #[test]
    fn invalidations_take_the_oldest_page() {
        let mut cache = PageCache::new(8, Some(Span::from_ns(100)));
        cache.fill(1, at(10));
        cache.fill(2, at(20));
        assert!(cache.find(1, at(50)) && cache.find(2, at(99)));
        assert_eq!([1, 2].map(|page| cache.find(page, at(150))), [false, true]);
        assert!(!cache.find(2, at(250)));
        // With nothing to take, time goes on.
        cache.fill(3, at(1_050));
        assert!(cache.find(3, at(1_099)));
        assert!(!cache.find(3, at(1_100)));
    }

    #[test]
    fn a_page_that_comes_again_is_new() {
        let mut cache = PageCache::new(8, Some(Span::from_ns(100)));
        cache.fill(1, at(10));
        cache.fill(2, at(20));
        cache.fill(1, at(30));
        assert!(cache.find(1, at(150)) && !cache.find(2, at(150)));
        assert_eq!(cache.len(), 1);
    }
}
