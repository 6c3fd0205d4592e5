//! Plain DMA: an endpoint keeps a number of operations in flight, and starts one as one ends.
//!
//! One event an operation: large operations cost the instrument next to nothing. Latency is counted by the fabric
//! for every request, and here for every operation: from when it is asked for until its last byte has arrived. Leaves out: descriptors, doorbells and completions; what costs those is an instrument of its own.

use crate::load::{Demand, Enlarge, LoadConfig, LoadName, Reached, Tool};
use crate::ports::{self, Event, Instrument, called_by_fabric, needs};
use crate::token::{self, kinds};
use lanewise_engine::random::RandomStream;
use lanewise_fabric::Fabric;
use lanewise_fabric::workload::{DeviceId, Direction, DmaQueueId, Notify, Target, Transfer, Workload};
use lanewise_observe::{FlowId, FlowSpec, LatencyOf};
use lanewise_units::{Bytes, Time};
use std::any::Any;

/// Which way the data goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DmaDirection {
    /// The device reads.
    Read,
    /// The device writes.
    Write,
    /// Both, each with its own operations in flight.
    Both,
}

/// How offsets follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OffsetOrder {
    /// One stride after another, and from the end of the span back to its start.
    Sequential,
    /// Any stride of the span, each as likely.
    Random,
}

/// Settings of a DMA instrument.
#[derive(Clone, Debug, PartialEq)]
pub struct DmaConfig {
    /// Name of its flows.
    pub name: LoadName,
    /// The endpoint that asks.
    pub device: DeviceId,
    /// The endpoint's name.
    pub device_name: String,
    /// Which way.
    pub direction: DmaDirection,
    /// Whose memory.
    pub target: Target,
    /// Bytes of one operation; not zero.
    pub size: Bytes,
    /// Operations in flight, in each direction; at least one.
    pub outstanding: u32,
    /// First byte used in the target's memory.
    pub offset: u64,
    /// Distance between the starts of neighbouring operations; at least `size` for them not to overlap.
    pub stride: Bytes,
    /// Memory that is used; at least one stride.
    pub span: Bytes,
    /// Traffic class of its requests; none for the device's own.
    pub traffic_class: Option<u8>,
    /// The virtual function of the endpoint that asks, counted from 0; none for the physical one. It has the device's traffic class.
    pub function: Option<u8>,
    /// How offsets follow each other.
    pub order: OffsetOrder,
}

kinds! {
    /// What may happen: the subject is the seat of an operation among those in flight.
    pub(crate) enum Kind {
        /// An operation of the first direction has ended.
        First,
        /// One of the second has.
        Second,
    }
}

/// Of each direction, in the order in which they are opened.
const ENDED: [Kind; 2] = [Kind::First, Kind::Second];

type Token = token::Token<Kind>;
needs!(pub(crate) Needs: Dma, Tally, Randomness);

/// The machine as it sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kind>;

/// One direction of the instrument.
#[derive(Debug)]
struct Stream {
    direction: Direction,
    queue: DmaQueueId,
    flow: FlowId,
    next_stride: u64,
    random: Option<RandomStream>,
    /// Of each operation in flight, when it was asked for.
    started: Vec<Time>,
    /// Seats of those that nothing is in flight for, since fewer may be.
    free: Vec<usize>,
}

/// The plain DMA instrument.
#[derive(Debug)]
pub struct DmaWorkload {
    config: DmaConfig,
    strides: u64,
    streams: Vec<Stream>,
}

impl DmaConfig {
    /// These settings, with what may change while the instrument is at work as in `other`: what the next operation is like, and
    /// how many there are at a time.
    #[must_use]
    pub fn with_live_settings_of(&self, other: &Self) -> Self {
        let Self { size, outstanding, stride, span, .. } = *other;
        Self { size, outstanding, stride, span, ..self.clone() }
    }
}

fn strides(config: &DmaConfig) -> u64 {
    assert!(config.stride > Bytes::ZERO, "{}: operations need a stride", config.name);
    let strides = config.span.div_floor(config.stride);
    assert!(strides > 0, "{}: a span of {} holds no stride", config.name, config.span);
    strides
}

impl DmaWorkload {
    /// An instrument with nothing in flight yet.
    ///
    /// # Panics
    /// When the size or the number in flight is zero, or the span holds no stride.
    pub fn new(config: DmaConfig) -> Self {
        assert!(
            config.size > Bytes::ZERO && config.outstanding > 0,
            "{}: nothing to keep in flight",
            config.name
        );
        Self { strides: strides(&config), config, streams: Vec::new() }
    }

    fn open<M: Needs>(&mut self, direction: Direction, ports: &mut Ports<'_, M>) {
        let word = direction.name();
        let flow = ports.add_flow(FlowSpec {
            name: self.config.name.to_string(),
            entry: self.config.name.entry(),
            devices: self.config.device_name.as_str().into(),
            direction: word,
            latency: LatencyOf::Both,
            repeats: false,
        });
        let random = match self.config.order {
            OffsetOrder::Sequential => None,
            OffsetOrder::Random => Some(ports.random_stream(&self.config.name, word)),
        };
        let queue = match (self.config.function, self.config.traffic_class) {
            (Some(function), _) => ports.open_queue_of_function(self.config.device, function),
            (None, None) => ports.open_queue(self.config.device),
            (None, Some(class)) => ports.open_queue_of(self.config.device, class),
        };
        let started = vec![Time::ZERO; self.config.outstanding as usize];
        self.streams.push(Stream {
            direction,
            queue,
            flow,
            next_stride: 0,
            random,
            started,
            free: Vec::new(),
        });
    }

    #[inline]
    fn submit<M: Needs>(&mut self, stream: usize, seat: usize, ports: &mut Ports<'_, M>) {
        let token = Token::of(ENDED[stream], seat as u32);
        let stream = &mut self.streams[stream];
        stream.started[seat] = ports.now();
        let transfer = Transfer {
            direction: stream.direction,
            target: self.config.target,
            offset: self.config.offset + stream.take_stride(self.strides) * self.config.stride.get(),
            length: self.config.size,
            flow: stream.flow,
            token,
            notify: Notify::Done,
        };
        ports.submit(stream.queue, transfer);
    }
}

impl Stream {
    #[inline]
    fn in_flight(&self) -> usize {
        self.started.len() - self.free.len()
    }

    fn take_seat(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.started.push(Time::ZERO);
            self.started.len() - 1
        })
    }

    #[inline]
    fn take_stride(&mut self, strides: u64) -> u64 {
        match &mut self.random {
            Some(random) => random.below(strides),
            None => {
                let stride = self.next_stride;
                self.next_stride = if stride + 1 == strides { 0 } else { stride + 1 };
                stride
            }
        }
    }
}

impl<M: Needs> Instrument<M> for DmaWorkload {
    type Kind = Kind;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        if self.config.direction != DmaDirection::Write {
            self.open(Direction::Read, ports);
        }
        if self.config.direction != DmaDirection::Read {
            self.open(Direction::Write, ports);
        }
        for stream in 0..self.streams.len() {
            for seat in 0..self.config.outstanding as usize {
                self.submit(stream, seat, ports);
            }
        }
    }

    #[inline]
    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M>) {
        let Token { kind, subject, .. } = event.token();
        let (seat, number) = (subject as usize, kind as usize);
        let stream = &self.streams[number];
        let now = ports.now();
        ports.operation_done(stream.flow, now - stream.started[seat]);
        if stream.in_flight() > self.config.outstanding as usize {
            self.streams[number].free.push(seat);
        } else {
            self.submit(number, seat, ports);
        }
    }
}

impl DmaWorkload {
    /// Takes other settings: operations from the next one on are like that, and as many more as may be are asked for now.
    fn retune<M: Needs>(&mut self, to: &DmaConfig, ports: &mut Ports<'_, M>) {
        self.config = self.config.with_live_settings_of(to);
        self.strides = strides(&self.config);
        for number in 0..self.streams.len() {
            let stream = &mut self.streams[number];
            if stream.next_stride >= self.strides {
                stream.next_stride = 0;
            }
            while self.streams[number].in_flight() < self.config.outstanding as usize {
                let seat = self.streams[number].take_seat();
                self.submit(number, seat, ports);
            }
        }
    }
}

impl Workload for DmaWorkload {
    called_by_fabric!();

    fn change(&mut self, to: &dyn Any, fabric: &mut Fabric) {
        let now = fabric.now();
        self.retune(to.downcast_ref().expect("settings of plain DMA"), &mut Ports::of(fabric, now));
    }
}

impl LoadConfig for DmaConfig {
    fn build(&self) -> Box<dyn Workload> {
        Box::new(DmaWorkload::new(self.clone()))
    }

    fn boxed(&self) -> Box<dyn LoadConfig> {
        Box::new(self.clone())
    }

    fn tools(&self) -> Vec<Tool> {
        vec![Tool::of(&self.name, "dma")]
    }

    fn apart(&self) -> Option<Vec<DeviceId>> {
        (self.target == Target::HostMemory).then(|| vec![self.device])
    }

    fn retuned(&self, other: &dyn LoadConfig, _first: &dyn LoadConfig) -> Box<dyn LoadConfig> {
        match other.of_kind::<Self>() {
            Some(other) => Box::new(self.with_live_settings_of(other)),
            None => self.boxed(),
        }
    }

    fn demands(&self) -> Vec<Demand> {
        let ways = if self.direction == DmaDirection::Both { 2 } else { 1 };
        vec![Demand {
            operations: u64::from(self.outstanding) * ways,
            of: format!("{}.outstanding", self.name),
        }]
    }

    fn targets(&self) -> Vec<Reached<'_>> {
        match self.target {
            Target::Endpoint(device) => vec![Reached { flow: &self.name, by: Some(self.device), device }],
            Target::HostMemory | Target::Nobody => Vec::new(),
        }
    }

    fn peer_memory(&self) -> Vec<(DeviceId, Bytes)> {
        match self.target {
            Target::Endpoint(device) => vec![(device, self.size)],
            Target::HostMemory | Target::Nobody => Vec::new(),
        }
    }

    fn posts_only(&self) -> bool {
        true
    }

    fn more_outstanding(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        (self.device == device).then(|| larger.count(&mut self.outstanding))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Bench;
    use lanewise_units::{Rate, Span};

    fn config(direction: DmaDirection) -> DmaConfig {
        DmaConfig {
            name: "stream".into(),
            device: DeviceId(0),
            device_name: "nic0".into(),
            direction,
            target: Target::HostMemory,
            size: Bytes::from_kib(4),
            outstanding: 16,
            offset: 0,
            stride: Bytes::from_kib(4),
            span: Bytes::from_kib(64),
            traffic_class: None,
            function: None,
            order: OffsetOrder::Sequential,
        }
    }

    fn bench() -> Bench {
        Bench::new(Rate::from_bytes_per_second(1_000_000_000), Span::from_ns(500))
    }

    #[test]
    fn enough_in_flight_saturates_the_link() {
        let mut bench = bench();
        bench.run(&mut DmaWorkload::new(config(DmaDirection::Write)), Span::from_ms(1));
        let payload = bench.payload("stream", "write");
        assert!((990_000..=1_000_000).contains(&payload), "1 GB/s for 1 ms: {payload} B");
    }

    #[test]
    fn one_in_flight_pays_the_latency_every_time() {
        let mut bench = bench();
        let one = DmaConfig { outstanding: 1, ..config(DmaDirection::Read) };
        bench.run(&mut DmaWorkload::new(one), Span::from_ms(1));
        // 500 ns there, 4,096 ns of data.
        assert_eq!(bench.payload("stream", "read"), 1_000_000 / 4596 * 4096);
    }

    #[test]
    fn both_directions_run_side_by_side() {
        let mut bench = bench();
        bench.run(&mut DmaWorkload::new(config(DmaDirection::Both)), Span::from_ms(1));
        assert!(bench.payload("stream", "read") > 990_000);
        assert!(bench.payload("stream", "write") > 990_000);
    }

    #[test]
    fn only_both_directions_have_twice_as_many_open() {
        let open = |direction| config(direction).demands()[0].operations;
        let ways = [DmaDirection::Read, DmaDirection::Write, DmaDirection::Both];
        assert_eq!(ways.map(open), [16, 16, 32]);
    }

    #[test]
    fn offsets_wrap_or_scatter_within_the_span() {
        let mut bench = bench();
        bench.run(&mut DmaWorkload::new(config(DmaDirection::Write)), Span::from_ms(1));
        let first: Vec<u64> = bench.offsets.iter().copied().take(18).collect();
        assert_eq!(&first[14..], [14 * 4096, 15 * 4096, 0, 4096]);

        let mut bench = self::bench();
        let scattered = DmaConfig { order: OffsetOrder::Random, ..config(DmaDirection::Write) };
        bench.run(&mut DmaWorkload::new(scattered), Span::from_ms(1));
        assert!(bench.offsets.iter().all(|offset| offset % 4096 == 0 && *offset < 65_536));
        assert!(bench.offsets.windows(2).any(|pair| pair[1] != pair[0] + 4096));
    }
}
