//! Partitions: one switch chip as several switches, each with an upstream port and a host of its own.
//!
//! Every partition is a switch to its host. What they share is the chip: its ports, each of which belongs to one of
//! them, and its lanes. They do not share a core: between ports of different partitions there is no traffic, and a
//! crossbar gives each pair its own path. Sources: PLX PEX 8700 briefs and IDT AN-717 (partitions); Linley Newsletter
//! 2019-09-24 (synthetic mode, in which firmware moves ports between hosts at run time).

use super::{Inputs, Settings};
use crate::parameter::Output;
use crate::parameters::CoreChoice;
use crate::problem::Problem;
use crate::structure::ComponentKind;
use lanewise_units::order;
use std::collections::{BTreeMap, HashSet};

/// Checks every partition, and the lanes of every chip.
pub(crate) fn check(inputs: &Inputs<'_>, output: &mut Output) {
    let mut chips: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (component, written) in inputs.file.components.iter().enumerate() {
        if written.kind == ComponentKind::Switch {
            let chip = chip_of(inputs, component, output).unwrap_or(component);
            chips.entry(chip).or_default().push(component);
        }
    }
    let below = ports_in_use(inputs);
    for (chip, partitions) in chips {
        let switches = partitions.iter().flat_map(|at| inputs.topology.instances_of(*at));
        let mut in_use: Vec<(usize, usize)> =
            switches.filter_map(|switch| below.get(&switch)).flatten().copied().collect();
        order::sort_by_key(&mut in_use, |(_, instance)| *instance);
        check_ports(inputs, &partitions, &in_use, output);
        check_lanes(inputs, chip, &partitions, &in_use, output);
    }
}

/// The component whose chip a partition is on.
fn chip_of(inputs: &Inputs<'_>, component: usize, output: &mut Output) -> Option<usize> {
    let written = &inputs.file.components[component];
    let (name, place) = written.structural::<String>("partition_of", &mut output.diagnostics)?;
    let refuse = |reason: &str, output: &mut Output| {
        let (path, found) = (written.name.clone(), crate::document::shortened(&name));
        output.report(place, Problem::BadPartition { path, found, reason: reason.to_owned() }, None);
        None
    };
    let Some(chip) =
        inputs.find(&name).filter(|at| inputs.file.components[*at].kind == ComponentKind::Switch)
    else {
        return refuse("there is no switch of this name", output);
    };
    if chip == component || inputs.file.components[chip].written.get("partition_of").is_some() {
        return refuse("name the switch itself, not one of its partitions", output);
    }
    if [chip, component].iter().any(|at| inputs.topology.instances_of(*at).len() != 1) {
        return refuse("partitions are made of one switch, not of several", output);
    }
    // A switch whose ports could not be read has none, not even one upstream.
    let downstream =
        |at: usize| inputs.topology.slots[at].iter().skip(1).map(|slot| (&slot.name, slot.shape));
    if !downstream(chip).eq(downstream(component)) {
        return refuse("its downstream ports differ", output);
    }
    match &inputs.settings[component] {
        Some(Settings::Switch(switch)) if switch.core != CoreChoice::Crossbar => {
            refuse("partitions of a core that is not a crossbar are not modelled", output)
        }
        _ => Some(chip),
    }
}

/// Ports in use of everything that has any below it, by instance: each with the instance below it.
fn ports_in_use(inputs: &Inputs<'_>) -> BTreeMap<usize, Vec<(usize, usize)>> {
    // A drive that changes hosts uses its port in every partition, and is one device all the same.
    let moved = inputs.moves.iter().filter(|each| each.drive != each.place);
    let moved: HashSet<usize> = moved.map(|each| each.place).collect();
    let mut below: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for (instance, device) in inputs.topology.instances.iter().enumerate() {
        if let Some((above, slot)) = device.above.filter(|_| !moved.contains(&instance)) {
            below.entry(above).or_default().push((slot, instance));
        }
    }
    below
}

/// A port belongs to one partition.
fn check_ports(inputs: &Inputs<'_>, partitions: &[usize], in_use: &[(usize, usize)], output: &mut Output) {
    if partitions.len() < 2 {
        return;
    }
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    for &(slot, instance) in in_use {
        let Some(other) = taken.insert(slot, instance) else { continue };
        let component = inputs.topology.instances[instance].component;
        let path = inputs.topology.instances[instance].name.clone();
        let slot = inputs.topology.slots[partitions[0]][slot].name.clone();
        let other = inputs.topology.instances[other].name.clone();
        let place = inputs.place_of(component, &["attach"]);
        let hint = "the partitions of a switch share its ports".to_owned();
        output.report(place, Problem::SlotOccupied { path, slot, other }, Some(hint));
    }
}

/// The ports in use, upstream ports of every partition included, fit the chip.
fn check_lanes(
    inputs: &Inputs<'_>,
    chip: usize,
    partitions: &[usize],
    in_use: &[(usize, usize)],
    output: &mut Output,
) {
    let Some(Settings::Switch(switch)) = &inputs.settings[chip] else { return };
    let Some(allowed) = switch.lanes else { return };
    if inputs.topology.instances_of(chip).len() != 1 {
        return;
    }
    let lanes = |slot: usize| inputs.topology.slots[chip][slot].shape.width.lanes();
    let below: u64 = in_use.iter().map(|(slot, _)| lanes(*slot)).sum();
    let upstream = partitions.iter().filter_map(|at| inputs.topology.slots[*at].first());
    let found = below + upstream.map(|slot| slot.shape.width.lanes()).sum::<u64>();
    if found > u64::from(allowed) {
        let path = inputs.file.components[chip].name.clone();
        let problem = Problem::TooManyLanes { path, found: found.to_string(), allowed: allowed.to_string() };
        let component = &inputs.file.components[chip];
        let written = component.overrides.get("lanes").or_else(|| component.written.get("lanes"));
        let place = written.map_or(component.place, |node| node.place);
        output.report(place, problem, Some("give `ports` that are narrower, or attach less".to_owned()));
    }
}
