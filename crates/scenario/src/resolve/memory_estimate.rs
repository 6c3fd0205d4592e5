//! What a run may take of memory, and whether that is more than it is given: said before it begins, because afterwards there is
//! nobody left to say it.
//!
//! Each parameter has a range, and their product has none: 4,096 jobs of 65,535 operations are 268 million. Counted are the
//! operations that every instrument may have open at a time, and the devices. Leaves out: what results take, which is little.

use super::WorkloadConfig;
use crate::diagnostic::Diagnostic;
use crate::parameter::Output;
use crate::parameters::RunParameters;
use crate::problem::Problem;
use lanewise_fabric::config::FabricConfig;
use lanewise_workload::fio::IoEngine;
use lanewise_workload::mmio::Pacing;
use lanewise_workload::rdma::RdmaToolConfig;
use lanewise_workload::storage::{IometerConfig, TargetAssignment};

/// An open operation of any instrument: 75 to 165 B were measured of DMA, fio and IOmeter, and tables double when they grow.
const BYTES_PER_OPERATION: u64 = 512;

/// A device with its ports, link and parameters: 945 MiB were measured with 16,384 endpoints.
const BYTES_PER_DEVICE: u64 = 64 << 10;

/// Operations that an instrument may have open at a time, and by which of its parameters.
struct Demand {
    operations: u64,
    of: String,
}

/// Bytes that a run may take.
pub(crate) fn estimate(fabric: &FabricConfig, workloads: &[WorkloadConfig]) -> u64 {
    let demands: Vec<Demand> = workloads.iter().flat_map(demands).collect();
    let devices = fabric.devices.len() as u64;
    all_operations(&demands)
        .saturating_mul(BYTES_PER_OPERATION)
        .saturating_add(devices.saturating_mul(BYTES_PER_DEVICE))
}

fn all_operations(demands: &[Demand]) -> u64 {
    demands.iter().fold(0, |sum, one| sum.saturating_add(one.operations))
}

/// Reports a run that may take more memory than `run.memory_limit`.
pub(crate) fn check(
    run: &RunParameters,
    fabric: &FabricConfig,
    workloads: &[WorkloadConfig],
    output: &mut Output,
) {
    let found = estimate(fabric, workloads);
    if found <= run.memory_limit.get() || !output.diagnostics.is_empty() {
        return;
    }
    let mut demands: Vec<Demand> = workloads.iter().flat_map(demands).collect();
    let (operations, devices) = (all_operations(&demands), fabric.devices.len());
    demands.sort_by_key(|one| std::cmp::Reverse(one.operations));
    let largest: Vec<String> = demands
        .iter()
        .filter(|one| one.operations >= operations / 16)
        .take(3)
        .map(|one| format!("`{}` may have {} operations open", one.of, one.operations))
        .collect();
    let most = match largest.is_empty() || operations.saturating_mul(BYTES_PER_OPERATION) < found / 2 {
        true => format!("there are {devices} devices"),
        false => largest.join(", "),
    };
    let mib = found.div_ceil(1 << 20);
    let problem =
        Problem::TooMuchMemory { found: format!("{mib} MiB"), allowed: run.memory_limit.to_string(), most };
    let hint = "lower what these are, or raise `run.memory_limit` if the machine has as much";
    output.diagnostics.push(Diagnostic::global(problem).hint(hint));
}

fn demands(workload: &WorkloadConfig) -> Vec<Demand> {
    let one = |operations: u64, of: String| vec![Demand { operations, of }];
    match workload {
        WorkloadConfig::Dma(config) => {
            one(u64::from(config.outstanding) * 2, format!("{}.outstanding", config.name))
        }
        WorkloadConfig::Rings(config) => {
            one(u64::from(config.outstanding), format!("{}.outstanding", config.name))
        }
        WorkloadConfig::Mmio(config) => match config.pacing {
            Pacing::Closed { outstanding } => {
                one(u64::from(outstanding), format!("{}.outstanding", config.name))
            }
            Pacing::Open { .. } | Pacing::Combining { .. } => Vec::new(),
        },
        WorkloadConfig::Copy(config) => one(u64::from(config.streams), format!("{}.streams", config.name)),
        WorkloadConfig::Storage(config) => config.groups.iter().map(of_iometer).collect(),
        WorkloadConfig::Nvme(config) => {
            let of_fio = |fio: &lanewise_workload::fio::FioConfig| {
                let depth = if fio.engine == IoEngine::Synchronous { 1 } else { u64::from(fio.depth) };
                let of = format!("{}.numjobs × {0}.iodepth", fio.name);
                Demand { operations: u64::from(fio.jobs) * depth, of }
            };
            config.groups.iter().map(|group| of_fio(&group.fio)).collect()
        }
        WorkloadConfig::Rdma(config) => config.tools.iter().map(of_tool).collect(),
        WorkloadConfig::Turnaround(_) | WorkloadConfig::Frames(_) | WorkloadConfig::Ethernet(_) => Vec::new(),
    }
}

fn of_iometer(group: &IometerConfig) -> Demand {
    let workers = u64::from(group.managers) * u64::from(group.workers);
    let targets = group.targets.len() as u64;
    // Each worker has at least one target.
    let seats = match group.assignment {
        TargetAssignment::Split => targets.max(workers),
        TargetAssignment::Shared => targets.saturating_mul(workers),
    };
    let of = format!("{}.workers × {0}.outstanding × targets", group.name);
    Demand { operations: seats.saturating_mul(u64::from(group.outstanding)), of }
}

fn of_tool(tool: &RdmaToolConfig) -> Demand {
    let name = tool.name();
    match tool {
        RdmaToolConfig::Perftest(config) => {
            let ways = if config.bidirectional { 2 } else { 1 };
            let operations = u64::from(config.queue_pairs) * u64::from(config.tx_depth) * ways;
            Demand { operations, of: format!("{name}.queue_pairs × {name}.tx_depth") }
        }
        RdmaToolConfig::Osu(config) => {
            Demand { operations: u64::from(config.window) * 2, of: format!("{name}.window") }
        }
        RdmaToolConfig::Transactions(config) => {
            Demand { operations: u64::from(config.connections), of: format!("{name}.connections") }
        }
    }
}
