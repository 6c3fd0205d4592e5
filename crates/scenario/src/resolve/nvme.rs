//! NVMe drives, the hosts that they are assigned to, and fio's jobs over them.

use super::computed::Computed;
use super::data_memory;
use super::fabrics::{self, Carrier};
use super::kinds::{WorkloadKind, kind};
use super::reassign::Move;
use super::workload::parameters;
use super::workload::{TARGET_LIMIT, endpoints, place, unfit, unknown};
use super::{Inputs, Settings};
use crate::file::WrittenWorkload;
use crate::idle::Idle;
use crate::nearest::asking;
use crate::nearest::{did_you_mean, listing};
use crate::parameter::ParameterTable;
use crate::parameter::{Output, Provenance};
use crate::parameters::{FioParameters, IoEngineChoice, NvmeParameters, NvmeSoftwareParameters, RwChoice};
use crate::problem::Problem;
use crate::structure::ComponentKind;
use crate::topology::InstanceName;
use crate::value::Auto;
use lanewise_fabric::workload::DeviceId;
use lanewise_units::{Bytes, Span, TICKS_PER_SECOND};
use lanewise_workload::device::nvme::SsdConfig;
use lanewise_workload::device::rdma::RdmaNetworkConfig;
use lanewise_workload::host::NvmeHostConfig;
use lanewise_workload::load::fio::{Blocks, FioConfig, IoEngine, JobTool, Pace, Pattern, Thinking};
use lanewise_workload::load::fio::{FabricsConfig, GroupConfig, MoveConfig, NvmeConfig, PathConfig};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// fio over NVMe drives.
pub(super) const FIO: WorkloadKind = kind("fio", &FioParameters::SCHEMA, &[], |reading, workload| {
    let read = parameters(workload, reading.output);
    reading.jobs.extend(read.map(|parameters| Job { workload, parameters, tool: JobTool::Fio }));
})
.meant_by(|word| (word == "nvme").then(|| asking("fio")));

/// A job section of fio's, or what gdsio does with one drive.
pub(crate) struct Job<'f> {
    pub workload: &'f WrittenWorkload,
    pub parameters: FioParameters,
    pub tool: JobTool,
}

/// The drives and hosts that are in use, by instance.
struct System {
    config: NvmeConfig,
    hosts: BTreeMap<usize, usize>,
    drives: BTreeMap<usize, usize>,
}

/// One system for all jobs of a scenario, or none without jobs.
pub(crate) fn build(
    inputs: &Inputs<'_>,
    jobs: &[Job<'_>],
    carrier: &Carrier<'_>,
    computed: &mut Computed,
    output: &mut Output,
) -> Option<NvmeConfig> {
    let empty = NvmeConfig {
        hosts: Vec::new(),
        ssds: Vec::new(),
        paths: Vec::new(),
        groups: Vec::new(),
        network: RdmaNetworkConfig::default(),
        moves: Vec::new(),
    };
    let mut system = System { config: empty, hosts: BTreeMap::new(), drives: BTreeMap::new() };
    for job in jobs {
        let group = group(inputs, job, carrier, &mut system, computed, output);
        system.config.groups.extend(group);
    }
    for each in &inputs.moves {
        let planned = system.plan(inputs, each, output);
        system.config.moves.extend(planned);
    }
    if system.config.groups.iter().any(|group| group.fabrics.is_some()) {
        system.config.network = carrier.networks.config.clone();
    }
    (!system.config.groups.is_empty()).then_some(system.config)
}

fn group(
    inputs: &Inputs<'_>,
    job: &Job<'_>,
    carrier: &Carrier<'_>,
    system: &mut System,
    computed: &mut Computed,
    output: &mut Output,
) -> Option<GroupConfig> {
    let Job { workload, parameters, tool } = job;
    let is_fio = *tool == JobTool::Fio;
    let path = workload.path();
    if !parameters.direct {
        let (found, allowed) = ("false".to_owned(), "true: the page cache is not modelled".to_owned());
        let problem = Problem::UnknownChoice { path: format!("{path}.direct"), found, allowed };
        output.report(place(workload, "direct"), problem, None);
        return None;
    }
    check_blocks(workload, parameters, output);
    let drives = drives(inputs, workload, parameters, output)?;
    let used = system.config.paths.len() + drives.len();
    if used > TARGET_LIMIT {
        let (found, allowed) = (format!("{used} targets of all workloads"), TARGET_LIMIT.to_string());
        output.report(place(workload, "filename"), Problem::TooManyDevices { found, allowed }, None);
        return None;
    }
    let host = one_host(inputs, (workload, parameters), &drives, output)?;
    let capacity = drives.iter().filter_map(|(_, nvme)| nvme.capacity).min()?;
    let (pattern, blocks) = (pattern(parameters), blocks(parameters));
    let size = size(workload, parameters, blocks.largest()..=capacity, output)?;
    // The drives of one workload of gdsio's are alike in that: said once.
    let is_first = system.config.groups.iter().all(|group| *group.fio.name != *workload.name);
    if parameters.size == Auto::Auto && is_first {
        let source = "the whole of the smallest drive";
        computed.parameter(format!("{path}.size"), size.to_string(), Provenance::Assumed, source);
    }
    if parameters.assigned_to == "auto" && is_fio {
        let (value, source) =
            (inputs.component_of(host).name.clone(), "the host that the drives are on at the start");
        computed.parameter(format!("{path}.assigned_to"), value, Provenance::Assumed, source);
    }
    let pace = pace(workload, parameters, output)?;
    if is_fio {
        say_what_is_idle(parameters, &path, &mut output.idle);
    }
    let instances: Vec<usize> = drives.iter().map(|(instance, _)| *instance).collect();
    let memory = data_memory::read(inputs, job, &instances, output)?;
    let reached = fabrics::reach(inputs, (workload, parameters), carrier, (host, &drives), output)?;
    let host = system.host(inputs, host)?;
    let mut files = Vec::new();
    for (instance, nvme) in drives {
        check_buffer(inputs, instance, nvme, output)?;
        let first = system.host(inputs, inputs.topology.path_up(instance).last()?)?;
        let ssd = system.drive(inputs, instance, first, nvme)?;
        files.push(system.config.paths.len());
        system.config.paths.push(PathConfig { ssd, host });
    }
    let fio = fio(job, (pattern, blocks), files, size, pace);
    Some(match reached {
        None => GroupConfig { fio, host, memory, fabrics: None },
        Some(reach) => {
            let initiator = system.host(inputs, reach.initiator)?;
            let fabrics = Some(FabricsConfig { target: host, ..reach.fabrics });
            GroupConfig { fio, host: initiator, memory, fabrics }
        }
    })
}

/// Options of a job that fio accepts and does nothing with, beside others of the job.
fn say_what_is_idle(parameters: &FioParameters, path: &str, idle: &mut Idle) {
    let synchronous = matches!(
        parameters.ioengine,
        IoEngineChoice::Psync | IoEngineChoice::Sync | IoEngineChoice::Libcufile
    );
    if synchronous && parameters.iodepth > 1 {
        let reason = "a synchronous `ioengine` has one I/O in flight; `libaio`, `io_uring` and `spdk` have as many as asked";
        idle.because(format!("{path}.iodepth"), reason);
    }
    if !matches!(parameters.rw, RwChoice::Rw | RwChoice::ReadWrite | RwChoice::RandRw) {
        idle.because(format!("{path}.rwmixread"), "`rw` says which of the two all I/Os are");
    }
    if parameters.ioengine == IoEngineChoice::Spdk {
        idle.because(format!("{path}.hipri"), "a driver in user space polls in any case");
    }
    if parameters.ioengine != IoEngineChoice::Libcufile {
        idle.because(format!("{path}.cuda_io"), "only `libcufile` moves data of GPUs");
    }
    if parameters.thinktime.is_zero() {
        idle.because(format!("{path}.thinktime_blocks"), "there is no `thinktime`");
    }
}

/// The drives that a job names; each is an endpoint with a namespace.
fn drives<'r>(
    inputs: &'r Inputs<'_>,
    workload: &WrittenWorkload,
    parameters: &FioParameters,
    output: &mut Output,
) -> Option<Vec<(usize, &'r NvmeParameters)>> {
    let before = output.diagnostics.len();
    let mut drives = Vec::new();
    let mut named = BTreeSet::new();
    for name in &parameters.filename {
        for instance in endpoints(inputs, workload, "filename", name, output) {
            if !named.insert(instance) {
                let name = inputs.topology.instances[instance].name.clone();
                output.report(place(workload, "filename"), Problem::DuplicateName { name }, None);
                continue;
            }
            match inputs.settings_of(instance) {
                Some(Settings::Endpoint(endpoint)) if endpoint.nvme.capacity.is_some() => {
                    drives.push((instance, &endpoint.nvme));
                }
                Some(_) => {
                    let component = inputs.topology.instances[instance].component;
                    if output.has_problem_in(inputs.place_of(component, &["nvme", "capacity"])) {
                        continue;
                    }
                    let expected = "it is not a drive: `nvme.capacity` is not set";
                    unfit(inputs, workload, ("filename", name), expected, &|| drives_here(inputs), output);
                }
                None => {}
            }
        }
    }
    if drives.is_empty() && parameters.filename.is_empty() {
        unknown(inputs, workload, "filename", "[]", "at least one drive is needed".to_owned(), output);
    }
    (!drives.is_empty() && output.diagnostics.len() == before).then_some(drives)
}

/// The drives of a scenario.
fn drives_here(inputs: &Inputs<'_>) -> Option<String> {
    let is_drive = |at: &usize| matches!(&inputs.settings[*at], Some(Settings::Endpoint(endpoint)) if endpoint.nvme.capacity.is_some());
    let drives = (0..inputs.settings.len()).filter(is_drive);
    listing("drives", drives.map(|at| inputs.file.components[at].name.as_str()))
}

/// The host that all drives of a job are assigned to while it uses them.
fn one_host(
    inputs: &Inputs<'_>,
    (workload, parameters): (&WrittenWorkload, &FioParameters),
    drives: &[(usize, &NvmeParameters)],
    output: &mut Output,
) -> Option<usize> {
    // A drive that is attached nowhere is reported.
    if !drives.iter().all(|(instance, _)| inputs.is_placed(*instance)) {
        return None;
    }
    let host_above = |instance: usize| inputs.topology.path_up(instance).last();
    let named = parameters.assigned_to.as_str();
    let host = match named {
        "auto" => host_above(drives.first()?.0)?,
        name => {
            let one = inputs.one_instance(InstanceName::parse(name));
            let Some(host) = one.filter(|at| inputs.component_of(*at).kind == ComponentKind::Host) else {
                let hint = || {
                    let components = inputs.file.components.iter().take(1_000);
                    let hosts = components.filter(|one| one.kind == ComponentKind::Host && one.name != name);
                    let hosts = hosts.map(|one| one.name.as_str());
                    did_you_mean(name, hosts.clone()).or_else(|| listing("hosts", hosts))
                };
                let expected = "no single host has this name";
                unfit(inputs, workload, ("assigned_to", name), expected, &hint, output);
                return None;
            };
            host
        }
    };
    for (instance, _) in drives {
        let later = inputs.moves.iter().filter(|each| each.drive == *instance).map(|each| each.place);
        let ever = [*instance].into_iter().chain(later.filter(|_| named != "auto"));
        if !{ ever }.any(|place| host_above(place) == Some(host)) {
            let drive = inputs.topology.instances[*instance].name.clone();
            let (key, found, expected) = match named {
                "auto" => ("filename", drive.as_str(), "all drives of a job are on one host".to_owned()),
                name => ("assigned_to", name, format!("`{drive}` is never on that host")),
            };
            let hint = || {
                let host = &inputs.topology.instances[host_above(*instance)?].name;
                Some(format!("`{drive}` is on `{host}`: write a job for the drives of each host"))
            };
            unfit(inputs, workload, (key, found), &expected, &hint, output);
            return None;
        }
    }
    Some(host)
}

/// Reports sizes of which drives have no blocks: without the page cache there is no smaller access.
fn check_blocks(workload: &WrittenWorkload, parameters: &FioParameters, output: &mut Output) {
    let path = workload.path();
    let writes = match &parameters.bs_write {
        Auto::Auto => None,
        Auto::Given(sizes) => Some(("bs_write", sizes)),
    };
    for (key, sizes) in [("bs", &parameters.bs)].into_iter().chain(writes) {
        if let Some(odd) = sizes.stated().into_iter().find(|size| !size.get().is_multiple_of(LOGICAL_BLOCK)) {
            let rule = format!("a multiple of {LOGICAL_BLOCK} B, the smallest block of a drive");
            let problem = Problem::BadValue { path: format!("{path}.{key}"), found: odd.to_string(), rule };
            let hint = "with `direct`, an I/O is of whole blocks".to_owned();
            output.report(place(workload, key), problem, Some(hint));
        }
    }
}

/// Smallest block of a drive, in bytes. NVM Command Set Specification 1.0, LBA Data Size.
const LOGICAL_BLOCK: u64 = 512;

/// The part of each drive that a job uses: it holds a block and fits.
fn size(
    workload: &WrittenWorkload,
    parameters: &FioParameters,
    allowed: RangeInclusive<Bytes>,
    output: &mut Output,
) -> Option<Bytes> {
    let path = workload.path();
    let size = parameters.size.given().unwrap_or(*allowed.end());
    if allowed.contains(&size) {
        return Some(size);
    }
    let (found, low, high) = (size.to_string(), allowed.start().to_string(), allowed.end().to_string());
    let problem = Problem::OutOfRange { path: format!("{path}.size"), found, low, high };
    let hint = "it holds at least one block of `bs` and fits on every drive".to_owned();
    output.report(place(workload, "size"), problem, Some(hint));
    None
}

/// What holds each clone back, if something does.
fn pace(workload: &WrittenWorkload, parameters: &FioParameters, output: &mut Output) -> Option<Option<Pace>> {
    let path = workload.path();
    match (parameters.rate, parameters.rate_iops) {
        (Some(rate), Some(_)) => {
            let (found, allowed) = (rate.to_string(), "\"none\" beside `rate_iops`".to_owned());
            let problem = Problem::UnknownChoice { path: format!("{path}.rate"), found, allowed };
            output.report(place(workload, "rate"), problem, Some("one of the two limits a job".to_owned()));
            None
        }
        (Some(rate), None) => Some(Some(Pace::Bytes(rate))),
        (None, Some(ios)) => Some(Some(Pace::Ios(Span::from_ticks(TICKS_PER_SECOND / u64::from(ios))))),
        (None, None) => Some(None),
    }
}

/// Whether a piece of the media fits the drive's buffer; otherwise nothing would ever move.
fn check_buffer(
    inputs: &Inputs<'_>,
    instance: usize,
    nvme: &NvmeParameters,
    output: &mut Output,
) -> Option<()> {
    if nvme.buffer >= nvme.piece.max(nvme.dma_unit) {
        return Some(());
    }
    let path = format!("{}.nvme.buffer", inputs.component_of(instance).name);
    let (found, low, high) = (nvme.buffer.to_string(), nvme.piece.to_string(), "64 GiB".to_owned());
    let hint = "a piece of the media fits the drive's buffer".to_owned();
    let place = inputs.place_of(inputs.topology.instances[instance].component, &["nvme", "buffer"]);
    output.report(place, Problem::OutOfRange { path, found, low, high }, Some(hint));
    None
}

impl System {
    /// A move of a drive that jobs use.
    fn plan(&mut self, inputs: &Inputs<'_>, each: &Move<'_>, output: &mut Output) -> Option<MoveConfig> {
        let Some(ssd) = self.drives.get(&each.drive).copied() else {
            let path = inputs.topology.instances[each.drive].name.clone();
            let reason = "no fio job uses it".to_owned();
            output.report(place(each.workload, "device"), Problem::BadMove { path, reason }, None);
            return None;
        };
        let host = self.host(inputs, inputs.topology.path_up(each.place).last()?)?;
        let times = &each.parameters;
        Some(MoveConfig {
            ssd,
            at: times.at,
            device: DeviceId(each.place as u32),
            host,
            shutdown_time: times.shutdown_time,
            reset_time: times.reset_time,
            training_time: times.training_time,
            ready_time: times.ready_time,
            enumeration_time: times.enumeration_time,
        })
    }

    fn host(&mut self, inputs: &Inputs<'_>, instance: usize) -> Option<usize> {
        let host = inputs.host(instance)?;
        let hosts = &mut self.config.hosts;
        Some(*self.hosts.entry(instance).or_insert_with(|| {
            hosts.push(software((instance, &inputs.topology.instances[instance].name), &host.nvme));
            hosts.len() - 1
        }))
    }

    fn drive(
        &mut self,
        inputs: &Inputs<'_>,
        instance: usize,
        host: usize,
        nvme: &NvmeParameters,
    ) -> Option<usize> {
        let capacity = nvme.capacity?;
        let ssds = &mut self.config.ssds;
        Some(*self.drives.entry(instance).or_insert_with(|| {
            let name = inputs.topology.instances[instance].name.clone();
            ssds.push(SsdConfig {
                name,
                device: DeviceId(instance as u32),
                host,
                capacity,
                fetch_batch: nvme.fetch_batch,
                command_time: nvme.command_time,
                sector_time: nvme.sector_time,
                command_latency: nvme.command_latency,
                read_rate: nvme.read_rate,
                write_rate: nvme.write_rate,
                random_write_rate: nvme.random_write_rate.given().unwrap_or(nvme.write_rate),
                dma_unit: nvme.dma_unit,
                dies: nvme.dies,
                piece: nvme.piece,
                read_time: nvme.read_time,
                hit_time: nvme.hit_time,
                write_time: nvme.write_time,
                buffer: nvme.buffer,
                preconditioned: nvme.preconditioned,
                read_ahead: nvme.read_ahead,
                streams: nvme.streams,
                new_streams: nvme.new_streams,
                interrupt_completions: nvme.interrupt_completions,
                interrupt_delay: nvme.interrupt_delay,
            });
            ssds.len() - 1
        }))
    }
}

fn software((instance, name): (usize, &str), software: &NvmeSoftwareParameters) -> NvmeHostConfig {
    NvmeHostConfig {
        device: DeviceId(instance as u32),
        name: name.to_owned(),
        cores: software.cores,
        worker_cost: software.worker_cost,
        submit_cost: software.submit_cost,
        aio_cost: software.aio_cost,
        user_driver_cost: software.user_driver_cost,
        interrupt_cost: software.interrupt_cost,
        completion_cost: software.completion_cost,
        register_cost: software.register_cost,
    }
}

fn pattern(parameters: &FioParameters) -> Pattern {
    let (random, read_percent) = match parameters.rw {
        RwChoice::Read => (false, 100),
        RwChoice::Write => (false, 0),
        RwChoice::RandRead => (true, 100),
        RwChoice::RandWrite => (true, 0),
        RwChoice::Rw | RwChoice::ReadWrite => (false, parameters.rwmixread),
        RwChoice::RandRw => (true, parameters.rwmixread),
    };
    Pattern { read_percent, random }
}

/// Sizes for the directions that a job has.
pub(crate) fn blocks(parameters: &FioParameters) -> Blocks {
    let read_percent = pattern(parameters).read_percent;
    let writes = match &parameters.bs_write {
        Auto::Auto => &parameters.bs,
        Auto::Given(sizes) => sizes,
    };
    Blocks {
        reads: (read_percent > 0).then(|| parameters.bs.clone()),
        writes: (read_percent < 100).then(|| writes.clone()),
    }
}

fn fio(
    Job { workload, parameters, tool }: &Job<'_>,
    (pattern, blocks): (Pattern, Blocks),
    files: Vec<usize>,
    size: Bytes,
    pace: Option<Pace>,
) -> FioConfig {
    let pause = Thinking { time: parameters.thinktime, blocks: parameters.thinktime_blocks };
    FioConfig {
        name: workload.load_name(),
        tool: *tool,
        pattern,
        blocks,
        depth: parameters.iodepth,
        jobs: parameters.numjobs,
        engine: match parameters.ioengine {
            IoEngineChoice::Libaio => IoEngine::Asynchronous,
            IoEngineChoice::IoUring => IoEngine::Ring,
            IoEngineChoice::Spdk => IoEngine::UserSpace,
            IoEngineChoice::Psync | IoEngineChoice::Sync | IoEngineChoice::Libcufile => IoEngine::Synchronous,
        },
        polled: parameters.hipri || parameters.ioengine == IoEngineChoice::Spdk,
        files,
        size,
        time_based: parameters.time_based,
        runtime: parameters.runtime,
        pace,
        thinking: (!pause.time.is_zero()).then_some(pause),
        group_reporting: parameters.group_reporting,
        same_group: parameters.same_group,
    }
}
