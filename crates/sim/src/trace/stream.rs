//! A trace of any length, in bounded memory: its rows are handed over in batches while the run goes on, and made into bytes.
//!
//! Rows come in the order of [`Trace::rows`](super::Trace::rows), by time and then by port, but for what is known late: more than
//! [`HELD_BACK`] rows after its time. That is the row of SKP ordered sets of a long silence, which begins with the first of them and is
//! known when the silence ends; and what is held up at a port that has nothing else to do. Such a row comes when it is known.

use super::names::{Direction, Names};
use super::{Trace, TraceRequest, TraceRow, selection_of};
use crate::progress::RunProgress;
use crate::runner::Piece;
use crate::session::{Ends, Session};
use lanewise_fabric::config::DeviceConfig;
use lanewise_fabric::workload::DeviceId;
use lanewise_fabric::{AssemblyError, Pause};
use lanewise_observe::{Entry, Recorder};
use lanewise_scenario::Scenario;
use lanewise_units::{Time, order};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// A form in which a trace is written: what it makes of the rows is appended to `out`, which is handed on and emptied after each call.
///
/// One call of [`begin`](Self::begin), calls of [`rows`](Self::rows) with up to [`BATCH`] rows each while the run goes on, one of
/// [`end`](Self::end). Whatever a form keeps between them should not grow with the trace.
pub trait TraceForm {
    /// Before the first row.
    fn begin(&mut self, frame: &TraceFrame, out: &mut Vec<u8>);

    /// More rows, in order but for late ones (see [`write_trace`]).
    fn rows(&mut self, rows: &[TraceRow], out: &mut Vec<u8>);

    /// After the last row; not when the trace was broken off.
    fn end(&mut self, end: &TraceEnd, out: &mut Vec<u8>);
}

/// What is known of a trace before its first row.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TraceFrame {
    /// Title of the scenario.
    pub title: String,
    /// Start of what is listed, in ticks of 2⁻¹⁰ ps.
    pub from_ticks: u64,
    /// Its end, as asked for; the run may end before.
    pub until_ticks: u64,
    /// Every direction of every link, listed or not.
    pub directions: Vec<Direction>,
    /// Read requests of each endpoint that have a tag and are not complete, at the start; none where rows may be missing after that.
    pub tags_at_start: Option<BTreeMap<String, u32>>,
}

/// What is known of a trace after its last row.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct TraceEnd {
    /// Rows that were handed over.
    pub rows: u64,
    /// Up to then, in ticks of 2⁻¹⁰ ps: as asked for, or the end of the run.
    pub until_ticks: u64,
    /// All of the window was handed over: it was not broken off.
    pub is_whole: bool,
    /// Hash of the trajectory up to the end, 16 hexadecimal digits: the same as without a trace.
    #[schemars(regex(pattern = "^[0-9a-f]{16}$"))]
    pub fingerprint: String,
    /// As in [`TraceFrame::tags_at_start`], at the end.
    #[serde(skip)]
    #[schemars(skip)]
    pub tags_at_end: Option<BTreeMap<String, u32>>,
}

/// Most rows in a batch.
pub const BATCH: usize = 4096;

/// So many rows are held back, so that what is known later than it happens can be put into its place.
pub const HELD_BACK: usize = 1 << 15;

/// Events between two looks at what was recorded: a few facts each.
const EVENTS: u64 = 1 << 14;

/// Runs a scenario up to the end of a window, or its own, and writes what went over the wires in it in some form, while the run goes on.
///
/// `most` and `of` of the request say nothing here: all of the window is written. `put` takes each part of the output and may break it
/// off, as `progress` may; then [`TraceEnd::is_whole`] is false, and the output has no end. Memory does not grow with the window.
///
/// # Errors
/// When the scenario's devices do not form trees, or their BARs do not fit; resolving a scenario has excluded that.
pub fn write_trace(
    scenario: &Scenario,
    request: &TraceRequest,
    form: &mut dyn TraceForm,
    put: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    progress: &mut dyn FnMut(&RunProgress<'_>) -> ControlFlow<()>,
) -> Result<TraceEnd, AssemblyError> {
    let mut session = Session::of(scenario, Ends::AtItsLimits)?;
    let names = Names::of(scenario, session.simulation());
    let from = Time::ZERO + request.from;
    let until = from + request.span.min(Time::NEVER - from);
    let recorder = Recorder::drained(selection_of(request, &names, (from, until)));
    session.listen(recorder.listener());
    let mut output = Output { form, put, names: &names, out: Vec::new(), waiting: Vec::new(), rows: 0 };
    let mut flow = go_to(&mut session, from, |session| {
        progress(&session.progress().up_to(until))?;
        // What was recorded before the window is let go; no row comes of it.
        output.take_in(&recorder, false)
    });
    if flow.is_continue() {
        flow = output.begin(&TraceFrame {
            title: scenario.title.clone(),
            from_ticks: from.ticks(),
            until_ticks: until.ticks(),
            directions: names.directions(),
            tags_at_start: Some(tags(&session)),
        });
    }
    if flow.is_continue() {
        flow = go_to(&mut session, until, |session| {
            progress(&session.progress().up_to(until))?;
            output.take_in(&recorder, false)
        });
    }
    let tags_at_end = Some(tags(&session));
    session.end_here();
    if flow.is_continue() {
        flow = output.take_in(&recorder, true);
    }
    let mut end = TraceEnd {
        rows: output.rows,
        until_ticks: session.now().min(until).ticks(),
        is_whole: flow.is_continue(),
        fingerprint: format!("{:016x}", session.trajectory()),
        tags_at_end,
    };
    if end.is_whole {
        end.is_whole = output.end(&end).is_continue();
    }
    Ok(end)
}

/// Runs up to a time, or the end of the run, in pieces of [`EVENTS`] with a look after each.
fn go_to(
    session: &mut Session<'_>,
    at: Time,
    mut look: impl FnMut(&Session<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    loop {
        let last_event = session.events() + EVENTS;
        match session.piece(Pause { at, events: EVENTS }) {
            Piece::Long => {}
            Piece::Paused if session.events() >= last_event => {}
            Piece::Paused | Piece::Over => return ControlFlow::Continue(()),
        }
        look(session)?;
    }
}

/// Read requests of each endpoint that have a tag and are not complete.
fn tags(session: &Session<'_>) -> BTreeMap<String, u32> {
    let fabric = &session.simulation().fabric;
    let named = session.scenario().fabric.devices.iter().zip(0..);
    let of = |(device, index): (&DeviceConfig, u32)| {
        let id = DeviceId(index);
        fabric.place(id).map(|_| (device.name.clone(), fabric.outstanding_reads(id)))
    };
    order::map(named.filter_map(of))
}

impl Trace {
    /// Writes a trace that was kept in some form.
    pub fn write(&self, form: &mut dyn TraceForm) -> Vec<u8> {
        let mut out = Vec::new();
        form.begin(&self.frame, &mut out);
        self.rows.chunks(BATCH).for_each(|rows| form.rows(rows, &mut out));
        form.end(&self.end(), &mut out);
        out
    }

    /// What is known after its last row.
    pub fn end(&self) -> TraceEnd {
        TraceEnd {
            rows: self.rows.len() as u64,
            until_ticks: self.frame.until_ticks,
            is_whole: true,
            fingerprint: self.fingerprint.clone(),
            tags_at_end: None,
        }
    }
}

/// What has been told and not been put out.
struct Output<'a> {
    form: &'a mut dyn TraceForm,
    put: &'a mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    names: &'a Names,
    /// Reused.
    out: Vec<u8>,
    waiting: Vec<Entry>,
    rows: u64,
}

impl Output<'_> {
    fn begin(&mut self, frame: &TraceFrame) -> ControlFlow<()> {
        self.form.begin(frame, &mut self.out);
        self.hand_on()
    }

    /// Whatever has been recorded since the last call; the first of it is put out, after the `last` call all.
    fn take_in(&mut self, recorder: &Recorder, last: bool) -> ControlFlow<()> {
        self.waiting.append(&mut recorder.drain(last));
        let held_back = if last { 0 } else { HELD_BACK };
        if !last && self.waiting.len() < 2 * held_back {
            return ControlFlow::Continue(());
        }
        Entry::sort(&mut self.waiting);
        let held_back = self.waiting.split_off(self.waiting.len() - held_back);
        let entries = std::mem::replace(&mut self.waiting, held_back);
        for batch in entries.chunks(BATCH) {
            let rows: Vec<TraceRow> = batch.iter().map(|entry| self.names.row(entry)).collect();
            self.form.rows(&rows, &mut self.out);
            self.rows += rows.len() as u64;
            self.hand_on()?;
        }
        ControlFlow::Continue(())
    }

    fn end(&mut self, end: &TraceEnd) -> ControlFlow<()> {
        self.form.end(end, &mut self.out);
        self.hand_on()
    }

    fn hand_on(&mut self) -> ControlFlow<()> {
        let flow = if self.out.is_empty() { ControlFlow::Continue(()) } else { (self.put)(&self.out) };
        self.out.clear();
        flow
    }
}
