//! What went over the wires in a window of a run, as an analyzer would list it: `lanewise trace`; around something that happens; or one
//! request with its completions, from its issue to its end.
//!
//! Times are those of the wire and exact in `at_ticks`. [`write_trace`] writes one of any length while its run goes on. A trace is an observer: the run is the same without it.

mod asked;
mod forms;
mod names;
mod rows;
mod stream;
mod text;
mod transaction;

use crate::progress::RunProgress;
use crate::run_limits::EndReason;
use crate::runner::Piece;
use crate::session::{Ends, Session};
pub use asked::{TraceWords, TracedRequest, WrongWords};
pub use forms::{JsonLines, Listing};
use lanewise_fabric::workload::DeviceId;
use lanewise_fabric::{AssemblyError, Pause, Simulation};
use lanewise_observe::{
    Around, Entry, FlowId, Found, Place, Recorder, Selection, Sought, TraceKind, TraceKinds, Whose,
};
use lanewise_scenario::Scenario;
use lanewise_units::{Span, Time};
pub use names::Direction;
use names::Names;
pub use rows::{TraceRow, TraceWait};
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::ControlFlow;
pub use stream::{TraceEnd, TraceForm, TraceFrame, write_trace};
pub use transaction::{Station, Transaction};

/// What is to be traced.
#[derive(Clone, Debug)]
pub struct TraceRequest {
    /// From then on, after the start of the run.
    pub from: Span,
    /// For so long; around something, from so long before.
    pub span: Span,
    /// Names of links; all when empty.
    pub links: Vec<String>,
    /// Kinds; when empty, all but TLPs that join queues.
    pub kinds: Vec<TraceKind>,
    /// The last so many are kept.
    pub most: usize,
    /// What of the run, or of the window.
    pub of: TraceOf,
}

/// What of a run is listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceOf {
    /// All that happens in the window.
    Window,
    /// What led to something that happens from the start of the window on.
    Around(Around),
    /// A request that is complete after that, one of [`Around`]'s, on all links from its issue to its end.
    Transaction(Around),
    /// A request that is known by what its TLPs say, on all links from its issue to its end; looked for in the window.
    Request {
        /// Index of its requester among the devices of the scenario.
        device: usize,
        /// When it was issued, after the start of the run.
        issued_at: Span,
        /// Number of its tag; none of a posted request.
        tag: Option<u16>,
        /// Of a TLP of it: of its first byte.
        address: u64,
        /// Of the same TLP: bytes.
        length: u16,
    },
}

impl TraceOf {
    fn around(self, simulation: &Simulation) -> Option<Around> {
        match self {
            Self::Window => None,
            Self::Around(around) | Self::Transaction(around) => Some(around),
            Self::Request { device, issued_at, tag, address, length } => {
                let place = u32::try_from(device).ok().and_then(|id| simulation.fabric.place(DeviceId(id)));
                let whose = match tag {
                    // A device that is no endpoint is the host.
                    Some(tag) => Whose::Answered { requester: place.unwrap_or(Place::Host), tag },
                    None => Whose::Posted { address, length },
                };
                Some(Around::Of(Sought { issued_at: Time::ZERO + issued_at, whose }))
            }
        }
    }

    fn is_transaction(self) -> bool {
        matches!(self, Self::Transaction(_) | Self::Request { .. })
    }
}

/// What went over the wires.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Trace {
    /// Title of the scenario.
    pub title: String,
    /// Start of what is listed, simulated time.
    pub from_ns: f64,
    /// Its end: as asked for, or that of the run.
    pub until_ns: f64,
    /// The run went as far as was asked for: nobody broke it off, as `progress` may.
    pub is_whole: bool,
    /// What there was in it, kept or not.
    pub seen: u64,
    /// The last of it, in order of time.
    pub rows: Vec<TraceRow>,
    /// What was looked for, if anything was.
    pub around: Option<TraceAround>,
    /// Every direction of every link, listed or not, from the root complexes down.
    pub directions: Vec<WireDirection>,
    /// The request that was looked for, where there is one.
    pub transaction: Option<Transaction>,
    /// Hash of the trajectory up to the end, 16 hexadecimal digits: the same as without a trace.
    #[schemars(regex(pattern = "^[0-9a-f]{16}$"))]
    pub fingerprint: String,
    /// The same as a form has it before the rows.
    #[serde(skip)]
    #[schemars(skip)]
    pub frame: TraceFrame,
}

/// A direction of a link, as wires have it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct WireDirection {
    /// Name of the link: that of the device below.
    pub link: String,
    /// `upstream` or `downstream`.
    pub direction: &'static str,
    /// Device whose port transmits.
    pub transmitter: String,
    /// Device that receives.
    pub receiver: String,
    /// Generation and width, such as `gen3 x4`, and `flit` where it is in Flit Mode.
    pub mode: String,
    /// From a byte at the transmitter's pins until it is at the receiver's, ticks of 2⁻¹⁰ ps.
    pub propagation_ticks: u64,
    /// From the last byte at the transmitter's pins until the receiver has checked the packet, ticks. None in Flit Mode.
    pub checked_after_ticks: Option<u64>,
}

impl WireDirection {
    fn of(direction: &Direction) -> Self {
        let Direction { link, way, from, to, travel, propagation, mode, .. } = direction;
        Self {
            link: link.clone(),
            direction: way,
            transmitter: from.clone(),
            receiver: to.clone(),
            mode: mode.to_string(),
            propagation_ticks: propagation.ticks(),
            checked_after_ticks: travel.map(Span::ticks),
        }
    }
}

/// What was looked for in a run.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct TraceAround {
    /// `worst-latency`, `request`, `stall`, `replay` or `first-blocked`.
    pub what: &'static str,
    /// When it happened, simulated time; none if it did not.
    pub at_ns: Option<f64>,
    /// The request that took longest, if that was looked for and TLPs of it are among the rows.
    pub request: Option<TracedRequest>,
    /// How far the run was looked through.
    pub looked_until_ns: f64,
}

/// Name of what is looked for, on the command line and in results.
pub const fn around_name(around: Around) -> &'static str {
    match around {
        Around::WorstLatency => "worst-latency",
        Around::Request(_) | Around::Of(_) => "request",
        Around::Stall => "stall",
        Around::Replay => "replay",
        Around::FirstBlocked => "first-blocked",
    }
}

/// Names of the links of a scenario, for [`TraceRequest::links`].
pub fn link_names(scenario: &Scenario) -> Vec<&str> {
    let devices = &scenario.fabric.devices;
    scenario.fabric.links.iter().map(|link| devices[link.lower.0].name.as_str()).collect()
}

/// Runs a scenario up to the end of a window, or its own, and lists what went over the wires in it. Where something is looked for, the
/// run ends as [`crate::run`] would end it, or when that is found. `progress` as there.
///
/// # Errors
/// When the scenario's devices do not form trees, or their BARs do not fit; resolving a scenario has excluded that.
pub fn trace(
    scenario: &Scenario,
    request: &TraceRequest,
    progress: &mut dyn FnMut(&RunProgress<'_>) -> ControlFlow<()>,
) -> Result<Trace, AssemblyError> {
    let ends = match request.of {
        TraceOf::Window | TraceOf::Request { .. } => Ends::AtItsLimits,
        TraceOf::Around(_) | TraceOf::Transaction(_) => Ends::WhenNarrow,
    };
    let mut session = Session::of(scenario, ends)?;
    let around = request.of.around(session.simulation());
    let names = Names::of(scenario, session.simulation());
    let from = Time::ZERO + request.from;
    let until = match request.of {
        TraceOf::Window | TraceOf::Request { .. } => from + request.span.min(Time::NEVER - from),
        TraceOf::Around(_) | TraceOf::Transaction(_) => Time::NEVER,
    };
    let mut recorder = recorder_for(request, around, &names, (from, until));
    session.listen(recorder.listener());
    if let TraceOf::Request { device, .. } = request.of {
        // Workloads say which flows they have when they start.
        session.piece(Pause { at: until, events: 1 });
        let flows = flows_of(scenario, session.simulation(), device);
        recorder = if flows.is_empty() { recorder } else { recorder.of_flows(flows) };
    }
    let pause = Pause { at: until, events: u64::MAX };
    let mut is_whole = true;
    while is_whole && session.piece(pause) == Piece::Long && !recorder.is_done(session.now()) {
        is_whole = progress(&session.progress().up_to(until)).is_continue();
    }
    let stalled = matches!(session.end_reason(), Some(EndReason::Stalled(_)));
    session.end_here();
    let found = recorder.found().filter(|_| around != Some(Around::Stall) || stalled);
    let looked_until = session.now().min(until);
    let entries = if found.is_some() || around.is_none() { recorder.entries() } else { Vec::new() };
    let mut traced = Trace {
        title: scenario.title.clone(),
        from_ns: (from - Time::ZERO).as_ns(),
        until_ns: (looked_until - Time::ZERO).as_ns(),
        is_whole,
        seen: recorder.seen(),
        rows: Vec::new(),
        around: around.map(|around| TraceAround {
            what: around_name(around),
            at_ns: found.map(|found| (found.at - Time::ZERO).as_ns()),
            request: None,
            looked_until_ns: (looked_until - Time::ZERO).as_ns(),
        }),
        directions: names.directions().iter().map(WireDirection::of).collect(),
        transaction: None,
        fingerprint: format!("{:016x}", session.trajectory()),
        frame: TraceFrame {
            title: scenario.title.clone(),
            from_ticks: found.map_or(from, |found| found.from).ticks(),
            until_ticks: found.map_or(looked_until, |found| found.until.min(looked_until)).ticks(),
            directions: names.directions(),
            tags_at_start: None,
        },
    };
    let rows_of = |entries: &[Entry]| entries.iter().map(|entry| names.row(entry)).collect::<Vec<_>>();
    if let Some(Found { request: Some(found), .. }) = found {
        let flow = &session.simulation().fabric.observers().flows()[found.0.0 as usize].spec;
        let own = names.of_request(&entries, flow, found.1);
        traced.rows = rows_of(&own);
        if let Some(around) = &mut traced.around {
            around.request = traced.rows.iter().find_map(TraceRow::request);
        }
        if request.of.is_transaction() {
            traced.transaction = Some(names.transaction(&own, flow, found));
        }
    }
    if traced.transaction.is_none() {
        traced.rows = rows_of(&entries);
    }
    if let Some(found) = found {
        let begins = entries.first().map_or(found.from, |first| first.at.min(found.at).max(found.from));
        let begins = if recorder.has_lost() { begins } else { found.from };
        traced.from_ns = (begins - Time::ZERO).as_ns();
        traced.until_ns = (found.until.min(looked_until) - Time::ZERO).as_ns();
        traced.seen = traced.rows.len() as u64;
    }
    Ok(traced)
}

/// Flows of a device of the scenario: several devices may write to one address at one time.
fn flows_of(scenario: &Scenario, simulation: &Simulation, device: usize) -> Vec<FlowId> {
    let Some(device) = scenario.fabric.devices.get(device) else { return Vec::new() };
    let flows = simulation.fabric.observers().flows().iter().zip(0..);
    flows
        .filter(|(flow, _)| flow.spec.devices.names == [device.name.as_str()])
        .map(|(_, number)| FlowId(number))
        .collect()
}

fn selection_of(request: &TraceRequest, names: &Names, (from, until): (Time, Time)) -> Selection {
    let kinds = match request.kinds.is_empty() {
        true => TraceKinds::usual(),
        false => request.kinds.iter().copied().collect(),
    };
    Selection { from, until, ports: names.ports_of(&request.links), kinds }
}

fn recorder_for(
    request: &TraceRequest,
    around: Option<Around>,
    names: &Names,
    window: (Time, Time),
) -> Recorder {
    let selection = selection_of(request, names, window);
    match around {
        None => Recorder::new(selection, request.most),
        Some(around) if !request.of.is_transaction() => {
            let after = match around {
                Around::WorstLatency | Around::Request(_) | Around::Of(_) => Span::ZERO,
                _ => Span::from_ticks(request.span.ticks() / 4),
            };
            Recorder::around(selection, request.most, around, request.span, after)
        }
        Some(around) => {
            let kinds = [TraceKind::Tlp, TraceKind::Blocked].into_iter().collect();
            let selection = Selection { ports: None, kinds, ..selection };
            Recorder::around(selection, request.most, around, Span::ZERO, Span::ZERO)
        }
    }
}
