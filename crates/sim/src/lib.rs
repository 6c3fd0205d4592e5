//! The facade: scenario in, results out. `explain`, `run`, `parts` and `bench` of the command line are one call each.
//!
//! ```
//! use lanewise_scenario::Source;
//! use lanewise_sim::{load, run};
//!
//! let text = r#"
//!     [host.server]
//!     slots = { slot1 = "gen3 x8" }
//!     [endpoint.nic]
//!     attach = "server.slot1"
//!     generation = "gen3"
//!     width = "x8"
//!     [[workload]]
//!     kind = "dma"
//!     device = "nic"
//!     direction = "write"
//! "#;
//! let scenario = load(&Source::from_text("one_nic.toml", text), &[]).expect("a sound scenario");
//! let results = run(&scenario, &mut |_| std::ops::ControlFlow::Continue(())).expect("a tree of devices");
//! let goodput = results.flows[0].goodput_gb_per_s;
//! assert!(goodput > 6.5 && goodput < 7.3, "{goodput} GB/s");
//! ```

pub mod bench;
mod bit_errors;
mod carried;
mod counts;
mod document;
mod limits;
mod measured;
mod phases;
mod progress;
mod results;
mod run_limits;
mod rungs;
mod runner;
mod session;
mod shape;
mod side_by_side;
mod state;
mod stop_rule;
mod threads;
mod trace;

pub use carried::{Carried, SteadyPackets, carried};
pub use document::{Document, FORMAT};
pub use lanewise_fabric::AssemblyError;
pub use lanewise_observe::{Around, TraceKind};
pub use lanewise_scenario::{ChangedValue, Diagnostics, Scenario, Source, catalog, load, span_from_text};
pub use limits::{Edit, FlowLimit, Larger, LimitPlace, LimitedBy, Why, why};
pub use phases::{Phase, PhaseFlow};
pub use progress::{FlowUpdate, Rates, RunProgress, Updates};
pub use results::{
    Assumption, Buffer, Direction, Flow, Instrument, Ladder, Latency, Link, NamedValue, ParameterChange,
    PercentileInterval, Requester, Resource, Results, Threads,
};
pub use run_limits::{EndName, EndReason};
pub use rungs::{NoSuchLink, Rungs, SteadyWrites, rungs};
pub use session::{Ends, Session, Status};
pub use state::{ByClass, LiveDirection, LiveLink, LivePool, LiveRequester, LiveResource, State};
pub use stop_rule::student_t;
pub use threads::run_on;
pub use trace::{
    Direction as TraceDirection, JsonLines, Listing, Station, Trace, TraceAround, TraceEnd, TraceForm,
    TraceFrame, TraceOf, TraceRequest, TraceRow, TraceWait, TraceWords, TracedRequest, Transaction,
    WireDirection, WrongWords, around_name, link_names, trace, write_trace,
};

use bit_errors::Uncertain;
use lanewise_fabric::config::FabricConfig;
use lanewise_fabric::workload::Metric;
use lanewise_fabric::{Pause, Simulation, Waiter};
use lanewise_observe::{CONTROL, FlowSpec, FlowTally};
use lanewise_scenario::{Auto, RunUntil, name_order};
use lanewise_units::{Bytes, Span, Time, order};
use lanewise_workload::{LoadConfig, Tool};
use run_limits::{LatencyGoal, RunLimits};
use runner::{Outcome, Piece};
use std::collections::HashSet;
use std::ops::ControlFlow;
use stop_rule::{Lacking, Settled};

/// Runs a scenario to its end. `progress` is called many times a second and may ask for an early end.
///
/// # Errors
/// When the scenario's devices do not form trees, or their BARs do not fit; resolving a scenario has excluded that.
pub fn run(
    scenario: &Scenario,
    progress: &mut dyn FnMut(&RunProgress<'_>) -> ControlFlow<()>,
) -> Result<Results, AssemblyError> {
    let mut session = Session::of(scenario, Ends::WhenNarrow)?;
    while session.piece(Pause::NEVER) != Piece::Over && progress(&session.progress()).is_continue() {}
    Ok(session.finish())
}

/// When a run of a scenario ends.
pub(crate) fn limits_of(scenario: &Scenario, ends: Ends) -> RunLimits {
    RunLimits {
        time_limit: scenario.run.time_limit,
        event_limit: scenario.run.event_limit,
        memory_limit: scenario.run.memory_limit.get(),
        warm_up: match scenario.run.warm_up {
            Auto::Auto => None,
            Auto::Given(warm_up) => Some(warm_up),
        },
        confidence_level: scenario.run.confidence_level.0,
        relative_half_width: scenario.run.relative_half_width.0,
        latency: (scenario.run.until == RunUntil::Latency).then_some(LatencyGoal {
            percentile: scenario.run.latency_percentile.0,
            relative_half_width: scenario.run.latency_half_width.0,
        }),
        first_change: first_change(scenario),
        converges: ends == Ends::WhenNarrow,
    }
}

/// The simulation of a scenario, at rest, with its workloads.
pub(crate) fn build(scenario: &Scenario) -> Result<Simulation, AssemblyError> {
    let mut simulation = Simulation::build(&scenario.fabric)?;
    for workload in &scenario.workloads {
        simulation.add_workload(workload.build());
    }
    simulation.start_in_order(order_of_start(scenario));
    Ok(simulation)
}

/// Workloads by their names, whatever their order in the file. Those that one entry of the file stands for keep their order.
fn order_of_start(scenario: &Scenario) -> Vec<usize> {
    let names = |load: &dyn LoadConfig| load.tools().into_iter().map(|tool| name_order(&tool.name)).min();
    let names: Vec<_> = scenario.workloads.iter().map(|load| names(&**load)).collect();
    let mut order: Vec<usize> = (0..names.len()).collect();
    order::sort_by(&mut order, |one, other| names[*one].cmp(&names[*other]));
    order
}

/// When the machine first changes, if it does.
fn first_change(scenario: &Scenario) -> Option<Span> {
    scenario.workloads.iter().filter_map(|load| load.first_change()).min()
}

fn read(scenario: &Scenario, simulation: &Simulation, outcome: &Outcome, limits: RunLimits) -> Results {
    let measured = outcome.end.saturating_since(outcome.warm_up_end);
    let stalled_waiting = match &outcome.reason {
        EndReason::Stalled(waiting) => waiting.iter().map(|one| one.describe(&scenario.fabric)).collect(),
        _ => Vec::new(),
    };
    let phases = phases::phases(simulation, outcome.warm_up_end, outcome.end);
    // Batches are those since the last change: they say nothing about means over all of the run.
    let steady = phases.is_empty();
    let of_errors = outcome.bit_errors.map_or(0.0, |of| of.relative_half_width);
    let half_width = |flow| {
        let of_batches = outcome.batches.relative_half_width(flow, limits.confidence_level);
        of_batches.filter(|_| steady).map(|width| width.max(of_errors))
    };
    let percentile = |flow| {
        let goal = limits.latency.filter(|_| steady)?;
        let found = outcome.latencies.interval(flow, goal.percentile, limits.confidence_level)?;
        let percentile = percent(goal.percentile);
        Some(PercentileInterval { percentile, low_ns: found.low, high_ns: found.high })
    };
    let flows = measured::flows(simulation, measured, half_width, percentile);
    let mut results = Results {
        changes: Vec::new(),
        limited_by: None,
        why: None,
        threads: None,
        title: scenario.title.clone(),
        lanewise_version: env!("CARGO_PKG_VERSION"),
        scenario_path: scenario.path.clone(),
        seed: scenario.run.seed,
        end_reason: outcome.reason.name(),
        end_detail: end_detail(outcome, limits, (simulation, &scenario.fabric), steady),
        stalled_waiting,
        simulated_s: (outcome.end - Time::ZERO).as_seconds(),
        warm_up_s: (outcome.warm_up_end - Time::ZERO).as_seconds(),
        measured_s: measured.as_seconds(),
        events: simulation.events_handled(),
        tlp_hops: simulation.fabric.observers().tlp_hops(),
        fingerprint: format!("{:016x}", simulation.fabric.observers().fingerprint()),
        phases,
        goodput_gb_per_s: measured::total(&flows, measured),
        flows,
        links: measured::links(simulation, &scenario.fabric),
        requesters: measured::requesters(simulation, &scenario.fabric, outcome.end),
        buffers: measured::buffers(simulation, &scenario.fabric, outcome.end),
        resources: measured::resources(simulation, measured, outcome.end),
        errors: measured::errors(simulation, &scenario.fabric),
        instruments: instruments(scenario, simulation, outcome.end),
        assumptions: assumptions(scenario),
        remarks: scenario.remarks.clone(),
    };
    let limits::Limits { run, flows } = limits::limits(scenario, &results);
    results.limited_by = run;
    for (flow, limit) in results.flows.iter_mut().zip(flows) {
        flow.limited_by = limit;
    }
    results
}

fn end_detail(
    outcome: &Outcome,
    limits: RunLimits,
    (simulation, fabric): (&Simulation, &FabricConfig),
    steady: bool,
) -> String {
    let mut besides = match outcome.settled {
        Settled::Yes => String::new(),
        Settled::Unknown => {
            "; too few operations had ended when measuring began to tell whether throughput had settled: \
             run.time_limit wants to be longer"
                .to_owned()
        }
        Settled::No => "; throughput had not settled when measuring began".to_owned(),
    };
    if outcome.reason != EndReason::Finished && steady {
        besides += &too_early(outcome, simulation);
    }
    besides += &motionless(simulation);
    let level = percent(limits.confidence_level);
    let width = percent(limits.relative_half_width);
    let limit = limits.time_limit;
    match &outcome.reason {
        EndReason::Converged => {
            let percentile = limits.latency.map_or(String::new(), |goal| {
                let (p, width) = (percent(goal.percentile), percent(goal.relative_half_width));
                format!(", and that of its p{p} latency within ±{width} %")
            });
            format!(
                "the {level} % confidence interval of every major flow is within ±{width} %{percentile}{besides}"
            )
        }
        EndReason::Finished => "every workload is done".to_owned(),
        EndReason::TimeLimit if outcome.changes_ahead > 0 => {
            format!("the time limit of {limit} came before every drive had moved{besides}")
        }
        EndReason::TimeLimit => {
            format!(
                "the time limit of {limit} came before {}{besides}",
                lacking(outcome, limits, (simulation, fabric))
            )
        }
        EndReason::EventLimit => {
            let what = lacking(outcome, limits, (simulation, fabric));
            format!("the limit of {} events came before {what}{besides}", limits.event_limit)
        }
        EndReason::MemoryLimit => {
            let limit = Bytes::new(limits.memory_limit);
            let growing = "more is asked for than is done, and what waits would soon take more memory than";
            format!("{growing} `run.memory_limit` = {limit}{besides}")
        }
        EndReason::Stalled(waiting) if waiting.iter().any(Waiter::is_busy) => {
            "requests are open, and links send the same again and again without anything getting through"
                .to_owned()
        }
        EndReason::Stalled(_) => "requests are open and nothing moves".to_owned(),
        EndReason::Interrupted => format!("interrupted; what was measured is kept{besides}"),
    }
}

/// What a run that came to a limit waited for: which flow, and how wide its interval was.
fn lacking(
    outcome: &Outcome,
    limits: RunLimits,
    (simulation, fabric): (&Simulation, &FabricConfig),
) -> String {
    let width = percent(limits.relative_half_width);
    let named = |flow: usize| named(&simulation.fabric.observers().flows()[flow].spec);
    match outcome.lacking {
        _ if outcome.awaits_end => "every workload had come to its end".to_owned(),
        Some(Lacking::Goodput(flow, found)) if found.is_finite() => {
            format!("±{width} % was reached: {} is at ±{:.2} %", named(flow), found * 100.0)
        }
        Some(Lacking::Goodput(flow, _)) => {
            format!("±{width} % was reached: {} says nothing yet", named(flow))
        }
        Some(Lacking::BitErrors(Uncertain { link, relative_half_width })) => format!(
            "±{width} % was reached: too few bit errors were seen on the link of {} to say more than ±{:.2} %",
            fabric.devices[fabric.links[link].lower.0].name,
            relative_half_width * 100.0
        ),
        Some(Lacking::Latency(flow, found)) => {
            let goal = limits.latency.expect("only then it is looked at");
            let (p, wanted) = (percent(goal.percentile), percent(goal.relative_half_width));
            let found = found
                .map_or("has too few samples".to_owned(), |width| format!("is at ±{:.1} %", width * 100.0));
            format!("p{p} latencies were known to ±{wanted} %: that of {} {found}", named(flow))
        }
        Some(Lacking::Anything) => format!("±{width} % was reached: no flow moved anything"),
        Some(Lacking::Batches) | None => {
            format!("±{width} % was reached: too little was measured for an interval{}", too_long(limits))
        }
    }
}

/// Which loads have moved nothing while others have, if some are: a flow of each, with its direction where the load has no other there.
fn motionless(simulation: &Simulation) -> String {
    let of_data =
        || simulation.fabric.observers().flows().iter().filter(|flow| flow.spec.direction != CONTROL);
    let moves = |flow: &&FlowTally| flow.payload() > Bytes::ZERO || flow.operations() > 0;
    let moved: HashSet<&str> = of_data().filter(moves).map(|flow| flow.spec.name.as_str()).collect();
    let specs = of_data().map(|flow| &flow.spec);
    let mut still: Vec<&FlowSpec> = specs.filter(|spec| !moved.contains(spec.name.as_str())).collect();
    let alike = |one: &FlowSpec, other: &FlowSpec| {
        (&one.name, &one.devices.label) == (&other.name, &other.devices.label)
    };
    let Some(first) = still.first().copied().filter(|_| !moved.is_empty()) else { return String::new() };
    let has_several = still.iter().filter(|other| alike(first, other)).count() > 1;
    still.dedup_by(|one, other| alike(one, other));
    let what = if has_several { format!("{} of {}", first.name, first.devices) } else { named(first) };
    format!("; {what}{} moved nothing in the measured time", and_more(still.len() - 1))
}

/// A flow, in words.
fn named(flow: &FlowSpec) -> String {
    format!("{} of {} ({})", flow.name, flow.devices, flow.direction)
}

fn and_more(others: usize) -> String {
    if others == 0 { String::new() } else { format!(" and {others} more") }
}

/// Which flows' latencies are of queues that were still filling, if some are.
fn too_early(outcome: &Outcome, simulation: &Simulation) -> String {
    let flows = simulation.fabric.observers().flows();
    let early = counts::begun_while_filling(simulation, outcome.warm_up_end);
    let Some(first) = early.first().map(|flow| &flows[*flow]) else { return String::new() };
    let mean = first.widest().sum_seconds() / first.widest().count() as f64;
    let before = (outcome.warm_up_end - Time::ZERO).as_seconds();
    format!(
        "; queues still filled when measuring began, after {}, so that latencies of {}{}, {} and more, are \
         too short: run.warm_up and run.time_limit want to be longer",
        in_words(before),
        named(&first.spec),
        and_more(early.len() - 1),
        in_words(mean),
    )
}

/// Seconds as a person writes them.
fn in_words(seconds: f64) -> String {
    match seconds {
        1e-3.. => format!("{:.3} ms", seconds * 1e3),
        _ => format!("{:.3} us", seconds * 1e6),
    }
}

/// That a warm-up which was given is too long for the time limit, if it is.
fn too_long(limits: RunLimits) -> String {
    let least = limits.warm_up.map(runner::least_time_limit).filter(|least| *least > limits.time_limit);
    least.map_or_else(String::new, |least| {
        format!("; with this run.warm_up, run.time_limit is at least {least}")
    })
}

/// A share of 1 in percent, as it was written: 0.007 times 100 is not 0.7 in binary.
fn percent(share: f64) -> f64 {
    (share * 1e10).round() / 1e8
}

fn instruments(scenario: &Scenario, simulation: &Simulation, until: Time) -> Vec<Instrument> {
    let reports = simulation.reports(until);
    let mut instruments = Vec::new();
    for (load, reports) in scenario.workloads.iter().zip(reports) {
        let mut tools: Vec<(Tool, Vec<Metric>)> = load.tools().into_iter().zip(reports).collect();
        order::sort_by_key(&mut tools, |(tool, _)| tool.entry);
        let named = |(tool, metrics): (Tool, Vec<Metric>)| {
            let metrics = metrics.into_iter().map(NamedValue::from).collect();
            Instrument { workload: tool.name, kind: tool.kind.to_owned(), metrics }
        };
        instruments.extend(tools.into_iter().map(named).filter(|report| !report.metrics.is_empty()));
    }
    instruments
}

fn assumptions(scenario: &Scenario) -> Vec<Assumption> {
    let explained = scenario.explained_parameters();
    let in_force = explained.into_iter().zip(&scenario.parameters);
    let assumed = in_force.filter(|(_, parameter)| parameter.is_assumption());
    assumed
        .map(|(parameter, resolved)| Assumption {
            is_out_of_the_way: resolved.is_out_of_the_way,
            path: parameter.path,
            value: parameter.value,
            provenance: parameter.provenance,
            source: parameter.source.into_owned(),
        })
        .collect()
}
