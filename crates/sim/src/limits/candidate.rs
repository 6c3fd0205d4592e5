//! What can be the limit of a run, where it is, and what it is called.

use lanewise_fabric::config::{DeviceKind, EndpointConfig, FabricConfig, LinkConfig, PortConfig};
use lanewise_fabric::{ResourceId, ResourceKind, ResourceOwner};
use lanewise_pcie::ack_nak::SequenceSpace;
use lanewise_pcie::flit::FLIT_BYTES;
use lanewise_pcie::tlp::{FlowClass, Tlp};
use schemars::JsonSchema;
use serde::Serialize;

/// Something whose size decides what a run reaches, by the place that it is at. Links and devices by their index in the fabric's
/// configuration.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Candidate {
    /// Of one direction of a link.
    Direction(LinkDirection, OfDirection),
    /// The time that a link takes to wake from L0s or L1, in which nothing goes over it.
    WakeUp {
        /// The link.
        link: usize,
    },
    /// Of a device.
    Device(usize, OfDevice),
    /// A shared resource.
    Resource {
        /// Which one.
        id: ResourceId,
        /// Its name in the results.
        name: String,
    },
}

/// What can be the limit in one direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum OfDirection {
    /// The wire.
    Wire,
    /// Credits of one class that the receiver gives.
    Credits(FlowClass),
    /// The retry buffer of the transmitter.
    RetryBuffer,
    /// How many flits or TLPs the transmitter may have unacknowledged, whatever its retry buffer holds: a number of the specification,
    /// so that less time until an Ack is back is what makes more of it.
    SequenceWindow,
    /// The replay timer of the transmitter, without bit errors: it sends again what has arrived.
    ReplayTimer,
    /// Bit errors: the link is down after them, or sends again.
    Errors,
}

/// What can be the limit in a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum OfDevice {
    /// Tags of a requester.
    Tags,
    /// How much an endpoint is asked for at a time.
    Window,
    /// The smallest time between two requests of an endpoint.
    RequestInterval,
    /// The silence that an endpoint leaves after each TLP.
    TlpGap,
    /// Latency of a host's memory.
    MemoryLatency,
    /// Latency of a switch.
    SwitchLatency,
    /// Latency of an adapter: what it takes for a message beside what others wait for.
    AdapterLatency,
    /// The wire on the far side of an adapter.
    Beyond,
    /// What the workload asks of an endpoint: it asks for nothing most of the time.
    Demand,
}

/// A direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LinkDirection {
    /// The link.
    pub(crate) link: usize,
    /// From its lower to its upper port.
    pub(crate) upstream: bool,
}

/// Where a limit is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct LimitPlace {
    /// The component that has it, by its name in the scenario: a device, a host, a switch, an operating system, a switch of a network, or
    /// a workload. Of what is at a link, the device below that; of a drive behind an adapter, the adapter.
    pub component: String,
    /// Of what is at one direction of a link, that: `upstream` or `downstream`.
    pub direction: Option<&'static str>,
}

impl LinkDirection {
    /// Name in results.
    pub(crate) const fn name(self) -> &'static str {
        if self.upstream { "upstream" } else { "downstream" }
    }

    /// The port that sends: device and port.
    pub(crate) fn transmitter(self, fabric: &FabricConfig) -> (usize, usize) {
        let link = &fabric.links[self.link];
        if self.upstream { link.lower } else { link.upper }
    }

    /// The port that receives.
    pub(crate) fn receiver(self, fabric: &FabricConfig) -> (usize, usize) {
        Self { upstream: !self.upstream, ..self }.transmitter(fabric)
    }

    /// The port whose buffer or timer is the limit.
    pub(crate) fn port(self, fabric: &FabricConfig, what: OfDirection) -> (usize, usize) {
        match what {
            OfDirection::Credits(_) => self.receiver(fabric),
            _ => self.transmitter(fabric),
        }
    }

    /// What limits what its transmitter keeps: its retry buffer, or the window of sequence numbers where the buffer has room for all of
    /// that.
    pub(crate) fn kept(self, fabric: &FabricConfig) -> OfDirection {
        let flit = fabric.links[self.link].mode.flit;
        let (device, port) = self.transmitter(fabric);
        let PortConfig { mps, retry_buffer, .. } = &fabric.devices[device].ports[port];
        // In flits everything is of one size. A TLP may be smaller than the largest, so that the window may also be full before the buffer is.
        let largest = if flit { FLIT_BYTES } else { Tlp::memory_write(1 << 32, *mps).wire_bytes_non_flit() };
        if retry_buffer.get() >= largest.get() * u64::from(sequence_space(flit).window()) {
            OfDirection::SequenceWindow
        } else {
            OfDirection::RetryBuffer
        }
    }
}

impl OfDirection {
    const fn kind(self) -> &'static str {
        match self {
            Self::Wire => "wire",
            Self::Credits(_) => "credits",
            Self::RetryBuffer => "retry_buffer",
            Self::SequenceWindow => "sequence_window",
            Self::ReplayTimer => "replay_timer",
            Self::Errors => "errors",
        }
    }

    fn name(self, fabric: &FabricConfig, at: LinkDirection) -> String {
        let (lower, way) = (lower(fabric, at.link), at.name());
        let port = || fabric.port_path(at.port(fabric, self));
        match self {
            Self::Wire => format!("{lower}.{way}"),
            Self::Errors => format!("{lower}.errors_{way}"),
            Self::Credits(class) => format!("{}.{}_credits", port(), key(class)),
            Self::RetryBuffer | Self::SequenceWindow | Self::ReplayTimer => {
                format!("{}.{}", port(), self.kind())
            }
        }
    }

    fn words(self, fabric: &FabricConfig, at: LinkDirection) -> String {
        let (lower, mode, way) = (lower(fabric, at.link), fabric.links[at.link].mode, at.name());
        let port = fabric.port_path(at.port(fabric, self));
        match self {
            Self::Wire => format!("the wire above {lower}, {way} ({} {})", mode.generation, mode.width),
            Self::Errors => format!("bit errors on the wire above {lower}, {way}"),
            Self::Credits(class) => format!("{class} credits of {port}"),
            Self::RetryBuffer => format!("the retry buffer of {port}"),
            Self::ReplayTimer => format!("the replay timer of {port}"),
            Self::SequenceWindow => {
                let (most, what) =
                    (sequence_space(mode.flit).window(), if mode.flit { "flits" } else { "TLPs" });
                format!("the {most} {what} that {port} may have unacknowledged")
            }
        }
    }

    /// How large it is, beside which others are alike.
    fn size(self, fabric: &FabricConfig, at: LinkDirection) -> String {
        let mode = fabric.links[at.link].mode;
        match self {
            Self::Wire => format!("{} {} {}", mode.generation, mode.width, at.name()),
            Self::Credits(class) => format!("{class} {}", at.name()),
            Self::Errors => at.name().to_owned(),
            Self::RetryBuffer | Self::SequenceWindow | Self::ReplayTimer => String::new(),
        }
    }
}

impl OfDevice {
    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Self::Tags => "tags",
            Self::Window => "window",
            Self::RequestInterval => "request_interval",
            Self::TlpGap => "tlp_gap",
            Self::MemoryLatency => "memory_latency",
            Self::SwitchLatency => "switch_latency",
            Self::AdapterLatency => "adapter_latency",
            Self::Beyond => "wire_beyond",
            Self::Demand => "demand",
        }
    }

    fn words(self, fabric: &FabricConfig, device: usize) -> String {
        let name = &fabric.devices[device].name;
        match self {
            Self::Tags => match tags(fabric, device) {
                Some((own, true)) => format!("the {own} tags of each function of {name}"),
                Some((all, false)) => format!("the {all} tags of {name}"),
                None => format!("the tags of {name}"),
            },
            Self::Window => format!("what is outstanding at {name}"),
            Self::RequestInterval => format!("the rate of requests of {name}"),
            Self::TlpGap => format!("the gap that {name} leaves after each TLP"),
            Self::MemoryLatency => format!("the latency of {name}'s memory"),
            Self::SwitchLatency | Self::AdapterLatency => format!("the latency of {name}"),
            Self::Beyond => format!("the wire beyond {name}"),
            Self::Demand => format!("what is asked of {name}"),
        }
    }
}

impl Candidate {
    /// One direction of a wire.
    pub(crate) const fn wire(link: usize, upstream: bool) -> Self {
        Self::Direction(LinkDirection { link, upstream }, OfDirection::Wire)
    }

    /// The direction of a link that it is of.
    pub(crate) const fn direction(&self) -> Option<LinkDirection> {
        match self {
            Self::Direction(at, _) => Some(*at),
            _ => None,
        }
    }

    /// Kind in results, as [`super::LimitedBy::kind`] lists them.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Direction(_, what) => what.kind(),
            Self::WakeUp { .. } => "wake_up",
            Self::Device(_, what) => what.kind(),
            Self::Resource { id, .. } => match id.kind() {
                ResourceKind::Wire => "wire_beyond", // It is not a link.
                kind => kind.name(),
            },
        }
    }

    /// What kind of resource it is; none of anything else.
    pub(crate) fn resource_kind(&self) -> Option<ResourceKind> {
        match self {
            Self::Resource { id, .. } => Some(id.kind()),
            _ => None,
        }
    }

    /// Whose credits it is; none of anything else.
    pub(crate) fn flow_class(&self) -> Option<&'static str> {
        match self {
            Self::Direction(_, OfDirection::Credits(class)) => Some(key(*class)),
            _ => None,
        }
    }

    /// The device that it is of; none where it is at a link, or a resource.
    pub(crate) fn device(&self) -> Option<usize> {
        match self {
            Self::Device(device, _) => Some(*device),
            _ => None,
        }
    }

    /// The link that it is at; none of anything else.
    pub(crate) fn link(&self) -> Option<usize> {
        match self {
            Self::Direction(LinkDirection { link, .. }, _) | Self::WakeUp { link } => Some(*link),
            Self::Device(..) | Self::Resource { .. } => None,
        }
    }

    /// Unique name: `card.upstream` for a wire, `server.slot1.posted_credits`, `card.tags`, `server.memory`.
    pub(crate) fn name(&self, fabric: &FabricConfig) -> String {
        match self {
            Self::Direction(at, what) => what.name(fabric, *at),
            Self::WakeUp { link } => format!("{}.wake_up", lower(fabric, *link)),
            Self::Device(device, OfDevice::SwitchLatency | OfDevice::AdapterLatency) => {
                format!("{}.latency", fabric.devices[*device].name)
            }
            Self::Device(device, what) => format!("{}.{}", fabric.devices[*device].name, what.kind()),
            Self::Resource { name, .. } => name.clone(),
        }
    }

    /// Where it is.
    pub(crate) fn place(&self, fabric: &FabricConfig) -> LimitPlace {
        let component = match self {
            Self::Direction(LinkDirection { link, .. }, _) | Self::WakeUp { link } => lower(fabric, *link),
            Self::Device(device, _) => &fabric.devices[*device].name,
            Self::Resource { id, .. } => match &id.owner {
                ResourceOwner::Drive { adapter, .. } => &fabric.devices[adapter.0 as usize].name,
                _ => owner(fabric, id),
            },
        };
        let direction = match self {
            Self::Direction(at, _) => Some(at.name()),
            _ => None,
        };
        LimitPlace { component: component.to_owned(), direction }
    }

    /// What it is, as in *Limited by …*. `limit` is how much there is of a resource.
    pub(crate) fn words(&self, fabric: &FabricConfig, limit: &str) -> String {
        match self {
            Self::Direction(at, what) => what.words(fabric, *at),
            Self::WakeUp { link } => {
                let LinkConfig { power, .. } = &fabric.links[*link];
                let l1 = if power.l1.is_some_and(|l1| l1.is_l1_2()) { "L1.2" } else { "L1" };
                let states = [("L0s", power.l0s), (l1, power.l1)];
                let exits = states
                    .iter()
                    .filter_map(|(name, state)| Some(format!("{name} {}", state.as_ref()?.exit)));
                let exits = exits.collect::<Vec<_>>().join(", ");
                format!("the wake-up of the link above {} ({exits})", lower(fabric, *link))
            }
            Self::Device(device, what) => what.words(fabric, *device),
            Self::Resource { id, name } => format!("{} ({name}, {limit})", id.kind().words()),
        }
    }

    /// How large it is, beside which others of its kind are alike. `limit` is how much there is of a resource.
    pub(crate) fn size(&self, fabric: &FabricConfig, limit: &str) -> String {
        match self {
            Self::Direction(at, what) => what.size(fabric, *at),
            Self::WakeUp { link } => format!("{:?}", fabric.links[*link].power),
            Self::Device(device, OfDevice::Tags) => {
                tags(fabric, *device).map_or(String::new(), |(number, _)| number.to_string())
            }
            Self::Device(..) => String::new(),
            Self::Resource { .. } => limit.to_owned(),
        }
    }
}

/// The name in the scenario of what a resource belongs to.
pub(crate) fn owner<'a>(fabric: &'a FabricConfig, id: &'a ResourceId) -> &'a str {
    match &id.owner {
        ResourceOwner::Device(device) => &fabric.devices[device.0 as usize].name,
        ResourceOwner::Drive { name, .. }
        | ResourceOwner::System { name, .. }
        | ResourceOwner::NetworkSwitch(name)
        | ResourceOwner::Load(name) => name,
    }
}

/// The device below a link, after which the link is called.
fn lower(fabric: &FabricConfig, link: usize) -> &str {
    &fabric.devices[fabric.links[link].lower.0].name
}

/// A class in names and keys.
pub(crate) const fn key(class: FlowClass) -> &'static str {
    match class {
        FlowClass::Posted => "posted",
        FlowClass::NonPosted => "non_posted",
        FlowClass::Completion => "completion",
    }
}

/// Tags of an endpoint: of each function, which is the second, or of all. None of anything else.
fn tags(fabric: &FabricConfig, device: usize) -> Option<(u32, bool)> {
    let DeviceKind::Endpoint(EndpointConfig { tags, dma, .. }) = &fabric.devices[device].kind else {
        return None;
    };
    let own = dma.functions.as_ref().and_then(|functions| functions.own_tags);
    Some(own.map_or((*tags, false), |own| (u32::from(own), true)))
}

fn sequence_space(flit: bool) -> SequenceSpace {
    if flit { SequenceSpace::Flit } else { SequenceSpace::NonFlit }
}
