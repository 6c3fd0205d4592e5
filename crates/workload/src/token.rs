//! What a timer, a transfer or an MMIO access was for: a [`Token`] of a component's own kinds, which the fabric keeps as 64 bits
//! and gives back with its event.
//!
//! A component lists what may happen to it with [`kinds!`]. Two components that make one workload have [`Joined`] kinds, whose
//! numbers follow each other; no bit is reserved for either. Only [`crate::ports`] packs tokens and unpacks them.
//!
//! | bits | hold |
//! |---|---|
//! | 56 to 63 | the kind |
//! | 32 to 55 | the detail |
//! | 0 to 31 | the subject |

use std::fmt::Debug;

/// What may happen to a component: a closed list.
pub(crate) trait Kind: Copy + Debug + 'static {
    /// How many there are.
    const COUNT: usize;

    /// Its number, below [`Self::COUNT`].
    fn number(self) -> usize;

    /// The kind of this number.
    fn of(number: usize) -> Self;
}

/// Declares the kinds of a component's tokens: an enum that knows its own members.
macro_rules! kinds {
    ($(#[$about:meta])* $visible:vis enum $name:ident { $($(#[$what:meta])* $kind:ident,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        $visible enum $name {
            $($(#[$what])* $kind,)+
        }

        impl $crate::token::Kind for $name {
            const COUNT: usize = [$(Self::$kind),+].len();

            #[inline]
            fn number(self) -> usize {
                self as usize
            }

            #[inline]
            fn of(number: usize) -> Self {
                [$(Self::$kind),+][number]
            }
        }
    };
}
pub(crate) use kinds;

/// The kinds of two components in one workload: the numbers of the second's follow those of the first's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Joined<A, B> {
    /// Something happened to the first, which owns the other.
    First(A),
    /// Something happened to the second.
    Second(B),
}

impl<A: Kind, B: Kind> Kind for Joined<A, B> {
    const COUNT: usize = A::COUNT + B::COUNT;

    #[inline]
    fn number(self) -> usize {
        match self {
            Self::First(kind) => kind.number(),
            Self::Second(kind) => A::COUNT + kind.number(),
        }
    }

    #[inline]
    fn of(number: usize) -> Self {
        match number.checked_sub(A::COUNT) {
            None => Self::First(A::of(number)),
            Some(number) => Self::Second(B::of(number)),
        }
    }
}

impl<A, B> From<A> for Joined<A, B> {
    #[inline]
    fn from(kind: A) -> Self {
        Self::First(kind)
    }
}

/// Largest detail that fits beside kind and subject: 24 bits.
pub(crate) const LARGEST_DETAIL: u32 = (1 << 24) - 1;
/// Kinds that fit: 8 bits.
const KINDS: usize = 1 << 8;

/// Kind, subject (what it happened to) and detail (a number about it).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token<K> {
    pub kind: K,
    pub subject: u32,
    pub detail: u32,
}

impl<K: Kind> Token<K> {
    /// A token without a detail.
    #[inline]
    pub(crate) fn of(kind: impl Into<K>, subject: u32) -> Self {
        Self { kind: kind.into(), subject, detail: 0 }
    }

    /// A token with one.
    #[inline]
    pub(crate) fn with(kind: impl Into<K>, subject: u32, detail: impl Into<u64>) -> Self {
        let detail = detail.into();
        debug_assert!(detail <= u64::from(LARGEST_DETAIL), "a detail has 24 bits");
        Self { kind: kind.into(), subject, detail: detail as u32 }
    }

    /// The same subject and detail with another kind.
    #[inline]
    pub(crate) fn with_kind<L>(self, kind: L) -> Token<L> {
        Token { kind, subject: self.subject, detail: self.detail }
    }

    /// In 64 bits, with kinds numbered from `base` on.
    #[inline]
    pub(super) fn pack(self, base: usize) -> u64 {
        ((base + self.kind.number()) as u64) << 56 | u64::from(self.detail) << 32 | u64::from(self.subject)
    }

    /// What was packed, with kinds numbered from 0 on.
    #[inline]
    pub(super) fn unpack(packed: u64) -> Self {
        const { assert!(K::COUNT <= KINDS, "a kind has 8 bits") };
        let detail = (packed >> 32) as u32 & LARGEST_DETAIL;
        Self { kind: K::of((packed >> 56) as usize), subject: packed as u32, detail }
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

    kinds! {
        /// Two others.
        enum Digit {
            One,
            Two,
        }
    }

    #[test]
    fn every_kind_survives_packing() {
        for number in 0..Letter::COUNT {
            let kind = Letter::of(number);
            assert_eq!(kind.number(), number, "kinds are listed in their order");
            let token = Token { kind, subject: u32::MAX - 1, detail: LARGEST_DETAIL };
            assert_eq!(Token::unpack(token.pack(0)), token);
        }
    }

    #[test]
    fn joined_kinds_have_all_numbers_and_no_two_the_same() {
        type All = Joined<Letter, Joined<Digit, Letter>>;
        let numbers: Vec<usize> = (0..All::COUNT).map(|number| All::of(number).number()).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(All::of(4), Joined::Second(Joined::First(Digit::Two)));
        let token = Token { kind: All::of(7), subject: u32::MAX, detail: 7 };
        assert_eq!(Token::unpack(token.pack(0)), token);
    }

    #[test]
    fn a_part_packs_as_the_whole_does() {
        let whole =
            Token::<Joined<Letter, Digit>> { kind: Joined::Second(Digit::Two), subject: 5, detail: 6 };
        let part = Token::<Digit>::of(Digit::Two, 5);
        assert_eq!(Token { detail: 6, ..part }.pack(Letter::COUNT), whole.pack(0));
    }
}
