//! A game loop over one or more GPUs: frames as 3DMark counts them.
//!
//! The processor works on a frame batch by batch. After each it rings the doorbell of every GPU and reads a register
//! of one of them, to see how far it is, and stands still until the value is there. A GPU reads the batch's commands
//! and data from host memory and then works on it, one batch after another. When all have finished, what the others
//! rendered goes to the first by way of host memory, unless a connector of their own carries it, and the next frame
//! begins. So a frame grows by the round trips that the processor waits for, and by what the links hold up.
//!
//! Leaves out: a processor that is ahead of the GPUs by a frame, textures that are loaded while a scene runs, and
//! differences between scenes: every frame is alike.

use crate::platform::{Instrument, Platform};
use crate::server::Server;
use crate::token::{self, kinds};
use lanewise_fabric::Fabric;
use lanewise_fabric::workload::{
    ChannelId, DeviceId, Direction, Metric, Notify, Target, Transfer, Workload, WorkloadEvent,
};
use lanewise_observe::{FlowId, FlowSpec, LatencyOf};
use lanewise_units::{Bytes, Span, Time};

/// Points for a frame per second: the score is 250 times the geometric mean of the game tests' frames per second.
/// Source: Futuremark, 3DMark05 white paper, 2004.
const SCORE_PER_FRAME: f64 = 250.0;
/// Bytes of a register.
const REGISTER: Bytes = Bytes::new(4);
/// Host memory set aside for each GPU.
const GPU_AREA: u64 = 64 << 20;

/// Settings of a game loop.
#[derive(Clone, Debug)]
pub struct FramesConfig {
    /// Name of the instrument.
    pub name: String,
    /// The GPUs and their names; the first shows the image.
    pub gpus: Vec<(DeviceId, String)>,
    /// Frames to render.
    pub frames: u32,
    /// Work of the processor for a frame.
    pub cpu_time: Span,
    /// Batches of a frame, each with a register read that the processor waits for.
    pub batches: u32,
    /// Work of each GPU for a frame.
    pub gpu_time: Span,
    /// Commands and data of a frame that each GPU reads.
    pub commands: Bytes,
    /// Image data of each further GPU that goes to the first through host memory; zero with a connector for it.
    pub image: Bytes,
}

kinds! {
    /// What happened.
    enum Kind {
        /// The processor has worked on a batch.
        Computed,
        /// A register has been read.
        RegisterRead,
        /// A doorbell is at a GPU.
        Doorbell,
        /// A GPU has the commands of a batch.
        Fetched,
        /// A GPU has finished its last batch.
        Rendered,
        /// An image is in host memory.
        ImageWritten,
        /// An image is in the first GPU.
        ImageRead,
    }
}

/// Kind, and the GPU it happened to.
type Token = token::Token<Kind>;

/// One GPU.
#[derive(Clone, Copy, Debug)]
struct Gpu {
    channel: ChannelId,
    /// Commands and data that it reads, and image data that it writes.
    reads: FlowId,
    writes: FlowId,
    /// Batches of the frame that it has.
    fetched: u32,
    engine: Server,
}

/// The instrument.
#[derive(Debug)]
pub struct FramesWorkload {
    config: FramesConfig,
    gpus: Vec<Gpu>,
    flow: Option<FlowId>,
    /// Batches of the frame that the processor has done.
    batch: u32,
    frame_start: Time,
    read_start: Time,
    /// GPUs that have not finished the frame, and images that are not with the first.
    rendering: usize,
    exchanging: usize,
    frames: u32,
    end: Time,
    reads: u64,
    read_time: Span,
}

impl FramesWorkload {
    /// A loop before its first frame.
    ///
    /// # Panics
    /// When there is no GPU, no frame or no batch.
    pub fn new(config: FramesConfig) -> Self {
        assert!(!config.gpus.is_empty(), "{}: a GPU renders", config.name);
        assert!(config.frames > 0 && config.batches > 0, "{}: frames consist of something", config.name);
        Self {
            config,
            gpus: Vec::new(),
            flow: None,
            batch: 0,
            frame_start: Time::ZERO,
            read_start: Time::ZERO,
            rendering: 0,
            exchanging: 0,
            frames: 0,
            end: Time::ZERO,
            reads: 0,
            read_time: Span::ZERO,
        }
    }

    fn open<P: Platform>(&mut self, platform: &mut P) {
        for (device, name) in &self.config.gpus {
            let mut flow = |direction| {
                let (name, device) = (self.config.name.clone(), name.clone());
                platform.add_flow(FlowSpec { name, device, direction, latency: LatencyOf::Request })
            };
            let (reads, writes) = (flow("read"), flow("write"));
            let channel = platform.open_channel(*device);
            self.gpus.push(Gpu { channel, reads, writes, fetched: 0, engine: Server::default() });
        }
        let names: Vec<&str> = self.config.gpus.iter().map(|(_, name)| name.as_str()).collect();
        self.flow = Some(platform.add_flow(FlowSpec {
            name: self.config.name.clone(),
            device: names.join("+"),
            direction: "frames",
            latency: LatencyOf::Operation,
        }));
    }

    fn start_frame<P: Platform>(&mut self, platform: &mut P) {
        self.frame_start = platform.now();
        self.batch = 0;
        self.rendering = self.gpus.len();
        self.exchanging = if self.config.image == Bytes::ZERO { 0 } else { self.gpus.len() - 1 };
        self.gpus.iter_mut().for_each(|gpu| gpu.fetched = 0);
        self.compute(platform);
    }

    /// The processor works on the next batch, if there is one.
    fn compute<P: Platform>(&mut self, platform: &mut P) {
        if self.batch < self.config.batches {
            let end = platform.now() + part(self.config.cpu_time, self.config.batches, self.batch);
            platform.set_timer(end, Token::of(Kind::Computed, 0));
        }
    }

    /// A batch is ready: tells the GPUs, and asks one of them how far it is.
    fn submit_batch<P: Platform>(&mut self, platform: &mut P) {
        for (gpu, (device, _)) in self.config.gpus.iter().enumerate() {
            platform.mmio_write(*device, REGISTER, Token::of(Kind::Doorbell, gpu as u32));
        }
        let asked = self.batch as usize % self.gpus.len();
        self.read_start = platform.now();
        platform.mmio_read(self.config.gpus[asked].0, REGISTER, Token::of(Kind::RegisterRead, asked as u32));
    }

    fn register_read<P: Platform>(&mut self, platform: &mut P) {
        self.reads += 1;
        self.read_time += platform.now() - self.read_start;
        self.batch += 1;
        self.compute(platform);
    }

    fn fetch<P: Platform>(&self, gpu: usize, platform: &mut P) {
        let length = Bytes::new(self.config.commands.get().div_ceil(self.config.batches.into()).max(1));
        let offset = gpu as u64 * GPU_AREA;
        self.transfer(gpu, Direction::Read, offset, length, Token::of(Kind::Fetched, gpu as u32), platform);
    }

    /// A GPU has a batch and works on it behind those before it.
    fn fetched<P: Platform>(&mut self, index: usize, platform: &mut P) {
        let gpu = &mut self.gpus[index];
        let work = part(self.config.gpu_time, self.config.batches, gpu.fetched);
        let rendered = gpu.engine.occupy(platform.now(), work);
        gpu.fetched += 1;
        if gpu.fetched == self.config.batches {
            platform.set_timer(rendered, Token::of(Kind::Rendered, index as u32));
        }
    }

    fn rendered<P: Platform>(&mut self, gpu: usize, platform: &mut P) {
        self.rendering -= 1;
        if gpu > 0 && self.config.image > Bytes::ZERO {
            let offset = gpu as u64 * GPU_AREA + GPU_AREA / 2;
            let token = Token::of(Kind::ImageWritten, gpu as u32);
            self.transfer(gpu, Direction::Write, offset, self.config.image, token, platform);
        }
        self.finish_if_over(platform);
    }

    fn image_written<P: Platform>(&self, gpu: usize, platform: &mut P) {
        let offset = gpu as u64 * GPU_AREA + GPU_AREA / 2;
        self.transfer(
            0,
            Direction::Read,
            offset,
            self.config.image,
            Token::of(Kind::ImageRead, gpu as u32),
            platform,
        );
    }

    fn transfer<P: Platform>(
        &self,
        gpu: usize,
        direction: Direction,
        offset: u64,
        length: Bytes,
        token: u64,
        platform: &mut P,
    ) {
        let state = &self.gpus[gpu];
        let flow = if direction == Direction::Read { state.reads } else { state.writes };
        let target = Target::HostMemory;
        let transfer = Transfer { direction, target, offset, length, flow, token, notify: Notify::Done };
        platform.submit(state.channel, transfer);
    }

    fn finish_if_over<P: Platform>(&mut self, platform: &mut P) {
        if self.rendering > 0 || self.exchanging > 0 || self.batch < self.config.batches {
            return;
        }
        self.end = platform.now();
        self.frames += 1;
        if let Some(flow) = self.flow {
            platform.operation_done(flow, self.end - self.frame_start);
        }
        if self.frames < self.config.frames {
            self.start_frame(platform);
        }
    }
}

/// The share of a frame's `work` that one of its batches has, so that all of them make the whole.
fn part(work: Span, batches: u32, number: u32) -> Span {
    let up_to = |batch: u32| u128::from(work.ticks()) * u128::from(batch) / u128::from(batches);
    Span::from_ticks((up_to(number + 1) - up_to(number)) as u64)
}

impl Instrument for FramesWorkload {
    fn begin<P: Platform>(&mut self, platform: &mut P) {
        self.open(platform);
        self.start_frame(platform);
    }

    fn react<P: Platform>(&mut self, event: WorkloadEvent, platform: &mut P) {
        let Token { kind, subject, .. } = Token::unpack(event.token());
        let gpu = subject as usize;
        match kind {
            Kind::Computed => self.submit_batch(platform),
            Kind::RegisterRead => {
                self.register_read(platform);
                self.finish_if_over(platform);
            }
            Kind::Doorbell => self.fetch(gpu, platform),
            Kind::Fetched => self.fetched(gpu, platform),
            Kind::Rendered => self.rendered(gpu, platform),
            Kind::ImageWritten => self.image_written(gpu, platform),
            Kind::ImageRead => {
                self.exchanging -= 1;
                self.finish_if_over(platform);
            }
        }
    }
}

impl Workload for FramesWorkload {
    fn start(&mut self, fabric: &mut Fabric) {
        self.begin(fabric);
    }

    fn handle(&mut self, event: WorkloadEvent, fabric: &mut Fabric) {
        self.react(event, fabric);
    }

    fn report(&self, _window: (Time, Time)) -> Vec<Metric> {
        let seconds = self.end.as_seconds();
        let rate = if self.frames > 0 { f64::from(self.frames) / seconds } else { 0.0 };
        let metric = |name: &str, value| Metric { name: name.to_owned(), value };
        vec![
            metric("frames per second", rate),
            metric("frame time (ms)", seconds * 1e3 / f64::from(self.frames.max(1))),
            metric("3DMark05 score", SCORE_PER_FRAME * rate),
            metric("register read round trip (ns)", self.read_time.as_ns() / self.reads.max(1) as f64),
        ]
    }

    fn has_ended(&self) -> Option<bool> {
        Some(self.frames >= self.config.frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Bench;
    use lanewise_units::Rate;

    fn config(gpus: u32) -> FramesConfig {
        FramesConfig {
            name: "game".into(),
            gpus: (0..gpus).map(|gpu| (DeviceId(gpu), format!("gpu{gpu}"))).collect(),
            frames: 4,
            cpu_time: Span::from_ms(1),
            batches: 100,
            gpu_time: Span::from_us(500),
            commands: Bytes::new(100_000),
            image: Bytes::ZERO,
        }
    }

    /// Frame time in us on links of 1 GB/s with so much latency.
    fn frame_us(config: FramesConfig, latency_ns: u64) -> f64 {
        let mut bench = Bench::new(Rate::from_bytes_per_second(1_000_000_000), Span::from_ns(latency_ns));
        let mut instrument = FramesWorkload::new(config);
        bench.run(&mut instrument, Span::from_ms(100));
        assert_eq!(instrument.has_ended(), Some(true));
        let metrics = instrument.report((Time::ZERO, bench.now));
        metrics.iter().find(|metric| metric.name == "frame time (ms)").expect("it is reported").value * 1e3
    }

    #[test]
    fn a_frame_is_work_and_round_trips() {
        // 1 ms of work, 99 round trips of 1 us between its batches, and the last batch: a doorbell of 0.5 us, commands
        // after 0.5 us and 1 us, 5 us of rendering.
        let time = frame_us(config(1), 500);
        assert!((time - (1000.0 + 99.0 + 2.0 + 5.0)).abs() < 0.01, "{time}");
    }

    #[test]
    fn latency_costs_as_many_round_trips_as_there_are_batches() {
        let more = frame_us(config(2), 700) - frame_us(config(2), 500);
        assert!((more - 100.0 * 0.4).abs() < 0.5, "{more}");
    }

    #[test]
    fn slow_gpus_are_waited_for() {
        let time = frame_us(FramesConfig { gpu_time: Span::from_ms(3), ..config(2) }, 500);
        assert!((3000.0..3030.0).contains(&time), "{time}");
    }

    #[test]
    fn images_of_further_gpus_go_through_memory() {
        let exchange = FramesConfig { image: Bytes::new(1_000_000), ..config(2) };
        let more = frame_us(exchange, 500) - frame_us(config(2), 500);
        // Written at 1 GB/s, then read at 1 GB/s, with two crossings of 0.5 us.
        assert!((more - 2001.0).abs() < 0.01, "{more}");
    }

    #[test]
    fn parts_make_the_whole() {
        let work = Span::from_ticks(1_000_003);
        let sum: Span = (0..7).map(|number| part(work, 7, number)).sum();
        assert_eq!(sum, work);
    }
}
