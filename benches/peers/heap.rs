//! The least that could be called a simulator of a PCIe fabric: a binary heap in a loop.
//!
//! Endpoints send posted writes of 256 B up a tree of switches. A link is busy for as long as a TLP takes, holds so
//! many at its far end, and gets an Ack and an UpdateFC for each, which are events like any other. Nothing else is
//! there: no sequence numbers, no replay, no ordering, no arbitration, no ordered sets, nothing observed but the count
//! of hops. So it says what this machine can do, not what a simulation costs.
//!
//! ```text
//! rustc -O heap.rs && ./heap
//! ```

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Instant;

/// Picoseconds: a TLP of 256 B with header and framing at Gen3 x8, a DLLP, and the ways through pins and switch.
const TLP: u64 = 35_000;
const DLLP: u64 = 1_000;
const PROPAGATION: u64 = 5_000;
const SWITCH: u64 = 150_000;
/// TLPs that the far end of a link has room for.
const CREDITS: u32 = 32;
const HOPS: u64 = 4_000_000;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Wake,
    Arrival,
    Ack,
    Credit,
}

/// A link towards the root, with the queue in front of it.
#[derive(Default)]
struct Link {
    next: Option<usize>,
    /// Where TLPs in the queue came from, and when each may leave. An endpoint's queue is never empty.
    queue: VecDeque<(usize, u64)>,
    endpoint: bool,
    free_at: u64,
    back_free_at: u64,
    credits: u32,
    unacknowledged: u32,
}

struct Tree {
    links: Vec<Link>,
    events: BinaryHeap<Reverse<(u64, u32, Kind, usize)>>,
    order: u32,
    hops: u64,
    handled: u64,
}

impl Tree {
    /// Links by level, so many below each of the level above; the last are those of endpoints.
    fn new(fan_out: &[usize]) -> Self {
        let mut links: Vec<Link> = Vec::new();
        let mut above: Vec<Option<usize>> = vec![None];
        for (level, &count) in fan_out.iter().enumerate() {
            let endpoint = level + 1 == fan_out.len();
            let first = links.len();
            for &next in &above {
                let link = || Link { next, endpoint, credits: CREDITS, ..Link::default() };
                links.extend(std::iter::repeat_with(link).take(count));
            }
            above = (first..links.len()).map(Some).collect();
        }
        let mut tree = Self { links, events: BinaryHeap::new(), order: 0, hops: 0, handled: 0 };
        for link in 0..tree.links.len() {
            if tree.links[link].endpoint {
                tree.at(0, Kind::Wake, link);
            }
        }
        tree
    }

    fn at(&mut self, time: u64, kind: Kind, link: usize) {
        self.order += 1;
        self.events.push(Reverse((time, self.order, kind, link)));
    }

    /// Sends a DLLP back over the reverse direction of a link.
    fn answer(&mut self, now: u64, kind: Kind, link: usize) {
        let start = now.max(self.links[link].back_free_at);
        self.links[link].back_free_at = start + DLLP;
        self.at(start + DLLP + PROPAGATION, kind, link);
    }

    fn send(&mut self, now: u64, link: usize) {
        let it = &mut self.links[link];
        if now < it.free_at || it.credits == 0 {
            return;
        }
        let from = match it.queue.front() {
            _ if it.endpoint => None,
            Some(&(from, at)) if at <= now => {
                it.queue.pop_front();
                Some(from)
            }
            _ => return,
        };
        it.free_at = now + TLP;
        it.credits -= 1;
        it.unacknowledged += 1;
        if let Some(from) = from {
            self.answer(now + TLP, Kind::Credit, from);
        }
        self.at(now + TLP, Kind::Wake, link);
        self.at(now + TLP + PROPAGATION, Kind::Arrival, link);
    }

    fn run(&mut self, hops: u64) {
        while self.hops < hops {
            let Reverse((now, _, kind, link)) = self.events.pop().expect("endpoints always send");
            self.handled += 1;
            match kind {
                Kind::Wake => self.send(now, link),
                Kind::Arrival => {
                    self.hops += 1;
                    self.answer(now, Kind::Ack, link);
                    match self.links[link].next {
                        None => self.answer(now, Kind::Credit, link),
                        Some(next) => {
                            self.links[next].queue.push_back((link, now + SWITCH));
                            self.at(now + SWITCH, Kind::Wake, next);
                        }
                    }
                }
                Kind::Ack => self.links[link].unacknowledged -= 1,
                Kind::Credit => {
                    self.links[link].credits += 1;
                    self.send(now, link);
                }
            }
        }
    }
}

fn main() {
    for (job, fan_out) in [("chain", &[1, 1][..]), ("8 endpoints", &[1, 8]), ("512 endpoints", &[4, 8, 16])] {
        let mut tree = Tree::new(fan_out);
        tree.run(HOPS / 8);
        let (hops, events) = (tree.hops, tree.handled);
        let started = Instant::now();
        tree.run(hops + HOPS);
        let wall_s = started.elapsed().as_secs_f64();
        let (hops, events) = (tree.hops - hops, tree.handled - events);
        println!(r#"{{"job": "{job}", "hops": {hops}, "events": {events}, "wall_s": {wall_s:.6}}}"#);
    }
}
