//! A storage adapter: ports with a wire each, buffers for each direction, an internal path, and completions.
//!
//! Read data: wire → read buffer → internal path → DMA writes of a frame each, which free the buffer as they leave.
//! Write data: DMA reads, as far as the write buffer has room → internal path → wire, which frees the buffer.
//! The internal path has a rate per direction and one for both together: the adapter's own ceiling.
//! Completions: a status write for each command, and an interrupt for one or several of them.
//!
//! Leaves out: what the adapter's firmware does beyond a fixed time per command, and errors.

use super::drive::{Drive, DriveFrame};
use crate::device::completions::{Completions, Moderation};
use crate::device::waiting::Waiting;
use crate::host::memory::PAGE;
use crate::server::{Blocked, RateServer, of_buffer, reading};
use lanewise_fabric::workload::{DeviceId, DmaQueueId};
use lanewise_fabric::{Book, Level, ResourceId, ResourceReading, Station, StorageAdapterPart};
use lanewise_network::{Port, WireKind};
use lanewise_observe::RequesterState;
use lanewise_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// Settings of a storage adapter.
#[derive(Clone, Debug, PartialEq)]
pub struct HbaConfig {
    /// Name in the scenario.
    pub name: String,
    /// The endpoint that it is.
    pub device: DeviceId,
    /// What its ports speak.
    pub wire: WireKind,
    /// Number of ports (FC) or phys (SAS); at least one.
    pub ports: u32,
    /// Bytes of the CPU's write that announces a command.
    pub doorbell: Bytes,
    /// Bytes of a command in host memory, which the adapter reads.
    pub command: Bytes,
    /// Scatter/gather entries that are part of the command.
    pub scatter_gather_inline: u32,
    /// Bytes of a scatter/gather entry, one for each page of 4 KiB; those beyond the inline ones are read too.
    pub scatter_gather_entry: Bytes,
    /// Bytes that the adapter writes when a command is over.
    pub status: Bytes,
    /// Time of the adapter's processor for each command, one after another.
    pub command_time: Span,
    /// Room for read data between wire and DMA; at least one frame.
    pub read_buffer: Bytes,
    /// Room for write data between DMA and wire; at least one `read_request`.
    pub write_buffer: Bytes,
    /// Bytes of write data that are asked for at a time.
    pub read_request: Bytes,
    /// Rate of the internal path for read data; none for no limit.
    pub internal_read_bandwidth: Option<Rate>,
    /// Rate of the internal path for write data; none for no limit.
    pub internal_write_bandwidth: Option<Rate>,
    /// Rate of the internal path for both together; none for no limit.
    pub internal_bandwidth: Option<Rate>,
    /// Completions after which an interrupt is due; at least one.
    pub interrupt_completions: u32,
    /// Longest time a completion waits for others before an interrupt is due; zero for none.
    pub interrupt_delay: Span,
}

impl HbaConfig {
    /// What is read from host memory for a command of so many bytes: command and scatter/gather list.
    pub(crate) fn command_bytes(&self, size: Bytes) -> Bytes {
        let pages = size.div_ceil(PAGE);
        self.command + self.scatter_gather_entry * pages.saturating_sub(self.scatter_gather_inline.into())
    }

    pub(crate) fn moderation(&self) -> Moderation {
        Moderation { enough: self.interrupt_completions, delay: self.interrupt_delay }
    }

    /// # Panics
    /// When nothing could ever move.
    fn check(&self) {
        assert!(self.ports > 0, "{}: no ports", self.name);
        assert!(self.read_buffer >= self.wire.frame_payload(), "{}: a frame fits the read buffer", self.name);
        assert!(self.write_buffer >= self.read_request, "{}: a request fits the write buffer", self.name);
        assert!(self.read_request > Bytes::ZERO, "{}: requests ask for something", self.name);
        assert!(self.interrupt_completions > 0, "{}: an interrupt is for something", self.name);
    }
}

/// A frame from the adapter to a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HostFrame {
    /// The command in a slot.
    Command { slot: u32 },
    /// Write data; while queued, as many frames as it takes.
    Data { slot: u32, bytes: u64 },
}

/// A port, the drives behind it, and what is on its wire.
#[derive(Clone, Debug)]
pub(crate) struct HbaPort {
    wire: Port,
    /// What the wire has done, from the drives and to them.
    carried: [Station; 2],
    /// Indexes of the drives, served in turn.
    drives: Vec<u32>,
    next_drive: usize,
    arriving: Option<(u32, DriveFrame)>,
    departing: Option<HostFrame>,
    outbound: VecDeque<HostFrame>,
}

/// Write data that a drive asks for.
#[derive(Clone, Copy, Debug)]
struct Grant {
    slot: u32,
    /// Where the drive is.
    port: usize,
    bytes: u64,
}

/// Room for data on their way, and for how long something waited for it.
#[derive(Clone, Debug)]
struct Buffer {
    size: Bytes,
    held: Level,
    /// How often something was let in.
    served: u64,
    blocked: Blocked,
}

impl Buffer {
    fn new(size: Bytes) -> Self {
        Self { size, held: Level::default(), served: 0, blocked: Blocked::default() }
    }

    /// Keeps room for so many bytes, if there is as much; else they wait from now on.
    fn keep(&mut self, bytes: u64, now: Time) -> bool {
        let held = self.held.number() + bytes;
        if held > self.size.get() {
            self.blocked.begin(now);
            return false;
        }
        self.held.set(held, now);
        self.served += u64::from(bytes > 0);
        true
    }

    /// So many bytes have left. Returns whether something waits for the room.
    fn free(&mut self, bytes: u64, now: Time) -> bool {
        let held = self.held.number();
        assert!(bytes <= held, "freed {bytes} B of {held}");
        self.held.set(held - bytes, now);
        let waited = self.blocked.is_now();
        self.blocked.end(now);
        waited
    }

    fn book_at(&self, at: Time) -> Book {
        Book { busy: self.held.area_at(at), waited: self.blocked.up_to(at).into(), served: self.served }
    }
}

/// The adapter.
#[derive(Clone, Debug)]
pub(crate) struct Hba {
    pub config: HbaConfig,
    /// Read data, status and interrupts, in this order.
    pub posted_queue: Option<DmaQueueId>,
    /// Write data.
    pub data_queue: Option<DmaQueueId>,
    /// Commands and scatter/gather lists.
    pub command_queue: Option<DmaQueueId>,
    ports: Vec<HbaPort>,
    next_port: usize,
    read_buffer: Buffer,
    write_buffer: Buffer,
    /// What drives asked for and what was not read from memory yet, in turn.
    grants: VecDeque<Grant>,
    processor: Station,
    read_path: RateServer,
    write_path: RateServer,
    shared_path: RateServer,
    pub completions: Completions,
    /// I/Os that the host's software has in hand: on their way down, or on their way up.
    pub in_software: u32,
    /// What the adapter last said it waits for.
    pub waiting: Waiting,
}

impl Hba {
    /// An idle adapter with these drives behind each port.
    pub(crate) fn new(config: HbaConfig, drives: Vec<Vec<u32>>) -> Self {
        config.check();
        let port = |drives| HbaPort {
            wire: Port::new(config.wire),
            carried: [Station::default(); 2],
            drives,
            next_drive: 0,
            arriving: None,
            departing: None,
            outbound: VecDeque::new(),
        };
        Self {
            ports: drives.into_iter().map(port).collect(),
            next_port: 0,
            read_buffer: Buffer::new(config.read_buffer),
            write_buffer: Buffer::new(config.write_buffer),
            grants: VecDeque::new(),
            processor: Station::default(),
            read_path: RateServer::new(config.internal_read_bandwidth),
            write_path: RateServer::new(config.internal_write_bandwidth),
            shared_path: RateServer::new(config.internal_bandwidth),
            completions: Completions::default(),
            in_software: 0,
            waiting: Waiting::default(),
            posted_queue: None,
            data_queue: None,
            command_queue: None,
            config,
        }
    }

    /// Its processor and its data paths, with what they have done up to `at`.
    pub(crate) fn resources(&self, at: Time) -> impl Iterator<Item = ResourceReading> {
        let HbaConfig { name, device, command_time, .. } = &self.config;
        let processor = reading(
            ResourceId::of(*device, StorageAdapterPart::Processor),
            format!("{name}.processor"),
            format!("{command_time} a command"),
            std::slice::from_ref(&self.processor),
            at,
        );
        let paths = [
            (StorageAdapterPart::ReadPath, "read_path", &self.read_path),
            (StorageAdapterPart::WritePath, "write_path", &self.write_path),
            (StorageAdapterPart::SharedPath, "internal_path", &self.shared_path),
        ];
        let of_path = move |(part, of, path): (_, &str, &RateServer)| {
            path.reading(ResourceId::of(*device, part), format!("{name}.{of}"), at)
        };
        let paths = paths.into_iter().filter_map(of_path);
        let buffers = [
            (StorageAdapterPart::ReadBuffer, "read_buffer", &self.read_buffer),
            (StorageAdapterPart::WriteBuffer, "write_buffer", &self.write_buffer),
        ];
        let buffers = buffers.into_iter().map(move |(part, of, buffer)| {
            of_buffer(ResourceId::of(*device, part), format!("{name}.{of}"), buffer.size, buffer.book_at(at))
        });
        let wires = (0..).zip(&self.ports).flat_map(move |(port, side)| {
            let parts = [
                (StorageAdapterPart::WireIn { port }, "wire_in"),
                (StorageAdapterPart::WireOut { port }, "wire_out"),
            ];
            parts.into_iter().zip(&side.carried).map(move |((part, of), carried)| {
                let id = ResourceId::of(*device, part);
                let limit = side.wire.wire.rate().to_string();
                reading(id, format!("{name}.port{port}.{of}"), limit, std::slice::from_ref(carried), at)
            })
        });
        std::iter::once(processor).chain(paths).chain(buffers).chain(wires)
    }

    /// When the adapter's processor has dealt with a command that arrived now.
    pub(crate) fn process_command(&mut self, now: Time) -> Time {
        self.processor.occupy(now, self.config.command_time)
    }

    /// What an adapter with nothing to ask for waits for: its inside if that is at work, else whatever more of its
    /// I/Os are at, room in its buffers, wires or media, else the host's software if that has any.
    pub(crate) fn waits_for(&self, drives: &[Drive], now: Time) -> RequesterState {
        let paths = [&self.read_path, &self.write_path, &self.shared_path];
        if self.processor.is_busy(now) || paths.iter().any(|path| path.is_busy(now)) {
            return RequesterState::Device;
        }
        // Data wait for room where their wire is idle; else they wait for the wire first.
        let idle_wire = |grant: &&Grant| self.ports[grant.port].departing.is_none();
        let (mut room, mut wires, mut media) = (self.grants.iter().filter(idle_wire).count(), 0, 0);
        for port in &self.ports {
            wires += usize::from(port.arriving.is_some()) + usize::from(port.departing.is_some());
            for drive in port.drives.iter().map(|drive| &drives[*drive as usize]) {
                if drive.has_frame() && port.arriving.is_none() && self.read_buffer.blocked.is_now() {
                    room += 1;
                } else if drive.has_frame() {
                    wires += 1;
                } else if drive.media_is_busy() {
                    media += 1;
                }
            }
        }
        match (room, wires, media) {
            (0, 0, 0) if self.in_software > 0 => RequesterState::Cpu,
            (0, 0, 0) => RequesterState::NothingAsked,
            _ if room > wires.max(media) => RequesterState::Device,
            _ if media > wires => RequesterState::Media,
            _ => RequesterState::Wire,
        }
    }

    /// When read data that arrived now has crossed to the DMA engine.
    pub(crate) fn cross_inbound(&mut self, now: Time, bytes: u64) -> Time {
        let bytes = Bytes::new(bytes);
        self.read_path.reserve(now, bytes).max(self.shared_path.reserve(now, bytes))
    }

    /// When write data that arrived now has crossed to the wire.
    pub(crate) fn cross_outbound(&mut self, now: Time, bytes: u64) -> Time {
        let bytes = Bytes::new(bytes);
        self.write_path.reserve(now, bytes).max(self.shared_path.reserve(now, bytes))
    }

    /// Starts the next frame from a drive of `port`, if there is one and room for it. Returns the drive, the time
    /// at which the frame is here, and when the drive wants to be called.
    pub(crate) fn start_inbound(
        &mut self,
        port: usize,
        drives: &mut [Drive],
        now: Time,
    ) -> Option<(u32, Time, Option<Time>)> {
        let side = &mut self.ports[port];
        if !side.wire.inbound.is_free(now) || side.arriving.is_some() {
            return None;
        }
        for turn in 0..side.drives.len() {
            let index = (side.next_drive + turn) % side.drives.len();
            let drive = side.drives[index];
            let Some(frame) = drives[drive as usize].peek_frame() else { continue };
            let (payload, room) = inbound_size(frame, side.wire.wire);
            if !self.read_buffer.keep(room, now) {
                continue;
            }
            side.next_drive = (index + 1) % side.drives.len();
            side.arriving = Some((drive, frame));
            let due = drives[drive as usize].take_frame(now);
            let here = side.wire.inbound.send(now, payload);
            side.carried[0].occupy(now, here - now);
            return Some((drive, here, due));
        }
        None
    }

    /// The frame on the inbound wire of `port` is here.
    pub(crate) fn take_arrived(&mut self, port: usize, now: Time) -> DriveFrame {
        let side = &mut self.ports[port];
        side.wire.outbound.acknowledge(now);
        side.arriving.take().expect("a frame was on the wire").1
    }

    /// Read data has left by DMA. Returns whether a frame waits for the room, at some port.
    pub(crate) fn free_read_room(&mut self, bytes: u64, now: Time) -> bool {
        self.read_buffer.free(bytes, now)
    }

    /// The ports in turn, starting with another one each time.
    pub(crate) fn ports_in_turn(&mut self) -> impl Iterator<Item = usize> + use<> {
        let (start, count) = (self.next_port, self.ports.len());
        self.next_port = (start + 1) % count;
        (start..start + count).map(move |port| port % count)
    }

    /// A drive behind `port` asks for write data.
    pub(crate) fn grant(&mut self, slot: u32, port: usize, bytes: u64) {
        self.grants.push_back(Grant { slot, port, bytes });
    }

    /// The next piece of write data to read from memory, if there is room for it.
    pub(crate) fn next_fetch(&mut self, now: Time) -> Option<(u32, u64)> {
        let Grant { slot, port, bytes: wanted } = *self.grants.front()?;
        let piece = wanted.min(self.config.read_request.get());
        if !self.write_buffer.keep(piece, now) {
            return None;
        }
        self.grants.pop_front();
        if wanted > piece {
            self.grants.push_back(Grant { slot, port, bytes: wanted - piece });
        }
        Some((slot, piece))
    }

    /// Queues a frame, or write data, for the wire of `port`.
    pub(crate) fn queue_outbound(&mut self, port: usize, frame: HostFrame) {
        self.ports[port].outbound.push_back(frame);
    }

    /// Starts the next frame to a drive of `port`, if there is one; returns when it is there.
    pub(crate) fn start_outbound(&mut self, port: usize, now: Time) -> Option<Time> {
        let side = &mut self.ports[port];
        if !side.wire.outbound.is_free(now) || side.departing.is_some() {
            return None;
        }
        let kind = side.wire.wire;
        let (frame, payload) = match side.outbound.front_mut()? {
            HostFrame::Data { slot, bytes } if *bytes > kind.frame_payload().get() => {
                *bytes -= kind.frame_payload().get();
                (HostFrame::Data { slot: *slot, bytes: kind.frame_payload().get() }, kind.frame_payload())
            }
            whole => {
                let frame = *whole;
                side.outbound.pop_front();
                let payload = match frame {
                    HostFrame::Command { .. } => kind.command_payload(),
                    HostFrame::Data { bytes, .. } => Bytes::new(bytes),
                };
                (frame, payload)
            }
        };
        side.departing = Some(frame);
        let there = side.wire.outbound.send(now, payload);
        side.carried[1].occupy(now, there - now);
        Some(there)
    }

    /// The frame on the outbound wire of `port` is at its drive.
    pub(crate) fn take_departed(&mut self, port: usize, now: Time) -> HostFrame {
        let side = &mut self.ports[port];
        side.wire.inbound.acknowledge(now);
        let frame = side.departing.take().expect("a frame was on the wire");
        if let HostFrame::Data { bytes, .. } = frame {
            self.write_buffer.free(bytes, now);
        }
        frame
    }
}

/// Payload on the wire of a drive's frame, and the room it needs in the read buffer.
fn inbound_size(frame: DriveFrame, wire: WireKind) -> (Bytes, u64) {
    match frame {
        DriveFrame::TransferReady { .. } => (wire.transfer_ready_payload(), 0),
        DriveFrame::Response { .. } => (wire.response_payload(), 0),
        DriveFrame::Data { bytes, .. } => (Bytes::new(bytes), bytes),
    }
}

#[cfg(test)]
mod tests;
