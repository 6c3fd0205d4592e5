//! Firmware's choice of the Maximum Payload Size.
//!
//! One value must hold along every path (PCIe Base 6.3 §7.5.3.4). Firmware usually takes the minimum over the
//! hierarchy below a root port; where a host forwards between root ports, over the whole host; and where a bridge joins two hosts, over
//! what is on its both sides, because it takes packets over as they are.

use super::link::TrainedLink;
use super::{Inputs, PortView, Settings, place_in};
use crate::file::two_layers;
use crate::parameter::Output;
use crate::parameters::MpsPolicy;
use crate::problem::Problem;
use crate::value::{Auto, PayloadSize};
use lanewise_units::Bytes;
use std::collections::BTreeMap;

/// The devices that must agree: those below one root port (host and slot), or below one host. Of what bridges join, the first.
type Domain = (usize, Option<usize>);

/// What was programmed into every hierarchy.
#[derive(Debug, Default)]
pub(crate) struct Payload {
    domains: BTreeMap<Domain, Programmed>,
    /// Domain of each instance that has a host above it.
    domain_of: Vec<Option<Domain>>,
}

/// The value of one hierarchy and what decided it.
#[derive(Clone, Debug)]
pub(crate) struct Programmed {
    pub mps: Bytes,
    pub limited_by: String,
}

impl Payload {
    /// What was programmed into the hierarchy that an instance is in.
    pub fn of(&self, instance: usize) -> Option<&Programmed> {
        self.domains.get(self.domain_of.get(instance)?.as_ref()?)
    }
}

/// A wish for a value, or a limit to it, by one port.
struct Voice {
    path: String,
    component: usize,
    slot: Option<String>,
    supported: Bytes,
    explicit: Option<Bytes>,
}

/// Chooses the value of every hierarchy.
pub(crate) fn program(inputs: &Inputs<'_>, trained: &[Option<TrainedLink>], output: &mut Output) -> Payload {
    let mut payload = Payload { domain_of: domains(inputs, trained.len()), ..Payload::default() };
    let mut voices: BTreeMap<Domain, Vec<Voice>> = BTreeMap::new();
    for (lower, domain) in payload.domain_of.iter().enumerate() {
        let Some((domain, ends)) = domain.zip(inputs.ends(lower)) else { continue };
        let voices = voices.entry(domain).or_default();
        for end in [ends.0, ends.1] {
            let voice = voice(inputs, end);
            // Instances of a component speak with one voice.
            if !voices.iter().rev().take(4).any(|other| other.path == voice.path) {
                voices.push(voice);
            }
        }
    }
    let fixed = fixed(inputs, output);
    for (domain, voices) in voices {
        payload.domains.insert(domain, select_mps(inputs, &voices, fixed, output));
    }
    payload
}

/// Of each instance with a link above it.
fn domains(inputs: &Inputs<'_>, instances: usize) -> Vec<Option<Domain>> {
    let mut domain_of: Vec<Option<Domain>> =
        (0..instances).map(|lower| domain(inputs, lower).filter(|_| inputs.ends(lower).is_some())).collect();
    for (one, bridge) in inputs.bridges.iter().enumerate() {
        let Some(bridge) = bridge else { continue };
        let (first, joined) = (domain_of[one], domain_of[bridge.other]);
        if first.is_some() && joined.is_some() {
            domain_of.iter_mut().filter(|of| **of == joined).for_each(|of| *of = first);
        }
    }
    domain_of
}

fn domain(inputs: &Inputs<'_>, lower: usize) -> Option<Domain> {
    let (host, slot) = inputs.topology.root_port(lower)?;
    match inputs.settings_of(host)? {
        Settings::Host(settings) => Some((host, (!settings.peer_to_peer).then_some(slot))),
        _ => None,
    }
}

fn voice(inputs: &Inputs<'_>, end: PortView<'_>) -> Voice {
    Voice {
        path: end.path(inputs),
        component: end.component,
        slot: end.slot.map(str::to_owned),
        supported: end.parameters.mps_supported.0,
        explicit: end.parameters.mps.given().map(|mps| mps.0),
    }
}

/// The value that firmware is told to use, if it is.
fn fixed(inputs: &Inputs<'_>, output: &mut Output) -> Option<Bytes> {
    match (inputs.firmware.mps_policy, inputs.firmware.mps) {
        (_, Auto::Given(PayloadSize(mps))) => Some(mps),
        (MpsPolicy::Minimum, Auto::Auto) => None,
        (MpsPolicy::Fixed, Auto::Auto) => {
            let (path, key) = ("firmware".to_owned(), "mps".to_owned());
            let expected = "the value to program, such as \"256 B\"".to_owned();
            let problem = Problem::MissingKey { path, key, expected };
            if let Some(place) = place_in(&two_layers(&inputs.file.firmware), &["mps_policy"]) {
                output.report(place, problem, None);
            }
            None
        }
    }
}

fn select_mps(
    inputs: &Inputs<'_>,
    voices: &[Voice],
    firmware: Option<Bytes>,
    output: &mut Output,
) -> Programmed {
    let limit =
        voices.iter().min_by_key(|voice| voice.supported).expect("a hierarchy has a link, a link two ends");
    let mut chosen = Programmed { mps: limit.supported, limited_by: format!("{}.mps_supported", limit.path) };
    for voice in voices {
        let Some(explicit) = voice.explicit else { continue };
        let path = format!("{}.mps", voice.path);
        if explicit > limit.supported {
            let keys: Vec<&str> =
                match (&voice.slot, inputs.file.components[voice.component].kind.slots_key()) {
                    (Some(slot), Some(key)) => vec![key, slot, "mps"],
                    _ => vec!["mps"],
                };
            let layers = inputs.file.components[voice.component].layers();
            // A slot's value may be written for the whole component.
            let place = place_in(&layers, &keys).or_else(|| place_in(&layers, &["mps"]));
            let place = place.unwrap_or(inputs.file.components[voice.component].place);
            too_large(path, explicit, limit, place, output);
        } else if explicit < chosen.mps {
            chosen = Programmed { mps: explicit, limited_by: path };
        }
    }
    if let Some(mps) = firmware {
        if inputs.firmware.mps_policy == MpsPolicy::Fixed && mps > limit.supported {
            let place = place_in(&two_layers(&inputs.file.firmware), &["mps"]);
            if let Some(place) = place {
                too_large("firmware.mps".to_owned(), mps, limit, place, output);
            }
        } else if mps < chosen.mps {
            chosen = Programmed { mps, limited_by: "firmware.mps".to_owned() };
        }
    }
    chosen
}

fn too_large(path: String, found: Bytes, limit: &Voice, place: crate::source::Place, output: &mut Output) {
    let allowed = limit.supported.to_string();
    let hint = format!("lower it to {allowed}, or choose a device that supports {found}");
    let (found, limiter) = (found.to_string(), limit.path.clone());
    output.report(place, Problem::MpsTooLarge { path, found, limiter, allowed }, Some(hint));
}
