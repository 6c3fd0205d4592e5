//! Adapters, cores and SmartFlow as one instrument: what each event leads to.

use super::config::{EthernetConfig, NicConfig};
use super::nic::{Frame, Port, Taken};
use super::report::metric;
use super::smartflow::SmartFlow;
use super::software::{Software, Step, Work};
use super::token::{Kind, Token};
use crate::platform::{Instrument, Platform};
use lanewise_fabric::Fabric;
use lanewise_fabric::workload::{
    ChannelId, Direction, Metric, Notify, Target, Transfer, Workload, WorkloadEvent,
};
use lanewise_observe::{FlowId, FlowSpec, LatencyOf};
use lanewise_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Bytes of the memory write that is an interrupt (MSI).
const INTERRUPT: Bytes = Bytes::new(4);
/// Distance of the interrupt's address from the descriptors.
const PAGE: u64 = 4096;
/// Distance of frame buffers in host memory: only a jumbo frame crosses a page.
const BUFFER: u64 = 2048;
/// Frames that have a buffer each before the first is used again.
const BUFFERS: u64 = 512;
/// Host memory of a port: frames, then descriptors.
const PORT_AREA: u64 = 4 << 20;
/// Where the descriptors are in it.
const DESCRIPTORS: u64 = 2 << 20;
/// Flow of a port that frames are dropped at.
const NOWHERE: usize = usize::MAX;

/// Frame buffers of a port in host memory, used in turn.
#[derive(Clone, Copy, Debug)]
struct Buffers {
    first: u64,
    used: u64,
}

impl Buffers {
    fn of(port: usize) -> Self {
        Self { first: port as u64 * PORT_AREA, used: 0 }
    }

    /// Offset of the next one.
    fn next(&mut self) -> u64 {
        let offset = self.first + self.used * BUFFER;
        self.used = (self.used + 1) % BUFFERS;
        offset
    }
}

/// Channels of an adapter's port.
#[derive(Clone, Copy, Debug)]
struct Channels {
    /// Frames, descriptors and interrupts to memory, in order.
    posted: ChannelId,
    /// Descriptors from memory.
    descriptors: ChannelId,
}

/// The engine that reads frames to send, shared by the ports of an adapter.
#[derive(Clone, Debug)]
struct TransmitEngine {
    channel: ChannelId,
    /// Frames that are being read, and worked on, by port; those of a port are in order.
    busy: u32,
    /// Port whose turn it is.
    turn: usize,
}

/// Flows of an adapter in the results.
#[derive(Clone, Copy, Debug)]
struct NicFlows {
    receive: FlowId,
    transmit: FlowId,
    control: FlowId,
}

/// The instrument.
#[derive(Debug)]
pub struct EthernetWorkload {
    config: EthernetConfig,
    smartflow: SmartFlow,
    software: Software,
    ports: Vec<Port>,
    /// Adapter of each port, and each adapter's first port.
    nic_of: Vec<usize>,
    first_port: Vec<usize>,
    channels: Vec<Channels>,
    engines: Vec<TransmitEngine>,
    /// Frames that the engine reads for each port, and those it has read and still works on.
    reading: Vec<VecDeque<Frame>>,
    nic_flows: Vec<NicFlows>,
    frame_flows: Vec<FlowId>,
    /// Port that frames coming in at a port leave by.
    bridged_to: Vec<usize>,
    /// Frames taken from each port and not yet given back as descriptors.
    taken: Vec<u32>,
    /// Buffers of each port, for receiving and for sending.
    buffers: Vec<[Buffers; 2]>,
    /// Number of the trial, which tells its frames from those of the last.
    trial: u32,
}

impl EthernetWorkload {
    /// Adapters at rest.
    ///
    /// # Panics
    /// When a flow names a port that does not exist, or nothing is to be tested.
    pub fn new(config: EthernetConfig) -> Self {
        assert!(!config.smartflow.sizes.is_empty() && !config.smartflow.loads.is_empty(), "nothing to test");
        let mut nic_of = Vec::new();
        let mut first_port = Vec::new();
        let mut ports = Vec::new();
        for (index, nic) in config.nics.iter().enumerate() {
            first_port.push(ports.len());
            for _ in 0..nic.ports {
                nic_of.push(index);
                ports.push(Port::new(nic));
            }
        }
        let mut bridged_to = vec![NOWHERE; ports.len()];
        for flow in &config.smartflow.flows {
            let [from, to] = [flow.from, flow.to].map(|(nic, port)| {
                assert!(port < config.nics[nic].ports as usize, "{}: no such port", flow.name);
                first_port[nic] + port
            });
            bridged_to[from] = to;
        }
        let count = ports.len();
        Self {
            smartflow: SmartFlow::new(config.smartflow.clone(), config.nics[0].rate),
            software: Software::new(config.stack.clone()),
            ports,
            nic_of,
            first_port,
            channels: Vec::new(),
            engines: Vec::new(),
            reading: vec![VecDeque::new(); count],
            nic_flows: Vec::new(),
            frame_flows: Vec::new(),
            bridged_to,
            taken: vec![0; count],
            buffers: (0..count).map(|port| [Buffers::of(port); 2]).collect(),
            trial: 0,
            config,
        }
    }

    fn nic(&self, port: usize) -> &NicConfig {
        &self.config.nics[self.nic_of[port]]
    }

    fn open<P: Platform>(&mut self, platform: &mut P) {
        for nic in &self.config.nics {
            let mut flow = |direction, latency| {
                let (name, device) = (nic.name.clone(), nic.name.clone());
                platform.add_flow(FlowSpec { name, device, direction, latency })
            };
            let receive = flow("write", LatencyOf::Request);
            let transmit = flow("read", LatencyOf::Request);
            let control = flow("control", LatencyOf::Request);
            self.nic_flows.push(NicFlows { receive, transmit, control });
            for _ in 0..nic.ports {
                let posted = platform.open_channel(nic.device);
                let descriptors = platform.open_channel(nic.device);
                self.channels.push(Channels { posted, descriptors });
            }
            let channel = platform.open_channel(nic.device);
            self.engines.push(TransmitEngine { channel, busy: 0, turn: 0 });
        }
        for flow in &self.config.smartflow.flows {
            let name = |(nic, port): (usize, usize)| format!("{}.{port}", self.config.nics[nic].name);
            self.frame_flows.push(platform.add_flow(FlowSpec {
                name: flow.name.clone(),
                device: format!("{} > {}", name(flow.from), name(flow.to)),
                direction: "frames",
                latency: LatencyOf::Operation,
            }));
        }
    }

    // SmartFlow.

    /// Starts the next trial, if there is one: the first frame of each flow, evenly spread over an interval.
    fn start_trial<P: Platform>(&mut self, platform: &mut P) {
        let now = platform.now();
        self.trial = self.trial.wrapping_add(1);
        if !self.smartflow.start(now) {
            return;
        }
        let trial = self.smartflow.count.as_ref().expect("just started").trial;
        let flows = self.config.smartflow.flows.len() as u64;
        let interval = self.smartflow.interval(trial);
        let frame = self.config.nics[0].rate.line_span(trial.size);
        for flow in 0..flows {
            let offset = Span::from_ticks(interval.ticks() / flows * flow);
            let token = Token::with(Kind::FrameIn, flow as usize, self.trial);
            platform.set_timer(now + frame + offset, token.pack());
        }
    }

    /// The last bit of a frame is at the adapter, and the next one of its flow is on its way.
    fn frame_in<P: Platform>(&mut self, flow: usize, platform: &mut P) {
        let now = platform.now();
        if self.smartflow.has_failed() {
            return self.end_if_over(platform);
        }
        let Some(count) = &mut self.smartflow.count else { return };
        let trial = count.trial;
        if !count.lasts_until(now) {
            return self.end_if_over(platform);
        }
        count.sent(flow);
        let frame = Frame { flow: flow as u32, size: trial.size.get() as u32, arrived: now };
        let interval = self.smartflow.interval(trial);
        platform.set_timer(now + interval, Token::with(Kind::FrameIn, flow, self.trial).pack());
        let (nic, port) = self.config.smartflow.flows[flow].from;
        let port = self.first_port[nic] + port;
        match self.ports[port].take(&self.config.nics[nic], frame) {
            Taken::Stored => self.write_frames(port, platform),
            Taken::Lost => self.lost(frame, platform),
        }
    }

    fn lost<P: Platform>(&mut self, frame: Frame, platform: &mut P) {
        if let Some(count) = &mut self.smartflow.count {
            count.lost(frame.flow as usize, platform.now());
        }
        self.end_if_over(platform);
    }

    /// Ends the trial when no more frames come and none is left inside.
    fn end_if_over<P: Platform>(&mut self, platform: &mut P) {
        let failed = self.smartflow.has_failed();
        let Some(count) = &self.smartflow.count else { return };
        let generating = !failed && count.lasts_until(platform.now());
        if generating || !count.is_drained() {
            return;
        }
        self.smartflow.finish();
        self.start_trial(platform);
    }

    // Receive.

    /// Writes what waits in the FIFO and has a descriptor, reports it, and fetches more descriptors.
    fn write_frames<P: Platform>(&mut self, port: usize, platform: &mut P) {
        while let Some(frame) = self.ports[port].next_write() {
            let offset = self.buffers[port][0].next();
            let flow = self.nic_flows[self.nic_of[port]].receive;
            let token = Token::with(Kind::FrameWritten, port, frame.size);
            let transfer = write(flow, offset, frame.in_memory(), token, Notify::Sent);
            platform.submit(self.channels[port].posted, transfer);
        }
        self.report(port, platform);
        let nic = &self.config.nics[self.nic_of[port]];
        if let Some(count) = self.ports[port].fetch(nic) {
            let token = Token::with(Kind::ReceiveFetched, port, count);
            self.read_descriptors(port, count, token, platform);
        }
    }

    /// Writes receive descriptors back when they are due, and sees to an interrupt.
    fn report<P: Platform>(&mut self, port: usize, platform: &mut P) {
        let nic = &self.config.nics[self.nic_of[port]];
        if let Some(count) = self.ports[port].write_back(nic) {
            let token = Token::with(Kind::ReceiveWrittenBack, port, count);
            self.write_descriptors(port, count, token, platform);
            self.consider_interrupt(port, platform);
        }
    }

    /// Sends an interrupt, or sets the timer of the moderation, when there is a reason and the driver allows it.
    fn consider_interrupt<P: Platform>(&mut self, port: usize, platform: &mut P) {
        let now = platform.now();
        let interval = self.nic(port).interrupt_interval;
        let state = &mut self.ports[port];
        if !state.enabled || state.timer_set || !state.wants_interrupt() {
            return;
        }
        if now < state.next_interrupt {
            state.timer_set = true;
            platform.set_timer(state.next_interrupt, Token::of(Kind::Moderation, port).pack());
            return;
        }
        state.enabled = false;
        state.next_interrupt = now + interval;
        let flow = self.nic_flows[self.nic_of[port]].control;
        let offset = port as u64 * PORT_AREA + DESCRIPTORS - PAGE;
        let token = Token::of(Kind::Interrupt, port);
        platform.submit(self.channels[port].posted, write(flow, offset, INTERRUPT, token, Notify::Done));
    }

    // The host.

    fn interrupt<P: Platform>(&mut self, port: usize, platform: &mut P) {
        self.software.tally.interrupts += 1;
        let core = self.software.core_of(port);
        if self.software.cores[core].interrupt(port) {
            self.run_core(core, platform);
        }
    }

    /// Lets a core go on until it computes, waits for a register, or has nothing to do.
    fn run_core<P: Platform>(&mut self, core: usize, platform: &mut P) {
        loop {
            let ports = &mut self.ports;
            let step = self.software.cores[core].step(&self.software.config, |port| ports[port].receive());
            match step {
                Step::Compute(span) => {
                    self.software.tally.compute_time += span;
                    let end = platform.now() + span;
                    return platform.set_timer(end, Token::of(Kind::WorkDone, core).pack());
                }
                Step::Read(port) => {
                    self.software.read_started[core] = platform.now();
                    let (device, register) = (self.nic(port).device, self.nic(port).register);
                    let token = Token::of(Kind::RegisterRead, core).pack();
                    return platform.mmio_read(device, register, token);
                }
                Step::Finish(Work::Frame { port, frame }) => self.bridge(port, frame, platform),
                Step::Finish(Work::Interrupt { .. }) => {}
                Step::Leave(port) => self.write_register(port, Token::of(Kind::Enabled, port), platform),
                Step::Idle => return,
            }
        }
    }

    fn register_read<P: Platform>(&mut self, core: usize, platform: &mut P) {
        let waited = platform.now() - self.software.read_started[core];
        self.software.tally.reads += 1;
        self.software.tally.read_time += waited;
        self.run_core(core, platform);
    }

    /// The host has worked on a frame: it goes to the port it is bridged to, its descriptor back to where it came in.
    fn bridge<P: Platform>(&mut self, port: usize, frame: Frame, platform: &mut P) {
        self.software.tally.frames += 1;
        for _ in 0..self.software.config.packet_writes {
            self.write_register(port, Token::of(Kind::RegisterWritten, port), platform);
        }
        self.taken[port] += 1;
        if self.taken[port] >= self.software.config.replenish {
            let count = std::mem::take(&mut self.taken[port]);
            self.write_register(port, Token::with(Kind::Replenished, port, count), platform);
        }
        let to = self.bridged_to[port];
        let nic = &self.config.nics[self.nic_of[to]];
        if self.ports[to].post(nic, frame) {
            self.write_register(to, Token::with(Kind::Doorbell, to, 1), platform);
        } else {
            self.lost(frame, platform);
        }
    }

    fn write_register<P: Platform>(&self, port: usize, token: Token, platform: &mut P) {
        platform.mmio_write(self.nic(port).device, self.nic(port).register, token.pack());
    }

    // Transmit.

    fn fetch_transmit<P: Platform>(&mut self, port: usize, platform: &mut P) {
        let nic = &self.config.nics[self.nic_of[port]];
        if let Some(count) = self.ports[port].fetch_transmit(nic) {
            let token = Token::with(Kind::TransmitFetched, port, count);
            self.read_descriptors(port, count, token, platform);
        }
    }

    /// Lets the transmit engine of an adapter read frames, its ports in turn.
    fn run_engine<P: Platform>(&mut self, nic: usize, platform: &mut P) {
        let config = &self.config.nics[nic];
        let (first, ports) = (self.first_port[nic], config.ports as usize);
        let mut looked = 0;
        while self.engines[nic].busy < config.transmit_frames && looked < ports {
            let port = first + self.engines[nic].turn;
            self.engines[nic].turn = (self.engines[nic].turn + 1) % ports;
            let Some(frame) = self.ports[port].next_read(config) else {
                looked += 1;
                continue;
            };
            looked = 0;
            self.engines[nic].busy += 1;
            self.reading[port].push_back(frame);
            let transfer = Transfer {
                direction: Direction::Read,
                target: Target::HostMemory,
                offset: self.buffers[port][1].next(),
                length: frame.in_memory(),
                flow: self.nic_flows[nic].transmit,
                token: Token::of(Kind::FrameRead, port).pack(),
                notify: Notify::Done,
            };
            platform.submit(self.engines[nic].channel, transfer);
        }
        for port in first..first + ports {
            self.fetch_transmit(port, platform);
        }
    }

    fn frame_read<P: Platform>(&mut self, port: usize, platform: &mut P) {
        let time = self.nic(port).frame_time;
        if time.is_zero() {
            return self.frame_ready(port, platform);
        }
        platform.set_timer(platform.now() + time, Token::of(Kind::FrameReady, port).pack());
    }

    /// The engine has finished with a frame: it waits for the line, and the engine takes the next.
    fn frame_ready<P: Platform>(&mut self, port: usize, platform: &mut P) {
        let frame = self.reading[port].pop_front().expect("frames of a port are read in order");
        let nic = self.nic_of[port];
        self.engines[nic].busy -= 1;
        self.ports[port].stored(frame);
        if let Some(count) = self.ports[port].write_back_transmit(&self.config.nics[nic]) {
            let token = Token::with(Kind::TransmitWrittenBack, port, count);
            self.write_descriptors(port, count, token, platform);
        }
        self.start_line(port, platform);
        self.run_engine(nic, platform);
    }

    /// Sends the next frame when the line is free. What comes back is counted when its first bit leaves, as latency
    /// is measured; the line is busy until the gap is over.
    fn start_line<P: Platform>(&mut self, port: usize, platform: &mut P) {
        let Some(frame) = self.ports[port].next_on_line() else { return };
        let now = platform.now();
        let size = Bytes::new(frame.size.into());
        let free = now + self.nic(port).rate.line_span(size);
        platform.set_timer(free, Token::with(Kind::LineFree, port, frame.size).pack());
        let latency = now.saturating_since(frame.arrived);
        let flow = frame.flow as usize;
        platform.payload_delivered(self.frame_flows[flow], size);
        platform.operation_done(self.frame_flows[flow], latency);
        self.smartflow.received(flow, latency, now);
    }

    fn line_free<P: Platform>(&mut self, port: usize, bytes: u32, platform: &mut P) {
        self.ports[port].sent(bytes);
        self.start_line(port, platform);
        self.run_engine(self.nic_of[port], platform);
        self.end_if_over(platform);
    }

    // Descriptors.

    fn read_descriptors<P: Platform>(&self, port: usize, count: u32, token: Token, platform: &mut P) {
        let transfer = Transfer {
            direction: Direction::Read,
            target: Target::HostMemory,
            offset: port as u64 * PORT_AREA + DESCRIPTORS,
            length: self.nic(port).descriptor * u64::from(count),
            flow: self.nic_flows[self.nic_of[port]].control,
            token: token.pack(),
            notify: Notify::Done,
        };
        platform.submit(self.channels[port].descriptors, transfer);
    }

    fn write_descriptors<P: Platform>(&self, port: usize, count: u32, token: Token, platform: &mut P) {
        let flow = self.nic_flows[self.nic_of[port]].control;
        let offset = port as u64 * PORT_AREA + DESCRIPTORS;
        let length = self.nic(port).descriptor * u64::from(count);
        platform.submit(self.channels[port].posted, write(flow, offset, length, token, Notify::Done));
    }

    fn own_metrics(&self) -> [Metric; 3] {
        let tally = self.software.tally;
        let frames = tally.frames.max(1) as f64;
        let read_ns = tally.read_time.as_ns() / tally.reads.max(1) as f64;
        [
            metric("Register reads per frame".to_owned(), tally.reads as f64 / frames),
            metric("Register read round trip (ns)".to_owned(), read_ns),
            metric("Interrupts per frame".to_owned(), tally.interrupts as f64 / frames),
        ]
    }
}

fn write(flow: FlowId, offset: u64, length: Bytes, token: Token, notify: Notify) -> Transfer {
    Transfer {
        direction: Direction::Write,
        target: Target::HostMemory,
        offset,
        length,
        flow,
        token: token.pack(),
        notify,
    }
}

impl Instrument for EthernetWorkload {
    fn begin<P: Platform>(&mut self, platform: &mut P) {
        self.open(platform);
        for port in 0..self.ports.len() {
            self.write_frames(port, platform);
        }
        self.start_trial(platform);
    }

    fn react<P: Platform>(&mut self, event: WorkloadEvent, platform: &mut P) {
        let (WorkloadEvent::Timer { token }
        | WorkloadEvent::TransferSent { token }
        | WorkloadEvent::TransferDone { token }
        | WorkloadEvent::MmioWriteArrived { token }
        | WorkloadEvent::MmioReadDone { token }) = event;
        let token = Token::unpack(token);
        let (subject, detail) = (token.subject as usize, token.detail);
        match token.kind {
            Kind::FrameIn if detail == self.trial => self.frame_in(subject, platform),
            Kind::FrameIn => {}
            Kind::FrameWritten => self.ports[subject].written(detail),
            Kind::ReceiveWrittenBack => self.ports[subject].reported(detail),
            Kind::ReceiveFetched => {
                self.ports[subject].fetched(detail);
                self.write_frames(subject, platform);
            }
            Kind::Interrupt => self.interrupt(subject, platform),
            Kind::Moderation => {
                self.ports[subject].timer_set = false;
                self.consider_interrupt(subject, platform);
            }
            Kind::Doorbell => {
                self.ports[subject].announce(detail);
                self.fetch_transmit(subject, platform);
            }
            Kind::TransmitFetched => {
                self.ports[subject].fetched_transmit(detail);
                self.run_engine(self.nic_of[subject], platform);
            }
            Kind::FrameRead => self.frame_read(subject, platform),
            Kind::FrameReady => self.frame_ready(subject, platform),
            Kind::LineFree => self.line_free(subject, detail, platform),
            Kind::TransmitWrittenBack => self.ports[subject].reported_transmit(detail),
            Kind::Replenished => {
                self.ports[subject].replenished(detail);
                self.write_frames(subject, platform);
            }
            Kind::Enabled => {
                self.ports[subject].enabled = true;
                self.consider_interrupt(subject, platform);
            }
            Kind::RegisterWritten => {}
            Kind::RegisterRead => self.register_read(subject, platform),
            Kind::WorkDone => self.run_core(subject, platform),
        }
    }
}

impl Workload for EthernetWorkload {
    fn start(&mut self, fabric: &mut Fabric) {
        self.begin(fabric);
    }

    fn handle(&mut self, event: WorkloadEvent, fabric: &mut Fabric) {
        self.react(event, fabric);
    }

    fn report(&self, _window: (Time, Time)) -> Vec<Metric> {
        let mut metrics = self.smartflow.results().to_vec();
        metrics.extend(self.own_metrics());
        metrics
    }

    fn has_ended(&self) -> Option<bool> {
        Some(self.smartflow.is_done())
    }
}
