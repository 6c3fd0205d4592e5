//! Every shared resource of a fabric, with its book: what it is called, how much there is of it, how busy it was, how long
//! others waited for it.
//!
//! One function for each kind of device lists what that device has. To show a resource more, keep a [`Book`] where it
//! serves, and name it here. What a workload has of its own (cores, drives, pipelines of adapters), it lists itself, in
//! [`crate::workload::Workload::resources`].

use crate::config::{PortNames, SwitchCore};
use crate::endpoint::Endpoint;
use crate::fabric::Fabric;
use crate::port::Owner;
use crate::root_complex::{RootComplex, Socket};
use crate::server::{Book, Server};
use crate::switch::Switch;
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
    /// Lines that cores have in flight.
    LineBuffers,
    /// A wire beyond an adapter: Ethernet, InfiniBand, Fibre Channel, SAS.
    Wire,
    /// Buffer of a network switch's port, for what comes in.
    NetworkBuffer,
    /// Buffer of an adapter for payload, at one of its ports: bytes.
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
            Self::LineBuffers => "the lines that cores have in flight",
            Self::Wire => "the wire beyond the adapter",
            Self::NetworkBuffer => "the buffer of a network switch's port",
            Self::AdapterBuffer => "a buffer of the adapter",
            Self::OutstandingReads => "reads of a queue pair under way",
            Self::Media => "media",
            Self::Core => "processor cores",
        }
    }
}

/// Which traffic of a host meets a resource of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartOfHost {
    /// All of it.
    Everywhere,
    /// That of the root ports of a stack.
    Stack(u16),
    /// That of devices whose buffers are in the memory of a socket.
    Socket(u16),
    /// That which goes from one socket to another.
    Between(u16, u16),
}

impl PartOfHost {
    /// Of the resource of this name: `server.stack1.read_trackers`, `server.memory0`, `server.socket0-1.link2`.
    pub fn of(name: &str) -> Self {
        let part = name.split('.').nth(1).unwrap_or_default();
        let number = |prefix: &str| part.strip_prefix(prefix)?.parse().ok();
        let between = || {
            let (from, to) = part.strip_prefix("socket")?.split_once('-')?;
            Some(Self::Between(from.parse().ok()?, to.parse().ok()?))
        };
        let stack = number("stack").map(Self::Stack);
        let of_socket = || ["memory", "llc"].into_iter().find_map(number).map(Self::Socket);
        stack.or_else(of_socket).or_else(between).unwrap_or(Self::Everywhere)
    }
}

/// A resource and what it has done since the start of the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourceReading {
    /// Path of names, unique in the run: `server.memory`, `sw0.core.port3`.
    pub name: String,
    /// What it is.
    pub kind: ResourceKind,
    /// How many it serves at a time.
    pub places: u32,
    /// How much there is of it, in words: `180 GB/s`, `64 engines`.
    pub limit: String,
    /// What it has done.
    pub book: Book,
}

impl ResourceReading {
    /// A rate that one request has at a time.
    pub fn of_rate(name: String, kind: ResourceKind, rate: Rate, book: Book) -> Self {
        Self { name, kind, places: 1, limit: rate.to_string(), book }
    }
}

impl Fabric {
    /// Every resource of the fabric that was ever asked for, with the index of its device. `names` are those of the devices and of their ports.
    pub(crate) fn resources(
        &self,
        names: (&[String], &[PortNames]),
        at: Time,
    ) -> Vec<(usize, ResourceReading)> {
        let mut all = Vec::new();
        for (number, (device, name)) in self.devices.iter().zip(names.0).enumerate() {
            let mut found = Vec::new();
            match device.owner {
                Owner::RootComplex(index) => {
                    of_root_complex(&self.root_complexes[index as usize], name, at, &mut found);
                }
                Owner::Switch(index) => {
                    of_switch(&self.switches[index as usize], (name, &names.1[number]), at, &mut found);
                }
                Owner::Endpoint(index) => of_endpoint(&self.endpoints[index as usize], name, at, &mut found),
            }
            if let Some(cxl) = &self.cxl {
                cxl.resources_of(number, name, at, &mut found);
            }
            found.retain(|reading: &ResourceReading| reading.book.served > 0);
            all.extend(found.into_iter().map(|reading| (number, reading)));
        }
        all
    }
}

fn of_root_complex(host: &RootComplex, name: &str, at: Time, found: &mut Vec<ResourceReading>) {
    let of_rate = |part: &str, kind: ResourceKind, server: &Server| {
        ResourceReading::of_rate(format!("{name}.{part}"), kind, server.rate(), server.book_at(at))
    };
    found.push(of_rate("read_bandwidth", ResourceKind::MemoryReads, &host.reads));
    let mut writes = of_rate("write_bandwidth", ResourceKind::MemoryWrites, &host.writes);
    if !host.config.write_overhead.is_zero() {
        writes.limit += &format!(" and {} a write", host.config.write_overhead);
    }
    found.push(writes);
    let mut rate = |part: &str, kind: ResourceKind, server: &Server| found.push(of_rate(part, kind, server));
    for (index, stack) in host.stacks.iter().enumerate() {
        let of_stack = [
            ("read_bandwidth", ResourceKind::MemoryReads, &stack.reads),
            ("write_bandwidth", ResourceKind::MemoryWrites, &stack.writes),
            ("peers_in", ResourceKind::PeerPath, &stack.peers_in),
            ("peers_out", ResourceKind::PeerPath, &stack.peers_out),
        ];
        for (part, kind, server) in of_stack {
            let named = server.iter().map(|server| (format!("stack{index}.{part}"), server));
            named.for_each(|(part, server)| rate(&part, kind, server));
        }
    }
    for (index, stack) in host.stacks.iter().enumerate() {
        let entries = stack.trackers.places();
        found.push(ResourceReading {
            name: format!("{name}.stack{index}.read_trackers"),
            kind: ResourceKind::ReadTrackers,
            places: entries,
            limit: format!("{entries} entries"),
            book: stack.trackers.book_at(at),
        });
    }
    if let Some(outbound) = &host.outbound {
        found.push(ResourceReading {
            name: format!("{name}.outbound_queue"),
            kind: ResourceKind::OutboundQueue,
            places: outbound.places(),
            limit: format!("{} packets", outbound.places()),
            book: outbound.book_at(at),
        });
    }
    for (index, socket) in host.sockets.iter().enumerate() {
        let number = if host.sockets.len() > 1 { index.to_string() } else { String::new() };
        of_memory(socket, &format!("{name}.memory{number}"), host.config.memory.rate, at, found);
        if let Some(reads) = socket.cache.as_ref().and_then(|cache| cache.reads.as_ref()) {
            let name = format!("{name}.llc{number}");
            let book = reads.book_at(at);
            found.push(ResourceReading::of_rate(name, ResourceKind::Cache, reads.rate(), book));
        }
    }
    let Some(path) = &host.path else { return };
    for (from, to, link) in path.sockets.iter().flat_map(|sockets| sockets.links()) {
        let name = format!("{name}.socket{from}-{to}");
        let book = link.book_at(at);
        found.push(ResourceReading::of_rate(name, ResourceKind::SocketLink, link.rate(), book));
    }
    for (from, to, number, link) in path.sockets.iter().flat_map(|sockets| sockets.links_of_peers()) {
        let name = format!("{name}.socket{from}-{to}.link{number}");
        let book = link.book_at(at);
        found.push(ResourceReading::of_rate(name, ResourceKind::SocketLink, link.rate(), book));
    }
    if let Some(iommu) = &path.iommu {
        if let Some((interval, book)) = iommu.turns_at(at) {
            let (name, kind) = (format!("{name}.iommu.walk_turns"), ResourceKind::WalkTurns);
            let limit = format!("one every {interval}");
            found.push(ResourceReading { name, kind, places: 1, limit, book });
        }
        let walkers = iommu.walkers();
        found.push(ResourceReading {
            name: format!("{name}.iommu.walkers"),
            kind: ResourceKind::Walkers,
            places: walkers,
            limit: format!("{walkers} walkers"),
            book: iommu.book_at(at),
        });
        let entries = iommu.entries();
        found.push(ResourceReading {
            name: format!("{name}.iommu.iotlb"),
            kind: ResourceKind::TranslationCache,
            places: entries,
            limit: format!("{entries} translations"),
            book: iommu.cache_at(at),
        });
    }
}

fn of_memory(socket: &Socket, name: &str, rate: Rate, at: Time, found: &mut Vec<ResourceReading>) {
    let (book, channels) = socket.memory.channels_at(at);
    found.push(ResourceReading {
        name: name.to_owned(),
        kind: ResourceKind::Memory,
        places: channels,
        limit: rate.to_string(),
        book,
    });
    let (book, banks) = socket.memory.banks_at(at);
    if banks > 0 {
        let (name, kind) = (format!("{name}.banks"), ResourceKind::Banks);
        found.push(ResourceReading { name, kind, places: banks, limit: format!("{banks} banks"), book });
    }
}

fn of_switch(switch: &Switch, (name, ports): (&str, &[String]), at: Time, found: &mut Vec<ResourceReading>) {
    match &switch.config.core {
        SwitchCore::Crossbar { port_rate } => {
            for (port, book) in ports.iter().zip(switch.ingress_books(at)) {
                let name = format!("{name}.core.{port}");
                found.push(ResourceReading::of_rate(name, ResourceKind::SwitchCore, *port_rate, book));
            }
        }
        SwitchCore::Buses { rate, .. } => {
            let books = switch.buses.iter().flat_map(|buses| buses.books_at(at));
            let books: Vec<Book> = books.collect();
            let several = books.len() > 1;
            for (bus, book) in books.into_iter().enumerate() {
                let name = if several { format!("{name}.bus{bus}") } else { format!("{name}.bus") };
                found.push(ResourceReading::of_rate(name, ResourceKind::SwitchBus, *rate, book));
            }
        }
        SwitchCore::SharedMemory { rate } => {
            let book = switch.memory.as_ref().map_or(Book::default(), |memory| memory.book_at(at));
            let name = format!("{name}.memory");
            found.push(ResourceReading::of_rate(name, ResourceKind::SwitchMemory, *rate, book));
        }
    }
    for (port, books) in ports.iter().zip(switch.storage_books(at)) {
        for (class, (size, book)) in FlowClass::ALL.into_iter().zip(books) {
            found.push(ResourceReading {
                name: format!("{name}.storage.{port}.{class}"),
                kind: ResourceKind::SwitchStorage,
                places: size.get() as u32,
                limit: size.to_string(),
                book,
            });
        }
    }
    for (port, (completion, book)) in ports.iter().zip(switch.metering_books(at)) {
        let (name, kind) = (format!("{name}.metering.{port}"), ResourceKind::RequestMetering);
        found.push(ResourceReading {
            name,
            kind,
            places: 1,
            limit: format!("completions of {completion}"),
            book,
        });
    }
}

fn of_endpoint(endpoint: &Endpoint, name: &str, at: Time, found: &mut Vec<ResourceReading>) {
    let (drain, memory) = (&endpoint.drain, &endpoint.memory);
    let book = drain.book_at(at);
    let drain = ResourceReading::of_rate(
        format!("{name}.write_drain"),
        ResourceKind::EndpointDrain,
        drain.rate(),
        book,
    );
    found.push(drain);
    let paths = endpoint.dma.as_ref().map_or([None; 2], |dma| dma.paths_at(at));
    for (part, path) in ["read_path", "write_path"].into_iter().zip(paths) {
        let name = format!("{name}.dma.{part}");
        found.extend(
            path.map(|(rate, book)| ResourceReading::of_rate(name, ResourceKind::Pipeline, rate, book)),
        );
    }
    if let Some(translations) = endpoint.dma.as_ref().and_then(|dma| dma.translations.as_ref()) {
        let (places, book) = translations.cache_at(at);
        let (part, kind) = (format!("{name}.atc"), ResourceKind::DeviceTranslationCache);
        let limit = format!("{places} translations");
        found.push(ResourceReading { name: part, kind, places, limit, book });
        let (places, book) = translations.requests_at(at);
        let (part, kind) = (format!("{name}.translation_requests"), ResourceKind::TranslationRequests);
        found.push(ResourceReading { name: part, kind, places, limit: format!("{places} requests"), book });
    }
    if let Some(memory) = memory {
        let name = format!("{name}.memory");
        let book = memory.book_at(at);
        found.push(ResourceReading::of_rate(name, ResourceKind::EndpointMemory, memory.rate(), book));
    }
    if let Some(link) = &endpoint.side_link {
        link.resources(name, at, found);
    }
}
