//! Settings of jobs, their hosts and drives, and what lies between them.

use super::fabrics::FabricsConfig;
use super::jobs::FioConfig;
use super::moving::MoveConfig;
use crate::device::gpu::CopyCosts;
use crate::device::nvme::SsdConfig;
use crate::device::rdma::RdmaNetworkConfig;
use crate::host::NvmeHostConfig;
use lanewise_fabric::config::EngineConfig;
use lanewise_fabric::workload::DeviceId;

/// How a host reaches a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathConfig {
    /// Index of the drive.
    pub ssd: usize,
    /// Index of the host whose path it is: of no use while the drive is on another one.
    pub host: usize,
}

/// A GPU that a job's data is copied to and from.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuConfig {
    /// It.
    pub device: DeviceId,
    /// Its name.
    pub name: String,
    /// Units and bytes in flight of an engine.
    pub engine: EngineConfig,
    /// Engines of each direction; at least one.
    pub engines: u32,
    /// What a copy costs beside its data.
    pub costs: CopyCosts,
}

/// Where the data of a job goes to or comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum DataMemory {
    /// Memory of the host that the drives are on.
    Host,
    /// Memory of endpoints, which the drives reach peer to peer: clones use them in turn. At least one.
    Devices(Vec<DeviceId>),
    /// Memory of GPUs, by way of a buffer in host memory: clones use them in turn. At least one.
    Copied(Vec<GpuConfig>),
}

/// A job section and where it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupConfig {
    /// The job; its files are indexes of paths.
    pub fio: FioConfig,
    /// Index of the host whose processors run it.
    pub host: usize,
    /// Where the data goes to or comes from.
    pub memory: DataMemory,
    /// How it reaches its drives when they are on another host; none when they are attached.
    pub fabrics: Option<FabricsConfig>,
}

/// Settings of everything.
#[derive(Clone, Debug, PartialEq)]
pub struct NvmeConfig {
    /// Hosts.
    pub hosts: Vec<NvmeHostConfig>,
    /// Drives.
    pub ssds: Vec<SsdConfig>,
    /// Ways to drives.
    pub paths: Vec<PathConfig>,
    /// Jobs.
    pub groups: Vec<GroupConfig>,
    /// Adapters and networks between hosts; empty when all drives are attached.
    pub network: RdmaNetworkConfig,
    /// Drives that change hosts, in the order of time for each drive.
    pub moves: Vec<MoveConfig>,
}

impl NvmeConfig {
    /// These settings, with what may change while everything is at work as in `other`: rates and times of drives, and of each job
    /// what it may change, given what it was at first.
    #[must_use]
    pub fn with_live_settings_of(&self, other: &Self, first: &Self) -> Self {
        let mut mixed = self.clone();
        for (ssd, from) in mixed.ssds.iter_mut().zip(&other.ssds) {
            *ssd = ssd.with_live_settings_of(from);
        }
        for ((group, from), first) in mixed.groups.iter_mut().zip(&other.groups).zip(&first.groups) {
            group.fio = group.fio.with_live_settings_of(&from.fio, &first.fio);
        }
        mixed
    }
}
