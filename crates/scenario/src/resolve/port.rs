//! Settings of every port: what is given is checked, what is "auto" is worked out.
//!
//! Automatic credits and retry buffers are what a designer who wants the link to stay busy would build: the bytes
//! of one loop over a link as long as the part is made for (`reach`). They are therefore the reason for a lost gigabyte only
//! where a link is longer than that, or a scenario or a part says so; [`super::loops`] tells.

use super::computed::Computed;
use super::credits::{CreditTable, credits, scales};
use super::link::{TrainedLink, can_run_flits};
use super::payload::Payload;
use super::{Inputs, PortView, Settings, place_in};
use super::{loops, standby};
use crate::parameter::{Output, Provenance};
use crate::parameters::{PortParameters, ReplayRuleChoice};
use crate::problem::Problem;
use crate::source::Place;
use crate::value::{Auto, Fraction, ParameterType};
use lanewise_fabric::config::{AckPolicy, PortConfig, UpdatePolicy};
use lanewise_pcie::ack_nak::{
    FLIT_REPLAY_TIMEOUT_FLITS, ReplayRule, ack_latency_limit, flit_ack_latency, replay_timer_limit,
};
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::flit::FLIT_BYTES;
use lanewise_pcie::flow_control::{
    CreditPool, ReceiverKind, Scale, UPDATE_INTERVAL, UPDATE_INTERVAL_FLIT, update_latency_limit,
};
use lanewise_pcie::tlp::Tlp;
use lanewise_pcie::virtual_channel::ChannelMap;
use lanewise_units::{Bytes, Generation, Span};
use std::collections::HashMap;

/// One way over the link that the buffers of an older port are built for: 30 cm of board at 15 cm/ns. Assumed.
const REACH_OF_A_BOARD: Span = Span::from_ns(2);
/// The same for ports that support 8 GT/s or more. With it an endpoint at Gen3 x16 and 256 B comes to the 750 posted data
/// credits of Intel's L- and H-tile cores (user guide 683111, receive buffer); those have 762 ns at the line's rate.
const REACH_OF_A_CABLE: Span = Span::from_ns(180);

/// Settings of every port of every instance, by instance and port.
pub(crate) type Ports = Vec<Vec<PortConfig>>;

/// One end of one link, and everything its settings depend on.
pub(super) struct End<'r> {
    pub view: PortView<'r>,
    pub mode: LinkMode,
    pub mps: Bytes,
    pub peer: &'r PortParameters,
    pub propagation: Span,
    /// What an Ack may have to wait for while the other direction wakes.
    pub l0s_exit: Span,
    pub receiver: ReceiverKind,
    /// From arrival until the device has passed a packet on.
    pub drain: Span,
    /// Virtual channels of the link.
    pub channels: usize,
}

/// Bytes on the wire of the packets that buffers are made for: a header of 4 DW, so much payload, and framing, which is counted in
/// Flit Mode too.
pub(super) const fn packet(payload: Bytes) -> Bytes {
    Tlp::memory_write(1 << 32, payload).wire_bytes_non_flit()
}

/// Configures every port. Ports without a link get the settings of an idle port of their own shape.
pub(crate) fn configure(
    inputs: &Inputs<'_>,
    trained: &[Option<TrainedLink>],
    payload: &Payload,
    maps: &[ChannelMap],
    computed: &mut Computed,
    output: &mut Output,
) -> Ports {
    let mut idle: HashMap<usize, Vec<PortConfig>> = HashMap::new();
    let mut ports: Ports = (0..trained.len())
        .map(|instance| {
            // Instances of a component are alike; a thousand of them are worked out once.
            let component = inputs.topology.instances[instance].component;
            idle.entry(component).or_insert_with(|| idle_ports(inputs, instance)).clone()
        })
        .collect();
    for (lower, link) in trained.iter().enumerate() {
        let (Some(link), Some(programmed)) = (link, payload.of(lower)) else { continue };
        let (Some((upper_view, lower_view)), Some((above, slot))) =
            (inputs.ends(lower), inputs.topology.instances[lower].above)
        else {
            continue;
        };
        let component = inputs.topology.instances[lower].component;
        let parameters = inputs.links[component].as_ref();
        let propagation = link.way;
        let l0s_exit = parameters.map_or(Span::ZERO, standby::l0s_exit);
        let make = |instance: usize, view, peer| {
            let (receiver, drain) = receiver(inputs, instance);
            let channels = maps[lower].channels();
            let (mode, mps) = (link.mode, programmed.mps);
            End { view, mode, mps, peer, propagation, l0s_exit, receiver, drain, channels }
        };
        let ends =
            [make(above, upper_view, lower_view.parameters), make(lower, lower_view, upper_view.parameters)];
        let [upper_scales, lower_scales] = scales(&ends);
        let [upper, lower_config] = [(&ends[0], upper_scales), (&ends[1], lower_scales)]
            .map(|(end, scales)| configure_end(inputs, end, scales, computed, output));
        loops::check(inputs, component, &ends, [&upper, &lower_config], output);
        if let Some(port) = ports[above].get_mut(slot) {
            *port = upper;
        }
        if let Some(port) = ports[lower].first_mut() {
            *port = lower_config;
        }
    }
    ports
}

fn idle_ports(inputs: &Inputs<'_>, instance: usize) -> Vec<PortConfig> {
    let component = inputs.topology.instances[instance].component;
    let count = match &inputs.settings[component] {
        Some(Settings::Endpoint(_)) => 1,
        _ => inputs.topology.slots[component].len(),
    };
    let each = (0..count).filter_map(|port| {
        let view = inputs.port(instance, port)?;
        let (receiver, drain) = receiver(inputs, instance);
        let mode = LinkMode::new(view.shape.generation, view.shape.width);
        let (mps, peer) = (view.parameters.mps_supported.0, view.parameters);
        let (propagation, l0s_exit) = (Span::ZERO, Span::ZERO);
        let end = End { view, mode, mps, peer, propagation, l0s_exit, receiver, drain, channels: 1 };
        // No packet meets the settings of an idle port; problems in them are found where they are in use.
        Some(configure_end(inputs, &end, [Scale::One; 3], &mut Computed::default(), &mut Output::default()))
    });
    each.collect()
}

/// What kind of receiver the ports of an instance are, and how long it holds a packet.
fn receiver(inputs: &Inputs<'_>, instance: usize) -> (ReceiverKind, Span) {
    match inputs.settings_of(instance) {
        Some(Settings::Host(host)) if host.peer_to_peer => {
            (ReceiverKind::PeerToPeerRootPort, host.write_latency)
        }
        Some(Settings::Host(host)) => (ReceiverKind::RootPort, host.write_latency),
        Some(Settings::Switch(switch)) => (ReceiverKind::Switch, switch.latency),
        _ => (ReceiverKind::Endpoint, Span::ZERO),
    }
}

/// From the last byte of a packet at the pins until the data link layer has acted on it, correction of flits included.
fn receive_latency(port: &PortParameters, flit: bool) -> Span {
    port.receive_latency + if flit { port.fec_latency } else { Span::ZERO }
}

/// The same at both ends.
pub(super) fn receivers(end: &End<'_>) -> Span {
    [end.view.parameters, end.peer].map(|port| receive_latency(port, end.mode.flit)).into_iter().sum()
}

/// What an "auto" comes to, and why: what is decided is what is told.
struct Worked {
    value: Span,
    provenance: Provenance,
    source: &'static str,
}

impl Worked {
    const fn spec(value: Span, source: &'static str) -> Self {
        Self { value, provenance: Provenance::Spec, source }
    }

    fn told(self) -> Told {
        (self.value.to_string(), self.provenance, self.source)
    }
}

/// A value as `explain` prints it, and where it is from.
type Told = (String, Provenance, &'static str);

/// One way over the longest link that the automatic buffers of a port are built for.
pub(super) fn reach(end: &End<'_>) -> Span {
    end.view.parameters.reach.given().unwrap_or_else(|| automatic_reach(end).value)
}

fn automatic_reach(end: &End<'_>) -> Worked {
    match end.view.shape.generation >= Generation::Gen3 {
        true => Worked {
            value: REACH_OF_A_CABLE,
            provenance: Provenance::Published,
            source: "makes the 750 posted data credits of Intel's L- and H-tile cores at Gen3 x16, user guide 683111",
        },
        false => Worked {
            value: REACH_OF_A_BOARD,
            provenance: Provenance::Assumed,
            source: "30 cm of board at 15 cm/ns",
        },
    }
}

fn ack_latency(end: &End<'_>) -> Span {
    end.view.parameters.ack_latency.given().unwrap_or_else(|| automatic_ack_latency(end).value)
}

fn automatic_ack_latency(end: &End<'_>) -> Worked {
    let value = automatic_latency(end, ack_latency_limit);
    match end.mode.flit {
        true => Worked::spec(value, "Flit Mode Ack latency, PCIe Base 6.3 §4.2.3.4.2.1"),
        false => Worked::spec(value, "PCIe Base 6.3 Tables 3-10 to 3-12"),
    }
}

pub(super) fn update_latency(end: &End<'_>) -> Span {
    end.view.parameters.update_latency.given().unwrap_or_else(|| automatic_update_latency(end).value)
}

fn automatic_update_latency(end: &End<'_>) -> Worked {
    let value = automatic_latency(end, update_latency_limit);
    match end.mode.flit {
        true => Worked {
            value,
            provenance: Provenance::Assumed,
            source: "assumed as the Ack latency of Flit Mode",
        },
        false => Worked::spec(value, "PCIe Base 6.3 Tables 2-52 to 2-54"),
    }
}

fn automatic_update_period(end: &End<'_>) -> Worked {
    match end.mode.flit {
        true => Worked::spec(UPDATE_INTERVAL_FLIT, "PCIe Base 6.3 §4.2.3.4.2"),
        false => Worked::spec(UPDATE_INTERVAL, "PCIe Base 6.3 §2.6.1.2"),
    }
}

fn automatic_latency(
    end: &End<'_>,
    limit: fn(Bytes, lanewise_units::Width, Generation) -> lanewise_units::SymbolTimes,
) -> Span {
    match end.mode.flit {
        true => flit_ack_latency(end.mode.width),
        false => end.mode.symbols_span(limit(end.mps, end.mode.width, end.mode.generation)),
    }
}

fn replay_rule(end: &End<'_>) -> ReplayRule {
    match end.view.parameters.replay_rule {
        ReplayRuleChoice::Auto => ReplayRule::for_fastest(end.view.shape.generation),
        ReplayRuleChoice::Legacy => ReplayRule::Legacy,
        ReplayRuleChoice::Simplified => ReplayRule::Simplified,
    }
}

fn share(fraction: Fraction, span: Span) -> Span {
    Span::from_ticks((span.ticks() as f64 * fraction.0).round() as u64)
}

fn automatic_replay_timer(end: &End<'_>) -> Worked {
    if end.mode.flit {
        let value = end.mode.wire_span(FLIT_BYTES) * FLIT_REPLAY_TIMEOUT_FLITS;
        return Worked::spec(value, "1500 flits, PCIe Base 6.3 §4.2.3.4.2.1");
    }
    let rule = replay_rule(end);
    let symbols = replay_timer_limit(end.mps, end.mode.width, end.mode.generation, rule);
    let least = end.mode.symbols_span(symbols);
    match rule {
        // -0 to +100 %, and the exit from L0s.
        ReplayRule::Legacy => Worked::spec(
            least + share(end.view.parameters.replay_tolerance, least) + end.l0s_exit,
            "three Ack latency limits, `replay_tolerance` more, and the exit from L0s, PCIe Base 3.1 §3.6.2.1",
        ),
        // Long enough for any L0s.
        ReplayRule::Simplified => Worked::spec(least, "24,000 symbol times, PCIe Base 6.3 §3.6.2.1"),
    }
}

/// Bytes on the way until the peer's Ack is in: the latency that the specification allows it, a packet in each direction, both
/// receivers, and the way there and back as long as the part is built for, for no part knows how slow its peer is. In Flit Mode whole
/// flits are kept, and a packet is as many as it reaches into.
fn automatic_retry_buffer(end: &End<'_>) -> Bytes {
    retry_buffer_for(end, reach(end), automatic_latency(end, ack_latency_limit))
}

/// The same over a link of some length, one way, to the peer that there is.
pub(super) fn retry_buffer_over(end: &End<'_>, length: Span) -> Bytes {
    retry_buffer_for(end, length, end.peer.ack_latency.given().unwrap_or_else(|| ack_latency(end)))
}

fn retry_buffer_for(end: &End<'_>, length: Span, peer_ack: Span) -> Bytes {
    let tlp = packet(end.mps);
    let packet = if end.mode.flit { FLIT_BYTES * tlp.div_ceil(FLIT_BYTES) } else { tlp };
    let span = end.mode.wire_span(packet);
    let receivers = receivers(end);
    let around = peer_ack + receivers + length * 2 + span * 2;
    packet * around.div_ceil(span).max(2)
}

fn configure_end(
    inputs: &Inputs<'_>,
    end: &End<'_>,
    scales: [Scale; 3],
    computed: &mut Computed,
    output: &mut Output,
) -> PortConfig {
    let given = end.view.parameters;
    let flit = end.mode.flit;
    let retry_buffer = given.retry_buffer.given().unwrap_or_else(|| automatic_retry_buffer(end));
    let config = PortConfig {
        mps: end.mps,
        retry_buffer,
        credits: credits(inputs, end, CreditTable::Vc0, scales, computed, output),
        more_credits: more_credits(inputs, end, scales, computed, output),
        channel_arbitration: super::channels::arbitration(inputs, end.view, end.channels, output),
        scale: scales,
        ack: AckPolicy { every_tlps: given.ack_every_tlps, latency: ack_latency(end) },
        update_flow_control: UpdatePolicy {
            every_tlps: given.update_every_tlps,
            latency: update_latency(end),
            period: given.update_period.given().unwrap_or_else(|| automatic_update_period(end).value),
        },
        receive_latency: receive_latency(given, flit),
        replay_timer: given.replay_timer.given().unwrap_or_else(|| automatic_replay_timer(end).value),
    };
    let packet = packet(end.mps);
    if retry_buffer < packet {
        let (path, found) = (format!("{}.retry_buffer", end.view.path(inputs)), retry_buffer.to_string());
        let problem = Problem::RetryBufferTooSmall { path, found, allowed: packet.to_string() };
        output.report(place_of_port(inputs, end.view, &["retry_buffer"]), problem, None);
    }
    tell(inputs, end, &config, computed);
    config
}

/// Credits of VC1 and up, all of which a port treats alike.
fn more_credits(
    inputs: &Inputs<'_>,
    end: &End<'_>,
    scales: [Scale; 3],
    computed: &mut Computed,
    output: &mut Output,
) -> Vec<[CreditPool; 3]> {
    if end.channels == 1 {
        return Vec::new();
    }
    vec![credits(inputs, end, CreditTable::BeyondVc0, scales, computed, output); end.channels - 1]
}

/// Notes what every "auto" came to.
fn tell(inputs: &Inputs<'_>, end: &End<'_>, config: &PortConfig, computed: &mut Computed) {
    let given = end.view.parameters;
    let mut tell = |automatic: bool, key, worked: &dyn Fn() -> Told| {
        if automatic {
            let (value, provenance, source) = worked();
            computed.port(inputs, end.view, key, value, provenance, source);
        }
    };
    let spec = |value: String, source| (value, Provenance::Spec, source);
    let mps = "firmware's choice for the hierarchy; the links say what limited it";
    tell(given.mps == Auto::Auto, "mps", &|| spec(format!("{} B", config.mps.get()), mps));
    tell(given.reach == Auto::Auto, "reach", &|| automatic_reach(end).told());
    let buffer = "the bytes until an Ack is in, over a link of `reach`, PCIe Base 6.3 §3.6.3.1";
    tell(given.retry_buffer == Auto::Auto, "retry_buffer", &|| spec(config.retry_buffer.to_string(), buffer));
    tell(given.ack_latency == Auto::Auto, "ack_latency", &|| automatic_ack_latency(end).told());
    tell(given.update_latency == Auto::Auto, "update_latency", &|| automatic_update_latency(end).told());
    tell(given.update_period == Auto::Auto, "update_period", &|| automatic_update_period(end).told());
    tell(given.replay_timer == Auto::Auto, "replay_timer", &|| automatic_replay_timer(end).told());
    let rule = match replay_rule(end) {
        ReplayRule::Legacy => "legacy",
        ReplayRule::Simplified => "simplified",
    };
    let simplified = "simplified for ports that support 16 GT/s or more, PCIe Base 6.3 §3.6.2.1";
    let automatic = given.replay_rule == ReplayRuleChoice::Auto && !end.mode.flit;
    tell(automatic, "replay_rule", &|| spec(rule.to_owned(), simplified));
    let flits = "ports that support 64 GT/s or more must, PCIe Base 6.3 §4.2.3";
    tell(given.flit_mode == Auto::Auto, "flit_mode", &|| spec(can_run_flits(end.view).to_string(), flits));
    let largest = config.scale.into_iter().max().expect("three classes");
    let factor = match largest {
        Scale::One => "off",
        Scale::Four => "scale-4",
        Scale::Sixteen => "scale-16",
    };
    let scale = "data link feature exchange, PCIe Base 6.3 §3.4.2; the class with most credits";
    // A wish that the other end does not share comes to nothing, and that is told too.
    let differs = given.flow_control_scale.show() != factor;
    tell(differs, "flow_control_scale", &|| spec(factor.to_owned(), scale));
}

/// Where a port's value is written: for its slot alone, or for the whole component.
pub(super) fn place_of_port(inputs: &Inputs<'_>, port: PortView<'_>, keys: &[&str]) -> Place {
    let component = &inputs.file.components[port.component];
    let own = port.slot.zip(component.kind.slots_key()).and_then(|(slot, key)| {
        let path: Vec<&str> = [key, slot].into_iter().chain(keys.iter().copied()).collect();
        place_in(&component.layers(), &path)
    });
    own.unwrap_or_else(|| inputs.place_of(port.component, keys))
}
