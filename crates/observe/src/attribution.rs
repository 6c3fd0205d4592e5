//! Time attribution: every instant of a link direction belongs to exactly one use.

use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Span, Time};

/// What a link direction does with an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Use {
    /// Payload bytes of TLPs sent for the first time.
    Payload = 0,
    /// Headers, prefixes and digests of TLPs sent for the first time.
    Header,
    /// Start and end framing, sequence numbers and LCRC; in Flit Mode, CRC and ECC bytes.
    Framing,
    /// Data link layer packets; in Flit Mode, the DLP bytes of flits that carry TLPs.
    Dllp,
    /// SKP ordered sets and the EDS tokens before them.
    OrderedSet,
    /// TLPs and flits sent again, and nullified TLPs.
    Replay,
    /// Nothing to send.
    Idle,
    /// Something to send, held by posted header credits.
    BlockedPostedHeader,
    /// Held by posted data credits.
    BlockedPostedData,
    /// Held by non-posted header credits.
    BlockedNonPostedHeader,
    /// Held by non-posted data credits.
    BlockedNonPostedData,
    /// Held by completion header credits.
    BlockedCompletionHeader,
    /// Held by completion data credits.
    BlockedCompletionData,
    /// Held by a full retry buffer.
    BlockedRetryBuffer,
    /// Held by the switch core: bus, memory or crossbar input in use.
    BlockedCore,
    /// Link not up: training, flow control initialisation, Recovery.
    Down,
    /// Nothing to send for so long that the link sleeps: L0s or L1.
    Asleep,
    /// Leaving L0s or L1: something is to be sent, here or towards this end.
    Waking,
    /// Something to send, held by the silence that a device's transmitter leaves after each TLP.
    TlpGap,
}

impl Use {
    /// Number of uses.
    pub const COUNT: usize = 19;
    /// Every use, in the order of the results.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Payload,
        Self::Header,
        Self::Framing,
        Self::Dllp,
        Self::OrderedSet,
        Self::Replay,
        Self::Idle,
        Self::BlockedPostedHeader,
        Self::BlockedPostedData,
        Self::BlockedNonPostedHeader,
        Self::BlockedNonPostedData,
        Self::BlockedCompletionHeader,
        Self::BlockedCompletionData,
        Self::BlockedRetryBuffer,
        Self::BlockedCore,
        Self::Down,
        Self::Asleep,
        Self::Waking,
        Self::TlpGap,
    ];

    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Payload => "payload",
            Self::Header => "header",
            Self::Framing => "framing",
            Self::Dllp => "dllp",
            Self::OrderedSet => "ordered_set",
            Self::Replay => "replay",
            Self::Idle => "idle",
            Self::BlockedPostedHeader => "blocked_posted_header",
            Self::BlockedPostedData => "blocked_posted_data",
            Self::BlockedNonPostedHeader => "blocked_non_posted_header",
            Self::BlockedNonPostedData => "blocked_non_posted_data",
            Self::BlockedCompletionHeader => "blocked_completion_header",
            Self::BlockedCompletionData => "blocked_completion_data",
            Self::BlockedRetryBuffer => "blocked_retry_buffer",
            Self::BlockedCore => "blocked_core",
            Self::Down => "down",
            Self::Asleep => "asleep",
            Self::Waking => "waking",
            Self::TlpGap => "tlp_gap",
        }
    }

    /// Whether nothing is on the wire.
    pub const fn is_silent(self) -> bool {
        match self {
            Self::Payload | Self::Header | Self::Framing | Self::Dllp | Self::OrderedSet | Self::Replay => {
                false
            }
            Self::Idle | Self::Down | Self::Asleep | Self::Waking | Self::TlpGap => true,
            Self::BlockedPostedHeader
            | Self::BlockedPostedData
            | Self::BlockedNonPostedHeader
            | Self::BlockedNonPostedData
            | Self::BlockedCompletionHeader
            | Self::BlockedCompletionData
            | Self::BlockedRetryBuffer
            | Self::BlockedCore => true,
        }
    }

    /// Where the ticks are kept of a use that few links have; None for the others.
    #[inline(always)]
    pub(crate) const fn place_of_rest(self) -> Option<usize> {
        (self as usize).checked_sub(COMMON)
    }

    /// The use "held by credits of this pool".
    pub const fn blocked_on(class: FlowClass, data: bool) -> Self {
        match (class, data) {
            (FlowClass::Posted, false) => Self::BlockedPostedHeader,
            (FlowClass::Posted, true) => Self::BlockedPostedData,
            (FlowClass::NonPosted, false) => Self::BlockedNonPostedHeader,
            (FlowClass::NonPosted, true) => Self::BlockedNonPostedData,
            (FlowClass::Completion, false) => Self::BlockedCompletionHeader,
            (FlowClass::Completion, true) => Self::BlockedCompletionData,
        }
    }
}

/// Uses of every link; those after them are of links that sleep, and of devices that leave gaps.
const COMMON: usize = Use::Asleep as usize;

/// Where the ticks of each use are kept: what a busy link spends its time on shares a cache line with its counters.
const PLACE: [u8; COMMON] = [0, 1, 2, 3, 4, 14, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15];

/// What is counted of one link direction while it runs.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct DirectionCount {
    /// TLPs sent for the first time, over the whole run.
    pub(crate) tlps_sent: u64,
    /// DLLPs sent, over the whole run.
    pub(crate) dllps_sent: u64,
    ticks: [u64; COMMON],
    window_start: Time,
}

/// Ticks of the uses that few links have.
pub(crate) type RestTicks = [u64; Use::COUNT - COMMON];

impl DirectionCount {
    /// One of the uses that every link has.
    #[inline]
    pub(crate) fn spend(&mut self, on: Use, span: Span) {
        self.ticks[usize::from(PLACE[on as usize])] += span.ticks();
    }

    pub(crate) fn restart(&mut self, at: Time) {
        self.ticks = [0; COMMON];
        self.window_start = at;
    }

    /// The attribution so far.
    pub(crate) fn tally(&self, rest: &RestTicks) -> DirectionTally {
        let mut ticks = [0; Use::COUNT];
        for (on, place) in PLACE.iter().enumerate() {
            ticks[on] = self.ticks[usize::from(*place)];
        }
        ticks[COMMON..].copy_from_slice(rest);
        DirectionTally { ticks, window_start: self.window_start }
    }
}

/// Ticks per use of one link direction, over a window that starts and ends on packet boundaries.
#[derive(Clone, Debug)]
pub struct DirectionTally {
    ticks: [u64; Use::COUNT],
    window_start: Time,
}

impl DirectionTally {
    /// Time spent on one use.
    pub fn spent_on(&self, on: Use) -> Span {
        Span::from_ticks(self.ticks[on as usize])
    }

    /// Time accounted for. Equals the window exactly: see [`Self::window_end`].
    pub fn total(&self) -> Span {
        Span::from_ticks(self.ticks.iter().sum())
    }

    /// Start of the window.
    pub fn window_start(&self) -> Time {
        self.window_start
    }

    /// End of the window: everything up to here belongs to a use.
    pub fn window_end(&self) -> Time {
        self.window_start + self.total()
    }

    /// Share of the window spent on one use; zero for an empty window.
    pub fn share(&self, on: Use) -> f64 {
        match self.total().ticks() {
            0 => 0.0,
            total => self.spent_on(on).ticks() as f64 / total as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_numbered_in_the_order_of_the_list() {
        for (index, on) in Use::ALL.iter().enumerate() {
            assert_eq!(*on as usize, index);
        }
    }

    #[test]
    fn every_use_has_a_place_of_its_own() {
        let mut places = PLACE;
        places.sort_unstable();
        assert!(places.into_iter().eq(0..COMMON as u8));
    }

    #[test]
    fn shares_sum_to_the_window() {
        let (mut count, mut rest) = (DirectionCount::default(), RestTicks::default());
        count.restart(Time::from_ticks(100));
        count.spend(Use::Payload, Span::from_ticks(30));
        count.spend(Use::Idle, Span::from_ticks(50));
        rest[Use::Waking.place_of_rest().expect("one of them")] += 20;
        let tally = count.tally(&rest);
        assert_eq!(tally.window_end(), Time::from_ticks(200));
        assert_eq!(tally.share(Use::Payload), 0.3);
        assert_eq!(tally.share(Use::Waking), 0.2);
        assert_eq!(tally.share(Use::Asleep), 0.0);
    }
}
