//! Tags: how many requests a requester may have outstanding. PCIe Base §2.2.6.2.
//!
//! Leaves out: phantom functions, and the choice of a tag value beyond what its width allows.

/// Width of the tag field in use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TagWidth {
    /// 5 bits, the reset default.
    Bits5,
    /// 8 bits, Extended Tag Field Enable.
    Bits8,
    /// 10 bits; the upper two are never both zero.
    Bits10,
    /// 14 bits, Flit Mode only; the upper four are never all zero.
    Bits14,
}

impl TagWidth {
    /// Every width, narrowest first.
    pub const ALL: [Self; 4] = [Self::Bits5, Self::Bits8, Self::Bits10, Self::Bits14];

    /// Number of usable tags: 32, 256, 768 or 15 360. Source: PCIe Base §2.2.6.2.
    pub const fn usable(self) -> u16 {
        match self {
            Self::Bits5 => 32,
            Self::Bits8 => 256,
            Self::Bits10 => 768,
            Self::Bits14 => 15_360,
        }
    }

    /// The smallest tag value in use: wider tags stay clear of the values that narrower ones could have.
    pub const fn first(self) -> u16 {
        match self {
            Self::Bits5 | Self::Bits8 => 0,
            Self::Bits10 => 256,
            Self::Bits14 => 1024,
        }
    }
}

/// A tag value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Tag(u16);

impl Tag {
    /// The tag of a request that has no answer, or that nothing tells from others.
    pub const ZERO: Self = Self(0);

    /// The field's value.
    #[inline]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Place in a table with one entry per usable tag of `width`.
    #[inline]
    pub const fn index(self, width: TagWidth) -> usize {
        (self.0 - width.first()) as usize
    }
}

/// The tags of one requester: taken with a request, given back with its last completion.
///
/// Both are constant time. Nothing is allocated before the first tag comes back.
#[derive(Clone, Debug)]
pub struct TagPool {
    returned: Vec<Tag>,
    width: TagWidth,
    limit: u16,
    fresh: u16,
    in_flight: u16,
}

impl TagPool {
    /// Tags of `width`, but never more than the device can track.
    pub const fn new(width: TagWidth, device_limit: u16) -> Self {
        let usable = width.usable();
        let limit = if device_limit < usable { device_limit } else { usable };
        Self { returned: Vec::new(), width, limit, fresh: 0, in_flight: 0 }
    }

    /// A free tag, or `None` when all are in flight.
    #[inline]
    pub fn take(&mut self) -> Option<Tag> {
        let tag = match self.returned.pop() {
            Some(tag) => tag,
            None if self.fresh < self.limit => {
                self.fresh += 1;
                Tag(self.width.first() + self.fresh - 1)
            }
            None => return None,
        };
        self.in_flight += 1;
        Some(tag)
    }

    /// Gives a tag back.
    ///
    /// # Panics
    /// When the tag was never taken, or more come back than were taken.
    #[inline]
    pub fn give(&mut self, tag: Tag) {
        assert!(tag.index(self.width) < self.fresh as usize, "{tag:?} was never taken");
        assert!(self.in_flight > 0, "{tag:?} came back twice");
        debug_assert!(!self.returned.contains(&tag), "{tag:?} came back twice");
        self.in_flight -= 1;
        self.returned.push(tag);
    }

    /// Requests outstanding.
    #[inline]
    pub const fn in_flight(&self) -> u16 {
        self.in_flight
    }

    /// Most requests that can be outstanding.
    #[inline]
    pub const fn limit(&self) -> u16 {
        self.limit
    }

    /// Whether a tag is free.
    #[inline]
    pub const fn has_free(&self) -> bool {
        self.in_flight < self.limit
    }

    /// Width of the tags.
    pub const fn width(&self) -> TagWidth {
        self.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn usable_tags_match_the_specification() {
        assert_eq!(TagWidth::ALL.map(TagWidth::usable), [32, 256, 768, 15_360]);
        for (width, bits) in TagWidth::ALL.into_iter().zip([5, 8, 10, 14]) {
            assert_eq!(u32::from(width.first()) + u32::from(width.usable()), 1 << bits);
        }
    }

    #[test]
    fn the_device_or_the_width_sets_the_limit() {
        assert_eq!(TagPool::new(TagWidth::Bits8, 64).limit(), 64);
        assert_eq!(TagPool::new(TagWidth::Bits5, 64).limit(), 32);
    }

    #[test]
    fn ten_bit_tags_keep_an_upper_bit_set() {
        let tag = TagPool::new(TagWidth::Bits10, 768).take().expect("a tag");
        assert_eq!((tag.get(), tag.index(TagWidth::Bits10)), (256, 0));
    }

    #[test]
    fn each_tag_has_its_own_place_in_a_table() {
        for width in TagWidth::ALL {
            let mut pool = TagPool::new(width, u16::MAX);
            let places = std::iter::from_fn(|| pool.take()).map(|tag| tag.index(width));
            assert!(places.eq(0..usize::from(width.usable())));
        }
    }

    #[test]
    #[should_panic(expected = "came back twice")]
    fn a_tag_comes_back_once() {
        let mut pool = TagPool::new(TagWidth::Bits5, 2);
        let tag = pool.take().expect("a tag");
        pool.give(tag);
        pool.give(tag);
    }

    proptest! {
        /// Under any order of taking and giving, tags in flight are distinct and never more than the limit.
        #[test]
        fn tags_in_flight_are_distinct(
            steps in prop::collection::vec((any::<bool>(), any::<usize>()), 1..300),
        ) {
            let mut pool = TagPool::new(TagWidth::Bits10, 20);
            let mut in_flight: Vec<Tag> = Vec::new();
            for (take, pick) in steps {
                if take {
                    match pool.take() {
                        Some(tag) => {
                            prop_assert!(!in_flight.contains(&tag));
                            in_flight.push(tag);
                        }
                        None => prop_assert_eq!(in_flight.len(), 20),
                    }
                } else if !in_flight.is_empty() {
                    pool.give(in_flight.swap_remove(pick % in_flight.len()));
                }
                prop_assert!(in_flight.len() <= 20);
                prop_assert_eq!(pool.in_flight() as usize, in_flight.len());
                prop_assert_eq!(pool.has_free(), in_flight.len() < 20);
            }
        }
    }
}
