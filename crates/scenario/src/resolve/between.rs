//! What lies between the two ends of a link: which parts, how fast a link they let through, and how long they take.
//!
//! A retimer passes on what it receives and keeps nothing: sequence numbers, Acks and credits are those of the ends. So it costs its
//! latency on each way, and where buffers of the ends are not made for the longer loop, goodput.

use super::Inputs;
use super::computed::Computed;
use super::link::TrainedLink;
use crate::nearest::did_you_mean;
use crate::parameter::{Output, Provenance};
use crate::parameters::LinkParameters;
use crate::problem::Problem;
use crate::settings::Settings;
use crate::structure::ComponentKind;
use crate::value::Auto;
use lanewise_units::{Generation, Span, Width};

/// Most retimers on a link. Source: PCIe Base 6.3 §4.3.
const MOST_RETIMERS: usize = 2;

/// Components between the ends of a link, from the upper end down; those that there are not are reported by [`check`].
pub(super) fn of(inputs: &Inputs<'_>, link: &LinkParameters) -> Vec<usize> {
    let named = link.retimers.iter().map(|name| (name, ComponentKind::Retimer));
    let cable = (link.cable != "none").then_some((&link.cable, ComponentKind::Cable));
    let found = named
        .chain(cable)
        .filter_map(|(name, kind)| inputs.find(name).filter(|at| inputs.file.components[*at].kind == kind));
    found.collect()
}

/// The fastest generation and the widest link that a part lets through, where it has such limits.
pub(super) fn limits(inputs: &Inputs<'_>, part: usize) -> (Option<Generation>, Option<Width>) {
    match &inputs.settings[part] {
        Some(Settings::Retimer(retimer)) => (retimer.generation, retimer.width),
        Some(Settings::Cable(cable)) => (cable.generation, cable.width),
        _ => (None, None),
    }
}

/// What parts add to one way over a link of this generation.
pub(super) fn latency(inputs: &Inputs<'_>, parts: &[usize], generation: Generation) -> Span {
    let each = parts.iter().map(|part| match &inputs.settings[*part] {
        Some(Settings::Retimer(retimer)) => {
            retimer.latency.given().unwrap_or_else(|| retimer_latency_limit(generation))
        }
        Some(Settings::Cable(cable)) => cable.latency + cable.latency_per_metre * u64::from(cable.metres),
        _ => Span::ZERO,
    });
    each.sum()
}

/// The most that a retimer may take where both ends have one reference clock.
///
/// In symbol times of a lane: 32 at 2.5 and 5 GT/s, 64 at 8 GT/s, and twice as many with each generation after that.
/// Source: PCIe Base 6.3 §4.3.8, retimer latency limit, not SRIS. Assumed: the same 64 ns from 64 GT/s on.
fn retimer_latency_limit(generation: Generation) -> Span {
    match generation {
        Generation::Gen1 => Span::from_ns(32 * 4),
        Generation::Gen2 => Span::from_ns(32 * 2),
        _ => Span::from_ns(64),
    }
}

/// Tells what "auto" came to on a link.
pub(super) fn tell(inputs: &Inputs<'_>, link: &TrainedLink, computed: &mut Computed) {
    for part in &link.through {
        if let Some(Settings::Retimer(retimer)) = &inputs.settings[*part]
            && retimer.latency == Auto::Auto
        {
            let path = format!("{}.latency", inputs.file.components[*part].name);
            let source = "the most that a retimer may take at the rate of the link, PCIe Base 6.3 §4.3.8";
            let latency = retimer_latency_limit(link.mode.generation);
            computed.parameter(path, latency.to_string(), Provenance::Spec, source);
        }
    }
}

/// Reports retimers and cables that links name and that there are not, and more retimers than a link may have.
pub(super) fn check(inputs: &Inputs<'_>, output: &mut Output) {
    for (component, link) in inputs.links.iter().enumerate() {
        let Some(link) = link else { continue };
        let path = |key: &str| format!("{}.link.{key}", inputs.file.components[component].name);
        if link.retimers.len() > MOST_RETIMERS {
            let found = format!("{} retimers", link.retimers.len());
            let (low, high) = ("none".to_owned(), MOST_RETIMERS.to_string());
            let problem = Problem::OutOfRange { path: path("retimers"), found, low, high };
            let hint = "link training has no place for more, PCIe Base 6.3 §4.3".to_owned();
            output.report(inputs.place_of(component, &["link", "retimers"]), problem, Some(hint));
        }
        for name in &link.retimers {
            check_name(inputs, component, ("retimers", name), ComponentKind::Retimer, output);
        }
        if link.cable != "none" {
            check_name(inputs, component, ("cable", &link.cable), ComponentKind::Cable, output);
        }
    }
    of_no_link(inputs, output);
}

fn check_name(
    inputs: &Inputs<'_>,
    component: usize,
    (key, name): (&str, &str),
    kind: ComponentKind,
    output: &mut Output,
) {
    let known = inputs.find(name).map(|at| inputs.file.components[at].kind);
    if known == Some(kind) || inputs.file.is_lost(name) {
        return;
    }
    let path = format!("{}.link.{key}", inputs.file.components[component].name);
    let expected = match known {
        Some(other) => format!("that is {}, not {}", other.noun(), kind.noun()),
        None => format!("there is no `[{}.{name}]`, and no such part in the catalog", kind.word()),
    };
    let of_kind = inputs.file.components.iter().filter(|other| other.kind == kind);
    let hint = did_you_mean(name, of_kind.map(|other| other.name.as_str()))
        .unwrap_or_else(|| "`lanewise parts` lists the catalog".to_owned());
    let problem = Problem::UnknownDevice { path, found: name.to_owned(), expected };
    output.report(inputs.place_of(component, &["link", key]), problem, Some(hint));
}

/// Retimers and cables that no link names are idle.
fn of_no_link(inputs: &Inputs<'_>, output: &mut Output) {
    let named = |name: &str| {
        let names = |link: &LinkParameters| link.cable == name || link.retimers.iter().any(|own| own == name);
        inputs.links.iter().flatten().any(names)
    };
    for component in &inputs.file.components {
        if matches!(component.kind, ComponentKind::Retimer | ComponentKind::Cable) && !named(&component.name)
        {
            output.idle.because(component.name.clone(), "no link names it");
        }
    }
}
