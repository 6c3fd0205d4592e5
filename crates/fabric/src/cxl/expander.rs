//! A memory expander behind its link: a controller, and channels with banks as a host's memory has them.
//!
//! A request is booked at its channel in the order of arrival, and its buffer is free when the channel has moved the line. Of a read
//! the data may leave after the latency of the idle expander, and later where they had to wait; a write is answered when the
//! controller has taken it, after its own latency. Left out: turn-arounds between reads and writes, refresh.

use crate::config::ExpanderConfig;
use crate::memory::{Memory, Place};
use crate::packet::RouteEnd;
use crate::ports::LineAccess;
use crate::server::Server;
use crate::workload::Direction;
use lanewise_cxl::message::LINE;
use lanewise_units::{Rate, Span, Time};

/// When a request is out of its buffer, and when its answer may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Answer {
    pub(super) served: Time,
    pub(super) answered: Time,
}

/// One expander.
pub(super) struct Expander {
    pub(super) device: usize,
    pub(super) memory: Memory,
    /// Its controller, for lines that are read and that are written.
    pub(super) reads: Option<Server>,
    pub(super) writes: Option<Server>,
    pub(super) rate: Rate,
    read_latency: Span,
    write_latency: Span,
    /// Links from the root port down to it.
    pub(super) path: Vec<u16>,
    pub(super) open: u32,
}

impl Expander {
    pub(super) fn new(config: &ExpanderConfig, path: Vec<u16>) -> Self {
        Self {
            device: config.device,
            memory: Memory::new(&config.memory),
            reads: config.read_rate.map(Server::new),
            writes: config.write_rate.map(Server::new),
            rate: config.memory.rate,
            read_latency: config.read_latency,
            write_latency: config.write_latency,
            path,
            open: 0,
        }
    }

    /// Reads or writes a line that is asked for at `now`.
    pub(super) fn serve(&mut self, access: LineAccess, now: Time) -> Answer {
        let place = Place { address: access.address, owner: RouteEnd::HOST };
        let (controller, latency) = match access.direction {
            Direction::Read => (&mut self.reads, self.read_latency),
            Direction::Write => (&mut self.writes, self.write_latency),
        };
        let passed = controller.as_mut().map_or(now, |server| server.serve(now, LINE));
        let served = self.memory.serve(now, place, LINE).max(passed);
        Answer { served, answered: served + latency }
    }
}
