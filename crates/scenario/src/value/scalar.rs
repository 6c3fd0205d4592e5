//! Single values: quantities, counts, widths, generations, words.

use super::meant::{generation_meant, number_meant, truth_meant, unit_meant, width_meant};
use super::{ParameterType, Reading, ordered_within};
use crate::document::{Node, Value, shortened};
use crate::problem::Problem;
use crate::quantity::{self, Decimal, Dimension, QuantityError, Unit};
use lanewise_units::{Bytes, Generation, Rate, Span, Width};
use serde_json::{Value as Json, json};

/// A part of one: a probability, a share, a confidence level. Written as `0.95` or `"95 %"`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Fraction(pub f64);

/// Reads a quantity in base units of `dimension`, which are whole.
fn read_quantity<T: ParameterType>(
    node: &Node,
    dimension: Dimension,
    reading: &mut Reading<'_>,
) -> Option<u64> {
    let path = reading.path.to_owned();
    let found = node.describe();
    let expected = T::expected();
    let problem = match &node.value {
        Value::String(text) => match quantity::parse(text) {
            // Rates of networks are stated in bits, sizes never are: a small `b` there is a slip.
            Ok((number, unit))
                if unit.dimension == dimension && dimension == Dimension::Size && unit.is_of_bits() =>
            {
                let kind = "a number of bits".to_owned();
                let problem = Problem::WrongUnit { path, found, kind, expected };
                return reading.refuse_with_hint(node.place, problem, bits_meant(text, number, unit));
            }
            // Times and rates are rounded to the nearest tick or byte per second; half a byte is a mistake.
            Ok((number, unit))
                if unit.dimension == dimension && dimension == Dimension::Size && !number.is_whole(unit) =>
            {
                return reading.wrong_type::<T, _>(node);
            }
            Ok((number, unit)) if unit.dimension == dimension => {
                return match number.in_base_units(unit) {
                    Some(units) => Some(units),
                    None => reading.out_of_range(node, "zero", "what 64 bits can count"),
                };
            }
            Ok((_, unit)) => {
                let kind = unit.dimension.name().to_owned();
                Problem::WrongUnit { path, found, kind, expected }
            }
            Err(QuantityError::NoUnit) => {
                let problem = Problem::MissingUnit { path, found, expected };
                return reading.refuse_with_hint(node.place, problem, with_a_unit(text.trim(), dimension));
            }
            Err(QuantityError::UnknownUnit(unit)) => {
                let problem = Problem::UnknownUnit { path, found, unit: shortened(&unit) };
                let hint = number_meant(&unit)
                    .or_else(|| unit_meant(&unit, dimension))
                    .unwrap_or_else(|| units_hint(dimension));
                return reading.refuse_with_hint(node.place, problem, Some(hint));
            }
            Err(QuantityError::Negative | QuantityError::TooManyDigits) => {
                return reading.out_of_range(node, "zero", "what 64 bits can count");
            }
            Err(QuantityError::NotANumber) => Problem::NotANumber { path, found, expected },
        },
        Value::Integer(_) | Value::Float(_) => {
            let problem = Problem::MissingUnit { path, expected, found: found.clone() };
            return reading.refuse_with_hint(node.place, problem, with_a_unit(&found, dimension));
        }
        _ => return reading.wrong_type::<T, _>(node),
    };
    reading.refuse(node.place, problem)
}

/// How a bare number is written with the unit that it has most often.
fn with_a_unit(number: &str, dimension: Dimension) -> Option<String> {
    let (unit, name) = match dimension {
        Dimension::Time => ("ns", "nanoseconds"),
        Dimension::Size => ("B", "bytes"),
        Dimension::DataRate => ("GB/s", "10⁹ bytes a second"),
        Dimension::Fraction => return None,
    };
    Some(format!("write \"{number} {unit}\" if {name} are meant"))
}

/// How a size that is written in bits is written in bytes: with a large `B`, or an eighth of it.
fn bits_meant(text: &str, number: Decimal, unit: Unit) -> Option<String> {
    let large = format!("{}B", text.trim().strip_suffix('b')?);
    let meant = format!("write \"{large}\" if bytes are meant");
    let bytes = number.in_base_units(unit).filter(|_| number.is_whole(unit));
    Some(bytes.map_or(meant.clone(), |bytes| format!("{meant}; \"{}\" are {bytes} B", text.trim())))
}

fn units_hint(dimension: Dimension) -> String {
    let units = match dimension {
        Dimension::Time => "ps, ns, us, ms, s",
        Dimension::Size => "B, KB, MB, GB (powers of ten), KiB, MiB, GiB (powers of two)",
        Dimension::DataRate => {
            "B/s, MB/s, GB/s (powers of ten), MiB/s, GiB/s (powers of two), Mb/s, Gb/s (bits)"
        }
        Dimension::Fraction => "%",
    };
    format!("{} has one of these units: {units}", dimension.name())
}

/// A number and one of the units, which are a regular expression.
fn quantity_schema(units: &str, example: &str) -> Json {
    let pattern = format!(r"^\s*[0-9._][0-9_.eE+-]*\s*{units}\s*$");
    json!({ "type": "string", "pattern": pattern, "examples": [example] })
}

/// The number that digits stand for; a sign is no digit.
fn digits(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}

impl ParameterType for Span {
    fn expected() -> String {
        "a time such as \"150 ns\"".to_owned()
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        read_quantity::<Self>(node, Dimension::Time, reading).map(Span::from_ticks)
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn schema() -> Json {
        quantity_schema("(ps|ns|us|µs|μs|ms|s)", "150 ns")
    }
    fn within(&self, low: &str, high: &str) -> bool {
        ordered_within(self, low, high)
    }
}

impl ParameterType for Bytes {
    fn expected() -> String {
        "a whole number of bytes such as \"256 B\" or \"4 KiB\"".to_owned()
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        read_quantity::<Self>(node, Dimension::Size, reading).map(Bytes::new)
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn schema() -> Json {
        quantity_schema("([kKMGT]|[KMGT]i)?B", "4 KiB")
    }
    fn within(&self, low: &str, high: &str) -> bool {
        ordered_within(self, low, high)
    }
}

impl ParameterType for Rate {
    fn expected() -> String {
        "a data rate such as \"2.5 GB/s\"".to_owned()
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        match read_quantity::<Self>(node, Dimension::DataRate, reading)? {
            0 => reading.out_of_range(node, "1 B/s", "10 TB/s"),
            rate => Some(Rate::from_bytes_per_second(rate)),
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn schema() -> Json {
        quantity_schema("([kKMGT]|[KMGT]i)?[Bb]/s", "2.5 GB/s")
    }
    fn within(&self, low: &str, high: &str) -> bool {
        ordered_within(self, low, high)
    }
}

impl ParameterType for Fraction {
    fn expected() -> String {
        "a fraction such as 0.5 or \"50 %\"".to_owned()
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        let path = reading.path.to_owned();
        let number = match &node.value {
            Value::Integer(number) => Ok(*number as f64),
            Value::Float(text) => text.replace('_', "").parse::<f64>().map_err(|_| QuantityError::NotANumber),
            Value::String(text) => match quantity::parse(text) {
                Ok((number, unit)) if unit.dimension == Dimension::Fraction => {
                    Ok(number.as_f64() / unit.per as f64)
                }
                Ok((_, unit)) => {
                    let kind = unit.dimension.name().to_owned();
                    let problem =
                        Problem::WrongUnit { path, found: node.describe(), kind, expected: Self::expected() };
                    return reading.refuse(node.place, problem);
                }
                Err(QuantityError::NoUnit) => Decimal::parse(text.trim()).map(Decimal::as_f64),
                Err(QuantityError::Negative) => return reading.out_of_range(node, "0", "1"),
                Err(error) => Err(error),
            },
            _ => return reading.wrong_type::<Self, _>(node),
        };
        match number {
            Ok(number) if number.is_finite() => Some(Self(number)),
            _ => {
                let found = node.describe();
                let problem = Problem::NotANumber { path, found, expected: Self::expected() };
                reading.refuse(node.place, problem)
            }
        }
    }
    fn show(&self) -> String {
        self.0.to_string()
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "type": "number", "minimum": 0 }, quantity_schema("%?", "0.5 %")] })
    }
    fn within(&self, low: &str, high: &str) -> bool {
        ordered_within(self, low, high)
    }
}

/// Counts: whole numbers without a unit.
macro_rules! counts {
    ($($type:ty),+) => {$(
        impl ParameterType for $type {
            fn expected() -> String {
                "a whole number".to_owned()
            }
            fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
                let Value::Integer(number) = node.value else {
                    let meant = node.as_str().and_then(|text| digits(text.trim()));
                    return reading.wrong_type_meant::<Self, _>(node, meant.map(|number| number.to_string()));
                };
                match Self::try_from(number) {
                    Ok(number) => Some(number),
                    Err(_) => reading.out_of_range(node, "0", &Self::MAX.to_string()),
                }
            }
            fn show(&self) -> String {
                self.to_string()
            }
            fn schema() -> Json {
                json!({ "type": "integer", "minimum": 0 })
            }
            fn within(&self, low: &str, high: &str) -> bool {
                ordered_within(self, low, high)
            }
        }
    )+};
}
counts!(u8, u32, u64);

impl ParameterType for bool {
    fn expected() -> String {
        "true or false".to_owned()
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        match node.value {
            Value::Boolean(truth) => Some(truth),
            _ => {
                let meant = truth_meant(node).map(|truth| truth.to_string());
                reading.wrong_type_meant::<Self, _>(node, meant)
            }
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn schema() -> Json {
        json!({ "type": "boolean" })
    }
}

impl ParameterType for String {
    fn expected() -> String {
        "a text".to_owned()
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        match &node.value {
            Value::String(text) => Some(text.clone()),
            Value::Array(_) => {
                let one = "one text, without the brackets; `nic[*]` stands for every device of `nic`, \
                           `slot1..slot4` for slots in a row"
                    .to_owned();
                reading.wrong_type_meant::<Self, _>(node, Some(one))
            }
            _ => reading.wrong_type::<Self, _>(node),
        }
    }
    fn show(&self) -> String {
        self.clone()
    }
    fn schema() -> Json {
        json!({ "type": "string" })
    }
}

impl ParameterType for Width {
    fn expected() -> String {
        "a width such as \"x8\"".to_owned()
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        let lanes = match &node.value {
            Value::String(text) => text.trim().strip_prefix(['x', 'X']).and_then(digits),
            // A bare count is a width too, but only one that exists.
            Value::Integer(lanes) => Some(u64::try_from(*lanes).unwrap_or(0)),
            _ => None,
        };
        match lanes {
            Some(lanes) => match Width::from_lanes(lanes) {
                Some(width) => Some(width),
                None => {
                    let problem = Problem::ImpossibleWidth {
                        path: reading.path.to_owned(),
                        found: format!("x{lanes}"),
                    };
                    let below = Width::ALL.iter().rev().find(|width| width.lanes() < lanes);
                    let hint = below.map(|width| format!("the next narrower width is {width}"));
                    reading.refuse_with_hint(node.place, problem, hint)
                }
            },
            None => {
                let meant = node.as_str().and_then(width_meant).map(|width| format!("\"{width}\""));
                reading.wrong_type_meant::<Self, _>(node, meant)
            }
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn schema() -> Json {
        let spelled = json!({ "type": "string", "pattern": r"^\s*[xX]0*(1|2|4|8|12|16|32)\s*$" });
        let words = Width::ALL.map(|width| width.to_string());
        json!({ "anyOf": [{ "enum": words }, { "enum": Width::ALL.map(Width::lanes) }, spelled] })
    }
}

impl ParameterType for Generation {
    fn expected() -> String {
        "a generation such as \"gen4\"".to_owned()
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        let number = match &node.value {
            Value::String(text) => {
                text.trim().to_ascii_lowercase().strip_prefix("gen").map(|number| digits(number.trim()))
            }
            Value::Integer(number) => Some(u64::try_from(*number).ok()),
            _ => None,
        };
        let meant = || node.as_str().and_then(generation_meant).map(|generation| format!("\"{generation}\""));
        let Some(number) = number else {
            return reading.wrong_type_meant::<Self, _>(node, meant());
        };
        let number = number.and_then(|number| u8::try_from(number).ok());
        match number.and_then(Generation::from_number) {
            Some(generation) => Some(generation),
            None => {
                let problem =
                    Problem::UnknownGeneration { path: reading.path.to_owned(), found: node.describe() };
                reading.refuse_with_hint(node.place, problem, meant().map(|meant| format!("write {meant}")))
            }
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn schema() -> Json {
        let spelled = json!({ "type": "string", "pattern": r"^\s*[gG][eE][nN]\s*0*[1-7]\s*$" });
        let words = Generation::ALL.map(|generation| generation.to_string());
        json!({ "anyOf": [{ "enum": words }, { "enum": Generation::ALL.map(Generation::number) }, spelled] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{FileId, Place};

    fn code_of<T: ParameterType + std::fmt::Debug>(text: &str) -> Result<T, &'static str> {
        let mut diagnostics = Vec::new();
        let mut reading = Reading { path: "a.b", diagnostics: &mut diagnostics };
        let node = Node::from_plain_text(text, Place::new(FileId(0), 0..0));
        let value = T::read(&node, &mut reading);
        value.ok_or_else(|| diagnostics[0].problem.code())
    }

    #[test]
    fn quantities_read_and_refuse_with_the_right_code() {
        assert_eq!(code_of::<Span>("150 ns"), Ok(Span::from_ns(150)));
        assert_eq!(code_of::<Span>("150 MB"), Err("wrong-unit"));
        assert_eq!(code_of::<Span>("150"), Err("missing-unit"));
        assert_eq!(code_of::<Span>("\"150\""), Err("missing-unit"));
        assert_eq!(code_of::<Span>("150 lightyears"), Err("unknown-unit"));
        assert_eq!(code_of::<Span>("soon"), Err("not-a-number"));
        assert_eq!(code_of::<Span>("true"), Err("wrong-type"));
        assert_eq!(code_of::<Span>("99999999 s"), Err("out-of-range"));
        assert_eq!(code_of::<Bytes>("310 KB"), Ok(Bytes::new(310_000)));
        assert_eq!(code_of::<Bytes>("0.5 B"), Err("wrong-type"));
        assert_eq!(code_of::<Bytes>("0.5 KiB"), Ok(Bytes::new(512)));
        assert_eq!(code_of::<Bytes>("4 Kib"), Err("wrong-unit"));
        assert_eq!(code_of::<Bytes>("0.5 b"), Err("wrong-unit"));
        assert_eq!(code_of::<Rate>("0 B/s"), Err("out-of-range"));
        assert_eq!(code_of::<Rate>("8 Gb/s"), Ok(Rate::from_bytes_per_second(1_000_000_000)));
        assert_eq!(code_of::<Fraction>("0.5 %"), Ok(Fraction(0.005)));
        assert_eq!(code_of::<Fraction>("1e-12"), Ok(Fraction(1e-12)));
        assert_eq!(code_of::<Fraction>("nan"), Err("not-a-number"));
    }

    #[test]
    fn widths_and_generations_are_only_those_that_exist() {
        assert_eq!(code_of::<Width>("x8"), Ok(Width::X8));
        assert_eq!(code_of::<Width>("x3"), Err("impossible-width"));
        assert_eq!(code_of::<Width>("24"), Err("impossible-width"));
        assert_eq!(code_of::<Width>("wide"), Err("wrong-type"));
        assert_eq!(code_of::<Generation>("Gen4"), Ok(Generation::Gen4));
        assert_eq!(code_of::<Generation>("gen9"), Err("unknown-generation"));
    }

    #[test]
    fn order_is_compared_in_the_type() {
        assert!(Span::from_ns(5).within("0 ns", "1 us"));
        assert!(!Span::from_us(2).within("0 ns", "1 us"));
        assert!(!Fraction(1.5).within("0", "1"));
    }
}
