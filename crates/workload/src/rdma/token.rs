//! What a timer, a transfer or an MMIO write of the network was for: packed into the 64 bits that come back with its
//! event. Bit 63 is set in every token of the network, so that whoever owns it can use all others.

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// The CPU's store is on its way to the root port. Message.
    Posted,
    /// Part of a pushed work request is at the adapter; the rest follows.
    PushedPart,
    /// A doorbell, or the end of a pushed work request, is at the adapter. Message.
    Doorbell,
    /// The work request is in the adapter. Message.
    RequestFetched,
    /// The adapter has processed a work request: its packets can be made. Message.
    Processed,
    /// The adapter has processed a read request of the other side. Message.
    ReadAccepted,
    /// Payload of a packet is in the adapter. Port, packet.
    PayloadFetched,
    /// Payload has crossed the adapter on the way out. Port.
    CrossedOutbound,
    /// The lane of a port is free. Port.
    LaneFree,
    /// Credits are back. Port.
    CreditsBack,
    /// A packet is at a port. Port.
    Arrived,
    /// Payload has crossed the adapter on the way in. Port.
    CrossedInbound,
    /// Payload has left the receive buffer. Port, bytes.
    Placed,
    /// The last payload of a message is in memory. Message, bytes.
    LastPlaced,
    /// A completion entry at the receiver is in memory. Message.
    ReceiveCompleted,
    /// A completion entry at the requester is in memory. Message.
    Completed,
    /// A receive work request was fetched ahead of its use.
    ReceiveFetched,
}

const KINDS: [Kind; 17] = [
    Kind::Posted,
    Kind::PushedPart,
    Kind::Doorbell,
    Kind::RequestFetched,
    Kind::Processed,
    Kind::ReadAccepted,
    Kind::PayloadFetched,
    Kind::CrossedOutbound,
    Kind::LaneFree,
    Kind::CreditsBack,
    Kind::Arrived,
    Kind::CrossedInbound,
    Kind::Placed,
    Kind::LastPlaced,
    Kind::ReceiveCompleted,
    Kind::Completed,
    Kind::ReceiveFetched,
];

/// The bit that tells tokens of the network from its owner's.
const NETWORK: u64 = 1 << 63;
/// Values of a detail: 24 bits.
pub(super) const DETAIL_MASK: u32 = (1 << 24) - 1;

/// Kind, subject (a message or a port) and detail (bytes, or the number of a packet).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    pub subject: u32,
    pub detail: u32,
}

impl Token {
    /// A token without a detail.
    pub(super) const fn of(kind: Kind, subject: u32) -> u64 {
        Self::with(kind, subject, 0)
    }

    /// A token with one.
    pub(super) const fn with(kind: Kind, subject: u32, detail: u32) -> u64 {
        debug_assert!(detail <= DETAIL_MASK, "a detail has 24 bits");
        NETWORK | (kind as u64) << 56 | (detail as u64) << 32 | subject as u64
    }

    /// The token, if it is one of the network's.
    pub(super) const fn unpack(packed: u64) -> Option<Self> {
        if packed & NETWORK == 0 {
            return None;
        }
        let kind = KINDS[(packed >> 56 & 0x7f) as usize];
        Some(Self { kind, subject: packed as u32, detail: (packed >> 32) as u32 & DETAIL_MASK })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_survives_packing_and_others_are_left_alone() {
        for kind in KINDS {
            let token = Token { kind, subject: u32::MAX - 1, detail: DETAIL_MASK };
            assert_eq!(Token::unpack(Token::with(kind, token.subject, token.detail)), Some(token));
        }
        assert_eq!(Token::unpack(NETWORK - 1), None);
    }
}
