//! What a timer, a transfer or an access was for: packed into the 64 bits that come back with its event.

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// The last bit of a frame of a flow is in; the flow's next one follows. Flow.
    FrameIn,
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
    /// A register has been read. Core.
    RegisterRead,
    /// A piece of work is done. Core.
    WorkDone,
}

const KINDS: [Kind; 17] = [
    Kind::FrameIn,
    Kind::FrameWritten,
    Kind::ReceiveWrittenBack,
    Kind::ReceiveFetched,
    Kind::Interrupt,
    Kind::Moderation,
    Kind::Doorbell,
    Kind::TransmitFetched,
    Kind::FrameRead,
    Kind::FrameReady,
    Kind::LineFree,
    Kind::TransmitWrittenBack,
    Kind::Replenished,
    Kind::Enabled,
    Kind::RegisterWritten,
    Kind::RegisterRead,
    Kind::WorkDone,
];

/// Kind, subject (a port, flow or core, counted over all adapters) and detail (a count, or bytes).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    pub subject: u32,
    pub detail: u32,
}

/// Largest subject that fits: 24 bits.
const SUBJECT_BITS: u32 = 24;

impl Token {
    pub(super) fn of(kind: Kind, subject: usize) -> Self {
        Self::with(kind, subject, 0)
    }

    pub(super) fn with(kind: Kind, subject: usize, detail: u32) -> Self {
        debug_assert!(subject < 1 << SUBJECT_BITS, "no host has so many ports");
        Self { kind, subject: subject as u32, detail }
    }

    pub(super) fn pack(self) -> u64 {
        (self.kind as u64) << 56 | u64::from(self.subject) << 32 | u64::from(self.detail)
    }

    pub(super) fn unpack(token: u64) -> Self {
        Self {
            kind: KINDS[(token >> 56) as usize],
            subject: (token >> 32) as u32 & ((1 << SUBJECT_BITS) - 1),
            detail: token as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_round_trip() {
        for (index, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, index, "kinds are listed in their order");
            let token = Token::with(kind, (1 << SUBJECT_BITS) - 1, u32::MAX);
            assert_eq!(Token::unpack(token.pack()), token);
        }
    }
}
