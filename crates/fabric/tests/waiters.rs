//! What is said of those who wait when nothing moves.

use crate::common::behind_switch;
use lanewise_fabric::{Place, Waiter};
use lanewise_observe::Use;
use lanewise_units::{Generation, Width};

#[test]
fn a_waiter_is_named_with_whom_it_waits_for() {
    let config = behind_switch(Generation::Gen3, Width::X8, Width::X4, 1, 256);
    let names: Vec<&str> = config.devices.iter().map(|device| device.name.as_str()).collect();
    let [root, switch, end] = names[..] else { panic!("three devices, not {names:?}") };
    let (upper, lower) = (Place { device: 1, port: 1 }, Place { device: 2, port: 0 });
    let held = |on| Waiter::Port { port: lower, peer: upper, on }.describe(&config);
    assert_eq!(
        held(Use::BlockedPostedData),
        format!("{end}.port0 waits for posted data credits of {switch}.port1")
    );
    assert_eq!(
        held(Use::BlockedRetryBuffer),
        format!("{end}.port0 waits for an Ack of {switch}.port1: its retry buffer is full")
    );
    let link = Waiter::Link { port: Place { device: 0, port: 0 }, peer: Place { device: 1, port: 0 } };
    assert_eq!(link.describe(&config), format!("{root}.slot1 waits for its link to {switch}.port0"));
    let cpu = Waiter::Cpu { device: 2, accesses: 2 };
    assert_eq!(cpu.describe(&config), format!("the CPU waits for the end of 2 accesses to {end}"));
    let replayer =
        |damaged| Waiter::Replayer { port: lower, peer: upper, replays: 3, damaged }.describe(&config);
    assert_eq!(
        replayer(8),
        format!(
            "{end}.port0 waits for an Ack of {switch}.port1 after 3 replays: {switch}.port1 has found 8 TLPs or flits damaged"
        )
    );
    assert!(replayer(0).ends_with("has found none of it damaged, so its Acks come too late or are lost"));
    let (flow, device) = ("copy".to_owned(), end.to_owned());
    let transfers = Waiter::Transfers { flow, device, transfers: 2 };
    assert_eq!(transfers.describe(&config), format!("`copy` of {end} waits for the end of 2 transfers"));
    let engines = Waiter::Entries { device: 0, reads: 1 };
    assert_eq!(engines.describe(&config), format!("1 read waits at {root} for an entry of its stack"));
}
