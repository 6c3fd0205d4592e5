//! What root ports share and what they do not: stacks, tracking entries, the order of completions, peers, memory and caches,
//! each against its closed form.

use crate::common::*;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::{DeviceId, Direction, Target};
use lanewise_pcie::encoding::{Clocking, LinkMode, ceiling};
use lanewise_pcie::tag::TagWidth;
use lanewise_pcie::tlp::Tlp;
use lanewise_units::{Bytes, Generation, Rate, Span, Width};

const GEN4: Generation = Generation::Gen4;
const READ: Direction = Direction::Read;
const WRITE: Direction = Direction::Write;

/// A root complex with an x16 device (1) below its first root port and an x4 device (2) below its second.
fn wide_and_narrow() -> FabricConfig {
    let narrow = LinkMode::new(GEN4, Width::X4);
    let mut config = direct(GEN4, Width::X16, 256);
    config.devices[0].ports.push(port(narrow, 256));
    config.devices.push(device("narrow", DeviceKind::Endpoint(endpoint()), vec![port(narrow, 256)]));
    config.links.push(link((0, 1), (2, 0), narrow));
    root_mut(&mut config).completion_combine_max = Bytes::new(256);
    root_mut(&mut config).stack.read_trackers = 4096;
    (1..3).for_each(|device| many_tags(&mut config, device));
    config
}

fn many_tags(config: &mut FabricConfig, device: usize) {
    let endpoint = endpoint_mut(config, device);
    (endpoint.tags, endpoint.tag_width) = (256, TagWidth::Bits8);
}

fn rates(config: &FabricConfig, streams: Vec<Stream>) -> Vec<f64> {
    let flows = streams.len();
    let simulation = measure(config, streams, 300);
    (0..flows).map(|flow| goodput(&simulation, flow, 300)).collect()
}

fn reader(device: u32) -> Stream {
    Stream::new(device, READ, 65536, 8)
}

/// An entry is held until the data of its read are queued, however long the wire then takes: entries × request / latency.
#[test]
fn entries_bound_reads_by_latency_alone() {
    for (entries, width) in [(4, Width::X16), (16, Width::X16)] {
        let mut config = direct(GEN4, width, 256);
        many_tags(&mut config, 1);
        let root = root_mut(&mut config);
        root.stack.read_trackers = entries;
        root.memory_latency = Span::from_us(1);
        let held = Span::from_us(1) + FAST.span_ceil(Bytes::new(512));
        let expected = f64::from(entries) * 512.0 / held.as_seconds();
        assert_close(rates(&config, vec![reader(1)])[0], expected, 0.005, "entries");
    }
}

/// A slow port leaves the entries of others alone, and even those that it shares it holds no longer than memory takes.
#[test]
fn a_slow_port_hoards_nothing() {
    for shared in [false, true] {
        let mut config = wide_and_narrow();
        // Enough for both links, and not much more: 39.4 GB/s for the 150 ns of memory.
        root_mut(&mut config).stack.read_trackers = 16;
        root_mut(&mut config).stack_of_port = if shared { vec![0, 0] } else { vec![0, 1] };
        let alone = rates(&config, vec![reader(1)])[0];
        let both = rates(&config, vec![reader(1), reader(2)]);
        assert_close(both[0], alone, 0.005, "the wide port");
        assert!(both[1] > 6.9e9, "the narrow port: {both:?}");
    }
}

/// Where reads wait long for their data, the two ports of a stack share its entries; ports of different stacks do not.
#[test]
fn ports_of_a_stack_share_its_entries() {
    let through = |stacks: Vec<u16>| {
        let mut config = wide_and_narrow();
        let root = root_mut(&mut config);
        (root.stack_of_port, root.stack.read_trackers) = (stacks, 8);
        root.memory_latency = Span::from_us(2);
        rates(&config, vec![reader(1), reader(2)]).iter().sum::<f64>()
    };
    let entry = 512.0 / (Span::from_us(2) + FAST.span_ceil(Bytes::new(512))).as_seconds();
    assert_close(through(vec![0, 0]), 8.0 * entry, 0.005, "one stack");
    assert_close(through(vec![0, 1]), 16.0 * entry, 0.005, "two stacks");
}

/// Rates of a stack cap what its ports do together, and no other stack.
#[test]
fn a_stack_has_rates_of_its_own() {
    let rate = Rate::from_bytes_per_second(5_000_000_000);
    let mut config = wide_and_narrow();
    root_mut(&mut config).stack.read_bandwidth = Some(rate);
    let apart = rates(&config, vec![reader(1), reader(2)]);
    assert_close(apart[0], 5e9, 0.005, "wide");
    assert_close(apart[1], 5e9, 0.005, "narrow");
    root_mut(&mut config).stack_of_port = vec![0, 0];
    let together: f64 = rates(&config, vec![reader(1), reader(2)]).iter().sum();
    assert_close(together, 5e9, 0.005, "together");
}

/// Whatever the spread of latencies, a read that is late delays nobody: with tags enough the wire is the limit.
#[test]
fn late_data_do_not_hold_up_others() {
    let through = |jitter_ns| {
        let mut config = direct(Generation::Gen3, Width::X8, 256);
        many_tags(&mut config, 1);
        let root = root_mut(&mut config);
        root.completion_combine_max = Bytes::new(256);
        root.stack.read_trackers = 4096;
        root.memory_latency_jitter = Span::from_ns(jitter_ns);
        rates(&config, vec![reader(1)])[0]
    };
    assert_close(through(1000), through(0), 0.005, "spread of 1 us");
}

/// A missing translation delays its own read alone: the other stream goes on as without it.
#[test]
fn a_walk_delays_its_own_read_alone() {
    let through = |iommu: Option<IommuConfig>| {
        let mut config = wide_and_narrow();
        root_mut(&mut config).iommu = iommu;
        // The wide device walks for every page, the narrow one reads what it has read before.
        let again = Stream::new(2, READ, 4096, 4);
        rates(&config, vec![reader(1), again])[1]
    };
    let walks = IommuConfig {
        entries: 1 << 16,
        ways: 1 << 4,
        page: Bytes::from_kib(1 << 20),
        walk_steps: 2,
        walk_step_latency: Span::from_us(2),
        walkers: 4,
        walk_interval: Span::ZERO,
    };
    assert_close(through(Some(walks)), through(None), 0.005, "once its own page is known");
}

/// Two peers below different root ports.
fn two_peers(set: impl FnOnce(&mut RootComplexConfig)) -> FabricConfig {
    let mode = LinkMode::new(GEN4, Width::X16);
    let mut config = direct(GEN4, Width::X16, 256);
    config.devices[0].ports.push(port(mode, 256));
    config.devices.push(device("peer", DeviceKind::Endpoint(endpoint()), vec![port(mode, 256)]));
    config.links.push(link((0, 1), (2, 0), mode));
    set(root_mut(&mut config));
    config
}

fn writes_to(device: u32, peer: u32) -> Stream {
    Stream::new(device, WRITE, 65536, 8).to(Target::Endpoint(DeviceId(peer)))
}

/// What the first of two peers writes to the second.
fn peer_writes(set: impl FnOnce(&mut RootComplexConfig)) -> f64 {
    rates(&two_peers(set), vec![writes_to(1, 2)])[0]
}

/// What a root complex cuts travels on with a header for each piece: the closed form of the smaller packet.
#[test]
fn peers_get_packets_of_the_size_that_is_forwarded() {
    let mode = LinkMode::new(GEN4, Width::X16);
    for largest in [64, 128, 256] {
        // Peers' memory lies above 4 GiB: headers of 4 DW.
        let shape = Tlp::memory_write(1 << 40, Bytes::new(largest));
        let expected = ceiling(mode, &shape, Clocking::Common).payload_gb_per_s_with_eds * 1e9;
        let found = peer_writes(|root| root.largest_forwarded = Some(Bytes::new(largest)));
        assert_close(found, expected, 0.005, &format!("{largest} B"));
    }
}

/// A stack forwards at its rate; within one stack a packet passes it once.
#[test]
fn peers_have_the_rate_of_the_stack() {
    for stacks in [vec![0, 1], vec![0, 0]] {
        let found = peer_writes(|root| {
            root.stack.peer_rate = Some(Rate::from_bytes_per_second(7_000_000_000));
            root.stack_of_port = stacks;
        });
        assert_close(found, 7e9, 0.005, "forwarding");
    }
}

/// Peers that write to each other have that rate each way.
#[test]
fn peers_have_the_rate_of_the_stack_each_way() {
    let config = two_peers(|root| root.stack.peer_rate = Some(Rate::from_bytes_per_second(7_000_000_000)));
    for found in rates(&config, vec![writes_to(1, 2), writes_to(2, 1)]) {
        assert_close(found, 7e9, 0.005, "each way");
    }
}

/// What ACS sends up to the root complex takes the same way back down.
#[test]
fn redirected_peers_take_the_way_through_the_root_complex() {
    let through = |redirect: bool| {
        let mut config = behind_switch(GEN4, Width::X16, Width::X16, 2, 256);
        switch_mut(&mut config, 1).acs_redirect = redirect;
        root_mut(&mut config).stack.peer_rate = Some(Rate::from_bytes_per_second(9_000_000_000));
        let stream = Stream::new(2, WRITE, 65536, 8).to(Target::Endpoint(DeviceId(3)));
        rates(&config, vec![stream])[0]
    };
    assert!(through(false) > 25e9, "{}", through(false));
    assert_close(through(true), 9e9, 0.005, "redirected");
}

/// Walks begin at most so often, however many walkers there are: fractions of a walk per walker and latency can be said.
#[test]
fn walks_have_a_rate() {
    let mut config = direct(Generation::Gen3, Width::X8, 256);
    many_tags(&mut config, 1);
    root_mut(&mut config).iommu = Some(IommuConfig {
        entries: 16,
        ways: 16,
        page: Bytes::from_kib(4),
        walk_steps: 2,
        walk_step_latency: Span::from_ns(100),
        walkers: 64,
        walk_interval: Span::from_ns(1700),
    });
    let pages = rates(&config, vec![Stream::new(1, WRITE, 4096, 16)])[0] / 4096.0;
    assert_close(pages, 1.0 / 1700e-9, 0.005, "walks a second");
}

/// A warm cache answers sooner than memory, for as much as it holds; a cold one is not asked twice.
#[test]
fn a_cache_answers_what_it_holds() {
    let latency = |warm: bool, size_kib: u64| {
        let mut config = direct(Generation::Gen3, Width::X8, 256);
        root_mut(&mut config).cache = Some(cache(size_kib, 2));
        endpoint_mut(&mut config, 1).warm_buffers = warm;
        // The stream goes round in 16 MiB.
        let simulation = measure(&config, vec![Stream::new(1, READ, 4096, 1)], 6000);
        simulation.fabric.observers().flows()[0].latency().mean_ns
    };
    let (cold, fits, half) = (latency(false, 32 << 10), latency(true, 32 << 10), latency(true, 8 << 10));
    assert_close(cold - fits, 50.0, 0.02, "150 ns of memory, 100 ns of cache");
    assert!(half > fits + 10.0 && half < cold - 10.0, "half of it: {half} of {cold} and {fits}");
}

fn cache(size_kib: u64, device_ways: u32) -> CacheConfig {
    CacheConfig {
        size: Bytes::from_kib(size_kib),
        ways: 16,
        device_ways,
        block: Bytes::new(256),
        latency: Span::from_ns(100),
        read_bandwidth: None,
    }
}

/// Writes that stay in the ways of devices ask nothing of memory; those that do not leave the cache at memory's rate.
#[test]
fn writes_of_devices_reach_memory_when_they_leave_the_cache() {
    let through = |size_kib, device_ways| {
        let mut config = direct(GEN4, Width::X16, 256);
        let root = root_mut(&mut config);
        root.memory.rate = Rate::from_bytes_per_second(3_000_000_000);
        root.cache = Some(cache(size_kib, device_ways));
        // The stream goes round in 16 MiB.
        rates(&config, vec![Stream::new(1, WRITE, 65536, 8)])[0]
    };
    assert!(through(512 << 10, 2) > 25e9, "64 MiB of ways for devices hold it all");
    assert_close(through(256, 2), 3e9, 0.01, "32 KiB of ways for devices");
    assert_close(through(512 << 10, 0), 3e9, 0.01, "no ways for devices");
}

/// Random reads of lines are bound by the banks: banks over row cycles, all channels together.
#[test]
fn banks_bound_random_lines() {
    let mut config = direct(Generation::Gen3, Width::X16, 256);
    many_tags(&mut config, 1);
    let cycle = Span::from_ns(100);
    let banks = BankConfig { per_channel: 1, cycle, row: Bytes::new(512) };
    root_mut(&mut config).memory = MemoryConfig { channels: 2, banks: Some(banks), ..memory(FAST) };
    // A line in every second page: each is in a row of its own.
    let lines = rates(&config, vec![Stream::new(1, READ, 64, 64)])[0] / 64.0;
    // Rows of 512 B are 8 lines of one stream, which the bank has open after the first.
    let most = 2.0 / 100e-9 * 8.0;
    assert!(lines <= most * 1.005 && lines > most * 0.9, "{lines:e} lines a second, at most {most:e}");
}
