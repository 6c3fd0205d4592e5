//! Links that are longer than what their ends are built for: what `explain` and `run` say of them.
//!
//! Credits and retry buffers belong to a part. On a long link they run out before an answer is back, and a replay timer of the
//! legacy rule does not know how long a link is (PCIe Base 3.1 §3.6.2.1).

use super::Inputs;
use super::credits::loop_credits_over;
use super::port::{End, packet, reach, retry_buffer_over};
use crate::idle::{Caution, Effect};
use crate::parameter::Output;
use crate::value::ParameterType;
use lanewise_fabric::config::PortConfig;
use lanewise_units::Span;

/// Tells of each direction of the link above a component that is too long for its ends.
pub(super) fn check(
    inputs: &Inputs<'_>,
    component: usize,
    ends: &[End<'_>; 2],
    configs: [&PortConfig; 2],
    output: &mut Output,
) {
    let length = ends[0].propagation;
    for (this, other) in [(0, 1), (1, 0)] {
        let (transmitter, receiver) = (&ends[this], &ends[other]);
        let found = [
            too_hasty(inputs, transmitter, configs[this], configs[other]),
            too_little_to_replay(inputs, transmitter, configs[this], length),
            too_few_credits(inputs, receiver, configs[other], length),
        ];
        for reason in found.into_iter().flatten() {
            let key = longest(inputs, component);
            let path = format!("{}.link.{key}", inputs.file.components[component].name);
            let place = inputs.place_of(component, &["link", key]);
            let caution = Caution { path, value: length.show(), place, effect: Effect::Slower, reason };
            // A thousand devices of a component are told of once.
            if !output.cautions.contains(&caution) {
                output.cautions.push(caution);
            }
        }
    }
}

/// What makes the link above a component long: a cable, retimers, or nothing but its own length.
fn longest(inputs: &Inputs<'_>, component: usize) -> &'static str {
    match &inputs.links[component] {
        Some(link) if link.cable != "none" => "cable",
        Some(link) if !link.retimers.is_empty() => "retimers",
        _ => "propagation",
    }
}

/// A replay timer that runs out before an Ack can be there.
fn too_hasty(inputs: &Inputs<'_>, end: &End<'_>, config: &PortConfig, peer: &PortConfig) -> Option<String> {
    let packet = end.mode.wire_span(packet(end.mps));
    let around =
        end.propagation * 2 + config.receive_latency + peer.receive_latency + peer.ack.latency + packet;
    (config.replay_timer < around).then(|| {
        let (port, timer) = (end.view.path(inputs), config.replay_timer);
        format!(
            "{port}.replay_timer of {timer} may run out before an Ack is back, which takes up to {around}: then all is sent twice"
        )
    })
}

/// A retry buffer that is full before an Ack is back.
fn too_little_to_replay(
    inputs: &Inputs<'_>,
    end: &End<'_>,
    config: &PortConfig,
    length: Span,
) -> Option<String> {
    let needed = retry_buffer_over(end, length);
    (length > reach(end) && needed > config.retry_buffer).then(|| {
        let (port, has) = (end.view.path(inputs), config.retry_buffer);
        format!("{port}.retry_buffer of {has} is full before an Ack is back, which takes {needed}")
    })
}

/// Posted credits that run out before an UpdateFC is back.
fn too_few_credits(inputs: &Inputs<'_>, end: &End<'_>, config: &PortConfig, length: Span) -> Option<String> {
    let has = config.credits[0].data.map(u64::from)?;
    let (_, needed) = loop_credits_over(end, length);
    (length > reach(end) && needed > has).then(|| {
        let port = end.view.path(inputs);
        format!(
            "{port}.credits.posted_data of {has} run out before an UpdateFC is back, which takes {needed}"
        )
    })
}
