//! What can be the limit of a run, and what it is called.

use lanewise_fabric::config::{DeviceKind, EndpointConfig, FabricConfig, LinkConfig};
use lanewise_fabric::{ResourceId, ResourceKind};
use lanewise_pcie::ack_nak::SequenceSpace;
use lanewise_pcie::flit::FLIT_BYTES;
use lanewise_pcie::tlp::{FlowClass, Tlp};

/// Something whose size decides what a run reaches. Links and devices by their index in the fabric's configuration.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Candidate {
    /// One direction of a link.
    Wire {
        /// The link.
        link: usize,
        /// From its lower to its upper port.
        upstream: bool,
    },
    /// Credits of one class that the receiver of a link direction gives.
    Credits {
        /// The link.
        link: usize,
        /// From its lower to its upper port.
        upstream: bool,
        /// Posted, non-posted or completion.
        class: FlowClass,
    },
    /// The retry buffer of the transmitter of a link direction.
    RetryBuffer {
        /// The link.
        link: usize,
        /// From its lower to its upper port.
        upstream: bool,
    },
    /// How many flits or TLPs the transmitter of a link direction may have unacknowledged, whatever its retry buffer holds: a number of the
    /// specification, so that less time until an Ack is back is what makes more of it.
    SequenceWindow {
        /// The link.
        link: usize,
        /// From its lower to its upper port.
        upstream: bool,
    },
    /// The replay timer of the transmitter of a link direction without bit errors: it sends again what has arrived.
    ReplayTimer {
        /// The link.
        link: usize,
        /// From its lower to its upper port.
        upstream: bool,
    },
    /// Bit errors on a link direction: it is down after them, or sends again.
    Errors {
        /// The link.
        link: usize,
        /// From its lower to its upper port.
        upstream: bool,
    },
    /// The time that a link takes to wake from L0s or L1, in which nothing goes over it.
    WakeUp {
        /// The link.
        link: usize,
    },
    /// Tags of a requester.
    Tags {
        /// The endpoint.
        device: usize,
    },
    /// How much a device is asked for at a time.
    Window {
        /// The endpoint.
        device: usize,
    },
    /// The smallest time between two requests of a device.
    RequestInterval {
        /// The endpoint.
        device: usize,
    },
    /// The silence that a device leaves after each TLP.
    TlpGap {
        /// The endpoint.
        device: usize,
    },
    /// Latency of a host's memory.
    MemoryLatency {
        /// The root complex.
        device: usize,
    },
    /// Latency of a switch.
    SwitchLatency {
        /// The switch.
        device: usize,
    },
    /// A shared resource.
    Resource {
        /// Which one.
        id: ResourceId,
        /// Its name in the results.
        name: String,
    },
    /// The wire on the far side of an adapter.
    Beyond {
        /// The adapter's endpoint.
        device: usize,
    },
    /// What the workload asks for: it asks for nothing most of the time.
    Demand {
        /// The endpoint.
        device: usize,
    },
}

/// Name of a direction in results.
pub(crate) const fn direction(upstream: bool) -> &'static str {
    if upstream { "upstream" } else { "downstream" }
}

const fn class_words(class: FlowClass) -> &'static str {
    match class {
        FlowClass::Posted => "posted",
        FlowClass::NonPosted => "non-posted",
        FlowClass::Completion => "completion",
    }
}

impl Candidate {
    /// Kind in results: that of a resource, or `wire`, `credits`, `retry_buffer`, `sequence_window`, `replay_timer`, `errors`, `wake_up`, `tags`,
    /// `window`, `request_interval`, `tlp_gap`, `memory_latency`, `switch_latency`, `wire_beyond`, `demand`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Wire { .. } => "wire",
            Self::Credits { .. } => "credits",
            Self::RetryBuffer { .. } => "retry_buffer",
            Self::SequenceWindow { .. } => "sequence_window",
            Self::ReplayTimer { .. } => "replay_timer",
            Self::Errors { .. } => "errors",
            Self::WakeUp { .. } => "wake_up",
            Self::Tags { .. } => "tags",
            Self::Window { .. } => "window",
            Self::RequestInterval { .. } => "request_interval",
            Self::TlpGap { .. } => "tlp_gap",
            Self::MemoryLatency { .. } => "memory_latency",
            Self::SwitchLatency { .. } => "switch_latency",
            Self::Beyond { .. } => "wire_beyond",
            Self::Resource { id, .. } => match id.kind() {
                ResourceKind::Wire => "wire_beyond", // It is not a link.
                kind => kind.name(),
            },
            Self::Demand { .. } => "demand",
        }
    }

    /// What kind of resource it is; none of anything else.
    pub(crate) fn resource_kind(&self) -> Option<ResourceKind> {
        match self {
            Self::Resource { id, .. } => Some(id.kind()),
            _ => None,
        }
    }

    /// Unique name: `card.upstream` for a wire, `server.slot1.posted_credits`, `card.tags`, `server.memory`.
    pub fn name(&self, fabric: &FabricConfig) -> String {
        let device = |index: usize| &fabric.devices[index].name;
        match self {
            Self::Wire { link, upstream } => {
                format!("{}.{}", device(fabric.links[*link].lower.0), direction(*upstream))
            }
            Self::Credits { link, upstream, class } => {
                let receiver = ends(fabric, *link, *upstream).1;
                format!("{}.{}_credits", fabric.port_path(receiver), class_words(*class).replace('-', "_"))
            }
            Self::RetryBuffer { link, upstream } => {
                format!("{}.retry_buffer", fabric.port_path(ends(fabric, *link, *upstream).0))
            }
            Self::SequenceWindow { link, upstream } => {
                format!("{}.sequence_window", fabric.port_path(ends(fabric, *link, *upstream).0))
            }
            Self::ReplayTimer { link, upstream } => {
                format!("{}.replay_timer", fabric.port_path(ends(fabric, *link, *upstream).0))
            }
            Self::Errors { link, upstream } => {
                format!("{}.errors_{}", device(fabric.links[*link].lower.0), direction(*upstream))
            }
            Self::WakeUp { link } => format!("{}.wake_up", device(fabric.links[*link].lower.0)),
            Self::Tags { device: at } => format!("{}.tags", device(*at)),
            Self::Window { device: at } => format!("{}.window", device(*at)),
            Self::RequestInterval { device: at } => format!("{}.request_interval", device(*at)),
            Self::TlpGap { device: at } => format!("{}.tlp_gap", device(*at)),
            Self::MemoryLatency { device: at } => format!("{}.memory_latency", device(*at)),
            Self::SwitchLatency { device: at } => format!("{}.latency", device(*at)),
            Self::Resource { name, .. } => name.clone(),
            Self::Beyond { device: at } => format!("{}.wire_beyond", device(*at)),
            Self::Demand { device: at } => format!("{}.demand", device(*at)),
        }
    }

    /// What it is, as in *Limited by …*. `limit` is how much there is of a resource.
    pub fn words(&self, fabric: &FabricConfig, limit: &str) -> String {
        let name = self.name(fabric);
        match self {
            Self::Wire { link, upstream } => {
                let mode = fabric.links[*link].mode;
                let lower = &fabric.devices[fabric.links[*link].lower.0].name;
                let way = direction(*upstream);
                format!("the wire above {lower}, {way} ({} {})", mode.generation, mode.width)
            }
            Self::Credits { link, upstream, class } => {
                let receiver = fabric.port_path(ends(fabric, *link, *upstream).1);
                format!("{} credits of {receiver}", class_words(*class))
            }
            Self::RetryBuffer { link, upstream } => {
                format!("the retry buffer of {}", fabric.port_path(ends(fabric, *link, *upstream).0))
            }
            Self::SequenceWindow { link, upstream } => {
                let flit = fabric.links[*link].mode.flit;
                let (most, what) = (sequence_space(flit).window(), if flit { "flits" } else { "TLPs" });
                let port = fabric.port_path(ends(fabric, *link, *upstream).0);
                format!("the {most} {what} that {port} may have unacknowledged")
            }
            Self::ReplayTimer { link, upstream } => {
                format!("the replay timer of {}", fabric.port_path(ends(fabric, *link, *upstream).0))
            }
            Self::Errors { link, upstream } => {
                let lower = &fabric.devices[fabric.links[*link].lower.0].name;
                format!("bit errors on the wire above {lower}, {}", direction(*upstream))
            }
            Self::WakeUp { link } => {
                let LinkConfig { lower, power, .. } = &fabric.links[*link];
                let states = [("L0s", power.l0s), ("L1", power.l1)];
                let exits = states
                    .iter()
                    .filter_map(|(name, state)| Some(format!("{name} {}", state.as_ref()?.exit)));
                let exits = exits.collect::<Vec<_>>().join(", ");
                format!("the wake-up of the link above {} ({exits})", fabric.devices[lower.0].name)
            }
            Self::Tags { device } => match &fabric.devices[*device].kind {
                DeviceKind::Endpoint(endpoint) => {
                    let name = &fabric.devices[*device].name;
                    match tags(endpoint) {
                        (own, true) => format!("the {own} tags of each function of {name}"),
                        (all, false) => format!("the {all} tags of {name}"),
                    }
                }
                DeviceKind::RootComplex(_) | DeviceKind::Switch(_) => name,
            },
            Self::Window { device } => {
                format!("what is outstanding at {}", fabric.devices[*device].name)
            }
            Self::RequestInterval { device } => {
                format!("the rate of requests of {}", fabric.devices[*device].name)
            }
            Self::TlpGap { device } => {
                format!("the silence that {} leaves after each TLP", fabric.devices[*device].name)
            }
            Self::MemoryLatency { device } => {
                format!("the latency of {}'s memory", fabric.devices[*device].name)
            }
            Self::SwitchLatency { device } => {
                format!("the latency of {}", fabric.devices[*device].name)
            }
            Self::Resource { id, .. } => format!("{} ({name}, {limit})", id.kind().words()),
            Self::Beyond { device } => {
                format!("the wire beyond {}", fabric.devices[*device].name)
            }
            Self::Demand { device } => {
                format!("what is asked of {}", fabric.devices[*device].name)
            }
        }
    }
}

/// Tags of an endpoint: of each function, which is the second, or of all.
pub(crate) fn tags(endpoint: &EndpointConfig) -> (u32, bool) {
    let own = endpoint.dma.functions.as_ref().and_then(|functions| functions.own_tags);
    own.map_or((endpoint.tags, false), |own| (u32::from(own), true))
}

/// Transmitting and receiving port of a link direction: device and port.
pub(crate) fn ends(fabric: &FabricConfig, link: usize, upstream: bool) -> ((usize, usize), (usize, usize)) {
    let link = &fabric.links[link];
    if upstream { (link.lower, link.upper) } else { (link.upper, link.lower) }
}

/// What limits what the transmitter of a link direction keeps: its retry buffer, or the window of sequence numbers where the buffer has room for
/// all of that.
pub(crate) fn kept(fabric: &FabricConfig, link: usize, upstream: bool) -> Candidate {
    let flit = fabric.links[link].mode.flit;
    let (device, port) = ends(fabric, link, upstream).0;
    let config = &fabric.devices[device].ports[port];
    // In flits everything is of one size. A TLP may be smaller than the largest, so that the window may also be full before the buffer is.
    let largest =
        if flit { FLIT_BYTES } else { Tlp::memory_write(1 << 32, config.mps).wire_bytes_non_flit() };
    if config.retry_buffer.get() >= largest.get() * u64::from(sequence_space(flit).window()) {
        Candidate::SequenceWindow { link, upstream }
    } else {
        Candidate::RetryBuffer { link, upstream }
    }
}

fn sequence_space(flit: bool) -> SequenceSpace {
    if flit { SequenceSpace::Flit } else { SequenceSpace::NonFlit }
}
