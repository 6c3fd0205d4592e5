//! Devices that are taken away while nothing of theirs is under way, and brought back.
//!
//! Rules: `crates/fabric/src/hot_plug.rs`; PCIe Base 6.3 §3.2.1, §3.4. When its link comes up again, everything about it is as at the start but
//! the symbols, which are counted on.

use super::agenda::{Event, rank};
use super::channel::Channel;
use super::port::{Phase, Port};
use super::system::{Kind, System};
use super::tlp::Arrival;
use lanewise_fabric::Fabric;
use lanewise_fabric::ports::{HotPlug, Timers};
use lanewise_fabric::workload::{DeviceId, Workload, WorkloadEvent};
use lanewise_units::Time;
use std::collections::BTreeSet;

/// A device is taken away, if it is at rest, or brought back, if it is away.
#[derive(Clone, Copy, Debug)]
pub struct Plug {
    pub at: Time,
    pub device: usize,
    pub away: bool,
}

impl Port {
    /// Everything that was agreed with the peer is forgotten, and nothing is sent.
    fn go_down(&mut self, now: Time) {
        let pools = [self.config.credits].into_iter().chain(self.config.more_credits.iter().copied());
        self.channels = pools.map(|pools| Channel::new(&self.config, pools)).collect();
        (self.phase, self.init_due) = (Phase::Init1, Time::NEVER);
        (self.next_sequence, self.expected) = (0, 0);
        (self.nak_scheduled, self.nak) = (false, None);
        (self.checked, self.unacknowledged, self.ack_due) = (0, 0, Time::NEVER);
        (self.replays, self.replay_deadline) = (0, Time::NEVER);
        (self.waits, self.acknowledged_at) = (false, Time::ZERO);
        self.wire.stop(now);
        self.inbox.clear();
        self.lives += 1; // What is on its way belongs to the life before, as does what arrived and was not read.
    }
}

impl System {
    /// The port of an endpoint, and that above it.
    fn ends(&self, device: usize) -> [usize; 2] {
        let lower = self.devices[device].ports[0];
        [lower, self.ports[lower].peer]
    }

    pub fn on_plug(&mut self, plug: usize) {
        let (now, Plug { device, away, .. }) = (self.now, self.plugs[plug]);
        let ends = self.ends(device);
        if away && !self.is_away.contains(&device) && self.is_at_rest(device) {
            self.is_away.insert(device);
            ends.into_iter().for_each(|port| self.ports[port].go_down(now));
        } else if !away && self.is_away.remove(&device) {
            for port in ends {
                self.ports[port].init_due = now;
                let first = self.ports[port].wire.start(now);
                self.agenda.add(first, rank::FACTS, Event::SkipDue { port });
                self.look_at(port, now);
            }
        }
    }

    /// Whether it asks for nothing, nothing waits for its link or is on it, and nothing that came over it takes up space. Ports read
    /// for that what it does not matter when they read: what comes before a Nak on a link that is up.
    fn is_at_rest(&mut self, device: usize) -> bool {
        let ends = self.ends(device);
        ends.into_iter().for_each(|port| self.send_due_dllps(port));
        ends.into_iter().for_each(|port| self.read_acknowledgements(port));
        let is_under_way = |event: &Event| match event {
            Event::Arrives { port, arrival } => {
                ends.contains(port) || self.waits_already(*port, arrival, ends[1])
            }
            _ => false,
        };
        let is_quiet = |port: &Port| {
            let mut channels = port.channels.iter();
            port.kept.is_empty()
                && port.heads().next().is_none()
                && channels.all(|channel| channel.buffers.iter().all(|buffer| buffer.is_empty()))
        };
        let Kind::Endpoint(endpoint) = &self.devices[device].kind else {
            panic!("device {device} is no endpoint")
        };
        endpoint.asks_for_nothing()
            && !self.waits_in_switch(ends[1])
            && !self.agenda.holds(is_under_way)
            && ends.into_iter().all(|port| is_quiet(&self.ports[port]))
    }

    /// Whether a TLP waits in a switch that came in at a port or is to leave through it.
    fn waits_in_switch(&self, port: usize) -> bool {
        let own = &self.ports[port];
        let Kind::Switch(switch) = &self.devices[own.device].kind else { return false };
        switch.has_tlps_between(own.number, self.now)
    }

    /// Whether a TLP on its way to a switch port is sure to arrive, and waits for `egress` already; one that came before is a duplicate,
    /// and waits for nothing.
    fn waits_already(&self, port: usize, arrival: &Arrival, egress: usize) -> bool {
        let own = &self.ports[port];
        self.rank_of_arrivals(port) == rank::SWITCH_TAKES
            && arrival.sequence >= own.expected
            && self.egress(own.device, port, &arrival.tlp) == egress
    }
}

/// Does the same in the fabric, and asks it beside that whether devices are at rest.
pub struct Plugs {
    plugs: Vec<Plug>,
    questions: Vec<(Time, Vec<usize>)>,
    is_away: BTreeSet<usize>,
}

impl Plugs {
    pub fn new(plugs: Vec<Plug>, questions: Vec<(Time, Vec<usize>)>) -> Self {
        Self { plugs, questions, is_away: BTreeSet::new() }
    }
}

impl Workload for Plugs {
    fn start(&mut self, fabric: &mut Fabric) {
        let times = self.plugs.iter().map(|plug| plug.at).chain(self.questions.iter().map(|(at, _)| *at));
        for (token, at) in (0..).zip(times) {
            fabric.set_timer(at, token);
        }
    }

    fn handle(&mut self, event: WorkloadEvent, fabric: &mut Fabric) {
        let WorkloadEvent::Timer { token } = event else { panic!("nobody asked") };
        let Some(Plug { device, away, .. }) = self.plugs.get(token as usize).copied() else {
            let (_, devices) = &self.questions[token as usize - self.plugs.len()];
            return devices.iter().for_each(|device| _ = fabric.is_at_rest(DeviceId(*device as u32)));
        };
        let id = DeviceId(device as u32);
        if away && !self.is_away.contains(&device) && fabric.is_at_rest(id) {
            self.is_away.insert(device);
            fabric.disconnect(id);
        } else if !away && self.is_away.remove(&device) {
            fabric.connect(id);
        }
    }
}
