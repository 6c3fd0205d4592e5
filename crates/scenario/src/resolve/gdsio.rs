//! gdsio: its threads as jobs of fio's kind, one for each drive, with the GPU that the drive's data is for.

use super::kinds::{WorkloadKind, kind};
use super::nvme::Job;
use super::workload::{endpoints, parameters, place};
use crate::document::shortened;
use crate::parameter::{Output, ParameterTable};
use crate::parameters::{
    CudaIoChoice, FioParameters, GdsioParameters, IoEngineChoice, IoTypeChoice, RwChoice, XferTypeChoice,
};
use crate::problem::Problem;
use crate::value::Auto;
use lanewise_workload::load::fio::{BlockSizes, JobTool};

/// Threads that move data between drives and GPUs.
pub(super) const GDSIO: WorkloadKind = kind("gdsio", &GdsioParameters::SCHEMA, &[], |reading, workload| {
    let Some(read) = parameters::<GdsioParameters>(workload, reading.output) else { return };
    let (inputs, output) = (reading.inputs, &mut *reading.output);
    let of = |key: &str, names: &[String], output: &mut Output| -> Vec<usize> {
        names.iter().flat_map(|name| endpoints(inputs, workload, key, name, output)).collect()
    };
    let (drives, gpus) = (of("filename", &read.filename, output), of("gpu", &read.gpu, output));
    for (key, found) in [("filename", &drives), ("gpu", &gpus)] {
        let problem =
            Problem::MissingKey { path: workload.path(), key: key.to_owned(), expected: "a name".to_owned() };
        let is_empty = if key == "gpu" { read.gpu.is_empty() } else { read.filename.is_empty() };
        if found.is_empty() && is_empty {
            output.report(place(workload, key), problem, None);
        }
    }
    if drives.is_empty() || gpus.is_empty() {
        return;
    }
    if gpus.len() != 1 && gpus.len() != drives.len() {
        let reason = format!("{} GPUs for {} drives", gpus.len(), drives.len());
        let found = shortened(&read.gpu.join(", "));
        let problem = Problem::DeviceCount { path: workload.path_of("gpu"), found, reason };
        let hint = "name one for all drives, or one for each".to_owned();
        output.report(place(workload, "gpu"), problem, Some(hint));
        return;
    }
    let name = |instance: usize| inputs.topology.instances[instance].name.clone();
    for (drive, gpu) in drives.iter().zip(gpus.iter().cycle()) {
        let parameters = as_fio(&read, name(*drive), name(*gpu));
        reading.jobs.push(Job { workload, parameters, tool: JobTool::Gdsio });
    }
});

/// The threads of one drive as clones of a job: each has one I/O in flight, and goes on for as long as the run does.
fn as_fio(read: &GdsioParameters, drive: String, gpu: String) -> FioParameters {
    let on_gpu = read.xfer_type != XferTypeChoice::CpuOnly;
    FioParameters {
        filename: vec![drive],
        rw: match read.io_type {
            IoTypeChoice::Read => RwChoice::Read,
            IoTypeChoice::Write => RwChoice::Write,
            IoTypeChoice::RandRead => RwChoice::RandRead,
            IoTypeChoice::RandWrite => RwChoice::RandWrite,
        },
        rwmixread: 50,
        bs: BlockSizes::One(read.io_size),
        bs_write: Auto::Auto,
        iodepth: 1,
        numjobs: read.threads,
        ioengine: if on_gpu { IoEngineChoice::Libcufile } else { IoEngineChoice::Psync },
        direct: true,
        runtime: None,
        size: read.size,
        time_based: true,
        group_reporting: true,
        same_group: true,
        rate_iops: None,
        rate: None,
        thinktime: lanewise_units::Span::ZERO,
        thinktime_blocks: 1,
        hipri: false,
        iomem: "memory".to_owned(),
        gpu_dev_ids: if on_gpu { vec![gpu] } else { Vec::new() },
        cuda_io: match read.xfer_type {
            XferTypeChoice::CpuGpu => CudaIoChoice::Posix,
            XferTypeChoice::Gpud | XferTypeChoice::CpuOnly => CudaIoChoice::Cufile,
        },
        assigned_to: "auto".to_owned(),
        network: "none".to_owned(),
        staging: "memory".to_owned(),
    }
}
