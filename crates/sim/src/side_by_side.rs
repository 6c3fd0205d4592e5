//! Several runs at a time, on as many threads as the machine has cores: each is the run that it is alone.

use crate::progress::SoFar;
use crate::results::Results;
use crate::{AssemblyError, EndName, RunProgress, run};
use lanewise_scenario::Scenario;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// What a thread tells of the run with this number.
enum Told {
    Progress(usize, SoFar),
    Done(usize, Result<Box<Results>, AssemblyError>),
}

/// Runs all of these, and returns their results in this order; of an interrupted run none. `progress` hears of the first of them that is not
/// done. Breaking it interrupts all.
///
/// # Errors
/// As [`run`], of the first that fails.
pub(crate) fn run_all(
    scenarios: &[Scenario],
    progress: &mut dyn FnMut(&RunProgress<'_>) -> ControlFlow<()>,
) -> Result<Vec<Option<Results>>, AssemblyError> {
    let at_a_time = threads_for(scenarios);
    if at_a_time < 2 {
        return one_after_another(scenarios, progress);
    }
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut found: Vec<Option<Result<Box<Results>, AssemblyError>>> =
        scenarios.iter().map(|_| None).collect();
    thread::scope(|scope| {
        let (tell, told) = channel();
        for _ in 0..at_a_time {
            let tell = tell.clone();
            scope.spawn(|| run_next(scenarios, &next, &stopped, tell));
        }
        drop(tell);
        for told in told {
            match told {
                Told::Progress(number, so_far) => {
                    let is_first = found[..number].iter().all(Option::is_some);
                    let hears = is_first && !stopped.load(Ordering::Relaxed);
                    if hears && progress(&so_far.into()).is_break() {
                        stopped.store(true, Ordering::Relaxed);
                    }
                }
                Told::Done(number, results) => found[number] = Some(results),
            }
        }
    });
    found
        .into_iter()
        .map(|results| results.transpose().map(|results| whole(results.map(|one| *one))))
        .collect()
}

/// What one thread does: the next run that nobody has begun, until there is none.
fn run_next(scenarios: &[Scenario], next: &AtomicUsize, stopped: &AtomicBool, tell: Sender<Told>) {
    while !stopped.load(Ordering::Relaxed) {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let Some(scenario) = scenarios.get(number) else { return };
        let mut hears = |progress: &RunProgress<'_>| {
            let is_heard = tell.send(Told::Progress(number, progress.into())).is_ok();
            match is_heard && !stopped.load(Ordering::Relaxed) {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        };
        let results = run(scenario, &mut hears).map(Box::new);
        if tell.send(Told::Done(number, results)).is_err() {
            return;
        }
    }
}

fn one_after_another(
    scenarios: &[Scenario],
    progress: &mut dyn FnMut(&RunProgress<'_>) -> ControlFlow<()>,
) -> Result<Vec<Option<Results>>, AssemblyError> {
    let mut is_over = false;
    let one = |scenario| {
        if is_over {
            return Ok(None);
        }
        let results = whole(Some(run(scenario, progress)?));
        is_over = results.is_none();
        Ok(results)
    };
    scenarios.iter().map(one).collect()
}

/// None of a run that was interrupted: what it had come to says nothing.
fn whole(results: Option<Results>) -> Option<Results> {
    results.filter(|results| results.end_reason != EndName::Interrupted)
}

/// How many threads: no more than there are cores and runs, and than all together have the memory that one run may take. One in
/// WebAssembly, which has no threads.
fn threads_for(scenarios: &[Scenario]) -> usize {
    if cfg!(target_family = "wasm") {
        return 1;
    }
    let fit = |scenario: &Scenario| scenario.run.memory_limit.get() / scenario.memory_estimate().max(1);
    let fit = scenarios.iter().map(fit).min().unwrap_or(1);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    cores.min(scenarios.len()).min(usize::try_from(fit).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanewise_scenario::{Fraction, Source, load};

    const RIG: &str = "[host.server]\nslots = { slot1 = \"gen3 x4\" }\n[endpoint.nic]\nattach = \"server.slot1\"\ngeneration = \"gen3\"\n\
                       width = \"x4\"\n[[workload]]\nkind = \"dma\"\ndevice = \"nic\"\ndirection = \"write\"\nsize = \"4 KiB\"\n";

    /// The rig with transfers of these sizes, each a run of another length.
    fn rigs(sizes: &[&str]) -> Vec<Scenario> {
        let rig = |size: &&str| {
            let settings = [("workload.dma0.size".to_owned(), (*size).to_owned())];
            load(&Source::from_text("rig.toml", RIG), &settings).unwrap_or_else(|found| panic!("{found}"))
        };
        sizes.iter().map(rig).collect()
    }

    fn fingerprints(results: Vec<Option<Results>>) -> Vec<Option<String>> {
        results.into_iter().map(|results| results.map(|results| results.fingerprint)).collect()
    }

    #[test]
    fn results_are_those_of_one_after_another_in_their_order() {
        let rigs = rigs(&["1 MiB", "64 B", "4 KiB", "256 KiB", "512 B"]);
        let mut hears = |_: &RunProgress<'_>| ControlFlow::Continue(());
        let alone = fingerprints(one_after_another(&rigs, &mut hears).expect("trees of devices"));
        assert_eq!(fingerprints(run_all(&rigs, &mut hears).expect("trees of devices")), alone);
        assert!(alone.windows(2).all(|pair| pair[0] != pair[1]) && alone.iter().all(Option::is_some));
    }

    #[test]
    fn who_interrupts_hears_no_more_and_gets_what_was_done() {
        let mut rigs = rigs(&["4 KiB"; 40]);
        for rig in &mut rigs[1..] {
            rig.run.relative_half_width = Fraction(1e-5);
        }
        let (mut heard, mut after) = (0, 0);
        let mut hears = |_: &RunProgress<'_>| {
            after += u32::from(heard > 3);
            heard += 1;
            if heard > 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let results = run_all(&rigs, &mut hears).expect("trees of devices");
        assert_eq!((heard, after, results.len()), (4, 0, 40));
        assert!(results[0].is_some() && results[39].is_none());
    }
}
