//! What a port does with its wire, and what it does with what arrives.
//!
//! Order on a free wire: ordered sets, Nak, Ack, UpdateFC, replays, new TLPs; nothing is interrupted (PCIe Base 6.3 §3.6.2.1,
//! docs/explanation/data-link.md).

use super::agenda::{Event, rank};
use super::channel::Channel;
use super::port::{Allowance, Dllp, Kept, Phase};
use super::record::Sent;
use super::switch::Switch;
use super::system::{Kind, System};
use super::tlp::{Arrival, Fate, Tlp};
use lanewise_pcie::dllp::{DLLP_BYTES, INIT_FLOW_CONTROL_INTERVAL};
use lanewise_units::{Bytes, Span, Time};

/// Framing, sequence number and LCRC of a TLP (PCIe Base 6.3 §3.6.2.1, §4.2.2.3).
pub const FRAMING: u64 = 8;

impl System {
    /// A port decides what its transmitter sends, if its wire is free.
    ///
    /// The wire is free when no packet is on it: ordered sets that are due, or under way, go first, and what is decided follows
    /// them. A TLP may be decided on at the very instant at which DLLPs are put on the wire; it then follows them at once.
    pub fn look(&mut self, port: usize) {
        let now = self.now;
        self.ports[port].wire.send_skips(now);
        if !self.may_commit(port) {
            return;
        }
        self.send_due_dllps(port);
        let was_active = self.ports[port].phase == Phase::Active;
        self.read_dllps(port);
        if !was_active {
            self.send_due_dllps(port); // What was owed before it came up.
        }
        if self.ports[port].wire.down_until > now {
            return; // The link went into Recovery.
        }
        if !self.may_use_wire(port) {
            return;
        }
        match self.ports[port].phase {
            Phase::Active if self.ports[port].replay_from.is_some() => match self.ports[port].flits {
                Some(_) => self.replay_flit(port),
                None => self.replay_next(port),
            },
            Phase::Active => {
                match self.ports[port].flits {
                    Some(_) => self.send_flit(port),
                    None => self.send_next(port),
                }
                self.plan_look(port);
            }
            Phase::Init1 | Phase::Init2 => self.initialise(port),
        }
    }

    /// Whether no packet is on the wire that was put there before this instant, nor a TLP at all.
    fn may_commit(&self, port: usize) -> bool {
        let (own, now) = (&self.ports[port], self.now);
        own.wire.packet_end <= now || own.dllps_begun == now && own.tlp_begun != now
    }

    /// Whether the link is awake. It wakes if there is something to send, or a link below has called it.
    fn may_use_wire(&mut self, port: usize) -> bool {
        let own = &mut self.ports[port];
        let is_called = own.called_at <= self.now;
        if is_called {
            own.called_at = Time::NEVER;
        }
        let wants = is_called || own.replay_from.is_some() || self.wants(port);
        !wants || self.is_awake(port, true)
    }

    /// Has a port look again when the first TLP of a class may leave, if that is later than now.
    fn plan_look(&mut self, port: usize) {
        let (now, end) = (self.now, self.ports[port].wire.packet_end);
        if let Some(next) =
            self.ports[port].heads().map(|head| head.ready).filter(|ready| *ready > now && *ready > end).min()
        {
            self.look_at(port, next);
        }
    }

    /// Puts the DLLPs that are due on a free wire.
    pub fn send_due_dllps(&mut self, port: usize) {
        let now = self.now;
        let own = &mut self.ports[port];
        if own.phase != Phase::Active || own.wire.packet_end > now {
            return;
        }
        if self.ports[port].flits.is_some() {
            return self.send_due_dllp_in_flit(port);
        }
        let own = &self.ports[port];
        if own.dllp_due() <= now && !self.is_awake_for_dllps(port) {
            return self.plan_dllps(port);
        }
        let own = &mut self.ports[port];
        if let Some(at) = own.nak
            && at <= now
        {
            own.nak = None;
            (own.unacknowledged, own.ack_due) = (0, Time::NEVER);
            let checked = own.checked;
            self.send_dllp(port, Dllp::Nak(checked));
        }
        let own = &mut self.ports[port];
        if own.ack_due <= now {
            (own.unacknowledged, own.ack_due) = (0, Time::NEVER);
            let checked = own.checked;
            self.send_dllp(port, Dllp::Ack(checked));
        }
        for (channel, class) in self.ports[port].channels_and_classes() {
            let own = &mut self.ports[port];
            let buffer = &mut own.channels[channel].buffers[class];
            if buffer.update_due <= now {
                buffer.told(now, &own.config);
                let limits = buffer.limits();
                self.send_dllp(port, Dllp::Update { channel, class, limits });
            }
        }
        self.plan_dllps(port);
    }

    /// A flit has room for one UpdateFC: that which has been due for longest.
    fn send_due_dllp_in_flit(&mut self, port: usize) {
        let (now, own) = (self.now, &mut self.ports[port]);
        let has_room = own.flits.as_ref().is_some_and(|flits| flits.dllps_from <= now);
        let buffers = &own.channels[0].buffers;
        let class = (0..3).min_by_key(|class| buffers[*class].update_due).expect("there are three");
        if has_room && buffers[class].update_due <= now {
            let buffer = &mut own.channels[0].buffers[class];
            buffer.told(now, &own.config);
            let limits = buffer.limits();
            self.send_dllp_in_flit(port, Dllp::Update { channel: 0, class, limits });
        }
        self.plan_dllps(port);
    }

    /// Has a port look for DLLPs when the next one is due.
    pub fn plan_dllps(&mut self, port: usize) {
        let due = self.ports[port].dllp_due();
        if due != Time::NEVER {
            let room_at = self.ports[port].flits.as_ref().map_or(Time::ZERO, |flits| flits.dllps_from);
            self.agenda.add(due.max(room_at).max(self.now), rank::DLLPS, Event::DllpDue { port });
        }
    }

    fn send_dllp(&mut self, port: usize, dllp: Dllp) {
        if self.ports[port].flits.is_some() {
            return self.send_dllp_in_flit(port, dllp);
        }
        let now = self.now;
        let own = &mut self.ports[port];
        let span = own.wire.span(DLLP_BYTES.get());
        let start = own.wire.begin(now, span);
        own.dllps_begun = now;
        let what = if matches!(dllp, Dllp::Nak(_)) { Sent::Nak } else { Sent::Dllp };
        self.record.sent(port, start, what, span);
        let lost = own.faults.as_mut().is_some_and(|faults| faults.of_dllp());
        let (peer, at_pins) = (own.peer, start + span + own.wire.propagation);
        self.wire_is_free_at(port, start + span);
        if !lost {
            let at = at_pins + self.ports[peer].config.receive_latency;
            let life = self.ports[peer].lives;
            self.agenda.add(at, rank::FACTS, Event::DllpArrives { port: peer, dllp, life });
            self.agenda.add(at, rank::LOOKS, Event::Look { port: peer });
        }
    }

    pub fn wire_is_free_at(&mut self, port: usize, at: Time) {
        self.agenda.add(at, rank::DLLPS, Event::DllpDue { port });
        self.agenda.add(at, rank::LOOKS, Event::Look { port });
    }

    /// Acts on the DLLPs that have arrived: a port does so when it looks, so not while a packet of its own is on the wire.
    fn read_dllps(&mut self, port: usize) {
        while let Some((at, dllp)) = self.ports[port].inbox.pop_front() {
            self.read_dllp(port, at, dllp);
        }
    }

    /// The same for those of a link that is up, before a Nak.
    pub fn read_acknowledgements(&mut self, port: usize) {
        while let (Phase::Active, Some((at, dllp))) =
            (self.ports[port].phase, self.ports[port].inbox.front().copied())
            && !matches!(dllp, Dllp::Nak(_))
        {
            self.ports[port].inbox.pop_front();
            self.read_dllp(port, at, dllp);
        }
    }

    fn read_dllp(&mut self, port: usize, at: Time, dllp: Dllp) {
        let phase = self.ports[port].phase;
        match dllp {
            Dllp::Update { channel, class, limits } => {
                self.ports[port].channels[channel].credits[class].update(limits);
                self.peer_is_initialised(port);
            }
            Dllp::Ack(count) => self.acknowledged(port, count, at),
            Dllp::Nak(count) => {
                self.acknowledged(port, count, at);
                self.start_replay(port);
            }
            Dllp::Init1 { channel, class, limits } | Dllp::Init2 { channel, class, limits }
                if phase == Phase::Init1 =>
            {
                let own = &mut self.ports[port];
                let Channel { heard, credits, .. } = &mut own.channels[channel];
                if !heard[class] {
                    (heard[class], credits[class]) = (true, Allowance::of(limits));
                }
                if own.channels.iter().all(|channel| channel.heard == [true; 3]) {
                    (own.phase, own.init_due) = (Phase::Init2, self.now);
                }
            }
            Dllp::Init1 { .. } => {}
            Dllp::Init2 { .. } => self.peer_is_initialised(port),
        }
    }

    /// The peer has left FC_INIT1: this ends FC_INIT2 (PCIe Base 6.3 §3.4.1).
    fn peer_is_initialised(&mut self, port: usize) {
        if self.ports[port].phase != Phase::Init2 {
            return;
        }
        if self.ports[port].init_due <= self.now {
            self.initialise(port); // The peer still waits for the InitFC2 of this side.
        }
        let own = &mut self.ports[port];
        (own.phase, own.silent_from) = (Phase::Active, self.now);
        let buffers = own.channels.iter_mut().flat_map(|channel| &mut channel.buffers);
        for buffer in buffers.filter(|buffer| !buffer.is_infinite()) {
            buffer.update_due = buffer.update_due.min(self.now + own.config.update_flow_control.period);
        }
        self.plan_dllps(port);
    }

    /// Sends the InitFC triplet of the present phase: on entry, and every 34 us (PCIe Base 6.3 §3.4.1).
    fn initialise(&mut self, port: usize) {
        if self.ports[port].init_due > self.now {
            return;
        }
        let again = self.now + INIT_FLOW_CONTROL_INTERVAL;
        self.ports[port].init_due = again;
        for (channel, class) in self.ports[port].channels_and_classes() {
            let limits = self.ports[port].channels[channel].buffers[class].limits();
            let dllp = match self.ports[port].phase {
                Phase::Init1 => Dllp::Init1 { channel, class, limits },
                Phase::Init2 | Phase::Active => Dllp::Init2 { channel, class, limits },
            };
            self.send_dllp(port, dllp);
        }
        self.look_at(port, again);
    }

    fn acknowledged(&mut self, port: usize, count: u64, at: Time) {
        let own = &mut self.ports[port];
        if !own.forget_before(count) {
            return;
        }
        own.replays = 0;
        let first = own.oldest_kept();
        own.replay_from = own.replay_from.and_then(|next| first.map(|first| next.max(first)));
        let held_until = self.ports[port].wire.recovered;
        self.ports[port].acknowledged_at = at.max(held_until);
        // A replay that began after that, for a Nak that waited for the wire, has started the timer later.
        let of_replay = self.ports[port].replay_began;
        self.restart_replay_timer(port, at.max(held_until).max(of_replay));
    }

    /// The replay timer runs from then on. In Recovery it is held (PCIe Base 6.3 §3.6.2.1).
    pub fn restart_replay_timer(&mut self, port: usize, from: Time) {
        let own = &mut self.ports[port];
        own.replay_deadline = from.max(own.wire.recovered) + own.config.replay_timer;
        let at = own.replay_deadline.max(self.now);
        self.agenda.add(at, rank::REPLAY_TIMERS, Event::ReplayTimer { port });
    }

    /// The replay timer may have run out. Acks that have come are read; a Nak that has come starts a replay itself once the wire is free.
    pub fn on_replay_timer(&mut self, port: usize) {
        if self.ports[port].replay_deadline > self.now {
            return;
        }
        let wire_is_free = self.may_commit(port);
        let inbox = &self.ports[port].inbox;
        let nak = inbox.iter().position(|(_, dllp)| matches!(dllp, Dllp::Nak(_))).filter(|_| !wire_is_free);
        let later = nak.map(|place| self.ports[port].inbox.split_off(place));
        self.read_dllps(port);
        if let Some(later) = later {
            self.ports[port].inbox.extend(later);
            let at = self.ports[port].wire.packet_end;
            return self.agenda.add(at, rank::REPLAY_TIMERS, Event::ReplayTimer { port });
        }
        let own = &self.ports[port];
        if own.replay_deadline <= self.now && own.oldest_kept().is_some() {
            self.start_replay(port);
        }
    }

    /// Sends everything again that was not acknowledged; on the fourth time without progress (in flits from Gen6 on the eighth), behind
    /// Recovery (PCIe Base 6.3 §3.6.2.1, §4.2.3.4.2.1.7).
    fn start_replay(&mut self, port: usize) {
        let own = &mut self.ports[port];
        let Some(first) = own.oldest_kept() else { return };
        own.replay_from = Some(first);
        own.replay_began = self.now;
        own.replays += 1;
        if own.replays == own.flits.as_ref().map_or(4, |flits| flits.replays) {
            own.replays = 0;
            self.retrain(port);
        } else {
            self.restart_replay_timer(port, self.now);
        }
        self.look_at(port, self.now);
    }

    /// The timer starts when the link is up again; that of a TLP that is still on the wire, at its end (PCIe Base 6.3 §3.6.2.1).
    fn hold_replay_timer(&mut self, port: usize, until: Time) {
        let own = &self.ports[port];
        let runs = own.replay_deadline != Time::NEVER;
        let of_wire = own.replay_deadline - own.config.replay_timer;
        self.restart_replay_timer(port, if runs { until.max(of_wire) } else { until });
    }

    /// Takes both directions of a link through Recovery; the replay timers are held meanwhile.
    fn retrain(&mut self, port: usize) {
        let until = self.now + self.ports[port].wire.recovery;
        for port in [port, self.ports[port].peer] {
            self.send_due_dllps(port);
            self.ports[port].wire.go_down(self.now, until);
            let next = self.ports[port].wire.next_skip;
            self.agenda.add(next, rank::FACTS, Event::SkipDue { port });
            self.hold_replay_timer(port, until);
            self.wire_is_free_at(port, self.ports[port].wire.packet_end);
        }
    }

    fn replay_next(&mut self, port: usize) {
        let own = &mut self.ports[port];
        let sequence = own.replay_from.expect("a replay is under way");
        let kept = own.kept.iter().find(|kept| kept.sequence == sequence).expect("not acknowledged").clone();
        own.replay_from = own.kept.iter().map(|kept| kept.sequence).find(|next| *next > sequence);
        // A tick less on x12, where the first transmission rounds its parts.
        let span = own.wire.span(kept.tlp.bytes() + FRAMING);
        self.put_on_wire(port, kept.tlp, sequence, span, Sent::Replay, false);
        self.restart_replay_timer(port, self.now);
    }

    /// Sends the next TLP for the first time, if any may go.
    fn send_next(&mut self, port: usize) {
        let tlp = self.choose(port);
        let waits = tlp.is_none() && self.is_held_up(port);
        self.ports[port].note_wait(waits, self.now);
        let Some(tlp) = tlp else { return };
        let own = &mut self.ports[port];
        // On x12 each part is rounded up to a tick.
        let parts = [tlp.payload(), tlp.header, FRAMING].map(|bytes| own.wire.span(bytes));
        let span = parts.into_iter().sum();
        let sequence = own.next_sequence;
        if tlp.nullified.is_some() {
            return self.put_on_wire(port, tlp, sequence, span, Sent::Replay, true);
        }
        own.next_sequence += 1;
        let channel = own.channel_of(&tlp);
        own.channels[channel].credits[tlp.class()].consume(tlp.credits());
        own.turns.served(channel, own.channels.len());
        own.kept.push_back(Kept { sequence, tlp: tlp.clone() });
        let is_only = own.kept.len() == 1;
        let [payload, header, framing] = parts;
        let what = Sent::Tlp { sequence: (sequence % 4096) as u16, payload, header, framing };
        self.put_on_wire(port, tlp.clone(), sequence, span, what, false);
        let end = self.ports[port].wire.end;
        if is_only {
            self.restart_replay_timer(port, end);
        }
        if let Some(ingress) = tlp.came_in {
            self.has_left(port, ingress, &tlp, end);
        }
        let device = self.ports[port].device;
        if matches!(self.devices[device].kind, Kind::Endpoint(_)) && tlp.class() != super::tlp::COMPLETION {
            self.refill(device);
        }
    }

    /// A TLP leaves, and will arrive.
    fn put_on_wire(&mut self, port: usize, tlp: Tlp, sequence: u64, span: Span, what: Sent, nullified: bool) {
        let own = &mut self.ports[port];
        let start = own.wire.begin(self.now, span);
        own.tlp_begun = self.now;
        let fate = own.faults.as_mut().map_or(Fate::Good, |faults| faults.of_tlp(tlp.bytes() + FRAMING));
        let fate = if nullified { Fate::Nullified } else { fate };
        self.record.sent(port, start, what, span);
        let (peer, head) = (own.peer, start + own.wire.propagation);
        self.wire_is_free_at(port, start + span);
        let checked = head + span + self.ports[peer].config.receive_latency;
        let mut arrival = Arrival { tlp, sequence, fate, checked, eligible: checked };
        let device = self.ports[peer].device;
        if let Kind::Switch(_) = self.devices[device].kind {
            let egress = self.egress(device, peer, &arrival.tlp);
            if fate != Fate::Misframed {
                let span_out = self.ports[egress].wire.tlp_span(arrival.tlp.bytes() + FRAMING);
                arrival.eligible = self.switch(device).eligible_at(head, checked, span, span_out);
            }
            let (at, eligible) = (arrival.eligible.min(checked), arrival.eligible);
            let rank = self.rank_of_arrivals(peer);
            self.agenda.add(at, rank, Event::Arrives { port: peer, arrival: Box::new(arrival) });
            self.agenda.add(eligible, rank::LOOKS, Event::Look { port: egress });
        } else {
            let rank = self.rank_of_arrivals(peer);
            self.agenda.add(checked, rank, Event::Arrives { port: peer, arrival: Box::new(arrival) });
        }
    }

    /// Where in an instant a port takes in what arrives.
    pub fn rank_of_arrivals(&self, port: usize) -> u8 {
        let own = &self.ports[port];
        let ahead = |switch: &Switch| switch.config.storage == [Bytes::ZERO; 3];
        let is_ahead = matches!(&self.devices[own.device].kind, Kind::Switch(switch) if ahead(switch));
        if is_ahead && own.error_free { rank::SWITCH_TAKES } else { rank::ARRIVALS }
    }

    /// A TLP arrives: at a cut-through switch when it may be forwarded, elsewhere when it has been checked.
    pub fn take_in(&mut self, port: usize, arrival: Arrival) {
        let now = self.now;
        self.send_due_dllps(port);
        let own = &mut self.ports[port];
        let is_good = arrival.fate == Fate::Good;
        if arrival.fate == Fate::Nullified {
        } else if is_good && arrival.sequence == own.expected {
            own.expected += 1;
            own.nak_scheduled = false;
            if arrival.checked == now {
                own.count_checked(now);
            } else {
                self.agenda.add(arrival.checked, rank::FACTS, Event::Checked { port });
            }
            let own = &mut self.ports[port];
            let channel = own.channel_of(&arrival.tlp);
            own.channels[channel].buffers[arrival.tlp.class()].fill(arrival.tlp.credits(), now);
            self.plan_dllps(port);
            self.hand_over(port, arrival);
        } else if is_good && arrival.sequence < own.expected {
            let rank = self.rank_of_arrivals(port);
            self.agenda.add(arrival.checked, rank, Event::DuplicateChecked { port });
        } else if !own.nak_scheduled {
            own.nak_scheduled = true;
            own.nak = Some(arrival.checked);
            self.plan_dllps(port);
            // The header said whether it was the next one: others are not forwarded.
            if now < arrival.checked && arrival.sequence == self.ports[port].expected {
                self.forward_nullified(port, &arrival);
            }
            if arrival.fate == Fate::Misframed {
                self.retrain(port);
            }
        } else if arrival.fate == Fate::Misframed {
            self.retrain(port);
        }
    }

    pub fn hand_over(&mut self, port: usize, arrival: Arrival) {
        let device = self.ports[port].device;
        match self.devices[device].kind {
            Kind::Switch(_) => self.switch_takes(device, port, arrival),
            Kind::Host(_) => self.host_takes(device, port, arrival.tlp),
            Kind::Endpoint(_) => self.endpoint_takes(device, port, arrival.tlp),
        }
    }
}
