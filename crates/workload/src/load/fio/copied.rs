//! Data that a job copies between its buffer in host memory and a GPU, as fio's `libcufile` does with `cuda_io=posix`.
//!
//! ```text
//!  read    drive ──► buffer, then by a copy ──► GPU       the I/O is over when the copy is
//!  write   GPU ──► buffer by a copy, then ──► drive       the call to the kernel follows the copy
//! ```
//!
//! The copy is that of a synchronous `cudaMemcpy` from or to pageable memory (`engines/libcufile.c` of fio allocates the buffer with
//! `calloc`): [`crate::device::gpu`] says what it is made of.
//!
//! Leaves out: that the thread is busy while it waits for a copy, and memory of another socket as the buffer's place.

use super::config::{DataMemory, GpuConfig};
use super::token::{Kind, Needs, Ports, Token, drives, gpus};
use super::workload::NvmeWorkload;
use crate::device::gpu::{Copies, Way};
use lanewise_fabric::workload::{DeviceId, Direction, DmaQueueId, Target};
use lanewise_observe::{FlowId, FlowSpec, LatencyOf};
use lanewise_units::Bytes;
use std::collections::BTreeMap;

/// Streams of the copies of one I/O at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    to_gpu: u32,
    from_gpu: u32,
}

/// Copies of all jobs.
#[derive(Default, Debug)]
pub(super) struct Copied {
    pub(super) copies: Copies,
    /// The slot of each stream.
    slots: Vec<u32>,
    /// Of each GPU, by its device: all jobs share them.
    engines: BTreeMap<u32, Engines>,
}

/// The engines of a GPU: those that read from host memory, and those that write to it.
#[derive(Debug)]
struct Engines {
    ways: [Vec<DmaQueueId>; 2],
    /// Lanes that are open: each takes the next engine in turn.
    lanes: usize,
}

/// A GPU that the clones of a group copy to and from, with the flows of what they copy: to it, and from it.
#[derive(Clone, Debug)]
pub(super) struct Copier {
    gpu: GpuConfig,
    flows: [FlowId; 2],
}

impl NvmeWorkload {
    /// What copies for the clones of a group; none for one that does not copy.
    pub(super) fn copiers<M: Needs>(&mut self, group: usize, ports: &mut Ports<'_, M>) -> Vec<Copier> {
        let group = self.config.groups[group].clone();
        let DataMemory::Copied(gpus) = group.memory else { return Vec::new() };
        let mut copier = |gpu: GpuConfig| {
            let mut open =
                || (0..gpu.engines).map(|_| ports.open_queue_with(gpu.device, &gpu.engine)).collect();
            self.copied
                .engines
                .entry(gpu.device.0)
                .or_insert_with(|| Engines { ways: [open(), open()], lanes: 0 });
            let mut flow = |direction| {
                ports.add_flow(FlowSpec {
                    name: group.fio.name.to_string(),
                    entry: group.fio.name.entry(),
                    devices: gpu.name.as_str().into(),
                    direction,
                    latency: LatencyOf::Request,
                    repeats: true,
                })
            };
            Copier { flows: [flow("host-to-device"), flow("device-to-host")], gpu }
        };
        gpus.into_iter().map(&mut copier).collect()
    }

    /// Streams for a slot whose data lies at `buffer`, of the clone of this number.
    pub(super) fn open_lane(
        &mut self,
        (slot, buffer): (u32, u64),
        clone: u32,
        copiers: &[Copier],
    ) -> Option<Lane> {
        let Copier { gpu, flows } = copiers.get(clone as usize % copiers.len().max(1))?;
        let Copied { copies, slots, engines } = &mut self.copied;
        let engines = engines.get_mut(&gpu.device.0)?;
        let turn = engines.lanes % gpu.engines as usize;
        engines.lanes += 1;
        let mut open = |direction, way: usize| {
            slots.push(slot);
            copies.open(Way {
                direction,
                target: Target::HostMemory,
                dma_queue: engines.ways[way][turn],
                flow: flows[way],
                offset: buffer,
                costs: gpu.costs,
                queued: false,
            })
        };
        Some(Lane { to_gpu: open(Direction::Read, 0), from_gpu: open(Direction::Write, 1) })
    }

    /// The data of a slot is copied, towards the GPU or from it.
    pub(super) fn copy<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let state = &self.slots[slot as usize];
        let Some(lane) = state.lane else { return };
        let stream = if state.request.write { lane.from_gpu } else { lane.to_gpu };
        let size = Bytes::new(state.request.size);
        self.copied.copies.start(stream, size, &mut gpus(ports));
        self.take_copied(ports);
    }

    /// Copies that have ended: a read is over, a write goes on to the kernel.
    pub(super) fn take_copied<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        while let Some(stream) = self.copied.copies.poll() {
            let slot = self.copied.slots[stream as usize];
            if self.slots[slot as usize].request.write {
                self.call_kernel(slot, ports);
            } else {
                self.complete(slot, ports);
            }
            let ssd = self.slots[slot as usize].ssd;
            self.drives.say_what_holds_back(ssd, &mut drives(ports));
        }
    }

    /// The data of a slot is where the kernel puts it: for a read that a GPU waits for, the copy follows.
    pub(super) fn arrived<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let state = &self.slots[slot as usize];
        if state.lane.is_some() && !state.request.write {
            self.copy(slot, ports);
        } else {
            self.complete(slot, ports);
        }
    }

    /// Goes on with a slot that the job's thread has turned to: to the kernel, or first to the copy of what is written.
    pub(super) fn begun<M: Needs>(&mut self, slot: u32, ports: &mut Ports<'_, M>) {
        let state = &self.slots[slot as usize];
        if state.lane.is_some() && state.request.write {
            let started = state.started;
            ports.set_timer(started, Token::of(Kind::Begun, slot));
        } else {
            self.call_kernel(slot, ports);
        }
    }
}

impl DataMemory {
    /// The endpoint whose memory a clone's drives read and write, if it is not the host's.
    pub(super) fn of_clone(&self, clone: u32) -> Option<DeviceId> {
        match self {
            Self::Host | Self::Copied(_) => None,
            Self::Devices(devices) => Some(devices[clone as usize % devices.len()]),
        }
    }
}
