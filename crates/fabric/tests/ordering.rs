//! Ordering on a port: Relaxed Ordering lets completions past posted writes. ID-based ordering: what one device sends gets past
//! what another has waiting in front of it, and never past its own.

use crate::common::*;
use lanewise_fabric::Simulation;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::Direction;
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::flow_control::CreditPool;
use lanewise_units::{Generation, Rate, Span, Width};

/// Root, switch, switch, and two endpoints below the second: devices 0 to 4. Memory takes writes slowly, so that they
/// wait in the upper switch, in one queue with the reads of the other endpoint.
fn chain() -> FabricConfig {
    let mode = LinkMode::new(Generation::Gen3, Width::X8);
    let mut config = behind_switch(Generation::Gen3, Width::X8, Width::X8, 1, 256);
    let inner = device("inner", DeviceKind::Switch(switch(150)), vec![switch_port(mode, 256); 3]);
    config.devices[2] = inner;
    for index in 0..2 {
        let name = format!("end{index}");
        config.devices.push(device(&name, DeviceKind::Endpoint(endpoint()), vec![port(mode, 256)]));
        config.links.push(link((2, 1 + index), (3 + index, 0), mode));
    }
    root_mut(&mut config).write_bandwidth = Rate::from_bytes_per_second(500_000_000);
    config
}

fn both(config: &FabricConfig) -> Simulation {
    let streams = vec![Stream::new(3, Direction::Write, 65536, 4), Stream::new(4, Direction::Read, 512, 1)];
    measure(config, streams, 400)
}

fn read_latency(config: &FabricConfig) -> f64 {
    both(config).fabric.observers().flows()[1].latency().mean_ns
}

#[test]
fn reads_get_past_the_writes_of_another_device() {
    let ordered = read_latency(&chain());
    let mut by_id = chain();
    endpoint_mut(&mut by_id, 4).id_based_ordering = true;
    let free = read_latency(&by_id);
    // What waits for memory in the upper switch: some of its 8 KiB of posted credits, at 0.5 GB/s.
    assert!(ordered > 10_000.0, "{ordered}");
    assert!(free < 3_000.0, "{free}");
}

#[test]
fn the_attribute_counts_on_the_packet_that_passes() {
    let mut writer = chain();
    endpoint_mut(&mut writer, 3).id_based_ordering = true;
    assert_eq!(
        both(&chain()).fabric.observers().fingerprint(),
        both(&writer).fabric.observers().fingerprint()
    );
}

#[test]
fn nothing_gets_past_its_own_writes() {
    let run = |by_id| {
        let mut config = chain();
        endpoint_mut(&mut config, 3).id_based_ordering = by_id;
        let streams =
            vec![Stream::new(3, Direction::Write, 65536, 4), Stream::new(3, Direction::Read, 512, 1)];
        measure(&config, streams, 400).fabric.observers().fingerprint()
    };
    assert_eq!(run(false), run(true));
}

/// The data of the processor's load get past the writes of another device, too, if the device that answers says whose they are.
#[test]
fn completions_get_past_the_writes_of_another_device() {
    for by_id in [false, true] {
        let mut config = chain();
        endpoint_mut(&mut config, 4).id_based_ordering = by_id;
        let load = Ask::MmioRead { device: 4, bytes: 4 };
        let steps = vec![(us(5), dma(3, Direction::Write, 0, 65536)), (us(40), load)];
        let (_, log) = run_script(&config, steps, 1000);
        let took = log.latency(1);
        assert!(if by_id { took < Span::from_us(3) } else { took > Span::from_us(10) }, "{by_id} {took:?}");
    }
}

/// The processor's stores wait for the device's only posted credit, 10 us each, and behind them the data that the device reads:
/// unless its requests, and so its completions, carry Relaxed Ordering. A store never gets past a store.
#[test]
fn completions_get_past_posted_writes_with_relaxed_ordering_only() {
    for relaxed in [false, true] {
        let mut config = direct(Generation::Gen3, Width::X4, 128);
        config.devices[1].ports[0].credits[0] = CreditPool::finite(1, 8);
        let end = endpoint_mut(&mut config, 1);
        end.buffer_hold = Span::from_us(10);
        end.relaxed_ordering = relaxed;
        let store = Ask::MmioWrite { device: 1, bytes: 4 };
        let read = dma(1, Direction::Read, 0, 64);
        let (_, log) =
            run_script(&config, vec![(us(5), store), (us(5), store), (us(5), store), (us(6), read)], 200);
        assert!(log.latency(2) > Span::from_us(20), "{:?}", log.latency(2));
        let (read, all_stores) = (log.done_at(3), log.done_at(2));
        match relaxed {
            false => assert!(read > all_stores, "{read:?} {all_stores:?}"),
            true => assert!(log.latency(3) < Span::from_us(1), "{:?}", log.latency(3)),
        }
    }
}
