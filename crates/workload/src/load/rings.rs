//! An adapter that moves frames through descriptor rings, as fast as the link lets it.
//!
//! For every batch of frames the driver writes a doorbell, the adapter reads the batch's descriptors, moves the
//! frames themselves, and writes completions, several to a write. So a frame of 64 B costs what it costs on the link, and
//! not its payload alone. A number of batches is under way at once; the next one begins when one is complete.
//! Leaves out: the processor's time, interrupts, and the wire: neither is ever the limit here. Source of the life of a
//! frame: Neugebauer et al., Understanding PCIe performance for end host networking, SIGCOMM 2018, section 2.

use crate::load::{Demand, LoadConfig, LoadName, Tool};
use crate::ports::{self, Event, Instrument, called_by_fabric, needs};
use crate::token::{self, kinds};
use lanewise_fabric::workload::{DeviceId, Direction, DmaQueueId, Notify, Target, Transfer, Workload};
use lanewise_observe::{CONTROL, FlowId, FlowSpec, LatencyOf};
use lanewise_units::Bytes;

/// Where rings lie in memory, beside each other; frames come after them.
const COMPLETION_RING: u64 = 1 << 20;
const FRAMES: u64 = 2 << 20;
/// Memory of each frame.
const BUFFER: u64 = 16 << 10;

/// Settings of the instrument.
#[derive(Clone, Debug, PartialEq)]
pub struct RingsConfig {
    /// Name of its flows.
    pub name: LoadName,
    /// The adapter.
    pub device: DeviceId,
    /// The adapter's name.
    pub device_name: String,
    /// Read: frames are sent. Write: frames are received.
    pub direction: Direction,
    /// Bytes of a frame; not zero.
    pub frame: Bytes,
    /// Bytes of a descriptor; not zero.
    pub descriptor: Bytes,
    /// Bytes of a completion; not zero.
    pub completion: Bytes,
    /// Bytes of a doorbell; not zero.
    pub doorbell: Bytes,
    /// Frames of a batch: one doorbell and one read of descriptors; at least one.
    pub batch: u32,
    /// Completions of one write; at least one.
    pub completion_batch: u32,
    /// Batches under way; at least one.
    pub outstanding: u32,
}

kinds! {
    /// What may happen to a batch.
    pub(crate) enum Kind {
        /// The doorbell has arrived.
        Doorbell,
        /// Its descriptors are here.
        Descriptors,
        /// A frame has been moved.
        Frame,
        /// Completions have been written.
        Completions,
    }
}

type Token = token::Token<Kind>;
needs!(pub(crate) Needs: Dma, Mmio, Tally);

/// The machine as it sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kind>;

#[derive(Clone, Copy, Default, Debug)]
struct Batch {
    moved: u32,
    completed: u32,
}

#[derive(Clone, Copy, Debug)]
struct Opened {
    /// Descriptors and completions do not queue behind frames.
    control_queue: DmaQueueId,
    frame_queue: DmaQueueId,
    control: FlowId,
    frames: FlowId,
}

/// The instrument.
#[derive(Debug)]
pub struct RingsWorkload {
    config: RingsConfig,
    batches: Vec<Batch>,
    opened: Option<Opened>,
}

impl RingsWorkload {
    /// An instrument with nothing under way yet.
    ///
    /// # Panics
    /// When a size or a number is zero.
    pub fn new(config: RingsConfig) -> Self {
        let sizes = [config.frame, config.descriptor, config.completion, config.doorbell];
        assert!(sizes.iter().all(|size| *size > Bytes::ZERO), "{}: something of no bytes", config.name);
        let numbers = [config.batch, config.completion_batch, config.outstanding];
        assert!(numbers.iter().all(|number| *number > 0), "{}: nothing is under way", config.name);
        let batches = vec![Batch::default(); config.outstanding as usize];
        Self { config, batches, opened: None }
    }

    fn ring<M: Needs>(&mut self, batch: u32, ports: &mut Ports<'_, M>) {
        self.batches[batch as usize] = Batch::default();
        ports.mmio_write(self.config.device, self.config.doorbell, Token::of(Kind::Doorbell, batch));
    }

    fn fetch<M: Needs>(&self, batch: u32, ports: &mut Ports<'_, M>) {
        let length = self.config.descriptor.get() * u64::from(self.config.batch);
        self.control(
            Direction::Read,
            u64::from(batch) * length,
            length,
            Token::of(Kind::Descriptors, batch),
            ports,
        );
    }

    fn move_frames<M: Needs>(&self, batch: u32, ports: &mut Ports<'_, M>) {
        let Some(opened) = self.opened else { return };
        for frame in 0..self.config.batch {
            let number = u64::from(batch) * u64::from(self.config.batch) + u64::from(frame);
            let transfer = Transfer {
                direction: self.config.direction,
                target: Target::HostMemory,
                offset: FRAMES + number * BUFFER,
                length: self.config.frame,
                flow: opened.frames,
                token: Token::of(Kind::Frame, batch),
                notify: Notify::Done,
            };
            ports.submit(opened.frame_queue, transfer);
        }
    }

    /// A frame is where it belongs; completions of several are written together, those of the last ones at once.
    fn frame_moved<M: Needs>(&mut self, batch: u32, ports: &mut Ports<'_, M>) {
        let state = &mut self.batches[batch as usize];
        state.moved += 1;
        let waiting = (state.moved - 1) % self.config.completion_batch + 1;
        if waiting < self.config.completion_batch && state.moved < self.config.batch {
            return;
        }
        let length = self.config.completion.get() * u64::from(waiting);
        let offset =
            COMPLETION_RING + u64::from(batch) * self.config.completion.get() * u64::from(self.config.batch);
        let token = Token::with(Kind::Completions, batch, waiting);
        self.control(Direction::Write, offset, length, token, ports);
    }

    fn completed<M: Needs>(&mut self, batch: u32, frames: u32, ports: &mut Ports<'_, M>) {
        let state = &mut self.batches[batch as usize];
        state.completed += frames;
        if state.completed == self.config.batch {
            self.ring(batch, ports);
        }
    }

    fn control<M: Needs>(
        &self,
        direction: Direction,
        offset: u64,
        length: u64,
        token: Token,
        ports: &mut Ports<'_, M>,
    ) {
        let Some(opened) = self.opened else { return };
        let transfer = Transfer {
            direction,
            target: Target::HostMemory,
            offset,
            length: Bytes::new(length),
            flow: opened.control,
            token,
            notify: Notify::Done,
        };
        ports.submit(opened.control_queue, transfer);
    }
}

impl<M: Needs> Instrument<M> for RingsWorkload {
    type Kind = Kind;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        let spec = |direction| FlowSpec {
            name: self.config.name.to_string(),
            entry: self.config.name.entry(),
            devices: self.config.device_name.as_str().into(),
            direction,
            latency: LatencyOf::Request,
            repeats: false,
        };
        self.opened = Some(Opened {
            control_queue: ports.open_queue(self.config.device),
            frame_queue: ports.open_queue(self.config.device),
            frames: ports.add_flow(spec(self.config.direction.name())),
            control: ports.add_flow(spec(CONTROL)),
        });
        for batch in 0..self.config.outstanding {
            self.ring(batch, ports);
        }
    }

    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M>) {
        let token = event.token();
        match token.kind {
            Kind::Doorbell => self.fetch(token.subject, ports),
            Kind::Descriptors => self.move_frames(token.subject, ports),
            Kind::Frame => self.frame_moved(token.subject, ports),
            Kind::Completions => self.completed(token.subject, token.detail, ports),
        }
    }
}

impl Workload for RingsWorkload {
    called_by_fabric!();
}

impl LoadConfig for RingsConfig {
    fn build(&self) -> Box<dyn Workload> {
        Box::new(RingsWorkload::new(self.clone()))
    }

    fn boxed(&self) -> Box<dyn LoadConfig> {
        Box::new(self.clone())
    }

    fn tools(&self) -> Vec<Tool> {
        vec![Tool::of(&self.name, "rings")]
    }

    fn demands(&self) -> Vec<Demand> {
        vec![Demand { operations: u64::from(self.outstanding), of: format!("{}.outstanding", self.name) }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Bench;
    use lanewise_units::{Rate, Span};

    fn config(direction: Direction) -> RingsConfig {
        RingsConfig {
            name: "port".into(),
            device: DeviceId(0),
            device_name: "nic0".into(),
            direction,
            frame: Bytes::new(64),
            descriptor: Bytes::new(16),
            completion: Bytes::new(16),
            doorbell: Bytes::new(4),
            batch: 32,
            completion_batch: 4,
            outstanding: 64,
        }
    }

    fn bench() -> Bench {
        Bench::new(Rate::from_bytes_per_second(1_000_000_000), Span::from_ns(500))
    }

    #[test]
    fn received_frames_share_the_link_with_their_completions() {
        let mut bench = bench();
        bench.run(&mut RingsWorkload::new(config(Direction::Write)), Span::from_ms(1));
        // 64 of every 80 B towards the host are frames; at the start no completions are due yet.
        let payload = bench.payload("port", "write");
        assert!((780_000..=820_000).contains(&payload), "{payload} B of frames");
    }

    #[test]
    fn sent_frames_share_the_link_with_their_descriptors() {
        let mut bench = bench();
        bench.run(&mut RingsWorkload::new(config(Direction::Read)), Span::from_ms(1));
        let (frames, control) = (bench.payload("port", "read"), bench.payload("port", "control"));
        assert!((770_000..=800_000).contains(&frames), "{frames} B of frames");
        // A descriptor and a completion of 16 B each for every frame of 64 B.
        assert!(control.abs_diff(frames / 2) < 70_000, "{control} B beside {frames} B");
    }

    #[test]
    fn one_batch_at_a_time_waits_for_each_step() {
        let mut bench = bench();
        let alone = RingsConfig { outstanding: 1, batch: 1, completion_batch: 1, ..config(Direction::Write) };
        bench.run(&mut RingsWorkload::new(alone), Span::from_ms(1));
        let frames = bench.payload("port", "write") / 64;
        // A doorbell, a read of descriptors, a write of the frame and one of its completion: some 500 ns for each of them.
        assert!((300..=650).contains(&frames), "{frames} frames in 1 ms");
    }
}
