//! What a timer, a transfer or an MMIO write of storage adapters was for. A detail is a number of bytes, or a port.

use crate::ports::{self, needs};
use crate::token::{self, kinds};

kinds! {
    /// What happened.
    pub(crate) enum Kind {
        /// The doorbell is at the adapter. Slot.
        Doorbell,
        /// The adapter's processor has seen the doorbell's command. Slot.
        Processed,
        /// The command is in the adapter. Slot.
        CommandFetched,
        /// A frame from a drive is at the adapter. Port, adapter.
        Arrived,
        /// A frame is at its drive. Port, adapter.
        Departed,
        /// A drive's own time. Drive.
        Media,
        /// Read data has crossed the adapter. Slot, bytes.
        CrossedInbound,
        /// Read data has left by DMA. Slot, bytes.
        DataSent,
        /// Write data has come by DMA. Slot, bytes.
        DataFetched,
        /// Write data has crossed the adapter. Slot, bytes.
        CrossedOutbound,
        /// An adapter's moderation timer. Adapter.
        Moderation,
        /// An adapter's interrupt is in memory. Adapter.
        Interrupt,
    }
}

/// Kind, subject and detail of what happened.
pub(crate) type Token = token::Token<Kind>;

needs!(pub(crate) Needs: Timers, Dma, Mmio);

/// The machine as it sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kind>;
