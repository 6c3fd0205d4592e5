//! Which device of a workload deals with which: one with one, as many as there are in pairs, or one with each of several.

use super::Inputs;
use super::workload::{Seat, Wanted, endpoints, named, place};
use crate::document::shortened;
use crate::file::WrittenWorkload;
use crate::parameter::Output;
use crate::problem::Problem;

/// Each device of a workload with its peer, an instrument for each.
///
/// One peer serves all devices; as many peers as devices are paired in their order; one device deals with each of several
/// peers. Any other numbers are reported, and so is a device that would be its own peer by such a pairing.
pub(crate) fn pairs(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    (key, name): (&str, &str),
    seats: Vec<Seat>,
    output: &mut Output,
) -> Option<Vec<(Seat, usize)>> {
    if seats.is_empty() {
        // The devices are reported; a wrong peer is, too.
        endpoints(inputs, workload, key, name, output);
        return None;
    }
    let peers = endpoints(inputs, workload, key, name, output);
    match (&seats[..], &peers[..]) {
        (_, []) => None,
        (_, [one]) => Some(seats.into_iter().map(|seat| (seat, *one)).collect()),
        ([seat], _) => {
            Some(peers.iter().map(|peer| (seat.towards(inputs, workload, *peer), *peer)).collect())
        }
        _ if seats.len() == peers.len()
            && seats.iter().zip(&peers).any(|(seat, peer)| seat.instance == *peer) =>
        {
            let reason = "which pairs a device with itself".to_owned();
            let hint = "write a workload for each pair, or name other devices";
            report(workload, (key, name), reason, hint.to_owned(), output);
            None
        }
        _ if seats.len() == peers.len() => Some(seats.into_iter().zip(peers).collect()),
        _ => {
            let reason = format!("{} devices for the {} of `device`", peers.len(), seats.len());
            let hint = "name one, or as many as `device` names, which are paired in their order; or one `device` for all of these";
            report(workload, (key, name), reason, hint.to_owned(), output);
            None
        }
    }
}

/// The one device that a key names, which is reported when it names several.
pub(crate) fn one(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    (key, name): (&str, &str),
    output: &mut Output,
) -> Option<usize> {
    let named = named(inputs, workload, (key, name), Wanted::One, output);
    match named[..] {
        [] => None,
        [one] => Some(one),
        [first, ..] => {
            let reason = format!("{} devices, where one is needed", named.len());
            let hint = format!(
                "such as `{}`; a workload for each of several",
                inputs.topology.instances[first].name
            );
            report(workload, (key, name), reason, hint, output);
            None
        }
    }
}

fn report(
    workload: &WrittenWorkload,
    (key, name): (&str, &str),
    reason: String,
    hint: String,
    output: &mut Output,
) {
    let path = workload.path_of(key);
    let problem = Problem::DeviceCount { path, found: shortened(name), reason };
    output.report(place(workload, key), problem, Some(hint));
}
