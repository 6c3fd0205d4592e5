//! What may limit one flow: everything on its way, with the share of the time that speaks for it.

use super::super::candidate::{Candidate, LinkDirection, OfDevice, OfDirection, key};
use super::super::ends::Ends;
use super::super::suspect::{MOSTLY, SATURATED, Suspect};
use super::super::ways::Way;
use super::{Evidence, has_errors};
use crate::results::{Flow, Link, Requester, Resource};
use lanewise_fabric::config::{DeviceKind, LinkPower};
use lanewise_fabric::workload::DeviceId;
use lanewise_fabric::{LoadPart, Part, ResourceKind, ResourceOwner};
use lanewise_pcie::tlp::FlowClass;
use lanewise_scenario::LoadConfig;
use lanewise_units::order;
use lanewise_workload::HeldUp;
use serde_json::{Map, Value};

/// Requests that wait for their port wait for its wire when that is in use for more of the time; else for what lies behind.
const CONTENDED: f64 = 0.7;
/// A wire that is in use for more of the time in which its device is asked for anything never lacks work then.
const NEVER_WITHOUT: f64 = 0.95;
/// A wire that a requester waits for in less of the time does not hold it up.
const LEAST_BLOCKED: f64 = 0.3;

impl Evidence<'_> {
    /// Devices that a flow belongs to.
    fn own_devices(&self, flow: &Flow) -> impl Iterator<Item = usize> {
        flow.devices.iter().filter_map(|name| self.index.get(name.as_str()).copied())
    }

    /// Endpoints that a device of a flow reads from or writes to, or that each of them may.
    fn reached_by<'f>(&'f self, flow: &'f Flow, by: Option<usize>) -> &'f [usize] {
        self.reached.get(&(flow.name.as_str(), by)).map_or(&[], Vec::as_slice)
    }

    /// Devices of a flow, and those that it reads from or writes to, each with every device above it.
    fn devices(&self, flow: &Flow) -> Vec<usize> {
        let own: Vec<usize> = self.own_devices(flow).collect();
        let askers = own.iter().copied().map(Some).chain([None]);
        let reached = askers.flat_map(|by| self.reached_by(flow, by)).copied();
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
        let waits = |name: &String| {
            let requester = self.requesters.get(name.as_str());
            requester.is_some_and(|each| share_of(&each.time_attribution, "wire") >= LEAST_BLOCKED)
        };
        if !flow.devices.iter().any(waits) {
            return Vec::new();
        }
        let others = self.ends[flow.name.as_str()].flows.iter().map(|other| self.devices(other));
        // Not those of the same host: they carry another part of the workload.
        let mut far: Vec<usize> =
            others.filter(|other| !other.iter().any(|device| near.contains(device))).flatten().collect();
        order::sort(&mut far);
        far.dedup();
        far
    }

    /// The way of a flow whose load asks for nothing but DMA; none where software, or another device, has a part in it, too.
    fn way_of_dma(&self, flow: &Flow) -> Option<Way<'_>> {
        if !self.load_of(flow).posts_only() {
            return None;
        }
        let mut way = Way::new(self.fabric(), &self.above, self.is_read_by_dma(flow));
        for own in self.own_devices(flow) {
            let reached = [Some(own), None].into_iter().flat_map(|by| self.reached_by(flow, by)).copied();
            let reached: Vec<usize> = reached.filter(|each| *each != own).collect();
            if reached.is_empty() {
                way.add_memory(own);
            }
            for device in reached {
                way.add_peer(own, device)?;
            }
        }
        Some(way)
    }

    /// What may limit a flow: everything on its way, with the share of the time that speaks for it.
    pub(super) fn suspects(&self, flow: &Flow) -> Vec<Suspect> {
        let way = self.way_of_dma(flow);
        let mut devices = way.as_ref().map_or_else(|| self.devices(flow), |way| way.devices.clone());
        let far = self.far_devices(flow, &devices);
        devices.extend(&far);
        let mut found = Vec::new();
        // In the order in which the data of the asker pass them: of several wires in use as much, the first is named.
        let is_passed = |link: &usize| way.as_ref().is_none_or(|way| way.links.contains_key(link));
        let links: Vec<usize> =
            devices.iter().filter_map(|device| self.above[*device]).filter(is_passed).collect();
        for link in links.iter().copied() {
            let used = way.as_ref().map_or([true; 2], |way| way.links[&link]);
            self.suspects_of_link(flow, (link, used), &mut found);
        }
        let ways = self.hosts.ways(&devices, &self.above, &links);
        let owned = devices.iter().flat_map(|device| &self.resources[*device]);
        let is_used = |resource: &Resource| way.as_ref().is_none_or(|way| way.uses(&resource.id));
        let owned =
            owned.filter(|resource| is_used(resource) && ways.meet(resource) && self.runs_on(flow, resource));
        let mine = self.ways.get(&flow.name);
        let on_the_way = |resource: &&&Resource| {
            let is_way =
                !self.switched.contains(&resource.id) || mine.is_some_and(|mine| mine.contains(&resource.id));
            is_way && self.load_of_cores(resource).is_none_or(|load| load == flow.name)
        };
        let common = self.common.iter().filter(on_the_way);
        let ends = &self.ends[flow.name.as_str()];
        found.extend(owned.chain(common).chain(&ends.buffers).map(|resource| of_resource(resource, ends)));
        self.suspects_of_load(flow, &mut found);
        // What comes late was asked for late, or sent late, at the other end.
        let there = |other: &&&Flow| self.own_devices(other).any(|device| far.contains(&device));
        ends.flows.iter().filter(there).for_each(|other| self.suspects_of_load(other, &mut found));
        if self.errs {
            // The adapter at the other end has a flow of the same workload.
            let others = self.results.flows.iter().filter(|other| other.name == flow.name);
            let links = others.flat_map(|other| self.devices(other)).filter_map(|device| self.above[device]);
            found.extend(links.flat_map(|link| self.errors(link)));
        }
        found
    }

    /// What may limit a flow that moves nothing though its device has something to send: wires on its way that others fill, and credits;
    /// tags that others take.
    pub(super) fn suspects_of_starved(&self, flow: &Flow) -> Vec<Suspect> {
        let waits = |name: &str, on: &str| {
            let requester = self.requesters.get(name);
            requester.is_some_and(|each| share_of(&each.time_attribution, on) > MOSTLY)
        };
        let mut found = Vec::new();
        for name in flow.devices.iter().filter(|name| flow.direction == "read" && waits(name, "tags")) {
            if let (Some(device), Some(each)) =
                (self.index.get(name.as_str()), self.requesters.get(name.as_str()))
            {
                let tags = Candidate::Device(*device, OfDevice::Tags);
                found.push(Suspect::waited_for(tags, share_of(&each.time_attribution, "tags")));
            }
        }
        if flow.devices.iter().any(|name| waits(name, "port")) {
            let links = self.devices(flow).into_iter().filter_map(|device| self.above[device]);
            links.for_each(|link| self.suspects_of_link(flow, (link, [true; 2]), &mut found));
        }
        found
    }

    /// What asks, and how much at a time.
    fn suspects_of_load(&self, flow: &Flow, found: &mut Vec<Suspect>) {
        let latency_ns = flow.latency_ns.mean.unwrap_or_default();
        if let Some(held) = self.load_of(flow).held_up(flow.operations_per_s, latency_ns) {
            let HeldUp { device: DeviceId(device), outstanding, paused } = held;
            let of = |what, share: Option<f64>| {
                Some(Suspect::waited_for(Candidate::Device(device as usize, what), share?))
            };
            let both = [of(OfDevice::Window, outstanding), of(OfDevice::Demand, paused)];
            return found.extend(both.into_iter().flatten());
        }
        for device in self.own_devices(flow) {
            self.suspects_of_requester(flow, device, found);
        }
    }

    fn load_of(&self, flow: &Flow) -> &dyn LoadConfig {
        &*self.scenario.workloads[flow.load]
    }

    /// Of cores that one load has to itself, and of their lines, the name of the load: they hold up no other.
    fn load_of_cores<'r>(&self, resource: &'r Resource) -> Option<&'r str> {
        let ResourceOwner::Load(load) = &resource.id.owner else { return None };
        self.named.contains(load.as_str()).then_some(load.as_str())
    }

    /// Whether software of a flow may run on a resource, if that is a core; of anything else, yes.
    fn runs_on(&self, flow: &Flow, resource: &Resource) -> bool {
        let (Some(host), Part::Host(core)) = (resource.id.owner.device(), resource.id.part) else {
            return true;
        };
        let at = (host.0 as usize, core);
        !self.software.contains(&at) || self.cores.get(&flow.name).is_some_and(|mine| mine.contains(&at))
    }

    /// Directions of a link on which bits may arrive wrong, with the time lost by it: the link trains again, or sends again.
    pub(super) fn errors(&self, link: usize) -> impl Iterator<Item = Suspect> {
        let (config, measured) = (&self.fabric().links[link], &self.results.links[link]);
        let sides = [
            (true, &config.faults_upstream, &measured.upstream),
            (false, &config.faults_downstream, &measured.downstream),
        ];
        sides.into_iter().filter(|(_, faults, _)| faults.bit_error_rate > 0.0).map(
            move |(upstream, _, side)| {
                let lost =
                    self.down(link, &side.time_attribution) + share_of(&side.time_attribution, "replay");
                let at = LinkDirection { link, upstream };
                Suspect::waited_for(Candidate::Direction(at, OfDirection::Errors), lost)
            },
        )
    }

    /// For how much of the time a direction of a link is down, but for what it takes a device to change hosts.
    fn down(&self, link: usize, shares: &Map<String, Value>) -> f64 {
        let is_moved = self.moved.contains(&self.fabric().links[link].lower.0);
        if is_moved { 0.0 } else { share_of(shares, "down") }
    }

    /// Whether a flow is reads of its devices and nothing else.
    fn is_read_by_dma(&self, flow: &Flow) -> bool {
        let reads = matches!(flow.direction, "read" | "host-to-device" | "peer read");
        reads && self.load_of(flow).posts_only()
    }

    /// Of a flow of plain DMA, by Little's law: which part of the tags of its device reads have, and which part of what it has open is under
    /// way. The device says one thing at a time: what its writes wait for, for instance, while its reads have no tag.
    fn under_way(&self, flow: &Flow, device: usize) -> [f64; 2] {
        let operation_ns = flow.operation_latency_ns.as_ref().and_then(|latency| latency.mean);
        let (Some(operation_ns), true) = (operation_ns, self.load_of(flow).posts_only()) else {
            return [0.0; 2];
        };
        let name = &self.fabric().devices[device].name;
        if self.moving.iter().filter(|other| other.devices.contains(name)).count() < 2 {
            return [0.0; 2]; // What the device says is of this flow.
        }
        [self.tags_in_use(flow, device), flow.latency_ns.mean.unwrap_or_default() / operation_ns]
    }

    /// Which part of the tags of its device reads have, if a flow is one of those. Zero where tags are held for another time than data take,
    /// or functions have their own: then the device alone knows.
    fn tags_in_use(&self, flow: &Flow, device: usize) -> f64 {
        let DeviceKind::Endpoint(endpoint) = &self.fabric().devices[device].kind else { return 0.0 };
        let has_own = endpoint.dma.functions.as_ref().is_some_and(|functions| functions.own_tags.is_some());
        if flow.direction != "read" || endpoint.dma.tag_hold.is_some() || has_own {
            return 0.0;
        }
        let name = &self.fabric().devices[device].name;
        let is_alike = |other: &&&Flow| {
            (other.direction, other.counted) == ("read", flow.counted) && other.devices == [name.as_str()]
        };
        let held = |each: &&Flow| each.operations_per_s * each.latency_ns.mean.unwrap_or_default() / 1e9;
        self.moving.iter().filter(is_alike).map(held).sum::<f64>() / f64::from(endpoint.tags)
    }

    /// Whether a flow is posted writes and nothing else: those pass requests and completions that have no credits.
    fn is_posted(&self, flow: &Flow) -> bool {
        let writes = matches!(flow.direction, "write" | "device-to-host" | "peer write");
        writes && self.load_of(flow).posts_only()
    }

    /// Of a link, in the directions that the flow uses: upstream, downstream.
    fn suspects_of_link(&self, flow: &Flow, (link, used): (usize, [bool; 2]), found: &mut Vec<Suspect>) {
        let measured: &Link = &self.results.links[link];
        for upstream in [true, false].into_iter().filter(|upstream| used[usize::from(!upstream)]) {
            let at = LinkDirection { link, upstream };
            let side = if upstream { &measured.upstream } else { &measured.downstream };
            let share = |on: &str| share_of(&side.time_attribution, on);
            // Without bit errors, what is sent again had arrived: the timer was too short, and the wire is not what lacks.
            let faults = &self.fabric().links[link];
            let needless = if has_errors(faults) { 0.0 } else { share("replay") };
            // A wire that is down is of no use to any flow, either.
            let busy = side.utilisation - needless + self.down(link, &side.time_attribution);
            found.push(Suspect::in_use(Candidate::Direction(at, OfDirection::Wire), busy));
            let classes = [FlowClass::Posted, FlowClass::NonPosted, FlowClass::Completion];
            let held = if self.is_posted(flow) { &classes[..1] } else { &classes };
            for class in held.iter().copied() {
                let name = key(class);
                let blocked =
                    share(&format!("blocked_{name}_header")) + share(&format!("blocked_{name}_data"));
                let credits = Candidate::Direction(at, OfDirection::Credits(class));
                let occupied = busy + share("waking") + blocked;
                found.push(Suspect { occupied, ..Suspect::waited_for(credits, blocked) });
            }
            let of_replay = [
                (at.kept(self.fabric()), share("blocked_retry_buffer")),
                (OfDirection::ReplayTimer, needless),
            ];
            let occupied = busy + share("waking") + of_replay.iter().map(|(_, share)| share).sum::<f64>();
            found.extend(of_replay.map(|(what, share)| Suspect {
                occupied,
                ..Suspect::waited_for(Candidate::Direction(at, what), share)
            }));
        }
        found.extend(self.wake_up(link));
    }

    /// The sleep of a link, if it has any: both directions wake at once from L1, and from L0s each when it has something to send.
    fn wake_up(&self, link: usize) -> Option<Suspect> {
        let (power, measured) = (self.fabric().links[link].power, &self.results.links[link]);
        if power == LinkPower::default() {
            return None;
        }
        let sides = [&measured.upstream, &measured.downstream];
        let [up, down] = sides.map(|side| share_of(&side.time_attribution, "waking"));
        let share = if power.l1.is_some() { up.max(down) } else { (up + down).min(1.0) };
        let used = sides.map(|side| side.utilisation).into_iter().fold(0.0, f64::max);
        Some(Suspect { occupied: used + share, ..Suspect::waited_for(Candidate::WakeUp { link }, share) })
    }

    fn suspects_of_requester(&self, flow: &Flow, device: usize, found: &mut Vec<Suspect>) {
        let name = &self.fabric().devices[device].name;
        let Some(Requester { time_attribution, .. }) = self.requesters.get(name.as_str()) else { return };
        let share = |state: &str| share_of(time_attribution, state);
        let [tags, under_way] =
            self.under_way(flow, device).map(|part| if part < SATURATED { 0.0 } else { part.min(1.0) });
        if self.is_read_by_dma(flow) && tags.max(under_way) > 0.0 {
            // No request of these reads waits at the port, whatever else does.
            found.retain(|suspect| match suspect.candidate {
                Candidate::Direction(_, OfDirection::Errors) => true,
                Candidate::Direction(at, _) => !at.upstream || self.above[device] != Some(at.link),
                _ => true,
            });
        }
        if !self.is_posted(flow) {
            let tags = share("tags").max(tags);
            found.push(Suspect::waited_for(Candidate::Device(device, OfDevice::Tags), tags));
        }
        // What a device waits for inside while nothing there is at its limit is how much it is asked for at a time.
        let mut inside: f64 = ["window", "device", "media", "cpu"].map(share).into_iter().sum();
        // Without a pace of its own, a request that does not start waits for its data on the device's own path.
        let [is_paced, is_other_paced] = match &self.fabric().devices[device].kind {
            DeviceKind::Endpoint(endpoint) => {
                let paces = match flow.direction {
                    "write" => [endpoint.dma.write_interval, endpoint.dma.read_interval],
                    _ => [endpoint.dma.read_interval, endpoint.dma.write_interval],
                };
                paces.map(|own| !endpoint.request_interval.is_zero() || !own.is_zero())
            }
            DeviceKind::RootComplex(_) | DeviceKind::Switch(_) => [true; 2],
        };
        let held_back = share("request_interval");
        if !is_paced && !is_other_paced {
            inside += held_back;
        }
        // What is on the device's own path to the port is ready for it, while the wire is idle. Behind an adapter, messages wait.
        let has_path = share("wire") == 0.0
            && !self.is_read_by_dma(flow)
            && matches!(&self.fabric().devices[device].kind,
                DeviceKind::Endpoint(endpoint) if !endpoint.dma.path_latency.is_zero());
        if let Some(link) = self.above[device].filter(|_| has_path) {
            let idle = share_of(&self.results.links[link].upstream.time_attribution, "idle");
            inside += (share("port") - (1.0 - idle)).max(0.0);
        }
        // For the rest of that time it waits for what is on its way, and not for the rate at which it comes.
        let beyond = self.ends[flow.name.as_str()]
            .carried()
            .map_or(share("wire"), |carried| share("wire").min(carried));
        inside += share("wire") - beyond;
        // What a load has open waits there; what it has not waits for the load.
        let open = self.open.get(&flow.name).copied();
        inside *= open.unwrap_or(1.0);
        found.push(Suspect::waited_for(Candidate::Device(device, OfDevice::Window), inside.max(under_way)));
        found.push(Suspect::waited_for(Candidate::Device(device, OfDevice::Beyond), beyond));
        // Requests that wait for the port wait for what its wire is used for, or for credits. A wire that is in use whenever anything
        // is asked for is what all of it waits for.
        let (waits, asked) = (share("port") > MOSTLY, 1.0 - share("nothing_asked"));
        for wire in found.iter_mut().filter(|suspect| suspect.share >= CONTENDED) {
            if let Candidate::Direction(LinkDirection { link, upstream }, OfDirection::Wire) = wire.candidate
                && self.above[device] == Some(link)
            {
                wire.contended |= upstream && waits || wire.share >= NEVER_WITHOUT * asked;
            }
        }
        if is_paced {
            found.push(Suspect::waited_for(Candidate::Device(device, OfDevice::RequestInterval), held_back));
        }
        if let Some(link) = self.above[device] {
            let upstream = &self.results.links[link].upstream;
            let silent = share_of(&upstream.time_attribution, "tlp_gap");
            let gap = Suspect::waited_for(Candidate::Device(device, OfDevice::TlpGap), silent);
            found.push(Suspect { occupied: upstream.utilisation + silent, ..gap });
        }
        let demand = Candidate::Device(device, OfDevice::Demand);
        let Some(open) = open else {
            let is_software = |suspect: &&Suspect| {
                suspect.contended && matches!(suspect.candidate, Candidate::Resource { .. })
            };
            let software = found.iter().filter(is_software).map(|suspect| suspect.share).fold(0.0, f64::max);
            let idle = (share("nothing_asked") - software).max(0.0);
            return found.push(Suspect::waited_for(demand, idle));
        };
        let limit = format!("at most {:.1} % of what may be outstanding is", open * 100.0);
        found.push(Suspect { limit, ..Suspect::waited_for(demand, 1.0 - open) });
    }
}

fn share_of(shares: &Map<String, Value>, name: &str) -> f64 {
    shares.get(name).and_then(Value::as_f64).unwrap_or(0.0)
}

/// How the numbers of a resource speak for it: by its use, or, where it is taken while something else works, by those who wait for it.
fn of_resource(resource: &Resource, ends: &Ends<'_>) -> Suspect {
    let candidate = Candidate::Resource { id: resource.id.clone(), name: resource.name.clone() };
    let (used, waiting) = (resource.utilisation, resource.waiting_mean.unwrap_or(0.0));
    let suspect = match resource.kind {
        // A buffer on the way is full because of what lies behind it, which is in use then.
        ResourceKind::SwitchStorage => Suspect::waited_for(candidate, waiting),
        // Unless the wire into it is never free: it carries something or is held up, and what is outstanding waits there.
        ResourceKind::NetworkBuffer => {
            let blocked = waiting.min(1.0);
            let occupied = ends.carried().unwrap_or(0.0) + blocked;
            Suspect { occupied, ..Suspect::waited_for(candidate, blocked) }
        }
        kind if kind.keeps_translations() => Suspect::waited_for(candidate, waiting.min(1.0)),
        ResourceKind::AdapterBuffer | ResourceKind::OutstandingReads => {
            // Of several queue pairs several may wait, for no more of the time than all places are taken.
            let most = if resource.kind == ResourceKind::AdapterBuffer { 1.0 } else { used };
            let blocked = waiting.min(most);
            let occupied = ends.carried_beside(&resource.id) + blocked;
            Suspect { occupied, ..Suspect::waited_for(candidate, blocked) }
        }
        // All of them are taken whatever it is that takes long: so is the fetch of commands while host memory answers late.
        ResourceKind::LineBuffers | ResourceKind::CommandFetch => Suspect::waited_for(candidate, used),
        // These are full, too, where the wires behind them are in use all the time: then those are the limit.
        ResourceKind::CxlCredits | ResourceKind::OutboundQueue => {
            Suspect { occupied: 1.0, ..Suspect::waited_for(candidate, waiting.min(used)) }
        }
        // It is waited for while the wire is free.
        ResourceKind::CxlRetryBuffer => {
            Suspect { occupied: 1.0, ..Suspect::waited_for(candidate, waiting.min(1.0)) }
        }
        _ => Suspect::in_use(candidate, used),
    };
    // Between copies the device moves nothing, for no other reason.
    let contended = matches!(resource.id.part, Part::Load(LoadPart::Copies | LoadPart::QueuedCopies));
    Suspect { contended, limit: resource.limit.clone(), ..suspect }
}
