//! Parameters that change while a run goes on: what comes of it, and what is refused.

use lanewise_scenario::NativeFiles;
use lanewise_sim::{ChangedValue, Ends, Results, Session, Source, Status, load, run};
use lanewise_units::{Span, Time};
use std::ops::ControlFlow;

/// A card that reads 512 B at a time, one after the other, from a memory that is the only thing slow.
const READS: &str = r#"
    [run]
    time_limit = "10 ms"
    [host.server]
    slots = { slot1 = "gen4 x8" }
    memory_latency = "500 ns"
    [endpoint.card]
    attach = "server.slot1"
    generation = "gen4"
    width = "x8"
    mrrs = "512 B"
    [[workload]]
    kind = "dma"
    name = "reads"
    device = "card"
    direction = "read"
    size = "512 B"
    outstanding = 1
"#;

/// A drive whose data path is all that limits it.
const DRIVE: &str = r#"
    [run]
    time_limit = "40 ms"
    [host.server]
    slots = { slot1 = "gen4 x4" }
    [endpoint.ssd]
    attach = "server.slot1"
    generation = "gen4"
    width = "x4"
    nvme = { capacity = "1 TiB", read_rate = "2 GB/s", write_rate = "2 GB/s", read_ahead = "0 B", dies = 256, read_time = "50 us" }
    [[workload]]
    kind = "fio"
    name = "job"
    filename = ["ssd"]
    rw = "randread"
    ioengine = "libaio"
    bs = "64 KiB"
    iodepth = 32
    time_based = true
    runtime = "1 s"
"#;

const ERRORS: &str = r#"
    [host.server]
    slots = { slot1 = "gen3 x8" }
    [endpoint.card]
    attach = "server.slot1"
    generation = "gen3"
    width = "x8"
    link = { bit_error_rate_upstream = 1e-12 }
    [[workload]]
    kind = "dma"
    name = "writes"
    device = "card"
    direction = "write"
"#;

/// Cores that stream through a memory expander.
const EXPANDER: &str = r#"
    [run]
    time_limit = "10 ms"
    [host.server]
    slots = { slot1 = "gen5 x8" }
    cxl = { mem = true }
    [endpoint.cxl0]
    attach = "server.slot1"
    generation = "gen5"
    width = "x8"
    link = { bit_error_rate_upstream = 1e-15 }
    expander = { capacity = "1 GiB", memory_rate = "100 GB/s" }
    [[workload]]
    kind = "stream"
    name = "stream"
    device = "cxl0"
    cores = 16
"#;

fn begun(text: &str) -> Session<'static> {
    let source = Source::from_text("rig.toml", text);
    Session::load(source, &[], Ends::AtItsLimits).unwrap_or_else(|found| panic!("{found}"))
}

fn us(us: u64) -> Span {
    Span::from_us(us)
}

fn go(session: &mut Session<'_>, span: Span) {
    let until = session.now() + span;
    assert_eq!(session.step(until), Status::Paused);
    assert_eq!(session.now(), until);
}

/// Goodput in GB/s and mean latency in ns of the first flow, in the window to come, after so much time to settle.
fn settled(session: &mut Session<'_>, settle: Span, window: Span) -> (f64, f64) {
    go(session, settle);
    session.state();
    go(session, window);
    let last = session.state().flows[0].last;
    (last.goodput_gb_per_s, last.latency_ns_mean.expect("something was done"))
}

fn change(session: &mut Session<'_>, path: &str, value: &str) -> Vec<ChangedValue> {
    session.change(path, value).unwrap_or_else(|found| panic!("{found}"))
}

/// The same in a scenario that has the value from the start.
fn from_the_start(text: &str, path: &str, value: &str, settle: Span, window: Span) -> (f64, f64) {
    let overrides = [(path.to_owned(), value.to_owned())];
    let source = Source::from_text("rig.toml", text);
    let mut session = Session::load(source, &overrides, Ends::AtItsLimits).expect("sound");
    settled(&mut session, settle, window)
}

fn text(results: &Results) -> String {
    serde_json::to_string(results).expect("results are JSON")
}

#[track_caller]
fn close(percent: f64, found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() * 100.0 <= percent, "{found}, {expected} expected");
}

/// One request at a time waits for the memory every time: its latency is as much longer as the memory's is. How it meets ordered sets
/// and DLLPs is another matter by fractions of a nanosecond.
#[test]
fn a_slower_memory_makes_a_read_as_much_slower() {
    let mut session = begun(READS);
    let (_, before) = settled(&mut session, us(100), us(100));
    let changed = change(&mut session, "server.memory_latency", "1500 ns");
    assert_eq!(changed[0].before, "500 ns");
    let (goodput, after) = settled(&mut session, us(100), us(100));
    assert!((after - before - 1000.0).abs() < 0.5, "{before} and {after}");
    let (same_goodput, same) = from_the_start(READS, "server.memory_latency", "1500 ns", us(100), us(100));
    assert!((after - same).abs() < 0.5, "{after} and {same}");
    close(2.0, goodput, same_goodput);
}

#[test]
fn a_drive_at_half_its_rate_gives_half() {
    let mut session = begun(DRIVE);
    let (before, _) = settled(&mut session, us(3_000), us(3_000));
    close(1.0, before, 2.0);
    change(&mut session, "ssd.nvme.read_rate", "1 GB/s");
    let (after, _) = settled(&mut session, us(3_000), us(3_000));
    close(1.0, after, before / 2.0);
    let (same, _) = from_the_start(DRIVE, "ssd.nvme.read_rate", "1 GB/s", us(3_000), us(3_000));
    close(1.0, after, same);
    change(&mut session, "ssd.nvme.read_rate", "2 GB/s");
    close(1.0, settled(&mut session, us(3_000), us(3_000)).0, before);
}

/// As long as nothing is full, four operations in flight move four times as much in the same time each, and one again a quarter.
#[test]
fn more_operations_in_flight_move_more_and_fewer_less() {
    let mut session = begun(READS);
    let (one, latency) = settled(&mut session, us(100), us(100));
    for (outstanding, times) in [("4", 4.0), ("1", 1.0), ("3", 3.0), ("2", 2.0)] {
        change(&mut session, "workload.reads.outstanding", outstanding);
        let (found, same) = settled(&mut session, us(100), us(100));
        close(2.0, found, one * times);
        close(3.0, same, latency);
    }
}

/// One at a time takes a fixed time and the bytes' time on the link: of four requests, three more follow the first on the wire.
#[test]
fn larger_operations_are_those_of_a_run_that_has_them_from_the_start() {
    let mut session = begun(READS);
    let (small, _) = settled(&mut session, us(100), us(100));
    change(&mut session, "workload.reads.size", "2 KiB");
    let (goodput, _) = settled(&mut session, us(100), us(400));
    let (same, _) = from_the_start(READS, "workload.reads.size", "2 KiB", us(100), us(400));
    close(1.0, goodput, same);
    assert!(goodput > 2.5 * small);
}

#[test]
fn a_job_takes_other_depths_sizes_and_mixes() {
    let shallow = |depth: &str| {
        let mut session = begun(&DRIVE.replace("iodepth = 32", &format!("iodepth = {depth}")));
        settled(&mut session, us(3_000), us(3_000))
    };
    let mut session = begun(DRIVE);
    go(&mut session, us(2_000));
    for depth in ["1", "4", "32", "2"] {
        change(&mut session, "workload.job.iodepth", depth);
        let (found, latency) = settled(&mut session, us(3_000), us(3_000));
        let (expected, same) = shallow(depth);
        close(3.0, found, expected);
        close(3.0, latency, same);
    }
    change(&mut session, "workload.job.bs", "16 KiB");
    let (found, latency) = settled(&mut session, us(2_000), us(3_000));
    let small = DRIVE.replace("iodepth = 32", "iodepth = 2").replace("64 KiB", "16 KiB");
    let (expected, same) = settled(&mut begun(&small), us(2_000), us(3_000));
    close(3.0, found, expected);
    close(3.0, latency, same);
    change(&mut session, "workload.job.bs", "64 KiB");
}

#[test]
fn a_mix_takes_another_share() {
    let mixed = DRIVE.replace("randread", "randrw").replace("64 KiB", "16 KiB");
    let mut session = begun(&mixed);
    go(&mut session, us(3_000));
    change(&mut session, "workload.job.rwmixread", "90");
    go(&mut session, us(3_000));
    session.state();
    go(&mut session, us(20_000));
    let flows = session.state().flows;
    let of = |direction: &str| {
        flows.iter().find(|flow| flow.direction == direction).expect("there is one").last.operations_per_s
    };
    close(2.0, of("read") / (of("read") + of("write")), 0.9);
    let refused = session.change("workload.job.rwmixread", "100").expect_err("one way is another job");
    assert_eq!(refused.codes(), ["fixed-in-a-run"]);
}

/// Buffers are for the blocks of the start: larger ones are refused, and are no other rate under the name of the smaller ones.
#[test]
fn blocks_that_do_not_fit_the_buffers_are_refused_at_any_rate() {
    let mut session = begun(&DRIVE.replace("iodepth = 32", "iodepth = 32\nrate = \"100 MB/s\""));
    go(&mut session, us(100));
    let refused = session.change("workload.job.bs", "128 KiB").expect_err("buffers are for 64 KiB");
    assert_eq!(refused.codes(), ["fixed-in-a-run"]);
    assert!(session.changes().is_empty());
    assert_eq!(change(&mut session, "workload.job.bs", "16 KiB")[0].after, "16 KiB");
}

/// A bit in a million wrong: with TLPs of 256 B and their framing, about one in 450 is damaged, and each damage is replayed.
#[test]
fn more_bit_errors_make_more_replays() {
    let mut session = begun(ERRORS);
    go(&mut session, us(200));
    assert_eq!(session.state().links[0].upstream.replays, 0);
    change(&mut session, "card.link.bit_error_rate_upstream", "0.000001");
    go(&mut session, us(200));
    let state = session.state();
    let upstream = &state.links[0].upstream;
    // 7 GB/s for 200 us are 1.1e7 bits.
    assert!((4..25).contains(&upstream.replays), "{}", upstream.replays);
    assert!(upstream.time_attribution.contains_key("replay"));
}

/// Flits of CXL.mem are damaged at the new rate, too.
#[test]
fn more_bit_errors_damage_more_flits_of_cxl() {
    let path = "cxl0.link.bit_error_rate_upstream";
    let mut session = begun(EXPANDER);
    let (before, _) = settled(&mut session, us(50), us(200));
    change(&mut session, path, "0.000002");
    let (after, _) = settled(&mut session, us(50), us(200));
    assert!(after < 0.98 * before, "{before} and {after}");
    let (same, _) = from_the_start(EXPANDER, path, "0.000002", us(50), us(200));
    assert!((after / same - 1.0).abs() < 0.01, "{after} and {same}");
}

/// Each of these on a machine that uses it, and that the setting comes through: latency or goodput is another one.
#[test]
fn whatever_may_change_of_a_host_a_switch_and_a_device_does() {
    let behind = READS.replace("attach = \"server.slot1\"", "attach = \"sw0.port1\"")
        + "[switch.sw0]\nattach = \"server.slot1\"\nports = { port0 = \"gen4 x8\", port1 = \"gen4 x8\" }\nlatency = \"100 ns\"\n";
    for (path, value) in [
        ("server.memory_latency", "700 ns"),
        ("server.memory_bandwidth", "1 GB/s"),
        ("server.read_bandwidth", "1 GB/s"),
        ("sw0.latency", "300 ns"),
    ] {
        let mut session = begun(&behind);
        let (_, before) = settled(&mut session, us(50), us(50));
        change(&mut session, path, value);
        let (_, after) = settled(&mut session, us(50), us(50));
        assert!(after > before + 100.0, "{path}: {before} and {after}");
        let (_, same) = from_the_start(&behind, path, value, us(50), us(50));
        assert!((after - same).abs() < 1.0, "{path}: {after} and {same}");
    }
}

#[test]
fn a_value_that_is_there_already_changes_nothing() {
    let scenario = load(&Source::from_text("rig.toml", DRIVE), &[]).expect("sound");
    let whole = run(&scenario, &mut |_| ControlFlow::Continue(())).expect("a tree");
    let source = Source::from_text("rig.toml", DRIVE);
    let mut session = Session::load(source, &[], Ends::WhenNarrow).expect("sound");
    for (path, value) in [
        ("ssd.nvme.read_rate", "2 GB/s"),
        ("server.memory_latency", "0.2 us"),
        ("workload.job.iodepth", "32"),
        ("run.seed", "1"),
    ] {
        session.step(session.now() + us(37));
        let now = scenario.parameters.iter().find(|parameter| parameter.path == path).expect("it is one");
        let value = if path.ends_with("memory_latency") { now.value.as_str() } else { value };
        assert_eq!(change(&mut session, path, value), []);
    }
    session.step(Time::NEVER);
    assert_eq!(text(&session.finish()), text(&whole));
}

#[test]
fn results_tell_every_change_and_the_fingerprint_covers_it() {
    let with = |changes: &[(u64, &str)], pieces: u64| {
        let mut session = begun(DRIVE);
        for (at, value) in changes {
            while session.now() < Time::ZERO + us(*at) {
                session.step((session.now() + us(pieces)).min(Time::ZERO + us(*at)));
                session.state();
            }
            change(&mut session, "ssd.nvme.read_rate", value);
            if pieces == 999 {
                session.results();
            }
        }
        session.step(Time::ZERO + us(6_000));
        session.results()
    };
    let changes = [(2_500, "1 GB/s"), (4_000, "1.5 GB/s")];
    let once = with(&changes, 100_000);
    assert_eq!(once.changes.len(), 2);
    let first = &once.changes[0];
    assert_eq!((first.at_s, first.path.as_str()), (2.5e-3, "ssd.nvme.read_rate"));
    assert_eq!((first.before.as_str(), first.after.as_str()), ("2 GB/s", "1 GB/s"));
    assert_eq!(once.phases.len(), 3, "{:?}", once.phases);
    assert_eq!(once.phases[1].name, "ssd.nvme.read_rate = 1 GB/s");
    let bytes: u64 = once.phases.iter().map(|phase| phase.flows[0].bytes).sum();
    assert_eq!(bytes, once.flows[0].bytes);
    // In pieces of other lengths, with results on the way: the same.
    for pieces in [13, 999] {
        assert_eq!(text(&with(&changes, pieces)), text(&once));
    }
    let others =
        [with(&[], 100_000), with(&changes[..1], 100_000), with(&[(2_501, "1 GB/s"), changes[1]], 100_000)];
    assert!(others.iter().all(|other| other.fingerprint != once.fingerprint));
    assert!(!text(&others[0]).contains("\"changes\""), "a run without changes says nothing of them");
}

/// A change that comes too late to move a packet is covered all the same.
#[test]
fn the_fingerprint_covers_a_change_without_consequences() {
    let mut session = begun(READS);
    go(&mut session, us(50));
    let (trajectory, before) = (session.trajectory(), session.fingerprint());
    assert_eq!(trajectory, before);
    change(&mut session, "server.memory_latency", "501 ns");
    assert_eq!(session.trajectory(), trajectory);
    assert_ne!(session.fingerprint(), before);
}

#[test]
fn what_cannot_change_is_refused_and_says_why() {
    let mut session = begun(DRIVE);
    go(&mut session, us(500));
    let fingerprint = session.fingerprint();
    for (path, value, why) in [
        ("ssd.width", "x2", "link training"),
        ("server.slots.slot1.link", "gen3 x4", ""),
        ("ssd.tags", "8", "table that is in use"),
        ("ssd.credits.posted_header", "64", "buffers"),
        ("ssd.nvme.dies", "8", "table that is in use"),
        ("ssd.nvme.buffer", "2 MiB", "buffers"),
        ("workload.job.rw", "randwrite", "the workload began with it"),
        ("workload.job.bs", "128 KiB", "no larger than the largest at the start"),
        ("workload.job.rate", "1 GB/s", "that needs a rate at the start"),
        ("ssd.write_interval", "10 ns", "that needs a pace"),
        ("run.seed", "2", "the run so far"),
        ("firmware.mrrs", "256 B", "the run so far"),
    ] {
        let refused = session.change(path, value).expect_err(path).to_string();
        assert!(refused.contains(why), "{path}: {refused}");
        if !why.is_empty() {
            assert!(refused.contains("error[fixed-in-a-run]") && refused.contains("hint"), "{refused}");
            assert!(refused.contains(path), "{refused}");
        }
    }
    let wrong = session.change("ssd.nvme.read_rate", "fast").expect_err("no rate");
    assert!(!wrong.codes().contains(&"fixed-in-a-run"), "{wrong}");
    let hint = session.change("ssd.nvme.dies", "8").expect_err("a table").to_string();
    assert!(hint.contains("ssd.nvme.read_rate"), "{hint}");
    assert_eq!(session.fingerprint(), fingerprint);
    assert!(session.changes().is_empty());
    session.step(Time::NEVER);
    let over = session.change("ssd.nvme.read_rate", "1 GB/s").expect_err("over");
    assert!(over.to_string().contains("the run is over"), "{over}");
}

/// A host that gets a slower memory while it runs has as many tracking entries as before, though a new run would have more.
#[test]
fn a_machine_that_runs_does_not_grow() {
    let mut session = begun(READS);
    let entries = |session: &Session<'_>| {
        let parameters = &session.scenario().parameters;
        let found = parameters.iter().find(|parameter| parameter.path == "server.stack.read_trackers");
        found.expect("a host has some").value.clone()
    };
    let before = entries(&session);
    go(&mut session, us(10));
    let changed = change(&mut session, "server.memory_latency", "50 us");
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert_eq!(entries(&session), before);
    let larger = load(
        &Source::from_text("rig.toml", READS),
        &[("server.memory_latency".to_owned(), "50 us".to_owned())],
    );
    let larger = larger.expect("sound");
    let of_new =
        larger.parameters.iter().find(|one| one.path == "server.stack.read_trackers").expect("as before");
    assert_ne!(of_new.value, before);
}

/// Whatever a machine has, a session takes another value of it and goes on with all books in order, or refuses and goes on as if
/// nothing had been asked.
#[test]
fn every_parameter_changes_or_is_refused() {
    for name in ["nvme_fio", "storage", "switch", "replay", "two_sockets", "copy", "rdma_write"] {
        let path = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let source = Source::read(&path, &NativeFiles).expect("a file of the repository");
        let limit = [("run.time_limit".to_owned(), "1 s".to_owned())];
        let mut session = Session::load(source, &limit, Ends::AtItsLimits).expect("sound");
        go(&mut session, us(50));
        let parameters = session.scenario().parameters.clone();
        let (mut changed, mut refused) = (0, 0);
        for parameter in &parameters {
            let digits: String = parameter
                .value
                .chars()
                .take_while(|letter| letter.is_ascii_digit() || *letter == '.')
                .collect();
            let Ok(number) = digits.parse::<f64>() else { continue };
            for times in [2.0, 0.5] {
                let value = format!("{}{}", number * times, &parameter.value[digits.len()..]);
                let before = session.fingerprint();
                match session.change(&parameter.path, &value) {
                    Ok(values) if values.is_empty() => {}
                    Ok(values) => {
                        assert!(values.iter().any(|value| value.path == parameter.path), "{values:?}");
                        changed += 1;
                    }
                    Err(problems) => {
                        assert!(!problems.codes().is_empty());
                        assert_eq!(session.fingerprint(), before, "{}", parameter.path);
                        refused += 1;
                    }
                }
            }
            go(&mut session, us(3));
        }
        assert!(changed >= 10 && refused > changed, "{name}: {changed} changed, {refused} refused");
        assert!(session.finish().flows.iter().any(|flow| flow.bytes > 0), "{name}");
    }
}
