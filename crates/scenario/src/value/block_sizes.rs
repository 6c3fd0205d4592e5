//! Sizes of I/Os: one, any of a range, or several with their shares.

use super::{ParameterType, Reading, from_text};
use crate::document::Node;
use lanewise_units::Bytes;
use lanewise_workload::load::fio::BlockSizes;
use serde_json::{Value as Json, json};

/// Most sizes of one mix, fio's own limit.
const MOST_SIZES: usize = 64;

impl ParameterType for BlockSizes {
    fn expected() -> String {
        "a size such as \"4 KiB\", a range such as \"4 KiB to 64 KiB\", or sizes whose shares make 100 %, such as \
         \"4 KiB 60 %, 64 KiB 40 %\""
            .to_owned()
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        match node.as_str() {
            Some(text) if text.contains(" to ") => {
                range(text).or_else(|| reading.wrong_type::<Self, _>(node))
            }
            Some(text) if text.contains('%') => split(text).or_else(|| reading.wrong_type::<Self, _>(node)),
            _ => Bytes::read(node, reading).map(Self::One),
        }
    }
    fn show(&self) -> String {
        match self {
            Self::One(size) => size.to_string(),
            Self::Range(from, to) => format!("{from} to {to}"),
            Self::Split(parts) => {
                let parts: Vec<String> =
                    parts.iter().map(|(size, percent)| format!("{size} {percent} %")).collect();
                parts.join(", ")
            }
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [
            Bytes::schema(),
            { "type": "string", "pattern": " to |%", "examples": ["4 KiB to 64 KiB", "4 KiB 60 %, 64 KiB 40 %"] },
        ] })
    }
    fn within(&self, low: &str, high: &str) -> bool {
        self.smallest().within(low, high) && self.largest().within(low, high)
    }
}

fn range(text: &str) -> Option<BlockSizes> {
    let (from, to) = text.split_once(" to ")?;
    let (from, to) = (from_text::<Bytes>(from)?, from_text::<Bytes>(to)?);
    (from <= to).then_some(BlockSizes::Range(from, to))
}

fn split(text: &str) -> Option<BlockSizes> {
    let part = |part: &str| {
        let (size, percent) = part.trim().strip_suffix('%')?.trim_end().rsplit_once(' ')?;
        let percent = percent.parse::<u32>().ok().filter(|percent| (1..=100).contains(percent))?;
        Some((from_text::<Bytes>(size)?, percent))
    };
    let parts: Vec<(Bytes, u32)> = text.split(',').take(MOST_SIZES + 1).map(part).collect::<Option<_>>()?;
    let shares: u32 = parts.iter().map(|(_, percent)| percent).sum();
    (parts.len() <= MOST_SIZES && shares == 100).then_some(BlockSizes::Split(parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_read_again() {
        let sizes = [
            BlockSizes::One(Bytes::from_kib(4)),
            BlockSizes::Range(Bytes::from_kib(4), Bytes::from_kib(64)),
            BlockSizes::Split(vec![(Bytes::from_kib(4), 60), (Bytes::new(66_560), 40)]),
        ];
        for sizes in sizes {
            assert_eq!(from_text::<BlockSizes>(&sizes.show()), Some(sizes));
        }
    }

    #[test]
    fn shares_make_a_hundred_and_ranges_ascend() {
        for text in [
            "4 KiB 60 %",
            "4 KiB 60 %, 8 KiB 50 %",
            "4 KiB 0 %, 8 KiB 100 %",
            "64 KiB to 4 KiB",
            "4 to 8",
            "%",
        ] {
            assert_eq!(from_text::<BlockSizes>(text), None, "{text}");
        }
        let too_small = from_text::<BlockSizes>("4 B 60 %, 8 KiB 40 %").expect("sizes");
        assert!(!too_small.within("512 B", "8 MiB"));
    }
}
