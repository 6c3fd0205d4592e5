//! What a timer, a transfer or an MMIO write of the network was for.

use crate::ports::{self, needs};
use crate::token::{self, kinds};

kinds! {
    /// What happened.
    pub(crate) enum Kind {
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
        /// Credits are back. Transmitter.
        CreditsBack,
        /// A pause frame is heeded. Transmitter, whether it stops.
        Paused,
        /// The first byte of a packet is at a switch. Port of a switch.
        AtSwitch,
        /// A port of a switch may have something to send. Port of a switch.
        EgressFree,
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

/// Kind, subject (a message or a port) and detail (bytes, or the number of a packet).
pub(crate) type Token = token::Token<Kind>;

needs!(pub(crate) Needs: Timers, Dma, Mmio);

/// The machine as the network sees it.
pub(crate) type Ports<'a, M> = ports::Ports<'a, M, Kind>;
