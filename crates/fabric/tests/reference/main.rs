//! A naive reference fabric: the rules of `crates/fabric` written for reading, compared with it tick by tick.
//!
//! Every departure and arrival of a TLP, every DLLP, every SKP ordered set and every timer is an event of its own at its own time, in
//! one binary heap. Nothing looks ahead, nothing is done late, nothing is packed. It uses the configuration types of the crate, the
//! tables of `lanewise-pcie` (symbol times, ordered sets, headers, ordering) and the random streams of `lanewise-engine`, and none of
//! the code that it is compared with: credits and sequence numbers are plain counters, buffers are plain queues.
//!
//! | file | holds |
//! |---|---|
//! | `agenda.rs` | the heap, and the order of one instant |
//! | `wire.rs`, `port.rs`, `link.rs` | a direction in time; credits, Acks, retry buffer; what is sent and what arrives |
//! | `channel.rs` | virtual channels, and taking turns |
//! | `flits.rs` | links in Flit Mode |
//! | `sleep.rs` | links that sleep |
//! | `storage.rs` | room behind the credits of a switch |
//! | `switch.rs`, `host.rs`, `endpoint.rs` | the devices |
//! | `memory.rs`, `iommu.rs` | memory of a host, and address translation |
//! | `system.rs`, `tlp.rs` | the loop over events; a TLP |
//! | `hot_plug.rs` | devices that come and go |
//! | `record.rs`, `compare.rs`, `cases.rs` | what is compared, how, and random cases |
//!
//! Compared bit for bit: of each direction of each link, the first tick on the wire and the length of everything that is sent, with
//! the kind (TLP, replay or nullified TLP, DLLP, Nak), the sequence number, and the time of payload, header and framing of each
//! TLP outside Flit Mode; of each transfer, the time and bytes of each delivery and the time and latency of each request. The fabric plays
//! each case a second time without a listener, when it looks ahead more, and that is the same run. It may stand still on its way and be
//! asked for its state, of which the reference knows nothing.
//!
//! # The order of one instant
//!
//! 1. Facts: buffer space is free, a DLLP is there, a TLP taken in before has been checked, an ordered set falls due.
//! 2. DLLPs that are due leave, where the wire is free.
//! 3. A switch port on an error-free link takes in what arrives. A TLP that it has is dropped when it has been checked.
//! 4. What else comes in, by kind and then by the number of its direction or stack: TLPs that arrive elsewhere, tracking entries, tags,
//!    replay timers, requests.
//! 5. Credits that are freed by the arrival of a TLP count after the DLLPs that are due at that instant have left.
//! 6. Ports decide on TLPs, in the order of their numbers: while an ordered set is on the wire, or at the instant at which they put
//!    DLLPs there, and the TLP follows these.
//! 7. A Nak is acted on when the port's own packet has left. A replay timer that runs out meanwhile leaves the replay to it.
//! 8. TLPs of one flit are acted on one after the other, each after the DLLPs that are due; so do reads start that find a tracking entry
//!    at one instant.
//!
//! The fabric follows all of them, whoever looks when: 20,000 cases of each kind of trees (seeds 21 and 22) agree, of those with errors in
//! flits 60,000 (seeds 1, 2 and 21 to 23), of those with address translation 6,000 (seeds 1, 21 and 22), with banks of memory 3,000 (the same
//! seeds), with devices that come and go 3,000 (seeds 1 and 21 to 23).
//!
//! # Left out
//!
//! Hot plug and sleep of links in Flit Mode; switches that become quicker than the check of a TLP; translation caches of devices; sockets,
//! caches, a shared outbound queue, cut peer packets; buses and shared memories; bridges between hosts; DMA engines; errors of the
//! transaction layer; loads and stores of the processor. `system::refusal` names what a configuration has of these.

mod agenda;
mod cases;
mod channel;
#[path = "../common/mod.rs"]
mod common;
mod compare;
mod endpoint;
mod flits;
mod host;
mod hot_plug;
mod iommu;
mod known;
mod link;
mod memory;
mod port;
mod record;
mod sleep;
mod storage;
mod switch;
mod system;
mod tiny;
mod tlp;
mod wire;

use cases::{Kinds, case};
use compare::{Tally, compare};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use std::io::Write;

const WRITES: Kinds = Kinds {
    switches: 0,
    endpoints: 1,
    reads: false,
    writes: true,
    peers: false,
    faults: false,
    finite_credits: true,
    skips: true,
    channels: false,
    sleep: false,
    storage: false,
    iommu: false,
    banks: false,
    hot_plug: false,
    ends: false,
    early: false,
    targets: false,
    looks: false,
    changes: false,
    flits: 0.0,
};

/// Random cases from a seed that never changes; `LANEWISE_REFERENCE_CASES` asks for another number of them, and
/// `LANEWISE_REFERENCE_SEED` for others; with `LANEWISE_REFERENCE_COUNT` those that differ are counted and fail nothing; into the folder
/// `LANEWISE_REFERENCE_FOLDER` goes what both do with the smallest that differs.
fn play(kinds: Kinds, cases: u32) {
    let number = |name: &str, default: u32| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let seed = number("LANEWISE_REFERENCE_SEED", 1);
    let (tally, played) = random(kinds, number("LANEWISE_REFERENCE_CASES", cases), seed);
    played.unwrap_or_else(|failure| panic!("{failure}"));
    report(&tally);
}

/// So many random cases, and what differs first, with the smallest case found.
fn random(kinds: Kinds, cases: u32, seed: u32) -> (Tally, Result<(), String>) {
    let shrinks = Config { max_shrink_iters: 3_000, max_shrink_time: 30_000, ..Config::default() };
    let config = Config { cases, failure_persistence: None, ..shrinks };
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let counts = std::env::var_os("LANEWISE_REFERENCE_COUNT").is_some();
    let tally = std::cell::RefCell::new(Tally::default());
    let played = runner.run(&case(kinds), |case| {
        let outcome = compare(&case);
        let entered = tally.borrow_mut().enter(outcome);
        if counts { Ok(()) } else { entered.map_err(TestCaseError::fail) }
    });
    if let (Err(TestError::Fail(_, case)), Some(folder)) =
        (&played, std::env::var_os("LANEWISE_REFERENCE_FOLDER"))
    {
        compare::write_down(case, folder.as_ref());
    }
    (tally.into_inner(), played.map_err(|failure| failure.to_string()))
}

/// Something was compared; says what, where numbers were asked for.
fn report(tally: &Tally) {
    assert!(tally.sent as u64 > tally.cases, "{tally:?}");
    if std::env::var_os("LANEWISE_REFERENCE_CASES").is_some() {
        writeln!(std::io::stderr(), "{tally:?}").expect("it can be written to");
    }
}

#[test]
fn posted_writes_of_one_endpoint() {
    play(WRITES, 300);
}

const READS: Kinds = Kinds { reads: true, writes: false, ..WRITES };
const BOTH: Kinds = Kinds { writes: true, ..READS };
const SWITCHED: Kinds = Kinds { switches: 1, ..BOTH };
const FAULTY: Kinds = Kinds { faults: true, ..BOTH };

#[test]
fn reads_of_one_endpoint() {
    play(READS, 300);
}

#[test]
fn reads_and_writes_of_one_endpoint() {
    play(BOTH, 300);
}

#[test]
fn one_switch() {
    play(SWITCHED, 300);
}

#[test]
fn faults_of_one_link() {
    play(FAULTY, 300);
}

const CHANNELS: Kinds = Kinds { channels: true, ..BOTH };

#[test]
fn virtual_channels_of_one_link() {
    play(CHANNELS, 300);
}

const TREES: Kinds = Kinds { switches: 2, endpoints: 3, peers: true, ..BOTH };
const FAULTY_TREES: Kinds = Kinds { faults: true, ..TREES };
const SLEEPERS: Kinds = Kinds { sleep: true, ..BOTH };
const TREES_OF_SLEEPERS: Kinds = Kinds { sleep: true, ..TREES };
const FAULTY_SLEEPERS: Kinds = Kinds { faults: true, channels: true, ..TREES_OF_SLEEPERS };

#[test]
fn a_link_that_sleeps() {
    play(SLEEPERS, 300);
}

#[test]
fn trees_that_sleep() {
    play(TREES_OF_SLEEPERS, 300);
}

#[test]
fn faults_and_channels_on_links_that_sleep() {
    play(FAULTY_SLEEPERS, 300);
}

const TREES_OF_CHANNELS: Kinds = Kinds { channels: true, ..TREES };
const FAULTY_CHANNELS: Kinds = Kinds { faults: true, ..TREES_OF_CHANNELS };

#[test]
fn virtual_channels_in_trees() {
    play(TREES_OF_CHANNELS, 300);
}

#[test]
fn faults_on_virtual_channels() {
    play(FAULTY_CHANNELS, 300);
}

const FLITS: Kinds = Kinds { flits: 0.95, ..BOTH };
const TREES_OF_FLITS: Kinds = Kinds { flits: 0.6, ..TREES };
const FAULTY_FLITS: Kinds = Kinds { faults: true, ..FLITS };
const FAULTY_TREES_OF_FLITS: Kinds = Kinds { faults: true, ..TREES_OF_FLITS };

#[test]
fn flits_of_one_link() {
    play(FLITS, 300);
}

#[test]
fn flits_in_trees() {
    play(TREES_OF_FLITS, 300);
}

#[test]
fn faults_in_flits() {
    play(FAULTY_FLITS, 300);
}

#[test]
fn faults_in_flits_in_trees() {
    play(FAULTY_TREES_OF_FLITS, 300);
}

const STORED: Kinds = Kinds { storage: true, ..TREES };
const STORED_CHANNELS: Kinds = Kinds { storage: true, ..FAULTY_CHANNELS };
const STORED_SLEEPERS: Kinds = Kinds { storage: true, ..TREES_OF_SLEEPERS };
const STORED_FLITS: Kinds = Kinds { storage: true, ..TREES_OF_FLITS };

#[test]
fn storage_behind_credits() {
    play(STORED, 600);
}

#[test]
fn storage_behind_credits_of_channels_with_faults() {
    play(STORED_CHANNELS, 300);
}

#[test]
fn storage_behind_credits_of_links_that_sleep() {
    play(STORED_SLEEPERS, 300);
}

#[test]
fn storage_behind_credits_in_flit_mode() {
    play(STORED_FLITS, 300);
}

const TRANSLATED: Kinds = Kinds { iommu: true, ..TREES };
const TRANSLATED_CHANNELS: Kinds = Kinds { iommu: true, ..FAULTY_CHANNELS };

#[test]
fn address_translation() {
    play(TRANSLATED, 600);
}

#[test]
fn address_translation_of_channels_with_faults() {
    play(TRANSLATED_CHANNELS, 300);
}

const BANKED: Kinds = Kinds { banks: true, iommu: true, ..TREES };
const BANKED_FLITS: Kinds = Kinds { banks: true, ..TREES_OF_FLITS };

#[test]
fn channels_and_banks_of_memory() {
    play(BANKED, 600);
}

#[test]
fn channels_and_banks_of_memory_in_flit_mode() {
    play(BANKED_FLITS, 300);
}

const PLUGGED: Kinds = Kinds { hot_plug: true, ..TREES };
const PLUGGED_CHANNELS: Kinds = Kinds { hot_plug: true, ..FAULTY_CHANNELS };

const PLUGGED_SLEEPERS: Kinds = Kinds { hot_plug: true, ..FAULTY_SLEEPERS };

#[test]
fn devices_that_come_and_go_on_links_that_sleep() {
    play(PLUGGED_SLEEPERS, 300);
}

#[test]
fn devices_that_come_and_go() {
    play(PLUGGED, 600);
}

#[test]
fn devices_that_come_and_go_on_channels_with_faults() {
    play(PLUGGED_CHANNELS, 300);
}

const ENDS: Kinds = Kinds { ends: true, ..TREES };
const ENDS_OF_CHANNELS: Kinds = Kinds { ends: true, ..FAULTY_CHANNELS };
const ENDS_OF_SLEEPERS: Kinds = Kinds { ends: true, ..FAULTY_SLEEPERS };
const ENDS_OF_FLITS: Kinds = Kinds { ends: true, ..FAULTY_TREES_OF_FLITS };

#[test]
fn ends_of_their_own() {
    play(ENDS, 600);
}

#[test]
fn ends_of_their_own_on_channels_with_faults() {
    play(ENDS_OF_CHANNELS, 300);
}

#[test]
fn ends_of_their_own_on_links_that_sleep() {
    play(ENDS_OF_SLEEPERS, 300);
}

#[test]
fn ends_of_their_own_in_flit_mode() {
    play(ENDS_OF_FLITS, 300);
}

const EARLY: Kinds = Kinds { early: true, hot_plug: true, ends: true, ..FAULTY_SLEEPERS };
const EARLY_FLITS: Kinds = Kinds { early: true, ..ENDS_OF_FLITS };

#[test]
fn transfers_before_flow_control_is_initialised() {
    play(EARLY, 300);
}

#[test]
fn transfers_before_flow_control_is_initialised_in_flit_mode() {
    play(EARLY_FLITS, 300);
}

const TARGETS: Kinds = Kinds { targets: true, ..TREES };

#[test]
fn memory_of_endpoints_has_a_rate() {
    play(TARGETS, 600);
}

const ALL: Kinds = Kinds {
    storage: true,
    iommu: true,
    banks: true,
    hot_plug: true,
    ends: true,
    early: true,
    targets: true,
    flits: 0.3,
    ..FAULTY_SLEEPERS
};

#[test]
fn everything_in_one_system() {
    play(ALL, 300);
}

const LOOKS: Kinds = Kinds { looks: true, ..TREES };
const LOOKS_AT_SLEEPERS: Kinds = Kinds { looks: true, ..PLUGGED_SLEEPERS };
const LOOKS_AT_ALL: Kinds = Kinds { looks: true, ..ALL };

#[test]
fn looks_change_nothing() {
    play(LOOKS, 300);
}

#[test]
fn looks_at_links_that_sleep_change_nothing() {
    play(LOOKS_AT_SLEEPERS, 300);
}

#[test]
fn looks_at_everything_change_nothing() {
    play(LOOKS_AT_ALL, 300);
}

const CHANGES: Kinds = Kinds { changes: true, targets: true, ..TREES };
const CHANGES_OF_ALL: Kinds = Kinds { changes: true, looks: true, ..ALL };

#[test]
fn settings_that_change() {
    play(CHANGES, 300);
}

#[test]
fn settings_that_change_of_everything() {
    play(CHANGES_OF_ALL, 300);
}

#[test]
fn trees() {
    play(TREES, 300);
}

#[test]
fn faults_in_trees() {
    play(FAULTY_TREES, 300);
}

/// Two ports, up to three TLPs, every subset of the first transmissions of TLPs damaged.
#[test]
fn every_tiny_case_with_damaged_tlps() {
    let mut tally = Tally::default();
    for generation in [1, 3] {
        tiny::damaged_tlps(generation, tiny::Beyond::Nothing, &mut tally)
            .unwrap_or_else(|text| panic!("{text}"));
    }
    report(&tally);
}

/// The same on two virtual channels, and on a link that sleeps.
#[test]
fn every_tiny_case_with_damaged_tlps_on_channels_and_in_sleep() {
    let mut tally = Tally::default();
    for beyond in [tiny::Beyond::Channels, tiny::Beyond::Sleep] {
        tiny::damaged_tlps(3, beyond, &mut tally).unwrap_or_else(|text| panic!("{text}"));
    }
    report(&tally);
}

/// The same on a plain link with each DLLP damaged.
#[test]
fn every_tiny_case_with_a_damaged_dllp() {
    let mut tally = Tally::default();
    for generation in [1, 3] {
        tiny::damaged_dllps(generation, &mut tally).unwrap_or_else(|text| panic!("{text}"));
    }
    report(&tally);
}
