//! The standard set of observers, and the seam for more.

use crate::attribution::{DirectionCount, RestTicks};
use crate::holds::Holds;
use crate::level::LevelTally;
use crate::{
    Cause, DirectionTally, Fact, Fingerprint, FlowId, FlowSpec, FlowTally, HeldUp, Level, RequesterState,
    TransactionError, Use, WaitingTlp, WireFact,
};
use lanewise_units::{Few, Span, Time};

mod lent;

pub use lent::{Owners, Shells, Tallies};

/// Anything that wants to hear every fact: a trace, a checker.
pub trait Observer {
    /// Whether it wants every fact, or only those about wires, errors of links and requests that are complete.
    fn hears_every_fact(&self) -> bool {
        true
    }

    /// Called for each fact with its time. Facts of one port come in order of time; one port may be behind another, up
    /// to the end of a call that runs the simulation.
    fn observe(&mut self, now: Time, fact: &Fact);

    /// Called for each thing on a wire and for each port that is held up, with the time at which that is known; in order like facts.
    fn observe_wire(&mut self, _now: Time, _fact: &WireFact) {}
}

/// Counters of one port, as its error and activity registers would show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// TLPs sent for the first time.
    pub tlps_sent: u64,
    /// DLLPs sent.
    pub dllps_sent: u64,
    /// What went wrong.
    pub errors: LinkErrors,
}

/// Errors of the data link layer that one port found, and what it did about them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkErrors {
    /// TLPs or flits received with a bad LCRC or CRC.
    pub bad_tlps: u32,
    /// DLLPs received with a bad CRC.
    pub bad_dllps: u32,
    /// Naks sent.
    pub naks_sent: u32,
    /// Duplicates discarded.
    pub duplicates: u32,
    /// Replays started.
    pub replays: u32,
    /// Of these, by the replay timer.
    pub replay_timeouts: u32,
    /// REPLAY_NUM rollovers.
    pub rollovers: u32,
    /// Nullified TLPs dropped.
    pub nullified: u32,
}

/// Time per state of one requester; those of the fabric's own are in the first cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct RequesterTally {
    since: Time,
    state: RequesterState,
    ticks: [u64; RequesterState::COUNT],
}

/// What is kept of one port, in cache lines by what happens together: what a busy direction sends; what it waits for;
/// half a line for each ingress buffer.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
struct PortTally {
    direction: DirectionCount,
    window_start: Time,
    buffers: [LevelTally; 3],
}

/// Everything that watches a run.
#[derive(Default)]
pub struct Observers {
    ports: Vec<PortTally>,
    /// Of each port what is rare; empty while nothing went wrong. TLPs and DLLPs are counted with what happens at the same time.
    error_counters: Vec<LinkErrors>,
    /// Of each port, the time of uses that few links have; empty while none has.
    rests: Vec<RestTicks>,
    flows: Vec<FlowTally>,
    requesters: Vec<RequesterTally>,
    fingerprint: Fingerprint,
    tlp_hops: u64,
    request_ticks: u64,
    errors: Few<(u32, TransactionError), u64>,
    /// What is held up, as listeners were told.
    held: Holds,
    /// More observers; each costs a call per fact.
    more: Vec<Box<dyn Observer>>,
    /// One of them wants every fact.
    every_fact_is_heard: bool,
}

impl Observers {
    /// Observers for so many ports and endpoints.
    pub fn new(ports: usize, endpoints: usize) -> Self {
        let requester = RequesterTally {
            state: RequesterState::NothingAsked,
            since: Time::ZERO,
            ticks: [0; RequesterState::COUNT],
        };
        Self {
            ports: vec![PortTally::default(); ports],
            requesters: vec![requester; endpoints],
            ..Self::default()
        }
    }

    /// Memory that watching one port takes, in bytes.
    pub const BYTES_PER_PORT: usize = size_of::<PortTally>();

    /// Adds a flow; its identifier counts up from zero.
    pub fn add_flow(&mut self, spec: FlowSpec) -> FlowId {
        self.flows.push(FlowTally::new(spec));
        FlowId(self.flows.len() as u32 - 1)
    }

    /// Adds an observer that hears what is stated from now on.
    pub fn add(&mut self, observer: Box<dyn Observer>) {
        self.every_fact_is_heard |= observer.hears_every_fact();
        self.held.of_ports(self.ports.len());
        self.more.push(observer);
    }

    /// Whether there are listeners beside this. What only they want to know is stated only then.
    #[inline(always)]
    pub fn are_heard(&self) -> bool {
        !self.more.is_empty()
    }

    /// Tells the listeners.
    #[inline(always)]
    pub fn tell(&mut self, now: Time, fact: &WireFact) {
        for observer in &mut self.more {
            observer.observe_wire(now, fact);
        }
    }

    /// The same where it is rare, out of the way of what is not.
    #[cold]
    #[inline(never)]
    pub fn tell_rarely(&mut self, now: Time, fact: &WireFact) {
        self.tell(now, fact);
    }

    /// A packet at a port is held up from `since` on, as is known at `now`; listeners are told if that is new.
    #[inline(always)]
    pub fn held_up(
        &mut self,
        now: Time,
        port: u32,
        (whom, by): (HeldUp, Cause),
        since: Time,
        waiting: impl FnOnce() -> Option<WaitingTlp>,
    ) {
        if self.held.by(port, whom) != Some(by) {
            self.hold_up(now, port, (whom, by), since, waiting());
        }
    }

    #[cold]
    #[inline(never)]
    fn hold_up(
        &mut self,
        now: Time,
        port: u32,
        (whom, by): (HeldUp, Cause),
        since: Time,
        waiting: Option<WaitingTlp>,
    ) {
        self.let_go(now, port, whom, since);
        self.held.add(port, whom, by, since, waiting);
        self.tell(now, &WireFact::Blocked { port, whom, by, since, waiting });
    }

    /// A packet at a port is held up no longer, from `until` on.
    #[inline(always)]
    pub fn let_go(&mut self, now: Time, port: u32, whom: HeldUp, until: Time) {
        if self.held.by(port, whom).is_some() {
            self.let_go_of(now, port, whom, until);
        }
    }

    #[cold]
    #[inline(never)]
    fn let_go_of(&mut self, now: Time, port: u32, whom: HeldUp, until: Time) {
        if let Some((by, since, waiting)) = self.held.remove(port, whom) {
            let until = until.max(since);
            self.tell(now, &WireFact::Unblocked { port, whom, by, since, until, waiting });
        }
    }

    /// Whether a packet is held up at a port, as listeners were told.
    #[inline(always)]
    pub fn anybody_held_up(&self, port: u32) -> bool {
        self.held.any(port)
    }

    /// When a port was last looked at for [`Self::held_up`]; `at` is the time of this look.
    #[inline(always)]
    pub fn looks_for_holds(&mut self, port: u32, at: Time) -> Time {
        self.held.look(port, at)
    }

    /// Takes in one fact.
    #[inline(always)]
    pub fn observe(&mut self, now: Time, fact: Fact) {
        let is_heard = if fact.is_for_traces() { self.are_heard() } else { self.every_fact_is_heard };
        if is_heard {
            self.tell_the_others(now, fact);
        }
        match fact {
            Fact::TlpSent { port, sequence, payload, header, framing } => {
                let tally = &mut self.ports[port as usize];
                tally.direction.spend(Use::Payload, payload);
                tally.direction.spend(Use::Header, header);
                tally.direction.spend(Use::Framing, framing);
                tally.direction.tlps_sent += 1;
                self.tlp_hops += 1;
                self.fingerprint.mix(now, u64::from(port) << 12 | u64::from(sequence));
            }
            Fact::Spent { port, on, span } => match on.place_of_rest() {
                None => self.ports[port as usize].direction.spend(on, span),
                Some(place) => self.rest(port, place, span),
            },
            Fact::DllpSent { port } => {
                self.ports[port as usize].direction.dllps_sent += 1;
                self.fingerprint.mix(now, 1 << 62 | u64::from(port));
            }
            Fact::BadTlp { port, .. } => self.errors_of(port).bad_tlps += 1,
            Fact::BadDllp { port } => self.errors_of(port).bad_dllps += 1,
            Fact::NakSent { port } => self.errors_of(port).naks_sent += 1,
            Fact::Duplicate { port, .. } => self.errors_of(port).duplicates += 1,
            Fact::ReplayStarted { port, by_timer } => {
                self.errors_of(port).replays += 1;
                self.errors_of(port).replay_timeouts += u32::from(by_timer);
                self.fingerprint.mix(now, 1 << 63 | u64::from(port));
            }
            Fact::ReplayNumRollover { port } => self.errors_of(port).rollovers += 1,
            Fact::Nullified { port } => self.errors_of(port).nullified += 1,
            Fact::Delivered { flow, payload } => self.flows[flow.0 as usize].deliver(payload),
            Fact::RequestDone { flow, latency, .. } => {
                self.request_ticks = self.request_ticks.wrapping_add(latency.ticks());
                self.flows[flow.0 as usize].request_done(latency);
            }
            Fact::OperationDone { flow, latency } => self.flows[flow.0 as usize].operation_done(latency),
            Fact::BufferFilled { port, class, bytes, .. } => {
                self.ports[port as usize].buffers[class as usize].change(now, bytes, 0);
            }
            Fact::BufferFreed { port, class, bytes } => {
                self.ports[port as usize].buffers[class as usize].change(now, 0, bytes);
            }
            Fact::Error { port, error } => self.count_error(port, error),
            Fact::Requester { endpoint, state } => self.requesters[endpoint as usize].change(now, state),
        }
    }

    /// A flit of CXL.mem went onto a way of a link, with so many slots in use: part of the trajectory, and of nothing else here.
    pub fn cxl_flit_sent(&mut self, now: Time, link: u16, way: u8, slots: u32) {
        self.fingerprint.mix(now, 3 << 62 | u64::from(link) << 12 | u64::from(way) << 8 | u64::from(slots));
    }

    #[cold]
    fn rest(&mut self, port: u32, place: usize, span: Span) {
        self.rests.resize(self.ports.len(), RestTicks::default());
        self.rests[port as usize][place] += span.ticks();
    }

    #[cold]
    fn errors_of(&mut self, port: u32) -> &mut LinkErrors {
        self.error_counters.resize(self.ports.len(), LinkErrors::default());
        &mut self.error_counters[port as usize]
    }

    #[cold]
    fn count_error(&mut self, port: u32, error: TransactionError) {
        *self.errors.or_insert_with((port, error), || 0) += 1;
    }

    /// Errors of the transaction layer over the whole run: port that detected them, kind, number.
    pub fn errors(&self) -> impl Iterator<Item = (usize, TransactionError, u64)> {
        self.errors.iter().map(|((port, error), count)| (port as usize, error, *count))
    }

    #[cold]
    fn tell_the_others(&mut self, now: Time, fact: Fact) {
        for observer in &mut self.more {
            if fact.is_for_traces() || observer.hears_every_fact() {
                observer.observe(now, &fact);
            }
        }
    }

    /// The warm-up is over: tallies start again. `accounted_until` is, per port, how far its direction's time has
    /// been stated. Counters and fingerprint go on, since they describe the whole run.
    pub fn start_measuring(&mut self, now: Time, accounted_until: impl Iterator<Item = Time>) {
        for (tally, until) in self.ports.iter_mut().zip(accounted_until) {
            tally.direction.restart(until);
            tally.buffers.iter_mut().for_each(|level| level.restart(now));
            tally.window_start = now;
        }
        self.rests.fill(RestTicks::default());
        self.flows.iter_mut().for_each(FlowTally::restart);
        for requester in &mut self.requesters {
            requester.ticks = [0; RequesterState::COUNT];
            requester.since = now;
        }
    }

    /// Attribution of the direction that `port` transmits.
    pub fn direction(&self, port: usize) -> DirectionTally {
        let rest = self.rests.get(port).copied().unwrap_or_default();
        self.ports[port].direction.tally(&rest)
    }

    /// Counters of a port, over the whole run.
    pub fn counters(&self, port: usize) -> LinkCounters {
        let DirectionCount { tlps_sent, dllps_sent, .. } = self.ports[port].direction;
        LinkCounters {
            tlps_sent,
            dllps_sent,
            errors: self.error_counters.get(port).copied().unwrap_or_default(),
        }
    }

    /// Ingress buffer levels of a port, by class, in bytes.
    pub fn buffers(&self, port: usize) -> [Level; 3] {
        let tally = &self.ports[port];
        tally.buffers.map(|level| Level::new(level, tally.window_start))
    }

    /// Every flow.
    pub fn flows(&self) -> &[FlowTally] {
        &self.flows
    }

    /// Payload delivered by all flows in this window, in bytes.
    pub fn delivered(&self) -> u64 {
        self.flows.iter().map(|flow| flow.payload().get()).sum()
    }

    /// Time per state of an endpoint's requester, up to `now`.
    pub fn requester(&self, endpoint: usize, now: Time) -> [Span; RequesterState::COUNT] {
        let mut tally = self.requesters[endpoint];
        tally.change(now, tally.state);
        tally.ticks.map(Span::from_ticks)
    }

    /// TLPs sent over links, first transmissions only.
    pub fn tlp_hops(&self) -> u64 {
        self.tlp_hops
    }

    /// Latencies of all requests over the whole run, added up, in ticks modulo 2⁶⁴: for Little's law, which holds there, too.
    pub fn request_ticks(&self) -> u64 {
        self.request_ticks
    }

    /// Hash of the trajectory so far.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint.value()
    }
}

impl RequesterTally {
    #[inline]
    fn change(&mut self, now: Time, state: RequesterState) {
        self.ticks[self.state as usize] += (now - self.since).ticks();
        self.since = now;
        self.state = state;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn what_happens_together_shares_a_cache_line() {
        assert_eq!(size_of::<PortTally>(), 4 * 64);
        assert_eq!(offset_of!(PortTally, buffers) % 32, 0);
        assert_eq!(size_of::<LevelTally>(), 32);
    }
}
