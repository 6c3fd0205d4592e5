//! Devices that write to and read from devices below another socket: what the link between the sockets limits, in closed form.

use crate::common::*;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::{DeviceId, Direction, Target};
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::tag::TagWidth;
use lanewise_units::{Bytes, Generation, Rate, Span, Width};

const MODE: LinkMode = LinkMode::new(Generation::Gen4, Width::X16);
const READ: Direction = Direction::Read;
const WRITE: Direction = Direction::Write;

/// The link between the sockets carries 64 of each 80 B of data.
const DATA_SHARE: f64 = 64.0 / 80.0;

fn link_of(latency_ns: u64, gb_per_s: u64) -> SocketsConfig {
    SocketsConfig {
        of_port: vec![0, 1, 0, 1],
        rate: Rate::from_bytes_per_second(gb_per_s * 1_000_000_000),
        links: 1,
        link_of_port: vec![0; 4],
        line: Bytes::new(64),
        line_overhead: Bytes::new(16),
        latency: Span::from_ns(latency_ns),
    }
}

/// Four endpoints below root ports of their own: devices 1 and 3 at socket 0, 2 and 4 at socket 1.
fn two_pairs(sockets: Option<SocketsConfig>) -> FabricConfig {
    let mut config = direct(Generation::Gen4, Width::X16, 256);
    for number in 1..4 {
        config.devices[0].ports.push(port(MODE, 256));
        let name = format!("peer{number}");
        config.devices.push(device(&name, DeviceKind::Endpoint(endpoint()), vec![port(MODE, 256)]));
        config.links.push(link((0, number), (number + 1, 0), MODE));
    }
    for device in 1..=4 {
        let endpoint = endpoint_mut(&mut config, device);
        (endpoint.tags, endpoint.tag_width) = (256, TagWidth::Bits8);
    }
    root_mut(&mut config).sockets = sockets;
    config
}

fn stream(from: u32, direction: Direction, to: u32) -> Stream {
    Stream::new(from, direction, 65536, 8).to(Target::Endpoint(DeviceId(to)))
}

/// What each of the streams moves, bytes a second.
fn rates(config: &FabricConfig, streams: Vec<Stream>) -> Vec<f64> {
    let flows = streams.len();
    let simulation = measure(config, streams, 400);
    (0..flows).map(|flow| goodput(&simulation, flow, 400)).collect()
}

/// A write comes later by the way there and what its lines take on the link, a read by the way there and back.
#[test]
fn the_latency_of_the_link_is_added_once_to_a_write_and_twice_to_a_read() {
    let config = |sockets| without_background(two_pairs(Some(sockets)));
    for (direction, ways) in [(WRITE, 1), (READ, 2)] {
        let within = alone(&config(link_of(70, 100)), peer(1, direction, 3, 64));
        let across = alone(&config(link_of(70, 100)), peer(1, direction, 2, 64));
        // 80 B of data with their header at 100 GB/s; the request of a read is a header alone.
        let on_the_link = if direction == WRITE { 0.8 } else { 0.8 + 0.16 };
        let expected = 70.0 * f64::from(ways) + on_the_link;
        let found = across.as_ns() - within.as_ns();
        // A packet starts at a symbol boundary at each of the two root ports.
        assert!((found - expected).abs() < 1.5, "{direction:?}: {found} ns longer, expected {expected}");
    }
}

/// What the link carries is the limit of writes and of reads, whatever the wires and the stacks would carry.
#[test]
fn the_rate_of_the_link_is_the_limit() {
    for direction in [WRITE, READ] {
        for gb_per_s in [5, 10, 20] {
            let config = two_pairs(Some(link_of(50, gb_per_s)));
            let found = rates(&config, vec![stream(1, direction, 2)])[0];
            let expected = gb_per_s as f64 * 1e9 * DATA_SHARE;
            assert_close(found, expected, 0.005, &format!("{direction:?} over {gb_per_s} GB/s"));
        }
    }
}

/// The smaller of the two rates counts, that of the link and that of the stacks at its ends.
#[test]
fn a_stack_that_is_slower_than_the_link_is_the_limit() {
    for (peer_gb_per_s, expected) in [(7, 7e9), (20, 10e9 * DATA_SHARE)] {
        let mut config = two_pairs(Some(link_of(50, 10)));
        root_mut(&mut config).stack.peer_rate =
            Some(Rate::from_bytes_per_second(peer_gb_per_s * 1_000_000_000));
        let found = rates(&config, vec![stream(1, WRITE, 2)])[0];
        assert_close(found, expected, 0.005, &format!("stacks of {peer_gb_per_s} GB/s"));
    }
}

/// Each way of the link has its rate, and all that goes one way shares it: other pairs, and writes to far memory.
#[test]
fn each_way_of_the_link_is_shared() {
    let limit = 10e9 * DATA_SHARE;
    let config = two_pairs(Some(link_of(50, 10)));
    for found in rates(&config, vec![stream(1, WRITE, 2), stream(2, WRITE, 1)]) {
        assert_close(found, limit, 0.005, "each way");
    }
    let pairs = rates(&config, vec![stream(1, WRITE, 2), stream(3, WRITE, 4)]);
    assert_close(pairs.iter().sum(), limit, 0.005, "two pairs, the same way");
    let mut config = config;
    endpoint_mut(&mut config, 3).memory_socket = Some(1);
    let found = rates(&config, vec![stream(1, WRITE, 2), Stream::new(3, WRITE, 65536, 8)]);
    assert_close(found.iter().sum(), limit, 0.005, "a pair, and a device with memory there");
}

/// Of several physical links a pair of root ports takes one, another pair another; memory of the other socket has the rate of all.
#[test]
fn peers_take_one_of_several_links() {
    let several = |links: u32| {
        // Devices 1 and 3 have a link each, where there are two.
        let link_of_port = vec![0, 0, 1 % links as u16, 1 % links as u16];
        let sockets = SocketsConfig { links, link_of_port, ..link_of(50, 20) };
        let mut config = two_pairs(Some(sockets));
        endpoint_mut(&mut config, 3).memory_socket = Some(1);
        config
    };
    let (all, one) = (20e9 * DATA_SHARE, 10e9 * DATA_SHARE);
    for (links, expected) in [(1, all), (2, one)] {
        for direction in [WRITE, READ] {
            let found = rates(&several(links), vec![stream(1, direction, 2)])[0];
            assert_close(found, expected, 0.005, &format!("{direction:?} over one of {links}"));
        }
    }
    let apart = rates(&several(2), vec![stream(1, WRITE, 2), stream(3, WRITE, 4)]);
    assert_close(apart.iter().sum(), all, 0.005, "two pairs on two links");
    let apart = rates(&several(4), vec![stream(1, WRITE, 2), stream(3, WRITE, 2)]);
    assert_close(apart.iter().sum(), one, 0.005, "two pairs on two of four links");
    let shared = rates(&several(2), vec![stream(1, WRITE, 2), stream(1, WRITE, 4)]);
    assert_close(shared.iter().sum(), one, 0.005, "from one root port");
    let memory = rates(&several(2), vec![Stream::new(3, WRITE, 65536, 8)])[0];
    assert_close(memory, all, 0.005, "memory of the other socket");
}

/// Eight devices of one socket write to eight of the other, each to one of its own: any such pairs use all links alike.
#[test]
fn pairs_use_all_links_alike() {
    let link_gb_per_s = 5;
    for links in [2, 3, 4] {
        let mut config = direct(Generation::Gen4, Width::X16, 256);
        for number in 1..16 {
            config.devices[0].ports.push(port(MODE, 256));
            let name = format!("peer{number}");
            config.devices.push(device(&name, DeviceKind::Endpoint(endpoint()), vec![port(MODE, 256)]));
            config.links.push(link((0, number), (number + 1, 0), MODE));
        }
        let of_port = (0..16).map(|port| u16::from(port >= 8)).collect();
        let rate = Rate::from_bytes_per_second(u64::from(links) * link_gb_per_s * 1_000_000_000);
        let link_of_port = (0..16).map(|port| port % 8 % links as u16).collect();
        let sockets = SocketsConfig { of_port, rate, links, link_of_port, ..link_of(50, 1) };
        root_mut(&mut config).sockets = Some(sockets);
        // Straight across, turned by one, and the other way round.
        for pair_of in [|port: u32| port, |port: u32| (port + 1) % 8, |port: u32| 7 - port] {
            let pairs = (0..8).map(|from| stream(from + 1, WRITE, pair_of(from) + 9)).collect();
            let found = rates(&config, pairs);
            let expected = f64::from(links) * link_gb_per_s as f64 * 1e9 * DATA_SHARE;
            assert_close(found.iter().sum(), expected, 0.01, &format!("all of {links} links"));
        }
    }
}

/// What ACS redirects stays at its socket: it takes the root complex's time there and back down, and none of the link.
#[test]
fn redirected_peers_do_not_cross_the_link() {
    let config = |redirect: bool| {
        let mut config = behind_switch(Generation::Gen4, Width::X16, Width::X16, 2, 256);
        switch_mut(&mut config, 1).acs_redirect = redirect;
        root_mut(&mut config).sockets = Some(link_of(5_000, 1));
        without_background(config)
    };
    let inside = alone(&config(false), peer(2, WRITE, 3, 64));
    let redirected = alone(&config(true), peer(2, WRITE, 3, 64));
    let longer = redirected.as_ns() - inside.as_ns();
    // To the root complex: 1 ns of wire, 88 B of packet, 20 ns to check it; 100 ns in there; 1 ns of wire and the switch again.
    let expected = 1.0 + MODE.wire_span(Bytes::new(88)).as_ns() + 20.0 + 100.0 + 1.0 + 150.0;
    assert!((longer - expected).abs() < 1.0, "{longer} ns longer, expected {expected}");
}
