//! The transmitter's side of one credit class. PCIe Base §2.6.1.1.

use super::{CreditPool, Scale};
use crate::tlp::Credits;

/// Which credit a TLP is waiting for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Blocked {
    /// Header credits; also data, perhaps.
    Header,
    /// Data credits only.
    Data,
}

/// CREDITS_CONSUMED and CREDIT_LIMIT of one class, headers and data, compared modulo the counter width.
///
/// An infinite kind counts modulo one, so that its gate is always open without asking.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TransmitCredits {
    header: Counter,
    data: Counter,
    scale: Scale,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Counter {
    consumed: u16,
    limit: u16,
    /// All ones in the counter's width; none when infinite.
    mask: u16,
}

impl Counter {
    const fn new(advertised: Option<u16>, mask: u16) -> Self {
        match advertised {
            Some(limit) => Self { consumed: 0, limit, mask },
            None => Self { consumed: 0, limit: 0, mask: 0 },
        }
    }

    /// The specification's modular comparison.
    #[inline]
    const fn fits(&self, need: u16) -> bool {
        let left = self.limit.wrapping_sub(self.consumed).wrapping_sub(need) & self.mask;
        left <= (self.mask >> 1) + 1
    }

    #[inline]
    const fn consume(&mut self, need: u16) {
        self.consumed = self.consumed.wrapping_add(need);
    }

    #[inline]
    const fn available(&self) -> Option<u16> {
        match self.mask {
            0 => None,
            mask => Some(self.limit.wrapping_sub(self.consumed) & mask),
        }
    }
}

impl TransmitCredits {
    /// Nothing may be sent until [`Self::initialise`].
    pub const fn new(scale: Scale) -> Self {
        Self {
            header: Counter::new(Some(0), scale.header_mask()),
            data: Counter::new(Some(0), scale.data_mask()),
            scale,
        }
    }

    /// Takes the peer's advertisement and starts counting from nothing consumed.
    ///
    /// The advertisement travels in whole steps of the scale; what is left over is lost.
    pub const fn initialise(&mut self, pool: CreditPool) {
        const fn whole_steps(credits: Option<u16>, scale: Scale) -> Option<u16> {
            match credits {
                Some(credits) => Some(scale.whole_steps(credits)),
                None => None,
            }
        }
        let scale = self.scale;
        self.header = Counter::new(whole_steps(pool.header, scale), scale.header_mask());
        self.data = Counter::new(whole_steps(pool.data, scale), scale.data_mask());
    }

    /// Whether a TLP that needs these credits may be sent now.
    ///
    /// For headers and data each: (CREDIT_LIMIT − (CREDITS_CONSUMED + need)) mod 2ʷ ≤ 2ʷ⁻¹.
    ///
    /// # Errors
    /// [`Blocked`] says which credit is missing, headers first.
    #[inline(always)]
    pub const fn gate(&self, need: Credits) -> Result<(), Blocked> {
        if !self.header.fits(need.header) {
            Err(Blocked::Header)
        } else if !self.data.fits(need.data) {
            Err(Blocked::Data)
        } else {
            Ok(())
        }
    }

    /// Spends the credits of a TLP on its way.
    ///
    /// # Panics
    /// In debug builds, when the gate is shut. The receiver checks the same in every build.
    #[inline]
    pub const fn consume(&mut self, need: Credits) {
        debug_assert!(self.gate(need).is_ok(), "a TLP passed a shut credit gate");
        self.header.consume(need.header);
        self.data.consume(need.data);
    }

    /// Takes the limits of an UpdateFC; infinite kinds ignore theirs.
    #[inline]
    pub const fn update(&mut self, header_limit: u16, data_limit: u16) {
        self.header.limit = header_limit & self.header.mask;
        self.data.limit = data_limit & self.data.mask;
    }

    /// Credits left to spend; `None` where infinite.
    #[inline]
    pub const fn available(&self) -> CreditPool {
        CreditPool { header: self.header.available(), data: self.data.available() }
    }

    /// Whether neither headers nor data can ever block.
    #[inline]
    pub const fn is_infinite(&self) -> bool {
        self.header.mask == 0 && self.data.mask == 0
    }

    /// Scale of the counters.
    pub const fn scale(&self) -> Scale {
        self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn initialised(pool: CreditPool) -> TransmitCredits {
        let mut credits = TransmitCredits::new(Scale::One);
        credits.initialise(pool);
        credits
    }

    #[test]
    fn nothing_is_sent_before_initialisation() {
        assert_eq!(TransmitCredits::new(Scale::One).gate(Credits::new(1, 0)), Err(Blocked::Header));
    }

    #[test]
    fn the_gate_names_the_missing_credit() {
        let credits = initialised(CreditPool::finite(1, 8));
        assert_eq!(credits.gate(Credits::new(1, 8)), Ok(()));
        assert_eq!(credits.gate(Credits::new(1, 9)), Err(Blocked::Data));
        assert_eq!(credits.gate(Credits::new(2, 9)), Err(Blocked::Header));
    }

    #[test]
    fn infinite_headers_leave_data_to_block() {
        let mut credits = initialised(CreditPool { header: None, data: Some(4) });
        for _ in 0..4 {
            credits.consume(Credits::new(1, 1));
        }
        assert_eq!(credits.gate(Credits::new(1, 1)), Err(Blocked::Data));
        assert_eq!(credits.available(), CreditPool { header: None, data: Some(0) });
        assert!(!credits.is_infinite() && !initialised(CreditPool::finite(1, 8)).is_infinite());
        assert!(!initialised(CreditPool { header: Some(1), data: None }).is_infinite());
        assert!(initialised(CreditPool::INFINITE).is_infinite());
    }

    /// (CREDIT_LIMIT − (CREDITS_CONSUMED + need)) mod 2ʷ ≤ 2ʷ⁻¹, for each need: PCIe Base §2.6.1.1.
    #[test]
    fn the_gate_is_open_up_to_half_of_the_counter() {
        for scale in Scale::ALL {
            let widths = scale.widths();
            let (header_half, data_half) = (1 << (widths.header - 1), 1 << (widths.data - 1));
            let mut credits = TransmitCredits::new(scale);
            let mut of = |header, data| {
                credits.update(header, data);
                credits.gate(Credits::NONE)
            };
            assert_eq!(of(header_half, data_half), Ok(()));
            assert_eq!(of(header_half + 1, data_half), Err(Blocked::Header));
            assert_eq!(of(header_half, data_half + 1), Err(Blocked::Data));
        }
    }

    #[test]
    fn counters_wrap_at_every_scale() {
        for scale in Scale::ALL {
            let mut credits = TransmitCredits::new(scale);
            credits.initialise(super::super::largest_advertisement(scale));
            let (mut header, mut data) = (127 * scale.factor(), 2047 * scale.factor());
            for _ in 0..200_000 {
                credits.consume(Credits::new(1, 16));
                header = header.wrapping_add(1) & scale.header_mask();
                data = data.wrapping_add(16) & scale.data_mask();
                credits.update(header, data);
            }
            assert_eq!(credits.available(), super::super::largest_advertisement(scale));
        }
    }

    #[test]
    fn an_odd_advertisement_loses_its_fraction_of_a_step() {
        let mut credits = TransmitCredits::new(Scale::Four);
        credits.initialise(CreditPool::finite(7, 13));
        assert_eq!(credits.available(), CreditPool::finite(4, 12));
    }

    #[test]
    #[should_panic(expected = "shut credit gate")]
    fn spending_what_is_not_there_is_our_bug() {
        initialised(CreditPool::finite(1, 1)).consume(Credits::new(1, 2));
    }
}
