//! The host between two ports: interrupts, what its cores do, and the registers they write.

use super::bridge::EthernetWorkload;
use super::config::Service;
use super::nic::Frame;
use super::software::{Step, Work};
use super::token::{self, Kind};
use crate::platform::Platform;

impl EthernetWorkload {
    pub(super) fn interrupt<P: Platform>(&mut self, port: usize, platform: &mut P) {
        self.software.tally.interrupts += 1;
        let core = self.software.core_of(port);
        if self.software.cores[core].interrupt(port) {
            self.run_core(core, platform);
        }
    }

    /// Lets a core go on until it computes, waits for a register, or has nothing to do.
    pub(super) fn run_core<P: Platform>(&mut self, core: usize, platform: &mut P) {
        loop {
            let ports = &mut self.ports;
            if self.software.config.service == Service::StrictPriority {
                self.software.cores[core].favour(&self.software.config, |port| ports[port].next_priority());
            }
            let step = self.software.cores[core].step(&self.software.config, |port| ports[port].receive());
            match step {
                Step::Compute(span) => {
                    let end = platform.now() + span;
                    return platform.set_timer(end, token::of(Kind::WorkDone, core));
                }
                Step::Read(port) => {
                    self.software.read_started[core] = platform.now();
                    let (device, register) = (self.nic(port).device, self.nic(port).register);
                    let token = token::of(Kind::RegisterRead, core);
                    return platform.mmio_read(device, register, token);
                }
                Step::Finish(Work::Frame { port, frame }) => self.bridge(port, frame, platform),
                Step::Finish(Work::Interrupt { .. }) => {}
                Step::Leave(port) => self.write_register(port, token::of(Kind::Enabled, port), platform),
                Step::Idle => return,
            }
        }
    }

    pub(super) fn register_read<P: Platform>(&mut self, core: usize, platform: &mut P) {
        let waited = platform.now() - self.software.read_started[core];
        self.software.tally.reads += 1;
        self.software.tally.read_time += waited;
        self.run_core(core, platform);
    }

    /// The host has worked on a frame: it goes to the port it is bridged to, its descriptor back to where it came in.
    pub(super) fn bridge<P: Platform>(&mut self, port: usize, frame: Frame, platform: &mut P) {
        self.software.tally.frames += 1;
        for _ in 0..self.software.config.packet_writes {
            self.write_register(port, token::of(Kind::RegisterWritten, port), platform);
        }
        self.taken[port] += 1;
        if self.taken[port] >= self.software.config.replenish {
            let count = std::mem::take(&mut self.taken[port]);
            self.write_register(port, token::with(Kind::Replenished, port, count), platform);
        }
        let to = self.bridged_to[port].expect("frames come in at ports of flows only");
        let nic = &self.config.nics[self.nic_of[to]];
        let strict = self.software.config.service == Service::StrictPriority;
        if self.ports[to].post(nic, frame) {
            if strict {
                self.ports[to].sort_newest();
            }
            self.write_register(to, token::with(Kind::Doorbell, to, 1), platform);
        } else {
            let lost = if strict { self.ports[to].push_out(frame) } else { frame };
            self.lost(lost, platform);
        }
    }

    pub(super) fn write_register<P: Platform>(&self, port: usize, token: u64, platform: &mut P) {
        platform.mmio_write(self.nic(port).device, self.nic(port).register, token);
    }
}
