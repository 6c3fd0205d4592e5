//! Drives that change hosts: from `[[workload]]` with `kind = "reassign"` to places in the tree.
//!
//! To each host a drive is a device of its own, so every partition that it will be in gets an instance of it at the same
//! port. Only the link of one of them is up at a time; the workload over the drives sees to that.

use super::kinds::{WorkloadKind, kind};
use super::link::TrainedLink;
use super::peers;
use super::workload::{parameters, place, unknown};
use super::{Inputs, Settings};
use crate::file::{WrittenWorkload, name_order};
use crate::parameter::Output;
use crate::parameter::ParameterTable;
use crate::parameters::{ReassignParameters, RunParameters};
use crate::problem::Problem;
use crate::structure::ComponentKind;
use crate::topology::Instance;
use crate::value::Auto;
use lanewise_units::{Span, order};

/// Drives that change hosts. They are read before the tree is complete.
pub(super) const REASSIGN: WorkloadKind = kind("reassign", &ReassignParameters::SCHEMA, &[], |_, _| {});

/// A move of a drive.
pub(crate) struct Move<'f> {
    pub workload: &'f WrittenWorkload,
    /// The drive as it is attached at the start.
    pub drive: usize,
    /// The drive below the partition that it goes to.
    pub place: usize,
    pub parameters: ReassignParameters,
}

/// Reads every move, in the order of time, and adds the places that drives will be in.
pub(crate) fn read<'f>(inputs: &mut Inputs<'f>, run: &RunParameters, output: &mut Output) -> Vec<Move<'f>> {
    let mut written: Vec<(&'f WrittenWorkload, ReassignParameters)> = Vec::new();
    for workload in inputs.file.workloads.iter().filter(|workload| REASSIGN.is_of(workload)) {
        let read = parameters::<ReassignParameters>(workload, output);
        // A move at a wrong time is a move: where the drive comes to is known.
        read.iter().for_each(|parameters| check_time(workload, parameters.at, run, output));
        written.extend(read.map(|parameters| (workload, parameters)));
    }
    order::sort_by_key(&mut written, |(workload, parameters)| (parameters.at, name_order(&workload.name)));
    let mut moves: Vec<Move<'f>> = Vec::new();
    for (workload, parameters) in written {
        moves.extend(one(inputs, &moves, workload, parameters, output));
    }
    moves
}

/// Reports a move that is not after the warm-up and before the end.
fn check_time(workload: &WrittenWorkload, at: Span, run: &RunParameters, output: &mut Output) {
    let first = match run.warm_up {
        Auto::Auto => Span::ZERO,
        Auto::Given(warm_up) => warm_up,
    };
    if at > first && at < run.time_limit {
        return;
    }
    let path = workload.path_of("at");
    let begin = if run.warm_up == Auto::Auto { String::new() } else { " (`run.warm_up`)".to_owned() };
    let rule = format!("after {first}{begin} and before {} (`run.time_limit`)", run.time_limit);
    output.report(place(workload, "at"), Problem::BadValue { path, found: at.to_string(), rule }, None);
}

fn one<'f>(
    inputs: &mut Inputs<'f>,
    before: &[Move<'f>],
    workload: &'f WrittenWorkload,
    parameters: ReassignParameters,
    output: &mut Output,
) -> Option<Move<'f>> {
    let drive = peers::one(inputs, workload, ("device", &parameters.device), output)?;
    let name = inputs.topology.instances[drive].name.clone();
    let mut refuse = |key: &str, reason: String| {
        let path = name.clone();
        output.report(place(workload, key), Problem::BadMove { path, reason }, None);
        None
    };
    match inputs.settings_of(drive)? {
        Settings::Endpoint(endpoint) if endpoint.nvme.capacity.is_some() => {}
        _ => return refuse("device", "it is not a drive: `nvme.capacity` is not set".to_owned()),
    }
    let earlier = before.iter().filter(|each| each.drive == drive);
    if earlier.clone().any(|each| each.parameters.at == parameters.at) {
        return refuse("at", "it would move twice at the same time".to_owned());
    }
    let now = earlier.clone().next_back().map_or(drive, |last| last.place);
    let (above, slot) = inputs.topology.instances[now].above?;
    let chip = |component: usize| chip_of(inputs, component);
    let above = inputs.topology.instances[above].component;
    if inputs.file.components[above].kind != ComponentKind::Switch {
        return refuse(
            "device",
            "it is in a slot of a host, and only ports of a switch change hosts".to_owned(),
        );
    }
    let target = inputs.find(&parameters.to);
    let Some(target) = target.filter(|to| inputs.file.components[*to].kind == ComponentKind::Switch) else {
        unknown(inputs, workload, "to", &parameters.to, "there is no switch of this name".to_owned(), output);
        return None;
    };
    let (from, to) = (inputs.file.components[above].name.as_str(), parameters.to.as_str());
    if target == above {
        return refuse("to", format!("`{to}` has it already"));
    }
    if chip(target) != chip(above) {
        return refuse("to", format!("`{from}` and `{to}` are not partitions of one switch"));
    }
    let partition = inputs.topology.instances_of(target).next()?;
    let known = earlier.map(|each| each.place).chain([drive]);
    let mut at_target =
        known.filter(|place| inputs.topology.instances[*place].above == Some((partition, slot)));
    let place = at_target.next().unwrap_or_else(|| {
        let component = inputs.topology.instances[drive].component;
        let name = format!("{name}@{to}");
        inputs.topology.instances.push(Instance { name, component, above: Some((partition, slot)) });
        inputs.topology.instances.len() - 1
    });
    Some(Move { workload, drive, place, parameters })
}

/// The switch whose chip a partition is on, or itself.
fn chip_of(inputs: &Inputs<'_>, component: usize) -> usize {
    let whole = inputs.file.components[component].structural::<String>("partition_of", &mut Vec::new());
    whole.and_then(|(name, _)| inputs.find(&name)).unwrap_or(component)
}

/// Links in Flit Mode stay up.
pub(crate) fn check_links(inputs: &Inputs<'_>, trained: &[Option<TrainedLink>], output: &mut Output) {
    for each in &inputs.moves {
        let flits = |at: usize| trained[at].as_ref().is_some_and(|link: &TrainedLink| link.mode.flit);
        if flits(each.drive) || flits(each.place) {
            let path = inputs.topology.instances[each.drive].name.clone();
            let reason = "its link is in Flit Mode, where links that go down are not modelled".to_owned();
            output.report(place(each.workload, "device"), Problem::BadMove { path, reason }, None);
        }
    }
}
