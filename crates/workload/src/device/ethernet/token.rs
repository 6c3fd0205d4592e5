//! What a timer, a transfer or an access of the Ethernet adapters was for. Ports, flows and cores are counted over all
//! adapters.

use crate::ports::{self, needs};
use crate::token::{self, kinds};

kinds! {
    /// What happened.
    pub(crate) enum Kind {
        /// A received frame has left by DMA. Port, bytes.
        FrameWritten,
        /// Receive descriptors are written back: their frames are the driver's. Port, count.
        ReceiveWrittenBack,
        /// Receive descriptors are on chip. Port, count.
        ReceiveFetched,
        /// An interrupt is at the host. Port.
        Interrupt,
        /// A moderation timer. Port.
        Moderation,
        /// A doorbell is at the adapter. Port, frames.
        Doorbell,
        /// Transmit descriptors are on chip. Port, count.
        TransmitFetched,
        /// The data of a frame is on chip. Port.
        FrameRead,
        /// The transmit engine has finished with a frame. Port.
        FrameReady,
        /// The line has sent a frame and its gap. Port.
        LineFree,
        /// Transmit descriptors are written back. Port, count.
        TransmitWrittenBack,
        /// Receive descriptors were given to the adapter. Port, count.
        Replenished,
        /// Interrupts are allowed again. Port.
        Enabled,
        /// A register that only costs its write. Port.
        RegisterWritten,
    }
}

/// A token of Ethernet adapters.
pub(crate) type Token = token::Token<Kind>;

needs!(pub(crate) Needs: Timers, Dma, Mmio, Tally);

/// The machine as it sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kind>;

/// A token without a detail.
#[inline]
pub(super) fn of(kind: Kind, subject: usize) -> Token {
    with(kind, subject, 0)
}

/// A token with one: a count, or bytes.
#[inline]
pub(super) fn with(kind: Kind, subject: usize, detail: u32) -> Token {
    Token::with(kind, subject as u32, detail)
}
