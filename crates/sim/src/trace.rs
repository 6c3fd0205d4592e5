//! What went over the wires in a window of a run, as an analyzer would list it: `lanewise trace`.
//!
//! Times are those of the wire and exact in `at_ticks`. A trace is an observer: the run is the same without it.

mod text;

use crate::progress::RunProgress;
use crate::runner::Piece;
use crate::session::{Ends, Session};
use lanewise_fabric::workload::DeviceId;
use lanewise_fabric::{AssemblyError, Pause, Simulation};
use lanewise_observe::{
    Entry, EntryOf, Fact, OnWire, Place, Recorder, Selection, TraceKind, TraceKinds, Transmission, Use,
    WaitingTlp, What, WireFact, WireTlp,
};
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::tlp::FlowClass;
use lanewise_scenario::Scenario;
use lanewise_units::{Span, Time};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// What is to be traced.
#[derive(Clone, Debug)]
pub struct TraceRequest {
    /// From then on, after the start of the run.
    pub from: Span,
    /// For so long.
    pub span: Span,
    /// Names of links; all when empty.
    pub links: Vec<String>,
    /// Kinds; all when empty.
    pub kinds: Vec<TraceKind>,
    /// The last so many are kept.
    pub most: usize,
}

/// What went over the wires.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Trace {
    /// Title of the scenario.
    pub title: String,
    /// Start of the window, simulated time.
    pub from_ns: f64,
    /// Its end: as asked for, or that of the run.
    pub until_ns: f64,
    /// What there was in it, kept or not.
    pub seen: u64,
    /// The last of it, in order of time.
    pub rows: Vec<TraceRow>,
    /// Hash of the trajectory up to the end of the window, 16 hexadecimal digits: the same as without a trace.
    #[schemars(regex(pattern = "^[0-9a-f]{16}$"))]
    pub fingerprint: String,
}

/// One thing on a wire, or one thing that happened to a port.
#[derive(Clone, PartialEq, Debug, Default, Serialize, JsonSchema)]
pub struct TraceRow {
    /// When its first byte left the pins, or when it happened; simulated time.
    pub at_ns: f64,
    /// The same in ticks of 2⁻¹⁰ ps.
    pub at_ticks: u64,
    /// Time that it took the wire, in the same ticks; 0 for what has none of its own.
    pub span_ticks: u64,
    /// Name of the link: that of the device below.
    pub link: String,
    /// `upstream` or `downstream`.
    pub direction: &'static str,
    /// `tlp`, `dllp`, `skp`, `flit`, `wait` or `error`.
    pub kind: &'static str,
    /// Type of the TLP or DLLP in the specification's short words; of others, what happened.
    pub what: String,
    /// Sequence number on this link: of the TLP or flit, or that an Ack or Nak says.
    pub sequence: Option<u16>,
    /// Device that asked for it, of a TLP.
    pub requester: Option<String>,
    /// Its Requester ID with the segment, as `lspci -D` writes it, of a TLP. Completions carry that of the request that they answer.
    pub requester_id: Option<String>,
    /// Number of the tag among its requester's, of requests that are answered and of answers.
    pub tag: Option<u16>,
    /// Address of the first byte, hexadecimal.
    pub address: Option<String>,
    /// Bytes carried, or asked for.
    pub length_bytes: Option<u16>,
    /// TC0 to TC7, of a TLP.
    pub traffic_class: Option<u8>,
    /// Virtual channel.
    pub channel: Option<u8>,
    /// Of a TLP, header credits that are left of its class; of an UpdateFC or InitFC, the limit that it says. None: infinite.
    pub header_credits: Option<u16>,
    /// The same for data credits, of 16 B.
    pub data_credits: Option<u16>,
    /// When the request was issued that the TLP is, or answers; ticks.
    pub issued_at_ticks: Option<u64>,
    /// From when on the TLP could have left the device; ticks. What lies between is the time that it waited there.
    pub ready_at_ticks: Option<u64>,
    /// What else there is to say.
    pub note: String,
}

/// Names of the links of a scenario, for [`TraceRequest::links`].
pub fn link_names(scenario: &Scenario) -> Vec<&str> {
    let devices = &scenario.fabric.devices;
    scenario.fabric.links.iter().map(|link| devices[link.lower.0].name.as_str()).collect()
}

/// Runs a scenario up to the end of a window, or its own, and lists what went over the wires in it. `progress` as for
/// [`crate::run`].
///
/// # Errors
/// When the scenario's devices do not form trees; resolving a scenario has excluded that.
pub fn trace(
    scenario: &Scenario,
    request: &TraceRequest,
    progress: &mut dyn FnMut(&RunProgress<'_>) -> ControlFlow<()>,
) -> Result<Trace, AssemblyError> {
    let mut session = Session::of(scenario, Ends::AtItsLimits)?;
    let names = Names::of(scenario, session.simulation());
    let from = Time::ZERO + request.from;
    let until = from + request.span.min(Time::NEVER - from);
    let kinds = match request.kinds.is_empty() {
        true => TraceKinds::all(),
        false => request.kinds.iter().copied().collect(),
    };
    let selection = Selection { from, until, ports: names.ports_of(&request.links), kinds };
    let recorder = Recorder::new(selection, request.most);
    session.listen(recorder.listener());
    let pause = Pause { at: until, events: u64::MAX };
    while session.piece(pause) == Piece::Long && progress(&session.progress()).is_continue() {}
    session.end_here();
    Ok(Trace {
        title: scenario.title.clone(),
        from_ns: (from - Time::ZERO).as_ns(),
        until_ns: (session.now().min(until) - Time::ZERO).as_ns(),
        seen: recorder.seen(),
        rows: recorder.entries().iter().map(|entry| names.row(entry)).collect(),
        fingerprint: format!("{:016x}", session.trajectory()),
    })
}

/// What ports and places are called.
struct Names {
    /// Of each port, link and direction.
    ports: BTreeMap<u32, (String, &'static str)>,
    places: BTreeMap<Place, String>,
}

impl Names {
    fn of(scenario: &Scenario, simulation: &Simulation) -> Self {
        let (fabric, devices) = (&simulation.fabric, &scenario.fabric.devices);
        let mut ports = BTreeMap::new();
        for link in &scenario.fabric.links {
            let name = &devices[link.lower.0].name;
            for ((device, port), direction) in [(link.lower, "upstream"), (link.upper, "downstream")] {
                let index = fabric.port_index(DeviceId(device as u32), port) as u32;
                ports.insert(index, (name.clone(), direction));
            }
        }
        let named = devices.iter().zip(0..);
        let place = |(device, index): (&lanewise_fabric::config::DeviceConfig, u32)| {
            Some((fabric.place(DeviceId(index))?, device.name.clone()))
        };
        Self { ports, places: named.filter_map(place).collect() }
    }

    fn ports_of(&self, links: &[String]) -> Option<Vec<u32>> {
        let of = |(port, (link, _)): (&u32, &(String, _))| links.contains(link).then_some(*port);
        (!links.is_empty()).then(|| self.ports.iter().filter_map(of).collect())
    }

    fn place(&self, place: Place) -> String {
        self.places.get(&place).cloned().unwrap_or_else(|| place.to_string())
    }

    fn row(&self, entry: &Entry) -> TraceRow {
        let (link, direction) = self.ports.get(&entry.port).cloned().unwrap_or_default();
        let at = entry.at - Time::ZERO;
        let mut row = TraceRow {
            at_ns: at.as_ns(),
            at_ticks: at.ticks(),
            link,
            direction,
            kind: entry.kind.name(),
            ..TraceRow::default()
        };
        match &entry.what {
            EntryOf::Wire(WireFact::OnWire(thing)) => self.thing(&mut row, thing),
            EntryOf::Wire(WireFact::Blocked { by, waiting, .. }) => {
                row.what = format!("held: {}", cause(*by));
                row.note = waiting.map_or(String::new(), |waiting| self.waiting(&waiting));
            }
            EntryOf::Wire(WireFact::Unblocked { by, since, until, .. }) => {
                row.what = format!("goes on: {}", cause(*by));
                row.note = format!("after {}", *until - *since);
            }
            EntryOf::Error(fact) => {
                (row.what, row.sequence) = error(fact);
                if !matches!(fact, Fact::ReplayStarted { .. } | Fact::ReplayNumRollover { .. }) {
                    // A receiver notices it: what is wrong came from the other end.
                    row.direction = if direction == "upstream" { "downstream" } else { "upstream" };
                }
            }
        }
        row
    }

    fn thing(&self, row: &mut TraceRow, thing: &OnWire) {
        row.span_ticks = thing.span.ticks();
        match &thing.what {
            What::Tlp(tlp) => self.tlp(row, thing, tlp),
            What::Duplicate { sequence } => {
                (row.what, row.sequence) = ("TLP".to_owned(), Some(*sequence));
                row.note = "again, the receiver has it".to_owned();
            }
            What::Dllp(dllp) => of_dllp(row, *dllp, ""),
            What::DllpInFlit(dllp) | What::AnswerInFlit(dllp) => of_dllp(row, *dllp, "in a flit"),
            What::OrderedSets { count, every } => {
                row.what = "SKP".to_owned();
                if *count > 1 {
                    row.note = format!("{count} of them, one every {every}");
                }
            }
            What::Flit { sequence, again, tlps } => {
                (row.what, row.sequence) = ("flit".to_owned(), Some(*sequence));
                row.note = format!("{}hands over {tlps}", if *again { "again, " } else { "" });
            }
        }
    }

    fn tlp(&self, row: &mut TraceRow, thing: &OnWire, tlp: &WireTlp) {
        row.what = tlp.kind.mnemonic().to_owned();
        row.sequence = Some(tlp.sequence);
        row.requester = Some(self.place(tlp.requester()));
        row.requester_id = Some(tlp.requester_id.to_string());
        row.tag = (tlp.cost.class() != FlowClass::Posted).then_some(tlp.tag);
        row.address = Some(format!("{:#x}", tlp.address));
        row.length_bytes = Some(tlp.length);
        row.traffic_class = Some(tlp.traffic_class);
        row.channel = Some(tlp.channel);
        row.header_credits = tlp.credits_left.header;
        row.data_credits = tlp.credits_left.data;
        row.issued_at_ticks = Some((tlp.issued_at - Time::ZERO).ticks());
        row.ready_at_ticks = Some((tlp.ready_at - Time::ZERO).ticks());
        let waited = thing.start.saturating_since(tlp.ready_at);
        let notes = [
            (tlp.transmission == Transmission::Again, "again".to_owned()),
            (tlp.transmission == Transmission::Nullified, "nullified".to_owned()),
            (tlp.poisoned, "poisoned".to_owned()),
            (!waited.is_zero(), format!("waited {waited}")),
        ];
        row.note =
            notes.into_iter().filter_map(|(is, note)| is.then_some(note)).collect::<Vec<_>>().join(", ");
    }

    fn waiting(&self, waiting: &WaitingTlp) -> String {
        let WaitingTlp { kind, source, address, .. } = waiting;
        format!("{} of {} at {address:#x} waits", kind.mnemonic(), self.place(*source))
    }
}

fn of_dllp(row: &mut TraceRow, dllp: Dllp, note: &str) {
    (row.what, row.note) = (dllp.mnemonic().to_owned(), note.to_owned());
    match dllp {
        Dllp::Ack(sequence) | Dllp::Nak(sequence) => row.sequence = Some(sequence.get()),
        Dllp::UpdateFlowControl { channel, header, data, .. } => {
            (row.channel, row.header_credits, row.data_credits) = (Some(channel), Some(header), Some(data));
        }
        Dllp::InitFlowControl1 { channel, header, data, .. }
        | Dllp::InitFlowControl2 { channel, header, data, .. } => {
            let finite = |credits: u16| (credits != 0).then_some(credits);
            (row.channel, row.header_credits, row.data_credits) =
                (Some(channel), finite(header), finite(data));
        }
    }
}

/// What holds up a port, in short words.
fn cause(by: Use) -> &'static str {
    match by {
        Use::BlockedPostedHeader => "P headers",
        Use::BlockedPostedData => "P data",
        Use::BlockedNonPostedHeader => "NP headers",
        Use::BlockedNonPostedData => "NP data",
        Use::BlockedCompletionHeader => "Cpl headers",
        Use::BlockedCompletionData => "Cpl data",
        Use::BlockedRetryBuffer => "retry buffer",
        Use::BlockedCore => "switch core",
        Use::Down => "link down",
        Use::TlpGap => "gap after a TLP",
        other => other.name(),
    }
}

/// What a receiver noticed, or a transmitter did about it.
fn error(fact: &Fact) -> (String, Option<u16>) {
    let (what, sequence) = match *fact {
        Fact::BadTlp { sequence, .. } => ("refused", Some(sequence)),
        Fact::Duplicate { sequence, .. } => ("discarded, came twice", Some(sequence)),
        Fact::BadDllp { .. } => ("DLLP lost", None),
        Fact::Nullified { .. } => ("nullified TLP dropped", None),
        Fact::ReplayStarted { by_timer: true, .. } => ("replay, timer ran out", None),
        Fact::ReplayStarted { by_timer: false, .. } => ("replay, after a Nak", None),
        Fact::ReplayNumRollover { .. } => ("retrains", None),
        _ => ("", None),
    };
    (what.to_owned(), sequence)
}
