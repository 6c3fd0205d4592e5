//! Storage adapters with their drives as a driver sees them: commands go in, interrupts come out.
//!
//! The driver gives a command a slot, which names it on both sides, and rings the adapter: [`Adapters::submit`]. [`Adapters::react`]
//! takes the events; what they tell the driver it finds with [`Adapters::poll`] in the same event. An interrupt's completions are
//! taken with [`Adapters::take_completions`]; [`Adapters::served`] lets the adapter send the next.

use super::adapter::{Hba, HbaConfig};
use super::drive::{Drive, DriveConfig};
use super::token::{Kind, Needs, Ports, Token};
use crate::flows::Flows;
use crate::ports::Event;
use lanewise_fabric::ports::Randomness;
use lanewise_fabric::{Part, ResourceId, ResourceOwner, ResourceReading};
use lanewise_units::{Time, order};
use std::collections::VecDeque;

/// A drive and where it is.
#[derive(Clone, Debug, PartialEq)]
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

impl DrivePlacement {
    /// What its resources belong to.
    pub(crate) fn owner(&self, adapter: &HbaConfig) -> ResourceOwner {
        ResourceOwner::Drive { adapter: adapter.device, name: self.name.clone() }
    }
}

/// What a driver asks of a drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IoCommand {
    /// Index of the drive.
    pub drive: u32,
    /// Read or write.
    pub read: bool,
    /// First byte on the drive.
    pub offset: u64,
    /// Bytes; not zero.
    pub size: u64,
    /// Where its data lies in host memory.
    pub buffer: u64,
    /// Flows that its data and itself are counted for.
    pub flows: Flows,
}

/// A command and how far the adapter is with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Active {
    pub command: IoCommand,
    /// Bytes handed to the DMA engine so far.
    pub moved: u64,
    /// The drive has answered.
    pub answered: bool,
}

/// What an adapter tells its driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Notice {
    /// An interrupt of this adapter is at the processor.
    Interrupt {
        /// The adapter.
        hba: u32,
    },
}

/// Host memory set aside for each slot's command and scatter/gather list.
const COMMAND_AREA: u64 = 16 * 1024;

/// Adapters of one host.
#[derive(Debug, Default)]
pub(crate) struct Adapters {
    pub(super) hbas: Vec<Hba>,
    pub(super) drives: Vec<Drive>,
    /// The media of each drive as a resource, and the name of that.
    media: Vec<(ResourceId, String)>,
    /// Adapter and port of each drive.
    places: Vec<(u32, u32)>,
    /// By slot; those that are over stay until the next.
    pub(super) commands: Vec<Active>,
    /// Where status writes and interrupts go, in host memory.
    pub(super) status_area: u64,
    notices: VecDeque<Notice>,
    /// Adapters that may wait for something else since it was last said, in order.
    touched: Vec<u32>,
}

impl Adapters {
    /// Opens the DMA queues of every adapter. Called once, at the start of the run.
    pub(crate) fn begin<M: Needs + Randomness>(
        &mut self,
        hbas: &[HbaConfig],
        drives: &[DrivePlacement],
        ports: &mut Ports<'_, M>,
    ) {
        for (index, config) in hbas.iter().enumerate() {
            let mut behind = vec![Vec::new(); config.ports as usize];
            for (drive, placement) in drives.iter().enumerate() {
                if placement.hba == index {
                    behind[placement.port].push(drive as u32);
                }
            }
            let mut hba = Hba::new(config.clone(), behind);
            hba.posted_queue = Some(ports.open_queue(config.device));
            hba.data_queue = Some(ports.open_queue(config.device));
            hba.command_queue = Some(ports.open_queue(config.device));
            self.hbas.push(hba);
        }
        for placement in drives {
            let frame = hbas[placement.hba].wire.frame_payload();
            let random = ports.random_stream(&placement.name, "drive");
            self.drives.push(Drive::new(placement.config.clone(), frame, random));
            let hba = &hbas[placement.hba];
            let id = ResourceId { owner: placement.owner(hba), part: Part::DiskMedia };
            self.media.push((id, format!("{}.{}.media", hba.name, placement.name)));
            self.places.push((placement.hba as u32, placement.port as u32));
        }
        (0..hbas.len() as u32).for_each(|hba| order::add(&mut self.touched, hba));
    }

    /// So many slots there are: commands lie first in host memory, then what adapters write. Returns where that begins.
    pub(crate) fn place_areas(&mut self, slots: usize) -> u64 {
        self.status_area = slots as u64 * COMMAND_AREA;
        self.status_area
    }

    /// Where a slot's command is, in host memory.
    pub(super) fn command_area(slot: u32) -> u64 {
        u64::from(slot) * COMMAND_AREA
    }

    /// Adapter and port of a drive.
    pub(crate) fn place_of_drive(&self, drive: u32) -> (u32, u32) {
        self.places[drive as usize]
    }

    /// An adapter, to be changed.
    pub(crate) fn hba_mut(&mut self, hba: u32) -> &mut Hba {
        order::add(&mut self.touched, hba);
        &mut self.hbas[hba as usize]
    }

    /// The adapter that a slot's drive is behind.
    pub(super) fn hba_of(&mut self, slot: u32) -> &mut Hba {
        let hba = self.place_of_drive(self.commands[slot as usize].command.drive).0;
        &mut self.hbas[hba as usize]
    }

    /// Takes other settings of drives, which differ in what may change.
    pub(crate) fn retune(&mut self, placements: &[DrivePlacement]) {
        let placements = self.drives.iter_mut().zip(placements);
        placements.for_each(|(drive, placement)| drive.retune(&placement.config));
    }

    /// The command of a slot is in host memory: tells the adapter.
    pub(crate) fn submit<M: Needs>(&mut self, slot: u32, command: IoCommand, ports: &mut Ports<'_, M>) {
        let active = Active { command, moved: 0, answered: false };
        if self.commands.len() <= slot as usize {
            self.commands.resize(slot as usize + 1, active);
        }
        self.commands[slot as usize] = active;
        let config = &self.hba_of(slot).config;
        ports.mmio_write(config.device, config.doorbell, Token::of(Kind::Doorbell, slot));
    }

    /// Slots of the completions that an adapter's interrupt tells of.
    pub(crate) fn take_completions(&mut self, hba: u32) -> VecDeque<u32> {
        self.hbas[hba as usize].completions.take_signalled()
    }

    /// The interrupt is served: the adapter may send the next.
    pub(crate) fn served<M: Needs>(&mut self, hba: u32, ports: &mut Ports<'_, M>) {
        self.consider_interrupt(hba, ports);
    }

    /// What a driver is told now: call after [`Self::react`] until there is nothing.
    pub(crate) fn poll(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// Takes an event.
    pub(crate) fn react<M: Needs>(&mut self, event: Event<Kind>, ports: &mut Ports<'_, M>) {
        let Token { kind, subject, detail } = event.token();
        let concerned = self.concerned(kind, subject);
        order::add(&mut self.touched, concerned);
        match kind {
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
            Kind::Interrupt => self.notices.push_back(Notice::Interrupt { hba: subject }),
        }
    }

    /// Adapter that an event is about.
    fn concerned(&self, kind: Kind, subject: u32) -> u32 {
        match kind {
            Kind::Arrived | Kind::Departed | Kind::Moderation | Kind::Interrupt => subject,
            Kind::Media => self.place_of_drive(subject).0,
            Kind::Doorbell
            | Kind::Processed
            | Kind::CommandFetched
            | Kind::CrossedInbound
            | Kind::DataSent
            | Kind::DataFetched
            | Kind::CrossedOutbound => self.place_of_drive(self.commands[subject as usize].command.drive).0,
        }
    }

    /// Says what the adapters wait for that something happened to: call at the end of each event.
    pub(crate) fn say_what_holds_back<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        for hba in self.touched.drain(..) {
            let hba = &mut self.hbas[hba as usize];
            let state = hba.waits_for(&self.drives, now);
            hba.waiting.say(state, hba.config.device, ports);
        }
    }

    /// Processors and data paths of all adapters, and media of all drives, with what they have done up to `at`.
    pub(crate) fn resources(&self, at: Time) -> impl Iterator<Item = ResourceReading> {
        let media = self.drives.iter().zip(&self.media);
        let media = media.map(move |(drive, (id, name))| drive.media(id.clone(), name.clone(), at));
        self.hbas.iter().flat_map(move |hba| hba.resources(at)).chain(media)
    }

    /// Bytes in buffers of drives.
    pub(crate) fn held(&self) -> u64 {
        self.drives.iter().map(Drive::held).sum()
    }
}
