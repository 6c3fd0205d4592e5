//! A hash of the trajectory: says "same as before", never "right".

use lanewise_units::Time;

/// Running 64-bit hash of the packets put on every wire, their times and sequence numbers.
///
/// Ingredients: time, transmitting port, kind of packet, sequence number; of flits of CXL.mem their way and the slots in use. Each packet is hashed by itself and the hashes
/// are added up: what happened when and where counts, not the order in which the simulator got round to stating it.
/// The same on every platform. Not a cryptographic hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0x6c61_6e65_7769_7365) // "lanewise" in ASCII: any odd-looking constant would do.
    }
}

impl Fingerprint {
    /// Mixes one packet in: two rounds of multiplication, so that every bit of the input reaches every bit of the sum.
    #[inline]
    pub fn mix(&mut self, at: Time, what: u64) {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15; // 2^64 / golden ratio: spreads neighbouring inputs.
        let word = (at.ticks() ^ what.rotate_left(40)).wrapping_mul(ODD);
        self.0 = self.0.wrapping_add((word ^ (word >> 32)).wrapping_mul(ODD));
    }

    /// Adds what another has taken in.
    pub fn add(&mut self, other: &Self) {
        self.0 = self.0.wrapping_add(other.0.wrapping_sub(Self::default().0));
    }

    /// The hash so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_content_matter_and_the_order_of_stating_does_not() {
        let hash = |facts: &[(u64, u64)]| {
            let mut fingerprint = Fingerprint::default();
            facts.iter().for_each(|(at, what)| fingerprint.mix(Time::from_ticks(*at), *what));
            fingerprint.value()
        };
        let base = hash(&[(1, 2), (3, 4)]);
        assert_eq!(base, hash(&[(3, 4), (1, 2)]));
        assert_ne!(base, hash(&[(1, 2), (3, 5)]));
        assert_ne!(base, hash(&[(2, 2), (3, 4)]));
        assert_ne!(base, hash(&[(1, 4), (3, 2)]), "which packet went when");
        assert_ne!(base, hash(&[(1, 2), (3, 4), (3, 4)]), "a packet more");
    }
}
