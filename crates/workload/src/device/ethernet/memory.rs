//! Where frames and descriptors are in host memory, and the transfers that move descriptors.

use super::adapters::Adapters;
use super::token::{Needs, Ports, Token};
use crate::host::memory::PAGE;
use lanewise_fabric::workload::{Direction, Notify, Target, Transfer};
use lanewise_observe::FlowId;
use lanewise_units::Bytes;

/// Distance of frame buffers in host memory: only a jumbo frame crosses a page.
const BUFFER: u64 = 2048;
/// Frames that have a buffer each before the first is used again.
const BUFFERS: u64 = 512;
/// Host memory of a port: frames, then descriptors.
const PORT_AREA: u64 = 4 << 20;
/// Where the descriptors are in it.
const DESCRIPTORS: u64 = 2 << 20;

/// Frame buffers of a port in host memory, used in turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffers {
    first: u64,
    used: u64,
}

impl Buffers {
    pub(super) fn of(port: usize) -> Self {
        Self { first: port as u64 * PORT_AREA, used: 0 }
    }

    /// Offset of the next one.
    pub(super) fn next(&mut self) -> u64 {
        let offset = self.first + self.used * BUFFER;
        self.used = (self.used + 1) % BUFFERS;
        offset
    }
}

/// Where a port's descriptors are.
fn descriptors_of(port: usize) -> u64 {
    port as u64 * PORT_AREA + DESCRIPTORS
}

/// Where a port's interrupts are written to: the page before its descriptors.
pub(super) fn interrupts_of(port: usize) -> u64 {
    descriptors_of(port) - PAGE.get()
}

impl Adapters {
    pub(super) fn read_descriptors<M: Needs>(
        &self,
        port: usize,
        count: u32,
        token: Token,
        ports: &mut Ports<'_, M>,
    ) {
        let transfer = Transfer {
            direction: Direction::Read,
            target: Target::HostMemory,
            offset: descriptors_of(port),
            length: self.nic(port).descriptor * u64::from(count),
            flow: self.flows[self.nic_of[port]].control,
            token,
            notify: Notify::Done,
        };
        ports.submit(self.queues[port].descriptors, transfer);
    }

    pub(super) fn write_descriptors<M: Needs>(
        &self,
        port: usize,
        count: u32,
        token: Token,
        ports: &mut Ports<'_, M>,
    ) {
        let flow = self.flows[self.nic_of[port]].control;
        let offset = descriptors_of(port);
        let length = self.nic(port).descriptor * u64::from(count);
        ports.submit(self.queues[port].posted, write(flow, offset, length, token, Notify::Done));
    }
}

/// A write to host memory.
pub(super) fn write(
    flow: FlowId,
    offset: u64,
    length: Bytes,
    token: Token,
    notify: Notify,
) -> Transfer<Token> {
    Transfer { direction: Direction::Write, target: Target::HostMemory, offset, length, flow, token, notify }
}
