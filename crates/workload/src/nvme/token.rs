//! What a timer, a transfer or an MMIO write was for: packed into the 64 bits that come back with its event.

/// What happened. The subject is a slot unless another one is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    /// A job may go on. Subject: job.
    Awake,
    /// Something nobody waits for.
    Ignored,
}

const KINDS: [Kind; 24] = [
    Kind::Submitted,
    Kind::Doorbell,
    Kind::Fetched,
    Kind::Processed,
    Kind::PagesFetched,
    Kind::MediaReady,
    Kind::Crossed,
    Kind::DataSent,
    Kind::DataFetched,
    Kind::Drained,
    Kind::Accepted,
    Kind::Polled,
    Kind::Moderation,
    Kind::Interrupt,
    Kind::Handler,
    Kind::Completed,
    Kind::CommandTaken,
    Kind::WriteDataAsked,
    Kind::WriteDataHere,
    Kind::TargetSubmitted,
    Kind::Response,
    Kind::Responded,
    Kind::Awake,
    Kind::Ignored,
];

/// Largest detail that fits beside kind and subject: 24 bits.
pub(crate) const LARGEST_DETAIL: u64 = (1 << 24) - 1;

/// Kind, subject and detail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub kind: Kind,
    pub subject: u32,
    pub detail: u32,
}

impl Token {
    /// A token without a detail, packed.
    pub(crate) const fn of(kind: Kind, subject: u32) -> u64 {
        Self::with(kind, subject, 0)
    }

    /// A token with one, packed.
    pub(crate) const fn with(kind: Kind, subject: u32, detail: u64) -> u64 {
        debug_assert!(detail <= LARGEST_DETAIL, "a detail has 24 bits");
        (kind as u64) << 56 | detail << 32 | subject as u64
    }

    pub(crate) const fn unpack(packed: u64) -> Self {
        let detail = (packed >> 32 & LARGEST_DETAIL) as u32;
        Self { kind: KINDS[(packed >> 56) as usize], subject: packed as u32, detail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_survives_packing() {
        for kind in KINDS {
            let token = Token::unpack(Token::with(kind, u32::MAX - 1, LARGEST_DETAIL));
            assert_eq!(token, Token { kind, subject: u32::MAX - 1, detail: LARGEST_DETAIL as u32 });
        }
    }
}
