//! What endpoints are asked for: transfers in queues, and the next request staged at the port.

use crate::channels::VC0;
use crate::config::EngineConfig;
use crate::endpoint::{Endpoint, Transfers};
use crate::fabric::Fabric;
use crate::packet::Packet;
use crate::ports::Dma;
use crate::workload::{DeviceId, DmaQueueId, Target, Transfer};
use lanewise_observe::{Fact, RequesterState};
use lanewise_pcie::tlp::FlowClass;
use lanewise_pcie::virtual_channel::TRAFFIC_CLASSES;
use lanewise_units::{Bytes, Time};

impl Dma for Fabric {
    fn open_queue(&mut self, device: DeviceId) -> DmaQueueId {
        let index = self.endpoint_index(device);
        DmaQueueId { device, index: self.endpoints[index as usize].open_queue() }
    }

    fn open_queue_of(&mut self, device: DeviceId, traffic_class: u8) -> DmaQueueId {
        assert!(usize::from(traffic_class) < TRAFFIC_CLASSES, "there is no TC{traffic_class}");
        let index = self.endpoint_index(device);
        DmaQueueId { device, index: self.endpoints[index as usize].open_queue_of(traffic_class) }
    }

    fn open_queue_with(&mut self, device: DeviceId, engine: &EngineConfig) -> DmaQueueId {
        let index = self.endpoint_index(device);
        let mps = self.ports[self.endpoints[index as usize].port.index()].settings.mps;
        DmaQueueId { device, index: self.endpoints[index as usize].open_queue_with(engine, mps) }
    }

    fn open_queue_of_function(&mut self, device: DeviceId, function: u8) -> DmaQueueId {
        let index = self.endpoint_index(device);
        let endpoint = &mut self.endpoints[index as usize];
        let functions = endpoint.config.dma.functions.as_ref().map_or(0, |functions| functions.count);
        assert!(function < functions, "there are {functions} virtual functions, and no number {function}");
        DmaQueueId { device, index: endpoint.open_queue_of_function(function) }
    }

    fn submit(&mut self, queue: DmaQueueId, transfer: Transfer) {
        assert!(transfer.length > Bytes::ZERO, "a transfer moves at least a byte");
        if self.goes_beside(queue.device, &transfer) {
            return;
        }
        let endpoint = self.endpoint_index(queue.device);
        let device = self.devices[queue.device.0 as usize];
        let peer = match transfer.target {
            Target::HostMemory | Target::Nobody => None,
            Target::Endpoint(peer) => {
                assert_eq!(
                    self.devices[peer.0 as usize].root_complex, device.root_complex,
                    "peers share a root"
                );
                Some(self.endpoints[self.endpoint_index(peer) as usize].route_end)
            }
        };
        let Transfer { target, offset, length, .. } = transfer;
        let (address, destination) =
            self.addresses.of_transfer(device.root_complex, target, peer, offset, length);
        let index = self.transfers.insert(transfer, self.current, address, destination);
        let now = self.engine.now();
        self.endpoints[endpoint as usize].submit(queue.index, index, now, &self.transfers);
        self.refill(endpoint);
    }

    fn waits_for(&mut self, device: DeviceId, state: RequesterState) {
        let now = self.now();
        let index = self.endpoint_index(device);
        let endpoint = &mut self.endpoints[index as usize];
        endpoint.waits_for = state;
        if !self.ports[endpoint.port.index()].has_requests() {
            let state = endpoint.idle_state();
            self.observers.observe(now, Fact::Requester { endpoint: index, state });
        }
    }
}

impl Fabric {
    /// Stages the next posted write and the next read request of an endpoint, and says what holds it back.
    pub(crate) fn refill(&mut self, index: u32) {
        match self.endpoints[index as usize].is_plain() {
            true => self.refill_plain(index),
            false => self.refill_by_channel(index),
        }
    }

    #[inline(always)]
    fn refill_plain(&mut self, index: u32) {
        let now = self.engine.now();
        let endpoint = &mut self.endpoints[index as usize];
        let port = &mut self.ports[endpoint.port.index()];
        let mut staged_at = Time::NEVER;
        if port.queues.head(FlowClass::Posted).is_none()
            && let Some(packet) = endpoint.next_write(now, &self.transfers)
        {
            staged_at = packet.eligible_at;
            self.own_books.writes.enter(now);
            let packet_id = self.packets.insert(packet);
            port.queues.push(&mut self.packets, packet_id);
        }
        if port.queues.head(FlowClass::NonPosted).is_none()
            && let Some(packet) = endpoint.next_read(now, &self.transfers)
        {
            staged_at = staged_at.min(packet.eligible_at);
            let packet_id = self.packets.insert(packet);
            port.queues.push(&mut self.packets, packet_id);
        }
        let id = endpoint.port;
        // Without a pace, what is staged may leave at once.
        let starts_at = match port.queues.has_requests() {
            true if endpoint.config.request_interval.is_zero() => Some(now),
            true => port.requests_start(&self.packets),
            false => None,
        };
        let state = requester_state(endpoint, starts_at, now);
        self.observers.observe(now, Fact::Requester { endpoint: index, state });
        if staged_at != Time::NEVER {
            if self.observers.are_heard() {
                self.tell_of_staged(id);
            }
            self.offer(id, staged_at);
        }
    }

    /// The same for an endpoint with several virtual channels, traffic classes, errors, or a pace, path or engines of its DMA.
    /// Which queue has the next tag is for the arbitration of its port to say.
    #[cold]
    fn refill_by_channel(&mut self, index: u32) {
        let now = self.engine.now();
        let endpoint = &mut self.endpoints[index as usize];
        let port = &mut self.ports[endpoint.port.index()];
        let mut staged_at = Time::NEVER;
        for vc in endpoint.channel_order() {
            if port.queues_of(vc).head(FlowClass::Posted).is_none()
                && let Some(packet) = endpoint.next_write_on(vc, now, &self.transfers)
            {
                self.own_books.writes.enter(now);
                staged_at = staged_at.min(packet.eligible_at);
                let packet_id = self.packets.insert(packet);
                port.queue(&mut self.packets, packet_id);
            }
            if port.queues_of(vc).head(FlowClass::NonPosted).is_none()
                && let Some(packet) = next_non_posted(endpoint, vc, now, &self.transfers)
            {
                endpoint.tag_taken(vc);
                staged_at = staged_at.min(packet.eligible_at);
                let goes_before = endpoint.may_read_before_write(vc, &packet);
                let packet_id = self.packets.insert(packet);
                match goes_before {
                    true => port.queue_before_unstarted_write(&mut self.packets, packet_id),
                    false => _ = port.queue(&mut self.packets, packet_id),
                }
            }
        }
        let (id, starts_at) = (endpoint.port, port.requests_start(&self.packets));
        let state = requester_state(endpoint, starts_at, now);
        self.observers.observe(now, Fact::Requester { endpoint: index, state });
        if staged_at != Time::NEVER {
            if self.observers.are_heard() {
                self.tell_of_staged(id);
            }
            self.offer(id, staged_at);
        }
        self.arm_deadlines(index);
    }
}

/// The next translation request or read of an endpoint; translations go first, on VC0.
fn next_non_posted(endpoint: &mut Endpoint, vc: u8, now: Time, transfers: &Transfers) -> Option<Packet> {
    let translation = if vc == VC0 { endpoint.next_translation(now) } else { None };
    translation.or_else(|| endpoint.next_read_on(vc, now, transfers))
}

/// What holds an endpoint back whose next request starts at `starts_at`, if it has one at its port. What it answers to loads and to reads of
/// peers stands there, too, and holds none of its requests back.
#[inline(always)]
fn requester_state(endpoint: &Endpoint, starts_at: Option<Time>, now: Time) -> RequesterState {
    match starts_at {
        Some(starts_at) if starts_at > now => RequesterState::RequestInterval,
        Some(_) => RequesterState::Port,
        None => endpoint.idle_state(),
    }
}
