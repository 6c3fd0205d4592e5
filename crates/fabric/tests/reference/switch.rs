//! A switch with a crossbar: virtual output queues at each ingress, arbitration at each egress and for each channel; and which of the TLPs that wait in
//! one place goes first.
//!
//! Rules: docs/explanation/switches.md and transaction.md ("Ordering"); PCIe Base 6.3 §2.4.1, Table 2-42.

use super::channel::{Queues, Turns};
use super::port::Port;
use super::storage::Room;
use super::system::{Kind, System};
use super::tlp::{Arrival, COMPLETION, Kind as TlpKind, NON_POSTED, POSTED, Tlp};
use lanewise_fabric::config::{Forwarding, SwitchConfig, SwitchCore};
use lanewise_pcie::flit::FLIT_BYTES;
use lanewise_pcie::ordering::{OrderingAttributes, OrderingClass, Passing, may_pass};
use lanewise_units::{Bytes, Span, Time};

/// A switch.
pub struct Switch {
    pub config: SwitchConfig,
    /// By egress, channel of the egress, and ingress.
    queues: Vec<Vec<Vec<Queues>>>,
    /// By egress and channel of the egress, which ingress is asked first.
    turns: Vec<Vec<Turns>>,
    /// By ingress, until when it feeds an egress.
    busy_until: Vec<Time>,
    /// By egress and class, room behind the credits.
    pub rooms: Vec<[Room; 3]>,
    /// By ingress, before when no non-posted request enters the core: request metering.
    opens_at: Vec<Time>,
}

impl Switch {
    /// A switch whose ports have so many channels each.
    pub fn new(config: &SwitchConfig, channels: &[usize]) -> Self {
        let ports = channels.len();
        let rows = |channels: &usize| vec![vec![Queues::default(); ports]; *channels];
        Self {
            config: config.clone(),
            queues: channels.iter().map(rows).collect(),
            turns: channels.iter().map(|channels| vec![Turns::new(&config.arbitration); *channels]).collect(),
            busy_until: vec![Time::ZERO; ports],
            rooms: vec![config.storage.map(|size| Room::new(size.get())); ports],
            opens_at: vec![Time::ZERO; ports],
        }
    }

    /// Whether something waits that came in at a port or is to leave through it; a nullified copy whose time is over never does.
    pub fn has_tlps_between(&self, port: usize, now: Time) -> bool {
        let waits = |egress: usize, ingress: usize| {
            let of_channels = self.queues[egress].iter().flat_map(|channel| &channel[ingress]);
            of_channels.into_iter().flatten().any(|tlp| tlp.nullified.is_none_or(|until| until > now))
        };
        (0..self.queues.len()).any(|other| waits(port, other) || waits(other, port))
    }

    /// When a TLP may be forwarded: store-and-forward, the latency after it has been checked; cut-through, the latency after its first
    /// byte, and later by what it leaves faster than it comes.
    pub fn eligible_at(&self, head: Time, checked: Time, span_in: Span, span_out: Span) -> Time {
        match self.config.forwarding {
            Forwarding::StoreAndForward => checked + self.config.latency,
            Forwarding::CutThrough => head + self.config.latency + span_in.saturating_sub(span_out),
        }
    }
}

impl System {
    /// The port of a switch or host that leads down to where a TLP goes: a completion by the bus of the function that it answers, a
    /// request by the windows of the ports (PCIe Base 6.3 §2.2.4, §7.5.1.3). None when it is not below.
    pub fn way_down(&self, device: usize, tlp: &Tlp) -> Option<usize> {
        let leads_down = |port: &usize| {
            let bridge = self.machines.port(device, *port);
            match (tlp.kind, tlp.to) {
                (TlpKind::Completion, to) => {
                    to.is_some_and(|to| bridge.leads_to(self.machines.port(to, 0).bus))
                }
                (TlpKind::Write | TlpKind::Read, _) => bridge.forwards(tlp.address),
            }
        };
        let first = usize::from(matches!(self.devices[device].kind, Kind::Switch(_)));
        (first..self.devices[device].ports.len()).find(leads_down)
    }

    /// The egress port of a TLP that came in at `ingress`.
    pub fn egress(&self, device: usize, ingress: usize, tlp: &Tlp) -> usize {
        let Kind::Switch(switch) = &self.devices[device].kind else { panic!("device {device} is no switch") };
        let from_above = self.ports[ingress].number == 0;
        let down = self.way_down(device, tlp).filter(|_| from_above || !switch.config.acs_redirect);
        self.devices[device].ports[down.unwrap_or(0)]
    }

    /// A TLP that was accepted waits for its egress.
    pub fn switch_takes(&mut self, device: usize, port: usize, arrival: Arrival) {
        let egress = self.egress(device, port, &arrival.tlp);
        let order = self.next_order();
        let tlp = Tlp { ready: arrival.eligible, came_in: Some(port), nullified: None, order, ..arrival.tlp };
        self.enqueue(device, port, egress, tlp.clone());
        self.store(egress, &tlp);
    }

    /// A TLP that turned out bad has begun to leave, or may before it is known to be bad: the copy will be nullified.
    pub fn forward_nullified(&mut self, port: usize, arrival: &Arrival) {
        let device = self.ports[port].device;
        let Kind::Switch(_) = self.devices[device].kind else { return };
        let egress = self.egress(device, port, &arrival.tlp);
        if self.ports[egress].flits.is_some() {
            return; // Nullified TLPs are left out of Flit Mode.
        }
        let order = self.next_order();
        let nullified = Some(arrival.checked);
        let tlp = Tlp { ready: self.now, came_in: None, nullified, order, ..arrival.tlp.clone() };
        self.enqueue(device, port, egress, tlp);
        self.look_at(egress, arrival.checked); // If it waits for the core, one behind it may lack credits alone from then on.
    }

    fn enqueue(&mut self, device: usize, port: usize, egress: usize, tlp: Tlp) {
        let (ready, class, channel) = (tlp.ready, tlp.class(), self.ports[egress].channel_of(&tlp));
        let (to, from) = (self.ports[egress].number, self.ports[port].number);
        self.switch(device).queues[to][channel][from][class].push_back(tlp);
        self.look_at(egress, ready);
    }

    /// Takes the next TLP that may leave through `port` out of its queue, if any may: of the first channel in turn that has one.
    pub fn choose(&mut self, port: usize) -> Option<Tlp> {
        self.drop_stale(port);
        let own = &self.ports[port];
        let count = own.channels.len();
        let mut order = own.turns.order(count, (0..count).rev()).into_iter();
        order.find_map(|channel| self.choose_on(port, channel))
    }

    /// Whether a TLP waits for the wire of a port: it may go as soon as the link is awake, or lacks credits or room.
    pub fn wants(&mut self, port: usize) -> bool {
        self.drop_stale(port);
        let mut places = self.places(port).into_iter();
        places.any(|(pick, core_is_free)| pick == Pick::HeldUp || pick != Pick::Nothing && core_is_free)
    }

    /// Whether a TLP lacks nothing but credits or room in the retry buffer of a port.
    pub fn is_held_up(&self, port: usize) -> bool {
        self.places(port).into_iter().any(|(pick, _)| pick == Pick::HeldUp)
    }

    /// Of each place in which TLPs wait for a port, what may go, and whether the core is free for it.
    fn places(&self, port: usize) -> Vec<(Pick, bool)> {
        let (own, now) = (&self.ports[port], self.now);
        let of_channel = |channel: usize| match &self.devices[own.device].kind {
            Kind::Switch(switch) => {
                let row = switch.queues[own.number][channel].iter().enumerate();
                let of_ingress = |(ingress, queues)| {
                    let opens_at = switch.opens_at[ingress];
                    (
                        pick(queues, own, channel, now, opens_at),
                        switch.busy_until[ingress] <= now + asked_ahead(own),
                    )
                };
                row.map(of_ingress).collect()
            }
            _ => vec![(pick(&own.channels[channel].queues, own, channel, now, Time::ZERO), true)],
        };
        (0..own.channels.len()).flat_map(of_channel).collect()
    }

    /// Takes out nullified copies whose time is over.
    fn drop_stale(&mut self, port: usize) {
        let (now, own) = (self.now, &self.ports[port]);
        let Kind::Switch(switch) = &mut self.devices[own.device].kind else { return };
        for queue in switch.queues[own.number].iter_mut().flatten().flatten() {
            while queue.front().and_then(|tlp| tlp.nullified).is_some_and(|until| until <= now) {
                queue.pop_front();
            }
        }
    }

    fn choose_on(&mut self, port: usize, channel: usize) -> Option<Tlp> {
        let now = self.now;
        let own = &self.ports[port];
        let ahead = asked_ahead(own);
        let (device, number) = (own.device, own.number);
        let Kind::Switch(switch) = &mut self.devices[device].kind else {
            let queues = &own.channels[channel].queues;
            let of_all = || pick(queues, own, channel, now, Time::ZERO);
            let mut requests = queues.clone();
            requests[COMPLETION].clear();
            // After a completion it is the turn of a request, which may pass completions.
            let picked = match pick(&requests, own, channel, now, Time::ZERO) {
                Pick::Goes(class) if own.requests_turn => Pick::Goes(class),
                _ => of_all(),
            };
            let Pick::Goes(class) = picked else { return None };
            let is_host = matches!(self.devices[device].kind, Kind::Host(_));
            let own = &mut self.ports[port];
            own.requests_turn = is_host && class == COMPLETION;
            return own.channels[channel].queues[class].pop_front();
        };
        let row = &mut switch.queues[number][channel];
        let count = row.len();
        let mut until = Time::NEVER;
        for ingress in switch.turns[number][channel].order(count, 0..count) {
            let opens_at = switch.opens_at[ingress];
            let Pick::Goes(class) = pick(&row[ingress], own, channel, now, opens_at) else { continue };
            if switch.busy_until[ingress] > now + ahead {
                until = until.min(switch.busy_until[ingress] - ahead);
                continue;
            }
            let tlp = row[ingress][class].pop_front()?;
            let SwitchCore::Crossbar { port_rate } = switch.config.core else {
                unreachable!("others are refused")
            };
            switch.busy_until[ingress] =
                switch.busy_until[ingress].max(now) + port_rate.span_ceil(Bytes::new(tlp.bytes()));
            switch.turns[number][channel].served(ingress, count);
            if class == NON_POSTED && tlp.nullified.is_none() {
                self.meter(device, ingress, &tlp);
            }
            return Some(tlp);
        }
        if until != Time::NEVER {
            self.look_at(port, until); // When the core is free for one that waits.
        }
        None
    }
}

impl System {
    /// A request enters the core: the next from its ingress waits until its completions, of the size that is expected, have had time
    /// on the link to the requester. Data count in data credits; the header is of 3 DW.
    fn meter(&mut self, device: usize, ingress: usize, request: &Tlp) {
        let Some(expected) = self.switch(device).config.request_metering else { return };
        let wire = &self.ports[self.devices[device].ports[ingress]].wire;
        let data = (request.address % 4 + request.length).div_ceil(4).div_ceil(4) * 16;
        let header = if wire.is_in_flits { 12 } else { 12 + 8 };
        let opens_at = self.now + wire.tlp_span(data + header * data.div_ceil(expected.get()).max(1));
        self.switch(device).opens_at[ingress] = opens_at;
        for egress in self.devices[device].ports.clone() {
            self.look_at(egress, self.now); // What lacked nothing but credits now waits for this.
            self.look_at(egress, opens_at);
        }
    }
}

/// How long before its bytes have come through the core a TLP may be laid into a flit: the time of one.
fn asked_ahead(egress: &Port) -> Span {
    if egress.flits.is_some() { egress.wire.span(FLIT_BYTES.get()) } else { Span::ZERO }
}

/// What may go of the TLPs that wait in one place for a channel.
#[derive(PartialEq, Eq)]
enum Pick {
    /// The first of this class.
    Goes(usize),
    /// Nothing, and something lacks nothing but credits or room in the retry buffer.
    HeldUp,
    Nothing,
}

/// The class of the TLP that goes next on a channel: the oldest that may pass everything older, has credits and room in the retry
/// buffer. No non-posted request goes before `opens_at`.
fn pick(queues: &Queues, port: &Port, channel: usize, now: Time, opens_at: Time) -> Pick {
    let mut heads: Vec<&Tlp> = queues.iter().filter_map(|queue| queue.front()).collect();
    heads.sort_by_key(|tlp| tlp.order);
    let may_go = |tlp: &Tlp| {
        let nullified = tlp.nullified.is_some(); // It takes no credits and is not kept.
        let allowed =
            port.channels[channel].credits[tlp.class()].allows(tlp.credits()) && port.has_room_for(tlp);
        nullified || allowed
    };
    let passes_older = |tlp: &Tlp| {
        let others = (0..3).filter(|class| *class != tlp.class());
        others.flat_map(|class| &queues[class]).all(|older| older.order > tlp.order || passes(tlp, older))
    };
    let may_enter = |tlp: &Tlp| tlp.class() != NON_POSTED || opens_at <= now;
    heads.retain(|tlp| tlp.ready <= now && may_enter(tlp) && passes_older(tlp));
    match heads.iter().find(|tlp| may_go(tlp)) {
        Some(tlp) => Pick::Goes(tlp.class()),
        None if heads.is_empty() => Pick::Nothing,
        None => Pick::HeldUp,
    }
}

/// Whether a TLP may pass an older one of another class: PCIe Base 6.3 Table 2-42.
fn passes(tlp: &Tlp, older: &Tlp) -> bool {
    let class = |of: &Tlp| match of.class() {
        POSTED => OrderingClass::Posted,
        NON_POSTED => OrderingClass::ReadRequest,
        COMPLETION => OrderingClass::Completion,
        _ => unreachable!("there are three"),
    };
    let attributes = OrderingAttributes {
        relaxed: tlp.relaxed,
        id_based: tlp.id_ordered,
        other_source: tlp.from != older.from,
        ..OrderingAttributes::default()
    };
    may_pass(class(tlp), attributes, class(older)) != Passing::No
}
