//! From the receive FIFO to the interrupt: frames and descriptors into host memory, and when to tell the driver.

use super::bridge::EthernetWorkload;
use super::memory::{interrupts_of, write};
use super::token::{self, Kind};
use crate::completions::INTERRUPT;
use crate::platform::Platform;
use lanewise_fabric::workload::Notify;

impl EthernetWorkload {
    /// Writes what waits in the FIFO and has a descriptor, reports it, and fetches more descriptors.
    pub(super) fn write_frames<P: Platform>(&mut self, port: usize, platform: &mut P) {
        while let Some(frame) = self.ports[port].next_write() {
            let offset = self.buffers[port][0].next();
            let flow = self.nic_flows[self.nic_of[port]].receive;
            let token = token::with(Kind::FrameWritten, port, frame.size);
            let transfer = write(flow, offset, frame.in_memory(), token, Notify::Sent);
            platform.submit(self.channels[port].posted, transfer);
        }
        self.report(port, platform);
        let nic = &self.config.nics[self.nic_of[port]];
        if let Some(count) = self.ports[port].fetch(nic) {
            let token = token::with(Kind::ReceiveFetched, port, count);
            self.read_descriptors(port, count, token, platform);
        }
    }

    /// Writes receive descriptors back when they are due, and sees to an interrupt.
    pub(super) fn report<P: Platform>(&mut self, port: usize, platform: &mut P) {
        let nic = &self.config.nics[self.nic_of[port]];
        if let Some(count) = self.ports[port].write_back(nic) {
            let token = token::with(Kind::ReceiveWrittenBack, port, count);
            self.write_descriptors(port, count, token, platform);
            self.consider_interrupt(port, platform);
        }
    }

    /// Sends an interrupt, or sets the timer of the moderation, when there is a reason and the driver allows it.
    pub(super) fn consider_interrupt<P: Platform>(&mut self, port: usize, platform: &mut P) {
        let now = platform.now();
        let interval = self.nic(port).interrupt_interval;
        let state = &mut self.ports[port];
        if !state.enabled || state.timer_set || !state.wants_interrupt() {
            return;
        }
        if now < state.next_interrupt {
            state.timer_set = true;
            platform.set_timer(state.next_interrupt, token::of(Kind::Moderation, port));
            return;
        }
        state.enabled = false;
        state.next_interrupt = now + interval;
        let flow = self.nic_flows[self.nic_of[port]].control;
        let token = token::of(Kind::Interrupt, port);
        platform.submit(
            self.channels[port].posted,
            write(flow, interrupts_of(port), INTERRUPT, token, Notify::Done),
        );
    }
}
