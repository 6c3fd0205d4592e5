//! Tallies of a simulation whose parts run on several threads: each part counts for itself, and a reader has all in one place.

use super::{LinkErrors, Observers, PortTally, RequesterTally};
use crate::attribution::RestTicks;
use crate::{Fingerprint, FlowTally, TransactionError};
use lanewise_units::Few;

/// All that [`Observers`] have counted, without the listeners: it may go to another thread.
#[derive(Default)]
pub struct Tallies {
    ports: Vec<PortTally>,
    error_counters: Vec<LinkErrors>,
    rests: Vec<RestTicks>,
    flows: Vec<FlowTally>,
    requesters: Vec<RequesterTally>,
    fingerprint: Fingerprint,
    tlp_hops: u64,
    request_ticks: u64,
    errors: Few<(u32, TransactionError), u64>,
}

/// Which part counts what: ports, requesters and flows by their numbers, flows by that among those of all parts.
#[derive(Clone, Debug, Default)]
pub struct Owners {
    /// By port.
    pub ports: Vec<u16>,
    /// By endpoint.
    pub requesters: Vec<u16>,
    /// By flow, in the order in which one simulation would have added them; each part has its own in the same order.
    pub flows: Vec<u16>,
}

impl Observers {
    /// Gives away all that was counted: nothing may be counted until it comes back with [`Self::take_back`].
    pub fn lend(&mut self) -> Tallies {
        Tallies {
            ports: std::mem::take(&mut self.ports),
            error_counters: std::mem::take(&mut self.error_counters),
            rests: std::mem::take(&mut self.rests),
            flows: std::mem::take(&mut self.flows),
            requesters: std::mem::take(&mut self.requesters),
            fingerprint: std::mem::take(&mut self.fingerprint),
            tlp_hops: std::mem::take(&mut self.tlp_hops),
            request_ticks: std::mem::take(&mut self.request_ticks),
            errors: std::mem::take(&mut self.errors),
        }
    }

    /// Takes in what was lent, or what [`Tallies::together`] made of it.
    pub fn take_back(&mut self, tallies: Tallies) {
        self.ports = tallies.ports;
        self.error_counters = tallies.error_counters;
        self.rests = tallies.rests;
        self.flows = tallies.flows;
        self.requesters = tallies.requesters;
        self.fingerprint = tallies.fingerprint;
        self.tlp_hops = tallies.tlp_hops;
        self.request_ticks = tallies.request_ticks;
        self.errors = tallies.errors;
    }
}

/// What is left of the tallies of each part while they are [together](Tallies::together): what it does not own, and its sums.
pub struct Shells {
    parts: Vec<Tallies>,
}

impl Tallies {
    /// The tallies of all parts as one: of each thing what its owner counted, and sums of what belongs to no one.
    ///
    /// # Panics
    /// When the parts have other flows than their owners say.
    pub fn together(mut parts: Vec<Self>, owners: &Owners) -> (Self, Shells) {
        // What no part has seen yet is empty everywhere.
        let rests = parts.iter().map(|part| part.rests.len()).max().unwrap_or(0);
        let errors = parts.iter().map(|part| part.error_counters.len()).max().unwrap_or(0);
        for part in &mut parts {
            part.rests.resize(rests, RestTicks::default());
            part.error_counters.resize(errors, LinkErrors::default());
        }
        let mut all = parts[0].without_sums();
        exchange(&mut all, &mut parts, owners);
        let mut flows: Vec<_> =
            parts.iter_mut().map(|part| std::mem::take(&mut part.flows).into_iter()).collect();
        let owned = owners.flows.iter().map(|part| flows[usize::from(*part)].next());
        all.flows = owned.map(|flow| flow.expect("a flow of each owner")).collect();
        assert!(flows.iter_mut().all(|rest| rest.next().is_none()), "every flow has an owner");
        for part in &parts {
            all.fingerprint.add(&part.fingerprint);
            all.tlp_hops += part.tlp_hops;
            all.request_ticks = all.request_ticks.wrapping_add(part.request_ticks);
            for (place, count) in part.errors.iter() {
                *all.errors.or_insert_with(place, || 0) += count;
            }
        }
        (all, Shells { parts })
    }

    /// All but the sums, which stay.
    fn without_sums(&mut self) -> Self {
        Self {
            ports: std::mem::take(&mut self.ports),
            error_counters: std::mem::take(&mut self.error_counters),
            rests: std::mem::take(&mut self.rests),
            requesters: std::mem::take(&mut self.requesters),
            ..Self::default()
        }
    }

    /// The tallies of each part again, given what was [together](Self::together).
    pub fn apart(mut self, shells: Shells, owners: &Owners) -> Vec<Self> {
        let mut parts = shells.parts;
        exchange(&mut self, &mut parts, owners);
        for (flow, part) in self.flows.drain(..).zip(&owners.flows) {
            parts[usize::from(*part)].flows.push(flow);
        }
        let first = &mut parts[0];
        (first.ports, first.error_counters) = (self.ports, self.error_counters);
        (first.rests, first.requesters) = (self.rests, self.requesters);
        parts
    }
}

/// Exchanges what other parts than the first own with what lies in its place.
fn exchange(all: &mut Tallies, parts: &mut [Tallies], owners: &Owners) {
    for (port, part) in owners.ports.iter().map(|part| usize::from(*part)).enumerate() {
        if part != 0 {
            std::mem::swap(&mut all.ports[port], &mut parts[part].ports[port]);
            if let Some(errors) = all.error_counters.get_mut(port) {
                std::mem::swap(errors, &mut parts[part].error_counters[port]);
            }
            if let Some(rest) = all.rests.get_mut(port) {
                std::mem::swap(rest, &mut parts[part].rests[port]);
            }
        }
    }
    for (requester, part) in owners.requesters.iter().map(|part| usize::from(*part)).enumerate() {
        if part != 0 {
            std::mem::swap(&mut all.requesters[requester], &mut parts[part].requesters[requester]);
        }
    }
}
