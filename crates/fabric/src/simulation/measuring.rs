//! The window of a run in which it is measured, and what is read out of it.

use super::{SHARES, Simulation};
use crate::resources::ResourceReading;
use crate::workload::Metric;
use lanewise_units::{Time, order};

impl Simulation {
    /// The warm-up ends at `at`: what was observed so far is forgotten.
    ///
    /// `at` is a time that [`Self::run_until`] has reached.
    pub fn start_measuring(&mut self, at: Time) {
        self.fabric.changes.start_measuring();
        self.stop_measuring(at);
        self.window_start = at;
        self.on_every_part(move |part| part.measure_from(at));
        for workload in &mut self.workloads {
            workload.start_measuring(at);
        }
        let readings = self.all_resources(at).into_iter();
        self.first_reading = readings.map(|(by, reading)| ((by, reading.name), reading.book)).collect();
    }

    /// The tallies of this part start again.
    fn measure_from(&mut self, at: Time) {
        let accounted: Vec<Time> = self.fabric.ports.iter().map(|port| port.transmitter.busy_until).collect();
        self.fabric.keep_delivered();
        self.fabric.observers.start_measuring(at, accounted.into_iter());
    }

    /// Every resource that was ever asked for, with what it has done in the window up to `until`.
    pub fn resources(&self, until: Time) -> Vec<ResourceReading> {
        let in_the_window = |(by, mut reading): (usize, ResourceReading)| {
            let of = (by, reading.name);
            let first = self.first_reading.get(&of).copied().unwrap_or_default();
            reading.name = of.1;
            reading.book = reading.book.since(&first);
            reading
        };
        self.all_resources(until).into_iter().map(in_the_window).collect()
    }

    /// With what counts each: the fabric, or which workload; loads of several tools on one host have cores of one name.
    fn all_resources(&self, at: Time) -> Vec<(usize, ResourceReading)> {
        let mut readings = self.fabric.resources((&self.names, &self.port_names), at);
        if let Some(crew) = self.crew.as_ref().filter(|_| SHARES) {
            let of_others = crew.ask(move |part| part.fabric.resources((&part.names, &part.port_names), at));
            readings.extend(of_others.into_iter().flatten());
            order::sort_by_key(&mut readings, |(device, _)| *device);
        }
        let of_fabric = readings.into_iter().map(|(_, reading)| (0, reading));
        let of_workloads = (1..).zip(&self.workloads);
        let of_workloads = of_workloads
            .flat_map(|(by, workload)| workload.resources(at).into_iter().map(move |reading| (by, reading)));
        of_fabric.chain(of_workloads).collect()
    }

    /// Accounts for all time up to `at`, so that results can be read.
    pub fn stop_measuring(&mut self, at: Time) {
        self.on_every_part(move |part| part.account(at));
        if let Err(found) = self.fabric.audit_goodput(at, &self.names) {
            self.end_for(&found);
        }
        let (window, readings) = (at.saturating_since(self.window_start), self.resources(at));
        self.audit_use(window, &readings);
    }

    /// Accounts for all time up to `at` in this part, and audits it.
    fn account(&mut self, at: Time) {
        self.advance_to(at);
        self.fabric.settle_all(at);
        self.auditing.closely_at = 0;
        self.audit_part();
    }

    /// What the tools of each workload report, from the end of the warm-up to `until`.
    pub fn reports(&self, until: Time) -> Vec<Vec<Vec<Metric>>> {
        self.workloads.iter().map(|workload| workload.reports((self.window_start, until))).collect()
    }

    /// Memory that what is under way takes, in bytes, when there is a little more of it.
    pub fn bytes_under_way(&self) -> u64 {
        let own = self.workloads.iter().map(|workload| workload.bytes_under_way());
        let crew = self.crew.as_ref().filter(|_| SHARES);
        let others = crew.map(|crew| crew.ask(|part| part.bytes_under_way()));
        self.fabric.bytes_under_way() + own.chain(others.into_iter().flatten()).sum::<u64>()
    }

    /// Bytes that are held on their way: in ingress buffers, in caches of hosts, and then by the devices of each workload.
    pub fn held(&self) -> Vec<u64> {
        let levels = (0..self.fabric.ports.len()).flat_map(|port| self.fabric.observers.buffers(port));
        let ingress = levels.map(|level| u64::from(level.now())).sum();
        let crew = self.crew.as_ref().filter(|_| SHARES);
        let others = crew.map(|crew| crew.ask(|part| part.fabric.cached()));
        let cached = self.fabric.cached() + others.into_iter().flatten().sum::<u64>();
        let of_devices = self.workloads.iter().map(|workload| workload.held());
        [ingress, cached].into_iter().chain(of_devices).collect()
    }
}
