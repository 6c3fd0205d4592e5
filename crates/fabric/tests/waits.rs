//! What TLPs wait for, in closed forms of small systems: an idle link, credits for one of two writes, tags, tracking entries.

use crate::common::*;
use lanewise_fabric::Simulation;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::{DeviceId, Direction};
use lanewise_observe::{
    Cause, Entry, EntryOf, HeldUp, OnWire, Recorder, Selection, Transmission, What, WireFact, WireTlp,
};
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::flow_control::CreditPool;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Generation, Span, Time, Width};

/// A run of 40 us and all that was recorded of it.
struct Recorded {
    simulation: Simulation,
    entries: Vec<Entry>,
}

fn recorded(config: &FabricConfig, stream: Stream) -> Recorded {
    let mut simulation = Simulation::build(config).expect("a tree");
    simulation.add_workload(Box::new(stream));
    let recorder = Recorder::new(Selection::everything(), usize::MAX);
    simulation.fabric.add_observer(recorder.listener());
    simulation.run_until(us(40), u64::MAX);
    simulation.stop_measuring(us(40));
    Recorded { simulation, entries: recorder.entries() }
}

impl Recorded {
    fn port(&self, device: u32, port: usize) -> u32 {
        self.simulation.fabric.port_index(DeviceId(device), port) as u32
    }

    /// TLPs that a port sends for the first time, once the link is up.
    fn sent(&self, port: u32) -> impl Iterator<Item = (&Entry, &OnWire, &WireTlp)> {
        self.entries.iter().filter_map(move |entry| match &entry.what {
            EntryOf::Wire(WireFact::OnWire(thing)) if thing.direction == port => match &thing.what {
                What::Tlp(tlp) if tlp.transmission == Transmission::First => Some((entry, thing, tlp)),
                _ => None,
            },
            _ => None,
        })
    }
}

fn part(entry: &Entry, cause: Cause) -> Span {
    entry.waited.iter().find(|(of, _)| *of == cause).map_or(Span::ZERO, |(_, span)| *span)
}

/// A card at a root port, Gen1 x4: a byte is a nanosecond, and packets start on boundaries of 4 ns.
fn one_card() -> FabricConfig {
    without_background(direct(Generation::Gen1, Width::X4, 256))
}

#[test]
fn one_packet_at_a_time_waits_for_nothing_but_the_link_to_come_up() {
    let recorded = recorded(&one_card(), Stream::new(1, Direction::Write, 256, 1));
    let port = recorded.port(1, 0);
    let sent: Vec<_> = recorded.sent(port).collect();
    assert!(sent.len() > 20);
    let (first, thing, tlp) = sent[0];
    let up = part(first, Cause::Down) + part(first, Cause::Dllp) + part(first, Cause::Boundary);
    assert_eq!(up, thing.start - tlp.ready_at);
    for (entry, thing, tlp) in &sent[1..] {
        assert!(entry.waited.iter().all(|(cause, _)| *cause == Cause::Boundary), "{entry:?}");
        assert!(thing.start - tlp.ready_at < Span::from_ns(4));
        assert_eq!(entry.depth, Some(0), "nobody is behind it");
    }
}

/// The second of two writes leaves when the UpdateFC that pays for it has come, and says so.
#[test]
fn with_credits_for_one_the_second_waits_until_the_update_comes() {
    let mut config = one_card();
    for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
        port.credits[0] = CreditPool::finite(1, 16);
    }
    let (propagation, checked) = (config.links[0].propagation, config.devices[1].ports[0].receive_latency);
    let recorded = recorded(&config, Stream::new(1, Direction::Write, 256, 2));
    let (card, root) = (recorded.port(1, 0), recorded.port(0, 0));
    let updates: Vec<Time> = recorded
        .entries
        .iter()
        .filter_map(|entry| match &entry.what {
            EntryOf::Wire(WireFact::OnWire(thing)) if thing.direction == root => match thing.what {
                What::Dllp(Dllp::UpdateFlowControl { class: FlowClass::Posted, .. }) => {
                    Some(thing.end() + propagation + checked)
                }
                _ => None,
            },
            _ => None,
        })
        .collect();
    let sent: Vec<_> = recorded.sent(card).collect();
    assert!(sent.len() > 20);
    for pair in sent.windows(2).skip(1) {
        let ((_, before, _), (entry, thing, tlp)) = (pair[0], pair[1]);
        let came = updates.iter().rfind(|at| **at <= thing.start).expect("it was paid for");
        assert!(
            *came > before.end() && thing.start - *came < Span::from_ns(4),
            "{entry:?}, paid for at {came:?}"
        );
        let (wire, credits) = (part(entry, Cause::Wire), part(entry, Cause::PostedHeader));
        // The one before took the credits when it was chosen, which is when this one came to the port; it left on the next boundary.
        assert_eq!(wire, before.span);
        assert_eq!(credits, (before.start - tlp.ready_at) + (*came - before.end()));
        assert_eq!(wire + credits + part(entry, Cause::Boundary), thing.start - tlp.ready_at);
    }
    let whom = HeldUp::Class { channel: 0, class: FlowClass::Posted };
    let ends: Vec<Time> =
        recorded
            .entries
            .iter()
            .filter_map(|entry| match entry.what {
                EntryOf::Wire(WireFact::Unblocked {
                    port, whom: of, by: Cause::PostedHeader, until, ..
                }) if (port, of) == (card, whom) => Some(until),
                _ => None,
            })
            .collect();
    assert!(ends.len() > 20 && ends.iter().all(|end| updates.contains(end)));
}

/// An endpoint with one tag asks for the next when the last completion has come: so long its reads are held up.
#[test]
fn with_one_tag_reads_are_held_up_from_one_request_to_the_last_completion_of_it() {
    let mut config = one_card();
    endpoint_mut(&mut config, 1).tags = 1;
    let recorded = recorded(&config, Stream::new(1, Direction::Read, 64, 4));
    let card = recorded.port(1, 0);
    let holds: Vec<(Time, Time)> = recorded
        .entries
        .iter()
        .filter_map(|entry| match entry.what {
            EntryOf::Wire(WireFact::Unblocked { port, by: Cause::Tags, since, until, .. })
                if port == card =>
            {
                Some((since, until))
            }
            _ => None,
        })
        .collect();
    assert!(holds.len() > 10, "{}", holds.len());
    for (since, until) in holds {
        let before =
            recorded.sent(card).filter(|(_, thing, _)| thing.start <= since + Span::from_ns(4)).last();
        let after = recorded.sent(card).find(|(_, _, tlp)| tlp.issued_at == until);
        let (before, after) = (before.expect("a request"), after.expect("the next request"));
        assert!(before.1.start + Span::from_ns(4) > since && after.1.start >= until);
    }
}

/// Of two reads at once at a host with one tracking entry, the second waits until the first has its data.
#[test]
fn with_one_tracking_entry_the_second_read_waits_for_the_first() {
    let mut config = one_card();
    root_mut(&mut config).stack.read_trackers = 1;
    let recorded = recorded(&config, Stream::new(1, Direction::Read, 64, 4));
    let waits: Vec<(Time, Time)> = recorded
        .entries
        .iter()
        .filter_map(|entry| match entry.what {
            EntryOf::Wire(WireFact::Unblocked { whom: HeldUp::Read(_), by, since, until, .. }) => {
                assert_eq!(by, Cause::Entries);
                Some((since, until))
            }
            _ => None,
        })
        .collect();
    assert!(waits.len() > 5, "{}", waits.len());
    let latency = root_mut(&mut config).memory_latency;
    let host = recorded.port(0, 0);
    for (since, until) in waits {
        assert!(since < until);
        // The data of the one before is there, and so its entry is free.
        let ready = recorded.sent(host).filter(|(_, _, tlp)| tlp.ready_at <= until).last();
        let (_, _, tlp) = ready.expect("a completion");
        assert_eq!(tlp.ready_at, until, "after {latency:?}");
    }
}

/// Lines of reads that find the one place in their root port's queue taken wait for it, and for no queue that root ports share.
#[test]
fn lines_wait_for_a_place_in_their_own_queue() {
    let mut config = one_card();
    root_mut(&mut config).completion_queue = Some(1);
    let recorded = recorded(&config, Stream::new(1, Direction::Read, 512, 4));
    let host = recorded.port(0, 0);
    let waited =
        |cause: Cause| recorded.sent(host).map(|(entry, ..)| part(entry, cause)).sum::<Span>().as_ns();
    assert!(waited(Cause::CompletionQueue) > 1000.0, "{}", waited(Cause::CompletionQueue));
    assert_eq!(waited(Cause::SharedQueue), 0.0);
}

#[test]
fn queues_are_as_deep_as_those_who_joined_and_have_not_left() {
    let recorded = recorded(&one_card(), Stream::new(1, Direction::Read, 4096, 4));
    let host = recorded.port(0, 0);
    let mut inside = 0_i64;
    let (mut joined, mut deepest) = (0, 0);
    let mut events: Vec<(Time, bool, &Entry)> = Vec::new();
    for entry in recorded.entries.iter().filter(|entry| entry.port == host) {
        match &entry.what {
            EntryOf::Wire(WireFact::Queued(_)) => events.push((entry.at, false, entry)),
            EntryOf::Wire(WireFact::OnWire(OnWire { what: What::Tlp(_), .. })) => {
                events.push((entry.at, true, entry));
            }
            _ => {}
        }
    }
    events.sort_by_key(|(at, leaves, _)| (*at, *leaves));
    for chunk in events.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (at, leaves, _) = chunk[0];
        inside += if leaves { -(chunk.len() as i64) } else { chunk.len() as i64 };
        let said = chunk.last().and_then(|(_, _, entry)| entry.depth);
        assert_eq!(said.map(i64::from), Some(inside), "at {at:?}");
        joined += usize::from(!leaves) * chunk.len();
        deepest = deepest.max(inside);
    }
    assert!(joined > 50 && deepest > 4, "{joined} joined, {deepest} at once");
}
