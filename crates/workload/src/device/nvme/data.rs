//! The drive's side of a command: doorbell, fetch, media, data in both directions, completion and interrupt.
//!
//! Each function is one event; each ends by starting whatever the event made possible.

use super::drives::{Command, Drives};
use super::ssd::{COMMAND, COMPLETION, first_page, page_list};
use super::token::{Kind, Needs, Ports, Token};
use crate::device::completions::{INTERRUPT, InterruptAction, Moderation};
use crate::host::memory::PAGE;
use lanewise_fabric::workload::{Direction, DmaQueueId, Notify, Target, Transfer};
use lanewise_observe::FlowId;
use lanewise_units::Bytes;

/// Host memory set aside for each pair of queues: 1,024 commands of 64 B, and their completions behind them.
const QUEUE_AREA: u64 = 128 * 1024;
const QUEUE_ENTRIES: u64 = 1024;
/// Where the completions of a pair of queues begin in its area.
const COMPLETIONS: u64 = 64 * 1024;
/// Where the lists of pages begin in host memory, a page for each slot.
const PAGE_LISTS: u64 = 1 << 30;
/// From each page of a list to the next, which the driver took from its pool at another time.
const NEXT_PAGE: u64 = 64 << 20;

impl Drives {
    /// The doorbell arrived.
    pub(super) fn doorbell_arrived<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let state = &self.commands[slot as usize];
        let Command { drive: ssd, queue, .. } = state.command;
        self.ssds[ssd as usize].in_software -= 1;
        self.ssds[ssd as usize].fetches.announce(queue, slot, ports.now());
        self.fetch_commands(ssd, ports);
    }

    /// Reads the next commands, if no other read of commands is under way.
    fn fetch_commands<M: Needs>(&mut self, ssd: u32, ports: &mut Ports<'_, M>) {
        let drive = &mut self.ssds[ssd as usize];
        let batch = drive.config.fetch_batch.max(1);
        let Some((queue, first, count)) = drive.fetches.begin(batch, ports.now()) else { return };
        let pair = &mut self.queues[queue as usize];
        let entry = pair.tail % QUEUE_ENTRIES;
        pair.tail += u64::from(count);
        let transfer = Transfer {
            offset: u64::from(queue) * QUEUE_AREA + entry * COMMAND.get(),
            length: COMMAND * u64::from(count),
            ..self.control(first, Direction::Read, Token::with(Kind::Fetched, ssd, count), Notify::Done)
        };
        ports.submit(self.ssds[ssd as usize].command_queue, transfer);
    }

    /// Commands are in the drive: its processors turn to them.
    pub(super) fn commands_fetched<M: Needs>(&mut self, ssd: u32, count: u32, ports: &mut Ports<'_, M>) {
        self.ssds[ssd as usize].fetches.end(ports.now());
        for _ in 0..count {
            let drive = &mut self.ssds[ssd as usize];
            let slot = drive.fetches.take().expect("as many as were fetched");
            let processed = drive.process(ports.now(), Bytes::new(self.commands[slot as usize].command.size));
            ports.set_timer(processed, Token::of(Kind::Processed, slot));
        }
        self.fetch_commands(ssd, ports);
    }

    /// The command is understood: where is its memory?
    pub(super) fn command_processed<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let state = &self.commands[slot as usize];
        let Command { drive, size, .. } = state.command;
        self.ssds[drive as usize].processed();
        self.commands[slot as usize].list.0 = page_list(Bytes::new(size));
        self.fetch_pages(slot, ports);
    }

    /// Reads the next page of the list of pages: only the one before says where it is.
    pub(super) fn fetch_pages<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let (left, page) = self.commands[slot as usize].list;
        if left == 0 {
            return self.start_data(slot, ports);
        }
        let (entries, length) = first_page(left);
        self.commands[slot as usize].list = (left - entries, page + 1);
        let transfer = Transfer {
            offset: PAGE_LISTS + u64::from(slot) * PAGE.get() + page * NEXT_PAGE,
            length,
            ..self.control(slot, Direction::Read, Token::of(Kind::PagesFetched, slot), Notify::Done)
        };
        ports.submit(self.ssds[self.commands[slot as usize].command.drive as usize].command_queue, transfer);
    }

    /// The drive knows all it needs.
    fn start_data<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let state = &self.commands[slot as usize];
        let Command { drive: ssd, write, offset, size, .. } = state.command;
        let drive = &mut self.ssds[ssd as usize];
        if write {
            let sequential = drive.is_sequential_write(offset, size);
            self.commands[slot as usize].sequential = sequential;
            drive.want_data(slot, size);
            return self.fetch_data(ssd, ports);
        }
        let now = ports.now();
        drive.read_media(offset, size, now, |bytes, at| {
            ports.set_timer(at, Token::with(Kind::MediaReady, slot, bytes));
        });
    }

    /// A piece is out of the media.
    pub(super) fn media_ready<M: Needs>(&mut self, slot: u32, bytes: u32, ports: &mut Ports<'_, M>) {
        let ssd = self.commands[slot as usize].command.drive;
        self.ssds[ssd as usize].media_ready(slot, bytes.into(), ports.now());
        self.cross(ssd, ports);
    }

    /// Sends the next units through the data path: those that may enter it now, and a timer for the one after them.
    fn cross<M: Needs>(&mut self, ssd: u32, ports: &mut Ports<'_, M>) {
        while let Some(at) = self.ssds[ssd as usize].start_crossing(ports.now()) {
            if at > ports.now() {
                return ports.set_timer(at, Token::of(Kind::Crossed, ssd));
            }
            self.move_unit(ssd, ports);
        }
    }

    /// A unit enters the data path, which takes no time of its own, and the next one may follow.
    pub(super) fn crossed<M: Needs>(&mut self, ssd: u32, ports: &mut Ports<'_, M>) {
        self.move_unit(ssd, ports);
        self.cross(ssd, ports);
    }

    /// A unit is in the data buffer: into memory with it, and the completion after the last one.
    fn move_unit<M: Needs>(&mut self, ssd: u32, ports: &mut Ports<'_, M>) {
        let (slot, bytes) = self.ssds[ssd as usize].take_crossed();
        let queue = self.ssds[ssd as usize].posted_queue;
        let token = Token::with(Kind::DataSent, ssd, bytes);
        self.move_data(slot, bytes, (queue, token, Notify::Sent), ports);
        let state = &mut self.commands[slot as usize];
        state.moved += bytes;
        if state.moved == state.command.size {
            self.post_completion(slot, ports);
        }
    }

    /// Read data has left: its room goes to the next piece.
    pub(super) fn data_sent<M: Needs>(&mut self, ssd: u32, bytes: u32, ports: &mut Ports<'_, M>) {
        self.ssds[ssd as usize].data_sent(bytes.into());
        self.cross(ssd, ports);
    }

    /// Reads as much write data from memory as there is room for.
    fn fetch_data<M: Needs>(&mut self, ssd: u32, ports: &mut Ports<'_, M>) {
        while let Some((slot, bytes)) = self.ssds[ssd as usize].next_piece() {
            let queue = self.ssds[ssd as usize].data_queue;
            let token = Token::with(Kind::DataFetched, slot, bytes);
            self.move_data(slot, bytes, (queue, token, Notify::Done), ports);
            self.commands[slot as usize].moved += bytes;
        }
    }

    /// A piece of write data is in the drive.
    pub(super) fn data_fetched<M: Needs>(&mut self, slot: u32, bytes: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let state = &mut self.commands[slot as usize];
        state.arrived += u64::from(bytes);
        let (ssd, complete) = (state.command.drive, state.arrived == state.command.size);
        let sequential = state.sequential;
        let drive = &mut self.ssds[ssd as usize];
        let drained = drive.drain(now, bytes.into(), sequential);
        ports.set_timer(drained, Token::with(Kind::Drained, ssd, bytes));
        while let Some(earlier) = drive.earlier_writes() {
            let drained = drive.drain(now, earlier, sequential);
            ports.set_timer(drained, Token::with(Kind::Drained, ssd, earlier as u32));
        }
        if complete {
            ports.set_timer(drive.accept(now), Token::of(Kind::Accepted, slot));
        }
    }

    /// Write data is on the media: its room goes to the next piece.
    pub(super) fn drained<M: Needs>(&mut self, ssd: u32, bytes: u32, ports: &mut Ports<'_, M>) {
        self.ssds[ssd as usize].drained(bytes.into());
        self.fetch_data(ssd, ports);
    }

    /// A write is answered.
    pub(super) fn accepted<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        self.ssds[self.commands[slot as usize].command.drive as usize].accepted();
        self.post_completion(slot, ports);
    }

    /// Writes the completion, and an interrupt when it is time for one.
    fn post_completion<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let state = &self.commands[slot as usize];
        let Command { drive: ssd, queue, polled, .. } = state.command;
        self.ssds[ssd as usize].in_software += 1;
        let arrived = if polled { Kind::Polled } else { Kind::Written };
        let transfer = Transfer {
            offset: u64::from(queue) * QUEUE_AREA + COMPLETIONS,
            length: COMPLETION,
            ..self.control(slot, Direction::Write, Token::of(arrived, slot), Notify::Done)
        };
        ports.submit(self.ssds[ssd as usize].posted_queue, transfer);
        if !polled {
            self.queues[queue as usize].post(slot);
            self.consider_interrupt(queue, ports);
        }
    }

    /// Sends the interrupt of a queue when it is due; it counts for the flow of the first command that it tells of.
    fn consider_interrupt<M: Needs>(&mut self, queue: u32, ports: &mut Ports<'_, M>) {
        let pair = &mut self.queues[queue as usize];
        let drive = &self.ssds[pair.drive as usize];
        let config = &drive.config;
        let moderation = Moderation { enough: config.interrupt_completions, delay: config.interrupt_delay };
        match pair.completions.moderate(ports.now(), moderation) {
            InterruptAction::Nothing => {}
            InterruptAction::At(at) => ports.set_timer(at, Token::of(Kind::Moderation, queue)),
            InterruptAction::Send { first } => {
                // A message leaves nothing behind in the drive that would keep it from sending the next.
                pair.completions.take_signalled();
                let posted = drive.posted_queue;
                let token = Token::of(Kind::Interrupt, queue);
                let transfer = Transfer {
                    length: INTERRUPT,
                    ..self.control(first, Direction::Write, token, Notify::Done)
                };
                ports.submit(posted, transfer);
            }
        }
    }

    /// A moderation timer came.
    pub(super) fn moderation_due<M: Needs>(&mut self, queue: u32, ports: &mut Ports<'_, M>) {
        if self.queues[queue as usize].completions.is_due(ports.now()) {
            self.consider_interrupt(queue, ports);
        }
    }

    /// Moves a piece of a command's data, from where the last one ended: by DMA, or inside the drive, where only the
    /// controller that it crosses takes time.
    fn move_data<M: Needs>(
        &mut self,
        slot: u32,
        bytes: u64,
        (queue, token, notify): (DmaQueueId, Token, Notify),
        ports: &mut Ports<'_, M>,
    ) {
        let state = &self.commands[slot as usize];
        let Command { flows, memory, write, buffer, .. } = state.command;
        let (direction, flow) = match write {
            true => (Direction::Read, flows.write),
            false => (Direction::Write, flows.read),
        };
        let (offset, length) = (buffer + state.moved, Bytes::new(bytes));
        match memory {
            Some(target) => {
                let moved = Transfer { target, offset, length, ..transfer(direction, flow, token, notify) };
                ports.submit(queue, moved);
            }
            None => {
                ports.payload_delivered(flow, length);
                ports.set_timer(ports.now(), token);
            }
        }
    }

    /// Something that is not data.
    fn control(&self, slot: u32, direction: Direction, token: Token, notify: Notify) -> Transfer<Token> {
        transfer(direction, self.commands[slot as usize].command.flows.control, token, notify)
    }
}

fn transfer(direction: Direction, flow: FlowId, token: Token, notify: Notify) -> Transfer<Token> {
    Transfer { direction, target: Target::HostMemory, offset: 0, length: Bytes::ZERO, flow, token, notify }
}
