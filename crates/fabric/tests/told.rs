//! What is told of wires is what the books say, on every kind of link: times, sizes, counts, who waits; and listening changes nothing.

use crate::common::*;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::{DeviceId, Direction, Target};
use lanewise_fabric::{Machines, Simulation};
use lanewise_observe::{
    Cause, Fact, HeldUp, Observer, OnWire, Place, Transmission, Use, Waits, What, WireFact, WireTlp,
};
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::flit::{CRC_BYTES, DLP_BYTES, FEC_BYTES, FLIT_BYTES};
use lanewise_pcie::flow_control::CreditPool;
use lanewise_pcie::tlp::{FlowClass, TlpKind};
use lanewise_pcie::virtual_channel::{ChannelArbitration, ChannelMap};
use lanewise_units::{Bytes, Generation, Span, Time, Width};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

const END_US: u64 = 60;

/// Longest time that a packet may wait for a place to start at, and a TLP in Flit Mode for its place in a flit.
fn boundary(mode: LinkMode) -> Span {
    if mode.flit { mode.wire_span(FLIT_BYTES) } else { mode.symbol_span() }
}

#[derive(Clone, Default)]
struct Ear(Rc<RefCell<Vec<(Time, Told)>>>);

#[derive(Clone, Copy, Debug)]
enum Told {
    Fact(Fact),
    Wire(WireFact),
}

impl Observer for Ear {
    fn observe(&mut self, now: Time, fact: &Fact) {
        self.0.borrow_mut().push((now, Told::Fact(*fact)));
    }

    fn observe_wire(&mut self, now: Time, fact: &WireFact) {
        self.0.borrow_mut().push((now, Told::Wire(*fact)));
    }
}

/// A run with everything that was told, from its start to a time at which all is settled.
struct Heard {
    simulation: Simulation,
    facts: Vec<(Time, Told)>,
    config: FabricConfig,
}

fn built(config: &FabricConfig, streams: Vec<Stream>) -> Simulation {
    let mut simulation = Simulation::build(config).expect("a tree");
    for stream in streams {
        simulation.add_workload(Box::new(stream));
    }
    simulation
}

fn finish(simulation: &mut Simulation) {
    simulation.run_until(us(END_US), u64::MAX);
    simulation.stop_measuring(us(END_US));
}

/// Runs twice, once with nobody listening: the trajectory is the same.
fn heard(config: &FabricConfig, streams: impl Fn() -> Vec<Stream>) -> Heard {
    let mut unheard = built(config, streams());
    finish(&mut unheard);
    let (mut simulation, ear) = (built(config, streams()), Ear::default());
    simulation.fabric.add_observer(Box::new(ear.clone()));
    finish(&mut simulation);
    let of =
        |simulation: &Simulation| (simulation.fabric.observers().fingerprint(), simulation.events_handled());
    assert_eq!(of(&simulation), of(&unheard), "listening changes the run");
    let facts = ear.0.take();
    Heard { simulation, facts, config: config.clone() }
}

impl Heard {
    /// Index of both ports of every link, and the other end of each.
    fn directions(&self) -> Vec<(u32, u32, LinkMode)> {
        let port = |(device, port): (usize, usize)| {
            self.simulation.fabric.port_index(DeviceId(device as u32), port) as u32
        };
        let both = |link: &LinkConfig| {
            let (upper, lower) = (port(link.upper), port(link.lower));
            [(upper, lower, link.mode), (lower, upper, link.mode)]
        };
        self.config.links.iter().flat_map(both).collect()
    }

    fn on_wire(&self, direction: u32) -> Vec<OnWire> {
        let of = |(_, fact): &(Time, Told)| match fact {
            Told::Wire(WireFact::OnWire(thing)) if thing.direction == direction => Some(*thing),
            _ => None,
        };
        self.facts.iter().filter_map(of).collect()
    }

    fn tlps(&self, direction: u32) -> Vec<(OnWire, WireTlp)> {
        let tlp = |thing: OnWire| match thing.what {
            What::Tlp(tlp) => Some((thing, tlp)),
            _ => None,
        };
        self.on_wire(direction).into_iter().filter_map(tlp).collect()
    }

    fn sent_by(&self, device: u32, port: usize) -> Vec<(OnWire, WireTlp)> {
        self.tlps(self.simulation.fabric.port_index(DeviceId(device), port) as u32)
    }

    fn span(&self, direction: u32, of: impl Fn(&What) -> bool) -> Span {
        let things = self.on_wire(direction);
        things.iter().filter(|thing| of(&thing.what)).fold(Span::ZERO, |sum, thing| sum + thing.span)
    }

    fn spent(&self, direction: u32, on: &[Use]) -> Span {
        let tally = self.simulation.fabric.observers().direction(direction as usize);
        on.iter().fold(Span::ZERO, |sum, on| sum + tally.spent_on(*on))
    }

    /// What goes down a link is for what its upper port has below it: a request by its windows, a completion by its buses.
    fn check_ways(&self) {
        let machines = Machines::of(&self.config).expect("a tree");
        for link in &self.config.links {
            let (device, port) = link.upper;
            let bridge = machines.port(device, port);
            for (_, tlp) in self.sent_by(device as u32, port) {
                let is_below = match tlp.cost.class() {
                    FlowClass::Completion => bridge.leads_to(tlp.requester_id.bus()),
                    FlowClass::Posted | FlowClass::NonPosted => bridge.forwards(tlp.address),
                };
                assert!(is_below, "{tlp:?} below {bridge:?}");
            }
        }
    }

    /// All that holds on every link.
    fn check(&self) {
        self.check_ways();
        for (direction, receiver, mode) in self.directions() {
            self.check_times(direction);
            self.check_counts(direction);
            self.check_receipts(direction, receiver);
            self.check_holds(direction);
            self.check_waits(direction, boundary(mode));
            match mode.flit {
                true => self.check_flit_spans(direction, mode),
                false => self.check_spans(direction, mode),
            }
        }
    }

    /// One thing at a time, in order, each told when it is decided or before it starts.
    fn check_times(&self, direction: u32) {
        let mut free_at = Time::ZERO;
        for (now, fact) in &self.facts {
            let Told::Wire(WireFact::OnWire(thing)) = fact else { continue };
            if thing.direction != direction || thing.span.is_zero() {
                continue;
            }
            assert!(thing.start >= free_at, "{thing:?} starts before {free_at:?}");
            // Ordered sets of a silence are told at its end; a TLP may join a NOP flit that is on the wire.
            let later = matches!(thing.what, What::OrderedSets { .. } | What::Flit { .. });
            assert!(later || thing.start >= *now, "{thing:?} is told at {now:?}");
            free_at = thing.end();
        }
    }

    fn check_counts(&self, direction: u32) {
        let counters = self.simulation.fabric.observers().counters(direction as usize);
        let things = self.on_wire(direction);
        let count = |of: &dyn Fn(&What) -> bool| things.iter().filter(|thing| of(&thing.what)).count() as u64;
        let first = |what: &What| matches!(what, What::Tlp(tlp) if tlp.transmission == Transmission::First);
        assert_eq!(count(&first), counters.tlps_sent);
        assert_eq!(count(&|what| matches!(what, What::Dllp(_) | What::DllpInFlit(_))), counters.dllps_sent);
    }

    fn check_spans(&self, direction: u32, mode: LinkMode) {
        let first = |what: &What| matches!(what, What::Tlp(tlp) if tlp.transmission == Transmission::First);
        let other = |what: &What| matches!(what, What::Tlp(_) | What::Duplicate { .. }) && !first(what);
        assert_eq!(
            self.span(direction, first),
            self.spent(direction, &[Use::Payload, Use::Header, Use::Framing])
        );
        assert_eq!(self.span(direction, other), self.spent(direction, &[Use::Replay]));
        assert_eq!(
            self.span(direction, |what| matches!(what, What::Dllp(_))),
            self.spent(direction, &[Use::Dllp])
        );
        self.check_ordered_sets(direction);
        for (thing, tlp) in self.tlps(direction) {
            assert_eq!(thing.span, mode.wire_span(tlp.cost.on_wire()), "{tlp:?}");
        }
    }

    fn check_ordered_sets(&self, direction: u32) {
        let of = |what: &What| matches!(what, What::OrderedSets { .. });
        assert_eq!(self.span(direction, of), self.spent(direction, &[Use::OrderedSet]));
        assert!(self.on_wire(direction).iter().any(|thing| of(&thing.what)));
    }

    /// Flits have the time; their TLPs have the bytes.
    fn check_flit_spans(&self, direction: u32, mode: LinkMode) {
        let again = |what: &What| matches!(what, What::Flit { again: true, .. });
        let first = |what: &What| matches!(what, What::Flit { again: false, .. });
        assert_eq!(self.span(direction, again), self.spent(direction, &[Use::Replay]));
        let flits = self.span(direction, first).ticks() / mode.wire_span(FLIT_BYTES).ticks();
        assert_eq!(mode.wire_span(DLP_BYTES) * flits, self.spent(direction, &[Use::Dllp]));
        assert_eq!(mode.wire_span(CRC_BYTES + FEC_BYTES) * flits, self.spent(direction, &[Use::Framing]));
        let bytes = self.tlps(direction).iter().fold(Bytes::ZERO, |sum, (_, tlp)| sum + tlp.cost.tlp());
        let sent = self.spent(direction, &[Use::Payload, Use::Header]);
        // Of the last, parts may be in a flit that has not left.
        let left = mode.wire_span(bytes) - sent;
        assert!(left <= mode.wire_span(FLIT_BYTES) * 2, "{left:?} of {sent:?} are nowhere");
        self.check_ordered_sets(direction);
    }

    /// Every TLP is accepted once, in order; one that is not goes again before any behind it is.
    fn check_receipts(&self, direction: u32, receiver: u32) {
        let mut waiting: VecDeque<WireTlp> = VecDeque::new();
        let (mut accepted, mut sent) = (0, 0);
        for (_, fact) in &self.facts {
            match fact {
                Told::Wire(WireFact::OnWire(OnWire { direction: of, what: What::Tlp(tlp), .. }))
                    if *of == direction =>
                {
                    if tlp.transmission == Transmission::First {
                        waiting.push_back(*tlp);
                        sent += 1;
                    } else if tlp.transmission == Transmission::Again {
                        assert!(
                            waiting.iter().any(|first| first.sequence == tlp.sequence),
                            "{tlp:?} comes again"
                        );
                    }
                }
                Told::Fact(Fact::BufferFilled { port, class, sequence, .. }) if *port == receiver => {
                    let tlp = waiting.pop_front().expect("what is accepted was sent");
                    assert_eq!(tlp.cost.class(), *class);
                    if self.is_plain(direction) {
                        assert_eq!(tlp.sequence, *sequence);
                    }
                    accepted += 1;
                }
                _ => {}
            }
        }
        assert_eq!(sent, accepted + waiting.len());
        assert!(waiting.len() <= 64, "{} of {sent} are nowhere", waiting.len());
    }

    fn is_plain(&self, direction: u32) -> bool {
        self.directions().iter().any(|(of, _, mode)| *of == direction && !mode.flit)
    }

    /// Who is held up begins, ends and begins again; what the books put down to credits, the retry buffer or the core lies within what
    /// was told of it.
    fn check_holds(&self, direction: u32) {
        let mut open: Vec<(HeldUp, Cause, Time)> = Vec::new();
        let mut held = [Span::ZERO; Cause::COUNT];
        for (_, fact) in &self.facts {
            match *fact {
                Told::Wire(WireFact::Blocked { port, whom, by, since, .. }) if port == direction => {
                    if !whom.came_in() {
                        assert!(open.iter().all(|(other, ..)| *other != whom), "held up twice");
                    }
                    open.push((whom, by, since));
                }
                Told::Wire(WireFact::Unblocked { port, whom, by, since, until, .. }) if port == direction => {
                    let place = open.iter().position(|one| *one == (whom, by, since));
                    open.swap_remove(place.expect("told before"));
                    assert!(until >= since);
                    held[by as usize] += until - since;
                }
                _ => {}
            }
        }
        for (_, by, since) in open {
            held[by as usize] += us(END_US).saturating_since(since);
        }
        for (on, by) in BLOCKED {
            let spent = self.spent(direction, &[on]);
            assert!(spent <= held[by as usize], "{}: {spent:?} of {:?}", on.name(), held[by as usize]);
        }
    }

    /// What a TLP waited for adds up to its wait; what no packet and nobody's limit explains is less than what packets wait for a
    /// boundary; and every TLP that leaves had joined the queue.
    fn check_waits(&self, direction: u32, boundary: Span) {
        let (mut waits, mut joined) = (Waits::default(), Vec::new());
        let mut inside = Vec::new();
        for (now, fact) in &self.facts {
            let Told::Wire(fact) = fact else { continue };
            if let WireFact::Queued(queued) = fact
                && queued.port == direction
            {
                inside.push((queued.tlp.kind, queued.tlp.address, queued.tlp.ready_at));
            }
            if let WireFact::OnWire(OnWire { direction: of, start, what: What::Tlp(tlp), .. }) = fact
                && *of == direction
                && tlp.transmission == Transmission::First
            {
                let ticks = waits.of(direction, tlp, (*now, *start));
                assert_eq!(
                    ticks.iter().sum::<u64>(),
                    (*start - tlp.ready_at).ticks(),
                    "{tlp:?} at {start:?}"
                );
                let rest = Span::from_ticks(ticks[Cause::Boundary as usize]);
                assert!(rest <= boundary, "{rest:?} of {tlp:?}, which leaves at {start:?}, are unexplained");
                let place = inside.iter().position(|one| *one == (tlp.kind, tlp.address, tlp.ready_at));
                inside.swap_remove(place.unwrap_or_else(|| panic!("{tlp:?} never joined")));
            }
            waits.observe(*now, fact, 0, &mut joined);
        }
    }
}

/// What the books and the facts call the same.
const BLOCKED: [(Use, Cause); 8] = [
    (Use::BlockedPostedHeader, Cause::PostedHeader),
    (Use::BlockedPostedData, Cause::PostedData),
    (Use::BlockedNonPostedHeader, Cause::NonPostedHeader),
    (Use::BlockedNonPostedData, Cause::NonPostedData),
    (Use::BlockedCompletionHeader, Cause::CompletionHeader),
    (Use::BlockedCompletionData, Cause::CompletionData),
    (Use::BlockedRetryBuffer, Cause::RetryBuffer),
    (Use::BlockedCore, Cause::Core),
];

/// Reads and writes of two endpoints behind a switch.
fn streams() -> Vec<Stream> {
    let of = |device, direction| Stream::new(device, direction, 4096, 4);
    vec![
        of(2, Direction::Write),
        of(2, Direction::Read).of_class(1),
        of(3, Direction::Read),
        of(3, Direction::Write),
    ]
}

fn two(generation: Generation) -> FabricConfig {
    behind_switch(generation, Width::X4, Width::X4, 2, 256)
}

#[test]
fn on_plain_links() {
    heard(&two(Generation::Gen3), streams).check();
    heard(&two(Generation::Gen1), streams).check();
}

#[test]
fn where_credits_are_scarce() {
    let mut config = two(Generation::Gen3);
    for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
        port.credits[0] = CreditPool::finite(2, 32);
        port.credits[1] = CreditPool::finite(1, 8);
    }
    root_mut(&mut config).write_latency = Span::from_us(1);
    let heard = heard(&config, streams);
    heard.check();
    let waits = |by: Cause| {
        let of = |fact: &Told| match *fact {
            Told::Wire(WireFact::Blocked { by: found, waiting: Some(waiting), .. }) if found == by => {
                Some(waiting.kind)
            }
            _ => None,
        };
        heard.facts.iter().find_map(|(_, fact)| of(fact))
    };
    assert_eq!(waits(Cause::PostedHeader), Some(TlpKind::MemoryWrite));
    assert_eq!(waits(Cause::NonPostedHeader), Some(TlpKind::MemoryRead));
}

/// Writes and reads of another device's memory, through a switch and, with ACS, through the root complex.
#[test]
fn between_peers() {
    for acs in [false, true] {
        let mut config = two(Generation::Gen3);
        let DeviceKind::Switch(switch) = &mut config.devices[1].kind else { panic!("a switch") };
        switch.acs_redirect = acs;
        let to_peer = |from: u32, direction| {
            Stream::new(from, direction, 3000, 4).to(Target::Endpoint(DeviceId(5 - from)))
        };
        let heard = heard(&config, || vec![to_peer(2, Direction::Write), to_peer(3, Direction::Read)]);
        heard.check();
        let down = |port| heard.sent_by(1, port).len();
        assert!(down(1) > 20 && down(2) > 20);
        assert_eq!(heard.sent_by(0, 0).len() > 20, acs);
    }
}

#[test]
fn in_flits() {
    heard(&two(Generation::Gen6), streams).check();
}

#[test]
fn on_virtual_channels() {
    let mut config = two(Generation::Gen2);
    let map = ChannelMap::new(&[&[1]]).expect("a legal map");
    config.links.iter_mut().for_each(|link| link.channels = map);
    for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
        port.more_credits = vec![port.credits];
        port.channel_arbitration = ChannelArbitration::Strict;
    }
    let heard = heard(&config, streams);
    heard.check();
    let channels = |channel| {
        let of = |(direction, _, _): &(u32, u32, LinkMode)| heard.tlps(*direction);
        let tlps: Vec<(OnWire, WireTlp)> = heard.directions().iter().flat_map(of).collect();
        tlps.iter().filter(|(_, tlp)| tlp.channel == channel && tlp.traffic_class == channel).count()
    };
    assert!(channels(0) > 100 && channels(1) > 100, "{} and {}", channels(0), channels(1));
}

/// Errors in flits and out of them.
#[test]
fn on_links_that_replay() {
    for generation in [Generation::Gen1, Generation::Gen3, Generation::Gen6] {
        let mut config = two(generation);
        for link in &mut config.links {
            link.faults_upstream.corrupt_tlps = vec![3, 4, 30, 31, 90];
            link.faults_downstream.corrupt_tlps = vec![7, 40];
            link.recovery_time = Span::from_us(1);
        }
        let heard = heard(&config, streams);
        heard.check();
        let replays = heard.directions().into_iter().filter(|(direction, _, _)| {
            let again = |thing: &OnWire| match thing.what {
                What::Tlp(tlp) => tlp.transmission == Transmission::Again,
                What::Flit { again, .. } => again,
                _ => false,
            };
            heard.on_wire(*direction).iter().any(again)
        });
        assert!(replays.count() > 3);
    }
}

fn one_stream(direction: Direction) -> (Heard, Vec<Span>) {
    let mut config = without_background(two(Generation::Gen3));
    root_mut(&mut config).write_latency = Span::ZERO;
    let heard = heard(&config, || vec![Stream::new(2, direction, 256, 1)]);
    let latency = |(_, fact): &(Time, Told)| match fact {
        Told::Fact(Fact::RequestDone { latency, .. }) => Some(*latency),
        _ => None,
    };
    let latencies: Vec<Span> = heard.facts.iter().filter_map(latency).collect();
    assert!(latencies.len() > 20);
    (heard, latencies)
}

/// From the last byte at the transmitter until the receiver has checked it.
const TO_THE_RECEIVER: Span = Span::from_ns(1 + 20);

fn sum(stations: &[Span]) -> Span {
    stations.iter().fold(Span::ZERO, |sum, one| sum + *one)
}

/// From issue to receipt, every station of a write adds up to its latency, exactly.
#[test]
fn stations_of_a_write_add_up() {
    let (heard, latencies) = one_stream(Direction::Write);
    let [first, second] = [(2, 0), (1, 0)].map(|(device, port)| heard.sent_by(device, port));
    for (((card, above), (switch, below)), latency) in first.iter().zip(&second).zip(latencies) {
        assert_eq!((above.requester(), above.destination), (Place::Endpoint(0), Place::Host));
        assert_eq!((above.issued_at, above.address), (below.issued_at, below.address));
        assert_eq!(above.cost.class(), FlowClass::Posted);
        let stations = [
            above.ready_at - above.issued_at,
            card.start - above.ready_at,
            below.ready_at - card.start,
            switch.start - below.ready_at,
            switch.span + TO_THE_RECEIVER,
        ];
        assert_eq!(sum(&stations), latency);
    }
}

/// And of a read, which is known on four wires by requester, tag and time of issue, and ends with its last completion.
#[test]
fn stations_of_a_read_add_up() {
    let (heard, latencies) = one_stream(Direction::Read);
    let wires = [(2, 0), (1, 0), (0, 0), (1, 1)].map(|(device, port)| heard.sent_by(device, port));
    for ((card, request), latency) in wires[0].iter().zip(latencies) {
        let same = |(_, tlp): &&(OnWire, WireTlp)| {
            (tlp.requester(), tlp.tag, tlp.issued_at) == (request.requester(), request.tag, request.issued_at)
        };
        let last = |wire: &[(OnWire, WireTlp)]| *wire.iter().rfind(same).expect("it came there");
        let [(up, asked), (back, answer), (down, told)] = [1, 2, 3].map(|wire| last(&wires[wire]));
        assert_eq!((answer.source, answer.destination), (Place::Host, Place::Endpoint(0)));
        let at_the_host = up.end() + TO_THE_RECEIVER;
        let stations = [
            request.ready_at - request.issued_at,
            card.start - request.ready_at,
            asked.ready_at - card.start,
            up.start - asked.ready_at,
            up.span + TO_THE_RECEIVER,
            answer.ready_at - at_the_host,
            back.start - answer.ready_at,
            told.ready_at - back.start,
            down.start - told.ready_at,
            down.span + TO_THE_RECEIVER,
        ];
        assert_eq!(sum(&stations), latency);
    }
}
