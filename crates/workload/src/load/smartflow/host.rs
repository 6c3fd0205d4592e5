//! The host between two ports: interrupts, what its cores do, and the registers they write.

use super::token::{self, Kind, Needs, Ports};
use super::workload::EthernetWorkload;
use crate::device::ethernet::{Frame, Posted, Register};
use crate::host::bridge::Service;
use crate::host::bridge::{Step, Work};

impl EthernetWorkload {
    pub(super) fn interrupt<M: Needs>(&mut self, port: usize, ports: &mut Ports<'_, M>) {
        if let Some(core) = self.software.interrupt(port, ports.now()) {
            self.run_core(core, ports);
        }
    }

    /// Lets a core go on until it computes, waits for a register, or has nothing to do.
    pub(super) fn run_core<M: Needs>(&mut self, core: usize, ports: &mut Ports<'_, M>) {
        loop {
            let adapters = &mut self.adapters;
            if self.software.config.service == Service::StrictPriority {
                self.software.cores[core].favour(&self.software.config, |port| adapters.next_priority(port));
            }
            let step = self.software.cores[core].step(&self.software.config, |port| adapters.receive(port));
            match step {
                Step::Compute(span) => {
                    self.software.begins(core, ports.now());
                    let end = ports.now() + span;
                    return ports.set_timer(end, token::of(Kind::WorkDone, core));
                }
                Step::Read(port) => {
                    self.software.read_started[core] = ports.now();
                    let nic = self.adapters.nic(port);
                    let (device, register) = (nic.device, nic.register);
                    let token = token::of(Kind::RegisterRead, core);
                    return ports.mmio_read(device, register, token);
                }
                Step::Finish(work) => {
                    self.software.ends(core, ports.now());
                    if let Work::Frame { port, frame } = work {
                        self.bridge(port, frame, ports);
                    }
                }
                Step::Leave(port) => self.write_register(port, Register::Enable, ports),
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
            self.write_register(port, Register::Other, ports);
        }
        self.taken[port] += 1;
        if self.taken[port] >= self.software.config.replenish {
            let count = std::mem::take(&mut self.taken[port]);
            self.write_register(port, Register::Replenish(count), ports);
        }
        let to = self.bridged_to[port].expect("frames come in at ports of flows only");
        let strict = self.software.config.service == Service::StrictPriority;
        match self.adapters.post(to, frame, strict) {
            Posted::InRing => self.write_register(to, Register::Doorbell(1), ports),
            Posted::Lost(lost) => self.lost(lost, ports),
        }
    }

    fn write_register<M: Needs>(&self, port: usize, register: Register, ports: &mut Ports<'_, M>) {
        self.adapters.write_register(port, register, &mut ports.second());
    }
}
