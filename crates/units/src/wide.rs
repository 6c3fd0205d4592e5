//! Words of 128 bits where the processor has none.
//!
//! Native processors multiply two words into a double one in an instruction, and shift a double one in a few. WebAssembly has neither: the
//! compiler calls a function for each. Where something happens with every packet, these say the same in what WebAssembly has.

/// The whole product of two words.
#[inline(always)]
pub const fn product(a: u64, b: u64) -> u128 {
    if cfg!(target_family = "wasm") { product_of_halves(a, b) } else { a as u128 * b as u128 }
}

/// A double word with one bit set, counted from the lowest.
#[inline(always)]
pub const fn bit(at: u32) -> u128 {
    if cfg!(target_family = "wasm") { bit_of_halves(at) } else { 1 << at }
}

/// The lowest bit that is set from `at` on; where none is, the lowest of all. One is set.
#[inline(always)]
pub const fn next_from(word: u128, at: u32) -> u32 {
    if word >> u64::BITS != 0 || at >= u64::BITS {
        return next_from_in_both(word, at);
    }
    let low = word as u64;
    let from = low & (u64::MAX << at);
    if from != 0 { from.trailing_zeros() } else { low.trailing_zeros() }
}

#[inline(never)]
const fn next_from_in_both(word: u128, at: u32) -> u32 {
    let from = word & (u128::MAX << at);
    if from != 0 { from.trailing_zeros() } else { word.trailing_zeros() }
}

/// The bit that is set, where only one is; one is set.
#[inline(always)]
pub const fn only(word: u128) -> Option<u32> {
    let (low, high) = (word as u64, (word >> u64::BITS) as u64);
    if high == 0 {
        return if low & low.wrapping_sub(1) == 0 { Some(low.trailing_zeros()) } else { None };
    }
    if low == 0 && high & (high - 1) == 0 { Some(u64::BITS + high.trailing_zeros()) } else { None }
}

/// Mostly the product of two small numbers, which is a word.
#[inline(always)]
const fn product_of_halves(a: u64, b: u64) -> u128 {
    if a.leading_zeros() + b.leading_zeros() >= u64::BITS { (a * b) as u128 } else { a as u128 * b as u128 }
}

#[inline(always)]
const fn bit_of_halves(at: u32) -> u128 {
    let word = 1_u64 << (at % u64::BITS);
    if at < u64::BITS { word as u128 } else { (word as u128) << u64::BITS }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_found_in_either_half() {
        let words = [1, 6, 1 << 63, 1 << 64, 1 << 127, (1 << 70) | 4, u128::MAX];
        for word in words {
            for at in 0..u128::BITS {
                let set = |bit: &u32| word >> bit & 1 == 1;
                let expected = (at..u128::BITS).chain(0..at).find(set);
                assert_eq!(Some(next_from(word, at)), expected, "{word:#x} from {at}");
            }
            let expected = (word.count_ones() == 1).then(|| word.trailing_zeros());
            assert_eq!(only(word), expected, "{word:#x}");
        }
    }

    #[test]
    fn products_and_bits_of_halves_are_those_of_double_words() {
        let edges = [0, 1, 2, 3, 0xffff_ffff, 1 << 32, (1 << 32) + 1, 1 << 63, u64::MAX - 1, u64::MAX];
        for a in edges {
            for b in edges {
                assert_eq!(product_of_halves(a, b), u128::from(a) * u128::from(b), "{a} × {b}");
                assert_eq!(product(a, b), u128::from(a) * u128::from(b), "{a} × {b}");
            }
        }
        for at in 0..u128::BITS {
            assert_eq!((bit_of_halves(at), bit(at)), (1 << at, 1 << at), "{at}");
        }
    }
}
