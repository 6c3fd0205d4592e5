//! Links that sleep: what waking adds to a latency, in closed form, and where the time goes.

use crate::common::*;
use lanewise_fabric::Simulation;
use lanewise_fabric::config::{FabricConfig, LinkPower, PortConfig, SleepConfig, SwitchCore};
use lanewise_fabric::workload::Direction;
use lanewise_observe::Use;
use lanewise_units::{Generation, Rate, Span, Time, Width};

const SLOW: Rate = Rate::from_bytes_per_second(300_000_000);
const IDLE: Span = Span::from_us(8);
const L0S_EXIT: Span = Span::from_us(2);
const L1_EXIT: Span = Span::from_us(16);

fn l0s() -> LinkPower {
    LinkPower { l0s: Some(SleepConfig::new(IDLE, L0S_EXIT)), l1: None }
}

fn l1() -> LinkPower {
    LinkPower { l0s: None, l1: Some(SleepConfig::new(IDLE, L1_EXIT)) }
}

/// A symbol takes 4 ns, and every time of these tests is a whole number of them.
fn one_link(power: LinkPower) -> FabricConfig {
    let mut config = without_background(direct(Generation::Gen1, Width::X4, 128));
    config.links[0].power = power;
    config
}

/// How much longer than on a link that is awake a transfer takes, submitted at each of these microseconds.
fn extra(power: LinkPower, direction: Direction, at_us: &[u64]) -> Vec<Span> {
    let steps: Vec<(Time, Ask)> = at_us.iter().map(|&at| (us(at), dma(1, direction, 0, 64))).collect();
    let (_, asleep) = run_script(&one_link(power), steps.clone(), 10_000);
    let (_, awake) = run_script(&one_link(LinkPower::default()), steps, 10_000);
    (0..at_us.len()).map(|step| asleep.latency(step) - awake.latency(step)).collect()
}

#[test]
fn a_write_waits_for_its_direction_to_leave_l0s() {
    assert_eq!(extra(l0s(), Direction::Write, &[100, 200]), [L0S_EXIT; 2]);
}

#[test]
fn a_read_wakes_one_direction_for_the_request_and_the_other_for_the_data() {
    let extra = extra(l0s(), Direction::Read, &[100])[0];
    let symbol = Span::from_ns(4);
    assert!((L0S_EXIT * 2..=L0S_EXIT * 2 + symbol).contains(&extra), "{extra:?}");
}

#[test]
fn leaving_l1_wakes_both_directions_at_once() {
    assert_eq!(extra(l1(), Direction::Write, &[100]), [L1_EXIT]);
    assert_eq!(extra(l1(), Direction::Read, &[100]), [L1_EXIT]);
}

#[test]
fn within_the_idle_time_nothing_sleeps() {
    assert_eq!(extra(l1(), Direction::Write, &[100, 120, 126]), [L1_EXIT, Span::ZERO, Span::ZERO]);
    assert_eq!(extra(l0s(), Direction::Write, &[100, 106]), [L0S_EXIT, Span::ZERO]);
}

#[test]
fn in_both_states_the_deeper_one_counts_once_it_is_entered() {
    let deep = SleepConfig::new(Span::from_us(50), L1_EXIT);
    let both = LinkPower { l0s: l0s().l0s, l1: Some(deep) };
    assert_eq!(extra(both, Direction::Write, &[100, 130, 300]), [L1_EXIT, L0S_EXIT, L1_EXIT]);
}

/// L1.2 is left no sooner than its least time allows, and what comes meanwhile waits for that and for the exit.
#[test]
fn what_comes_before_the_least_stay_is_over_waits_for_it() {
    let stays = SleepConfig { stay: Span::from_us(6), ..SleepConfig::new(IDLE, L1_EXIT) };
    let power = LinkPower { l0s: None, l1: Some(stays) };
    assert_eq!(extra(power, Direction::Write, &[100, 200]), [L1_EXIT; 2]);
    // The link is up at 0 and silent from then on, but for what ends flow control initialisation.
    let lone = |at| extra(power, Direction::Write, &[at])[0];
    let waits: Vec<Span> = (9..=16).map(lone).collect();
    assert!(waits.windows(2).all(|pair| pair[0] <= pair[1] + Span::from_us(1)), "{waits:?}");
    assert!(waits[0] == Span::ZERO || waits[0] > L1_EXIT + Span::from_us(4), "{waits:?}");
    assert_eq!(waits[7], L1_EXIT);
}

/// A state that takes no time to leave is left once, not again and again at the same instant: the run ends, and waking
/// costs nothing.
#[test]
fn a_state_without_exit_latency_is_left_at_once() {
    let at_once = |idle| Some(SleepConfig::new(idle, Span::ZERO));
    for idle in [Span::ZERO, Span::from_ns(100), IDLE] {
        for (l0s, l1) in [(at_once(idle), None), (None, at_once(idle)), (at_once(idle), at_once(idle * 4))] {
            for direction in [Direction::Write, Direction::Read] {
                let extra = extra(LinkPower { l0s, l1 }, direction, &[100, 200, 201]);
                assert_eq!(extra, [Span::ZERO; 3], "{l0s:?} {l1:?} {direction:?}");
            }
        }
    }
}

#[test]
fn an_arrival_while_the_link_wakes_shares_the_wait() {
    let (_, log) = run_script(
        &one_link(l1()),
        vec![(us(100), dma(1, Direction::Write, 0, 64)), (us(110), dma(1, Direction::Write, 64, 64))],
        10_000,
    );
    let (first, second) = (log.done_at(0).expect("done"), log.done_at(1).expect("done"));
    // 64 B of payload, 12 or 16 of header, 8 of framing.
    assert!(second - first <= Span::from_ns(100), "{:?}", second - first);
}

#[test]
fn a_switch_wakes_the_next_link_a_microsecond_later() {
    let mut config = without_background(behind_switch(Generation::Gen1, Width::X4, Width::X4, 1, 128));
    let step = vec![(us(100), dma(2, Direction::Write, 0, 64))];
    let (_, awake) = run_script(&config, step.clone(), 10_000);
    config.links.iter_mut().for_each(|link| link.power = l1());
    let (_, asleep) = run_script(&config, step, 10_000);
    // The packet is at the egress 150 ns of switch and 1 ns of wire after it was sent; the link there is awake 1 us
    // after the first one.
    let at_egress = Span::from_ns(151);
    let extra = asleep.latency(0) - awake.latency(0);
    let expected = L1_EXIT + Span::from_us(1) - at_egress;
    let symbol = Span::from_ns(4);
    assert!(extra + symbol > expected && extra < expected + symbol, "{extra:?}, expected {expected:?}");
}

#[test]
fn every_instant_is_asleep_waking_or_used() {
    let config = one_link(l1());
    let steps: Vec<(Time, Ask)> = (1..=5).map(|n| (us(100 * n), dma(1, Direction::Write, 0, 64))).collect();
    let (mut simulation, log) = run_script(&config, steps, 10_000);
    advance(&mut simulation, us(1000));
    simulation.stop_measuring(us(1000));
    simulation.fabric.check_conservation();
    assert_eq!(log.done(), 5);
    for port in 0..2 {
        let tally = simulation.fabric.observers().direction(port);
        assert_eq!(tally.spent_on(Use::Waking), L1_EXIT * 5);
        assert!(tally.share(Use::Asleep) > 0.8, "{}", tally.share(Use::Asleep));
        let sum = Use::ALL.iter().map(|on| tally.spent_on(*on).ticks()).sum::<u64>();
        assert_eq!(sum, tally.total().ticks());
    }
}

#[test]
fn updates_that_only_repeat_wake_a_direction_from_l0s_but_no_link_from_l1() {
    let run = |power: LinkPower| {
        let mut config = direct(Generation::Gen1, Width::X4, 128);
        config.links[0].power = power;
        for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
            port.credits = [lanewise_pcie::flow_control::CreditPool { header: Some(8), data: Some(64) }; 3];
        }
        let (mut simulation, _) = run_script(&config, vec![(us(5), dma(1, Direction::Write, 0, 64))], 10_000);
        advance(&mut simulation, us(3000));
        simulation.stop_measuring(us(3000));
        simulation.fabric.check_conservation();
        simulation.fabric.observers().direction(0).spent_on(Use::Waking)
    };
    assert_eq!(run(l1()), Span::ZERO);
    // Every 30 us, in 3 ms.
    let wakes = run(l0s()).ticks() / L0S_EXIT.ticks();
    assert!((80..=100).contains(&wakes), "{wakes}");
}

#[test]
fn a_link_in_use_is_the_same_as_one_that_never_sleeps() {
    let run = |power: LinkPower| {
        let mut config = direct(Generation::Gen3, Width::X4, 256);
        config.links[0].power = power;
        let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 4096, 8)], 50);
        simulation.fabric.observers().flows()[0].payload()
    };
    assert_eq!(run(l1()), run(LinkPower::default()));
}

/// A periodic UpdateFC that wakes a link falls due between two slices of a run, and the link is awake again before the last
/// event of the first: the port must still wake for what comes later.
#[test]
fn a_run_in_slices_is_as_one_run() {
    let power = LinkPower { l0s: Some(SleepConfig::new(Span::ZERO, Span::from_us(1))), l1: None };
    let mut config = without_background(behind_switch(Generation::Gen1, Width::X1, Width::X1, 2, 128));
    config.links[0].power = power;
    let updates_every = |port: &mut PortConfig| port.update_flow_control.period = Span::from_us(30);
    config.devices.iter_mut().flat_map(|device| &mut device.ports).for_each(updates_every);
    let steps: Vec<(Time, Ask)> = (0..40)
        .map(|step| (us(5) + Span::from_ns(17_390 * step), dma(2, Direction::Read, 0, 256)))
        .chain((0..40).map(|step| (us(6) + Span::from_ns(23_110 * step), dma(3, Direction::Write, 0, 64))))
        .collect();
    let run = |slice| done_in_slices(&config, &steps, slice);
    let whole = run(Span::from_us(4_000));
    assert!(whole.iter().all(Option::is_some), "{whole:?}");
    assert_eq!(run(Span::from_us(2)), whole);
    assert_eq!(run(Span::from_ns(700)), whole);
}

/// What is worked out late must not depend on when: DLLPs that fall due while the other end wakes the link, both ends that
/// wake at one instant, looks at a port that has nothing to send yet.
#[test]
fn slices_do_not_matter_to_links_that_sleep_at_once() {
    let state = |idle, exit| Some(SleepConfig::new(Span::from_us(idle), Span::from_us(exit)));
    for (l0s, l1) in [(state(0, 1), None), (None, state(0, 8)), (state(0, 1), state(2, 8))] {
        for core in [SwitchCore::Crossbar { port_rate: FAST }, SwitchCore::SharedMemory { rate: SLOW }] {
            let mut config = behind_switch(Generation::Gen1, Width::X2, Width::X2, 3, 128);
            config.links.iter_mut().for_each(|link| link.power = LinkPower { l0s, l1 });
            switch_mut(&mut config, 1).core = core;
            for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
                port.update_flow_control.latency = Span::from_us(7);
                port.replay_timer += Span::from_us(8);
            }
            let peers = [(2, 3), (3, 4), (4, 2), (3, 2)];
            let steps: Vec<(Time, Ask)> = (0..120)
                .map(|step| {
                    let (from, to) = peers[step as usize % 4];
                    let direction = if step % 3 == 0 { Direction::Read } else { Direction::Write };
                    let at = us(5) + Span::from_ns(3_611 * step + 977 * (step % 7));
                    (
                        at,
                        if step % 5 == 0 {
                            dma(from, direction, 0, 300)
                        } else {
                            peer(from, direction, to, 300)
                        },
                    )
                })
                .collect();
            let whole = done_in_slices(&config, &steps, Span::from_us(4_000));
            assert!(whole.iter().all(Option::is_some), "{whole:?}");
            for slice in [Span::from_ns(313), Span::from_ns(1_777)] {
                assert_eq!(done_in_slices(&config, &steps, slice), whole, "{l0s:?} {l1:?} {slice:?}");
            }
        }
    }
}

/// When each step is done, in a run of 4 ms in slices of this length.
fn done_in_slices(config: &FabricConfig, steps: &[(Time, Ask)], slice: Span) -> Vec<Option<Time>> {
    let mut simulation = Simulation::build(config).expect("a tree");
    let (script, log) = Script::new(steps.to_vec());
    simulation.add_workload(Box::new(script));
    let mut at = Time::ZERO;
    while at < us(4_000) {
        at += slice;
        simulation.run_until(at, u64::MAX);
    }
    (0..steps.len()).map(|step| log.done_at(step)).collect()
}

#[test]
fn a_link_stays_out_of_l1_until_everything_is_acknowledged() {
    let at_once = LinkPower { l0s: None, l1: Some(SleepConfig::new(Span::ZERO, L1_EXIT)) };
    let steps = vec![(us(100), dma(1, Direction::Write, 0, 64)), (us(200), dma(1, Direction::Read, 0, 64))];
    let (simulation, _) = run_script(&one_link(at_once), steps, 10_000);
    let replays = |port| simulation.fabric.observers().counters(port).errors.replays;
    assert_eq!([replays(0), replays(1)], [0, 0]);
}
