//! Drives, hosts and jobs as one instrument: what it is made of, the host's side of an I/O, and its report.
//!
//! The drives' side is [`Drives`], what a network adds is in [`super::fabrics`].

use super::config::NvmeConfig;
use super::copied::{Copied, Copier};
use super::fabrics::Connection;
use super::job::{Job, Next, Request};
use super::jobs::IoEngine;
use super::report::GroupTally;
use super::reports::Reports;
use super::settings::core_of_job;
use super::slot::Slot;
use super::token::{DeviceKinds, Kind, Kinds, Needs, Ports, Token as Own, drives, gpus, network};
use crate::device::nvme::{Command, Drives, Notice, Ssd};
use crate::device::rdma::RdmaNetwork;
use crate::flows::{Flows, Repeats};
use crate::host::cpu::{Cores, CpuWork};
use crate::host::memory::PAGE;
use crate::ports::{Event, Instrument, called_by_fabric, split};
use crate::server::asked_for;
use crate::token::{Joined, Token};
use lanewise_fabric::workload::{Metric, Workload};
use lanewise_fabric::{Fabric, ResourceReading};
use lanewise_observe::{FlowDevices, LatencyOf};
use lanewise_units::{Bytes, Span, Time};
use std::any::Any;

/// The instrument.
#[derive(Debug)]
pub struct NvmeWorkload {
    pub(super) config: NvmeConfig,
    pub(super) network: RdmaNetwork,
    /// Of each job whose drives are on another host.
    pub(super) connections: Vec<Option<Connection>>,
    pub(super) drives: Drives,
    /// Between jobs' buffers and GPUs.
    pub(super) copied: Copied,
    /// What does that for the clones of each group.
    copiers: Vec<Vec<Copier>>,
    pub(super) slots: Vec<Slot>,
    /// Where the buffer of the next slot may begin.
    next_buffer: u64,
    /// Of each group.
    flows: Vec<Flows>,
    pub(super) jobs: Vec<Job>,
    pub(super) cores: Vec<Cores>,
    reports: Reports,
    /// The largest block of each group when it began: buffers are for that.
    largest: Vec<Bytes>,
}

/// Where data lies in memory, behind queues and lists of pages.
const BUFFERS: u64 = 2 << 30;

impl NvmeWorkload {
    /// Everything at rest.
    ///
    /// # Panics
    /// When a drive, host or path does not exist, or a job is not one.
    pub fn new(config: NvmeConfig) -> Self {
        for ssd in &config.ssds {
            assert!(ssd.host < config.hosts.len(), "{}: no such host", ssd.name);
        }
        for group in &config.groups {
            group.fio.check();
            assert!(group.host < config.hosts.len(), "{}: no such host", group.fio.name);
            let known =
                |file: &usize| config.paths.get(*file).is_some_and(|path| path.ssd < config.ssds.len());
            assert!(group.fio.files.iter().all(known), "{}: no such drive", group.fio.name);
        }
        Self {
            network: RdmaNetwork::new(config.network.clone()),
            connections: Vec::new(),
            drives: Drives::default(),
            copied: Copied::default(),
            copiers: Vec::new(),
            slots: Vec::new(),
            next_buffer: BUFFERS,
            flows: Vec::new(),
            jobs: Vec::new(),
            cores: config.hosts.iter().map(|host| Cores::new(host.cores)).collect(),
            reports: Reports::new(config.groups.iter().map(|group| &group.fio)),
            largest: config.groups.iter().map(|group| group.fio.blocks.largest()).collect(),
            config,
        }
    }

    /// Whether a core polls for a slot's completion.
    fn is_polled(&self, slot: u32) -> bool {
        let group = &self.config.groups[self.slots[slot as usize].group as usize];
        // A target has its own way, whatever the initiator does.
        group.fabrics.as_ref().map_or(group.fio.polled, |fabrics| fabrics.software.polls)
    }

    fn build_group<M: Needs>(&mut self, index: usize, ports: &mut Ports<'_, M>) {
        let group = self.config.groups[index].clone();
        let names =
            group.fio.files.iter().map(|file| self.config.ssds[self.config.paths[*file].ssd].name.clone());
        let devices = FlowDevices::together(names.collect());
        self.flows.push(Flows::add(
            &group.fio.name,
            devices,
            LatencyOf::Operation,
            Repeats::default(),
            ports,
        ));
        let end_flows = self.add_end_flows(index, ports);
        let copiers = self.copiers(index, ports);
        self.copiers.push(copiers);
        for clone in 0..group.fio.jobs {
            let running = self.jobs.iter().filter(|job| job.host as usize == group.host).count() as u32;
            let core = core_of_job(running, &self.config.hosts[group.host]);
            let job = self.jobs.len() as u32;
            let connection = self.connect(index, end_flows);
            self.connections.push(connection);
            let slots = (0..group.fio.effective_depth())
                .map(|_| self.open_slot(job, (index as u32, clone), self.largest[index]))
                .collect();
            let random =
                |purpose: &str| ports.random_stream(&group.fio.name, &format!("job {clone} {purpose}"));
            let streams = ["directions", "offsets", "sizes"].map(random);
            let place = (index as u32, group.host as u32, core);
            self.jobs.push(Job::new(place, group.fio.clone(), slots, streams, ports.now()));
        }
    }

    /// A slot of a job, which is the clone of this number of its group.
    fn open_slot(&mut self, job: u32, (group, clone): (u32, u32), block: Bytes) -> u32 {
        let buffer = Bytes::new(self.next_buffer).round_up_to(PAGE).get();
        self.next_buffer = buffer + block.get();
        let request = Request { file: 0, write: false, offset: 0, size: block.get() };
        let copiers = self.copiers[group as usize].clone();
        let lane = self.open_lane((self.slots.len() as u32, buffer), clone, &copiers);
        self.slots.push(Slot {
            job,
            group,
            ssd: 0,
            queue: 0,
            request,
            buffer,
            memory: self.config.groups[group as usize].memory.of_clone(clone),
            lane,
            started: Time::ZERO,
            submitted: Time::ZERO,
        });
        self.slots.len() as u32 - 1
    }

    /// The driver has put a slot's command into its queue: tells the drive.
    pub(super) fn ring_doorbell<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let state = &self.slots[slot as usize];
        let command = Command {
            drive: state.ssd,
            queue: state.queue,
            write: state.request.write,
            offset: state.request.offset,
            size: state.request.size,
            memory: self.data_target(slot),
            buffer: state.buffer,
            polled: self.is_polled(slot),
            flows: self.flows[state.group as usize],
        };
        self.drives.submit(slot, command, &mut drives(ports));
    }

    /// Lets a job issue whatever it can.
    pub(super) fn run_job<M: Needs>(&mut self, job: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        loop {
            let (known, paths) = (&self.drives, &self.config.paths);
            match self.jobs[job as usize].next(now, |path| Self::is_usable(known, paths[path])) {
                Next::Wait => return,
                Next::Sleep(until) => {
                    ports.set_timer(until, Own::of(Kind::Awake, job));
                    return;
                }
                Next::Issue(slot, request) => self.issue(slot, request, ports),
            }
        }
    }

    pub(super) fn drive_of(&mut self, slot: u32) -> &mut Ssd {
        self.drives.drive_mut(self.slots[slot as usize].ssd)
    }

    /// Drive that an event is about, if it is about one.
    fn concerned(&self, kind: Kind, subject: u32) -> Option<u32> {
        match kind {
            Kind::Handler => Some(self.drives.ends_of(subject).0),
            Kind::MoveDue | Kind::MoveShutDown | Kind::MoveLinkUp | Kind::MoveDone | Kind::Awake => None,
            _ => Some(self.slots[subject as usize].ssd),
        }
    }

    pub(super) fn tally_of(&mut self, slot: u32) -> &mut GroupTally {
        self.reports.of(self.slots[slot as usize].job)
    }

    /// A drive says something.
    fn noticed<M: Needs>(&mut self, notice: Notice, ports: &mut Ports<'_, M>) {
        match notice {
            Notice::Completed { slot } => {
                let state = &self.slots[slot as usize];
                let queue = state.queue;
                let core = self.drives.ends_of(queue).1;
                let host = self.drives.drive(state.ssd).config.host;
                self.finish(slot, host, core, ports);
                self.drives.acknowledge(queue, &mut drives(ports));
            }
            Notice::Interrupt { queue } => self.take_interrupt(queue, ports),
        }
    }

    /// An interrupt arrived: its handler runs when the core gets to it, once for all that arrive until then.
    fn take_interrupt<M: Needs>(&mut self, queue: u32, ports: &mut Ports<'_, M>) {
        if !self.drives.wake(queue) {
            return;
        }
        let (ssd, core) = self.drives.ends_of(queue);
        let host = self.drives.drive(ssd).config.host;
        let cost = self.config.hosts[host].interrupt_cost;
        let end = self.cores[host].run(core as usize, ports.now(), cost, CpuWork::Interrupt);
        ports.set_timer(end, Own::of(Kind::Handler, queue));
    }

    /// The handler: one piece of work for every completion that it finds, also those that came after the interrupt.
    fn serve_interrupt<M: Needs>(&mut self, queue: u32, ports: &mut Ports<'_, M>) {
        let (ssd, core) = self.drives.ends_of(queue);
        let host = self.drives.drive(ssd).config.host;
        let found = self.drives.take_completions(queue);
        if found.is_empty() {
            return;
        }
        for slot in found {
            self.finish(slot, host, core, ports);
        }
        self.drives.acknowledge(queue, &mut drives(ports));
    }

    /// The driver hands a command back.
    fn finish<M: Needs>(&mut self, slot: u32, host: usize, core: u32, ports: &mut Ports<'_, M>) {
        let found = &self.slots[slot as usize];
        // A target's processors are not the job's, and its driver is another.
        let attached = self.connections[found.job as usize].is_none();
        let costs = &self.config.hosts[host];
        let engine = self.config.groups[found.group as usize].fio.engine;
        let (cost, work) = match attached && engine == IoEngine::UserSpace {
            true => (costs.user_driver_halves()[1], CpuWork::User),
            false => (costs.completion_cost, CpuWork::Deferred),
        };
        let end = self.cores[host].run(core as usize, ports.now(), cost, work);
        if attached {
            self.tally_of(slot).cpu.spend(cost, work);
        }
        ports.set_timer(end, Own::of(Kind::Completed, slot));
    }

    /// The I/O is over for the job that asked for it.
    pub(super) fn complete<M: Needs>(&mut self, index: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let slot = &self.slots[index as usize];
        let (job, group, request) = (slot.job, slot.group as usize, slot.request);
        let (submission, completion) = match self.config.groups[group].fio.engine {
            IoEngine::Asynchronous | IoEngine::Ring | IoEngine::UserSpace => {
                (slot.submitted - slot.started, now - slot.submitted)
            }
            // A call that returns with the data has no submission of its own.
            IoEngine::Synchronous => (Span::ZERO, now - slot.started),
        };
        let flows = self.flows[group];
        ports.operation_done(if request.write { flows.write } else { flows.read }, submission + completion);
        self.tally_of(index).add(request.write, request.size, submission, completion);
        self.jobs[job as usize].completed(index, now);
        let attached = self.connections[job as usize].is_none();
        let ssd = self.slots[index as usize].ssd;
        let drive = self.drives.drive_mut(ssd);
        drive.in_flight -= 1;
        drive.in_software -= u32::from(attached);
        self.drain_before_move(ssd, ports);
        self.run_job(job, ports);
    }
}

impl NvmeWorkload {
    /// Something happened to a drive, to the network or to a copy: what they say of it is dealt with at once.
    fn device_acts<M: Needs>(&mut self, event: Event<DeviceKinds>, ports: &mut Ports<'_, M>) {
        match split(event) {
            Joined::First(event) => {
                let concerned = self.drives.react(event, &mut drives(ports));
                while let Some(notice) = self.drives.poll() {
                    self.noticed(notice, ports);
                }
                if let Some(ssd) = concerned {
                    self.drives.say_what_holds_back(ssd, &mut drives(ports));
                }
            }
            Joined::Second(event) => match split(event) {
                Joined::First(event) => {
                    self.network.react(event, &mut network(ports));
                    while let Some(completion) = self.network.poll() {
                        self.adapter_completion(completion, ports);
                    }
                }
                Joined::Second(event) => {
                    self.copied.copies.react(event, &mut gpus(ports));
                    self.take_copied(ports);
                }
            },
        }
    }

    /// Takes other settings: drives from the next piece of work on, jobs from their next I/O on.
    pub(super) fn retune<M: Needs>(&mut self, to: &NvmeConfig, ports: &mut Ports<'_, M>) {
        self.config = to.clone();
        self.drives.retune(&self.config.ssds);
        for index in 0..self.jobs.len() {
            let group = self.jobs[index].group;
            let first = self.jobs.iter().position(|job| job.group == group).unwrap_or(index);
            let clone = (index - first) as u32;
            let fio = self.config.groups[group as usize].fio.clone();
            for _ in 0..self.jobs[index].retune(fio) {
                let slot = self.open_slot(index as u32, (group, clone), self.largest[group as usize]);
                self.jobs[index].add_slot(slot);
            }
            self.run_job(index as u32, ports);
        }
    }
}

impl<M: Needs> Instrument<M> for NvmeWorkload {
    type Kind = Kinds;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        self.network.begin(&mut network(ports));
        self.drives.begin(&self.config.ssds, &mut drives(ports));
        self.plan_moves(ports);
        for group in 0..self.config.groups.len() {
            self.build_group(group, ports);
        }
        for job in 0..self.jobs.len() as u32 {
            self.run_job(job, ports);
        }
    }

    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M>) {
        let Token { kind, subject, .. } = match split(event) {
            Joined::First(event) => event.token(),
            Joined::Second(event) => return self.device_acts(event, ports),
        };
        let concerned = self.concerned(kind, subject);
        match kind {
            Kind::Begun => self.copy(subject, ports),
            Kind::Submitted => self.submitted(subject, ports),
            Kind::Handler => self.serve_interrupt(subject, ports),
            Kind::Completed => self.drive_completed(subject, ports),
            Kind::CommandTaken => self.command_taken(subject, ports),
            Kind::WriteDataAsked => self.fetch_write_data(subject, ports),
            Kind::WriteDataHere => self.submit_at_target(subject, ports),
            Kind::TargetSubmitted => self.ring_doorbell(subject, ports),
            Kind::Response => self.respond(subject, ports),
            Kind::Responded => self.arrived(subject, ports),
            Kind::MoveDue => self.move_due(subject, ports),
            Kind::MoveShutDown => self.move_shut_down(subject, ports),
            Kind::MoveLinkUp => self.move_link_up(subject, ports),
            Kind::MoveDone => self.move_done(subject, ports),
            Kind::Awake => {
                self.jobs[subject as usize].awake();
                self.run_job(subject, ports);
            }
        }
        if let Some(ssd) = concerned {
            self.drives.say_what_holds_back(ssd, &mut drives(ports));
        }
    }
}

impl Workload for NvmeWorkload {
    called_by_fabric!();

    fn change(&mut self, to: &dyn Any, fabric: &mut Fabric) {
        let now = fabric.now();
        self.retune(to.downcast_ref().expect("settings of drives and jobs"), &mut Ports::of(fabric, now));
    }

    fn report(&self, window: (Time, Time)) -> Vec<Metric> {
        self.reports(window).into_iter().flatten().collect()
    }

    fn reports(&self, window: (Time, Time)) -> Vec<Vec<Metric>> {
        let ended: Vec<Option<Time>> = self.jobs.iter().map(|job| job.ended(window.1)).collect();
        self.reports.all(window, &ended)
    }

    fn resources(&self, at: Time) -> Vec<ResourceReading> {
        let hosts = self.config.hosts.iter().zip(&self.cores);
        let cores = hosts.flat_map(|(host, cores)| cores.resources((host.device, &host.name), at));
        cores.chain(self.drives.resources(at)).chain(self.network.resources(at)).filter(asked_for).collect()
    }

    fn held(&self) -> u64 {
        self.drives.held() + self.network.held()
    }

    fn start_measuring(&mut self, _now: Time) {
        self.reports.restart();
    }
}
