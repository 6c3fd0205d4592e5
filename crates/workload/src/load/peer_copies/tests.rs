//! Copies between pairs on links of plain arithmetic, which only what a device sends takes time on.

use super::*;
use crate::bench::Bench;
use lanewise_units::{Rate, Span};

const GB_PER_S: Rate = Rate::from_bytes_per_second(1_000_000_000);

/// 100 us on a link.
const SIZE: u64 = 100_000;

fn config(devices: u32, pairs: &[[usize; 2]], waiting: Waiting) -> PeerCopiesConfig {
    let copier = |number| Copier {
        device: DeviceId(number),
        name: format!("gpu{number}"),
        engine: EngineConfig::default(),
        engines: 1,
        costs: CopyCosts { overhead: Span::ZERO, call: Span::ZERO, completion: Span::ZERO, staging: None },
    };
    PeerCopiesConfig {
        name: "copies".into(),
        devices: (0..devices).map(copier).collect(),
        pairs: pairs.to_vec(),
        size: Bytes::new(SIZE),
        waiting,
    }
}

/// Copies that have ended after so long, by the device that made them.
fn copies(config: PeerCopiesConfig, span: Span) -> Vec<u64> {
    let mut bench = Bench::new(GB_PER_S, Span::ZERO);
    let names: Vec<String> = config.devices.iter().map(|device| device.name.clone()).collect();
    bench.run(&mut PeerCopies::new(config), span);
    names.iter().map(|name| bench.payload_of("copies", name, "peer write") / SIZE).collect()
}

/// Each of some devices to each other one, by source or by target first.
fn all(devices: usize, by_target: bool) -> Vec<[usize; 2]> {
    let others = |one| (0..devices).filter(move |other| *other != one);
    let pairs = (0..devices).flat_map(|one| others(one).map(move |other| [one, other]));
    pairs.map(|[one, other]| if by_target { [other, one] } else { [one, other] }).collect()
}

#[test]
fn pairs_with_streams_of_their_own_fill_every_link() {
    let done = copies(config(4, &all(4, false), Waiting::Pair), Span::from_ms(3));
    assert_eq!(done, [30; 4]);
}

#[test]
fn copies_to_one_target_follow_each_other() {
    let done = copies(config(3, &[[0, 2], [1, 2]], Waiting::Target), Span::from_ms(4));
    assert_eq!(done, [20, 20, 0]);
    let done = copies(config(4, &[[0, 2], [1, 3]], Waiting::Target), Span::from_ms(4));
    assert_eq!(done, [40, 40, 0, 0]);
}

/// Twelve copies of four devices take ten times as long as one. With `2>0` for a copy from 2 to 0, those of a line at the same time:
/// 1>0 and 2>3 of the round before; 2>0; 3>0; 0>1; 2>1; 3>1 and 0>2; 1>2; 3>2; 0>3; 1>3. So the last round lacks its 2>3.
#[test]
fn copies_in_the_null_stream_have_both_devices_for_themselves() {
    let done = copies(config(4, &all(4, true), Waiting::Both), Span::from_ms(20));
    assert_eq!(done.iter().sum::<u64>(), 12 * 20 - 1);
}

/// Of a ring of copies, each waits for the one before it at one device and for the one after it at the other.
#[test]
fn copies_in_the_null_stream_keep_the_order_of_issue() {
    let ring = [[0, 1], [1, 2], [2, 0]];
    assert_eq!(copies(config(3, &ring, Waiting::Both), Span::from_ms(3)), [10; 3]);
    let apart = [[0, 1], [2, 3]];
    assert_eq!(copies(config(4, &apart, Waiting::Both), Span::from_ms(3)), [30, 0, 30, 0]);
}

#[test]
fn the_same_pair_twice_is_two_streams_of_one_engine() {
    let twice = [[0, 1], [0, 1]];
    assert_eq!(copies(config(2, &twice, Waiting::Pair), Span::from_ms(3)), [30, 0]);
    let two_engines = || {
        let mut config = config(2, &twice, Waiting::Pair);
        config.devices[0].engines = 2;
        config
    };
    // The link is one all the same.
    assert_eq!(copies(two_engines(), Span::from_ms(3)), [30, 0]);
}
