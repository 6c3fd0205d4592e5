//! The host's cores as the storage stack uses them: each runs one piece of work at a time, in order.
//!
//! Leaves out: preemption, caches, frequency, and everything that the instrument itself does not cause.

use crate::server::reading;
use lanewise_fabric::workload::DeviceId;
use lanewise_fabric::{HostPart, ResourceId, ResourceReading, Station};
use lanewise_units::{Span, Time};

/// What a core was busy with, in the words of the Windows performance counters that IOmeter reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CpuWork {
    /// The worker thread itself.
    User,
    /// System calls: file system and driver on the way down.
    Privileged,
    /// Deferred procedure calls: the driver on the way up.
    Deferred,
    /// Interrupt service.
    Interrupt,
}

/// Busy time since measuring began, summed over all cores.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct CpuTally {
    busy: [Span; 4],
}

impl CpuTally {
    /// Busy time of one kind.
    pub(crate) fn of(&self, work: CpuWork) -> Span {
        self.busy[work as usize]
    }

    /// Busy time of every kind.
    pub(crate) fn total(&self) -> Span {
        self.busy.iter().copied().sum()
    }

    /// Percentages of so many cores over `window`, as Windows counts them.
    pub(crate) fn shares(&self, cores: usize, window: Span) -> CpuShares {
        let available = window.as_seconds() * cores as f64;
        let percent = |busy: Span| if available > 0.0 { busy.as_seconds() / available * 100.0 } else { 0.0 };
        let user = percent(self.of(CpuWork::User));
        CpuShares {
            total: percent(self.total()),
            user,
            privileged: percent(self.total()) - user,
            deferred: percent(self.of(CpuWork::Deferred)),
            interrupt: percent(self.of(CpuWork::Interrupt)),
        }
    }
}

/// Busy time in percent of all cores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuShares {
    /// Everything.
    pub total: f64,
    /// Worker threads.
    pub user: f64,
    /// Everything else, deferred procedure calls and interrupts included.
    pub privileged: f64,
    /// Deferred procedure calls.
    pub deferred: f64,
    /// Interrupt service.
    pub interrupt: f64,
}

/// All cores of a host.
#[derive(Clone, Debug)]
pub(crate) struct Cores {
    cores: Vec<Station>,
    /// Busy time so far.
    pub(crate) tally: CpuTally,
}

impl Cores {
    /// So many idle cores, at least one.
    pub(crate) fn new(count: u32) -> Self {
        Self { cores: vec![Station::default(); count.max(1) as usize], tally: CpuTally::default() }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.cores.len()
    }

    /// Whether a core has nothing to do at a time that is not before now.
    pub(crate) fn is_idle(&self, core: usize, at: Time) -> bool {
        !self.cores[core % self.cores.len()].is_busy(at)
    }

    /// What each has done up to `at`: one of many may be the limit.
    pub(crate) fn resources(
        &self,
        (device, host): (DeviceId, &str),
        at: Time,
    ) -> impl Iterator<Item = ResourceReading> {
        (0..).zip(&self.cores).map(move |(core, station)| {
            let id = ResourceId::of(device, HostPart::Core { core });
            let station = std::slice::from_ref(station);
            reading(id, format!("{host}.core{core}"), "one core".to_owned(), station, at)
        })
    }

    /// Runs a piece of work on a core (counted round, so any number names one); returns when it is done.
    pub(crate) fn run(&mut self, core: usize, now: Time, cost: Span, work: CpuWork) -> Time {
        self.tally.busy[work as usize] += cost;
        let core = core % self.cores.len();
        self.cores[core].occupy(now, cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_waits_for_its_core_only() {
        let mut cores = Cores::new(2);
        let at = |us| Time::ZERO + Span::from_us(us);
        assert_eq!(cores.run(0, at(0), Span::from_us(5), CpuWork::User), at(5));
        assert_eq!(cores.run(2, at(1), Span::from_us(5), CpuWork::Deferred), at(10), "core 2 is core 0");
        assert_eq!(cores.run(1, at(1), Span::from_us(5), CpuWork::Interrupt), at(6));
        assert_eq!(cores.tally.total(), Span::from_us(15));
        assert_eq!(cores.tally.of(CpuWork::Deferred), Span::from_us(5));
    }

    #[test]
    fn privileged_time_holds_deferred_calls_and_interrupts() {
        let mut cores = Cores::new(2);
        for (cost, work) in [(10, CpuWork::User), (20, CpuWork::Privileged), (30, CpuWork::Deferred)] {
            cores.run(0, Time::ZERO, Span::from_us(cost), work);
        }
        let shares = cores.tally.shares(cores.count(), Span::from_us(100));
        let rounded =
            [shares.total, shares.user, shares.privileged, shares.deferred].map(|share| share.round());
        assert_eq!(rounded, [30.0, 5.0, 25.0, 15.0]);
    }
}
