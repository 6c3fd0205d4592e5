//! What readers of workloads have in common: their parameters, and the devices that they name.

use super::{Inputs, Settings, kind_of, place_in, side_link};
use crate::diagnostic::hint_unless_crowded;
use crate::document::shortened;
use crate::file::WrittenWorkload;
use crate::nearest::{asking, did_you_mean, listing, nearest};
use crate::parameter::{Output, ParameterTable, check_table};
use crate::problem::Problem;
use crate::reader::Reader;
use crate::source::Place;
use crate::structure::ComponentKind;
use crate::topology::InstanceName;
use lanewise_fabric::workload::DeviceId;
use lanewise_workload::LoadName;

/// Keys of a workload that are structure.
pub(crate) const WORKLOAD_KEYS: [&str; 2] = ["kind", "name"];

/// Most drives that all workloads together may name, each counted as often as it is named.
pub(crate) const TARGET_LIMIT: usize = 1 << 20;

/// The parameters of a workload, of one of its kinds.
pub(crate) fn parameters<P: ParameterTable>(workload: &WrittenWorkload, output: &mut Output) -> Option<P> {
    let path = workload.path();
    for layer in workload.layers() {
        check_table(layer.table, &path, &P::SCHEMA, &WORKLOAD_KEYS, &mut output.diagnostics);
    }
    P::read(&mut Reader::new(&path, workload.layers(), output).at(workload.place))
}

/// The place of a workload's key, or of its kind.
pub(crate) fn place(workload: &WrittenWorkload, key: &str) -> Place {
    place_in(&workload.layers(), &[key]).unwrap_or(workload.place)
}

/// How many devices a key is about: what is suggested depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    One,
    Any,
}

/// Instances that a name means: `nic0`, `nic[3]`, or all of `nic[*]`.
pub(crate) fn endpoints(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    key: &str,
    name: &str,
    output: &mut Output,
) -> Vec<usize> {
    named(inputs, workload, (key, name), Wanted::Any, output)
}

/// The same, suggesting all devices of a name only to a key that takes them.
pub(crate) fn named(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    (key, name): (&str, &str),
    wanted: Wanted,
    output: &mut Output,
) -> Vec<usize> {
    let meant = InstanceName::parse(name);
    let component = inputs.find(meant.component);
    let kind = component.map(|component| inputs.file.components[component].kind);
    let instances = match (component, kind) {
        (Some(component), Some(ComponentKind::Endpoint)) => inputs.topology.instances_of(component),
        _ => {
            let expected = match kind {
                Some(kind) => format!("that is {}, and an endpoint is needed", kind.noun()),
                None => "there is no endpoint of this name".to_owned(),
            };
            unknown(inputs, workload, key, name, expected, output);
            return Vec::new();
        }
    };
    let count = instances.len();
    let Some(instances) = meant.among(instances) else {
        let path = workload.path_of(key);
        let problem = Problem::UnknownDevice {
            path,
            found: shortened(name),
            expected: meant.choices(count, wanted == Wanted::Any),
        };
        output.report(place(workload, key), problem, None);
        return Vec::new();
    };
    let instances: Vec<usize> = instances.collect();
    if !kind_of(workload).is_some_and(|kind| kind.has_lines)
        && instances.iter().any(|instance| is_expander(inputs, *instance))
    {
        let expected =
            "it is a memory expander, which has no DMA and no registers that are modelled".to_owned();
        let path = workload.path_of(key);
        let problem = Problem::UnknownDevice { path, found: shortened(name), expected };
        let hint = "cores read and write its memory: `kind = \"stream\"` or `kind = \"pointer-chase\"`";
        output.report(place(workload, key), problem, Some(hint.to_owned()));
        return Vec::new();
    }
    let asks = key != "target" && !kind_of(workload).is_some_and(|kind| kind.is_of_cores);
    if asks && instances.iter().any(|instance| inputs.bridge_of(*instance).is_some()) {
        let expected =
            "it is a side of a non-transparent bridge, which asks for nothing by itself".to_owned();
        let problem =
            Problem::UnknownDevice { path: workload.path_of(key), found: shortened(name), expected };
        let hint = format!("`target = \"{name}\"` of another device's `dma`, or `device` of `mmio`");
        output.report(place(workload, key), problem, Some(hint));
        return Vec::new();
    }
    output.loaded.extend(&instances);
    instances
}

fn is_expander(inputs: &Inputs<'_>, instance: usize) -> bool {
    inputs.endpoint(instance).is_some_and(|endpoint| endpoint.expander.capacity.is_some())
}

/// One of the devices that a workload is on, and what its instrument there is called.
pub(crate) struct Seat {
    pub instance: usize,
    /// Each instrument draws its own random numbers, which are named by it.
    pub name: LoadName,
    pub device_name: String,
}

impl Seat {
    pub fn device(&self) -> DeviceId {
        DeviceId(self.instance as u32)
    }

    /// The same device, with an instrument for one of several peers.
    pub fn towards(&self, inputs: &Inputs<'_>, workload: &WrittenWorkload, peer: usize) -> Self {
        let name = workload.load_name_at(&inputs.topology.instances[peer].name);
        Self { instance: self.instance, name, device_name: self.device_name.clone() }
    }
}

/// The parameters of a workload that has an instrument on each device that it names, and these devices.
pub(crate) fn seats<P: ParameterTable>(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    device: fn(&P) -> &str,
    output: &mut Output,
) -> Option<(P, Vec<Seat>)> {
    let Some(parameters) = parameters::<P>(workload, output) else {
        // A wrong name is reported with the rest.
        let written = workload.layers().into_iter().find_map(|layer| layer.table.get("device"));
        if let Some(name) = written.and_then(|node| node.as_str()) {
            endpoints(inputs, workload, "device", name, output);
        }
        return None;
    };
    let instances = endpoints(inputs, workload, "device", device(&parameters), output);
    let many = instances.len() > 1;
    let seat = |instance: usize| {
        let device_name = inputs.topology.instances[instance].name.clone();
        let name = if many { workload.load_name_at(&device_name) } else { workload.load_name() };
        Seat { instance, name, device_name }
    };
    Some((parameters, instances.into_iter().map(seat).collect()))
}

/// The name means nothing here.
pub(crate) fn unknown(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    key: &str,
    found: &str,
    expected: String,
    output: &mut Output,
) {
    if inputs.file.is_lost(found) || inputs.file.is_lost(InstanceName::parse(found).component) {
        return;
    }
    let path = workload.path_of(key);
    // The name that was found, with or without an index, is not offered again.
    let component = InstanceName::parse(found).component;
    let others = |component| inputs.some_names().filter(move |name| *name != component);
    let hint = hint_unless_crowded(&output.diagnostics, || {
        let asked = name_meant(inputs, key, found).map(asking);
        asked.or_else(|| did_you_mean(found, others(component))).or_else(|| inputs.names_hint(component))
    });
    let problem = Problem::UnknownDevice { path, found: shortened(found), expected };
    output.report(place(workload, key), problem, hint);
}

/// Reports a name that stands for something, which is not what `key` needs here. Another name may not be, either, so that none is
/// guessed: `hint` says what is.
pub(crate) fn unfit(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    (key, found): (&str, &str),
    expected: &str,
    hint: &dyn Fn() -> Option<String>,
    output: &mut Output,
) {
    if inputs.file.is_lost(found) || inputs.file.is_lost(InstanceName::parse(found).component) {
        return;
    }
    let (path, expected) = (workload.path_of(key), expected.to_owned());
    let hint = hint_unless_crowded(&output.diagnostics, hint);
    let problem = Problem::UnknownDevice { path, found: shortened(found), expected };
    output.report(place(workload, key), problem, hint);
}

/// The device that a name stands for which is nearly one: `endpoint.nic[*]`, `nic*` and `nci[*]` for `nic[*]`, `nic0` for `nic[0]`.
fn name_meant(inputs: &Inputs<'_>, key: &str, found: &str) -> Option<String> {
    if let Some((_, rest)) =
        found.split_once('.').filter(|(kind, _)| ComponentKind::from_word(kind).is_some())
    {
        return inputs.find(InstanceName::parse(rest).component).map(|_| rest.to_owned());
    }
    let plain = InstanceName::parse(found).component;
    let kind = inputs.find(plain).map(|at| inputs.file.components[at].kind);
    if key == "target" && (found.eq_ignore_ascii_case("memory") || kind == Some(ComponentKind::Host)) {
        return Some("memory".to_owned());
    }
    if let Some((component, index)) = found.split_once('[') {
        return nearest(component, inputs.some_names().filter(|name| *name != component))
            .map(|name| format!("{name}[{index}"));
    }
    let component = plain.trim_end_matches(|c: char| c.is_ascii_digit() || c == '*');
    let index = &plain[component.len()..];
    let count = inputs.topology.instances_of(inputs.find(component)?).len();
    (count > 1 && !index.is_empty()).then(|| format!("{component}[{index}]"))
}

/// Whether traffic between two endpoints finds its way.
pub(crate) fn check_peer_to_peer(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    key: &str,
    (from, to): (usize, usize),
    output: &mut Output,
) -> bool {
    let path = workload.path();
    if !inputs.is_placed(from) || !inputs.is_placed(to) {
        return false;
    }
    if from != to && side_link::joins(inputs, from, to) {
        return true;
    }
    let name = |at: usize| inputs.topology.instances[at].name.as_str();
    let near = || {
        let host = inputs.topology.path_up(from).last()?;
        let near = inputs.endpoints_of(host, true, |_| true).filter(|near| *near != from);
        listing(&format!("devices below the host of `{}`", name(from)), near.map(name))
    };
    let up: Vec<usize> = inputs.topology.path_up(from).collect();
    let meeting = inputs.topology.path_up(to).find(|instance| up.contains(instance));
    match meeting {
        Some(instance) if instance == from => {
            unfit(inputs, workload, (key, name(to)), "a device does not write to itself", &near, output);
            false
        }
        Some(instance) => match inputs.settings_of(instance) {
            Some(Settings::Host(host)) if !host.peer_to_peer => {
                let host = inputs.component_of(instance).name.clone();
                let hint =
                    format!("set `{host}.peer_to_peer = true` if it does, or put both below one switch");
                let problem = Problem::PeerToPeerBlocked { path: path.to_owned(), host };
                output.report(place(workload, key), problem, Some(hint));
                false
            }
            _ => true,
        },
        None => {
            unfit(inputs, workload, (key, name(to)), "it is below another host", &near, output);
            false
        }
    }
}
