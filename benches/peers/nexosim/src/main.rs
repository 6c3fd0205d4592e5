//! The job of `heap.rs`, as one would write it with NeXosim: each link is a model, DLLPs are events that it schedules.
//!
//! ```text
//! cargo run --release
//! ```

use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::Output;
use nexosim::simulation::{Address, Mailbox, SimInit};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A TLP of 256 B with header and framing at Gen3 x8, a DLLP, and the ways through pins and switch.
const TLP: Duration = Duration::from_nanos(35);
const DLLP: Duration = Duration::from_nanos(1);
const PROPAGATION: Duration = Duration::from_nanos(5);
const SWITCH: Duration = Duration::from_nanos(150);
/// TLPs that the far end of a link has room for.
const CREDITS: u32 = 32;
const HOPS: u64 = 500_000;

static SEEN: AtomicU64 = AtomicU64::new(0);

/// A link towards the root, with the queue in front of it.
#[derive(Default, Serialize, Deserialize)]
struct Link {
    /// The queue above. It is told which of the links below the TLP came over.
    above: Output<usize>,
    /// Links below: room has become free at their far end.
    below: Vec<Output<()>>,
    number: usize,
    at_root: bool,
    endpoint: bool,
    queue: VecDeque<usize>,
    busy: bool,
    back_free_at: Option<MonotonicTime>,
    credits: u32,
    unacknowledged: u32,
}

#[Model]
impl Link {
    #[nexosim(init)]
    async fn init(&mut self, context: &Context<Self>) {
        self.send(context).await;
    }

    async fn send(&mut self, context: &Context<Self>) {
        if self.busy || self.credits == 0 {
            return;
        }
        let from = match self.queue.pop_front() {
            _ if self.endpoint => None,
            Some(from) => Some(from),
            None => return,
        };
        self.busy = true;
        self.credits -= 1;
        self.unacknowledged += 1;
        let _ = context.schedule_event(TLP, schedulable!(Self::sent), from);
        let _ = context.schedule_event(TLP + PROPAGATION, schedulable!(Self::arrived), ());
    }

    #[nexosim(schedulable)]
    async fn sent(&mut self, from: Option<usize>, context: &Context<Self>) {
        self.busy = false;
        if let Some(from) = from {
            self.below[from].send(()).await;
        }
        self.send(context).await;
    }

    #[nexosim(schedulable)]
    async fn arrived(&mut self, (): (), context: &Context<Self>) {
        SEEN.fetch_add(1, Ordering::Relaxed);
        let at = self.answered_at(context);
        let _ = context.schedule_event(at, schedulable!(Self::acknowledged), ());
        if self.at_root {
            self.freed((), context).await;
        } else {
            let _ = context.schedule_event(SWITCH, schedulable!(Self::forward), ());
        }
    }

    #[nexosim(schedulable)]
    async fn forward(&mut self, (): ()) {
        self.above.send(self.number).await;
    }

    /// A TLP has come to the queue.
    async fn take(&mut self, from: usize, context: &Context<Self>) {
        self.queue.push_back(from);
        self.send(context).await;
    }

    /// Room has become free at the far end: an UpdateFC says so.
    async fn freed(&mut self, (): (), context: &Context<Self>) {
        let at = self.answered_at(context);
        let _ = context.schedule_event(at, schedulable!(Self::credit), ());
    }

    /// When a DLLP sent now over the reverse direction arrives.
    fn answered_at(&mut self, context: &Context<Self>) -> MonotonicTime {
        let now = context.time();
        let sent = self.back_free_at.map_or(now, |free| free.max(now)) + DLLP;
        self.back_free_at = Some(sent);
        sent + PROPAGATION
    }

    #[nexosim(schedulable)]
    fn acknowledged(&mut self, (): ()) {
        self.unacknowledged -= 1;
    }

    #[nexosim(schedulable)]
    async fn credit(&mut self, (): (), context: &Context<Self>) {
        self.credits += 1;
        self.send(context).await;
    }
}

/// Adds so many links below each of the level above, and returns them; the last are those of endpoints.
fn add(init: SimInit, fan_out: &[usize], above: Option<(&mut Link, Address<Link>)>) -> SimInit {
    let Some((&count, further)) = fan_out.split_first() else { return init };
    let mut init = init;
    let mut above = above;
    for number in 0..count {
        let mailbox = Mailbox::new();
        let mut link = Link { number, credits: CREDITS, endpoint: further.is_empty(), ..Link::default() };
        match &mut above {
            None => link.at_root = true,
            Some((parent, address)) => {
                link.above.connect(Link::take, address.clone());
                let mut freed = Output::default();
                freed.connect(Link::freed, mailbox.address());
                parent.below.push(freed);
            }
        }
        init = add(init, further, Some((&mut link, mailbox.address())));
        init = init.add_model(link, mailbox, "link");
    }
    init
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (job, fan_out) in [("chain", &[1, 1][..]), ("8 endpoints", &[1, 8]), ("512 endpoints", &[4, 8, 16])] {
        SEEN.store(0, Ordering::Relaxed);
        let mut simulation = add(SimInit::with_num_threads(1), fan_out, None).init(MonotonicTime::EPOCH)?;
        let mut run = |hops: u64| {
            while SEEN.load(Ordering::Relaxed) < hops {
                simulation.step()?;
            }
            Ok::<_, nexosim::simulation::ExecutionError>(SEEN.load(Ordering::Relaxed))
        };
        let before = run(HOPS / 8)?;
        let started = Instant::now();
        let hops = run(before + HOPS)? - before;
        let wall_s = started.elapsed().as_secs_f64();
        println!(r#"{{"job": "{job}", "hops": {hops}, "wall_s": {wall_s:.6}}}"#);
    }
    Ok(())
}
