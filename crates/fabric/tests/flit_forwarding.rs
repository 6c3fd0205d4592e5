//! When a TLP that crosses links and switches in Flit Mode has arrived, against closed forms: bytes wait for their flit, and for
//! no other.

use crate::common::*;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::Direction;
use lanewise_pcie::encoding::LinkMode;
use lanewise_units::{Bytes, Generation, Rate, Span, Time, Width};

const WIRE_NS: f64 = 1.0;
const CHECK_NS: f64 = 20.0;
const CORE_NS: u64 = 150;
/// When a write is asked for: a whole number of flits of every width.
const ASKED_NS: f64 = 64_000.0;

fn flit_ns(width: Width) -> f64 {
    256.0 / (8.0 * width.lanes() as f64)
}

/// A Gen6 root port above switches in a chain and an endpoint at its end; the widths of the links from the root port down.
fn rig(widths: &[Width]) -> FabricConfig {
    let modes: Vec<LinkMode> = widths.iter().map(|width| LinkMode::new(Generation::Gen6, *width)).collect();
    let generous =
        |port: PortConfig| PortConfig { credits: infinite(), retry_buffer: Bytes::from_kib(64), ..port };
    let root = DeviceKind::RootComplex(root_complex());
    let mut devices = vec![device("root", root, vec![generous(port(modes[0], 256))])];
    for (index, pair) in modes.windows(2).enumerate() {
        let ports = pair.iter().map(|mode| generous(switch_port(*mode, 256))).collect();
        devices.push(device(&format!("switch{index}"), DeviceKind::Switch(switch(CORE_NS)), ports));
    }
    devices.push(device(
        "end",
        DeviceKind::Endpoint(endpoint()),
        vec![generous(port(modes[modes.len() - 1], 256))],
    ));
    for port in devices.iter_mut().flat_map(|device| &mut device.ports) {
        port.replay_timer = Span::from_us(50);
    }
    let link =
        |(index, mode): (usize, &LinkMode)| link((index, usize::from(index > 0)), (index + 1, 0), *mode);
    let links = modes.iter().enumerate().map(link).collect();
    without_background(FabricConfig { devices, links, cxl: Default::default(), seed: 1 })
}

fn write_ns(config: &FabricConfig, payload: u64, after_ns: f64) -> f64 {
    let at = Time::ZERO + Span::from_ticks(((ASKED_NS + after_ns) * Span::from_ns(1).ticks() as f64) as u64);
    let ask = dma(config.devices.len() as u32 - 1, Direction::Write, 0, payload);
    run_script(config, vec![(at, ask)], 1000).1.latency(0).as_ns()
}

/// Bytes of a TLP that is ready at `ready` on a silent link: into the NOP flit on the wire at the next 16 B, or into the next flit.
/// For each flit, when it is on the wire in full, and how many bytes of the TLP it has.
fn flits(ready: f64, width: Width, mut bytes: f64) -> Vec<(f64, f64)> {
    let flit = flit_ns(width);
    let mut start = (ready / flit).floor() * flit;
    let mut gone = ((ready - start) / flit * 256.0 / 16.0).ceil() * 16.0;
    if gone >= 236.0 {
        (start, gone) = (start + flit, 0.0);
    }
    let mut found = Vec::new();
    while bytes > 0.0 {
        let here = f64::min(236.0 - gone, bytes);
        found.push((start + flit, here));
        (bytes, start, gone) = (bytes - here, start + flit, 0.0);
    }
    found
}

/// From asking to the check at the root port.
fn closed_form(widths: &[Width], bytes: f64, after_ns: f64) -> f64 {
    let mut ready = ASKED_NS + after_ns;
    let mut from_the_end = widths.iter().rev().peekable();
    while let Some(width) = from_the_end.next() {
        let flits = flits(ready, *width, bytes);
        let Some(out) = from_the_end.peek() else {
            return flits.last().expect("a flit").0 + WIRE_NS + CHECK_NS - ASKED_NS - after_ns;
        };
        // No byte leaves a switch before its flit has been through it.
        let mut before = 0.0;
        ready = 0.0;
        for (end, here) in flits {
            ready = f64::max(ready, end + WIRE_NS + CORE_NS as f64 - before * flit_ns(**out) / 236.0);
            before += here;
        }
    }
    unreachable!("the last link returns")
}

#[test]
fn a_switch_forwards_a_tlp_from_the_flit_with_its_header_on() {
    let [x1, x4, x16] = [Width::X1, Width::X4, Width::X16];
    for widths in [
        &[x16, x16][..],
        &[x4, x4],
        &[x1, x1],
        &[x16, x4],
        &[x4, x16],
        &[x16, x1],
        &[x4, x4, x4],
        &[x16, x4, x1],
    ] {
        for payload in [4, 64, 128, 256] {
            let expected = closed_form(widths, (payload + 12) as f64, 0.0);
            let simulated = write_ns(&rig(widths), payload, 0.0);
            assert_close(simulated, expected, 0.005, &format!("{widths:?}, {payload} B"));
        }
    }
    // The point that was 13 % late: 256 B over x4, stored in each switch, and a check counted on top of its latency.
    let (late, simulated) =
        (1.0 + 16.0 + 20.0 + 150.0 + 16.0 + 1.0 + 20.0, write_ns(&rig(&[x4, x4]), 256, 0.0));
    assert!((1.12..1.16).contains(&(late / simulated)), "{simulated}");
}

/// What becomes ready in the middle of a flit does not wait for the next: up to 32 ns on x1.
#[test]
fn a_tlp_joins_the_flit_on_the_wire() {
    for width in [Width::X1, Width::X4, Width::X16] {
        let flit = flit_ns(width);
        for sixteenths in 0..16 {
            let after = flit * f64::from(sixteenths) / 16.0;
            let expected = closed_form(&[width], 16.0, after);
            assert_close(
                write_ns(&rig(&[width]), 4, after),
                expected,
                0.005,
                &format!("{width}, {after} ns"),
            );
            assert!(
                sixteenths > 13 || expected <= flit - after + WIRE_NS + CHECK_NS + 0.001,
                "{width}, {after} ns"
            );
        }
    }
}

/// What stores and forwards has the whole TLP first, and its check.
#[test]
fn storing_and_forwarding_waits_for_the_last_flit() {
    let mut config = rig(&[Width::X4, Width::X4]);
    switch_mut(&mut config, 1).forwarding = Forwarding::StoreAndForward;
    let ready = 16.0 + WIRE_NS + CHECK_NS + CORE_NS as f64;
    let out = flits(ASKED_NS + ready, Width::X4, 268.0).last().expect("a flit").0 - ASKED_NS;
    assert_close(write_ns(&config, 256, 0.0), out + WIRE_NS + CHECK_NS, 0.005, "256 B over x4");
}

/// A later flit of a TLP that is damaged comes again, and everything arrives once.
#[test]
fn damaged_flits_lose_nothing_behind_a_switch() {
    let mut config = rig(&[Width::X4, Width::X4]);
    config.links[1].faults_upstream.corrupt_tlps = vec![1, 5, 6, 20];
    let simulation = measure(&config, vec![Stream::new(2, Direction::Write, 4096, 4).times(64)], 100);
    assert!(simulation.fabric.is_quiet());
}

/// A crossbar whose ports have so many GB/s each.
fn with_core(mut config: FabricConfig, gb_per_s: f64) -> FabricConfig {
    let port_rate = Rate::from_bytes_per_second((gb_per_s * 1e9) as u64);
    switch_mut(&mut config, 1).core = SwitchCore::Crossbar { port_rate };
    config
}

/// TLPs that came in at one port leave in one flit, as they came: of a link with as many lanes above the switch as below,
/// 236 of 256 B are TLPs of 76 to 204 B, as of a link without a switch. A core that is a little slower than the wire's bits
/// is fast enough for TLPs, and one that is slower than these brings as many as it can.
#[test]
fn small_writes_share_flits_behind_a_switch() {
    let rate = |config: &FabricConfig, payload| {
        let end = config.devices.len() as u32 - 1;
        goodput(&measure(config, vec![Stream::new(end, Direction::Write, payload, 512)], 20), 0, 20) / 1e9
    };
    for width in [Width::X4, Width::X16] {
        let wire = 8.0 * f64::from(width.lanes() as u8);
        for payload in [64, 128, 192] {
            let direct = rate(&rig(&[width]), payload);
            for core in [4.0, 1.0, 0.97] {
                let config = with_core(rig(&[width, width]), core * wire);
                assert_close(
                    rate(&config, payload),
                    direct,
                    0.01,
                    &format!("{payload} B over {width}, {core}"),
                );
            }
            let slow = rate(&with_core(rig(&[width, width]), 0.6 * wire), payload);
            let expected = 0.6 * wire * payload as f64 / (payload + 12) as f64;
            // To within what flits that wait for it lose at their beginnings.
            assert_close(slow, expected, 0.04, &format!("{payload} B over {width}, a slow core"));
        }
    }
}

/// Devices that read as much get as much, whatever flits their completions share on the way: with a core as fast as the wire
/// above, and twice and many times as fast.
#[test]
fn equal_readers_behind_a_switch_get_equal_shares() {
    for (above, readers) in [(Width::X16, 2), (Width::X8, 2), (Width::X16, 4)] {
        for core in [1.0, 2.0, 30.0] {
            let wire = 8.0 * f64::from(above.lanes() as u8);
            let mut config = with_core(rig(&[above, Width::X4]), core * wire);
            let mode = LinkMode::new(Generation::Gen6, Width::X4);
            for index in 1..readers {
                let other = DeviceConfig { name: format!("other{index}"), ..config.devices[2].clone() };
                config.devices.push(other);
                let below = config.devices[1].ports[1].clone();
                config.devices[1].ports.push(below);
                config.links.push(link((1, 1 + index), (2 + index, 0), mode));
            }
            let stream = |index| Stream::new(2 + index as u32, Direction::Read, 4096, 32);
            let simulation = measure(&config, (0..readers).map(stream).collect(), 60);
            let shares: Vec<f64> = (0..readers).map(|flow| goodput(&simulation, flow, 60) / 1e9).collect();
            let [least, most] =
                [f64::min, f64::max].map(|of| shares.iter().copied().reduce(of).expect("some"));
            assert!(least > 0.98 * most, "{readers} below {above}, core {core}: {shares:?}");
            // Completions of 64 B: 76 B of the 236 that each flit has for TLPs.
            let wires = wire.min(32.0 * readers as f64);
            assert!(most * readers as f64 > 0.93 * wires * (236.0 / 256.0) * (64.0 / 76.0), "{shares:?}");
        }
    }
}
