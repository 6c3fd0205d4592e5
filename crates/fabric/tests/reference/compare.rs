//! Plays one case in both and compares what was sent and what arrived, tick by tick.

use super::cases::Case;
use super::common::{Ask, Script, advance};
use super::hot_plug::{Plug, Plugs};
use super::record::{Listener, Record};
use super::system::{Step, System, ports_in_flit_mode};
use lanewise_fabric::Simulation;
use lanewise_fabric::config::FabricConfig;
use lanewise_fabric::workload::{DeviceId, Direction, Target};
use lanewise_units::Time;

/// Where two records differ first.
#[derive(Clone, Debug)]
pub struct Difference {
    pub at: Time,
    pub what: String,
}

/// What the fabric does with a case.
pub fn fast(config: &FabricConfig, steps: &[Step], plugs: &[Plug], until: Time) -> Record {
    let ask = |step: &Step| Ask::Dma {
        device: step.device as u32,
        channel: step.channel as u32,
        direction: if step.is_read { Direction::Read } else { Direction::Write },
        target: step.target.map_or(Target::HostMemory, |end| Target::Endpoint(DeviceId(end as u32))),
        offset: step.offset,
        length: step.length,
    };
    let mut simulation = Simulation::build(config).expect("a tree");
    let (listener, record) = Listener::new(&simulation.fabric, ports_in_flit_mode(config), steps.len());
    simulation.fabric.add_observer(Box::new(listener));
    let (script, _) = Script::new(steps.iter().map(|step| (step.at, ask(step))).collect());
    let mut classes = [0; 3];
    steps.iter().for_each(|step| classes[step.channel] = step.traffic_class);
    simulation.add_workload(Box::new(script.with_classes(&classes)));
    simulation.add_workload(Box::new(Plugs { plugs: plugs.to_vec(), is_away: Default::default() }));
    advance(&mut simulation, until);
    simulation.stop_measuring(until);
    record.borrow().clone()
}

/// What the reference does with it.
pub fn slow(config: &FabricConfig, steps: &[Step], plugs: &[Plug], until: Time) -> Record {
    let mut system = System::new(config, steps.to_vec(), plugs.to_vec());
    system.run(until);
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

/// How a comparison came out.
pub struct Outcome {
    /// The first thing that is different.
    pub difference: Option<Difference>,
    /// Things that were sent.
    pub sent: usize,
}

/// Compares one case.
pub fn compare(case: &Case) -> Outcome {
    let (config, steps, plugs, until) = (case.config(), case.steps(), case.plugs(), case.until());
    let fast = fast(&config, &steps, &plugs, until);
    let record = slow(&config, &steps, &plugs, until);
    let sent = record.sent.iter().map(Vec::len).sum();
    Outcome { difference: difference(&fast, &record, until), sent }
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
