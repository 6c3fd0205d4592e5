//! When a run audits itself, and what happens when something is not conserved.
//!
//! What is looked at is in [`crate::audit`].

use super::Simulation;
use crate::audit::Discrepancy;
use crate::resources::ResourceReading;
use lanewise_units::{Span, SpanSum, Time};

/// Audits of one part of a run.
#[derive(Debug)]
pub(super) struct Auditing {
    /// Events after which the books are audited next.
    pub(super) next_at: u64,
    /// How often they were.
    done: u64,
    /// Events after which what takes longer is looked at next.
    pub(super) closely_at: u64,
}

impl Default for Auditing {
    fn default() -> Self {
        Self { next_at: AUDIT_EVERY, done: 0, closely_at: 0 }
    }
}

impl Simulation {
    /// Checks that everything is conserved. A run does so by itself, every so many events, and when its results are read.
    ///
    /// Credits, sequence numbers, tags, bytes and time of every link direction, and that no more payload went over it than the
    /// closed form allows, in a flow neither; Little's law of requests; that no shared resource was used for more time than there was.
    ///
    /// # Panics
    /// When something is not conserved, which is a bug in this crate: with the seed, the event and the time, at which the run
    /// can be stopped again, and the place.
    pub fn audit(&mut self) {
        self.on_every_part(Self::audit_part);
    }

    /// The same of this part.
    #[cold]
    pub(super) fn audit_part(&mut self) {
        let events = self.fabric.engine.events_handled();
        self.auditing.next_at = events + AUDIT_EVERY.max(EVENTS_PER_BOOK * self.fabric.books());
        self.auditing.done += 1;
        if let Err(found) = self.fabric.audit() {
            self.end_for(&found);
        }
        if events >= self.auditing.closely_at {
            if let Err(found) = self.fabric.audit_closely() {
                self.end_for(&found);
            }
            let at = self.fabric.now();
            let readings = self
                .fabric
                .resources((&self.names, &self.port_names), at)
                .into_iter()
                .map(|(_, reading)| reading);
            let of_workloads = self.workloads.iter().flat_map(|workload| workload.resources(at));
            let readings: Vec<ResourceReading> = readings.chain(of_workloads).collect();
            self.audit_use(at - Time::ZERO, &readings);
            let entries = readings.len() as u64 * ENTRIES_PER_RESOURCE + self.fabric.packets.live() as u64;
            self.auditing.closely_at = events + EVENTS_PER_ENTRY * entries;
        }
    }

    /// Nothing is used for more time than there was in a span, all its places together.
    pub(super) fn audit_use(&self, span: Span, readings: &[ResourceReading]) {
        for ResourceReading { name, places, book, .. } in readings {
            let most = SpanSum::from(span) * u64::from(*places);
            if book.busy > most {
                let what = format!("{name}: in use for {:?}, of {most:?} that there were", book.busy);
                self.end_for(&Discrepancy { port: None, what });
            }
        }
    }

    pub(super) fn end_for(&self, found: &Discrepancy) -> ! {
        let place = found.port.map_or(String::new(), |port| {
            let place = self.fabric.place_of(port);
            format!("{}.{}: ", self.names[place.device], self.port_names[place.device][place.port])
        });
        let (seed, events, at) = (self.fabric.seed, self.fabric.engine.events_handled(), self.fabric.now());
        panic!("not conserved, seed {seed}, event {events}, at {at:?}: {place}{}", found.what);
    }

    /// How often the books were audited so far.
    pub fn audits(&self) -> u64 {
        self.auditing.done + self.crew.as_ref().map_or(0, |crew| crew.audits())
    }

    /// Those of this part.
    pub(crate) fn own_audits(&self) -> u64 {
        self.auditing.done
    }
}

/// Events between two audits, at least; and at least so many for each of the books, so that in any fabric an audit takes a small
/// part of the time: `lanewise bench` says which.
const AUDIT_EVERY: u64 = 1 << 14;
const EVENTS_PER_BOOK: u64 = 128;

/// The same for what is looked at less often: packets that are there, and resources, which take longer because they have names.
const EVENTS_PER_ENTRY: u64 = 64;
const ENTRIES_PER_RESOURCE: u64 = 32;
