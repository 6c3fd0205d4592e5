//! Plays one case in both and compares what was sent and what arrived, tick by tick.

use super::cases::{Case, Look, LookCase};
use super::common::{Ask, Script, advance};
use super::hot_plug::Plugs;
use super::record::{Listener, Record};
use super::system::{Step, System, ports_in_flit_mode};
use lanewise_fabric::workload::{DeviceId, Direction, Target};
use lanewise_fabric::{Pause, Progress, Simulation};
use lanewise_units::{Span, Time};

/// Where two records differ first.
#[derive(Clone, Debug)]
pub struct Difference {
    pub at: Time,
    pub what: String,
}

/// What the fabric does with a case.
pub fn fast(case: &Case) -> (Record, Simulation) {
    let mut simulation = Simulation::build(&case.config()).expect("a tree");
    let flits = ports_in_flit_mode(&case.config());
    let (listener, record) = Listener::new(&simulation.fabric, flits, case.steps().len());
    simulation.fabric.add_observer(Box::new(listener));
    play(case, &mut simulation);
    let record = record.borrow().clone();
    (record, simulation)
}

/// The same while nobody listens: then it looks ahead more, and makes completions later.
fn unheard(case: &Case) -> Simulation {
    let mut simulation = Simulation::build(&case.config()).expect("a tree");
    play(case, &mut simulation);
    simulation
}

/// Whether two runs of the fabric were one: a hash of what went over the links, counters, and what came of the flows.
fn agree(one: &Simulation, other: &Simulation) -> bool {
    let of = |simulation: &Simulation| {
        let observers = simulation.fabric.observers();
        let flows = observers.flows().iter();
        let flows: Vec<_> = flows
            .map(|flow| (flow.payload(), flow.operations(), flow.latency_sum_seconds().to_bits()))
            .collect();
        let counters: Vec<_> =
            (0..simulation.fabric.port_count()).map(|port| observers.counters(port)).collect();
        (observers.fingerprint(), flows, counters)
    };
    of(one) == of(other)
}

fn play(case: &Case, simulation: &mut Simulation) {
    let (steps, until) = (case.steps(), case.until());
    let ask = |step: &Step| Ask::Dma {
        device: step.device as u32,
        channel: step.channel as u32,
        direction: if step.is_read { Direction::Read } else { Direction::Write },
        target: step.target.map_or(Target::HostMemory, |end| Target::Endpoint(DeviceId(end as u32))),
        offset: step.offset,
        length: step.length,
    };
    let (script, _) = Script::new(steps.iter().map(|step| (step.at, ask(step))).collect());
    let mut classes = [0; 3];
    steps.iter().for_each(|step| classes[step.channel] = step.traffic_class);
    simulation.add_workload(Box::new(script.with_classes(&classes)));
    simulation.add_workload(Box::new(Plugs::new(case.plugs(), questions(case))));
    let mut looks = case.looks().into_iter().peekable();
    for (at, config) in case.changes() {
        while let Some(look) = looks.next_if(|look| time_of(look) < at) {
            look_at(simulation, look, at);
        }
        // A pause may have left ports that decide at that very instant, and the first events are of what they send.
        (0..2).for_each(|_| advance(simulation, at));
        simulation.change(at, "another".into(), &config, &[]);
    }
    looks.for_each(|look| look_at(simulation, look, until));
    advance(simulation, until);
    simulation.stop_measuring(until);
}

fn time_of(look: &LookCase) -> Time {
    Time::ZERO + Span::from_ns(look.at_ns)
}

/// When it is asked which endpoints are at rest.
fn questions(case: &Case) -> Vec<(Time, Vec<usize>)> {
    let ends: Vec<usize> =
        (1 + case.switches.len()..1 + case.switches.len() + case.endpoints.len()).collect();
    let asked = case.looks.iter().filter(|look| look.what == Look::Rest);
    asked.map(|look| (time_of(look), ends.clone())).collect()
}

/// A stop on the way of a piece that goes on until `until`.
fn look_at(simulation: &mut Simulation, look: LookCase, until: Time) {
    let at = time_of(&look).max(simulation.happened_until());
    let mut pause = |pause: Pause| match simulation.run_or_pause(until, u64::MAX, pause) {
        Progress::Paused | Progress::Reached | Progress::Finished => {}
        other => panic!("{other:?}"),
    };
    match look.what {
        Look::Pause => pause(Pause { at, events: u64::MAX }),
        Look::PauseAfter(events) => {
            pause(Pause { at, events: u64::MAX });
            pause(Pause { at: Time::NEVER, events });
        }
        Look::Account => {
            pause(Pause { at, events: u64::MAX });
            simulation.stop_measuring(at.max(simulation.happened_until()));
        }
        // Once: that is how a window ends in which a run is measured.
        Look::Stop => _ = simulation.run_until(at, u64::MAX),
        Look::State => {
            if simulation.run_until(at, u64::MAX) != Progress::Reached {
                return; // There is nothing more to do, and the run would be over.
            }
            simulation.stop_measuring(at);
            simulation.fabric.check_conservation();
            let _ = (simulation.held(), simulation.resources(at), simulation.reports(at));
            let _ = (simulation.fabric.is_quiet(), simulation.fabric.all_credits_returned());
        }
        Look::Rest => {} // A workload asks.
    }
}

/// What the reference does with it.
pub fn slow(case: &Case) -> Record {
    let mut system = System::new(&case.config(), case.steps(), case.plugs());
    for (at, config) in case.changes() {
        system.run(at);
        system.change(&config);
    }
    system.run(case.until());
    system.record
}

/// The first thing that the records do not have in common, up to a time.
pub fn difference(fast: &Record, slow: &Record, until: Time) -> Option<Difference> {
    let mut first: Option<Difference> = None;
    let mut look = |kind: &str, index: usize, one: Vec<(Time, String)>, other: Vec<(Time, String)>| {
        let both = 0..one.len().max(other.len());
        let Some(place) = both.into_iter().find(|place| one.get(*place) != other.get(*place)) else { return };
        let (one, other) = (one.get(place), other.get(place));
        let at = one.iter().chain(&other).map(|(at, _)| *at).min().expect("one is there");
        if at < until && first.as_ref().is_none_or(|found| at < found.at) {
            let what = format!("{kind} {index}, entry {place}:\n   fabric {one:?}\nreference {other:?}");
            first = Some(Difference { at, what });
        }
    };
    let ordered = |mut list: Vec<(Time, String)>| {
        list.retain(|(at, _)| *at < until);
        list
    };
    for (port, (one, other)) in fast.sent.iter().zip(&slow.sent).enumerate() {
        let words = |list: &super::record::Sendings| {
            ordered(list.iter().map(|(at, what, span)| (*at, format!("{what:?} for {span:?}"))).collect())
        };
        look("sent by port", port, words(one), words(other));
    }
    for (flow, (one, other)) in fast.delivered.iter().zip(&slow.delivered).enumerate() {
        let words =
            |list: &[(Time, u64)]| ordered(list.iter().map(|(at, of)| (*at, format!("{of} B"))).collect());
        look("arrived of flow", flow, words(one), words(other));
    }
    for (flow, (one, other)) in fast.done.iter().zip(&slow.done).enumerate() {
        let words = |list: &[(Time, lanewise_units::Span)]| {
            ordered(list.iter().map(|(at, of)| (*at, format!("{of:?}"))).collect())
        };
        look("done of flow", flow, words(one), words(other));
    }
    first
}

/// Writes what both do with a case into two files, in order of time.
pub fn write_down(case: &Case, folder: &std::path::Path) {
    for (name, record) in [("fabric", fast(case).0), ("reference", slow(case))] {
        let mut lines: Vec<(Time, String)> = Vec::new();
        for (port, list) in record.sent.iter().enumerate() {
            lines.extend(
                list.iter().map(|(at, what, span)| (*at, format!("port {port}: {what:?} for {span:?}"))),
            );
        }
        for (flow, list) in record.delivered.iter().enumerate() {
            lines.extend(list.iter().map(|(at, bytes)| (*at, format!("flow {flow}: {bytes} B"))));
        }
        lines.sort();
        let text: String = lines.iter().map(|(at, what)| format!("{at:?} {what}\n")).collect();
        std::fs::write(folder.join(name), text).expect("the folder is there");
    }
}

/// How a comparison came out.
pub struct Outcome {
    /// The first thing that is different.
    pub difference: Option<Difference>,
    /// Things that were sent.
    pub sent: usize,
}

/// Compares one case.
pub fn compare(case: &Case) -> Outcome {
    let ((fast, heard), slow) = (fast(case), slow(case));
    let sent = slow.sent.iter().map(Vec::len).sum();
    let alone = || {
        let what = "another run while nobody listens".to_owned();
        (!agree(&heard, &unheard(case))).then(|| Difference { at: case.until(), what })
    };
    Outcome { difference: difference(&fast, &slow, case.until()).or_else(alone), sent }
}

/// Counts over many cases.
#[derive(Default, Debug)]
pub struct Tally {
    pub cases: u64,
    /// Cases in which something is different.
    pub different: u64,
    pub sent: usize,
}

impl Tally {
    /// Enters a case. Fails with what differs, if anything does.
    pub fn enter(&mut self, outcome: Outcome) -> Result<(), String> {
        self.cases += 1;
        self.sent += outcome.sent;
        let Some(Difference { at, what }) = outcome.difference else { return Ok(()) };
        self.different += 1;
        Err(format!("at {at:?}, {what}"))
    }
}
