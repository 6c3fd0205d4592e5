//! Numbers with units: `"150 ns"`, `"4 KiB"`, `"2.5 GB/s"`, `"0.5 %"`.
//!
//! Exact: the digits are kept as an integer and a power of ten, multiplied by the unit as an integer, and rounded
//! once. Decimal prefixes are powers of ten, binary ones (`Ki`, `Mi`, `Gi`, `Ti`) powers of two; `b` is a bit, which rates
//! are stated in and sizes are not.

use lanewise_units::{TICKS_PER_NS, TICKS_PER_SECOND};

/// What a unit measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dimension {
    /// Counted in ticks.
    Time,
    /// Counted in bytes.
    Size,
    /// Counted in bytes per second.
    DataRate,
    /// Counted in parts of one.
    Fraction,
}

impl Dimension {
    /// For a message: "…, a time, but …".
    pub fn name(self) -> &'static str {
        match self {
            Self::Time => "a time",
            Self::Size => "a number of bytes",
            Self::DataRate => "a data rate",
            Self::Fraction => "a fraction",
        }
    }
}

/// A number as it was written: `digits × 10^-decimals`, exactly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decimal {
    digits: u128,
    decimals: u32,
}

/// Why a text is not a quantity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QuantityError {
    /// It does not begin with a number.
    NotANumber,
    /// It is below zero, which no quantity is.
    Negative,
    /// There is a number but no unit.
    NoUnit,
    /// The unit is not known.
    UnknownUnit(String),
    /// More digits than can be kept exactly.
    TooManyDigits,
}

/// Bits of a byte.
const BITS: u128 = 8;

/// Longest text that is looked at; more digits than this name no quantity.
const TEXT_LIMIT: usize = 48;

impl Decimal {
    /// Reads `12`, `1_000`, `2.50` or `1e-12`. Negative numbers are not quantities.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        if text.len() > TEXT_LIMIT {
            return Err(QuantityError::TooManyDigits);
        }
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                (mantissa, exponent.parse::<i32>().map_err(|_| QuantityError::NotANumber)?)
            }
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: String = whole.chars().chain(fraction.chars()).filter(|c| *c != '_').collect();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(QuantityError::NotANumber);
        }
        let digits: u128 = digits.parse().map_err(|_| QuantityError::TooManyDigits)?;
        let decimals = fraction.bytes().filter(u8::is_ascii_digit).count() as i32;
        Self::scaled(digits, decimals.saturating_sub(exponent)).ok_or(QuantityError::TooManyDigits)
    }

    fn scaled(digits: u128, decimals: i32) -> Option<Self> {
        if decimals >= 0 {
            return Some(Self { digits, decimals: decimals as u32 });
        }
        let power = 10u128.checked_pow(decimals.unsigned_abs())?;
        Some(Self { digits: digits.checked_mul(power)?, decimals: 0 })
    }

    /// The quantity in base units, rounded to the nearest. Nothing when it is too large for a `u64`.
    pub fn in_base_units(self, unit: Unit) -> Option<u64> {
        let product = self.digits.checked_mul(unit.scale)?;
        match self.divisor(unit) {
            Some(divisor) => u64::try_from(product.checked_add(divisor / 2)? / divisor).ok(),
            None => Some(0),
        }
    }

    /// Whether the quantity is a whole number of base units.
    pub fn is_whole(self, unit: Unit) -> bool {
        match (self.digits.checked_mul(unit.scale), self.divisor(unit)) {
            (Some(product), Some(divisor)) => product.is_multiple_of(divisor),
            _ => self.digits == 0,
        }
    }

    /// What `digits` units are divided by; nothing when that is more than any quantity.
    fn divisor(self, unit: Unit) -> Option<u128> {
        10u128.checked_pow(self.decimals)?.checked_mul(unit.per)
    }

    /// The nearest float.
    pub fn as_f64(self) -> f64 {
        self.digits as f64 / 10f64.powi(self.decimals as i32)
    }
}

/// A unit: what it measures and how many base units it has, over `per`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// What it measures.
    pub dimension: Dimension,
    /// Base units in one of it, before dividing by `per`.
    pub scale: u128,
    /// Divisor: 8 for bits, 100 for percent.
    pub per: u128,
}

impl Unit {
    /// Whether it counts bits, or bits a second.
    pub fn is_of_bits(self) -> bool {
        matches!(self.dimension, Dimension::Size | Dimension::DataRate) && self.per == BITS
    }
}

/// Splits a text into a number and a unit.
pub fn parse(text: &str) -> Result<(Decimal, Unit), QuantityError> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix(['-', '−']) {
        return Err(parse(rest).map_or_else(|error| error, |_| QuantityError::Negative));
    }
    let at = number_length(text);
    let number = Decimal::parse(&text[..at])?;
    match text[at..].trim() {
        "" => Err(QuantityError::NoUnit),
        name => Ok((number, unit(name).ok_or_else(|| QuantityError::UnknownUnit(name.to_owned()))?)),
    }
}

/// Length of the number at the start of a text. An `e` belongs to it only when digits follow.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let exponent = matches!(byte, b'e' | b'E') && at > 0 && exponent_follows(&bytes[at + 1..]);
        if exponent {
            at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'-' | b'+')));
        } else if !(byte.is_ascii_digit() || matches!(byte, b'.' | b'_')) {
            break;
        }
        at += usize::from(!exponent);
    }
    at
}

fn exponent_follows(bytes: &[u8]) -> bool {
    match bytes {
        [b'-' | b'+', digit, ..] | [digit, ..] => digit.is_ascii_digit(),
        [] => false,
    }
}

/// Times and shares: name, base units, and what those are divided by.
const NAMED: [(&str, Dimension, u64, u128); 8] = [
    ("ps", Dimension::Time, TICKS_PER_NS / 1_000, 1),
    ("ns", Dimension::Time, TICKS_PER_NS, 1),
    ("us", Dimension::Time, TICKS_PER_NS * 1_000, 1),
    ("µs", Dimension::Time, TICKS_PER_NS * 1_000, 1),
    ("μs", Dimension::Time, TICKS_PER_NS * 1_000, 1),
    ("ms", Dimension::Time, TICKS_PER_NS * 1_000_000, 1),
    ("s", Dimension::Time, TICKS_PER_SECOND, 1),
    ("%", Dimension::Fraction, 1, 100),
];

/// Prefixes of bytes and bits: SI, and IEC 80000-13 for those with an i.
const PREFIXES: [(&str, u64); 10] = [
    ("", 1),
    ("k", 1_000),
    ("K", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
];

/// The unit with this name.
pub fn unit(name: &str) -> Option<Unit> {
    if let Some(&(_, dimension, scale, per)) = NAMED.iter().find(|(known, ..)| *known == name) {
        return Some(Unit { dimension, scale: u128::from(scale), per });
    }
    let (name, dimension) = match name.strip_suffix("/s") {
        Some(name) => (name, Dimension::DataRate),
        None => (name, Dimension::Size),
    };
    let (prefix, per) = match name.strip_suffix('B') {
        Some(prefix) => (prefix, 1),
        None => (name.strip_suffix('b')?, BITS),
    };
    let &(_, scale) = PREFIXES.iter().find(|(known, _)| *known == prefix)?;
    Some(Unit { dimension, scale: u128::from(scale), per })
}

/// Every unit that a value may have, by name: what other languages are told. Sizes in bits are refused, and are none of them.
pub fn units() -> Vec<(String, Unit)> {
    let named = NAMED.iter().map(|(name, ..)| (*name).to_owned());
    let prefixed = ["B", "B/s", "b/s"].into_iter();
    let prefixed = prefixed.flat_map(|of| PREFIXES.iter().map(move |(prefix, _)| format!("{prefix}{of}")));
    named.chain(prefixed).filter_map(|name| unit(&name).map(|unit| (name, unit))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> Option<(u64, Dimension)> {
        let (number, unit) = parse(text).ok()?;
        Some((number.in_base_units(unit)?, unit.dimension))
    }

    #[test]
    fn quantities_are_exact() {
        assert_eq!(base("150 ns"), Some((150 * TICKS_PER_NS, Dimension::Time)));
        assert_eq!(base("0.5us"), Some((500 * TICKS_PER_NS, Dimension::Time)));
        assert_eq!(base("1.5 ps"), Some((1536, Dimension::Time)));
        assert_eq!(base("4 KiB"), Some((4096, Dimension::Size)));
        assert_eq!(base("310 KB"), Some((310_000, Dimension::Size)));
        assert_eq!(base("2.50 GB/s"), Some((2_500_000_000, Dimension::DataRate)));
        assert_eq!(base("8 Gb/s"), Some((1_000_000_000, Dimension::DataRate)));
        assert_eq!(base("1e3 MiB/s"), Some((1_048_576_000, Dimension::DataRate)));
    }

    #[test]
    fn what_is_not_a_quantity_says_why() {
        assert_eq!(parse("fast"), Err(QuantityError::NotANumber));
        assert_eq!(parse("-1 ns"), Err(QuantityError::Negative));
        assert_eq!(parse("-soon"), Err(QuantityError::NotANumber));
        assert_eq!(parse("1.2.3 ns"), Err(QuantityError::NotANumber));
        assert_eq!(parse("150"), Err(QuantityError::NoUnit));
        assert_eq!(parse("150 NS"), Err(QuantityError::UnknownUnit("NS".into())));
        assert_eq!(parse(&"9".repeat(100)), Err(QuantityError::TooManyDigits));
        assert_eq!(parse("1e40 B"), Err(QuantityError::TooManyDigits));
    }

    #[test]
    fn every_unit_is_listed_once_and_none_that_sizes_refuse() {
        let listed: std::collections::BTreeMap<_, _> = units().into_iter().collect();
        assert_eq!((listed.len(), units().len()), (38, 38));
        assert!(listed.iter().all(|(name, listed)| unit(name) == Some(*listed)));
        assert!(listed.contains_key("Tib/s") && !listed.contains_key("Kib"));
    }

    #[test]
    fn numbers_that_do_not_fit_are_noticed() {
        assert_eq!(base("99999999 TiB"), None);
        // Rounding up what 128 bits just hold would go beyond them.
        assert_eq!(base("340282366920938463463374607431768211.455 B/s"), None);
        assert_eq!(Decimal::parse("1e-12").map(Decimal::as_f64), Ok(1e-12));
        let whole = |text| parse(text).is_ok_and(|(number, unit)| number.is_whole(unit));
        assert!(whole("0.5 KiB") && whole("64 b"));
        assert!(!whole("0.5 B") && !whole("4 b"));
    }
}
