//! Every kind of workload: its word in a scenario, its parameters, and how one becomes the settings of a load.
//!
//! A new kind is a file beside this one, with its parameters, and a line of [`WORKLOAD_KINDS`] in `mod.rs`.

use super::computed::Computed;
use super::fabrics::Carrier;
use super::link::TrainedLink;
use super::networks::{self, Networks};
use super::rdma::{self, WrittenTool};
use super::workload::{parameters, unknown};
use super::{Inputs, WORKLOAD_KINDS, ethernet, nvme, place_in, storage};
use crate::diagnostic::Diagnostic;
use crate::document::shortened;
use crate::file::{WrittenWorkload, name_order};
use crate::nearest::{asking, did_you_mean};
use crate::parameter::{Output, ParameterTable, TableSchema};
use crate::parameters::IometerParameters;
use crate::problem::Problem;
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
}

/// Reads a workload, whose parameters are at a path.
pub(super) type Read = for<'r, 'f> fn(&mut Reading<'r, 'f>, &'f WrittenWorkload, &str);

pub(super) const fn kind(
    word: &'static str,
    table: &'static TableSchema,
    lines: &'static [(&'static str, &'static TableSchema)],
    read: Read,
) -> WorkloadKind {
    WorkloadKind { word, table, lines, read }
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
        path: &str,
        written: fn(P) -> WrittenTool,
    ) {
        let read = parameters::<P>(workload, path, self.output);
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
    let networks = networks::all(inputs, output);
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
        let path = format!("workload.{}", workload.name);
        let (known, so_far) = (reading.output.diagnostics.len(), reading.len());
        match WORKLOAD_KINDS.iter().find(|kind| kind.word == workload.kind) {
            Some(kind) => (kind.read)(&mut reading, workload, &path),
            None => reading.output.diagnostics.push(unknown_kind(workload, &path)),
        }
        if reading.output.diagnostics.len() > known {
            unread.push(workload);
        }
        let is_move = workload.kind == "reassign";
        assert!(
            reading.len() > so_far || is_move || !reading.output.diagnostics.is_empty(),
            "`{path}` vanished without a word"
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

fn unknown_kind(workload: &WrittenWorkload, path: &str) -> Diagnostic {
    let (found, allowed) = (shortened(&workload.kind), quoted_words(&workload_words()));
    let problem = Problem::UnknownChoice { path: format!("{path}.kind"), found, allowed };
    let hint = kind_of_tool(&workload.kind).or_else(|| did_you_mean(&workload.kind, workload_words()));
    Diagnostic::at(workload.place, problem).maybe_hint(hint)
}

/// The kind that a tool belongs to whose name is written in place of a kind.
fn kind_of_tool(word: &str) -> Option<String> {
    let word = word.to_ascii_lowercase();
    let starts = |with: &str| word.starts_with(with);
    Some(match word.as_str() {
        _ if starts("ib_") => format!("write `kind = \"perftest\"` and `tool = \"{word}\"`"),
        _ if starts("osu_") => format!("write `kind = \"osu\"` and `test = \"{}\"`", &word[4..]),
        "nvbandwidth" | "bandwidthtest" | "memcpy" => asking("copy"),
        "read" | "write" => format!("write `kind = \"dma\"` and `direction = \"{word}\"`"),
        "nvme" => asking("fio"),
        "rdma" => asking("perftest"),
        _ => return None,
    })
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
        let takes_one = matches!(workload.kind.as_str(), "perftest" | "osu" | "transactions");
        if let Some(name) = written.and_then(|node| node.as_str()).filter(|_| takes_one && !is_looked_up) {
            networks.named(inputs, workload, name, output);
        }
    }
}
