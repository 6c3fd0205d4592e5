//! Link training, as far as its outcome goes: the minimum of both ends and of what is between them.

use super::computed::Computed;
use super::{Inputs, PortView, between, standby};
use crate::parameter::{Output, Provenance};
use crate::parameters::LinkParameters;
use crate::problem::Problem;
use crate::value::Auto;
use lanewise_pcie::encoding::LinkMode;
use lanewise_units::{Generation, Span, Width};
use std::cmp::Ordering;

/// What limits a link whose ends can do the same.
const BOTH_ENDS: &str = "both ends";

/// A link after training.
#[derive(Clone, Debug)]
pub struct TrainedLink {
    /// What it runs at.
    pub mode: LinkMode,
    /// What decided the generation, and what decided the width, as paths.
    pub limited_by: (String, String),
    /// Time from transmitter pin to receiver pin, with what lies between the ends.
    pub way: Span,
    /// Components that lie between the ends, by their indexes.
    pub through: Vec<usize>,
}

/// Trains the link above every instance; nothing where there is none.
pub(crate) fn train(
    inputs: &Inputs<'_>,
    computed: &mut Computed,
    output: &mut Output,
) -> Vec<Option<TrainedLink>> {
    (0..inputs.topology.instances.len())
        .map(|lower| {
            let component = inputs.topology.instances[lower].component;
            let (upper_end, lower_end) = inputs.ends(lower)?;
            let link = inputs.links[component].as_ref()?;
            let trained = train_one(inputs, component, (upper_end, lower_end), link, output);
            between::tell(inputs, &trained, computed);
            check_skips(inputs, component, link, trained.mode, computed, output);
            standby::check(inputs, component, link, trained.mode, output);
            Some(trained)
        })
        .collect()
}

fn train_one(
    inputs: &Inputs<'_>,
    component: usize,
    (upper, lower): (PortView<'_>, PortView<'_>),
    link: &LinkParameters,
    output: &mut Output,
) -> TrainedLink {
    let own = inputs.file.components[component].name.clone();
    let mut generation =
        least(upper.shape.generation, lower.shape.generation, &upper.path(inputs), &lower.path(inputs));
    let mut width =
        least_width(upper.shape.width, lower.shape.width, &upper.path(inputs), &lower.path(inputs));
    if let Some(reducer) = link.slot_reducer
        && reducer < width.0
    {
        width = (common_width(reducer, width.0), format!("{own}.link.slot_reducer"));
    }
    let through = between::of(inputs, link);
    for part in &through {
        let limits = between::limits(inputs, *part);
        let name = &inputs.file.components[*part].name;
        if let Some(slower) = limits.0.filter(|slower| *slower < generation.0) {
            generation = (slower, format!("{name}.generation"));
        }
        if let Some(narrower) = limits.1.filter(|narrower| *narrower < width.0) {
            width = (common_width(narrower, width.0), format!("{name}.width"));
        }
    }
    if let Some(forced) = link.force_generation {
        if forced > generation.0 {
            let (found, allowed) = (forced.to_string(), generation.0.to_string());
            cannot_train(inputs, component, "force_generation", found, allowed, output);
        }
        generation = (forced, format!("{own}.link.force_generation"));
    }
    if let Some(forced) = link.force_width {
        if forced > width.0 {
            cannot_train(inputs, component, "force_width", forced.to_string(), width.0.to_string(), output);
        }
        width = (forced, format!("{own}.link.force_width"));
    }
    let flit = flit_mode(inputs, component, (upper, lower), (generation.0, width.0), link, output);
    let mode = LinkMode::new(generation.0, width.0).with_flit(flit);
    let way = link.propagation + between::latency(inputs, &through, mode.generation);
    TrainedLink { mode, limited_by: (generation.1, width.1), way, through }
}

/// Works out when SKP ordered sets are due, and tells what Flit Mode came to.
fn check_skips(
    inputs: &Inputs<'_>,
    component: usize,
    link: &LinkParameters,
    mode: LinkMode,
    computed: &mut Computed,
    output: &mut Output,
) {
    if !mode.is_defined() {
        return;
    }
    let path = |key: &str| format!("{}.link.{key}", inputs.file.components[component].name);
    if link.flit == Auto::Auto {
        let source = "used when both ends can, and always from 64 GT/s on, PCIe Base 6.3 §4.2.3";
        computed.parameter(path("flit"), mode.flit.to_string(), Provenance::Spec, source);
    }
    let schedule = mode.ordered_sets(link.clocking.meant());
    match link.skip_interval {
        Auto::Auto => {
            let source = "the midpoint of the legal range, PCIe Base 6.3 §4.2.8";
            computed.parameter(
                path("skip_interval"),
                schedule.interval.to_string(),
                Provenance::Spec,
                source,
            );
        }
        // An illegal interval may be tried out, but it leaves room for packets.
        Auto::Given(interval) if interval < schedule.span * 2 => {
            let (found, low) = (interval.to_string(), (schedule.span * 2).to_string());
            let problem =
                Problem::OutOfRange { path: path("skip_interval"), found, low, high: "1 ms".to_owned() };
            let hint =
                format!("the legal range of this link is {} to {}", schedule.legal.0, schedule.legal.1);
            output.report(inputs.place_of(component, &["link", "skip_interval"]), problem, Some(hint));
        }
        Auto::Given(_) => {}
    }
}

fn least(upper: Generation, lower: Generation, upper_path: &str, lower_path: &str) -> (Generation, String) {
    (upper.min(lower), lesser(upper, lower, upper_path, lower_path))
}

fn least_width(upper: Width, lower: Width, upper_path: &str, lower_path: &str) -> (Width, String) {
    (common_width(upper, lower), lesser(upper, lower, upper_path, lower_path))
}

/// Which end can do less.
fn lesser<T: Ord>(upper: T, lower: T, upper_path: &str, lower_path: &str) -> String {
    match upper.cmp(&lower) {
        Ordering::Less => upper_path.to_owned(),
        Ordering::Equal => BOTH_ENDS.to_owned(),
        Ordering::Greater => lower_path.to_owned(),
    }
}

/// The widest width of both: x12 is optional, so a wider end can do x8 but not x12.
fn common_width(one: Width, other: Width) -> Width {
    match one.min(other) {
        Width::X12 if one != other => Width::X8,
        narrower => narrower,
    }
}

fn cannot_train(
    inputs: &Inputs<'_>,
    component: usize,
    key: &str,
    found: String,
    allowed: String,
    output: &mut Output,
) {
    let path = format!("{}.link.{key}", inputs.file.components[component].name);
    let problem = Problem::LinkCannotTrain { path, found, allowed };
    output.report(inputs.place_of(component, &["link", key]), problem, None);
}

/// Whether a port can run in Flit Mode: where it is not said, those from 64 GT/s on.
pub(super) fn can_run_flits(end: PortView<'_>) -> bool {
    end.parameters.flit_mode.given().unwrap_or(end.shape.generation >= Generation::Gen6)
}

/// Flit Mode where both ends can, or where it is asked for and possible; always where the rate demands it.
fn flit_mode(
    inputs: &Inputs<'_>,
    component: usize,
    (upper, lower): (PortView<'_>, PortView<'_>),
    (generation, width): (Generation, Width),
    link: &LinkParameters,
    output: &mut Output,
) -> bool {
    let demanded = LinkMode::new(generation, width).flit;
    let possible = can_run_flits(upper) && can_run_flits(lower);
    let flit = match link.flit {
        Auto::Given(asked) => asked,
        Auto::Auto => possible || demanded,
    };
    let reason = if demanded && !flit {
        Some(format!("{generation} has no other mode"))
    } else if flit && !possible {
        Some("an end cannot run in Flit Mode".to_owned())
    } else if flit && !LinkMode::new(generation, width).with_flit(true).is_defined() {
        Some(format!("there are no flits on {width}"))
    } else {
        None
    };
    let Some(reason) = reason else { return flit };
    let path = format!("{}.link.flit", inputs.file.components[component].name);
    let hint = (!LinkMode::new(generation, width).with_flit(true).is_defined())
        .then(|| "flits exist on x1, x2, x4, x8 and x16".to_owned());
    output.report(
        inputs.place_of(component, &["link", "flit"]),
        Problem::FlitModeImpossible { path, reason },
        hint,
    );
    demanded
}
