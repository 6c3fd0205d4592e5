//! Transfers that are not complete, and what is left to ask for of them.

use crate::ats::Translations;
use crate::packet::RouteEnd;
use crate::slots::Slots;
use crate::workload::{Direction, Transfer, WorkloadId};
use lanewise_units::{Bytes, Time};
use std::collections::VecDeque;

/// A transfer and how far it has come: one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct ActiveTransfer {
    pub(crate) transfer: Transfer,
    pub(crate) workload: WorkloadId,
    /// Bytes that arrived: in the device (read), at the target (write).
    pub(crate) arrived: u64,
    /// First byte of the transfer, in the target's address space.
    address: u64,
    destination: RouteEnd,
}

/// What is left to ask for of the transfer whose turn it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    pub(super) transfer: u32,
    pub(super) destination: RouteEnd,
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) direction: Direction,
}

/// A queue of transfers that still have requests to make.
#[derive(Debug, Default)]
pub(super) struct DmaQueue {
    pub(super) current: Option<Rest>,
    pub(super) waiting: VecDeque<u32>,
}

/// Every transfer of the fabric that is not complete.
#[derive(Default)]
pub(crate) struct Transfers {
    active: Slots<ActiveTransfer>,
    /// Bytes of those that are complete.
    complete: u64,
}

impl Transfers {
    pub(crate) fn insert(
        &mut self,
        transfer: Transfer,
        workload: WorkloadId,
        address: u64,
        destination: RouteEnd,
    ) -> u32 {
        self.active.insert(ActiveTransfer { transfer, workload, arrived: 0, address, destination })
    }

    pub(crate) fn get(&mut self, index: u32) -> &mut ActiveTransfer {
        self.active.get_mut(index)
    }

    /// The whole of a transfer, of which nothing was asked for yet.
    pub(super) fn whole(&self, index: u32) -> Rest {
        let ActiveTransfer { transfer, address, destination, .. } = *self.active.get(index);
        let (bytes, direction) = (transfer.length.get(), transfer.direction);
        Rest { transfer: index, destination, address, bytes, direction }
    }

    /// The pages of a transfer of host memory are to be looked up.
    pub(super) fn looked_up_by(&self, translations: &mut Translations, index: u32, now: Time) {
        let whole = self.whole(index);
        if whole.destination == RouteEnd::HOST {
            translations.submitted(index, whole.address, whole.bytes, now);
        }
    }

    pub(crate) fn remove(&mut self, index: u32) {
        let over = self.active.get_mut(index);
        self.complete += over.arrived;
        (over.arrived, over.transfer.length) = (0, Bytes::ZERO);
        self.active.take(index);
    }

    /// Transfers that are not complete.
    pub(crate) fn open(&self) -> usize {
        self.active.taken()
    }

    /// Memory that they take when there are more, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.active.bytes()
    }

    /// Those that are not complete.
    pub(crate) fn all_open(&self) -> impl Iterator<Item = &ActiveTransfer> {
        self.active.places().iter().filter(|one| one.transfer.length > Bytes::ZERO)
    }

    /// Bytes that arrived of all that there ever were.
    pub(crate) fn arrived(&self) -> u64 {
        self.complete + self.active.places().iter().map(|one| one.arrived).sum::<u64>()
    }

    /// The most that were open at a time.
    pub(crate) fn places(&self) -> usize {
        self.active.places().len()
    }
}
