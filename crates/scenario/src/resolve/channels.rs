//! Virtual channels: which links have which, checked, and how their ports arbitrate.

use super::link::TrainedLink;
use super::port::place_of_port;
use super::{Inputs, PortView};
use crate::idle::Idle;
use crate::parameter::Output;
use crate::parameters::ChannelArbitrationChoice;
use crate::problem::Problem;
use crate::structure::ComponentKind;
use lanewise_pcie::virtual_channel::{ChannelArbitration, ChannelMap};
use std::collections::HashSet;

/// The map of the link above each instance: VC0 alone where there is no link, or its map is wrong.
pub(crate) fn maps(
    inputs: &Inputs<'_>,
    trained: &[Option<TrainedLink>],
    output: &mut Output,
) -> Vec<ChannelMap> {
    let mut checked = HashSet::new();
    let map_above = |(lower, link): (usize, &Option<TrainedLink>)| {
        let component = inputs.topology.instances[lower].component;
        let lists = &inputs.links[component].as_ref()?.virtual_channels;
        let flit = link.as_ref()?.mode.flit && !lists.is_empty();
        let flit =
            flit.then(|| "in Flit Mode all traffic is on VC0: more channels are left out there".to_owned());
        let (map, mut reasons) = match ChannelMap::new(lists) {
            Ok(map) => (map, Vec::new()),
            Err(problems) => {
                (ChannelMap::ONLY_VC0, problems.iter().map(|problem| problem.to_string()).collect())
            }
        };
        reasons.extend(flit);
        if reasons.is_empty() {
            return Some(map);
        }
        // Instances of a component are alike; what is wrong with them is said once.
        if checked.insert(component) {
            report(inputs, component, reasons, output);
        }
        None
    };
    trained.iter().enumerate().map(map_above).map(|map| map.unwrap_or(ChannelMap::ONLY_VC0)).collect()
}

fn report(inputs: &Inputs<'_>, component: usize, reasons: Vec<String>, output: &mut Output) {
    let path = format!("{}.link.virtual_channels", inputs.file.components[component].name);
    for reason in reasons {
        let problem = Problem::VirtualChannelsImpossible { path: path.clone(), reason };
        let hint =
            "[[5], [6, 7]] puts TC5 on VC1, TC6 and TC7 on VC2, and leaves the others on VC0".to_owned();
        output.report(inputs.place_of(component, &["link", "virtual_channels"]), problem, Some(hint));
    }
}

/// How a port serves so many channels.
pub(super) fn arbitration(
    inputs: &Inputs<'_>,
    port: PortView<'_>,
    channels: usize,
    output: &mut Output,
) -> ChannelArbitration {
    let given = &port.parameters.channels;
    match given.arbitration {
        // One alone competes with none, and needs no weight.
        _ if channels == 1 => ChannelArbitration::Strict,
        ChannelArbitrationChoice::Strict => ChannelArbitration::Strict,
        ChannelArbitrationChoice::RoundRobin => ChannelArbitration::RoundRobin,
        ChannelArbitrationChoice::WeightedRoundRobin => {
            if given.weights.len() != channels {
                let path = format!("{}.channels.weights", port.path(inputs));
                let (found, expected) = (given.weights.len().to_string(), channels.to_string());
                let hint = "one weight for each virtual channel of the link, VC0 first".to_owned();
                let problem = Problem::WrongLength { path, found, expected };
                output.report(place_of_port(inputs, port, &["channels", "weights"]), problem, Some(hint));
            }
            ChannelArbitration::WeightedRoundRobin { weights: given.weights.clone() }
        }
    }
}

/// Settings of channels that no link has, and of a queue that ports with several do not have.
pub(crate) fn idle(inputs: &Inputs<'_>, maps: &[ChannelMap], idle: &mut Idle) {
    let mut used = HashSet::new();
    let mut above_one_channel = HashSet::new();
    for (instance, map) in inputs.topology.instances.iter().zip(maps) {
        let above = instance.above.map(|(above, _)| inputs.topology.instances[above].component);
        if map.channels() > 1 {
            used.insert(instance.component);
            used.extend(above);
        } else {
            above_one_channel.extend(above);
        }
    }
    for component in used.difference(&above_one_channel).map(|at| &inputs.file.components[*at]) {
        if component.kind == ComponentKind::Host {
            let reason =
                "each of its links has several virtual channels, where lines join as far as they may";
            idle.because(format!("{}.completion_queue", component.name), reason);
        }
    }
    for (index, component) in inputs.file.components.iter().enumerate() {
        if !used.contains(&index) {
            idle.because(format!("{}.channels", component.name), "its link has no channel beside VC0");
        }
        if inputs.links[index].as_ref().is_some_and(|link| link.virtual_channels.is_empty()) {
            idle.quietly(format!("{}.link.virtual_channels", component.name));
        }
    }
}
