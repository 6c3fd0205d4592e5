//! Random streams, named by seed, component path and purpose, so that adding a device does not reshuffle the others.
//!
//! Draws are the same on every platform: the generator is integer arithmetic and logarithms come from `libm`.

use lanewise_units::Span;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct RandomStream(Xoshiro256PlusPlus);

impl RandomStream {
    /// The stream of this seed for this purpose of this component.
    pub fn new(seed: u64, path: &str, purpose: &str) -> Self {
        let name = fnv1a(path.bytes().chain([0]).chain(purpose.bytes()));
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ name))
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A whole number from zero up to but not including `limit`, without bias.
    ///
    /// # Panics
    /// When `limit` is zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        assert!(limit > 0, "nothing is below zero");
        let reject_above = u64::MAX - u64::MAX % limit;
        loop {
            let drawn = self.next_u64();
            if drawn < reject_above {
                return drawn % limit;
            }
        }
    }

    /// From zero up to but not including one, in steps of 2⁻⁵³.
    pub fn unit_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// An exponentially distributed span.
    pub fn exponential(&mut self, mean: Span) -> Span {
        let drawn = -libm::log(1.0 - self.unit_f64());
        Span::from_ticks((drawn * mean.ticks() as f64) as u64)
    }

    /// Failures before the first success of trials that succeed with `probability`.
    ///
    /// `u64::MAX` when the probability is zero.
    pub fn geometric(&mut self, probability: f64) -> u64 {
        if probability <= 0.0 {
            return u64::MAX;
        }
        (libm::log(1.0 - self.unit_f64()) / libm::log1p(-probability.min(1.0 - f64::EPSILON))) as u64
    }
}

/// FNV-1a, 64 bits: a stable hash of a name.
fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_path_and_purpose_and_repeat() {
        let first = |seed, path, purpose| RandomStream::new(seed, path, purpose).next_u64();
        let base = first(1, "nic0", "latency");
        assert_eq!(base, first(1, "nic0", "latency"));
        assert_ne!(base, first(2, "nic0", "latency"));
        assert_ne!(base, first(1, "nic1", "latency"));
        assert_ne!(base, first(1, "nic0", "errors"));
        assert_ne!(first(1, "ab", "c"), first(1, "a", "bc"));
    }

    /// Expected: splitmix64 and xoshiro256++ written out by hand in another language.
    #[test]
    fn the_draws_of_a_name_never_change() {
        let mut stream = RandomStream::new(1, "nic0", "latency");
        let drawn = (stream.next_u64(), stream.below(1_000_000), stream.unit_f64());
        assert_eq!(drawn, (4_485_332_653_685_110_614, 243_248, 0.7301219886172151));
        assert_eq!(stream.exponential(Span::from_us(1)), Span::from_ticks(601_776_939));
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(fnv1a("".bytes()), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a".bytes()), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a("foobar".bytes()), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn whole_numbers_are_even_over_their_range() {
        let mut stream = RandomStream::new(3, "test", "below");
        let mut counts = [0_i32; 7];
        (0..70_000).for_each(|_| counts[stream.below(7) as usize] += 1);
        assert!(counts.iter().all(|count| (count - 10_000).abs() < 500), "{counts:?}");
        assert_eq!(stream.below(1), 0);
    }

    #[test]
    fn what_cannot_succeed_never_does() {
        let mut stream = RandomStream::new(4, "test", "never");
        assert!((0..1_000).all(|_| stream.geometric(0.0) == u64::MAX));
        assert!((0..1_000).all(|_| stream.geometric(1.0) == 0));
    }

    #[test]
    fn means_come_out() {
        let mut stream = RandomStream::new(7, "test", "means");
        let draws = 20_000;
        let spans: Span = (0..draws).map(|_| stream.exponential(Span::from_ns(100))).sum();
        assert!((spans.as_ns() / draws as f64 - 100.0).abs() < 2.0, "{spans}");
        let failures: u64 = (0..draws).map(|_| stream.geometric(0.01)).sum();
        assert!((failures as f64 / draws as f64 - 99.0).abs() < 2.5, "{failures}");
        assert!((0..1000).all(|_| stream.below(3) < 3));
    }
}
