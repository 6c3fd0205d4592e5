//! Collective operations over a ring of devices, as nccl-tests time them.
//!
//! The data are cut into as many parts as there are devices. In each step every device writes one part into the memory of the next in
//! the ring, peer to peer: its own in the first step, later the one that it was written itself, with its own added where the operation reduces. A device
//! goes on when its part of the step before has arrived and the kernel that waits for it has seen it and dealt with it: that is
//! `step_time`. Steps of n devices: n − 1 to reduce and scatter, n − 1 to gather, both for an all-reduce.
//!
//! ```text
//!  launch ─► part ─► arrives ─► step_time ─► next part ─► … ─► last part arrives ─► step_time ─► over, when it is for all
//! ```
//!
//! The report is in the words of nccl-tests: `algbw` is the size over the time, `busbw` that times 2 (n − 1) ÷ n for an all-reduce and
//! (n − 1) ÷ n for the others, which is what a link of the ring carries (nccl-tests, doc/PERFORMANCE.md). Source of the ring: Patarasuk and
//! Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, J. Parallel Distrib. Comput. 69 (2009).
//!
//! Leaves out: trees, several rings side by side, slices within a part, memory of the devices and their adding as limits of their own (the latter is
//! part of `step_time`), and rings that leave the host.

use super::settings::{Demand, LoadConfig, Tool};
use crate::latency::LatencyTally;
use crate::ports::{self, Event, Instrument, called_by_fabric, needs};
use crate::token::{self, kinds};
use lanewise_fabric::workload::{ChannelId, DeviceId, Direction, Metric, Notify, Target, Transfer, Workload};
use lanewise_observe::{FlowId, FlowSpec, LatencyOf};
use lanewise_units::{Bytes, Span, Time};

/// What is done with the data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Collective {
    /// Every device gets the sum of all data.
    AllReduce,
    /// Every device gets its part of the sum.
    ReduceScatter,
    /// Every device gets the parts of all.
    AllGather,
}

impl Collective {
    /// Times that all parts but one go round.
    const fn rounds(self) -> u32 {
        match self {
            Self::AllReduce => 2,
            Self::ReduceScatter | Self::AllGather => 1,
        }
    }
}

/// Settings of the instrument.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectiveConfig {
    /// Name of its flows.
    pub name: String,
    /// The devices and their names, in the order of the ring; at least two.
    pub devices: Vec<(DeviceId, String)>,
    /// What is done.
    pub operation: Collective,
    /// Bytes of all parts together; at least one for each device.
    pub size: Bytes,
    /// From the start of an operation to the first write.
    pub launch: Span,
    /// From a part that has arrived to the write of the next.
    pub step_time: Span,
}

kinds! {
    /// What may happen. The subject is a device.
    pub(crate) enum Kind {
        /// An operation has been launched at a device.
        Launched,
        /// What a device wrote is in the memory of the next. Detail: the step.
        Arrived,
        /// A device has dealt with what it was written. Detail: the step.
        Ready,
    }
}

type Token = token::Token<Kind>;
needs!(pub(crate) Needs: Timers, Dma, Tally);

/// The machine as it sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kind>;

/// The instrument.
#[derive(Debug)]
pub struct CollectiveWorkload {
    config: CollectiveConfig,
    /// Of each device.
    channels: Vec<ChannelId>,
    flows: Vec<FlowId>,
    /// Of the operations.
    flow: Option<FlowId>,
    started: Time,
    /// Devices that have their last part.
    done: usize,
    measured: LatencyTally,
}

impl CollectiveWorkload {
    /// An instrument with nothing under way.
    ///
    /// # Panics
    /// When there is no ring, or a part is empty.
    pub fn new(config: CollectiveConfig) -> Self {
        assert!(config.devices.len() > 1, "{}: a ring is of two devices at least", config.name);
        assert!(config.size.get() >= config.devices.len() as u64, "{}: an empty part", config.name);
        let (channels, flows) = (Vec::new(), Vec::new());
        let measured = LatencyTally::default();
        Self { config, channels, flows, flow: None, started: Time::ZERO, done: 0, measured }
    }

    fn count(&self) -> u32 {
        self.config.devices.len() as u32
    }

    fn steps(&self) -> u32 {
        self.config.operation.rounds() * (self.count() - 1)
    }

    /// First byte and bytes of a part: together they are all, to the byte.
    fn part(&self, number: u32) -> (u64, Bytes) {
        let up_to = |part: u32| {
            (u128::from(self.config.size.get()) * u128::from(part) / u128::from(self.count())) as u64
        };
        (up_to(number), Bytes::new(up_to(number + 1) - up_to(number)))
    }

    fn launch<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        (self.started, self.done) = (ports.now(), 0);
        for device in 0..self.count() {
            ports.set_timer(ports.now() + self.config.launch, Token::of(Kind::Launched, device));
        }
    }

    /// A device writes its part of a step into the memory of the next.
    fn write<M: Needs>(&self, device: u32, step: u32, ports: &mut Ports<'_, M>) {
        let (count, at) = (self.count(), device as usize);
        let next = self.config.devices[((device + 1) % count) as usize].0;
        let (offset, length) = self.part((device + count - step % count) % count);
        let transfer = Transfer {
            direction: Direction::Write,
            target: Target::Endpoint(next),
            offset,
            length,
            flow: self.flows[at],
            token: Token::with(Kind::Arrived, (device + 1) % count, step),
            notify: Notify::Done,
        };
        ports.submit(self.channels[at], transfer);
    }

    /// A device is through with a step.
    fn stepped<M: Needs>(&mut self, device: u32, step: u32, ports: &mut Ports<'_, M>) {
        if step + 1 < self.steps() {
            return self.write(device, step + 1, ports);
        }
        self.done += 1;
        if self.done == self.config.devices.len() {
            let latency = ports.now() - self.started;
            self.measured.add(latency);
            if let Some(flow) = self.flow {
                ports.operation_done(flow, latency);
            }
            self.launch(ports);
        }
    }
}

impl<M: Needs> Instrument<M> for CollectiveWorkload {
    type Kind = Kind;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        for (device, device_name) in &self.config.devices {
            let (name, device_name) = (self.config.name.clone(), device_name.clone());
            let (direction, latency) = (Direction::Write.name(), LatencyOf::Request);
            self.flows.push(ports.add_flow(FlowSpec { name, device: device_name, direction, latency }));
            self.channels.push(ports.open_channel(*device));
        }
        let names: Vec<&str> = self.config.devices.iter().map(|(_, name)| name.as_str()).collect();
        self.flow = Some(ports.add_flow(FlowSpec {
            name: self.config.name.clone(),
            device: names.join("+"),
            direction: "collective",
            latency: LatencyOf::Operation,
        }));
        self.launch(ports);
    }

    fn react(&mut self, event: Event<Kind>, ports: &mut Ports<'_, M>) {
        let Token { kind, subject: device, detail: step } = event.token();
        match kind {
            Kind::Launched => self.write(device, 0, ports),
            Kind::Arrived => {
                ports.set_timer(ports.now() + self.config.step_time, Token::with(Kind::Ready, device, step));
            }
            Kind::Ready => self.stepped(device, step, ports),
        }
    }
}

impl Workload for CollectiveWorkload {
    called_by_fabric!();

    /// GB/s are 10^9 bytes a second, as nccl-tests print them. Of no operation there is no time.
    fn report(&self, _window: (Time, Time)) -> Vec<Metric> {
        let metric = |name: &str, value| Metric { name: name.to_owned(), value };
        let operations = metric("operations", self.measured.count() as f64);
        if self.measured.count() == 0 {
            return vec![operations];
        }
        let us = self.measured.mean(Span::from_us(1));
        let algbw = self.config.size.get() as f64 / us / 1e3;
        let busbw = algbw * f64::from(self.steps()) / f64::from(self.count());
        vec![
            metric("time (us)", us),
            metric("algbw (GB/s)", algbw),
            metric("busbw (GB/s)", busbw),
            operations,
        ]
    }

    fn start_measuring(&mut self, _now: Time) {
        self.measured = LatencyTally::default();
    }
}

impl LoadConfig for CollectiveConfig {
    fn build(&self) -> Box<dyn Workload> {
        Box::new(CollectiveWorkload::new(self.clone()))
    }

    fn boxed(&self) -> Box<dyn LoadConfig> {
        Box::new(self.clone())
    }

    fn tools(&self) -> Vec<Tool> {
        Tool::one(&self.name, "collective")
    }

    fn demands(&self) -> Vec<Demand> {
        vec![Demand { operations: self.devices.len() as u64, of: format!("{}.devices", self.name) }]
    }

    fn targets(&self, flow: &str) -> Vec<DeviceId> {
        let is_its = self.name == flow;
        self.devices.iter().filter(|_| is_its).map(|(device, _)| *device).collect()
    }

    fn peer_memory(&self) -> Vec<(DeviceId, Bytes)> {
        self.devices.iter().map(|(device, _)| (*device, self.size)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Bench;
    use lanewise_units::Rate;

    fn config(devices: u32, operation: Collective) -> CollectiveConfig {
        CollectiveConfig {
            name: "ring".into(),
            devices: (0..devices).map(|device| (DeviceId(device), format!("gpu{device}"))).collect(),
            operation,
            size: Bytes::new(400_000),
            launch: Span::from_us(5),
            step_time: Span::from_us(1),
        }
    }

    /// What it reports after 20 ms on links of 1 GB/s with 500 ns one way, and what was written by the first device.
    fn run(config: CollectiveConfig) -> (Vec<Metric>, u64) {
        let mut bench = Bench::new(Rate::from_bytes_per_second(1_000_000_000), Span::from_ns(500));
        let mut instrument = CollectiveWorkload::new(config);
        bench.run(&mut instrument, Span::from_ms(20));
        (instrument.report((Time::ZERO, bench.now)), bench.payload_of("ring", "gpu0", "write"))
    }

    fn value(metrics: &[Metric], name: &str) -> f64 {
        metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("{name}")).value
    }

    #[test]
    fn an_operation_takes_its_launch_and_its_steps() {
        for (operation, steps) in
            [(Collective::AllReduce, 6.0), (Collective::ReduceScatter, 3.0), (Collective::AllGather, 3.0)]
        {
            let (metrics, _) = run(config(4, operation));
            // A step: 100 us of data, 500 ns of link, 1 us.
            let expected = 5.0 + steps * 101.5;
            assert_eq!(value(&metrics, "time (us)"), expected, "{operation:?}");
            let busbw = value(&metrics, "busbw (GB/s)");
            assert!((busbw - 0.4e3 / expected * steps / 4.0).abs() < 1e-12, "{operation:?}: {busbw}");
        }
    }

    #[test]
    fn every_device_writes_all_parts_but_one_in_each_round() {
        // 400,001 B in three parts: they differ by a byte, and none is left out.
        let odd = CollectiveConfig { size: Bytes::new(400_001), ..config(3, Collective::AllGather) };
        let instrument = CollectiveWorkload::new(odd.clone());
        let parts: Vec<u64> = (0..3).map(|part| instrument.part(part).1.get()).collect();
        assert_eq!((parts.iter().sum::<u64>(), parts[0]), (400_001, 133_333));
        let (metrics, written) = run(odd);
        let operations = value(&metrics, "operations") as u64;
        // The first device writes parts 0 and 2; the last operation may be under way.
        let each = parts[0] + parts[2];
        assert!((operations * each..=(operations + 1) * each).contains(&written), "{written}");
    }

    #[test]
    fn of_no_operation_there_is_no_time() {
        let instrument = CollectiveWorkload::new(config(2, Collective::AllReduce));
        let named: Vec<String> =
            instrument.report((Time::ZERO, Time::ZERO)).into_iter().map(|metric| metric.name).collect();
        assert_eq!(named, ["operations"]);
    }
}
