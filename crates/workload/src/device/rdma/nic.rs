//! One adapter: its queues, pipelines and paths, and how work requests come to it.

use super::config::RdmaNicConfig;
use super::verbs::{Opcode, WorkRequest};
use crate::device::waiting::Waiting;
use crate::server::{RateServer, reading};
use lanewise_fabric::workload::DmaQueueId;
use lanewise_fabric::{Book, RdmaPart, ResourceId, ResourceReading, Station};
use lanewise_units::{Bytes, Span, Time};

/// An adapter.
#[derive(Clone, Debug)]
pub(super) struct Nic {
    pub config: RdmaNicConfig,
    /// Payload and completion entries, in order.
    pub posted: DmaQueueId,
    pub payload: DmaQueueId,
    pub control: DmaQueueId,
    pub pipeline: Station,
    /// The same for messages that come in.
    pub receiver: Station,
    pub registrar: Station,
    pub shared: RateServer,
    /// Its ports with a wire.
    pub ports: Vec<u32>,
    /// What it was last said to wait for.
    pub waiting: Waiting,
    /// When it will be looked at without an event, if that is still to come.
    pub looked_at_next: Time,
}

impl Nic {
    pub(super) fn resources(
        &self,
        pairs: Vec<Station>,
        reads: Vec<Book>,
        at: Time,
    ) -> impl Iterator<Item = ResourceReading> + use<> {
        let RdmaNicConfig { name, device, message_interval, queue_pair_interval, .. } = &self.config;
        let of = |name_of_part: &str, part, limit: &Span, servers: &[Station]| {
            let mut limit = format!("{limit} a message");
            if let (RdmaPart::QueuePairs, Some(rate)) = (part, self.config.queue_pair_read_bandwidth) {
                limit = format!("{limit}, {rate} of reads");
            }
            reading(ResourceId::of(*device, part), format!("{name}.{name_of_part}"), limit, servers, at)
        };
        let own = [
            of("pipeline", RdmaPart::Pipeline, message_interval, std::slice::from_ref(&self.pipeline)),
            of(
                "receive_pipeline",
                RdmaPart::ReceivePipeline,
                message_interval,
                std::slice::from_ref(&self.receiver),
            ),
            of("queue_pairs", RdmaPart::QueuePairs, queue_pair_interval, &pairs),
        ];
        let under_way = ResourceReading {
            id: ResourceId::of(*device, RdmaPart::OutstandingReads),
            name: format!("{name}.outstanding_reads"),
            places: self.config.outstanding_reads * reads.len() as u32,
            limit: format!("{} a queue pair", self.config.outstanding_reads),
            book: reads.into_iter().sum(),
        };
        let shared = ResourceId::of(*device, RdmaPart::SharedPath);
        let shared = self.shared.reading(shared, format!("{name}.shared_path"), at);
        own.into_iter().chain([under_way]).chain(shared)
    }
}

impl RdmaNicConfig {
    /// Bytes of a work request: control, address and either a pointer or the data, in units of 64 B.
    pub(super) fn request_bytes(&self, request: &WorkRequest) -> Bytes {
        /// Control and address segments and the header of inline data, as mlx4 and mlx5 have them.
        const INLINE_HEADER: u64 = 36;
        match request.inline {
            true => Bytes::new((INLINE_HEADER + request.length.get()).next_multiple_of(64)),
            false => self.work_request,
        }
    }

    /// Whether the CPU pushes a request that is posted alone, or rings the doorbell and has it fetched.
    pub(super) fn pushes(&self, request: &WorkRequest) -> bool {
        let complete = request.inline || request.opcode == Opcode::Read || request.length == Bytes::ZERO;
        self.request_bytes(request) <= self.push_max && (complete || self.push_without_data)
    }
}
