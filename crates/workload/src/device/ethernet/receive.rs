//! From the receive FIFO to the interrupt: frames and descriptors into host memory, and when to tell the driver.

use super::adapters::Adapters;
use super::memory::{interrupts_of, write};
use super::token::{self, Kind, Needs, Ports};
use crate::device::completions::INTERRUPT;
use lanewise_fabric::workload::Notify;

impl Adapters {
    /// Writes what waits in the FIFO and has a descriptor, reports it, and fetches more descriptors.
    pub(super) fn write_frames<M: Needs>(&mut self, port: usize, ports: &mut Ports<'_, M>) {
        while let Some(frame) = self.ports[port].next_write() {
            let offset = self.buffers[port][0].next();
            let flow = self.flows[self.nic_of[port]].receive;
            let token = token::with(Kind::FrameWritten, port, frame.size);
            let transfer = write(flow, offset, frame.in_memory(), token, Notify::Sent);
            ports.submit(self.queues[port].posted, transfer);
        }
        self.report(port, ports);
        let nic = &self.configs[self.nic_of[port]];
        if let Some(count) = self.ports[port].fetch(nic) {
            let token = token::with(Kind::ReceiveFetched, port, count);
            self.read_descriptors(port, count, token, ports);
        }
    }

    /// Writes receive descriptors back when they are due, and sees to an interrupt.
    pub(super) fn report<M: Needs>(&mut self, port: usize, ports: &mut Ports<'_, M>) {
        let nic = &self.configs[self.nic_of[port]];
        if let Some(count) = self.ports[port].write_back(nic) {
            let token = token::with(Kind::ReceiveWrittenBack, port, count);
            self.write_descriptors(port, count, token, ports);
            self.consider_interrupt(port, ports);
        }
    }

    /// Sends an interrupt, or sets the timer of the moderation, when there is a reason and the driver allows it.
    pub(super) fn consider_interrupt<M: Needs>(&mut self, port: usize, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let interval = self.nic(port).interrupt_interval;
        let state = &mut self.ports[port];
        if !state.enabled || state.timer_set || !state.wants_interrupt() {
            return;
        }
        if now < state.next_interrupt {
            state.timer_set = true;
            ports.set_timer(state.next_interrupt, token::of(Kind::Moderation, port));
            return;
        }
        state.enabled = false;
        state.next_interrupt = now + interval;
        let flow = self.flows[self.nic_of[port]].control;
        let token = token::of(Kind::Interrupt, port);
        ports.submit(
            self.queues[port].posted,
            write(flow, interrupts_of(port), INTERRUPT, token, Notify::Done),
        );
    }
}
