//! Adapters, cores and SmartFlow as one instrument: what it is made of, its trials, and what each event leads to.
//!
//! A frame's way through it is in [`super::receive`], [`super::host`] and [`super::transmit`].

use super::config::EthernetConfig;
use super::memory::Buffers;
use super::report::metric;
use super::smartflow::SmartFlow;
use super::token::{self, Kind, Needs, Ports, Token};
use crate::device::ethernet::NicConfig;
use crate::device::ethernet::{Frame, Port, Taken};
use crate::host::bridge::Software;
use crate::load::{LoadConfig, Tool};
use crate::ports::{Event, Instrument, called_by_fabric};
use crate::token::LARGEST_DETAIL;
use lanewise_fabric::workload::{ChannelId, Metric, Workload};
use lanewise_observe::{CONTROL, FlowId, FlowSpec, LatencyOf};
use lanewise_units::{Span, Time};
use std::collections::VecDeque;

/// Channels of an adapter's port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channels {
    /// Frames, descriptors and interrupts to memory, in order.
    pub(super) posted: ChannelId,
    /// Descriptors from memory.
    pub(super) descriptors: ChannelId,
}

/// The engine that reads frames to send, shared by the ports of an adapter.
#[derive(Clone, Debug)]
pub(super) struct TransmitEngine {
    pub(super) channel: ChannelId,
    /// Frames that are being read, and worked on, by port; those of a port are in order.
    pub(super) busy: u32,
    /// Port whose turn it is.
    pub(super) turn: usize,
}

/// Flows of an adapter in the results.
#[derive(Clone, Copy, Debug)]
pub(super) struct NicFlows {
    pub(super) receive: FlowId,
    pub(super) transmit: FlowId,
    pub(super) control: FlowId,
}

/// The instrument.
#[derive(Debug)]
pub struct EthernetWorkload {
    pub(super) config: EthernetConfig,
    pub(super) smartflow: SmartFlow,
    pub(super) software: Software,
    pub(super) ports: Vec<Port>,
    /// Adapter of each port, and each adapter's first port.
    pub(super) nic_of: Vec<usize>,
    pub(super) first_port: Vec<usize>,
    pub(super) channels: Vec<Channels>,
    pub(super) engines: Vec<TransmitEngine>,
    /// Frames that the engine reads for each port, and those it has read and still works on.
    pub(super) reading: Vec<VecDeque<Frame>>,
    pub(super) nic_flows: Vec<NicFlows>,
    pub(super) frame_flows: Vec<FlowId>,
    /// Port that frames coming in at a port leave by; none where none come in.
    pub(super) bridged_to: Vec<Option<usize>>,
    /// Frames taken from each port and not yet given back as descriptors.
    pub(super) taken: Vec<u32>,
    /// Buffers of each port, for receiving and for sending.
    pub(super) buffers: Vec<[Buffers; 2]>,
    /// Number of the trial, which tells its frames from those of the last.
    pub(super) trial: u32,
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
        let mut bridged_to = vec![None; ports.len()];
        for flow in &config.smartflow.flows {
            let [from, to] = [flow.from, flow.to].map(|(nic, port)| {
                assert!(port < config.nics[nic].ports as usize, "{}: no such port", flow.name);
                first_port[nic] + port
            });
            bridged_to[from] = Some(to);
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

    pub(super) fn nic(&self, port: usize) -> &NicConfig {
        &self.config.nics[self.nic_of[port]]
    }

    fn open<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        for nic in &self.config.nics {
            let mut flow = |direction, latency| {
                let (name, device) = (nic.name.clone(), nic.name.clone());
                ports.add_flow(FlowSpec { name, device, direction, latency })
            };
            let receive = flow("write", LatencyOf::Request);
            let transmit = flow("read", LatencyOf::Request);
            let control = flow(CONTROL, LatencyOf::Request);
            self.nic_flows.push(NicFlows { receive, transmit, control });
            for _ in 0..nic.ports {
                let posted = ports.open_channel(nic.device);
                let descriptors = ports.open_channel(nic.device);
                self.channels.push(Channels { posted, descriptors });
            }
            let channel = ports.open_channel(nic.device);
            self.engines.push(TransmitEngine { channel, busy: 0, turn: 0 });
        }
        for flow in &self.config.smartflow.flows {
            let name = |(nic, port): (usize, usize)| format!("{}.{port}", self.config.nics[nic].name);
            self.frame_flows.push(ports.add_flow(FlowSpec {
                name: flow.name.clone(),
                device: format!("{} > {}", name(flow.from), name(flow.to)),
                direction: "frames",
                latency: LatencyOf::Operation,
            }));
        }
    }

    /// Starts the next trial, if there is one: the first frame of each flow, evenly spread over an interval.
    fn start_trial<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        self.trial = (self.trial + 1) & LARGEST_DETAIL;
        if !self.smartflow.start(now) {
            return;
        }
        let trial = self.smartflow.count.as_ref().expect("just started").trial;
        let flows = self.config.smartflow.flows.len() as u64;
        let interval = self.smartflow.interval(trial);
        let frame = self.config.nics[0].rate.line_span(trial.size);
        for flow in 0..flows {
            let offset = Span::from_ticks(interval.ticks() / flows * flow);
            let token = token::with(Kind::FrameIn, flow as usize, self.trial);
            ports.set_timer(now + frame + offset, token);
        }
    }

    /// The last bit of a frame is at the adapter, and the next one of its flow is on its way.
    fn frame_in<M: Needs>(&mut self, flow: usize, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        if self.smartflow.has_failed() {
            return self.end_if_over(ports);
        }
        let Some(count) = &mut self.smartflow.count else { return };
        let trial = count.trial;
        if !count.lasts_until(now) {
            return self.end_if_over(ports);
        }
        count.sent(flow);
        let priority = self.config.smartflow.flows[flow].priority;
        let frame = Frame { flow: flow as u32, size: trial.size.get() as u32, priority, arrived: now };
        let interval = self.smartflow.interval(trial);
        ports.set_timer(now + interval, token::with(Kind::FrameIn, flow, self.trial));
        let (nic, port) = self.config.smartflow.flows[flow].from;
        let port = self.first_port[nic] + port;
        match self.ports[port].take(&self.config.nics[nic], frame) {
            Taken::Stored => self.write_frames(port, ports),
            Taken::Lost => self.lost(frame, ports),
        }
    }

    pub(super) fn lost<M: Needs>(&mut self, frame: Frame, ports: &mut Ports<'_, M>) {
        if let Some(count) = &mut self.smartflow.count {
            count.lost(frame.flow as usize, ports.now());
        }
        self.end_if_over(ports);
    }

    /// Ends the trial when no more frames come and none is left inside.
    pub(super) fn end_if_over<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        let failed = self.smartflow.has_failed();
        let Some(count) = &self.smartflow.count else { return };
        let generating = !failed && count.lasts_until(ports.now());
        if generating || !count.is_drained() {
            return;
        }
        self.smartflow.finish();
        self.start_trial(ports);
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

impl<M: Needs> Instrument<M> for EthernetWorkload {
    type Kind = Kind;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        self.open(ports);
        for port in 0..self.ports.len() {
            self.write_frames(port, ports);
        }
        self.start_trial(ports);
    }

    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M>) {
        let Token { kind, subject, detail } = event.token();
        let subject = subject as usize;
        match kind {
            Kind::FrameIn if detail == self.trial => self.frame_in(subject, ports),
            Kind::FrameIn => {}
            Kind::FrameWritten => self.ports[subject].written(detail),
            Kind::ReceiveWrittenBack => self.ports[subject].reported(detail),
            Kind::ReceiveFetched => {
                self.ports[subject].fetched(detail);
                self.write_frames(subject, ports);
            }
            Kind::Interrupt => self.interrupt(subject, ports),
            Kind::Moderation => {
                self.ports[subject].timer_set = false;
                self.consider_interrupt(subject, ports);
            }
            Kind::Doorbell => {
                self.ports[subject].announce(detail);
                self.fetch_transmit(subject, ports);
            }
            Kind::TransmitFetched => {
                self.ports[subject].fetched_transmit(detail);
                self.run_engine(self.nic_of[subject], ports);
            }
            Kind::FrameRead => self.frame_read(subject, ports),
            Kind::FrameReady => self.frame_ready(subject, ports),
            Kind::LineFree => self.line_free(subject, detail, ports),
            Kind::TransmitWrittenBack => self.ports[subject].reported_transmit(detail),
            Kind::Replenished => {
                self.ports[subject].replenished(detail);
                self.write_frames(subject, ports);
            }
            Kind::Enabled => {
                self.ports[subject].enabled = true;
                self.consider_interrupt(subject, ports);
            }
            Kind::RegisterWritten => {}
            Kind::RegisterRead => self.register_read(subject, ports),
            Kind::WorkDone => self.run_core(subject, ports),
        }
    }
}

impl Workload for EthernetWorkload {
    called_by_fabric!();

    fn report(&self, _window: (Time, Time)) -> Vec<Metric> {
        let mut metrics = self.smartflow.results().to_vec();
        metrics.extend(self.own_metrics());
        metrics
    }

    fn has_ended(&self) -> Option<bool> {
        Some(self.smartflow.is_done())
    }
}

impl LoadConfig for EthernetConfig {
    fn build(&self) -> Box<dyn Workload> {
        Box::new(EthernetWorkload::new(self.clone()))
    }

    fn boxed(&self) -> Box<dyn LoadConfig> {
        Box::new(self.clone())
    }

    fn tools(&self) -> Vec<Tool> {
        Tool::one(&self.name, "smartflow")
    }
}
