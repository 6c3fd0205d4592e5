//! A swarm of scenarios: machines and shipped scenarios with parameters set at random, at the ends of what is allowed more often
//! than not, ended at a random event. What must hold of every run holds, twice the same is the same, and so is a run in pieces.
//!
//! `make swarm SECONDS=600 SEED=7` runs as long as one likes. A failure is made smaller, written to a file, and told with the one
//! command that runs it again. A seed is one scenario; `SEED` is the first, and `SCENARIOS` how many at most.

mod ends;
mod laws;
mod pieces;
mod rig;

use lanewise_sim::{Results, Scenario, run};
use rig::{Rig, World};
use std::io::Write as _;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Without being told otherwise: what a run of all tests can spare.
const SECONDS: u64 = 30;

/// No scenario of so few events takes longer, drawing it included: whatever does, hangs.
const LONGEST: Duration = Duration::from_secs(120);

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// What is wrong with a run of this scenario, and with a second.
fn fault(rig: &Rig, scenario: &Scenario) -> Option<String> {
    let told = rig.text()
        + &rig.settings.iter().map(|(path, value)| format!("{path}={value}\n")).collect::<String>();
    let may_stall = ["error", "corrupt", "unanswered", "nobody"].iter().any(|word| told.contains(word));
    let twice = AssertUnwindSafe(|| {
        let once = || run(scenario, &mut |_| ControlFlow::Continue(())).expect("trees of devices");
        let (first, second) = (once(), once());
        laws::check(&first, may_stall);
        assert!(first.events <= scenario.run.event_limit, "{} events", first.events);
        let text = |results: &Results| serde_json::to_string(results).expect("results are JSON");
        assert!(text(&first) == text(&second), "two runs differ");
        let pieces = pieces::in_pieces(scenario, first.events);
        assert!(text(&first) == text(&pieces), "a run in pieces that is looked into differs");
    });
    let failure = catch_unwind(twice).err()?;
    let said = failure.downcast_ref::<String>().cloned();
    Some(said.or_else(|| failure.downcast_ref::<&str>().map(|said| (*said).to_owned())).unwrap_or_default())
}

/// The kind of a fault: its first words, without numbers.
fn kind_of(fault: &str) -> String {
    fault.chars().filter(|c| !c.is_ascii_digit()).take(24).collect()
}

/// Leaves out whatever the fault happens without.
fn shrink(rig: Rig, fault_found: &str) -> Rig {
    let mut smallest = rig;
    let fails = |rig: &Rig| {
        let Ok(scenario) = rig.load() else { return false };
        fault(rig, &scenario).is_some_and(|found| kind_of(&found) == kind_of(fault_found))
    };
    loop {
        let settings = (2..smallest.settings.len()).map(|index| {
            let mut rig = smallest.clone();
            rig.settings.remove(index);
            rig
        });
        let blocks = (0..smallest.blocks.len()).map(|index| {
            let mut rig = smallest.clone();
            rig.blocks.remove(index);
            // Settings of what is gone go with it.
            let texts = rig.text();
            rig.settings.retain(|(path, _)| {
                let name = path.strip_prefix("workload.").unwrap_or(path).split('.').next().unwrap_or("");
                RUN_LIKE.contains(&name) || texts.contains(name)
            });
            rig
        });
        match settings.chain(blocks).find(fails) {
            Some(smaller) => smallest = smaller,
            None => return smallest,
        }
    }
}

const RUN_LIKE: [&str; 2] = ["run", "firmware"];

fn report(seed: u64, rig: &Rig, fault: &str) -> ! {
    let path = format!("{}/swarm-{seed}.toml", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, rig.text()).expect("a file for the scenario");
    let settings: Vec<String> =
        rig.settings.iter().map(|(path, value)| format!("--set '{path}={value}'")).collect();
    panic!(
        "seed {seed}: {fault}\nas drawn:      make swarm SEED={seed} SCENARIOS=1\nmade smaller:  lanewise run {path} {}\n{}",
        settings.join(" "),
        rig.text()
    );
}

/// In the place of a seed: all have run.
const NO_MORE: u64 = u64::MAX;

/// Ends the process when a scenario takes too long, with the seed that it is; goes home when all have run.
fn watch(seed: &'static AtomicU64) {
    std::thread::spawn(move || {
        let (mut last, mut since) = (NO_MORE, Instant::now());
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = seed.load(Ordering::Relaxed);
            if now == NO_MORE {
                return;
            }
            if now != last {
                (last, since) = (now, Instant::now());
            } else if since.elapsed() > LONGEST {
                // What a test prints is shown when it has ended, and this one never does.
                let message = format!("seed {now} hangs: make swarm SEED={now} SCENARIOS=1\n");
                std::io::stderr().write_all(message.as_bytes()).expect("someone who reads");
                std::process::exit(101);
            }
        }
    });
}

#[expect(clippy::print_stderr, reason = "whoever runs this for an hour wants to know how it goes")]
fn say(what: &str) {
    eprintln!("{what}");
}

#[test]
fn whatever_may_be_written_runs() {
    static SEED: AtomicU64 = AtomicU64::new(0);
    let first = from_environment("SWARM_SEED", 0);
    let (seconds, most) =
        (from_environment("SWARM_SECONDS", SECONDS), from_environment("SWARM_SCENARIOS", u64::MAX));
    let until = Instant::now() + Duration::from_secs(seconds);
    watch(&SEED);
    let mut world = World::new();
    let (mut runs, mut ends): (u64, std::collections::BTreeMap<&str, u64>) = (0, Default::default());
    while Instant::now() < until && runs < most {
        let seed = first + runs;
        SEED.store(seed, Ordering::Relaxed);
        let (rig, scenario) = world.draw(seed);
        if let Some(found) = fault(&rig, &scenario) {
            std::panic::set_hook(Box::new(|_| {}));
            let smaller = shrink(rig, &found);
            drop(std::panic::take_hook());
            report(seed, &smaller, &found);
        }
        *ends.entry(scenario_kind(&rig)).or_default() += 1;
        runs += 1;
    }
    SEED.store(NO_MORE, Ordering::Relaxed);
    say(&format!(
        "swarm: {runs} scenarios from seed {first}, {ends:?}; {} of {} ends of parameters, {} pairs of them",
        world.ends_tried.len(),
        world.ends(),
        world.pairs_tried.len()
    ));
}

/// Which of the two kinds it is.
fn scenario_kind(rig: &Rig) -> &'static str {
    if rig.blocks.first().is_some_and(|block| block.starts_with("[host.h]")) { "machines" } else { "shipped" }
}
