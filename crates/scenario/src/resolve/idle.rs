//! What nothing reads because of what else there is, or is not: an adapter's settings where there is no wire, software
//! without what it drives.

use super::{Inputs, channels, errors, memory_path, side_link, standby};
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
    let is_expander = |settings: &Settings| matches!(settings, Settings::Endpoint(endpoint) if endpoint.expander.capacity.is_some());
    let expanders = inputs.settings.iter().flatten().any(is_expander);
    for (number, (component, settings)) in inputs.file.components.iter().zip(&inputs.settings).enumerate() {
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
                without(expanders, "cxl", "no memory expander is there for it");
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
                without(expanders, "cxl", "no memory expander is there for it");
                without(expanders, "link.cxl", "no memory expander is there for it");
            }
            Some(Settings::Endpoint(endpoint)) => {
                without(tools.contains("copy"), "copy_engine", "only the workload `copy` uses it");
                without(
                    tools.contains("copy") || tools.contains("collective"),
                    "kernel",
                    "only the workloads `copy` and `collective` use it",
                );
                let mut unless = |there: bool, key, decided_by, reason| {
                    if !there {
                        idle.because_of(path(key), decided_by, reason);
                    }
                };
                let is_expander = endpoint.expander.capacity.is_some();
                unless(
                    is_expander,
                    "expander",
                    ".capacity",
                    "without `expander.capacity` it is no memory expander",
                );
                unless(
                    is_expander,
                    "link.cxl",
                    ".capacity",
                    "without `expander.capacity` it is no memory expander",
                );
                let (adapter, ethernet) = (&endpoint.adapter, &endpoint.ethernet);
                unless(
                    adapter.wire != WireChoice::None,
                    "adapter",
                    ".wire",
                    "without `adapter.wire` it is none",
                );
                unless(
                    endpoint.side_link.rate.is_some(),
                    "side_link",
                    ".rate",
                    "without `side_link.rate` it has none",
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
                let has_functions = endpoint.sriov.functions > 0;
                unless(has_functions, "sriov", ".functions", "without `sriov.functions` it has none");
                let has_cache = endpoint.ats.entries > 0;
                unless(has_cache, "ats", ".entries", "without `ats.entries` it has no cache of translations");
                let encrypts = endpoint.ide.mac.unit().is_some();
                unless(encrypts, "ide", ".mac", "without `ide.mac` nothing is encrypted");
                let there = ethernet.rate != EthernetRateChoice::None;
                unless(there, "ethernet", ".rate", "without `ethernet.rate` it is no Ethernet adapter");
                if endpoint.side_link.rate.is_some() && !side_link::joins_any(inputs, number) {
                    idle.because(path("side_link"), "it joins no other device: none of its host has one");
                }
                if is_expander {
                    of_expander(&component.name, idle);
                }
            }
            _ => {}
        }
    }
}

/// Errors of packets, of which a memory expander has none: its loads are lines, in flits of CXL.mem.
fn of_expander(name: &str, idle: &mut Idle) {
    let flits = "a load on a memory expander has no TLPs; `bit_error_rate_upstream` and `bit_error_rate_downstream` damage its flits";
    for key in ["corrupt_tlps_upstream", "corrupt_tlps_downstream"] {
        idle.because(format!("{name}.link.{key}"), flits);
    }
    idle.because(format!("{name}.errors"), "a memory expander has no DMA");
}
