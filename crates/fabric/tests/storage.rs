//! Room behind the credits of a switch: how much a burst finds, when credits come back, and whom a backlog holds up.

use crate::common::*;
use lanewise_fabric::workload::{DeviceId, Direction, Target};
use lanewise_fabric::{ResourceKind, Simulation};
use lanewise_pcie::flow_control::CreditPool;
use lanewise_units::{Bytes, Generation, Rate, Span, SpanSum, Width};

const GEN1: Generation = Generation::Gen1;

/// What a write of 128 B takes up: a header unit and eight data units of 16 B.
const WRITE: u64 = 144;

fn room_for_writes(bytes: u64) -> [Bytes; 3] {
    [Bytes::new(bytes), Bytes::ZERO, Bytes::ZERO]
}

/// Device 2 writes 64 times 128 B to device 3, which takes two of them and keeps them to the end. The port of device 2 has credits
/// for four, and the switch room for so many bytes.
fn burst_into_a_blocked_egress(storage: u64) -> Simulation {
    let mut config = without_background(behind_switch(GEN1, Width::X4, Width::X4, 2, 128));
    switch_mut(&mut config, 1).storage = room_for_writes(storage);
    config.devices[1].ports[1].credits[0] = CreditPool::finite(4, 32);
    config.devices[3].ports[0].credits[0] = CreditPool::finite(2, 16);
    endpoint_mut(&mut config, 3).buffer_hold = Span::from_ms(100);
    let writes = (us(5), peer(2, Direction::Write, 3, 64 * 128));
    run_script(&config, vec![writes], 200).0
}

/// A burst into an egress that is blocked gets credits for what the peer, the storage and the ingress buffer can hold, to a packet;
/// one byte less of storage holds one packet less.
#[test]
fn a_burst_gets_credits_for_as_much_as_there_is_room() {
    let sent = |storage| {
        let simulation = burst_into_a_blocked_egress(storage);
        let port = simulation.fabric.port_index(DeviceId(2), 0);
        simulation.fabric.observers().counters(port).tlps_sent
    };
    assert_eq!(sent(0), 2 + 4);
    for packets in [1, 10, 40] {
        assert_eq!(sent(packets * WRITE), 2 + packets + 4);
        assert_eq!(sent(packets * WRITE - 1), 2 + (packets - 1) + 4);
    }
}

/// The room that is taken is a resource's: so many bytes for as long as they lie there. Those that found none wait for it.
#[test]
fn what_lies_in_storage_is_counted() {
    let simulation = burst_into_a_blocked_egress(10 * WRITE + 50);
    let book = |at| {
        let mut found = simulation.resources(us(at)).into_iter();
        let storage = found.find(|reading| reading.id.kind() == ResourceKind::SwitchStorage);
        let reading = storage.expect("packets were stored");
        assert_eq!((reading.name.as_str(), reading.places), ("switch.storage.port2.posted", 10 * 144 + 50));
        reading.book
    };
    let since = book(200).since(&book(150));
    assert_eq!(since.busy, SpanSum::from(Span::from_us(50)) * (10 * WRITE));
    // Two passed through while the peer had credits, and the four that fill the ingress buffer wait.
    assert_eq!(book(200).served, 2 + 10 + 4);
    assert_eq!(since.waited, SpanSum::from(Span::from_us(50)) * 4);
}

/// A flow that nothing holds up gets its credits times the size of its packets in the time of its credit loop, however much room
/// there is: two writes of 128 B in the time in which a write of 148 B goes over 1 ns of wire and through 200 ns of switch, and an
/// UpdateFC of 8 B comes back over 1 ns of wire and is checked for 20 ns. Each starts with the next symbol of 4 ns.
#[test]
fn storage_does_not_shorten_the_credit_loop_of_a_flow_alone() {
    let rate = |storage| {
        let mut config = without_background(behind_switch(GEN1, Width::X4, Width::X4, 1, 128));
        switch_mut(&mut config, 1).latency = Span::from_ns(200);
        switch_mut(&mut config, 1).storage = [Bytes::new(storage); 3];
        config.devices[1].ports[1].credits[0] = CreditPool::finite(2, 16);
        goodput(&measure(&config, vec![Stream::new(2, Direction::Write, 4096, 8)], 400), 0, 400)
    };
    let update_starts = (1u32 + 200 + 148).next_multiple_of(4);
    let loop_ns = (update_starts + 8 + 1 + 20).next_multiple_of(4);
    for storage in [0, 500, 100_000] {
        assert_close(rate(storage), 256e9 / f64::from(loop_ns), 0.001, "of a flow alone");
    }
}

/// Writes of device 2 to the host, bytes per second, beside 128 writes at a time to a peer that drains 50 MB/s.
fn beside_a_slow_peer(storage: u64) -> f64 {
    let mut config = behind_switch(GEN1, Width::X4, Width::X4, 2, 128);
    switch_mut(&mut config, 1).storage = room_for_writes(storage);
    endpoint_mut(&mut config, 3).write_drain = Rate::from_bytes_per_second(50_000_000);
    config.devices[3].ports[0].credits[0] = CreditPool::finite(4, 32);
    let slow = Stream::new(2, Direction::Write, 128, 128).to(Target::Endpoint(DeviceId(3)));
    let simulation = measure(&config, vec![slow, Stream::new(2, Direction::Write, 4096, 8)], 400);
    assert_close(goodput(&simulation, 0, 400), 50e6, 0.02, "to the slow peer");
    goodput(&simulation, 1, 400)
}

/// A backlog blocks other egresses when it fills ingress buffer and storage together, and not when it fits.
#[test]
fn a_backlog_that_fits_into_storage_holds_up_nobody() {
    let (without, too_little, enough) =
        (beside_a_slow_peer(0), beside_a_slow_peer(40 * WRITE), beside_a_slow_peer(128 * WRITE));
    assert!(without < 120e6 && too_little < 120e6, "{without} {too_little}");
    assert!(enough > 780e6, "{enough}");
}

/// Nothing is lost, and all credits are back, of reads and writes of all to all through little room of each class.
#[test]
fn nothing_is_lost_in_storage() {
    for storage in [0, 100, 150, 1_000] {
        let mut config = behind_switch(GEN1, Width::X1, Width::X4, 3, 128);
        switch_mut(&mut config, 1).storage = [Bytes::new(storage); 3];
        let ports = &mut config.devices[1].ports;
        ports.iter_mut().for_each(|port| port.credits = [CreditPool::finite(2, 16); 3]);
        let asks = (0..60u64).map(|n| {
            let device = 2 + (n % 3) as u32;
            let direction = if n % 2 == 0 { Direction::Write } else { Direction::Read };
            let ask = match n % 5 {
                0 => peer(device, direction, 2 + (device - 1) % 3, 700),
                _ => dma(device, direction, n * 4096, 900),
            };
            (us(5), ask)
        });
        let (mut simulation, log) = run_script(&config, asks.collect(), 5_000);
        assert_eq!(log.done(), 60, "{storage}");
        advance(&mut simulation, us(6_000));
        simulation.stop_measuring(us(6_000)); // Acks and UpdateFCs that nobody waits for.
        assert!(simulation.fabric.is_quiet(), "{storage}");
        assert!(simulation.fabric.all_credits_returned(), "{storage}");
    }
}
