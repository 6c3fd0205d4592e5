//! How a time picks a slot.
//!
//! A time is read as digits of unequal size, one level of slots for each. An event waits on the level of the highest
//! digit in which its time differs from now, in the slot of that digit. The large digit is the main level: slots of a
//! quarter of a nanosecond over one microsecond, where nearly all events of a fabric go straight to. The small ones
//! below it part a crowd, those above it hold timers.

use lanewise_units::Time;

/// Bits of a time below the main level: a slot of it is 2¹⁸ ticks, 0.256 ns.
const MAIN_SHIFT: u32 = 18;
/// Bits of the main level: 4,096 slots, 1.05 us.
const MAIN_BITS: u32 = 12;
/// Bits of each other level.
const SIDE_BITS: u32 = 6;
/// The first bit above the main level.
const MAIN_END: u32 = MAIN_SHIFT + MAIN_BITS;
/// Slots below the main level.
const SLOTS_BELOW: u32 = (MAIN_SHIFT / SIDE_BITS) << SIDE_BITS;

/// Slots on all levels together.
pub const SLOTS: usize = Level::of_bit(u64::BITS - 1).first as usize + (1 << SIDE_BITS);

/// Where the slots of one digit are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Number of the first slot. Slots are numbered from fine to coarse levels, which is also their order in time.
    first: u16,
    /// Number of slots less one.
    mask: u16,
    /// Bits of a time below the digit.
    shift: u32,
}

impl Level {
    const fn of_bit(bit: u32) -> Self {
        const SIDE_MASK: u16 = (1 << SIDE_BITS) - 1;
        if bit < MAIN_SHIFT {
            let level = bit / SIDE_BITS;
            Self { first: (level << SIDE_BITS) as u16, mask: SIDE_MASK, shift: level * SIDE_BITS }
        } else if bit < MAIN_END {
            Self { first: SLOTS_BELOW as u16, mask: (1 << MAIN_BITS) - 1, shift: MAIN_SHIFT }
        } else {
            let level = (bit - MAIN_END) / SIDE_BITS;
            let first = SLOTS_BELOW + (1 << MAIN_BITS) + (level << SIDE_BITS);
            Self { first: first as u16, mask: SIDE_MASK, shift: MAIN_END + level * SIDE_BITS }
        }
    }

    /// The level of an event whose time differs from now in these bits; they are not all zero.
    #[inline]
    pub fn of_difference(differing: u64) -> Self {
        LEVEL_OF_BIT[(u64::BITS - 1 - (differing | 1).leading_zeros()) as usize]
    }

    #[inline]
    pub fn of_slot(slot: usize) -> Self {
        LEVEL_OF_GROUP[slot >> SIDE_BITS]
    }

    #[inline]
    pub fn slot(self, time: Time) -> usize {
        usize::from(self.first) + ((time.ticks() >> self.shift) as usize & usize::from(self.mask))
    }

    /// The first time of a slot of this level while it is `now`.
    #[inline]
    pub fn start_of_slot(self, slot: usize, now: Time) -> Time {
        let digit = (slot - usize::from(self.first)) as u64;
        let higher_digits = (now.ticks() >> self.shift) & !u64::from(self.mask);
        Time::from_ticks((higher_digits | digit) << self.shift)
    }

    /// The last time of the slot in which `time` lies.
    #[inline]
    pub fn end_of_slot(self, time: Time) -> Time {
        Time::from_ticks(time.ticks() | ((1 << self.shift) - 1))
    }
}

const LEVEL_OF_BIT: [Level; u64::BITS as usize] = {
    let mut levels = [Level::of_bit(0); u64::BITS as usize];
    let mut bit = 0;
    while bit < levels.len() {
        levels[bit] = Level::of_bit(bit as u32);
        bit += 1;
    }
    levels
};

/// By groups of as many slots as a side level has; the main level is many groups.
const LEVEL_OF_GROUP: [Level; SLOTS >> SIDE_BITS] = {
    let mut levels = [Level::of_bit(0); SLOTS >> SIDE_BITS];
    let mut bit = 0;
    while bit < LEVEL_OF_BIT.len() {
        let level = LEVEL_OF_BIT[bit];
        let mut slot = level.first as usize;
        while slot <= level.first as usize + level.mask as usize {
            levels[slot >> SIDE_BITS] = level;
            slot += 1 << SIDE_BITS;
        }
        bit += 1;
    }
    levels
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_meet_without_gap_or_overlap() {
        let mut levels = LEVEL_OF_BIT.to_vec();
        levels.dedup();
        for pair in levels.windows(2) {
            assert_eq!(pair[0].first + pair[0].mask + 1, pair[1].first);
            assert_eq!(pair[0].shift + (u32::from(pair[0].mask) + 1).ilog2(), pair[1].shift);
        }
        assert_eq!((levels[0].first, levels[0].shift), (0, 0));
    }

    #[test]
    fn a_slot_knows_its_level_and_its_times() {
        let now = Time::from_ticks(0x1234_5678_9abc_def0);
        for bit in 0..u64::BITS {
            let time = Time::from_ticks(now.ticks() ^ (1 << bit));
            let level = Level::of_difference(time.ticks() ^ now.ticks());
            let slot = level.slot(time);
            assert_eq!(Level::of_slot(slot), level);
            assert!(level.start_of_slot(slot, now) <= time && time <= level.end_of_slot(time));
            assert_eq!(level.end_of_slot(level.start_of_slot(slot, now)), level.end_of_slot(time));
        }
    }
}
