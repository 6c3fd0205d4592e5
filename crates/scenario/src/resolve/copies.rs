//! Copies: from names, engines and sizes to instruments.

use super::Inputs;
use super::computed::Computed;
use super::kinds::{Group, WorkloadKind, kind};
use super::peers::pairs;
use super::workload::{Seat, check_peer_to_peer, place, seats, unknown};
use crate::file::WrittenWorkload;
use crate::nearest::asking;
use crate::parameter::ParameterTable;
use crate::parameter::{Output, Provenance};
use crate::parameters::{
    CopyDirectionChoice, CopyParameters, EndpointParameters, EngineChoice, HostParameters, PeerCopyChoice,
};
use crate::problem::Problem;
use crate::structure::ComponentKind;
use crate::value::Auto;
use lanewise_fabric::config::EngineConfig;
use lanewise_fabric::workload::{DeviceId, Direction, Target};
use lanewise_units::{Bytes, Span};
use lanewise_workload::device::gpu::{CopyCosts, Staging};
use lanewise_workload::load::copy::{CopyConfig, CopyWay};

/// Copy engines of a device.
pub(super) const COPY_ENGINES: Group = Group { of: ComponentKind::Endpoint, key: "copy_engine" };
/// Kernels of a device that move data.
pub(super) const KERNELS: Group = Group { of: ComponentKind::Endpoint, key: "kernel" };
const PAGEABLE: Group = Group { of: ComponentKind::Host, key: "pageable" };

/// Copies by a device.
pub(super) const COPY: WorkloadKind = kind("copy", &CopyParameters::SCHEMA, &[], |reading, workload| {
    let read = configs(reading.inputs, workload, reading.computed, reading.output);
    reading.add(read);
})
.using(&[COPY_ENGINES, KERNELS, PAGEABLE])
.meant_by(|word| matches!(word, "nvbandwidth" | "bandwidthtest" | "memcpy").then(|| asking("copy")));

/// An instrument for each endpoint that the workload names, and for each of several peers of one.
pub(crate) fn configs(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    computed: &mut Computed,
    output: &mut Output,
) -> Vec<CopyConfig> {
    let path = workload.path();
    let Some((parameters, seats)) = seats(inputs, workload, |read: &CopyParameters| &read.device, output)
    else {
        return Vec::new();
    };
    let seats: Vec<(Seat, Option<usize>)> = match (parameters.direction, parameters.target.as_str()) {
        (CopyDirectionChoice::Peer, "none") => {
            let expected = "the other device, such as \"gpu[1]\"".to_owned();
            let problem = Problem::MissingKey { path: path.to_owned(), key: "target".to_owned(), expected };
            output.report(place(workload, "direction"), problem, None);
            return Vec::new();
        }
        (CopyDirectionChoice::Peer, name) => match pairs(inputs, workload, ("target", name), seats, output) {
            Some(pairs) => pairs.into_iter().map(|(seat, peer)| (seat, Some(peer))).collect(),
            None => return Vec::new(),
        },
        (_, "none") => seats.into_iter().map(|seat| (seat, None)).collect(),
        (_, name) => {
            let expected = "only copies in direction `peer` have a target".to_owned();
            unknown(inputs, workload, "target", name, expected, output);
            return Vec::new();
        }
    };
    if parameters.direction == CopyDirectionChoice::Peer && !parameters.pinned {
        let (path, found) = (format!("{path}.pinned"), "false".to_owned());
        let problem = Problem::UnknownChoice { path, found, allowed: "`true` for peers".to_owned() };
        let hint = "memory of a device is never pageable".to_owned();
        output.report(place(workload, "pinned"), problem, Some(hint));
        return Vec::new();
    }
    if parameters.sizes.contains(&Bytes::ZERO) {
        let (path, found) = (format!("{path}.sizes"), Bytes::ZERO.to_string());
        let problem = Problem::OutOfRange { path, found, low: "1 B".to_owned(), high: "1024 GiB".to_owned() };
        output.report(place(workload, "sizes"), problem, None);
        return Vec::new();
    }
    if parameters.queued && (parameters.engine == EngineChoice::Kernel || !parameters.pinned) {
        let (path, found) = (format!("{path}.queued"), "true".to_owned());
        let allowed = "`false` for kernels and for pageable memory".to_owned();
        output.report(place(workload, "queued"), Problem::UnknownChoice { path, found, allowed }, None);
        return Vec::new();
    }
    let copies = copies(&parameters, &path, computed);
    let mut configs = Vec::new();
    for (seat, peer) in seats {
        if let Some(peer) = peer
            && !check_peer_to_peer(inputs, workload, "target", (seat.instance, peer), output)
        {
            break;
        }
        let Some(endpoint) = inputs.endpoint(seat.instance) else { continue };
        configs.push(config(inputs, seat, &parameters, endpoint, peer, copies));
    }
    configs
}

fn config(
    inputs: &Inputs<'_>,
    seat: Seat,
    parameters: &CopyParameters,
    endpoint: &EndpointParameters,
    peer: Option<usize>,
    copies: Option<u32>,
) -> CopyConfig {
    let pageable = inputs.host_above(seat.instance).filter(|_| !parameters.pinned);
    let Mover { engine, engines, mut costs } = mover(parameters.engine, endpoint, pageable);
    if parameters.queued {
        (costs.overhead, costs.completion) = (endpoint.copy_engine.gap, Span::ZERO);
    } else if parameters.runtime_call && parameters.engine == EngineChoice::CopyEngine {
        costs.call = endpoint.copy_engine.call;
    }
    CopyConfig {
        device: seat.device(),
        name: seat.name,
        device_name: seat.device_name,
        ways: ways(parameters, peer),
        is_kernel: parameters.engine == EngineChoice::Kernel,
        engine,
        engines,
        costs,
        sizes: if parameters.sizes.is_empty() { vec![parameters.size] } else { parameters.sizes.clone() },
        copies,
        streams: parameters.streams,
        queued: parameters.queued,
    }
}

/// Copies of each size; none for as many as there is time for.
fn copies(parameters: &CopyParameters, path: &str, computed: &mut Computed) -> Option<u32> {
    match (parameters.copies, parameters.sizes.is_empty()) {
        (Auto::Given(copies), _) => Some(copies),
        (Auto::Auto, true) => None,
        (Auto::Auto, false) => {
            let source = "nvbandwidth takes 16 times in a row";
            computed.parameter(format!("{path}.copies"), "16".to_owned(), Provenance::Assumed, source);
            Some(16)
        }
    }
}

fn ways(parameters: &CopyParameters, peer: Option<usize>) -> Vec<CopyWay> {
    let to_device =
        CopyWay { word: "host-to-device", direction: Direction::Read, target: Target::HostMemory };
    let to_host = CopyWay { word: "device-to-host", direction: Direction::Write, target: Target::HostMemory };
    match (parameters.direction, peer) {
        (CopyDirectionChoice::HostToDevice, _) => vec![to_device],
        (CopyDirectionChoice::DeviceToHost, _) => vec![to_host],
        (CopyDirectionChoice::Both, _) | (CopyDirectionChoice::Peer, None) => vec![to_device, to_host],
        (CopyDirectionChoice::Peer, Some(peer)) => {
            let target = Target::Endpoint(DeviceId(peer as u32));
            vec![match parameters.by {
                PeerCopyChoice::Write => CopyWay { word: "peer write", direction: Direction::Write, target },
                PeerCopyChoice::Read => CopyWay { word: "peer read", direction: Direction::Read, target },
            }]
        }
    }
}

/// How kernels of a device load and store.
pub(super) fn kernel_engine(endpoint: &EndpointParameters) -> EngineConfig {
    mover(EngineChoice::Kernel, endpoint, None).engine
}

/// Who moves the data, and what that costs.
pub(super) struct Mover {
    pub engine: EngineConfig,
    pub engines: u32,
    pub costs: CopyCosts,
}

/// What moves data of an endpoint; by way of pageable memory of this host, if there is one.
pub(super) fn mover(
    choice: EngineChoice,
    endpoint: &EndpointParameters,
    pageable: Option<&HostParameters>,
) -> Mover {
    let (write_unit, read_unit, outstanding, engines, overhead, completion) = match choice {
        EngineChoice::CopyEngine => {
            let it = &endpoint.copy_engine;
            (it.write_unit, it.read_unit, it.outstanding, it.engines, it.overhead, it.completion)
        }
        EngineChoice::Kernel => {
            let it = &endpoint.kernel;
            (it.write_unit, it.read_unit, it.outstanding, 1, it.overhead, it.completion)
        }
    };
    let engine = EngineConfig {
        write_unit: write_unit.given().map(|unit| unit.0),
        read_unit: read_unit.given().map(|unit| unit.0),
        outstanding: outstanding.given(),
    };
    let staging = pageable.map(|host| Staging {
        rate: host.pageable.copy_rate,
        chunk: host.pageable.chunk,
        buffers: host.pageable.buffers,
        cost: host.pageable.chunk_cost,
    });
    Mover { engine, engines, costs: CopyCosts { overhead, call: Span::ZERO, completion, staging } }
}
