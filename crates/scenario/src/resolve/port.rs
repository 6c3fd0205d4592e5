//! Settings of every port: what is given is checked, what is "auto" is worked out.
//!
//! Automatic credits and retry buffers are what a designer who wants the link to stay busy would build: the bytes
//! of one loop. They are therefore never the reason for a lost gigabyte unless a scenario or a part says so.

use super::computed::Computed;
use super::link::TrainedLink;
use super::payload::Payload;
use super::{PortView, Rig, Settings, place_in};
use crate::parameter::{Output, Provenance};
use crate::parameters::{PortParameters, ReplayRuleChoice, ScaleChoice};
use crate::problem::Problem;
use crate::source::Place;
use crate::value::{Auto, Credit, ParameterType};
use lanewise_fabric::config::{AckPolicy, PortConfig, UpdatePolicy};
use lanewise_pcie::ack_nak::{
    FLIT_REPLAY_TIMEOUT_FLITS, ReplayRule, ack_latency_limit, flit_ack_latency, replay_timer_limit,
};
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::flow_control::{
    CreditPool, ReceiverKind, Scale, UPDATE_INTERVAL, UPDATE_INTERVAL_FLIT, largest_advertisement,
    minimum_advertisement, update_latency_limit,
};
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Bytes, Generation, Span};
use std::collections::HashMap;

/// Bytes of a packet around its payload: a header of 4 DW and 8 B of framing, sequence number and LCRC.
const PACKET_OVERHEAD: Bytes = Bytes::new(24);
/// Payload of the packets that automatic header credits are made for.
/// Assumed: designers size header buffers for cache lines.
const SMALL_PAYLOAD: Bytes = Bytes::new(64);
/// What automatic credits add to the loop for the receiver's own work, on top of what its parameters say.
/// Assumed.
const LOOP_ALLOWANCE: Span = Span::from_ns(200);
/// Bytes of a flit. Source: PCIe Base 6.3 §4.2.3.3.
const FLIT: Bytes = Bytes::new(256);

/// Settings of every port of every instance, by instance and port.
pub(crate) type Ports = Vec<Vec<PortConfig>>;

/// One end of one link, and everything its settings depend on.
struct End<'r> {
    view: PortView<'r>,
    mode: LinkMode,
    mps: Bytes,
    peer: &'r PortParameters,
    propagation: Span,
    receiver: ReceiverKind,
    /// From arrival until the device has passed a packet on.
    drain: Span,
}

/// Configures every port. Ports without a link get the settings of an idle port of their own shape.
pub(crate) fn configure(
    rig: &Rig<'_>,
    trained: &[Option<TrainedLink>],
    payload: &Payload,
    computed: &mut Computed,
    output: &mut Output,
) -> Ports {
    let mut idle: HashMap<usize, Vec<PortConfig>> = HashMap::new();
    let mut ports: Ports = (0..trained.len())
        .map(|instance| {
            // Instances of a component are alike; a thousand of them are worked out once.
            let component = rig.topology.instances[instance].component;
            idle.entry(component).or_insert_with(|| idle_ports(rig, instance)).clone()
        })
        .collect();
    for (lower, link) in trained.iter().enumerate() {
        let (Some(link), Some(programmed)) = (link, payload.of(lower)) else { continue };
        let (Some((upper_view, lower_view)), Some((above, slot))) =
            (rig.ends(lower), rig.topology.instances[lower].above)
        else {
            continue;
        };
        let component = rig.topology.instances[lower].component;
        let propagation = rig.links[component].as_ref().map_or(Span::ZERO, |link| link.propagation);
        let make = |instance: usize, view, peer| {
            let (receiver, drain) = receiver(rig, instance);
            End { view, mode: link.mode, mps: programmed.mps, peer, propagation, receiver, drain }
        };
        let ends =
            [make(above, upper_view, lower_view.parameters), make(lower, lower_view, upper_view.parameters)];
        let scale = common_scale(&ends);
        let [upper, lower_config] = ends.map(|end| configure_end(rig, &end, scale, computed, output));
        if let Some(port) = ports[above].get_mut(slot) {
            *port = upper;
        }
        if let Some(port) = ports[lower].first_mut() {
            *port = lower_config;
        }
    }
    ports
}

fn idle_ports(rig: &Rig<'_>, instance: usize) -> Vec<PortConfig> {
    let component = rig.topology.instances[instance].component;
    let count = match &rig.settings[component] {
        Some(Settings::Endpoint(_)) => 1,
        _ => rig.topology.slots[component].len(),
    };
    let each = (0..count).filter_map(|port| {
        let view = rig.port(instance, port)?;
        let (receiver, drain) = receiver(rig, instance);
        let mode = LinkMode::new(view.shape.generation, view.shape.width);
        let (mps, peer) = (view.parameters.mps_supported.0, view.parameters);
        let end = End { view, mode, mps, peer, propagation: Span::ZERO, receiver, drain };
        // Nobody reads the settings of an idle port; problems in them are found where they are in use.
        Some(configure_end(rig, &end, Scale::One, &mut Computed::default(), &mut Output::default()))
    });
    each.collect()
}

/// What kind of receiver the ports of an instance are, and how long it holds a packet.
fn receiver(rig: &Rig<'_>, instance: usize) -> (ReceiverKind, Span) {
    match rig.settings_of(instance) {
        Some(Settings::Host(host)) if host.peer_to_peer => {
            (ReceiverKind::PeerToPeerRootPort, host.write_latency)
        }
        Some(Settings::Host(host)) => (ReceiverKind::RootPort, host.write_latency),
        Some(Settings::Switch(switch)) => (ReceiverKind::Switch, switch.latency),
        _ => (ReceiverKind::Endpoint, Span::ZERO),
    }
}

/// The scale both ends use: what is asked for, or the smallest that both ends' credits fit in.
fn common_scale(ends: &[End<'_>; 2]) -> Scale {
    let able = ends.iter().all(|end| end.view.shape.generation >= Generation::Gen4);
    let wish = |end: &End<'_>| match end.view.parameters.flow_control_scale {
        ScaleChoice::Off => Scale::One,
        ScaleChoice::Four => Scale::Four,
        ScaleChoice::Sixteen => Scale::Sixteen,
        ScaleChoice::Auto if !able => Scale::One,
        ScaleChoice::Auto => scale_for(wanted_credits(end)),
    };
    let off = ends.iter().any(|end| end.view.parameters.flow_control_scale == ScaleChoice::Off);
    if off { Scale::One } else { wish(&ends[0]).max(wish(&ends[1])) }
}

fn scale_for((header, data): (u64, u64)) -> Scale {
    let fits = |scale: &Scale| {
        let most = largest_advertisement(*scale);
        most.header.is_none_or(|most| header <= most.into())
            && most.data.is_none_or(|most| data <= most.into())
    };
    Scale::ALL.into_iter().find(fits).unwrap_or(Scale::Sixteen)
}

/// Header and data credits that this end would like to advertise: given ones, or those of a loop.
fn wanted_credits(end: &End<'_>) -> (u64, u64) {
    let automatic = loop_credits(end);
    let credits = &end.view.parameters.credits;
    let most = |pools: [Auto<Credit>; 3], automatic: u64| {
        let each = pools.map(|pool| match pool {
            Auto::Auto => automatic,
            Auto::Given(Credit::Infinite) => 0,
            Auto::Given(Credit::Finite(credits)) => credits.into(),
        });
        each.into_iter().max().unwrap_or(0)
    };
    (
        most([credits.posted_header, credits.non_posted_header, credits.completion_header], automatic.0),
        most([credits.posted_data, credits.non_posted_data, credits.completion_data], automatic.1),
    )
}

/// Header and data credits that keep the link busy for one credit loop.
fn loop_credits(end: &End<'_>) -> (u64, u64) {
    let packet = end.mode.wire_span(end.mps + PACKET_OVERHEAD);
    let small = end.mode.wire_span(SMALL_PAYLOAD + PACKET_OVERHEAD);
    let around = update_latency(end)
        + end.view.parameters.receive_latency
        + end.peer.receive_latency
        + end.propagation * 2
        + packet * 2
        + end.drain
        + LOOP_ALLOWANCE;
    let data = around.div_ceil(packet) * end.mps.div_ceil(Bytes::new(16));
    (around.div_ceil(small), data)
}

fn ack_latency(end: &End<'_>) -> Span {
    end.view.parameters.ack_latency.given().unwrap_or_else(|| automatic_latency(end, ack_latency_limit))
}

fn update_latency(end: &End<'_>) -> Span {
    end.view.parameters.update_latency.given().unwrap_or_else(|| automatic_latency(end, update_latency_limit))
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

fn replay_timer(end: &End<'_>) -> Span {
    let rule = match end.view.parameters.replay_rule {
        ReplayRuleChoice::Auto => ReplayRule::for_fastest(end.view.shape.generation),
        ReplayRuleChoice::Legacy => ReplayRule::Legacy,
        ReplayRuleChoice::Simplified => ReplayRule::Simplified,
    };
    match (end.view.parameters.replay_timer, end.mode.flit) {
        (Auto::Given(span), _) => span,
        (Auto::Auto, true) => end.mode.wire_span(FLIT) * FLIT_REPLAY_TIMEOUT_FLITS,
        (Auto::Auto, false) => {
            let symbols = replay_timer_limit(end.mps, end.mode.width, end.mode.generation, rule);
            end.mode.symbols_span(symbols)
        }
    }
}

/// Bytes on the way until the peer's Ack is in: its latency limit, a packet in each direction, both receivers.
fn automatic_retry_buffer(end: &End<'_>) -> Bytes {
    let packet = end.mps + PACKET_OVERHEAD;
    let span = end.mode.wire_span(packet);
    let peer_ack = end.peer.ack_latency.given().unwrap_or_else(|| ack_latency(end));
    let receivers = end.view.parameters.receive_latency + end.peer.receive_latency;
    let around = peer_ack + receivers + end.propagation * 2 + span * 2;
    packet * around.div_ceil(span).max(2)
}

fn configure_end(
    rig: &Rig<'_>,
    end: &End<'_>,
    scale: Scale,
    computed: &mut Computed,
    output: &mut Output,
) -> PortConfig {
    let given = end.view.parameters;
    let flit = end.mode.flit;
    let retry_buffer = given.retry_buffer.given().unwrap_or_else(|| automatic_retry_buffer(end));
    let period = if flit { UPDATE_INTERVAL_FLIT } else { UPDATE_INTERVAL };
    let config = PortConfig {
        mps: end.mps,
        retry_buffer,
        credits: credits(rig, end, scale, computed, output),
        scale,
        ack: AckPolicy { every_tlps: given.ack_every_tlps, latency: ack_latency(end) },
        update_flow_control: UpdatePolicy {
            every_tlps: given.update_every_tlps,
            latency: update_latency(end),
            period: given.update_period.given().unwrap_or(period),
        },
        receive_latency: given.receive_latency,
        replay_timer: replay_timer(end),
    };
    let packet = end.mps + PACKET_OVERHEAD;
    if retry_buffer < packet {
        let (path, found) = (format!("{}.retry_buffer", end.view.path(rig)), retry_buffer.to_string());
        let problem = Problem::RetryBufferTooSmall { path, found, allowed: packet.to_string() };
        output.report(place_of_port(rig, end.view, &["retry_buffer"]), problem, None);
    }
    tell(rig, end, &config, computed);
    config
}

/// Notes what every "auto" came to.
fn tell(rig: &Rig<'_>, end: &End<'_>, config: &PortConfig, computed: &mut Computed) {
    let given = end.view.parameters;
    let flit = end.mode.flit;
    let mut tell = |automatic: bool, key, value: String, provenance, source| {
        if automatic {
            computed.port(rig, end.view, key, value, provenance, source);
        }
    };
    let spec = Provenance::Spec;
    let latency = if flit {
        "Flit Mode Ack latency, PCIe Base 6.3 §4.2.3.4.2.1"
    } else {
        "PCIe Base 6.3 Tables 3-10 to 3-12"
    };
    let update =
        if flit { "assumed as the Ack latency of Flit Mode" } else { "PCIe Base 6.3 Tables 2-52 to 2-54" };
    let timer = match (flit, given.replay_rule) {
        (true, _) => "1500 flits, PCIe Base 6.3 §4.2.3.4.2.1",
        (_, ReplayRuleChoice::Legacy) => "three Ack latency limits, PCIe Base 3.1 §3.6.2.1",
        (_, ReplayRuleChoice::Simplified) => "24,000 symbol times, PCIe Base 6.3 §3.6.2.1",
        _ if end.view.shape.generation >= Generation::Gen4 => "24,000 symbol times, PCIe Base 6.3 §3.6.2.1",
        _ => "three Ack latency limits, PCIe Base 3.1 §3.6.2.1",
    };
    let buffer = "the bytes until an Ack is in, PCIe Base 6.3 §3.6.3.1";
    tell(
        given.mps == Auto::Auto,
        "mps",
        format!("{} B", config.mps.get()),
        spec,
        "firmware's choice for the hierarchy; the links say what limited it",
    );
    tell(given.retry_buffer == Auto::Auto, "retry_buffer", config.retry_buffer.to_string(), spec, buffer);
    tell(given.ack_latency == Auto::Auto, "ack_latency", config.ack.latency.to_string(), spec, latency);
    let assumed = if flit { Provenance::Assumed } else { spec };
    tell(
        given.update_latency == Auto::Auto,
        "update_latency",
        config.update_flow_control.latency.to_string(),
        assumed,
        update,
    );
    let period = if flit { "PCIe Base 6.3 §4.2.3.4.2" } else { "PCIe Base 6.3 §2.6.1.2" };
    tell(
        given.update_period == Auto::Auto,
        "update_period",
        config.update_flow_control.period.to_string(),
        spec,
        period,
    );
    tell(given.replay_timer == Auto::Auto, "replay_timer", config.replay_timer.to_string(), spec, timer);
    let factor = match config.scale {
        Scale::One => "off",
        Scale::Four => "scale-4",
        Scale::Sixteen => "scale-16",
    };
    let scale = "data link feature exchange, PCIe Base 6.3 §3.4.2";
    tell(given.flow_control_scale == ScaleChoice::Auto, "flow_control_scale", factor.to_owned(), spec, scale);
}

/// The six pools, checked against what is legal.
fn credits(
    rig: &Rig<'_>,
    end: &End<'_>,
    scale: Scale,
    computed: &mut Computed,
    output: &mut Output,
) -> [CreditPool; 3] {
    let given = &end.view.parameters.credits;
    let (header, data) = loop_credits(end);
    let posted = [
        Pool {
            key: "posted_header",
            path: "credits.posted_header",
            given: given.posted_header,
            automatic: header,
        },
        Pool { key: "posted_data", path: "credits.posted_data", given: given.posted_data, automatic: data },
    ];
    let non_posted = [
        Pool {
            key: "non_posted_header",
            path: "credits.non_posted_header",
            given: given.non_posted_header,
            automatic: header,
        },
        Pool {
            key: "non_posted_data",
            path: "credits.non_posted_data",
            given: given.non_posted_data,
            automatic: header,
        },
    ];
    let completion = [
        Pool {
            key: "completion_header",
            path: "credits.completion_header",
            given: given.completion_header,
            automatic: header,
        },
        Pool {
            key: "completion_data",
            path: "credits.completion_data",
            given: given.completion_data,
            automatic: data,
        },
    ];
    let classes = [
        (FlowClass::Posted, posted),
        (FlowClass::NonPosted, non_posted),
        (FlowClass::Completion, completion),
    ];
    classes.map(|(class, [header, data])| {
        let least = minimum_advertisement(class, end.mps, scale, end.receiver);
        let most = largest_advertisement(scale);
        let mut pool = |pool: &Pool, limits| match pool.given {
            Auto::Auto => automatic_pool(rig, end, pool, limits, scale, computed),
            Auto::Given(Credit::Infinite) => None,
            Auto::Given(Credit::Finite(credits)) => {
                Some(given_pool(rig, end, pool.key, limits, credits, output))
            }
        };
        let header = pool(&header, (least.header, most.header));
        let data = pool(&data, (least.data, most.data));
        CreditPool { header, data }
    })
}

/// One of the six pools of a port.
struct Pool {
    /// Key in the `credits` table.
    key: &'static str,
    /// The same with the table.
    path: &'static str,
    given: Auto<Credit>,
    /// What it comes to when it is not given and not infinite.
    automatic: u64,
}

/// Credits of an automatic pool: infinite where the specification says so, the credits of a loop elsewhere.
fn automatic_pool(
    rig: &Rig<'_>,
    end: &End<'_>,
    pool: &Pool,
    (least, most): (Option<u16>, Option<u16>),
    scale: Scale,
    computed: &mut Computed,
) -> Option<u16> {
    let Some(least) = least else {
        let source = "infinite at endpoints and root ports, PCIe Base 6.3 Table 2-50";
        computed.port(rig, end.view, pool.path, Credit::Infinite.show(), Provenance::Spec, source);
        return None;
    };
    let step = u64::from(scale.factor());
    let most = u64::from(most.unwrap_or(u16::MAX));
    let credits =
        pool.automatic.div_ceil(step).saturating_mul(step).clamp(least.into(), most.max(least.into()));
    let source = "what keeps the link busy for one credit loop";
    computed.port(rig, end.view, pool.path, credits.to_string(), Provenance::Assumed, source);
    u16::try_from(credits).ok()
}

fn given_pool(
    rig: &Rig<'_>,
    end: &End<'_>,
    key: &'static str,
    (least, most): (Option<u16>, Option<u16>),
    credits: u32,
    output: &mut Output,
) -> u16 {
    let path = format!("{}.credits.{key}", end.view.path(rig));
    let found = credits.to_string();
    let place = || place_of_port(rig, end.view, &["credits", key]);
    if let Some(least) = least.filter(|least| credits < u32::from(*least)) {
        let problem = Problem::TooFewCredits { path, found, allowed: least.to_string() };
        let hint = format!("PCIe Base 6.3 Table 2-50, for a payload of {}", end.mps);
        output.report(place(), problem, Some(hint));
    } else if let Some(most) = most.filter(|most| credits > u32::from(*most)) {
        let problem = Problem::TooManyCredits { path, found, allowed: most.to_string() };
        let hint =
            "more needs scaled flow control: both ends support gen4 and `flow_control_scale` is not \"off\"";
        output.report(place(), problem, Some(hint.to_owned()));
    }
    u16::try_from(credits).unwrap_or(u16::MAX)
}

/// Where a port's value is written: for its slot alone, or for the whole component.
fn place_of_port(rig: &Rig<'_>, port: PortView<'_>, keys: &[&str]) -> Place {
    let component = &rig.file.components[port.component];
    let own = port.slot.zip(component.kind.slots_key()).and_then(|(slot, key)| {
        let path: Vec<&str> = [key, slot].into_iter().chain(keys.iter().copied()).collect();
        place_in(&component.layers(), &path)
    });
    own.unwrap_or_else(|| rig.place_of(port.component, keys))
}
