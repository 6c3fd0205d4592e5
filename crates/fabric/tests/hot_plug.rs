//! Links that go down with nothing under way and come up again: traffic before and after, and every credit at home.

use crate::common::{behind_switch, direct, root_mut, us};
use lanewise_fabric::config::FabricConfig;
use lanewise_fabric::ports::{Dma, HotPlug, Mmio, Tally, Timers};
use lanewise_fabric::workload::{
    DeviceId, Direction, DmaQueueId, Notify, Target, Transfer, Workload, WorkloadEvent,
};
use lanewise_fabric::{Fabric, Progress, Simulation};
use lanewise_observe::{FlowId, FlowSpec, LatencyOf, WorkloadEntry};
use lanewise_units::{Bytes, Generation, Span, Width};
use std::cell::Cell;
use std::rc::Rc;

/// Writes and reads, takes its device away when that is at rest, brings it back, and does the same again.
struct Plug {
    device: DeviceId,
    channel: Option<DmaQueueId>,
    flow: FlowId,
    open: u32,
    rounds: u32,
    unplugged: Rc<Cell<u32>>,
}

const LOOK: u64 = 100;
const BACK: u64 = 101;
const DOWN: Span = Span::from_us(50);

impl Plug {
    fn round(&mut self, fabric: &mut Fabric) {
        let channel = *self.channel.get_or_insert_with(|| fabric.open_queue(self.device));
        for token in 0..8 {
            let direction = if token % 2 == 0 { Direction::Write } else { Direction::Read };
            let transfer = Transfer {
                direction,
                target: Target::HostMemory,
                offset: token * 65_536,
                length: Bytes::new(20_000),
                flow: self.flow,
                token,
                notify: Notify::Done,
            };
            fabric.submit(channel, transfer);
            self.open += 1;
        }
        fabric.mmio_write(self.device, Bytes::new(4), 99);
        self.open += 1;
    }
}

impl Workload for Plug {
    fn start(&mut self, fabric: &mut Fabric) {
        let spec = |direction| FlowSpec {
            name: "plug".into(),
            entry: WorkloadEntry::default(),
            devices: "card".into(),
            direction,
            latency: LatencyOf::Request,
            repeats: false,
        };
        self.flow = fabric.add_flow(spec("write"));
        self.round(fabric);
    }

    fn handle(&mut self, event: WorkloadEvent, fabric: &mut Fabric) {
        match event {
            WorkloadEvent::Timer { token: LOOK } if fabric.is_at_rest(self.device) => {
                fabric.disconnect(self.device);
                self.unplugged.set(self.unplugged.get() + 1);
                fabric.set_timer(fabric.now() + DOWN, BACK);
            }
            WorkloadEvent::Timer { token: LOOK } => fabric.set_timer(fabric.now() + Span::from_us(1), LOOK),
            WorkloadEvent::Timer { .. } => {
                fabric.connect(self.device);
                self.rounds -= 1;
                if self.rounds > 0 {
                    // Asked before flow control is initialised: it waits at the port.
                    self.round(fabric);
                }
            }
            _ => {
                self.open -= 1;
                assert!(!fabric.is_at_rest(self.device) || self.open == 0, "at rest with work to do");
                if self.open == 0 {
                    fabric.set_timer(fabric.now(), LOOK);
                }
            }
        }
    }
}

fn config() -> FabricConfig {
    behind_switch(Generation::Gen3, Width::X8, Width::X4, 1, 256)
}

#[test]
fn traffic_goes_on_after_the_link_was_down_and_nothing_is_missing() {
    let mut simulation = Simulation::build(&config()).expect("a tree");
    let unplugged = Rc::new(Cell::new(0));
    simulation.add_workload(Box::new(Plug {
        device: DeviceId(2),
        channel: None,
        flow: FlowId(0),
        open: 0,
        rounds: 4,
        unplugged: Rc::clone(&unplugged),
    }));
    for step in 1..2_000 {
        let progress = simulation.run_until(us(step), u64::MAX);
        simulation.fabric.check_conservation();
        if progress == Progress::Finished {
            break;
        }
    }
    assert_eq!(unplugged.get(), 4);
    simulation.run_until(us(4_000), u64::MAX);
    simulation.stop_measuring(us(4_000));
    assert!(simulation.fabric.is_quiet(), "packets or transfers are left");
    assert_eq!(simulation.fabric.observers().flows()[0].payload().get(), 4 * 8 * 20_000);
    simulation.fabric.check_conservation();
    assert!(simulation.fabric.all_credits_returned(), "credits were lost");
}

/// Takes a device away as soon as it says that it is at rest after a write.
struct Hurry {
    left: Rc<Cell<Option<Span>>>,
}

impl Workload for Hurry {
    fn start(&mut self, fabric: &mut Fabric) {
        let name = "write".to_owned();
        let spec = FlowSpec {
            name,
            entry: WorkloadEntry::default(),
            devices: "card".into(),
            direction: "write",
            latency: LatencyOf::Request,
            repeats: false,
        };
        let transfer = Transfer {
            direction: Direction::Write,
            target: Target::HostMemory,
            offset: 0,
            length: Bytes::new(256),
            flow: fabric.add_flow(spec),
            token: 0,
            notify: Notify::Done,
        };
        let channel = fabric.open_queue(DeviceId(1));
        fabric.submit(channel, transfer);
    }

    fn handle(&mut self, event: WorkloadEvent, fabric: &mut Fabric) {
        match (event, self.left.get()) {
            (WorkloadEvent::TransferDone { .. }, _) => self.left.set(Some(Span::ZERO)),
            (WorkloadEvent::Timer { .. }, Some(_)) if fabric.is_at_rest(DeviceId(1)) => {
                return fabric.disconnect(DeviceId(1));
            }
            (_, Some(waited)) => self.left.set(Some(waited + Span::from_us(1))),
            other => panic!("{other:?}"),
        }
        fabric.set_timer(fabric.now() + Span::from_us(1), 0);
    }
}

#[test]
fn a_device_is_not_at_rest_while_memory_takes_what_it_wrote() {
    let mut config = direct(Generation::Gen3, Width::X4, 256);
    root_mut(&mut config).write_latency = Span::from_us(40);
    let mut simulation = Simulation::build(&config).expect("a tree");
    let left = Rc::new(Cell::new(None));
    simulation.add_workload(Box::new(Hurry { left: Rc::clone(&left) }));
    while simulation.run_until(us(1_000), u64::MAX) == Progress::Reached {}
    assert_eq!(left.get(), Some(Span::from_us(40)), "its buffer space at the root port is free then");
}
