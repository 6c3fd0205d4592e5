//! What is held up at each port, as listeners were told: so that each is told once.

use crate::{Cause, HeldUp, WaitingTlp};
use lanewise_units::Time;

/// By port; nothing is kept of ports at which no packet was ever held up.
#[derive(Default)]
pub(crate) struct Holds(Vec<PortHolds>);

/// Few at a time: a port has three classes.
#[derive(Clone, Default)]
struct PortHolds {
    held: Vec<Held>,
    looked_at: Time,
}

#[derive(Clone, Copy)]
struct Held {
    whom: HeldUp,
    by: Cause,
    since: Time,
    waiting: Option<WaitingTlp>,
}

impl Holds {
    fn of(&mut self, port: u32) -> &mut PortHolds {
        let index = port as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, PortHolds::default());
        }
        &mut self.0[index]
    }

    pub(crate) fn any(&self, port: u32) -> bool {
        self.0.get(port as usize).is_some_and(|port| !port.held.is_empty())
    }

    pub(crate) fn by(&self, port: u32, whom: HeldUp) -> Option<Cause> {
        let port = self.0.get(port as usize)?;
        port.held.iter().find(|held| held.whom == whom).map(|held| held.by)
    }

    pub(crate) fn add(
        &mut self,
        port: u32,
        whom: HeldUp,
        by: Cause,
        since: Time,
        waiting: Option<WaitingTlp>,
    ) {
        self.of(port).held.push(Held { whom, by, since, waiting });
    }

    pub(crate) fn remove(&mut self, port: u32, whom: HeldUp) -> Option<(Cause, Time, Option<WaitingTlp>)> {
        let held = &mut self.0.get_mut(port as usize)?.held;
        let place = held.iter().position(|held| held.whom == whom)?;
        let Held { by, since, waiting, .. } = held.swap_remove(place);
        Some((by, since, waiting))
    }

    /// When the port was looked at before.
    pub(crate) fn look(&mut self, port: u32, at: Time) -> Time {
        let port = self.of(port);
        let before = port.looked_at;
        port.looked_at = before.max(at);
        before
    }
}
