//! Which endpoints are the two sides of a non-transparent bridge.

use super::fabric::line_rate;
use super::{Inputs, Settings, place_in};
use crate::document::shortened;
use crate::parameter::Output;
use crate::parameters::{ForwardingChoice, NtbParameters};
use crate::problem::Problem;
use crate::structure::ComponentKind;
use lanewise_fabric::config::{BridgeConfig, DeviceKind, FabricConfig, Forwarding};
use lanewise_units::Rate;

/// By instance, the bridge that it is one side of. Reports sides that do not belong together.
pub(super) fn read(inputs: &Inputs<'_>, output: &mut Output) -> Vec<Option<BridgeConfig>> {
    let mut sides = vec![None; inputs.topology.instances.len()];
    for (component, settings) in inputs.settings.iter().enumerate() {
        let Some(Settings::Endpoint(endpoint)) = settings else { continue };
        if endpoint.ntb.to == NOTHING {
            continue;
        }
        match pairs(inputs, component, &endpoint.ntb, &sides) {
            Ok(pairs) => {
                for (one, other) in pairs {
                    sides[one] = Some(bridge(inputs, (one, other), &endpoint.ntb));
                    sides[other] = Some(bridge(inputs, (other, one), &endpoint.ntb));
                }
            }
            Err(reason) => {
                refuse(inputs, component, &endpoint.ntb, reason, output);
            }
        }
    }
    sides
}

fn refuse(inputs: &Inputs<'_>, component: usize, ntb: &NtbParameters, reason: String, output: &mut Output) {
    let written = &inputs.file.components[component];
    let (path, found) = (written.name.clone(), shortened(&ntb.to));
    let place = place_in(&written.layers(), &["ntb", "to"]).unwrap_or(written.place);
    output.report(place, Problem::BadBridge { path, found, reason }, None);
}

/// Reports hosts that may have more reads under way than a bridge can tell apart.
pub(super) fn check_room(inputs: &Inputs<'_>, fabric: &FabricConfig, output: &mut Output) {
    let host = |at: usize| inputs.topology.path_up(at).last();
    // By host, of devices that may send through a bridge.
    let mut tags = vec![0; inputs.bridges.len()];
    if inputs.bridges.iter().any(Option::is_some) {
        for (instance, device) in fabric.devices.iter().enumerate() {
            if let (DeviceKind::Endpoint(endpoint), Some(host)) = (&device.kind, host(instance)) {
                tags[host] += u64::from(endpoint.tags) * u64::from(endpoint.bridge.is_none());
            }
        }
    }
    for (component, settings) in inputs.settings.iter().enumerate() {
        let Some(Settings::Endpoint(endpoint)) = settings else { continue };
        let mut most = 0;
        for one in inputs.topology.instances_of(component).filter(|_| endpoint.ntb.to != NOTHING) {
            let sides = [Some(one), inputs.bridge_of(one).map(|bridge| bridge.other)];
            for host in sides.into_iter().flatten().filter_map(host) {
                most = tags[host].max(most);
            }
        }
        if most > MOST_READS {
            let reason =
                format!("devices of one host have {most} tags, and a bridge tells {MOST_READS} reads apart");
            refuse(inputs, component, &endpoint.ntb, reason, output);
        }
    }
}

/// What a device that is no bridge names as its other side.
pub(super) const NOTHING: &str = "none";

/// Reads that a bridge of the fabric tells apart.
const MOST_READS: u64 = 1 << 16;

/// Each endpoint of a component with that on the other side.
fn pairs(
    inputs: &Inputs<'_>,
    component: usize,
    written: &NtbParameters,
    known: &[Option<BridgeConfig>],
) -> Result<Vec<(usize, usize)>, String> {
    let is_endpoint = |at: &usize| inputs.file.components[*at].kind == ComponentKind::Endpoint;
    let other = inputs.find(&written.to).filter(is_endpoint).ok_or("there is no endpoint of this name")?;
    if other == component {
        return Err("a bridge has two sides".to_owned());
    }
    if matches!(&inputs.settings[other], Some(Settings::Endpoint(other)) if other.ntb.to != NOTHING) {
        return Err("that names a side of its own: write `ntb` on one of the two".to_owned());
    }
    let [ones, others] = [component, other].map(|at| inputs.topology.instances_of(at));
    if ones.len() != others.len() {
        return Err(format!("there are {} on this side and {} on that", ones.len(), others.len()));
    }
    let pairs: Vec<(usize, usize)> = ones.zip(others).collect();
    let host = |at: usize| inputs.topology.path_up(at).last();
    if pairs.iter().any(|(_, other)| known[*other].is_some()) {
        return Err("that is a side of another bridge".to_owned());
    }
    if pairs.iter().any(|(one, other)| host(*one) == host(*other)) {
        return Err("both are below one host".to_owned());
    }
    Ok(pairs)
}

/// Each side takes over twice what the faster of both links carries, as a switch with a speedup of 2: never the limit.
fn bridge(inputs: &Inputs<'_>, (own, other): (usize, usize), written: &NtbParameters) -> BridgeConfig {
    let rates = [own, other].into_iter().filter_map(|side| Some(line_rate(inputs.port(side, 0)?.shape)));
    BridgeConfig {
        other,
        forwarding: match written.forwarding {
            ForwardingChoice::CutThrough => Forwarding::CutThrough,
            ForwardingChoice::StoreAndForward => Forwarding::StoreAndForward,
        },
        latency: written.latency,
        rate: Rate::from_bytes_per_second(2 * rates.max().unwrap_or(1)),
    }
}
