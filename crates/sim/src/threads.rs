//! A run on several threads: the run on one, sooner.
//!
//! The fabric says how that is done, and why some runs cannot be shared. What is decided here is when the end of a shared run is not
//! surely that of one thread: where workloads come to an end, nothing moves, or a limit of events or memory is near, one thread stops at an
//! event, and several at the end of a window. Then all is done again by one.

use crate::results::{Results, Threads};
use crate::run_limits::EndReason;
use crate::runner::Piece;
use crate::session::{Ends, Session};
use crate::{RunProgress, run};
use lanewise_fabric::config::DeviceKind;
use lanewise_fabric::{Apart, AssemblyError, NotShared, Pause};
use lanewise_scenario::Scenario;
use lanewise_workload::LoadConfig;
use lanewise_workload::load::dma::DmaConfig;
use std::ops::ControlFlow;

/// Part of a limit up to which it is surely not reached, however the events are counted: threads handle a few events more or less, and have tables of
/// their own.
const SURELY_WITHIN: u64 = 2;

/// Runs a scenario to its end on so many threads at most. All results but the number of events are those of [`crate::run`], which
/// does it where it cannot be shared; [`Results::threads`] says so. `progress` is that of [`crate::run`], and hears of a run that is done
/// again from its start again.
///
/// # Errors
/// Those of [`crate::run`].
pub fn run_on(
    scenario: &Scenario,
    threads: usize,
    progress: &mut dyn FnMut(&RunProgress<'_>) -> ControlFlow<()>,
) -> Result<Results, AssemblyError> {
    let (mut results, used, why_one) = match shared(scenario, threads, progress)? {
        Ok((results, used)) => (results, used, None),
        Err(why) => (run(scenario, progress)?, 1, Some(why)),
    };
    results.threads = Some(Threads { asked: threads, used, why_one });
    Ok(results)
}

type Shared = Result<(Results, usize), String>;

fn shared(
    scenario: &Scenario,
    threads: usize,
    progress: &mut dyn FnMut(&RunProgress<'_>) -> ControlFlow<()>,
) -> Result<Shared, AssemblyError> {
    if has_side_links(scenario) {
        return Ok(Err("side links join devices".to_owned()));
    }
    let mut session = Session::of(scenario, Ends::WhenNarrow)?;
    let used = match session.simulation_mut().share(&scenario.fabric, threads, apart(scenario)) {
        Ok(used) => used,
        Err(why) => return Ok(Err(in_words(&why, scenario))),
    };
    let limits = &scenario.run;
    let memory_is_near = |session: &Session| {
        session.simulation().bytes_under_way() > limits.memory_limit.get() / SURELY_WITHIN
    };
    while session.piece(Pause::NEVER) != Piece::Over {
        if memory_is_near(&session) {
            return Ok(Err("the limit of memory is near".to_owned()));
        }
        if progress(&session.progress()).is_break() {
            return Ok(Ok((session.finish(), used)));
        }
    }
    let uncertain = match session.end_reason() {
        Some(EndReason::Converged | EndReason::TimeLimit) => None,
        Some(EndReason::Stalled(_)) => Some("nothing moves, and one thread says who waits"),
        Some(EndReason::EventLimit) => Some("the limit of events is near"),
        Some(EndReason::MemoryLimit) => Some("the limit of memory is near"),
        _ => Some("workloads come to an end"),
    };
    let near = if session.events() > limits.event_limit / SURELY_WITHIN {
        Some("the limit of events is near")
    } else {
        memory_is_near(&session).then_some("the limit of memory is near")
    };
    Ok(match uncertain.or(near) {
        None => Ok((session.finish(), used)),
        Some(why) => Err(why.to_owned()),
    })
}

/// What goes over a side link is not exchanged between threads.
fn has_side_links(scenario: &Scenario) -> bool {
    let kinds = scenario.fabric.devices.iter().map(|device| &device.kind);
    kinds
        .into_iter()
        .any(|kind| matches!(kind, DeviceKind::Endpoint(endpoint) if endpoint.side_link.is_some()))
}

/// Of each workload, how it may run on another thread.
pub(crate) fn apart(scenario: &Scenario) -> Vec<Option<Apart>> {
    let of_load = |load: &dyn LoadConfig| {
        let (devices, load) = (load.apart()?, load.boxed());
        Some(Apart { devices, make: Box::new(move || load.build()) })
    };
    scenario.workloads.iter().map(|load| of_load(&**load)).collect()
}

/// Why one thread does it all, with the names of the scenario.
fn in_words(why: &NotShared, scenario: &Scenario) -> String {
    match why {
        NotShared::Workload(index) => {
            // Loads of one kind may be one load here, with a name of its own; what a user wrote is the kind.
            let load = &scenario.workloads[*index];
            let shared = "threads share DMA between devices and memory of the host only";
            match load.of_kind::<DmaConfig>() {
                Some(dma) => format!("{shared}, and workload `{}` has another target", dma.name),
                None => {
                    let kind = load.tools().first().map_or("", |tool| tool.kind);
                    format!("{shared}, workloads of kind `dma`, and here is one of kind `{kind}`")
                }
            }
        }
        other => other.to_string(),
    }
}
