//! Every documented lowest and highest value is part of a scenario that runs.
//!
//! The swarm draws ends at random and reaches most of them within an hour. Here each is looked for: in the shipped scenarios, and in
//! rigs with what those leave out. Some ends are possible only together with other values, which stand beside them.

use crate::rig::{Rig, World};
use crate::{fault, say};
use std::collections::BTreeMap;

/// Parameters and values.
type Settings = &'static [(&'static str, &'static str)];

/// Parameter, value, and what has to be set with it: siblings, or paths from the root of the scenario, which begin with a stroke.
const BESIDE: [(&str, &str, Settings); 31] = [
    ("adapter.read_request", "1 MiB", &[("adapter.write_buffer", "1 GiB")]),
    ("adapter.write_buffer", "1 KiB", &[("adapter.read_request", "1 KiB")]),
    ("adapter_port", "255", &[("/hba0.adapter.ports", "256")]),
    ("at", "1 ns", &[("/run.warm_up", "0 ns")]),
    ("at", "3600 s", &[("/run.time_limit", "14400 s")]),
    ("ats.prefetch", "15", &[("/server.rcb", "128 B")]),
    ("buffer", "4 KiB", &[("write_burst", "2 KiB")]),
    ("completion_moderation", "65536", &[("tx_depth", "65536")]),
    ("expander.capacity", "1 MiB", &[("/workload.stream.span", "64 KiB")]),
    ("inline_size", "1 KiB", &[("/nic0.rdma.inline_max", "1 KiB"), ("/nic1.rdma.inline_max", "1 KiB")]),
    ("iommu.ways", "65536", &[("iommu.entries", "65536")]),
    ("max_size", "1 B", &[("size", "1 B")]),
    ("llc.device_ways", "64", &[("llc.ways", "64")]),
    ("llc.ways", "1", &[("llc.device_ways", "1")]),
    ("nvme.buffer", "4 KiB", &[("nvme.piece", "4 KiB"), ("nvme.dma_unit", "4 KiB")]),
    ("size", "1024 TiB", &[("/ssd.nvme.capacity", "1024 TiB")]),
    ("span", "1 B", &[("size", "1 B"), ("stride", "1 B")]),
    ("warm_up", "14399 s", &[("time_limit", "14400 s")]),
    ("write_burst", "64 GiB", &[("buffer", "64 GiB")]),
    ("write_burst", "64 GiB", &[("buffer", "1024 GiB")]),
    ("retry_buffer", "152 B", &[("mps_supported", "128 B")]),
    ("posted_data", "8", &[("mps_supported", "128 B")]),
    ("completion_data", "8", &[("mps_supported", "128 B")]),
    ("window", "1", &[("operation", "broadcast")]),
    ("xoff", "512 MiB", &[("buffer", "1 GiB")]),
    ("xon", "512 MiB", &[("buffer", "1 GiB")]),
    ("sriov.functions", "0", &NO_FUNCTIONS),
    ("sriov.first_offset", "255", &ONE_FUNCTION),
    ("sriov.stride", "255", &ONE_FUNCTION),
    ("sriov.weights", "1", &ONE_FUNCTION),
    ("sriov.weights", "255", &ONE_FUNCTION),
];

/// The shipped scenario of functions, without them and with one.
const NO_FUNCTIONS: [(&str, &str); 4] = [
    ("/workload.bulk.device", "nic"),
    ("/workload.log1.device", "nic"),
    ("/workload.log2.device", "nic"),
    ("/workload.small.device", "nic"),
];
const ONE_FUNCTION: [(&str, &str); 5] = [
    ("sriov.functions", "1"),
    ("/workload.bulk.device", "nic.vf[0]"),
    ("/workload.log1.device", "nic.vf[0]"),
    ("/workload.log2.device", "nic"),
    ("/workload.small.device", "nic"),
];

/// What no shipped scenario has: one disk, sleep, errors, credits of virtual channels between flits, adapters without a network, a shared queue.
const RIGS: [&str; 8] = [
    r#"
[host.server]
part = "supermicro-x6dh8-g2"
[endpoint.hba0]
part = "lsi-sas3801e"
attach = "server.slot1"
[storage.disk]
part = "sas-15k-73gb"
attach = "hba0"
[[workload]]
kind = "iometer"
name = "read"
targets = ["disk"]
workers = 1
outstanding = 1
access = [{ size = "64 KiB", percent = 100, read = 100, random = 0 }]
"#,
    r#"
[host.h]
slots = { slot1 = "gen3 x4", slot2 = "gen1 x1", slot3 = "gen5 x1" }
shared_outbound_queue = 16
root_port_request_queue = 4
mps_supported = "128 B"
errors = { late_reads = [2], poisoned = [5] }
[switch.s]
attach = "h.slot1"
mps_supported = "128 B"
ports = { port0 = "gen3 x4", port1 = "gen3 x4" }
errors = { corrupt_tlps = [4] }
[endpoint.e]
attach = "s.port1"
generation = "gen3"
width = "x4"
mps_supported = "128 B"
link = { aspm = "l0s and l1", l1_2_exit = "50 us", skip_interval = "1 us" }
errors = { completion_timeout = "10 ms", retries = 2, poisoned = [9] }
[endpoint.n]
attach = "h.slot2"
part = "generic-gen3-x4"
ethernet = { ports = 2 }
[endpoint.r]
attach = "h.slot3"
generation = "gen5"
width = "x1"
rdma = { ports = 1 }
link = { skip_interval = "1 us" }
[[workload]]
kind = "dma"
name = "reads"
device = "e"
direction = "both"
size = "1 KiB"
"#,
    r#"
[host.h]
slots = { slot1 = "gen5 x16", slot2 = "gen7 x1" }
[endpoint.e]
attach = "h.slot1"
generation = "gen5"
width = "x16"
link = { virtual_channels = [[7]] }
[endpoint.f]
attach = "h.slot2"
generation = "gen7"
width = "x1"
link = { skip_interval = "1 us" }
[[workload]]
kind = "dma"
name = "writes"
device = "e"
direction = "write"
size = "1 KiB"
"#,
    r#"
[host.h]
slots = { slot1 = "gen4 x4" }
[endpoint.ssd]
attach = "h.slot1"
part = "generic-nvme-gen4-x4"
[[workload]]
kind = "fio"
name = "mix"
filename = ["ssd"]
rw = "randrw"
rwmixread = 30
thinktime = "1 us"
thinktime_blocks = 3
bs = "4 KiB"
ioengine = "libaio"
iodepth = 4
"#,
    r#"
[host.h]
count = 2
slots = { slot1 = "gen5 x16" }
[endpoint.nic]
count = 2
attach = "h[*].slot1"
part = "nvidia-connectx-7"
[network_switch.leaf]
buffer = "8 MiB"
[network.wires]
kind = "roce"
mtu = "256 B"
ends = ["nic[*]", "leaf"]
[[workload]]
kind = "perftest"
name = "w"
tool = "ib_write_bw"
network = "wires"
client = "nic[0]"
server = "nic[1]"
"#,
    r#"
[host.h]
count = 2
slots = { slot1 = "gen5 x16" }
[endpoint.nic]
count = 2
attach = "h[*].slot1"
part = "nvidia-connectx-7"
[network_switch.leaf]
count = 2
ports = 1024
buffer = "16 KiB"
[network.wires]
kind = "infiniband-qdr"
mtu = "256 B"
ends = ["nic[*]", "leaf[*]"]
[network.between]
kind = "infiniband-qdr"
mtu = "256 B"
ends = ["leaf[0]", "leaf[1]"]
[[workload]]
kind = "perftest"
name = "w"
tool = "ib_write_bw"
network = "wires"
client = "nic[0]"
server = "nic[1]"
"#,
    r#"
[host.server]
slots = { slot1 = "gen5 x16" }
cxl = { mem = true }
[switch.sw0]
attach = "server.slot1"
ports = { port0 = "gen5 x16", port1 = "gen5 x8" }
cxl = { latency = "70 ns" }
[endpoint.cxl0]
part = "micron-cz120"
attach = "sw0.port1"
[[workload]]
kind = "stream"
name = "stream"
device = "cxl0"
"#,
    r#"
[host.h]
slots = { slot1 = "gen1 x1" }
[switch.top]
attach = "h.slot1"
ports = { port0 = "gen1 x1", "port1..port32" = "gen1 x1" }
[switch.sw]
count = 32
attach = "top.*"
ports = { port0 = "gen1 x1", "port1..port32" = "gen1 x1" }
[endpoint.e]
count = 1024
attach = "sw[*].*"
generation = "gen1"
width = "x1"
side_link = { rate = "300 GB/s" }
[[workload]]
kind = "collective"
name = "many"
operation = "broadcast"
devices = ["e[*]"]
"#,
];

/// A host of that many sockets, each with one slot. Memory of a socket is refused where a lower one has nothing.
fn sockets(count: usize) -> String {
    let slots: String = (0..count)
        .map(|socket| format!("slot{socket} = {{ link = \"gen4 x4\", socket = {socket} }}\n"))
        .collect();
    format!(
        r#"
[host.large.slots]
{slots}
[endpoint.card]
attach = "large.slot0"
generation = "gen4"
width = "x4"
[[workload]]
kind = "dma"
device = "card"
direction = "write"
size = "4 KiB"
"#
    )
}

struct Base {
    rig: Rig,
    paths: Vec<String>,
}

fn bases(world: &World) -> Vec<Base> {
    let written = RIGS.iter().map(|text| (*text).to_owned()).chain([sockets(64)]);
    let texts = written.map(|text| vec![text]).chain(world.shipped_blocks());
    texts
        .map(|blocks| {
            let rig = Rig { blocks, settings: Vec::new() };
            let scenario = rig.load().unwrap_or_else(|found| panic!("{found}"));
            let paths = scenario.explained_parameters().into_iter().map(|parameter| parameter.path).collect();
            Base { rig, paths }
        })
        .collect()
}

/// What is set with a value, each way there is; with nothing first.
fn companions(axis: &str, value: &str) -> Vec<Settings> {
    let said = BESIDE
        .iter()
        .filter(|(of, end, _)| *end == value && (axis == *of || axis.ends_with(&format!(".{of}"))));
    std::iter::once(&[] as &[_]).chain(said.map(|(_, _, beside)| *beside)).collect()
}

/// The scenario in which a parameter has this value, or why there is none.
fn with(bases: &[Base], axis: &str, value: &str) -> Result<Rig, String> {
    let mut why = "no scenario has it".to_owned();
    for base in bases {
        for path in base.paths.iter().filter(|path| path.ends_with(&format!(".{axis}"))) {
            let owner = path.strip_suffix(axis).expect("it ends so");
            for beside in companions(axis, value) {
                let written = [value.to_owned(), format!("[{value}]")];
                for value in written {
                    let mut rig = base.rig.clone();
                    let absolute = |key: &str| {
                        key.strip_prefix('/').map_or_else(|| format!("{owner}{key}"), str::to_owned)
                    };
                    rig.settings = vec![("run.event_limit".to_owned(), "3000".to_owned())];
                    rig.settings
                        .extend(beside.iter().map(|(key, value)| (absolute(key), (*value).to_owned())));
                    rig.settings.push((path.clone(), value.clone()));
                    match rig.load() {
                        Ok(_) => return Ok(rig),
                        Err(found) if !value.starts_with('[') => {
                            why = found.to_string().lines().next().unwrap_or_default().to_owned();
                        }
                        Err(_) => {}
                    }
                }
            }
        }
    }
    Err(why)
}

#[test]
fn every_end_of_every_parameter_is_in_a_scenario_that_runs() {
    let world = World::new();
    let bases = bases(&world);
    let mut missing: BTreeMap<String, String> = BTreeMap::new();
    for (axis, value) in world.all_ends() {
        let end = format!("{axis} = {value}");
        match with(&bases, &axis, &value) {
            Ok(rig) => {
                let scenario = rig.load().expect("it was loaded before");
                if let Some(found) = fault(&rig, &scenario) {
                    panic!("{end}: {found}\n{:?}\n{}", rig.settings, rig.text());
                }
            }
            Err(why) => drop(missing.insert(end, why)),
        }
    }
    say(&format!("swarm: {} ends of parameters, each by itself", world.ends()));
    assert!(missing.is_empty(), "{missing:#?}");
}
