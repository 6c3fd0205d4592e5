//! What happens to the load and to its host's software. Flows and cores are counted over all adapters.

use crate::device::ethernet;
use crate::ports::{self, needs};
use crate::token::{self, Joined, kinds};

kinds! {
    /// What happened.
    pub(crate) enum Kind {
        /// The last bit of a frame of a flow is in; the flow's next one follows. Flow.
        FrameIn,
        /// No more frames of a trial come in.
        TrialOver,
        /// A register has been read. Core.
        RegisterRead,
        /// A piece of work is done. Core.
        WorkDone,
    }
}

/// That, or something of the adapters'.
pub(crate) type Kinds = Joined<Kind, ethernet::Kind>;

/// Kind, subject and detail of what happened.
pub(crate) type Token = token::Token<Kinds>;

needs!(pub(crate) Needs: Timers, Dma, Mmio, Tally);

/// The machine as it sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kinds>;

/// A token without a detail.
#[inline]
pub(super) fn of(kind: Kind, subject: usize) -> Token {
    with(kind, subject, 0)
}

/// A token with one: the number of a trial.
#[inline]
pub(super) fn with(kind: Kind, subject: usize, detail: u32) -> Token {
    Token::with(kind, subject as u32, detail)
}
