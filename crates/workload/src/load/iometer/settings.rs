//! Storage as a load: what it may have open, and what makes it larger.

use super::{IometerConfig, StorageConfig, StorageWorkload, TargetAssignment};
use crate::device::hba::{DriveConfig, DrivePlacement};
use crate::load::Step::{Double, Halve};
use crate::load::{DATA_PATH, Demand, Draft, Enlarge, LoadConfig, OnCore, Tool};
use lanewise_fabric::workload::{DeviceId, Workload};
use lanewise_fabric::{HostPart, Part, ResourceId, StorageAdapterPart};
use lanewise_units::order;

impl LoadConfig for StorageConfig {
    fn build(&self) -> Box<dyn Workload> {
        Box::new(StorageWorkload::new(self.clone()))
    }

    fn boxed(&self) -> Box<dyn LoadConfig> {
        Box::new(self.clone())
    }

    fn tools(&self) -> Vec<Tool> {
        vec![Tool::of_all("storage", "iometer")]
    }

    fn retuned(&self, other: &dyn LoadConfig, _first: &dyn LoadConfig) -> Box<dyn LoadConfig> {
        match other.of_kind::<Self>() {
            Some(other) => Box::new(self.with_live_settings_of(other)),
            None => self.boxed(),
        }
    }

    fn demands(&self) -> Vec<Demand> {
        self.groups.iter().map(demand).collect()
    }

    fn more_outstanding(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        self.hbas.iter().find(|hba| hba.device == device)?;
        self.groups.iter_mut().for_each(|group| larger.count(&mut group.outstanding));
        Some(())
    }

    fn shorten_pauses(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        self.hbas.iter().find(|hba| hba.device == device)?;
        let lines = self.groups.iter_mut().flat_map(|group| &mut group.access);
        let delayed = lines.filter(|line| !line.delay.is_zero());
        delayed.map(|line| larger.shorten(&mut line.delay)).reduce(|(), ()| ())
    }

    fn cores(&self) -> Vec<OnCore> {
        let count = self.host.cores.max(1);
        let mut found = Vec::new();
        let mut workers = 0;
        for group in &self.groups {
            let interrupts = group.targets.iter().map(|drive| self.drives[*drive].hba as u32);
            let mut cores: Vec<u32> = (workers..workers + group.workers).chain(interrupts).collect();
            cores.iter_mut().for_each(|core| *core %= count);
            order::sort(&mut cores);
            cores.dedup();
            let on_core = |core| OnCore {
                flow: group.name.to_string(),
                host: self.host.device,
                core: HostPart::Core { core },
            };
            found.extend(cores.into_iter().map(on_core));
            workers += group.workers;
        }
        found
    }

    fn enlarge(&mut self, resource: &ResourceId, larger: &mut Enlarge) -> Option<()> {
        let device = resource.owner.device()?;
        match resource.part {
            Part::Host(HostPart::Core { .. }) if self.host.device == device => {
                let host = &mut self.host;
                let costs = [
                    &mut host.worker_cost,
                    &mut host.submit_cost,
                    &mut host.interrupt_cost,
                    &mut host.completion_cost,
                ];
                larger.shorten_all(costs);
            }
            Part::DiskMedia => {
                let hbas = &self.hbas;
                let is_of = |drive: &&mut DrivePlacement| drive.owner(&hbas[drive.hba]) == resource.owner;
                enlarge_media(&mut self.drives.iter_mut().find(is_of)?.config, larger);
            }
            Part::StorageAdapter(part) => {
                let hba = self.hbas.iter_mut().find(|hba| hba.device == device)?;
                match part {
                    StorageAdapterPart::Processor => larger.shorten(&mut hba.command_time),
                    StorageAdapterPart::ReadPath => larger.rate(hba.internal_read_bandwidth.as_mut()?),
                    StorageAdapterPart::WritePath => larger.rate(hba.internal_write_bandwidth.as_mut()?),
                    StorageAdapterPart::SharedPath => larger.rate(hba.internal_bandwidth.as_mut()?),
                    StorageAdapterPart::ReadBuffer => larger.bytes(&mut hba.read_buffer),
                    StorageAdapterPart::WriteBuffer => larger.bytes(&mut hba.write_buffer),
                    // A wire has the rate of its generation.
                    StorageAdapterPart::WireIn { .. } | StorageAdapterPart::WireOut { .. } => return None,
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn edits(&self, resource: &ResourceId) -> Vec<Draft> {
        let twice = |what, key| vec![Draft::own(what, &[key], Double)];
        match resource.part {
            Part::DiskMedia => vec![
                Draft::own("media twice as fast", &["read_rate", "write_rate"], Double),
                Draft::own("half the time of a command", &["read_overhead", "write_overhead"], Halve),
                Draft::own("half the time to position", &["positioning", "positioning_variation"], Halve),
            ],
            Part::StorageAdapter(part) => match part {
                StorageAdapterPart::Processor => {
                    vec![Draft::own("half the time of a command", &["adapter.command_time"], Halve)]
                }
                StorageAdapterPart::ReadPath => twice(DATA_PATH, "adapter.internal_read_bandwidth"),
                StorageAdapterPart::WritePath => twice(DATA_PATH, "adapter.internal_write_bandwidth"),
                StorageAdapterPart::SharedPath => twice(DATA_PATH, "adapter.internal_bandwidth"),
                StorageAdapterPart::ReadBuffer => twice("twice the read buffer", "adapter.read_buffer"),
                StorageAdapterPart::WriteBuffer => twice("twice the write buffer", "adapter.write_buffer"),
                // A wire has the rate of its generation.
                StorageAdapterPart::WireIn { .. } | StorageAdapterPart::WireOut { .. } => Vec::new(),
            },
            _ => Vec::new(),
        }
    }
}

fn enlarge_media(drive: &mut DriveConfig, larger: &mut Enlarge) {
    larger.rate(&mut drive.read_rate);
    larger.rate(&mut drive.write_rate);
    larger.shorten_all([
        &mut drive.read_overhead,
        &mut drive.write_overhead,
        &mut drive.overhead_variation,
        &mut drive.turnaround,
        &mut drive.positioning,
        &mut drive.positioning_variation,
    ]);
}

fn demand(group: &IometerConfig) -> Demand {
    let workers = u64::from(group.workers);
    let targets = group.targets.len() as u64;
    // Each worker has at least one target.
    let seats = match group.assignment {
        TargetAssignment::Split => targets.max(workers),
        TargetAssignment::Shared => targets.saturating_mul(workers),
    };
    let of = format!("{}.workers × {0}.outstanding × targets", group.name);
    Demand { operations: seats.saturating_mul(u64::from(group.outstanding)), of }
}
