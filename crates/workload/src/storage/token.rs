//! What a timer or a transfer was for: packed into the 64 bits that come back with its event.

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// The driver has done its part of a command: ring the doorbell. Slot.
    Submitted,
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
    /// The host has finished with an I/O. Slot.
    Completed,
    /// A worker's pause is over. Worker.
    Awake,
}

const KINDS: [Kind; 15] = [
    Kind::Submitted,
    Kind::Doorbell,
    Kind::Processed,
    Kind::CommandFetched,
    Kind::Arrived,
    Kind::Departed,
    Kind::Media,
    Kind::CrossedInbound,
    Kind::DataSent,
    Kind::DataFetched,
    Kind::CrossedOutbound,
    Kind::Moderation,
    Kind::Interrupt,
    Kind::Completed,
    Kind::Awake,
];

/// Largest detail that fits beside kind and subject: 24 bits.
pub(crate) const LARGEST_DETAIL: u64 = (1 << 24) - 1;

/// Kind, subject (a slot, drive, adapter or worker) and detail (bytes, or a port).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub kind: Kind,
    pub subject: u32,
    pub detail: u32,
}

impl Token {
    /// A token without a detail.
    pub(crate) const fn of(kind: Kind, subject: u32) -> Self {
        Self { kind, subject, detail: 0 }
    }

    /// A token with one.
    pub(crate) const fn with(kind: Kind, subject: u32, detail: u64) -> Self {
        debug_assert!(detail <= LARGEST_DETAIL, "a detail has 24 bits");
        Self { kind, subject, detail: detail as u32 }
    }

    pub(crate) const fn pack(self) -> u64 {
        (self.kind as u64) << 56 | (self.detail as u64) << 32 | self.subject as u64
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
            let token = Token::with(kind, u32::MAX - 1, LARGEST_DETAIL);
            assert_eq!(Token::unpack(token.pack()), token);
        }
    }
}
