//! Copies between pairs of devices: from names and pairs to an instrument.

use super::Inputs;
use super::copies::COPY_ENGINES;
use super::copies::mover;
use super::kinds::{WorkloadKind, kind};
use super::workload::{check_peer_to_peer, endpoints, parameters, place};
use crate::file::WrittenWorkload;
use crate::parameter::{Output, ParameterTable};
use crate::parameters::{EngineChoice, PeerCopiesParameters, WaitingChoice};
use crate::problem::Problem;
use lanewise_fabric::workload::DeviceId;
use lanewise_workload::load::peer_copies::{Copier, PeerCopiesConfig, Waiting};
use std::collections::BTreeSet;

/// Copies between pairs of devices.
pub(super) const PEER_COPIES: WorkloadKind =
    kind("peer_copies", &PeerCopiesParameters::SCHEMA, &[], |reading, workload| {
        let read = config(reading.inputs, workload, reading.output);
        reading.add(read);
    })
    .using(&[COPY_ENGINES]);

/// The instrument that a workload asks for; nothing when its devices and pairs make none.
fn config(inputs: &Inputs<'_>, workload: &WrittenWorkload, output: &mut Output) -> Option<PeerCopiesConfig> {
    let parameters = parameters::<PeerCopiesParameters>(workload, output)?;
    let instances = devices(inputs, workload, &parameters.devices, output)?;
    let pairs = pairs(workload, &parameters.pairs, instances.len(), output)?;
    for [from, to] in &pairs {
        let ends = (instances[*from], instances[*to]);
        if !check_peer_to_peer(inputs, workload, "devices", ends, output) {
            return None;
        }
    }
    let copier = |instance: &usize| {
        let endpoint = inputs.endpoint(*instance)?;
        let mover = mover(EngineChoice::CopyEngine, endpoint, None);
        Some(Copier {
            device: DeviceId(*instance as u32),
            name: inputs.topology.instances[*instance].name.clone(),
            engine: mover.engine,
            engines: mover.engines,
            costs: mover.costs,
        })
    };
    Some(PeerCopiesConfig {
        name: workload.load_name(),
        devices: instances.iter().map(copier).collect::<Option<_>>()?,
        pairs,
        size: parameters.size,
        waiting: match parameters.waits_for {
            WaitingChoice::Pair => Waiting::Pair,
            WaitingChoice::Target => Waiting::Target,
            WaitingChoice::Both => Waiting::Both,
        },
    })
}

/// Instances of the devices, each once, two at least.
fn devices(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    names: &[String],
    output: &mut Output,
) -> Option<Vec<usize>> {
    let path = workload.path();
    let known = output.diagnostics.len();
    let found = |name: &String, output: &mut Output| endpoints(inputs, workload, "devices", name, output);
    let devices: Vec<usize> = names.iter().flat_map(|name| found(name, output)).collect();
    let mut named = BTreeSet::new();
    for instance in devices.iter().filter(|instance| !named.insert(**instance)) {
        let name = inputs.topology.instances[*instance].name.clone();
        output.report(place(workload, "devices"), Problem::DuplicateName { name }, None);
    }
    if output.diagnostics.len() > known {
        return None;
    }
    if devices.len() < 2 {
        let found = names.first().map_or("[]", String::as_str).to_owned();
        let (path, reason) = (format!("{path}.devices"), "and a copy is between two".to_owned());
        let hint = "name each device, or all of a component, such as [\"gpu[*]\"]".to_owned();
        output.report(place(workload, "devices"), Problem::DeviceCount { path, found, reason }, Some(hint));
        return None;
    }
    Some(devices)
}

/// Pairs by place in the list of devices; each with each other one, by source first, where none is written.
fn pairs(
    workload: &WrittenWorkload,
    written: &[String],
    devices: usize,
    output: &mut Output,
) -> Option<Vec<[usize; 2]>> {
    let path = workload.path();
    if written.is_empty() {
        let others = |from| (0..devices).filter(move |to| *to != from);
        return Some((0..devices).flat_map(|from| others(from).map(move |to| [from, to])).collect());
    }
    let read = |text: &String| {
        pair(text).filter(|[from, to]| from != to && *from < devices && *to < devices).ok_or(text.clone())
    };
    let (pairs, wrong): (Vec<_>, Vec<_>) = written.iter().map(read).partition(Result::is_ok);
    if wrong.is_empty() {
        return Some(pairs.into_iter().flatten().collect());
    }
    let wrong: Vec<String> = wrong.into_iter().filter_map(Result::err).collect();
    let (path, found) = (format!("{path}.pairs"), wrong.join("`, `"));
    let allowed = format!("two different places in `devices`, from 0 to {}, as \"0>1\"", devices - 1);
    output.report(place(workload, "pairs"), Problem::UnknownChoice { path, found, allowed }, None);
    None
}

/// `0>1`: from the first to the second.
fn pair(text: &str) -> Option<[usize; 2]> {
    let (from, to) = text.split_once('>')?;
    Some([from.trim().parse().ok()?, to.trim().parse().ok()?])
}
