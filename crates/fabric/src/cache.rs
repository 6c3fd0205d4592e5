//! The last-level cache of a host, as devices see it: writes that land in it, reads that it answers.
//!
//! Writes of devices take up only some of its ways (DDIO, cache injection); a block that has to leave for one is written to memory
//! then. Buffers that the processor keeps warm fill what is free, and those that do not fit are in memory. Reads of devices do
//! not allocate. Kept in blocks, not in lines. Sources: Intel Data Direct I/O Technology, technology
//! brief, 2012 (ways, allocation); Farshin et al., Reexamining Direct Cache Access, USENIX ATC 2020 (what leaves when). Left
//! out: what processors evict, snoops, partial lines.

use crate::config::CacheConfig;
use crate::memory::{Place, mixed};
use crate::server::Server;
use lanewise_units::{Bytes, Span, Time};

/// A block: where it may be kept, and what it is known by there, which is never zero.
#[derive(Clone, Copy)]
struct Key {
    line: u64,
    tag: u64,
}

/// The ways of every set: first those that writes of devices may take, the block used longest ago last, then the others.
struct Sets {
    /// `ways` keys for each set, one set after another; zero is an empty way.
    keys: Box<[u64]>,
    ways: usize,
    of_devices: usize,
    /// Ways that are not empty.
    taken: u64,
}

impl Sets {
    fn new(sets: usize, ways: usize, of_devices: usize) -> Self {
        Self { keys: vec![0; sets * ways].into(), ways, of_devices, taken: 0 }
    }

    fn set(&mut self, key: Key) -> &mut [u64] {
        let sets = (self.keys.len() / self.ways) as u64;
        let first = (key.line % sets) as usize * self.ways;
        &mut self.keys[first..first + self.ways]
    }

    /// Whether it has a block, which is then the one used last.
    fn touch(&mut self, key: Key) -> bool {
        let of_devices = self.of_devices;
        let set = self.set(key);
        let found = set.iter().position(|other| *other == key.tag);
        // Among the others order does not matter: none of them leaves.
        found
            .inspect(|at| {
                if *at < of_devices {
                    set[..=*at].rotate_right(1)
                }
            })
            .is_some()
    }

    /// Takes in a block that a device writes. True when another one had to leave for it.
    fn insert(&mut self, key: Key) -> bool {
        let of_devices = self.of_devices;
        let set = &mut self.set(key)[..of_devices];
        let free = set.iter().position(|other| *other == 0);
        let full = free.is_none();
        set[..=free.unwrap_or(of_devices - 1)].rotate_right(1);
        set[0] = key.tag;
        self.taken += u64::from(!full);
        full
    }

    /// Takes in a block that the processor keeps, if there is a way free; one that devices may not write to is taken first.
    fn insert_if_free(&mut self, key: Key) -> bool {
        let set = self.set(key);
        let free = set.iter_mut().rev().find(|other| **other == 0);
        let found = free.map(|way| *way = key.tag).is_some();
        self.taken += u64::from(found);
        found
    }
}

/// What becomes of a block that a device writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Landing {
    /// It is in the cache, and another block went to memory for it, or none.
    Cache {
        /// One did.
        evicts: bool,
    },
    /// It goes to memory.
    Memory,
}

/// The last-level cache of one socket.
pub(crate) struct LastLevelCache {
    latency: Span,
    block: u64,
    pub(crate) reads: Option<Server>,
    sets: Sets,
}

impl LastLevelCache {
    pub(crate) fn new(config: &CacheConfig) -> Self {
        let ways = config.ways.max(1);
        let sets = (config.size.get() / config.block.get().max(1) / u64::from(ways)).max(1) as usize;
        let of_devices = config.device_ways.min(ways);
        Self {
            latency: config.latency,
            block: config.block.get().max(1),
            reads: config.read_bandwidth.map(Server::new),
            sets: Sets::new(sets, ways as usize, of_devices as usize),
        }
    }

    /// Reads of it take another time from now on.
    pub(crate) fn set_latency(&mut self, latency: Span) {
        self.latency = latency;
    }

    /// A read of it takes so long, from the request to the first data at the root port.
    pub(crate) fn latency(&self) -> Span {
        self.latency
    }

    /// Key of the block that a place is in.
    fn key(&self, place: Place) -> Key {
        let block = place.address / self.block;
        let owner = mixed(u64::from(place.owner.0));
        Key { line: block.wrapping_add(owner), tag: mixed(block ^ u64::from(place.owner.0) << 44) | 1 }
    }

    /// When it has moved `bytes` of a read that starts at `now`; none when they are not in it. `is_warm` says that the processor
    /// has used the buffers of this device.
    pub(crate) fn read(&mut self, now: Time, place: Place, bytes: Bytes, is_warm: bool) -> Option<Time> {
        let key = self.key(place);
        let hit = self.sets.touch(key) || is_warm && self.sets.insert_if_free(key);
        hit.then(|| self.reads.as_mut().map_or(now, |server| server.serve(now, bytes)))
    }

    /// Where a write lands. One that is not the first of its block finds it where the first put it.
    pub(crate) fn write(&mut self, place: Place) -> Landing {
        if self.sets.of_devices == 0 {
            return Landing::Memory;
        }
        let key = self.key(place);
        Landing::Cache { evicts: !self.sets.touch(key) && self.sets.insert(key) }
    }

    /// Bytes of all blocks that it has: while these become more, reads hit that will miss, and writes need no memory that will.
    pub(crate) fn holds(&self) -> Bytes {
        Bytes::new(self.sets.taken * self.block)
    }

    /// Bytes that go to memory when a block has to leave.
    pub(crate) fn block(&self) -> Bytes {
        Bytes::new(self.block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::RouteEnd;

    fn cache(kib: u64, device_ways: u32) -> LastLevelCache {
        LastLevelCache::new(&CacheConfig {
            size: Bytes::from_kib(kib),
            ways: 16,
            device_ways,
            block: Bytes::new(256),
            latency: Span::from_ns(300),
            read_bandwidth: None,
        })
    }

    fn at(block: u64) -> Place {
        Place { address: block * 256, owner: RouteEnd(1) }
    }

    fn hits(cache: &mut LastLevelCache, blocks: u64, is_warm: bool) -> u64 {
        let read = |block: &u64| cache.read(Time::ZERO, at(*block), Bytes::new(64), is_warm).is_some();
        (0..blocks).filter(read).count() as u64
    }

    /// A warm window that fits is always found, of a larger one as much as fits; a cold one never.
    #[test]
    fn warm_buffers_are_found_as_far_as_they_fit() {
        assert_eq!(hits(&mut cache(256, 2), 512, false), 0);
        let mut fits = cache(1024, 2);
        assert_eq!(hits(&mut fits, 512, true), 512);
        let mut larger = cache(256, 2);
        hits(&mut larger, 4096, true);
        let share = hits(&mut larger, 4096, true);
        assert_eq!(share, 1024, "blocks that fit");
        assert_eq!(larger.holds(), Bytes::from_kib(256));
    }

    /// What a device writes is found until newer writes have driven it out of the ways that devices may use.
    #[test]
    fn writes_of_devices_stay_in_their_ways() {
        let mut cache = cache(1024, 2);
        let room = 4096 * 2 / 16;
        let evicted =
            (0..room).filter(|block| cache.write(at(*block)) == Landing::Cache { evicts: true }).count();
        assert_eq!(evicted, 0);
        assert_eq!(cache.holds(), Bytes::from_kib(128), "two ways of sixteen");
        assert_eq!(hits(&mut cache, room, false), room);
        for block in room..4 * room {
            cache.write(at(block));
        }
        assert_eq!(hits(&mut cache, room, false), 0);
        assert_eq!(cache.holds(), Bytes::from_kib(128), "one leaves for each that comes");
    }

    /// What is kept warm and what devices write have the same room: it never holds more than its size.
    #[test]
    fn warm_buffers_and_writes_of_devices_share_its_room() {
        let mut cache = cache(256, 16);
        assert_eq!(hits(&mut cache, 1024, true), 1024);
        let written = |block: &u64| cache.write(at(4096 + *block)) == Landing::Cache { evicts: true };
        let evicted = (0..1024).filter(written).count();
        assert_eq!(evicted, 1024, "each takes the way of one that was warm");
        assert_eq!(cache.holds(), Bytes::from_kib(256));
        assert_eq!(hits(&mut cache, 1024, true), 0);
    }

    /// A way that is free is taken before one in which a block is kept warm.
    #[test]
    fn nothing_leaves_while_a_way_is_free() {
        // A set of two ways, both for devices: the warm block is in the second.
        let mut cache = LastLevelCache::new(&CacheConfig {
            size: Bytes::new(512),
            ways: 2,
            device_ways: 2,
            block: Bytes::new(256),
            latency: Span::from_ns(300),
            read_bandwidth: None,
        });
        assert_eq!(hits(&mut cache, 1, true), 1);
        assert_eq!(cache.write(at(7)), Landing::Cache { evicts: false });
        assert_eq!((cache.holds(), hits(&mut cache, 1, false)), (Bytes::new(512), 1));
        assert_eq!(cache.write(at(8)), Landing::Cache { evicts: true });
        assert_eq!(cache.holds(), Bytes::new(512));
    }

    /// Buffers that are kept warm take the ways first that devices may not write to.
    #[test]
    fn writes_of_devices_drive_out_what_is_warm_in_their_ways_only() {
        let mut cache = cache(256, 2);
        assert_eq!(hits(&mut cache, 1024, true), 1024);
        for block in 0..4096 {
            cache.write(at(4096 + block));
        }
        assert_eq!(hits(&mut cache, 1024, false), 1024 * 14 / 16);
    }

    #[test]
    fn without_ways_for_devices_writes_go_to_memory() {
        assert_eq!(cache(256, 0).write(at(1)), Landing::Memory);
    }
}
