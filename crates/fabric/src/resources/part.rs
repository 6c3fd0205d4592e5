//! Which resource one is: what it belongs to, and which part of that. Names are for people; whoever has to tell resources apart
//! asks this.

use super::ResourceKind;
use crate::workload::DeviceId;
use lanewise_cxl::message::{Class, Way};
use lanewise_pcie::tlp::FlowClass;

/// A resource of a run, unique in it as its name is.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ResourceId {
    /// What it belongs to.
    pub owner: ResourceOwner,
    /// Which part of that.
    pub part: Part,
}

/// What a resource belongs to.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ResourceOwner {
    /// A device of the fabric.
    Device(DeviceId),
    /// A drive behind an adapter.
    Drive {
        /// The adapter.
        adapter: DeviceId,
        /// Name of the drive in the scenario.
        name: String,
    },
    /// An operating system on a host, where that is a component of its own.
    System {
        /// The host.
        host: DeviceId,
        /// Name of the system in the scenario.
        name: String,
    },
    /// A switch of a network beyond adapters, by its name in the scenario.
    NetworkSwitch(String),
    /// A workload, by its name in the scenario.
    Load(String),
}

impl ResourceOwner {
    /// The device of the fabric that it is, that it is behind, or on which it runs.
    pub const fn device(&self) -> Option<DeviceId> {
        match self {
            Self::Device(device)
            | Self::Drive { adapter: device, .. }
            | Self::System { host: device, .. } => Some(*device),
            Self::NetworkSwitch(_) | Self::Load(_) => None,
        }
    }
}

/// A part of a component that several share.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Part {
    /// Of a host.
    Host(HostPart),
    /// Of a switch.
    Switch(SwitchPart),
    /// Of any endpoint.
    Endpoint(EndpointPart),
    /// Of the CXL.mem link above a device, or of the memory behind it.
    Cxl(CxlPart),
    /// Of an NVMe drive.
    Nvme(NvmePart),
    /// Of a storage adapter.
    StorageAdapter(StorageAdapterPart),
    /// The media of a drive behind a storage adapter.
    DiskMedia,
    /// Of an adapter for InfiniBand, RoCE or Ethernet.
    Rdma(RdmaPart),
    /// Of a switch of a network.
    NetworkSwitch(NetworkSwitchPart),
    /// Of the software of a workload.
    Load(LoadPart),
}

/// A part of a host.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "indexes of sockets, stacks, links and cores, counted from 0")]
pub enum HostPart {
    /// The memory of a socket.
    Memory { socket: u16 },
    /// Banks of that.
    Banks { socket: u16 },
    /// The last-level cache of a socket.
    Cache { socket: u16 },
    /// The way on which memory is read.
    Reads,
    /// The way on which it is written.
    Writes,
    /// The way on which a stack reads memory.
    StackReads { stack: u16 },
    /// The way on which a stack writes it.
    StackWrites { stack: u16 },
    /// Tracking entries of a stack.
    ReadTrackers { stack: u16 },
    /// What takes packets of a stack's own devices for those of other root ports.
    PeersIn { stack: u16 },
    /// What hands packets of those on to its own.
    PeersOut { stack: u16 },
    /// The queue that root ports share.
    OutboundQueue,
    /// What goes between two sockets to and from memory.
    SocketLink { from: u16, to: u16 },
    /// One of the links between two sockets, for packets from one root port to another.
    SocketLinkOfPeers { from: u16, to: u16, link: u16 },
    /// Turns of walkers.
    WalkTurns,
    /// Walkers of page tables.
    Walkers,
    /// The cache of translations.
    Translations,
    /// A core that runs drivers and jobs.
    Core { core: u32 },
    /// A core of an operating system that bridges, which has its cores to itself.
    BridgeCore { core: u32 },
}

/// A part of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "indexes of ports and buses, counted from 0, and classes")]
pub enum SwitchPart {
    /// An input of its crossbar.
    Input { port: u16 },
    /// A bus.
    Bus { bus: u16 },
    /// The memory that all packets pass.
    Memory,
    /// Room for packets of a class at an egress, behind the credits of the ports.
    Storage { port: u16, class: FlowClass },
    /// Request metering of a port.
    Metering { port: u16 },
}

/// A part of any endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum EndpointPart {
    /// What drains posted writes that arrive.
    WriteDrain,
    /// Its memory, as others read it.
    Memory,
    /// The data path of its DMA engines for what they read.
    ReadPath,
    /// The same for what they write.
    WritePath,
    /// Its cache of translations.
    Translations,
    /// Translation requests that are out.
    TranslationRequests,
    /// The link to other devices beside PCI Express, out of it.
    SideLinkOut,
    /// The same, into it.
    SideLinkIn,
}

/// A part of a CXL.mem link, or of the memory behind it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum CxlPart {
    /// A way of the link.
    Wire(Way),
    /// Credits for messages of a class that go a way.
    Credits(Way, Class),
    /// Flits of a way that are kept until they are acknowledged.
    RetryBuffer(Way),
    /// What the controller of the memory reads.
    Reads,
    /// What it writes.
    Writes,
    /// The memory.
    Memory,
    /// Banks of that.
    Banks,
}

/// A part of an NVMe drive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum NvmePart {
    /// Dies of flash.
    Media,
    /// The processor for commands.
    Controller,
    /// The path from the media.
    ReadPath,
    /// The path to them.
    WritePath,
    /// Commands that it fetches at a time.
    Fetch,
}

/// A part of a storage adapter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "ports are counted from 0")]
pub enum StorageAdapterPart {
    /// Its processor.
    Processor,
    /// Its path for what is read.
    ReadPath,
    /// Its path for what is written.
    WritePath,
    /// The path that both share.
    SharedPath,
    /// Room for what is read, between the wires and DMA.
    ReadBuffer,
    /// Room for what is written, between DMA and the wires.
    WriteBuffer,
    /// The wire from the drives at a port.
    WireIn { port: u32 },
    /// The wire to them.
    WireOut { port: u32 },
}

/// A part of an adapter for InfiniBand, RoCE or Ethernet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "ports are counted from 0")]
pub enum RdmaPart {
    /// What makes messages.
    Pipeline,
    /// What takes those that come in.
    ReceivePipeline,
    /// What it keeps for each queue pair.
    QueuePairs,
    /// Reads that are under way.
    OutstandingReads,
    /// The data path that all ports share.
    SharedPath,
    /// The data path to a port's wire.
    SendPath { port: u32 },
    /// The data path from it.
    ReceivePath { port: u32 },
    /// The wire out of a port.
    Wire { port: u32 },
    /// Payload on its way to the wire.
    SendBuffer { port: u32 },
    /// Payload from the wire.
    ReceiveBuffer { port: u32 },
}

/// A part of a switch of a network.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "ports are counted from 0")]
pub enum NetworkSwitchPart {
    /// The wire out of a port.
    Wire { port: u32 },
    /// The buffer of what comes in by a port.
    Buffer { port: u32 },
}

/// A part of the software of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "nodes are counted from 0")]
pub enum LoadPart {
    /// The core that stores to registers.
    Stores,
    /// Write-combining buffers of that core.
    CombiningBuffers,
    /// Lines that its cores have in flight.
    Lines,
    /// What software does for its copies.
    Copies,
    /// An engine between copies that are queued.
    QueuedCopies,
    /// The thread of a node that posts what goes over a network.
    Proxy { node: u32 },
    /// The thread at the end of a tool that begins.
    FirstThread,
    /// The thread at its other end.
    SecondThread,
}

/// Which traffic of a host meets a part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meets {
    /// All of it.
    All,
    /// That of the root ports of a stack.
    Stack(u16),
    /// That of devices whose buffers are in the memory of a socket.
    Socket(u16),
    /// That which goes from one socket to another.
    Between(u16, u16),
}

impl Part {
    /// What kind of thing it is.
    pub const fn kind(self) -> ResourceKind {
        match self {
            Self::Host(part) => part.kind(),
            Self::Switch(part) => match part {
                SwitchPart::Input { .. } => ResourceKind::SwitchCore,
                SwitchPart::Bus { .. } => ResourceKind::SwitchBus,
                SwitchPart::Memory => ResourceKind::SwitchMemory,
                SwitchPart::Storage { .. } => ResourceKind::SwitchStorage,
                SwitchPart::Metering { .. } => ResourceKind::RequestMetering,
            },
            Self::Endpoint(part) => match part {
                EndpointPart::WriteDrain => ResourceKind::EndpointDrain,
                EndpointPart::Memory => ResourceKind::EndpointMemory,
                EndpointPart::ReadPath | EndpointPart::WritePath => ResourceKind::Pipeline,
                EndpointPart::Translations => ResourceKind::DeviceTranslationCache,
                EndpointPart::TranslationRequests => ResourceKind::TranslationRequests,
                EndpointPart::SideLinkOut | EndpointPart::SideLinkIn => ResourceKind::SideLink,
            },
            Self::Cxl(part) => match part {
                CxlPart::Wire(_) => ResourceKind::CxlWire,
                CxlPart::Credits(..) => ResourceKind::CxlCredits,
                CxlPart::RetryBuffer(_) => ResourceKind::CxlRetryBuffer,
                CxlPart::Reads | CxlPart::Writes => ResourceKind::Pipeline,
                CxlPart::Memory => ResourceKind::EndpointMemory,
                CxlPart::Banks => ResourceKind::Banks,
            },
            Self::Nvme(part) => match part {
                NvmePart::Media => ResourceKind::Media,
                NvmePart::Controller | NvmePart::ReadPath | NvmePart::WritePath => ResourceKind::Pipeline,
                NvmePart::Fetch => ResourceKind::CommandFetch,
            },
            Self::StorageAdapter(part) => match part {
                StorageAdapterPart::Processor
                | StorageAdapterPart::ReadPath
                | StorageAdapterPart::WritePath
                | StorageAdapterPart::SharedPath => ResourceKind::Pipeline,
                StorageAdapterPart::ReadBuffer | StorageAdapterPart::WriteBuffer => {
                    ResourceKind::AdapterBuffer
                }
                StorageAdapterPart::WireIn { .. } | StorageAdapterPart::WireOut { .. } => ResourceKind::Wire,
            },
            Self::DiskMedia => ResourceKind::Media,
            Self::Rdma(part) => match part {
                RdmaPart::OutstandingReads => ResourceKind::OutstandingReads,
                RdmaPart::Wire { .. } => ResourceKind::Wire,
                RdmaPart::SendBuffer { .. } | RdmaPart::ReceiveBuffer { .. } => ResourceKind::AdapterBuffer,
                RdmaPart::Pipeline
                | RdmaPart::ReceivePipeline
                | RdmaPart::QueuePairs
                | RdmaPart::SharedPath
                | RdmaPart::SendPath { .. }
                | RdmaPart::ReceivePath { .. } => ResourceKind::Pipeline,
            },
            Self::NetworkSwitch(part) => match part {
                NetworkSwitchPart::Wire { .. } => ResourceKind::Wire,
                NetworkSwitchPart::Buffer { .. } => ResourceKind::NetworkBuffer,
            },
            Self::Load(part) => match part {
                LoadPart::CombiningBuffers | LoadPart::Lines => ResourceKind::LineBuffers,
                LoadPart::QueuedCopies => ResourceKind::Pipeline,
                LoadPart::Stores
                | LoadPart::Copies
                | LoadPart::Proxy { .. }
                | LoadPart::FirstThread
                | LoadPart::SecondThread => ResourceKind::Core,
            },
        }
    }
}

impl HostPart {
    const fn kind(self) -> ResourceKind {
        match self {
            Self::Memory { .. } => ResourceKind::Memory,
            Self::Banks { .. } => ResourceKind::Banks,
            Self::Cache { .. } => ResourceKind::Cache,
            Self::Reads | Self::StackReads { .. } => ResourceKind::MemoryReads,
            Self::Writes | Self::StackWrites { .. } => ResourceKind::MemoryWrites,
            Self::ReadTrackers { .. } => ResourceKind::ReadTrackers,
            Self::PeersIn { .. } | Self::PeersOut { .. } => ResourceKind::PeerPath,
            Self::OutboundQueue => ResourceKind::OutboundQueue,
            Self::SocketLink { .. } | Self::SocketLinkOfPeers { .. } => ResourceKind::SocketLink,
            Self::WalkTurns => ResourceKind::WalkTurns,
            Self::Walkers => ResourceKind::Walkers,
            Self::Translations => ResourceKind::TranslationCache,
            Self::Core { .. } | Self::BridgeCore { .. } => ResourceKind::Core,
        }
    }

    /// Which traffic of the host meets it.
    pub const fn meets(self) -> Meets {
        match self {
            Self::Memory { socket } | Self::Banks { socket } | Self::Cache { socket } => {
                Meets::Socket(socket)
            }
            Self::StackReads { stack }
            | Self::StackWrites { stack }
            | Self::ReadTrackers { stack }
            | Self::PeersIn { stack }
            | Self::PeersOut { stack } => Meets::Stack(stack),
            Self::SocketLink { from, to } | Self::SocketLinkOfPeers { from, to, .. } => {
                Meets::Between(from, to)
            }
            Self::Reads
            | Self::Writes
            | Self::OutboundQueue
            | Self::WalkTurns
            | Self::Walkers
            | Self::Translations
            | Self::Core { .. }
            | Self::BridgeCore { .. } => Meets::All,
        }
    }
}

impl ResourceId {
    /// Of a device of the fabric.
    pub fn of(device: DeviceId, part: impl Into<Part>) -> Self {
        Self { owner: ResourceOwner::Device(device), part: part.into() }
    }

    /// Of a workload of this name.
    pub fn of_load(name: &str, part: LoadPart) -> Self {
        Self { owner: ResourceOwner::Load(name.to_owned()), part: Part::Load(part) }
    }

    /// What kind of thing it is.
    pub const fn kind(&self) -> ResourceKind {
        self.part.kind()
    }
}

macro_rules! parts {
    ($($of:ident($part:ident)),*) => {
        $(impl From<$part> for Part {
            fn from(part: $part) -> Self {
                Self::$of(part)
            }
        })*
    };
}
parts!(
    Host(HostPart),
    Switch(SwitchPart),
    Endpoint(EndpointPart),
    Cxl(CxlPart),
    Nvme(NvmePart),
    StorageAdapter(StorageAdapterPart),
    Rdma(RdmaPart),
    NetworkSwitch(NetworkSwitchPart)
);
