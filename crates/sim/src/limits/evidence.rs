//! From the results of one run, what was in use or waited for, and so the likely limit.

mod flow;

use super::candidate::{Candidate, LimitPlace, OfDevice};
use super::edits::{Edit, edits, paced};
use super::ends::{Ends, by_flow};
use super::enlarge::TIMES;
use super::open::part_open;
use super::suspect::{ALIKE, Group, Suspect, choose_errors, select_suspect};
use super::ways::Hosts;
use crate::EndName;
use crate::results::{Flow, Requester, Resource, Results};
use lanewise_fabric::config::{FabricConfig, LinkConfig};
use lanewise_fabric::workload::DeviceId;
use lanewise_fabric::{HostPart, ResourceId};
use lanewise_observe::CONTROL;
use lanewise_scenario::{LoadConfig, Scenario, name_order};
use lanewise_units::order;
use lanewise_workload::{Enlarge, OnCore};
use schemars::JsonSchema;
use serde::Serialize;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What limits a run, by the time that others waited.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LimitedBy {
    /// Unique name: `server.memory`, `card.upstream` (a wire), `card.tags`, `server.slot1.posted_credits`.
    pub name: String,
    /// `wire`, `credits`, `retry_buffer`, `sequence_window`, `replay_timer`, `errors`, `wake_up`, `tags`, `window`, `request_interval`, `tlp_gap`, `wire_beyond`, `demand`, or the kind of a resource.
    pub kind: &'static str,
    /// Of credits, whose they are: `posted`, `non_posted` or `completion`.
    pub flow_class: Option<&'static str>,
    /// Part of the time: in use where `in_use` says so, else waited for (of errors, lost).
    pub share: f64,
    /// The share is of time in use, rather than of time that others waited for it.
    pub in_use: bool,
    /// Others of the same kind and size that are in the same case, by name.
    pub alike: Vec<String>,
    /// Where it is, and then where those alike are, in their order.
    pub places: Vec<LimitPlace>,
    /// Part of the goodput of all flows of data that it limits.
    pub of_goodput: f64,
    /// What the requester or its link say they wait for, when that is something else: `tags`, `blocked_posted_header`.
    pub seen_as: Option<String>,
    /// The whole in a sentence, without the full stop.
    pub sentence: String,
    /// Edits that make it larger, the likeliest first: what to try. None has been tried.
    pub edits: Vec<Edit>,
}

/// What limits a flow, by the time that it waited.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FlowLimit {
    /// Unique name, as in [`LimitedBy::name`].
    pub name: String,
    /// Kind, as in [`LimitedBy::kind`].
    pub kind: &'static str,
    /// Of credits, whose they are, as in [`LimitedBy::flow_class`].
    pub flow_class: Option<&'static str>,
    /// Where it is.
    pub place: LimitPlace,
    /// Part of the time, as in [`LimitedBy::share`].
    pub share: f64,
    /// Whether that is time in use, as in [`LimitedBy::in_use`].
    pub in_use: bool,
    /// What it is, and how one sees that: `the wire above card, upstream (gen4 x4): in use 100.0 %`.
    pub words: String,
}

/// What limits a run, and each of its flows in their order.
pub(crate) struct Limits {
    pub(crate) run: Option<LimitedBy>,
    pub(crate) flows: Vec<Option<FlowLimit>>,
}

/// Flows that carry less than this part of what the largest does do not decide.
const MINOR: f64 = 0.05;

/// What the results of a run say about a scenario's limits.
struct Evidence<'a> {
    scenario: &'a Scenario,
    results: &'a Results,
    index: HashMap<&'a str, usize>,
    /// By device, the link above it.
    above: Vec<Option<usize>>,
    /// By device, its resources.
    resources: Vec<Vec<&'a Resource>>,
    /// Resources of no device of the fabric.
    common: Vec<&'a Resource>,
    /// Of flows over switches of a network, the resources there that each may use.
    ways: HashMap<String, HashSet<ResourceId>>,
    /// All of those.
    switched: HashSet<ResourceId>,
    requesters: HashMap<&'a str, &'a Requester>,
    /// By flow, and by the device that asks where that matters: the endpoints that it reads from or writes to.
    reached: HashMap<(&'a str, Option<usize>), Vec<usize>>,
    /// Of flows whose load holds itself back, by name: which part of what it may have open is.
    open: HashMap<String, f64>,
    /// Stacks and sockets.
    hosts: Hosts<'a>,
    /// Flows of data that moved.
    moving: Vec<&'a Flow>,
    /// Those of them that carry a fair share of it, by their place there.
    decisive: Vec<usize>,
    /// The first suspect of each of them all; worked out when one is first asked for.
    firsts: OnceCell<Vec<Option<Suspect>>>,
    /// By name of a flow, those through which the same data go.
    transfers: HashMap<String, Vec<String>>,
    /// On which cores the software of flows runs, by their name: host and core.
    cores: HashMap<String, HashSet<(usize, HostPart)>>,
    /// All of those.
    software: HashSet<(usize, HostPart)>,
    /// Devices whose loads hold themselves back; worked out when it is first asked for.
    paced: OnceCell<HashSet<&'a str>>,
    /// The loads, to ask whether they keep anything outstanding at a device.
    loads: RefCell<Vec<Box<dyn LoadConfig>>>,
    /// All flows of data by name, with what their devices have between them.
    ends: BTreeMap<&'a str, Ends<'a>>,
    /// Names of all flows, those too that moved nothing.
    named: HashSet<&'a str>,
    /// Whether bits may arrive wrong on any link.
    errs: bool,
    /// Devices whose links are down for a while because somebody has them leave.
    moved: HashSet<usize>,
}

/// Suspects, those alike together.
struct Groups<'e, 'a> {
    evidence: &'e Evidence<'a>,
    groups: Vec<Group>,
    /// Which group a candidate is in.
    places: HashMap<Candidate, usize>,
}

/// The likely limits; none when nothing moved, and no link was down after errors.
pub(crate) fn limits(scenario: &Scenario, results: &Results) -> Limits {
    let evidence = Evidence::new(scenario, results);
    let run = evidence.likeliest().map(|(group, of_goodput)| evidence.describe(&group, of_goodput));
    Limits { run, flows: evidence.of_flows() }
}

/// That of the run, as candidates that are alike.
pub(crate) fn likeliest(scenario: &Scenario, results: &Results) -> Option<Group> {
    Evidence::new(scenario, results).likeliest().map(|(group, _)| group)
}

/// What might be the limit, the likeliest first: those that one run speaks for, and what is always worth a try.
pub(crate) fn ranking(scenario: &Scenario, results: &Results) -> Vec<Group> {
    let evidence = Evidence::new(scenario, results);
    let mut groups = evidence.first_suspects();
    groups.sort();
    let mut all: Vec<Suspect> = Vec::new();
    let mut known: HashSet<Candidate> = HashSet::new();
    for flow in &evidence.decisive {
        for suspect in evidence.suspects(evidence.moving[*flow]) {
            if known.insert(suspect.candidate.clone()) {
                all.push(suspect);
            }
        }
    }
    order::sort_by(&mut all, |a, b| b.share.total_cmp(&a.share));
    for suspect in all {
        groups.add(suspect, 0.0, None);
    }
    let mut groups: Vec<Group> =
        groups.groups.into_iter().flat_map(|group| evidence.as_windows(group)).collect();
    // What is outstanding at a device, once: where it is waited for most.
    let mut windows = HashSet::new();
    for group in &mut groups {
        group.members.retain(|member| {
            !matches!(member.candidate, Candidate::Device(_, OfDevice::Window))
                || windows.insert(member.candidate.clone())
        });
    }
    groups.retain(|group| !group.members.is_empty());
    groups
}

impl<'a> Evidence<'a> {
    fn new(scenario: &'a Scenario, results: &'a Results) -> Self {
        let fabric = &scenario.fabric;
        let mut above = vec![None; fabric.devices.len()];
        for (index, link) in fabric.links.iter().enumerate() {
            above[link.lower.0] = Some(index);
        }
        let names = fabric.devices.iter().enumerate();
        let index: HashMap<&str, usize> =
            names.map(|(index, device)| (device.name.as_str(), index)).collect();
        let (mut resources, mut common) = (vec![Vec::new(); fabric.devices.len()], Vec::new());
        for resource in &results.resources {
            match resource.id.owner.device() {
                Some(owner) => resources[owner.0 as usize].push(resource),
                None => common.push(resource),
            }
        }
        let all = scenario.workloads.iter().flat_map(|load| load.ways());
        let ways: HashMap<String, HashSet<ResourceId>> =
            all.map(|(flow, used)| (flow, used.into_iter().collect())).collect();
        let switched = ways.values().flatten().cloned().collect();
        let requesters = results.requesters.iter().map(|each| (each.device.as_str(), each)).collect();
        let mut reached: HashMap<_, Vec<usize>> = HashMap::new();
        for each in scenario.workloads.iter().flat_map(|load| load.targets()) {
            let by = each.by.map(|device| device.0 as usize);
            reached.entry((each.flow, by)).or_default().push(each.device.0 as usize);
        }
        let errs = fabric.links.iter().any(has_errors);
        let moving = moving(results);
        let in_turn = scenario.workloads.iter().flat_map(|load| load.in_turn()).collect();
        let ends = by_flow(&moving, &in_turn, &index, &resources);
        let (mut cores, mut software) = (HashMap::new(), HashSet::new());
        for OnCore { flow, host, core } in scenario.workloads.iter().flat_map(|load| load.cores()) {
            let at = (host.0 as usize, core);
            cores.entry(flow).or_insert_with(HashSet::new).insert(at);
            software.insert(at);
        }
        let transfers = transfers(scenario);
        Self {
            scenario,
            results,
            index,
            above,
            resources,
            common,
            ways,
            switched,
            requesters,
            reached,
            open: part_open(scenario, results, &transfers),
            hosts: Hosts::of(fabric),
            decisive: by_name(decisive(&moving, 0..moving.len()), &moving),
            moving,
            firsts: OnceCell::new(),
            transfers,
            cores,
            software,
            paced: OnceCell::new(),
            loads: RefCell::new(scenario.workloads.iter().map(|load| load.boxed()).collect()),
            ends,
            named: results.flows.iter().map(|flow| flow.name.as_str()).collect(),
            errs,
            moved: scenario
                .workloads
                .iter()
                .flat_map(|load| load.moved())
                .map(|each| each.0 as usize)
                .collect(),
        }
    }

    fn fabric(&self) -> &FabricConfig {
        &self.scenario.fabric
    }

    /// The first suspect of each flow that moved, in their order.
    fn firsts(&self) -> &[Option<Suspect>] {
        let first = |flow: &&Flow| select_suspect(self.suspects(flow));
        self.firsts.get_or_init(|| self.moving.iter().map(first).collect())
    }

    /// The first suspect of each flow that decides, alike ones together.
    fn first_suspects(&self) -> Groups<'_, 'a> {
        self.first_suspects_of(&self.decisive)
    }

    fn first_suspects_of(&self, flows: &[usize]) -> Groups<'_, 'a> {
        let mut groups = Groups { evidence: self, groups: Vec::new(), places: HashMap::new() };
        for flow in flows {
            if let Some(suspect) = &self.firsts()[*flow] {
                let flow = self.moving[*flow];
                groups.add(
                    suspect.clone(),
                    weight(flow),
                    self.transfers.contains_key(&flow.name).then_some(&*flow.name),
                );
            }
        }
        groups
    }

    /// Of devices that have nothing to ask for, though nobody holds back what they are asked for: what they are asked for at a time is
    /// all under way, as posted writes are that have left. They are a group of their own, the larger group first.
    fn as_windows(&self, group: Group) -> Vec<Group> {
        let Candidate::Device(device, OfDevice::Demand) = group.members[0].candidate else {
            return vec![group];
        };
        let asked = DeviceId(device as u32);
        let mut loads = self.loads.borrow_mut();
        if !loads.iter_mut().any(|load| load.more_outstanding(asked, &mut Enlarge::new(TIMES)).is_some()) {
            return vec![group]; // Nobody keeps anything outstanding there.
        }
        let all = group.members.len() as f64;
        let paced = self.paced.get_or_init(|| paced(self.scenario, self.results));
        let is_paced = |member: &Suspect| match member.candidate {
            Candidate::Device(device, OfDevice::Demand) => {
                paced.contains(self.fabric().devices[device].name.as_str())
            }
            _ => true,
        };
        let (held, free): (Vec<Suspect>, Vec<Suspect>) = group.members.into_iter().partition(is_paced);
        let as_window = |member: Suspect| match member.candidate {
            Candidate::Device(device, OfDevice::Demand) => {
                Suspect { candidate: Candidate::Device(device, OfDevice::Window), ..member }
            }
            _ => member,
        };
        let free: Vec<Suspect> = free.into_iter().map(as_window).collect();
        let parts = if free.len() > held.len() { [free, held] } else { [held, free] };
        let parts = parts.into_iter().filter(|members| !members.is_empty());
        let of_part = |members: Vec<Suspect>| Group {
            weight: group.weight * members.len() as f64 / all,
            members,
            transfer: group.transfer.clone(),
        };
        parts.map(of_part).collect()
    }

    /// The likely limit, and the part of the goodput that it limits.
    fn likeliest(&self) -> Option<(Group, f64)> {
        self.likeliest_of(&self.decisive)
    }

    /// The same of some flows.
    fn likeliest_of(&self, flows: &[usize]) -> Option<(Group, f64)> {
        let groups = self.first_suspects_of(flows).groups;
        let total: f64 = groups.iter().map(|group| group.weight).sum();
        let first = groups.into_iter().reduce(|best, next| if next.leads(&best) { next } else { best });
        // What a flow waits for beyond its adapter may be the link at the other end.
        let beyond =
            |group: &Group| matches!(group.members[0].candidate, Candidate::Device(_, OfDevice::Beyond));
        if self.results.end_reason == EndName::Stalled || first.as_ref().is_none_or(beyond) {
            let everywhere = (0..self.results.links.len()).flat_map(|link| self.errors(link));
            if let Some(worst) = choose_errors(everywhere) {
                return Some((Group { members: vec![worst], weight: 0.0, transfer: None }, 1.0));
            }
        }
        let first = self.as_windows(first?).into_iter().next()?;
        let of_goodput = first.weight / total.max(f64::MIN_POSITIVE);
        Some((first, of_goodput))
    }

    /// What limits each flow, in the order of the results: one of those through which the same data go, for all of them.
    fn of_flows(&self) -> Vec<Option<FlowLimit>> {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, flow) in self.moving.iter().enumerate() {
            places.entry(flow.name.as_str()).or_default().push(place);
        }
        let mut moving = 0..;
        let mut known: HashMap<&[String], Option<FlowLimit>> = HashMap::new();
        let limit = |flow: &Flow| {
            if flow.direction == CONTROL {
                return None;
            }
            if weight(flow) <= 0.0 {
                return select_suspect(self.suspects_of_starved(flow)).map(|first| self.as_limit(&first));
            }
            let place = moving.next()?;
            let Some(names) = self.transfers.get(&flow.name) else { return self.limit_of(&[place]) };
            let same = || names.iter().filter_map(|name| places.get(name.as_str())).flatten().copied();
            known.entry(names).or_insert_with(|| self.limit_of(&decisive(&self.moving, same()))).clone()
        };
        self.results.flows.iter().map(limit).collect()
    }

    fn limit_of(&self, flows: &[usize]) -> Option<FlowLimit> {
        let (group, _) = self.likeliest_of(flows)?;
        Some(self.as_limit(&group.members[0]))
    }

    fn as_limit(&self, first: &Suspect) -> FlowLimit {
        FlowLimit {
            name: first.candidate.name(self.fabric()),
            kind: first.candidate.kind(),
            flow_class: first.candidate.flow_class(),
            place: first.candidate.place(self.fabric()),
            share: first.share,
            in_use: first.in_use,
            words: format!("{}: {}", first.words(self.fabric()), first.evidence()),
        }
    }

    /// What two candidates of the same kind and size have in common.
    fn words_without_names(&self, suspect: &Suspect) -> (&'static str, String) {
        (suspect.candidate.kind(), suspect.candidate.size(self.fabric(), &suspect.limit))
    }

    fn describe(&self, group: &Group, of_goodput: f64) -> LimitedBy {
        let first = &group.members[0];
        let fabric = self.fabric();
        let alike: Vec<String> =
            group.members[1..].iter().map(|member| member.candidate.name(fabric)).collect();
        let mut what = first.words(fabric);
        if !alike.is_empty() {
            what += &format!(", and {} alike", alike.len());
        }
        let evidence = first.evidence();
        let members: Vec<&Candidate> = group.candidates().collect();
        let seen_as = self.seen_as(group);
        let seen = seen_as.as_ref().map_or(String::new(), |seen| format!(", seen as {seen}"));
        LimitedBy {
            name: first.candidate.name(fabric),
            kind: first.candidate.kind(),
            flow_class: first.candidate.flow_class(),
            share: first.share,
            in_use: first.in_use,
            alike,
            places: group.candidates().map(|candidate| candidate.place(fabric)).collect(),
            of_goodput,
            seen_as,
            sentence: format!("Limited by {what}: {evidence}{seen}"),
            edits: edits(self.scenario, self.results, &members),
        }
    }

    /// What a requester or a link of a flow that it limits says it waits for most, when the limit is a resource.
    fn seen_as(&self, group: &Group) -> Option<String> {
        let Candidate::Resource { .. } = group.members[0].candidate else { return None };
        let is_it = |suspect: &Suspect| group.candidates().any(|member| *member == suspect.candidate);
        let is_limited = |flow: &&usize| self.firsts()[**flow].as_ref().is_some_and(is_it);
        let is_wait = |other: &Suspect| {
            let is_demand = matches!(other.candidate, Candidate::Device(_, OfDevice::Demand));
            !is_it(other) && !other.in_use && !other.is_cache() && !is_demand
        };
        let limited = self.decisive.iter().filter(is_limited);
        let waits = limited.flat_map(|flow| self.suspects(self.moving[*flow])).filter(is_wait);
        let most = waits.max_by(|a, b| a.share.total_cmp(&b.share))?;
        (most.share >= 0.1)
            .then(|| format!("{} {:.1} %", most.candidate.name(self.fabric()), most.share * 100.0))
    }
}

impl Groups<'_, '_> {
    /// Adds a suspect to the group of those alike, if there is one; of a flow of this weight, and of the transfer of that name.
    fn add(&mut self, suspect: Suspect, weight: f64, transfer: Option<&str>) {
        if let Some(at) = self.places.get(&suspect.candidate) {
            self.groups[*at].join(weight, transfer);
            return;
        }
        let words = self.evidence.words_without_names(&suspect);
        let alike = |group: &Group| {
            let first = &group.members[0];
            (first.share - suspect.share).abs() <= ALIKE && self.evidence.words_without_names(first) == words
        };
        let at = self.groups.iter().position(alike).unwrap_or_else(|| {
            self.groups.push(Group {
                members: Vec::new(),
                weight: 0.0,
                transfer: transfer.map(str::to_owned),
            });
            self.groups.len() - 1
        });
        self.places.insert(suspect.candidate.clone(), at);
        self.groups[at].join(weight, transfer);
        self.groups[at].members.push(suspect);
    }

    /// Those of most weight first.
    fn sort(&mut self) {
        order::sort_by(&mut self.groups, |a, b| b.weight.total_cmp(&a.weight));
        let numbered = self.groups.iter().enumerate();
        self.places = numbered
            .flat_map(|(at, group)| group.members.iter().map(move |member| (member.candidate.clone(), at)))
            .collect();
    }
}

/// Flows of data that moved.
fn moving(results: &Results) -> Vec<&Flow> {
    results.flows.iter().filter(|flow| flow.direction != CONTROL && weight(flow) > 0.0).collect()
}

/// Those of some of them that carry a fair share of what these do.
fn decisive(moving: &[&Flow], places: impl Iterator<Item = usize> + Clone) -> Vec<usize> {
    let largest = places.clone().map(|place| weight(moving[place])).fold(0.0, f64::max);
    places.filter(|place| weight(moving[*place]) >= MINOR * largest).collect()
}

/// The same in the order of their names, whatever their order in the file: of several that are limited alike, the first is named.
fn by_name(mut places: Vec<usize>, moving: &[&Flow]) -> Vec<usize> {
    order::sort_by_key(&mut places, |place| (name_order(&moving[*place].name), moving[*place].direction));
    places
}

/// By name of a flow, those through which the same data go.
fn transfers(scenario: &Scenario) -> HashMap<String, Vec<String>> {
    let all = scenario.workloads.iter().flat_map(|load| load.transfers());
    all.flat_map(|names| names.clone().into_iter().map(move |name| (name, names.clone()))).collect()
}

fn has_errors(link: &LinkConfig) -> bool {
    link.faults_upstream.bit_error_rate > 0.0 || link.faults_downstream.bit_error_rate > 0.0
}

/// Payload of a flow, or its operations when it moves none.
fn weight(flow: &Flow) -> f64 {
    if flow.bytes > 0 { flow.goodput_gb_per_s } else { flow.operations_per_s / 1e9 }
}
