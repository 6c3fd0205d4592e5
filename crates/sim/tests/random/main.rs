//! Shipped scenarios with parameters set at random: whatever a person may write runs, and what must hold of every run holds.
//!
//! A failure names scenario and settings in the words of the command line. `RANDOM_SCENARIOS` sets how many are run, and
//! `RANDOM_SEED` with which of them to begin.

use lanewise_engine::random::RandomStream;
use lanewise_scenario::{NativeFiles, schema};
use lanewise_sim::{Direction, Results, Scenario, Source, load, run};
use serde_json::Value;
use std::ops::ControlFlow;

type Settings = Vec<(String, String)>;

/// Random scenarios when nothing else is asked for.
const SCENARIOS: u64 = 20;

/// Enough for every workload to do something, and little enough for a test.
const LIMITS: [(&str, &str); 2] = [("run.time_limit", "8 ms"), ("run.event_limit", "40000")];

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Names of the files in `scenarios/`, in order.
fn shipped() -> Vec<String> {
    let folder = format!("{}/../../scenarios", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(folder).expect("the folder of scenarios");
    let paths = files.map(|file| file.expect("a file").path().display().to_string());
    let mut paths: Vec<String> = paths.filter(|path| path.ends_with(".toml")).collect();
    paths.sort();
    paths
}

/// What parameters that are a choice may say: the words of each, as the schema lists them.
fn choices(schema: &Value, found: &mut Vec<Vec<String>>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Array(words)) = object.get("enum") {
                found.push(words.iter().filter_map(|word| Some(word.as_str()?.to_owned())).collect());
            }
            object.values().for_each(|inner| choices(inner, found));
        }
        Value::Array(list) => list.iter().for_each(|inner| choices(inner, found)),
        _ => {}
    }
}

/// Another value for a parameter that has this one; often not a legal one.
fn another(value: &str, choices: &[Vec<String>], random: &mut RandomStream) -> String {
    let mut any_of = |list: &[&str]| list[random.below(list.len() as u64) as usize].to_owned();
    let number: String = value.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    if let Ok(number_now) = number.parse::<f64>() {
        let factor: f64 =
            any_of(&["0", "0.1", "0.25", "0.5", "2", "3", "8", "50"]).parse().expect("a number");
        return format!("{}{}", (number_now * factor * 1e3).round() / 1e3, &value[number.len()..]);
    }
    match value {
        "true" | "false" => any_of(&["true", "false"]),
        "auto" | "none" => any_of(&["1", "2", "7", "64", "256 B", "4 KiB", "10 ns", "3 us", "1 GB/s"]),
        word => {
            let lists = choices.iter().filter(|words| words.iter().any(|known| known == word));
            let words: Vec<&str> = lists.flatten().map(|word| word.as_str()).collect();
            if words.is_empty() { word.to_owned() } else { any_of(&words) }
        }
    }
}

/// A shipped scenario with a few settings of its parameters that may be made together.
fn draw(seed: u64, choices: &[Vec<String>]) -> (String, Settings, Scenario) {
    let mut random = RandomStream::new(seed, "scenario", "settings");
    let files = shipped();
    let file = files[random.below(files.len() as u64) as usize].clone();
    let source = Source::read(&file, &NativeFiles).expect("it can be read");
    let mut settings: Settings = LIMITS.map(|(path, value)| (path.to_owned(), value.to_owned())).to_vec();
    let mut scenario = load(&source, &settings).unwrap_or_else(|found| panic!("{found}"));
    let parameters = scenario.explain().parameters;
    for _ in 0..1 + random.below(12) {
        let parameter = &parameters[random.below(parameters.len() as u64) as usize];
        if LIMITS.iter().any(|(path, _)| *path == parameter.path) {
            continue;
        }
        settings.push((parameter.path.clone(), another(&parameter.value, choices, &mut random)));
        match load(&source, &settings) {
            Ok(found) => scenario = found,
            Err(_) => drop(settings.pop()),
        }
    }
    (file, settings, scenario)
}

fn check_direction(link: &str, direction: &Direction) {
    let ticks =
        direction.time_attribution_ticks.values().map(|ticks| ticks.as_u64().expect("a whole number"));
    assert_eq!(
        ticks.sum::<u64>(),
        direction.measured_ticks,
        "{link}: {:?}",
        direction.time_attribution_ticks
    );
    let ladder = &direction.ladder;
    let rungs = [
        ladder.line_rate_gb_per_s,
        ladder.link_bandwidth_gb_per_s,
        ladder.tlp_bandwidth_gb_per_s,
        ladder.goodput_gb_per_s,
        0.0,
    ];
    assert!(rungs.is_sorted_by(|higher, lower| *higher >= lower - 1e-9), "{link}: {ladder:?}");
    assert!((0.0..=1.0 + 1e-9).contains(&direction.utilisation), "{link}: {}", direction.utilisation);
}

fn check(results: &Results, may_stall: bool) {
    assert!(may_stall || results.end_reason != "Stalled", "{:?}", results.stalled_waiting);
    for link in &results.links {
        check_direction(&link.name, &link.upstream);
        check_direction(&link.name, &link.downstream);
    }
    for requester in &results.requesters {
        let total: f64 = requester.time_attribution.values().filter_map(Value::as_f64).sum();
        assert!((total - 1.0).abs() < 1e-9 || results.measured_s == 0.0, "{requester:?}");
    }
    for buffer in &results.buffers {
        let room = buffer.capacity_bytes.unwrap_or(u32::MAX);
        assert!(
            buffer.max_bytes <= room && buffer.mean_bytes <= f64::from(buffer.max_bytes) + 1e-9,
            "{buffer:?}"
        );
    }
    for flow in &results.flows {
        let latency = &flow.latency_ns;
        // A percentile with too few latencies is none; the others rise.
        let rising = [Some(latency.min), latency.p50, latency.p90, latency.p95, latency.p99, latency.p99_9];
        let rising: Vec<f64> = rising.into_iter().flatten().chain([latency.max]).collect();
        assert!(rising.is_sorted(), "{flow:?}");
        assert!(latency.mean <= latency.max * (1.0 + 1e-9) && latency.stddev.is_finite(), "{flow:?}");
    }
    for phase in results.phases.windows(2) {
        assert!(phase[0].end_s <= phase[1].start_s + 1e-12);
    }
}

/// Runs it twice.
fn run_twice(scenario: &Scenario, may_stall: bool) {
    let results = run(scenario, &mut |_| ControlFlow::Continue(())).expect("trees of devices");
    check(&results, may_stall);
    let again = run(scenario, &mut |_| ControlFlow::Continue(())).expect("trees of devices");
    let text = |results: &Results| serde_json::to_string(results).expect("results are JSON");
    assert!(text(&results) == text(&again), "two runs differ");
}

#[test]
fn whatever_may_be_written_runs() {
    let mut words = Vec::new();
    choices(&schema(), &mut words);
    let first = from_environment("RANDOM_SEED", 0);
    for seed in first..first + from_environment("RANDOM_SCENARIOS", SCENARIOS) {
        let (file, settings, scenario) = draw(seed, &words);
        // A read that nobody answers, at a device without a timeout, is waited for for ever.
        let may_stall = settings.iter().any(|(path, _)| path.contains("errors"));
        let outcome = std::panic::catch_unwind(|| run_twice(&scenario, may_stall));
        let told: Vec<String> =
            settings.iter().map(|(path, value)| format!("--set '{path}={value}'")).collect();
        assert!(outcome.is_ok(), "seed {seed}: lanewise run {file} {}", told.join(" "));
    }
}
