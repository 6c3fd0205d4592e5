//! What went over the wires in a window of a run, as an analyzer would list it: `lanewise trace`; around something that happens; or one
//! request with its completions, from its issue to its end.
//!
//! Times are those of the wire and exact in `at_ticks`. [`write_trace`] writes one of any length while its run goes on. A trace is an observer: the run is the same without it.

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
pub use forms::{JsonLines, Listing};
use lanewise_fabric::{AssemblyError, Pause};
use lanewise_observe::{Around, Found, Recorder, Selection, TraceKind, TraceKinds};
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
}

impl TraceOf {
    fn around(self) -> Option<Around> {
        match self {
            Self::Window => None,
            Self::Around(around) | Self::Transaction(around) => Some(around),
        }
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
    /// What there was in it, kept or not.
    pub seen: u64,
    /// The last of it, in order of time.
    pub rows: Vec<TraceRow>,
    /// What was looked for, if anything was.
    pub around: Option<TraceAround>,
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

/// What was looked for in a run.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct TraceAround {
    /// `worst-latency`, `request`, `stall`, `replay` or `first-blocked`.
    pub what: &'static str,
    /// When it happened, simulated time; none if it did not.
    pub at_ns: Option<f64>,
    /// How far the run was looked through.
    pub looked_until_ns: f64,
}

/// Name of what is looked for, on the command line and in results.
pub const fn around_name(around: Around) -> &'static str {
    match around {
        Around::WorstLatency => "worst-latency",
        Around::Request(_) => "request",
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
    let around = request.of.around();
    let ends = if around.is_none() { Ends::AtItsLimits } else { Ends::WhenNarrow };
    let mut session = Session::of(scenario, ends)?;
    let names = Names::of(scenario, session.simulation());
    let from = Time::ZERO + request.from;
    let until = match around {
        None => from + request.span.min(Time::NEVER - from),
        Some(_) => Time::NEVER,
    };
    let recorder = recorder_for(request, &names, from, until);
    session.listen(recorder.listener());
    let pause = Pause { at: until, events: u64::MAX };
    while session.piece(pause) == Piece::Long
        && progress(&session.progress()).is_continue()
        && !recorder.is_done(session.now())
    {}
    let stalled = matches!(session.end_reason(), Some(EndReason::Stalled(_)));
    session.end_here();
    let found = recorder.found().filter(|_| around != Some(Around::Stall) || stalled);
    let looked_until = session.now().min(until);
    let entries = if found.is_some() || around.is_none() { recorder.entries() } else { Vec::new() };
    let mut traced = Trace {
        title: scenario.title.clone(),
        from_ns: (from - Time::ZERO).as_ns(),
        until_ns: (looked_until - Time::ZERO).as_ns(),
        seen: recorder.seen(),
        rows: Vec::new(),
        around: around.map(|around| TraceAround {
            what: around_name(around),
            at_ns: found.map(|found| (found.at - Time::ZERO).as_ns()),
            looked_until_ns: (looked_until - Time::ZERO).as_ns(),
        }),
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
    match (request.of, found) {
        (TraceOf::Transaction(_), Some(Found { request: Some(found), .. })) => {
            let flow = &session.simulation().fabric.observers().flows()[found.0.0 as usize].spec;
            let own = names.of_request(&entries, flow, found.1);
            traced.rows = own.iter().map(|entry| names.row(entry)).collect();
            traced.transaction = Some(names.transaction(&own, flow, found));
        }
        _ => traced.rows = entries.iter().map(|entry| names.row(entry)).collect(),
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

fn recorder_for(request: &TraceRequest, names: &Names, from: Time, until: Time) -> Recorder {
    let kinds = match request.kinds.is_empty() {
        true => TraceKinds::usual(),
        false => request.kinds.iter().copied().collect(),
    };
    let ports = names.ports_of(&request.links);
    match request.of {
        TraceOf::Window => Recorder::new(Selection { from, until, ports, kinds }, request.most),
        TraceOf::Around(around) => {
            let selection = Selection { from, until, ports, kinds };
            let after = match around {
                Around::WorstLatency | Around::Request(_) => Span::ZERO,
                _ => Span::from_ticks(request.span.ticks() / 4),
            };
            Recorder::around(selection, request.most, around, request.span, after)
        }
        TraceOf::Transaction(around) => {
            let kinds = [TraceKind::Tlp, TraceKind::Blocked].into_iter().collect();
            let selection = Selection { from, until, ports: None, kinds };
            Recorder::around(selection, request.most, around, Span::ZERO, Span::ZERO)
        }
    }
}
