//! What must hold of every run, whatever the case.

use super::case::{Case, WireCase};
use super::player::{Links, Log, Step, What};
use lanewise_fabric::Simulation;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::{DeviceId, Direction, Target};
use lanewise_observe::Use;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Bytes, Span, Time};
use std::ops::RangeInclusive;

/// Attribution: every tick of every direction has one use, and no more ticks than there were; every tick of a requester too.
pub fn check_time(config: &FabricConfig, simulation: &Simulation, at: Time) {
    // Nothing is stated further ahead than a few TLPs, a link that has begun to wake, and Recovery.
    let ahead = |link: &LinkConfig| {
        let exit = |state: Option<SleepConfig>| state.map_or(Span::ZERO, |state| state.stay + state.exit);
        exit(link.power.l0s).max(exit(link.power.l1))
            + link.recovery_time
            + link.mode.wire_span(Bytes::from_kib(4))
    };
    let latest = at + config.links.iter().map(ahead).max().expect("there is a link");
    let observers = simulation.fabric.observers();
    for port in 0..simulation.fabric.port_count() {
        let tally = observers.direction(port);
        assert_eq!(tally.window_start() + tally.total(), tally.window_end());
        assert!(
            tally.window_end() >= at && tally.window_end() < latest,
            "port {port}: {:?}",
            tally.window_end()
        );
        let share: f64 = Use::ALL.iter().map(|on| tally.share(*on)).sum();
        assert!((share - 1.0).abs() < 1e-9, "port {port}: {share}");
    }
    for device in 0..config.devices.len() {
        let Some(endpoint) = simulation.fabric.requester_index(DeviceId(device as u32)) else { continue };
        let states = observers.requester(endpoint, at);
        let total = states.into_iter().fold(Span::ZERO, |total, span| total + span);
        assert_eq!(Time::ZERO + total, at, "requester {device}: {states:?}");
    }
}

/// Each transfer delivered as many bytes as it was asked for in as many requests as its limits make of it, or fewer where data
/// are lost; nobody holds a tag.
pub fn check_end(case: &Case, config: &FabricConfig, simulation: &Simulation, steps: &[Step]) {
    for (flow, step) in simulation.fabric.observers().flows().iter().zip(steps) {
        let (asked, requests) = match step.what {
            What::Dma { target: Target::Nobody, .. } | What::MmioRead | What::MmioWrite => (0, 0),
            What::Dma { direction, .. } => (step.length, requests(case, config, step, direction)),
        };
        let (arrived, completed) = (flow.payload().get(), flow.operations());
        let all = (arrived, completed) == (asked, requests);
        let loses = case.transaction_errors.is_some() && arrived <= asked;
        assert!(all || loses, "{arrived} B in {completed} requests, not {requests}, of {step:?}");
    }
    for index in 0..config.devices.len() {
        assert_eq!(simulation.fabric.outstanding_reads(DeviceId(index as u32)), 0);
    }
}

/// Requests that a transfer is cut into.
fn requests(case: &Case, config: &FabricConfig, step: &Step, direction: Direction) -> u64 {
    pieces(step.offset, step.length, limit(case, config, step, direction)).count() as u64
}

/// Bytes that a request moves at most.
fn limit(case: &Case, config: &FabricConfig, step: &Step, direction: Direction) -> u64 {
    let DeviceKind::Endpoint(endpoint) = &config.devices[step.device.0 as usize].kind else {
        panic!("{step:?} is asked of no endpoint");
    };
    let (unit, most) = match direction {
        Direction::Read => (endpoint.dma.read_unit, endpoint.mrrs.get()),
        Direction::Write => (endpoint.dma.write_unit, case.mps()),
    };
    unit.map_or(most, |unit| unit.get().min(most))
}

/// What lies between multiples of `limit`, which is a power of two up to a page: offset and length of each piece. Every memory
/// begins at such a multiple.
fn pieces(offset: u64, length: u64, limit: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = offset + length;
    let starts = (offset / limit..end.div_ceil(limit)).map(move |piece| (piece * limit).max(offset));
    starts.map(move |start| (start, (start / limit * limit + limit).min(end) - start))
}

/// TLPs between an endpoint and whatever is above it: the fewest and the most down to it, and those up from it.
fn tlps(
    case: &Case,
    config: &FabricConfig,
    steps: &[Step],
    endpoint: DeviceId,
) -> (RangeInclusive<u64>, u64) {
    let (mut least, mut most, mut up) = (0, 0, 0);
    for step in steps {
        let own = step.device == endpoint;
        match step.what {
            What::MmioRead if own => (least, most, up) = (least + 1, most + 1, up + 1),
            What::MmioWrite if own => (least, most) = (least + 1, most + 1),
            What::Dma { direction, target, .. } if own || target == Target::Endpoint(endpoint) => {
                let limit = limit(case, config, step, direction);
                for (start, length) in pieces(step.offset, step.length, limit) {
                    let completions = match direction {
                        Direction::Read => completions(case, target, start, length),
                        Direction::Write => 0,
                    };
                    let (down, away) = if own { (completions, 1) } else { (1, completions) };
                    let data_come_down = own == (direction == Direction::Read);
                    least += down;
                    most +=
                        if data_come_down { down.max(smallest(case, target, start, length)) } else { down };
                    up += away;
                }
            }
            What::MmioRead | What::MmioWrite | What::Dma { .. } => {}
        }
    }
    (least..=most, up)
}

/// Completions of one read request: each but the first begins at a multiple of the RCB, and joins lines up to a limit.
fn completions(case: &Case, target: Target, start: u64, length: u64) -> u64 {
    let (rcb, most) = match target {
        Target::HostMemory => case.root.completions(case.mps()),
        Target::Endpoint(_) => (128, case.mps()),
        Target::Nobody => return 1,
    };
    (start % rcb + length).div_ceil(most)
}

/// Packets in which a root complex sends data where each is as small as it ever makes them: a line of memory where only lines that wait
/// are joined, the largest that it forwards of a peer's.
fn smallest(case: &Case, target: Target, start: u64, length: u64) -> u64 {
    let limit = match target {
        Target::HostMemory if case.root.shared_outbound => None,
        Target::HostMemory => case.root.line_places.map(|_| case.root.completions(case.mps()).0),
        Target::Endpoint(_) => case.root.cuts_at,
        Target::Nobody => None,
    };
    limit.map_or(0, |limit| pieces(start, length, limit).count() as u64)
}

/// As many TLPs on the link of each endpoint as its transfers, and others' of its memory, are cut into.
pub fn check_tlps(case: &Case, config: &FabricConfig, simulation: &Simulation, steps: &[Step]) {
    if case.transaction_errors.is_some() {
        return;
    }
    for link in &config.links {
        let device = DeviceId(link.lower.0 as u32);
        if simulation.fabric.requester_index(device).is_some() {
            let upper = simulation.fabric.port_index(DeviceId(link.upper.0 as u32), link.upper.1);
            let lower = simulation.fabric.port_index(device, 0);
            let sent = |port| simulation.fabric.observers().counters(port).tlps_sent;
            let (down, up) = tlps(case, config, steps, device);
            assert_eq!(sent(lower), up, "device {}", device.0);
            assert!(down.contains(&sent(upper)), "{}, not {down:?}, device {}", sent(upper), device.0);
        }
    }
}

/// Per link direction: sequence numbers without gaps, as many TLPs accepted as were sent, and no more in a buffer than it holds.
pub fn check_links(config: &FabricConfig, simulation: &Simulation, seen: &Links) {
    let port = |(device, port): (usize, usize)| simulation.fabric.port_index(DeviceId(device as u32), port);
    for link in &config.links {
        let (upper, lower) = (port(link.upper), port(link.lower));
        assert_eq!(seen.sent[upper], seen.accepted[lower], "downstream {link:?}");
        assert_eq!(seen.sent[lower], seen.accepted[upper], "upstream {link:?}");
        // Flits have numbers of their own.
        let numbered = [upper, lower].iter().all(|port| !seen.out_of_sequence.contains(&(*port as u32)));
        assert!(numbered || link.mode.flit, "{:?} {link:?}", seen.out_of_sequence);
        let sure = is_near(link) && is_healthy(link);
        for ((device, number), index) in [(link.upper, upper), (link.lower, lower)] {
            let replays = simulation.fabric.observers().counters(index).errors.replays;
            assert!(!sure || replays == 0, "{replays} replays on a good link, port {index}, {link:?}");
            check_buffers(&config.devices[device].ports[number], simulation, index);
        }
    }
}

/// Whether no packet is damaged on a link.
pub fn is_healthy(link: &LinkConfig) -> bool {
    let healthy = |faults: &FaultConfig| faults.bit_error_rate == 0.0 && faults.corrupt_tlps.is_empty();
    healthy(&link.faults_downstream) && healthy(&link.faults_upstream)
}

/// Whether Acks come before the replay timer runs out.
pub fn is_near(link: &LinkConfig) -> bool {
    link.propagation <= Span::from_ns(WireCase::SHORT_NS)
}

fn check_buffers(settings: &PortConfig, simulation: &Simulation, port: usize) {
    let levels = simulation.fabric.observers().buffers(port);
    for (class, level) in FlowClass::ALL.into_iter().zip(levels) {
        assert_eq!(level.now(), 0, "port {port}: its {class} buffer is not empty");
        let pools = std::iter::once(&settings.credits).chain(&settings.more_credits);
        let room = pools.map(|pools| {
            let pool = pools[class.index()];
            Some(16 * (u32::from(pool.header?) + u32::from(pool.data?)))
        });
        let room: Option<u32> = room.sum();
        assert!(room.is_none_or(|room| level.max() <= room), "port {port}: {class} {} B", level.max());
    }
}

/// What the ordering table promises software, told from when things end: of one device and one traffic class, and the same
/// memory.
pub fn check_order(case: &Case, steps: &[Step], log: &Log) {
    if case.transaction_errors.is_some() {
        return; // What is given up ends when its time runs out.
    }
    let ended = |step: usize| log.ended[step].expect("everything has ended");
    for (nth, (second, asked)) in log.asked.iter().enumerate() {
        for (first, first_asked) in &log.asked[..nth] {
            let pair = (&steps[*first], &steps[*second]);
            if pair.0.device == pair.1.device && stays_behind(case, pair) {
                assert!(
                    ended(*first) <= ended(*second),
                    "{:?} asked for at {first_asked:?} is passed by {:?} asked for at {asked:?}",
                    pair.0,
                    pair.1
                );
            }
        }
    }
}

/// Whether the second may not end before the first, which was asked for before.
fn stays_behind(case: &Case, (first, second): (&Step, &Step)) -> bool {
    let class = |step: &Step| case.classes[step.channel as usize];
    match (first.what, second.what) {
        // A write is not passed by what comes after it through the same channel.
        (
            What::Dma { direction: Direction::Write, target: of_first, .. },
            What::Dma { target: of_second, .. },
        ) => {
            let told = first.is_told() && second.is_told();
            first.channel == second.channel && of_first == of_second && told
        }
        // The processor's store is passed neither by other stores nor by loads.
        (What::MmioWrite, What::MmioWrite | What::MmioRead) => true,
        // Completions push writes before them: what is read after a store went out comes after it.
        (What::MmioWrite, What::Dma { direction: Direction::Read, target: Target::HostMemory, .. }) => {
            let relaxed = &case.endpoints[case.endpoint_number(second.device)].relaxed;
            class(second) == 0 && !relaxed && second.is_told()
        }
        _ => false,
    }
}
