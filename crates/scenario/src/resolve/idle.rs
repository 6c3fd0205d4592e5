//! What nothing reads because of what else there is, or is not: an adapter's settings where there is no wire, software
//! without what it drives.

use super::{Inputs, channels, errors, memory_path, standby};
use crate::idle::Idle;
use crate::parameters::{CoreChoice, EthernetRateChoice, WireChoice};
use crate::settings::Settings;
use crate::structure::ComponentKind;
use lanewise_pcie::virtual_channel::ChannelMap;
use std::collections::HashSet;

/// Finds what is idle because of what else there is, or is not.
pub(crate) fn find(inputs: &Inputs<'_>, maps: &[ChannelMap], idle: &mut Idle) {
    of_components(inputs, idle);
    memory_path::idle(inputs, idle);
    errors::idle(inputs, idle);
    standby::idle(inputs, idle);
    channels::idle(inputs, maps, idle);
}

fn of_components(inputs: &Inputs<'_>, idle: &mut Idle) {
    let tools: HashSet<&str> = inputs.file.workloads.iter().map(|workload| workload.kind.as_str()).collect();
    let any = |kind| inputs.file.components.iter().any(|component| component.kind == kind);
    let (storage, network) = (any(ComponentKind::Storage), any(ComponentKind::Network));
    let is_drive = |settings: &Settings| matches!(settings, Settings::Endpoint(endpoint) if endpoint.nvme.capacity.is_some());
    let drives = inputs.settings.iter().flatten().any(is_drive);
    for (component, settings) in inputs.file.components.iter().zip(&inputs.settings) {
        let path = |key: &str| format!("{}.{key}", component.name);
        let mut without = |there: bool, key, reason| {
            if !there {
                idle.because(path(key), reason);
            }
        };
        match settings {
            Some(Settings::Host(_)) => {
                without(tools.contains("copy"), "pageable", "only the workload `copy` uses it");
                without(storage, "software", "no `[storage]` is there for it");
                without(drives, "nvme", "no NVMe drive is there for it");
                without(tools.contains("turnaround"), "cache", "only the workload `turnaround` asks for it");
                without(drives && network, "nvme_target", "no drive is reached over a network");
                without(network, "verbs", "there is no `[network]`");
                without(tools.contains("osu"), "mpi", "only the workload `osu` uses it");
                without(
                    tools.contains("transactions"),
                    "kernel_tcp",
                    "only the workload `transactions` uses it",
                );
                without(
                    tools.contains("transactions"),
                    "user_tcp",
                    "only the workload `transactions` uses it",
                );
            }
            Some(Settings::Switch(switch)) => {
                without(switch.core == CoreChoice::Hybrid, "groups", "only a `hybrid` core has groups");
            }
            Some(Settings::Endpoint(endpoint)) => {
                without(tools.contains("copy"), "copy_engine", "only the workload `copy` uses it");
                without(tools.contains("copy"), "kernel", "only the workload `copy` uses it");
                let mut unless = |there: bool, key, decided_by, reason| {
                    if !there {
                        idle.because_of(path(key), decided_by, reason);
                    }
                };
                let (adapter, ethernet) = (&endpoint.adapter, &endpoint.ethernet);
                unless(
                    adapter.wire != WireChoice::None,
                    "adapter",
                    ".wire",
                    "without `adapter.wire` it is none",
                );
                unless(
                    endpoint.nvme.capacity.is_some(),
                    "nvme",
                    ".capacity",
                    "without `nvme.capacity` it is no drive",
                );
                unless(
                    endpoint.rdma.ports > 0,
                    "rdma",
                    ".ports",
                    "without `rdma.ports` it is no RDMA adapter",
                );
                let there = ethernet.rate != EthernetRateChoice::None;
                unless(there, "ethernet", ".rate", "without `ethernet.rate` it is no Ethernet adapter");
            }
            _ => {}
        }
    }
}
