//! What is there at one instant of a run, and what has happened since the last look: the shape of a live display.
//!
//! Reading is no look at the simulation: nothing is accounted for, nothing moves. What ports do only when they are looked at is
//! therefore known as far as they have come: DLLPs that are due and not yet on the wire, some tens of nanoseconds of a direction that
//! carries nothing else, belong to the silence around them until its next TLP goes, and count from then on.
//!
//! GB/s is 10⁹ bytes per second. Shares of time are parts of one. Credits are in the units of the specification: one of a header,
//! or of 16 B of data (PCIe Base 6.3 §2.6.1).

use crate::EndName;
use crate::progress::{FlowUpdate, RunProgress, Updates};
use crate::shape::Shares;
use lanewise_fabric::config::{DeviceKind, FabricConfig, LinkConfig, PortConfig};
use lanewise_fabric::workload::DeviceId;
use lanewise_fabric::{Book, LinkUp, PortReading, ResourceReading, Simulation};
use lanewise_observe::{RequesterState, Use};
use lanewise_scenario::Scenario;
use lanewise_units::{Span, Time};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// A run at one instant.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct State {
    /// Simulated time.
    pub time_s: f64,
    /// The same in ticks of 2⁻¹⁰ ps.
    pub time_ticks: u64,
    /// How far the run has come.
    #[schemars(extend("enum" = ["warm-up", "measuring", "over"]))]
    pub stage: &'static str,
    /// Why the run is over; none while it goes on.
    pub end_reason: Option<EndName>,
    /// Time that rates and shares are about: since the last look, or since measuring began if that was later.
    pub window_s: f64,
    /// Events handled so far.
    pub events: u64,
    /// Hash of what went over the links so far, 16 hexadecimal digits.
    #[schemars(regex(pattern = "^[0-9a-f]{16}$"))]
    pub trajectory: String,
    /// Payload since the last look of all flows that are `in_total`, 10⁹ B/s.
    pub goodput_gb_per_s: f64,
    /// Per flow.
    pub flows: Vec<FlowUpdate>,
    /// Per link.
    pub links: Vec<LiveLink>,
    /// Per endpoint.
    pub requesters: Vec<LiveRequester>,
    /// Per shared resource that was ever asked for.
    pub resources: Vec<LiveResource>,
}

/// A link and its two directions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LiveLink {
    /// Name: that of the device below.
    pub name: String,
    /// From the lower port to the upper port.
    pub upstream: LiveDirection,
    /// From the upper port to the lower port.
    pub downstream: LiveDirection,
}

/// One direction of a link: its transmitter, and what the receiver at the other end holds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LiveDirection {
    /// `device.port` that transmits.
    pub transmitter: String,
    /// Of the Data Link Layer.
    #[schemars(extend("enum" = ["active", "initialising", "down"]))]
    pub link: &'static str,
    /// Payload put on the wire in the window.
    pub goodput_gb_per_s: f64,
    /// TLPs sent for the first time since the last look, per second.
    pub tlps_per_s: f64,
    /// DLLPs sent since the last look, per second.
    pub dllps_per_s: f64,
    /// Replays started since the last look.
    pub replays: u32,
    /// Part of the window that anything but silence was on the wire.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub utilisation: f64,
    /// Part of the window for each use that had any; sums to one.
    #[schemars(with = "Shares")]
    pub time_attribution: Map<String, Value>,
    /// What the wire is silent for now, in the words of the time attribution: `blocked_posted_data`, `idle` and so on; none
    /// while something is on it.
    pub waits_for: Option<&'static str>,
    /// TLPs that wait for the wire: at an endpoint or root port those in its queues, at a switch those for this egress, from
    /// the moment that they are on their way to the switch.
    pub queued_tlps: ByClass<u32>,
    /// TLPs, or flits in Flit Mode, that are sent and not acknowledged.
    pub unacknowledged: u32,
    /// Bytes that these take in the retry buffer.
    pub retry_buffer_bytes: u64,
    /// Credits of VC0.
    pub credits: ByClass<LivePool>,
}

/// One of each flow class.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}ByClass")]
pub struct ByClass<T> {
    /// Of posted requests: writes and messages.
    pub posted: T,
    /// Of non-posted requests: reads, and others that are answered.
    pub non_posted: T,
    /// Of completions.
    pub completion: T,
}

/// Credits of one flow class. The rest of what was advertised is on the wire, in the receiver, or on its way back.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct LivePool {
    /// Header credits that the transmitter may spend; none where they are infinite.
    pub header_free: Option<u16>,
    /// Header credits that the receiver advertised; none for infinitely many.
    pub header_advertised: Option<u16>,
    /// Headers that lie in the receive buffer.
    pub header_held: u16,
    /// Data credits of 16 B that the transmitter may spend; none where they are infinite.
    pub data_free: Option<u16>,
    /// Data credits that the receiver advertised; none for infinitely many.
    pub data_advertised: Option<u16>,
    /// Units of 16 B that lie in the receive buffer.
    pub data_held: u16,
}

/// What an endpoint has asked for, and what holds it back.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LiveRequester {
    /// Endpoint.
    pub device: String,
    /// Read requests that have a tag and are not complete.
    pub outstanding_reads: u32,
    /// Tags that it may have outstanding.
    pub tags: u32,
    /// Part of the window in each state that it was in; sums to one.
    #[schemars(with = "Shares")]
    pub time_attribution: Map<String, Value>,
}

/// Something that several share.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LiveResource {
    /// Path of names: `server.memory`, `ssd.media`.
    pub name: String,
    /// Kind: `memory`, `media`, `core` and so on.
    pub kind: &'static str,
    /// How much there is of it, in words.
    pub limit: String,
    /// Part of the window, times places, that it was in use.
    pub utilisation: f64,
    /// How often it was asked in the window, per second.
    pub served_per_s: f64,
    /// How many waited for it at a time in the window, mean, of those that have been served.
    pub waiting_mean: f64,
}

/// What there was at the last look.
#[derive(Clone, Debug, Default)]
pub(crate) struct Looks {
    /// When what is counted in windows began.
    at: Time,
    last: Time,
    measuring_since: Option<Time>,
    flows: Updates,
    directions: HashMap<usize, Sent>,
    requesters: Vec<[Span; RequesterState::COUNT]>,
    resources: HashMap<String, Book>,
}

/// What a direction had done.
#[derive(Clone, Copy, Debug)]
struct Sent {
    ticks: [u64; Use::COUNT],
    tlps: u64,
    dllps: u64,
    replays: u32,
}

impl Default for Sent {
    fn default() -> Self {
        Self { ticks: [0; Use::COUNT], tlps: 0, dllps: 0, replays: 0 }
    }
}

/// Reads the state, and remembers it for the next look.
pub(crate) fn read(
    scenario: &Scenario,
    (simulation, progress): (&Simulation, &RunProgress<'_>),
    end_reason: Option<EndName>,
    looks: &mut Looks,
) -> State {
    let now = Time::ZERO + progress.simulated;
    if looks.measuring_since != progress.measuring_since {
        // What is counted begins anew with the measuring; TLPs, DLLPs and replays are counted over the whole run.
        looks.measuring_since = progress.measuring_since;
        looks.at = progress.measuring_since.unwrap_or(looks.at);
        looks.requesters.clear();
        looks.resources.clear();
        looks.directions.values_mut().for_each(|sent| sent.ticks = [0; Use::COUNT]);
    }
    let window = now.saturating_since(looks.at);
    let since_look = seconds(now.saturating_since(looks.last));
    let reading = Reading { config: &scenario.fabric, simulation, now, seconds: seconds(window), since_look };
    let flows = looks.flows.next(progress);
    let state = State {
        time_s: progress.simulated.as_seconds(),
        time_ticks: progress.simulated.ticks(),
        stage: match (end_reason, progress.measuring_since) {
            (Some(_), _) => "over",
            (None, Some(_)) => "measuring",
            (None, None) => "warm-up",
        },
        end_reason,
        window_s: window.as_seconds(),
        events: progress.events,
        trajectory: format!("{:016x}", simulation.fabric.observers().fingerprint()),
        goodput_gb_per_s: flows
            .iter()
            .filter(|flow| flow.in_total)
            .map(|flow| flow.last.goodput_gb_per_s)
            .sum(),
        flows,
        links: scenario.fabric.links.iter().map(|link| reading.link(link, &mut looks.directions)).collect(),
        requesters: reading.requesters(&mut looks.requesters),
        resources: reading.resources(&mut looks.resources),
    };
    (looks.at, looks.last) = (now, now);
    state
}

/// Never zero: rates of no time are of nothing.
fn seconds(window: Span) -> f64 {
    window.as_seconds().max(f64::MIN_POSITIVE)
}

struct Reading<'a> {
    config: &'a FabricConfig,
    simulation: &'a Simulation,
    now: Time,
    /// Of the window, and since the last look.
    seconds: f64,
    since_look: f64,
}

impl Reading<'_> {
    fn link(&self, link: &LinkConfig, before: &mut HashMap<usize, Sent>) -> LiveLink {
        LiveLink {
            name: self.config.devices[link.lower.0].name.clone(),
            upstream: self.direction(link, link.lower, link.upper, before),
            downstream: self.direction(link, link.upper, link.lower, before),
        }
    }

    fn direction(
        &self,
        link: &LinkConfig,
        (device, port): (usize, usize),
        receiver: (usize, usize),
        before: &mut HashMap<usize, Sent>,
    ) -> LiveDirection {
        let fabric = &self.simulation.fabric;
        let index = fabric.port_index(DeviceId(device as u32), port);
        let (tally, counters) = (fabric.observers().direction(index), fabric.observers().counters(index));
        let reading = fabric.port_reading(index, self.now);
        let mut ticks = Use::ALL.map(|on| tally.spent_on(on).ticks());
        let is_silent = reading.stated_until <= self.now;
        ticks[reading.silence as usize] += self.now.saturating_since(reading.stated_until).ticks();
        let replays = counters.errors.replays;
        let sent = Sent { ticks, tlps: counters.tlps_sent, dllps: counters.dllps_sent, replays };
        let before = std::mem::replace(before.entry(index).or_default(), sent);
        // Silence that was counted at the last look may have had DLLPs in it since.
        let spent: Vec<u64> =
            sent.ticks.iter().zip(&before.ticks).map(|(now, before)| now.saturating_sub(*before)).collect();
        let all = spent.iter().sum::<u64>().max(1) as f64;
        let share = |on: &Use| spent[*on as usize] as f64 / all;
        let busy: u64 = Use::ALL.iter().filter(|on| !on.is_silent()).map(|on| spent[*on as usize]).sum();
        let used = Use::ALL.iter().filter(|on| spent[**on as usize] > 0);
        LiveDirection {
            transmitter: self.config.port_path((device, port)),
            link: match reading.link {
                LinkUp::Active => "active",
                LinkUp::Initialising => "initialising",
                LinkUp::Down => "down",
            },
            goodput_gb_per_s: share(&Use::Payload) * link.mode.coded_gb_per_s(),
            tlps_per_s: (sent.tlps - before.tlps) as f64 / self.since_look,
            dllps_per_s: (sent.dllps - before.dllps) as f64 / self.since_look,
            replays: sent.replays - before.replays,
            utilisation: busy as f64 / all,
            time_attribution: used.map(|on| (on.name().to_owned(), share(on).into())).collect(),
            waits_for: is_silent.then(|| reading.silence.name()),
            queued_tlps: by_class(|class| reading.queued[class]),
            unacknowledged: reading.unacknowledged,
            retry_buffer_bytes: reading.retry_buffer.get(),
            credits: self.credits(&reading, receiver),
        }
    }

    fn credits(&self, reading: &PortReading, (device, port): (usize, usize)) -> ByClass<LivePool> {
        let PortConfig { credits: advertised, .. } = &self.config.devices[device].ports[port];
        by_class(|class| {
            let (free, held) = (reading.credits[class], reading.held_by_peer[class]);
            LivePool {
                header_free: advertised[class].header.and(free.header),
                header_advertised: advertised[class].header,
                header_held: held.header,
                data_free: advertised[class].data.and(free.data),
                data_advertised: advertised[class].data,
                data_held: held.data,
            }
        })
    }

    fn requesters(&self, before: &mut Vec<[Span; RequesterState::COUNT]>) -> Vec<LiveRequester> {
        let fabric = &self.simulation.fabric;
        let mut found = Vec::new();
        for (index, device) in self.config.devices.iter().enumerate() {
            let DeviceKind::Endpoint(endpoint) = &device.kind else { continue };
            let id = DeviceId(index as u32);
            let Some(number) = fabric.requester_index(id) else { continue };
            let spans = fabric.observers().requester(number, self.now);
            if before.len() <= number {
                before.resize(number + 1, [Span::ZERO; RequesterState::COUNT]);
            }
            let last = std::mem::replace(&mut before[number], spans);
            let spent =
                RequesterState::ALL.map(|state| spans[state as usize].saturating_sub(last[state as usize]));
            let all = spent.iter().copied().sum::<Span>().ticks().max(1) as f64;
            let states = RequesterState::ALL.iter().zip(spent).filter(|(_, span)| !span.is_zero());
            found.push(LiveRequester {
                device: device.name.clone(),
                outstanding_reads: fabric.outstanding_reads(id),
                tags: endpoint.tags,
                time_attribution: states
                    .map(|(state, span)| (state.name().to_owned(), (span.ticks() as f64 / all).into()))
                    .collect(),
            });
        }
        found
    }

    fn resources(&self, before: &mut HashMap<String, Book>) -> Vec<LiveResource> {
        let resource = |ResourceReading { id, name, places, limit, book }: ResourceReading| {
            let since = before.insert(name.clone(), book).map_or(book, |last| book.since(&last));
            LiveResource {
                name,
                kind: id.kind().name(),
                limit,
                utilisation: since.busy.as_seconds() / self.seconds / f64::from(places.max(1)),
                served_per_s: since.served as f64 / self.seconds,
                waiting_mean: since.waited.as_seconds() / self.seconds,
            }
        };
        self.simulation.resources(self.now).into_iter().map(resource).collect()
    }
}

fn by_class<T>(mut of: impl FnMut(usize) -> T) -> ByClass<T> {
    ByClass { posted: of(0), non_posted: of(1), completion: of(2) }
}
