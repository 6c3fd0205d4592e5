//! NVMe over Fabrics: a job on one host, the drive on another, RDMA between them.
//!
//! ```text
//!  initiator                          target
//!  worker, submission, post ──SEND──► command capsule, with a small write's data in it
//!                                     poll, command; RDMA READ of a larger write's data
//!                                     submission to the drive, drive, interrupt, completion
//!  data of a read ◄────── RDMA WRITE─ response
//!  response capsule ◄─────────── SEND
//!  interrupt unless polled, completion
//! ```
//!
//! The I/O is the same slot on both sides, and its data lies at the same address in both memories. Each job has a
//! connection of its own, served by one core of the target: job n by core n, counted round. The drive's data goes
//! through the target's memory. At either side a completion of the adapter is seen as a polling core sees it; the
//! initiator's adapter interrupts as a drive would, and the write of that interrupt is left out.
//!
//! Sources: NVMe over Fabrics 1.1 §2.1 (capsules), §7.3 (RDMA transport: data by RDMA WRITE and READ).
//!
//! Leaves out: discovery and connecting, keys and memory registration, queues that fill up, TCP, data that passes the
//! target's memory by, and errors.

use super::ssd::{COMMAND, COMPLETION};
use super::system::NvmeWorkload;
use super::token::{Kind, Token};
use crate::cpu::CpuWork;
use crate::platform::Platform;
use crate::rdma::{
    Completion, CompletionKind, EndFlows, EndId, NicPort, Opcode, VerbsHostConfig, WorkRequest,
};
use lanewise_observe::{FlowSpec, LatencyOf};
use lanewise_units::{Bytes, Span};

/// How a group of jobs reaches drives of another host.
#[derive(Clone, Debug)]
pub struct FabricsConfig {
    /// Name of the network.
    pub name: String,
    /// Ports at both ends of a wire: the initiator's, the target's.
    pub ports: [NicPort; 2],
    /// Drivers of the adapters, in the same order.
    pub drivers: [VerbsHostConfig; 2],
    /// Index of the target among the hosts.
    pub target: usize,
    /// The target's software.
    pub software: NvmeTargetConfig,
}

/// Software of an NVMe over Fabrics target, besides its drivers of adapter and drive.
#[derive(Clone, Debug)]
pub struct NvmeTargetConfig {
    /// Cores that serve connections; at most those of the host.
    pub cores: u32,
    /// Core time from a command capsule to the submission of its command, for each I/O.
    pub command_cost: Span,
    /// Core time from the drive's completion to the response, for each I/O.
    pub response_cost: Span,
    /// Largest data of a write that travels in its command capsule.
    pub in_capsule: Bytes,
}

/// Where capsules begin in memory, a page for each slot and what a small write brings along.
const CAPSULES: u64 = 3 << 29;

/// The connection of a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    initiator: EndId,
    target: EndId,
    /// Core of the target that serves it.
    pub core: u32,
}

impl NvmeWorkload {
    /// Connects a job of a group, if its drives are elsewhere.
    pub(super) fn connect<P: Platform>(&mut self, group: usize, platform: &mut P) -> Option<Connection> {
        let config = &self.config.groups[group];
        let fabrics = config.fabrics.as_ref()?;
        let name = format!("{} over {}", config.fio.name, fabrics.name);
        let flows = fabrics.ports.map(|port| {
            let device = self.network.config().nics[port.nic].name.clone();
            let mut flow = |direction| {
                let (name, device) = (name.clone(), device.clone());
                platform.add_flow(FlowSpec { name, device, direction, latency: LatencyOf::Request })
            };
            EndFlows { read: flow("read"), write: flow("write"), control: flow("control") }
        });
        let cores = fabrics.software.cores.min(self.config.hosts[fabrics.target].cores);
        let [initiator, target] = self.network.connect(fabrics.ports, flows);
        Some(Connection { initiator, target, core: self.connections.len() as u32 % cores })
    }

    fn connection(&self, slot: u32) -> Option<Connection> {
        self.connections[self.slots[slot as usize].job as usize]
    }

    /// # Panics
    /// When the drives of the slot's job are attached.
    fn fabrics(&self, slot: u32) -> &FabricsConfig {
        let group = &self.config.groups[self.slots[slot as usize].group as usize];
        group.fabrics.as_ref().expect("only I/Os over a network have capsules")
    }

    /// Core time that the initiator spends on posting a command, on top of its storage stack.
    pub(super) fn post_cost(&self, group: usize) -> Span {
        self.config.groups[group].fabrics.as_ref().map_or(Span::ZERO, |fabrics| fabrics.drivers[0].post_cost)
    }

    /// Bytes of a slot's data that travel in its command capsule.
    fn in_capsule(&self, slot: u32) -> Bytes {
        let request = self.slots[slot as usize].request;
        let fits = request.write && request.size <= self.fabrics(slot).software.in_capsule.get();
        if fits { Bytes::new(request.size) } else { Bytes::ZERO }
    }

    /// The initiator's driver is done: to the drive, or into a capsule.
    pub(super) fn submitted<P: Platform>(&mut self, slot: u32, platform: &mut P) {
        let Some(connection) = self.connection(slot) else { return self.ring_doorbell(slot, platform) };
        let length = COMMAND + self.in_capsule(slot);
        self.post(slot, 0, connection.initiator, (Opcode::Send, length, CAPSULES), platform);
    }

    /// Posts a request for a slot at the initiator, 0, or the target, 1. Data lies in the slot's buffer, capsules in
    /// their own places behind `area`.
    fn post<P: Platform>(
        &mut self,
        slot: u32,
        side: usize,
        end: EndId,
        (opcode, length, area): (Opcode, Bytes, u64),
        platform: &mut P,
    ) {
        let place = match opcode {
            Opcode::Send => area + u64::from(slot) * 4096,
            _ => self.slots[slot as usize].buffer,
        };
        let at = platform.now() + self.fabrics(slot).drivers[side].mmio_latency;
        let request = WorkRequest {
            opcode,
            length,
            local: place,
            remote: place,
            inline: false,
            signaled: opcode == Opcode::Read,
            id: slot.into(),
        };
        self.network.post(at, end, request, platform);
    }

    /// An adapter's completion entry is in memory.
    pub(super) fn adapter_completion<P: Platform>(&mut self, completion: Completion, platform: &mut P) {
        let slot = completion.id as u32;
        let at_target = self.connection(slot).is_some_and(|connection| connection.target == completion.end);
        let software = &self.fabrics(slot).software;
        match (at_target, completion.kind) {
            (true, CompletionKind::Received) => {
                let cost = software.command_cost;
                self.run_target(slot, true, cost, Kind::CommandTaken, platform);
            }
            (true, _) => self.run_target(slot, true, Span::ZERO, Kind::WriteDataHere, platform),
            (false, _) => self.take_response(slot, platform),
        }
    }

    /// The target's core works for a slot, after it has seen a completion of its adapter if there is one.
    fn run_target<P: Platform>(&mut self, slot: u32, polls: bool, cost: Span, then: Kind, platform: &mut P) {
        let fabrics = self.fabrics(slot);
        let driver = &fabrics.drivers[1];
        let (sees, takes) =
            if polls { (driver.poll_latency, driver.poll_cost) } else { (Span::ZERO, Span::ZERO) };
        let host = fabrics.target;
        let core = self.connection(slot).map_or(0, |connection| connection.core) as usize;
        let end = self.cores[host].run(core, platform.now() + sees, takes + cost, CpuWork::Privileged);
        platform.set_timer(end, Token::of(then, slot));
    }

    /// The target knows the command: it needs the data of a write that did not come along.
    pub(super) fn command_taken<P: Platform>(&mut self, slot: u32, platform: &mut P) {
        let request = self.slots[slot as usize].request;
        if request.write && self.in_capsule(slot) == Bytes::ZERO {
            let cost = self.fabrics(slot).drivers[1].post_cost;
            return self.run_target(slot, false, cost, Kind::WriteDataAsked, platform);
        }
        self.submit_at_target(slot, platform);
    }

    /// Reads the data of a write from the initiator's memory.
    pub(super) fn fetch_write_data<P: Platform>(&mut self, slot: u32, platform: &mut P) {
        let length = Bytes::new(self.slots[slot as usize].request.size);
        if let Some(connection) = self.connection(slot) {
            self.post(slot, 1, connection.target, (Opcode::Read, length, 0), platform);
        }
    }

    /// The target's driver of the drive puts the command into a queue.
    pub(super) fn submit_at_target<P: Platform>(&mut self, slot: u32, platform: &mut P) {
        let cost = self.config.hosts[self.fabrics(slot).target].submit_cost;
        self.run_target(slot, false, cost, Kind::TargetSubmitted, platform);
    }

    /// The drive's command is over where the drive is: the I/O, or the target's part of it.
    pub(super) fn drive_completed<P: Platform>(&mut self, slot: u32, platform: &mut P) {
        if self.connection(slot).is_none() {
            return self.complete(slot, platform);
        }
        let fabrics = self.fabrics(slot);
        let requests = if self.slots[slot as usize].request.write { 1 } else { 2 };
        let cost = fabrics.software.response_cost + fabrics.drivers[1].post_cost * requests;
        self.run_target(slot, false, cost, Kind::Response, platform);
    }

    /// The target sends a read's data, and the response behind it.
    pub(super) fn respond<P: Platform>(&mut self, slot: u32, platform: &mut P) {
        let Some(Connection { target, .. }) = self.connection(slot) else { return };
        let request = self.slots[slot as usize].request;
        if !request.write {
            self.post(slot, 1, target, (Opcode::Write, Bytes::new(request.size), 0), platform);
        }
        self.post(slot, 1, target, (Opcode::Send, COMPLETION, CAPSULES), platform);
    }

    /// The initiator's driver takes the response.
    fn take_response<P: Platform>(&mut self, slot: u32, platform: &mut P) {
        let state = &self.slots[slot as usize];
        let job = &self.jobs[state.job as usize];
        let (host, core) = (job.host as usize, job.core as usize);
        let polled = self.config.groups[state.group as usize].fio.polled;
        let driver = &self.fabrics(slot).drivers[0];
        let (seen, taken) = (platform.now() + driver.poll_latency, driver.poll_cost);
        let costs = &self.config.hosts[host];
        let cost = taken + costs.completion_cost;
        let interrupt = if polled { Span::ZERO } else { costs.interrupt_cost };
        let cores = &mut self.cores[host];
        cores.run(core, seen, interrupt, CpuWork::Interrupt);
        let end = cores.run(core, seen, cost, CpuWork::Deferred);
        self.tally_of(slot).cpu.system += cost;
        platform.set_timer(end, Token::of(Kind::Responded, slot));
    }
}
