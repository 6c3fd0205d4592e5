//! CXL.mem in the fabric: links of flits from root ports to memory expanders, the way of a line over them, and what is at the ends.
//!
//! A line that a core asks for comes to the root port after the way through the processor, waits there for its slot in a flit
//! and a credit, crosses each link of its path, and is read or written at the expander; its answer comes back the same way. A switch
//! of CXL takes messages in and sends them on after its latency, each link with flits, credits and retry of its own.
//!
//! The rules are [`lanewise_cxl`]'s. `direction.rs` is one way of one link, `expander.rs` the memory behind it, and here is what goes
//! where. Plain links have nothing of it: the fabric has one pointer to it. At one instant everything comes in first, and then each
//! direction decides once what it sends (`event.rs`): messages that come together share flits, whichever was asked for first. CXL.io is what the ports of the same link carry, as if they had it to themselves; no scenario loads both.
//!
//! Left out: CXL.io's share of the wire, hardware interleaving over several expanders, the time that idle flits in progress make others wait (a flit at most),
//! QoS telemetry, ordering of accesses to one line, room for answers at an expander: those that wait there for a credit are as many as there are
//! requests, whose own buffers are free when the memory has served them.

mod audit;
mod direction;
mod expander;
mod resources;

use crate::config::{CxlLinkConfig, FabricConfig, LinkConfig};
use crate::errors::Watch;
use crate::event::Event;
use crate::fabric::Fabric;
use crate::ports::{CxlMem, LineAccess};
use crate::slots::Slots;
use crate::wire::WireTiming;
use crate::workload::{DeviceId, Direction as AccessDirection, WorkloadEvent, WorkloadId};
use direction::{Direction, Next, Timing};
use expander::{Answer, Expander};
use lanewise_cxl::Flit;
use lanewise_cxl::message::{Class, Way};
use lanewise_units::{Span, Time};

/// Something that comes to an end of a direction, in the order in which it does at one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CxlStep {
    /// What a direction owes the other end may have waited long enough.
    Flush(Place),
    /// The oldest flit on its way in a direction is there.
    Arrive(Place),
    /// A message has left its buffer at the end of a direction.
    Served(Place, Class),
}

impl CxlStep {
    /// Its kind, then its direction: `event.rs` orders by it.
    pub(crate) fn number(self) -> u32 {
        let (kind, place) = match self {
            Self::Flush(place) => (0, place),
            Self::Arrive(place) => (1, place),
            Self::Served(place, class) => (2 + class as u32, place),
        };
        kind << Place::BITS | place.number()
    }

    /// The one with this number.
    pub(crate) fn of(number: u32) -> Self {
        let place = Place::of(number & ((1 << Place::BITS) - 1));
        match number >> Place::BITS {
            0 => Self::Flush(place),
            1 => Self::Arrive(place),
            kind => Self::Served(place, Class::ALL[kind as usize - 2]),
        }
    }
}

/// One way of one link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) link: u16,
    pub(crate) way: Way,
}

impl Place {
    /// Bits of a number.
    const BITS: u32 = 17;

    /// Links in order, each downstream first.
    pub(crate) fn number(self) -> u32 {
        u32::from(self.link) << 1 | self.way as u32
    }

    /// The one with this number.
    pub(crate) fn of(number: u32) -> Self {
        Self { link: (number >> 1) as u16, way: Way::ALL[(number & 1) as usize] }
    }

    /// The other way of the link.
    fn back(self) -> Self {
        Self { way: self.way.back(), ..self }
    }
}

/// A line that is under way.
#[derive(Clone, Copy, Debug)]
struct Line {
    workload: WorkloadId,
    token: u64,
    expander: u16,
    access: LineAccess,
}

impl Line {
    /// The class of its message one way or the other.
    fn class(&self, way: Way) -> Class {
        match (self.access.direction, way) {
            (AccessDirection::Read, Way::M2s) | (AccessDirection::Write, Way::S2m) => Class::Plain,
            (AccessDirection::Read, Way::S2m) | (AccessDirection::Write, Way::M2s) => Class::Data,
        }
    }
}

/// A link, both ways, and where it is.
struct Link {
    ways: [Direction; 2],
    /// Device at its lower end.
    lower: usize,
    /// The link above, if its upper end is at a switch.
    above: Option<u16>,
    /// From a message's arrival at that switch to when it may leave.
    latency_above: Span,
}

/// All of CXL.mem.
pub(crate) struct Cxl {
    links: Vec<Link>,
    expanders: Vec<Expander>,
    lines: Slots<Line>,
    /// Expander of each device that is one.
    of_device: Vec<Option<u16>>,
    /// Steps and sends that are due.
    due: u32,
}

impl Cxl {
    /// At rest; none for a configuration without expanders.
    pub(crate) fn build(config: &FabricConfig, fabric: &Fabric) -> Option<Box<Self>> {
        let cxl = &config.cxl;
        if cxl.expanders.is_empty() {
            return None;
        }
        let link_above = |device: usize| {
            let is_above = |known: &CxlLinkConfig| config.links[known.link].lower.0 == device;
            cxl.links.iter().position(is_above).map(|link| link as u16)
        };
        let links = cxl.links.iter().map(|link| {
            let plain = &config.links[link.link];
            let of = |end: (usize, usize)| fabric.device_ports[end.0][end.1];
            let latency = |end| fabric.ports[of(end).index()].settings.receive_latency;
            let timing = WireTiming::new(plain);
            let way = |way, receiver, faults| {
                Direction::new(
                    way,
                    link,
                    &Timing::new(&timing, plain.mode, latency(receiver)),
                    faults,
                    config,
                )
            };
            let latency_above = cxl.switches.iter().find(|(device, _)| *device == plain.upper.0);
            Link {
                ways: [
                    way(Way::M2s, plain.lower, &plain.faults_downstream),
                    way(Way::S2m, plain.upper, &plain.faults_upstream),
                ],
                lower: plain.lower.0,
                above: link_above(plain.upper.0),
                latency_above: latency_above.map_or(Span::ZERO, |(_, latency)| *latency),
            }
        });
        let links: Vec<Link> = links.collect();
        let mut of_device = vec![None; config.devices.len()];
        let mut expanders = Vec::new();
        for expander in &cxl.expanders {
            of_device[expander.device] = Some(expanders.len() as u16);
            let mut path: Vec<u16> =
                std::iter::successors(link_above(expander.device), |link| links[usize::from(*link)].above)
                    .collect();
            path.reverse();
            assert!(!path.is_empty(), "{} has no link for CXL.mem", config.devices[expander.device].name);
            expanders.push(Expander::new(expander, path));
        }
        Some(Box::new(Self { links, expanders, lines: Slots::default(), of_device, due: 0 }))
    }

    /// Lines that are under way.
    pub(crate) fn open(&self) -> usize {
        self.lines.taken()
    }

    /// Whether anything of it is due: flits on a wire, or requests in a memory.
    pub(crate) fn is_moving(&self) -> bool {
        self.due > 0
    }

    /// Lines of a device that are under way.
    pub(crate) fn open_at(&self, device: usize) -> u32 {
        self.of_device[device].map_or(0, |expander| self.expanders[usize::from(expander)].open)
    }

    /// Bits of a link are wrong at other rates from now on.
    pub(crate) fn take_error_rates(&mut self, plain: &LinkConfig) {
        for link in self.links.iter_mut().filter(|link| link.lower == plain.lower.0) {
            let [m2s, s2m] = &mut link.ways;
            m2s.take_bit_error_rate(plain.faults_downstream.bit_error_rate);
            s2m.take_bit_error_rate(plain.faults_upstream.bit_error_rate);
        }
    }

    fn way(&mut self, place: Place) -> &mut Direction {
        &mut self.links[usize::from(place.link)].ways[place.way as usize]
    }

    /// A direction, and the one that comes back.
    fn pair(&mut self, place: Place) -> (&mut Direction, &mut Direction) {
        let [m2s, s2m] = &mut self.links[usize::from(place.link)].ways;
        match place.way {
            Way::M2s => (m2s, s2m),
            Way::S2m => (s2m, m2s),
        }
    }
}

impl CxlMem for Fabric {
    fn line(&mut self, device: DeviceId, access: LineAccess, token: u64) {
        let workload = self.current;
        let core_latency = self.core_latency(device.0 as usize);
        let cxl = self.cxl.as_mut().expect("the fabric has memory expanders");
        let expander = cxl.of_device[device.0 as usize].expect("the device is a memory expander");
        let line = Line { workload, token, expander, access };
        let number = cxl.lines.insert(line);
        let expander = &mut cxl.expanders[usize::from(expander)];
        expander.open += 1;
        let first = Place { link: expander.path[0], way: Way::M2s };
        self.watch_at(self.now() + core_latency, Watch::CxlQueue(first, number));
    }
}

impl Fabric {
    fn cxl(&mut self) -> &mut Cxl {
        self.cxl.as_mut().expect("steps are of memory expanders")
    }

    /// Between the cores and the root ports of the host above a device.
    fn core_latency(&self, device: usize) -> Span {
        self.root_complexes[self.devices[device].root_complex as usize].config.core_latency
    }

    fn cxl_due(&mut self, at: Time, event: Event) {
        self.cxl().due += 1;
        self.engine.schedule(at, event.pack());
    }

    /// A message joins the queue of a direction.
    pub(crate) fn cxl_queues(&mut self, place: Place, number: u32) {
        let now = self.now();
        let class = self.cxl().lines.get(number).class(place.way);
        self.cxl().way(place).queue(number, class, now);
        self.cxl_may_send(place);
    }

    /// Something has come to an end of a direction.
    pub(crate) fn on_cxl(&mut self, step: CxlStep) {
        let now = self.now();
        self.cxl().due -= 1;
        match step {
            CxlStep::Flush(place) => match self.cxl().way(place).receiver.flush_due(now) {
                Some(at) => self.cxl_due(at, Event::Cxl(step)),
                None => self.cxl_may_send(place.back()),
            },
            CxlStep::Arrive(place) => self.cxl_arrives(place, now),
            CxlStep::Served(place, class) => self.cxl_frees(place, class, now),
        }
    }

    /// A direction whose wire is free decides what it sends when all that comes in at this instant is in.
    fn cxl_may_send(&mut self, place: Place) {
        let (sender, owing) = self.cxl().pair(place);
        if !sender.is_armed && sender.has_something(owing) {
            sender.is_armed = true;
            self.cxl_due(self.now(), Event::CxlSend(place));
        }
    }

    /// A direction sends what it can.
    pub(crate) fn cxl_sends(&mut self, place: Place) {
        let now = self.now();
        self.cxl().due -= 1;
        let (sender, owing) = self.cxl().pair(place);
        let next = sender.next(owing, now);
        sender.is_armed = next != Next::Nothing;
        match next {
            Next::Nothing => {}
            Next::At(at) => self.cxl_due(at, Event::CxlSend(place)),
            Next::Sent { arrives, free_at, flit } => {
                self.cxl_due(arrives, Event::Cxl(CxlStep::Arrive(place)));
                self.cxl_due(free_at, Event::CxlSend(place));
                let slots = flit.as_ref().map_or(0, Flit::slots_used);
                self.observers.cxl_flit_sent(now, place.link, place.way as u8, slots);
                for number in flit.iter().flat_map(Flit::ends) {
                    self.cxl_leaves(place, *number, free_at);
                }
                // What one flit cannot say goes with the next, or waits for its own time.
                let back = place.back();
                if let Some(at) = self.cxl().way(back).receiver.must_flush_at(now) {
                    self.cxl_due(at, Event::Cxl(CxlStep::Flush(back)));
                }
            }
        }
    }

    /// A message will have left whole: if a switch passes it on, it is out of the buffer that it came in by then.
    fn cxl_leaves(&mut self, place: Place, number: u32, at: Time) {
        let cxl = self.cxl();
        let line = *cxl.lines.get(number);
        let path = &cxl.expanders[usize::from(line.expander)].path;
        let here = path.iter().position(|link| *link == place.link).expect("it is on its path");
        let before = match place.way {
            Way::M2s => here.checked_sub(1).map(|before| path[before]),
            Way::S2m => path.get(here + 1).copied(),
        };
        if let Some(link) = before {
            let before = Place { link, ..place };
            self.cxl_due(at, Event::Cxl(CxlStep::Served(before, line.class(place.way))));
        }
    }

    /// A buffer at the end of a direction is free again.
    fn cxl_frees(&mut self, place: Place, class: Class, now: Time) {
        let owing = &mut self.cxl().way(place).receiver;
        owing.free(class);
        if let Some(at) = owing.must_flush_at(now) {
            self.cxl_due(at, Event::Cxl(CxlStep::Flush(place)));
        }
    }

    /// A flit is at the far end of a direction.
    fn cxl_arrives(&mut self, place: Place, now: Time) {
        let (direction, back) = self.cxl().pair(place);
        match direction.receive(back, now) {
            Some(sent) => {
                if let Some(at) = direction.receiver.must_flush_at(now) {
                    self.cxl_due(at, Event::Cxl(CxlStep::Flush(place)));
                }
                for number in sent.ends() {
                    self.cxl_message(place, *number, now);
                }
            }
            // A Nak may have been in it, and is lost.
            None => self.cxl_may_send(place),
        }
        self.cxl_may_send(place.back());
    }

    /// A message is there with its last byte.
    fn cxl_message(&mut self, place: Place, number: u32, now: Time) {
        let cxl = self.cxl();
        let line = *cxl.lines.get(number);
        let link = &cxl.links[usize::from(place.link)];
        let (above, latency_above, lower) = (link.above, link.latency_above, link.lower);
        match place.way {
            Way::M2s => match cxl.of_device[lower] {
                Some(expander) => self.cxl_asked(place, expander, number, &line, now),
                None => {
                    // A switch: the next link of the path.
                    let path = &cxl.expanders[usize::from(line.expander)].path;
                    let at = path.iter().position(|link| *link == place.link).expect("it is on its path");
                    let next = path[at + 1];
                    let latency = cxl.links[usize::from(next)].latency_above;
                    let next = Place { link: next, way: Way::M2s };
                    self.watch_at(now + latency, Watch::CxlQueue(next, number));
                }
            },
            Way::S2m => match above {
                Some(link) => {
                    let next = Place { link, way: Way::S2m };
                    self.watch_at(now + latency_above, Watch::CxlQueue(next, number));
                }
                None => {
                    // The host has kept room for the answer since it asked.
                    self.cxl_frees(place, line.class(Way::S2m), now);
                    self.cxl_done(number, &line);
                }
            },
        }
    }

    /// A request is at its expander.
    fn cxl_asked(&mut self, place: Place, expander: u16, number: u32, line: &Line, now: Time) {
        let Answer { served, answered } = self.cxl().expanders[usize::from(expander)].serve(line.access, now);
        self.cxl_due(served, Event::Cxl(CxlStep::Served(place, line.class(Way::M2s))));
        self.watch_at(answered, Watch::CxlQueue(place.back(), number));
    }

    /// A line is done at the root port: its core has it after the way through the processor.
    fn cxl_done(&mut self, number: u32, line: &Line) {
        let cxl = self.cxl();
        cxl.lines.take(number);
        let expander = &mut cxl.expanders[usize::from(line.expander)];
        expander.open -= 1;
        let device = expander.device;
        let core_latency = self.core_latency(device);
        self.notify(line.workload, WorkloadEvent::LineDone { token: line.token }, core_latency);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::behind_switch;
    use crate::cxl::audit::tests::{asked_for, asked_for_at_once};
    use lanewise_units::{Generation, Width};

    /// Of a 68 B flit two slots hold requests: three flits, of which none is half empty because one request came first.
    #[test]
    fn requests_of_one_instant_share_flits() {
        let before_the_first_answer = Span::from_ns(95);
        let simulation = asked_for_at_once(vec![AccessDirection::Read; 6], before_the_first_answer);
        let cxl = simulation.fabric.cxl.as_ref().expect("an expander");
        assert_eq!(cxl.links[0].ways[Way::M2s as usize].book.served, 3);
    }

    /// A flit gives back a power of two: of seven credits four when they have waited for the flush, two 32 ns later, one 64 ns later.
    #[test]
    fn credits_that_one_flit_cannot_give_back_follow_it() {
        let mut simulation = asked_for_at_once(vec![AccessDirection::Read; 7], Span::from_ns(1));
        let mut given = Vec::new();
        let (mut at, mut before) = (simulation.fabric.now(), 0);
        while given.iter().map(|(_, credits)| credits).sum::<u32>() < 7 {
            at += Span::from_ticks(lanewise_units::TICKS_PER_NS / 8);
            assert!(at < Time::ZERO + Span::from_us(1), "{given:?}");
            simulation.run_until(at, u64::MAX);
            let owed =
                simulation.fabric.cxl().links[0].ways[Way::S2m as usize].receiver.owed[Class::Data as usize];
            if owed < before {
                given.push((at, before - owed));
            }
            before = owed;
        }
        let [(first, 4), (second, 2), (third, 1)] = given[..] else { panic!("{given:?}") };
        assert_eq!([second - first, third - second], [Span::from_ns(32); 2], "{given:?}");
    }

    /// Six requests of one instant, two of them in each flit: two wait for a flit and two for two of them.
    #[test]
    fn every_message_of_a_flit_has_waited() {
        let simulation = asked_for_at_once(vec![AccessDirection::Read; 6], Span::from_ns(95));
        let m2s = &simulation.fabric.cxl.as_ref().expect("an expander").links[0].ways[Way::M2s as usize];
        let half_of_three_flits = m2s.book_at(simulation.fabric.now()).busy;
        assert_eq!(m2s.book.waited, half_of_three_flits * 4);
    }

    /// The buffer of an answer in a switch is free when its last flit has left the switch, and not while that is on the wire.
    #[test]
    fn a_switch_keeps_a_message_until_its_last_flit_has_left() {
        let config = behind_switch(Generation::Gen5, Width::X4, Width::X8, 1, 256);
        let mut simulation = asked_for(config, vec![AccessDirection::Read], Span::from_ns(1));
        let mut at = simulation.fabric.now();
        let links = loop {
            at += Span::from_ticks(lanewise_units::TICKS_PER_NS / 8);
            simulation.run_until(at, u64::MAX);
            let links = &simulation.fabric.cxl.as_ref().expect("an expander").links;
            if links[1].ways[Way::S2m as usize].receiver.freed[Class::Data as usize] > 0 {
                break links;
            }
        };
        let above = &links[0].ways[Way::S2m as usize];
        assert!(above.book.served >= 2, "a header and three chunks, and the last chunk");
        assert!(
            above.free_at() <= at,
            "the last flit is on the wire until {:?}, now {at:?}",
            above.free_at()
        );
    }
}
