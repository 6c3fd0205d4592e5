//! What a timer of workers and of their host's software was for.

use crate::device::hba;
use crate::ports::{self, needs};
use crate::token::{self, Joined, kinds};

kinds! {
    /// What happened.
    pub(crate) enum Kind {
        /// The driver has done its part of a command: ring the doorbell. Slot.
        Submitted,
        /// The host has finished with an I/O. Slot.
        Completed,
        /// A worker's pause is over. Worker.
        Awake,
    }
}

/// That, or something of the adapters'.
pub(crate) type Kinds = Joined<Kind, hba::Kind>;

/// Kind, subject and detail of what happened.
pub(crate) type Token = token::Token<Kinds>;

needs!(pub(crate) Needs: Timers, Dma, Mmio, Tally, Randomness);

/// The machine as it sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kinds>;
