//! Room behind the credits of a switch: at each egress, for each class.
//!
//! Rules: docs/explanation/switches.md ("Storage").

use super::flits::bytes_in_flits;
use super::link::FRAMING;
use super::system::{Kind, System};
use super::tlp::{NON_POSTED, Tlp};
use lanewise_units::Time;

/// Room for the TLPs of one class that leave through one egress.
#[derive(Clone, Debug)]
pub struct Room {
    size: u64,
    /// Those that have moved, or will for sure; with the time at which they have left, if they leave.
    inside: Vec<(Tlp, Option<Time>)>,
    /// Those without room, in the order in which they came; with the time from which they could have moved.
    outside: Vec<(Tlp, Time)>,
}

/// A header unit and data units of 16 B.
fn bytes(tlp: &Tlp) -> u64 {
    tlp.credits().iter().sum::<u64>() * 16
}

impl Room {
    pub fn new(size: u64) -> Self {
        Self { size, inside: Vec::new(), outside: Vec::new() }
    }

    /// Whether so many bytes are free at a time.
    fn has(&self, wanted: u64, at: Time) -> bool {
        let there = self.inside.iter().filter(|(_, left)| left.is_none_or(|left| left > at));
        there.map(|(tlp, _)| bytes(tlp)).sum::<u64>() + wanted <= self.size
    }

    /// TLPs that have or get room now, first come, first served, each with the time at which it moves: not
    /// before the one in front of it, which has gone by `after`.
    fn fill(&mut self, after: Time, now: Time) -> Vec<(Tlp, Time)> {
        self.inside.retain(|(_, left)| left.is_none_or(|left| left > now));
        let mut moved = Vec::new();
        while let Some((tlp, ready)) = self.outside.first().cloned() {
            let mut times: Vec<Time> = self.inside.iter().filter_map(|(_, left)| *left).collect();
            times.push(now);
            times.sort();
            let Some(at) = times.into_iter().find(|at| self.has(bytes(&tlp), *at)) else { break };
            self.outside.remove(0);
            self.inside.push((tlp.clone(), None));
            moved.push((tlp, at.max(ready).max(after)));
        }
        moved
    }
}

impl System {
    /// Which room a TLP takes at an egress, if it takes any. Requests that metering may hold back stay in front of the core.
    fn room(&mut self, egress: usize, tlp: &Tlp) -> Option<&mut Room> {
        let (device, number) = (self.ports[egress].device, self.ports[egress].number);
        let Kind::Switch(switch) = &mut self.devices[device].kind else { return None };
        let stays = tlp.class() == NON_POSTED && switch.config.request_metering.is_some();
        let room = &mut switch.rooms[number][tlp.class()];
        (room.size > 0 && !stays).then_some(room)
    }

    /// A TLP of a switch waits for an egress: it has moved when it would have left an idle one, or when there is room.
    pub fn store(&mut self, egress: usize, tlp: &Tlp) {
        let wire = &self.ports[egress].wire;
        let bytes = if wire.is_in_flits { bytes_in_flits(tlp) } else { tlp.bytes() + FRAMING };
        let ready = tlp.ready + wire.tlp_span(bytes);
        let Some(room) = self.room(egress, tlp) else { return };
        room.outside.push((tlp.clone(), ready));
        self.move_up(egress, tlp, self.now);
    }

    /// A TLP that came in at `ingress` will have left its device at `end`, through `port`.
    pub fn has_left(&mut self, port: usize, ingress: usize, tlp: &Tlp, end: Time) {
        let Some(room) = self.room(port, tlp) else { return self.free_at(ingress, tlp, end) };
        match room.inside.iter_mut().find(|(inside, _)| inside.order == tlp.order) {
            Some((_, left)) => *left = Some(end),
            None => {
                room.outside.retain(|(outside, _)| outside.order != tlp.order);
                self.free_at(ingress, tlp, end);
            }
        }
        self.move_up(port, tlp, end);
    }

    fn move_up(&mut self, egress: usize, like: &Tlp, after: Time) {
        let now = self.now;
        for (tlp, at) in self.room(egress, like).map(|room| room.fill(after, now)).unwrap_or_default() {
            self.free_at(tlp.came_in.expect("it came in at a port"), &tlp, at);
        }
    }
}
