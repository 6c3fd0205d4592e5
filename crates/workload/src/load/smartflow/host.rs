//! The host between two ports: interrupts, what its cores do, and the registers they write.

use super::token::{self, Kind, Needs, Ports, Token};
use super::workload::EthernetWorkload;
use crate::device::ethernet::Frame;
use crate::host::bridge::Service;
use crate::host::bridge::{Step, Work};

impl EthernetWorkload {
    pub(super) fn interrupt<M: Needs>(&mut self, port: usize, ports: &mut Ports<'_, M>) {
        self.software.tally.interrupts += 1;
        let core = self.software.core_of(port);
        if self.software.cores[core].interrupt(port) {
            self.run_core(core, ports);
        }
    }

    /// Lets a core go on until it computes, waits for a register, or has nothing to do.
    pub(super) fn run_core<M: Needs>(&mut self, core: usize, ports: &mut Ports<'_, M>) {
        loop {
            let queues = &mut self.ports;
            if self.software.config.service == Service::StrictPriority {
                self.software.cores[core].favour(&self.software.config, |port| queues[port].next_priority());
            }
            let step = self.software.cores[core].step(&self.software.config, |port| queues[port].receive());
            match step {
                Step::Compute(span) => {
                    let end = ports.now() + span;
                    return ports.set_timer(end, token::of(Kind::WorkDone, core));
                }
                Step::Read(port) => {
                    self.software.read_started[core] = ports.now();
                    let (device, register) = (self.nic(port).device, self.nic(port).register);
                    let token = token::of(Kind::RegisterRead, core);
                    return ports.mmio_read(device, register, token);
                }
                Step::Finish(Work::Frame { port, frame }) => self.bridge(port, frame, ports),
                Step::Finish(Work::Interrupt { .. }) => {}
                Step::Leave(port) => self.write_register(port, token::of(Kind::Enabled, port), ports),
                Step::Idle => return,
            }
        }
    }

    pub(super) fn register_read<M: Needs>(&mut self, core: usize, ports: &mut Ports<'_, M>) {
        let waited = ports.now() - self.software.read_started[core];
        self.software.tally.reads += 1;
        self.software.tally.read_time += waited;
        self.run_core(core, ports);
    }

    /// The host has worked on a frame: it goes to the port it is bridged to, its descriptor back to where it came in.
    pub(super) fn bridge<M: Needs>(&mut self, port: usize, frame: Frame, ports: &mut Ports<'_, M>) {
        self.software.tally.frames += 1;
        for _ in 0..self.software.config.packet_writes {
            self.write_register(port, token::of(Kind::RegisterWritten, port), ports);
        }
        self.taken[port] += 1;
        if self.taken[port] >= self.software.config.replenish {
            let count = std::mem::take(&mut self.taken[port]);
            self.write_register(port, token::with(Kind::Replenished, port, count), ports);
        }
        let to = self.bridged_to[port].expect("frames come in at ports of flows only");
        let nic = &self.config.nics[self.nic_of[to]];
        let strict = self.software.config.service == Service::StrictPriority;
        if self.ports[to].post(nic, frame) {
            if strict {
                self.ports[to].sort_newest();
            }
            self.write_register(to, token::with(Kind::Doorbell, to, 1), ports);
        } else {
            let lost = if strict { self.ports[to].push_out(frame) } else { frame };
            self.lost(lost, ports);
        }
    }

    pub(super) fn write_register<M: Needs>(&self, port: usize, token: Token, ports: &mut Ports<'_, M>) {
        ports.mmio_write(self.nic(port).device, self.nic(port).register, token);
    }
}
