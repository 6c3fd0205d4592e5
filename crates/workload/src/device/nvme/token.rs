//! What a timer, a transfer or an MMIO write of a drive was for.

use crate::ports::{self, needs};
use crate::token::{self, kinds};

kinds! {
    /// What happened. The subject is a slot unless another one is named.
    pub(crate) enum Kind {
        /// The doorbell's write is at the drive.
        Doorbell,
        /// A batch of commands is in the drive. Subject: drive; detail: how many.
        Fetched,
        /// The drive's processor has understood the command.
        Processed,
        /// A page of the list of pages is in the drive.
        PagesFetched,
        /// A piece of read data is out of the media. Detail: bytes.
        MediaReady,
        /// A piece of read data has crossed the controller. Subject: drive.
        Crossed,
        /// A piece of read data has left by DMA. Subject: drive; detail: bytes.
        DataSent,
        /// A piece of write data is in the drive. Detail: bytes.
        DataFetched,
        /// A piece of write data is on the media. Subject: drive; detail: bytes.
        Drained,
        /// The drive has accepted all data of a write.
        Accepted,
        /// A completion of which an interrupt tells is in memory.
        Written,
        /// A completion that a core polls for is in memory.
        Polled,
        /// The moderation timer of a queue. Subject: queue.
        Moderation,
        /// The interrupt of a queue is at the processor. Subject: queue.
        Interrupt,
        /// Something that no component waits for.
        Ignored,
    }
}

/// Kind, subject and detail of what happened.
pub(super) type Token = token::Token<Kind>;

needs!(pub(crate) Needs: Timers, Dma, Mmio, Tally);

/// The machine as drives see it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kind>;
