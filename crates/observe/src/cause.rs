//! What keeps a TLP waiting that could have left.

use lanewise_pcie::tlp::FlowClass;

/// What a TLP waits for, from when it could have left a device until it does; or what holds up whatever waits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Cause {
    /// The wire carries TLPs that were before it in its own queue; in Flit Mode, flits.
    Wire = 0,
    /// The wire carries TLPs of others: of another class or virtual channel, or that came into the device through another port.
    Arbitration,
    /// The wire carries a DLLP.
    Dllp,
    /// The wire carries SKP ordered sets.
    OrderedSet,
    /// The wire carries what is sent again, or a TLP that is taken back.
    Replay,
    /// No header credits for posted requests.
    PostedHeader,
    /// No data credits for posted requests.
    PostedData,
    /// No header credits for non-posted requests.
    NonPostedHeader,
    /// No data credits for non-posted requests.
    NonPostedData,
    /// No header credits for completions.
    CompletionHeader,
    /// No data credits for completions.
    CompletionData,
    /// The retry buffer has no room for it.
    RetryBuffer,
    /// It may not pass an older TLP that is held up.
    Ordering,
    /// The core of the switch is in use.
    Core,
    /// The silence that a device's transmitter leaves after each TLP.
    TlpGap,
    /// The link is not up: it trains, or flow control is not initialised.
    Down,
    /// The link leaves L0s or L1.
    Waking,
    /// A packet starts on the next symbol boundary; in Flit Mode, a TLP at the next place in a flit.
    Boundary,
    /// Every tag is in use: there is no request yet.
    Tags,
    /// Every tracking entry of the host's stack is in use.
    Entries,
    /// A queue that root ports share: what stands before it in there goes first, whichever port that is for; of a read within a host, that
    /// queue has no room.
    SharedQueue,
    /// A root port's own queue of completions: data of a read wait for a place in it.
    CompletionQueue,
}

impl Cause {
    /// Number of causes.
    pub const COUNT: usize = 22;
    /// Every cause.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Wire,
        Self::Arbitration,
        Self::Dllp,
        Self::OrderedSet,
        Self::Replay,
        Self::PostedHeader,
        Self::PostedData,
        Self::NonPostedHeader,
        Self::NonPostedData,
        Self::CompletionHeader,
        Self::CompletionData,
        Self::RetryBuffer,
        Self::Ordering,
        Self::Core,
        Self::TlpGap,
        Self::Down,
        Self::Waking,
        Self::Boundary,
        Self::Tags,
        Self::Entries,
        Self::SharedQueue,
        Self::CompletionQueue,
    ];

    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wire => "wire",
            Self::Arbitration => "arbitration",
            Self::Dllp => "dllp",
            Self::OrderedSet => "ordered_set",
            Self::Replay => "replay",
            Self::PostedHeader => "posted_header",
            Self::PostedData => "posted_data",
            Self::NonPostedHeader => "non_posted_header",
            Self::NonPostedData => "non_posted_data",
            Self::CompletionHeader => "completion_header",
            Self::CompletionData => "completion_data",
            Self::RetryBuffer => "retry_buffer",
            Self::Ordering => "ordering",
            Self::Core => "core",
            Self::TlpGap => "tlp_gap",
            Self::Down => "down",
            Self::Waking => "waking",
            Self::Boundary => "boundary",
            Self::Tags => "tags",
            Self::Entries => "tracking_entries",
            Self::SharedQueue => "shared_queue",
            Self::CompletionQueue => "completion_queue",
        }
    }

    /// In a listing, behind a time: "208 ns credits (PH)".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Wire => "wire",
            Self::Arbitration => "arbitration",
            Self::Dllp => "DLLPs",
            Self::OrderedSet => "ordered sets",
            Self::Replay => "replay",
            Self::PostedHeader => "credits (PH)",
            Self::PostedData => "credits (PD)",
            Self::NonPostedHeader => "credits (NPH)",
            Self::NonPostedData => "credits (NPD)",
            Self::CompletionHeader => "credits (CplH)",
            Self::CompletionData => "credits (CplD)",
            Self::RetryBuffer => "retry buffer",
            Self::Ordering => "ordering",
            Self::Core => "switch core",
            Self::TlpGap => "gap after a TLP",
            Self::Down => "link not up",
            Self::Waking => "link waking",
            Self::Boundary => "boundary",
            Self::Tags => "tags",
            Self::Entries => "tracking entries",
            Self::SharedQueue => "shared queue",
            Self::CompletionQueue => "completion queue",
        }
    }

    /// No credits of a class, of headers or of data.
    pub const fn credits(class: FlowClass, data: bool) -> Self {
        match (class, data) {
            (FlowClass::Posted, false) => Self::PostedHeader,
            (FlowClass::Posted, true) => Self::PostedData,
            (FlowClass::NonPosted, false) => Self::NonPostedHeader,
            (FlowClass::NonPosted, true) => Self::NonPostedData,
            (FlowClass::Completion, false) => Self::CompletionHeader,
            (FlowClass::Completion, true) => Self::CompletionData,
        }
    }

    /// Whether it is a limit that was set, rather than something that passes by itself.
    pub const fn is_a_limit(self) -> bool {
        !matches!(
            self,
            Self::Wire
                | Self::Arbitration
                | Self::Dllp
                | Self::OrderedSet
                | Self::Replay
                | Self::TlpGap
                | Self::Down
                | Self::Waking
                | Self::Boundary
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_numbered_in_the_order_of_the_list() {
        for (index, cause) in Cause::ALL.iter().enumerate() {
            assert_eq!(*cause as usize, index);
        }
    }
}
