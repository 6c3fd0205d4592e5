//! Copies by a device: what one costs, from the call to the end that is known.
//!
//! A stream has one copy under way at a time. A copy costs an overhead before its first request (driver, submission, engine or kernel
//! start; of copies that are queued only what the engine takes to go on with the next), its data, and what its end takes to be known. Streams share the queues of an engine in turn; copies of one engine
//! follow each other. From or to pageable memory, a copy goes through buffers that a core of the host fills or empties chunk by
//! chunk, while the engine moves others. What is not moved by the engine is the stream's own time: it can be the limit, and is a
//! resource.
//!
//! Leaves out: memory of the device as a limit of its own (that is
//! `memory_read_rate` and the like of the endpoint), translation of addresses inside the device, and that the core which stages
//! chunks may be busy with something else.

use crate::ports::{Event, Ports, needs};
use crate::server::reading;
use crate::token::{self, kinds};
use lanewise_fabric::workload::{Direction, DmaQueueId, Notify, Target, Transfer};
use lanewise_fabric::{ResourceId, ResourceReading, Station};
use lanewise_observe::FlowId;
use lanewise_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// How copies of pageable memory are staged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Staging {
    /// Rate at which a core copies between pageable memory and a buffer.
    pub rate: Rate,
    /// Bytes of a buffer.
    pub chunk: Bytes,
    /// Buffers of a stream.
    pub buffers: u32,
    /// Time of a core for each chunk beside its bytes.
    pub cost: Span,
}

/// What a copy costs beside its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CopyCosts {
    /// Time of each copy before its first request.
    pub overhead: Span,
    /// What a call of the GPU's runtime that waits for a copy adds to that.
    pub call: Span,
    /// Time from the last byte until the copy is known to be over.
    pub completion: Span,
    /// Buffers between, for pageable memory.
    pub staging: Option<Staging>,
}

impl CopyCosts {
    /// Time of a copy beside its data.
    fn of_a_copy(&self) -> Span {
        self.overhead + self.call + self.completion
    }

    /// What they are, in words.
    fn words(&self) -> String {
        let copy = format!("{} a copy", self.of_a_copy());
        match self.staging {
            Some(Staging { rate, cost, .. }) => format!("{copy}, {cost} a chunk, {rate}"),
            None => copy,
        }
    }

    /// Whether copies can be made at that cost: buffers hold something.
    pub(crate) fn can_stage(&self) -> bool {
        self.staging.is_none_or(|staging| staging.chunk > Bytes::ZERO && staging.buffers > 0)
    }
}

kinds! {
    /// What a timer or transfer was for. The subject is a stream.
    pub(crate) enum Kind {
        /// The overhead of a copy has passed.
        Begun,
        /// Data have been moved by the engine.
        Moved,
        /// A core has copied a chunk.
        Staged,
        /// The end of a copy is known.
        Ended,
    }
}

type Token = token::Token<Kind>;
needs!(pub(crate) Needs: Timers, Dma);

/// Which way a stream's copies go, by what, and where they are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// What the device does for it.
    pub direction: Direction,
    /// With whose memory.
    pub target: Target,
    /// Of an engine.
    pub dma_queue: DmaQueueId,
    pub flow: FlowId,
    /// First byte of the stream's memory.
    pub offset: u64,
    pub costs: CopyCosts,
    /// Whether its copies are queued at the engine, which goes from one to the next, of whichever stream.
    pub queued: bool,
}

/// An engine whose copies are queued.
#[derive(Debug)]
struct Queue {
    dma_queue: DmaQueueId,
    /// Streams whose copies have not ended; the first one's is under way.
    streams: VecDeque<u32>,
}

/// A copy as chunks: how many have gone how far.
#[derive(Clone, Copy, Default, Debug)]
struct Chunks {
    all: u64,
    submitted: u64,
    moved: u64,
    staging: bool,
    staged: u64,
}

#[derive(Debug)]
struct Stream {
    way: Way,
    /// Of the copy under way.
    size: Bytes,
    chunks: Chunks,
    /// The host's software for it: a copy's overhead, chunks, and the end.
    software: Station,
}

impl Stream {
    /// Bytes that the engine moves at a time.
    fn chunk(&self) -> Bytes {
        self.way.costs.staging.map_or(self.size, |staging| staging.chunk.min(self.size))
    }

    /// Bytes of a chunk of this number.
    fn bytes_of(&self, chunk: u64) -> Bytes {
        self.size.saturating_sub(self.chunk() * chunk).min(self.chunk())
    }

    /// Whether all of a copy is where it was to go.
    fn is_moved(&self) -> bool {
        let Chunks { all, moved, staged, .. } = self.chunks;
        moved == all && (self.way.costs.staging.is_none() || staged == all)
    }
}

/// Streams of copies.
#[derive(Default, Debug)]
pub(crate) struct Copies {
    streams: Vec<Stream>,
    /// Streams whose copies have ended, until they are asked for.
    ended: VecDeque<u32>,
    queues: Vec<Queue>,
}

impl Copies {
    /// One more stream; its number.
    pub(crate) fn open(&mut self, way: Way) -> u32 {
        let (size, chunks, software) = (Bytes::ZERO, Chunks::default(), Station::default());
        self.streams.push(Stream { way, size, chunks, software });
        self.streams.len() as u32 - 1
    }

    /// What the host's software has done for all streams up to `at`, under this name; none without a stream.
    pub(crate) fn software(&self, id: ResourceId, name: String, at: Time) -> Option<ResourceReading> {
        let costs = self.streams.first()?.way.costs;
        let stations: Vec<Station> = self.streams.iter().map(|stream| stream.software).collect();
        Some(reading(id, name, costs.words(), &stations, at))
    }

    /// Starts a copy of so many bytes in a stream that has none under way.
    pub(crate) fn start<M: Needs>(&mut self, stream: u32, size: Bytes, ports: &mut Ports<'_, M, Kind>) {
        let it = &mut self.streams[stream as usize];
        it.size = size;
        let all = size.div_ceil(it.chunk());
        it.chunks = Chunks { all, ..Chunks::default() };
        if it.way.queued {
            let queue = self.queue_of(stream);
            queue.streams.push_back(stream);
            if queue.streams.len() > 1 {
                return;
            }
        }
        self.begin(stream, ports);
    }

    /// A copy begins with what it costs before its data.
    fn begin<M: Needs>(&mut self, stream: u32, ports: &mut Ports<'_, M, Kind>) {
        let CopyCosts { overhead, call, .. } = self.streams[stream as usize].way.costs;
        self.after(overhead + call, Kind::Begun, stream, ports);
    }

    /// The queue of a stream's engine.
    fn queue_of(&mut self, stream: u32) -> &mut Queue {
        let dma_queue = self.streams[stream as usize].way.dma_queue;
        let known = self.queues.iter().position(|queue| queue.dma_queue == dma_queue);
        let place = known.unwrap_or_else(|| {
            self.queues.push(Queue { dma_queue, streams: VecDeque::new() });
            self.queues.len() - 1
        });
        &mut self.queues[place]
    }

    /// The engine has moved a copy that was queued, and goes on with the next.
    fn go_on_in_queue<M: Needs>(&mut self, stream: u32, ports: &mut Ports<'_, M, Kind>) {
        let queue = self.queue_of(stream);
        queue.streams.pop_front();
        if let Some(next) = queue.streams.front().copied() {
            self.begin(next, ports);
        }
    }

    /// Something happened to a stream.
    pub(crate) fn react<M: Needs>(&mut self, event: Event<Kind>, ports: &mut Ports<'_, M, Kind>) {
        let Token { kind, subject: stream, .. } = event.token();
        self.step(kind, stream, ports);
    }

    /// A stream whose copy has ended, each once.
    pub(crate) fn poll(&mut self) -> Option<u32> {
        self.ended.pop_front()
    }

    /// Goes on with a step after some time, or at once.
    fn after<M: Needs>(&mut self, delay: Span, step: Kind, stream: u32, ports: &mut Ports<'_, M, Kind>) {
        if delay.is_zero() {
            self.step(step, stream, ports);
        } else {
            self.work(delay, step, stream, ports);
        }
    }

    /// The host's software is at work on a stream for some time: then it goes on with a step.
    fn work<M: Needs>(&mut self, span: Span, step: Kind, stream: u32, ports: &mut Ports<'_, M, Kind>) {
        let done = self.streams[stream as usize].software.occupy(ports.now(), span);
        ports.set_timer(done, Token::of(step, stream));
    }

    fn step<M: Needs>(&mut self, step: Kind, stream: u32, ports: &mut Ports<'_, M, Kind>) {
        let it = &mut self.streams[stream as usize];
        match step {
            Kind::Begun => {}
            Kind::Moved => it.chunks.moved += 1,
            Kind::Staged => {
                it.chunks.staged += 1;
                it.chunks.staging = false;
            }
            Kind::Ended => return self.ended.push_back(stream),
        }
        if it.is_moved() {
            let completion = it.way.costs.completion;
            if it.way.queued {
                self.go_on_in_queue(stream, ports);
            }
            return self.after(completion, Kind::Ended, stream, ports);
        }
        self.go_on(stream, ports);
    }

    /// Starts whatever of a copy can be started: the core's next chunk, the engine's next.
    fn go_on<M: Needs>(&mut self, stream: u32, ports: &mut Ports<'_, M, Kind>) {
        let it = &mut self.streams[stream as usize];
        let Chunks { all, submitted, moved, staging, staged } = it.chunks;
        let Some(buffers) = it.way.costs.staging else {
            if submitted == 0 {
                self.submit(stream, ports);
            }
            return;
        };
        let room = u64::from(buffers.buffers);
        let to_device = it.way.direction == Direction::Read;
        // What a core may start, and how many chunks the engine may have been given.
        let (may_stage, may_submit) = match to_device {
            true => (staged < all && staged - moved < room, staged),
            false => (staged < moved, (staged + room).min(all)),
        };
        if !staging && may_stage {
            let took = buffers.cost + buffers.rate.span_ceil(it.bytes_of(staged));
            it.chunks.staging = true;
            self.work(took, Kind::Staged, stream, ports);
        }
        for _ in submitted..may_submit {
            self.submit(stream, ports);
        }
    }

    /// Gives the engine the next chunk of a copy.
    fn submit<M: Needs>(&mut self, stream: u32, ports: &mut Ports<'_, M, Kind>) {
        let it = &mut self.streams[stream as usize];
        let number = it.chunks.submitted;
        let length = it.bytes_of(number);
        it.chunks.submitted += 1;
        let Way { direction, target, dma_queue, flow, offset, costs, .. } = it.way;
        let buffer = costs.staging.map_or(0, |staging| number % u64::from(staging.buffers));
        let transfer = Transfer {
            direction,
            target,
            offset: offset + buffer * length.get(),
            length,
            flow,
            token: Token::of(Kind::Moved, stream),
            notify: Notify::Done,
        };
        ports.submit(dma_queue, transfer);
    }
}
