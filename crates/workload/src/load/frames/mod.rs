//! A game loop over one or more GPUs: frames as 3DMark counts them.
//!
//! The processor works on a frame batch by batch. After each it rings the doorbell of every GPU and reads a register
//! of one of them, to see how far it is, and stands still until the value is there. A GPU reads the batch's commands
//! and data from host memory and then works on it, one batch after another. When all have finished, what the others
//! rendered goes to the first by way of host memory, unless a connector of their own carries it, and the next frame
//! begins. So a frame grows by the round trips that the processor waits for, and by what the links hold up.
//! Scenes follow each other, as 3DMark's tests do: `scene.rs`.
//!
//! Leaves out: a processor that is ahead of the GPUs by a frame, textures that are loaded before or while a scene runs,
//! and differences within a scene: its frames are alike.

mod scene;
#[cfg(test)]
mod tests;

use crate::load::measured::{measured, per};
use crate::load::{Enlarge, LoadConfig, LoadName, Tool};
use crate::ports::{self, Event, Instrument, called_by_fabric, needs};
use crate::token::{self, kinds};
use lanewise_fabric::Station;
use lanewise_fabric::workload::{
    DeviceId, Direction, DmaQueueId, Metric, Notify, Target, Transfer, Workload,
};
use lanewise_observe::{FlowDevices, FlowId, FlowSpec, LatencyOf};
use lanewise_units::{Bytes, Span, Time};
pub use scene::Scene;
use scene::{Rendered, metrics};

/// Bytes of a register.
const REGISTER: Bytes = Bytes::new(4);
/// Host memory set aside for each GPU.
const GPU_AREA: u64 = 64 << 20;

/// Settings of a game loop.
#[derive(Clone, Debug, PartialEq)]
pub struct FramesConfig {
    /// Name of the instrument.
    pub name: LoadName,
    /// The GPUs and their names; the first shows the image.
    pub gpus: Vec<(DeviceId, String)>,
    /// What they render, in this order.
    pub scenes: Vec<Scene>,
}

kinds! {
    /// What happened.
    pub(crate) enum Kind {
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
needs!(pub(crate) Needs: Timers, Dma, Mmio, Tally);

/// The machine as it sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kind>;

/// One GPU.
#[derive(Clone, Copy, Debug)]
struct Gpu {
    queue: DmaQueueId,
    /// Commands and data that it reads, and image data that it writes.
    reads: FlowId,
    writes: FlowId,
    /// Batches of the frame that it has.
    fetched: u32,
    engine: Station,
}

/// The instrument.
#[derive(Debug)]
pub struct FramesWorkload {
    config: FramesConfig,
    gpus: Vec<Gpu>,
    flow: Option<FlowId>,
    /// Scene that is being rendered, and what came of each; past the last one when all are done.
    scene: usize,
    rendered: Vec<Rendered>,
    /// Batches of the frame that the processor has done.
    batch: u32,
    frame_start: Time,
    read_start: Time,
    /// GPUs that have not finished the frame, and images that are not with the first.
    rendering: usize,
    exchanging: usize,
    reads: u64,
    read_time: Span,
}

impl FramesWorkload {
    /// A loop before its first frame.
    ///
    /// # Panics
    /// When there is no GPU, no scene, or one without a frame or a batch.
    pub fn new(config: FramesConfig) -> Self {
        assert!(!config.gpus.is_empty(), "{}: a GPU renders", config.name);
        assert!(!config.scenes.is_empty(), "{}: something is rendered", config.name);
        for scene in &config.scenes {
            assert!(scene.frames > 0 && scene.batches > 0, "{}: frames consist of something", config.name);
        }
        Self {
            rendered: vec![Rendered::default(); config.scenes.len()],
            scene: 0,
            config,
            gpus: Vec::new(),
            flow: None,
            batch: 0,
            frame_start: Time::ZERO,
            read_start: Time::ZERO,
            rendering: 0,
            exchanging: 0,
            reads: 0,
            read_time: Span::ZERO,
        }
    }

    fn open<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        for (device, name) in &self.config.gpus {
            let mut flow = |direction| {
                ports.add_flow(FlowSpec {
                    name: self.config.name.to_string(),
                    entry: self.config.name.entry(),
                    devices: name.as_str().into(),
                    direction,
                    latency: LatencyOf::Request,
                    repeats: false,
                })
            };
            let (reads, writes) = (flow("read"), flow("write"));
            let queue = ports.open_queue(*device);
            self.gpus.push(Gpu { queue, reads, writes, fetched: 0, engine: Station::default() });
        }
        let names = self.config.gpus.iter().map(|(_, name)| name.clone()).collect();
        self.flow = Some(ports.add_flow(FlowSpec {
            name: self.config.name.to_string(),
            entry: self.config.name.entry(),
            devices: FlowDevices::together(names),
            direction: "frames",
            latency: LatencyOf::FrameInTurn,
            repeats: false,
        }));
    }

    fn start_frame<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        self.frame_start = ports.now();
        self.batch = 0;
        self.rendering = self.gpus.len();
        self.exchanging = if self.now_on().image == Bytes::ZERO { 0 } else { self.gpus.len() - 1 };
        self.gpus.iter_mut().for_each(|gpu| gpu.fetched = 0);
        self.compute(ports);
    }

    /// The processor works on the next batch, if there is one.
    fn compute<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        let scene = self.now_on();
        if self.batch < scene.batches {
            let end = ports.now() + part(scene.cpu_time, scene.batches, self.batch);
            ports.set_timer(end, Token::of(Kind::Computed, 0));
        }
    }

    /// A batch is ready: tells the GPUs, and asks one of them how far it is.
    fn submit_batch<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        for (gpu, (device, _)) in self.config.gpus.iter().enumerate() {
            ports.mmio_write(*device, REGISTER, Token::of(Kind::Doorbell, gpu as u32));
        }
        let asked = self.batch as usize % self.gpus.len();
        self.read_start = ports.now();
        ports.mmio_read(self.config.gpus[asked].0, REGISTER, Token::of(Kind::RegisterRead, asked as u32));
    }

    fn register_read<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        self.reads += 1;
        self.read_time += ports.now() - self.read_start;
        self.batch += 1;
        self.compute(ports);
    }

    fn fetch<M: Needs>(&self, gpu: usize, ports: &mut Ports<'_, M>) {
        let scene = self.now_on();
        let length = Bytes::new(scene.commands.get().div_ceil(scene.batches.into()).max(1));
        let offset = gpu as u64 * GPU_AREA;
        self.transfer(gpu, Direction::Read, offset, length, Token::of(Kind::Fetched, gpu as u32), ports);
    }

    /// A GPU has a batch and works on it behind those before it.
    fn fetched<M: Needs>(&mut self, index: usize, ports: &mut Ports<'_, M>) {
        let Scene { gpu_time, batches, .. } = *self.now_on();
        let gpu = &mut self.gpus[index];
        let work = part(gpu_time, batches, gpu.fetched);
        let rendered = gpu.engine.occupy(ports.now(), work);
        gpu.fetched += 1;
        if gpu.fetched == batches {
            ports.set_timer(rendered, Token::of(Kind::Rendered, index as u32));
        }
    }

    fn rendered<M: Needs>(&mut self, gpu: usize, ports: &mut Ports<'_, M>) {
        self.rendering -= 1;
        let image = self.now_on().image;
        if gpu > 0 && image > Bytes::ZERO {
            let offset = gpu as u64 * GPU_AREA + GPU_AREA / 2;
            let token = Token::of(Kind::ImageWritten, gpu as u32);
            self.transfer(gpu, Direction::Write, offset, image, token, ports);
        }
        self.finish_if_over(ports);
    }

    fn image_written<M: Needs>(&self, gpu: usize, ports: &mut Ports<'_, M>) {
        let offset = gpu as u64 * GPU_AREA + GPU_AREA / 2;
        let token = Token::of(Kind::ImageRead, gpu as u32);
        self.transfer(0, Direction::Read, offset, self.now_on().image, token, ports);
    }

    fn transfer<M: Needs>(
        &self,
        gpu: usize,
        direction: Direction,
        offset: u64,
        length: Bytes,
        token: Token,
        ports: &mut Ports<'_, M>,
    ) {
        let state = &self.gpus[gpu];
        let flow = if direction == Direction::Read { state.reads } else { state.writes };
        let target = Target::HostMemory;
        let transfer = Transfer { direction, target, offset, length, flow, token, notify: Notify::Done };
        ports.submit(state.queue, transfer);
    }

    fn finish_if_over<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        if self.rendering > 0 || self.exchanging > 0 || self.batch < self.now_on().batches {
            return;
        }
        let end = ports.now();
        if let Some(flow) = self.flow {
            ports.operation_done(flow, end - self.frame_start);
        }
        let rendered = &mut self.rendered[self.scene];
        rendered.add(self.frame_start, end);
        if rendered.frames == self.config.scenes[self.scene].frames {
            self.scene += 1;
        }
        if !self.is_over() {
            self.start_frame(ports);
        }
    }

    fn is_over(&self) -> bool {
        self.scene == self.config.scenes.len()
    }

    /// The scene that is being rendered.
    fn now_on(&self) -> &Scene {
        &self.config.scenes[self.scene]
    }
}

/// The share of a frame's `work` that one of its batches has, so that all of them make the whole.
fn part(work: Span, batches: u32, number: u32) -> Span {
    let up_to = |batch: u32| u128::from(work.ticks()) * u128::from(batch) / u128::from(batches);
    Span::from_ticks((up_to(number + 1) - up_to(number)) as u64)
}

impl<M: Needs> Instrument<M> for FramesWorkload {
    type Kind = Kind;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        self.open(ports);
        self.start_frame(ports);
    }

    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M>) {
        let Token { kind, subject, .. } = event.token();
        let gpu = subject as usize;
        match kind {
            Kind::Computed => self.submit_batch(ports),
            Kind::RegisterRead => {
                self.register_read(ports);
                self.finish_if_over(ports);
            }
            Kind::Doorbell => self.fetch(gpu, ports),
            Kind::Fetched => self.fetched(gpu, ports),
            Kind::Rendered => self.rendered(gpu, ports),
            Kind::ImageWritten => self.image_written(gpu, ports),
            Kind::ImageRead => {
                self.exchanging -= 1;
                self.finish_if_over(ports);
            }
        }
    }
}

impl Workload for FramesWorkload {
    called_by_fabric!();

    fn report(&self, _window: (Time, Time)) -> Vec<Metric> {
        let mut metrics = metrics(&self.config.scenes, &self.rendered);
        let round_trip = per(self.read_time.as_ns(), self.reads as f64);
        metrics.extend(measured("register read round trip (ns)", round_trip));
        metrics
    }

    fn has_ended(&self) -> Option<bool> {
        Some(self.is_over())
    }
}

impl LoadConfig for FramesConfig {
    fn build(&self) -> Box<dyn Workload> {
        Box::new(FramesWorkload::new(self.clone()))
    }

    fn boxed(&self) -> Box<dyn LoadConfig> {
        Box::new(self.clone())
    }

    fn tools(&self) -> Vec<Tool> {
        vec![Tool::of(&self.name, "frames")]
    }

    fn shorten_pauses(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        self.gpus.iter().find(|(gpu, _)| *gpu == device)?;
        for scene in &mut self.scenes {
            larger.shorten_all([&mut scene.cpu_time, &mut scene.gpu_time]);
        }
        Some(())
    }
}
