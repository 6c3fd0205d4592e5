//! What forward error correction leaves of the bit errors on a link in Flit Mode. PCIe Base §4.2.3.4.2.3 and §4.2.3.4.2.4.
//!
//! The 256 bytes of a flit are dealt to three groups in turn, and each group corrects one wrong byte. Bytes are dealt to lanes in
//! turn too, and no width is a multiple of three, so that bytes that follow each other on a lane are in different groups: a burst
//! on one lane is harmless as long as it touches three bytes or fewer. A flit is beyond repair when two wrong bytes are in one
//! group: two bursts met there, or one was longer than that. Its 8-byte CRC tells, and it is replayed; one in 2⁶⁴ of those gets
//! by, which is left out.
//!
//! Leaves out: bursts that reach into the next flit, errors on several lanes at once from one cause, and two bursts in one and the
//! same byte. These are probabilities for a reader and for draws, so floats.

use crate::encoding::{LineCode, LinkMode};
use crate::flit::FLIT_BYTES;

/// Groups of bytes of a flit that are corrected apart.
const GROUPS: usize = 3;

/// Probability that a wrong PAM4 symbol makes the next one on its lane wrong, by the feedback of the receiver's equaliser.
///
/// Calibrated: makes 5·10⁻⁶ of flits be replayed at a first bit error rate of 10⁻⁶, as PCI-SIG presents it for PCIe 6.0.
pub const PAM4_CONTINUES: f64 = 0.54;

/// Bits of a symbol on a lane, and the probability that an error goes on to the next.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Symbols {
    in_a_byte: usize,
    continues: f64,
}

impl Symbols {
    const fn of(mode: LinkMode) -> Self {
        match mode.line_code() {
            LineCode::Code1b1b => Self { in_a_byte: 4, continues: PAM4_CONTINUES },
            // Assumed: errors of NRZ come alone.
            LineCode::Code8b10b | LineCode::Code128b130b => Self { in_a_byte: 8, continues: 0.0 },
        }
    }

    /// Probabilities that a burst touches one, two and three bytes of its lane, and more than that. It begins anywhere in a byte.
    fn bytes_of_a_burst(self) -> [f64; 4] {
        // It touches more than n bytes when it is longer than what is left of the first and n - 1 more.
        let more_than = |bytes: usize| {
            let starts = (0..self.in_a_byte)
                .map(|start| power(self.continues, (bytes * self.in_a_byte - start) as u64));
            starts.sum::<f64>() / self.in_a_byte as f64
        };
        let [two, three, beyond] = [1, 2, 3].map(more_than);
        [1.0 - two, two - three, three - beyond, beyond]
    }
}

/// Probability that a flit arrives damaged, correction and all, when the first bit of a burst is wrong with `first_bit_error_rate`.
///
/// 10⁻⁶ gives 5·10⁻⁶. Outside Flit Mode there is no correction; see the LCRC.
pub fn flit_error_rate(mode: LinkMode, first_bit_error_rate: f64) -> f64 {
    let [one, two, three, beyond] = Symbols::of(mode).bytes_of_a_burst();
    let groups = GROUPS as f64;
    // Two bursts keep out of each other's way when both are of one byte, in two of three groups, or of one and two, in one.
    let apart = one * one * (groups - 1.0) / groups + 2.0 * one * two / groups;
    // And three when each is of one byte and has a group to itself. Of four, two always share one.
    let all_apart = one * one * one * 2.0 / (groups * groups);
    let [none, single, double, triple] = bursts_of_a_flit(first_bit_error_rate);
    debug_assert!((one + two + three + beyond - 1.0).abs() < 1e-9, "a burst touches some bytes");
    let more = (1.0 - none - single - double - triple).max(0.0);
    single * beyond + double * (1.0 - apart) + triple * (1.0 - all_apart) + more
}

/// Probabilities that none, one, two and three bursts begin in a flit. Multiplied out, so that every platform has the same.
fn bursts_of_a_flit(rate: f64) -> [f64; 4] {
    let bits = (FLIT_BYTES.get() * 8) as f64;
    let odds = rate / (1.0 - rate);
    let none = power(1.0 - rate, FLIT_BYTES.get() * 8);
    let single = none * bits * odds;
    let double = single * (bits - 1.0) / 2.0 * odds;
    let triple = double * (bits - 2.0) / 3.0 * odds;
    [none, single, double, triple]
}

/// By squaring: the same to the last bit wherever it is computed.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanewise_units::{Generation, Width};

    const GEN6: LinkMode = LinkMode::new(Generation::Gen6, Width::X16);

    /// PCI-SIG's figure for PCIe 6.0, on which the length of bursts is calibrated.
    #[test]
    fn a_first_bit_error_rate_of_a_millionth_replays_five_flits_of_a_million() {
        let rate = flit_error_rate(GEN6, 1e-6);
        assert!((rate / 5e-6 - 1.0).abs() < 0.05, "{rate:e}");
    }

    /// Long bursts are in proportion to errors, two bursts in one flit to their square.
    #[test]
    fn rare_errors_leave_long_bursts_only() {
        let [_, _, _, beyond] = Symbols::of(GEN6).bytes_of_a_burst();
        let rate = flit_error_rate(GEN6, 1e-12);
        assert!((rate / (2048e-12 * beyond) - 1.0).abs() < 1e-3, "{rate:e}");
        let nrz = LinkMode::new(Generation::Gen5, Width::X16).with_flit(true);
        // Two single bytes in one group of three: (2048 × 10⁻⁶)² / 2 / 3.
        let rate = flit_error_rate(nrz, 1e-6);
        assert!((rate / (2.048e-3 * 2.048e-3 / 6.0) - 1.0).abs() < 0.01, "{rate:e}");
    }

    /// As many begin as in so many draws, one for each bit.
    #[test]
    fn bursts_of_a_flit_are_binomial() {
        let (bits, rate) = (2048.0, 0.01);
        let of =
            |ways: f64, bursts: i32| ways * f64::powi(rate, bursts) * f64::powi(1.0 - rate, 2048 - bursts);
        let pairs = bits * (bits - 1.0) / 2.0;
        let expected = [of(1.0, 0), of(bits, 1), of(pairs, 2), of(pairs * (bits - 2.0) / 3.0, 3)];
        for (found, expected) in bursts_of_a_flit(rate).into_iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 1e-9, "{found:e}, expected {expected:e}");
        }
    }

    /// Each burst by itself begins in any group and goes on to the next: whether no group has two bytes, counted one by one.
    #[test]
    fn what_three_groups_cannot_repair_is_counted_out() {
        let lengths = Symbols::of(GEN6).bytes_of_a_burst();
        fn repaired(lengths: [f64; 4], bursts: u32, wrong: [u8; GROUPS]) -> f64 {
            if wrong.iter().any(|bytes| *bytes > 1) {
                return 0.0;
            }
            if bursts == 0 {
                return 1.0;
            }
            let mut sum = 0.0;
            for (begin, (before, length)) in
                (0..GROUPS).flat_map(|begin| lengths.iter().enumerate().map(move |l| (begin, l)))
            {
                let mut wrong = wrong;
                (begin..=begin + before).for_each(|byte| wrong[byte % GROUPS] += 1);
                sum += length / GROUPS as f64 * repaired(lengths, bursts - 1, wrong);
            }
            sum
        }
        let rate = 1e-3;
        let bursts = bursts_of_a_flit(rate);
        let repaired: f64 = (0..4u32).zip(bursts).map(|(n, p)| p * repaired(lengths, n, [0; GROUPS])).sum();
        let found = flit_error_rate(GEN6, rate);
        assert!((found - (1.0 - repaired)).abs() < 1e-12, "{found}, expected {}", 1.0 - repaired);
    }

    #[test]
    fn bursts_up_to_sixteen_bits_are_always_corrected() {
        // A burst of eight PAM4 symbols touches three bytes at most, wherever it begins.
        for start in 0..4 {
            assert!((start + 8usize).div_ceil(4) <= GROUPS);
        }
        let shares = Symbols::of(GEN6).bytes_of_a_burst();
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    /// Flits with bursts thrown at them symbol by symbol, on links of each width: what three groups cannot repair.
    #[test]
    fn the_closed_form_is_what_throwing_errors_at_flits_gives() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut uniform = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for (width, rate) in [(1usize, 3e-4), (4, 3e-4), (16, 1e-3)] {
            let mode = LinkMode::new(Generation::Gen6, Width::from_lanes(width as u64).expect("a width"));
            let (flits, mut broken) = (400_000, 0);
            for _ in 0..flits {
                let mut wrong = [false; 256];
                // Bursts of a flit: bits until the next one, geometric.
                let mut bit = (uniform().ln() / f64::ln(1.0 - rate)) as usize;
                while bit < 2048 {
                    let (mut byte, mut symbol) = (bit / 8, bit % 8 / 2);
                    loop {
                        wrong[byte] = true;
                        if uniform() >= PAM4_CONTINUES {
                            break;
                        }
                        symbol += 1;
                        if symbol == 4 {
                            (byte, symbol) = (byte + width, 0);
                        }
                        if byte >= 256 {
                            break;
                        }
                    }
                    bit += 1 + (uniform().ln() / f64::ln(1.0 - rate)) as usize;
                }
                let in_group =
                    |group: usize| wrong.iter().skip(group).step_by(GROUPS).filter(|wrong| **wrong).count();
                broken += usize::from((0..GROUPS).any(|group| in_group(group) > 1));
            }
            let (found, expected) = (broken as f64 / flits as f64, flit_error_rate(mode, rate));
            assert!((found / expected - 1.0).abs() < 0.03, "x{width}: {found:e}, expected {expected:e}");
        }
    }
}
