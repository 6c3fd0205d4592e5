//! Random trees × random transfers × random faults: what must hold whatever the configuration.
//!
//! A failure prints the smallest [`Case`] found, in the syntax of `case.rs`: paste it into [`check`] to replay it.

mod building;
mod case;
#[path = "../common/mod.rs"]
mod common;
mod known;
mod laws;
mod player;

use case::{Case, case};
use common::*;
use lanewise_engine::random::RandomStream;
use lanewise_fabric::Simulation;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::{DeviceId, Direction};
use lanewise_observe::LinkCounters;
use lanewise_units::{Generation, Span, Time, Width};
use player::{LinkChecker, Links, Log, Player};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

/// What two runs of one case must agree on.
#[derive(Clone, PartialEq, Debug)]
struct Trajectory {
    log: Log,
    /// Bytes, requests and the sum of their latencies, by flow.
    flows: Vec<(u64, u64, f64)>,
    /// By port.
    counters: Vec<LinkCounters>,
}

/// A case under way.
struct Running<'c> {
    case: &'c Case,
    config: FabricConfig,
    simulation: Simulation,
    links: Rc<RefCell<Links>>,
    log: Rc<RefCell<Log>>,
}

impl<'c> Running<'c> {
    fn new(case: &'c Case) -> Self {
        let config = case.config();
        let mut simulation = Simulation::build(&config).expect("a tree");
        let links = Rc::new(RefCell::new(Links::new(ports(&config))));
        simulation.fabric.add_observer(Box::new(LinkChecker(Rc::clone(&links))));
        let player = Player::new(case, &config, &simulation.fabric, &links);
        let log = Rc::clone(&player.log);
        simulation.add_workload(Box::new(player));
        Self { case, config, simulation, links, log }
    }

    /// Runs until everything has ended and come to rest, in pieces.
    fn in_pieces(&mut self) -> Time {
        let mut lengths = RandomStream::new(self.case.seed, "pieces", "length");
        let mut at = Time::ZERO;
        while self.log.borrow().ended.iter().any(|ended| ended.is_none()) {
            at += lengths.exponential(Span::from_us(2));
            // Long enough for 100 KB in and out of a Gen1 x1 link with little credit, and many replay timeouts.
            assert!(at < us(60_000), "not done after 60 ms: {:?}", self.log.borrow());
            let look = lengths.below(4) == 0;
            self.piece(at, look);
        }
        self.settle(at)
    }

    /// The same without a stop.
    fn at_once(&mut self, end: Time) {
        advance(&mut self.simulation, end);
        self.simulation.stop_measuring(end);
    }

    fn piece(&mut self, at: Time, look: bool) {
        advance(&mut self.simulation, at);
        self.simulation.fabric.check_conservation();
        if look {
            self.simulation.stop_measuring(at);
            laws::check_time(&self.config, &self.simulation, at);
        }
    }

    /// Acks, updates and replays come to rest. Lost UpdateFCs are repeated every 30 us.
    fn settle(&mut self, mut at: Time) -> Time {
        for _ in 0..1_000 {
            at += Span::from_us(50);
            self.piece(at, false);
            if self.simulation.fabric.is_quiet() && self.simulation.fabric.all_credits_returned() {
                break;
            }
        }
        // The clock stands at the last event. What falls due after it and nobody waits for is done now.
        self.simulation.stop_measuring(at);
        at
    }

    /// What must hold at `at`, where everything has come to rest.
    fn check(self, at: Time) -> Trajectory {
        assert!(self.simulation.fabric.is_quiet(), "something is under way 50 ms after the last transfer");
        // In L1 an UpdateFC that was lost is not repeated before something wakes the link.
        let errs = |faults: &FaultConfig| faults.bit_error_rate > 0.0;
        let forgets = |link: &LinkConfig| {
            link.power.l1.is_some() && (errs(&link.faults_downstream) || errs(&link.faults_upstream))
        };
        let forgetful = self.config.links.iter().any(forgets);
        assert!(forgetful || self.simulation.fabric.all_credits_returned(), "credits drifted");
        let steps = self.case.steps(&self.config);
        laws::check_time(&self.config, &self.simulation, at);
        laws::check_end(self.case, &self.config, &self.simulation, &steps);
        laws::check_tlps(self.case, &self.config, &self.simulation, &steps);
        laws::check_links(&self.config, &self.simulation, &self.links.borrow());
        laws::check_order(self.case, &steps, &self.log.borrow());
        self.trajectory()
    }

    /// What was sent, in order of time: one port may be stated ahead of another.
    fn sendings(&self) -> Vec<(Time, u32, Option<u16>)> {
        let mut sendings = self.links.borrow().sendings.clone();
        sendings.sort_unstable();
        sendings
    }

    fn trajectory(&self) -> Trajectory {
        let observers = self.simulation.fabric.observers();
        let flows = observers.flows().iter();
        Trajectory {
            log: self.log.borrow().clone(),
            flows: flows
                .map(|flow| (flow.payload().get(), flow.operations(), flow.latency_sum_seconds()))
                .collect(),
            counters: (0..self.simulation.fabric.port_count()).map(|port| observers.counters(port)).collect(),
        }
    }
}

/// Everything that must hold of one case, run in pieces with looks at all of it, and then without a stop.
fn check(case: &Case) {
    let mut running = Running::new(case);
    let end = running.in_pieces();
    let in_pieces = running.sendings();
    let trajectory = running.check(end);

    let mut running = Running::new(case);
    running.at_once(end);
    let second = running.sendings();
    let differs = in_pieces.iter().zip(&second).find(|(one, other)| one != other);
    assert!(differs.is_none(), "first one thing was sent, then the other: {differs:?}");
    let second = running.check(end);
    assert!(trajectory == second, "first {trajectory:?}\nthen {second:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Transfers end, exactly once, with everything conserved, whatever tree, transfers and faults; and a run in pieces with looks at all
    /// of it is the run without a stop, on links that sleep, too.
    #[test]
    fn everything_arrives_once_and_pieces_and_looks_change_nothing(case in case()) {
        check(&case);
    }
}

/// Ends of a link that wakes one another, whichever is looked at first.
#[test]
fn a_stop_between_a_dllp_that_wakes_a_link_and_space_that_becomes_free_changes_nothing() {
    let case = known::space_is_free_while_the_other_end_wakes_the_link();
    check(&case);
    let sendings = |stop: Option<u64>| {
        let mut running = Running::new(&case);
        stop.into_iter().for_each(|at| advance(&mut running.simulation, us(at)));
        running.at_once(us(100));
        running.sendings()
    };
    let without = sendings(None);
    for at in 0..60 {
        assert!(sendings(Some(at)) == without, "a stop at {at} us");
    }
}

/// Little's law: the time average of reads outstanding is the sum of their latencies over the time.
#[test]
fn reads_obey_littles_law() {
    for (tags, size) in [(32, 4096), (5, 512), (1, 64)] {
        let mut config = behind_switch(Generation::Gen2, Width::X4, Width::X4, 1, 256);
        endpoint_mut(&mut config, 2).tags = tags;
        let mut simulation = Simulation::build(&config).expect("a tree");
        simulation.add_workload(Box::new(Stream::new(2, Direction::Read, size, 2).times(40)));
        let step = Span::from_ns(2);
        let (mut at, mut area) = (Time::ZERO, 0u64);
        while at < us(200) {
            area += u64::from(simulation.fabric.outstanding_reads(DeviceId(2))) * step.ticks();
            at += step;
            simulation.run_until(at, u64::MAX);
        }
        assert_eq!(simulation.fabric.outstanding_reads(DeviceId(2)), 0, "200 us are enough");
        let flow = &simulation.fabric.observers().flows()[0];
        let area = Span::from_ticks(area).as_seconds();
        assert_close(area, flow.latency_sum_seconds(), 0.005, "L T = sum of W");
    }
}
