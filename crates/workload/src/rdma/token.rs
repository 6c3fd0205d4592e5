//! What a timer, a transfer or an MMIO write of the network was for. Bit 63 is set in every token of the network, so
//! that whoever owns it can use all others.

use crate::token::{self, kinds};

kinds! {
    /// What happened.
    pub(super) enum Kind {
        /// The CPU's store is on its way to the root port. Message.
        Posted,
        /// Part of a pushed work request is at the adapter; the rest follows.
        PushedPart,
        /// A doorbell, or the end of a pushed work request, is at the adapter. Message.
        Doorbell,
        /// The work request, or the first of a list, is in the adapter. Message.
        RequestFetched,
        /// The queue pair of a work request may have it processed. Message.
        Started,
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
}

/// The bit that tells tokens of the network from its owner's.
const NETWORK: u64 = 1 << 63;

/// Kind, subject (a message or a port) and detail (bytes, or the number of a packet).
pub(super) type Token = token::Token<Kind>;

/// A token of the network without a detail.
#[inline]
pub(super) fn of(kind: Kind, subject: u32) -> u64 {
    with(kind, subject, 0)
}

/// A token of the network with one.
#[inline]
pub(super) fn with(kind: Kind, subject: u32, detail: u32) -> u64 {
    NETWORK | Token::with(kind, subject, detail)
}

/// The token, if it is one of the network's.
#[inline]
pub(super) fn unpack(packed: u64) -> Option<Token> {
    (packed & NETWORK != 0).then(|| Token::unpack(packed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_the_network_are_told_from_others() {
        let token = Token { kind: Kind::Arrived, subject: u32::MAX, detail: 7 };
        assert_eq!(unpack(with(token.kind, token.subject, token.detail)), Some(token));
        assert_eq!(unpack(NETWORK - 1), None);
    }
}
