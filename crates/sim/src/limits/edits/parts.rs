//! Edits for what several share: memory, cores of switches, parts of devices, software, wires beyond adapters.

use super::super::Candidate;
use super::Step::{self, Double, Halve};
use super::{Edit, Editor, copies_of, host_above, host_that_stores};
use lanewise_fabric::ResourceKind;
use lanewise_fabric::config::DeviceKind;
use lanewise_units::order;
use lanewise_workload::load::copy::CopyConfig;

/// What software of a host costs is in these groups.
const SOFTWARE: [&str; 7] = ["nvme", "nvme_target", "software", "verbs", "mpi", "kernel_tcp", "user_tcp"];

impl Editor<'_> {
    /// Wires of a network with switches: more between each two of them, or faster ones. Of others, as beyond an adapter.
    pub(super) fn wires_beyond(&self, members: &[&Candidate]) -> Vec<Edit> {
        let network = |member: &&Candidate| match member {
            Candidate::Resource { name, .. } => {
                self.scenario.workloads.iter().find_map(|load| load.network_of(name))
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
    fn overhead_is_most(&self, resource: &str) -> bool {
        let owner = resource.split('.').next().unwrap_or_default();
        let device = self.scenario.fabric.devices.iter().find(|device| device.name == owner);
        let Some(DeviceKind::RootComplex(host)) = device.map(|device| &device.kind) else { return false };
        let book = self.results.resources.iter().find(|each| each.name == resource);
        book.is_some_and(|book| {
            let busy = book.utilisation * self.results.measured_s;
            host.write_overhead.as_seconds() * book.served as f64 > busy / 2.0
        })
    }

    pub(super) fn resources(&self, members: &[&Candidate]) -> Vec<Edit> {
        let names: Vec<(&str, ResourceKind)> = members
            .iter()
            .filter_map(|member| match member {
                Candidate::Resource { name, kind } => Some((name.as_str(), *kind)),
                _ => None,
            })
            .collect();
        let Some((first, kind)) = names.first().copied() else { return Vec::new() };
        if let Some(host) = host_that_stores(self.scenario, first) {
            let (what, key, step) = match kind {
                ResourceKind::Core => ("half the time of a store", "store_cost", Halve),
                _ => ("twice the write-combining buffers of a core", "combining_buffers", Double),
            };
            let path = self.path(host, key);
            return vec![self.stepped(what, path.into_iter().map(|path| (path, step)))];
        }
        if let Some(load) = copies_of(self.scenario, first) {
            return self.software_of_copies(load);
        }
        if kind == ResourceKind::Core {
            return self.cores(first);
        }
        let of = |what: &str, keys: &[&str], step: Step| {
            let owner = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
            let paths = names.iter().flat_map(|(name, _)| {
                keys.iter().filter_map(move |key| self.path(&owner(name), key)).collect::<Vec<_>>()
            });
            self.stepped(what, paths.map(|path| (path, step)))
        };
        let of_stack = first.contains(".stack");
        let part = first.rsplit('.').next().unwrap_or_default();
        match kind {
            ResourceKind::Memory => vec![of("twice the bandwidth of memory", &["memory_bandwidth"], Double)],
            ResourceKind::Banks => vec![of("twice the banks of memory", &["memory.banks"], Double)],
            ResourceKind::Cache => vec![of("twice the rate of the cache", &["llc.read_bandwidth"], Double)],
            ResourceKind::MemoryReads => {
                let key = if of_stack { "stack.read_bandwidth" } else { "read_bandwidth" };
                vec![of("twice the rate at which memory is read", &[key], Double)]
            }
            ResourceKind::MemoryWrites => {
                let key = if of_stack { "stack.write_bandwidth" } else { "write_bandwidth" };
                let mut drafts = vec![of("twice the rate at which memory is written", &[key], Double)];
                if !of_stack {
                    let what = "half the time that a write takes beside its bytes";
                    // What takes more of a write's time first.
                    let at = usize::from(!self.overhead_is_most(first));
                    drafts.insert(at, of(what, &["write_overhead"], Halve));
                }
                drafts
            }
            ResourceKind::ReadTrackers => {
                vec![of("twice the tracking entries of reads", &["stack.read_trackers"], Double)]
            }
            ResourceKind::OutboundQueue => {
                vec![of("twice the queue that root ports share", &["shared_outbound_queue"], Double)]
            }
            ResourceKind::PeerPath => vec![of("twice the rate between root ports", &["peer.rate"], Double)],
            ResourceKind::Walkers => vec![
                of("twice the walkers of page tables", &["iommu.walkers"], Double),
                of("half the time of a step of a walk", &["iommu.walk_step_latency"], Halve),
            ],
            ResourceKind::WalkTurns => {
                vec![of("half the time between walks", &["iommu.walk_interval"], Halve)]
            }
            ResourceKind::TranslationCache => {
                vec![of("twice the entries of the cache of translations", &["iommu.entries"], Double)]
            }
            ResourceKind::DeviceTranslationCache => {
                vec![of("twice the entries of the device's cache of translations", &["ats.entries"], Double)]
            }
            ResourceKind::TranslationRequests => {
                vec![of("twice the translation requests that may be out", &["ats.requests"], Double)]
            }
            ResourceKind::SocketLink => {
                vec![of("twice the rate between sockets", &["interconnect.rate"], Double)]
            }
            ResourceKind::SwitchCore | ResourceKind::SwitchBus | ResourceKind::SwitchMemory => {
                vec![of("twice the rate of the switch's core", &["core_rate"], Double)]
            }
            ResourceKind::SwitchStorage => {
                let keys = ["storage.posted", "storage.non_posted", "storage.completion"];
                vec![of("twice the room behind the credits of the switch", &keys, Double)]
            }
            ResourceKind::RequestMetering => {
                vec![of(
                    "request metering that expects completions twice as large",
                    &["metered_completion"],
                    Double,
                )]
            }
            ResourceKind::EndpointDrain => {
                vec![of("twice the rate into the device", &["write_drain"], Double)]
            }
            ResourceKind::EndpointMemory if part == "media" => {
                vec![of("twice the rate of the expander's memory", &["expander.memory_rate"], Double)]
            }
            ResourceKind::EndpointMemory => {
                vec![of("twice the rate of the device's memory", &["memory_read_rate"], Double)]
            }
            ResourceKind::SideLink => vec![of("twice the rate of side links", &["side_link.rate"], Double)],
            ResourceKind::Media if first.matches('.').count() == 2 => self.disks(&names),
            ResourceKind::Media => vec![
                of("twice the dies", &["nvme.dies"], Double),
                of(
                    "media that take half the time",
                    &["nvme.read_time", "nvme.hit_time", "nvme.write_time"],
                    Halve,
                ),
            ],
            ResourceKind::CxlCredits => vec![self.cxl_credits(first, part)],
            ResourceKind::LineBuffers => {
                let of_load = |key: &str, step| {
                    let path = format!("workload.{}.{key}", names[0].0.trim_end_matches(".lines"));
                    std::iter::once((path, step))
                };
                vec![
                    self.stepped("twice the cores", of_load("cores", Double)),
                    self.stepped("twice the lines of a core", of_load("outstanding", Double)),
                ]
            }
            ResourceKind::Pipeline => {
                let book = self.results.resources.iter().find(|each| each.name == first);
                self.pipeline((part, book.map_or("", |book| &book.limit)), of)
            }
            ResourceKind::NetworkBuffer => {
                vec![of("twice the buffer of each port of the switch", &["buffer"], Double)]
            }
            ResourceKind::AdapterBuffer | ResourceKind::OutstandingReads => {
                let words = part.replace('_', " ");
                vec![of(&format!("twice the {words}"), &[&format!("rdma.{part}")], Double)]
            }
            ResourceKind::CommandFetch => {
                vec![of("twice the commands of a fetch", &["nvme.fetch_batch"], Double)]
            }
            ResourceKind::CxlWire => self.cxl_wire(first),
            ResourceKind::Wire | ResourceKind::Core => Vec::new(),
        }
    }

    /// Credits of CXL.mem: those for requests are the lower end's, those for answers the upper end's.
    fn cxl_credits(&self, resource: &str, part: &str) -> Edit {
        let lower = resource.split('.').next().unwrap_or_default();
        let links = &self.scenario.fabric.links;
        let link = links.iter().find(|link| self.name(link.lower.0) == lower);
        let of_requests = matches!(part, "req_credits" | "rwd_credits");
        let holder = link.map(|link| self.name(if of_requests { link.lower.0 } else { link.upper.0 }));
        let keys = [format!("expander.{part}"), format!("cxl.{part}"), "cxl.credits".to_owned()];
        let paths = holder
            .into_iter()
            .flat_map(|holder| keys.iter().filter_map(move |key| self.path(holder, key)).collect::<Vec<_>>());
        self.stepped("twice the credits", paths.take(1).map(|path| (path, Double)))
    }

    /// An edit without the settings whose value a resource, which says how much there is of it, does not state; all where it states none.
    fn stated(&self, mut edit: Edit, limit: &str) -> Edit {
        let is_stated = |value: &str| limit.split(", ").any(|part| part.starts_with(value));
        if edit.settings.iter().any(|setting| is_stated(&setting.before)) {
            edit.settings.retain(|setting| is_stated(&setting.before));
        }
        edit
    }

    /// Parts of a device, by the names that its resources have. `limit` is how much there is of the first.
    fn pipeline(&self, (part, limit): (&str, &str), of: impl Fn(&str, &[&str], Step) -> Edit) -> Vec<Edit> {
        let rate = "twice the rate of the device's data path";
        match part {
            "reads" => {
                vec![of("twice the rate of the expander's controller", &["expander.read_rate"], Double)]
            }
            "writes" => {
                vec![of("twice the rate of the expander's controller", &["expander.write_rate"], Double)]
            }
            "read_path" => {
                vec![of(rate, &["nvme.read_rate", "adapter.internal_read_bandwidth", "path_rate"], Double)]
            }
            "write_path" => {
                let keys = [
                    "nvme.write_rate",
                    "nvme.random_write_rate",
                    "adapter.internal_write_bandwidth",
                    "path_rate",
                ];
                vec![self.stated(of(rate, &keys, Double), limit)]
            }
            "internal_path" => vec![of(rate, &["adapter.internal_bandwidth"], Double)],
            "shared_path" => vec![of(rate, &["rdma.shared_bandwidth"], Double)],
            "send_path" => vec![of(rate, &["rdma.send_bandwidth"], Double)],
            "receive_path" => vec![of(rate, &["rdma.receive_bandwidth"], Double)],
            "controller" => {
                vec![of("half the time of a command", &["nvme.command_time", "nvme.sector_time"], Halve)]
            }
            "processor" => vec![of("half the time of a command", &["adapter.command_time"], Halve)],
            "pipeline" | "receive_pipeline" => {
                vec![of("half the time of a message", &["rdma.message_interval"], Halve)]
            }
            "queue_pairs" => {
                vec![
                    of("half the time of a message of one queue pair", &["rdma.queue_pair_interval"], Halve),
                    of(
                        "twice the rate at which a queue pair reads",
                        &["rdma.queue_pair_read_bandwidth"],
                        Double,
                    ),
                ]
            }
            _ => Vec::new(),
        }
    }

    /// Media of drives behind an adapter: their rates, or what a command costs first.
    fn disks(&self, names: &[(&str, ResourceKind)]) -> Vec<Edit> {
        let of = |what: &str, keys: &[&str], step: Step| {
            let drives = names.iter().filter_map(|(name, _)| name.split('.').nth(1));
            let paths = drives.flat_map(|drive| keys.iter().filter_map(move |key| self.path(drive, key)));
            self.stepped(what, paths.map(|path| (path, step)))
        };
        vec![
            of("media twice as fast", &["read_rate", "write_rate"], Double),
            of("half the time of a command", &["read_overhead", "write_overhead"], Halve),
            of("half the time to position", &["positioning", "positioning_variation"], Halve),
        ]
    }

    /// What copies cost beside their data: of the parts of that the longer first; or more of them at a time.
    fn software_of_copies(&self, load: &CopyConfig) -> Vec<Edit> {
        let of_host = |key: &str, step| {
            let host = host_above(self.scenario, load.device.0 as usize);
            self.path(host, key).map(|path| (path, step))
        };
        let of_device = |key: &str| self.path(&load.device_name, key).map(|path| (path, Halve));
        let engine = self.values.get(format!("workload.{}.engine", load.name).as_str()).copied();
        let overhead = match engine {
            Some("kernel") => "kernel.overhead",
            _ => "copy_engine.overhead",
        };
        let staged = load.costs.staging.map_or(0.0, |staging| {
            let bytes = load.sizes.iter().copied().max().unwrap_or_default();
            let chunks = bytes.div_ceil(staging.chunk.min(bytes)) as f64;
            staging.rate.span_ceil(bytes).as_seconds() + chunks * staging.cost.as_seconds()
        });
        let mut drafts = vec![
            self.stepped("half the overhead of a copy", of_device(overhead).into_iter()),
            self.stepped(
                "twice the rate at which a core stages copies",
                of_host("pageable.copy_rate", Double).into_iter().filter(|_| staged > 0.0),
            ),
            self.stepped(
                "half the time of a core for each chunk",
                of_host("pageable.chunk_cost", Halve).into_iter().filter(|_| staged > 0.0),
            ),
        ];
        if staged > load.costs.overhead.as_seconds() {
            drafts.rotate_left(1);
        }
        let streams = std::iter::once((format!("workload.{}.streams", load.name), Double));
        drafts.push(self.stepped("twice as many streams", streams));
        drafts
    }

    /// Software: more that runs at once, more cores, or half the time of each piece of work.
    fn cores(&self, name: &str) -> Vec<Edit> {
        let owner = name.split('.').next().unwrap_or_default();
        let paths = || self.values.keys().copied();
        let jobs = paths().filter(|path| path.starts_with("workload.") && path.ends_with(".numjobs"));
        let of_software = |path: &str, key: &str| {
            let mut keys = path.split('.');
            // A thread of a tool has the costs of its host.
            let mine = keys.next().is_some_and(|host| host == owner || !self.is_host(owner));
            mine && keys.next().is_some_and(|group| SOFTWARE.contains(&group)) && path.ends_with(key)
        };
        let named = |paths: Vec<&str>, step: Step| {
            paths.into_iter().map(move |path| (path.to_owned(), step)).collect()
        };
        let drafts: [(&str, Vec<(String, Step)>); 3] = [
            ("twice as many jobs", named(jobs.collect(), Double)),
            ("twice the cores", named(paths().filter(|path| of_software(path, ".cores")).collect(), Double)),
            (
                "software that takes half the time",
                named(paths().filter(|path| of_software(path, "_cost")).collect(), Halve),
            ),
        ];
        drafts.into_iter().map(|(what, paths)| self.stepped(what, paths.into_iter())).collect()
    }

    fn is_host(&self, name: &str) -> bool {
        let devices = self.scenario.fabric.devices.iter();
        devices
            .filter(|device| device.name == name)
            .any(|device| matches!(device.kind, DeviceKind::RootComplex(_)))
    }
}
