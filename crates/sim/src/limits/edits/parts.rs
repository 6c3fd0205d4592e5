//! Edits for what several share: memory, cores of switches, parts of endpoints, software, wires beyond adapters. Of what devices have beyond
//! their ports the loads that have them say so.

use super::super::candidate::{Candidate, owner};
use super::{Edit, Editor, component_of, device_index, drafts_of};
use lanewise_cxl::message::{Class, Way};
use lanewise_cxl::retry::MOST_KEPT;
use lanewise_fabric::config::DeviceKind;
use lanewise_fabric::{CxlPart, EndpointPart, HostPart, Part, ResourceId, ResourceOwner, SwitchPart};
use lanewise_units::order;
use lanewise_workload::Step::{self, Double, Halve};
use lanewise_workload::{Draft, Owner};

/// What software of a host costs is in these groups.
const SOFTWARE: [&str; 7] = ["nvme", "nvme_target", "software", "verbs", "mpi", "kernel_tcp", "user_tcp"];

/// What several edits do, in words.
const DATA_PATH: &str = "twice the rate of the device's data path";
const BANKS: &str = "twice the banks of memory";
const READS: &str = "twice the rate at which memory is read";
const WRITES: &str = "twice the rate at which memory is written";

impl Editor<'_> {
    /// Wires of a network with switches: more between each two of them, or faster ones. Of others, as beyond an adapter.
    pub(super) fn wires_beyond(&self, members: &[&Candidate]) -> Vec<Edit> {
        let network = |member: &&Candidate| match member {
            Candidate::Resource { id, .. } => {
                self.scenario.workloads.iter().find_map(|load| load.network_of(id))
            }
            _ => None,
        };
        let networks = order::set(members.iter().filter_map(network));
        if networks.is_empty() {
            return vec![self.beyond()];
        }
        let more = self.stepped(
            "twice the wires between switches",
            networks
                .iter()
                .filter(|(_, several)| *several)
                .map(|(name, _)| (format!("{name}.wires"), Double)),
        );
        vec![more, self.faster(networks.into_iter().map(|(name, _)| name))]
    }

    /// Networks beyond adapters: more lanes of InfiniBand, more rate of the others.
    pub(super) fn beyond(&self) -> Edit {
        self.faster(self.values.keys().filter_map(|path| path.strip_suffix(".mtu")))
    }

    fn faster<'n>(&self, networks: impl Iterator<Item = &'n str>) -> Edit {
        let path = |name: &str| {
            let kind = self.values.get(format!("{name}.kind").as_str()).copied().unwrap_or_default();
            format!("{name}.{}", if kind.starts_with("infiniband") { "lanes" } else { "rate" })
        };
        self.stepped(
            "twice the rate of the wire beyond the adapter",
            networks.map(|name| (path(name), Double)),
        )
    }

    /// Whether a write to this memory takes longer for itself than for its bytes, on average.
    fn overhead_is_most(&self, resource: &ResourceId) -> bool {
        let device = device_index(resource).map(|device| &self.scenario.fabric.devices[device].kind);
        let Some(DeviceKind::RootComplex(host)) = device else { return false };
        let book = self.results.resources.iter().find(|each| each.id == *resource);
        book.is_some_and(|book| {
            let busy = book.utilisation * self.results.measured_s;
            host.write_overhead.as_seconds() * book.served as f64 > busy / 2.0
        })
    }

    pub(super) fn resources(&self, members: &[&Candidate]) -> Vec<Edit> {
        let ids: Vec<&ResourceId> = members
            .iter()
            .filter_map(|member| match member {
                Candidate::Resource { id, .. } => Some(id),
                _ => None,
            })
            .collect();
        let Some(first) = ids.first().copied() else { return Vec::new() };
        let of = |what: &str, keys: &[&str], step: Step| {
            let owners = ids.iter().map(|id| owner(&self.scenario.fabric, id));
            let paths = owners.flat_map(|owner| keys.iter().filter_map(move |key| self.path(owner, key)));
            self.stepped(what, paths.map(|path| (path, step)))
        };
        match first.part {
            Part::Host(part) => self.of_host(first, part, of),
            Part::Switch(part) => vec![match part {
                SwitchPart::Input { .. } | SwitchPart::Bus { .. } | SwitchPart::Memory => {
                    of("twice the rate of the switch's core", &["core_rate"], Double)
                }
                SwitchPart::Storage { .. } => {
                    let keys = ["storage.posted", "storage.non_posted", "storage.completion"];
                    of("twice the room behind the credits of the switch", &keys, Double)
                }
                SwitchPart::Metering { .. } => of(
                    "request metering that expects completions twice as large",
                    &["metered_completion"],
                    Double,
                ),
            }],
            Part::Endpoint(part) => vec![match part {
                EndpointPart::WriteDrain => of("twice the rate into the device", &["write_drain"], Double),
                EndpointPart::Memory => {
                    of("twice the rate of the device's memory", &["memory_read_rate"], Double)
                }
                EndpointPart::ReadPath | EndpointPart::WritePath => of(DATA_PATH, &["path_rate"], Double),
                EndpointPart::Translations => {
                    of("twice the entries of the device's cache of translations", &["ats.entries"], Double)
                }
                EndpointPart::TranslationRequests => {
                    of("twice the translation requests that may be out", &["ats.requests"], Double)
                }
                EndpointPart::SideLinkOut | EndpointPart::SideLinkIn => {
                    of("twice the rate of side links", &["side_link.rate"], Double)
                }
            }],
            Part::Cxl(part) => self.of_cxl(first, part, of),
            Part::Nvme(_)
            | Part::StorageAdapter(_)
            | Part::DiskMedia
            | Part::Rdma(_)
            | Part::NetworkSwitch(_)
            | Part::Load(_) => self.of_loads(&ids),
        }
    }

    fn of_host(
        &self,
        id: &ResourceId,
        part: HostPart,
        of: impl Fn(&str, &[&str], Step) -> Edit,
    ) -> Vec<Edit> {
        match part {
            HostPart::Memory { .. } => {
                vec![of("twice the bandwidth of memory", &["memory_bandwidth"], Double)]
            }
            HostPart::Banks { .. } => vec![of(BANKS, &["memory.banks"], Double)],
            HostPart::Cache { .. } => {
                vec![of("twice the rate of the cache", &["llc.read_bandwidth"], Double)]
            }
            HostPart::Reads => vec![of(READS, &["read_bandwidth"], Double)],
            HostPart::StackReads { .. } => vec![of(READS, &["stack.read_bandwidth"], Double)],
            HostPart::StackWrites { .. } => vec![of(WRITES, &["stack.write_bandwidth"], Double)],
            HostPart::Writes => {
                let what = "half the time that a write takes beside its bytes";
                let mut drafts =
                    vec![of(what, &["write_overhead"], Halve), of(WRITES, &["write_bandwidth"], Double)];
                // What takes more of a write's time first.
                if !self.overhead_is_most(id) {
                    drafts.reverse();
                }
                drafts
            }
            HostPart::ReadTrackers { .. } => {
                vec![of("twice the tracking entries of reads", &["stack.read_trackers"], Double)]
            }
            HostPart::OutboundQueue => {
                vec![of("twice the queue that root ports share", &["shared_outbound_queue"], Double)]
            }
            HostPart::PeersIn { .. } | HostPart::PeersOut { .. } => {
                vec![of("twice the rate between root ports", &["peer.rate"], Double)]
            }
            HostPart::Walkers => vec![
                of("twice the walkers of page tables", &["iommu.walkers"], Double),
                of("half the time of a step of a walk", &["iommu.walk_step_latency"], Halve),
            ],
            HostPart::WalkTurns => vec![of("half the time between walks", &["iommu.walk_interval"], Halve)],
            HostPart::Translations => {
                vec![of("twice the entries of the cache of translations", &["iommu.entries"], Double)]
            }
            HostPart::SocketLink { .. } | HostPart::SocketLinkOfPeers { .. } => {
                vec![of("twice the rate between sockets", &["interconnect.rate"], Double)]
            }
            HostPart::Core { .. } | HostPart::BridgeCore { .. } => self.cores(id),
        }
    }

    fn of_cxl(&self, id: &ResourceId, part: CxlPart, of: impl Fn(&str, &[&str], Step) -> Edit) -> Vec<Edit> {
        let controller = "twice the rate of the expander's controller";
        match part {
            CxlPart::Wire(_) => self.cxl_wire(id),
            CxlPart::Credits(way, class) => vec![self.cxl_credits(id, way, class)],
            CxlPart::RetryBuffer(_) => vec![self.cxl_retry_buffer(id)],
            CxlPart::Reads => vec![of(controller, &["expander.read_rate"], Double)],
            CxlPart::Writes => vec![of(controller, &["expander.write_rate"], Double)],
            CxlPart::Memory => {
                vec![of("twice the rate of the expander's memory", &["expander.memory_rate"], Double)]
            }
            CxlPart::Banks => vec![of(BANKS, &["memory.banks"], Double)],
        }
    }

    /// What loads propose for resources of their own that are alike; of software what hosts have for it.
    fn of_loads(&self, ids: &[&ResourceId]) -> Vec<Edit> {
        let mut edits: Vec<Edit> = Vec::new();
        for id in ids {
            let path = |of: Owner, key: &str| match of {
                Owner::Resource => self.path(owner(&self.scenario.fabric, id), key),
                Owner::Workload(entry) => Some(format!("workload.{}.{key}", self.scenario.name_of(entry))),
                Owner::Device(_) | Owner::HostAbove(_) => self.path(component_of(self.scenario, of)?, key),
            };
            for Draft { what, parameters, step, is_stated } in drafts_of(self.scenario, id) {
                let paths = parameters.into_iter().filter_map(|(of, key)| path(of, key));
                let mut mine = self.stepped(what, paths.map(|path| (path, step)));
                if is_stated {
                    mine = self.stated(mine, id);
                }
                match edits.iter_mut().find(|edit| edit.what == what) {
                    None => edits.push(mine),
                    Some(edit) => {
                        mine.settings.retain(|setting| !edit.settings.contains(setting));
                        edit.settings.extend(mine.settings);
                    }
                }
            }
        }
        match ids {
            [first, ..] if edits.is_empty() && matches!(first.part, Part::Load(_)) => self.cores(first),
            _ => edits,
        }
    }

    /// Credits of CXL.mem: those for requests are the lower end's, those for answers the upper end's.
    fn cxl_credits(&self, id: &ResourceId, way: Way, class: Class) -> Edit {
        let links = &self.scenario.fabric.links;
        let link = links.iter().find(|link| Some(link.lower.0) == device_index(id));
        let holder = link.map(|link| match way {
            Way::M2s => self.name(link.lower.0),
            Way::S2m => self.name(link.upper.0),
        });
        let name = class.name(way).to_ascii_lowercase();
        let keys =
            [format!("expander.{name}_credits"), format!("cxl.{name}_credits"), "cxl.credits".to_owned()];
        let paths = holder
            .into_iter()
            .flat_map(|holder| keys.iter().filter_map(move |key| self.path(holder, key)).collect::<Vec<_>>());
        self.stepped("twice the credits", paths.take(1).map(|path| (path, Double)))
    }

    /// The retry buffers of a CXL link, which are of one size: twice it, or as much as its counters hold.
    fn cxl_retry_buffer(&self, id: &ResourceId) -> Edit {
        let mut edit =
            Edit { what: "twice the retry buffer of the CXL link".to_owned(), settings: Vec::new() };
        let device = device_index(id).map(|device| self.name(device));
        let path = device.and_then(|device| self.path(device, "link.cxl.retry_buffer"));
        let now = path.as_ref().and_then(|path| self.values.get(path.as_str())?.parse::<u32>().ok());
        if let (Some(path), Some(now)) = (path, now) {
            self.set(&mut edit, path, (now * 2).min(MOST_KEPT).to_string());
        }
        edit
    }

    /// An edit without the settings whose value a resource, which says how much there is of it, does not state; all where it states none.
    fn stated(&self, mut edit: Edit, id: &ResourceId) -> Edit {
        let book = self.results.resources.iter().find(|each| each.id == *id);
        let limit = book.map_or("", |book| &book.limit);
        let is_stated = |value: &str| limit.split(", ").any(|part| part.starts_with(value));
        if edit.settings.iter().any(|setting| is_stated(&setting.before)) {
            edit.settings.retain(|setting| is_stated(&setting.before));
        }
        edit
    }

    /// Software: more that runs at once, more cores, or half the time of each piece of work.
    fn cores(&self, id: &ResourceId) -> Vec<Edit> {
        // A thread of a tool has the costs of its host, which may be any.
        let owner = match id.part {
            Part::Host(_) => Some(owner(&self.scenario.fabric, id)),
            _ => None,
        };
        let paths = || self.values.keys().copied();
        let jobs = paths().filter(|path| path.starts_with("workload.") && path.ends_with(".numjobs"));
        let of_software = |path: &str, key: &str| {
            let mut keys = path.split('.');
            let mine = keys.next().is_some_and(|host| owner.is_none_or(|owner| host == owner));
            mine && keys.next().is_some_and(|group| SOFTWARE.contains(&group)) && path.ends_with(key)
        };
        let named = |paths: Vec<&str>, step: Step| {
            paths.into_iter().map(move |path| (path.to_owned(), step)).collect()
        };
        let is_software = |path: &str, key: &str| match &id.owner {
            ResourceOwner::System { name, .. } => {
                path.ends_with(key) && path.split_once('.').is_some_and(|(owner, _)| owner == name)
            }
            _ => of_software(path, key),
        };
        let drafts: [(&str, Vec<(String, Step)>); 3] = [
            ("twice as many jobs", named(jobs.collect(), Double)),
            ("twice the cores", named(paths().filter(|path| is_software(path, ".cores")).collect(), Double)),
            (
                "software that takes half the time",
                named(paths().filter(|path| is_software(path, "_cost")).collect(), Halve),
            ),
        ];
        drafts.into_iter().map(|(what, paths)| self.stepped(what, paths.into_iter())).collect()
    }
}
