//! What lies between root ports and memory: links between sockets, and address translation.

use crate::common::*;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::{DeviceId, Direction, Target};
use lanewise_pcie::encoding::LinkMode;
use lanewise_units::{Bytes, Generation, Rate, Span, Width};

const GEN3: Generation = Generation::Gen3;

fn two_sockets(latency_ns: u64, gb_per_s: u64) -> SocketsConfig {
    SocketsConfig {
        of_port: vec![0, 1],
        rate: Rate::from_bytes_per_second(gb_per_s * 1_000_000_000),
        line: Bytes::new(64),
        line_overhead: Bytes::new(16),
        latency: Span::from_ns(latency_ns),
        links: 1,
        link_of_port: vec![0; 2],
    }
}

/// Two endpoints, each below a root port of a socket of its own: devices 1 and 2.
fn dual(sockets: Option<SocketsConfig>) -> FabricConfig {
    let mode = LinkMode::new(GEN3, Width::X16);
    let mut config = direct(GEN3, Width::X16, 256);
    config.devices[0].ports.push(port(mode, 256));
    config.devices.push(device("far", DeviceKind::Endpoint(endpoint()), vec![port(mode, 256)]));
    config.links.push(link((0, 1), (2, 0), mode));
    root_mut(&mut config).sockets = sockets;
    root_mut(&mut config).completion_combine_max = Bytes::new(256);
    config
}

fn latency_ns(config: &FabricConfig, stream: Stream) -> f64 {
    let simulation = measure(config, vec![stream], 100);
    simulation.fabric.observers().flows()[0].latency().mean_ns
}

fn throughput(config: &FabricConfig, streams: Vec<Stream>) -> f64 {
    let flows = streams.len();
    let simulation = measure(config, streams, 400);
    (0..flows).map(|flow| goodput(&simulation, flow, 400)).sum()
}

fn far_memory(config: &mut FabricConfig, device: usize, socket: u16) {
    endpoint_mut(config, device).memory_socket = Some(socket);
}

/// A read of the other socket's memory goes there and back, and what a line takes on the link.
#[test]
fn a_read_of_far_memory_pays_the_round_trip() {
    let read = || Stream::new(1, Direction::Read, 64, 1);
    let near = latency_ns(&dual(Some(two_sockets(70, 1000))), read());
    let mut config = dual(Some(two_sockets(70, 1000)));
    far_memory(&mut config, 1, 1);
    let far = latency_ns(&config, read());
    assert_close(far - near, 140.0, 0.02, "round trip");
}

/// Devices that use their own memory do not notice the link to others, and each socket's memory has a rate of its own.
#[test]
fn near_memory_is_that_of_the_own_socket() {
    let streams =
        || vec![Stream::new(1, Direction::Read, 4096, 8), Stream::new(2, Direction::Write, 4096, 8)];
    let trajectory = |config| measure(&config, streams(), 50).fabric.observers().fingerprint();
    let mut named = dual(Some(two_sockets(500, 1)));
    far_memory(&mut named, 1, 0);
    assert_eq!(trajectory(dual(Some(two_sockets(500, 1)))), trajectory(named));
    let with_slow_memory = |sockets| {
        let mut config = dual(sockets);
        root_mut(&mut config).memory.rate = Rate::from_bytes_per_second(4_000_000_000);
        throughput(&config, streams())
    };
    assert_close(with_slow_memory(None), 4e9, 0.005, "one memory");
    assert_close(with_slow_memory(Some(two_sockets(500, 1))), 8e9, 0.005, "one for each socket");
}

/// The link carries 64 of 80 bytes of data each way, whoever uses it and for what.
#[test]
fn the_link_between_sockets_is_shared() {
    let limit = 5e9 * 64.0 / 80.0;
    for direction in [Direction::Read, Direction::Write] {
        let mut config = dual(Some(two_sockets(50, 5)));
        far_memory(&mut config, 1, 1);
        endpoint_mut(&mut config, 1).tags = 256;
        endpoint_mut(&mut config, 1).tag_width = lanewise_pcie::tag::TagWidth::Bits8;
        let one = throughput(&config, vec![Stream::new(1, direction, 65536, 8)]);
        assert_close(one, limit, 0.01, "one device");
        // A third card at socket 0 wants the same.
        let mode = LinkMode::new(GEN3, Width::X16);
        config.devices[0].ports.push(port(mode, 256));
        config.devices.push(device("third", DeviceKind::Endpoint(endpoint()), vec![port(mode, 256)]));
        config.links.push(link((0, 2), (3, 0), mode));
        root_mut(&mut config).sockets.as_mut().unwrap().of_port.push(0);
        far_memory(&mut config, 3, 1);
        let streams = vec![Stream::new(1, direction, 65536, 8), Stream::new(3, direction, 65536, 8)];
        assert_close(throughput(&config, streams), limit, 0.01, "two devices");
    }
}

/// Peers below different sockets cross the link, and only in the direction of their data but for requests.
#[test]
fn peers_across_sockets_cross_the_link() {
    let to_peer = |sockets: Option<SocketsConfig>| {
        let mut stream = Stream::new(1, Direction::Write, 65536, 8);
        stream.target = Target::Endpoint(DeviceId(2));
        throughput(&dual(sockets), vec![stream])
    };
    let unhindered = to_peer(None);
    let mut one_socket = two_sockets(1, 5);
    one_socket.of_port = vec![1, 1];
    assert_eq!(to_peer(Some(one_socket)), unhindered, "both below one socket");
    assert_close(to_peer(Some(two_sockets(1, 5))), 4e9, 0.01, "across");
    assert!(unhindered > 13e9, "{unhindered}");
}

fn iommu(entries: u32, walkers: u32) -> IommuConfig {
    IommuConfig {
        entries,
        ways: entries,
        page: Bytes::from_kib(4),
        walk_steps: 2,
        walk_step_latency: Span::from_ns(150),
        walkers,
        walk_interval: Span::ZERO,
    }
}

/// A stream whose transfers each lie in a page of their own, over so many pages in turn.
fn pages(direction: Direction, size: u64, outstanding: u64) -> Stream {
    Stream::new(1, direction, size, outstanding)
}

fn translated(iommu: Option<IommuConfig>) -> FabricConfig {
    let mut config = direct(GEN3, Width::X8, 256);
    root_mut(&mut config).iommu = iommu;
    root_mut(&mut config).completion_combine_max = Bytes::new(256);
    config
}

/// Sequential transfers of 4 KiB never come back to a page while it is cached, and wait for one walk each.
#[test]
fn a_read_whose_translation_is_not_cached_waits_for_a_walk() {
    let plain = latency_ns(&translated(None), pages(Direction::Read, 4096, 1));
    let walked = latency_ns(&translated(Some(iommu(16, 4))), pages(Direction::Read, 4096, 1));
    // A transfer of 4 KiB is eight requests; all wait for the walk of the first. Packets start on symbols of 1 ns, each way.
    assert!((200.0..=302.1).contains(&(walked - plain)), "{walked} after {plain}");
}

/// Walks are made so many at a time: Little's law again, with one walk for each transfer of a page.
#[test]
fn walkers_bound_the_pages_a_second() {
    for walkers in [1, 2, 4] {
        for direction in [Direction::Read, Direction::Write] {
            let mut config = translated(Some(iommu(16, walkers)));
            endpoint_mut(&mut config, 1).tags = 256;
            endpoint_mut(&mut config, 1).tag_width = lanewise_pcie::tag::TagWidth::Bits8;
            // Every page of 4 KiB is a transfer of 512 B: the stream goes on at the next page.
            let page_rate = throughput(&config, vec![pages(direction, 4096, 16)]) / 4096.0;
            let most = f64::from(walkers) / 300e-9;
            assert!(
                page_rate <= most * 1.01,
                "{walkers} walkers: {page_rate} pages a second, at most {most}"
            );
        }
    }
}

/// A cache that holds all pages in use costs nothing once it is warm: the trajectory is that without translation but for
/// the first round.
#[test]
fn a_large_enough_cache_costs_nothing() {
    let through = |iommu| throughput(&translated(iommu), vec![pages(Direction::Write, 4096, 8)]);
    let plain = through(None);
    let huge = IommuConfig { page: Bytes::from_kib(1 << 20), ..iommu(16, 1) };
    assert_close(through(Some(huge)), plain, 0.001, "one page of 1 GiB");
}

/// Posted writes stay in order: behind one that waits for a walk the others wait too.
#[test]
fn posted_writes_wait_for_the_walk_before_them() {
    let one = IommuConfig { walk_step_latency: Span::from_us(1), ..iommu(4, 1) };
    let through = throughput(&translated(Some(one)), vec![pages(Direction::Write, 4096, 8)]);
    assert_close(through, 4096.0 / 2e-6, 0.02, "a page for each walk of 2 us");
}
