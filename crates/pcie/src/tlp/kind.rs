//! What a TLP does, and what follows from that alone. PCIe Base §2.2.1, Table 2-5.

use crate::ordering::OrderingClass;
use core::fmt;
use lanewise_units::Bytes;

/// The three kinds of traffic that flow control keeps apart. PCIe Base §2.6.1.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FlowClass {
    /// Requests without an answer: memory writes and messages.
    Posted = 0,
    /// Requests that are answered by completions.
    NonPosted = 1,
    /// The answers.
    Completion = 2,
}

impl FlowClass {
    /// Every class, in index order.
    pub const ALL: [Self; 3] = [Self::Posted, Self::NonPosted, Self::Completion];

    /// Place in an array of three.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Its column in the ordering table; all non-posted requests are passed alike.
    #[inline]
    pub const fn ordering_column(self) -> OrderingClass {
        match self {
            Self::Posted => OrderingClass::Posted,
            Self::NonPosted => OrderingClass::ReadRequest,
            Self::Completion => OrderingClass::Completion,
        }
    }
}

impl fmt::Display for FlowClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Posted => "posted",
            Self::NonPosted => "non-posted",
            Self::Completion => "completion",
        })
    }
}

/// What a TLP does. PCIe Base Table 2-5; Unordered I/O and deprecated types are left out.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TlpKind {
    /// MRd.
    MemoryRead,
    /// MRdLk.
    MemoryReadLocked,
    /// MWr; also MSI and MSI-X.
    MemoryWrite,
    /// DMWr: a memory write that is answered.
    DeferrableMemoryWrite,
    /// IORd.
    IoRead,
    /// IOWr, always one DW of data.
    IoWrite,
    /// CfgRd0: to the function on the link.
    ConfigRead0,
    /// CfgWr0, always one DW of data.
    ConfigWrite0,
    /// CfgRd1: to a function behind a bridge.
    ConfigRead1,
    /// CfgWr1, always one DW of data.
    ConfigWrite1,
    /// FetchAdd.
    FetchAdd,
    /// Swap.
    Swap,
    /// CAS, which carries two operands.
    CompareAndSwap,
    /// Msg: INTx, PME, errors.
    Message,
    /// MsgD.
    MessageWithData,
    /// Cpl: completion without data.
    Completion,
    /// CplD.
    CompletionWithData,
    /// CplLk.
    LockedCompletion,
    /// CplDLk.
    LockedCompletionWithData,
}

impl TlpKind {
    /// Every kind.
    pub const ALL: [Self; 19] = [
        Self::MemoryRead,
        Self::MemoryReadLocked,
        Self::MemoryWrite,
        Self::DeferrableMemoryWrite,
        Self::IoRead,
        Self::IoWrite,
        Self::ConfigRead0,
        Self::ConfigWrite0,
        Self::ConfigRead1,
        Self::ConfigWrite1,
        Self::FetchAdd,
        Self::Swap,
        Self::CompareAndSwap,
        Self::Message,
        Self::MessageWithData,
        Self::Completion,
        Self::CompletionWithData,
        Self::LockedCompletion,
        Self::LockedCompletionWithData,
    ];

    /// The credits that pay for it. Source: PCIe Base Table 2-49.
    #[inline]
    pub const fn flow_class(self) -> FlowClass {
        match self.ordering_class() {
            OrderingClass::Posted => FlowClass::Posted,
            OrderingClass::ReadRequest | OrderingClass::NonPostedWithData => FlowClass::NonPosted,
            OrderingClass::Completion => FlowClass::Completion,
        }
    }

    /// Its row and column in the ordering table. Source: PCIe Base §2.4.1.
    #[inline]
    pub const fn ordering_class(self) -> OrderingClass {
        match self {
            Self::MemoryWrite | Self::Message | Self::MessageWithData => OrderingClass::Posted,
            Self::MemoryRead
            | Self::MemoryReadLocked
            | Self::IoRead
            | Self::ConfigRead0
            | Self::ConfigRead1 => OrderingClass::ReadRequest,
            Self::DeferrableMemoryWrite
            | Self::IoWrite
            | Self::ConfigWrite0
            | Self::ConfigWrite1
            | Self::FetchAdd
            | Self::Swap
            | Self::CompareAndSwap => OrderingClass::NonPostedWithData,
            Self::Completion
            | Self::CompletionWithData
            | Self::LockedCompletion
            | Self::LockedCompletionWithData => OrderingClass::Completion,
        }
    }

    /// As the specification abbreviates it. PCIe Base Table 2-5.
    pub const fn mnemonic(self) -> &'static str {
        match self {
            Self::MemoryRead => "MRd",
            Self::MemoryReadLocked => "MRdLk",
            Self::MemoryWrite => "MWr",
            Self::DeferrableMemoryWrite => "DMWr",
            Self::IoRead => "IORd",
            Self::IoWrite => "IOWr",
            Self::ConfigRead0 => "CfgRd0",
            Self::ConfigWrite0 => "CfgWr0",
            Self::ConfigRead1 => "CfgRd1",
            Self::ConfigWrite1 => "CfgWr1",
            Self::FetchAdd => "FetchAdd",
            Self::Swap => "Swap",
            Self::CompareAndSwap => "CAS",
            Self::Message => "Msg",
            Self::MessageWithData => "MsgD",
            Self::Completion => "Cpl",
            Self::CompletionWithData => "CplD",
            Self::LockedCompletion => "CplLk",
            Self::LockedCompletionWithData => "CplDLk",
        }
    }

    /// Whether a payload follows the header. Source: PCIe Base Table 2-5.
    #[inline]
    pub const fn carries_data(self) -> bool {
        CARRY_DATA >> self as u8 & 1 == 1
    }

    const fn has_payload(self) -> bool {
        match self {
            Self::MemoryWrite | Self::MessageWithData => true,
            Self::CompletionWithData | Self::LockedCompletionWithData => true,
            _ => matches!(self.ordering_class(), OrderingClass::NonPostedWithData),
        }
    }

    /// The only header format this kind comes in, or `None` where the address decides.
    ///
    /// Source: PCIe Base Table 2-5.
    #[inline]
    pub const fn fixed_header(self) -> Option<HeaderFormat> {
        match self {
            Self::MemoryRead
            | Self::MemoryReadLocked
            | Self::MemoryWrite
            | Self::DeferrableMemoryWrite
            | Self::FetchAdd
            | Self::Swap
            | Self::CompareAndSwap => None,
            Self::Message | Self::MessageWithData => Some(HeaderFormat::FourDw),
            _ => Some(HeaderFormat::ThreeDw),
        }
    }
}

/// A bit for each kind that carries data.
const CARRY_DATA: u32 = {
    let (mut bits, mut index) = (0, 0);
    while index < TlpKind::ALL.len() {
        bits |= (TlpKind::ALL[index].has_payload() as u32) << TlpKind::ALL[index] as u8;
        index += 1;
    }
    bits
};

/// Length of a TLP header.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HeaderFormat {
    /// 12 bytes: 32-bit addresses, completions, configuration and I/O.
    ThreeDw,
    /// 16 bytes: 64-bit addresses, messages.
    FourDw,
}

impl HeaderFormat {
    /// The format a memory request to `address` must use: three DW below 4 GiB.
    ///
    /// Source: PCIe Base §2.2.4.1.
    #[inline]
    pub const fn for_address(address: u64) -> Self {
        if address < 1 << 32 { Self::ThreeDw } else { Self::FourDw }
    }

    /// Bytes of the header.
    #[inline]
    pub const fn bytes(self) -> Bytes {
        match self {
            Self::ThreeDw => Bytes::new(12),
            Self::FourDw => Bytes::new(16),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PCIe Base Table 2-5.
    #[test]
    fn tlps_are_called_as_in_the_table() {
        let kinds = [
            (TlpKind::MemoryRead, "MRd"),
            (TlpKind::MemoryReadLocked, "MRdLk"),
            (TlpKind::MemoryWrite, "MWr"),
            (TlpKind::DeferrableMemoryWrite, "DMWr"),
            (TlpKind::ConfigRead0, "CfgRd0"),
            (TlpKind::ConfigWrite1, "CfgWr1"),
            (TlpKind::CompareAndSwap, "CAS"),
            (TlpKind::MessageWithData, "MsgD"),
            (TlpKind::Completion, "Cpl"),
            (TlpKind::CompletionWithData, "CplD"),
            (TlpKind::LockedCompletionWithData, "CplDLk"),
        ];
        kinds.into_iter().for_each(|(kind, name)| assert_eq!(kind.mnemonic(), name));
    }

    /// (kind, ordering class, carries data, only header format in DW or 0), PCIe Base Tables 2-5, 2-42 and
    /// 2-49.
    #[test]
    fn every_row_of_the_table_is_reproduced() {
        use OrderingClass::{NonPostedWithData, Posted, ReadRequest};
        use TlpKind as K;
        let rows = [
            (K::MemoryRead, ReadRequest, false, 0),
            (K::MemoryReadLocked, ReadRequest, false, 0),
            (K::MemoryWrite, Posted, true, 0),
            (K::DeferrableMemoryWrite, NonPostedWithData, true, 0),
            (K::IoRead, ReadRequest, false, 3),
            (K::IoWrite, NonPostedWithData, true, 3),
            (K::ConfigRead0, ReadRequest, false, 3),
            (K::ConfigWrite0, NonPostedWithData, true, 3),
            (K::ConfigRead1, ReadRequest, false, 3),
            (K::ConfigWrite1, NonPostedWithData, true, 3),
            (K::FetchAdd, NonPostedWithData, true, 0),
            (K::Swap, NonPostedWithData, true, 0),
            (K::CompareAndSwap, NonPostedWithData, true, 0),
            (K::Message, Posted, false, 4),
            (K::MessageWithData, Posted, true, 4),
            (K::Completion, OrderingClass::Completion, false, 3),
            (K::CompletionWithData, OrderingClass::Completion, true, 3),
            (K::LockedCompletion, OrderingClass::Completion, false, 3),
            (K::LockedCompletionWithData, OrderingClass::Completion, true, 3),
        ];
        assert_eq!(rows.map(|row| row.0), TlpKind::ALL);
        for (kind, class, data, dwords) in rows {
            let header = kind.fixed_header().map_or(0, |header| header.bytes().get() / 4);
            assert_eq!(
                (kind.ordering_class(), kind.carries_data(), header),
                (class, data, dwords),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn credits_are_of_the_class_that_the_ordering_table_has() {
        let of = |class| TlpKind::ALL.into_iter().filter(move |kind| kind.flow_class() == class).count();
        assert_eq!(FlowClass::ALL.map(of), [3, 12, 4]);
        assert_eq!(TlpKind::MemoryReadLocked.flow_class(), FlowClass::NonPosted);
        assert_eq!(TlpKind::FetchAdd.flow_class(), FlowClass::NonPosted);
    }

    #[test]
    fn classes_are_called_as_in_the_specification() {
        assert_eq!(FlowClass::ALL.map(|class| class.to_string()), ["posted", "non-posted", "completion"]);
    }

    #[test]
    fn headers_grow_at_four_gibibytes() {
        assert_eq!(HeaderFormat::for_address((1 << 32) - 1), HeaderFormat::ThreeDw);
        assert_eq!(HeaderFormat::for_address(1 << 32), HeaderFormat::FourDw);
    }
}
