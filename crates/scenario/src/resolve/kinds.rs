//! Every kind of workload: its word in a scenario, its parameters, how one becomes the settings of a load, and what it answers to the
//! rest of a scenario.
//!
//! A new kind is a file beside this one, with its parameters, and a line of [`WORKLOAD_KINDS`] in `mod.rs`. No other file knows a kind
//! by its word.

use super::computed::Computed;
use super::fabrics::Carrier;
use super::link::TrainedLink;
use super::networks::{self, Networks};
use super::rdma::{self, WrittenTool};
use super::reassign::REASSIGN;
use super::workload::{parameters, unknown};
use super::{Inputs, WORKLOAD_KINDS, ethernet, nvme, place_in, storage};
use crate::diagnostic::Diagnostic;
use crate::document::shortened;
use crate::file::{WrittenWorkload, name_order};
use crate::nearest::did_you_mean;
use crate::parameter::{Output, ParameterTable, TableSchema};
use crate::parameters::IometerParameters;
use crate::problem::Problem;
use crate::structure::ComponentKind;
use crate::value::quoted_words;
use lanewise_units::order;
use lanewise_workload::LoadConfig;

/// Most instruments that a scenario's workloads may stand for together.
const INSTRUMENT_LIMIT: usize = 65_536;

/// A kind of workload.
pub(crate) struct WorkloadKind {
    /// What `kind` says.
    pub word: &'static str,
    /// Its parameters.
    pub table: &'static TableSchema,
    /// Tables within them that are pages of their own in the reference, and what they are.
    pub lines: &'static [(&'static str, &'static TableSchema)],
    /// Reads one; see [`Reading`].
    read: Read,
    /// Groups of parameters of components that only workloads of this kind read, and of others that name them, too.
    pub uses: &'static [Group],
    /// Whether it reads and writes lines, and so the memory of expanders, which have no DMA and no registers.
    pub has_lines: bool,
    /// Whether cores load and store, at a device that does nothing by itself.
    pub is_of_cores: bool,
    /// Whether its `network` has to be one that is there.
    is_over_network: bool,
    /// What to write in place of a word that is no kind, where this one is meant.
    meant_by: fn(&str) -> Option<String>,
}

/// A group of parameters that some components have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Group {
    /// Which components.
    pub of: ComponentKind,
    /// Its key there.
    pub key: &'static str,
}

/// Reads a workload.
pub(super) type Read = for<'r, 'f> fn(&mut Reading<'r, 'f>, &'f WrittenWorkload);

pub(super) const fn kind(
    word: &'static str,
    table: &'static TableSchema,
    lines: &'static [(&'static str, &'static TableSchema)],
    read: Read,
) -> WorkloadKind {
    WorkloadKind {
        word,
        table,
        lines,
        read,
        uses: &[],
        has_lines: false,
        is_of_cores: false,
        is_over_network: false,
        meant_by: |_| None,
    }
}

impl WorkloadKind {
    /// It reads these groups.
    pub(super) const fn using(self, uses: &'static [Group]) -> Self {
        Self { uses, ..self }
    }

    /// It reads and writes lines.
    pub(super) const fn on_lines(self) -> Self {
        Self { has_lines: true, ..self }
    }

    /// Cores load and store.
    pub(super) const fn by_cores(self) -> Self {
        Self { is_of_cores: true, ..self }
    }

    /// It is between adapters of a network.
    pub(super) const fn over_network(self) -> Self {
        Self { is_over_network: true, ..self }
    }

    /// What to write for a word in lower case with which it is meant.
    pub(super) const fn meant_by(self, hint: fn(&str) -> Option<String>) -> Self {
        Self { meant_by: hint, ..self }
    }

    /// Whether a workload is of this kind.
    pub(super) fn is_of(&self, workload: &WrittenWorkload) -> bool {
        self.word == workload.kind
    }
}

/// The kind of a workload; none for a word that is none.
pub(crate) fn kind_of(workload: &WrittenWorkload) -> Option<&'static WorkloadKind> {
    static KINDS: [WorkloadKind; WORKLOAD_KINDS.len()] = WORKLOAD_KINDS;
    KINDS.iter().find(|kind| kind.is_of(workload))
}

/// What `kind` of a workload may say.
pub(crate) fn workload_words() -> Vec<&'static str> {
    WORKLOAD_KINDS.iter().map(|kind| kind.word).collect()
}

/// What has been read so far. Workloads over what is shared (adapters with drives, NVMe drives, networks) wait until all of them
/// are known, and become one load.
pub(super) struct Reading<'r, 'f> {
    pub(super) inputs: &'r Inputs<'f>,
    pub(super) computed: &'r mut Computed,
    pub(super) output: &'r mut Output,
    pub(super) loads: Vec<Box<dyn LoadConfig>>,
    /// IOmeter's.
    pub(super) groups: Vec<(&'f WrittenWorkload, IometerParameters)>,
    /// fio's and gdsio's.
    pub(super) jobs: Vec<nvme::Job<'f>>,
    /// Those over networks.
    pub(super) tools: Vec<(&'f WrittenWorkload, WrittenTool)>,
    pub(super) systems: ethernet::Systems<'r>,
    /// The link above each instance.
    pub(super) trained: &'r [Option<TrainedLink>],
    pub(super) networks: Networks,
    /// Workloads whose data cross networks of their own accord.
    pub(super) over_network: Vec<&'f WrittenWorkload>,
}

impl<'f> Reading<'_, 'f> {
    pub(super) fn add<C: LoadConfig>(&mut self, configs: impl IntoIterator<Item = C>) {
        self.loads.extend(configs.into_iter().map(|config| Box::new(config) as Box<dyn LoadConfig>));
    }

    pub(super) fn add_tool<P: ParameterTable>(
        &mut self,
        workload: &'f WrittenWorkload,
        written: fn(P) -> WrittenTool,
    ) {
        let read = parameters::<P>(workload, self.output);
        self.tools.extend(read.map(|parameters| (workload, written(parameters))));
    }

    fn len(&self) -> usize {
        self.loads.len() + self.groups.len() + self.jobs.len() + self.tools.len()
    }
}

/// Reads every workload.
pub(crate) fn read(
    inputs: &Inputs<'_>,
    trained: &[Option<TrainedLink>],
    computed: &mut Computed,
    output: &mut Output,
) -> Vec<Box<dyn LoadConfig>> {
    let networks = networks::all(inputs, computed, output);
    let systems = ethernet::systems(inputs, output);
    let (loads, groups, jobs, tools) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let over_network = Vec::new();
    let mut reading = Reading {
        inputs,
        computed,
        output,
        loads,
        groups,
        jobs,
        tools,
        systems,
        trained,
        networks,
        over_network,
    };
    let mut unread = Vec::new();
    for workload in &inputs.file.workloads {
        let (known, so_far) = (reading.output.diagnostics.len(), reading.len());
        match kind_of(workload) {
            Some(kind) => (kind.read)(&mut reading, workload),
            None => reading.output.diagnostics.push(unknown_kind(workload)),
        }
        if reading.output.diagnostics.len() > known {
            unread.push(workload);
        }
        assert!(
            reading.len() > so_far || REASSIGN.is_of(workload) || !reading.output.diagnostics.is_empty(),
            "`{}` vanished without a word",
            workload.path()
        );
        if reading.loads.len() > INSTRUMENT_LIMIT {
            let (found, allowed) = (reading.loads.len().to_string(), INSTRUMENT_LIMIT.to_string());
            reading.output.report(workload.place, Problem::TooManyDevices { found, allowed }, None);
            return Vec::new();
        }
    }
    // What shares a machine is put together by name, not in the order of the file.
    order::sort_by_key(&mut reading.groups, |(workload, _)| name_order(&workload.name));
    order::sort_by_key(&mut reading.jobs, |job| name_order(&job.workload.name));
    order::sort_by_key(&mut reading.tools, |(workload, _)| name_order(&workload.name));
    let read = storage::build(inputs, &reading.groups, reading.output);
    reading.add(read);
    let networks = std::mem::take(&mut reading.networks);
    check_networks(inputs, &unread, &reading.tools, &networks, reading.output);
    check_carriers(&mut reading);
    let carrier = Carrier { networks: &networks, has_tools: !reading.tools.is_empty() };
    let read = nvme::build(inputs, &reading.jobs, &carrier, reading.computed, reading.output);
    reading.add(read);
    let read = rdma::build(inputs, &reading.tools, networks, reading.computed, reading.output);
    reading.add(read);
    reading.loads
}

fn unknown_kind(workload: &WrittenWorkload) -> Diagnostic {
    let path = workload.path();
    let (found, allowed) = (shortened(&workload.kind), quoted_words(&workload_words()));
    let problem = Problem::UnknownChoice { path: format!("{path}.kind"), found, allowed };
    // The name of a tool in place of its kind.
    let word = workload.kind.to_ascii_lowercase();
    let meant = WORKLOAD_KINDS.iter().find_map(|kind| (kind.meant_by)(&word));
    let hint = meant.or_else(|| did_you_mean(&workload.kind, workload_words()));
    Diagnostic::at(workload.place, problem).maybe_hint(hint)
}

/// Reports a collective on networks that others use, too: each load has the adapters for itself.
fn check_carriers(reading: &mut Reading<'_, '_>) {
    let fio = reading.jobs.iter().filter(|job| job.parameters.network != "none").map(|job| job.workload);
    let tools = reading.tools.iter().map(|(workload, _)| *workload);
    let others: Vec<&WrittenWorkload> =
        fio.chain(tools).chain(reading.over_network.iter().copied()).collect();
    for workload in &reading.over_network {
        let Some(other) = others.iter().find(|other| !std::ptr::eq(**other, *workload)) else { continue };
        let expected =
            format!("networks carry one collective's data alone, and `{}` is on them, too", other.name);
        let key = if place_in(&workload.layers(), &["networks"]).is_some() { "networks" } else { "devices" };
        unknown(reading.inputs, workload, key, &workload.name, expected, reading.output);
    }
}

/// Looks up the networks of workloads that are wrong elsewhere, so that a wrong name is reported with the rest.
fn check_networks(
    inputs: &Inputs<'_>,
    unread: &[&WrittenWorkload],
    tools: &[(&WrittenWorkload, WrittenTool)],
    networks: &Networks,
    output: &mut Output,
) {
    for workload in unread {
        let is_looked_up = tools.iter().any(|(other, _)| std::ptr::eq(*other, *workload));
        let written = workload.layers().into_iter().find_map(|layer| layer.table.get("network"));
        let takes_one = kind_of(workload).is_some_and(|kind| kind.is_over_network);
        if let Some(name) = written.and_then(|node| node.as_str()).filter(|_| takes_one && !is_looked_up) {
            networks.named(inputs, workload, name, output);
        }
    }
}
