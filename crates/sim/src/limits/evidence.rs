//! From the results of one run, what was in use or waited for, and so the likely limit.

use super::Candidate;
use super::candidate::{direction, tags};
use super::edits::{Edit, copies_of, edits, paced};
use super::ends::{Ends, by_flow};
use super::enlarge::TIMES;
use super::open::part_open;
use super::ways::Hosts;
use crate::EndName;
use crate::results::{Flow, Link, Requester, Resource, Results};
use lanewise_fabric::ResourceKind;
use lanewise_fabric::config::{DeviceKind, FabricConfig, LinkConfig};
use lanewise_fabric::workload::DeviceId;
use lanewise_observe::CONTROL;
use lanewise_pcie::tlp::FlowClass;
use lanewise_scenario::{LoadConfig, Scenario};
use lanewise_units::order;
use lanewise_workload::Larger;
use lanewise_workload::load::mmio::{MmioConfig, Pacing};
use lanewise_workload::load::turnaround::TurnaroundConfig;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What limits a run, by the time that others waited.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LimitedBy {
    /// Unique name: `server.memory`, `card.upstream` (a wire), `card.tags`, `server.slot1.posted_credits`.
    pub name: String,
    /// `wire`, `credits`, `retry_buffer`, `replay_timer`, `errors`, `tags`, `window`, `request_interval`, `tlp_gap`, `demand`, or the kind of a resource.
    pub kind: &'static str,
    /// Part of the time: in use where `in_use` says so, else waited for (of errors, lost).
    pub share: f64,
    /// The share is of time in use, rather than of time that others waited for it.
    pub in_use: bool,
    /// Others of the same kind and size that are in the same case, by name.
    pub alike: Vec<String>,
    /// Part of the goodput of all flows of data that it limits.
    pub of_goodput: f64,
    /// What the requester or its link say they wait for, when that is something else: `tags`, `blocked_posted_header`.
    pub seen_as: Option<String>,
    /// The whole in a sentence, without the full stop.
    pub sentence: String,
    /// Edits that make it larger, the likeliest first: what to try. None has been tried.
    pub edits: Vec<Edit>,
}

/// A candidate and the share of the time that speaks for it.
#[derive(Clone, Debug)]
pub(crate) struct Suspect {
    pub(crate) candidate: Candidate,
    pub(crate) share: f64,
    /// The share is of time in use, rather than of time that requests waited for it.
    pub(crate) in_use: bool,
    /// Of a wire: requests wait for it most of the time, however much it is used. Of software of copies: the device waits for it.
    contended: bool,
    /// Of credits and buffers: the part of the time in which their link direction, or wire, is in use or blocked.
    pub(crate) occupied: f64,
    /// How much there is of a resource, or is open of a load that holds itself back.
    limit: String,
}

/// Candidates of the same kind and size with close shares: enlarged together.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) members: Vec<Suspect>,
    /// Goodput of the flows that it is the first suspect of.
    weight: f64,
}

/// In use for more of the time than this, no other part can bring more than a ninth.
pub(crate) const SATURATED: f64 = 0.9;
/// Uses that differ by less are the same.
const TIE: f64 = 0.005;
/// Shares of alike candidates that differ by less.
const ALIKE: f64 = 0.05;
/// Flows that carry less than this part of what the largest does do not decide.
const MINOR: f64 = 0.05;
/// Requests that wait for their port wait for its wire when that is in use for more of the time; else for what lies behind.
const CONTENDED: f64 = 0.7;
/// A wire that is in use for more of the time in which its device is asked for anything never lacks work then.
const NEVER_WITHOUT: f64 = 0.95;
/// A wire that a requester waits for in less of the time does not hold it up.
const LEAST_BLOCKED: f64 = 0.3;
/// Credits, or silence after TLPs, that are waited for in less of the time are not what keeps a link direction from being free: more
/// of them brings what is waited, over what the wire is used, which is a sixth here and no more than what the wire itself would.
const LEAST_SHORT: f64 = 0.15;
/// Credits that are waited for in less of the time hold nothing back.
pub(crate) const LEAST_HELD: f64 = 0.02;
/// In use or blocked for more of the time, a direction is never free.
pub(crate) const NEVER_FREE: f64 = 0.98;
/// A state that a requester is in for more of the time.
const MOSTLY: f64 = 0.5;

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
    ways: HashMap<String, HashSet<String>>,
    /// All of those.
    switched: HashSet<String>,
    requesters: HashMap<&'a str, &'a Requester>,
    /// By flow, and by the device that asks where that matters: the endpoints that it reads from or writes to.
    reached: HashMap<(&'a str, Option<usize>), Vec<usize>>,
    /// Loads of two kinds, by name.
    turnarounds: HashMap<&'a str, &'a TurnaroundConfig>,
    registers: HashMap<&'a str, &'a MmioConfig>,
    /// Of flows whose load holds itself back, by name: which part of what it may have open is.
    open: HashMap<String, f64>,
    /// Stacks and sockets.
    hosts: Hosts<'a>,
    /// Flows of data that carry a fair share of it.
    decisive: Vec<&'a Flow>,
    /// The same by name, with what their devices have between them.
    ends: BTreeMap<&'a str, Ends<'a>>,
    /// Whether bits may arrive wrong on any link.
    errs: bool,
}

/// Suspects, those alike together.
struct Groups<'e, 'a> {
    evidence: &'e Evidence<'a>,
    groups: Vec<Group>,
    /// Which group a candidate is in.
    places: HashMap<Candidate, usize>,
}

/// The likely limit; none when nothing moved, and no link was down after errors.
pub(crate) fn limited_by(scenario: &Scenario, results: &Results) -> Option<LimitedBy> {
    let evidence = Evidence::new(scenario, results);
    evidence.likeliest().map(|(group, of_goodput)| evidence.describe(&group, of_goodput))
}

/// The same, as candidates that are alike.
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
        for suspect in evidence.suspects(flow) {
            if known.insert(suspect.candidate.clone()) {
                all.push(suspect);
            }
        }
    }
    order::sort_by(&mut all, |a, b| b.share.total_cmp(&a.share));
    for suspect in all {
        groups.add(suspect, 0.0);
    }
    let mut groups: Vec<Group> =
        groups.groups.into_iter().flat_map(|group| evidence.as_windows(group)).collect();
    // What is outstanding at a device, once: where it is waited for most.
    let mut windows = HashSet::new();
    for group in &mut groups {
        group.members.retain(|member| {
            !matches!(member.candidate, Candidate::Window { .. }) || windows.insert(member.candidate.clone())
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
            match resource.name.split('.').next().and_then(|name| index.get(name)) {
                Some(owner) => resources[*owner].push(resource),
                None => common.push(resource),
            }
        }
        let all = scenario.workloads.iter().flat_map(|load| load.ways());
        let ways: HashMap<String, HashSet<String>> =
            all.map(|(flow, used)| (flow, used.into_iter().collect())).collect();
        let switched = ways.values().flatten().cloned().collect();
        let requesters = results.requesters.iter().map(|each| (each.device.as_str(), each)).collect();
        let mut reached: HashMap<_, Vec<usize>> = HashMap::new();
        for each in scenario.workloads.iter().flat_map(|load| load.targets()) {
            let by = each.by.map(|device| device.0 as usize);
            reached.entry((each.flow, by)).or_default().push(each.device.0 as usize);
        }
        let (decisive, errs) = (decisive(results), fabric.links.iter().any(has_errors));
        let ends = by_flow(&decisive, &index, &resources);
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
            turnarounds: by_name(scenario, |load: &TurnaroundConfig| &load.name),
            registers: by_name(scenario, |load: &MmioConfig| &load.name),
            open: part_open(scenario, results),
            hosts: Hosts::of(fabric),
            decisive,
            ends,
            errs,
        }
    }

    fn fabric(&self) -> &FabricConfig {
        &self.scenario.fabric
    }

    /// The first suspect of each flow that decides, alike ones together.
    fn first_suspects(&self) -> Groups<'_, 'a> {
        let mut groups = Groups { evidence: self, groups: Vec::new(), places: HashMap::new() };
        for flow in &self.decisive {
            if let Some(suspect) = select_suspect(self.suspects(flow)) {
                groups.add(suspect, weight(flow));
            }
        }
        groups
    }

    /// Of devices that have nothing to ask for, though nobody holds back what they are asked for: what they are asked for at a time is
    /// all under way, as posted writes are that have left. They are a group of their own, the larger group first.
    fn as_windows(&self, group: Group) -> Vec<Group> {
        let Candidate::Demand { device } = group.members[0].candidate else { return vec![group] };
        let asked = DeviceId(device as u32);
        let mut loads = self.scenario.workloads.iter().map(|load| load.boxed());
        if !loads.any(|mut load| load.deepen(asked, &mut Larger::new(TIMES)).is_some()) {
            return vec![group]; // Nobody keeps anything outstanding there.
        }
        let all = group.members.len() as f64;
        let paced = paced(self.scenario, self.results);
        let is_paced = |member: &Suspect| match member.candidate {
            Candidate::Demand { device } => paced.contains(self.fabric().devices[device].name.as_str()),
            _ => true,
        };
        let (held, free): (Vec<Suspect>, Vec<Suspect>) = group.members.into_iter().partition(is_paced);
        let as_window = |member: Suspect| match member.candidate {
            Candidate::Demand { device } => Suspect { candidate: Candidate::Window { device }, ..member },
            _ => member,
        };
        let free: Vec<Suspect> = free.into_iter().map(as_window).collect();
        let parts = if free.len() > held.len() { [free, held] } else { [held, free] };
        let parts = parts.into_iter().filter(|members| !members.is_empty());
        parts.map(|members| Group { weight: group.weight * members.len() as f64 / all, members }).collect()
    }

    /// The likely limit, and the part of the goodput that it limits.
    fn likeliest(&self) -> Option<(Group, f64)> {
        let groups = self.first_suspects().groups;
        let total: f64 = groups.iter().map(|group| group.weight).sum();
        let first = groups.into_iter().reduce(|best, next| if next.leads(&best) { next } else { best });
        // What a flow waits for beyond its adapter may be the link at the other end.
        let beyond = |group: &Group| matches!(group.members[0].candidate, Candidate::Beyond { .. });
        if self.results.end_reason == EndName::Stalled || first.as_ref().is_none_or(beyond) {
            let everywhere = (0..self.results.links.len()).flat_map(|link| self.errors(link));
            if let Some(worst) = choose_errors(everywhere) {
                return Some((Group { members: vec![worst], weight: 0.0 }, 1.0));
            }
        }
        let first = self.as_windows(first?).into_iter().next()?;
        let of_goodput = first.weight / total.max(f64::MIN_POSITIVE);
        Some((first, of_goodput))
    }

    /// What two candidates of the same kind and size have in common.
    fn words_without_names(&self, suspect: &Suspect) -> (&'static str, String) {
        let fabric = self.fabric();
        let size = match &suspect.candidate {
            Candidate::Wire { link, upstream } => {
                let mode = fabric.links[*link].mode;
                format!("{} {} {}", mode.generation, mode.width, direction(*upstream))
            }
            Candidate::Credits { upstream, class, .. } => format!("{class} {}", direction(*upstream)),
            Candidate::Errors { upstream, .. } => direction(*upstream).to_owned(),
            Candidate::Tags { device } => match &fabric.devices[*device].kind {
                DeviceKind::Endpoint(endpoint) => tags(endpoint).0.to_string(),
                DeviceKind::RootComplex(_) | DeviceKind::Switch(_) => String::new(),
            },
            Candidate::Resource { .. } => suspect.limit.clone(),
            Candidate::RetryBuffer { .. }
            | Candidate::ReplayTimer { .. }
            | Candidate::Window { .. }
            | Candidate::RequestInterval { .. }
            | Candidate::TlpGap { .. }
            | Candidate::MemoryLatency { .. }
            | Candidate::SwitchLatency { .. }
            | Candidate::Beyond { .. }
            | Candidate::Demand { .. } => String::new(),
        };
        (suspect.candidate.kind(), size)
    }

    /// Devices of a flow, and those that it reads from or writes to, each with every device above it.
    fn devices(&self, flow: &Flow) -> Vec<usize> {
        let own: Vec<usize> =
            flow.device.split('+').filter_map(|name| self.index.get(name).copied()).collect();
        let askers = own.iter().copied().map(Some).chain([None]);
        let reached = askers.filter_map(|by| self.reached.get(&(flow.name.as_str(), by))).flatten().copied();
        let ends: Vec<usize> = own.iter().copied().chain(reached).collect();
        let mut devices = Vec::new();
        for end in ends {
            let mut at = end;
            while !devices.contains(&at) {
                devices.push(at);
                let Some(link) = self.above[at] else { break };
                at = self.fabric().links[link].upper.0;
            }
        }
        devices
    }

    /// Devices of the host at the other end, if a device of the flow waits for the wire between them: the other end has a flow of
    /// the same workload, and what takes the messages there may be why the wire does not.
    fn far_devices(&self, flow: &Flow, near: &[usize]) -> Vec<usize> {
        let waits = |name: &str| {
            let requester = self.requesters.get(name);
            requester.is_some_and(|each| share_of(&each.time_attribution, "wire") >= LEAST_BLOCKED)
        };
        if !flow.device.split('+').any(waits) {
            return Vec::new();
        }
        let others = self.ends[flow.name.as_str()].flows.iter().map(|other| self.devices(other));
        // Not those of the same host: they carry another part of the workload.
        let mut far: Vec<usize> =
            others.filter(|other| !other.iter().any(|device| near.contains(device))).flatten().collect();
        far.sort_unstable();
        far.dedup();
        far
    }

    /// What may limit a flow: everything on its way, with the share of the time that speaks for it.
    fn suspects(&self, flow: &Flow) -> Vec<Suspect> {
        let mut devices = self.devices(flow);
        let far = self.far_devices(flow, &devices);
        devices.extend(&far);
        let mut found = Vec::new();
        for link in devices.iter().filter_map(|device| self.above[*device]) {
            self.suspects_of_link(link, &mut found);
        }
        let ways = self.hosts.ways(&devices, &self.above);
        let owned = devices.iter().flat_map(|device| &self.resources[*device]);
        let owned = owned.filter(|resource| ways.meet(resource));
        let mine = self.ways.get(&flow.name);
        let on_the_way = |resource: &&&Resource| {
            let is_way = !self.switched.contains(&resource.name)
                || mine.is_some_and(|mine| mine.contains(&resource.name));
            is_way && self.load_of_cores(resource).is_none_or(|load| load == flow.name)
        };
        let common = self.common.iter().filter(on_the_way);
        let Ends { flows, carried, buffers } = &self.ends[flow.name.as_str()];
        for resource in owned.chain(common).chain(buffers) {
            let candidate = Candidate::Resource { name: resource.name.clone(), kind: resource.kind };
            let suspect = match resource.kind {
                // A buffer on the way is full because of what lies behind it, which is in use then.
                ResourceKind::NetworkBuffer | ResourceKind::SwitchStorage => {
                    Suspect::waited_for(candidate, resource.waiting_mean.unwrap_or(0.0))
                }
                kind if kind.keeps_translations() => {
                    Suspect::waited_for(candidate, resource.waiting_mean.unwrap_or(0.0).min(1.0))
                }
                ResourceKind::AdapterBuffer | ResourceKind::OutstandingReads => {
                    // Of several queue pairs several may wait, for no more of the time than all places are taken.
                    let most =
                        if resource.kind == ResourceKind::AdapterBuffer { 1.0 } else { resource.utilisation };
                    let blocked = resource.waiting_mean.unwrap_or(0.0).min(most);
                    Suspect {
                        occupied: carried.unwrap_or(0.0) + blocked,
                        ..Suspect::waited_for(candidate, blocked)
                    }
                }
                // All of them are taken whatever it is that takes long: so is the fetch of commands while host memory answers late.
                ResourceKind::LineBuffers | ResourceKind::CommandFetch => {
                    Suspect::waited_for(candidate, resource.utilisation)
                }
                // These are full, too, where the wires behind them are in use all the time: then those are the limit.
                ResourceKind::CxlCredits | ResourceKind::OutboundQueue => {
                    let blocked = resource.waiting_mean.unwrap_or(0.0).min(resource.utilisation);
                    Suspect { occupied: 1.0, ..Suspect::waited_for(candidate, blocked) }
                }
                _ => Suspect::in_use(candidate, resource.utilisation),
            };
            // While software is busy with a copy the device has nothing to do, for no other reason.
            let contended = copies_of(self.scenario, &resource.name).is_some();
            found.push(Suspect { contended, limit: resource.limit.clone(), ..suspect });
        }
        self.suspects_of_load(flow, &mut found);
        // What comes late was asked for late, or sent late, at the other end.
        let index = |name: &str| self.index.get(name).is_some_and(|device| far.contains(device));
        let there = |other: &&&Flow| other.device.split('+').any(index);
        flows.iter().filter(there).for_each(|other| self.suspects_of_load(other, &mut found));
        if self.errs {
            // The adapter at the other end has a flow of the same workload.
            let others = self.results.flows.iter().filter(|other| other.name == flow.name);
            let links = others.flat_map(|other| self.devices(other)).filter_map(|device| self.above[device]);
            found.extend(links.flat_map(|link| self.errors(link)));
        }
        found
    }

    /// What asks, and how much at a time.
    fn suspects_of_load(&self, flow: &Flow, found: &mut Vec<Suspect>) {
        if let Some(test) = self.turnarounds.get(flow.name.as_str()) {
            // One at a time, and pauses between them; while the host answers, the device has nothing to ask for.
            let device = test.device.0 as usize;
            let time = flow.latency_ns.mean + test.unseen.as_ns();
            let under_way = (flow.operations_per_s * time / 1e9).min(1.0);
            found.push(Suspect::waited_for(Candidate::Window { device }, under_way));
            return found.push(Suspect::waited_for(Candidate::Demand { device }, 1.0 - under_way));
        }
        let registers = self.registers.get(flow.name.as_str());
        match registers.map(|load| (load, load.pacing)) {
            // The processor asks, and not the device: all the time but its own for each access.
            Some((load, Pacing::Closed { outstanding })) => {
                let own = flow.operations_per_s * load.cost.as_seconds() / f64::from(outstanding);
                let device = load.device.0 as usize;
                found.push(Suspect::waited_for(Candidate::Window { device }, (1.0 - own).max(0.0)));
            }
            Some((_, Pacing::Combining { .. })) => {}
            Some((_, Pacing::Open { .. })) | None => {
                for device in flow.device.split('+').filter_map(|name| self.index.get(name).copied()) {
                    self.suspects_of_requester(flow, device, found);
                }
            }
        }
    }

    /// Of cores that one load has to itself, and of their lines, the name of the load: they hold up no other.
    fn load_of_cores<'r>(&self, resource: &'r Resource) -> Option<&'r str> {
        let load = resource.name.strip_suffix(".lines").or_else(|| resource.name.strip_suffix(".core"))?;
        self.results.flows.iter().any(|flow| flow.name == load).then_some(load)
    }

    /// Directions of a link on which bits may arrive wrong, with the time lost by it: the link trains again, or sends again.
    fn errors(&self, link: usize) -> impl Iterator<Item = Suspect> {
        let (config, measured) = (&self.fabric().links[link], &self.results.links[link]);
        let sides = [
            (true, &config.faults_upstream, &measured.upstream),
            (false, &config.faults_downstream, &measured.downstream),
        ];
        sides.into_iter().filter(|(_, faults, _)| faults.bit_error_rate > 0.0).map(
            move |(upstream, _, side)| {
                let lost =
                    share_of(&side.time_attribution, "down") + share_of(&side.time_attribution, "replay");
                Suspect::waited_for(Candidate::Errors { link, upstream }, lost)
            },
        )
    }

    fn suspects_of_link(&self, link: usize, found: &mut Vec<Suspect>) {
        let measured: &Link = &self.results.links[link];
        for upstream in [true, false] {
            let side = if upstream { &measured.upstream } else { &measured.downstream };
            let share = |on: &str| share_of(&side.time_attribution, on);
            // Without bit errors, what is sent again had arrived: the timer was too short, and the wire is not what lacks.
            let faults = &self.fabric().links[link];
            let needless = if has_errors(faults) { 0.0 } else { share("replay") };
            // A wire that is down or wakes is of no use to any flow, either.
            let busy = side.utilisation - needless + share("down") + share("waking");
            found.push(Suspect::in_use(Candidate::Wire { link, upstream }, busy));
            let classes = [
                (FlowClass::Posted, "posted"),
                (FlowClass::NonPosted, "non_posted"),
                (FlowClass::Completion, "completion"),
            ];
            for (class, name) in classes {
                let blocked =
                    share(&format!("blocked_{name}_header")) + share(&format!("blocked_{name}_data"));
                let credits = Suspect::waited_for(Candidate::Credits { link, upstream, class }, blocked);
                found.push(Suspect { occupied: busy + blocked, ..credits });
            }
            let of_replay = [
                (Candidate::RetryBuffer { link, upstream }, share("blocked_retry_buffer")),
                (Candidate::ReplayTimer { link, upstream }, needless),
            ];
            let occupied = busy + of_replay.iter().map(|(_, share)| share).sum::<f64>();
            found.extend(
                of_replay
                    .map(|(candidate, share)| Suspect { occupied, ..Suspect::waited_for(candidate, share) }),
            );
        }
    }

    fn suspects_of_requester(&self, flow: &Flow, device: usize, found: &mut Vec<Suspect>) {
        let name = &self.fabric().devices[device].name;
        let Some(Requester { time_attribution, .. }) = self.requesters.get(name.as_str()) else { return };
        let share = |state: &str| share_of(time_attribution, state);
        found.push(Suspect::waited_for(Candidate::Tags { device }, share("tags")));
        // What a device waits for inside while nothing there is at its limit is how much it is asked for at a time.
        let mut inside: f64 = ["window", "device", "media", "cpu"].map(share).into_iter().sum();
        // Without a pace of its own, a request that does not start waits for its data on the device's own path.
        let is_paced = match &self.fabric().devices[device].kind {
            DeviceKind::Endpoint(endpoint) => {
                let own = match flow.direction {
                    "write" => endpoint.dma.write_interval,
                    _ => endpoint.dma.read_interval,
                };
                !endpoint.request_interval.is_zero() || !own.is_zero()
            }
            DeviceKind::RootComplex(_) | DeviceKind::Switch(_) => true,
        };
        let held_back = share("request_interval");
        if !is_paced {
            inside += held_back;
        }
        // For the rest of that time it waits for what is on its way, and not for the rate at which it comes.
        let beyond =
            self.ends[flow.name.as_str()].carried.map_or(share("wire"), |carried| share("wire").min(carried));
        inside += share("wire") - beyond;
        // What a load has open waits there; what it has not waits for the load.
        let open = self.open.get(&flow.name).copied();
        inside *= open.unwrap_or(1.0);
        found.push(Suspect::waited_for(Candidate::Window { device }, inside));
        found.push(Suspect::waited_for(Candidate::Beyond { device }, beyond));
        // Requests that wait for the port wait for what its wire is used for, or for credits. A wire that is in use whenever anything
        // is asked for is what all of it waits for.
        let (waits, asked) = (share("port") > MOSTLY, 1.0 - share("nothing_asked"));
        for wire in found.iter_mut().filter(|suspect| suspect.share >= CONTENDED) {
            if let Candidate::Wire { link, upstream } = wire.candidate
                && self.above[device] == Some(link)
            {
                wire.contended |= upstream && waits || wire.share >= NEVER_WITHOUT * asked;
            }
        }
        if is_paced {
            found.push(Suspect::waited_for(Candidate::RequestInterval { device }, held_back));
        }
        if let Some(link) = self.above[device] {
            let upstream = &self.results.links[link].upstream;
            let silent = share_of(&upstream.time_attribution, "tlp_gap");
            let gap = Suspect::waited_for(Candidate::TlpGap { device }, silent);
            found.push(Suspect { occupied: upstream.utilisation + silent, ..gap });
        }
        let demand = Candidate::Demand { device };
        let Some(open) = open else {
            let is_software = |suspect: &&Suspect| {
                suspect.contended && matches!(suspect.candidate, Candidate::Resource { .. })
            };
            let software = found.iter().filter(is_software).map(|suspect| suspect.share).fold(0.0, f64::max);
            let idle = (share("nothing_asked") - software).max(0.0);
            return found.push(Suspect::waited_for(demand, idle));
        };
        let limit = format!("no more than {:.1} % of what may be outstanding is", open * 100.0);
        found.push(Suspect { limit, ..Suspect::waited_for(demand, 1.0 - open) });
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
        let percent = first.share * 100.0;
        let evidence = match &first.candidate {
            Candidate::Demand { .. } if !first.limit.is_empty() => first.limit.clone(),
            Candidate::Demand { .. } => format!("nothing to do {percent:.1} % of the time"),
            Candidate::Tags { .. } => format!("all in use {percent:.1} %"),
            Candidate::Window { .. } => format!("all of it under way {percent:.1} %"),
            Candidate::Errors { .. } => format!("it trains again or sends again {percent:.1} % of the time"),
            Candidate::ReplayTimer { .. } => {
                format!("it sends again what has arrived {percent:.1} % of the time")
            }
            _ if first.in_use => format!("in use {percent:.1} %"),
            _ => format!("waited for {percent:.1} %"),
        };
        let members: Vec<&Candidate> = group.members.iter().map(|member| &member.candidate).collect();
        let seen_as = self.seen_as(first);
        let seen = seen_as.as_ref().map_or(String::new(), |seen| format!(", seen as {seen}"));
        LimitedBy {
            name: first.candidate.name(fabric),
            kind: first.candidate.kind(),
            share: first.share,
            in_use: first.in_use,
            alike,
            of_goodput,
            seen_as,
            sentence: format!("Limited by {what}: {evidence}{seen}"),
            edits: edits(self.scenario, self.results, &members),
        }
    }

    /// What a requester or a link says it waits for most, when the limit is a resource.
    fn seen_as(&self, suspect: &Suspect) -> Option<String> {
        let Candidate::Resource { .. } = suspect.candidate else { return None };
        let is_wait = |other: &Suspect| {
            let itself = other.candidate == suspect.candidate;
            !itself
                && !other.in_use
                && !other.is_cache()
                && !matches!(other.candidate, Candidate::Demand { .. })
        };
        let waits = self.decisive.iter().flat_map(|flow| self.suspects(flow)).filter(is_wait);
        let most = waits.max_by(|a, b| a.share.total_cmp(&b.share))?;
        (most.share >= 0.1)
            .then(|| format!("{} {:.1} %", most.candidate.name(self.fabric()), most.share * 100.0))
    }
}

impl Groups<'_, '_> {
    /// Adds a suspect to the group of those alike, if there is one.
    fn add(&mut self, suspect: Suspect, weight: f64) {
        if let Some(at) = self.places.get(&suspect.candidate) {
            self.groups[*at].weight += weight;
            return;
        }
        let words = self.evidence.words_without_names(&suspect);
        let alike = |group: &Group| {
            let first = &group.members[0];
            (first.share - suspect.share).abs() <= ALIKE && self.evidence.words_without_names(first) == words
        };
        let at = self.groups.iter().position(alike).unwrap_or_else(|| {
            self.groups.push(Group { members: Vec::new(), weight: 0.0 });
            self.groups.len() - 1
        });
        self.places.insert(suspect.candidate.clone(), at);
        self.groups[at].weight += weight;
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

impl Suspect {
    fn in_use(candidate: Candidate, share: f64) -> Self {
        Self { candidate, share, in_use: true, contended: false, occupied: 0.0, limit: String::new() }
    }

    fn waited_for(candidate: Candidate, share: f64) -> Self {
        Self { candidate, share, in_use: false, contended: false, occupied: 0.0, limit: String::new() }
    }

    /// Whether these are credits that keep a wire, which is in use nearly all the time, from being in use for the rest of it.
    fn holds_back(&self, wire: &Self) -> bool {
        let (Candidate::Credits { link, upstream, .. }, Candidate::Wire { link: used, upstream: way }) =
            (&self.candidate, &wire.candidate)
        else {
            return false;
        };
        (link, upstream) == (used, way) && self.share >= LEAST_HELD && self.occupied >= NEVER_FREE
    }

    /// How far behind the limit it may be, where all wait as long: what works, then what is taken while something else works, then what
    /// is outstanding or asked, which all of those hold up.
    fn depth(&self) -> u8 {
        match self.candidate {
            Candidate::Resource { kind, .. } if kind.is_held() => 1,
            Candidate::Window { .. } | Candidate::Demand { .. } => 2,
            _ => 0,
        }
    }

    /// Whether room in it is kept for what is still being read: it is full, too, where tags or memory are why that takes long.
    fn keeps_room(&self) -> bool {
        use ResourceKind::{AdapterBuffer, OutstandingReads};
        matches!(self.candidate, Candidate::Resource { kind: AdapterBuffer | OutstandingReads, .. })
    }

    /// Whether it is a cache of translations, which is tried and never named without a proof.
    fn is_cache(&self) -> bool {
        matches!(self.candidate, Candidate::Resource { kind, .. } if kind.keeps_translations())
    }

    /// What it is, in words.
    pub(crate) fn words(&self, fabric: &FabricConfig) -> String {
        self.candidate.words(fabric, &self.limit)
    }
}

impl Group {
    /// Candidates that no share of time speaks for, as one group; none when there are none.
    pub(crate) fn of(candidates: impl Iterator<Item = Candidate>) -> Option<Self> {
        let members: Vec<Suspect> = candidates.map(|one| Suspect::waited_for(one, 0.0)).collect();
        (!members.is_empty()).then_some(Self { members, weight: 0.0 })
    }

    /// Whether it limits more than another, or as much and is in use all the time, where the other is not: of the two ends of a
    /// transfer, which have a flow each, one may see no more than that its data leave slowly.
    fn leads(&self, other: &Self) -> bool {
        let is_saturated = |group: &Self| group.members[0].in_use && group.members[0].share >= SATURATED;
        let close = (self.weight - other.weight).abs() <= ALIKE * self.weight.max(other.weight);
        match (close, is_saturated(self), is_saturated(other)) {
            (true, true, false) => true,
            (true, false, true) => false,
            _ => self.weight > other.weight,
        }
    }

    /// What it consists of.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.members.iter().map(|member| &member.candidate)
    }

    /// Highest share of its members.
    pub(crate) fn share(&self) -> f64 {
        self.members.iter().map(|member| member.share).fold(0.0, f64::max)
    }
}

/// The loads of a kind by their names, which are those of their flows.
fn by_name<K: LoadConfig>(scenario: &Scenario, name: impl Fn(&K) -> &str) -> HashMap<&str, &K> {
    let loads = scenario.workloads.iter().filter_map(|load| load.of_kind::<K>());
    loads.map(|load| (name(load), load)).collect()
}

/// Flows of data that carry a fair share of it.
fn decisive(results: &Results) -> Vec<&Flow> {
    let data: Vec<&Flow> = results.flows.iter().filter(|flow| flow.direction != CONTROL).collect();
    let largest = data.iter().map(|flow| weight(flow)).fold(0.0, f64::max);
    data.into_iter().filter(|flow| weight(flow) > 0.0 && weight(flow) >= MINOR * largest).collect()
}

fn has_errors(link: &LinkConfig) -> bool {
    link.faults_upstream.bit_error_rate > 0.0 || link.faults_downstream.bit_error_rate > 0.0
}

/// Payload of a flow, or its operations when it moves none.
fn weight(flow: &Flow) -> f64 {
    if flow.bytes > 0 { flow.goodput_gb_per_s } else { flow.operations_per_s / 1e9 }
}

fn share_of(shares: &Map<String, Value>, name: &str) -> f64 {
    shares.get(name).and_then(Value::as_f64).unwrap_or(0.0)
}

/// Errors that cost more than half of the time: whatever else waits, waits for what does not get through.
fn choose_errors(suspects: impl Iterator<Item = Suspect>) -> Option<Suspect> {
    let errors = suspects
        .filter(|suspect| matches!(suspect.candidate, Candidate::Errors { .. }) && suspect.share > MOSTLY);
    errors.reduce(|worst, next| if next.share > worst.share { next } else { worst })
}

/// The first suspect: errors that cost most of the time; else what is in use nearly all the time, a wire before others as much in use; else the credits that keep a link
/// direction blocked whenever it is not in use: it is never free, and what a device has outstanding waits there; else what is
/// waited for most.
fn select_suspect(mut suspects: Vec<Suspect>) -> Option<Suspect> {
    suspects.retain(|suspect| !suspect.is_cache());
    if let Some(errors) = choose_errors(suspects.iter().cloned()) {
        return Some(errors);
    }
    let in_use = suspects.iter().filter(|suspect| suspect.in_use);
    let used = in_use.map(|suspect| suspect.share).fold(0.0, f64::max);
    fn most<'a>(best: &'a Suspect, next: &'a Suspect) -> &'a Suspect {
        if next.share > best.share { next } else { best }
    }
    if used < SATURATED {
        let never_free = |suspect: &&Suspect| suspect.occupied >= SATURATED && suspect.share >= LEAST_SHORT;
        let waits = suspects.iter().filter(|suspect| !suspect.in_use || suspect.contended);
        let blocked = suspects.iter().filter(never_free).filter(|suspect| !suspect.keeps_room());
        let first = blocked.reduce(most).or_else(|| {
            let wait = |suspect: &Suspect| if never_free(&suspect) { 1.0 } else { suspect.share };
            let longest = waits.clone().map(wait).fold(0.0, f64::max);
            let as_long = waits.filter(|suspect| wait(suspect) >= longest - ALIKE);
            as_long.min_by(|a, b| a.depth().cmp(&b.depth()).then(b.share.total_cmp(&a.share)))
        });
        return first.filter(|suspect| suspect.share > 0.0).cloned();
    }
    let is_wire = |suspect: &Suspect| {
        let of_cxl = matches!(suspect.candidate, Candidate::Resource { kind: ResourceKind::CxlWire, .. });
        of_cxl || matches!(suspect.candidate, Candidate::Wire { .. })
    };
    let tied = suspects.iter().filter(|suspect| suspect.in_use && suspect.share >= used - TIE);
    let first = tied.clone().find(|suspect| is_wire(suspect)).map(|wire| {
        // It is never free, and what it is not used for waits for credits: a faster one would wait for them, too. Unless something else
        // has little time left, which is then why credits come late.
        let is_other = |suspect: &Suspect| suspect.in_use && suspect.share >= SATURATED && !is_wire(suspect);
        let others = suspects.iter().any(is_other);
        let credits = suspects.iter().filter(|suspect| !others && suspect.holds_back(wire));
        credits.reduce(most).unwrap_or(wire)
    });
    first.or_else(|| tied.min_by_key(|suspect| suspect.depth())).cloned()
}
