//! Facts about wires as they are recorded: a few words of 64 bits each, from which the fact can be made again.
//!
//! The first word has what it is in its lowest four bits and its number in the upper half, zero for unselected facts that waits still need.
//! The second is its time: when it starts, could leave, is held up or goes on.

use crate::waits::{Carries, Left, Piece};
use crate::{Cause, Fact, HeldUp, OnWire, Place, Queued, Transmission, WaitingTlp, What, WireFact, WireTlp};
use lanewise_pcie::ack_nak::Sequence;
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::enumeration::Location;
use lanewise_pcie::flow_control::CreditPool;
use lanewise_pcie::tlp::{Attributes, CompletionStatus, FlowClass, FunctionId, TlpCost, TlpKind};
use lanewise_units::{Span, Time};

pub(crate) const TLP: u64 = 1;
pub(crate) const QUEUED: u64 = 2;
pub(crate) const BLOCKED: u64 = 3;
pub(crate) const UNBLOCKED: u64 = 4;
const DLLP: u64 = 5;
const ORDERED_SETS: u64 = 6;
const FLIT: u64 = 7;
const DUPLICATE: u64 = 8;
const ERROR: u64 = 9;
/// An unselected TLP.
pub(crate) const LEFT: u64 = 10;
/// Something else on the wire that is unselected.
pub(crate) const CARRIED: u64 = 11;

/// A fact that was recorded.
#[derive(Debug)]
pub(crate) struct Record {
    /// Zero for unselected facts.
    pub(crate) number: u32,
    /// When it was stated, or earlier, where no reader of the log needs it exactly.
    pub(crate) now: Time,
    pub(crate) told: Told,
}

#[derive(Debug)]
pub(crate) enum Told {
    Wire(WireFact),
    Left(Left),
    Carried(Piece),
    Error(Fact),
}

/// What a record is.
pub(crate) const fn tag(first: u64) -> u64 {
    first & 15
}

/// Its number; zero of unselected facts.
pub(crate) const fn number(first: u64) -> u32 {
    (first >> 32) as u32
}

/// The same with another number.
pub(crate) const fn renumbered(first: u64, number: u32) -> u64 {
    first & 0xffff_ffff | (number as u64) << 32
}

/// Words of a record.
pub(crate) const fn length(first: u64) -> usize {
    match tag(first) {
        TLP => 11,
        QUEUED => 5 + (first >> 31 & 1) as usize,
        BLOCKED => held_length(first),
        UNBLOCKED => held_length(first) + 1,
        ORDERED_SETS | LEFT => 6,
        DLLP | FLIT | DUPLICATE | CARRIED => 4,
        _ => 2 + (first >> 8 & 1) as usize,
    }
}

const fn held_length(first: u64) -> usize {
    2 + (first >> 4 & 3 == READ) as usize + 5 * (first >> 14 & 1) as usize
}

/// Of a TLP that joins a queue: its class, when it could leave, and which it is.
#[inline(always)]
pub(crate) fn joins(words: &[u64]) -> (FlowClass, u64, u64) {
    let first = words[0];
    (kind(first).flow_class(), words[1], which((first >> 12) as u16, words[3]))
}

/// The same of a TLP that leaves for the first time; none of other records.
#[inline(always)]
pub(crate) fn leaves(words: &[u64]) -> Option<(FlowClass, u64, u64)> {
    let first = words[0];
    match tag(first) {
        TLP if first >> 9 & 3 == Transmission::First as u64 => {
            Some((kind(first).flow_class(), words[4], which(of_quarters(words[7])[1], words[6])))
        }
        LEFT => Some((FlowClass::ALL[(first >> 4 & 3) as usize], words[4], words[5])),
        _ => None,
    }
}

/// Tells TLPs apart that could leave at the same time; addresses have less than 48 bits, or are those of one another.
const fn which(tag: u16, address: u64) -> u64 {
    address ^ (tag as u64) << 48
}

/// When a TLP that joins or leaves could leave, in ticks; of others later than any time.
#[inline(always)]
pub(crate) fn ready_at(words: &[u64]) -> u64 {
    match tag(words[0]) {
        QUEUED => words[1],
        TLP | LEFT => words[4],
        _ => u64::MAX,
    }
}

/// When what is on the wire has left it, in ticks; zero of what takes it no time.
#[inline(always)]
pub(crate) fn ends_at(words: &[u64]) -> u64 {
    let first = words[0];
    let span = match tag(first) {
        TLP => tlp_span(words),
        DLLP if first >> 4 & 3 == 0 => words[2] & HALF,
        FLIT | DUPLICATE => words[2],
        LEFT | CARRIED => words[2] - words[1],
        ORDERED_SETS => words[2] / words[4] + (words[4] - 1) * words[5],
        _ => 0,
    };
    if span > 0 { words[1] + span } else { 0 }
}

/// What is held up, or goes on.
pub(crate) fn whom(words: &[u64]) -> HeldUp {
    let first = words[0];
    match first >> 4 & 3 {
        EVERYTHING => HeldUp::Everything,
        CLASS => {
            let class = FlowClass::ALL[(first >> 9 & 3) as usize];
            HeldUp::Class { channel: (first >> 6 & 7) as u8, class }
        }
        _ => HeldUp::Read(words[if tag(first) == UNBLOCKED { 3 } else { 2 }]),
    }
}

const EVERYTHING: u64 = 0;
const CLASS: u64 = 1;
const READ: u64 = 2;

/// Most words of a record.
pub(crate) const LONGEST: usize = 16;

/// Where a record is put: whatever it is, it fits.
pub(crate) type Room = [u64; LONGEST];

/// Puts a fact down and returns how many words that takes.
#[inline(always)]
pub(crate) fn pack(now: Time, fact: &WireFact, number: u32, room: &mut Room) -> usize {
    let number = u64::from(number) << 32;
    match fact {
        WireFact::OnWire(OnWire { start, span, what: What::Tlp(tlp), .. }) => {
            put(room, tlp_words(now, (*start, *span), tlp, number))
        }
        WireFact::Queued(queued) => pack_queued(queued, number, room),
        WireFact::OnWire(thing) => pack_other(now, thing, number, room),
        _ => pack_held(fact, number, room),
    }
}

#[inline(always)]
fn put<const WORDS: usize>(room: &mut Room, words: [u64; WORDS]) -> usize {
    room[..WORDS].copy_from_slice(&words);
    WORDS
}

#[inline(always)]
fn tlp_words(now: Time, (start, span): (Time, Span), tlp: &WireTlp, number: u64) -> [u64; 11] {
    let CreditPool { header, data } = tlp.credits_left;
    let first = TLP
        | (tlp.kind as u64) << 4
        | (tlp.transmission as u64) << 9
        | (tlp.status as u64) << 11
        | u64::from(tlp.attributes.bits()) << 14
        | u64::from(tlp.traffic_class) << 17
        | u64::from(tlp.channel) << 20
        | u64::from(tlp.poisoned) << 23
        | u64::from(tlp.digest) << 24
        | u64::from(header.is_some()) << 25
        | u64::from(data.is_some()) << 26
        | u64::from(tlp.ingress.is_some()) << 27
        | u64::from(tlp.is_last_completion) << 28
        | number;
    // A TLP of 4 KiB takes sixteen microseconds at Gen1 x1, four times as many ticks as 32 bits hold.
    let span = span.ticks();
    [
        first,
        start.ticks(),
        halves(span as u32, tlp.cost.to_bits()),
        now.ticks(),
        tlp.ready_at.ticks(),
        tlp.issued_at.ticks(),
        tlp.address,
        quarters([tlp.length, tlp.tag, tlp.sequence, tlp.ingress.unwrap_or(0)]),
        halves(place_bits(tlp.source), place_bits(tlp.destination)),
        quarters([
            tlp.requester_id.segment,
            tlp.requester_id.id.get(),
            header.unwrap_or(0),
            data.unwrap_or(0),
        ]),
        halves(
            u32::from(tlp.completer_id.segment) | u32::from(tlp.completer_id.id.get()) << 16,
            (span >> 32) as u32,
        ),
    ]
}

/// How long a TLP takes the wire, in ticks.
const fn tlp_span(words: &[u64]) -> u64 {
    words[2] & HALF | words[10] & !HALF
}

#[inline(always)]
fn pack_queued(queued: &Queued, number: u64, room: &mut Room) -> usize {
    let tlp = &queued.tlp;
    let is_late = queued.joined > tlp.ready_at;
    let first = QUEUED
        | (tlp.kind as u64) << 4
        | u64::from(queued.channel) << 9
        | u64::from(tlp.tag) << 12
        | u64::from(queued.behind == Cause::CompletionQueue) << 30
        | u64::from(is_late) << 31
        | number;
    let words = [
        first,
        tlp.ready_at.ticks(),
        tlp.issued_at.ticks(),
        tlp.address,
        halves(place_bits(tlp.source), place_bits(tlp.destination)),
        queued.joined.ticks(), // Left out where it says nothing.
    ];
    put(room, words) - usize::from(!is_late)
}

/// What is on the wire and no TLP.
#[inline(never)]
fn pack_other(now: Time, thing: &OnWire, number: u64, room: &mut Room) -> usize {
    let (start, span, now) = (thing.start.ticks(), thing.span.ticks(), now.ticks());
    match &thing.what {
        What::Tlp(_) => 0,
        What::Dllp(dllp) => pack_dllp(now, thing, (0, *dllp), number, room),
        What::DllpInFlit(dllp) => pack_dllp(now, thing, (1, *dllp), number, room),
        What::AnswerInFlit(dllp) => pack_dllp(now, thing, (2, *dllp), number, room),
        What::OrderedSets { count, every } => {
            put(room, [ORDERED_SETS | number, start, span, now, *count, every.ticks()])
        }
        What::Flit { sequence, again, tlps } => {
            let told = u64::from(*sequence) << 4 | u64::from(*again) << 20 | u64::from(*tlps) << 21;
            put(room, [FLIT | told | number, start, span, now])
        }
        What::Duplicate { sequence } => {
            put(room, [DUPLICATE | u64::from(*sequence) << 4 | number, start, span, now])
        }
    }
}

#[inline(always)]
fn pack_dllp(now: u64, thing: &OnWire, (carrier, dllp): (u64, Dllp), number: u64, room: &mut Room) -> usize {
    let (which, channel, class, header, data) = match dllp {
        Dllp::Ack(sequence) => (0, 0, FlowClass::Posted, sequence.get(), 0),
        Dllp::Nak(sequence) => (1, 0, FlowClass::Posted, sequence.get(), 0),
        Dllp::UpdateFlowControl { channel, class, header, data } => (2, channel, class, header, data),
        Dllp::InitFlowControl1 { channel, class, header, data } => (3, channel, class, header, data),
        Dllp::InitFlowControl2 { channel, class, header, data } => (4, channel, class, header, data),
    };
    let first = DLLP | carrier << 4 | which << 6 | u64::from(channel) << 9 | (class as u64) << 12 | number;
    let span = thing.span.ticks();
    assert!(
        span <= HALF,
        "a DLLP of eight bytes takes the wire for {:?}, more than four microseconds",
        thing.span
    );
    let credits = u64::from(header) << 32 | u64::from(data) << 48;
    put(room, [first, thing.start.ticks(), span | credits, now])
}

/// What is held up, and goes on.
#[inline(never)]
fn pack_held(fact: &WireFact, number: u64, room: &mut Room) -> usize {
    let (tag, whom, by, since, until, waiting) = match *fact {
        WireFact::Blocked { whom, by, since, waiting, .. } => (BLOCKED, whom, by, since, None, waiting),
        WireFact::Unblocked { whom, by, since, until, waiting, .. } => {
            (UNBLOCKED, whom, by, since, Some(until), waiting)
        }
        WireFact::OnWire(_) | WireFact::Queued(_) => return 0,
    };
    let (who, read) = match whom {
        HeldUp::Everything => (EVERYTHING, None),
        HeldUp::Class { channel, class } => (CLASS | u64::from(channel) << 2 | (class as u64) << 5, None),
        HeldUp::Read(read) => (READ, Some(read)),
    };
    let first = tag | who << 4 | u64::from(waiting.is_some()) << 14 | (by as u64) << 15 | number;
    let first = waiting.map_or(first, |tlp| first | (tlp.kind as u64) << 20);
    let mut end = put(room, [first]);
    for word in [until.map(Time::ticks), Some(since.ticks()), read].into_iter().flatten() {
        room[end] = word;
        end += 1;
    }
    if let Some(tlp) = waiting {
        debug_assert_eq!(tlp.class, tlp.kind.flow_class(), "a TLP has the class of its kind");
        let words = [
            u64::from(tlp.tag),
            tlp.address,
            tlp.issued_at.ticks(),
            tlp.ready_at.ticks(),
            halves(place_bits(tlp.source), place_bits(tlp.destination)),
        ];
        room[end..end + words.len()].copy_from_slice(&words);
        end += words.len();
    }
    end
}

/// Puts down an error of a link, which none of the others needs.
pub(crate) fn pack_error(now: Time, fact: &Fact, number: u32, room: &mut Room) -> usize {
    let (which, sequence) = match *fact {
        Fact::BadTlp { sequence, .. } => (0, Some(sequence)),
        Fact::Duplicate { sequence, .. } => (1, Some(sequence)),
        Fact::BadDllp { .. } => (2, None),
        Fact::Nullified { .. } => (3, None),
        Fact::ReplayStarted { by_timer, .. } => (4 + u64::from(by_timer), None),
        _ => (6, None),
    };
    let has_sequence = u64::from(sequence.is_some());
    let first = ERROR | which << 4 | has_sequence << 8 | u64::from(number) << 32;
    put(room, [first, now.ticks(), sequence.map_or(0, u64::from)]) - usize::from(sequence.is_none())
}

/// Puts down what is on the wire and unselected, of which waits need when and what it is: of a TLP also when it could leave.
pub(crate) fn pack_unasked(now: Time, fact: &WireFact, room: &mut Room) -> usize {
    let WireFact::OnWire(thing) = fact else { return pack(now, fact, 0, room) };
    match (&thing.what, Piece::of(thing)) {
        (What::OrderedSets { count, .. }, _) if *count > 1 => pack(now, fact, 0, room),
        (What::Tlp(tlp), Some(piece)) if tlp.transmission == Transmission::First => {
            let class = tlp.cost.class() as u64;
            let words = [
                LEFT | class << 4 | carries_bits(piece.what),
                piece.start.ticks(),
                piece.end.ticks(),
                now.ticks(),
                tlp.ready_at.ticks(),
                which(tlp.tag, tlp.address),
            ];
            put(room, words)
        }
        (_, Some(piece)) => put(room, piece_words(now, &piece)),
        (_, None) => 0,
    }
}

const fn piece_words(now: Time, piece: &Piece) -> [u64; 4] {
    let Piece { start, end, what } = *piece;
    [CARRIED | carries_bits(what), start.ticks(), end.ticks(), now.ticks()]
}

const fn carries_bits(what: Carries) -> u64 {
    match what {
        Carries::Other(cause) => (cause as u64) << 8,
        Carries::Tlp { channel, class, ingress } => {
            let ingress = match ingress {
                Some(port) => 1 << 15 | (port as u64) << 16,
                None => 0,
            };
            1 << 6 | (channel as u64) << 8 | (class as u64) << 11 | ingress
        }
    }
}

const fn carries(first: u64) -> Carries {
    if first >> 6 & 1 == 0 {
        return Carries::Other(Cause::ALL[(first >> 8 & 31) as usize]);
    }
    let ingress = if first >> 15 & 1 == 1 { Some((first >> 16) as u16) } else { None };
    let class = FlowClass::ALL[(first >> 11 & 3) as usize];
    Carries::Tlp { channel: (first >> 8 & 7) as u8, class, ingress }
}

/// The record in fewer words, of which waits need when it is on the wire and what it is.
pub(crate) fn carried(words: &[u64]) -> Option<[u64; 4]> {
    let Record { now, told, .. } = unpack(words, 0);
    let piece = match told {
        Told::Wire(WireFact::OnWire(OnWire { what: What::OrderedSets { count, .. }, .. })) if count > 1 => {
            None
        }
        Told::Wire(WireFact::OnWire(thing)) => Piece::of(&thing),
        Told::Carried(piece) | Told::Left(Left { piece, .. }) => Some(piece),
        Told::Wire(_) | Told::Error(_) => None,
    };
    piece.map(|piece| piece_words(now, &piece))
}

/// The fact of a port that a record was made of.
pub(crate) fn unpack(words: &[u64], port: u32) -> Record {
    let first = words[0];
    let record = |now: u64, told| Record { number: number(first), now: Time::from_ticks(now), told };
    let on_wire = |now: u64, span: u64, what| {
        let (start, span) = (Time::from_ticks(words[1]), Span::from_ticks(span));
        record(now, Told::Wire(WireFact::OnWire(OnWire { direction: port, start, span, what })))
    };
    let piece = || {
        let (start, end) = (Time::from_ticks(words[1]), Time::from_ticks(words[2]));
        Piece { start, end, what: carries(first) }
    };
    match tag(first) {
        TLP => on_wire(words[3], tlp_span(words), What::Tlp(unpacked_tlp(words))),
        QUEUED => record(words[1], Told::Wire(WireFact::Queued(unpacked_queued(words, port)))),
        BLOCKED | UNBLOCKED => record(words[1], Told::Wire(unpacked_hold(words, port))),
        DLLP => {
            let dllp = unpacked_dllp(words);
            let what = match first >> 4 & 3 {
                0 => What::Dllp(dllp),
                1 => What::DllpInFlit(dllp),
                _ => What::AnswerInFlit(dllp),
            };
            on_wire(words[3], words[2] & HALF, what)
        }
        ORDERED_SETS => {
            let what = What::OrderedSets { count: words[4], every: Span::from_ticks(words[5]) };
            on_wire(words[3], words[2], what)
        }
        FLIT => {
            let (sequence, again) = ((first >> 4) as u16, first >> 20 & 1 == 1);
            on_wire(words[3], words[2], What::Flit { sequence, again, tlps: (first >> 21) as u8 })
        }
        DUPLICATE => on_wire(words[3], words[2], What::Duplicate { sequence: (first >> 4) as u16 }),
        LEFT => record(
            words[3],
            Told::Left(Left {
                piece: piece(),
                class: FlowClass::ALL[(first >> 4 & 3) as usize],
                ready_at: Time::from_ticks(words[4]),
            }),
        ),
        CARRIED => record(words[3], Told::Carried(piece())),
        _ => record(words[1], Told::Error(unpacked_error(words, port))),
    }
}

fn unpacked_tlp(words: &[u64]) -> WireTlp {
    let first = words[0];
    let bit = |place: u32| first >> place & 1 == 1;
    let [length, tag, sequence, ingress] = of_quarters(words[7]);
    let [segment, id, header, data] = of_quarters(words[9]);
    let [completer_segment, completer, ..] = of_quarters(words[10]);
    WireTlp {
        sequence,
        transmission: match first >> 9 & 3 {
            0 => Transmission::First,
            1 => Transmission::Again,
            _ => Transmission::Nullified,
        },
        kind: kind(first),
        address: words[6],
        length,
        cost: TlpCost::from_bits((words[2] >> 32) as u32),
        source: place(words[8] as u32),
        destination: place((words[8] >> 32) as u32),
        requester_id: location(segment, id),
        completer_id: location(completer_segment, completer),
        tag,
        attributes: Attributes::of_bits((first >> 14) as u8),
        traffic_class: (first >> 17 & 7) as u8,
        channel: (first >> 20 & 7) as u8,
        ingress: bit(27).then_some(ingress),
        poisoned: bit(23),
        digest: bit(24),
        status: CompletionStatus::of_code((first >> 11 & 7) as u8),
        is_last_completion: bit(28),
        issued_at: Time::from_ticks(words[5]),
        ready_at: Time::from_ticks(words[4]),
        credits_left: CreditPool { header: bit(25).then_some(header), data: bit(26).then_some(data) },
    }
}

const fn location(segment: u16, id: u16) -> Location {
    Location { segment, id: FunctionId::new((id >> 8) as u8, (id >> 3 & 31) as u8, (id & 7) as u8) }
}

fn unpacked_queued(words: &[u64], port: u32) -> Queued {
    let (first, kind) = (words[0], kind(words[0]));
    let tlp = WaitingTlp {
        kind,
        class: kind.flow_class(),
        source: place(words[4] as u32),
        destination: place((words[4] >> 32) as u32),
        tag: (first >> 12) as u16,
        address: words[3],
        issued_at: Time::from_ticks(words[2]),
        ready_at: Time::from_ticks(words[1]),
    };
    let joined = if first >> 31 & 1 == 1 { Time::from_ticks(words[5]) } else { tlp.ready_at };
    let behind = if first >> 30 & 1 == 1 { Cause::CompletionQueue } else { Cause::SharedQueue };
    Queued { port, channel: (first >> 9 & 7) as u8, joined, behind, tlp }
}

fn unpacked_hold(words: &[u64], port: u32) -> WireFact {
    let first = words[0];
    let mut rest = words[1..].iter().copied();
    let mut next = || rest.next().expect("the record is whole");
    let until = (tag(first) == UNBLOCKED).then(|| Time::from_ticks(next()));
    let since = Time::from_ticks(next());
    let whom = whom(words);
    if matches!(whom, HeldUp::Read(_)) {
        next();
    }
    let waiting = (first >> 14 & 1 == 1).then(|| {
        let kind = TlpKind::ALL[(first >> 20 & 31) as usize];
        let (tag, address, issued_at, ready_at) =
            (next() as u16, next(), Time::from_ticks(next()), Time::from_ticks(next()));
        let places = next();
        let (source, destination) = (place(places as u32), place((places >> 32) as u32));
        WaitingTlp { kind, class: kind.flow_class(), source, destination, tag, address, issued_at, ready_at }
    });
    let by = Cause::ALL[(first >> 15 & 31) as usize];
    match until {
        None => WireFact::Blocked { port, whom, by, since, waiting },
        Some(until) => WireFact::Unblocked { port, whom, by, since, until, waiting },
    }
}

fn unpacked_dllp(words: &[u64]) -> Dllp {
    let first = words[0];
    let (channel, class) = ((first >> 9 & 7) as u8, FlowClass::ALL[(first >> 12 & 3) as usize]);
    let (header, data) = ((words[2] >> 32) as u16, (words[2] >> 48) as u16);
    match first >> 6 & 7 {
        0 => Dllp::Ack(Sequence::new(header)),
        1 => Dllp::Nak(Sequence::new(header)),
        2 => Dllp::UpdateFlowControl { channel, class, header, data },
        3 => Dllp::InitFlowControl1 { channel, class, header, data },
        _ => Dllp::InitFlowControl2 { channel, class, header, data },
    }
}

fn unpacked_error(words: &[u64], port: u32) -> Fact {
    let sequence = words.get(2).map_or(0, |word| *word as u16);
    match words[0] >> 4 & 7 {
        0 => Fact::BadTlp { port, sequence },
        1 => Fact::Duplicate { port, sequence },
        2 => Fact::BadDllp { port },
        3 => Fact::Nullified { port },
        4 => Fact::ReplayStarted { port, by_timer: false },
        5 => Fact::ReplayStarted { port, by_timer: true },
        _ => Fact::ReplayNumRollover { port },
    }
}

const fn kind(first: u64) -> TlpKind {
    TlpKind::ALL[(first >> 4 & 31) as usize]
}

const HALF: u64 = u32::MAX as u64;

const fn halves(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

const fn quarters([first, second, third, fourth]: [u16; 4]) -> u64 {
    halves(first as u32 | (second as u32) << 16, third as u32 | (fourth as u32) << 16)
}

const fn of_quarters(word: u64) -> [u16; 4] {
    [word as u16, (word >> 16) as u16, (word >> 32) as u16, (word >> 48) as u16]
}

const HOST: u32 = u32::MAX;
const NO_DEVICE: u32 = u32::MAX - 1;

#[inline(always)]
const fn place_bits(place: Place) -> u32 {
    match place {
        Place::Host => HOST,
        Place::NoDevice => NO_DEVICE,
        Place::Endpoint(number) => number,
    }
}

const fn place(bits: u32) -> Place {
    match bits {
        HOST => Place::Host,
        NO_DEVICE => Place::NoDevice,
        number => Place::Endpoint(number),
    }
}

#[cfg(test)]
mod tests;
