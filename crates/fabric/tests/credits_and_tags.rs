//! Scaled flow control, tag widths, ECRC, and header sizes: how much may be in flight, and how big it is.

use crate::common::*;
use lanewise_fabric::Simulation;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::{DeviceId, Direction};
use lanewise_observe::Use;
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::flow_control::{CreditPool, Scale};
use lanewise_pcie::tag::TagWidth;
use lanewise_units::{Bytes, Generation, Rate, Span, Width};

/// Writes over a long Gen5 x16 link, 600 ns away, with as many credits as the scale can advertise.
fn over_a_long_link(scale: Scale) -> f64 {
    let mut config = direct(Generation::Gen5, Width::X16, 256);
    config.links[0].propagation = Span::from_ns(600);
    let most = CreditPool::finite(127 * scale.factor(), 2047 * scale.factor());
    for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
        port.scale = [scale; 3];
        port.credits[0] = most;
        port.credits[1] = CreditPool::finite(4 * scale.factor(), 4 * scale.factor());
        port.retry_buffer = Bytes::from_kib(512);
        port.replay_timer = Span::from_us(12);
        port.ack.latency = Span::from_ns(50);
        port.update_flow_control.latency = Span::from_ns(50);
    }
    let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 65536, 16)], 100);
    let upstream = simulation.fabric.observers().counters(simulation.fabric.port_index(DeviceId(1), 0));
    assert_eq!(upstream.errors.replays, 0);
    goodput(&simulation, 0, 100)
}

/// Unscaled counters stop at 127 headers: 32 KB per turn of the loop. Scaled flow control fills the link.
#[test]
fn scaled_flow_control_covers_a_long_credit_loop() {
    let unscaled = over_a_long_link(Scale::One);
    // Two flights, both receivers, draining, one update: about 1.3 us for 127 writes of 256 B.
    assert!(unscaled > 127.0 * 256.0 / 1.50e-6 && unscaled < 127.0 * 256.0 / 1.29e-6, "{unscaled}");
    assert_close(over_a_long_link(Scale::Four), 58.29e9, 0.002, "scale 4");
    assert_close(over_a_long_link(Scale::Sixteen), 58.29e9, 0.002, "scale 16");
}

/// An UpdateFC goes out for every so many writes whose credits are free. Those that still drain do not count, however many
/// arrive before the first of them is in memory.
#[test]
fn updates_count_what_is_free() {
    for (every, drain_ns) in [(2, 0), (2, 50), (8, 0), (8, 20), (8, 50), (8, 500), (16, 500)] {
        let mut config = without_background(direct(Generation::Gen5, Width::X16, 256));
        for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
            port.scale = [Scale::Sixteen; 3];
            port.credits[0] = CreditPool::finite(2032, 32752);
            port.credits[1] = CreditPool::finite(16, 16);
            port.retry_buffer = Bytes::from_kib(512);
            port.replay_timer = Span::from_ms(1);
            port.ack = AckPolicy { every_tlps: 64, latency: Span::from_us(100) };
            port.update_flow_control =
                UpdatePolicy { every_tlps: every, latency: Span::from_us(100), period: Span::from_ms(500) };
        }
        let root = root_mut(&mut config);
        root.write_latency = Span::from_ns(drain_ns);
        root.write_bandwidth = Rate::from_bytes_per_second(10_000_000_000_000);
        let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 65536, 16)], 100);
        let counters = |device| {
            simulation.fabric.observers().counters(simulation.fabric.port_index(DeviceId(device), 0))
        };
        let (writes, dllps) = (counters(1).tlps_sent as f64, counters(0).dllps_sent as f64);
        let expected = writes / 64.0 + writes / f64::from(every);
        assert_close(dllps, expected, 0.01, &format!("every {every}, {drain_ns} ns"));
    }
}

/// Credits that are no whole number of steps lose the fraction, and nothing else.
#[test]
fn a_fraction_of_a_step_is_never_used() {
    for (headers, usable) in [(16u16, 16u32), (18, 16), (19, 20), (31, 32)] {
        let mut config = direct(Generation::Gen3, Width::X8, 256);
        for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
            port.scale = [Scale::Four; 3];
            port.credits[1] = CreditPool::finite(headers, 4);
        }
        root_mut(&mut config).stack.read_trackers = 1;
        root_mut(&mut config).memory_latency = Span::from_us(50);
        let simulation = measure(&config, vec![Stream::new(1, Direction::Read, 65536, 1)], 20);
        // The first read has an engine: one header more may be allocated, in whole steps, and one is used up.
        let root_port = simulation.fabric.port_index(DeviceId(0), 0);
        let held = simulation.fabric.observers().buffers(root_port)[1].now() / 16;
        assert_eq!(held, usable - 1, "{headers} headers");
    }
}

/// Reads of 512 B from memory 20 us away with all tags of a width: outstanding reads are its usable tags.
#[test]
fn tag_width_bounds_outstanding_reads() {
    for (width, usable) in [(TagWidth::Bits5, 32), (TagWidth::Bits8, 256), (TagWidth::Bits10, 768)] {
        let mut config = direct(Generation::Gen3, Width::X16, 256);
        let end = endpoint_mut(&mut config, 1);
        end.tags = u32::MAX;
        end.tag_width = width;
        let root = root_mut(&mut config);
        root.stack.read_trackers = 1024;
        root.memory_latency = Span::from_us(100);
        root.completion_combine_max = Bytes::new(256);
        let simulation = measure(&config, vec![Stream::new(1, Direction::Read, 65536, 16)], 400);
        assert_eq!(simulation.fabric.outstanding_reads(DeviceId(1)), usable, "{width:?}");
        // Per turn of the loop: 100 us of memory, and the last completion behind all others of its burst.
        let least = f64::from(usable) * 512.0 / 150e-6;
        let most = f64::from(usable) * 512.0 / 100e-6 * 1.001;
        let actual = goodput(&simulation, 0, 400);
        assert!(actual > least && actual < most, "{width:?}: {actual}, {least} to {most}");
    }
}

/// A device may track fewer tags than its field has.
#[test]
fn a_device_limit_below_the_tag_width_holds() {
    let mut config = direct(Generation::Gen3, Width::X16, 256);
    endpoint_mut(&mut config, 1).tags = 5;
    endpoint_mut(&mut config, 1).tag_width = TagWidth::Bits8;
    root_mut(&mut config).memory_latency = Span::from_us(10);
    let simulation = measure(&config, vec![Stream::new(1, Direction::Read, 65536, 2)], 100);
    assert_eq!(simulation.fabric.outstanding_reads(DeviceId(1)), 5);
}

/// A read of up to the Maximum Payload Size is one completion; a longer one ends at every boundary where long reads are not
/// combined.
#[test]
fn long_reads_are_answered_line_by_line_where_they_are_not_combined() {
    for (combines, mrrs, each) in [(true, 512, 256), (false, 256, 256), (false, 512, 64)] {
        let mut config = direct(Generation::Gen2, Width::X1, 256);
        endpoint_mut(&mut config, 1).mrrs = Bytes::new(mrrs);
        let root = root_mut(&mut config);
        root.completion_combine_max = Bytes::new(256);
        root.combine_long_reads = combines;
        let simulation = measure(&config, vec![Stream::new(1, Direction::Read, 512, 64)], 10_000);
        let port = simulation.fabric.port_index(DeviceId(0), 0);
        let sent = simulation.fabric.observers().counters(port).tlps_sent as f64;
        let bytes = goodput(&simulation, 0, 10_000) * 10_000e-6 / sent;
        assert!((bytes / f64::from(each) - 1.0).abs() < 0.01, "{bytes} B in each, not {each}");
    }
}

/// Bytes of header and digest per TLP that a port sent.
fn header_bytes(simulation: &mut Simulation, config: &FabricConfig, device: u32) -> f64 {
    simulation.stop_measuring(us(900));
    let observers = simulation.fabric.observers();
    let port = simulation.fabric.port_index(DeviceId(device), 0);
    let mode: LinkMode = config.links[0].mode;
    let byte = mode.wire_span(Bytes::new(1)).ticks() as f64;
    observers.direction(port).spent_on(Use::Header).ticks() as f64
        / byte
        / observers.counters(port).tlps_sent as f64
}

fn header_of(ask: Ask, change: impl Fn(&mut FabricConfig)) -> f64 {
    let mut config = behind_switch(Generation::Gen3, Width::X4, Width::X4, 2, 256);
    change(&mut config);
    let (mut simulation, log) = run_script(&config, vec![(us(5), ask)], 500);
    assert_eq!(log.done(), 1);
    header_bytes(&mut simulation, &config, 2)
}

/// Headers are 3 DW below 4 GiB and 4 DW above, for reads and writes alike; ECRC adds a DW to every TLP it covers.
#[test]
fn header_sizes_follow_the_address_and_ecrc() {
    let low = |_: &mut FabricConfig| ();
    let high = |config: &mut FabricConfig| root_mut(config).memory_base = 1 << 32;
    let checked = |config: &mut FabricConfig| endpoint_mut(config, 2).ecrc = true;
    for direction in [Direction::Read, Direction::Write] {
        let ask = || dma(2, direction, 0, 4096);
        assert_eq!(header_of(ask(), low), 12.0);
        assert_eq!(header_of(ask(), high), 16.0);
        assert_eq!(header_of(ask(), checked), 16.0);
    }
    // Peers lie above 4 GiB.
    assert_eq!(header_of(peer(2, Direction::Write, 3, 4096), low), 16.0);
    // What an endpoint answers has a 3 DW header, and its own digest.
    assert_eq!(header_of(peer(3, Direction::Read, 2, 4096), low), 12.0);
    assert_eq!(header_of(peer(3, Direction::Read, 2, 4096), checked), 16.0);
    assert_eq!(header_of(Ask::MmioRead { device: 2, bytes: 4 }, checked), 16.0);
}

/// Prefixes are on the requests that a device sends, and on nothing else; with an ECRC they add up.
#[test]
fn prefixes_add_to_requests() {
    let prefixed = |config: &mut FabricConfig| endpoint_mut(config, 2).tlp_prefixes = 2;
    let both = |config: &mut FabricConfig| {
        (endpoint_mut(config, 2).tlp_prefixes, endpoint_mut(config, 2).ecrc) = (1, true);
    };
    for direction in [Direction::Read, Direction::Write] {
        assert_eq!(header_of(dma(2, direction, 0, 4096), prefixed), 20.0);
        assert_eq!(header_of(dma(2, direction, 0, 4096), both), 20.0);
    }
    assert_eq!(header_of(peer(3, Direction::Read, 2, 4096), prefixed), 12.0, "a completion");
}

/// A prefix costs bytes of the wire and of the retry buffer, and no credits.
#[test]
fn prefixes_lower_the_ceiling_and_fill_the_retry_buffer() {
    let through = |prefixes, retry_buffer, credits: u16| {
        let mut config = without_background(direct(Generation::Gen1, Width::X4, 128));
        config.devices[0].ports[0].credits[0] = CreditPool::finite(credits, 8 * credits);
        config.devices[1].ports[0].retry_buffer = Bytes::new(retry_buffer);
        endpoint_mut(&mut config, 1).tlp_prefixes = prefixes;
        let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 65536, 4)], 300);
        goodput(&simulation, 0, 300)
    };
    assert_close(through(4, 16_384, 64) / through(0, 16_384, 64), 148.0 / 164.0, 0.01, "wire");
    // With credits for one packet its round trip counts, of which the prefix is 4 ns.
    let (plain, prefixed) = (through(0, 16_384, 1), through(1, 16_384, 1));
    assert!(prefixed < plain && prefixed > 0.98 * plain, "{prefixed} of {plain}");
    // 146 B of a plain packet fit twice into 300 B, 162 B once.
    assert!(through(4, 300, 64) < 0.7 * through(0, 300, 64), "retry buffer");
}

/// A transfer that straddles 4 GiB changes its headers there.
#[test]
fn memory_base_just_below_4_gib_mixes_headers() {
    let below = |config: &mut FabricConfig| root_mut(config).memory_base = (1 << 32) - 2048;
    assert_eq!(header_of(dma(2, Direction::Write, 0, 4096), below), 14.0);
}

/// ECRC costs 4 B of every write: the ceiling falls by exactly that.
#[test]
fn ecrc_lowers_the_ceiling_by_four_bytes_per_tlp() {
    let through = |ecrc| {
        let mut config = without_background(direct(Generation::Gen1, Width::X4, 128));
        config.devices[0].ports[0].credits = infinite();
        endpoint_mut(&mut config, 1).ecrc = ecrc;
        let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 65536, 4)], 300);
        goodput(&simulation, 0, 300)
    };
    assert_close(through(true) / through(false), 148.0 / 152.0, 0.0005, "with ECRC");
}

/// The host's ECRC is on its completions: each of 64 B takes 88 B of the link instead of 84.
#[test]
fn ecrc_of_the_host_lowers_the_ceiling_of_reads() {
    let through = |ecrc| {
        let mut config = without_background(direct(Generation::Gen1, Width::X4, 128));
        root_mut(&mut config).ecrc = ecrc;
        let simulation = measure(&config, vec![Stream::new(1, Direction::Read, 65536, 4)], 300);
        goodput(&simulation, 0, 300)
    };
    assert_close(through(true) / through(false), 84.0 / 88.0, 0.002, "with ECRC");
}

/// A request interval paces the endpoint.
#[test]
fn the_request_interval_paces_requests() {
    let mut config = direct(Generation::Gen3, Width::X8, 256);
    endpoint_mut(&mut config, 1).request_interval = Span::from_ns(100);
    let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 65536, 4)], 300);
    assert_close(goodput(&simulation, 0, 300), 2.56e9, 0.002, "256 B per 100 ns");
}

/// Data are of use a completion latency after the last of them came.
#[test]
fn the_completion_latency_is_added_to_reads() {
    let read_takes = |latency_ns| {
        let mut config = without_background(direct(Generation::Gen3, Width::X8, 256));
        endpoint_mut(&mut config, 1).completion_latency = Span::from_ns(latency_ns);
        alone(&config, dma(1, Direction::Read, 0, 512))
    };
    assert_eq!(read_takes(300), read_takes(0) + Span::from_ns(300));
}

/// A peer that drains slowly holds its credits: its writer gets its rate.
#[test]
fn write_drain_bounds_a_peer() {
    let mut config = behind_switch(Generation::Gen3, Width::X4, Width::X4, 2, 256);
    endpoint_mut(&mut config, 3).write_drain = Rate::from_bytes_per_second(1_500_000_000);
    let stream = Stream::new(2, Direction::Write, 65536, 4);
    let stream = stream.to(lanewise_fabric::workload::Target::Endpoint(DeviceId(3)));
    let simulation = measure(&config, vec![stream], 300);
    assert_close(goodput(&simulation, 0, 300), 1.5e9, 0.003, "drain");
}
