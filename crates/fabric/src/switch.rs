//! Switches: virtual output queues at each ingress, a core that joins the ports, arbitration at each egress.
//!
//! An egress pulls: when its wire is free it takes the next packet straight out of an ingress buffer, whose credits
//! are free again once the tail has left. Packets leave unmodified (PCIe Base 6.3 §2.4.1 forbids splitting and
//! merging). Left out: virtual channels other than VC0, multicast, egress buffers beyond the retry buffer.

use crate::choose::pick;
use crate::config::{Arbitration, Forwarding, SwitchConfig, SwitchCore};
use crate::packet::{Address, ClassQueues, Flags, PacketId, PacketPool};
use crate::port::{Answers, Port, PortId, PortSettings, Wait};

use crate::routing::Routes;
use lanewise_observe::Use;
use lanewise_pcie::flow_control::Credits;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Bytes, Time};
use std::sync::Arc;

/// Most ports a switch may have: one bit each in a word.
pub const MAX_SWITCH_PORTS: usize = 128;

/// Ingress ports with something for one egress: a bit each, by class.
#[derive(Clone, Copy, Default)]
struct Waiting([u128; 3]);

impl Waiting {
    #[inline(always)]
    fn of_any_class(&self) -> u128 {
        self.0[0] | self.0[1] | self.0[2]
    }

    /// Those that have something of a class that is not `exhausted`.
    fn beside(&self, exhausted: [bool; 3]) -> u128 {
        let of_class = |class: usize| if exhausted[class] { 0 } else { self.0[class] };
        of_class(0) | of_class(1) | of_class(2)
    }
}

/// What arbitration keeps of one egress, in one cache line.
#[repr(align(64))]
struct Egress {
    /// By class, which ingress ports have something for it.
    waiting: Waiting,
    port: PortId,
    /// Where arbitration looks first.
    turn: u8,
    /// How many packets that ingress may still send in its turn.
    left: u8,
}

/// One switch. Port 0 faces upstream.
pub(crate) struct Switch {
    pub(crate) config: SwitchConfig,
    pub(crate) ports: Vec<PortId>,
    pub(crate) routes: Routes,
    /// Settings of each port, so that looking ahead to an egress does not touch the port itself.
    pub(crate) settings: Vec<Arc<PortSettings>>,
    /// Queues of packets that came in at one port and leave at another: `egress × ports + ingress`.
    queues: Vec<ClassQueues>,
    egresses: Vec<Egress>,
    /// A nullified copy has been queued at some time: those need no credits.
    pub(crate) has_nullified: bool,
    /// Crossbar: each ingress feeds one egress at a time.
    ingress_free_at: Vec<Time>,
    /// Shared bus or memory: one transfer at a time.
    core_free_at: Time,
}

impl Switch {
    pub(crate) fn new(config: SwitchConfig, ports: Vec<PortId>, routes: Routes) -> Self {
        let count = ports.len();
        assert!(count <= MAX_SWITCH_PORTS, "checked when the fabric was built");
        let egress = |&port| Egress { waiting: Waiting::default(), port, turn: 0, left: 1 };
        Self {
            config,
            egresses: ports.iter().map(egress).collect(),
            ports,
            routes,
            settings: Vec::new(),
            queues: vec![ClassQueues::default(); count * count],
            has_nullified: false,
            ingress_free_at: vec![Time::ZERO; count],
            core_free_at: Time::ZERO,
        }
    }

    /// The port at this index.
    #[inline(always)]
    pub(crate) fn port(&self, egress: u16) -> PortId {
        self.egresses[usize::from(egress)].port
    }

    /// Egress for a packet that came in at `ingress`.
    #[inline(always)]
    pub(crate) fn egress(&self, destination: Address, ingress: u16) -> u16 {
        match self.routes.port_to(destination) {
            Some(port) if ingress == 0 || !self.config.acs_redirect => port,
            _ => 0,
        }
    }

    /// When forwarding of a packet may start: `head` is its first byte in, `tail` its last byte checked.
    ///
    /// Cut-through waits for the header and the core's latency, and longer when a faster egress would run dry:
    /// the last byte must be in before it is due out (wait = P × (1/R_in − 1/R_out)).
    #[inline(always)]
    pub(crate) fn eligible_at(&self, head: Time, tail: Time, egress: u16, bytes: Bytes) -> Time {
        match self.config.forwarding {
            Forwarding::StoreAndForward => tail + self.config.latency,
            Forwarding::CutThrough => {
                let span = self.settings[usize::from(egress)].wire.span(bytes);
                let never_dry = Time::from_ticks(tail.ticks().saturating_sub(span.ticks()));
                (head + self.config.latency).max(never_dry)
            }
        }
    }

    /// Takes in a packet. A shared memory first writes it.
    ///
    /// Returns when it may leave, unless it waits behind another of its class: then the egress knows of that one.
    #[inline(always)]
    pub(crate) fn enqueue(
        &mut self,
        packets: &mut PacketPool,
        id: PacketId,
        ingress: u16,
        egress: u16,
    ) -> Option<Time> {
        if let SwitchCore::SharedMemory { rate } = self.config.core {
            let packet = &mut packets[id];
            let bytes = packet.tlp_bytes();
            self.core_free_at = self.core_free_at.max(packet.eligible_at) + rate.span_ceil(bytes);
            packet.eligible_at = self.core_free_at;
        }
        let slot = usize::from(egress) * self.ports.len() + usize::from(ingress);
        let first = self.queues[slot].push(packets, id);
        self.egresses[usize::from(egress)].waiting.0[packets[id].class() as usize] |= 1 << ingress;
        first.then(|| packets[id].eligible_at)
    }

    /// Whether packets wait that came in at `port` or will leave through it.
    pub(crate) fn has_packets_between(&self, port: u16) -> bool {
        let through_it = self.egresses[usize::from(port)].waiting.of_any_class() != 0;
        through_it || self.egresses.iter().any(|egress| egress.waiting.of_any_class() >> port & 1 == 1)
    }

    /// Memory of the switch itself, its ports not counted, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let ports = self.ports.len();
        size_of::<Self>()
            + size_of_val(&*self.queues)
            + self.routes.heap_bytes()
            + ports * (size_of::<Egress>() + size_of::<Time>() + size_of::<usize>() + size_of::<PortId>())
    }

    /// The next packet for the wire of `port`, taken out of its queue; or why there is none.
    #[inline(always)]
    pub(crate) fn choose(&mut self, packets: &PacketPool, port: &Port, now: Time) -> Result<PacketId, Wait> {
        let egress = usize::from(port.index);
        let Egress { waiting, turn, .. } = &self.egresses[egress];
        let (waiting, turn) = (waiting.of_any_class(), *turn);
        if waiting == 0 {
            return Err(Wait::NOTHING);
        }
        let first = if self.config.arbitration == Arbitration::Strict { 0 } else { turn };
        // Ports from `first` up, then those below it.
        let from_first = waiting & (u128::MAX << first);
        let below_first = waiting ^ from_first;
        let candidate = if from_first != 0 { from_first } else { below_first }.trailing_zeros();
        let wait = match self.grant(candidate as usize, packets, port, now) {
            Ok(id) => return Ok(id),
            Err(wait) => wait,
        };
        if waiting & (waiting - 1) == 0 {
            return Err(wait);
        }
        let others = self.others(egress, port, wait) & !(1 << candidate);
        self.choose_among([from_first & others, below_first & others], wait, packets, port, now)
    }

    /// Ingress ports to look at after one that has to `wait`. Who has nothing but packets of a class without credits
    /// cannot go either.
    fn others(&self, egress: usize, port: &Port, wait: Wait) -> u128 {
        let exhausted = if self.has_nullified { [false; 3] } else { exhausted(port, wait) };
        self.egresses[egress].waiting.beside(exhausted)
    }

    /// [`Self::choose`] when the first ingress of the turn has nothing that may go: looks at the others.
    #[inline(never)]
    fn choose_among(
        &mut self,
        halves: [u128; 2],
        mut wait: Wait,
        packets: &PacketPool,
        port: &Port,
        now: Time,
    ) -> Result<PacketId, Wait> {
        for mut rest in halves {
            while rest != 0 {
                let ingress = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                match self.grant(ingress, packets, port, now) {
                    Ok(id) => return Ok(id),
                    Err(found) => wait = wait.or(found),
                }
            }
        }
        Err(wait)
    }

    /// Takes the next packet from `ingress` for the wire of `port`, if one may go and the core is free for it.
    #[inline(always)]
    fn grant(
        &mut self,
        ingress: usize,
        packets: &PacketPool,
        port: &Port,
        now: Time,
    ) -> Result<PacketId, Wait> {
        let egress = usize::from(port.index);
        let slot = egress * self.ports.len() + ingress;
        let class = pick(&self.queues[slot], packets, port, now)?;
        if let Some(until) = self.core_busy_until(ingress, now) {
            return Err(Wait { on: Use::BlockedCore, answers: Answers::NONE, until });
        }
        let id = self.queues[slot].pop(packets, class).expect("the head was there");
        self.granted(packets, id, ingress, slot, egress, now);
        Ok(id)
    }

    /// Until when the core keeps this ingress waiting.
    #[inline(always)]
    fn core_busy_until(&self, ingress: usize, now: Time) -> Option<Time> {
        let free_at = match self.config.core {
            SwitchCore::Crossbar { .. } => self.ingress_free_at[ingress],
            SwitchCore::SharedBus { .. } => self.core_free_at,
            SwitchCore::SharedMemory { .. } => return None, // Paid for when written and, below, when read.
        };
        (free_at > now).then_some(free_at)
    }

    /// Books the core for the packet and passes the turn on.
    #[inline(always)]
    fn granted(
        &mut self,
        packets: &PacketPool,
        id: PacketId,
        ingress: usize,
        slot: usize,
        egress: usize,
        now: Time,
    ) {
        let packet = &packets[id];
        let bytes = packet.tlp_bytes();
        match self.config.core {
            SwitchCore::Crossbar { port_rate } => {
                self.ingress_free_at[ingress] = now + port_rate.span_ceil(bytes)
            }
            SwitchCore::SharedBus { rate } => self.core_free_at = now + rate.span_ceil(bytes),
            SwitchCore::SharedMemory { rate } => {
                self.core_free_at = self.core_free_at.max(now) + rate.span_ceil(bytes);
            }
        }
        let class = packet.class();
        if self.queues[slot].head(class).is_none() {
            self.egresses[egress].waiting.0[class as usize] &= !(1 << ingress);
        }
        self.pass_the_turn(ingress, egress);
    }

    #[inline(always)]
    fn pass_the_turn(&mut self, served: usize, egress: usize) {
        let next = if served + 1 < self.ports.len() { served as u8 + 1 } else { 0 };
        let egress = &mut self.egresses[egress];
        let Arbitration::WeightedRoundRobin { weights } = &self.config.arbitration else {
            (egress.turn, egress.left) = (next, 1);
            return;
        };
        // An ingress out of turn was served because the others had nothing: its turn starts afresh.
        let left = if usize::from(egress.turn) == served { egress.left } else { weights[served] };
        (egress.turn, egress.left) = match left {
            0 | 1 => (next, weights[usize::from(next)]),
            _ => (served as u8, left - 1),
        };
    }

    /// What an egress waits for whose packets may not leave yet: a shared memory that writes them, or just for time to
    /// pass.
    pub(crate) fn silence(&self, now: Time) -> Use {
        match self.config.core {
            SwitchCore::SharedMemory { .. } if self.core_free_at > now => Use::BlockedCore,
            _ => Use::Idle,
        }
    }

    /// When something that waits for `egress` may leave, if anything does; not later than that.
    #[inline(always)]
    pub(crate) fn next_start(&self, packets: &PacketPool, egress: u16) -> Time {
        let egress = usize::from(egress);
        let waiting = self.egresses[egress].waiting.of_any_class();
        if waiting == 0 {
            return Time::NEVER;
        }
        if waiting & (waiting - 1) != 0 {
            return Time::ZERO; // Several ingress ports: arbitration will look.
        }
        let slot = egress * self.ports.len() + waiting.trailing_zeros() as usize;
        self.queues[slot].next_start(packets)
    }

    /// Takes out a nullified copy that has not started to leave when its damaged original ends.
    pub(crate) fn is_stale(packets: &PacketPool, id: PacketId, now: Time) -> bool {
        packets[id].flags.has(Flags::NULLIFIED) && packets[id].issued_at <= now
    }
}

/// Classes that a packet waits for credits of when the peer of `port` has none left for the smallest TLP of that class.
fn exhausted(port: &Port, wait: Wait) -> [bool; 3] {
    FlowClass::ALL.map(|class| {
        let smallest = Credits { header: 1, data: u16::from(class != FlowClass::NonPosted) };
        let awaited = wait.answers.include(Answers::update_of(class));
        awaited && port.credits[class as usize].gate(smallest).is_err()
    })
}
