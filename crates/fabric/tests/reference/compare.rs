//! Plays one case in both and compares what was sent and what arrived, tick by tick.
//!
//! Where the two differ, instants at which the order may follow from which port looked first are turned round one after the
//! other, those just before the difference first, until both agree. What had to be turned round is counted by kind.

use super::agenda::{Choices, Instead, Which};
use super::cases::Case;
use super::common::{Ask, Script, advance};
use super::record::{Listener, Record};
use super::system::{Step, System};
use lanewise_fabric::Simulation;
use lanewise_fabric::config::FabricConfig;
use lanewise_fabric::workload::{DeviceId, Direction, Target};
use lanewise_units::Time;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Instants that are tried for one difference, and differences that are followed up in one case.
const TRIED: usize = 60;
const FOLLOWED: usize = 40;

/// Where two records differ first.
#[derive(Clone, Debug)]
pub struct Difference {
    pub at: Time,
    /// What led to it happened no later: of a latency, when the request was issued.
    pub since: Time,
    pub what: String,
}

/// What the fabric does with a case.
pub fn fast(config: &FabricConfig, steps: &[Step], until: Time) -> Record {
    let ask = |step: &Step| Ask::Dma {
        device: step.device as u32,
        channel: step.channel as u32,
        direction: if step.is_read { Direction::Read } else { Direction::Write },
        target: step.target.map_or(Target::HostMemory, |end| Target::Endpoint(DeviceId(end as u32))),
        offset: step.offset,
        length: step.length,
    };
    let mut simulation = Simulation::build(config).expect("a tree");
    let (listener, record) = Listener::new(&simulation.fabric, steps.len());
    simulation.fabric.add_observer(Box::new(listener));
    let (script, _) = Script::new(steps.iter().map(|step| (step.at, ask(step))).collect());
    simulation.add_workload(Box::new(script));
    advance(&mut simulation, until);
    simulation.stop_measuring(until);
    record.borrow().clone()
}

/// What the reference does with it.
pub fn slow(config: &FabricConfig, steps: &[Step], until: Time, choices: Choices) -> Record {
    let mut system = System::new(config, steps.to_vec(), choices);
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
            first = Some(Difference { at, since: at, what });
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
    if let Some(found) = &mut first {
        for ((at, one), (other_at, other)) in fast.done.iter().flatten().zip(slow.done.iter().flatten()) {
            if *at == found.at && at == other_at && one != other {
                found.since = Time::from_ticks(at.ticks() - (*one).min(*other).ticks());
            }
        }
    }
    first
}

/// How a comparison came out.
pub struct Outcome {
    /// Instants that had to be turned round.
    pub choices: Choices,
    /// What is different even so.
    pub rest: Option<Difference>,
    /// Things that were sent, and agree.
    pub sent: usize,
}

/// Compares one case.
pub fn compare(case: &Case) -> Outcome {
    let (config, steps, until) = (case.config(), case.steps(), case.until());
    let fast = fast(&config, &steps, until);
    let mut choices = Choices::new();
    let mut record = slow(&config, &steps, until, choices.clone());
    let mut rest = difference(&fast, &record, until);
    for _ in 0..FOLLOWED {
        let Some(found) = rest.clone() else { break };
        let mut notes = record.notes.clone();
        notes.sort_unstable();
        notes.dedup();
        let before = |limit: Time| notes.iter().rev().filter(move |(at, ..)| *at <= limit).take(TRIED);
        let mut candidates: Vec<_> = before(found.since).chain(before(found.at)).copied().collect();
        candidates.sort_by_key(|(at, _, which)| (*which != Which::Follow, std::cmp::Reverse(*at)));
        candidates.dedup();
        let mut best: Option<(Time, Choices, Record, Option<Difference>)> = None;
        for (at, port, which) in candidates {
            let ways: &[Instead] = match which {
                Which::Follow => &[Instead::AskAgain],
                Which::Look | Which::Arrival => &[Instead::First, Instead::Last],
            };
            for way in ways {
                if choices.contains_key(&(at, port, which)) {
                    continue;
                }
                let mut tried = choices.clone();
                tried.insert((at, port, which), *way);
                let again = slow(&config, &steps, until, tried.clone());
                let left = difference(&fast, &again, until);
                let agrees_until = left.as_ref().map_or(Time::NEVER, |left| left.at);
                if agrees_until > found.at && best.as_ref().is_none_or(|(so_far, ..)| agrees_until > *so_far)
                {
                    best = Some((agrees_until, tried, again, left));
                }
            }
            if best.as_ref().is_some_and(|(agrees_until, ..)| *agrees_until == Time::NEVER) {
                break;
            }
        }
        let Some((_, tried, again, left)) = best else { break };
        (choices, record, rest) = (tried, again, left);
    }
    Outcome { choices, rest, sent: record.sent.iter().map(Vec::len).sum() }
}

/// Counts over many cases.
#[derive(Default, Debug)]
pub struct Tally {
    pub cases: u64,
    pub equal_at_once: u64,
    /// Cases in which something is different even so.
    pub different: u64,
    pub sent: usize,
    pub turned: BTreeMap<(Which, Instead), u64>,
}

impl Tally {
    /// Enters a case. Fails with what differs, if anything does.
    pub fn enter(&mut self, outcome: Outcome) -> Result<(), String> {
        self.cases += 1;
        self.sent += outcome.sent;
        self.equal_at_once += u64::from(outcome.choices.is_empty() && outcome.rest.is_none());
        for ((_, _, which), instead) in &outcome.choices {
            *self.turned.entry((*which, *instead)).or_default() += 1;
        }
        let Some(Difference { at, what, .. }) = outcome.rest else { return Ok(()) };
        self.different += 1;
        let mut text = format!("at {at:?}, {what}");
        write!(text, "\nafter turning round {:?}", outcome.choices).expect("a string takes all");
        Err(text)
    }
}
