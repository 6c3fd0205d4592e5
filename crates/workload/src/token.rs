//! What a timer, a transfer or an MMIO access was for: packed into the 64 bits that come back with its event.
//!
//! An instrument lists what may happen to it with [`kinds!`] and names its tokens `type Token = token::Token<Kind>`.
//!
//! | bits | hold |
//! |---|---|
//! | 63 | set in tokens of an RDMA network, so that whoever owns it can use all others |
//! | 56 to 62 | the kind |
//! | 32 to 55 | the detail |
//! | 0 to 31 | the subject |

/// What may happen to one instrument: a closed list.
pub(crate) trait Kind: Copy + 'static {
    /// All of them, each at its number.
    const ALL: &'static [Self];

    /// Its number.
    fn number(self) -> u64;
}

/// Declares the kinds of an instrument's tokens: an enum that knows its own members.
macro_rules! kinds {
    ($(#[$about:meta])* $visible:vis enum $name:ident { $($(#[$what:meta])* $kind:ident,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        $visible enum $name {
            $($(#[$what])* $kind,)+
        }

        impl $crate::token::Kind for $name {
            const ALL: &'static [Self] = &[$(Self::$kind),+];

            #[inline]
            fn number(self) -> u64 {
                self as u64
            }
        }
    };
}
pub(crate) use kinds;

/// Largest detail that fits beside kind and subject: 24 bits.
pub(crate) const LARGEST_DETAIL: u32 = (1 << 24) - 1;
/// Kinds that fit: 7 bits.
const KINDS: usize = 1 << 7;

/// Kind, subject (what it happened to) and detail (a number about it).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token<K> {
    pub kind: K,
    pub subject: u32,
    pub detail: u32,
}

impl<K: Kind> Token<K> {
    /// A token without a detail, packed.
    #[inline]
    pub(crate) fn of(kind: K, subject: u32) -> u64 {
        Self::with(kind, subject, 0u32)
    }

    /// A token with one, packed.
    #[inline]
    pub(crate) fn with(kind: K, subject: u32, detail: impl Into<u64>) -> u64 {
        const { assert!(K::ALL.len() <= KINDS, "a kind has 7 bits") };
        let detail = detail.into();
        debug_assert!(detail <= u64::from(LARGEST_DETAIL), "a detail has 24 bits");
        kind.number() << 56 | detail << 32 | u64::from(subject)
    }

    /// What was packed.
    #[inline]
    pub(crate) fn unpack(packed: u64) -> Self {
        let detail = (packed >> 32) as u32 & LARGEST_DETAIL;
        Self { kind: K::ALL[(packed >> 56) as usize % KINDS], subject: packed as u32, detail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    kinds! {
        /// Three of them.
        enum Letter {
            A,
            B,
            C,
        }
    }

    #[test]
    fn every_kind_survives_packing() {
        for (number, kind) in Letter::ALL.iter().copied().enumerate() {
            assert_eq!(kind.number(), number as u64, "kinds are listed in their order");
            let token = Token { kind, subject: u32::MAX - 1, detail: LARGEST_DETAIL };
            assert_eq!(Token::unpack(Token::with(kind, token.subject, token.detail)), token);
        }
    }

    #[test]
    fn the_last_bit_is_free_for_a_network() {
        let packed = Token::with(Letter::C, u32::MAX, LARGEST_DETAIL);
        assert_eq!(packed >> 63, 0);
        assert_eq!(Token::<Letter>::unpack(packed | 1 << 63), Token::unpack(packed));
    }
}
