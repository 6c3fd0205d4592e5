//! The proof of a limit: the run again with each candidate ten times larger, side by side.

use super::LimitedBy;
use super::candidate::{Candidate, LinkDirection, OfDevice, OfDirection};
use super::enlarge::{TIMES, enlarged};
use super::evidence::{likeliest, ranking};
use super::suspect::{Group, LEAST_HELD, NEVER_FREE, Suspect};
use crate::EndName;
use crate::results::{Resource, Results};
use crate::side_by_side::run_all;
use crate::{AssemblyError, RunProgress, run};
use lanewise_fabric::ResourceKind;
use lanewise_fabric::config::{DeviceConfig, DeviceKind};
use lanewise_fabric::workload::DeviceId;
use lanewise_observe::CONTROL;
use lanewise_scenario::{LoadConfig, Scenario};
use lanewise_units::order;
use lanewise_workload::Enlarge;
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::ControlFlow;

/// Most candidates that are tried, and the share of the time that must speak for one.
const MOST: usize = 8;
const LEAST_SHARE: f64 = 0.1;
/// The same for time in use: less leaves room enough.
const LEAST_USE: f64 = 0.5;
/// What brings less is nothing: within what two runs differ by anyway.
const NOTHING: f64 = 0.01;
/// What brings this part of what the best does is as good.
const AS_MUCH: f64 = 0.9;
/// What brings less may be small because the next is, too.
const LITTLE: f64 = 0.1;
/// Most that are made larger together, each behind those before it.
const MOST_IN_A_ROW: usize = 3;
/// Most kinds of resources that operations spend their time in, and the least part of what is outstanding that is in one.
const MOST_ON_THE_WAY: usize = 3;
const LEAST_ON_THE_WAY: f64 = 0.05;

/// What limits a scenario, proven.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Why {
    /// How many times larger each candidate was made.
    pub times: u32,
    /// The verdict in a sentence.
    pub sentence: String,
    /// It was interrupted before all candidates were tried, so that the verdict is of those that were.
    pub interrupted: bool,
    /// What each brings, the most first.
    pub larger: Vec<Larger>,
}

/// A run with one candidate, or several alike, ten times larger.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Larger {
    /// Names of what was made larger; several that are alike, or that limit together.
    pub names: Vec<String>,
    /// Kind, as in [`LimitedBy::kind`], or `memory_latency`, `switch_latency` or `adapter_latency`; `together` for several kinds at once.
    pub kind: &'static str,
    /// What it is, in words.
    pub what: String,
    /// Part of the time that spoke for it; none for what was tried in any case.
    pub share: f64,
    /// Goodput of all data before, 10⁹ B/s.
    pub goodput_before_gb_per_s: f64,
    /// And with it larger.
    pub goodput_after_gb_per_s: f64,
    /// Operations a second of all data before.
    pub operations_before_per_s: f64,
    /// And with it larger.
    pub operations_after_per_s: f64,
    /// By how much goodput rises, percent; of operations where no bytes are counted.
    pub gain_percent: f64,
    /// Why that run ended.
    pub end_reason: EndName,
}

/// Runs a scenario, and again with each candidate ten times larger: the results of the run as it is, with what each brings in
/// `why`. These runs are side by side, on as many threads as the machine has cores. `progress` hears of each run in turn, and breaking
/// it ends all, with what is known by then.
///
/// # Errors
/// As [`run`].
pub fn why(
    scenario: &Scenario,
    progress: &mut dyn FnMut(&RunProgress<'_>) -> ControlFlow<()>,
) -> Result<Results, AssemblyError> {
    let mut before = run(scenario, progress)?;
    let mut interrupted = before.end_reason == EndName::Interrupted;
    let mut larger: Vec<Larger> = Vec::new();
    let tried = if interrupted { Vec::new() } else { candidates(scenario, &before) };
    let with_rig = |group: Group| enlarged(scenario, group.candidates()).map(|rig| (group, rig));
    let (groups, rigs): (Vec<Group>, Vec<Scenario>) = tried.into_iter().filter_map(with_rig).unzip();
    for (group, after) in groups.iter().zip(run_all(&rigs, progress)?) {
        let Some(after) = after else {
            interrupted = true;
            continue;
        };
        let members: Vec<&Candidate> = group.candidates().collect();
        let kind = group.members[0].candidate.kind();
        let of = (kind, words(scenario, group), group.share());
        larger.push(Larger::new(scenario, &members, of, &before, &after));
    }
    if !interrupted {
        match one_behind_the_other(scenario, &before, &larger, progress)? {
            Row::Interrupted(together) => {
                interrupted = true;
                larger.extend(together);
            }
            Row::Brings(together) => larger.push(together),
            Row::BringsLittle => {}
        }
    }
    order::sort_by(&mut larger, |a, b| b.gain_percent.total_cmp(&a.gain_percent));
    let sentence = verdict(&larger, before.limited_by.as_ref(), interrupted);
    before.why = Some(Why { times: TIMES, sentence, interrupted, larger });
    Ok(before)
}

fn words(scenario: &Scenario, group: &Group) -> String {
    let first = group.members[0].words(&scenario.fabric);
    match group.members.len() - 1 {
        0 => first,
        more => format!("{first}, and {more} alike"),
    }
}

/// What came of making larger what stands one behind the other.
enum Row {
    /// So much.
    Brings(Larger),
    /// Nothing that is worth a word, or there is no such row.
    BringsLittle,
    /// It was interrupted, with so much until then.
    Interrupted(Option<Larger>),
}

/// Where what the run speaks for brings little alone, because the next is as small: it and those behind it, each found in a run with those
/// before it larger, until all together bring as much as the best alone.
fn one_behind_the_other(
    scenario: &Scenario,
    before: &Results,
    alone: &[Larger],
    progress: &mut dyn FnMut(&RunProgress<'_>) -> ControlFlow<()>,
) -> Result<Row, AssemblyError> {
    let guess = before.limited_by.as_ref();
    let is_guess = |each: &&Larger| guess.is_some_and(|guess| each.names.contains(&guess.name));
    let best = alone.iter().map(|each| each.gain_percent).fold(0.0, f64::max);
    if !alone.iter().find(is_guess).is_some_and(|guess| guess.gain_percent < LITTLE * 100.0) {
        return Ok(Row::BringsLittle);
    }
    let mut all: Vec<Group> = likeliest(scenario, before).into_iter().collect();
    let mut last = None;
    while all.len() <= MOST_IN_A_ROW {
        let members: Vec<&Candidate> = all.iter().flat_map(Group::candidates).collect();
        let Some(rig) = enlarged(scenario, members.iter().copied()) else { break };
        let after = run(&rig, progress)?;
        if after.end_reason == EndName::Interrupted {
            return Ok(Row::Interrupted(last));
        }
        let together = all.iter().map(|group| words(scenario, group)).collect::<Vec<_>>().join("; then ");
        let found = Larger::new(scenario, &members, ("together", together, 0.0), before, &after);
        // What one of them brings alone needs no other.
        let is_own = |each: &&Larger| each.names.iter().any(|name| found.names.contains(name));
        let own = alone.iter().filter(is_own).map(|each| each.gain_percent).fold(0.0, f64::max);
        if all.len() > 1 && own >= AS_MUCH * found.gain_percent {
            return Ok(Row::BringsLittle);
        }
        let is_enough = found.gain_percent >= (AS_MUCH * best).max(LITTLE * 100.0);
        last = (found.gain_percent >= LITTLE * 100.0).then_some(found);
        if is_enough {
            break;
        }
        let next = likeliest(&rig, &after);
        let is_new = |next: &Group| !next.candidates().any(|each| members.contains(&each));
        match next.filter(is_new) {
            Some(next) => all.push(next),
            None => break,
        }
    }
    Ok(last.map_or(Row::BringsLittle, Row::Brings))
}

/// Those that the run speaks for, and what is worth a try without: latencies on the way of what is read, and where operations are when
/// it is how many are outstanding that limits.
fn candidates(scenario: &Scenario, before: &Results) -> Vec<Group> {
    let groups = ranking(scenario, before);
    let least = |member: &Suspect| {
        if member.in_use {
            LEAST_USE
        } else if member.occupied >= NEVER_FREE {
            LEAST_HELD
        } else {
            LEAST_SHARE
        }
    };
    let speaks = |group: &Group| group.share() >= least(&group.members[0]);
    let mut tried: Vec<Group> = Vec::new();
    let mut links: Vec<usize> = Vec::new();
    for mut group in groups.into_iter().filter(speaks) {
        // Both directions of a link become quicker together; credits that hold up little are alike where they do.
        group.members.retain(|member| match member.candidate {
            Candidate::Direction(_, OfDirection::Credits(_)) => member.share >= LEAST_HELD,
            Candidate::Direction(LinkDirection { link, .. }, OfDirection::Wire) => {
                let is_new = !links.contains(&link);
                links.push(link);
                is_new
            }
            _ => true,
        });
        if !group.members.is_empty() {
            tried.push(group);
        }
    }
    tried.truncate(MOST);
    let reads = before.flows.iter().any(|flow| flow.direction == "read" && flow.bytes > 0);
    let devices = scenario.fabric.devices.iter().enumerate();
    let of = |is_switch: bool| {
        let latency = move |(device, config): (usize, &DeviceConfig)| match config.kind {
            DeviceKind::RootComplex(_) if !is_switch => {
                Some(Candidate::Device(device, OfDevice::MemoryLatency))
            }
            DeviceKind::Switch(_) if is_switch => Some(Candidate::Device(device, OfDevice::SwitchLatency)),
            _ => None,
        };
        Group::of(devices.clone().filter_map(latency))
    };
    let waits = before.limited_by.as_ref().is_some_and(|guess| guess.kind == OfDevice::Window.kind());
    tried.extend(reads.then(|| of(false)).flatten());
    tried.extend((reads || waits).then(|| of(true)).flatten());
    if waits {
        let way = on_the_way(scenario, before).into_iter().filter(|group| is_new(group, &tried));
        let way: Vec<Group> = way.collect();
        tried.extend(way);
    }
    tried
}

fn is_new(group: &Group, tried: &[Group]) -> bool {
    group
        .candidates()
        .all(|candidate| tried.iter().flat_map(Group::candidates).all(|other| other != candidate))
}

/// Where operations are: by Little's law, as many of them are in a resource as it serves at a time, though none may wait for it. And
/// adapters, whose latency is no resource.
fn on_the_way(scenario: &Scenario, before: &Results) -> Vec<Group> {
    let mut served: Vec<(f64, (ResourceKind, &str), Vec<Suspect>)> = Vec::new();
    let serves = |resource: &&Resource| {
        resource.utilisation > 0.0 && !resource.kind.is_held() && !resource.kind.keeps_translations()
    };
    for resource in before.resources.iter().filter(serves) {
        let at_a_time = resource.utilisation * f64::from(resource.places);
        let candidate = Candidate::Resource { id: resource.id.clone(), name: resource.name.clone() };
        let suspect = Suspect::of_resource(candidate, &resource.limit);
        let alike = (resource.kind, resource.limit.as_str());
        match served.iter_mut().find(|(_, like, _)| *like == alike) {
            Some((sum, _, members)) => {
                *sum += at_a_time;
                members.push(suspect);
            }
            None => served.push((at_a_time, alike, vec![suspect])),
        }
    }
    let demands = scenario.workloads.iter().flat_map(|load| load.demands());
    // A load that says nothing of how many it has open has one.
    let outstanding = demands.map(|demand| demand.operations).sum::<u64>().max(1);
    served.retain(|(at_a_time, ..)| *at_a_time >= LEAST_ON_THE_WAY * outstanding as f64);
    order::sort_by(&mut served, |(a, ..), (b, ..)| b.total_cmp(a));
    let groups = served.into_iter().take(MOST_ON_THE_WAY).map(|(.., members)| Group::alike(members));
    let mut loads: Vec<Box<dyn LoadConfig>> = scenario.workloads.iter().map(|load| load.boxed()).collect();
    let mut is_adapter = |device: &usize| {
        let asked = DeviceId(*device as u32);
        loads.iter_mut().any(|load| load.quicker_adapters(asked, &mut Enlarge::new(TIMES)).is_some())
    };
    let adapters = (0..scenario.fabric.devices.len()).filter(|device| is_adapter(device));
    let adapters = Group::of(adapters.map(|device| Candidate::Device(device, OfDevice::AdapterLatency)));
    groups.chain(adapters).collect()
}

impl Larger {
    fn new(
        scenario: &Scenario,
        members: &[&Candidate],
        (kind, what, share): (&'static str, String, f64),
        before: &Results,
        after: &Results,
    ) -> Self {
        let (goodput_before, operations_before) = totals(before);
        let (goodput_after, operations_after) = totals(after);
        let ratio = match goodput_before > 0.0 {
            true => goodput_after / goodput_before,
            false => operations_after / operations_before.max(f64::MIN_POSITIVE),
        };
        Self {
            names: members.iter().map(|member| member.name(&scenario.fabric)).collect(),
            kind,
            what,
            share,
            goodput_before_gb_per_s: goodput_before,
            goodput_after_gb_per_s: goodput_after,
            operations_before_per_s: operations_before,
            operations_after_per_s: operations_after,
            gain_percent: (ratio - 1.0) * 100.0,
            end_reason: after.end_reason,
        }
    }
}

/// Goodput of a run, and operations of all its flows of data.
fn totals(results: &Results) -> (f64, f64) {
    let data = results.flows.iter().filter(|flow| flow.direction != CONTROL);
    (results.goodput_gb_per_s, data.map(|flow| flow.operations_per_s).sum())
}

fn verdict(larger: &[Larger], guess: Option<&LimitedBy>, interrupted: bool) -> String {
    let found = found(larger, guess);
    match (interrupted, larger.len()) {
        (false, _) => found,
        (true, 0) => "Interrupted before anything was tried: nothing is proven".to_owned(),
        (true, tried) => format!("{found}; interrupted when {tried} had been tried"),
    }
}

fn found(larger: &[Larger], guess: Option<&LimitedBy>) -> String {
    if larger.is_empty() {
        return "Nothing was tried: nothing that this run waits for can be made larger".to_owned();
    }
    let Some(best) = larger.first().filter(|best| best.gain_percent >= NOTHING * 100.0) else {
        return format!("Ten times larger, none of these brings {:.0} % or more", NOTHING * 100.0);
    };
    // The one that waiting time points at, when none brings clearly more.
    let pointed_at = larger.iter().find(|each| guess.is_some_and(|guess| each.names.contains(&guess.name)));
    let close = pointed_at.filter(|each| each.gain_percent >= AS_MUCH * best.gain_percent);
    let shown = close.unwrap_or(best);
    let brings = match shown.kind {
        "together" => "ten times larger together, they bring",
        "memory_latency" | "switch_latency" | "adapter_latency" => "a tenth of it brings",
        _ => "ten times larger, it brings",
    };
    let proven = format!("Limited by {}: {brings} {:+.1} %", shown.what, shown.gain_percent);
    match guess {
        Some(guess) if close.is_none() => format!("{proven}; waiting time alone pointed at {}", guess.name),
        _ => proven,
    }
}
