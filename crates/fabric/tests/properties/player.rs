//! Asks a fabric for the transfers of a case, takes endpoints away while it runs and brings them back.

use super::case::Case;
use lanewise_fabric::Fabric;
use lanewise_fabric::config::FabricConfig;
use lanewise_fabric::ports::{Dma, HotPlug, Mmio, Tally, Timers};
use lanewise_fabric::workload::*;
use lanewise_observe::{Fact, FlowId, FlowSpec, LatencyOf, Observer, WorkloadEntry};
use lanewise_units::{Bytes, Span, Time};
use std::cell::RefCell;
use std::rc::Rc;

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    Dma { direction: Direction, target: Target, notify: Notify },
    MmioRead,
    MmioWrite,
}

/// One step of a case.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub at: Time,
    pub device: DeviceId,
    pub channel: u32,
    pub what: What,
    pub offset: u64,
    pub length: u64,
}

impl Step {
    /// Endpoints that have to be there.
    fn involves(&self) -> impl Iterator<Item = DeviceId> {
        let peer = match self.what {
            What::Dma { target: Target::Endpoint(peer), .. } => Some(peer),
            _ => None,
        };
        [Some(self.device), peer].into_iter().flatten()
    }

    /// Whether its end is told.
    pub fn is_told(&self) -> bool {
        !matches!(self.what, What::Dma { notify: Notify::Sent | Notify::Nothing, .. })
    }
}

impl Case {
    /// The root complex above a device.
    fn root_of(&self, config: &FabricConfig, device: usize) -> usize {
        let above = config.links.iter().find(|link| link.lower.0 == device);
        above.map_or(device, |link| self.root_of(config, link.upper.0))
    }

    fn devices_above(&self) -> usize {
        1 + usize::from(self.two_roots) + self.switches.len()
    }

    fn endpoint_id(&self, index: usize) -> DeviceId {
        DeviceId((self.devices_above() + index % self.endpoints.len()) as u32)
    }

    /// Which of the endpoints a device is.
    pub fn endpoint_number(&self, device: DeviceId) -> usize {
        device.0 as usize - self.devices_above()
    }

    pub fn steps(&self, config: &FabricConfig) -> Vec<Step> {
        let root_of = |device: DeviceId| self.root_of(config, device.0 as usize);
        let step = |case: &super::case::TransferCase| {
            let device = self.endpoint_id(case.from);
            let peer = self.endpoint_id(case.to);
            let is_mmio = matches!(case.what, 2 | 3);
            let target = match case.what {
                4 | 5 => Target::Nobody,
                _ if peer != device && root_of(peer) == root_of(device) => Target::Endpoint(peer),
                _ => Target::HostMemory,
            };
            let notify = match (case.notify, target) {
                (1, Target::HostMemory | Target::Nobody) => Notify::Sent,
                (2, Target::HostMemory | Target::Nobody) => Notify::Nothing,
                _ => Notify::Done,
            };
            let direction = if matches!(case.what, 0 | 2 | 4) { Direction::Read } else { Direction::Write };
            Step {
                at: super::common::us(5) + Span::from_ns(case.at_ns),
                device,
                channel: case.channel,
                what: match (is_mmio, direction) {
                    (true, Direction::Read) => What::MmioRead,
                    (true, Direction::Write) => What::MmioWrite,
                    (false, direction) => What::Dma { direction, target, notify },
                },
                offset: case.offset,
                length: if is_mmio { case.length.min(64) } else { case.length },
            }
        };
        self.transfers.iter().map(step).collect()
    }

    fn plugs(&self, config: &FabricConfig) -> Vec<Plug> {
        let plug = |case: &super::case::PlugCase| {
            let device = self.endpoint_id(case.endpoint);
            let above = config.links.iter().find(|link| link.lower.0 == device.0 as usize)?;
            // Links in Flit Mode stay up.
            (!above.mode.flit).then(|| Plug {
                device,
                leaves: case.leaves_ns.map(|ns| Time::ZERO + Span::from_ns(ns)),
                away: Span::from_ns(case.away_ns),
            })
        };
        self.plugs.iter().filter_map(plug).collect()
    }
}

struct Plug {
    device: DeviceId,
    leaves: Option<Time>,
    away: Span,
}

/// When steps were asked for and when they ended, as far as anybody is told.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Log {
    /// Steps in the order in which they were asked for.
    pub asked: Vec<(usize, Time)>,
    pub ended: Vec<Option<Time>>,
}

/// Per port, TLPs sent and accepted since its link came up, and whether sequence numbers ever skipped or repeated.
#[derive(Default)]
pub struct Links {
    /// What every port sent when: sequence numbers of TLPs, none for DLLPs and replays.
    pub sendings: Vec<(Time, u32, Option<u16>)>,
    pub sent: Vec<u64>,
    pub accepted: Vec<u64>,
    pub out_of_sequence: Vec<u32>,
    pub went_down: Vec<bool>,
}

impl Links {
    pub fn new(ports: usize) -> Self {
        Self {
            sendings: Vec::new(),
            sent: vec![0; ports],
            accepted: vec![0; ports],
            out_of_sequence: Vec::new(),
            went_down: vec![false; ports],
        }
    }
}

pub struct LinkChecker(pub Rc<RefCell<Links>>);

impl Observer for LinkChecker {
    fn observe(&mut self, now: Time, fact: &Fact) {
        let mut seen = self.0.borrow_mut();
        match *fact {
            Fact::DllpSent { port } | Fact::ReplayStarted { port, .. } => {
                seen.sendings.push((now, port, None));
            }
            Fact::TlpSent { port, sequence, .. } => {
                seen.sendings.push((now, port, Some(sequence)));
                let expected = seen.sent[port as usize] % 4096;
                if u64::from(sequence) != expected {
                    seen.out_of_sequence.push(port);
                }
                seen.sent[port as usize] += 1;
            }
            Fact::BufferFilled { port, .. } => seen.accepted[port as usize] += 1,
            _ => {}
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    There,
    /// For which plug.
    Leaving(usize),
    Away,
}

/// The workload.
pub struct Player {
    steps: Vec<Step>,
    classes: Vec<u8>,
    plugs: Vec<Plug>,
    /// Both ends of the link above each device that has one.
    ends: Vec<Option<[usize; 2]>>,
    presence: Vec<Presence>,
    /// Steps under way that involve a device.
    open: Vec<u32>,
    held: Vec<usize>,
    channels: Vec<((DeviceId, u32), DmaQueueId)>,
    flows: Vec<FlowId>,
    pub log: Rc<RefCell<Log>>,
    links: Rc<RefCell<Links>>,
}

const STEP: u64 = 1 << 32;
const LEAVE: u64 = 2 << 32;
const BACK: u64 = 3 << 32;
const LOOK_AGAIN: Span = Span::from_ns(700);

impl Player {
    pub fn new(case: &Case, config: &FabricConfig, fabric: &Fabric, links: &Rc<RefCell<Links>>) -> Self {
        let steps = case.steps(config);
        let devices = config.devices.len();
        let mut ends = vec![None; devices];
        for link in &config.links {
            let port = |(device, port): (usize, usize)| fabric.port_index(DeviceId(device as u32), port);
            ends[link.lower.0] = Some([port(link.upper), port(link.lower)]);
        }
        Self {
            classes: case.classes.to_vec(),
            plugs: case.plugs(config),
            ends,
            presence: vec![Presence::There; devices],
            open: vec![0; devices],
            held: Vec::new(),
            channels: Vec::new(),
            flows: Vec::new(),
            log: Rc::new(RefCell::new(Log { asked: Vec::new(), ended: vec![None; steps.len()] })),
            links: Rc::clone(links),
            steps,
        }
    }

    fn presence_of(&mut self, device: DeviceId) -> &mut Presence {
        &mut self.presence[device.0 as usize]
    }

    fn channel(&mut self, device: DeviceId, channel: u32, fabric: &mut Fabric) -> DmaQueueId {
        let class = self.classes[channel as usize];
        let known = self.channels.iter().find(|(name, _)| *name == (device, channel));
        known.map(|(_, id)| *id).unwrap_or_else(|| {
            let id = fabric.open_queue_of(device, class);
            self.channels.push(((device, channel), id));
            id
        })
    }

    /// Asks for a step now, or as soon as everybody is there.
    fn ask(&mut self, index: usize, fabric: &mut Fabric) {
        let step = self.steps[index];
        if step.involves().any(|device| *self.presence_of(device) != Presence::There) {
            return self.held.push(index);
        }
        if step.is_told() {
            step.involves().for_each(|device| self.open[device.0 as usize] += 1);
        }
        self.log.borrow_mut().asked.push((index, fabric.now()));
        let (token, length) = (index as u64, Bytes::new(step.length));
        match step.what {
            What::Dma { direction, target, notify } => {
                let channel = self.channel(step.device, step.channel, fabric);
                let (offset, flow) = (step.offset, self.flows[index]);
                fabric.submit(channel, Transfer { direction, target, offset, length, flow, token, notify });
            }
            What::MmioRead => fabric.mmio_read(step.device, length, token),
            What::MmioWrite => fabric.mmio_write(step.device, length, token),
        }
        if matches!(step.what, What::Dma { notify: Notify::Nothing, .. }) {
            self.end(index, fabric.now());
        }
    }

    fn end(&mut self, index: usize, now: Time) {
        let step = self.steps[index];
        let before = self.log.borrow_mut().ended[index].replace(now);
        assert!(before.is_none(), "step {index} ends twice");
        if step.is_told() {
            step.involves().for_each(|device| self.open[device.0 as usize] -= 1);
        }
    }

    /// A device is to leave: it does as soon as it is at rest.
    fn leave(&mut self, index: usize, fabric: &mut Fabric) {
        let device = self.plugs[index].device;
        let presence = self.presence_of(device);
        if *presence == Presence::There {
            *presence = Presence::Leaving(index);
        }
        if *presence != Presence::Leaving(index) {
            return; // It leaves already, or has left.
        }
        if self.open[device.0 as usize] > 0 || !fabric.is_at_rest(device) {
            return fabric.set_timer(fabric.now() + LOOK_AGAIN, LEAVE + index as u64);
        }
        self.take_away(index, fabric);
    }

    fn take_away(&mut self, index: usize, fabric: &mut Fabric) {
        let Plug { device, away, .. } = self.plugs[index];
        *self.presence_of(device) = Presence::Away;
        fabric.disconnect(device);
        let [upper, lower] = self.ends[device.0 as usize].expect("an endpoint is below something");
        let mut links = self.links.borrow_mut();
        assert_eq!(links.sent[upper], links.accepted[lower], "down to device {}", device.0);
        assert_eq!(links.sent[lower], links.accepted[upper], "up from device {}", device.0);
        for port in [upper, lower] {
            (links.sent[port], links.accepted[port], links.went_down[port]) = (0, 0, true);
        }
        fabric.set_timer(fabric.now() + away, BACK + index as u64);
    }

    fn come_back(&mut self, index: usize, fabric: &mut Fabric) {
        let device = self.plugs[index].device;
        fabric.connect(device);
        *self.presence_of(device) = Presence::There;
        for step in std::mem::take(&mut self.held) {
            self.ask(step, fabric);
        }
    }
}

impl Workload for Player {
    fn start(&mut self, fabric: &mut Fabric) {
        for step in 0..self.steps.len() {
            self.flows.push(fabric.add_flow(FlowSpec {
                name: format!("step {step}"),
                entry: WorkloadEntry::default(),
                devices: "".into(),
                direction: "step",
                latency: LatencyOf::Request,
                repeats: false,
            }));
            fabric.set_timer(self.steps[step].at, STEP + step as u64);
        }
        for index in 0..self.plugs.len() {
            let Plug { device, leaves, .. } = self.plugs[index];
            match leaves {
                Some(at) => fabric.set_timer(at, LEAVE + index as u64),
                None if *self.presence_of(device) == Presence::There => self.take_away(index, fabric),
                None => {}
            }
        }
    }

    fn handle(&mut self, event: WorkloadEvent, fabric: &mut Fabric) {
        match event {
            WorkloadEvent::Timer { token } => {
                let index = (token & (STEP - 1)) as usize;
                match token - index as u64 {
                    STEP => self.ask(index, fabric),
                    BACK => self.come_back(index, fabric),
                    _ => self.leave(index, fabric),
                }
            }
            WorkloadEvent::TransferDone { token }
            | WorkloadEvent::TransferSent { token }
            | WorkloadEvent::MmioReadDone { token }
            | WorkloadEvent::MmioWriteArrived { token } => self.end(token as usize, fabric.now()),
            WorkloadEvent::MmioWriteLeft { .. } | WorkloadEvent::LineDone { .. } => panic!("nobody asked"),
        }
    }
}
