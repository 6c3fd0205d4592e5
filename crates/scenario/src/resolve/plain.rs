//! Plain traffic: DMA of endpoints, and the CPU's loads and stores.

use super::computed::Computed;
use super::kinds::{WorkloadKind, kind};
use super::peers::pairs;
use super::workload::{Seat, check_peer_to_peer, place, seats};
use super::{Inputs, functions};
use crate::file::WrittenWorkload;
use crate::parameter::ParameterTable;
use crate::parameter::{Output, Provenance};
use crate::parameters::{DirectionChoice, DmaParameters, MmioDirectionChoice, MmioParameters, OrderChoice};
use crate::problem::Problem;
use crate::value::Auto;
use lanewise_fabric::workload::{DeviceId, Target};
use lanewise_units::{Bytes, Span};
use lanewise_workload::load::dma::{DmaConfig, DmaDirection, OffsetOrder};
use lanewise_workload::load::mmio::{MmioConfig, MmioDirection, Pacing};

/// Plain DMA.
pub(super) const DMA: WorkloadKind = kind("dma", &DmaParameters::SCHEMA, &[], |reading, workload| {
    let read = dma(reading.inputs, workload, reading.computed, reading.output);
    reading.add(read);
})
.meant_by(|word| {
    let is_direction = matches!(word, "read" | "write");
    is_direction.then(|| format!("write `kind = \"dma\"` and `direction = \"{word}\"`"))
});

/// Loads and stores of the CPU.
pub(super) const MMIO: WorkloadKind = kind("mmio", &MmioParameters::SCHEMA, &[], |reading, workload| {
    let read = mmio(reading.inputs, workload, reading.output);
    reading.add(read);
})
.by_cores();

/// The target that stands for an address in nobody's window.
const NOBODY: &str = "nobody";

/// An instrument for each endpoint that the workload names, and for each of several targets of one.
pub(crate) fn dma(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    computed: &mut Computed,
    output: &mut Output,
) -> Vec<DmaConfig> {
    let path = workload.path();
    let Some((parameters, seats)) =
        seats(inputs, workload, |read: &DmaParameters| functions::split(&read.device).0, output)
    else {
        return Vec::new();
    };
    let seats: Vec<(Seat, Option<usize>)> = match parameters.target.as_str() {
        "memory" | NOBODY => seats.into_iter().map(|seat| (seat, None)).collect(),
        name => match pairs(inputs, workload, ("target", name), seats, output) {
            Some(pairs) => pairs.into_iter().map(|(seat, peer)| (seat, Some(peer))).collect(),
            None => return Vec::new(),
        },
    };
    let Some((stride, span)) = stride_and_span(workload, &parameters, computed, output) else {
        return Vec::new();
    };
    if parameters.traffic_class == Auto::Auto {
        for (seat, _) in &seats {
            let Some(endpoint) = inputs.endpoint(seat.instance) else { continue };
            let (value, source) = (endpoint.traffic_class.to_string(), "the device's `traffic_class`");
            computed.parameter(format!("{path}.traffic_class"), value, Provenance::Assumed, source);
        }
    }
    let mut configs = Vec::new();
    for (seat, target) in seats {
        if let Some(target) = target
            && !check_peer_to_peer(inputs, workload, "target", (seat.instance, target), output)
        {
            break;
        }
        let one = DmaConfig {
            device: seat.device(),
            name: seat.name,
            device_name: seat.device_name,
            function: None,
            direction: match parameters.direction {
                DirectionChoice::Read => DmaDirection::Read,
                DirectionChoice::Write => DmaDirection::Write,
                DirectionChoice::Both => DmaDirection::Both,
            },
            target: match target {
                Some(peer) => Target::Endpoint(DeviceId(peer as u32)),
                None if parameters.target == NOBODY => Target::Nobody,
                None => Target::HostMemory,
            },
            size: parameters.size,
            outstanding: parameters.outstanding,
            offset: parameters.offset.get(),
            traffic_class: parameters.traffic_class.given(),
            stride,
            span,
            order: match parameters.order {
                OrderChoice::Sequential => OffsetOrder::Sequential,
                OrderChoice::Random => OffsetOrder::Random,
            },
        };
        match functions::split(&parameters.device).1 {
            None => configs.push(one),
            Some(meant) => {
                let named = (parameters.device.as_str(), meant);
                let all = functions::among(inputs, workload, seat.instance, named, output);
                let several = all.len() > 1;
                configs.extend(all.map(|function| of_function(&one, function, several)));
            }
        }
    }
    configs
}

/// The same instrument on a virtual function; one of `several` has its name with that of the workload.
fn of_function(one: &DmaConfig, function: u8, several: bool) -> DmaConfig {
    let name = match several {
        true => one.name.beside(format!("{} {}.vf[{function}]", one.name, one.device_name)),
        false => one.name.clone(),
    };
    DmaConfig { name, function: Some(function), ..one.clone() }
}

/// How far apart transfers begin, and after how much they begin anew; `None` for a mistake.
fn stride_and_span(
    workload: &WrittenWorkload,
    parameters: &DmaParameters,
    computed: &mut Computed,
    output: &mut Output,
) -> Option<(Bytes, Bytes)> {
    let path = workload.path();
    let page = Bytes::from_kib(4);
    let stride = parameters.stride.given().unwrap_or(parameters.size.round_up_to(page));
    let span = parameters.span.given().unwrap_or(Bytes::from_kib(64 * 1024).max(stride * 8));
    if parameters.stride == Auto::Auto {
        let source = "the size, rounded up to a page: a buffer for each operation";
        computed.parameter(format!("{path}.stride"), stride.to_string(), Provenance::Assumed, source);
    }
    if parameters.span == Auto::Auto {
        let source = "64 MiB or eight strides, whichever is more";
        computed.parameter(format!("{path}.span"), span.to_string(), Provenance::Assumed, source);
    }
    if span < stride {
        let (low, high) = (stride.to_string(), "1 PiB".to_owned());
        let problem =
            Problem::OutOfRange { path: format!("{path}.span"), found: span.to_string(), low, high };
        let hint = "the span holds at least one stride".to_owned();
        output.report(place(workload, "span"), problem, Some(hint));
        return None;
    }
    Some((stride, span))
}

/// An instrument for each endpoint that the workload names.
pub(crate) fn mmio(inputs: &Inputs<'_>, workload: &WrittenWorkload, output: &mut Output) -> Vec<MmioConfig> {
    let path = workload.path();
    let Some((parameters, seats)) = seats(inputs, workload, |read: &MmioParameters| &read.device, output)
    else {
        return Vec::new();
    };
    if parameters.write_combining {
        let store = parameters.size.get();
        if !store.is_power_of_two() {
            let (path, found) = (format!("{path}.write_combining"), "true".to_owned());
            let allowed = "`false`, except for accesses of 1, 2, 4 … 64 B".to_owned();
            output.report(
                place(workload, "write_combining"),
                Problem::UnknownChoice { path, found, allowed },
                None,
            );
            return Vec::new();
        }
    }
    let configs = seats.into_iter().map(|seat| MmioConfig {
        cost: inputs.host_above(seat.instance).map_or(Span::ZERO, |host| match parameters.direction {
            MmioDirectionChoice::Read if !parameters.write_combining => host.poll_cost,
            _ => host.store_cost,
        }),
        answer: inputs.host_above(seat.instance).map_or(Span::ZERO, |host| host.core_latency),
        pacing: match (parameters.write_combining, parameters.interval) {
            (true, _) => Pacing::Combining {
                buffers: inputs.host_above(seat.instance).map_or(1, |host| host.combining_buffers),
            },
            (false, Some(interval)) => Pacing::Open { interval },
            (false, None) => Pacing::Closed { outstanding: parameters.outstanding },
        },
        device: seat.device(),
        name: seat.name,
        device_name: seat.device_name,
        direction: match parameters.direction {
            MmioDirectionChoice::Read => MmioDirection::Read,
            MmioDirectionChoice::Write => MmioDirection::Write,
        },
        size: parameters.size,
    });
    configs.collect()
}
