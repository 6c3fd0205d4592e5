//! What limits a run. Each scenario has one limit by construction, and it is named by the evidence of the one run, and proven
//! by runs in which each candidate is ten times larger.

use crate::rig::{results, scenario};
use lanewise_sim::{Edit, EndName, Larger, Results, RunProgress, Why, why};
use std::ops::ControlFlow;

/// A device on a wide link, with all that it could need, and a host that could give it.
const RIG: &str = r#"
title = "One device"
[host.server]
slots = { slot1 = "gen4 x16" }
stack = { read_trackers = 1024 }
[endpoint.card]
attach = "server.slot1"
generation = "gen4"
width = "x16"
tags = 768
[[workload]]
kind = "dma"
name = "stream"
device = "card"
direction = "write"
size = "64 KiB"
outstanding = 16
"#;

const READ: (&str, &str) = ("workload.stream.direction", "read");

/// A run and its proof.
pub struct Proof {
    pub run: Results,
    pub larger: Vec<Larger>,
    pub sentence: String,
}

fn proof(text: &str, settings: &[(&str, &str)]) -> Proof {
    let run = why(&scenario(text, settings), &mut |_| ControlFlow::Continue(())).expect("trees of devices");
    let Why { larger, sentence, .. } = run.why.clone().expect("that is what was asked for");
    Proof { run, larger, sentence }
}

/// The limit has this kind and one of these names, by evidence and by proof; the proof brings so many percent, at least.
#[track_caller]
pub fn limited(text: &str, settings: &[(&str, &str)], kind: &str, names: &[&str], gain: f64) -> Proof {
    let found = proof(text, settings);
    let guess = found.run.limited_by.as_ref().expect("something moved");
    assert_eq!(guess.kind, kind, "{}", guess.sentence);
    assert!(names.contains(&guess.name.as_str()), "{}", guess.sentence);
    let best = &found.larger[0];
    assert_eq!(best.kind, kind, "{}: {:#?}", found.sentence, found.larger);
    assert!(names.iter().any(|name| best.names.iter().any(|made| made == name)), "{}", found.sentence);
    assert!(best.gain_percent >= gain, "{}: {:#?}", found.sentence, found.larger);
    says_where(&found.run);
    an_edit_helps(text, settings, &found.run);
    found
}

/// The limit and those alike, and that of each flow, are at components of the scenario, or in a direction of one of its links.
#[track_caller]
fn says_where(run: &Results) {
    let limit = run.limited_by.as_ref().expect("something moved");
    let names: Vec<&String> = std::iter::once(&limit.name).chain(&limit.alike).collect();
    assert_eq!(limit.places.len(), names.len(), "{}", limit.sentence);
    let of_flows = run.flows.iter().filter_map(|flow| flow.limited_by.as_ref());
    let of_flows = of_flows.map(|limit| (&limit.place, &limit.name));
    for (place, name) in limit.places.iter().zip(names).chain(of_flows) {
        match place.direction {
            Some(_) => {
                assert!(run.links.iter().any(|link| link.name == place.component), "{name}: {place:?}")
            }
            None => assert!(name.starts_with(&format!("{}.", place.component)), "{name}: {place:?}"),
        }
    }
}

/// Edits for the limit can be built, and what the best of them brings is no accident.
#[track_caller]
fn an_edit_helps(text: &str, settings: &[(&str, &str)], before: &Results) {
    let limit = before.limited_by.as_ref().expect("something moved");
    let total = |results: &Results| results.flows.iter().map(|flow| flow.operations_per_s).sum::<f64>();
    let gains = limit.edits.iter().map(|edit| {
        let mine = edit.settings.iter().map(|each| (each.path.as_str(), each.after.as_str()));
        let changed: Vec<(&str, &str)> = settings.iter().copied().chain(mine).collect();
        total(&results(text, &changed)) / total(before) - 1.0
    });
    let best = gains.fold(0.0, f64::max);
    assert!(best > 0.05, "{}: {best:.3} of {:#?}", limit.sentence, limit.edits);
}

#[test]
fn a_wire_is_the_limit() {
    limited(RIG, &[], "wire", &["card.upstream"], 100.0);
    limited(RIG, &[READ], "wire", &["card.downstream"], 30.0);
}

/// Of a wire, of what a port at either end of it has, of a device, and of a host.
#[test]
fn a_limit_says_where_it_is() {
    let few = [("server.credits.posted_header", "4"), ("server.credits.posted_data", "64")];
    let kept =
        [("card.link.propagation", "300 ns"), ("card.retry_buffer", "4 KiB"), ("card.replay_timer", "10 us")];
    let slow = [("server.memory_bandwidth", "10 GB/s")];
    let cases: [(&[(&str, &str)], _, _, _, _); 6] = [
        (&[], "card.upstream", "card", Some("upstream"), None),
        (&[READ], "card.downstream", "card", Some("downstream"), None),
        (&few, "server.slot1.posted_credits", "card", Some("upstream"), Some("posted")),
        (&kept, "card.port0.retry_buffer", "card", Some("upstream"), None),
        (&[READ, ("card.tags", "8")], "card.tags", "card", None, None),
        (&slow, "server.memory", "server", None, None),
    ];
    for (settings, name, component, direction, class) in cases {
        let limit = results(RIG, settings).limited_by.expect("something moved");
        let place = &limit.places[0];
        let found = (limit.name.as_str(), place.component.as_str(), place.direction, limit.flow_class);
        assert_eq!(found, (name, component, direction, class), "{}", limit.sentence);
    }
}

/// Paths and values of the edits for the limit.
fn edits(settings: &[(&str, &str)]) -> Vec<Vec<(String, String)>> {
    let limit = results(RIG, settings).limited_by.expect("something moved");
    let of = |edit: Edit| edit.settings.into_iter().map(|each| (each.path, each.after)).collect();
    limit.edits.into_iter().map(of).collect()
}

#[test]
fn a_link_that_is_less_than_its_ends_becomes_what_they_can() {
    let own = |path: &str, value: &str| vec![(path.to_owned(), value.to_owned())];
    let narrow = edits(&[("server.slots.slot1.link", "gen4 x4")]);
    assert_eq!(narrow[0], own("server.slots.slot1.link", "gen4 x16"));
    assert_eq!(narrow[1].len(), 2, "both ends become faster: {narrow:?}");
    let forced = edits(&[("card.link.force_generation", "gen2")]);
    assert_eq!(forced[0], own("card.link.force_generation", "gen4"));
    let reduced = edits(&[("card.link.slot_reducer", "x8")]);
    assert!(reduced.contains(&own("card.link.slot_reducer", "none")), "{reduced:?}");
    // Wide and fast as there are links: payloads are left.
    let widest = edits(&[("card.link.propagation", "2 ns")]);
    let paths: Vec<&str> = widest.iter().flatten().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["card.generation", "server.slots.slot1.link", "card.mps_supported"]);
}

/// Longer requests help nobody who asks for less at a time than a request may have.
#[test]
fn reads_that_are_short_get_no_longer_requests() {
    let paths = |size: &str| {
        let few = [READ, ("card.tags", "8"), ("workload.stream.size", size)];
        edits(&few).into_iter().flatten().map(|(path, _)| path).collect::<Vec<_>>()
    };
    assert_eq!(paths("64 KiB"), ["card.tags", "card.mrrs"]);
    assert_eq!(paths("64 B"), ["card.tags"]);
}

/// Two links of the same rate behind one another.
const IN_A_ROW: &str = r#"
title = "A device behind a switch"
[host.server]
slots = { slot1 = "gen4 x4" }
[switch.sw0]
attach = "server.slot1"
ports = { port0 = "gen4 x4", port1 = "gen4 x4" }
[endpoint.card]
attach = "sw0.port1"
generation = "gen4"
width = "x4"
[[workload]]
kind = "dma"
name = "stream"
device = "card"
direction = "write"
size = "64 KiB"
outstanding = 16
"#;

#[test]
fn links_that_are_full_one_behind_the_other_become_larger_together() {
    let before = results(IN_A_ROW, &[]);
    let limit = before.limited_by.as_ref().expect("something moved");
    assert_eq!(limit.kind, "wire", "{}", limit.sentence);
    let gain = |what: &str| {
        let edit = limit.edits.iter().find(|edit| edit.what.starts_with(what)).expect("an edit");
        let settings: Vec<_> =
            edit.settings.iter().map(|each| (each.path.as_str(), each.after.as_str())).collect();
        results(IN_A_ROW, &settings).flows[0].goodput_gb_per_s / before.flows[0].goodput_gb_per_s
    };
    assert!(gain("gen5 above") < 1.01 && gain("8 lanes above") < 1.01, "the other link is the limit then");
    // Those that are not alike as well.
    let other = [("sw0.ports.port1", "gen3 x8"), ("card.generation", "gen3"), ("card.width", "x8")];
    let found = proof(IN_A_ROW, &other);
    assert_eq!((found.larger[0].kind, found.larger[0].names.len()), ("together", 2), "{:#?}", found.larger);
    assert!(found.larger[0].gain_percent > 100.0, "{}", found.sentence);
    assert!(gain("every full link a generation faster") > 1.9);
    assert!(gain("every full link wider") > 1.9);
}

/// Sixteen tags of 512 B are a third of what a way of 2 us would take, and so are the seventeen reads that are asked for: neither alone
/// brings much, and a shorter way brings as much as both.
#[test]
fn tags_and_what_uses_them_become_larger_together() {
    let settings = [
        ("sw0.latency", "1 us"),
        ("card.tags", "16"),
        ("card.mrrs", "512 B"),
        ("workload.stream.direction", "read"),
        ("workload.stream.size", "512 B"),
        ("workload.stream.outstanding", "17"),
    ];
    let found = proof(IN_A_ROW, &settings);
    let gain = |kind: &str| {
        let tried = found.larger.iter().find(|each| each.kind == kind);
        tried.unwrap_or_else(|| panic!("{kind}: {:#?}", found.larger)).gain_percent
    };
    assert!(gain("together") > 100.0 && gain("switch_latency") > 100.0, "{:#?}", found.larger);
    for kind in ["tags", "window"] {
        let tried = found.larger.iter().find(|each| each.kind == kind);
        assert!(tried.is_none_or(|tried| tried.gain_percent < 10.0), "{tried:#?}");
    }
    for part in ["the 16 tags of card", "what is outstanding at card", "larger together"] {
        let row = found.larger.iter().find(|each| each.kind == "together").expect("it was tried");
        assert!(row.what.contains(part) || found.sentence.contains(part), "{row:#?} {}", found.sentence);
    }
}

#[test]
fn bit_errors_are_the_limit() {
    let errors = [("card.link.bit_error_rate_upstream", "0.001"), ("run.time_limit", "5 ms")];
    let found = limited(RIG, &errors, "errors", &["card.errors_upstream"], 100.0);
    assert!(
        found.sentence.starts_with("Limited by bit errors on the wire above card, upstream"),
        "{}",
        found.sentence
    );
}

/// In 0.1.0 this was 'blocked posted header' and nothing else.
#[test]
fn memory_is_the_limit() {
    let slow = ("server.memory_bandwidth", "10 GB/s");
    let writes = limited(RIG, &[slow], "memory", &["server.memory"], 150.0);
    let guess = writes.run.limited_by.expect("something moved");
    assert!(guess.sentence.contains("memory") && guess.sentence.contains("10 GB/s"), "{}", guess.sentence);
    assert!(guess.seen_as.is_some_and(|seen| seen.contains("credits")), "{}", guess.sentence);
    limited(RIG, &[slow, READ], "memory", &["server.memory"], 150.0);
}

/// In 0.1.0 this was 'tags 98.6 %', and more tags changed nothing.
#[test]
fn tracking_entries_are_the_limit() {
    let few = [READ, ("server.stack.read_trackers", "4"), ("card.tags", "64")];
    let found = limited(RIG, &few, "read_trackers", &["server.stack0.read_trackers"], 100.0);
    let tags = found.larger.iter().find(|each| each.kind == "tags").expect("they were all in use");
    assert!(tags.gain_percent.abs() < 1.0, "{tags:?}");
}

/// A read of 4 KiB needs sixteen places and one to begin with. Where the wire is the limit, reads wait for the queue as well, and more
/// of it brings nothing.
#[test]
fn the_queue_that_root_ports_share_is_the_limit() {
    let few = [READ, ("server.shared_outbound_queue", "4"), ("card.width", "x8")];
    let found = limited(RIG, &few, "outbound_queue", &["server.outbound_queue"], 100.0);
    let queue =
        found.run.resources.iter().find(|each| each.kind.name() == "outbound_queue").expect("it was used");
    assert!(queue.utilisation > 0.9 && queue.utilisation <= 1.0, "{queue:?}");
    let seen_as = found.run.limited_by.expect("something moved").seen_as;
    assert!(seen_as.is_some_and(|seen| seen.contains("non_posted")));
    let narrow = [("card.width", "x1"), ("server.shared_outbound_queue", "64")];
    limited(
        RIG,
        &[&[READ][..], &narrow].concat(),
        "wire",
        &["server.slot1.downstream", "card.downstream"],
        100.0,
    );
}

/// Reads of pages at random, none of which is found in the cache of translations.
const WALKS: [(&str, &str); 7] = [
    READ,
    ("workload.stream.size", "512 B"),
    ("workload.stream.stride", "4 KiB"),
    ("workload.stream.span", "1 GiB"),
    ("workload.stream.order", "random"),
    ("workload.stream.outstanding", "512"),
    ("server.iommu.enabled", "true"),
];

#[test]
fn walkers_are_the_limit() {
    let settings = [&WALKS[..], &[("server.iommu.walkers", "2")]].concat();
    limited(RIG, &settings, "walkers", &["server.iommu.walkers"], 100.0);
    // One walk starts in 100 ns: all walkers wait for their turn, or there are more than can be at work.
    for walkers in ["64", "1024"] {
        let turns = [("server.iommu.walkers", walkers), ("server.iommu.walk_interval", "100 ns")];
        limited(RIG, &[&settings[..], &turns].concat(), "walk_turns", &["server.iommu.walk_turns"], 100.0);
    }
}

/// Turns that one walker leaves unused are not in use: as many walks a second as it does, each of an interval.
#[test]
fn turns_of_walkers_are_in_use_as_often_as_one_walks() {
    let turns = [("server.iommu.walkers", "1"), ("server.iommu.walk_interval", "100 ns")];
    let run = results(RIG, &[&WALKS[..], &turns].concat());
    let of = |part: &str| run.resources.iter().find(|each| each.name == part).expect("they walk");
    let (walkers, turns) = (of("server.iommu.walkers"), of("server.iommu.walk_turns"));
    assert!(
        walkers.utilisation > 0.99 && run.limited_by.as_ref().is_some_and(|limit| limit.kind == "walkers")
    );
    let expected = walkers.served as f64 * 100e-9 / run.measured_s;
    assert!(expected > 0.2 && (turns.utilisation / expected - 1.0).abs() < 0.01, "{turns:?} for {expected}");
}

/// What is ready for a port long before it gets there is under way: the wire is idle meanwhile.
#[test]
fn what_is_on_its_way_to_the_port_is_outstanding() {
    let far = [("card.path_latency", "50 us"), ("workload.stream.size", "4 KiB")];
    limited(RIG, &far, "window", &["card.window"], 800.0);
    let few = [("card.path_latency", "20 us"), ("workload.stream.outstanding", "4")];
    limited(RIG, &few, "window", &["card.window"], 50.0);
}

/// Who breaks a proof hears no more of it, and what was broken off is not taken for a gain.
#[test]
fn a_proof_that_is_broken_off_ends() {
    let settings = [("run.time_limit", "4 ms"), ("run.relative_half_width", "0.00001")];
    let (mut before, mut broken, mut after) = (0, false, 0);
    let mut hears = |progress: &RunProgress<'_>| {
        after += u32::from(broken);
        broken |= progress.events < before; // The second run has begun.
        before = progress.events;
        if broken { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let run = why(&scenario(RIG, &settings), &mut hears).expect("trees of devices");
    let why = run.why.expect("asked for");
    let tried = why.larger.len();
    assert!(broken && after == 0 && tried == 0 && why.interrupted, "{broken}, {after} times more, {tried}");
    assert_eq!(why.sentence, "Interrupted before anything was tried: nothing is proven");
    assert_eq!(run.end_reason, EndName::TimeLimit);
}

/// A full cache of translations is no limit: where all that is asked for is in it, and where nothing is.
#[test]
fn a_cache_of_translations_is_not_what_a_full_one_shows() {
    let few = [
        READ,
        ("workload.stream.size", "64 B"),
        ("workload.stream.stride", "4 KiB"),
        ("workload.stream.span", "256 KiB"),
        ("workload.stream.outstanding", "32"),
        ("server.iommu.enabled", "true"),
        ("server.iommu.entries", "64"),
        ("server.iommu.walkers", "64"),
    ];
    let full = |found: &Proof| {
        let cache = found.run.resources.iter().find(|each| each.name == "server.iommu.iotlb").expect("asked");
        assert!(cache.utilisation > 0.99, "{cache:?}");
    };
    full(&limited(RIG, &few, "window", &["card.window"], 100.0));
    let many = [("workload.stream.span", "1 GiB"), ("workload.stream.order", "random")];
    let missed = limited(RIG, &[&few[..], &many].concat(), "window", &["card.window"], 100.0);
    full(&missed);
    assert!(
        missed.larger.iter().any(|each| each.kind == "iotlb" && each.gain_percent < 1.0),
        "{:#?}",
        missed.larger
    );
    // Twice the pages that it has room for, in turn, half of them at a time: none is found, nor walked for, walkers have no time left, and
    // a larger one helps more than they.
    let walks = [
        ("workload.stream.span", "512 KiB"),
        ("workload.stream.outstanding", "64"),
        ("server.iommu.walkers", "2"),
    ];
    let found = proof(RIG, &[&few[..], &walks].concat());
    assert_eq!(found.run.limited_by.expect("something moved").kind, "walkers");
    let gain =
        |kind: &str| found.larger.iter().find(|each| each.kind == kind).expect("it was tried").gain_percent;
    assert!(gain("iotlb") > gain("walkers") + 100.0, "{:#?}", found.larger);
}

/// A device that translates its addresses itself, with all its translation requests out: they wait for the walkers.
#[test]
fn translation_requests_wait_for_walkers() {
    let settings = [
        READ,
        ("workload.stream.size", "64 B"),
        ("workload.stream.span", "1 GiB"),
        ("workload.stream.order", "random"),
        ("workload.stream.outstanding", "256"),
        ("server.iommu.enabled", "true"),
        ("server.iommu.walkers", "2"),
        ("card.ats.entries", "16"),
    ];
    let found = limited(RIG, &settings, "walkers", &["server.iommu.walkers"], 100.0);
    let requests = found.run.resources.iter().find(|each| each.name == "card.translation_requests");
    assert!(requests.expect("asked for").utilisation > 0.99);
}

/// On a long cable a retry buffer is full before the first Ack is back, and a timer that runs out before sends all of it again.
#[test]
fn a_retry_buffer_and_its_timer_are_the_limit() {
    let long =
        [("card.link.propagation", "300 ns"), ("card.retry_buffer", "4 KiB"), ("card.replay_timer", "10 us")];
    limited(RIG, &long, "retry_buffer", &["card.port0.retry_buffer"], 300.0);
    let early = [
        ("card.link.propagation", "500 ns"),
        ("card.retry_buffer", "32 KiB"),
        ("card.replay_timer", "900 ns"),
        ("server.credits.posted_header", "1024"),
        ("server.credits.posted_data", "16384"),
    ];
    let found = proof(RIG, &early);
    assert_eq!(found.run.limited_by.expect("something moved").kind, "replay_timer");
    assert!(found.sentence.starts_with("Limited by the replay timer of card.port0"), "{}", found.sentence);
    let timer = found.larger.iter().find(|each| each.kind == "replay_timer").expect("it was tried");
    assert!(timer.gain_percent > 90.0, "{timer:?}");
}

/// Of flits no more than 511 may be unacknowledged, however large the retry buffer is: a larger one brings nothing and is not proposed, and
/// an Ack that is back sooner does. A smaller buffer is the limit itself.
#[test]
fn unacknowledged_flits_are_the_limit() {
    const FLITS: &str = include_str!("../../../../scenarios/flit.toml");
    let slow = [("server.receive_latency", "2 us"), ("workload.copy.direction", "write")];
    let name = "gpu0.port0.sequence_window";
    let found = limited(FLITS, &slow, "sequence_window", &[name], 50.0);
    let before = found.run.goodput_gb_per_s;
    let larger = results(FLITS, &[slow[0], slow[1], ("gpu0.retry_buffer", "4 MiB")]);
    assert!((larger.goodput_gb_per_s / before - 1.0).abs() < 0.001, "{} {before}", larger.goodput_gb_per_s);
    assert_eq!(larger.limited_by.expect("something moved").name, name);
    let limit = found.run.limited_by.expect("something moved");
    let paths = |edit: &Edit| edit.settings.iter().map(|each| each.path.clone()).collect::<Vec<_>>();
    let edits: Vec<String> = limit.edits.iter().flat_map(paths).collect();
    assert!(edits.iter().all(|path| !path.ends_with("retry_buffer")), "{edits:?}");
    assert!(edits.contains(&"server.receive_latency".to_owned()), "{edits:?}");
    let small = [slow[0], slow[1], ("gpu0.retry_buffer", "32 KiB")];
    limited(FLITS, &small, "retry_buffer", &["gpu0.port0.retry_buffer"], 50.0);
}

#[test]
fn tags_are_the_limit() {
    limited(RIG, &[READ, ("card.tags", "8")], "tags", &["card.tags"], 80.0);
    // Ten bits have no more than 768 values, and fourteen are for flits.
    let settings = [READ, ("card.mrrs", "128 B"), ("server.memory_latency", "5 us"), ("card.tags", "768")];
    let limit = results(RIG, &settings).limited_by.expect("something moved");
    assert_eq!(limit.kind, "tags", "{}", limit.sentence);
    let edits = limit.edits;
    assert!(edits.iter().all(|edit| edit.what != "twice the tags"), "{edits:?}");
}

/// The link sleeps while memory answers: waking is no use of a wire, which a faster link would shorten.
#[test]
fn the_wake_up_of_a_link_is_the_limit() {
    let one = [
        READ,
        ("workload.stream.outstanding", "1"),
        ("workload.stream.size", "256 B"),
        ("card.link.aspm", "l1"),
        ("card.link.l1_idle", "100 ns"),
    ];
    let found = proof(RIG, &one);
    let limit = found.run.limited_by.as_ref().expect("something moved");
    assert_eq!((limit.kind, limit.name.as_str(), limit.in_use), ("wake_up", "card.wake_up", false));
    assert!(
        limit.sentence.starts_with("Limited by the wake-up of the link above card (L1 8 us): it wakes 9")
    );
    let paths = limit.edits.iter().map(|edit| {
        let [set] = &edit.settings[..] else { panic!("one parameter: {edit:?}") };
        (set.path.as_str(), set.after.as_str())
    });
    assert_eq!(paths.collect::<Vec<_>>(), [("card.link.aspm", "off"), ("card.link.l1_exit", "0.8 us")]);
    an_edit_helps(RIG, &one, &found.run);
    let gain = |kind: &str| found.larger.iter().find(|each| each.kind == kind).map(|each| each.gain_percent);
    assert!(gain("wake_up").is_some_and(|gain| gain > 400.0), "{:#?}", found.larger);
    assert_eq!(gain("wire"), None, "{:#?}", found.larger);
    // L1.2 has to be left first.
    let deep = [&one[..], &[("card.link.l1_2_exit", "50 us")]].concat();
    let found = proof(RIG, &deep);
    let limit = found.run.limited_by.as_ref().expect("something moved");
    assert!(limit.sentence.contains("wake-up of the link above card (L1.2 58 us)"), "{}", limit.sentence);
    let paths = limit.edits.iter().flat_map(|edit| &edit.settings).map(|set| set.path.as_str());
    let exits = ["card.link.l1_exit", "card.link.l1_2_exit"];
    assert_eq!(paths.collect::<Vec<_>>(), [&["card.link.aspm"], &exits[..]].concat());
    an_edit_helps(RIG, &deep, &found.run);
    // From L0s each direction wakes for itself: a read waits twice.
    let l0s = [&one[..4], &[("card.link.aspm", "l0s"), ("card.link.l0s_idle", "100 ns")]].concat();
    let found = proof(RIG, &l0s);
    let wakes = found.larger.iter().find(|each| each.kind == "wake_up").expect("it was tried");
    assert!(wakes.share > 0.7 && wakes.gain_percent > 100.0, "{:#?}", found.larger);
}

/// A host that bridges 64 B frames: a core takes 860 ns for each, and the adapter has nothing to do meanwhile.
const BRIDGE: &str = r#"
title = "A bridge"
[run]
time_limit = "2 s"
[host.server]
part = "asus-a8n-sli"
[system.os]
part = "linux-2.6.9"
attach = "server"
[endpoint.nic]
count = 2
part = "intel-pro-1000-pt-dual"
attach = "server.*"
[[workload]]
kind = "smartflow"
name = "bridge"
test = "throughput"
flows = [{ from = "nic[0].0", to = "nic[1].0" }, { from = "nic[0].1", to = "nic[1].1" }]
frame_sizes = ["64 B"]
"#;

#[test]
fn the_cores_of_a_bridge_are_the_limit() {
    // The adapters, which read one frame at a time, are next.
    let found = limited(BRIDGE, &[], "core", &["os.core0"], 15.0);
    let core = found.run.resources.iter().find(|each| each.name == "os.core0").expect("it works");
    assert!(core.utilisation > 0.9 && core.utilisation <= 1.0 && core.waited_s > Some(0.0), "{core:?}");
    assert!(core.limit.contains("860 ns for a frame"), "{}", core.limit);
    let limit = found.run.limited_by.expect("something moved");
    let settings = limit.edits.iter().flat_map(|edit| &edit.settings);
    let paths: Vec<&str> = settings.map(|each| each.path.as_str()).collect();
    assert!(paths.contains(&"os.packet_cost") && paths.contains(&"os.cores"), "{paths:?}");
}

/// What the frames of a bridge wait for is not another workload's to change, whatever the flows are called.
#[test]
fn edits_are_of_the_workload_that_waits() {
    let beside = r#"
[endpoint.card]
attach = "server.slot3"
generation = "gen1"
width = "x1"
[[workload]]
kind = "dma"
name = "beside"
device = "card"
direction = "read"
size = "64 B"
outstanding = 1
"#;
    let text = format!("{}{beside}", BRIDGE.replace("server.*", "server.slot1..slot2"));
    let fast = [("os.packet_cost", "1 ns"), ("os.interrupt_cost", "1 ns"), ("os.byte_cost", "0 ps")];
    let limit = results(&text, &fast).limited_by.expect("something moved");
    assert_eq!(limit.kind, "demand", "{}", limit.sentence);
    let settings: Vec<_> = limit.edits.iter().flat_map(|edit| &edit.settings).collect();
    assert!(settings.iter().all(|each| !each.path.starts_with("workload.beside")), "{settings:?}");
}

#[test]
fn the_window_is_the_limit() {
    let one = [READ, ("workload.stream.outstanding", "1"), ("workload.stream.size", "256 B")];
    limited(RIG, &one, "window", &["card.window"], 500.0);
    // Ten times less latency brings less than ten times more outstanding: the path is longer than memory.
    let found = proof(RIG, &one);
    let latency = found.larger.iter().find(|each| each.kind == "memory_latency").expect("always tried");
    assert!(latency.gain_percent > 20.0 && latency.gain_percent < 500.0, "{latency:?}");
}

const TWO_LOADS: &str = r#"
title = "Two cards that ask for little, and one beside them"
[host.server]
slots = { slot1 = "gen4 x16", slot2 = "gen4 x16", slot3 = "gen4 x16" }
[endpoint.card]
count = 2
attach = "server.*"
generation = "gen4"
width = "x16"
[endpoint.other]
attach = "server.slot3"
generation = "gen4"
width = "x16"
[[workload]]
kind = "dma"
name = "aside"
device = "other"
direction = "write"
size = "64 B"
outstanding = 1
[[workload]]
kind = "dma"
name = "stream"
device = "card[*]"
direction = "read"
size = "4 KiB"
outstanding = 1
"#;

/// The flow of each card has a name of its own, and the workload of the other device is let alone.
#[test]
fn edits_are_of_the_workload_that_limits() {
    let limit = results(TWO_LOADS, &[]).limited_by.expect("something moved");
    assert_eq!((limit.kind, limit.name.as_str()), ("window", "card[0].window"), "{}", limit.sentence);
    let settings = limit.edits.iter().flat_map(|edit| &edit.settings);
    let paths: Vec<&str> = settings.map(|each| each.path.as_str()).collect();
    assert_eq!(paths, ["workload.stream.outstanding", "workload.stream.size"]);
}

#[test]
fn credits_are_the_limit() {
    let few = [("server.credits.posted_header", "4"), ("server.credits.posted_data", "64")];
    limited(RIG, &few, "credits", &["server.slot1.posted_credits"], 50.0);
}

const SWITCHED: &str = r#"
title = "Two pairs of devices behind a switch"
[host.server]
slots = { slot1 = "gen4 x16" }
stack = { read_trackers = 1024 }
[switch.sw0]
attach = "server.slot1"
core = "shared-bus"
core_rate = "8 GB/s"
ports = { port0 = "gen4 x16", port1 = "gen4 x8", port2 = "gen4 x8" }
[endpoint.one]
attach = "sw0.port1"
generation = "gen4"
width = "x8"
[endpoint.two]
attach = "sw0.port2"
generation = "gen4"
width = "x8"
[[workload]]
kind = "dma"
name = "one"
device = "one"
direction = "write"
size = "64 KiB"
outstanding = 4
[[workload]]
kind = "dma"
name = "two"
device = "two"
direction = "write"
size = "64 KiB"
outstanding = 4
"#;

#[test]
fn the_bus_of_a_switch_is_the_limit() {
    limited(SWITCHED, &[], "switch_bus", &["sw0.bus"], 100.0);
}

/// Completions of 256 B come, and the switch holds requests back as if each brought 64 B: 84 B on the wire for 64, not 276 for 256.
#[test]
fn request_metering_is_the_limit() {
    let metered = [
        ("sw0.core", "crossbar"),
        ("sw0.core_rate", "auto"),
        ("sw0.request_metering", "true"),
        ("workload.one.direction", "read"),
        ("workload.two.direction", "read"),
    ];
    let found = proof(SWITCHED, &metered);
    let limit = found.run.limited_by.as_ref().expect("something moved");
    assert_eq!(limit.name, "sw0.metering.port1", "{}", limit.sentence);
    // A quicker wire needs less time for the completions, too.
    let of_metering = found.larger.iter().find(|each| each.kind == "request_metering");
    assert!(of_metering.is_some_and(|each| each.gain_percent > 15.0), "{:#?}", found.larger);
    an_edit_helps(SWITCHED, &metered, &found.run);
    let goodput = found.run.flows[0].goodput_gb_per_s;
    let expected = 16.0 * 128.0 / 130.0 * 64.0 / 84.0;
    assert!((goodput / expected - 1.0).abs() < 0.01, "{goodput}, {expected}");
}

const SOCKETS: &str = r#"
title = "Memory of the other socket"
[host.server]
slots = { slot1 = { link = "gen4 x16", socket = 0 } }
interconnect = { rate = "10 GB/s" }
[endpoint.card]
attach = "server.slot1"
generation = "gen4"
width = "x16"
memory_socket = 1
[[workload]]
kind = "dma"
name = "stream"
device = "card"
direction = "write"
size = "64 KiB"
outstanding = 16
"#;

#[test]
fn the_link_between_sockets_is_the_limit() {
    limited(SOCKETS, &[], "socket_link", &["server.socket0-1"], 100.0);
}

const DRIVE: &str = r#"
title = "One drive under fio"
[host.server]
part = "generic-gen4-server"
[endpoint.ssd]
part = "generic-nvme-gen4-x4"
attach = "server.slot1"
[[workload]]
kind = "fio"
name = "job"
filename = ["ssd"]
rw = "randread"
bs = "4 KiB"
ioengine = "libaio"
iodepth = 256
numjobs = 8
group_reporting = true
"#;

#[test]
fn the_media_of_a_drive_are_the_limit() {
    limited(DRIVE, &[("ssd.nvme.dies", "4")], "media", &["ssd.media"], 200.0);
}

#[test]
fn one_core_is_the_limit() {
    // The host has 16, of which the one job uses one.
    limited(DRIVE, &[("workload.job.numjobs", "1")], "core", &["server.core0"], 30.0);
}

const HEAD_OF_LINE: &str = r#"
title = "A slow reader behind the same switch as a fast one"
[host.server]
slots = { slot1 = "gen4 x16" }
stack = { read_trackers = 1024 }
[switch.sw0]
attach = "server.slot1"
ports = { port0 = "gen4 x16", port1 = "gen4 x16", port2 = "gen4 x1" }
[endpoint.fast]
attach = "sw0.port1"
generation = "gen4"
width = "x16"
tags = 64
[endpoint.slow]
attach = "sw0.port2"
generation = "gen4"
width = "x1"
tags = 256
[[workload]]
kind = "dma"
name = "fast"
device = "fast"
direction = "read"
size = "64 KiB"
outstanding = 4
[[workload]]
kind = "dma"
name = "slow"
device = "slow"
direction = "read"
size = "256 KiB"
outstanding = 1
"#;

/// Completions of the slow reader fill the buffer of the switch, and those of the fast one wait behind them. The fast one has
/// all its tags in use meanwhile, and would be blamed for it.
#[test]
fn a_buffer_that_a_slow_reader_fills_is_the_limit() {
    let found = limited(HEAD_OF_LINE, &[], "credits", &["sw0.port0.completion_credits"], 300.0);
    let tags = found.run.requesters.iter().find(|each| each.device == "fast").expect("it reads");
    assert!(tags.time_attribution["tags"].as_f64().is_some_and(|share| share > 0.95), "{tags:?}");
}

/// A device whose requests go to another device of the same host, if a target is asked for.
const PAIR: &str = r#"
title = "Two devices"
[host.server]
slots = { slot1 = "gen4 x16", slot2 = "gen4 x16" }
stack = { read_trackers = 1024 }
peer_to_peer = true
[endpoint.card]
attach = "server.slot1"
generation = "gen4"
width = "x16"
tags = 768
[endpoint.other]
attach = "server.slot2"
generation = "gen4"
width = "x16"
[[workload]]
kind = "dma"
name = "stream"
device = "card"
direction = "write"
target = "other"
size = "64 KiB"
outstanding = 16
"#;

#[test]
fn ways_to_memory_are_the_limit() {
    for (rate, kind, direction) in
        [("read_bandwidth", "memory_reads", "read"), ("write_bandwidth", "memory_writes", "write")]
    {
        for owner in ["server", "server.stack"] {
            let path = format!("{owner}.{rate}");
            let name = path.replace("stack", "stack0");
            let settings = [("workload.stream.direction", direction), (path.as_str(), "5 GB/s")];
            limited(RIG, &settings, kind, &[&name], 300.0);
        }
    }
    limited(RIG, &[("server.write_overhead", "60 ns")], "memory_writes", &["server.write_bandwidth"], 300.0);
}

#[test]
fn banks_of_memory_are_the_limit() {
    let settings = [
        READ,
        ("server.memory.banks", "1"),
        ("workload.stream.size", "256 B"),
        ("workload.stream.order", "random"),
        ("workload.stream.span", "1 GiB"),
        ("workload.stream.outstanding", "256"),
    ];
    limited(RIG, &settings, "banks", &["server.memory.banks"], 300.0);
}

/// Writes land in a cache until it is full: it has four ways in eleven of 44 MiB for them, 16 MiB, and then a line goes to memory for
/// each that comes. Warm reads are found until the window is larger than the cache.
#[test]
fn memory_is_the_limit_once_the_cache_is_full() {
    let cache = [
        ("server.memory_bandwidth", "4 GB/s"),
        ("server.llc.size", "11 MiB"),
        ("server.llc.ways", "11"),
        ("server.llc.device_ways", "4"),
        ("workload.stream.span", "64 MiB"),
    ];
    let found = limited(RIG, &cache, "memory", &["server.memory"], 300.0);
    let goodput = found.run.flows[0].goodput_gb_per_s;
    assert!((goodput / 4.0 - 1.0).abs() < 0.005, "{goodput} GB/s");
    // A twentieth of the rate, and full before the first batch is over.
    let slow = [("server.memory_bandwidth", "1 GB/s"), ("server.llc.device_ways", "2")];
    let run = results(RIG, &[&cache[2..4], &slow].concat());
    let goodput = run.flows[0].goodput_gb_per_s;
    assert!(
        (goodput - 1.0).abs() < 0.005 && run.end_reason == EndName::Converged,
        "{goodput} GB/s, {}",
        run.end_detail
    );
    // 4 MiB stay in it.
    let stays = [("workload.stream.span", "2 MiB")];
    let goodput = results(RIG, &[&cache[..], &stays].concat()).flows[0].goodput_gb_per_s;
    assert!(goodput > 25.0, "{goodput} GB/s");
    let warm = [
        READ,
        ("card.buffers", "warm"),
        ("workload.stream.span", "44 MiB"),
        ("workload.stream.order", "random"),
    ];
    let quarter = results(RIG, &[&cache[..], &warm].concat()).flows[0].goodput_gb_per_s;
    assert!((quarter / (4.0 * 4.0 / 3.0) - 1.0).abs() < 0.01, "three in four lines are read: {quarter} GB/s");
}

#[test]
fn the_cache_is_the_limit() {
    let settings = [
        READ,
        ("card.buffers", "warm"),
        ("server.llc.size", "32 MiB"),
        ("server.llc.read_bandwidth", "5 GB/s"),
        ("workload.stream.span", "1 MiB"),
    ];
    limited(RIG, &settings, "cache", &["server.llc"], 300.0);
}

#[test]
fn the_path_of_peers_and_what_takes_their_packets_are_the_limit() {
    let ways = ["server.stack0.peers_in", "server.stack1.peers_out"];
    limited(PAIR, &[("server.peer.rate", "5 GB/s")], "peer_path", &ways, 300.0);
    limited(PAIR, &[("other.write_drain", "5 GB/s")], "endpoint_drain", &["other.write_drain"], 300.0);
    limited(PAIR, &[READ, ("other.memory_read_rate", "5 GB/s")], "endpoint_memory", &["other.memory"], 300.0);
    // Devices at two sockets share what the sockets send each other.
    let far = [("server.slots.slot2.socket", "1"), ("server.interconnect.rate", "5 GB/s")];
    limited(PAIR, &far, "socket_link", &["server.socket0-1"], 300.0);
    // Small packets leave the host, and their headers fill the wire there.
    limited(PAIR, &[("server.peer.largest_packet", "64 B")], "wire", &["other.downstream"], 20.0);
}

/// Two GPUs below a switch, the second on half as many lanes; the first copies into the memory of the second.
const COPY: &str = r#"
title = "A copy"
[host.server]
slots = { slot1 = "gen4 x16" }
[switch.sw]
attach = "server.slot1"
ports = { port0 = "gen4 x16", port1 = "gen4 x16", port2 = "gen4 x8" }
[endpoint.wide]
attach = "sw.port1"
copy_engine = { overhead = "0 ns" }
generation = "gen4"
width = "x16"
[endpoint.narrow]
attach = "sw.port2"
generation = "gen4"
width = "x8"
[[workload]]
kind = "copy"
name = "copy"
device = "wide"
direction = "peer"
target = "narrow"
size = "1 MiB"
[run]
warm_up = "200 us"
time_limit = "2 ms"
"#;

#[test]
fn the_wire_of_a_peer_that_is_copied_into_is_the_limit() {
    limited(COPY, &[], "wire", &["narrow.downstream"], 80.0);
    let pairs = COPY.replace(
        "kind = \"copy\"\nname = \"copy\"\ndevice = \"wide\"\ndirection = \"peer\"\ntarget = \"narrow\"",
        "kind = \"peer_copies\"\nname = \"copy\"\ndevices = [\"wide\", \"narrow\"]\npairs = [\"0>1\"]",
    );
    assert_ne!(pairs, COPY);
    limited(&pairs, &[], "wire", &["narrow.downstream"], 80.0);
}

/// Two drives whose data goes into the memory of a device with a link like that of one of them.
const INTO_A_DEVICE: &str = r#"
title = "Drives that are read into a device"
[host.server]
peer_to_peer = true
slots = { "slot1..slot3" = "gen4 x4" }
[endpoint.ssd]
count = 2
part = "generic-nvme-gen4-x4"
attach = "server.*"
[endpoint.gpu]
attach = "server.*"
generation = "gen4"
width = "x4"
[[workload]]
kind = "fio"
name = "read"
filename = ["ssd[*]"]
rw = "read"
bs = "128 KiB"
iodepth = 8
ioengine = "libaio"
iomem = "gpu"
[run]
warm_up = "500 us"
time_limit = "2 ms"
"#;

#[test]
fn the_wire_of_a_device_that_drives_are_read_into_is_the_limit() {
    limited(INTO_A_DEVICE, &[], "wire", &["gpu.downstream"], 80.0);
}

/// One device is slow behind a link between sockets, the other has the memory of its own and is fast: what it waits for is no part of
/// that link.
#[test]
fn a_flow_is_not_limited_by_what_it_does_not_come_by() {
    let two = r#"
title = "Two sockets"
[host.server]
slots = { slot1 = { link = "gen4 x16", socket = 0 }, slot2 = { link = "gen4 x16", socket = 1 } }
interconnect = { rate = "2 GB/s" }
[endpoint.far]
attach = "server.slot1"
generation = "gen4"
width = "x16"
memory_socket = 1
[endpoint.near]
attach = "server.slot2"
generation = "gen4"
width = "x16"
[[workload]]
kind = "dma"
name = "far"
device = "far"
direction = "read"
outstanding = 64
[[workload]]
kind = "dma"
name = "near"
device = "near"
direction = "read"
outstanding = 2
"#;
    // Memory of a socket is met by those whose buffers are there, and not by those that are plugged in there.
    let slow = [
        ("server.memory_bandwidth", "1 GB/s"),
        ("server.interconnect.rate", "100 GB/s"),
        ("far.memory_socket", "1"),
    ];
    let moved = [
        ("server.slots.slot2.socket", "0"),
        ("workload.far.outstanding", "1"),
        ("workload.far.size", "64 B"),
    ];
    let limit = results(two, &[&slow[..], &moved].concat()).limited_by.expect("something moved");
    assert_eq!(limit.name, "server.memory0", "{}", limit.sentence);
    assert!(limit.of_goodput < 1.0 && limit.alike.is_empty(), "{}", limit.sentence);
    let limit = results(two, &[]).limited_by.expect("something moved");
    assert_eq!(limit.name, "near.window", "{}", limit.sentence);
    assert!((0.8..0.95).contains(&limit.of_goodput), "{}", limit.sentence);
    let alone = results(two, &[("workload.near.outstanding", "1"), ("workload.near.size", "64 B")]);
    let limit = alone.limited_by.expect("something moved");
    assert_eq!(limit.name, "server.socket1-0", "{}", limit.sentence);
}

#[test]
fn other_cores_of_a_switch_are_the_limit() {
    let ingress = ["sw0.core.port1", "sw0.core.port2"];
    limited(SWITCHED, &[("sw0.core", "crossbar")], "switch_core", &ingress, 80.0);
    limited(SWITCHED, &[("sw0.core", "shared-memory")], "switch_memory", &["sw0.memory"], 300.0);
}

/// Two hosts, an adapter in each, and a cable that is narrower than either slot.
const VERBS: &str = r#"
title = "ib_write_bw over one cable"
[run]
warm_up = "100 us"
time_limit = "600 us"
[host.client]
slots = { slot1 = "gen4 x16" }
[host.target]
slots = { slot1 = "gen4 x16" }
[endpoint.nic0]
attach = "client.slot1"
generation = "gen4"
width = "x16"
rdma = { ports = 1 }
[endpoint.nic1]
attach = "target.slot1"
generation = "gen4"
width = "x16"
rdma = { ports = 1 }
[network.cable]
kind = "infiniband-edr"
ends = ["nic0.port1", "nic1.port1"]
[[workload]]
kind = "perftest"
name = "test"
network = "cable"
tool = "ib_write_bw"
"#;

#[test]
fn the_wire_beyond_an_adapter_is_the_limit() {
    // One wire: both adapters wait for it.
    limited(VERBS, &[], "wire_beyond", &["nic0.port1.wire", "nic1.wire_beyond"], 30.0);
}

/// Both adapters have a flow of large messages. That of the far one waits for a slot that is nearly full; the wire between them is full.
#[test]
fn a_full_wire_beyond_an_adapter_is_named_before_a_nearly_full_slot() {
    let settings = [
        ("client.slots.slot1", "gen3 x16"),
        ("target.slots.slot1", "gen3 x16"),
        ("workload.test.size", "1 MiB"),
    ];
    let limit = results(VERBS, &settings).limited_by.expect("something moved");
    assert_eq!(limit.name, "nic0.port1.wire", "{}", limit.sentence);
    assert!(limit.share > 0.99, "{}", limit.sentence);
}

/// What holds payload up inside adapters, or limits how much of it is under way; neither the wire nor the work requests that are
/// outstanding.
#[test]
fn buffers_tags_and_reads_under_way_of_an_adapter_are_the_limit() {
    let buffer = |part: &str| ("adapter_buffer", format!("nic{part}"));
    let (long, longer) = (("network.cable.propagation", "2 us"), ("network.cable.propagation", "10 us"));
    let reads = ("workload.test.tool", "ib_read_bw");
    for (settings, (kind, name)) in [
        (&[("nic0.tags", "8")][..], ("tags", "nic0.tags".to_owned())),
        (&[("nic0.rdma.send_buffer", "4 KiB")], buffer("0.port1.send_buffer")),
        (&[("nic1.rdma.receive_buffer", "4 KiB")], buffer("1.port1.receive_buffer")),
        // So much is under way on a long cable.
        (&[long, ("nic1.rdma.receive_buffer", "16 KiB")], buffer("1.port1.receive_buffer")),
        (
            &[longer, ("workload.test.tx_depth", "1"), ("nic1.rdma.receive_buffer", "1 MiB")],
            ("window", "nic0.window".to_owned()),
        ),
        (
            &[long, reads, ("nic0.rdma.outstanding_reads", "1"), ("nic0.rdma.receive_buffer", "1 MiB")],
            ("outstanding_reads", "nic0.outstanding_reads".to_owned()),
        ),
        (&[("nic0.rdma.packet_gap", "1 us")], ("wire_beyond", "nic0.port1.wire".to_owned())),
    ] {
        let found = limited(VERBS, settings, kind, &[&name], 50.0);
        let limit = found.run.limited_by.expect("something moved");
        assert!(!limit.edits.is_empty(), "{}", limit.sentence);
    }
}

/// Small messages, each of which takes so long in the adapter that neither the core that posts them nor the wire is full.
#[test]
fn the_pipelines_of_an_adapter_are_the_limit() {
    for (part, name) in [
        ("nic0.rdma.message_interval", "nic0.pipeline"),
        // The adapter that waits is the other one: it says that it waits for the wire.
        ("nic1.rdma.message_interval", "nic1.receive_pipeline"),
        ("nic0.rdma.queue_pair_interval", "nic0.queue_pairs"),
    ] {
        let settings = [("workload.test.size", "64 B"), (part, "1 us")];
        limited(VERBS, &settings, "pipeline", &[name], 100.0);
    }
    // Large reads of one queue pair, which takes them in more slowly than the wire brings them.
    let reads = [("workload.test.tool", "ib_read_bw"), ("nic0.rdma.queue_pair_read_bandwidth", "2 GB/s")];
    limited(VERBS, &reads, "pipeline", &["nic0.queue_pairs"], 50.0);
    // Both ways through one path inside the adapter, which is slower than the wire.
    let path = [("nic0.rdma.shared_bandwidth", "4 GB/s")];
    limited(VERBS, &path, "pipeline", &["nic0.shared_path"], 100.0);
}

/// What is written for one slot is changed there, whatever the slot is called.
#[test]
fn edits_find_a_slot_by_its_name() {
    let text = RIG.replace(
        "slots = { slot1 = \"gen4 x16\" }",
        "slots = { left = { link = \"gen4 x8\", credits = { posted_header = 4, posted_data = 64 } } }",
    );
    let found = results(text.replace("server.slot1", "server.left"), &[]);
    let limit = found.limited_by.expect("something moved");
    assert_eq!(limit.kind, "credits", "{}", limit.sentence);
    assert_eq!(found.links[0].upper, "server.left");
    assert!(limit.sentence.contains("server.left"), "{}", limit.sentence);
    let paths: Vec<&str> = limit.edits[0].settings.iter().map(|each| each.path.as_str()).collect();
    assert_eq!(paths, ["server.slots.left.credits.posted_header", "server.slots.left.credits.posted_data"]);
}

/// A pool of packets whose credits are on their way for longer than the packets take: from a third of the time to a sixth of it,
/// the wire waits for them, and ten times as many bring more than a wire ten times as fast.
#[test]
fn credits_that_a_busy_wire_waits_for_are_the_limit() {
    for packets in [4, 5, 6] {
        let (headers, data) = (packets.to_string(), (16 * packets).to_string());
        let small = [
            ("server.slots.slot1.link", "gen3 x8"),
            ("card.generation", "gen3"),
            ("card.width", "x8"),
            ("server.credits.posted_header", headers.as_str()),
            ("server.credits.posted_data", data.as_str()),
            ("server.write_latency", "200 ns"),
            ("workload.stream.size", "256 B"),
            ("workload.stream.outstanding", "256"),
        ];
        limited(RIG, &small, "credits", &["server.slot1.posted_credits"], 30.0);
    }
}

/// Each of what slows a device's own engines down is named, proven, and can be changed.
#[test]
fn the_pace_of_a_device_is_the_limit() {
    let small = ("workload.stream.size", "64 B");
    for (key, direction) in [
        ("card.request_interval", "write"),
        ("card.request_interval", "read"),
        ("card.write_interval", "write"),
        ("card.read_interval", "read"),
    ] {
        let slow = [(key, "50 ns"), ("workload.stream.direction", direction), small];
        limited(RIG, &slow, "request_interval", &["card.request_interval"], 50.0);
    }
    // A TLP takes 9 ns of the wire, and is followed by four times as much silence.
    limited(RIG, &[("card.tlp_gap", "40 ns")], "tlp_gap", &["card.tlp_gap"], 100.0);
}

/// Posted writes that have left leave a device nothing to ask for until one is over: it is asked for one at a time.
#[test]
fn one_write_at_a_time_is_the_limit() {
    let one = [("workload.stream.outstanding", "1"), ("workload.stream.size", "64 B")];
    limited(RIG, &one, "window", &["card.window"], 300.0);
    // The device has no pace of its own that a write on its data path could wait for.
    let deep = ("card.path_latency", "1 us");
    limited(RIG, &[one[0], ("workload.stream.size", "4 KiB"), deep], "window", &["card.window"], 300.0);
}

/// Who is held back by a rate has nothing to ask for because of that, beside others who are asked for one at a time.
#[test]
fn a_rate_is_no_window() {
    const BESIDE: &str = r#"
[endpoint.ssd]
part = "generic-nvme-gen4-x4"
attach = "server.slot2"
[[workload]]
kind = "fio"
name = "slow"
filename = ["ssd"]
rw = "write"
bs = "4 KiB"
iodepth = 1
numjobs = 1
rate_iops = 1000
"#;
    let text = format!("{}{BESIDE}", RIG.replace("slots = { slot1", "slots = { slot2 = \"gen4 x4\", slot1"));
    let settings =
        [("workload.stream.outstanding", "1"), ("workload.stream.size", "64 B"), ("run.time_limit", "3 ms")];
    let limit = results(&text, &settings).limited_by.expect("something moved");
    assert_eq!((limit.kind, limit.alike.len()), ("window", 0), "{}", limit.sentence);
}

/// What a write takes beside its bytes is named beside the rate, and halved first.
#[test]
fn the_time_of_a_write_beside_its_bytes_is_the_limit() {
    let slow = [("server.write_overhead", "100 ns")];
    let found = limited(RIG, &slow, "memory_writes", &["server.write_bandwidth"], 300.0);
    let limit = found.run.limited_by.expect("something moved");
    assert!(limit.sentence.contains(" and 100 ns a write"), "{}", limit.sentence);
    assert_eq!(limit.edits[0].settings[0].path, "server.write_overhead");
}

/// A header credit, as few as there can be, is enlarged like any other number of them: in scaled steps, of which that is less than one.
#[test]
fn one_credit_is_the_limit() {
    let one = [("server.credits.posted_header", "1"), ("workload.stream.size", "64 B")];
    let Proof { larger, sentence, .. } = proof(RIG, &one);
    assert_eq!(
        (larger[0].kind, larger[0].names.as_slice()),
        ("credits", &["server.slot1.posted_credits".to_owned()][..]),
        "{sentence}"
    );
    assert!(larger[0].gain_percent > 300.0, "{sentence}");
}

/// The data path inside a device has a rate, and is in use all the time; the requester says that it waits for its engines.
#[test]
fn the_data_path_of_a_device_is_the_limit() {
    for (direction, name) in [("write", "card.dma.write_path"), ("read", "card.dma.read_path")] {
        let slow = [("card.path_rate", "3 GB/s"), ("workload.stream.direction", direction)];
        let found = limited(RIG, &slow, "pipeline", &[name], 500.0);
        let path = found.run.resources.iter().find(|resource| resource.name == name).expect("it was used");
        assert!(path.utilisation > 0.999, "{path:?}");
        let goodput = found.run.flows[0].goodput_gb_per_s;
        assert!((goodput / 3.0 - 1.0).abs() < 0.005, "{goodput}");
    }
}

/// Data pass the path ahead of their request, which may come when the window of measuring has begun: what had been done before is not
/// counted in it. A third of its time was.
#[test]
fn a_data_path_is_in_use_for_no_more_than_all_the_time() {
    const BOTH_WAYS: &str = r#"
[host.h]
slots = { slot0 = "gen5 x2", slot1 = "gen3 x2" }
shared_outbound_queue = 4
peer_to_peer = true
[endpoint.a]
attach = "h.slot1"
generation = "gen3"
width = "x2"
path_rate = "1 GB/s"
[endpoint.b]
attach = "h.slot0"
generation = "gen5"
width = "x2"
[[workload]]
kind = "dma"
device = "a"
direction = "both"
size = "64 KiB"
target = "b"
"#;
    let in_use = |text: &str, settings: &[(&str, &str)], name: &str| {
        let found = results(text, settings).resources;
        found.into_iter().find(|resource| resource.name == name).expect("it was used").utilisation
    };
    let both = in_use(BOTH_WAYS, &[], "a.dma.write_path");
    assert!((0.5..=1.0).contains(&both), "{both}");
    for rate in ["1.5 GB/s", "3 GB/s", "3.3 GB/s", "6 GB/s", "7 GB/s"] {
        let narrow =
            [("server.slots.slot1", "gen4 x4"), ("card.path_rate", rate), ("card.path_latency", "100 ns")];
        let used = in_use(RIG, &narrow, "card.dma.write_path");
        assert!((0.9..=1.0).contains(&used), "{rate}: {used}");
    }
}

/// Two hosts at each of two leaves, all of which write across the spine.
const TREE: &str = r#"
[run]
warm_up = "100 us"
time_limit = "400 us"
[host.node]
count = 4
part = "generic-gen5-server"
[endpoint.nic]
count = 4
part = "nvidia-connectx-7"
attach = "node[*].slot1"
[network_switch.leaf]
count = 2
[network_switch.spine]
[network.access]
kind = "KIND"
rate = "100 Gb/s"
lanes = 1
ends = ["nic[*]", "leaf[*]"]
[network.uplinks]
kind = "KIND"
rate = "100 Gb/s"
lanes = 1
ends = ["leaf[*]", "spine"]
[[workload]]
kind = "perftest"
name = "across"
tool = "ib_write_bw"
network = "access"
client = "nic[0..1]"
server = "nic[2..3]"
"#;

/// Two read from a third, whose cable to the switch is full; theirs are half idle, and faster ones bring nothing.
const INCAST: &str = r#"
[run]
warm_up = "100 us"
time_limit = "1 ms"
[host.node]
count = 3
part = "generic-gen4-server"
[endpoint.nic]
count = 3
part = "mellanox-connectx-5"
attach = "node[*].slot1"
[network_switch.leaf]
ports = 16
[network.cable]
kind = "roce"
rate = "100 Gb/s"
ends = ["nic[*]", "leaf"]
[[workload]]
kind = "perftest"
name = "reads"
network = "cable"
tool = "ib_read_bw"
size = "64 KiB"
client = "nic[0..1]"
server = "nic[2]"
"#;

/// Two adapters and a cable, and one message at a time.
const PING_PONG: &str = r#"
[host.near]
part = "generic-gen4-server"
[host.far]
part = "generic-gen4-server"
[endpoint.nic]
part = "mellanox-connectx-5"
attach = "near.slot1"
[endpoint.peer]
part = "mellanox-connectx-5"
attach = "far.slot1"
[network.cable]
kind = "infiniband-edr"
ends = ["nic.port1", "peer.port1"]
[[workload]]
kind = "perftest"
name = "test"
tool = "ib_write_lat"
network = "cable"
"#;

/// There cannot be more than one message under way, so the proof is where it is: in the adapters, and after that at the threads.
#[test]
fn a_message_alone_is_limited_by_the_latency_of_adapters() {
    let found = proof(PING_PONG, &[]);
    let kinds: Vec<&str> = found.larger.iter().map(|each| each.kind).take(2).collect();
    assert_eq!(kinds, ["adapter_latency", "core"], "{}", found.sentence);
    assert_eq!(found.larger[0].names, ["nic.latency", "peer.latency"]);
    assert!(found.sentence.contains("a tenth of it brings +"), "{}", found.sentence);
    assert!(found.sentence.ends_with(".window"), "waiting time saw this: {}", found.sentence);
    let edits = found.run.limited_by.expect("something moved").edits;
    let paths: Vec<&str> =
        edits.iter().flat_map(|edit| &edit.settings).map(|each| each.path.as_str()).collect();
    assert_eq!(
        paths,
        ["workload.test.size"],
        "a latency test has one queue pair, and takes no notice of `tx_depth`"
    );
}

#[test]
fn the_cable_of_an_adapter_is_the_limit_and_not_those_of_others() {
    let found = limited(INCAST, &[], "wire_beyond", &["nic[2].port1.wire"], 50.0);
    let ports = ["leaf.port1.wire", "leaf.port2.wire"];
    let others =
        found.larger.iter().filter(|each| each.names.iter().any(|name| ports.contains(&name.as_str())));
    assert!(
        others.clone().count() > 0 && others.clone().all(|each| each.gain_percent < 1.0),
        "{:#?}",
        found.larger
    );
}

/// A switch that pauses at 8 KiB: the wire into its buffer carries something or is paused all the time, and what is outstanding waits there.
#[test]
fn the_buffer_that_a_switch_pauses_at_is_the_limit() {
    let pauses = [("leaf.buffer", "64 KiB"), ("leaf.xoff", "8 KiB"), ("leaf.xon", "4 KiB")];
    let ends = |client, server, tool| {
        [("workload.reads.client", client), ("workload.reads.server", server), ("workload.reads.tool", tool)]
    };
    for ends in [
        ends("nic[0..1]", "nic[2]", "ib_read_bw"),
        ends("nic[0]", "nic[2]", "ib_read_bw"),
        ends("nic[2]", "nic[0]", "ib_write_bw"),
    ] {
        let found = proof(INCAST, &[&pauses[..], &ends].concat());
        let limit = found.run.limited_by.as_ref().expect("something moved");
        assert_eq!((limit.kind, &*limit.name), ("network_buffer", "leaf.port3.buffer"), "{}", limit.sentence);
        assert!(limit.sentence.contains("64 KiB, a pause above 8 KiB"), "{}", limit.sentence);
        let changed = limit.edits[0].settings.iter().map(|each| (&*each.path, &*each.after));
        let both = [("leaf.buffer", "128 KiB"), ("leaf.xoff", "16 KiB"), ("leaf.xon", "8 KiB")];
        assert!(changed.clone().eq(both), "{:?}", changed.collect::<Vec<_>>());
        let larger = found.larger.iter().find(|each| each.kind == "network_buffer").expect("it was tried");
        assert!(larger.gain_percent > 50.0, "{:#?}", found.larger);
    }
}

#[test]
fn a_wire_between_switches_is_the_limit() {
    for kind in ["infiniband-ndr", "roce"] {
        let text = TREE.replace("KIND", kind);
        let names = ["leaf[0].port3.wire", "spine.port2.wire"];
        // Twice as much, then each has a wire of its own.
        limited(&text, &[], "wire_beyond", &names, 80.0);
    }
}

/// A buffer of two packets, whose credits are on their way for longer than the packets take.
#[test]
fn the_buffer_of_a_network_switch_is_the_limit() {
    let alone = [("workload.across.client", "nic[0]"), ("workload.across.server", "nic[1]")];
    let short = [("leaf.buffer", "9 KiB"), ("access.propagation", "500 ns"), alone[0], alone[1]];
    let text = TREE.replace("KIND", "infiniband-ndr");
    let larger = proof(&text, &short).larger;
    let found = larger.iter().find(|each| each.kind == "network_buffer");
    assert!(found.is_some_and(|each| each.gain_percent > 50.0), "{larger:#?}");
}

/// A core that stores to registers over a Gen5 x16 link, 64 B at a time.
const STORES: &str = r#"
[host.server]
slots = { slot1 = "gen5 x16" }
core_latency = "60 ns"
store_cost = "1 ns"
combining_buffers = 10
[endpoint.card]
attach = "server.slot1"
generation = "gen5"
width = "x16"
[[workload]]
kind = "mmio"
name = "stores"
device = "card"
direction = "write"
size = "64 B"
write_combining = true
"#;

/// Ten buffers of 64 B are free again after 60 ns and a line on the wire: what the device asks for itself, nothing, is no reason.
#[test]
fn stores_are_limited_by_the_buffers_that_combine_them() {
    let found = limited(STORES, &[], "line_buffers", &["stores.lines"], 100.0);
    let limit = found.run.limited_by.as_ref().expect("something moved");
    assert_eq!(limit.seen_as, None, "it is no symptom of itself: {}", limit.sentence);
    let goodput = found.run.flows[0].goodput_gb_per_s;
    assert!((9.5..=10.7).contains(&goodput), "640 B in 60 to 67 ns: {goodput}");
}

/// Eight stores of 1 ns fill a line: 8 GB/s.
#[test]
fn stores_of_8_bytes_are_limited_by_the_core() {
    let small = [("workload.stores.size", "8 B")];
    let found = limited(STORES, &small, "core", &["stores.core"], 20.0);
    let goodput = found.run.flows[0].goodput_gb_per_s;
    assert!((7.9..=8.0).contains(&goodput), "{goodput}");
}

/// One access every 100 ns, whatever becomes of the others: ten times as often is ten times as much.
#[test]
fn paced_loads_are_limited_by_what_is_asked_for() {
    let paced = [
        ("workload.stores.write_combining", "false"),
        ("workload.stores.direction", "read"),
        ("workload.stores.size", "8 B"),
        ("workload.stores.interval", "100 ns"),
    ];
    limited(STORES, &paced, "demand", &["card.demand"], 800.0);
}

/// A load waits for its data, and the next for it: more at a time are as much more.
#[test]
fn loads_of_registers_are_limited_by_how_many_are_under_way() {
    let loads = [
        ("workload.stores.write_combining", "false"),
        ("workload.stores.direction", "read"),
        ("workload.stores.size", "4 B"),
    ];
    let found = limited(STORES, &loads, "window", &["card.window"], 800.0);
    let polled = found.run.limited_by.as_ref().expect("something moved");
    assert!(polled.share > 0.98, "but for the loop's own 3 ns: {}", polled.sentence);
}

/// A store is over for the core when the root port has sent it and it has heard of it: 60 ns each way, a store of 4 B on the wire, 1 ns of its own.
#[test]
fn uncached_stores_wait_for_their_root_port_and_not_for_the_device() {
    let stores = [("workload.stores.write_combining", "false"), ("workload.stores.size", "4 B")];
    let found = limited(STORES, &stores, "window", &["card.window"], 300.0);
    let flow = &found.run.flows[0];
    assert!((120.0..=124.0).contains(&(1e9 / flow.operations_per_s)), "{}", flow.operations_per_s);
    assert!(flow.latency_ns.mean.expect("measured") > 70.0, "until it arrives: {:?}", flow.latency_ns.mean);
}

/// A device and its host answer each other, one test at a time with pauses between them.
const TESTS: &str = r#"
[host.server]
slots = { slot1 = "gen4 x8" }
[endpoint.fpga]
attach = "server.slot1"
generation = "gen4"
width = "x8"
[[workload]]
kind = "turnaround"
name = "analyzer"
device = "fpga"
reading = "poll"
"#;

/// Pauses of 1 to 2 us are most of the time: it is what is asked that limits. Where they are short it is that one test is under way at a
/// time, which nothing changes, and no longer that nothing is asked.
#[test]
fn tests_of_a_turn_around_are_limited_by_their_pauses_or_by_being_one_at_a_time() {
    let found = limited(TESTS, &[], "demand", &["fpga.demand"], 100.0);
    let paused = found.run.limited_by.as_ref().expect("something moved").share;
    let flow = &found.run.flows[0];
    let expected = 1.0 - flow.operations_per_s * flow.latency_ns.mean.expect("measured") / 1e9;
    assert!((paused - expected).abs() < 0.03 && paused < 0.9, "{paused}, {expected}");
    let found = proof(TESTS, &[("workload.analyzer.pause", "10 ns")]);
    let limit = found.run.limited_by.as_ref().expect("something moved");
    assert_eq!(limit.name, "fpga.window", "{}", limit.sentence);
    assert!(limit.share > 0.9, "{}", limit.sentence);
    // Memory and what drains writes hold less than a hundredth of a test.
    assert!(found.larger.is_empty() && found.sentence.starts_with("Nothing was tried"), "{}", found.sentence);
}

/// A core that is busy with registers of one device holds up nothing of another.
#[test]
fn stores_are_no_limit_of_the_transfers_beside_them() {
    let beside = STORES.replace("\"gen5 x16\" }", "\"gen5 x16\", slot2 = \"gen5 x16\" }")
        + r#"
[endpoint.reader]
attach = "server.slot2"
generation = "gen5"
width = "x16"
tags = 32
[[workload]]
kind = "dma"
name = "reads"
device = "reader"
direction = "read"
size = "64 KiB"
outstanding = 16
"#;
    let both = results(&beside, &[("workload.stores.size", "8 B"), ("server.memory_latency", "500 ns")]);
    let core = both.resources.iter().find(|each| each.name == "stores.core").expect("it stores");
    assert!(core.utilisation > 0.99, "{}", core.utilisation);
    // 32 reads of 512 B in some 600 ns are more than the core stores.
    let limit = both.limited_by.expect("something moved");
    assert_eq!(limit.name, "reader.tags", "{}", limit.sentence);
}

/// Completions of 256 B through a switch whose upstream port has room for 8 KiB of them: the link above is never free, in use or held up by
/// credits. More credits bring what is blocked, and they are tried although that is little.
#[test]
fn credits_that_hold_up_a_nearly_full_wire_are_tried() {
    let rig = r#"
[host.server]
slots = { slot1 = "gen5 x16" }
mps_supported = "512 B"
memory_latency = "500 ns"
[switch.sw]
part = "broadcom-pex89144"
attach = "server.slot1"
[endpoint.gpu]
part = "nvidia-h100-pcie"
attach = "sw.port1"
[[workload]]
kind = "dma"
name = "reads"
device = "gpu"
direction = "read"
size = "1 MiB"
outstanding = 8
"#;
    let found = proof(rig, &[]);
    let gain = |name: &str| {
        let made = found.larger.iter().find(|each| each.names == [name]);
        made.unwrap_or_else(|| panic!("{name}: {:#?}", found.larger)).gain_percent
    };
    assert!((2.0..=6.0).contains(&gain("sw.port0.completion_credits")), "{:#?}", found.larger);
}

/// A game whose GPU has most to do between the links' messages.
const GAME: &str = r#"
[host.server]
slots = { slot1 = "gen4 x16" }
[endpoint.gpu]
generation = "gen4"
width = "x16"
attach = "server.slot1"
[[workload]]
kind = "frames"
name = "game"
gpus = ["gpu"]
frames = 1000
cpu_time = "100 us"
gpu_time = "1 ms"
batches = 10
"#;

/// What a game works out between its requests is nothing that its GPU is asked for.
#[test]
fn what_a_game_works_out_is_the_limit() {
    let found = limited(GAME, &[], "demand", &["gpu.demand"], 300.0);
    let edits = found.run.limited_by.expect("something moved").edits;
    let paths: Vec<&str> =
        edits.iter().flat_map(|edit| &edit.settings).map(|each| each.path.as_str()).collect();
    assert_eq!(paths, ["workload.game.cpu_time", "workload.game.gpu_time"]);
}
