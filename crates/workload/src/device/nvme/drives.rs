//! NVMe drives as a driver sees them: commands go in, notices come out.
//!
//! The driver gives a command a slot, which names it on both sides, and puts it into a queue of a core on a drive: [`Drives::submit`].
//! [`Drives::react`] takes the events; what they tell the driver it finds with [`Drives::poll`] in the same event: the completion of a
//! command that a core polls for, or an interrupt, whose completions are then taken with [`Drives::take_completions`].

use super::config::SsdConfig;
use super::ssd::{DOORBELL, Ssd};
use super::token::{Kind, Needs, Ports, Token};
use crate::device::completions::Completions;
use crate::flows::Flows;
use crate::ports::Event;
use lanewise_fabric::ResourceReading;
use lanewise_fabric::workload::{DeviceId, Target};
use lanewise_units::{Few, Time};
use std::collections::VecDeque;

/// A command that a driver puts into a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    /// Index of the drive.
    pub drive: u32,
    /// The queue: [`Drives::queue_of`].
    pub queue: u32,
    /// Write or read.
    pub write: bool,
    /// First byte on the drive.
    pub offset: u64,
    /// Bytes; not zero.
    pub size: u64,
    /// Whose memory its data is in; none when it is in the drive already.
    pub memory: Option<Target>,
    /// Where its data lies there.
    pub buffer: u64,
    /// A core looks for its completion; without, an interrupt tells of it.
    pub polled: bool,
    /// Flows that its data and itself are counted for.
    pub flows: Flows,
}

/// A command and how far the drive is with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Active {
    pub command: Command,
    /// Bytes handed to DMA so far, and bytes that have arrived in the drive.
    pub moved: u64,
    pub arrived: u64,
    /// Entries of its list of pages that are still to be read, and pages of the list that were.
    pub list: (u64, u64),
    /// It is a write that goes on where one of the last ended.
    pub sequential: bool,
}

/// What a drive tells its driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Notice {
    /// The completion of the command in this slot, which is polled for, is in memory.
    Completed {
        /// The slot.
        slot: u32,
    },
    /// An interrupt of this queue is at the processor.
    Interrupt {
        /// The queue.
        queue: u32,
    },
}

/// A submission and a completion queue of one core on one drive.
#[derive(Debug)]
pub(super) struct QueuePair {
    pub drive: u32,
    core: u32,
    /// Those of which no interrupt tells yet.
    pub completions: Completions,
    /// Completions on their way to memory and there, in the order in which the queue has them.
    entries: VecDeque<Entry>,
    /// A handler will look into the queue.
    is_looked_at: bool,
    /// Commands that were put in so far: where the next one goes.
    pub tail: u64,
}

/// A completion that the driver has not taken.
#[derive(Clone, Copy, Debug)]
struct Entry {
    slot: u32,
    /// It is in memory.
    is_written: bool,
}

impl QueuePair {
    fn new(drive: u32, core: u32) -> Self {
        let completions = Completions::default();
        Self { drive, core, completions, entries: VecDeque::new(), is_looked_at: false, tail: 0 }
    }

    /// The drive hands a completion to its way to memory.
    pub fn post(&mut self, slot: u32) {
        self.completions.post(slot);
        self.entries.push_back(Entry { slot, is_written: false });
    }

    /// A completion is in memory.
    fn written(&mut self, slot: u32) {
        let entry = self.entries.iter_mut().find(|entry| entry.slot == slot);
        entry.expect("a completion that arrives was posted").is_written = true;
    }

    /// The next completion that a driver finds: it reads them in order, as far as their phase tags say that they are there (NVMe
    /// Base 2.0 §3.3.3.2).
    fn take(&mut self) -> Option<u32> {
        self.entries.front().filter(|entry| entry.is_written)?;
        self.entries.pop_front().map(|entry| entry.slot)
    }
}

/// Drives of any number of hosts.
#[derive(Debug, Default)]
pub(crate) struct Drives {
    pub(super) ssds: Vec<Ssd>,
    pub(super) queues: Vec<QueuePair>,
    /// Of a drive and a core.
    queue_of: Few<(u32, u32), u32>,
    /// By slot; those that are over stay until the next.
    pub(super) commands: Vec<Active>,
    notices: VecDeque<Notice>,
}

impl Drives {
    /// Opens the DMA queues of every drive. Called once, at the start of the run.
    pub(crate) fn begin<M: Needs>(&mut self, configs: &[SsdConfig], ports: &mut Ports<'_, M>) {
        for config in configs {
            let queues = [(); 3].map(|()| ports.open_queue(config.device));
            self.ssds.push(Ssd::new(config.clone(), queues));
        }
    }

    /// One of them.
    pub(crate) fn drive(&self, drive: u32) -> &Ssd {
        &self.ssds[drive as usize]
    }

    /// One of them, to be changed.
    pub(crate) fn drive_mut(&mut self, drive: u32) -> &mut Ssd {
        &mut self.ssds[drive as usize]
    }

    /// Takes other settings, which differ in what may change.
    pub(crate) fn retune(&mut self, configs: &[SsdConfig]) {
        for (ssd, config) in self.ssds.iter_mut().zip(configs) {
            ssd.config = ssd.config.with_live_settings_of(config);
        }
    }

    /// A drive belongs to another host now, where it is this device.
    pub(crate) fn attach<M: Needs>(
        &mut self,
        drive: u32,
        (device, host): (DeviceId, usize),
        ports: &mut Ports<'_, M>,
    ) {
        let queues = [(); 3].map(|()| ports.open_queue(device));
        self.ssds[drive as usize].attach(device, host, queues);
    }

    /// The pair of queues of a core on a drive; it is made when it is first asked for.
    pub(crate) fn queue_of(&mut self, drive: u32, core: u32) -> u32 {
        let Self { queues, queue_of, .. } = self;
        *queue_of.or_insert_with((drive, core), || {
            queues.push(QueuePair::new(drive, core));
            queues.len() as u32 - 1
        })
    }

    /// Drive and core of a queue.
    pub(crate) fn ends_of(&self, queue: u32) -> (u32, u32) {
        let QueuePair { drive, core, .. } = self.queues[queue as usize];
        (drive, core)
    }

    /// The command of a slot is in its queue: tells the drive.
    pub(crate) fn submit<M: Needs>(&mut self, slot: u32, command: Command, ports: &mut Ports<'_, M>) {
        let active = Active { command, moved: 0, arrived: 0, list: (0, 0), sequential: false };
        if self.commands.len() <= slot as usize {
            self.commands.resize(slot as usize + 1, active);
        }
        self.commands[slot as usize] = active;
        let device = self.ssds[command.drive as usize].config.device;
        ports.mmio_write(device, DOORBELL, Token::of(Kind::Doorbell, slot));
    }

    /// An interrupt of a queue is at its core; whether a handler has to be called. One that is about to look finds all that is there
    /// when it does.
    pub(crate) fn wake(&mut self, queue: u32) -> bool {
        !std::mem::replace(&mut self.queues[queue as usize].is_looked_at, true)
    }

    /// Slots of the completions that the handler of a queue's interrupt finds in memory, also those that came after it.
    pub(crate) fn take_completions(&mut self, queue: u32) -> Vec<u32> {
        let pair = &mut self.queues[queue as usize];
        pair.is_looked_at = false;
        std::iter::from_fn(|| pair.take()).collect()
    }

    /// Whoever looks into the queue says how far it has been read (NVMe over PCIe Transport 1.0 §3.1.2.2: completion queue head).
    pub(crate) fn acknowledge<M: Needs>(&self, queue: u32, ports: &mut Ports<'_, M>) {
        let device = self.ssds[self.queues[queue as usize].drive as usize].config.device;
        ports.mmio_write(device, DOORBELL, Token::of(Kind::Ignored, queue));
    }

    /// What a driver is told now: call after [`Self::react`] until there is nothing.
    pub(crate) fn poll(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// Takes an event; the drive that it is about, if it is about one.
    pub(crate) fn react<M: Needs>(&mut self, event: Event<Kind>, ports: &mut Ports<'_, M>) -> Option<u32> {
        let Token { kind, subject, detail } = event.token();
        let concerned = self.concerned(kind, subject);
        match kind {
            Kind::Doorbell => self.doorbell_arrived(subject, ports),
            Kind::Fetched => self.commands_fetched(subject, detail, ports),
            Kind::Processed => self.command_processed(subject, ports),
            Kind::PagesFetched => self.fetch_pages(subject, ports),
            Kind::MediaReady => self.media_ready(subject, detail, ports),
            Kind::Crossed => self.crossed(subject, ports),
            Kind::DataSent => self.data_sent(subject, detail, ports),
            Kind::DataFetched => self.data_fetched(subject, detail, ports),
            Kind::Drained => self.drained(subject, detail, ports),
            Kind::Accepted => self.accepted(subject, ports),
            Kind::Moderation => self.moderation_due(subject, ports),
            Kind::Written => {
                let queue = self.commands[subject as usize].command.queue;
                self.queues[queue as usize].written(subject);
            }
            Kind::Polled => self.notices.push_back(Notice::Completed { slot: subject }),
            Kind::Interrupt => self.notices.push_back(Notice::Interrupt { queue: subject }),
            Kind::Ignored => {}
        }
        concerned
    }

    /// Drive that an event is about.
    fn concerned(&self, kind: Kind, subject: u32) -> Option<u32> {
        match kind {
            Kind::Fetched | Kind::Crossed | Kind::DataSent | Kind::Drained => Some(subject),
            Kind::Moderation | Kind::Interrupt => Some(self.queues[subject as usize].drive),
            Kind::Ignored => None,
            _ => Some(self.commands[subject as usize].command.drive),
        }
    }

    /// Says what a drive waits for.
    pub(crate) fn say_what_holds_back<M: Needs>(&mut self, drive: u32, ports: &mut Ports<'_, M>) {
        let drive = &mut self.ssds[drive as usize];
        drive.waiting.say(drive.waits_for(ports.now()), drive.config.device, ports);
    }

    /// Media, controllers and data paths of all drives, with what they have done up to `at`.
    pub(crate) fn resources(&self, at: Time) -> impl Iterator<Item = ResourceReading> {
        self.ssds.iter().flat_map(move |ssd| ssd.resources(at))
    }

    /// Bytes in their buffers.
    pub(crate) fn held(&self) -> u64 {
        self.ssds.iter().map(Ssd::held).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_has_one_pair_of_queues_on_each_drive() {
        let mut drives = Drives::default();
        let ends = [(0, 0), (0, 1), (1, 0), (0, 1), (1, 0)];
        assert_eq!(ends.map(|(drive, core)| drives.queue_of(drive, core)), [0, 1, 2, 1, 2]);
        assert_eq!([0, 1, 2].map(|queue| drives.ends_of(queue)), ends[..3]);
    }
}
