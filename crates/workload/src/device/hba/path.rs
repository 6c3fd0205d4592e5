//! The adapters' side of an I/O: doorbell, command, data in both directions, status and interrupt.
//!
//! Each function is one event; each ends by starting whatever the event made possible.

use super::adapter::HostFrame;
use super::adapters::{Adapters, IoCommand};
use super::drive::{Command, DriveFrame};
use super::token::{Kind, Needs, Ports, Token};
use crate::device::completions::{INTERRUPT, InterruptAction};
use lanewise_fabric::workload::{Direction, DmaQueueId, Notify, Target, Transfer};
use lanewise_observe::FlowId;
use lanewise_units::{Bytes, Time};

impl Adapters {
    /// The doorbell arrived: the adapter's processor turns to it.
    pub(super) fn take_command<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let hba = self.hba_of(slot);
        hba.in_software -= 1;
        let processed = hba.process_command(ports.now());
        self.at_or_now(processed, Token::of(Kind::Processed, slot), ports);
    }

    /// Reads the command, with its scatter/gather list, from host memory.
    pub(super) fn fetch_command<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let IoCommand { drive, size, .. } = self.commands[slot as usize].command;
        let hba = &self.hbas[self.place_of_drive(drive).0 as usize];
        let transfer = Transfer {
            offset: Self::command_area(slot),
            length: hba.config.command_bytes(Bytes::new(size)),
            ..self.control(slot, Direction::Read, Token::of(Kind::CommandFetched, slot), Notify::Done)
        };
        ports.submit(open(hba.command_queue), transfer);
    }

    /// Sends the command to the drive.
    pub(super) fn send_command<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let (hba, port) = self.place_of(slot);
        self.hbas[hba as usize].queue_outbound(port as usize, HostFrame::Command { slot });
        self.start_outbound(hba, port, ports);
    }

    /// A frame from a drive is at the adapter.
    pub(super) fn frame_arrived<M: Needs>(&mut self, hba: u32, port: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let adapter = &mut self.hbas[hba as usize];
        match adapter.take_arrived(port as usize, now) {
            DriveFrame::Data { slot, bytes } => {
                let crossed = adapter.cross_inbound(now, bytes);
                self.at_or_now(crossed, Token::with(Kind::CrossedInbound, slot, bytes), ports);
            }
            DriveFrame::TransferReady { slot, bytes } => {
                adapter.grant(slot, port as usize, bytes);
                self.fetch_data(hba, ports);
            }
            DriveFrame::Response { slot } => {
                self.commands[slot as usize].answered = true;
                self.finish_if_over(slot, ports);
            }
        }
        self.start_inbound(hba, port, ports);
    }

    /// Read data has crossed the adapter: into host memory with it.
    pub(super) fn write_to_memory<M: Needs>(&mut self, slot: u32, bytes: u32, ports: &mut Ports<'_, M>) {
        let token = Token::with(Kind::DataSent, slot, bytes);
        let transfer = self.data(slot, Direction::Write, token, Notify::Sent);
        let queue = open(self.hba_of(slot).posted_queue);
        ports.submit(queue, transfer);
        self.commands[slot as usize].moved += u64::from(bytes);
        self.finish_if_over(slot, ports);
    }

    /// Read data has left: its room in the buffer goes to frames that wait for it.
    pub(super) fn data_sent<M: Needs>(&mut self, slot: u32, bytes: u32, ports: &mut Ports<'_, M>) {
        let hba = self.place_of(slot).0;
        if self.hbas[hba as usize].free_read_room(bytes.into(), ports.now()) {
            for port in self.hbas[hba as usize].ports_in_turn() {
                self.start_inbound(hba, port as u32, ports);
            }
        }
    }

    /// Reads as much write data from host memory as the adapter has room for.
    fn fetch_data<M: Needs>(&mut self, hba: u32, ports: &mut Ports<'_, M>) {
        while let Some((slot, bytes)) = self.hbas[hba as usize].next_fetch(ports.now()) {
            let token = Token::with(Kind::DataFetched, slot, bytes);
            let transfer = self.data(slot, Direction::Read, token, Notify::Done);
            self.commands[slot as usize].moved += bytes;
            ports.submit(open(self.hbas[hba as usize].data_queue), transfer);
        }
    }

    /// Write data is in the adapter.
    pub(super) fn data_fetched<M: Needs>(&mut self, slot: u32, bytes: u32, ports: &mut Ports<'_, M>) {
        let hba = self.hba_of(slot);
        let crossed = hba.cross_outbound(ports.now(), bytes.into());
        self.at_or_now(crossed, Token::with(Kind::CrossedOutbound, slot, bytes), ports);
    }

    /// Write data has crossed the adapter: onto the wire with it.
    pub(super) fn send_data<M: Needs>(&mut self, slot: u32, bytes: u32, ports: &mut Ports<'_, M>) {
        let (hba, port) = self.place_of(slot);
        let frame = HostFrame::Data { slot, bytes: bytes.into() };
        self.hbas[hba as usize].queue_outbound(port as usize, frame);
        self.start_outbound(hba, port, ports);
    }

    /// A frame from the adapter is at its drive.
    pub(super) fn frame_departed<M: Needs>(&mut self, hba: u32, port: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let frame = self.hbas[hba as usize].take_departed(port as usize, now);
        let (HostFrame::Command { slot } | HostFrame::Data { slot, .. }) = frame;
        let IoCommand { drive, read, offset, size, .. } = self.commands[slot as usize].command;
        let due = match frame {
            HostFrame::Command { slot } => {
                let command = Command { slot, write: !read, offset, size };
                self.drives[drive as usize].accept(now, command)
            }
            HostFrame::Data { slot, bytes } => self.drives[drive as usize].receive(now, slot, bytes),
        };
        self.arm_media(drive, due, ports);
        self.fetch_data(hba, ports);
        self.start_outbound(hba, port, ports);
        self.start_inbound(hba, port, ports);
    }

    /// A drive's own time has come.
    pub(super) fn media_due<M: Needs>(&mut self, drive: u32, ports: &mut Ports<'_, M>) {
        let due = self.drives[drive as usize].media_due(ports.now());
        self.arm_media(drive, due, ports);
        let (hba, port) = self.place_of_drive(drive);
        self.start_inbound(hba, port, ports);
    }

    /// A moderation timer came.
    pub(super) fn moderation_due<M: Needs>(&mut self, hba: u32, ports: &mut Ports<'_, M>) {
        if self.hbas[hba as usize].completions.is_due(ports.now()) {
            self.consider_interrupt(hba, ports);
        }
    }

    /// Ends a command when the drive has answered and all its data is on its way: writes the status.
    fn finish_if_over<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let state = &self.commands[slot as usize];
        if !state.answered || state.moved < state.command.size {
            return;
        }
        let hba = self.place_of(slot).0;
        self.hbas[hba as usize].in_software += 1;
        let adapter = &self.hbas[hba as usize];
        let transfer = Transfer {
            length: adapter.config.status,
            ..self.control(slot, Direction::Write, Token::of(Kind::Interrupt, hba), Notify::Nothing)
        };
        ports.submit(open(adapter.posted_queue), transfer);
        self.hbas[hba as usize].completions.post(slot);
        self.consider_interrupt(hba, ports);
    }

    /// Sends an interrupt for the completions that have gathered, or has a look at them later.
    pub(super) fn consider_interrupt<M: Needs>(&mut self, hba: u32, ports: &mut Ports<'_, M>) {
        let adapter = &mut self.hbas[hba as usize];
        match adapter.completions.moderate(ports.now(), adapter.config.moderation()) {
            InterruptAction::Nothing => {}
            InterruptAction::At(at) => ports.set_timer(at, Token::of(Kind::Moderation, hba)),
            InterruptAction::Send { first } => {
                let queue = open(adapter.posted_queue);
                let token = Token::of(Kind::Interrupt, hba);
                let transfer = Transfer {
                    length: INTERRUPT,
                    ..self.control(first, Direction::Write, token, Notify::Done)
                };
                ports.submit(queue, transfer);
            }
        }
    }

    fn start_inbound<M: Needs>(&mut self, hba: u32, port: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let adapter = &mut self.hbas[hba as usize];
        let started = adapter.start_inbound(port as usize, &mut self.drives, now);
        let Some((drive, arrival, due)) = started else { return };
        ports.set_timer(arrival, Token::with(Kind::Arrived, hba, port));
        self.arm_media(drive, due, ports);
    }

    fn start_outbound<M: Needs>(&mut self, hba: u32, port: u32, ports: &mut Ports<'_, M>) {
        if let Some(arrival) = self.hbas[hba as usize].start_outbound(port as usize, ports.now()) {
            ports.set_timer(arrival, Token::with(Kind::Departed, hba, port));
        }
    }

    fn arm_media<M: Needs>(&self, drive: u32, due: Option<Time>, ports: &mut Ports<'_, M>) {
        if let Some(due) = due {
            ports.set_timer(due, Token::of(Kind::Media, drive));
        }
    }

    /// Goes on at once when a step takes no time, which saves its event.
    fn at_or_now<M: Needs>(&mut self, at: Time, token: Token, ports: &mut Ports<'_, M>) {
        if at > ports.now() {
            ports.set_timer(at, token);
            return;
        }
        let Token { kind, subject, detail } = token;
        match kind {
            Kind::Processed => self.fetch_command(subject, ports),
            Kind::CrossedInbound => self.write_to_memory(subject, detail, ports),
            Kind::CrossedOutbound => self.send_data(subject, detail, ports),
            other => unreachable!("{other:?} always takes time"),
        }
    }

    /// A piece of an I/O's data, from where the last one ended.
    fn data(&self, slot: u32, direction: Direction, token: Token, notify: Notify) -> Transfer<Token> {
        let state = &self.commands[slot as usize];
        let IoCommand { flows, read, buffer, .. } = state.command;
        let flow = if read { flows.read } else { flows.write };
        Transfer {
            offset: buffer + state.moved,
            length: Bytes::new(token.detail.into()),
            ..self.transfer(direction, flow, token, notify)
        }
    }

    /// Something that is not data, in the status area unless told otherwise.
    fn control(&self, slot: u32, direction: Direction, token: Token, notify: Notify) -> Transfer<Token> {
        let flow = self.commands[slot as usize].command.flows.control;
        self.transfer(direction, flow, token, notify)
    }

    fn transfer(&self, direction: Direction, flow: FlowId, token: Token, notify: Notify) -> Transfer<Token> {
        Transfer {
            direction,
            target: Target::HostMemory,
            offset: self.status_area,
            length: Bytes::ZERO,
            flow,
            token,
            notify,
        }
    }

    fn place_of(&self, slot: u32) -> (u32, u32) {
        self.place_of_drive(self.commands[slot as usize].command.drive)
    }
}

/// A queue of an adapter that runs.
fn open(queue: Option<DmaQueueId>) -> DmaQueueId {
    queue.expect("queues are open from the start of the run")
}
