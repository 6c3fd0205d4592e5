//! From what was written to what is meant: the work of the platform. Links train, firmware programs payload sizes,
//! ports get their buffers and timers.
//!
//! Everything is looked at even after a mistake, as far as it makes sense, so that all mistakes are found at once.

mod bars;
mod between;
mod channels;
mod collective;
mod computed;
mod copies;
mod credits;
mod cxl;
mod data_memory;
mod errors;
mod ethernet;
mod fabric;
mod fabrics;
mod frames;
mod functions;
mod gdsio;
mod idle;
mod kinds;
mod link;
mod loops;
pub(crate) mod memory_estimate;
mod memory_path;
mod network_pairs;
mod network_switches;
mod networks;
mod ntb;
mod nvme;
mod partition;
mod payload;
mod peer_copies;
mod peers;
mod plain;
mod port;
mod rdma;
mod reassign;
mod rings;
mod side_link;
mod staging;
mod standby;
mod storage;
mod turnaround;
mod workload;

pub use computed::NegotiatedLink;
pub(crate) use kinds::{kind_of, workload_words};
pub(crate) use workload::WORKLOAD_KEYS;

use crate::diagnostic::Diagnostic;
use crate::file::{Component, ScenarioFile, two_layers};
use crate::idle::{Caution, IdleValue};
use crate::nearest::listing;
use crate::parameter::{LayerTable, Output, ParameterTable, check_group, check_table};
use crate::parameters::{
    EndpointParameters, FirmwareParameters, HostParameters, LinkParameters, PortParameters, RunParameters,
    SwitchParameters,
};
use crate::problem::Problem;
use crate::reader::Reader;
use crate::settings::Settings;
use crate::source::Place;
use crate::structure::ComponentKind;
use crate::topology::{self, InstanceName, Topology};
use crate::value::LinkShape;
use crate::variants;
use computed::Computed;
use kinds::WorkloadKind;
use lanewise_fabric::config::{BridgeConfig, FabricConfig};
use lanewise_workload::LoadConfig;

/// Every kind of workload, in the order of the reference.
pub(crate) const WORKLOAD_KINDS: [WorkloadKind; 18] = [
    plain::DMA,
    copies::COPY,
    peer_copies::PEER_COPIES,
    collective::COLLECTIVE,
    plain::MMIO,
    rings::RINGS,
    storage::IOMETER,
    nvme::FIO,
    gdsio::GDSIO,
    reassign::REASSIGN,
    rdma::PERFTEST,
    rdma::OSU,
    rdma::TRANSACTIONS,
    ethernet::SMARTFLOW,
    frames::FRAMES,
    turnaround::TURNAROUND,
    cxl::STREAM,
    cxl::POINTER_CHASE,
];

/// Everything that was read, before it is put together.
pub(crate) struct Inputs<'f> {
    pub file: &'f ScenarioFile,
    pub topology: Topology,
    pub firmware: FirmwareParameters,
    /// By component.
    pub settings: Vec<Option<Settings>>,
    /// The `link` table of each component.
    pub links: Vec<Option<LinkParameters>>,
    /// Drives that change hosts, in the order of time.
    pub moves: Vec<reassign::Move<'f>>,
    /// By instance, the bridge that it is one side of.
    pub bridges: Vec<Option<BridgeConfig>>,
}

/// What comes out of resolving.
pub(crate) struct Resolution {
    pub run: RunParameters,
    pub firmware: FirmwareParameters,
    pub fabric: FabricConfig,
    pub workloads: Vec<Box<dyn LoadConfig>>,
    pub links: Vec<NegotiatedLink>,
    /// Values of the scenario that nothing reads.
    pub idle: Vec<IdleValue>,
    /// Values of the scenario that cost more than one might think.
    pub cautions: Vec<Caution>,
}

/// Resolves a scenario. Nothing when something that everything else hangs on is missing; then there are problems.
pub(crate) fn resolve(file: &ScenarioFile, output: &mut Output) -> Option<Resolution> {
    let run = RunParameters::read(&mut Reader::new("run", two_layers(&file.run), output));
    let firmware = FirmwareParameters::read(&mut Reader::new("firmware", two_layers(&file.firmware), output));
    check_sections(file, output);
    check_warm_up(file, run.as_ref(), output);
    let read = |component: &Component| Settings::read(component.kind, &mut Reader::of(component, output));
    let settings = file.components.iter().map(read).collect();
    let topology = topology::build(file, output);
    let links = file.components.iter().map(|component| link_parameters(component, output)).collect();
    let (moves, bridges) = (Vec::new(), Vec::new());
    let mut inputs = Inputs { file, topology, firmware: firmware?, settings, links, moves, bridges };
    inputs.moves = reassign::read(&mut inputs, run.as_ref()?, output);
    inputs.bridges = ntb::read(&inputs, output);

    partition::check(&inputs, output);
    let mut computed = Computed::default();
    between::check(&inputs, output);
    let trained = link::train(&inputs, &mut computed, output);
    reassign::check_links(&inputs, &trained, output);
    let payload = payload::program(&inputs, &trained, output);
    let maps = channels::maps(&inputs, &trained, output);
    let ports = port::configure(&inputs, &trained, &payload, &maps, &mut computed, output);
    let fabric =
        fabric::build(&inputs, (&trained, &maps), &payload, ports, run.as_ref()?.seed, &mut computed, output);
    ntb::check_room(&inputs, &fabric, output);
    let workloads = kinds::read(&inputs, &trained, &mut computed, output);
    cxl::check_shared_wires(&inputs, &fabric, output);
    let fabric = bars::of_memory(&inputs, fabric, &workloads, &mut computed, output);
    memory_estimate::check(run.as_ref()?, &fabric, &workloads, output);
    let links = computed::links(&inputs, &trained, &payload);
    computed.replace_automatic(&mut output.parameters);
    variants::keep_differences(file, output);
    idle::find(&inputs, &maps, &workloads, &mut output.idle);
    let idle = std::mem::take(&mut output.idle).settle(&mut output.parameters);
    let cautions = std::mem::take(&mut output.cautions);
    Some(Resolution { run: run?, firmware: inputs.firmware, fabric, workloads, links, idle, cautions })
}

fn check_sections(file: &ScenarioFile, output: &mut Output) {
    for table in &file.run {
        check_table(table, "run", &RunParameters::SCHEMA, &[], &mut output.diagnostics);
    }
    for table in &file.firmware {
        check_table(table, "firmware", &FirmwareParameters::SCHEMA, &[], &mut output.diagnostics);
    }
}

/// Reports a warm-up that outlasts the run: nothing would be measured.
fn check_warm_up(file: &ScenarioFile, run: Option<&RunParameters>, output: &mut Output) {
    let Some((warm_up, run)) = run.and_then(|run| Some((run.warm_up.given()?, run))) else { return };
    if warm_up < run.time_limit {
        return;
    }
    let Some(place) = place_in(&two_layers(&file.run), &["warm_up"]) else { return };
    let (path, found) = ("run.warm_up".to_owned(), warm_up.to_string());
    let rule = format!("less than `run.time_limit`, which is {}", run.time_limit);
    let hint = "nothing is measured in a run that ends with its warm-up";
    output.report(place, Problem::BadValue { path, found, rule }, Some(hint.to_owned()));
}

fn link_parameters(component: &Component, output: &mut Output) -> Option<LinkParameters> {
    if !matches!(component.kind, ComponentKind::Switch | ComponentKind::Endpoint) {
        return None;
    }
    for layer in component.layers() {
        if let Some(table) = layer.table.get("link").and_then(|node| node.as_table()) {
            let path = format!("{}.link", component.name);
            check_group(
                table,
                &path,
                &LinkParameters::SCHEMA,
                component.kind.schema(),
                &mut output.diagnostics,
            );
        }
    }
    Reader::of(component, output).group::<LinkParameters>("link")
}

/// One end of a link: whose port it is, how it is named in paths, and what it can do.
#[derive(Clone, Copy)]
pub(crate) struct PortView<'r> {
    pub component: usize,
    /// Name of the slot, for hosts and switches.
    pub slot: Option<&'r str>,
    pub shape: LinkShape,
    pub parameters: &'r PortParameters,
}

impl PortView<'_> {
    /// `nic0`, `server.slots.slot1`, `sw0.ports.port0`.
    pub fn path(&self, inputs: &Inputs<'_>) -> String {
        let component = &inputs.file.components[self.component];
        match (self.slot, component.kind.slots_key()) {
            (Some(slot), Some(key)) => format!("{}.{key}.{slot}", component.name),
            _ => component.name.clone(),
        }
    }
}

impl<'f> Inputs<'f> {
    /// The bridge that an instance is one side of.
    pub fn bridge_of(&self, instance: usize) -> Option<&BridgeConfig> {
        self.bridges.get(instance)?.as_ref()
    }

    /// The one device that a name such as `nic` or `nic[3]` means.
    pub fn one_instance(&self, name: InstanceName<'_>) -> Option<usize> {
        let mut instances = name.among(self.topology.instances_of(self.find(name.component)?))?;
        instances.next().filter(|_| instances.is_empty())
    }

    /// Index of the component with this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.file.find(name)
    }

    /// Names to compare a mistyped one with; not so many that comparing takes time.
    pub fn some_names(&self) -> impl Iterator<Item = &'f str> {
        self.file.components.iter().take(1_000).map(|component| component.name.as_str())
    }

    /// Says which endpoints and drives there are beside the one that was found, when there are not too many to read.
    pub fn names_hint(&self, found: &str) -> Option<String> {
        let usable = |kind| matches!(kind, ComponentKind::Endpoint | ComponentKind::Storage);
        let others = self.file.components.iter().filter(|other| usable(other.kind) && other.name != found);
        listing("devices", others.map(|component| component.name.as_str()))
    }

    /// Endpoints of one host, or of all others, that are like this.
    pub fn endpoints_of(
        &self,
        host: usize,
        is_its: bool,
        is_meant: impl Fn(&EndpointParameters) -> bool,
    ) -> impl Iterator<Item = usize> {
        (0..self.topology.instances.len()).filter(move |at| {
            let is_meant = self.endpoint(*at).is_some_and(&is_meant);
            is_meant && self.is_placed(*at) && (self.topology.path_up(*at).last() == Some(host)) == is_its
        })
    }

    /// Whether a host is above an instance: not where an `attach` on the way is wrong, which is reported.
    pub fn is_placed(&self, instance: usize) -> bool {
        let top = self.topology.path_up(instance).last();
        top.is_some_and(|top| self.component_of(top).kind == ComponentKind::Host)
    }

    pub fn component_of(&self, instance: usize) -> &'f Component {
        &self.file.components[self.topology.instances[instance].component]
    }

    pub fn settings_of(&self, instance: usize) -> Option<&Settings> {
        self.settings[self.topology.instances[instance].component].as_ref()
    }

    /// Parameters of an instance that is a host.
    pub fn host(&self, instance: usize) -> Option<&HostParameters> {
        match self.settings_of(instance) {
            Some(Settings::Host(host)) => Some(host),
            _ => None,
        }
    }

    /// Those of the host above an instance.
    pub fn host_above(&self, instance: usize) -> Option<&HostParameters> {
        self.topology.path_up(instance).find_map(|above| self.host(above))
    }

    /// Parameters of an instance that is a switch.
    pub fn switch(&self, instance: usize) -> Option<&SwitchParameters> {
        match self.settings_of(instance) {
            Some(Settings::Switch(switch)) => Some(switch),
            _ => None,
        }
    }

    /// Parameters of an instance that is an endpoint.
    pub fn endpoint(&self, instance: usize) -> Option<&EndpointParameters> {
        match self.settings_of(instance) {
            Some(Settings::Endpoint(endpoint)) => Some(endpoint),
            _ => None,
        }
    }

    /// The port of an instance in a slot; for endpoints there is only port 0.
    pub fn port(&self, instance: usize, port: usize) -> Option<PortView<'_>> {
        let component = self.topology.instances[instance].component;
        match self.settings[component].as_ref()? {
            Settings::Endpoint(endpoint) => {
                let shape = LinkShape { generation: endpoint.generation, width: endpoint.width };
                Some(PortView { component, slot: None, shape, parameters: &endpoint.port })
            }
            _ => {
                let slot = self.topology.slots[component].get(port)?;
                Some(PortView {
                    component,
                    slot: Some(&slot.name),
                    shape: slot.shape,
                    parameters: &slot.port,
                })
            }
        }
    }

    /// Both ends of the link above an instance: the upper, the lower.
    pub fn ends(&self, lower: usize) -> Option<(PortView<'_>, PortView<'_>)> {
        let (above, slot) = self.topology.instances[lower].above?;
        Some((self.port(above, slot)?, self.port(lower, 0)?))
    }

    /// The place where a component's value is written, or the component's name.
    pub fn place_of(&self, component: usize, keys: &[&str]) -> Place {
        place_in(&self.file.components[component].layers(), keys)
            .unwrap_or(self.file.components[component].place)
    }
}

/// The strongest place in which a path of keys is written.
pub(crate) fn place_in(layers: &[LayerTable<'_>], keys: &[&str]) -> Option<Place> {
    layers.iter().find_map(|layer| {
        let (last, tables) = keys.split_last()?;
        let table = tables.iter().try_fold(layer.table, |table, key| table.get(key)?.as_table())?;
        let node = table.get(last)?;
        // Past a provenance, the value itself.
        let value = node.as_table().and_then(|table| table.get("value"));
        Some(value.unwrap_or(node).place)
    })
}

impl Output {
    /// Whether something is wrong at a place, or inside it.
    pub(crate) fn has_problem_in(&self, place: Place) -> bool {
        self.diagnostics.iter().any(|known| known.place.is_some_and(|known| place.contains(known)))
    }

    /// Notes a problem with a hint. A list that could not be read is not blamed for its length, too.
    pub(crate) fn report(&mut self, place: Place, problem: Problem, hint: Option<String>) {
        let of_a_list = matches!(problem, Problem::WrongLength { .. } | Problem::BadGroups { .. });
        if of_a_list && self.has_problem_in(place) {
            return;
        }
        self.diagnostics.push(Diagnostic::at(place, problem).maybe_hint(hint));
    }
}
