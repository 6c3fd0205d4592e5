//! Every shared resource of a fabric, with its book: what it is called, how much there is of it, how busy it was, how long
//! others waited for it.
//!
//! One function for each kind of device lists what that device has. To show a resource more, keep a [`Book`] where it
//! serves, and name it here. What a workload has of its own (cores, drives, pipelines of adapters), it lists itself, in
//! [`crate::workload::Workload::resources`].

mod part;

pub use part::{
    CxlPart, EndpointPart, HostPart, LoadPart, Meets, NetworkSwitchPart, NvmePart, Part, RdmaPart,
    ResourceId, ResourceOwner, StorageAdapterPart, SwitchPart,
};

use crate::config::{PortNames, SwitchCore};
use crate::endpoint::Endpoint;
use crate::fabric::Fabric;
use crate::port::Owner;
use crate::root_complex::{RootComplex, Socket};
use crate::server::{Book, Server};
use crate::switch::Switch;
use crate::workload::DeviceId;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Rate, Time};

/// What kind of thing a resource is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ResourceKind {
    /// Memory of a host, reads and writes together, or one socket's.
    Memory,
    /// Banks of a host's memory.
    Banks,
    /// The way on which a host's memory is read.
    MemoryReads,
    /// The way on which a host's memory is written.
    MemoryWrites,
    /// A cache of a host.
    Cache,
    /// Tracking entries: reads in progress.
    ReadTrackers,
    /// The queue that root ports share: places taken, and what reads waited for one.
    OutboundQueue,
    /// Turns of walkers: one walk starts at a time, and the next after an interval.
    WalkTurns,
    /// Walkers of page tables.
    Walkers,
    /// Cache of translations (IOTLB): entries in use, and what requests waited for translations.
    TranslationCache,
    /// Translation cache of a device (ATC): entries in use, and what its requests waited for translations.
    DeviceTranslationCache,
    /// Translation requests of a device that are out.
    TranslationRequests,
    /// One way of a link between sockets.
    SocketLink,
    /// The path of peers' packets through a root complex.
    PeerPath,
    /// An ingress of a crossbar.
    SwitchCore,
    /// A bus of a switch.
    SwitchBus,
    /// Memory of a switch that writes every packet to it.
    SwitchMemory,
    /// Room for packets of a class at an egress of a switch, behind the credits of its ports: bytes.
    SwitchStorage,
    /// Request metering of a switch's port: a timer runs before the next request.
    RequestMetering,
    /// What drains posted writes that arrive at an endpoint.
    EndpointDrain,
    /// Memory of an endpoint, as others read it.
    EndpointMemory,
    /// One direction of a link between devices beside PCI Express.
    SideLink,
    /// An adapter's or a device's own processor or data path.
    Pipeline,
    /// Commands that a drive fetches at a time.
    CommandFetch,
    /// A way of a link that carries CXL.mem: slots of its flits that hold something, and ordered sets.
    CxlWire,
    /// Credits for messages of CXL.mem: how many are out, and how long messages waited for one.
    CxlCredits,
    /// Retry buffer of a way of a CXL link: flits that are kept until they are acknowledged, and how long messages waited for room.
    CxlRetryBuffer,
    /// Lines that cores have in flight.
    LineBuffers,
    /// A wire beyond an adapter: Ethernet, InfiniBand, Fibre Channel, SAS.
    Wire,
    /// Buffer of a network switch's port, for what comes in.
    NetworkBuffer,
    /// Buffer of an adapter for payload: bytes.
    AdapterBuffer,
    /// Reads of an adapter's queue pairs that the other side has not answered.
    OutstandingReads,
    /// Media: flash dies, disks.
    Media,
    /// Cores, or a thread that has a core to itself.
    Core,
}

impl ResourceKind {
    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Banks => "banks",
            Self::MemoryReads => "memory_reads",
            Self::MemoryWrites => "memory_writes",
            Self::Cache => "cache",
            Self::ReadTrackers => "read_trackers",
            Self::OutboundQueue => "outbound_queue",
            Self::WalkTurns => "walk_turns",
            Self::Walkers => "walkers",
            Self::TranslationCache => "iotlb",
            Self::DeviceTranslationCache => "atc",
            Self::TranslationRequests => "translation_requests",
            Self::SocketLink => "socket_link",
            Self::PeerPath => "peer_path",
            Self::SwitchCore => "switch_core",
            Self::SwitchBus => "switch_bus",
            Self::SwitchMemory => "switch_memory",
            Self::SwitchStorage => "switch_storage",
            Self::RequestMetering => "request_metering",
            Self::EndpointDrain => "endpoint_drain",
            Self::EndpointMemory => "endpoint_memory",
            Self::SideLink => "side_link",
            Self::Pipeline => "pipeline",
            Self::CommandFetch => "command_fetch",
            Self::CxlWire => "cxl_wire",
            Self::CxlCredits => "cxl_credits",
            Self::CxlRetryBuffer => "cxl_retry_buffer",
            Self::LineBuffers => "line_buffers",
            Self::Wire => "wire",
            Self::NetworkBuffer => "network_buffer",
            Self::AdapterBuffer => "adapter_buffer",
            Self::OutstandingReads => "outstanding_reads",
            Self::Media => "media",
            Self::Core => "core",
        }
    }

    /// Whether a place of it is taken while something else works for whoever has it: all are taken, too, where that is the limit.
    pub const fn is_held(self) -> bool {
        matches!(
            self,
            Self::ReadTrackers
                | Self::OutboundQueue
                | Self::TranslationRequests
                | Self::CommandFetch
                | Self::SwitchStorage
                | Self::NetworkBuffer
                | Self::AdapterBuffer
                | Self::OutstandingReads
                | Self::CxlCredits
                | Self::CxlRetryBuffer
                | Self::LineBuffers
        )
    }

    /// Whether it keeps translations: a full one is at no limit, for what it lacks has to be fetched, and that is.
    pub const fn keeps_translations(self) -> bool {
        matches!(self, Self::TranslationCache | Self::DeviceTranslationCache)
    }

    /// What it is, in a sentence's words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Banks => "banks of memory",
            Self::MemoryReads => "the rate at which memory is read",
            Self::MemoryWrites => "the rate at which memory is written",
            Self::Cache => "a cache",
            Self::ReadTrackers => "tracking entries of reads",
            Self::OutboundQueue => "the queue that root ports share",
            Self::WalkTurns => "the time between walks of page tables",
            Self::Walkers => "walkers of page tables",
            Self::TranslationCache => "the cache of translations",
            Self::DeviceTranslationCache => "the device's cache of translations",
            Self::TranslationRequests => "translation requests of the device",
            Self::SocketLink => "a link between sockets",
            Self::PeerPath => "the path between root ports",
            Self::SwitchCore => "an input of the switch core",
            Self::SwitchBus => "a bus of the switch",
            Self::SwitchMemory => "the memory of the switch",
            Self::SwitchStorage => "room behind the credits of the switch",
            Self::RequestMetering => "request metering of the switch",
            Self::EndpointDrain => "the drain of writes into the device",
            Self::EndpointMemory => "memory of the device",
            Self::SideLink => "the link between devices beside PCI Express",
            Self::Pipeline => "the device's own pipeline",
            Self::CommandFetch => "the fetching of commands",
            Self::CxlWire => "the CXL link",
            Self::CxlCredits => "credits of the CXL link",
            Self::CxlRetryBuffer => "the retry buffer of the CXL link",
            Self::LineBuffers => "the lines that cores have in flight",
            Self::Wire => "the wire beyond the adapter",
            Self::NetworkBuffer => "the buffer of a network switch's port",
            Self::AdapterBuffer => "a buffer of the adapter",
            Self::OutstandingReads => "outstanding reads of a queue pair",
            Self::Media => "media",
            Self::Core => "processor cores",
        }
    }
}

/// A resource and what it has done since the start of the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourceReading {
    /// Which one it is.
    pub id: ResourceId,
    /// Path of names, unique in the run: `server.memory`, `sw0.core.port3`.
    pub name: String,
    /// How many it serves at a time.
    pub places: u32,
    /// How much there is of it, in words: `180 GB/s`, `64 engines`.
    pub limit: String,
    /// What it has done.
    pub book: Book,
}

impl ResourceReading {
    /// A rate that one request has at a time.
    pub fn of_rate(id: ResourceId, name: String, rate: Rate, book: Book) -> Self {
        Self { id, name, places: 1, limit: rate.to_string(), book }
    }
}

/// A device whose resources are listed, and until when.
#[derive(Clone, Copy)]
pub(crate) struct Listed<'a> {
    pub(crate) device: DeviceId,
    pub(crate) name: &'a str,
    pub(crate) at: Time,
}

impl Listed<'_> {
    /// A part of it.
    pub(crate) fn part(
        self,
        part: impl Into<Part>,
        name: &str,
        size: (u32, String),
        book: Book,
    ) -> ResourceReading {
        self.reading(part.into(), name, size, book)
    }

    /// A part of it that is a rate.
    pub(crate) fn rate(self, part: impl Into<Part>, name: &str, server: &Server) -> ResourceReading {
        self.of_server(part.into(), name, server)
    }

    #[cold]
    fn of_server(self, part: Part, name: &str, server: &Server) -> ResourceReading {
        self.reading(part, name, (1, server.rate().to_string()), server.book_at(self.at))
    }

    #[cold]
    fn reading(self, part: Part, name: &str, (places, limit): (u32, String), book: Book) -> ResourceReading {
        let id = ResourceId::of(self.device, part);
        ResourceReading { id, name: format!("{}.{name}", self.name), places, limit, book }
    }
}

impl Fabric {
    /// Every resource of the fabric that was ever asked for, with the index of its device. `names` are those of the devices and of their ports.
    #[cold]
    pub(crate) fn resources(
        &self,
        names: (&[String], &[PortNames]),
        at: Time,
    ) -> Vec<(usize, ResourceReading)> {
        let mut all = Vec::new();
        for (number, (device, name)) in self.devices.iter().zip(names.0).enumerate() {
            let listed = Listed { device: DeviceId(number as u32), name, at };
            let mut found = Vec::new();
            match device.owner {
                Owner::RootComplex(index) => {
                    of_root_complex(&self.root_complexes[index as usize], listed, &mut found);
                }
                Owner::Switch(index) => {
                    of_switch(&self.switches[index as usize], &names.1[number], listed, &mut found);
                }
                Owner::Endpoint(index) => of_endpoint(&self.endpoints[index as usize], listed, &mut found),
            }
            if let Some(cxl) = &self.cxl {
                cxl.resources_of(listed, &mut found);
            }
            found.retain(|reading: &ResourceReading| reading.book.served > 0);
            all.extend(found.into_iter().map(|reading| (number, reading)));
        }
        all
    }
}

fn of_root_complex(host: &RootComplex, listed: Listed<'_>, found: &mut Vec<ResourceReading>) {
    let at = listed.at;
    found.push(listed.rate(HostPart::Reads, "read_bandwidth", &host.reads));
    let mut writes = listed.rate(HostPart::Writes, "write_bandwidth", &host.writes);
    if !host.config.write_overhead.is_zero() {
        writes.limit += &format!(" and {} a write", host.config.write_overhead);
    }
    found.push(writes);
    for (stack, of_stack) in (0_u16..).zip(&host.stacks) {
        let servers = [
            ("read_bandwidth", HostPart::StackReads { stack }, &of_stack.reads),
            ("write_bandwidth", HostPart::StackWrites { stack }, &of_stack.writes),
            ("peers_in", HostPart::PeersIn { stack }, &of_stack.peers_in),
            ("peers_out", HostPart::PeersOut { stack }, &of_stack.peers_out),
        ];
        for (name, part, server) in servers {
            let named = server.iter().map(|server| (format!("stack{stack}.{name}"), server));
            found.extend(named.map(|(name, server)| listed.rate(part, &name, server)));
        }
    }
    for (stack, of_stack) in (0_u16..).zip(&host.stacks) {
        let (entries, book) = (of_stack.trackers.places(), of_stack.trackers.book_at(at));
        let (part, name) = (HostPart::ReadTrackers { stack }, format!("stack{stack}.read_trackers"));
        found.push(listed.part(part, &name, (entries, format!("{entries} entries")), book));
    }
    if let Some(outbound) = &host.outbound {
        let packets = outbound.places();
        let (part, size) = (HostPart::OutboundQueue, (packets, format!("{packets} packets")));
        found.push(listed.part(part, "outbound_queue", size, outbound.book_at(at)));
    }
    for (socket, of_socket) in (0_u16..).zip(&host.sockets) {
        let number = if host.sockets.len() > 1 { socket.to_string() } else { String::new() };
        of_memory(of_socket, host.config.memory_of(socket).rate, (socket, &number), listed, found);
        if let Some(reads) = of_socket.cache.as_ref().and_then(|cache| cache.reads.as_ref()) {
            found.push(listed.rate(HostPart::Cache { socket }, &format!("llc{number}"), reads));
        }
    }
    let Some(path) = &host.path else { return };
    for (from, to, server) in path.sockets.iter().flat_map(|sockets| sockets.links()) {
        let part = HostPart::SocketLink { from: from as u16, to: to as u16 };
        found.push(listed.rate(part, &format!("socket{from}-{to}"), server));
    }
    for (from, to, link, server) in path.sockets.iter().flat_map(|sockets| sockets.links_of_peers()) {
        let part = HostPart::SocketLinkOfPeers { from: from as u16, to: to as u16, link: link as u16 };
        found.push(listed.rate(part, &format!("socket{from}-{to}.link{link}"), server));
    }
    if let Some(iommu) = &path.iommu {
        if let Some((interval, book)) = iommu.turns_at(at) {
            let size = (1, format!("one every {interval}"));
            found.push(listed.part(HostPart::WalkTurns, "iommu.walk_turns", size, book));
        }
        let walkers = iommu.walkers();
        let size = (walkers, format!("{walkers} walkers"));
        found.push(listed.part(HostPart::Walkers, "iommu.walkers", size, iommu.book_at(at)));
        let entries = iommu.entries();
        let size = (entries, format!("{entries} translations"));
        found.push(listed.part(HostPart::Translations, "iommu.iotlb", size, iommu.cache_at(at)));
    }
}

/// `number` is that of the socket in names, if there are several.
fn of_memory(
    of_socket: &Socket,
    rate: Rate,
    (socket, number): (u16, &str),
    listed: Listed<'_>,
    found: &mut Vec<ResourceReading>,
) {
    let (book, channels) = of_socket.memory.channels_at(listed.at);
    let size = (channels, rate.to_string());
    found.push(listed.part(HostPart::Memory { socket }, &format!("memory{number}"), size, book));
    let (book, banks) = of_socket.memory.banks_at(listed.at);
    if banks > 0 {
        let size = (banks, format!("{banks} banks"));
        found.push(listed.part(HostPart::Banks { socket }, &format!("memory{number}.banks"), size, book));
    }
}

fn of_switch(switch: &Switch, ports: &[String], listed: Listed<'_>, found: &mut Vec<ResourceReading>) {
    let at = listed.at;
    let ports = || (0_u16..).zip(ports);
    match &switch.config.core {
        SwitchCore::Crossbar { port_rate } => {
            for ((port, name), book) in ports().zip(switch.ingress_books(at)) {
                let size = (1, port_rate.to_string());
                found.push(listed.part(SwitchPart::Input { port }, &format!("core.{name}"), size, book));
            }
        }
        SwitchCore::Buses { rate, .. } => {
            let books: Vec<Book> = switch.buses.iter().flat_map(|buses| buses.books_at(at)).collect();
            let several = books.len() > 1;
            for (bus, book) in (0_u16..).zip(books) {
                let name = if several { format!("bus{bus}") } else { "bus".to_owned() };
                found.push(listed.part(SwitchPart::Bus { bus }, &name, (1, rate.to_string()), book));
            }
        }
        SwitchCore::SharedMemory { rate } => {
            let book = switch.memory.as_ref().map_or(Book::default(), |memory| memory.book_at(at));
            found.push(listed.part(SwitchPart::Memory, "memory", (1, rate.to_string()), book));
        }
    }
    for ((port, name), books) in ports().zip(switch.storage_books(at)) {
        for (class, (size, book)) in FlowClass::ALL.into_iter().zip(books) {
            let (part, name) = (SwitchPart::Storage { port, class }, format!("storage.{name}.{class}"));
            found.push(listed.part(part, &name, (size.get() as u32, size.to_string()), book));
        }
    }
    for ((port, name), (completion, book)) in ports().zip(switch.metering_books(at)) {
        let size = (1, format!("completions of {completion}"));
        found.push(listed.part(SwitchPart::Metering { port }, &format!("metering.{name}"), size, book));
    }
}

fn of_endpoint(endpoint: &Endpoint, listed: Listed<'_>, found: &mut Vec<ResourceReading>) {
    let at = listed.at;
    found.push(listed.rate(EndpointPart::WriteDrain, "write_drain", &endpoint.drain));
    let paths = endpoint.dma.as_ref().map_or([None; 2], |dma| dma.paths_at(at));
    let names = [("dma.read_path", EndpointPart::ReadPath), ("dma.write_path", EndpointPart::WritePath)];
    for ((name, part), path) in names.into_iter().zip(paths) {
        found.extend(path.map(|(rate, book)| listed.part(part, name, (1, rate.to_string()), book)));
    }
    if let Some(translations) = endpoint.dma.as_ref().and_then(|dma| dma.translations.as_ref()) {
        let (places, book) = translations.cache_at(at);
        let size = (places, format!("{places} translations"));
        found.push(listed.part(EndpointPart::Translations, "atc", size, book));
        let (places, book) = translations.requests_at(at);
        let size = (places, format!("{places} requests"));
        found.push(listed.part(EndpointPart::TranslationRequests, "translation_requests", size, book));
    }
    if let Some(memory) = &endpoint.memory {
        found.push(listed.rate(EndpointPart::Memory, "memory", memory));
    }
    if let Some(link) = &endpoint.side_link {
        link.resources(listed, found);
    }
}
