//! Address translation services, against closed forms: what a translation cache in the device saves, and what its misses cost.

use crate::rig::{Settings, problems, results, scenario, within};
use lanewise_sim::{Resource, Results};

/// Reads of 64 B at random in so many pages, Gen1 x4, where a byte takes a nanosecond; a walk takes 400 ns.
fn rig(pages: u32, ats: &str, keys: &str) -> String {
    format!(
        "[run]\ntime_limit = \"2200 us\"\nwarm_up = \"200 us\"\nrelative_half_width = 0.00001\n\
         [host.server]\nmemory_base = \"0 B\"\nslots = {{ slot1 = \"gen1 x4\" }}\nmemory_latency = \"100 ns\"\nmemory_bandwidth = \"10 TB/s\"\n\
         iommu = {{ enabled = true, entries = 1, walk_steps = 1, walk_step_latency = \"400 ns\", walkers = 4 }}\n\
         [endpoint.card]\nattach = \"server.slot1\"\ngeneration = \"gen1\"\nwidth = \"x4\"\ntags = 256\n\
         ats = {{ {ats} }}\n\
         [[workload]]\nkind = \"dma\"\nname = \"r\"\ndevice = \"card\"\ndirection = \"read\"\nsize = \"64 B\"\norder = \"random\"\n\
         span = \"{} KiB\"\n{keys}\n",
        4 * pages
    )
}

fn run(pages: u32, ats: &str, keys: &str, settings: &Settings) -> Results {
    results(rig(pages, ats, keys), settings)
}

/// Nanoseconds from one operation to the next.
fn interval(found: &Results) -> f64 {
    1e9 / found.flows[0].operations_per_s
}

fn resource<'a>(found: &'a Results, name: &str) -> &'a Resource {
    found.resources.iter().find(|each| each.name == name).unwrap_or_else(|| panic!("no {name}"))
}

const MANY: u32 = 1 << 16;
const ALONE: &str = "outstanding = 1";

#[test]
fn what_is_cached_in_the_device_costs_nothing() {
    for keys in [ALONE, "outstanding = 64"] {
        let hits = run(32, "entries = 32", keys, &[]);
        let without = run(32, "entries = 0", keys, &[("server.iommu.enabled", "false")]);
        within(0.1, interval(&hits), interval(&without));
        assert!(found_requests(&hits).is_none_or(|requests| requests.served == 0));
        assert!(resource(&hits, "card.atc").served > 1_000);
        // And without the cache it does cost something, even where several requests wait for one walk.
        let walked = run(32, "entries = 0", keys, &[("server.iommu.walkers", "1")]);
        assert!(interval(&walked) > interval(&without) * 1.03, "{} ns", interval(&walked));
    }
}

fn found_requests(found: &Results) -> Option<&Resource> {
    found.resources.iter().find(|each| each.name == "card.translation_requests")
}

/// 20 B up, 12 + 8 + 8 B down, half a symbol until either begins, a wire of 2 ns and a check of 20 ns each way, and a walk.
const MISS: f64 = 20.0 + 28.0 + 2.0 * (2.0 + 2.0 + 20.0) + 400.0;

#[test]
fn a_miss_is_one_round_trip_and_a_walk() {
    let hit = interval(&run(1, "entries = 1", ALONE, &[]));
    let miss = interval(&run(MANY, "entries = 1", ALONE, &[]));
    within(0.5, miss - hit, MISS);
    let found = run(MANY, "entries = 1", ALONE, &[]);
    let cache = resource(&found, "card.atc");
    within(0.5, cache.waited_ns_mean.expect("lookups wait"), MISS);
    within(0.5, resource(&found, "card.translation_requests").served as f64, cache.served as f64);
}

/// Four walkers of 400 ns each are ten million translations a second; two requests at a time are two in a round trip.
#[test]
fn misses_are_as_many_as_walkers_or_requests_let_through() {
    let busy = "outstanding = 128\nsize = \"4 B\"";
    let text = |ats: &str| rig(MANY, ats, busy).replace("size = \"64 B\"\norder", "order");
    let wide = [("server.slots.slot1.link", "gen3 x16"), ("card.generation", "gen3"), ("card.width", "x16")];
    let walked = results(text("entries = 1, requests = 32"), &wide);
    within(1.0, walked.flows[0].operations_per_s, 4.0 / 400e-9);
    within(1.0, resource(&walked, "server.iommu.walkers").utilisation, 1.0);
    let two = results(text("entries = 1, requests = 2"), &[]);
    within(1.0, two.flows[0].operations_per_s, 2.0 / (MISS * 1e-9));
    within(2.0, resource(&two, "card.translation_requests").utilisation, 1.0);
}

/// Pages in a row, three more with each request: one request for four pages.
#[test]
fn pages_behind_the_one_that_is_needed_come_with_it() {
    let keys = "outstanding = 4\nsize = \"4 KiB\"";
    let text = rig(MANY, "entries = 64, prefetch = 3", keys)
        .replace("size = \"64 B\"\norder = \"random\"\n", "order = \"sequential\"\n");
    let found = results(text, &[]);
    let (pages, requests) =
        (resource(&found, "card.atc").served, resource(&found, "card.translation_requests").served);
    within(1.0, pages as f64 / requests as f64, 4.0);
}

/// One translation is taken every 10 us, and asked for again soon.
#[test]
fn what_is_invalidated_is_asked_for_again() {
    let found = run(32, "entries = 64, invalidate_interval = \"10 us\"", ALONE, &[]);
    within(2.0, resource(&found, "card.translation_requests").served as f64, found.measured_s / 10e-6);
}

/// Writes that wait for a translation do not keep others from the link, and all bytes arrive.
#[test]
fn writes_wait_too() {
    let keys = "outstanding = 1\ndirection = \"write\"";
    let text = |pages, ats| rig(pages, ats, keys).replacen("direction = \"read\"\n", "", 1);
    let hit = interval(&results(text(1, "entries = 1"), &[]));
    let miss = interval(&results(text(MANY, "entries = 1"), &[]));
    within(0.5, miss - hit, MISS);
}

#[test]
fn a_cache_needs_a_host_that_translates() {
    let found = scenario(rig(1, "entries = 8", ALONE), &[("server.iommu.enabled", "false")]);
    assert!(found.remarks.iter().any(|remark| remark.path == "card.ats.entries"), "{:?}", found.remarks);
    let explained = scenario(rig(1, "entries = 8", ALONE), &[]).explain();
    let page = explained.parameters.iter().find(|each| each.path == "card.ats.page").expect("told");
    assert_eq!(page.value, "4 KiB");
}

/// Walkers are the limit, and the limit is found; so is the cache where it is too small.
#[test]
fn what_limits_is_named() {
    let found = run(MANY, "entries = 1, requests = 1", "outstanding = 64", &[]);
    let limit = found.limited_by.expect("it is limited");
    assert_eq!(limit.name, "card.translation_requests", "{}", limit.sentence);
}

/// A device with a completion timeout watches its translation requests like its other reads, and nothing is lost where nothing is late.
#[test]
fn a_device_that_watches_its_reads_watches_its_translation_requests() {
    let plain = run(MANY, "entries = 32", ALONE, &[]);
    for errors in [("card.errors.completion_timeout", "50 us"), ("card.errors.poisoned", "[1000000]")] {
        let watched = run(MANY, "entries = 32", ALONE, &[errors]);
        within(0.01, interval(&watched), interval(&plain));
        assert!(watched.errors.is_empty(), "{errors:?}");
    }
}

/// Walks of 60 us outlast a timeout of 50 us. The host goes on with each, so what is asked again for a page that was walked to meanwhile
/// is answered at once, and the answer to what was given up is unexpected.
#[test]
fn a_translation_request_that_is_given_up_is_made_again() {
    let slow = [
        ("card.errors.completion_timeout", "50 us"),
        ("server.iommu.walk_step_latency", "60 us"),
        ("server.iommu.entries", "64"),
    ];
    let found = run(MANY, "entries = 1", ALONE, &slow);
    let count =
        |error: &str| found.errors.iter().find(|each| each.error == error).map_or(0, |each| each.count);
    let operations = found.flows[0].operations_per_s * found.measured_s;
    assert!(operations > 10.0, "{operations}");
    within(10.0, count("completion_timeout") as f64, operations);
    within(10.0, count("unexpected_completion") as f64, operations);
}

/// One completion has all that a request asks for (PCIe Base §10.2.2), and no completion is longer than MPS.
#[test]
fn a_translation_request_asks_for_no_more_than_the_read_completion_boundary() {
    let of = |prefetch: &str, rcb: &str| {
        let text = rig(MANY, &format!("entries = 64, prefetch = {prefetch}"), ALONE);
        problems(text, &[("server.rcb", rcb)])
    };
    assert_eq!(of("7", "64 B"), [""; 0]);
    assert_eq!(of("8", "64 B"), ["out-of-range"]);
    assert_eq!(of("15", "128 B"), [""; 0]);
    assert_eq!(of("16", "128 B"), ["out-of-range"]);
}
