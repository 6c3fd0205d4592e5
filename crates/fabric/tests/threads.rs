//! A run on several threads is the run on one: packets, times, flows, links, resources, bit for bit.

use crate::common::{Stream, device, endpoint, link, port, root_complex, switch, switch_port, us};
use lanewise_fabric::config::{DeviceKind, FabricConfig, Forwarding, LinkPower, SleepConfig, SwitchCore};
use lanewise_fabric::workload::{DeviceId, Direction, Workload};
use lanewise_fabric::{Apart, NotShared, Progress, Simulation};
use lanewise_observe::RequesterState;
use lanewise_pcie::encoding::LinkMode;
use lanewise_units::{Generation, Rate, Span, Width};
use proptest::prelude::*;

/// A stream that can be made on any thread.
#[derive(Clone, Copy, Debug)]
struct Asked {
    device: u32,
    direction: Direction,
    size: u64,
    outstanding: u64,
}

impl Asked {
    fn make(self) -> Box<dyn Workload> {
        Box::new(Stream::new(self.device, self.direction, self.size, self.outstanding))
    }
}

/// So many root ports, below each a switch with endpoints, of which every other one reads.
fn tree(roots: usize, leaves: usize, latency_ns: u64) -> (FabricConfig, Vec<Asked>) {
    let (trunk, leaf) =
        (LinkMode::new(Generation::Gen4, Width::X8), LinkMode::new(Generation::Gen3, Width::X4));
    let root = device("root", DeviceKind::RootComplex(root_complex()), vec![port(trunk, 256); roots]);
    let mut config =
        FabricConfig { devices: vec![root], links: Vec::new(), cxl: Default::default(), seed: 1 };
    let mut asked = Vec::new();
    for root in 0..roots {
        let above = config.devices.len();
        let mut settings = vec![switch_port(trunk, 256)];
        settings.resize(1 + leaves, switch_port(leaf, 256));
        config.devices.push(device(
            &format!("switch{root}"),
            DeviceKind::Switch(switch(latency_ns)),
            settings,
        ));
        config.links.push(link((0, root), (above, 0), trunk));
        for leaf_number in 0..leaves {
            let index = config.devices.len();
            config.devices.push(device(
                &format!("end{root}_{leaf_number}"),
                DeviceKind::Endpoint(endpoint()),
                vec![port(leaf, 256)],
            ));
            config.links.push(link((above, leaf_number + 1), (index, 0), leaf));
            let direction = if leaf_number % 2 == 0 { Direction::Write } else { Direction::Read };
            asked.push(Asked { device: index as u32, direction, size: 4096, outstanding: 4 });
        }
    }
    (config, asked)
}

fn apart(asked: &[Asked]) -> Vec<Option<Apart>> {
    let apart = |one: &Asked| {
        let one = *one;
        Some(Apart { devices: vec![DeviceId(one.device)], make: Box::new(move || one.make()) })
    };
    asked.iter().map(apart).collect()
}

/// All that can be read of a run, in words: floats are written with every digit that they have.
fn run(
    config: &FabricConfig,
    asked: &[Asked],
    threads: usize,
    stops_us: &[u64],
) -> (Vec<String>, Result<usize, NotShared>) {
    let mut simulation = Simulation::build(config).expect("a tree");
    asked.iter().for_each(|one| _ = simulation.add_workload(one.make()));
    let shared = match threads {
        1 => Err(NotShared::OneThread),
        _ => simulation.share(config, threads, apart(asked)),
    };
    let mut said = Vec::new();
    let mut measured_from = us(0);
    for (number, at) in stops_us.iter().map(|at| us(*at)).enumerate() {
        let progress = simulation.run_until(at, u64::MAX);
        assert_eq!(progress, Progress::Reached, "the run goes on at {at:?}");
        if number == 0 {
            simulation.start_measuring(at);
            measured_from = at;
        }
        let flows = simulation.fabric.observers().flows();
        said.push(format!("{at:?} {:x}", simulation.fabric.observers().fingerprint()));
        said.extend(flows.iter().map(|flow| format!("{flow:?}")));
    }
    let end = us(*stops_us.last().expect("a run has an end"));
    simulation.stop_measuring(end);
    said.push(format!("from {measured_from:?}: held {:?}", simulation.held()));
    let observers = simulation.fabric.observers();
    said.push(format!("{} hops", observers.tlp_hops()));
    for index in 0..simulation.fabric.port_count() {
        let (direction, counters) = (observers.direction(index), observers.counters(index));
        said.push(format!("{index}: {direction:?} {counters:?} {:?}", observers.buffers(index)));
    }
    for index in 0..config.devices.len() {
        if let Some(index) = simulation.fabric.requester_index(DeviceId(index as u32)) {
            let states: [Span; RequesterState::COUNT] = observers.requester(index, end);
            said.push(format!("{index}: {states:?}"));
        }
    }
    said.extend(simulation.resources(end).iter().map(|reading| format!("{reading:?}")));
    said.extend(simulation.listed_flows().map(|flow| flow.to_string()));
    (said, shared)
}

fn same(
    config: &FabricConfig,
    asked: &[Asked],
    threads: usize,
    stops_us: &[u64],
) -> Result<usize, NotShared> {
    let (one, _) = run(config, asked, 1, stops_us);
    let (several, shared) = run(config, asked, threads, stops_us);
    for (one, several) in one.iter().zip(&several) {
        assert_eq!(one, several, "{threads} threads");
    }
    assert_eq!(one.len(), several.len());
    shared
}

#[test]
fn trees_are_the_same_on_two_three_and_five_threads() {
    let (config, asked) = tree(6, 4, 150);
    for threads in [2, 3, 5] {
        assert_eq!(same(&config, &asked, threads, &[20, 24, 60]), Ok(threads));
    }
}

#[test]
fn one_root_port_is_shared_between_the_host_and_the_rest() {
    let (config, asked) = tree(1, 4, 150);
    assert_eq!(same(&config, &asked, 3, &[10, 40]), Ok(2));
}

#[test]
fn a_tree_that_cannot_be_shared_says_why() {
    let (config, asked) = tree(2, 2, 150);
    let mut simulation = Simulation::build(&config).expect("a tree");
    asked.iter().for_each(|one| _ = simulation.add_workload(one.make()));
    let nobody = || asked.iter().map(|_| None).collect();
    assert_eq!(simulation.share(&config, 1, nobody()), Err(NotShared::OneThread));
    assert_eq!(simulation.share(&config, 2, nobody()), Err(NotShared::Workload(0)));
}

#[test]
fn links_that_sleep_are_not_shared() {
    let (mut config, asked) = tree(2, 2, 150);
    let sleep = SleepConfig::new(Span::from_us(1), Span::from_us(1));
    let last = config.links.last_mut().expect("a tree has links");
    last.power = LinkPower { l0s: Some(sleep), l1: None };
    let mut simulation = Simulation::build(&config).expect("a tree");
    asked.iter().for_each(|one| _ = simulation.add_workload(one.make()));
    assert_eq!(simulation.share(&config, 2, apart(&asked)), Err(NotShared::Links));
}

#[test]
fn there_are_no_more_parts_than_root_ports_and_the_host() {
    let (config, asked) = tree(3, 2, 150);
    let mut simulation = Simulation::build(&config).expect("a tree");
    asked.iter().for_each(|one| _ = simulation.add_workload(one.make()));
    assert_eq!(simulation.share(&config, usize::MAX, apart(&asked)), Ok(4));
}

#[test]
fn what_a_part_of_the_run_panics_with_is_what_the_run_panics_with() {
    struct Fails;
    impl Workload for Fails {
        fn start(&mut self, fabric: &mut lanewise_fabric::Fabric) {
            lanewise_fabric::ports::Timers::set_timer(fabric, us(3), 0);
        }
        fn handle(&mut self, _: lanewise_fabric::workload::WorkloadEvent, _: &mut lanewise_fabric::Fabric) {
            panic!("this one fails");
        }
    }
    let (config, asked) = tree(4, 2, 150);
    let mut simulation = Simulation::build(&config).expect("a tree");
    let mut apart: Vec<Option<Apart>> = Vec::new();
    for one in asked {
        simulation.add_workload(one.make());
        let make = move || if one.device == 11 { Box::new(Fails) } else { one.make() };
        apart.push(Some(Apart { devices: vec![DeviceId(one.device)], make: Box::new(make) }));
    }
    assert_eq!(simulation.share(&config, 3, apart), Ok(3));
    let run = std::panic::AssertUnwindSafe(|| simulation.run_until(us(10), u64::MAX));
    let panic = std::panic::catch_unwind(run).expect_err("a workload fails");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"this one fails"));
}

/// What is random about a root port and what is below it.
#[derive(Clone, Debug)]
struct Below {
    /// One device, or switches of so many levels.
    levels: usize,
    ports: usize,
    generation: u8,
    lanes: [u64; 2],
    switch_ns: u64,
    propagation_ns: u64,
    receive_ns: u64,
    core: u8,
    store_and_forward: bool,
    credits: u16,
    size: u64,
    outstanding: u64,
    directions: u8,
}

fn below() -> impl Strategy<Value = Below> {
    let shape = (
        0_usize..3,
        1_usize..4,
        1_u8..6,
        prop::array::uniform2(prop::sample::select(vec![1_u64, 2, 4, 8, 12, 16])),
    );
    let times = (0_u64..300, 0_u64..12, 0_u64..40);
    let devices = (0_u8..3, any::<bool>(), 0_u16..4);
    let load = (prop::sample::select(vec![4_u64, 64, 100, 300, 4096, 5000]), 1_u64..6, 0_u8..4);
    (shape, times, devices, load).prop_map(|(shape, times, devices, load)| Below {
        levels: shape.0,
        ports: shape.1,
        generation: shape.2,
        lanes: shape.3,
        switch_ns: times.0,
        propagation_ns: times.1,
        receive_ns: times.2,
        core: devices.0,
        store_and_forward: devices.1,
        credits: devices.2,
        size: load.0,
        outstanding: load.1,
        directions: load.2,
    })
}

/// What is random about the host.
#[derive(Clone, Debug)]
struct Host {
    trackers: u32,
    memory_gb_per_s: u64,
    memory_ns: u64,
    jitter: bool,
    shared_queue: Option<u32>,
    one_stack: bool,
}

fn host() -> impl Strategy<Value = Host> {
    let numbers = (1_u32..80, 1_u64..400, 0_u64..400);
    let rest = (any::<bool>(), prop::option::weighted(0.3, 4_u32..40), any::<bool>());
    (numbers, rest).prop_map(|((trackers, memory_gb_per_s, memory_ns), (jitter, shared_queue, one_stack))| {
        Host { trackers, memory_gb_per_s, memory_ns, jitter, shared_queue, one_stack }
    })
}

fn build(host: &Host, all: &[Below], seed: u64) -> (FabricConfig, Vec<Asked>) {
    let mut settings = root_complex();
    settings.stack.read_trackers = host.trackers;
    settings.memory.rate = Rate::from_bytes_per_second(host.memory_gb_per_s * 1_000_000_000);
    settings.memory_latency = Span::from_ns(host.memory_ns);
    if host.jitter {
        settings.memory_latency_jitter = Span::from_ns(50);
    }
    settings.shared_outbound_queue = host.shared_queue;
    if host.one_stack {
        settings.stack_of_port = vec![0; all.len()];
    }
    let root = device("root", DeviceKind::RootComplex(settings), Vec::new());
    let mut config = FabricConfig { devices: vec![root], links: Vec::new(), cxl: Default::default(), seed };
    let mut asked = Vec::new();
    for one in all {
        let generations =
            [Generation::Gen1, Generation::Gen2, Generation::Gen3, Generation::Gen4, Generation::Gen5];
        let generation = generations[usize::from(one.generation) - 1];
        let [trunk, leaf] = one.lanes.map(|lanes| {
            let width = Width::ALL.into_iter().find(|width| width.lanes() == lanes);
            LinkMode::new(generation, width.expect("there is such a width"))
        });
        let finite = |mut port: lanewise_fabric::config::PortConfig| {
            port.receive_latency = Span::from_ns(one.receive_ns);
            if one.credits > 0 {
                let pool = |header, data| lanewise_pcie::flow_control::CreditPool::finite(header, data);
                port.credits[0] = pool(one.credits * 2, one.credits * 24);
                port.credits[1] = pool(one.credits * 2, one.credits * 2);
            }
            port
        };
        let mut parents = vec![(0, config.devices[0].ports.len())];
        let above = |level: usize| if level == 0 { trunk } else { leaf };
        config.devices[0].ports.push(finite(port(above(0), 256)));
        for level in 0..one.levels {
            for parent in std::mem::take(&mut parents) {
                let index = config.devices.len();
                let mut settings = vec![finite(switch_port(above(level), 256))];
                settings.resize(1 + one.ports, finite(switch_port(leaf, 256)));
                let mut kind = switch(one.switch_ns);
                if one.store_and_forward {
                    kind.forwarding = Forwarding::StoreAndForward;
                }
                if one.core == 1 {
                    kind.core =
                        SwitchCore::SharedMemory { rate: Rate::from_bytes_per_second(20_000_000_000) };
                }
                config.devices.push(device(&format!("switch{index}"), DeviceKind::Switch(kind), settings));
                config.links.push(link(parent, (index, 0), above(level)));
                parents.extend((1..=one.ports).map(|port| (index, port)));
            }
        }
        for parent in parents {
            let index = config.devices.len();
            let mut settings = endpoint();
            settings.memory_bar = None;
            let mode = above(one.levels);
            let kind = DeviceKind::Endpoint(settings);
            config.devices.push(device(&format!("end{index}"), kind, vec![finite(port(mode, 256))]));
            config.links.push(link(parent, (index, 0), mode));
            for (bit, direction) in [(1, Direction::Write), (2, Direction::Read)] {
                if one.directions & bit != 0 {
                    let (size, outstanding) = (one.size, one.outstanding);
                    asked.push(Asked { device: index as u32, direction, size, outstanding });
                }
            }
        }
        for link in &mut config.links {
            link.propagation = link.propagation.max(Span::from_ns(one.propagation_ns));
        }
    }
    (config, asked)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_trees_are_the_same_on_several_threads(
        host in host(),
        all in prop::collection::vec(below(), 1..6),
        seed in 0_u64..1000,
        threads in 2_usize..5,
        warm_up in 1_u64..12,
    ) {
        let (config, asked) = build(&host, &all, seed);
        prop_assume!(!asked.is_empty());
        let shared = same(&config, &asked, threads, &[warm_up, warm_up + 1, warm_up + 15]);
        // Links without propagation and checks may be too short, and with long ones replay timers may run out; nothing else keeps
        // such trees on one thread.
        prop_assume!(!matches!(shared, Err(NotShared::NoLatency(_) | NotShared::Links)));
        prop_assert!(matches!(shared, Ok(2..)), "{shared:?}");
    }
}
