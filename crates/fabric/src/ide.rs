//! IDE streams between devices and their root ports: each TLP of one is longer, and takes its time at both ends.
//!
//! A stream goes from end to end: switches between pass its TLPs on as they are, so every link on the way carries what it adds. A
//! device that sits in a slot has the same with Link IDE. The time that a TLP takes at its two ends is spent before it may
//! leave: it is the same from end to end, and neither Acks nor credits wait for it. Assumed: engines keep pace with the link, and a
//! receiver uses a TLP before the MAC of its unit is there. Left out: streams between two devices, whose TLPs belong to the stream of the
//! one that makes them.

use crate::config::IdeConfig;
use crate::packet::{Packet, RouteEnd};
use lanewise_pcie::ide::IdeTransmitter;
use lanewise_units::Span;

/// One end of a stream.
#[derive(Debug)]
pub(crate) struct IdeEnd {
    transmitter: IdeTransmitter,
    latency: Span,
}

impl IdeEnd {
    pub(crate) fn new(config: &IdeConfig) -> Self {
        Self { transmitter: IdeTransmitter::new(config.ide), latency: config.latency * 2 }
    }

    /// Time that a TLP takes at both ends.
    pub(crate) fn latency(&self) -> Span {
        self.latency
    }

    /// Has a TLP that goes out next carry what its stream adds.
    pub(crate) fn seal(&mut self, packet: &mut Packet) {
        packet.cost = packet.cost.with_more(self.transmitter.next(packet.class()));
    }

    /// The same for a TLP that nothing has held back for the time at both ends.
    pub(crate) fn seal_and_wait(&mut self, packet: &mut Packet) {
        self.seal(packet);
        packet.eligible_at += self.latency;
    }
}

/// Ends of streams at a root complex, by endpoint.
#[derive(Debug, Default)]
pub(crate) struct IdeEnds(Vec<Option<IdeEnd>>);

impl IdeEnds {
    /// Whether there is a stream to an endpoint.
    pub(crate) fn has(&self, endpoint: RouteEnd) -> bool {
        matches!(self.0.get(endpoint.0 as usize), Some(Some(_)))
    }

    /// A stream to an endpoint. Before the run.
    pub(crate) fn add(&mut self, endpoint: RouteEnd, config: &IdeConfig) {
        let index = endpoint.0 as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        self.0[index] = Some(IdeEnd::new(config));
    }

    /// A TLP to an endpoint carries what its stream adds, if it has one.
    pub(crate) fn seal_and_wait(&mut self, packet: &mut Packet) {
        if let Some(Some(end)) = self.0.get_mut(packet.destination.0 as usize) {
            end.seal_and_wait(packet);
        }
    }
}
