//! Ethernet adapters as a driver and a line see them: frames come in and go out, and what happens is told.
//!
//! The line gives a port a frame with [`Adapters::take`]; the driver takes frames with [`Adapters::receive`], puts them into a port's
//! ring with [`Adapters::post`], and writes registers. [`Adapters::react`] takes the events; interrupts, and frames that leave, are found with
//! [`Adapters::poll`] in the same event.
//!
//! The way in is in `receive.rs`, the way out in `transmit.rs`. Ports are counted over all adapters.

use super::config::NicConfig;
use super::memory::Buffers;
use super::port::{Frame, Port, Taken};
use super::token::{self, Kind, Needs, Ports, Token};
use crate::ports::Event;
use lanewise_fabric::ports::Tally;
use lanewise_fabric::workload::DmaQueueId;
use lanewise_observe::{CONTROL, FlowId, FlowSpec, LatencyOf, WorkloadEntry};
use std::collections::VecDeque;

/// Queues of an adapter's port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queues {
    /// Frames, descriptors and interrupts to memory, in order.
    pub(super) posted: DmaQueueId,
    /// Descriptors from memory.
    pub(super) descriptors: DmaQueueId,
}

/// The engine that reads frames to send, shared by the ports of an adapter.
#[derive(Clone, Debug)]
pub(super) struct TransmitEngine {
    pub(super) queue: DmaQueueId,
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

/// What an adapter tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Notice {
    /// An interrupt of this port is at the host.
    Interrupt {
        /// The port.
        port: usize,
    },
    /// The first bit of a frame leaves.
    Sent {
        /// The frame.
        frame: Frame,
    },
    /// A line has sent a frame and its gap.
    LineFree,
}

/// A register that a driver writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Register {
    /// So many frames are in the transmit ring.
    Doorbell(u32),
    /// So many receive descriptors are given back.
    Replenish(u32),
    /// Interrupts are allowed again.
    Enable,
    /// One that only costs its write.
    Other,
}

/// Adapters of one host.
#[derive(Debug)]
pub(crate) struct Adapters {
    pub(super) configs: Vec<NicConfig>,
    pub(super) ports: Vec<Port>,
    /// Adapter of each port, and each adapter's first port.
    pub(super) nic_of: Vec<usize>,
    pub(super) first_port: Vec<usize>,
    pub(super) queues: Vec<Queues>,
    pub(super) engines: Vec<TransmitEngine>,
    /// Frames that the engine reads for each port, and those it has read and still works on.
    pub(super) reading: Vec<VecDeque<Frame>>,
    pub(super) flows: Vec<NicFlows>,
    /// Buffers of each port, for receiving and for sending.
    pub(super) buffers: Vec<[Buffers; 2]>,
    pub(super) notices: VecDeque<Notice>,
}

impl Adapters {
    /// Adapters at rest.
    pub(crate) fn new(configs: Vec<NicConfig>) -> Self {
        let (mut nic_of, mut first_port, mut ports) = (Vec::new(), Vec::new(), Vec::new());
        for (index, nic) in configs.iter().enumerate() {
            first_port.push(ports.len());
            for _ in 0..nic.ports {
                nic_of.push(index);
                ports.push(Port::new(nic));
            }
        }
        let count = ports.len();
        Self {
            configs,
            ports,
            nic_of,
            first_port,
            queues: Vec::new(),
            engines: Vec::new(),
            reading: vec![VecDeque::new(); count],
            flows: Vec::new(),
            buffers: (0..count).map(|port| [Buffers::of(port); 2]).collect(),
            notices: VecDeque::new(),
        }
    }

    /// Opens queues and flows of every adapter, for a workload. Called once, at the start of the run; [`Self::prefetch`] comes next.
    pub(crate) fn begin<M: Needs + Tally>(&mut self, entry: WorkloadEntry, ports: &mut Ports<'_, M>) {
        for nic in &self.configs {
            let mut flow = |direction, latency| {
                let (name, devices) = (nic.name.clone(), nic.name.as_str().into());
                ports.add_flow(FlowSpec { name, entry, devices, direction, latency, repeats: true })
            };
            let receive = flow("write", LatencyOf::Request);
            let transmit = flow("read", LatencyOf::Request);
            let control = flow(CONTROL, LatencyOf::Request);
            self.flows.push(NicFlows { receive, transmit, control });
            for _ in 0..nic.ports {
                let posted = ports.open_queue(nic.device);
                let descriptors = ports.open_queue(nic.device);
                self.queues.push(Queues { posted, descriptors });
            }
            let queue = ports.open_queue(nic.device);
            self.engines.push(TransmitEngine { queue, busy: 0, turn: 0 });
        }
    }

    /// Every port fetches its first receive descriptors.
    pub(crate) fn prefetch<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        for port in 0..self.ports.len() {
            self.write_frames(port, ports);
        }
    }

    /// A port of an adapter, as ports are counted.
    ///
    /// # Panics
    /// When the adapter has no such port.
    pub(crate) fn port_of(&self, (nic, port): (usize, usize)) -> usize {
        let config = &self.configs[nic];
        assert!(port < config.ports as usize, "{}: no port {port}", config.name);
        self.first_port[nic] + port
    }

    /// How many ports there are.
    pub(crate) fn count(&self) -> usize {
        self.ports.len()
    }

    /// The adapter of a port.
    pub(crate) fn nic(&self, port: usize) -> &NicConfig {
        &self.configs[self.nic_of[port]]
    }

    /// The last bit of a frame is in at a port.
    pub(crate) fn take<M: Needs>(&mut self, port: usize, frame: Frame, ports: &mut Ports<'_, M>) -> Taken {
        let taken = self.ports[port].take(&self.configs[self.nic_of[port]], frame);
        if taken == Taken::Stored {
            self.write_frames(port, ports);
        }
        taken
    }

    /// The next frame of a port that the driver can take.
    pub(crate) fn receive(&mut self, port: usize) -> Option<Frame> {
        self.ports[port].receive()
    }

    /// Class of service of that frame.
    pub(crate) fn next_priority(&self, port: usize) -> Option<u8> {
        self.ports[port].next_priority()
    }

    /// The driver puts a frame into a port's transmit ring, in the order of priority if that counts. Returns the frame that is lost
    /// when the ring is full: this one, or one of a lower priority.
    pub(crate) fn post(&mut self, port: usize, frame: Frame, strict: bool) -> Posted {
        let nic = &self.configs[self.nic_of[port]];
        if self.ports[port].post(nic, frame) {
            if strict {
                self.ports[port].sort_newest();
            }
            return Posted::InRing;
        }
        Posted::Lost(if strict { self.ports[port].push_out(frame) } else { frame })
    }

    /// The driver writes a register of a port.
    pub(crate) fn write_register<M: Needs>(&self, port: usize, register: Register, ports: &mut Ports<'_, M>) {
        let token = match register {
            Register::Doorbell(frames) => token::with(Kind::Doorbell, port, frames),
            Register::Replenish(count) => token::with(Kind::Replenished, port, count),
            Register::Enable => token::of(Kind::Enabled, port),
            Register::Other => token::of(Kind::RegisterWritten, port),
        };
        ports.mmio_write(self.nic(port).device, self.nic(port).register, token);
    }

    /// What is told now: call after whatever else until there is nothing.
    pub(crate) fn poll(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// Takes an event.
    pub(crate) fn react<M: Needs>(&mut self, event: Event<Kind>, ports: &mut Ports<'_, M>) {
        let Token { kind, subject, detail } = event.token();
        let port = subject as usize;
        match kind {
            Kind::FrameWritten => self.ports[port].written(detail),
            Kind::ReceiveWrittenBack => self.ports[port].reported(detail, ports.now()),
            Kind::ReceiveFetched => {
                self.ports[port].fetched(detail);
                self.write_frames(port, ports);
            }
            Kind::Interrupt => self.notices.push_back(Notice::Interrupt { port }),
            Kind::Moderation => {
                self.ports[port].timer_set = false;
                self.consider_interrupt(port, ports);
            }
            Kind::Doorbell => {
                self.ports[port].announce(detail);
                self.fetch_transmit(port, ports);
            }
            Kind::TransmitFetched => {
                self.ports[port].fetched_transmit();
                self.run_engine(self.nic_of[port], ports);
            }
            Kind::FrameRead => self.frame_read(port, ports),
            Kind::FrameReady => self.frame_ready(port, ports),
            Kind::LineFree => self.line_free(port, detail, ports),
            Kind::TransmitWrittenBack => self.ports[port].reported_transmit(detail),
            Kind::Replenished => {
                self.ports[port].replenished(detail);
                self.write_frames(port, ports);
            }
            Kind::Enabled => {
                self.ports[port].enabled = true;
                self.consider_interrupt(port, ports);
            }
            Kind::RegisterWritten => {}
        }
    }
}

/// What became of a frame that the driver wants to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Posted {
    /// It is in the ring.
    InRing,
    /// There was no room: this frame is lost.
    Lost(Frame),
}
