//! The audit of a run: what must be conserved, checked on the books as they lie between two events.
//!
//! Every so many events, and at the end. Nothing is caught up, drawn or changed for it, so a run with audits is the run without.
//! What it compares is kept in different places, by different code: what a transmitter has spent with what its receiver has
//! counted and what is on the wire between them; the bytes that workloads were told of with those that transfers have seen;
//! the time that the observers were told of with the time that the wire is spoken for; payload with the closed form of the
//! link (`lanewise_pcie::encoding::ceiling`), which knows nothing of the run.
//!
//! Leaves out: credits in Flit Mode and on links with faults beyond the rule that a port spends no more than there are, because DLLPs that
//! are lost leave a gap that the next ones close; Little's law where errors lost requests.

use crate::config::{FabricConfig, LinkConfig};
use crate::fabric::Fabric;
use crate::link::buffer::buffer_bytes;
use crate::link::{Fate, LinkState};
use crate::packet::{Flags, Packet};
use crate::port::{Owner, Port, PortId};
use lanewise_observe::{FlowId, Use};
use lanewise_pcie::ack_nak::SequenceSpace;
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::encoding::ceiling;
use lanewise_pcie::flow_control::Credits;
use lanewise_pcie::tlp::{FlowClass, Tlp};
use lanewise_pcie::virtual_channel::TRAFFIC_CLASSES;
use lanewise_units::{Bytes, Time};

/// A book that does not balance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Discrepancy {
    /// Where, if it is one port's.
    pub(crate) port: Option<PortId>,
    pub(crate) what: String,
}

/// What is kept for audits alone, out of the way of everything else.
#[derive(Default)]
pub(crate) struct OwnBooks {
    /// Payload that workloads told of, and no transfer moved.
    pub(crate) told_bytes: u64,
    /// Payload of each flow that came over side links.
    pub(crate) beside_by_flow: Vec<u64>,
    /// Payload of all flows before the window began.
    pub(crate) delivered_before: u64,
    /// The same of each flow.
    pub(crate) delivered_before_by_flow: Vec<u64>,
    /// Posted writes of endpoints that are not at their target.
    pub(crate) writes: Passage,
    /// Latencies that were stated of reads whose tag comes back at another time, added up, in ticks modulo 2⁶⁴.
    pub(crate) beside_tags: u64,
    /// By port, the most of a direction's time that payload can take.
    pub(crate) payload_ceilings: Vec<f64>,
}

/// What passes: how much of it is inside, and a sum from which the mean number follows (see [`Fabric::audit_closely`]).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passage {
    inside: u64,
    /// Instants of leaving less those of entering, added up, in ticks modulo 2⁶⁴: more than that still balances.
    left_less_entered: u64,
}

impl Passage {
    #[inline(always)]
    pub(crate) fn enter(&mut self, now: Time) {
        self.inside += 1;
        self.left_less_entered = self.left_less_entered.wrapping_sub(now.ticks());
    }

    #[inline(always)]
    pub(crate) fn leave(&mut self, now: Time) {
        self.inside = self.inside.wrapping_sub(1);
        self.left_less_entered = self.left_less_entered.wrapping_add(now.ticks());
    }

    /// Number inside, over all time up to now, in ticks modulo 2⁶⁴.
    fn number_over_time(&self, now: Time) -> u64 {
        self.inside.wrapping_mul(now.ticks()).wrapping_add(self.left_less_entered)
    }
}

type Audited = Result<(), Discrepancy>;

/// Fails, with what is wrong, unless something holds.
macro_rules! balance {
    ($port:expr, $holds:expr, $($what:tt)+) => {
        match $holds {
            true => {}
            false => return Err(Discrepancy { port: $port, what: format!($($what)+) }),
        }
    };
}

/// The most of a direction's time that payload can take, by port: the closed form, at the largest payload and the smallest
/// header. One for ports without a link.
pub(crate) fn payload_ceilings(config: &FabricConfig, fabric: &Fabric) -> Vec<f64> {
    let mut shares = vec![1.0; fabric.ports.len()];
    for link in &config.links {
        for (device, port) in [link.upper, link.lower] {
            let id = fabric.device_ports[device][port];
            let mps = fabric.ports[id.index()].settings.mps;
            let mps = mps.max(fabric.ports[fabric.ports[id.index()].peer.index()].settings.mps);
            shares[id.index()] = payload_ceiling(link, mps);
        }
    }
    shares
}

fn payload_ceiling(link: &LinkConfig, mps: Bytes) -> f64 {
    let rungs = ceiling(link.mode, &Tlp::completion(0, mps), link.clocking);
    let share = rungs.payload_gb_per_s / rungs.coded_gb_per_s;
    // Ordered sets that come when the scenario says, and not when the specification does, are not counted.
    let regular = link.skip_interval.is_none();
    if regular { share } else { share / (1.0 - link.mode.ordered_sets(link.clocking).loss()) }
}

/// Payload that the edges of a window may give it beyond its share: two packets of the largest size, and what ordered sets
/// that are late or put off would have taken.
const AT_THE_EDGES: Bytes = Bytes::from_kib(16);

impl Fabric {
    /// How much there is to audit: ports, endpoints and transfers.
    pub(crate) fn books(&self) -> u64 {
        (self.ports.len() + self.endpoints.len() + self.transfers.places() / 8) as u64
    }

    /// Whether every book balances; the first that does not otherwise.
    pub(crate) fn audit(&self) -> Audited {
        for index in 0..self.ports.len() {
            let id = PortId(index as u32);
            if self.ports[index].peer != id && self.may_audit(id) {
                self.audit_port(id)?;
            }
        }
        for endpoint in &self.endpoints {
            let staged = |channel: &u8| {
                self.ports[endpoint.port.index()].queues_of(*channel).head(FlowClass::NonPosted).is_some()
            };
            let staged = self.ports[endpoint.port.index()].channel_numbers().filter(staged).count() as u32;
            let (tags, reads) = (endpoint.outstanding_reads(), endpoint.reads_entered() as u32);
            let port = Some(endpoint.port);
            balance!(port, tags == reads, "{tags} tags are out, and {reads} reads");
            balance!(port, tags >= staged, "{staged} reads wait to be sent, and {tags} tags are out");
            let ([number, times], _) = endpoint.reads_over_time(self.now());
            balance!(
                port,
                number == times,
                "the number of reads over time is {number} ticks, and their times are {times} (Little's law)"
            );
        }
        if let Some(Err(what)) = self.cxl.as_ref().map(|cxl| cxl.audit()) {
            return Err(Discrepancy { port: None, what });
        }
        let iommus = self.root_complexes.iter().flat_map(|host| &host.path).flat_map(|path| &path.iommu);
        for iommu in iommus {
            iommu.audit().map_err(|what| Discrepancy { port: None, what })?;
        }
        self.audit_bytes()
    }

    /// What takes longer to look at than the rest, and is looked at less often.
    ///
    /// Little's law of requests, exactly: the number under way, summed over time, is the time that each took, summed over those
    /// that are done and those under way. The number comes from when they left their endpoint and came to their target; the times
    /// from the latencies that were stated, and from the packets that are there.
    pub(crate) fn audit_closely(&self) -> Audited {
        if self.observers.errors().next().is_some() {
            return Ok(()); // What was lost left without a latency.
        }
        let now = self.now();
        let add = |sum: u64, ticks: u64| sum.wrapping_add(ticks);
        let of_reads = self.endpoints.iter().map(|endpoint| endpoint.reads_over_time(now).1.stated());
        let of_reads = of_reads.fold(self.own_books.beside_tags, add);
        let under_way = |packet: &&&Packet| {
            packet.class() == FlowClass::Posted
                && !packet
                    .flags
                    .has(Flags::MMIO.with(Flags::PIECE).with(Flags::NULLIFIED).with(Flags::ELSEWHERE))
        };
        let (mut inside, mut ages) = (0, 0_u64);
        for write in self.packets.all_live().iter().filter(under_way) {
            inside += 1;
            ages = add(ages, (now - write.issued_at).ticks());
        }
        let writes = &self.own_books.writes;
        balance!(
            None,
            writes.inside == inside,
            "{} writes are under way, and there are {inside} of them",
            writes.inside
        );
        let stated = self.observers.request_ticks();
        let (number, times) = (add(writes.number_over_time(now), of_reads), add(stated, ages));
        balance!(
            None,
            number == times,
            "the number of requests over time is {number} ticks, and their times are {times} (Little's law)"
        );
        Ok(())
    }

    fn audit_port(&self, id: PortId) -> Audited {
        let port = &self.ports[id.index()];
        let at = Some(id);
        let tally = self.observers.direction(id.index());
        let (stated, spoken_for) = (tally.window_end(), port.transmitter.busy_until);
        balance!(
            at,
            stated == spoken_for,
            "time is stated up to {stated:?}, and spoken for up to {spoken_for:?}"
        );
        let payload = tally.spent_on(Use::Payload).ticks() as f64;
        let most = tally.total().ticks() as f64 * self.own_books.payload_ceilings[id.index()]
            + port.settings.wire.span(AT_THE_EDGES).ticks() as f64;
        balance!(
            at,
            payload <= most,
            "payload takes {payload} ticks, and the closed form gives it {most} at most"
        );
        self.audit_sequences(id)?;
        self.audit_credits(id)?;
        self.audit_buffers(id)
    }

    /// Sequence numbers: what has been acknowledged was received, what was received was sent, and on a link where nothing can go
    /// wrong the rest is on its way.
    fn audit_sequences(&self, id: PortId) -> Audited {
        let (port, at) = (&self.ports[id.index()], Some(id));
        let peer = &self.ports[port.peer.index()];
        if let (Some(sent), Some(received)) = (&port.flits, &peer.flits) {
            let on_the_way = peer.receiver.in_flight().len();
            return sent
                .transmitter
                .audit(&received.receiver, on_the_way)
                .map_err(|what| Discrepancy { port: at, what });
        }
        let (space, sent) = (SequenceSpace::NonFlit, &port.transmitter.retry);
        balance!(at, sent.adds_up(), "the retry buffer holds other bytes than it counts: {sent:?}");
        let (acknowledged, received) = (sent.acknowledged(), peer.receiver.sequence().last_accepted());
        let behind = usize::from(space.distance(acknowledged, received));
        balance!(
            at,
            behind <= sent.unacknowledged(),
            "{received:?} is received, {acknowledged:?} acknowledged, and {} are unacknowledged",
            sent.unacknowledged()
        );
        if port.error_free_non_flit && peer.error_free_non_flit {
            let mut expected = peer.receiver.sequence().next_expected();
            for tlp in peer.receiver.in_flight().filter(|tlp| tlp.fate != Fate::Nullified) {
                if tlp.sequence == expected {
                    expected = space.next(expected);
                } else {
                    let behind = space.distance(tlp.sequence, expected);
                    balance!(
                        at,
                        behind <= space.window() + 1,
                        "{:?} is sent, {expected:?} is next",
                        tlp.sequence
                    );
                }
            }
            let next = sent.next_sequence();
            balance!(at, expected == next, "{next:?} is to be sent next, and {expected:?} is missing");
        }
        Ok(())
    }

    /// Credits: what this transmitter has left is what its receiver has left for it, less what is on its way.
    fn audit_credits(&self, id: PortId) -> Audited {
        let (port, at) = (&self.ports[id.index()], Some(id));
        let peer = &self.ports[port.peer.index()];
        let exactly = port.error_free_non_flit
            && peer.error_free_non_flit
            && port.transmitter.state == LinkState::Active;
        let on_the_way = if exactly { on_the_way(peer) } else { Default::default() };
        for channel in port.channel_numbers() {
            for class in FlowClass::ALL {
                let buffer = peer.receiver.buffer(channel, class);
                let mut told = port.credits_of(channel)[class.index()];
                let counted_on = told.available();
                let left = buffer.credits.available_to_peer();
                let within = |counted_on: Option<u16>, left: Option<u16>| match (counted_on, left) {
                    (Some(counted_on), Some(left)) => counted_on <= left,
                    _ => true,
                };
                balance!(
                    at,
                    within(counted_on.header, left.header) && within(counted_on.data, left.data),
                    "VC{channel} {class}: {counted_on} are counted on, and {left} are left"
                );
                if !exactly || buffer.credits.is_infinite() {
                    continue;
                }
                for (_, dllp) in port.mailbox.iter() {
                    match dllp {
                        Dllp::UpdateFlowControl { channel: on, class: of, header, data }
                            if (*on, *of) == (channel, class) =>
                        {
                            told.update(*header, *data);
                        }
                        _ => {}
                    }
                }
                let [headers, data] = on_the_way[usize::from(channel)][class.index()];
                let told = told.available();
                let agree = |told: Option<u16>, left: Option<u16>, on_the_way: u32| match (told, left) {
                    (Some(told), Some(left)) => u32::from(told) + on_the_way == u32::from(left),
                    _ => true,
                };
                balance!(
                    at,
                    agree(told.header, left.header, headers) && agree(told.data, left.data, data),
                    "VC{channel} {class}: {told} are there to spend, {headers}/{data} on the way, and {left} left"
                );
            }
        }
        Ok(())
    }

    /// Ingress buffers: what drains is held, and the bytes that the observers know of are those of the credits held.
    fn audit_buffers(&self, id: PortId) -> Audited {
        let (port, at) = (&self.ports[id.index()], Some(id));
        let levels = self.observers.buffers(id.index());
        for class in FlowClass::ALL {
            let (mut held_bytes, mut all_count) = (0, true);
            for channel in port.channel_numbers() {
                let buffer = port.receiver.buffer(channel, class);
                let (held, room) = (buffer.credits.held(), buffer.credits.available_to_peer());
                let [headers, data] = sum(buffer.draining.iter().map(|(_, credits)| credits));
                balance!(
                    at,
                    (room.header.is_none() || headers <= u32::from(held.header))
                        && (room.data.is_none() || data <= u32::from(held.data)),
                    "VC{channel} {class}: {headers}/{data} drain, and {held:?} are held"
                );
                held_bytes += buffer_bytes(held);
                all_count &= room.header.is_some() && room.data.is_some();
            }
            let stated = levels[class.index()].now();
            balance!(
                at,
                !all_count || held_bytes == stated,
                "{class}: {held_bytes} B are held, and {stated} B are stated"
            );
        }
        Ok(())
    }

    /// Bytes: the flows were given what arrived of transfers and what workloads told of; less only what errors lost.
    fn audit_bytes(&self) -> Audited {
        let delivered = self.own_books.delivered_before + self.observers.delivered();
        let arrived = self.transfers.arrived()
            + self.own_books.told_bytes
            + self.own_books.beside_by_flow.iter().sum::<u64>();
        let nothing_lost = self.observers.errors().next().is_none();
        balance!(
            None,
            delivered == arrived || (delivered < arrived && !nothing_lost),
            "{delivered} B of payload are delivered, and {arrived} B arrived"
        );
        Ok(())
    }

    /// Goodput of every flow that an endpoint reads or writes is within the closed form of its link, since the start of the run: its
    /// data cross that link once. Other flows may go over several, or over none.
    pub(crate) fn audit_goodput(&self, at: Time, devices: &[String]) -> Audited {
        let before = self.own_books.delivered_before_by_flow.iter().chain(std::iter::repeat(&0));
        let beside = self.own_books.beside_by_flow.iter().chain(std::iter::repeat(&0));
        for ((flow, before), beside) in self.observers.flows().iter().zip(before).zip(beside) {
            let spec = &flow.spec;
            let device = devices.iter().position(|name| spec.devices.names == [name.as_str()]);
            let id = match device.map(|device| (self.devices[device].owner, &self.device_ports[device])) {
                Some((Owner::Endpoint(_), ports)) if ["read", "write"].contains(&spec.direction) => ports[0],
                _ => continue,
            };
            let (port, shares) = (&self.ports[id.index()], &self.own_books.payload_ceilings);
            let share = shares[id.index()].max(shares[port.peer.index()]);
            let payload = (flow.payload() + Bytes::new(*before)).saturating_sub(Bytes::new(*beside));
            let (took, edges) = (port.settings.wire.span(payload), port.settings.wire.span(AT_THE_EDGES));
            let most = (at - Time::ZERO).ticks() as f64 * share + edges.ticks() as f64;
            balance!(
                Some(id),
                took.ticks() as f64 <= most,
                "flow {} ({}) moved {payload}, which takes {took} of a wire of which the closed form gives it {most} ticks",
                spec.name,
                spec.direction
            );
        }
        Ok(())
    }

    /// Keeps what the flows have moved, because their tallies start again.
    pub(crate) fn keep_delivered(&mut self) {
        let books = &mut self.own_books;
        books.delivered_before += self.observers.delivered();
        let flows = self.observers.flows();
        books.delivered_before_by_flow.resize(flows.len(), 0);
        for (before, flow) in books.delivered_before_by_flow.iter_mut().zip(flows) {
            *before += flow.payload().get();
        }
    }

    /// Counts payload of a flow that came over a side link.
    pub(crate) fn came_beside(&mut self, flow: FlowId, payload: Bytes) {
        let (beside, flow) = (&mut self.own_books.beside_by_flow, flow.0 as usize);
        beside.resize(beside.len().max(flow + 1), 0);
        beside[flow] += payload.get();
    }
}

/// Headers and data of TLPs that are sent and not received, by channel and class.
fn on_the_way(peer: &Port) -> [[[u32; 2]; 3]; TRAFFIC_CLASSES] {
    let mut expected = peer.receiver.sequence().next_expected();
    let mut new = [[[0; 2]; 3]; TRAFFIC_CLASSES];
    for tlp in peer.receiver.in_flight().filter(|tlp| tlp.fate != Fate::Nullified) {
        // Others are sent again.
        if tlp.sequence == expected {
            expected = SequenceSpace::NonFlit.next(expected);
            let [headers, data] = &mut new[usize::from(tlp.channel)][tlp.class.index()];
            *headers += 1;
            *data += u32::from(tlp.data_credits);
        }
    }
    new
}

fn sum<'a>(credits: impl Iterator<Item = &'a Credits>) -> [u32; 2] {
    credits.fold([0, 0], |[headers, data], credits| {
        [headers + u32::from(credits.header), data + u32::from(credits.data)]
    })
}

#[cfg(test)]
mod tests {
    use crate::common::{Stream, advance, behind_switch, root_mut, us};
    use crate::config::IommuConfig;
    use crate::port::PortId;
    use crate::ports::Tally;
    use crate::workload::{DeviceId, Direction};
    use crate::{Fabric, Simulation};
    use lanewise_observe::{Fact, FlowId, FlowSpec, LatencyOf, Place, RequestId, Use, WorkloadEntry};
    use lanewise_pcie::flow_control::Credits;
    use lanewise_pcie::tlp::FlowClass;
    use lanewise_units::{Bytes, Generation, Span, Width};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Two endpoints behind a switch read and write, and much is under way.
    fn busy() -> Simulation {
        let config = behind_switch(Generation::Gen3, Width::X8, Width::X4, 2, 256);
        let mut simulation = Simulation::build(&config).expect("a tree");
        for (device, direction) in [(2, Direction::Write), (3, Direction::Read)] {
            simulation.add_workload(Box::new(Stream::new(device, direction, 4096, 8)));
        }
        advance(&mut simulation, us(20));
        assert_eq!(simulation.fabric.audit(), Ok(()));
        simulation
    }

    /// What is found wrong after a fault is planted at the port of the endpoint that writes.
    fn found(plant: impl FnOnce(&mut Fabric, PortId)) -> String {
        let mut simulation = busy();
        let port = PortId(simulation.fabric.port_index(DeviceId(2), 0) as u32);
        plant(&mut simulation.fabric, port);
        let audited = simulation.fabric.audit().and_then(|()| simulation.fabric.audit_closely());
        audited.expect_err("it is noticed").what
    }

    #[test]
    fn a_fault_in_any_book_is_found() {
        let posted = FlowClass::Posted.index();
        let twice = found(|fabric, port| {
            fabric.ports[port.index()].transmitter.credits[posted].consume(Credits::new(1, 16));
        });
        assert!(twice.contains("are there to spend"), "{twice}");
        let unspent = found(|fabric, port| {
            let (mut credits, peer) =
                (fabric.ports[port.index()].transmitter.credits[posted], fabric.ports[port.index()].peer);
            let (header, data) =
                fabric.ports[peer.index()].receiver.buffer(0, FlowClass::Posted).credits.limit();
            credits.update(header + 60, data + 400);
            fabric.ports[port.index()].transmitter.credits[posted] = credits;
        });
        assert!(unspent.contains("are counted on"), "{unspent}");
        let lost = found(|fabric, port| {
            let peer = fabric.ports[port.index()].peer;
            let receiver = &mut fabric.ports[peer.index()].receiver;
            while receiver.in_flight().len() > 0 {
                receiver.take_next();
            }
        });
        assert!(lost.contains("is missing"), "{lost}");
        let tag = found(|fabric, _| {
            fabric.endpoints[0].leak_tag();
        });
        assert!(tag.contains("tags are out"), "{tag}");
        let bytes = found(|fabric, _| fabric.own_books.told_bytes += 1);
        assert!(bytes.contains("B of payload are delivered"), "{bytes}");
        let time =
            found(|fabric, port| fabric.ports[port.index()].transmitter.busy_until += Span::from_ns(1));
        assert!(time.contains("time is stated up to"), "{time}");
        let buffer = found(|fabric, port| {
            let peer = fabric.ports[port.index()].peer;
            let now = fabric.now();
            let filled =
                Fact::BufferFilled { port: peer.0, class: FlowClass::Posted, bytes: 16, sequence: 0 };
            fabric.observers.observe(now + Span::from_us(1), filled);
        });
        assert!(buffer.contains("B are stated"), "{buffer}");
        let fast = found(|fabric, port| {
            let (now, span) = (fabric.now(), Span::from_us(200));
            fabric.observers.observe(now, Fact::Spent { port: port.0, on: Use::Payload, span });
            fabric.ports[port.index()].transmitter.busy_until += span;
        });
        assert!(fast.contains("the closed form"), "{fast}");
    }

    /// Number and time of requests, from either side: entries of reads, latencies that were stated, instants of writes, packets.
    #[test]
    fn a_page_that_is_walked_for_twice_is_found() {
        let mut config = behind_switch(Generation::Gen3, Width::X8, Width::X4, 2, 256);
        root_mut(&mut config).iommu = Some(IommuConfig {
            entries: 4,
            ways: 4,
            page: Bytes::from_kib(4),
            walk_steps: 2,
            walk_step_latency: Span::from_us(1),
            walkers: 1,
            walk_interval: Span::ZERO,
        });
        let mut simulation = Simulation::build(&config).expect("a tree");
        simulation.add_workload(Box::new(Stream::new(2, Direction::Write, 4096, 8)));
        advance(&mut simulation, us(20));
        assert_eq!(simulation.fabric.audit(), Ok(()));
        let path = simulation.fabric.root_complexes[0].path.as_mut().expect("addresses are translated");
        path.iommu.as_mut().expect("by this").walk_twice();
        let found = simulation.fabric.audit().expect_err("it is noticed").what;
        assert!(found.contains("two walks look for page"), "{found}");
    }

    #[test]
    fn a_fault_in_numbers_or_times_of_requests_breaks_littles_law() {
        let young = found(|fabric, _| fabric.endpoints[1].age_a_read(Span::from_ns(1)));
        assert!(young.contains("number of reads over time"), "{young}");
        let stated = found(|fabric, _| {
            let (now, flow, latency) = (fabric.now(), FlowId(0), Span::from_ticks(1));
            let request = RequestId::answered(now, Place::Host, 0);
            fabric.observers.observe(now, Fact::RequestDone { flow, latency, request });
        });
        assert!(stated.contains("number of requests over time"), "{stated}");
        let twice = found(|fabric, _| {
            let now = fabric.now();
            fabric.own_books.writes.enter(now);
        });
        assert!(twice.contains("writes are under way"), "{twice}");
        let late = found(|fabric, _| {
            let now = fabric.now();
            fabric.own_books.writes.enter(now);
            fabric.own_books.writes.leave(now + Span::from_ticks(1));
        });
        assert!(late.contains("(Little's law)"), "{late}");
    }

    #[test]
    fn a_flow_beyond_the_closed_form_of_its_link_ends_the_run() {
        let mut simulation = busy();
        let (at, payload) = (simulation.fabric.now(), Bytes::new(200_000));
        let (name, device, latency) = ("f".to_owned(), simulation.names()[2].clone(), LatencyOf::Request);
        let flow = simulation.fabric.add_flow(FlowSpec {
            name,
            entry: WorkloadEntry::default(),
            devices: device.into(),
            direction: "write",
            latency,
            repeats: false,
        });
        simulation.fabric.observers.observe(at, Fact::Delivered { flow, payload });
        simulation.fabric.own_books.told_bytes += payload.get();
        let names = simulation.names().to_vec();
        let found = simulation.fabric.audit_goodput(at, &names).expect_err("20 us of x4 are 79 kB");
        assert!(found.what.contains("closed form"), "{}", found.what);
    }

    #[test]
    fn what_is_used_for_more_time_than_there_was_ends_the_run() {
        let mut simulation = busy();
        simulation.fabric.root_complexes[0].writes.station.book.busy += Span::from_us(21);
        let at = simulation.fabric.now();
        let stopped = catch_unwind(AssertUnwindSafe(|| simulation.stop_measuring(at)));
        let said = *stopped.expect_err("it stops").downcast::<String>().expect("a message");
        let place = format!("{}.write_bandwidth: in use for ", simulation.names()[0]);
        assert!(said.starts_with("not conserved, seed 1, event ") && said.contains(&place), "{said}");
    }

    #[test]
    fn a_run_stops_at_a_fault_and_says_where_and_when() {
        let mut simulation = busy();
        let port = simulation.fabric.port_index(DeviceId(2), 0);
        simulation.fabric.ports[port].transmitter.credits[FlowClass::Posted.index()]
            .consume(Credits::new(1, 16));
        let stopped = catch_unwind(AssertUnwindSafe(|| advance(&mut simulation, us(2_000))));
        let said = *stopped.expect_err("it stops").downcast::<String>().expect("a message");
        let place = format!("{}.port0: VC0 posted: ", simulation.names()[2]);
        assert!(said.starts_with("not conserved, seed 1, event ") && said.contains(&place), "{said}");
    }
}
