//! Adapters, cores and SmartFlow as one instrument: what it is made of, its trials, and what each event leads to.
//!
//! A frame's way through the adapters is in [`crate::device::ethernet`], through the host in [`super::host`].

use super::config::{EthernetConfig, TrafficFlow};
use super::report::metric;
use super::tester::SmartFlow;
use super::token::{self, Kind, Kinds, Needs, Ports};
use crate::device::ethernet::{Adapters, Frame, Notice, Taken};
use crate::host::bridge::Software;
use crate::load::{Enlarge, LoadConfig, OnCore, Tool};
use crate::ports::{Event, Instrument, called_by_fabric, split};
use crate::server::asked_for;
use crate::token::{Joined, LARGEST_DETAIL, Token};
use lanewise_fabric::workload::{Metric, Workload};
use lanewise_fabric::{HostPart, Part, ResourceId, ResourceReading};
use lanewise_observe::{FlowId, FlowSpec, LatencyOf};
use lanewise_units::{Bytes, Span, Time};

/// The instrument.
#[derive(Debug)]
pub struct EthernetWorkload {
    pub(super) config: EthernetConfig,
    pub(super) smartflow: SmartFlow,
    pub(super) software: Software,
    pub(super) adapters: Adapters,
    pub(super) frame_flows: Vec<FlowId>,
    /// Port that frames coming in at a port leave by; none where none come in.
    pub(super) bridged_to: Vec<Option<usize>>,
    /// Frames taken from each port and not yet given back as descriptors.
    pub(super) taken: Vec<u32>,
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
        let adapters = Adapters::new(config.nics.clone());
        let mut bridged_to = vec![None; adapters.count()];
        for flow in &config.smartflow.flows {
            bridged_to[adapters.port_of(flow.from)] = Some(adapters.port_of(flow.to));
        }
        Self {
            smartflow: SmartFlow::new(config.smartflow.clone(), config.nics[0].rate),
            software: Software::new(config.stack.clone(), adapters.count()),
            frame_flows: Vec::new(),
            bridged_to,
            taken: vec![0; adapters.count()],
            adapters,
            trial: 0,
            config,
        }
    }

    /// Flows of frames from port to port.
    fn open<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        for flow in &self.config.smartflow.flows {
            let name = |(nic, port): (usize, usize)| format!("{}.{port}", self.config.nics[nic].name);
            self.frame_flows.push(ports.add_flow(FlowSpec {
                name: flow.name.clone(),
                entry: self.config.name.entry(),
                devices: format!("{} > {}", name(flow.from), name(flow.to)).into(),
                direction: "frames",
                latency: LatencyOf::Frame,
                repeats: false,
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
        let count = self.smartflow.count.as_ref().expect("just started");
        let trial = count.trial;
        ports.set_timer(count.end(), token::with(Kind::TrialOver, 0, self.trial));
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
            return;
        }
        count.sent(flow);
        let priority = self.config.smartflow.flows[flow].priority;
        let frame = Frame {
            flow: flow as u32,
            size: trial.size.get() as u32,
            priority,
            arrived: now,
            seen: Time::ZERO,
        };
        let interval = self.smartflow.interval(trial);
        ports.set_timer(now + interval, token::with(Kind::FrameIn, flow, self.trial));
        let port = self.adapters.port_of(self.config.smartflow.flows[flow].from);
        if self.adapters.take(port, frame, &mut ports.second()) == Taken::Lost {
            self.lost(frame, ports);
        }
    }

    /// The first bit of a frame leaves, where latency is measured to.
    fn sent<M: Needs>(&mut self, frame: Frame, ports: &mut Ports<'_, M>) {
        let (now, flow) = (ports.now(), frame.flow as usize);
        let latency = now.saturating_since(frame.arrived);
        ports.payload_delivered(self.frame_flows[flow], Bytes::new(frame.size.into()));
        ports.operation_done(self.frame_flows[flow], latency);
        self.smartflow.received(flow, latency, now);
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
    type Kind = Kinds;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        self.adapters.begin(self.config.name.entry(), &mut ports.second());
        self.open(ports);
        self.adapters.prefetch(&mut ports.second());
        self.start_trial(ports);
    }

    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M>) {
        match split(event) {
            Joined::First(event) => {
                let Token { kind, subject, detail } = event.token();
                match kind {
                    Kind::FrameIn if detail == self.trial => self.frame_in(subject as usize, ports),
                    Kind::TrialOver if detail == self.trial => self.end_if_over(ports),
                    Kind::FrameIn | Kind::TrialOver => {}
                    Kind::RegisterRead => self.register_read(subject as usize, ports),
                    Kind::WorkDone => self.run_core(subject as usize, ports),
                }
            }
            Joined::Second(event) => {
                self.adapters.react(event, &mut ports.second());
                while let Some(notice) = self.adapters.poll() {
                    match notice {
                        Notice::Interrupt { port } => self.interrupt(port, ports),
                        Notice::Sent { frame } => self.sent(frame, ports),
                        Notice::LineFree => self.end_if_over(ports),
                    }
                }
            }
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

    fn resources(&self, at: Time) -> Vec<ResourceReading> {
        self.software.resources(at).filter(asked_for).collect()
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
        vec![Tool::of(&self.name, "smartflow")]
    }

    fn cores(&self) -> Vec<OnCore> {
        let mut first_port = Vec::new();
        let mut ports = 0;
        for nic in &self.nics {
            first_port.push(ports);
            ports += nic.ports;
        }
        let on_core = |flow: &TrafficFlow| {
            let core = (first_port[flow.from.0] + flow.from.1 as u32) % self.stack.cores.max(1);
            // The adapters at both ends, whose flows have their names, and that of the frames.
            let names = [&self.nics[flow.from.0].name, &self.nics[flow.to.0].name, &flow.name];
            names.map(|name| OnCore {
                flow: name.clone(),
                host: self.stack.device,
                core: HostPart::BridgeCore { core },
            })
        };
        self.smartflow.flows.iter().flat_map(on_core).collect()
    }

    fn enlarge(&mut self, resource: &ResourceId, larger: &mut Enlarge) -> Option<()> {
        let stack = &mut self.stack;
        let is_core = matches!(resource.part, Part::Host(HostPart::BridgeCore { .. }));
        (is_core && resource.owner.device() == Some(stack.device)).then(|| {
            larger.shorten_all([&mut stack.interrupt_cost, &mut stack.packet_cost, &mut stack.byte_cost]);
        })
    }
}
