use super::*;
use crate::reader::Reader;
use crate::recorder::Entry;
use crate::{Cause, OnWire, Place, Queued, Transmission, WaitingTlp, What, WireTlp};
use lanewise_pcie::ack_nak::Sequence;
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::enumeration::Location;
use lanewise_pcie::flow_control::CreditPool;
use lanewise_pcie::tlp::{Attributes, CompletionStatus, FlowClass, FunctionId, Tlp, TlpKind};
use lanewise_units::{Bytes, Span};

fn ns(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

fn write(number: u64, ready_ns: u64) -> WireTlp {
    WireTlp {
        sequence: number as u16,
        transmission: Transmission::First,
        kind: TlpKind::MemoryWrite,
        address: number * 64,
        length: 64,
        cost: Tlp::memory_write(0, Bytes::new(64)).cost(false),
        source: Place::Endpoint(0),
        destination: Place::Host,
        requester_id: Location { segment: 0, id: FunctionId::new(1, 0, 0) },
        completer_id: Location::default(),
        tag: 0,
        attributes: Attributes::NONE,
        traffic_class: 0,
        channel: 0,
        ingress: Some((number % 3) as u16),
        poisoned: false,
        digest: false,
        status: CompletionStatus::Successful,
        is_last_completion: false,
        issued_at: ns(ready_ns),
        ready_at: ns(ready_ns),
        credits_left: CreditPool::INFINITE,
    }
}

const POSTED: HeldUp = HeldUp::Class { channel: 0, class: FlowClass::Posted };

/// What happens at a port with a queue of a few writes, in the order in which it is stated: each joins, waits for those before it, for
/// credits now and then, and for Acks on the wire.
fn story(writes: u64, queue: u64) -> Vec<(Time, WireFact)> {
    let mut facts = Vec::new();
    let on_wire = |start_ns: u64, for_ns: u64, what| {
        let (direction, start, span) = (0, ns(start_ns), Span::from_ns(for_ns));
        (ns(start_ns - 1), WireFact::OnWire(OnWire { direction, start, span, what }))
    };
    let joins = |number: u64| {
        let tlp = write(number, ready(number, queue));
        let WireTlp { kind, source, destination, tag, address, issued_at, ready_at, .. } = tlp;
        let class = FlowClass::Posted;
        let tlp = WaitingTlp { kind, class, source, destination, tag, address, issued_at, ready_at };
        // Some were behind a shared queue.
        let joined = ready_at + Span::from_ns(number % 5 / 4);
        (joined, WireFact::Queued(Queued { port: 0, channel: 0, joined, behind: Cause::SharedQueue, tlp }))
    };
    (0..queue).for_each(|number| facts.push(joins(number)));
    for number in 0..writes {
        let at = 100 + number * 20;
        facts.push(joins(number + queue));
        if number % 4 == 0 {
            let (since, until, by, waiting) = (ns(at - 6), ns(at - 2), Cause::PostedData, None);
            facts.push((since, WireFact::Blocked { port: 0, whom: POSTED, by, since, waiting }));
            facts.push((until, WireFact::Unblocked { port: 0, whom: POSTED, by, since, until, waiting }));
        }
        facts.push(on_wire(at, 10, What::Tlp(write(number, ready(number, queue)))));
        facts.push(on_wire(at + 12, 2, What::Dllp(Dllp::Ack(Sequence::new(number as u16)))));
    }
    facts
}

fn ready(number: u64, queue: u64) -> u64 {
    90 + (number * 20).saturating_sub(queue * 20)
}

fn everything(seen: u64) -> Kept {
    Kept { seen, most: None }
}

fn read(log: &PortLog, asked: std::ops::RangeInclusive<u64>) -> Vec<String> {
    let (mut reader, mut entries): (Reader, Vec<Entry>) = (Reader::of(asked), Vec::new());
    log.records(0).for_each(|(number, record)| reader.take_in(0, number, record, &mut entries));
    reader.rest(&mut entries);
    entries.iter().map(|entry| format!("{entry:?}")).collect()
}

/// A log that was thinned says of the last facts what one that has everything says of them.
#[test]
fn what_is_taken_out_changes_no_wait() {
    for queue in [1, 7, 40] {
        let facts = story(4_000, queue);
        for most in [1, 50, 777] {
            let (mut all, mut few) = (PortLog::default(), PortLog::default());
            for (number, (now, fact)) in (1..).zip(&facts) {
                all.push(*now, fact, &everything(number));
                few.push(*now, fact, &Kept { seen: number, most: Some(most) });
            }
            let seen = facts.len() as u64;
            let (expected, kept) = (read(&all, seen - most + 1..=seen), read(&few, seen - most + 1..=seen));
            assert!(!kept.is_empty());
            assert_eq!(kept, expected, "queue of {queue}, the last {most}");
            assert!(few.end < 100 * (most + queue) as usize + 1_000, "{} words", few.end);
        }
    }
}

/// Facts before a window are there for those in it, and are few when it begins.
#[test]
fn unselected_facts_take_little_room() {
    let facts = story(5_000, 20);
    let (mut all, mut few) = (PortLog::default(), PortLog::default());
    let from = facts.len() - 100;
    for (place, (now, fact)) in facts.iter().enumerate() {
        if place >= from {
            let number = (place - from + 1) as u64;
            all.push(*now, fact, &everything(number));
            few.push(*now, fact, &Kept { seen: number, most: Some(100) });
        } else {
            all.push_unasked(*now, fact, &everything(0));
            few.push_unasked(*now, fact, &Kept { seen: 0, most: Some(100) });
            assert!(few.words.len() <= 4_096, "{}", few.words.len());
        }
    }
    assert_eq!(read(&few, 1..=100), read(&all, 1..=100));
    assert_eq!(read(&few, 1..=100).len(), 100);
}

#[test]
fn numbers_go_on_when_they_no_longer_fit() {
    let facts = story(400, 3);
    let mut log = PortLog::default();
    let begin = u64::from(u32::MAX) * 5 / 2;
    // Other ports have most of the facts.
    for (nth, (now, fact)) in (0..).zip(&facts) {
        let number = begin / 200 * nth + 1;
        log.push(*now, fact, &Kept { seen: number, most: Some(begin / 20) });
    }
    let last = begin / 200 * (facts.len() as u64 - 1) + 1;
    let (mut all, asked) = (PortLog::default(), last - begin / 200 * 9..=last);
    let few: Vec<_> = (1..).zip(&facts).collect();
    few.iter().for_each(|(number, (now, fact))| all.push(*now, fact, &everything(*number)));
    let seen = facts.len() as u64;
    assert_eq!(read(&log, asked), read(&all, seen - 9..=seen));
}
