//! Address translation services of a device: a cache of translations of its own, and requests for those that it lacks.
//!
//! Pages of a transfer to or from host memory are looked up in the order of their addresses, transfers in the order in which they
//! were submitted, and ahead of the port: as far as what is cached goes, and as many translation requests as may be out. A page
//! that is not cached is asked for with a Translation Request, a memory read of 8 B for each page, which takes a tag and its way
//! up to the host's translation unit; its completion has the translations. Until then the requests of that page wait, and
//! those behind them on their channel. What a transfer was given it keeps until its last request, whatever becomes of the cache. Requests with a
//! translation pass the host's unit by. A request that runs into the device's completion timeout is given up like any read
//! (PCIe Base §2.8), and its pages are asked for again. Sources: PCIe Base §10.2 (requests and completions), §10.3 (invalidation).
//! Assumed: the translation used longest ago makes room; a device asks again until it has what it needs. Left out: the TLPs of
//! invalidations, of which only what they take from the cache is modelled; page requests (PRI); translations for peers; faults.
//!
//! All of it is cold: a device without a cache has a null pointer instead.

use crate::config::AtsConfig;
use crate::fabric::Fabric;
use crate::packet::Packet;
use crate::server::{Book, Level};
use lanewise_units::{Bytes, Few, Time};
use std::collections::VecDeque;

mod cache;

use cache::PageCache;

/// A translation in a completion. Source: PCIe Base §10.2.3.
pub(crate) const TRANSLATION: Bytes = Bytes::new(8);

impl AtsConfig {
    /// The most that `prefetch` may be below a root complex with this RCB: the Length of a Translation Request is the RCB at most, so
    /// that one completion has all that it asks for. Source: PCIe Base §10.2.2.
    pub fn most_prefetch(rcb: Bytes) -> u32 {
        rcb.div_floor(TRANSLATION) as u32 - 1
    }
}

/// Pages that are asked for together.
#[derive(Clone, Copy, Debug)]
struct Ask {
    first: u64,
    count: u32,
    /// The transfer that needs the first of them.
    transfer: u32,
}

/// Pages of a transfer that are still to be looked up.
#[derive(Clone, Copy, Debug)]
struct Lookup {
    transfer: u32,
    next: u64,
    last: u64,
}

/// What a transfer has of its translations.
#[derive(Debug, Default)]
struct Needs {
    /// Pages before this one are looked up.
    looked_up: u64,
    /// Those of them that have not come, and since when they are waited for.
    missing: Few<u64, Time>,
}

/// The translation cache of one device.
#[derive(Debug)]
pub(crate) struct Translations {
    config: AtsConfig,
    cache: PageCache,
    /// Pages that are asked for, or are to be, each with the transfers that wait for it.
    asked: Few<u64, Vec<u32>>,
    to_ask: VecDeque<Ask>,
    /// By slot of the read.
    out: Few<u16, Ask>,
    lookups: VecDeque<Lookup>,
    /// By transfer.
    needs: Few<u32, Needs>,
    /// Channels whose next request lacks its translation: they take no turns.
    parked: Vec<u32>,
    lookups_made: Book,
    requests_made: Book,
    cached: Level,
    under_way: Level,
}

impl Translations {
    pub(crate) fn new(config: &AtsConfig) -> Box<Self> {
        Box::new(Self {
            cache: PageCache::new(config.entries, config.invalidate_interval),
            config: config.clone(),
            asked: Few::default(),
            to_ask: VecDeque::new(),
            out: Few::default(),
            lookups: VecDeque::new(),
            needs: Few::default(),
            parked: Vec::new(),
            lookups_made: Book::default(),
            requests_made: Book::default(),
            cached: Level::default(),
            under_way: Level::default(),
        })
    }

    /// The page that an address is in.
    fn page(&self, address: u64) -> u64 {
        Bytes::new(address).div_floor(self.config.page)
    }

    /// A transfer of host memory was submitted: its pages are looked up when their turn comes.
    pub(crate) fn submitted(&mut self, transfer: u32, address: u64, length: u64, now: Time) {
        let (next, last) = (self.page(address), self.page(address + length - 1));
        self.needs.insert(transfer, Needs { looked_up: next, ..Needs::default() });
        self.lookups.push_back(Lookup { transfer, next, last });
        self.look_up(now);
    }

    /// Whether the request at this address of a transfer has its translation, or needs none.
    pub(crate) fn may_go(&self, transfer: u32, address: u64) -> bool {
        let page = self.page(address);
        self.needs.get(transfer).is_none_or(|needs| page < needs.looked_up && !needs.missing.has(page))
    }

    /// A channel takes no turns until a translation comes.
    pub(crate) fn park(&mut self, channel: u32) {
        self.parked.push(channel);
    }

    pub(crate) fn anybody_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    /// The last request of a transfer has been made.
    pub(crate) fn over(&mut self, transfer: u32) {
        self.needs.remove(transfer);
    }

    /// Looks up pages as far as there is room for more requests.
    fn look_up(&mut self, now: Time) {
        while let Some(lookup) = self.lookups.front().copied() {
            let page = lookup.next;
            let hit = self.cache.find(page, now);
            if !hit && !self.asked.has(page) {
                if self.out.len() + self.to_ask.len() >= self.config.requests as usize {
                    break;
                }
                self.ask(page, lookup.transfer);
            }
            self.lookups_made.served += 1;
            let needs = self.needs.get_mut(lookup.transfer).expect("its requests are not made");
            needs.looked_up = page + 1;
            if !hit {
                needs.missing.insert(page, now);
                self.asked.get_mut(page).expect("it is asked for").push(lookup.transfer);
            }
            match page == lookup.last {
                true => _ = self.lookups.pop_front(),
                false => self.lookups[0].next += 1,
            }
        }
        self.cached.set(self.cache.len(), now);
    }

    /// Asks for a page, and for those behind it as the device does, up to one that it has or has asked for.
    fn ask(&mut self, first: u64, transfer: u32) {
        let known = |page: &u64| self.cache.has(*page) || self.asked.has(*page);
        let more = (first + 1..=first + u64::from(self.config.prefetch)).take_while(|page| !known(page));
        let count = 1 + more.count() as u32;
        for page in first..first + u64::from(count) {
            self.asked.insert(page, Vec::new());
        }
        self.to_ask.push_back(Ask { first, count, transfer });
    }

    /// Whether pages wait to be asked for.
    pub(crate) fn has_to_ask(&self) -> bool {
        !self.to_ask.is_empty()
    }

    /// The next pages are asked for, with the tag of this slot: the transfer that needs them, their address, and the bytes of
    /// their translations.
    pub(crate) fn ask_next(&mut self, slot: u16, now: Time) -> (u32, u64, Bytes) {
        let ask = self.to_ask.pop_front().expect("asked for only where there are some");
        self.out.insert(slot, ask);
        self.under_way.set(self.out.len() as u64, now);
        self.requests_made.served += 1;
        (ask.transfer, ask.first * self.config.page.get(), TRANSLATION * u64::from(ask.count))
    }

    /// The request of a read's slot is given up: its pages are asked for before all others.
    pub(crate) fn ask_again(&mut self, slot: u16, now: Time) {
        let ask = self.out.remove(slot).expect("it was asked for");
        self.under_way.set(self.out.len() as u64, now);
        self.to_ask.push_front(ask);
    }

    /// The translations of a read's slot have come. Returns the channels that take turns again.
    pub(crate) fn came(&mut self, slot: u16, now: Time) -> Vec<u32> {
        let ask = self.out.remove(slot).expect("it was asked for");
        self.under_way.set(self.out.len() as u64, now);
        for page in ask.first..ask.first + u64::from(ask.count) {
            self.cache.fill(page, now);
            for transfer in self.asked.remove(page).expect("it was asked for") {
                let needs = self.needs.get_mut(transfer).expect("it waits for a page");
                let since = needs.missing.remove(page).expect("it waits for this page");
                self.lookups_made.waited += now - since;
            }
        }
        self.look_up(now);
        std::mem::take(&mut self.parked)
    }

    /// Entries of the cache, and what lookups waited for.
    pub(crate) fn cache_at(&self, at: Time) -> (u32, Book) {
        (self.config.entries, Book { busy: self.cached.area_at(at), ..self.lookups_made })
    }

    /// Translation requests that may be out, and what was out.
    pub(crate) fn requests_at(&self, at: Time) -> (u32, Book) {
        (self.config.requests, Book { busy: self.under_way.area_at(at), ..self.requests_made })
    }
}

impl Fabric {
    /// A completion with translations has come.
    #[cold]
    pub(crate) fn translations_came(&mut self, index: u32, packet: &Packet, now: Time) {
        self.endpoints[index as usize].translations_came(packet, now);
        self.refill(index);
    }
}
