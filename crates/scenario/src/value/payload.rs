//! Payload and request sizes: the powers of two that the specification has fields for.

use super::{ParameterType, Reading, ordered_within};
use crate::document::Node;
use crate::problem::Problem;
use lanewise_units::Bytes;
use serde_json::{Value as Json, json};

/// A power of two from `SMALLEST` to 4096 bytes. PCIe Base 6.3 §7.5.3.4 has 128 B to 4096 B.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PayloadSize<const SMALLEST: u64 = 128>(pub Bytes);

impl<const SMALLEST: u64> PayloadSize<SMALLEST> {
    fn all() -> impl Iterator<Item = u64> {
        std::iter::successors(Some(SMALLEST), |size| Some(size * 2)).take_while(|size| *size <= 4096)
    }

    fn is_one(size: Bytes) -> bool {
        Self::all().any(|one| one == size.get())
    }
}

impl<const SMALLEST: u64> ParameterType for PayloadSize<SMALLEST> {
    fn expected() -> String {
        let sizes: Vec<String> = Self::all().map(|size| size.to_string()).collect();
        format!("a size of {} bytes, such as \"256 B\"", sizes.join(", "))
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        let size = Bytes::read(node, reading)?;
        if Self::is_one(size) {
            return Some(Self(size));
        }
        let sizes: Vec<String> = Self::all().map(|size| format!("{size} B")).collect();
        let problem = Problem::UnknownChoice {
            path: reading.path.to_owned(),
            found: node.as_str().map_or_else(|| size.to_string(), |text| text.trim().to_owned()),
            allowed: sizes.join(", "),
        };
        reading.refuse(node.place, problem)
    }
    fn show(&self) -> String {
        format!("{} B", self.0.get())
    }
    fn schema() -> Json {
        let sizes: Vec<String> = Self::all().map(|size| format!("{size} B")).collect();
        json!({ "anyOf": [{ "enum": sizes }, Bytes::schema()] })
    }
    fn within(&self, low: &str, high: &str) -> bool {
        ordered_within(self, low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::super::from_text;
    use super::*;

    #[test]
    fn only_sizes_with_an_encoding_are_read() {
        assert_eq!(from_text::<PayloadSize>("256 B"), Some(PayloadSize(Bytes::new(256))));
        assert_eq!(from_text::<PayloadSize>("4 KiB"), Some(PayloadSize(Bytes::new(4096))));
        assert_eq!(from_text::<PayloadSize>("300 B"), None);
        assert_eq!(from_text::<PayloadSize>("64 B"), None);
        assert_eq!(from_text::<PayloadSize<64>>("64 B"), Some(PayloadSize(Bytes::new(64))));
    }
}
