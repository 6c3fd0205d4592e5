//! CXL.mem against closed forms: bandwidth over mixes, latency of an idle and of a loaded expander, credits, switches, errors.

use crate::limits::limited;
use crate::rig::{metric, problems, results, scenario, within};
use lanewise_cxl::FlitFormat;
use lanewise_cxl::ceiling::efficiency;
use lanewise_engine::random::RandomStream;
use lanewise_pcie::encoding::{Clocking, LinkMode};
use lanewise_pcie::fec::flit_error_rate;
use lanewise_sim::{Ends, Results, Session, Source};
use lanewise_units::{Generation, Span, Time, Width};

/// A link that is the only limit: memory that takes no time, and room for all that may be under way.
const IDEAL: &str = r#"
title = "An expander"
[host.server]
slots = { slot1 = "gen5 x8" }
cxl = { mem = true, ndr_credits = 1023, drs_credits = 1023 }
[endpoint.cxl0]
attach = "server.slot1"
generation = "gen5"
width = "x8"
[endpoint.cxl0.expander]
capacity = "256 GiB"
memory_rate = "10 TB/s"
read_latency = "0 ns"
write_latency = "0 ns"
req_credits = 1023
rwd_credits = 1023
[[workload]]
kind = "stream"
name = "stream"
device = "cxl0"
cores = 16
outstanding = 32
store = "non-temporal"
"#;

fn goodput(results: &Results) -> f64 {
    results.flows.iter().map(|flow| flow.goodput_gb_per_s).sum()
}

/// Bytes a second that flits may have on a link with a common clock: after coding and ordered sets.
fn link_gb_per_s(generation: Generation, width: Width) -> f64 {
    let mode = LinkMode::new(generation, width);
    mode.coded_gb_per_s() * (1.0 - mode.ordered_sets(Clocking::Common).loss())
}

/// Time of a flit of 68 B on Gen5 x8, ns.
const FLIT_NS: f64 = 68.0 / 32.0 * 130.0 / 128.0;
/// From pin to pin, and until the receiver has acted on it, ns: defaults.
const FLIGHT_NS: f64 = 2.0 + 20.0;
/// Through the processor and back, ns: a default.
const CORE_NS: f64 = 2.0 * 60.0;

/// A line at the rate of memory that takes no time, ns.
const MEMORY_NS: f64 = 64.0 / 10_000.0;
/// A read is a flit down, and two up: a header and three chunks, and the last chunk.
const IDLE_NS: f64 = CORE_NS + 3.0 * FLIT_NS + 2.0 * FLIGHT_NS + MEMORY_NS;

const CHASE: &str = "[[workload]]\nkind = \"pointer-chase\"\nname = \"chase\"\ndevice = \"cxl0\"";

/// The same machine with one core that chases pointers.
fn idle() -> String {
    let machine = IDEAL.split("[[workload]]").next().expect("a machine");
    format!("{machine}{CHASE}")
}

fn latency(results: &Results, name: &str) -> (f64, f64) {
    let flow = results.flows.iter().find(|flow| flow.name == name).expect("the flow");
    (flow.latency_ns.min.expect("measured"), flow.latency_ns.mean.expect("measured"))
}

#[test]
fn bandwidth_over_mixes_is_that_of_the_closed_form() {
    for (word, width) in [("x8", Width::X8), ("x16", Width::X16)] {
        for sixteenths in 0..=16 {
            let stores = f64::from(sixteenths) / 16.0;
            let settings = [
                ("server.slots.slot1", format!("gen5 {word}")),
                ("cxl0.width", word.to_owned()),
                ("workload.stream.stores", stores.to_string()),
            ];
            let settings = settings.each_ref().map(|(path, value)| (*path, value.as_str()));
            let found = goodput(&results(IDEAL, &settings));
            let link = link_gb_per_s(Generation::Gen5, width);
            within(0.5, found, link * efficiency(FlitFormat::Bytes68, 1.0 - stores, stores));
        }
    }
}

/// Where both ways are full at once, neither has enough waiting at all times to pack as densely as it could.
#[test]
fn both_ways_full_is_a_little_less() {
    let found = goodput(&results(IDEAL, &[("workload.stream.stores", "0.42")]));
    let closed = link_gb_per_s(Generation::Gen5, Width::X8) * efficiency(FlitFormat::Bytes68, 0.58, 0.42);
    assert!(found < closed, "{found} for {closed}");
    within(1.0, found, closed);
}

/// Reads and writes as 1:0, 9:1, 4:1, 3:1, 2:1, 3:2, 1:1, 1:2, 1:3, 1:4 and 0:1, in both kinds of flits, over both widths.
#[test]
fn flits_of_256_bytes_carry_what_the_closed_form_says() {
    let shares = [0.0, 0.1, 0.2, 0.25, 1.0 / 3.0, 0.4, 0.5, 2.0 / 3.0, 0.75, 0.8, 1.0];
    for (low_latency, format) in [("false", FlitFormat::Bytes256), ("true", FlitFormat::Bytes256LowLatency)] {
        for (word, width) in [("x8", Width::X8), ("x16", Width::X16)] {
            let slot = format!("gen6 {word}");
            for writes in shares {
                let stores = writes.to_string();
                let settings = [
                    ("server.slots.slot1", slot.as_str()),
                    ("cxl0.generation", "gen6"),
                    ("cxl0.width", word),
                    ("cxl0.link.cxl.low_latency", low_latency),
                    ("workload.stream.stores", &stores),
                    ("workload.stream.cores", "32"),
                ];
                let closed =
                    link_gb_per_s(Generation::Gen6, width) * efficiency(format, 1.0 - writes, writes);
                within(0.5, goodput(&results(IDEAL, &settings)), closed);
            }
        }
    }
}

#[test]
fn latency_of_an_idle_expander_is_its_way_and_what_it_takes_itself() {
    within(1e-5, latency(&results(idle(), &[]), "chase").0, IDLE_NS);
    let slower = results(idle(), &[("cxl0.expander.read_latency", "130 ns")]);
    within(1e-5, latency(&slower, "chase").0, IDLE_NS + 130.0);
}

/// Little's law: all lines are in flight at all times.
#[test]
fn loaded_latency_is_what_is_in_flight_by_the_rate() {
    let loaded = results(IDEAL, &[]);
    within(0.5, latency(&loaded, "stream").1, 16.0 * 32.0 * 64.0 / goodput(&loaded));
    // A lighter load is nearer to the idle expander.
    let light = results(IDEAL, &[("workload.stream.interval", "80 ns")]);
    within(0.5, goodput(&light), 16.0 * 64.0 / 80.0);
    assert!(latency(&light, "stream").1 < IDLE_NS * 1.2, "{:?}", latency(&light, "stream"));
}

/// Cores that keep no step: lines come at random to a memory that serves one at a time, so they wait as in M/D/1.
#[test]
fn random_intervals_wait_as_in_a_queue_of_one_server() {
    let service = 64.0 / 10.0;
    for load in [0.3, 0.6, 0.8] {
        let interval = format!("{:.3} ns", 16.0 * service / load);
        let settings = [
            ("cxl0.expander.memory_rate", "10 GB/s"),
            ("workload.stream.pace", "random"),
            ("workload.stream.interval", interval.as_str()),
            ("run.relative_half_width", "0.002"),
        ];
        let found = results(format!("{IDEAL}{CHASE}"), &settings);
        let (least, mean) = latency(&found, "stream");
        // The chase is of the load, too.
        let used = goodput(&found) / 10.0;
        within(4.0, mean - least, service * used / (2.0 * (1.0 - used)));
    }
}

/// A core chasing pointers among streams waits as their lines do.
#[test]
fn a_pointer_chase_sees_the_load_of_others() {
    let both = results(format!("{IDEAL}{CHASE}"), &[]);
    within(3.0, latency(&both, "chase").1, latency(&both, "stream").1);
    within(1e-3, metric(&both, "Latency (ns)"), latency(&both, "chase").1);
}

#[test]
fn a_cached_store_reads_a_line_and_writes_one() {
    let stores = results(IDEAL, &[("workload.stream.store", "cached"), ("workload.stream.stores", "1")]);
    let [read, write] = &stores.flows[..] else { panic!("two flows") };
    within(0.5, read.goodput_gb_per_s, write.goodput_gb_per_s);
    let link = link_gb_per_s(Generation::Gen5, Width::X8);
    within(0.5, goodput(&stores), link * efficiency(FlitFormat::Bytes68, 1.0, 1.0));
    within(1.0, metric(&stores, "Stores (GB/s)"), goodput(&stores) / 2.0);
}

#[test]
fn a_controller_and_channels_are_as_fast_as_they_are() {
    for (path, value) in [("memory_rate", "10 GB/s"), ("read_rate", "12 GB/s")] {
        let path = format!("cxl0.expander.{path}");
        let expected: f64 = value.split(' ').next().and_then(|number| number.parse().ok()).expect("a rate");
        within(0.5, goodput(&results(IDEAL, &[(&path, value)])), expected);
    }
}

/// A flit gives back a power of two. Of seven credits of one instant four go back when they have waited for the flush, two 32 ns
/// later, and the last 64 ns later; eight go back together.
#[test]
fn credits_that_one_flit_cannot_give_back_follow_it() {
    let ns_out = |reads: &str| {
        let settings = [
            ("workload.stream.cores", reads),
            ("workload.stream.outstanding", "1"),
            ("workload.stream.interval", "10 us"),
            ("run.time_limit", "400 us"),
        ];
        let found = results(IDEAL, &settings);
        let credits = found.resources.iter().find(|resource| resource.name == "cxl0.drs_credits");
        let credits = credits.expect("reads have answers");
        credits.utilisation * f64::from(credits.places) * found.measured_s * 1e9 / credits.served as f64
    };
    let eight = ns_out("8");
    for (reads, flushes) in [("5", 1.0 / 5.0), ("6", 2.0 / 6.0), ("7", 4.0 / 7.0)] {
        let later = ns_out(reads) - eight;
        assert!((later - 32.0 * flushes).abs() < 32.0 / 4.0, "{reads} reads: {later} ns later than eight");
    }
}

/// Each flit that arrives damaged costs its own time, a RETRY.Req up and a RETRY.Ack down, of six flits each, and the way there and back.
#[test]
fn a_damaged_flit_costs_a_retry() {
    let whole = goodput(&results(IDEAL, &[]));
    for rate in [2e-7, 1e-6] {
        let damaged = results(IDEAL, &[("cxl0.link.bit_error_rate_upstream", &rate.to_string())]);
        let probability = 68.0 * 8.0 * rate;
        let lost = probability * (13.5 * FLIT_NS + 2.0 * FLIGHT_NS) / FLIT_NS;
        within(0.6, goodput(&damaged), whole / (1.0 + lost));
    }
}

/// The machine with 256 B flits.
const GEN6: [(&str, &str); 2] = [("server.slots.slot1", "gen6 x8"), ("cxl0.generation", "gen6")];
/// Time of a flit of 256 B on Gen6 x8, ns.
const FLIT_256_NS: f64 = 256.0 / 64.0;

/// Correction has its try first. A flit that it cannot repair costs its own time, a Nak in the next flit of the other direction, and
/// the way there and back: of either wire, half a flit passes until the next one begins.
#[test]
fn a_damaged_flit_of_256_bytes_costs_a_nak_and_a_replay() {
    let mode = LinkMode::new(Generation::Gen6, Width::X8);
    for (stores, way) in [("0", "upstream"), ("1", "downstream")] {
        let of = |rate: &str| {
            let key = format!("cxl0.link.bit_error_rate_{way}");
            let more = [
                ("run.relative_half_width", "0.002"),
                ("workload.stream.stores", stores),
                (key.as_str(), rate),
            ];
            goodput(&results(IDEAL, &[&GEN6[..], &more[..]].concat()))
        };
        let lost = flit_error_rate(mode, 1e-4) * (3.0 * FLIT_256_NS + 2.0 * FLIGHT_NS) / FLIT_256_NS;
        assert!(lost > 0.1, "{lost}");
        within(1.0, of("0.0001"), of("0") / (1.0 + lost));
    }
}

/// Naks are damaged, too, and those of both directions cross: every line comes all the same.
#[test]
fn naks_that_are_lost_are_said_again() {
    for low_latency in ["false", "true"] {
        let more = [
            ("cxl0.link.cxl.low_latency", low_latency),
            ("cxl0.link.bit_error_rate_upstream", "0.0005"),
            ("cxl0.link.bit_error_rate_downstream", "0.0005"),
            ("workload.stream.stores", "0.5"),
        ];
        let found = results(IDEAL, &[&GEN6[..], &more[..]].concat());
        let rate = flit_error_rate(LinkMode::new(Generation::Gen6, Width::X8), 5e-4);
        assert!(rate > 0.1, "{rate}");
        assert!(goodput(&found) > 1.0, "{}", goodput(&found));
        within(0.5, metric(&found, "Lines read, share"), 0.5);
    }
    // One line at a time: nothing but Naks is there to be sent when two of them are lost.
    for seed in 1..=8 {
        let seed = seed.to_string();
        let more = [
            ("run.seed", seed.as_str()),
            ("run.time_limit", "400 us"),
            ("run.relative_half_width", "0.00001"),
            ("cxl0.link.bit_error_rate_upstream", "0.0005"),
            ("cxl0.link.bit_error_rate_downstream", "0.0005"),
            ("workload.stream.stores", "1"),
            ("workload.stream.cores", "1"),
            ("workload.stream.outstanding", "1"),
        ];
        let lines = 64.0 / goodput(&results(IDEAL, &[&GEN6[..], &more[..]].concat()));
        assert!((IDLE_NS..2.0 * IDLE_NS).contains(&lines), "{lines} ns a line");
    }
}

/// Few credits, small buffers, many errors, each in some of 200 machines: lines move in all of them to the end.
#[test]
fn nothing_stands_still_however_few_credits_and_however_many_errors() {
    for machine in 0..200 {
        let mut random = RandomStream::new(machine, "machine", "settings");
        let mut one_of = |values: &[&'static str]| values[random.below(values.len() as u64) as usize];
        let generation = one_of(&["gen5", "gen6"]);
        let rates: &[&str] = match generation {
            "gen5" => &["0", "1e-8", "1e-6", "1e-5"],
            _ => &["0", "1e-6", "1e-4", "5e-4"],
        };
        let slot = if generation == "gen5" { "gen5 x8" } else { "gen6 x8" };
        let few = ["1", "2", "3", "7", "64"];
        let settings = [
            ("server.slots.slot1", slot),
            ("cxl0.generation", generation),
            ("cxl0.link.bit_error_rate_upstream", one_of(rates)),
            ("cxl0.link.bit_error_rate_downstream", one_of(rates)),
            ("cxl0.link.cxl.retry_buffer", one_of(&["22", "30", "255"])),
            ("cxl0.link.cxl.several_headers", one_of(&["true", "false"])),
            ("cxl0.link.cxl.low_latency", one_of(&["true", "false"])),
            ("cxl0.expander.req_credits", one_of(&few)),
            ("cxl0.expander.rwd_credits", one_of(&few)),
            ("server.cxl.ndr_credits", one_of(&few)),
            ("server.cxl.drs_credits", one_of(&few)),
            ("workload.stream.store", one_of(&["cached", "non-temporal"])),
            ("workload.stream.stores", one_of(&["0", "0.1", "0.5", "1"])),
            ("workload.stream.cores", one_of(&["1", "2", "16"])),
            ("workload.stream.outstanding", one_of(&["1", "3", "32"])),
            ("run.time_limit", "60 us"),
            ("run.warm_up", "50 us"),
        ];
        // A line takes less than 1 us.
        assert!(goodput(&results(IDEAL, &settings)) > 0.064, "{settings:?}");
    }
}

const SWITCHED: &str = r#"
title = "Two expanders behind a switch"
[host.server]
slots = { slot1 = "gen5 x8" }
cxl = { mem = true }
[switch.sw0]
attach = "server.slot1"
ports = { port0 = "gen5 x8", port1 = "gen5 x8", port2 = "gen5 x8" }
cxl = { latency = "70 ns" }
[endpoint.cxl]
count = 2
attach = "sw0.*"
generation = "gen5"
width = "x8"
expander = { capacity = "256 GiB", memory_rate = "10 TB/s", read_latency = "0 ns" }
"#;

#[test]
fn a_switch_adds_its_latency_and_a_link_each_way() {
    let chase = CHASE.replace("cxl0", "cxl[0]");
    let found = latency(&results(format!("{SWITCHED}{chase}"), &[]), "chase").0;
    within(1e-5, found, IDLE_NS + 2.0 * 70.0 + 3.0 * FLIT_NS + 2.0 * FLIGHT_NS);
}

#[test]
fn expanders_behind_a_switch_share_the_link_above_it() {
    let stream =
        "[[workload]]\nkind = \"stream\"\nname = \"stream\"\ndevice = \"cxl[*]\"\noutstanding = 32\n";
    let found = goodput(&results(format!("{SWITCHED}{stream}"), &[]));
    within(
        0.5,
        found,
        link_gb_per_s(Generation::Gen5, Width::X8) * efficiency(FlitFormat::Bytes68, 1.0, 0.0),
    );
}

/// The same again is the same, and what goes over the link is in the fingerprint.
#[test]
fn a_trajectory_has_a_fingerprint() {
    let of = |settings: &[(&str, &str)]| results(IDEAL, settings).fingerprint;
    let errors = [("cxl0.link.bit_error_rate_upstream", "1e-6")];
    assert_eq!(of(&errors), of(&errors));
    let all = [of(&[]), of(&errors), of(&[("workload.stream.cores", "15")])];
    assert!(all[0] != all[1] && all[0] != all[2] && all[1] != all[2], "{all:?}");
}

/// In steps of 137 ns with a look at each, errors and replays come as in one.
#[test]
fn a_run_in_pieces_is_the_run_in_one() {
    for generation in ["gen5", "gen6"] {
        let link = "link = { bit_error_rate_upstream = 1e-4, bit_error_rate_downstream = 1e-5 }\n";
        let text =
            IDEAL.replace("gen5", generation).replace("width = \"x8\"\n", &format!("width = \"x8\"\n{link}"));
        let after = |steps: u64| {
            let source = Source::from_text("rig.toml", text.clone());
            let mut session = Session::load(source, &[], Ends::AtItsLimits).expect("sound");
            for step in 1..=steps {
                session.step(Time::ZERO + Span::from_ns(13_700 / steps) * step);
                session.state();
            }
            session.fingerprint()
        };
        assert_eq!(after(1), after(100), "{generation}");
    }
}

#[test]
fn what_is_above_an_expander_has_to_carry_it() {
    assert_eq!(problems(IDEAL, &[("server.cxl.mem", "false")]), ["no-cxl-mem"]);
    assert_eq!(problems(idle(), &[("cxl0.expander.capacity", "none")]), ["unknown-device"]);
    let dma = IDEAL.replace("kind = \"stream\"", "kind = \"dma\"");
    assert!(problems(dma, &[]).contains(&"unknown-device"));
}

/// Sixteen cores of 64 MiB each need 1 GiB.
#[test]
fn cores_have_no_more_memory_than_the_expander() {
    let of = |kind: &str, capacity: &str, span: &str| {
        let (cores, key) = (format!("workload.{kind}.cores"), format!("workload.{kind}.span"));
        let settings = [("cxl0.expander.capacity", capacity), (cores.as_str(), "16"), (key.as_str(), span)];
        problems(if kind == "chase" { idle() } else { IDEAL.to_owned() }, &settings)
    };
    for kind in ["stream", "chase"] {
        assert!(of(kind, "1 GiB", "64 MiB").is_empty());
        assert_eq!(of(kind, "1023 MiB", "64 MiB"), ["out-of-range"]);
        assert!(of(kind, "1 MiB", "64 KiB").is_empty());
    }
}

/// A card and an expander below one switch, each with a load: both would take the wire above it for theirs.
#[test]
fn loads_whose_cxl_io_and_cxl_mem_share_a_wire_are_refused() {
    let card = "\n[endpoint.card]\nattach = \"sw0.port3\"\ngeneration = \"gen5\"\nwidth = \"x4\"\n";
    let machine = SWITCHED.replace("port2 = \"gen5 x8\"", "port2 = \"gen5 x8\", port3 = \"gen5 x4\"");
    let chase = CHASE.replace("cxl0", "cxl[0]");
    let dma = "\n[[workload]]\nkind = \"dma\"\nname = \"writes\"\ndevice = \"card\"\ndirection = \"write\"\n";
    let of = |loads: &str| problems(format!("{machine}{card}{loads}"), &[]);
    assert_eq!(of(&format!("{chase}{dma}")), ["cxl-wire-shared"]);
    assert!(of(&chase).is_empty() && of(dma).is_empty());
    // Behind a root port of its own it does not meet them.
    let apart = format!("{machine}{card}{chase}{dma}")
        .replace("sw0.port3\"\n", "server.slot2\"\n")
        .replace("slot1 = \"gen5 x8\"", "slot1 = \"gen5 x8\", slot2 = \"gen5 x4\"");
    assert!(problems(apart, &[]).is_empty());
}

/// The remarks name settings that the flits of a link do not have, and a pace without an interval.
#[test]
fn settings_that_nothing_reads_are_told_of() {
    let stated = [
        ("cxl0.link.cxl.retry_buffer", "64"),
        ("cxl0.link.cxl.low_latency", "true"),
        ("workload.stream.pace", "random"),
    ];
    let told = |more: &[(&str, &str)]| -> Vec<String> {
        let scenario = scenario(IDEAL, &[&stated[..], more].concat());
        scenario.remarks.iter().map(|remark| remark.path.clone()).collect()
    };
    assert_eq!(told(&[]), ["cxl0.link.cxl.low_latency", "workload.stream.pace"]);
    let packets = [("cxl0.link.corrupt_tlps_upstream", "[3]"), ("cxl0.errors.poisoned", "[1]")];
    assert_eq!(
        told(&packets),
        [
            "cxl0.errors.poisoned",
            "cxl0.link.corrupt_tlps_upstream",
            "cxl0.link.cxl.low_latency",
            "workload.stream.pace"
        ]
    );
    let paced = [&GEN6[..], &[("workload.stream.interval", "1 us")][..]].concat();
    assert_eq!(told(&paced), ["cxl0.link.cxl.retry_buffer"]);
}

#[test]
fn limits_are_found_and_proven() {
    let few = [("cxl0.expander.rwd_credits", "2"), ("workload.stream.stores", "1")];
    limited(IDEAL, &few, "cxl_credits", &["cxl0.rwd_credits"], 50.0);
    limited(IDEAL, &[], "cxl_wire", &["cxl0.s2m"], 50.0);
    limited(IDEAL, &[("workload.stream.stores", "1")], "cxl_wire", &["cxl0.m2s"], 50.0);
    limited(IDEAL, &[("cxl0.expander.memory_rate", "10 GB/s")], "endpoint_memory", &["cxl0.media"], 50.0);
    limited(IDEAL, &[("cxl0.expander.read_rate", "10 GB/s")], "pipeline", &["cxl0.reads"], 50.0);
    let lines = [("workload.stream.cores", "1"), ("workload.stream.outstanding", "8")];
    limited(IDEAL, &lines, "line_buffers", &["stream.lines"], 50.0);
    // A workload on several devices has its parameters once.
    let two = IDEAL.replace("slot1 = \"gen5 x8\"", "slot1 = \"gen5 x8\", slot2 = \"gen5 x8\"");
    let two =
        two.replace("[endpoint.cxl0]\n", "[endpoint.cxl0]\ncount = 2\n").replace("server.slot1", "server.*");
    let two = two.replace("device = \"cxl0\"", "device = \"cxl0[*]\"");
    let found = limited(&two, &lines, "line_buffers", &["stream cxl0[0].lines"], 50.0);
    let limit = found.run.limited_by.expect("something moved");
    let settings = limit.edits.iter().flat_map(|edit| &edit.settings);
    let paths: Vec<&str> = settings.map(|each| each.path.as_str()).collect();
    assert_eq!(paths, ["workload.stream.cores", "workload.stream.outstanding"]);
}

/// With the smallest retry buffer that there may be, the link waits for acknowledgements: of reads the way of the data, of stores that of the lines
/// that are written. A larger one brings what it is said to.
#[test]
fn a_retry_buffer_is_the_limit() {
    let small = [("cxl0.link.cxl.retry_buffer", "22")];
    let names = ["cxl0.s2m_retry_buffer"];
    let found = limited(IDEAL, &small, "cxl_retry_buffer", &names, 50.0);
    let limit = found.run.limited_by.expect("it is the limit");
    let twice = limit.edits[0].settings.iter().map(|each| (each.path.as_str(), each.after.as_str()));
    assert_eq!(twice.collect::<Vec<_>>(), [("cxl0.link.cxl.retry_buffer", "44")]);
    let stores = [small[0], ("workload.stream.stores", "1")];
    limited(IDEAL, &stores, "cxl_retry_buffer", &["cxl0.m2s_retry_buffer"], 50.0);
}

/// Flits of 256 B are kept by the physical layer, and a link at its rate waits for no room.
#[test]
fn a_retry_buffer_that_nothing_waits_for_is_not_in_the_way() {
    let book = |settings: &[(&str, &str)]| {
        let all = results(IDEAL, settings).resources.into_iter();
        all.filter(|each| each.kind.name() == "cxl_retry_buffer").collect::<Vec<_>>()
    };
    assert!(book(&GEN6).is_empty());
    let waits: Vec<f64> = book(&[]).iter().map(|each| each.waiting_mean.unwrap_or(0.0)).collect();
    assert_eq!(waits, [0.0, 0.0]);
}
