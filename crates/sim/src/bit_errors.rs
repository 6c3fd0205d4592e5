//! How far a run may be off because of bit errors that were too few to count on.
//!
//! A retrain through Recovery takes as long as thousands of TLPs, and may come once in a millisecond. Batches of a measurement that
//! saw none do not scatter, so their interval says nothing about it. What is known is how many there were, and what one costs. Of
//! events that come independently of each other, n seen leave a rate of n ± z√(n + z²/4) + z²/2 in the same time, which is 4.7 for
//! none at 97 % (the score interval of a Poisson mean; see Law, as in `stop_rule`). Nor can there be more of them than bits that
//! arrive wrong. So many more or fewer, times what one costs, is time that the run may be off by.

use crate::stop_rule::{PART_OF_ERROR, student_t};
use lanewise_fabric::Simulation;
use lanewise_fabric::config::{FabricConfig, FaultConfig, LinkConfig};
use lanewise_fabric::workload::DeviceId;
use lanewise_observe::Use;
use lanewise_pcie::encoding::{LineCode, LinkMode};
use lanewise_pcie::fec::flit_error_rate;
use lanewise_pcie::flit::FLIT_BYTES;
use lanewise_units::{Span, Time};

/// A direction of a link, by what sends in it.
#[derive(Clone, Copy)]
struct Sender {
    port: usize,
    replay_timer: Span,
    /// What may go wrong in it at most, a second: wrong bits, or flits that are damaged in spite of their error correction.
    most: f64,
}

/// A link on which bits may arrive wrong.
#[derive(Clone)]
struct Link {
    index: usize,
    senders: [Sender; 2],
    recovery: Span,
    /// A wrong bit may be one of a framing token. Otherwise a link retrains after replays in a row, which are seen first.
    has_tokens: bool,
}

/// What happened in a direction.
#[derive(Clone, Copy, Default)]
struct Events {
    tlps: u64,
    replays: u32,
    timeouts: u32,
    replaying: Span,
    down: Span,
}

impl Events {
    fn of(simulation: &Simulation, sender: Sender) -> Self {
        let observers = simulation.fabric.observers();
        let (tally, counters) = (observers.direction(sender.port), observers.counters(sender.port));
        Self {
            tlps: counters.tlps_sent,
            replays: counters.errors.replays,
            timeouts: counters.errors.replay_timeouts,
            replaying: tally.spent_on(Use::Replay),
            down: tally.spent_on(Use::Down),
        }
    }

    fn since(self, start: Self) -> Self {
        Self {
            tlps: self.tlps - start.tlps,
            replays: self.replays - start.replays,
            timeouts: self.timeouts - start.timeouts,
            replaying: self.replaying - start.replaying,
            down: self.down - start.down,
        }
    }
}

/// The link whose errors are known least, and how far goodput may be off because of them, as a part of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Uncertain {
    pub(crate) link: usize,
    pub(crate) relative_half_width: f64,
}

/// Links with bit errors, and what had happened on them when counting began.
#[derive(Clone, Default)]
pub(crate) struct BitErrors {
    links: Vec<Link>,
    since: Time,
    start: Vec<[Events; 2]>,
}

impl BitErrors {
    /// Of a machine. Counting has not begun.
    pub(crate) fn of(simulation: &Simulation, fabric: &FabricConfig) -> Self {
        let port =
            |(device, port): (usize, usize)| simulation.fabric.port_index(DeviceId(device as u32), port);
        let link = |(index, link): (usize, &LinkConfig)| {
            let sender = |at: (usize, usize), faults: &FaultConfig| Sender {
                port: port(at),
                replay_timer: fabric.devices[at.0].ports[at.1].replay_timer,
                most: most_a_second(link.mode, faults.bit_error_rate),
            };
            let senders =
                [sender(link.lower, &link.faults_upstream), sender(link.upper, &link.faults_downstream)];
            let has_tokens = !link.mode.flit && link.mode.line_code() == LineCode::Code128b130b;
            let errs = senders.iter().any(|sender| sender.most > 0.0);
            errs.then_some(Link { index, senders, recovery: link.recovery_time, has_tokens })
        };
        Self { links: fabric.links.iter().enumerate().filter_map(link).collect(), ..Self::default() }
    }

    /// Links as they are after a change. Counting goes on.
    pub(crate) fn take_links(&mut self, changed: Self) {
        self.links = changed.links;
    }

    /// Counting begins at this time, which is now.
    pub(crate) fn count_from(&mut self, simulation: &Simulation, now: Time) {
        self.since = now;
        self.start = self.read(simulation);
    }

    fn read(&self, simulation: &Simulation) -> Vec<[Events; 2]> {
        self.links.iter().map(|link| link.senders.map(|sender| Events::of(simulation, sender))).collect()
    }

    /// What is known least, of links that TLPs went over. None where no bit is wrong.
    pub(crate) fn uncertain(&self, simulation: &Simulation, now: Time, confidence: f64) -> Option<Uncertain> {
        let measured = now.saturating_since(self.since).as_seconds();
        if self.links.is_empty() || measured == 0.0 || self.start.is_empty() {
            return None;
        }
        let level = 1.0 - PART_OF_ERROR * (1.0 - confidence);
        let z = student_t(0.5 + level / 2.0, NORMAL)?;
        let ends = self.read(simulation);
        let of_link = |((link, end), start): ((&Link, [Events; 2]), &[Events; 2])| {
            let events = [end[0].since(start[0]), end[1].since(start[1])];
            let is_used = events.iter().any(|events| events.tlps > 0);
            let relative_half_width = link.may_be_off(events, measured, z);
            is_used.then_some(Uncertain { link: link.index, relative_half_width })
        };
        let links = self.links.iter().zip(ends).zip(&self.start).filter_map(of_link);
        links.reduce(|a, b| if b.relative_half_width > a.relative_half_width { b } else { a })
    }
}

/// Degrees of freedom with which Student's t is the normal distribution.
const NORMAL: f64 = 1e6;

impl Link {
    /// Time that may be lost or not beside what was, as a part of that in which nothing was lost.
    fn may_be_off(&self, events: [Events; 2], measured: f64, z: f64) -> f64 {
        let wrong = self.senders.iter().map(|sender| sender.most).sum::<f64>() * measured;
        // Both directions are down at once.
        let down = events[0].down.max(events[1].down).as_seconds();
        let recovery = self.recovery.as_seconds();
        let retrains = if recovery > 0.0 { down / recovery } else { 0.0 };
        let mut squares = 0.0;
        if self.has_tokens || retrains > 0.0 {
            squares += (recovery * more_or_fewer(retrains, wrong, z)).powi(2);
        }
        let mut lost = down;
        for (sender, events) in self.senders.iter().zip(events) {
            let (replaying, timer) = (events.replaying.as_seconds(), sender.replay_timer.as_seconds());
            let (replays, timeouts) = (f64::from(events.replays), f64::from(events.timeouts));
            // One that was not seen is over before the timer runs out.
            let one = if replays > 0.0 { replaying / replays } else { timer };
            squares += (one * more_or_fewer(replays, sender.most * measured, z)).powi(2);
            if timeouts > 0.0 {
                squares += (timer * more_or_fewer(timeouts, wrong, z)).powi(2);
            }
            lost = lost.max(down + replaying);
        }
        squares.sqrt() / (measured - lost).max(f64::MIN_POSITIVE)
    }
}

/// How many more, or fewer, than those seen may be usual in the same time, when there can be only so many.
fn more_or_fewer(seen: f64, most: f64, z: f64) -> f64 {
    let (middle, half) = (seen + z * z / 2.0, z * (seen + z * z / 4.0).sqrt());
    let (fewest, most) = (middle - half, most.min(middle + half));
    (most - seen).max(seen - fewest.min(most))
}

/// Bits, or flits, that arrive damaged a second on a wire in use all the time.
fn most_a_second(mode: LinkMode, bit_error_rate: f64) -> f64 {
    let bytes = mode.coded_gb_per_s() * 1e9;
    match mode.flit {
        true => bytes / FLIT_BYTES.get() as f64 * flit_error_rate(mode, bit_error_rate),
        false => bytes * 8.0 * bit_error_rate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_more_or_fewer_may_be_usual() {
        let found = |seen, most| (more_or_fewer(seen, most, 2.17) * 100.0).round() / 100.0;
        assert_eq!(found(0.0, 1e9), 4.71, "none seen: the square of z");
        assert_eq!(found(100.0, 1e9), 24.18, "many: z times the root, and half the square of z");
        assert_eq!(found(0.0, 0.1), 0.1, "no more than there can be");
        assert_eq!(found(1.0, 0.1), 0.9, "one where a tenth of one is to be expected at most");
    }
}
