//! The sizes of a collective, and how each is done: what is written, and what NCCL would do where nothing is.

use super::super::kinds::Reading;
use super::super::workload::place;
use super::ways::{Around, entries, of_rank};
use crate::parameter::Provenance;
use crate::parameters::{AlgorithmChoice, ProtocolChoice};
use crate::problem::Problem;
use crate::value::{Auto, ParameterType};
use lanewise_units::{Bytes, Generation};
use lanewise_workload::load::collective::{
    Algorithm, Hardware, Hop, Operation, Pass, Protocol, search, tuning,
};

/// Operations of each of several sizes that are timed.
const TIMED: u32 = 5;
/// Most sizes of a workload.
const SIZES: usize = 64;

/// How a collective is done.
pub(super) struct Done {
    /// Every size.
    pub passes: Vec<Pass>,
    /// How many operations of each are timed, where there are several.
    pub operations: Option<u32>,
    /// Where rings enter hosts: [`lanewise_workload::load::collective::Layout`].
    pub entries: Vec<Vec<u32>>,
}

/// Every size, and what they have in common.
pub(super) fn all(
    around: &Around<'_, '_>,
    operation: Operation,
    reading: &mut Reading<'_, '_>,
) -> Option<Done> {
    let parameters = around.parameters;
    let (first, factor) = (parameters.size, u64::from(parameters.factor));
    let last = parameters.max_size.given().unwrap_or(first);
    let refuse = |key: &str, problem: Problem, hint: &str, reading: &mut Reading<'_, '_>| {
        reading.output.report(place(around.workload, key), problem, Some(hint.to_owned()));
        None
    };
    if last < first {
        let path = around.workload.path_of("max_size");
        let (found, low, high) = (last.to_string(), first.to_string(), "64 GiB".to_owned());
        let problem = Problem::OutOfRange { path, found, low, high };
        return refuse("max_size", problem, "it is the last of several sizes, `size` the first", reading);
    }
    if parameters.algorithm == Auto::Given(AlgorithmChoice::Tree) && operation != Operation::AllReduce {
        let path = around.workload.path_of("algorithm");
        let problem =
            Problem::UnknownChoice { path, found: "tree".to_owned(), allowed: "\"ring\"".to_owned() };
        return refuse("algorithm", problem, "NCCL has trees for an all-reduce", reading);
    }
    let sizes = std::iter::successors(Some(first), |size| size.get().checked_mul(factor).map(Bytes::new));
    let sizes: Vec<Bytes> = sizes.take_while(|size| *size <= last).take(SIZES).collect();
    let (machine, entries) = machine(around, reading);
    let passes: Vec<Pass> = sizes.iter().map(|size| pass(around, operation, *size, &machine)).collect();
    let stuck = |pass: &&Pass| goes_round(operation, pass.algorithm) && pass.window <= pass.slices;
    if let Some(pass) = passes.iter().find(stuck) {
        let path = around.workload.path_of("window");
        let (found, low) = (pass.window.to_string(), (pass.slices + 1).to_string());
        let problem = Problem::OutOfRange { path, found, low, high: "65536".to_owned() };
        let hint =
            "in a ring every device sends a step before it takes one: more slices than `slices` have to fit";
        return refuse("window", problem, hint, reading);
    }
    tell(around, operation, &passes, reading);
    let operations = match (parameters.operations, parameters.max_size) {
        (Auto::Given(operations), _) => Some(operations),
        (Auto::Auto, Auto::Auto) => None,
        (Auto::Auto, Auto::Given(_)) => {
            let source = "operations of a size differ little";
            let path = around.workload.path_of("operations");
            reading.computed.parameter(path, TIMED.to_string(), Provenance::Assumed, source);
            Some(TIMED)
        }
    };
    Some(Done { passes, operations, entries })
}

/// What NCCL's estimate counts with: the rings that its search finds within a host, or over the adapters of several.
///
/// Leaves out how many channels two ranks have by the rates of side links: as many as rings do.
fn machine(around: &Around<'_, '_>, reading: &mut Reading<'_, '_>) -> (tuning::Machine, Vec<Vec<u32>>) {
    let ranks = around.ranks;
    let nodes = ranks.iter().map(|rank| rank.node + 1).max().unwrap_or(1);
    let of_nodes = if nodes > 1 { around.adapters(reading) } else { Vec::new() };
    // All hosts have as many rings as the one whose adapters carry least.
    let rates = of_nodes.iter().map(|adapters| adapters.iter().map(|adapter| adapter.rate).collect());
    let all = |rates: &Vec<f64>| rates.iter().sum::<f64>();
    let adapters: Vec<f64> = rates.min_by(|one, other| all(one).total_cmp(&all(other))).unwrap_or_default();
    let ways = search::Ways {
        within: if around.have_side_links() { Hardware::SideLink } else { Hardware::Pci },
        rate: around.rate_within(reading),
        most: around.most(reading),
        is_alone: ranks.len() as u32 == nodes,
        compute_capability: around.compute_capability(),
        adapters: &adapters,
        of_rank: &of_rank(&of_nodes, ranks.len() as u32),
    };
    let rings = search::rings(&ways);
    let of_rings = search::channels(&rings, ways.compute_capability, nodes);
    let channels = around.parameters.channels.given().unwrap_or(of_rings);
    let entries = if nodes > 1 { entries(&of_nodes, rings.distinct) } else { Vec::new() };
    let machine = tuning::Machine {
        ranks: ranks.len() as u32,
        nodes,
        within: ways.within,
        compute_capability: ways.compute_capability,
        bandwidth: rings.bandwidth,
        tree_bandwidth: if nodes > 2 { rings.bandwidth } else { rings.tree_bandwidth },
        channels,
        pair_channels: search::of_pair(&ways, channels, (ranks.len() as u32, nodes)),
        rings: rings.count,
        is_amd: around.are_all_amd(),
    };
    (machine, entries)
}

/// Bytes a second that NCCL takes of the link above an instance, if there is one.
pub(super) fn of_link_above(reading: &Reading<'_, '_>, instance: usize) -> Option<f64> {
    let mode = reading.trained.get(instance)?.as_ref()?.mode;
    Some(mode.width.lanes() as f64 * of_lane(mode.generation))
}

/// Bytes a second that NCCL takes of a lane: `kvDictPciGen`, src/graph/topo.cc.
fn of_lane(generation: Generation) -> f64 {
    let steps = Generation::ALL.iter().take_while(|other| **other < generation).count();
    1.5e9 / 8.0 * f64::from(1 << steps)
}

/// Whether data come back to where they began: then nobody takes anything before all have sent a step.
fn goes_round(operation: Operation, algorithm: Algorithm) -> bool {
    let all = matches!(operation, Operation::AllReduce | Operation::ReduceScatter | Operation::AllGather);
    all && algorithm == Algorithm::Ring
}

fn pass(around: &Around<'_, '_>, operation: Operation, size: Bytes, machine: &tuning::Machine) -> Pass {
    let parameters = around.parameters;
    let allowed = (parameters.algorithm.given().map(algorithm), parameters.protocol.given().map(protocol));
    let (algorithm, protocol) = tuning::choose(operation, size, machine, allowed);
    let channels = tuning::channels_for(operation, (algorithm, protocol), size, machine);
    let cut = tuning::cut(operation, (algorithm, protocol), size, machine);
    let chunk = parameters.chunk.given().unwrap_or(cut.chunk);
    // In a ring a window holds more than the slices of a step: of the two the one that is not given follows the other.
    let most = match parameters.window {
        Auto::Given(window) if goes_round(operation, algorithm) => window.saturating_sub(1).max(1),
        _ => u32::MAX,
    };
    let slices = parameters.slices.given().unwrap_or(cut.slices.min(most));
    let window = parameters.window.given().unwrap_or(cut.window.max(slices.saturating_add(1)));
    let least_slice = match (parameters.chunk, parameters.slices) {
        (Auto::Auto, Auto::Auto) => cut.least_slice,
        _ => Bytes::new(16),
    };
    let hop = |hardware| match parameters.step_time {
        Auto::Given(span) => Hop::AfterArrival(span),
        Auto::Auto => Hop::Whole(tuning::hop_latency_of(hardware, (algorithm, protocol), machine)),
    };
    Pass {
        size,
        algorithm,
        protocol,
        launch: parameters.launch.given().unwrap_or_else(|| tuning::base_latency(algorithm, protocol)),
        hops: Hardware::ALL.map(hop),
        channels,
        chunk,
        slices,
        least_slice,
        window,
        in_turn: is_cut_in_turns(operation, protocol) && least_slice == cut.least_slice,
    }
}

/// Whether NCCL's slices are what a block of threads moves in one turn.
fn is_cut_in_turns(operation: Operation, protocol: Protocol) -> bool {
    protocol != Protocol::Simple && !operation.is_between_pairs()
}

/// What `explain` says in the place of "auto": one value, or each with the sizes from which on it holds.
fn tell(around: &Around<'_, '_>, operation: Operation, passes: &[Pass], reading: &mut Reading<'_, '_>) {
    let parameters = around.parameters;
    let mut tell = |key: &str, is_auto: bool, value: &dyn Fn(&Pass) -> String, source: &'static str| {
        if is_auto {
            let (path, value) = (around.workload.path_of(key), by_size(passes, value));
            reading.computed.parameter(path, value, Provenance::Datasheet, source);
        }
    };
    let fastest = "the fastest by NCCL's own estimate, src/graph/tuning.cc of NVIDIA/nccl 2.30.7";
    if !operation.is_between_pairs() {
        tell("algorithm", parameters.algorithm == Auto::Auto, &|pass| word(pass.algorithm), fastest);
        tell("protocol", parameters.protocol == Auto::Auto, &|pass| name(pass.protocol), fastest);
    }
    let buffers = "the protocol's buffer and its eight steps, src/init.cc and src/include/collectives.h of NVIDIA/nccl 2.30.7";
    tell("chunk", parameters.chunk == Auto::Auto, &|pass| pass.chunk.to_string(), buffers);
    tell("slices", parameters.slices == Auto::Auto, &|pass| pass.slices.to_string(), buffers);
    tell("window", parameters.window == Auto::Auto, &|pass| pass.window.to_string(), buffers);
    let rings = "src/graph/search.cc and src/graph/connect.cc of NVIDIA/nccl 2.30.7; fewer of little data, src/enqueue.cc";
    tell("channels", parameters.channels == Auto::Auto, &|pass| pass.channels.to_string(), rings);
    let base = "baseLatencies, src/graph/tuning.cc of NVIDIA/nccl 2.30.7";
    tell("launch", parameters.launch == Auto::Auto, &|pass| pass.launch.to_string(), base);
}

fn by_size(passes: &[Pass], value: &dyn Fn(&Pass) -> String) -> String {
    let mut told: Vec<(Bytes, String)> = Vec::new();
    for pass in passes {
        let value = value(pass);
        if told.last().is_none_or(|(_, last)| *last != value) {
            told.push((pass.size, value));
        }
    }
    let several = told.len() > 1;
    let one = |(size, value): (Bytes, String)| if several { format!("{value} from {size}") } else { value };
    let told = told.into_iter().map(one).collect::<Vec<_>>().join(", ");
    if several { format!("{told}, by size") } else { told }
}

fn algorithm(choice: AlgorithmChoice) -> Algorithm {
    match choice {
        AlgorithmChoice::Ring => Algorithm::Ring,
        AlgorithmChoice::Tree => Algorithm::Tree,
    }
}

fn protocol(choice: ProtocolChoice) -> Protocol {
    match choice {
        ProtocolChoice::Simple => Protocol::Simple,
        ProtocolChoice::Ll => Protocol::Ll,
        ProtocolChoice::Ll128 => Protocol::Ll128,
    }
}

fn word(algorithm: Algorithm) -> String {
    match algorithm {
        Algorithm::Ring => AlgorithmChoice::Ring.show(),
        Algorithm::Tree => AlgorithmChoice::Tree.show(),
    }
}

fn name(protocol: Protocol) -> String {
    match protocol {
        Protocol::Simple => ProtocolChoice::Simple.show(),
        Protocol::Ll => ProtocolChoice::Ll.show(),
        Protocol::Ll128 => ProtocolChoice::Ll128.show(),
    }
}
