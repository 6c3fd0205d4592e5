//! What a timer, a transfer or an MMIO write of NVMe was for.

use crate::ports::{self, needs};
use crate::rdma;
use crate::token::{self, Joined, kinds};

kinds! {
    /// What happened. The subject is a slot unless another one is named.
    pub(crate) enum Kind {
        /// The driver has put a command into its queue: ring the doorbell.
        Submitted,
        /// The doorbell's write is at the drive.
        Doorbell,
        /// A batch of commands is in the drive. Subject: drive; detail: how many.
        Fetched,
        /// The drive's processor has understood the command.
        Processed,
        /// The list of pages is in the drive.
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
        /// A completion that somebody polls for is in memory.
        Polled,
        /// The moderation timer of a queue. Subject: queue.
        Moderation,
        /// The interrupt of a queue is at the processor. Subject: queue.
        Interrupt,
        /// The handler of an interrupt looks into its queue. Subject: queue.
        Handler,
        /// The host that the drive is on has finished with a command.
        Completed,
        /// The target has read the command capsule.
        CommandTaken,
        /// The target is ready to ask for the data of a write.
        WriteDataAsked,
        /// The data of a write is in the target's memory.
        WriteDataHere,
        /// The target has put the command into a queue of the drive.
        TargetSubmitted,
        /// The target is ready to respond.
        Response,
        /// The initiator has finished with a command.
        Responded,
        /// A drive is to change hosts. Subject: move.
        MoveDue,
        /// Its old host has shut it down. Subject: move.
        MoveShutDown,
        /// Its link to the new host has trained. Subject: move.
        MoveLinkUp,
        /// Its new host has it. Subject: move.
        MoveDone,
        /// A job may go on. Subject: job.
        Awake,
        /// Something nobody waits for.
        Ignored,
    }
}

/// That, or something of the network's.
pub(crate) type Kinds = Joined<Kind, rdma::Kind>;

/// Kind, subject and detail of what happened.
pub(crate) type Token = token::Token<Kinds>;

needs!(pub(crate) Needs: Timers, Dma, Mmio, Tally, HotPlug, Randomness);

/// The machine as it sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kinds>;
