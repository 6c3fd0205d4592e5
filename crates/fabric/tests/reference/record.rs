//! What was sent and what arrived, in the same words of the reference and of the fabric.

use lanewise_fabric::Fabric;
use lanewise_observe::{Fact, Observer, Use};
use lanewise_units::{Span, Time};
use std::cell::RefCell;
use std::rc::Rc;

/// What a direction of a link carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// A TLP, for the first time.
    Tlp {
        sequence: u16,
        payload: Span,
        header: Span,
        framing: Span,
    },
    /// A TLP out of the retry buffer, or one that was nullified.
    Replay,
    Dllp,
    Nak,
    /// A flit with TLPs in it, for the first time. TLPs and DLLPs have no time of their own there, nor has the Nak that one carries.
    Flit,
    /// Nothing: the direction wakes.
    Waking,
}

/// By port, what it sent: first tick on the wire, what, and for how long.
pub type Sendings = Vec<(Time, Sent, Span)>;

/// Everything that is compared.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub sent: Vec<Sendings>,
    /// By flow, when payload arrived, and bytes.
    pub delivered: Vec<Vec<(Time, u64)>>,
    /// By flow, when requests were complete, and their latency.
    pub done: Vec<Vec<(Time, Span)>>,
}

impl Record {
    pub fn new(ports: usize, flows: usize) -> Self {
        Self {
            sent: vec![Vec::new(); ports],
            delivered: vec![Vec::new(); flows],
            done: vec![Vec::new(); flows],
        }
    }

    pub fn sent(&mut self, port: usize, start: Time, what: Sent, span: Span) {
        self.sent[port].push((start, what, span));
    }

    pub fn delivered(&mut self, now: Time, flow: usize, bytes: u64) {
        self.delivered[flow].push((now, bytes));
    }

    pub fn request_done(&mut self, now: Time, flow: usize, latency: Span) {
        self.done[flow].push((now, latency));
    }
}

/// Listens to the fabric. Every tick of a direction is stated once and in order, so the sum of what was stated of a port before is
/// the first tick on the wire of what is stated next.
pub struct Listener {
    record: Rc<RefCell<Record>>,
    accounted: Vec<Time>,
    /// The next DLLP of a port is a Nak, and the last stretch that was stated of it began then.
    naks: Vec<bool>,
    dllps: Vec<(Time, Span)>,
    /// By port, in Flit Mode: whether it is, and when the flit that is being stated began.
    flits: Vec<bool>,
    flit: Vec<Option<Time>>,
}

impl Listener {
    /// Of a fabric in which the links of these ports are in Flit Mode.
    pub fn new(fabric: &Fabric, flits: Vec<bool>, flows: usize) -> (Self, Rc<RefCell<Record>>) {
        let ports = fabric.port_count();
        let record = Rc::new(RefCell::new(Record::new(ports, flows)));
        let listener = Self {
            record: Rc::clone(&record),
            accounted: vec![Time::ZERO; ports],
            naks: vec![false; ports],
            dllps: vec![(Time::ZERO, Span::ZERO); ports],
            flits,
            flit: vec![None; ports],
        };
        (listener, record)
    }

    /// The time of a flit is stated as header, payload, NOPs, DLP bytes and framing, in this order.
    fn spend_in_flits(&mut self, port: u32, on: Use, span: Span) {
        let start = self.spend(port, span);
        let flit = &mut self.flit[port as usize];
        match on {
            Use::Header => *flit = Some(start),
            Use::Framing => {
                let began = flit.take().expect("a flit has a header before");
                self.record.borrow_mut().sent(port as usize, began, Sent::Flit, start + span - began);
            }
            Use::Replay => self.record.borrow_mut().sent(port as usize, start, Sent::Replay, span),
            _ => {}
        }
    }

    fn spend(&mut self, port: u32, span: Span) -> Time {
        let accounted = &mut self.accounted[port as usize];
        let start = *accounted;
        *accounted += span;
        start
    }
}

impl Observer for Listener {
    fn observe(&mut self, now: Time, fact: &Fact) {
        match *fact {
            Fact::TlpSent { port, sequence, payload, header, framing } if self.flits[port as usize] => {
                let what = Sent::Tlp { sequence, payload, header, framing };
                self.record.borrow_mut().sent(port as usize, now, what, payload + header + framing);
            }
            Fact::Spent { port, on, span } if self.flits[port as usize] => {
                self.spend_in_flits(port, on, span);
            }
            Fact::NakSent { port } if self.flits[port as usize] => {
                self.record.borrow_mut().sent(port as usize, now, Sent::Nak, Span::ZERO);
            }
            Fact::DllpSent { port } if self.flits[port as usize] => {
                self.record.borrow_mut().sent(port as usize, now, Sent::Dllp, Span::ZERO);
            }
            Fact::TlpSent { port, sequence, payload, header, framing } => {
                let span = payload + header + framing;
                let start = self.spend(port, span);
                let what = Sent::Tlp { sequence, payload, header, framing };
                self.record.borrow_mut().sent(port as usize, start, what, span);
            }
            Fact::Spent { port, on, span } => {
                let start = self.spend(port, span);
                match on {
                    Use::Dllp => self.dllps[port as usize] = (start, span),
                    Use::Replay => self.record.borrow_mut().sent(port as usize, start, Sent::Replay, span),
                    Use::Waking if !span.is_zero() => {
                        self.record.borrow_mut().sent(port as usize, start, Sent::Waking, span);
                    }
                    _ => {}
                }
            }
            Fact::NakSent { port } => self.naks[port as usize] = true,
            Fact::DllpSent { port } => {
                let is_nak = std::mem::take(&mut self.naks[port as usize]);
                let (start, span) = self.dllps[port as usize];
                let what = if is_nak { Sent::Nak } else { Sent::Dllp };
                self.record.borrow_mut().sent(port as usize, start, what, span);
            }
            Fact::Delivered { flow, payload } => {
                self.record.borrow_mut().delivered(now, flow.0 as usize, payload.get());
            }
            Fact::RequestDone { flow, latency, .. } => {
                self.record.borrow_mut().request_done(now, flow.0 as usize, latency);
            }
            _ => {}
        }
    }
}
