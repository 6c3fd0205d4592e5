//! NVMe over Fabrics: a job on one host, the drive on another, RDMA between them.
//!
//! ```text
//!  initiator                          target
//!  worker, submission, registration,
//!  post ─────────────────────SEND──► command capsule, with a small write's data in it
//!                                     interrupt or poll, command; RDMA READ of a larger write's data
//!                                     submission to the drive, drive, interrupt, completion
//!  data of a read ◄────── RDMA WRITE─ response
//!  response capsule ◄─────────── SEND
//!  interrupt unless polled, completion
//! ```
//!
//! The I/O is the same slot on both sides, and its data lies at the same address in both memories. Each job has a
//! connection of its own, served by one core of the target: job n by core n, counted round. The drive's data goes
//! through the target's memory: that of a host, or that of a SmartNIC whose adapter sits beside it in one chip; the
//! two differ in their parts and their cores, not in the order of events. It may also be staged in drives or on a
//! card, past that memory: [`super::staging`].
//!
//! Work requests of a connection leave in order. An RDMA READ beyond those that may be outstanding waits, and what was
//! posted behind it waits with it: with many large writes in flight, responses come in bursts.
//!
//! The initiator registers the memory of data that does not travel in a capsule, which costs its core and its adapter
//! time; an adapter registers one buffer after another. The target takes pages for such data in memory, paid for before
//! the command, although giving them back is part of it. The initiator's adapter interrupts as a drive would. At the
//! target a completion wakes a core that has nothing to do; a busy core finds it when it has done the rest. Writes of
//! these interrupts are left out.
//!
//! Sources: NVMe over Fabrics 1.1 §2.1 (capsules), §7.3 (RDMA transport: data by RDMA WRITE and READ); InfiniBand
//! Architecture Specification, volume 1, §9.4.4 and §9.5 (order of work requests, outstanding reads); Linux nvme-rdma
//! (`register_always`) and nvmet-rdma.
//!
//! Leaves out: discovery and connecting, keys, mapping the target's pages where an IOMMU translates, queues that fill up,
//! TCP, and errors.

use super::job::Request;
use super::staging::Staging;
use super::token::{Kind, Needs, Ports, Token, drives, network};
use super::workload::NvmeWorkload;
use crate::device::nvme::{COMMAND, COMPLETION};
use crate::device::rdma::{Completion, CompletionKind, EndId, HOST_MEMORY, NicPort, Opcode, WorkRequest};
use crate::flows::{Flows, Repeats};
use crate::host::cpu::CpuWork;
use crate::host::memory::PAGE;
use crate::host::{NvmeHostConfig, NvmeTargetConfig, VerbsHostConfig};
use lanewise_fabric::workload::Target;
use lanewise_observe::LatencyOf;
use lanewise_units::{Bytes, Span, Time};

/// How a group of jobs reaches drives of another host.
#[derive(Clone, Debug, PartialEq)]
pub struct FabricsConfig {
    /// Ports at both ends of a wire: the initiator's, the target's.
    pub ports: [NicPort; 2],
    /// Drivers of the adapters, in the same order.
    pub drivers: [VerbsHostConfig; 2],
    /// Index of the target among the hosts.
    pub target: usize,
    /// The target's software.
    pub software: NvmeTargetConfig,
    /// Where the target stages data.
    pub staging: Staging,
}

impl FabricsConfig {
    /// The core of the target that works for a connection, by its number.
    pub(super) fn core_of_connection(&self, connection: u32, target: &NvmeHostConfig) -> u32 {
        connection % self.software.cores.min(target.cores)
    }

    /// Whether a request's data travels in its command capsule.
    pub(super) fn in_capsule(&self, request: &Request) -> bool {
        request.write && request.size <= self.software.in_capsule.get()
    }
}

/// Name of the flow of a job's adapter at the initiator, 0, or at the target, 1.
pub(super) fn flow_at(job: &str, side: usize) -> String {
    format!("{job} at {}", ["initiator", "target"][side])
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
    /// Flows of a group's adapters, at the initiator and at the target, if its drives are elsewhere.
    pub(super) fn add_end_flows<M: Needs>(
        &self,
        group: usize,
        ports: &mut Ports<'_, M>,
    ) -> Option<[Flows; 2]> {
        let config = &self.config.groups[group];
        let fabrics = config.fabrics.as_ref()?;
        Some([0, 1].map(|side| {
            let device = &self.network.config().nics[fabrics.ports[side].nic].name;
            // The flows of the group count what its drives read and write.
            let name = config.fio.name.beside(flow_at(&config.fio.name, side));
            Flows::add(&name, device, LatencyOf::Request, Repeats::ALL, ports)
        }))
    }

    /// Connects a job of a group, if its drives are elsewhere.
    pub(super) fn connect(&mut self, group: usize, flows: Option<[Flows; 2]>) -> Option<Connection> {
        let (fabrics, flows) = (self.config.groups[group].fabrics.as_ref()?, flows?);
        let core =
            fabrics.core_of_connection(self.connections.len() as u32, &self.config.hosts[fabrics.target]);
        let [initiator, target] = self.network.connect(fabrics.ports, flows);
        Some(Connection { initiator, target, core })
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
    pub(super) fn post_cost(&self, group: usize, request: &Request) -> Span {
        let Some(fabrics) = &self.config.groups[group].fabrics else { return Span::ZERO };
        let registers = !fabrics.in_capsule(request);
        let costs = &self.config.hosts[self.config.groups[group].host];
        fabrics.drivers[0].post_cost + if registers { costs.register_cost } else { Span::ZERO }
    }

    /// The initiator's driver is done: to the drive, or into a capsule.
    pub(super) fn submitted<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let Some(connection) = self.connection(slot) else { return self.ring_doorbell(slot, ports) };
        let request = self.slots[slot as usize].request;
        let (at, length) = match self.fabrics(slot).in_capsule(&request) {
            true => (ports.now(), COMMAND + Bytes::new(request.size)),
            false => (self.network.register(connection.initiator, ports.now()), COMMAND),
        };
        self.post(at, slot, 0, connection.initiator, (Opcode::Send, length, CAPSULES), ports);
    }

    /// Posts a request for a slot at the initiator, 0, or the target, 1, with a doorbell that its core stores at `at`.
    /// Data lies in the slot's buffer, capsules in their own places behind `area`.
    fn post<M: Needs>(
        &mut self,
        at: Time,
        slot: u32,
        side: usize,
        end: EndId,
        (opcode, length, area): (Opcode, Bytes, u64),
        ports: &mut Ports<'_, M>,
    ) {
        let place = match opcode {
            Opcode::Send => area + u64::from(slot) * PAGE.get(),
            _ => self.slots[slot as usize].buffer,
        };
        let memory = match opcode {
            // Data; the other side's is in the initiator's memory.
            Opcode::Read | Opcode::Write if side == 1 => [self.staged_in(slot), Target::HostMemory],
            _ => HOST_MEMORY,
        };
        let request = WorkRequest {
            opcode,
            length,
            local: place,
            remote: place,
            memory,
            inline: false,
            signaled: opcode == Opcode::Read,
            id: slot.into(),
        };
        self.network.post(at, end, request, &mut network(ports));
    }

    /// An adapter's completion entry is in memory.
    pub(super) fn adapter_completion<M: Needs>(&mut self, completion: Completion, ports: &mut Ports<'_, M>) {
        let slot = completion.id as u32;
        let at_target = self.connection(slot).is_some_and(|connection| connection.target == completion.end);
        if at_target {
            self.drive_of(slot).in_software += 1;
            self.drives.say_what_holds_back(self.slots[slot as usize].ssd, &mut drives(ports));
        }
        match (at_target, completion.kind) {
            (true, CompletionKind::Received) => {
                // Memory of a device comes from a pool of its own and in one piece (`nvmet_req_alloc_p2pmem_sgls`).
                let takes_pages = self.staging(slot) == Some(Staging::HostMemory);
                let data = if takes_pages { self.slots[slot as usize].request.size } else { 0 };
                let cost = self.fabrics(slot).software.command(Bytes::new(data));
                self.run_target(slot, true, cost, Kind::CommandTaken, ports);
            }
            (true, _) => self.run_target(slot, true, Span::ZERO, Kind::WriteDataHere, ports),
            (false, _) => self.take_response(slot, ports),
        }
    }

    /// The target's core works for a slot, after it has seen a completion of its adapter if there is one.
    fn run_target<M: Needs>(
        &mut self,
        slot: u32,
        sees: bool,
        cost: Span,
        then: Kind,
        ports: &mut Ports<'_, M>,
    ) {
        let fabrics = self.fabrics(slot);
        let (driver, host, polls) = (&fabrics.drivers[1], fabrics.target, fabrics.software.polls);
        let (seen, takes) = match sees {
            true => (ports.now() + driver.poll_latency, driver.poll_cost),
            false => (ports.now(), Span::ZERO),
        };
        let core = self.connection(slot).map_or(0, |connection| connection.core) as usize;
        let wakes = sees && !polls && self.cores[host].is_idle(core, seen);
        let interrupt = if wakes { self.config.hosts[host].interrupt_cost } else { Span::ZERO };
        let cores = &mut self.cores[host];
        cores.run(core, seen, interrupt, CpuWork::Interrupt);
        let end = cores.run(core, seen, takes + cost, CpuWork::Privileged);
        ports.set_timer(end, Token::of(then, slot));
    }

    /// The target knows the command: it needs the data of a write that did not come along.
    pub(super) fn command_taken<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let request = self.slots[slot as usize].request;
        if request.write && !self.fabrics(slot).in_capsule(&request) {
            let cost = self.fabrics(slot).drivers[1].post_cost;
            return self.run_target(slot, false, cost, Kind::WriteDataAsked, ports);
        }
        self.submit_at_target(slot, ports);
    }

    /// Reads the data of a write from the initiator's memory.
    pub(super) fn fetch_write_data<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        self.drive_of(slot).in_software -= 1;
        let length = Bytes::new(self.slots[slot as usize].request.size);
        if let Some(connection) = self.connection(slot) {
            self.post(ports.now(), slot, 1, connection.target, (Opcode::Read, length, 0), ports);
        }
    }

    /// The target's driver of the drive puts the command into a queue.
    pub(super) fn submit_at_target<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let cost = self.config.hosts[self.fabrics(slot).target].submit_cost;
        self.run_target(slot, false, cost, Kind::TargetSubmitted, ports);
    }

    /// The drive's command is over where the drive is: the I/O, or the target's part of it.
    pub(super) fn drive_completed<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        if self.connection(slot).is_none() {
            return self.arrived(slot, ports);
        }
        let fabrics = self.fabrics(slot);
        let requests = if self.slots[slot as usize].request.write { 1 } else { 2 };
        let software = &fabrics.software;
        let cost = software.on_its_core(software.response_cost) + fabrics.drivers[1].post_cost * requests;
        self.run_target(slot, false, cost, Kind::Response, ports);
    }

    /// The target sends a read's data, and the response behind it.
    pub(super) fn respond<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        self.drive_of(slot).in_software -= 1;
        let Some(Connection { target, .. }) = self.connection(slot) else { return };
        let (request, now) = (self.slots[slot as usize].request, ports.now());
        if !request.write {
            self.post(now, slot, 1, target, (Opcode::Write, Bytes::new(request.size), 0), ports);
        }
        self.post(now, slot, 1, target, (Opcode::Send, COMPLETION, CAPSULES), ports);
    }

    /// The initiator's driver takes the response.
    fn take_response<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let state = &self.slots[slot as usize];
        let job = &self.jobs[state.job as usize];
        let (host, core) = (job.host as usize, job.core as usize);
        let polled = self.config.groups[state.group as usize].fio.polled;
        let driver = &self.fabrics(slot).drivers[0];
        let (seen, taken) = (ports.now() + driver.poll_latency, driver.poll_cost);
        let costs = &self.config.hosts[host];
        let cost = taken + costs.completion_cost;
        let interrupt = if polled { Span::ZERO } else { costs.interrupt_cost };
        let cores = &mut self.cores[host];
        cores.run(core, seen, interrupt, CpuWork::Interrupt);
        let end = cores.run(core, seen, cost, CpuWork::Deferred);
        self.tally_of(slot).cpu.spend(cost, CpuWork::Deferred);
        ports.set_timer(end, Token::of(Kind::Responded, slot));
    }
}
