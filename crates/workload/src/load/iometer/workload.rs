//! The storage subsystem as one instrument: what it is made of, the host's side of an I/O, and its report.
//!
//! The adapters' side is [`Adapters`].

use super::report::{GroupTally, cpu_metrics, io_metrics};
use super::seats::{self, Seat, sum_of};
use super::token::{Kind, Kinds, Needs, Ports, Token as Own};
use super::workers::{Io, IometerConfig, Next, Worker};
use crate::device::hba::{Adapters, DrivePlacement, HbaConfig, IoCommand, Notice};
use crate::flows::{Flows, Repeats};
use crate::host::HostSoftwareConfig;
use crate::host::cpu::{Cores, CpuTally, CpuWork};
use crate::host::memory::PAGE;
use crate::ports::{Event, Instrument, called_by_fabric, split};
use crate::server::asked_for;
use crate::token::{Joined, Token};
use lanewise_fabric::workload::{Metric, Workload};
use lanewise_fabric::{Fabric, ResourceReading};
use lanewise_observe::{FlowDevices, LatencyOf};
use lanewise_units::{Bytes, Span, Time};
use std::any::Any;

/// Settings of a storage subsystem.
#[derive(Clone, Debug, PartialEq)]
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
#[derive(Clone, Copy, Debug)]
struct Slot {
    pub worker: u32,
    pub group: u32,
    /// Where its I/Os are counted.
    pub seat: u32,
    pub drive: u32,
    pub hba: u32,
    /// The worker's buffer in host memory.
    pub buffer: u64,
    pub io: Io,
    pub started: Time,
}

/// The instrument.
#[derive(Debug)]
pub struct StorageWorkload {
    config: StorageConfig,
    adapters: Adapters,
    slots: Vec<Slot>,
    /// Of each group.
    flows: Vec<Flows>,
    workers: Vec<Worker>,
    cores: Cores,
    seats: Vec<Seat>,
    interrupts: u64,
}

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
            adapters: Adapters::default(),
            slots: Vec::new(),
            flows: Vec::new(),
            workers: Vec::new(),
            cores: Cores::new(config.host.cores),
            seats: Vec::new(),
            interrupts: 0,
            config,
        }
    }

    fn build_group<M: Needs>(&mut self, index: usize, ports: &mut Ports<'_, M>) {
        let group = self.config.groups[index].clone();
        let devices = devices_of(&group, &self.config);
        self.flows.push(Flows::add(&group.name, devices, LatencyOf::Operation, Repeats::default(), ports));
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
                    buffer: 0,
                    io: Io { read: true, offset: 0, size: 0 },
                    started: Time::ZERO,
                });
            }
        }
    }

    /// Gives each worker a buffer behind the commands and status words; all its I/Os share it, as in IOmeter.
    fn place_buffers(&mut self) {
        let largest = self.config.groups.iter().map(IometerConfig::largest).max().unwrap_or(Bytes::ZERO);
        let first = Bytes::new(self.adapters.place_areas(self.slots.len())) + PAGE;
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
                    ports.set_timer(until, Own::of(Kind::Awake, worker));
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
        slot.started = self.cores.run(core, ports.now(), host.worker_cost, CpuWork::User);
        self.adapters.hba_mut(slot.hba).in_software += 1;
        let submitted = self.cores.run(core, ports.now(), host.submit_cost, CpuWork::Privileged);
        self.workers[slot.worker as usize].issued(index, slot.started);
        ports.set_timer(submitted, Own::of(Kind::Submitted, index));
    }

    /// The driver has done its part: tells the adapter.
    fn ring_doorbell<M: Needs>(&mut self, index: u32, ports: &mut Ports<'_, M>) {
        let Slot { drive, group, buffer, io, .. } = self.slots[index as usize];
        let (Io { read, offset, size }, flows) = (io, self.flows[group as usize]);
        let command = IoCommand { drive, read, offset, size, buffer, flows };
        self.adapters.submit(index, command, &mut ports.second());
    }

    /// An interrupt arrived: one piece of work for it, and one for every I/O that it tells of.
    fn serve_interrupt<M: Needs>(&mut self, hba: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let host = &self.config.host;
        self.interrupts += 1;
        self.cores.run(hba as usize, now, host.interrupt_cost, CpuWork::Interrupt);
        for slot in self.adapters.take_completions(hba) {
            let end = self.cores.run(hba as usize, now, host.completion_cost, CpuWork::Deferred);
            ports.set_timer(end, Own::of(Kind::Completed, slot));
        }
        self.adapters.served(hba, &mut ports.second());
    }

    /// The I/O is over for the worker that asked for it.
    fn complete<M: Needs>(&mut self, index: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let slot = &self.slots[index as usize];
        let (worker, group, seat, io) = (slot.worker, slot.group as usize, slot.seat as usize, slot.io);
        self.adapters.hba_mut(slot.hba).in_software -= 1;
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
fn devices_of(group: &IometerConfig, config: &StorageConfig) -> FlowDevices {
    let used = |hba: usize| group.targets.iter().any(|target| config.drives[*target].hba == hba);
    let names = config.hbas.iter().enumerate().filter(|(index, _)| used(*index));
    FlowDevices::together(names.map(|(_, hba)| hba.name.clone()).collect())
}

impl<M: Needs> Instrument<M> for StorageWorkload {
    type Kind = Kinds;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        self.adapters.begin(&self.config.hbas, &self.config.drives, &mut ports.second());
        for group in 0..self.config.groups.len() {
            self.build_group(group, ports);
        }
        self.place_buffers();
        for worker in 0..self.workers.len() as u32 {
            self.run_worker(worker, ports);
        }
    }

    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M>) {
        match split(event) {
            Joined::First(event) => {
                let Token { kind, subject, .. } = event.token();
                match kind {
                    Kind::Submitted => self.ring_doorbell(subject, ports),
                    Kind::Completed => self.complete(subject, ports),
                    Kind::Awake => self.run_worker(subject, ports),
                }
            }
            Joined::Second(event) => {
                self.adapters.react(event, &mut ports.second());
                while let Some(Notice::Interrupt { hba }) = self.adapters.poll() {
                    self.serve_interrupt(hba, ports);
                }
            }
        }
        self.adapters.say_what_holds_back(&mut ports.second());
    }
}

impl Workload for StorageWorkload {
    called_by_fabric!();

    fn change(&mut self, to: &dyn Any, _fabric: &mut Fabric) {
        self.config = to.downcast_ref::<StorageConfig>().expect("settings of storage").clone();
        self.adapters.retune(&self.config.drives);
    }

    fn resources(&self, at: Time) -> Vec<ResourceReading> {
        let cores = self.cores.resources((self.config.host.device, &self.config.name), at);
        cores.chain(self.adapters.resources(at)).filter(asked_for).collect()
    }

    fn held(&self) -> u64 {
        self.adapters.held()
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
