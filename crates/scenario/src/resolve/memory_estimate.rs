//! What a run may take of memory, and whether that is more than it is given: said before it begins, because afterwards there is
//! nobody left to say it.
//!
//! Each parameter has a range, and their product has none: 4,096 jobs of 65,535 operations are 268 million. Counted are the
//! operations that every instrument may have open at a time, and the devices. Leaves out: what results take, which is little.

use crate::diagnostic::Diagnostic;
use crate::parameter::Output;
use crate::parameters::RunParameters;
use crate::problem::Problem;
use lanewise_fabric::config::FabricConfig;
use lanewise_units::order;
use lanewise_workload::{Demand, LoadConfig};

/// An open operation of any instrument: 75 to 165 B were measured of DMA, fio and IOmeter, and tables double when they grow.
const BYTES_PER_OPERATION: u64 = 512;

/// A device with its ports, link and parameters: 945 MiB were measured with 16,384 endpoints.
const BYTES_PER_DEVICE: u64 = 64 << 10;

/// Bytes that a run may take.
pub(crate) fn estimate(fabric: &FabricConfig, workloads: &[Box<dyn LoadConfig>]) -> u64 {
    let demands: Vec<Demand> = workloads.iter().flat_map(|load| load.demands()).collect();
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
    workloads: &[Box<dyn LoadConfig>],
    output: &mut Output,
) {
    let found = estimate(fabric, workloads);
    if found <= run.memory_limit.get() || !output.diagnostics.is_empty() {
        return;
    }
    let mut demands: Vec<Demand> = workloads.iter().flat_map(|load| load.demands()).collect();
    let (operations, devices) = (all_operations(&demands), fabric.devices.len());
    order::sort_by_key(&mut demands, |one| std::cmp::Reverse(one.operations));
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
