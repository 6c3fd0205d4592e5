//! What is held up at each port, as listeners were told: so that each is told once.

use crate::{Cause, HeldUp, WaitingTlp};
use lanewise_units::Time;

/// By port; nothing is kept until a listener is there.
#[derive(Default)]
pub(crate) struct Holds(Vec<PortHolds>);

#[derive(Clone, Default)]
struct PortHolds {
    looked_at: Time,
    /// Few at a time: a port has three classes.
    held: Vec<Held>,
}

#[derive(Clone, Copy)]
struct Held {
    whom: HeldUp,
    by: Cause,
    since: Time,
    waiting: Option<WaitingTlp>,
}

impl Holds {
    /// Makes room for so many ports.
    pub(crate) fn of_ports(&mut self, ports: usize) {
        self.0.resize(ports, PortHolds::default());
    }

    #[inline(always)]
    pub(crate) fn any(&self, port: u32) -> bool {
        self.0.get(port as usize).is_some_and(|port| !port.held.is_empty())
    }

    #[inline(always)]
    pub(crate) fn by(&self, port: u32, whom: HeldUp) -> Option<Cause> {
        self.0[port as usize].held.iter().find(|held| held.whom == whom).map(|held| held.by)
    }

    pub(crate) fn add(
        &mut self,
        port: u32,
        whom: HeldUp,
        by: Cause,
        since: Time,
        waiting: Option<WaitingTlp>,
    ) {
        self.0[port as usize].held.push(Held { whom, by, since, waiting });
    }

    pub(crate) fn remove(&mut self, port: u32, whom: HeldUp) -> Option<(Cause, Time, Option<WaitingTlp>)> {
        let held = &mut self.0[port as usize].held;
        let place = held.iter().position(|held| held.whom == whom)?;
        let Held { by, since, waiting, .. } = held.swap_remove(place);
        Some((by, since, waiting))
    }

    /// When the port was looked at before.
    #[inline(always)]
    pub(crate) fn look(&mut self, port: u32, at: Time) -> Time {
        let port = &mut self.0[port as usize];
        let before = port.looked_at;
        port.looked_at = before.max(at);
        before
    }
}
