//! Virtual functions of endpoints: what they are to the fabric, and names that workloads give them.

use super::Inputs;
use super::workload::place;
use crate::document::shortened;
use crate::file::WrittenWorkload;
use crate::parameter::Output;
use crate::parameters::EndpointParameters;
use crate::problem::Problem;
use lanewise_fabric::config::{Arbitration, FunctionsConfig};
use lanewise_pcie::tag::TagWidth;
use std::ops::Range;

/// Last function number on a bus, with Alternative Routing-ID Interpretation. PCIe Base 6.3 §6.13.
const LAST_FUNCTION: u32 = 255;

/// The virtual functions of an endpoint, if it has any.
pub(crate) fn config(
    inputs: &Inputs<'_>,
    instance: usize,
    endpoint: &EndpointParameters,
    tag_width: TagWidth,
    output: &mut Output,
) -> Option<FunctionsConfig> {
    let given = &endpoint.sriov;
    if given.functions == 0 {
        return None;
    }
    let component = inputs.topology.instances[instance].component;
    let path = |key: &str| format!("{}.sriov.{key}", inputs.file.components[component].name);
    let place = |key: &str| inputs.place_of(component, &["sriov", key]);
    let room = u32::from(tag_width.usable());
    if let Some(tags) = given.own_tags.filter(|tags| *tags > room) {
        let (path, found, allowed) = (path("own_tags"), tags.to_string(), room.to_string());
        let problem = Problem::TooManyTags { path, found, allowed };
        output.report(place("own_tags"), problem, Some("see `tag_width`".to_owned()));
    }
    if !given.weights.is_empty() && given.weights.len() != given.functions as usize {
        let (found, expected) = (given.weights.len().to_string(), given.functions.to_string());
        let problem = Problem::WrongLength { path: path("weights"), found, expected };
        output.report(place("weights"), problem, Some("one weight for each virtual function".to_owned()));
    }
    let last = given.first_offset + given.stride * (given.functions - 1);
    if last > LAST_FUNCTION {
        let (low, high) = ("1".to_owned(), LAST_FUNCTION.to_string());
        let found = format!("{} for the last of them", last);
        let problem = Problem::OutOfRange { path: path("first_offset"), found, low, high };
        let hint = "all functions are on one bus; lower `functions`, `first_offset` or `stride`".to_owned();
        output.report(place("first_offset"), problem, Some(hint));
    }
    let arbitration = match given.weights.is_empty() {
        true => Arbitration::RoundRobin,
        // The physical function is the first.
        false => Arbitration::WeightedRoundRobin {
            weights: std::iter::once(1).chain(given.weights.iter().map(|weight| *weight as u8)).collect(),
        },
    };
    Some(FunctionsConfig {
        count: given.functions as u8,
        own_tags: given.own_tags.map(|tags| tags.min(room) as u16),
        arbitration,
        offset_and_stride: (given.first_offset as u16, given.stride as u16),
    })
}

/// The device of a name, and what stands for its functions in brackets: `nic` and `3` of `nic.vf[3]`.
pub(crate) fn split(name: &str) -> (&str, Option<&str>) {
    match name.strip_suffix(']').and_then(|name| name.split_once(".vf[")) {
        Some((device, functions)) => (device, Some(functions)),
        None => (name, None),
    }
}

/// The virtual functions of a device that a workload means by what stands in brackets. What it cannot mean is reported.
pub(crate) fn among(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    instance: usize,
    (name, meant): (&str, &str),
    output: &mut Output,
) -> Range<u8> {
    let count = inputs.endpoint(instance).map_or(0, |endpoint| endpoint.sriov.functions as u8);
    let one = meant.parse::<u8>().ok().filter(|function| *function < count);
    match (meant, one) {
        ("*", _) if count > 0 => 0..count,
        (_, Some(function)) => function..function + 1,
        _ => {
            let device = split(name).0;
            let expected = match count {
                0 => format!("`{device}` has no virtual functions (`sriov.functions`)"),
                _ => format!("there are {count}, from `{device}.vf[0]` to `{device}.vf[{}]`", count - 1),
            };
            let path = workload.path_of("device");
            let problem = Problem::UnknownDevice { path, found: shortened(name), expected };
            output.report(place(workload, "device"), problem, None);
            0..0
        }
    }
}
