//! Units, paces, gaps, tags that are held and the device's own data path: rates and latencies in closed form.
//!
//! Every link is Gen1 x4, where a byte takes 1 ns; headers are of three DW, so a TLP takes 20 ns beside its payload.

use crate::common::*;
use lanewise_fabric::Simulation;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::{DeviceId, Direction};
use lanewise_observe::Use;
use lanewise_units::{Bytes, Generation, Rate, Span, Width};

/// Header, framing, sequence number and LCRC of a TLP, in bytes and in ns.
const AROUND: f64 = 20.0;

/// A card on a root port, with memory so far away that the wire hardly counts.
fn far_from_memory(tags: u32) -> FabricConfig {
    let mut config = without_background(direct(Generation::Gen1, Width::X4, 256));
    let root = root_mut(&mut config);
    root.memory_latency = Span::from_us(10);
    root.stack.read_trackers = 1024;
    root.completion_combine_max = Bytes::new(256);
    endpoint_mut(&mut config, 1).tags = tags;
    config
}

fn card() -> FabricConfig {
    without_background(direct(Generation::Gen1, Width::X4, 256))
}

/// Seconds from asking for one read of so many bytes to its end.
fn round_trip(config: &FabricConfig, bytes: u64) -> f64 {
    alone(config, dma(1, Direction::Read, 0, bytes)).as_ns() * 1e-9
}

fn write_rate(config: &FabricConfig) -> (Simulation, f64) {
    let simulation = measure(config, vec![Stream::new(1, Direction::Write, 65536, 4)], 1000);
    let rate = goodput(&simulation, 0, 1000);
    (simulation, rate)
}

fn read_rate(config: &FabricConfig) -> f64 {
    goodput(&measure(config, vec![Stream::new(1, Direction::Read, 65536, 4)], 2000), 0, 2000)
}

/// Writes are cut at the unit, and never above MPS: a TLP carries so much payload in so many bytes.
#[test]
fn writes_are_cut_at_their_unit() {
    for (unit, cut) in [(32, 32.0), (64, 64.0), (128, 128.0), (256, 256.0), (512, 256.0)] {
        let mut config = card();
        endpoint_mut(&mut config, 1).dma.write_unit = Some(Bytes::new(unit));
        let expected = cut / (cut + AROUND) * 1e9;
        assert_close(write_rate(&config).1, expected, 0.005, &format!("unit {unit} B"));
    }
}

/// Reads are cut at the unit, and never above MRRS: with few tags the rate is tags times unit in a round trip.
#[test]
fn reads_are_cut_at_their_unit() {
    for (unit, cut) in [(32, 32), (64, 64), (256, 256), (512, 512), (4096, 512)] {
        let mut config = far_from_memory(4);
        let expected = 4.0 * cut as f64 / round_trip(&config, cut);
        endpoint_mut(&mut config, 1).dma.read_unit = Some(Bytes::new(unit));
        assert_close(read_rate(&config), expected, 0.005, &format!("unit {unit} B"));
    }
}

/// A unit for writes is the requester's own: the completions that it gets are as long as the host makes them.
#[test]
fn units_do_not_cut_completions() {
    let mut config = card();
    root_mut(&mut config).completion_combine_max = Bytes::new(256);
    let plain = read_rate(&config);
    endpoint_mut(&mut config, 1).dma.write_unit = Some(Bytes::new(64));
    assert_eq!(read_rate(&config), plain);
    // An Ack and an UpdateFC of 8 B each for each request, whose 512 B come in two completions.
    assert_close(plain, 512.0 / (2.0 * (256.0 + AROUND) + 16.0) * 1e9, 0.005, "completions of 256 B");
}

/// Each direction has a pace of its own, and one for both is shared.
#[test]
fn paces_are_kept_per_direction() {
    let both = || vec![Stream::new(1, Direction::Write, 65536, 4), Stream::new(1, Direction::Read, 65536, 4)];
    let mut config = card();
    let dma = &mut endpoint_mut(&mut config, 1).dma;
    (dma.write_interval, dma.read_interval) = (Span::from_us(1), Span::from_us(4));
    let simulation = measure(&config, both(), 2000);
    assert_close(goodput(&simulation, 0, 2000), 256.0 / 1e-6, 0.005, "writes");
    assert_close(goodput(&simulation, 1, 2000), 512.0 / 4e-6, 0.005, "reads");

    let mut config = card();
    endpoint_mut(&mut config, 1).request_interval = Span::from_us(1);
    let simulation = measure(&config, both(), 2000);
    let requests = goodput(&simulation, 0, 2000) / 256.0 + goodput(&simulation, 1, 2000) / 512.0;
    assert_close(requests, 1e6, 0.005, "requests of both directions together");
}

/// A write that waits for its pace is no request yet: reads that may start before it do not stay behind it.
#[test]
fn a_write_that_has_not_started_holds_up_no_read() {
    let mut config = card();
    let alone = read_rate(&config);
    endpoint_mut(&mut config, 1).dma.write_interval = Span::from_us(1);
    let both = vec![Stream::new(1, Direction::Write, 65536, 4), Stream::new(1, Direction::Read, 65536, 4)];
    let simulation = measure(&config, both, 2000);
    assert_close(goodput(&simulation, 0, 2000), 256.0 / 1e-6, 0.005, "writes");
    // At most an Ack and an UpdateFC of 8 B each go the other way for each write.
    let reads = goodput(&simulation, 1, 2000);
    assert!(reads >= alone * (1.0 - 0.016) && reads <= alone, "{reads}, {alone}");
}

/// Nor does it hold up the answer to a load of the device's registers.
#[test]
fn a_write_that_has_not_started_holds_up_no_answer() {
    let load = |interval| {
        let mut config = card();
        endpoint_mut(&mut config, 1).dma.write_interval = interval;
        // The second write is due long after the load.
        let asks =
            vec![(us(5), dma(1, Direction::Write, 0, 512)), (us(6), Ask::MmioRead { device: 1, bytes: 4 })];
        run_script(&config, asks, 1000).1.latency(1)
    };
    assert_eq!(load(Span::from_us(50)), load(Span::from_ns(1)));
}

/// After each TLP nothing starts for the gap, which is time of its own; another's TLPs and DLLPs do not mind.
#[test]
fn a_gap_follows_each_tlp() {
    for gap in [4, 52, 100] {
        let mut config = card();
        endpoint_mut(&mut config, 1).dma.tlp_gap = Span::from_ns(gap);
        let (simulation, rate) = write_rate(&config);
        let period = 256.0 + AROUND + gap as f64;
        assert_close(rate, 256.0 / period * 1e9, 0.005, &format!("gap {gap} ns"));
        let tally = simulation.fabric.observers().direction(simulation.fabric.port_index(DeviceId(1), 0));
        assert_close(tally.share(Use::TlpGap), gap as f64 / period, 0.005, "share of the gaps");
        let sum: u64 = Use::ALL.iter().map(|on| tally.spent_on(*on).ticks()).sum();
        assert_eq!(sum, tally.total().ticks());
    }
}

/// The card's Acks of completions go out in its gaps: with requests of its own to send it is silent only between them.
#[test]
fn dllps_use_the_gaps() {
    let mut config = card();
    let dma = &mut endpoint_mut(&mut config, 1).dma;
    dma.tlp_gap = Span::from_ns(300);
    let streams = vec![Stream::new(1, Direction::Write, 65536, 4), Stream::new(1, Direction::Read, 65536, 4)];
    let simulation = measure(&config, streams, 1000);
    let port = simulation.fabric.port_index(DeviceId(1), 0);
    let (tlps, tally) = (
        simulation.fabric.observers().counters(port).tlps_sent as f64,
        simulation.fabric.observers().direction(port),
    );
    let (dllp, gap) = (tally.spent_on(Use::Dllp).as_ns(), tally.spent_on(Use::TlpGap).as_ns());
    assert!(dllp > 0.0);
    let tlp_time = [Use::Payload, Use::Header, Use::Framing].map(|on| tally.spent_on(on).as_ns());
    let whole = tally.total().as_ns();
    // Silence and DLLPs fill exactly the gaps: no DLLP made a gap longer.
    let between = whole - tlp_time.iter().sum::<f64>();
    assert_close(gap + dllp, between, 0.005, "gaps with DLLPs in them");
    let per_tlp = between / tlps * (1020.0 / 1000.0);
    assert_close(per_tlp, 300.0, 0.01, "per TLP");
}

/// One write waits until its data have passed the path; of many, only the first pays the latency.
#[test]
fn writes_pass_the_devices_own_path() {
    let plain = alone(&card(), dma(1, Direction::Write, 0, 256));
    let mut config = card();
    let dma_settings = &mut endpoint_mut(&mut config, 1).dma;
    dma_settings.path_rate = Some(Rate::from_bytes_per_second(500_000_000));
    dma_settings.path_latency = Span::from_ns(700);
    let slow = alone(&config, dma(1, Direction::Write, 0, 256));
    let expected = plain.as_ns() + 256.0 / 0.5 + 700.0;
    assert!((slow.as_ns() - expected).abs() <= 4.0, "{slow}, {expected} ns"); // A symbol boundary.
    assert_close(write_rate(&config).1, 0.5e9, 0.005, "the path's rate");

    endpoint_mut(&mut config, 1).dma.path_rate = None;
    assert_close(write_rate(&config).1, 256.0 / (256.0 + AROUND) * 1e9, 0.005, "latency alone costs no rate");
}

/// Read data count when they have passed the path, and their tag is held so long.
#[test]
fn read_data_pass_the_devices_own_path() {
    let mut config = far_from_memory(4);
    let plain = round_trip(&config, 256);
    let dma = &mut endpoint_mut(&mut config, 1).dma;
    dma.path_rate = Some(Rate::from_bytes_per_second(100_000_000));
    dma.path_latency = Span::from_us(3);
    let slow = round_trip(&config, 256);
    assert_close(slow, plain + 256.0 / 1e8 + 3e-6, 0.001, "one read");

    // Tags come back one after the other, as fast as the path takes their data in: far below its rate here.
    let dma = &mut endpoint_mut(&mut config, 1).dma;
    dma.read_unit = Some(Bytes::new(256));
    dma.path_rate = None;
    let expected = 4.0 * 256.0 / (plain + 3e-6);
    assert_close(read_rate(&config), expected, 0.005, "tags held on the path");

    endpoint_mut(&mut config, 1).dma.tag_hold = Some(Span::ZERO);
    assert_close(read_rate(&config), 4.0 * 256.0 / plain, 0.005, "tags free on arrival");

    let mut config = far_from_memory(32);
    endpoint_mut(&mut config, 1).dma.path_rate = Some(Rate::from_bytes_per_second(300_000_000));
    assert_close(read_rate(&config), 0.3e9, 0.005, "the path's rate");
}

/// A device that collects what it reads: the path begins when the last data are there, whatever tags and cuts.
#[test]
fn collected_reads_pass_the_path_whole() {
    let mut config = far_from_memory(4);
    endpoint_mut(&mut config, 1).dma.read_unit = Some(Bytes::new(256));
    let plain = round_trip(&config, 2048);
    let dma = &mut endpoint_mut(&mut config, 1).dma;
    dma.path_rate = Some(Rate::from_bytes_per_second(100_000_000));
    dma.path_latency = Span::from_us(3);
    dma.collects_reads = true;
    assert_close(
        round_trip(&config, 2048),
        plain + 2048.0 / 1e8 + 3e-6,
        0.001,
        "one transfer of eight reads",
    );

    // With many transfers under way one is collected while another is moved on. They end in lumps.
    endpoint_mut(&mut config, 1).dma.path_rate = None;
    let round_trip = round_trip(&far_from_memory(4), 256);
    assert_close(read_rate(&config), 4.0 * 256.0 / round_trip, 0.01, "tags free on arrival");
}

/// Rate of reads with few tags: tags times size in a round trip and the time that the tag is held after it.
#[test]
fn a_tag_is_held_after_its_data_came() {
    for (hold, completion_latency_us, held_us) in
        [(None, 0, 0.0), (Some(2), 0, 2.0), (None, 5, 5.0), (Some(0), 5, 0.0), (Some(20), 5, 20.0)]
    {
        let mut config = far_from_memory(4);
        let round_trip = round_trip(&config, 512);
        let card = endpoint_mut(&mut config, 1);
        card.dma.tag_hold = hold.map(Span::from_us);
        card.completion_latency = Span::from_us(completion_latency_us);
        let expected = 4.0 * 512.0 / (round_trip + held_us * 1e-6);
        let what = format!("hold {hold:?} us, completion latency {completion_latency_us} us");
        assert_close(read_rate(&config), expected, 0.005, &what);
    }
}

/// Two engines of one device, each with its unit and its reads in flight; tags are the device's.
#[test]
fn engines_have_units_and_reads_in_flight_of_their_own() {
    let mut config = far_from_memory(32);
    root_mut(&mut config).memory_latency = Span::from_us(40);
    let engine = |unit, outstanding| EngineConfig {
        read_unit: Some(Bytes::new(unit)),
        outstanding: Some(Bytes::new(outstanding)),
        ..EngineConfig::default()
    };
    let reads = || Stream::new(1, Direction::Read, 65536, 2);
    let simulation =
        measure(&config, vec![reads().on(engine(64, 128)), reads().on(engine(256, 1536))], 20_000);
    for (flow, unit, outstanding) in [(0, 64, 2.0), (1, 256, 6.0)] {
        let expected = outstanding * unit as f64 / round_trip(&config, unit);
        assert_close(goodput(&simulation, flow, 20_000), expected, 0.005, &format!("{unit} B"));
    }

    let stores = EngineConfig { write_unit: Some(Bytes::new(32)), ..EngineConfig::default() };
    let writes = Stream::new(1, Direction::Write, 65536, 4).on(stores);
    let rate = goodput(&measure(&card(), vec![writes], 1000), 0, 1000);
    assert_close(rate, 32.0 / (32.0 + AROUND) * 1e9, 0.005, "stores of 32 B");
}
