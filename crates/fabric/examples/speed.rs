//! How fast the simulator is: TLP hops and events per second of wall time, on fabrics of different sizes.
//!
//! ```text
//! cargo run --release -p lanewise-fabric --example speed -- chain|mixed|tree512|tree4096 [simulated us] [traced|threads N]
//! ```
//!
//! | case | fabric | load |
//! |---|---|---|
//! | `chain` | endpoint, switch, root complex; Gen3 x8 | posted writes of 256 B |
//! | `mixed` | eight endpoints at x4 below a switch at x16; Gen3 | 64 KiB reads and writes |
//! | `tree512` | four Gen4 x16 root ports, two levels of switches, 512 endpoints at x4 | half read, half write, 4 KiB |
//! | `tree4096` | the same with three levels, 4,096 endpoints | the same |
//!
//! With `traced`, the last 65,536 facts of all wires are kept in memory; with `threads 2`, two threads share the run, if they can.
//!
//! The fingerprint says whether two builds simulate the same trajectory.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints its result")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Stream, behind_switch, device, endpoint, link, port, root_complex, switch, switch_port, us};
use lanewise_fabric::config::{DeviceKind, FabricConfig};
use lanewise_fabric::workload::{DeviceId, Direction};
use lanewise_fabric::{Apart, Simulation};
use lanewise_observe::{Recorder, Selection};
use lanewise_pcie::encoding::LinkMode;
use lanewise_units::{Generation, Width};
use std::process::ExitCode;
use std::time::Instant;

const MPS: u64 = 256;

/// A fabric, what is asked of it, and how many simulated microseconds take about a second.
struct Case {
    config: FabricConfig,
    streams: Vec<Stream>,
    simulated_us: u64,
}

fn case(name: &str) -> Option<Case> {
    Some(match name {
        "chain" => Case {
            config: behind_switch(Generation::Gen3, Width::X8, Width::X8, 1, MPS),
            streams: vec![Stream::new(2, Direction::Write, 1 << 20, 2)],
            simulated_us: 50_000,
        },
        "mixed" => {
            let both =
                |device| [Direction::Write, Direction::Read].map(|d| Stream::new(device, d, 1 << 16, 2));
            Case {
                config: behind_switch(Generation::Gen3, Width::X16, Width::X4, 8, MPS),
                streams: (2..10).flat_map(both).collect(),
                simulated_us: 20_000,
            }
        }
        "tree512" => tree(&[8, 16], 5_000),
        "tree4096" => tree(&[8, 8, 16], 2_000),
        _ => return None,
    })
}

/// Four root ports, below each a tree of switches with so many downstream ports per level; endpoints at the bottom.
fn tree(fan_out: &[usize], simulated_us: u64) -> Case {
    let (trunk, leaf) =
        (LinkMode::new(Generation::Gen4, Width::X16), LinkMode::new(Generation::Gen4, Width::X4));
    let root = device("root", DeviceKind::RootComplex(root_complex()), vec![port(trunk, MPS); 4]);
    let mut config =
        FabricConfig { devices: vec![root], links: Vec::new(), cxl: Default::default(), seed: 1 };
    let mut parents: Vec<(usize, usize)> = (0..4).map(|port| (0, port)).collect();
    for (level, &ports) in fan_out.iter().enumerate() {
        let below = if level + 1 == fan_out.len() { leaf } else { trunk };
        for parent in std::mem::take(&mut parents) {
            let index = config.devices.len();
            let mut settings = vec![switch_port(trunk, MPS)];
            settings.resize(1 + ports, switch_port(below, MPS));
            config.devices.push(device(&format!("switch{index}"), DeviceKind::Switch(switch(150)), settings));
            config.links.push(link(parent, (index, 0), trunk));
            parents.extend((1..=ports).map(|port| (index, port)));
        }
    }
    let mut streams = Vec::new();
    for (number, parent) in parents.into_iter().enumerate() {
        let index = config.devices.len();
        let mut settings = endpoint();
        settings.registers.is_wide = true; // A MiB of window for each of 4,096 does not fit below 4 GiB.
        config.devices.push(device(
            &format!("end{number}"),
            DeviceKind::Endpoint(settings),
            vec![port(leaf, MPS)],
        ));
        config.links.push(link(parent, (index, 0), leaf));
        let direction = if number % 2 == 0 { Direction::Write } else { Direction::Read };
        streams.push(Stream::new(index as u32, direction, 4096, 4));
    }
    Case { config, streams, simulated_us }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "chain".into());
    let duration = arguments.next().map(|text| text.parse::<u64>());
    let how = arguments.next();
    let threads = match how.as_deref() {
        None | Some("traced") => Some(1),
        Some("threads") => arguments.next().and_then(|text| text.parse::<usize>().ok()),
        Some(_) => None,
    };
    let traced = how.filter(|how| how == "traced");
    let (Some(case), Ok(duration), Some(threads)) = (case(&name), duration.transpose(), threads) else {
        eprintln!("usage: speed chain|mixed|tree512|tree4096 [simulated us] [traced|threads N]");
        return ExitCode::from(2);
    };
    let mut simulation = Simulation::build(&case.config).expect("a tree");
    let ports: usize = case.config.devices.iter().map(|device| device.ports.len()).sum();
    let idle_bytes = simulation.fabric.bytes_per_port();
    let apart = |stream: &Stream| {
        let (device, direction, size, outstanding) =
            (stream.device, stream.direction, stream.size, stream.outstanding);
        let make = move || Box::new(Stream::new(device.0, direction, size, outstanding)) as Box<_>;
        Some(Apart { devices: vec![DeviceId(device.0)], make: Box::new(make) })
    };
    let apart = case.streams.iter().map(apart).collect();
    for stream in case.streams {
        simulation.add_workload(Box::new(stream));
    }
    if threads > 1 {
        match simulation.share(&case.config, threads, apart) {
            Ok(parts) => println!("on {parts} threads"),
            Err(why) => println!("on one thread: {why}"),
        }
    }
    let recorder = Recorder::new(Selection::everything(), 1 << 16);
    if traced.is_some() {
        simulation.fabric.add_observer(recorder.listener());
    }
    let started = Instant::now();
    simulation.run_until(us(duration.unwrap_or(case.simulated_us)), u64::MAX);
    let seconds = started.elapsed().as_secs_f64();

    if let Some(shared) = simulation.shared() {
        let most = simulation.events_handled() as f64 / shared.longest_way as f64;
        println!("{} windows of {}; {most:.2} times as fast at most", shared.windows, shared.window);
    }
    let observers = simulation.fabric.observers();
    let (hops, events) = (observers.tlp_hops() as f64, simulation.events_handled() as f64);
    println!(
        "{name}: {:.2} M hops/s, {:.2} M events/s, {:.2} events a hop; {hops} hops in {seconds:.3} s, \
         fingerprint {:016x}; {ports} ports of {idle_bytes:.0} B idle",
        hops / seconds / 1e6,
        events / seconds / 1e6,
        events / hops,
        observers.fingerprint(),
    );
    if traced.is_some() {
        println!("{} facts seen, {} kept", recorder.seen(), recorder.entries().len());
    }
    ExitCode::SUCCESS
}
