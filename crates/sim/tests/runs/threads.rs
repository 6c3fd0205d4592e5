//! A run on several threads gives the results of one; those that cannot be shared say why.

use crate::rig::{results, scenario};
use lanewise_scenario::NativeFiles;
use lanewise_sim::{Results, Scenario, Source, Threads, load, run, run_on};
use lanewise_units::Bytes;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

/// Results as a document, but for what threads change: the number of events, and how many threads there were.
fn document(results: &Results) -> String {
    let same = Results { events: 0, threads: None, ..results.clone() };
    serde_json::to_string_pretty(&same).expect("results are JSON")
}

#[track_caller]
fn same_on(threads: usize, name: &str, scenario: &Scenario, one: &Results) -> Threads {
    let go_on = &mut |_: &lanewise_sim::RunProgress<'_>| ControlFlow::Continue(());
    let several = run_on(scenario, threads, go_on).expect("trees of devices");
    assert_eq!(one.fingerprint, several.fingerprint, "{name} on {threads} threads");
    assert_eq!(document(one), document(&several), "{name} on {threads} threads");
    let how = several.threads.expect("it was asked for");
    assert_eq!((how.asked, how.used == 1), (threads, how.why_one.is_some()), "{name}: {how:?}");
    how
}

fn alone(scenario: &Scenario) -> Results {
    run(scenario, &mut |_| ControlFlow::Continue(())).expect("trees of devices")
}

#[test]
fn every_shipped_scenario_is_the_same_on_two_and_three_threads() {
    let mut shared = BTreeMap::new();
    let scenarios = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios"));
    for file in std::fs::read_dir(scenarios).expect("scenarios are there") {
        let path = file.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let source = Source::read(&path.to_string_lossy(), &NativeFiles);
        let source = source.unwrap_or_else(|found| panic!("{found}"));
        let limit = [("run.time_limit".to_owned(), "150 us".to_owned())];
        // One with times of its own stays as it is.
        let scenario = load(&source, &limit).or_else(|_| load(&source, &[]));
        let scenario = scenario.unwrap_or_else(|found| panic!("{found}"));
        let one = alone(&scenario);
        for threads in [2, 3] {
            let how = same_on(threads, &name, &scenario, &one);
            shared.insert((name.clone(), threads), how.why_one);
        }
    }
    let on_one = shared.iter().filter_map(|((name, threads), why)| Some((name, threads, why.as_ref()?)));
    let on_one: Vec<String> =
        on_one.map(|(name, threads, why)| format!("{name} on {threads}: {why}")).collect();
    let is_shared = |name: &str| {
        let why = shared.get(&(name.to_owned(), 2)).unwrap_or_else(|| panic!("there is no {name}"));
        why.is_none()
    };
    // Plain DMA of devices on links that lose nothing.
    for name in ["first_rig", "switch", "oversubscribed", "two_sockets"] {
        assert!(is_shared(name), "{name} is shared; on one thread are {on_one:#?}");
    }
    // Flits, virtual channels, bit errors, peers, cores.
    for name in ["flit", "virtual_channels", "replay", "peer_to_peer", "nvme_fio", "mmio"] {
        assert!(!is_shared(name), "{name} cannot be shared; on one thread are {on_one:#?}");
    }
}

/// Two hosts, six root ports, trees of unlike depth, with loads of all sizes.
fn forest() -> String {
    let mut text = "title = \"A forest\"\n".to_owned();
    for (host, slots) in [("east", 4), ("west", 2)] {
        let named: Vec<String> = (1..=slots).map(|slot| format!("slot{slot} = \"gen4 x8\"")).collect();
        text += &format!("[host.{host}]\nslots = {{ {} }}\n", named.join(", "));
        for slot in 1..=slots {
            let top = format!("{host}{slot}");
            text += &format!(
                "[switch.{top}]\nattach = \"{host}.slot{slot}\"\n\
                 ports = {{ port0 = \"gen4 x8\", port1 = \"gen3 x4\", port2 = \"gen4 x4\" }}\n"
            );
            for (port, direction) in [(1, "both"), (2, if slot % 2 == 0 { "read" } else { "write" })] {
                let (name, generation) = (format!("{top}_{port}"), if port == 1 { "gen3" } else { "gen4" });
                text += &format!(
                    "[endpoint.{name}]\nattach = \"{top}.port{port}\"\ngeneration = \"{generation}\"\nwidth = \"x4\"\n\
                     [[workload]]\nkind = \"dma\"\nname = \"{name}\"\ndevice = \"{name}\"\ndirection = \"{direction}\"\n\
                     size = \"{} KiB\"\noutstanding = {}\norder = \"{}\"\n",
                    4 * slot,
                    port * 2,
                    if port == 1 { "random" } else { "sequential" },
                );
            }
        }
    }
    text
}

#[test]
fn runs_that_converge_end_where_one_thread_ends() {
    let scenario = scenario(forest(), &[("run.relative_half_width", "0.02")]);
    let one = alone(&scenario);
    assert_eq!(one.end_reason, lanewise_sim::EndName::Converged);
    for threads in [2, 3, 6] {
        assert!(same_on(threads, "forest", &scenario, &one).used > 1);
    }
}

#[test]
fn a_run_that_waits_for_percentiles_is_the_same() {
    let settings = [("run.until", "latency"), ("run.time_limit", "400 us")];
    let scenario = scenario(forest(), &settings);
    assert_eq!(same_on(2, "forest", &scenario, &alone(&scenario)).used, 2);
}

#[test]
fn a_limit_of_events_is_left_to_one_thread() {
    let events = scenario(forest(), &[("run.event_limit", "60000")]);
    let one = alone(&events);
    assert_eq!(one.end_reason, lanewise_sim::EndName::EventLimit);
    let how = same_on(2, "forest", &events, &one);
    assert_eq!(how.why_one.as_deref(), Some("the limit of events is near"));
    assert_eq!(one.events, results(forest(), &[("run.event_limit", "60000")]).events);
}

#[test]
fn a_limit_of_memory_is_left_to_one_thread() {
    // So short that memory is looked at only at the end.
    let mut short = scenario(forest(), &[("run.time_limit", "20 us")]);
    let mut long = scenario(forest(), &[("run.relative_half_width", "0.0001"), ("run.time_limit", "3 ms")]);
    for scenario in [&mut short, &mut long] {
        assert_eq!(same_on(2, "forest", scenario, &alone(scenario)).used, 2);
        // Less than resolving would let pass: what is under way is more.
        scenario.run.memory_limit = Bytes::from_kib(1);
        let how = same_on(2, "forest", scenario, &alone(scenario));
        assert_eq!(how.why_one.as_deref(), Some("the limit of memory is near"));
    }
}

#[test]
fn one_thread_is_enough_and_says_so() {
    let scenario = scenario(forest(), &[("run.time_limit", "20 us")]);
    let how = same_on(1, "forest", &scenario, &alone(&scenario));
    assert_eq!(how.why_one.as_deref(), Some("one thread was asked for"));
}

#[test]
fn a_run_that_is_broken_off_keeps_what_it_measured() {
    let scenario = scenario(forest(), &[("run.relative_half_width", "0.0001")]);
    let mut looks = 0;
    let results = run_on(&scenario, 3, &mut |progress| {
        looks += 1;
        assert!(progress.events > 0);
        if looks < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let results = results.expect("trees of devices");
    assert_eq!(results.end_reason, lanewise_sim::EndName::Interrupted);
    assert!(results.flows.iter().all(|flow| flow.bytes > 0), "{:?}", results.flows);
}
