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

/// CREDITS_CONSUMED and CREDIT_LIMIT of one class, headers and data, all modulo the counter width.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TransmitCredits {
    header_consumed: u16,
    header_limit: u16,
    data_consumed: u16,
    data_limit: u16,
    scale: Scale,
    header_infinite: bool,
    data_infinite: bool,
}

impl TransmitCredits {
    /// Nothing may be sent until [`Self::initialise`].
    pub const fn new(scale: Scale) -> Self {
        Self {
            header_consumed: 0,
            header_limit: 0,
            data_consumed: 0,
            data_limit: 0,
            scale,
            header_infinite: false,
            data_infinite: false,
        }
    }

    /// Takes the peer's advertisement and starts counting from nothing consumed.
    ///
    /// The advertisement travels in whole steps of the scale; what is left over is lost.
    pub const fn initialise(&mut self, pool: CreditPool) {
        *self = Self::new(self.scale);
        match pool.header {
            Some(credits) => self.header_limit = self.scale.whole_steps(credits),
            None => self.header_infinite = true,
        }
        match pool.data {
            Some(credits) => self.data_limit = self.scale.whole_steps(credits),
            None => self.data_infinite = true,
        }
    }

    /// Whether a TLP that needs these credits may be sent now.
    ///
    /// For headers and data each: (CREDIT_LIMIT − (CREDITS_CONSUMED + need)) mod 2ʷ ≤ 2ʷ⁻¹.
    ///
    /// # Errors
    /// [`Blocked`] says which credit is missing, headers first.
    #[inline]
    pub const fn gate(&self, need: Credits) -> Result<(), Blocked> {
        let header_mask = self.scale.header_mask();
        if !self.header_infinite && !fits(self.header_limit, self.header_consumed, need.header, header_mask) {
            return Err(Blocked::Header);
        }
        let data_mask = self.scale.data_mask();
        if !self.data_infinite && !fits(self.data_limit, self.data_consumed, need.data, data_mask) {
            return Err(Blocked::Data);
        }
        Ok(())
    }

    /// Spends the credits of a TLP on its way.
    ///
    /// # Panics
    /// When the gate is shut.
    #[inline]
    pub const fn consume(&mut self, need: Credits) {
        assert!(self.gate(need).is_ok(), "a TLP passed a shut credit gate");
        self.header_consumed = self.header_consumed.wrapping_add(need.header) & self.scale.header_mask();
        self.data_consumed = self.data_consumed.wrapping_add(need.data) & self.scale.data_mask();
    }

    /// Takes the credits of a nullified TLP back, outside Flit Mode. Source: PCIe Base §3.6.2.1, §2.6.1.1.
    #[inline]
    pub const fn refund(&mut self, spent: Credits) {
        self.header_consumed = self.header_consumed.wrapping_sub(spent.header) & self.scale.header_mask();
        self.data_consumed = self.data_consumed.wrapping_sub(spent.data) & self.scale.data_mask();
    }

    /// Takes the limits of an UpdateFC; infinite kinds ignore theirs.
    #[inline]
    pub const fn update(&mut self, header_limit: u16, data_limit: u16) {
        if !self.header_infinite {
            self.header_limit = header_limit & self.scale.header_mask();
        }
        if !self.data_infinite {
            self.data_limit = data_limit & self.scale.data_mask();
        }
    }

    /// Credits left to spend; `None` where infinite.
    #[inline]
    pub const fn available(&self) -> CreditPool {
        let header = self.header_limit.wrapping_sub(self.header_consumed) & self.scale.header_mask();
        let data = self.data_limit.wrapping_sub(self.data_consumed) & self.scale.data_mask();
        CreditPool {
            header: if self.header_infinite { None } else { Some(header) },
            data: if self.data_infinite { None } else { Some(data) },
        }
    }

    /// Whether neither headers nor data can ever block.
    #[inline]
    pub const fn is_infinite(&self) -> bool {
        self.header_infinite && self.data_infinite
    }

    /// Scale of the counters.
    pub const fn scale(&self) -> Scale {
        self.scale
    }
}

/// The specification's modular comparison.
#[inline]
const fn fits(limit: u16, consumed: u16, need: u16, mask: u16) -> bool {
    let left = limit.wrapping_sub(consumed).wrapping_sub(need) & mask;
    left <= (mask >> 1) + 1
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
    fn a_nullified_tlp_gets_its_credits_back() {
        let mut credits = initialised(CreditPool::finite(1, 8));
        credits.consume(Credits::new(1, 8));
        credits.refund(Credits::new(1, 8));
        assert_eq!(credits.available(), CreditPool::finite(1, 8));
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
