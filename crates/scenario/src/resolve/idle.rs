//! What nothing reads because of what else there is, or is not: an adapter's settings where there is no wire, software
//! without what it drives.

use super::kinds::Group;
use super::{Inputs, WORKLOAD_KINDS, channels, errors, kind_of, memory_path, ntb, side_link, standby};
use crate::idle::Idle;
use crate::parameters::{CoreChoice, EndpointParameters, EthernetRateChoice, SwitchParameters, WireChoice};
use crate::settings::Settings;
use crate::structure::ComponentKind;
use lanewise_pcie::virtual_channel::ChannelMap;
use lanewise_workload::LoadConfig;

/// Finds what is idle because of what else there is, or is not.
pub(crate) fn find(
    inputs: &Inputs<'_>,
    maps: &[ChannelMap],
    workloads: &[Box<dyn LoadConfig>],
    idle: &mut Idle,
) {
    unused_groups(inputs, idle);
    of_components(inputs, idle);
    memory_path::idle(inputs, workloads, idle);
    errors::idle(inputs, idle);
    standby::idle(inputs, idle);
    channels::idle(inputs, maps, idle);
}

/// What the rest of a file has that components may need.
struct Around {
    storage: bool,
    network: bool,
    drives: bool,
    expanders: bool,
}

/// Groups that only workloads of certain kinds read, where there is none of these kinds.
fn unused_groups(inputs: &Inputs<'_>, idle: &mut Idle) {
    let used: Vec<Group> =
        inputs.file.workloads.iter().filter_map(kind_of).flat_map(|kind| kind.uses).copied().collect();
    let unused = WORKLOAD_KINDS.iter().flat_map(|kind| kind.uses).filter(|group| !used.contains(group));
    for group in unused {
        let users = WORKLOAD_KINDS.iter().filter(|kind| kind.uses.contains(group));
        let words: Vec<String> = users.map(|kind| format!("`{}`", kind.word)).collect();
        let reason = match &words[..] {
            [only] => format!("only the workload {only} uses it"),
            several => format!("only the workloads {} use it", several.join(" and ")),
        };
        for component in inputs.file.components.iter().filter(|component| component.kind == group.of) {
            idle.because(format!("{}.{}", component.name, group.key), reason.clone());
        }
    }
}

fn of_components(inputs: &Inputs<'_>, idle: &mut Idle) {
    let any = |kind| inputs.file.components.iter().any(|component| component.kind == kind);
    let any_endpoint = |is: fn(&EndpointParameters) -> bool| {
        let mut settings = inputs.settings.iter().flatten();
        settings.any(|settings| matches!(settings, Settings::Endpoint(endpoint) if is(endpoint)))
    };
    let around = Around {
        storage: any(ComponentKind::Storage),
        network: any(ComponentKind::Network),
        drives: any_endpoint(|endpoint| endpoint.nvme.capacity.is_some()),
        expanders: any_endpoint(|endpoint| endpoint.expander.capacity.is_some()),
    };
    for (number, (component, settings)) in inputs.file.components.iter().zip(&inputs.settings).enumerate() {
        match settings {
            Some(Settings::Host(_)) => of_host(&component.name, &around, idle),
            Some(Settings::Switch(switch)) => of_switch(&component.name, switch, &around, idle),
            Some(Settings::Endpoint(endpoint)) => {
                of_endpoint(&component.name, endpoint, idle);
                if endpoint.side_link.rate.is_some() && !side_link::joins_any(inputs, number) {
                    let path = format!("{}.side_link", component.name);
                    idle.because(path, "it joins no other device: none of its host has one");
                }
            }
            _ => {}
        }
    }
}

/// Keys of a component, each with whether what needs it is there, and the reason where it is not.
fn without<const N: usize>(name: &str, keys: [(bool, &str, &'static str); N], idle: &mut Idle) {
    for (_, key, reason) in keys.into_iter().filter(|(is_there, ..)| !is_there) {
        idle.because(format!("{name}.{key}"), reason);
    }
}

const NO_EXPANDER: &str = "no memory expander is there for it";

fn of_host(name: &str, around: &Around, idle: &mut Idle) {
    let &Around { storage, network, drives, expanders } = around;
    let keys = [
        (storage, "software", "no `[storage]` is there for it"),
        (drives, "nvme", "no NVMe drive is there for it"),
        (drives && network, "nvme_target", "no drive is reached over a network"),
        (expanders, "cxl", NO_EXPANDER),
        (network, "verbs", "there is no `[network]`"),
    ];
    without(name, keys, idle);
}

fn of_switch(name: &str, switch: &SwitchParameters, around: &Around, idle: &mut Idle) {
    let keys = [
        (switch.core == CoreChoice::Hybrid, "groups", "only a `hybrid` core has groups"),
        (switch.request_metering, "metered_completion", "only `request_metering` expects completions"),
        (
            !switch.request_metering,
            "storage.non_posted",
            "`request_metering` keeps requests in front of the core",
        ),
        (around.expanders, "cxl", NO_EXPANDER),
        (around.expanders, "link.cxl", NO_EXPANDER),
    ];
    without(name, keys, idle);
}

fn of_endpoint(name: &str, endpoint: &EndpointParameters, idle: &mut Idle) {
    let is_expander = endpoint.expander.capacity.is_some();
    let has_wire = endpoint.adapter.wire != WireChoice::None;
    let is_ethernet = endpoint.ethernet.rate != EthernetRateChoice::None;
    let (is_drive, has_side_link) = (endpoint.nvme.capacity.is_some(), endpoint.side_link.rate.is_some());
    // Each with the key that decides.
    for (is_there, key, decided_by, reason) in [
        (is_expander, "expander", ".capacity", "without `expander.capacity` it is no memory expander"),
        (is_expander, "link.cxl", ".capacity", "without `expander.capacity` it is no memory expander"),
        (has_wire, "adapter", ".wire", "without `adapter.wire` it is none"),
        (has_side_link, "side_link", ".rate", "without `side_link.rate` it has none"),
        (endpoint.ntb.to != ntb::NOTHING, "ntb", ".to", "without `ntb.to` it is no bridge"),
        (is_drive, "nvme", ".capacity", "without `nvme.capacity` it is no drive"),
        (endpoint.rdma.ports > 0, "rdma", ".ports", "without `rdma.ports` it is no RDMA adapter"),
        (endpoint.sriov.functions > 0, "sriov", ".functions", "without `sriov.functions` it has none"),
        (
            endpoint.ats.entries > 0,
            "ats",
            ".entries",
            "without `ats.entries` it has no cache of translations",
        ),
        (endpoint.ide.mac.unit().is_some(), "ide", ".mac", "without `ide.mac` nothing is encrypted"),
        (is_ethernet, "ethernet", ".rate", "without `ethernet.rate` it is no Ethernet adapter"),
    ] {
        if !is_there {
            idle.because_of(format!("{name}.{key}"), decided_by, reason);
        }
    }
    if is_expander {
        of_expander(name, idle);
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
