//! NVMe drives under fio as a load: what it may have open, when it moves drives, and what makes it larger.

use super::fabrics;
use super::{DataMemory, FioConfig, GroupConfig, IoEngine, JobTool, NvmeConfig, NvmeWorkload, Pace, Staging};
use crate::host::NvmeHostConfig;
use crate::load::Step::{Double, Halve};
use crate::load::{DATA_PATH, Demand, Draft, Enlarge, LoadConfig, OnCore, Reached, Tool};
use lanewise_fabric::workload::{DeviceId, Workload};
use lanewise_fabric::{HostPart, NvmePart, Part, ResourceId, ResourceOwner};
use lanewise_units::{Bytes, Span, order};

impl NvmeConfig {
    /// Whether a device is one of its drives, or an adapter between jobs and drives.
    fn uses(&self, device: DeviceId) -> bool {
        let drives = self.ssds.iter().map(|ssd| ssd.device);
        drives.chain(self.network.nics.iter().map(|nic| nic.device)).any(|mine| mine == device)
    }
}

impl LoadConfig for NvmeConfig {
    fn build(&self) -> Box<dyn Workload> {
        Box::new(NvmeWorkload::new(self.clone()))
    }

    fn boxed(&self) -> Box<dyn LoadConfig> {
        Box::new(self.clone())
    }

    fn tools(&self) -> Vec<Tool> {
        let has_fio = self.groups.iter().any(|group| group.fio.tool == JobTool::Fio);
        let fio = has_fio.then(|| Tool::of_all("nvme", "fio"));
        // The groups of one workload of gdsio's, a drive each, follow each other.
        let mut gdsio: Vec<Tool> = Vec::new();
        for group in self.groups.iter().filter(|group| group.fio.tool == JobTool::Gdsio) {
            if gdsio.last().is_none_or(|tool| tool.name != *group.fio.name) {
                gdsio.push(Tool::of(&group.fio.name, "gdsio"));
            }
        }
        fio.into_iter().chain(gdsio).collect()
    }

    fn retuned(&self, other: &dyn LoadConfig, first: &dyn LoadConfig) -> Box<dyn LoadConfig> {
        match (other.of_kind::<Self>(), first.of_kind::<Self>()) {
            (Some(other), Some(first)) => Box::new(self.with_live_settings_of(other, first)),
            _ => self.boxed(),
        }
    }

    fn demands(&self) -> Vec<Demand> {
        self.groups.iter().map(|group| demand(&group.fio)).collect()
    }

    fn targets(&self) -> Vec<Reached<'_>> {
        fn of_group(group: &GroupConfig) -> impl Iterator<Item = Reached<'_>> {
            let devices = match &group.memory {
                DataMemory::Devices(devices) => devices.as_slice(),
                DataMemory::Host | DataMemory::Copied(_) => &[],
            };
            devices.iter().map(|device| Reached { flow: &group.fio.name, by: None, device: *device })
        }
        self.groups.iter().flat_map(of_group).collect()
    }

    fn peer_memory(&self) -> Vec<(DeviceId, Bytes)> {
        let of_group = |group: &GroupConfig| {
            let staged = group.fabrics.as_ref().map(|fabrics| fabrics.staging);
            let devices: Vec<DeviceId> = match staged {
                Some(Staging::Drive) => self.ssds.iter().map(|ssd| ssd.device).collect(),
                Some(Staging::Device(device)) => vec![device],
                Some(Staging::HostMemory) | None => Vec::new(),
            };
            let block = group.fio.blocks.largest();
            let memory = match &group.memory {
                DataMemory::Devices(devices) => devices.clone(),
                DataMemory::Host | DataMemory::Copied(_) => Vec::new(),
            };
            devices.into_iter().chain(memory).map(move |device| (device, block))
        };
        self.groups.iter().flat_map(of_group).collect()
    }

    fn first_change(&self) -> Option<Span> {
        self.moves.iter().map(|each| each.at).min()
    }

    fn more_outstanding(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        if !self.uses(device) {
            return None;
        }
        for fio in self.groups.iter_mut().map(|group| &mut group.fio) {
            larger.count(if fio.engine == IoEngine::Synchronous { &mut fio.jobs } else { &mut fio.depth });
        }
        Some(())
    }

    fn idle_keys(&self, name: &str) -> &'static [&'static str] {
        let waits =
            |group: &GroupConfig| &*group.fio.name == name && group.fio.engine == IoEngine::Synchronous;
        if self.groups.iter().any(waits) { &["iodepth"] } else { &[] }
    }

    fn shorten_pauses(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        if !self.uses(device) {
            return None;
        }
        let mut is_held_back = false;
        for fio in self.groups.iter_mut().map(|group| &mut group.fio) {
            is_held_back |= fio.pace.is_some() || fio.thinking.is_some();
            match &mut fio.pace {
                Some(Pace::Bytes(rate)) => larger.rate(rate),
                Some(Pace::Ios(interval)) => larger.shorten(interval),
                None => {}
            }
            if let Some(pause) = &mut fio.thinking {
                larger.shorten(&mut pause.time);
            }
        }
        is_held_back.then_some(())
    }

    fn open_at_most(&self) -> Vec<(String, u64)> {
        let groups = self.groups.iter().map(|group| &group.fio);
        groups.map(|fio| (fio.name.to_string(), demand(fio).operations)).collect()
    }

    fn transfers(&self) -> Vec<Vec<String>> {
        let elsewhere = self.groups.iter().filter(|group| group.fabrics.is_some());
        let names = elsewhere.map(|group| &group.fio.name);
        names.map(|job| vec![job.to_string(), fabrics::flow_at(job, 0), fabrics::flow_at(job, 1)]).collect()
    }

    fn moved(&self) -> Vec<DeviceId> {
        self.moves.iter().flat_map(|each| [self.ssds[each.ssd].device, each.device]).collect()
    }

    fn cores(&self) -> Vec<OnCore> {
        let mut found: Vec<OnCore> = Vec::new();
        // Jobs that run on each host, and those of groups whose drives are elsewhere.
        let (mut running, mut connected) = (vec![0; self.hosts.len()], 0);
        for group in &self.groups {
            let host = &self.hosts[group.host];
            let mut add = |flow: String, host: &NvmeHostConfig, core: u32| {
                found.push(OnCore { flow, host: host.device, core: HostPart::Core { core } });
            };
            for _ in 0..group.fio.jobs {
                let name = &group.fio.name;
                let core = core_of_job(running[group.host], host);
                add(name.to_string(), host, core);
                running[group.host] += 1;
                if let Some(fabrics) = &group.fabrics {
                    let target = &self.hosts[fabrics.target];
                    add(fabrics::flow_at(name, 0), host, core);
                    add(fabrics::flow_at(name, 1), target, fabrics.core_of_connection(connected, target));
                    add(name.to_string(), target, fabrics.core_of_connection(connected, target));
                }
                connected += 1;
            }
        }
        order::sort_by(&mut found, |a, b| (&a.flow, a.host, a.core).cmp(&(&b.flow, b.host, b.core)));
        found.dedup();
        found
    }

    fn faster_wires(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        self.network.faster_wires(device, larger)
    }

    fn quicker_adapters(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        self.network.quicker_adapters(device, larger)
    }

    fn enlarge(&mut self, resource: &ResourceId, larger: &mut Enlarge) -> Option<()> {
        let ResourceOwner::Device(device) = resource.owner else {
            return self.network.enlarge(resource, larger);
        };
        if let Part::Host(HostPart::Core { .. }) = resource.part {
            let host = self.hosts.iter_mut().find(|host| host.device == device)?;
            let costs = [
                &mut host.worker_cost,
                &mut host.submit_cost,
                &mut host.aio_cost,
                &mut host.user_driver_cost,
                &mut host.interrupt_cost,
                &mut host.completion_cost,
                &mut host.register_cost,
            ];
            larger.shorten_all(costs);
            return Some(());
        }
        let Part::Nvme(part) = resource.part else { return self.network.enlarge(resource, larger) };
        let ssd = self.ssds.iter_mut().find(|ssd| ssd.device == device)?;
        match part {
            NvmePart::Media => {
                larger.shorten_all([&mut ssd.read_time, &mut ssd.hit_time, &mut ssd.write_time])
            }
            NvmePart::Controller => larger.shorten_all([&mut ssd.command_time, &mut ssd.sector_time]),
            NvmePart::Fetch => larger.count(&mut ssd.fetch_batch),
            NvmePart::ReadPath => larger.rate(&mut ssd.read_rate),
            NvmePart::WritePath => {
                larger.rate(&mut ssd.write_rate);
                larger.rate(&mut ssd.random_write_rate);
            }
        }
        Some(())
    }

    fn edits(&self, resource: &ResourceId) -> Vec<Draft> {
        let Part::Nvme(part) = resource.part else { return self.network.edits(resource) };
        match part {
            NvmePart::Media => {
                let times = ["nvme.read_time", "nvme.hit_time", "nvme.write_time"];
                vec![
                    Draft::own("twice the dies", &["nvme.dies"], Double),
                    Draft::own("media that take half the time", &times, Halve),
                ]
            }
            NvmePart::Controller => {
                let times = ["nvme.command_time", "nvme.sector_time"];
                vec![Draft::own("half the time of a command", &times, Halve)]
            }
            NvmePart::ReadPath => vec![Draft::own(DATA_PATH, &["nvme.read_rate"], Double)],
            NvmePart::WritePath => {
                let both = ["nvme.write_rate", "nvme.random_write_rate"];
                vec![Draft::own(DATA_PATH, &both, Double).stated()]
            }
            NvmePart::Fetch => {
                vec![Draft::own("twice the commands of a fetch", &["nvme.fetch_batch"], Double)]
            }
        }
    }
}

/// The core that a job runs on, by how many run on the host before it.
pub(super) fn core_of_job(before: u32, host: &NvmeHostConfig) -> u32 {
    before % host.cores
}

fn demand(fio: &FioConfig) -> Demand {
    let jobs = format!("{}.numjobs", fio.name);
    let of =
        if fio.engine == IoEngine::Synchronous { jobs } else { format!("{jobs} × {}.iodepth", fio.name) };
    Demand { operations: u64::from(fio.jobs) * u64::from(fio.effective_depth()), of }
}
