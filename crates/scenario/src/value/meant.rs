//! What was meant by a unit, a width or a generation that is written as another place would have it. Only for hints.

use super::LinkShape;
use crate::document::{Node, Value};
use crate::quantity::{Dimension, unit};
use lanewise_units::{Generation, Width};

/// Units as other tools and data sheets write them, in lower case, and as they are written here.
const SPELLINGS: [(&str, &[&str]); 21] = [
    ("ps", &["psec", "picosecond", "picoseconds"]),
    ("ns", &["nsec", "nanosecond", "nanoseconds"]),
    ("us", &["usec", "microsecond", "microseconds"]),
    ("ms", &["msec", "millisecond", "milliseconds"]),
    ("s", &["sec", "second", "seconds"]),
    ("B", &["byte", "bytes"]),
    ("KiB", &["k", "ki"]),
    ("MiB", &["m", "mi"]),
    ("GiB", &["g", "gi"]),
    ("KB", &["kbyte", "kbytes"]),
    ("MB", &["mbyte", "mbytes"]),
    ("GB", &["gbyte", "gbytes"]),
    ("B/s", &["bytes/s", "b/sec"]),
    ("MiB/s", &["mibps", "mib/sec"]),
    ("GiB/s", &["gibps", "gib/sec"]),
    ("MB/s", &["mbps", "mbyte/s", "mbytes/s", "mb/sec"]),
    ("GB/s", &["gbps", "gbyte/s", "gbytes/s", "gb/sec"]),
    ("Mb/s", &["mbps", "mbit/s", "mbits/s", "mb/sec"]),
    ("Gb/s", &["gbps", "gbit/s", "gbits/s", "gb/sec"]),
    ("TB/s", &["tbps", "tbyte/s"]),
    ("Tb/s", &["tbps", "tbit/s"]),
];

/// "did you mean …?" for a unit that does not exist, when it reads like some that do.
pub(super) fn unit_meant(written: &str, dimension: Dimension) -> Option<String> {
    let lower = written.to_ascii_lowercase().replace(['\u{b5}', '\u{3bc}'], "u");
    let of_kind =
        SPELLINGS.iter().filter(|(name, _)| unit(name).is_some_and(|unit| unit.dimension == dimension));
    let near: Vec<String> = of_kind
        .filter(|(name, others)| name.to_ascii_lowercase() == lower || others.contains(&lower.as_str()))
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    match &near[..] {
        [] => None,
        [one] => Some(format!("did you mean {one}?")),
        [bytes, bits, ..] => Some(format!("did you mean {bytes}, in bytes, or {bits}, in bits?")),
    }
}

/// How a number is written whose rest was taken for a unit: "4,096 B", "0x1000 B".
pub(super) fn number_meant(rest: &str) -> Option<String> {
    if rest.starts_with(',') {
        return Some("a number has no commas: `.` begins the decimals, and `_` may group digits".to_owned());
    }
    let hexadecimal =
        rest.strip_prefix(['x', 'X']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_hexdigit()));
    hexadecimal.then(|| "a number with a unit is written in decimal".to_owned())
}

/// The truth value in "true", "yes", "off" or 1.
pub(super) fn truth_meant(node: &Node) -> Option<bool> {
    let word = match &node.value {
        Value::String(text) => text.trim().to_ascii_lowercase(),
        Value::Integer(number) => number.to_string(),
        _ => return None,
    };
    match word.as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// The width in "16", "×16" or "16x".
pub(super) fn width_meant(text: &str) -> Option<Width> {
    let plain = text.trim().to_ascii_lowercase().replace('×', "x");
    let digits = plain.trim_matches(|c: char| c == 'x' || c.is_whitespace());
    digits.parse().ok().and_then(Width::from_lanes)
}

/// The generation in "4", "PCIe 4.0", "pcie5" or "16 GT/s".
pub(super) fn generation_meant(text: &str) -> Option<Generation> {
    let lower = text.to_ascii_lowercase();
    let number: String = lower
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    if lower.contains("gt") {
        let at = ["2.5", "5", "8", "16", "32", "64", "128"];
        let rate = number.strip_suffix(".0").unwrap_or(&number);
        return at.iter().position(|other| *other == rate).map(|at| Generation::ALL[at]);
    }
    number.split('.').next()?.parse().ok().and_then(Generation::from_number)
}

/// Generation and width in "x16 gen5", "gen5x16", "PCIe 5.0 x16" or "Gen5, 16x".
pub(super) fn shape_meant(text: &str) -> Option<LinkShape> {
    let lower = text.to_ascii_lowercase().replace('×', "x").replace([',', ';'], " ");
    let words = lower.replace("/x", "x").replace('x', " x ");
    let words: Vec<&str> = words.split_whitespace().collect();
    let number = |at: Option<&&str>| at.and_then(|word| word.parse().ok()).and_then(Width::from_lanes);
    let at = words.iter().position(|word| *word == "x")?;
    let (width, taken) =
        match (number(words.get(at + 1)), number(at.checked_sub(1).and_then(|at| words.get(at)))) {
            (Some(width), _) => (width, at + 1),
            (None, Some(width)) => (width, at - 1),
            (None, None) => return None,
        };
    let rest: Vec<&str> =
        words.iter().enumerate().filter(|(index, _)| *index != taken).map(|(_, word)| *word).collect();
    Some(LinkShape { generation: generation_meant(&rest.join(" "))?, width })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_other_tools_are_recognised() {
        let meant = |text| unit_meant(text, Dimension::Size);
        assert_eq!(meant("kib").as_deref(), Some("did you mean `KiB`?"));
        assert_eq!(meant("bytes").as_deref(), Some("did you mean `B`?"));
        assert_eq!(meant("parsecs"), None);
        assert_eq!(unit_meant("NS", Dimension::Time).as_deref(), Some("did you mean `ns`?"));
        let rate = unit_meant("Gbps", Dimension::DataRate).unwrap();
        assert!(rate.contains("`GB/s`, in bytes") && rate.contains("`Gb/s`, in bits"), "{rate}");
    }

    #[test]
    fn every_spelling_stands_for_a_unit_that_exists() {
        assert!(SPELLINGS.iter().all(|(name, _)| unit(name).is_some()));
    }

    #[test]
    fn links_as_data_sheets_write_them_are_recognised() {
        for text in
            ["x16 gen5", "gen5x16", "PCIe 5.0 x16", "pcie5 ×16", "Gen5, 16x", "32 GT/s x16", "Gen5/x16"]
        {
            let shape = shape_meant(text);
            let expected = LinkShape { generation: Generation::Gen5, width: Width::X16 };
            assert_eq!(shape, Some(expected), "{text}");
        }
        for text in ["", "x", "gen5", "gen9 x16", "gen5 x3", "fast"] {
            assert_eq!(shape_meant(text), None, "{text}");
        }
        assert_eq!(generation_meant("8.0 GT/s"), Some(Generation::Gen3));
        assert_eq!(width_meant("16 "), Some(Width::X16));
    }
}
