//! Rows of a trace: one thing on a wire, or one thing that happened to a port.

use super::names::Names;
use lanewise_observe::{
    Cause, Entry, EntryOf, Fact, HeldUp, OnWire, Queued, Transmission, WaitingTlp, What, WireFact, WireTlp,
};
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Span, Time};
use schemars::JsonSchema;
use serde::Serialize;

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
    /// `tlp`, `dllp`, `skp`, `flit`, `blocked`, `queued` or `error`.
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
    /// What a TLP that is sent for the first time waited for: adds up to the time from `ready_at_ticks` to `at_ticks`. What a port was
    /// held up by, when it goes on.
    pub waits: Vec<TraceWait>,
    /// TLPs of its class that wait for the port: of one that joins them, itself included; of one that leaves, those behind it.
    pub queue_depth: Option<u32>,
    /// What else there is to say.
    pub note: String,
    /// All that it says, for writers of another form; none of an error.
    #[serde(skip)]
    #[schemars(skip)]
    pub fact: Option<WireFact>,
}

/// A part of a wait.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct TraceWait {
    /// What for: `wire` (TLPs before it in its queue), `arbitration` (others' TLPs), `dllp`, `ordered_set`, `replay`, credits
    /// (`posted_header`, `posted_data`, `non_posted_header`, `non_posted_data`, `completion_header`, `completion_data`), `retry_buffer`,
    /// `ordering`, `core`, `tlp_gap`, `down`, `waking`, `boundary`, `tags`, `tracking_entries`, `shared_queue` or `completion_queue`.
    pub cause: &'static str,
    /// How long, in ticks of 2⁻¹⁰ ps.
    pub ticks: u64,
    /// In the words of the listing.
    #[serde(skip)]
    #[schemars(skip)]
    pub(super) words: &'static str,
}

impl TraceWait {
    pub(super) fn of(cause: Cause, span: Span) -> Self {
        Self { cause: cause.name(), ticks: span.ticks(), words: cause.words() }
    }
}

impl Names {
    pub(super) fn row(&self, entry: &Entry) -> TraceRow {
        let (link, direction) = self.link_and_way(entry.port);
        let at = entry.at - Time::ZERO;
        let mut row = TraceRow {
            at_ns: at.as_ns(),
            at_ticks: at.ticks(),
            link,
            direction,
            kind: entry.kind.name(),
            waits: entry.waited.iter().map(|(cause, span)| TraceWait::of(*cause, *span)).collect(),
            queue_depth: entry.depth,
            fact: match entry.what {
                EntryOf::Wire(fact) => Some(fact),
                EntryOf::Error(_) => None,
            },
            ..TraceRow::default()
        };
        match &entry.what {
            EntryOf::Wire(WireFact::OnWire(thing)) => self.thing(&mut row, thing),
            EntryOf::Wire(WireFact::Queued(queued)) => self.queued(&mut row, queued),
            EntryOf::Wire(WireFact::Blocked { whom, by, waiting, .. }) => {
                row.what = format!("blocked: {}", by.words());
                self.held(&mut row, *whom, waiting.as_ref());
            }
            EntryOf::Wire(WireFact::Unblocked { whom, by, since, until, waiting, .. }) => {
                row.what = format!("goes on: {}", by.words());
                self.held(&mut row, *whom, waiting.as_ref());
                row.waits = vec![TraceWait::of(*by, *until - *since)];
            }
            EntryOf::Error(fact) => {
                (row.what, row.sequence) = error(fact);
                if !matches!(fact, Fact::ReplayStarted { .. } | Fact::ReplayNumRollover { .. }) {
                    row.direction = other(direction); // A receiver notices it: what is wrong came from the other end.
                }
            }
        }
        row
    }

    fn link_and_way(&self, port: u32) -> (String, &'static str) {
        self.direction(port).map_or_else(Default::default, |of| (of.link.clone(), of.way))
    }

    fn thing(&self, row: &mut TraceRow, thing: &OnWire) {
        row.span_ticks = thing.span.ticks();
        match &thing.what {
            What::Tlp(tlp) => self.tlp(row, tlp),
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

    fn tlp(&self, row: &mut TraceRow, tlp: &WireTlp) {
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
        let notes = [
            (tlp.transmission == Transmission::Again, "again"),
            (tlp.transmission == Transmission::Nullified, "nullified"),
            (tlp.poisoned, "poisoned"),
        ];
        row.note =
            notes.into_iter().filter_map(|(is, note)| is.then_some(note)).collect::<Vec<_>>().join(", ");
    }

    fn queued(&self, row: &mut TraceRow, Queued { channel, tlp, .. }: &Queued) {
        row.what = "queued".to_owned();
        row.note = tlp.kind.mnemonic().to_owned();
        self.waiting(row, tlp);
        row.channel = Some(*channel);
    }

    fn held(&self, row: &mut TraceRow, whom: HeldUp, waiting: Option<&WaitingTlp>) {
        match whom {
            HeldUp::Everything => row.note = "everything".to_owned(),
            HeldUp::Class { channel, class } => {
                row.channel = Some(channel);
                row.note = short(class).to_owned();
            }
            HeldUp::Read(_) => {}
        }
        if whom.came_in() {
            row.direction = other(row.direction);
        }
        if let Some(tlp) = waiting {
            self.waiting(row, tlp);
            row.note = tlp.kind.mnemonic().to_owned();
        }
    }

    fn waiting(&self, row: &mut TraceRow, tlp: &WaitingTlp) {
        row.requester = Some(self.place(tlp.requester()));
        row.tag = (tlp.class != FlowClass::Posted).then_some(tlp.tag);
        row.address = Some(format!("{:#x}", tlp.address));
        row.issued_at_ticks = Some((tlp.issued_at - Time::ZERO).ticks());
        row.ready_at_ticks = Some((tlp.ready_at - Time::ZERO).ticks());
    }
}

fn other(direction: &'static str) -> &'static str {
    if direction == "upstream" { "downstream" } else { "upstream" }
}

/// A flow class as the credits of it are written.
const fn short(class: FlowClass) -> &'static str {
    match class {
        FlowClass::Posted => "P",
        FlowClass::NonPosted => "NP",
        FlowClass::Completion => "Cpl",
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
