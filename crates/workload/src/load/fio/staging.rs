//! Where a target stages the data of an I/O between its adapter and a drive.
//!
//! ```text
//!  host memory     adapter ──► root port ──► memory ──► root port ──► drive     each byte crosses the host twice
//!  a card          adapter ──► card's memory ──► drive                          below one switch: peer to peer twice
//!  in the drive    adapter ──► controller memory buffer, then inside the drive  peer to peer once
//! ```
//!
//! With a card or a controller memory buffer (NVMe Base 2.0 §8.5) commands, completions and doorbells still go through
//! the host: NVMe over Fabrics leaves them to the target's software. Data that comes along in a command capsule lands
//! in host memory with it and is fetched from there.
//!
//! Leaves out: how the target's software finds and maps such memory (Linux' p2pdma checks the same things that a
//! scenario is checked for), and what a drive's own processors spend on its controller memory buffer.

use super::workload::NvmeWorkload;
use crate::host::memory::PAGE;
use lanewise_fabric::workload::{DeviceId, Target};
use lanewise_units::Bytes;

/// Where a target stages data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Staging {
    /// In the memory of its host.
    #[default]
    HostMemory,
    /// In the memory of another device, which adapter and drives reach peer to peer.
    Device(DeviceId),
    /// In the controller memory buffer of the drive that the I/O is for.
    Drive,
}

impl Staging {
    /// Bytes that I/Os of `block` take at most, `depth` at a time.
    pub fn room(block: Bytes, depth: u64) -> Bytes {
        block.round_up_to(PAGE) * depth
    }
}

impl NvmeWorkload {
    /// How the data of a slot is staged at the target; none for data that needs no staging.
    pub(super) fn staging(&self, slot: u32) -> Option<Staging> {
        let slot = &self.slots[slot as usize];
        let fabrics = self.config.groups[slot.group as usize].fabrics.as_ref()?;
        (!fabrics.in_capsule(&slot.request)).then_some(fabrics.staging)
    }

    /// Whose memory the adapter of the target reads or writes for a slot.
    pub(super) fn staged_in(&self, slot: u32) -> Target {
        match self.staging(slot) {
            None | Some(Staging::HostMemory) => Target::HostMemory,
            Some(Staging::Device(device)) => Target::Endpoint(device),
            Some(Staging::Drive) => {
                Target::Endpoint(self.drives.drive(self.slots[slot as usize].ssd).config.device)
            }
        }
    }

    /// Whose memory the drive's DMA reads or writes for a slot; none when it is in the drive already.
    pub(super) fn data_target(&self, slot: u32) -> Option<Target> {
        match self.staging(slot) {
            Some(Staging::Drive) => None,
            Some(Staging::Device(device)) => Some(Target::Endpoint(device)),
            Some(Staging::HostMemory) => Some(Target::HostMemory),
            None => Some(self.slots[slot as usize].memory.map_or(Target::HostMemory, Target::Endpoint)),
        }
    }
}
