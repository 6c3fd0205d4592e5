//! What a timer of jobs and of their hosts' software was for.

use crate::device::{gpu, nvme, rdma};
use crate::ports::{self, needs};
use crate::token::{self, Joined, kinds};

kinds! {
    /// What happened. The subject is a slot unless another one is named.
    pub(crate) enum Kind {
        /// The job's thread has turned to a write whose data a GPU has.
        Begun,
        /// The driver has put a command into its queue: ring the doorbell.
        Submitted,
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
    }
}

/// Something of the drives', of the network's, or of copies.
pub(crate) type DeviceKinds = Joined<nvme::Kind, Joined<rdma::Kind, gpu::Kind>>;

/// What happened to a job, or something of these.
pub(crate) type Kinds = Joined<Kind, DeviceKinds>;

/// Kind, subject and detail of what happened.
pub(crate) type Token = token::Token<Kinds>;

needs!(pub(crate) Needs: Timers, Dma, Mmio, Tally, HotPlug, Randomness);

/// The machine as it sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kinds>;

/// The machine as the drives see it.
pub(super) fn drives<'a, M>(ports: &'a mut Ports<'_, M>) -> ports::Ports<'a, M, nvme::Kind> {
    ports.second().into_first()
}

/// The machine as the network sees it.
pub(super) fn network<'a, M>(ports: &'a mut Ports<'_, M>) -> ports::Ports<'a, M, rdma::Kind> {
    ports.second().into_second().into_first()
}

/// The machine as the engines of GPUs see it.
pub(super) fn gpus<'a, M>(ports: &'a mut Ports<'_, M>) -> ports::Ports<'a, M, gpu::Kind> {
    ports.second().into_second().into_second()
}
