//! The storage subsystem as one instrument: what it is made of, the host's side of an I/O, and its report.
//!
//! The adapters' side is in [`super::path`].

use super::iometer::{Io, IometerConfig, Next, Worker};
use super::report::{GroupTally, cpu_metrics, io_metrics};
use super::seats::{self, Seat, sum_of};
use super::token::{Kind, Needs, Ports, Token};
use crate::device::hba::{Drive, DriveConfig, Hba, HbaConfig};
use crate::flows::Flows;
use crate::host::HostSoftwareConfig;
use crate::host::cpu::{Cores, CpuTally, CpuWork};
use crate::host::memory::PAGE;
use crate::ports::{Event, Instrument, called_by_fabric};
use crate::server::asked_for;
use lanewise_fabric::Fabric;
use lanewise_fabric::ResourceReading;
use lanewise_fabric::workload::{Metric, Workload};
use lanewise_observe::LatencyOf;
use lanewise_units::{Bytes, Span, Time};
use std::any::Any;

/// A drive and where it is.
#[derive(Clone, Debug)]
pub struct DrivePlacement {
    /// Name in the scenario; names the drive's random stream.
    pub name: String,
    /// Index of the adapter.
    pub hba: usize,
    /// Port or phy of the adapter.
    pub port: usize,
    /// What it is.
    pub config: DriveConfig,
}

/// Settings of a storage subsystem.
#[derive(Clone, Debug)]
pub struct StorageConfig {
    /// Name of the instrument.
    pub name: String,
    /// Host software.
    pub host: HostSoftwareConfig,
    /// Adapters.
    pub hbas: Vec<HbaConfig>,
    /// Drives.
    pub drives: Vec<DrivePlacement>,
    /// Groups of workers, whose targets are indexes of drives.
    pub groups: Vec<IometerConfig>,
}

impl StorageConfig {
    /// These settings, with what may change while everything is at work as in `other`: rates and costs of drives.
    #[must_use]
    pub fn with_live_settings_of(&self, other: &Self) -> Self {
        let mut mixed = self.clone();
        for (drive, from) in mixed.drives.iter_mut().zip(&other.drives) {
            drive.config = drive.config.with_live_settings_of(&from.config);
        }
        mixed
    }
}

/// An I/O of a worker, with the place for it in every table. Slots are opened once and used again and again.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub worker: u32,
    pub group: u32,
    /// Where its I/Os are counted.
    pub seat: u32,
    pub drive: u32,
    pub hba: u32,
    pub port: u32,
    /// The worker's buffer in host memory.
    pub buffer: u64,
    pub io: Io,
    /// Bytes handed to the DMA engine so far.
    pub moved: u64,
    /// The drive has answered.
    pub answered: bool,
    pub started: Time,
}

/// The instrument.
#[derive(Debug)]
pub struct StorageWorkload {
    config: StorageConfig,
    pub(super) hbas: Vec<Hba>,
    pub(super) drives: Vec<Drive>,
    pub(super) slots: Vec<Slot>,
    /// Of each group.
    pub(super) flows: Vec<Flows>,
    workers: Vec<Worker>,
    cores: Cores,
    seats: Vec<Seat>,
    interrupts: u64,
}

/// Host memory set aside for each slot's command and scatter/gather list.
const COMMAND_AREA: u64 = 16 * 1024;

impl StorageWorkload {
    /// A subsystem at rest.
    ///
    /// # Panics
    /// When a drive, port or target does not exist, or an access specification is not one.
    pub fn new(config: StorageConfig) -> Self {
        for drive in &config.drives {
            let hba = config.hbas.get(drive.hba).unwrap_or_else(|| panic!("{}: no such adapter", drive.name));
            assert!(drive.port < hba.ports as usize, "{}: {} has {} ports", drive.name, hba.name, hba.ports);
        }
        for group in &config.groups {
            group.check();
            assert!(group.targets.iter().all(|t| *t < config.drives.len()), "{}: no such drive", group.name);
        }
        Self {
            hbas: Vec::new(),
            drives: Vec::new(),
            slots: Vec::new(),
            flows: Vec::new(),
            workers: Vec::new(),
            cores: Cores::new(config.host.cores),
            seats: Vec::new(),
            interrupts: 0,
            config,
        }
    }

    /// Adapter and port of a drive.
    pub(super) fn place_of_drive(&self, drive: u32) -> (u32, u32) {
        let placement = &self.config.drives[drive as usize];
        (placement.hba as u32, placement.port as u32)
    }

    /// Where an adapter's status writes and interrupts go, in host memory.
    pub(super) fn status_area(&self) -> u64 {
        self.slots.len() as u64 * COMMAND_AREA
    }

    /// Where a slot's command is, in host memory.
    pub(super) fn command_area(slot: u32) -> u64 {
        u64::from(slot) * COMMAND_AREA
    }

    fn build_adapters<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        for (index, config) in self.config.hbas.iter().enumerate() {
            let mut behind = vec![Vec::new(); config.ports as usize];
            for (drive, placement) in self.config.drives.iter().enumerate() {
                if placement.hba == index {
                    behind[placement.port].push(drive as u32);
                }
            }
            let mut hba = Hba::new(config.clone(), behind);
            hba.posted_channel = Some(ports.open_channel(config.device));
            hba.data_channel = Some(ports.open_channel(config.device));
            hba.command_channel = Some(ports.open_channel(config.device));
            self.hbas.push(hba);
        }
        for placement in &self.config.drives {
            let frame = self.config.hbas[placement.hba].wire.frame_payload();
            let random = ports.random_stream(&placement.name, "drive");
            self.drives.push(Drive::new(placement.config.clone(), frame, random));
        }
    }

    fn build_group<M: Needs>(&mut self, index: usize, ports: &mut Ports<'_, M>) {
        let group = self.config.groups[index].clone();
        let devices = devices_of(&group, &self.config);
        self.flows.push(Flows::add(&group.name, &devices, LatencyOf::Operation, ports));
        for number in 0..group.workers {
            let targets = group.targets_of(number);
            let stream =
                |purpose: &str| ports.random_stream(&group.name, &format!("worker {number} {purpose}"));
            let seen = targets.iter().map(|&drive| {
                let placement = &self.config.drives[drive];
                (placement.config.capacity, stream(&placement.name))
            });
            let first_slot = self.slots.len() as u32;
            let worker =
                Worker::new(&group, first_slot, seen.collect(), ["lines", "reads", "randoms"].map(stream));
            self.open_slots((index as u32, number), &targets, group.outstanding);
            self.workers.push(worker);
        }
    }

    /// Opens the slots of the next worker, target by target.
    fn open_slots(&mut self, (group, worker): (u32, u32), targets: &[usize], outstanding: u32) {
        for &drive in targets {
            let placement = &self.config.drives[drive];
            let seat = self.seats.len() as u32;
            self.seats.push(Seat { group: group as usize, worker, drive, tally: GroupTally::default() });
            for _ in 0..outstanding {
                self.slots.push(Slot {
                    worker: self.workers.len() as u32,
                    group,
                    seat,
                    drive: drive as u32,
                    hba: placement.hba as u32,
                    port: placement.port as u32,
                    buffer: 0,
                    io: Io { read: true, offset: 0, size: 0 },
                    moved: 0,
                    answered: false,
                    started: Time::ZERO,
                });
            }
        }
    }

    /// Gives each worker a buffer behind the commands and status words; all its I/Os share it, as in IOmeter.
    fn place_buffers(&mut self) {
        let largest = self.config.groups.iter().map(IometerConfig::largest).max().unwrap_or(Bytes::ZERO);
        let first = Bytes::new(self.status_area()) + PAGE;
        for slot in &mut self.slots {
            slot.buffer =
                (first.round_up_to(PAGE) + largest.round_up_to(PAGE) * u64::from(slot.worker)).get();
        }
    }

    /// Lets a worker issue whatever it can.
    fn run_worker<M: Needs>(&mut self, worker: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        loop {
            match self.workers[worker as usize].next(now) {
                Next::Wait => return,
                Next::Sleep(until) => {
                    ports.set_timer(until, Token::of(Kind::Awake, worker));
                    return;
                }
                Next::Issue(slot, io) => self.issue(slot, io, ports),
            }
        }
    }

    /// The worker's thread and the driver spend their time on an I/O; the doorbell is rung at the end of it.
    fn issue<M: Needs>(&mut self, index: u32, io: Io, ports: &mut Ports<'_, M>) {
        let host = &self.config.host;
        let slot = &mut self.slots[index as usize];
        let core = slot.worker as usize;
        slot.io = io;
        slot.moved = 0;
        slot.answered = false;
        slot.started = self.cores.run(core, ports.now(), host.worker_cost, CpuWork::User);
        self.hbas[slot.hba as usize].in_software += 1;
        let submitted = self.cores.run(core, ports.now(), host.submit_cost, CpuWork::Privileged);
        self.workers[slot.worker as usize].issued(index, slot.started);
        ports.set_timer(submitted, Token::of(Kind::Submitted, index));
    }

    /// An interrupt arrived: one piece of work for it, and one for every I/O that it tells of.
    fn serve_interrupt<M: Needs>(&mut self, hba: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let host = &self.config.host;
        self.interrupts += 1;
        self.cores.run(hba as usize, now, host.interrupt_cost, CpuWork::Interrupt);
        for slot in self.hbas[hba as usize].completions.take_signalled() {
            let end = self.cores.run(hba as usize, now, host.completion_cost, CpuWork::Deferred);
            ports.set_timer(end, Token::of(Kind::Completed, slot));
        }
        self.consider_interrupt(hba, ports);
    }

    /// Says what each adapter waits for.
    fn say_what_holds_back<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        for hba in &mut self.hbas {
            let state = hba.waits_for(&self.drives, now);
            hba.waiting.say(state, hba.config.device, ports);
        }
    }

    /// The I/O is over for the worker that asked for it.
    fn complete<M: Needs>(&mut self, index: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let slot = &self.slots[index as usize];
        let (worker, group, seat, io) = (slot.worker, slot.group as usize, slot.seat as usize, slot.io);
        self.hbas[slot.hba as usize].in_software -= 1;
        let latency = now - slot.started;
        let tally = &mut self.seats[seat].tally;
        let flow = if io.read { self.flows[group].read } else { self.flows[group].write };
        if io.read {
            tally.read.add(io.size, latency)
        } else {
            tally.write.add(io.size, latency)
        }
        ports.operation_done(flow, latency);
        if let Some(transaction) = self.workers[worker as usize].completed(index, now) {
            self.seats[seat].tally.transaction.add(0, transaction);
        }
        self.run_worker(worker, ports);
    }

    fn measured(&self, window: Span) -> Vec<Metric> {
        let all = sum_of(&self.seats, |_| true);
        let mut metrics = io_metrics("", &all, window);
        let shares = self.cores.tally.shares(self.cores.count(), window);
        metrics.extend(cpu_metrics(&shares, self.interrupts, &all, window));
        if self.config.groups.len() > 1 {
            for (index, group) in self.config.groups.iter().enumerate() {
                let tally = sum_of(&self.seats, |seat| seat.group == index);
                metrics.extend(io_metrics(&format!("{}: ", group.name), &tally, window));
            }
        }
        metrics.extend(seats::metrics(&self.seats, &self.config, window));
        metrics
    }
}

/// Names of the adapters that a group's targets are behind.
fn devices_of(group: &IometerConfig, config: &StorageConfig) -> String {
    let used = |hba: usize| group.targets.iter().any(|target| config.drives[*target].hba == hba);
    let names = config.hbas.iter().enumerate().filter(|(index, _)| used(*index));
    names.map(|(_, hba)| hba.name.as_str()).collect::<Vec<_>>().join("+")
}

impl<M: Needs> Instrument<M> for StorageWorkload {
    type Kind = Kind;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        self.build_adapters(ports);
        for group in 0..self.config.groups.len() {
            self.build_group(group, ports);
        }
        self.place_buffers();
        for worker in 0..self.workers.len() as u32 {
            self.run_worker(worker, ports);
        }
    }

    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M>) {
        let Token { kind, subject, detail } = event.token();
        match kind {
            Kind::Submitted => self.ring_doorbell(subject, ports),
            Kind::Doorbell => self.take_command(subject, ports),
            Kind::Processed => self.fetch_command(subject, ports),
            Kind::CommandFetched => self.send_command(subject, ports),
            Kind::Arrived => self.frame_arrived(subject, detail, ports),
            Kind::Departed => self.frame_departed(subject, detail, ports),
            Kind::Media => self.media_due(subject, ports),
            Kind::CrossedInbound => self.write_to_memory(subject, detail, ports),
            Kind::DataSent => self.data_sent(subject, detail, ports),
            Kind::DataFetched => self.data_fetched(subject, detail, ports),
            Kind::CrossedOutbound => self.send_data(subject, detail, ports),
            Kind::Moderation => self.moderation_due(subject, ports),
            Kind::Interrupt => self.serve_interrupt(subject, ports),
            Kind::Completed => self.complete(subject, ports),
            Kind::Awake => self.run_worker(subject, ports),
        }
        self.say_what_holds_back(ports);
    }
}

impl Workload for StorageWorkload {
    called_by_fabric!();

    fn change(&mut self, to: &dyn Any, _fabric: &mut Fabric) {
        self.config = to.downcast_ref::<StorageConfig>().expect("settings of storage").clone();
        let placements = self.drives.iter_mut().zip(&self.config.drives);
        placements.for_each(|(drive, placement)| drive.retune(&placement.config));
    }

    fn resources(&self, at: Time) -> Vec<ResourceReading> {
        let cores = self.cores.resources(&self.config.name, at);
        let adapters = self.hbas.iter().flat_map(|hba| hba.resources(at));
        cores.chain(adapters).filter(asked_for).collect()
    }

    fn held(&self) -> u64 {
        self.drives.iter().map(Drive::held).sum()
    }

    fn start_measuring(&mut self, now: Time) {
        let _ = now;
        self.seats.iter_mut().for_each(|seat| seat.tally = GroupTally::default());
        self.cores.tally = CpuTally::default();
        self.interrupts = 0;
    }

    fn report(&self, window: (Time, Time)) -> Vec<Metric> {
        self.measured(window.1.saturating_since(window.0))
    }
}
