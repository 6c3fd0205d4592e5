//! Links between the sockets of a host: what a device uses in the memory of another socket, and what peers below different
//! sockets send each other.
//!
//! Every socket has a link of its own to every other, and each way of it serves bytes one after the other at a rate. Data
//! move in lines; each line takes its header along, and each line that is asked for, or that is to be written, costs a
//! request the other way. Between two sockets there may be several physical links. Lines of memory are spread over all of them, and
//! have their rate together; what one root port forwards to another takes one, and has the rate of one: GPUs write 50.97 GB/s
//! to a GPU of the other EPYC 9005, 64 of 80 B on one of three links of 64 GB/s (voipmonitor/rtx6kpro), and 55.25 to its memory (AMD, MI300X
//! system acceptance guide). Which link packets from one root port to another take is Assumed: that of the root port by which they come
//! in ([`SocketsConfig::link_of_port`]).
//!
//! A write gives its buffer space back when it is on the link, not when the other socket has
//! answered: hosts take posted writes over into buffers of their own, and writes to the other socket are as fast as to the
//! device's own (pcie-bench, E5-2620 v2 and E5-2630 v4). Sources: the mechanisms are those of coherent links in general
//! (Intel, An Introduction to the Intel QuickPath Interconnect, 2009, for lines, headers and home agents). Left out: those
//! buffers' size, routing over a third socket, snoops, directories, what processors send over the same link, credits of the
//! link, and on which socket an MMIO access starts.

use crate::config::SocketsConfig;
use crate::packet::RouteEnd;
use crate::server::Server;
use lanewise_units::{Bytes, Span, Time};

/// The sockets of one root complex.
pub(crate) struct Sockets {
    config: SocketsConfig,
    count: usize,
    /// One server for each ordered pair of sockets.
    links: Vec<Server>,
    /// The same for each physical link, as far as peers use it; empty where there is one.
    of_peers: Vec<Server>,
    /// Socket of the buffers of each endpoint, by the number of its [`RouteEnd`], where it is not its own.
    memory_of: Vec<Option<u16>>,
}

/// A way from one socket to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Crossing {
    from: u16,
    pub(crate) to: u16,
    /// The physical link that peers take.
    link: u16,
}

impl Crossing {
    fn back(self) -> Self {
        Self { from: self.to, to: self.from, link: self.link }
    }
}

impl Sockets {
    pub(crate) fn new(config: &SocketsConfig) -> Self {
        let count = config.of_port.iter().max().map_or(1, |last| usize::from(*last) + 1);
        let mut sockets = Self {
            config: config.clone(),
            count: 0,
            links: Vec::new(),
            of_peers: Vec::new(),
            memory_of: Vec::new(),
        };
        sockets.make_room(count);
        sockets
    }

    fn make_room(&mut self, count: usize) {
        if count > self.count {
            self.count = count;
            self.links = vec![Server::new(self.config.rate); count * count];
            let physical = self.config.links as usize;
            if physical > 1 {
                // A byte a second less than the whole where it does not divide.
                let rate = self.config.rate.div_floor(u64::from(self.config.links));
                self.of_peers = vec![Server::new(rate); count * count * physical];
            }
        }
    }

    /// The buffers of an endpoint are in the memory of `socket`. Before the run.
    pub(crate) fn place_memory(&mut self, endpoint: RouteEnd, socket: u16) {
        let index = endpoint.0 as usize;
        if self.memory_of.len() <= index {
            self.memory_of.resize(index + 1, None);
        }
        self.memory_of[index] = Some(socket);
        self.make_room(usize::from(socket) + 1);
    }

    /// The way of a request of `requester`, at root port `port`, to its memory; none when that is at the same socket.
    pub(crate) fn to_memory(&self, requester: RouteEnd, port: u16) -> Option<Crossing> {
        let to = (*self.memory_of.get(requester.0 as usize)?)?;
        let from = self.config.of_port[usize::from(port)];
        (from != to).then_some(Crossing { from, to, link: 0 })
    }

    /// The way from one root port to another; none within a socket.
    pub(crate) fn between(&self, ingress: u16, egress: u16) -> Option<Crossing> {
        let of = |port: u16| self.config.of_port[usize::from(port)];
        let (from, to, link) = (of(ingress), of(egress), self.config.link_of_port[usize::from(ingress)]);
        (from != to).then_some(Crossing { from, to, link })
    }

    /// How many sockets there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The socket of a root port.
    pub(crate) fn of(&self, port: u16) -> u16 {
        self.config.of_port[usize::from(port)]
    }

    /// Time there and back.
    pub(crate) fn round_trip(&self) -> Span {
        self.config.latency * 2
    }

    /// Time there.
    pub(crate) fn one_way(&self) -> Span {
        self.config.latency
    }

    /// When `payload` from `address` on, or a header alone, has been put on the link.
    pub(crate) fn carry(&mut self, now: Time, way: Crossing, address: u64, payload: Bytes) -> Time {
        let bytes = payload + self.overhead(address, payload);
        self.link(way).serve(now, bytes)
    }

    /// When a packet from one root port to another has been put on its physical link.
    pub(crate) fn forward(&mut self, now: Time, way: Crossing, address: u64, payload: Bytes) -> Time {
        let bytes = payload + self.overhead(address, payload);
        let crossed = self.link(way).serve(now, bytes);
        match self.of_peers(way) {
            Some(link) => crossed.max(link.serve(now, bytes)),
            None => crossed,
        }
    }

    /// When the requests for the lines of `length` bytes from `address` on have been put on the link.
    pub(crate) fn ask(&mut self, now: Time, way: Crossing, address: u64, length: Bytes) -> Time {
        let bytes = self.overhead(address, length);
        self.link(way).serve(now, bytes)
    }

    /// When the answers to them have.
    pub(crate) fn answer(&mut self, now: Time, way: Crossing, address: u64, length: Bytes) -> Time {
        self.ask(now, way.back(), address, length)
    }

    /// When data that a read of the other socket's memory gives has been put on the link.
    pub(crate) fn bring(&mut self, now: Time, way: Crossing, address: u64, payload: Bytes) -> Time {
        self.carry(now, way.back(), address, payload)
    }

    /// Bytes of headers for the lines that are touched; one for a packet without data.
    fn overhead(&self, address: u64, length: Bytes) -> Bytes {
        let line = self.config.line.get();
        let lines = (address % line + length.get()).div_ceil(line).max(1);
        self.config.line_overhead * lines
    }

    /// Every physical link from one socket to another as peers use it, with its number; none where there is one.
    pub(crate) fn links_of_peers(&self) -> impl Iterator<Item = (usize, usize, usize, &Server)> {
        let (count, physical) = (self.count, self.config.links as usize);
        let numbered = self.of_peers.iter().enumerate();
        let ways = numbered.map(move |(index, link)| {
            let way = index / physical;
            (way / count, way % count, index % physical, link)
        });
        ways.filter(|(from, to, ..)| from != to)
    }

    /// Every way from one socket to another.
    pub(crate) fn links(&self) -> impl Iterator<Item = (usize, usize, &Server)> {
        let numbered = self.links.iter().enumerate();
        let ways = numbered.map(|(index, link)| (index / self.count, index % self.count, link));
        ways.filter(|(from, to, _)| from != to)
    }

    fn link(&mut self, way: Crossing) -> &mut Server {
        &mut self.links[usize::from(way.from) * self.count + usize::from(way.to)]
    }

    fn of_peers(&mut self, way: Crossing) -> Option<&mut Server> {
        let pair = usize::from(way.from) * self.count + usize::from(way.to);
        self.of_peers.get_mut(pair * self.config.links as usize + usize::from(way.link))
    }
}
