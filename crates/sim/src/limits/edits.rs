//! Edits of a scenario that make what limits it larger: what a person would try next, as paths and values.
//!
//! [`super::enlarge`] makes a candidate ten times larger in the resolved configuration, which is a proof and nothing that one can
//! buy. An edit is a machine: a link a generation faster or twice as wide, twice the credits, half the time. Whether there can be
//! such a machine is for [`lanewise_scenario::load`] to say. What a load has of its own it proposes itself
//! ([`lanewise_workload::LoadConfig::edits`]). Tests have limits by construction, and hold that an edit brings something where the proof does.
//!
//! Leaves out: another place in the tree, fewer devices, and values that nothing states (`none`, `auto`).

mod parts;
mod wire;

use super::candidate::{Candidate, OfDevice, OfDirection, key, owner};
use crate::results::{Flow, Results};
use lanewise_fabric::config::DeviceKind;
use lanewise_fabric::{CxlPart, Part, ResourceId, ResourceKind};
use lanewise_pcie::tag::TagWidth;
use lanewise_scenario::{ChangedValue, Scenario};
use lanewise_units::order;
use lanewise_workload::Step::{self, Double, Halve, Tenth};
use lanewise_workload::{Draft, Owner};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};

/// An edit that makes what limits a run larger.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Edit {
    /// What it does, in words.
    pub what: String,
    /// Parameters, all of which change at once.
    pub settings: Vec<ChangedValue>,
}

/// Keys that say how much a workload keeps under way, and how much it asks for with each of them.
const DEPTHS: [&str; 5] = ["outstanding", "iodepth", "tx_depth", "window", "connections"];
const SIZES: [&str; 3] = ["size", "bs", "bs_write"];
/// Keys that hold a workload back, and what to do about them.
const PACES: [(&str, Step, &str); 8] = [
    ("rate", Double, FASTER),
    ("rate_iops", Double, FASTER),
    ("thinktime", Halve, SOONER),
    ("interval", Halve, SOONER),
    ("pause", Halve, SOONER),
    ("delay", Halve, SOONER),
    ("cpu_time", Halve, "a processor that takes half the time"),
    ("gpu_time", Halve, "GPUs that take half the time"),
];
const FASTER: &str = "twice the rate that it asks for";
const SOONER: &str = "half the pauses";

/// Edits for a limit and those alike, the likeliest first; none where no parameter says how large it is.
pub(crate) fn edits(scenario: &Scenario, results: &Results, members: &[&Candidate]) -> Vec<Edit> {
    let Some(first) = members.first() else { return Vec::new() };
    let others = wire::others_that_are_full(results, members);
    let near: Vec<&Candidate> = members.iter().copied().chain(&others).collect();
    let editor = Editor { scenario, results, values: values_near(scenario, &near) };
    let drafts = match first {
        Candidate::Direction(_, what) => editor.of_direction(members, *what, &others),
        Candidate::WakeUp { .. } => editor.awake(members),
        Candidate::Device(_, what) => editor.of_device(members, *what),
        Candidate::Resource { id, .. } if id.kind() == ResourceKind::Wire => editor.wires_beyond(members),
        Candidate::Resource { .. } => editor.resources(members),
    };
    drafts.into_iter().filter(|edit| !edit.settings.is_empty()).collect()
}

/// Devices whose workloads hold themselves back, by a rate or pauses that a parameter says.
pub(crate) fn paced<'a>(scenario: &'a Scenario, results: &'a Results) -> HashSet<&'a str> {
    let editor = Editor { scenario, results, values: values_near(scenario, &[]) };
    let is_paced = |name: &String| {
        let paths = PACES.into_iter().map(|(key, step, _)| (format!("workload.{name}.{key}"), step));
        !editor.stepped("", paths).settings.is_empty()
    };
    let paced: Vec<bool> = scenario.workload_names.iter().map(is_paced).collect();
    let held = results.flows.iter().filter(|flow| paced[flow.entry.0 as usize]);
    held.flat_map(|flow| &flow.devices).map(String::as_str).collect()
}

/// What a scenario says, by path: all but what it says of endpoints and switches that no candidate belongs to, of which a large machine
/// has a million values.
fn values_near<'a>(scenario: &'a Scenario, members: &[&Candidate]) -> BTreeMap<&'a str, &'a str> {
    let fabric = &scenario.fabric;
    let mut owners: Vec<&str> = Vec::new();
    let device = |index: usize| fabric.devices[index].name.as_str();
    for member in members {
        if let Some(link) = member.link() {
            let link = &fabric.links[link];
            owners.extend([device(link.lower.0), device(link.upper.0)]);
        }
        match member {
            Candidate::Direction(..) | Candidate::WakeUp { .. } => {}
            Candidate::Device(at, _) => owners.push(device(*at)),
            Candidate::Resource { id, .. } => {
                owners.push(owner(fabric, id));
                owners.extend(id.owner.device().map(|at| device(at.0 as usize)));
                // Of CXL.mem it is of the link above.
                if let Part::Cxl(CxlPart::Wire(_) | CxlPart::Credits(..)) = id.part {
                    let above = fabric.links.iter().find(|link| Some(link.lower.0) == device_index(id));
                    owners.extend(above.map(|link| device(link.upper.0)));
                }
                let drafts = drafts_of(scenario, id);
                let mine = drafts.iter().flat_map(|draft| &draft.parameters);
                owners.extend(mine.filter_map(|(owner, _)| component_of(scenario, *owner)));
            }
        }
    }
    // Thousands may be alike.
    let near: HashSet<&str> = owners.into_iter().flat_map(|owner| [owner, group_of(owner)]).collect();
    let others = fabric.devices.iter().filter(|each| !matches!(each.kind, DeviceKind::RootComplex(_)));
    let names = others.flat_map(|each| [each.name.as_str(), group_of(&each.name)]);
    let far: HashSet<&str> = names.filter(|name| !near.contains(name)).collect();
    // Payloads are as long as all devices have them.
    let is_near = |path: &str| {
        !far.contains(path.split('.').next().unwrap_or_default()) || path.ends_with(".mps_supported")
    };
    let all = scenario.parameters.iter().map(|each| (each.path.as_str(), each.value.as_str()));
    order::map(all.filter(|(path, _)| is_near(path)))
}

fn device_index(id: &ResourceId) -> Option<usize> {
    id.owner.device().map(|device| device.0 as usize)
}

/// What a load proposes for a resource of its own.
fn drafts_of(scenario: &Scenario, id: &ResourceId) -> Vec<Draft> {
    scenario.workloads.iter().flat_map(|load| load.edits(id)).collect()
}

/// Name of the component whose parameter one is; none of a workload.
fn component_of(scenario: &Scenario, owner: Owner) -> Option<&str> {
    match owner {
        Owner::Device(device) => Some(&scenario.fabric.devices[device.0 as usize].name),
        Owner::HostAbove(device) => Some(host_above(scenario, device.0 as usize)),
        Owner::Resource | Owner::Workload(_) => None,
    }
}

/// The host at the top of the tree that a device is in.
fn host_above(scenario: &Scenario, device: usize) -> &str {
    let fabric = &scenario.fabric;
    let mut at = device;
    while let Some(link) = fabric.links.iter().find(|link| link.lower.0 == at) {
        at = link.upper.0;
    }
    &fabric.devices[at].name
}

/// `nvme` of `nvme[3]`: devices of a group have their parameters together.
fn group_of(device: &str) -> &str {
    device.split('[').next().unwrap_or(device)
}

struct Editor<'a> {
    scenario: &'a Scenario,
    results: &'a Results,
    values: BTreeMap<&'a str, &'a str>,
}

impl Editor<'_> {
    /// Path of a parameter of a device: its own, or that of its group.
    fn path(&self, device: &str, key: &str) -> Option<String> {
        let own = format!("{device}.{key}");
        if self.values.contains_key(own.as_str()) {
            return Some(own);
        }
        let shared = format!("{}.{key}", group_of(device));
        self.values.contains_key(shared.as_str()).then_some(shared)
    }

    fn name(&self, device: usize) -> &str {
        &self.scenario.fabric.devices[device].name
    }

    /// Where the settings of a port stand: `server.slots.slot1`, `sw0.ports.port0`, `card`.
    fn port(&self, (device, port): (usize, usize)) -> String {
        let config = &self.scenario.fabric.devices[device];
        let name = &config.port_names[port];
        match config.kind {
            DeviceKind::RootComplex(_) => format!("{}.slots.{name}", group_of(&config.name)),
            DeviceKind::Switch(_) => format!("{}.ports.{name}", group_of(&config.name)),
            DeviceKind::Endpoint(_) => group_of(&config.name).to_owned(),
        }
    }

    /// Path of a setting of a port: its own, or that of its component.
    fn setting_of(&self, end: (usize, usize), key: &str) -> Option<String> {
        let own = format!("{}.{key}", self.port(end));
        if self.values.contains_key(own.as_str()) { Some(own) } else { self.path(self.name(end.0), key) }
    }

    /// Values of paths, each a step further; a path that has no number is left out, one that is there already, and one that is at the
    /// end of what its parameter may be.
    fn stepped(&self, what: &str, paths: impl Iterator<Item = (String, Step)>) -> Edit {
        let mut edit = Edit { what: what.to_owned(), settings: Vec::new() };
        for (path, step) in paths {
            let after = self.values.get(path.as_str()).and_then(|value| stepped(value, step));
            if let Some(after) = after.filter(|after| self.scenario.accepts(&path, after)) {
                self.set(&mut edit, path, after);
            }
        }
        edit
    }

    fn set(&self, edit: &mut Edit, path: String, after: String) {
        let before = self.values.get(path.as_str()).map_or(String::new(), |value| (*value).to_owned());
        if before != after && edit.settings.iter().all(|other| other.path != path) {
            edit.settings.push(ChangedValue { path, before, after });
        }
    }

    /// What is at one direction of links; `others` are other wires that are full.
    fn of_direction(&self, members: &[&Candidate], what: OfDirection, others: &[Candidate]) -> Vec<Edit> {
        let of_ports = |words: &str, keys: &[&str], step: Step| {
            let fabric = &self.scenario.fabric;
            let ports = members.iter().filter_map(|member| match member {
                Candidate::Direction(at, what) => Some(at.port(fabric, *what)),
                _ => None,
            });
            let paths = ports.flat_map(|port| keys.iter().filter_map(move |key| self.setting_of(port, key)));
            self.stepped(words, paths.map(|path| (path, step)))
        };
        match what {
            OfDirection::Wire => {
                let mut drafts = self.wire(members);
                if !others.is_empty() {
                    let all: Vec<&Candidate> = members.iter().copied().chain(others).collect();
                    drafts.extend(self.all_full(&all));
                }
                drafts
            }
            OfDirection::Credits(class) => {
                let keys = ["header", "data"].map(|unit| format!("credits.{}_{unit}", key(class)));
                vec![of_ports(
                    &format!("twice the {class} credits"),
                    &keys.each_ref().map(String::as_str),
                    Double,
                )]
            }
            OfDirection::RetryBuffer => vec![of_ports("twice the retry buffer", &["retry_buffer"], Double)],
            OfDirection::SequenceWindow => vec![self.sooner_acks(members)],
            OfDirection::ReplayTimer => vec![of_ports("twice the replay timer", &["replay_timer"], Double)],
            OfDirection::Errors => vec![self.errors(members)],
        }
    }

    fn of_device(&self, members: &[&Candidate], what: OfDevice) -> Vec<Edit> {
        let halved = |words: &str, keys: &[&str]| vec![self.of_devices(words, members, keys, Halve)];
        match what {
            OfDevice::Tags => self.tags(members),
            OfDevice::Window => self.window(members),
            OfDevice::Demand => {
                let paces = PACES.into_iter();
                let mut drafts: Vec<Edit> =
                    paces.map(|(key, step, what)| self.of_workloads(what, members, &[key], step)).collect();
                drafts.extend(self.window(members));
                drafts
            }
            OfDevice::RequestInterval => {
                let keys = ["request_interval", "read_interval", "write_interval"];
                halved("half the time between requests", &keys)
            }
            OfDevice::TlpGap => halved("half the gap after a TLP", &["tlp_gap"]),
            OfDevice::MemoryLatency => halved("half the latency of memory", &["memory_latency"]),
            OfDevice::SwitchLatency => halved("half the latency of switches", &["latency"]),
            OfDevice::AdapterLatency => {
                halved("half the latency of adapters", &["rdma.send_latency", "rdma.receive_latency"])
            }
            OfDevice::Beyond => vec![self.beyond()],
        }
    }

    fn of_devices(&self, what: &str, members: &[&Candidate], keys: &[&str], step: Step) -> Edit {
        let devices = members.iter().filter_map(|member| member.device());
        let paths =
            devices.flat_map(|device| keys.iter().filter_map(move |key| self.path(self.name(device), key)));
        self.stepped(what, paths.map(|path| (path, step)))
    }

    /// Parameters of the workloads that devices take part in.
    fn of_workloads(&self, what: &str, members: &[&Candidate], keys: &[&str], step: Step) -> Edit {
        let devices: HashSet<&str> =
            members.iter().filter_map(|member| member.device()).map(|device| self.name(device)).collect();
        let is_mine = |flow: &&Flow| flow.devices.iter().any(|device| devices.contains(device.as_str()));
        let entries = order::set(self.results.flows.iter().filter(is_mine).map(|flow| flow.entry));
        let names: Vec<&str> = entries.into_iter().map(|entry| self.scenario.name_of(entry)).collect();
        let path = |name: &&str, key: &&str| format!("workload.{name}.{key}");
        // Of a job with blocks, the size is how much of a drive it uses.
        let is_span =
            |name: &&str, key: &&str| *key == "size" && self.values.contains_key(path(name, &"bs").as_str());
        let is_idle = |name: &&str, key: &&str| {
            self.scenario.workloads.iter().any(|load| load.idle_keys(name).contains(key))
        };
        let paths = names.iter().flat_map(|name| {
            let counts = move |key: &&&str| !is_span(name, key) && !is_idle(name, key);
            keys.iter().filter(counts).map(move |key| path(name, key))
        });
        self.stepped(what, paths.map(|path| (path, step)))
    }

    /// Half the time on the way to the far end of a link and back, where a window of the specification is full.
    fn sooner_acks(&self, members: &[&Candidate]) -> Edit {
        let links = members.iter().filter_map(|member| Some(&self.scenario.fabric.links[member.link()?]));
        let paths = links.flat_map(|link| {
            let receivers = [link.lower, link.upper].map(|end| self.setting_of(end, "receive_latency"));
            receivers.into_iter().flatten().chain(self.path(self.name(link.lower.0), "link.propagation"))
        });
        self.stepped("half the time until an Ack is back", paths.map(|path| (path, Halve)))
    }

    fn errors(&self, members: &[&Candidate]) -> Edit {
        let path = |member: &&Candidate| match member {
            Candidate::Direction(at, _) => {
                let lower = self.name(self.scenario.fabric.links[at.link].lower.0);
                self.path(lower, &format!("link.bit_error_rate_{}", at.name()))
            }
            _ => None,
        };
        self.stepped("a tenth of the bit errors", members.iter().filter_map(path).map(|path| (path, Tenth)))
    }

    /// Links that do not sleep, or wake sooner from the states that they have.
    fn awake(&self, members: &[&Candidate]) -> Vec<Edit> {
        let links = members.iter().filter_map(|member| Some(&self.scenario.fabric.links[member.link()?]));
        let mut off = Edit { what: "no sleep of the link".to_owned(), settings: Vec::new() };
        let mut exits = Vec::new();
        for link in links {
            let path = |key: &str| self.path(self.name(link.lower.0), key);
            if let Some(aspm) = path("link.aspm") {
                self.set(&mut off, aspm, "off".to_owned());
            }
            let from_l1_2 = link.power.l1.filter(|l1| l1.is_l1_2());
            let states = [
                (link.power.l0s, "link.l0s_exit"),
                (link.power.l1, "link.l1_exit"),
                (from_l1_2, "link.l1_2_exit"),
            ];
            exits.extend(states.into_iter().filter_map(|(state, key)| state.and_then(|_| path(key))));
        }
        let sooner = self.stepped("a tenth of the time to wake", exits.into_iter().map(|path| (path, Tenth)));
        vec![off, sooner]
    }

    /// More tags, in a field that holds them; and more bytes with each.
    fn tags(&self, members: &[&Candidate]) -> Vec<Edit> {
        // Fourteen bits are for links in flits: PCIe Base 6.3 §2.2.6.2.
        let links = &self.scenario.fabric.links;
        let has_flits = |device: usize| links.iter().any(|link| link.lower.0 == device && link.mode.flit);
        let in_flits = members.iter().filter_map(|member| member.device()).all(has_flits);
        let mut more = self.of_devices("twice the tags", members, &["tags"], Double);
        more.settings.retain_mut(|setting| {
            let most = if in_flits { TagWidth::Bits14 } else { TagWidth::Bits10 }.usable();
            let tags = setting.after.parse().unwrap_or(u32::MAX).min(u32::from(most));
            setting.after = tags.to_string();
            setting.after != setting.before
        });
        for setting in more.settings.clone() {
            let width = setting.path.replace(".tags", ".tag_width");
            let tags: u32 = setting.after.parse().unwrap_or_default();
            // PCIe Base 6.3 §2.2.6.2: of ten bits 768 values are used, of fourteen 15,360.
            let needed = if tags > 768 {
                14
            } else if tags > 256 {
                10
            } else {
                8
            };
            let has = self
                .values
                .get(width.as_str())
                .and_then(|value| value.split(' ').next()?.parse::<u32>().ok());
            if has.is_some_and(|has| has < needed) {
                self.set(&mut more, width, format!("{needed} bits"));
            }
        }
        let own = self.of_devices("twice the tags of each function", members, &["sriov.own_tags"], Double);
        let long: Vec<&Candidate> =
            members.iter().copied().filter(|member| self.asks_for_mrrs(member)).collect();
        vec![own, more, self.of_devices("requests twice as long (MRRS)", &long, &["mrrs"], Double)]
    }

    /// Whether a device has a read that is as long as Maximum Read Request Size lets it be, as far as its flows tell: they may count
    /// something else than requests.
    fn asks_for_mrrs(&self, candidate: &Candidate) -> bool {
        let Some(device) = candidate.device() else { return false };
        let DeviceKind::Endpoint(endpoint) = &self.scenario.fabric.devices[device].kind else { return false };
        let reads = self.results.flows.iter().filter(|flow| {
            flow.direction == "read" && flow.devices.iter().any(|name| name == self.name(device))
        });
        let is_short = |flow: &Flow| {
            flow.counted == "requests" && 2 * flow.bytes <= flow.operations * endpoint.mrrs.get()
        };
        let (mut any, mut all_short) = (false, true);
        for flow in reads {
            (any, all_short) = (true, all_short && is_short(flow));
        }
        !(any && all_short)
    }

    fn window(&self, members: &[&Candidate]) -> Vec<Edit> {
        let jobs = ["numjobs", "queue_pairs", "streams"];
        let engines = ["copy_engine.outstanding", "kernel.outstanding"];
        vec![
            self.of_workloads("twice as much outstanding", members, &DEPTHS, Double),
            self.of_devices("twice as much in flight in an engine", members, &engines, Double),
            self.of_workloads("twice as many jobs", members, &jobs, Double),
            self.of_workloads("operations twice as long", members, &SIZES, Double),
        ]
    }
}

/// A number with its unit, twice, half or a tenth of it; none for words and for nothing.
fn stepped(value: &str, step: Step) -> Option<String> {
    let (number, unit) = value.split_once(' ').unwrap_or((value, ""));
    let number: f64 = number.parse().ok().filter(|number| *number > 0.0)?;
    let after = match step {
        Double => number * 2.0,
        Halve => number / 2.0,
        Tenth => number / 10.0,
    };
    Some(format!("{after} {unit}").trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_units_and_words_have_no_step() {
        assert_eq!(stepped("64", Double).as_deref(), Some("128"));
        assert_eq!(stepped("62.4 GB/s", Double).as_deref(), Some("124.8 GB/s"));
        assert_eq!(stepped("7 us", Halve).as_deref(), Some("3.5 us"));
        assert_eq!(stepped("0.001", Tenth).as_deref(), Some("0.0001"));
        for word in ["none", "infinite", "auto", "0 ns", "gen4 x8"] {
            assert_eq!(stepped(word, Double), None, "{word}");
        }
    }
}
