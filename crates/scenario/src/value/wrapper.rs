//! Values around values: what the platform works out, what may be absent, lists, and credits.

use super::{ParameterType, Reading};
use crate::document::{Node, Value};
use serde_json::{Value as Json, json};

/// A value, or `"auto"`: worked out from the specification's formula or from the rest of the scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Auto<T> {
    /// Worked out.
    Auto,
    /// Given.
    Given(T),
}

impl<T: Copy> Auto<T> {
    /// The given value, if there is one.
    pub fn given(self) -> Option<T> {
        match self {
            Self::Auto => None,
            Self::Given(value) => Some(value),
        }
    }
}

impl<T: ParameterType> ParameterType for Auto<T> {
    fn expected() -> String {
        format!("{}, or \"auto\"", T::expected())
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        match node.as_str() {
            Some("auto") => Some(Self::Auto),
            _ => reading.read_beside("auto", node).map(Self::Given),
        }
    }
    fn show(&self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::Given(value) => value.show(),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "const": "auto" }, T::schema()] })
    }
    fn within(&self, low: &str, high: &str) -> bool {
        match self {
            Self::Auto => true,
            Self::Given(value) => value.within(low, high),
        }
    }
}

/// A value, or `"none"`.
impl<T: ParameterType> ParameterType for Option<T> {
    fn expected() -> String {
        format!("{}, or \"none\"", T::expected())
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        match node.as_str() {
            Some("none") => Some(None),
            _ => reading.read_beside("none", node).map(Some),
        }
    }
    fn show(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_owned(), T::show)
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "const": "none" }, T::schema()] })
    }
    fn within(&self, low: &str, high: &str) -> bool {
        self.as_ref().is_none_or(|value| value.within(low, high))
    }
}

/// Longest list that is read. Bounds memory; no real list comes near.
const LIST_LIMIT: usize = 65_536;

impl<T: ParameterType> ParameterType for Vec<T> {
    fn expected() -> String {
        format!("a list (each entry {})", T::expected())
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        let Value::Array(items) = &node.value else {
            let alone = T::read(node, &mut Reading { path: reading.path, diagnostics: &mut Vec::new() });
            let meant = alone.map(|_| format!("[{}]", node.describe()));
            return reading.wrong_type_meant::<Self, _>(node, meant);
        };
        if items.len() > LIST_LIMIT {
            return reading.out_of_range(node, "no entries", "65536 entries");
        }
        // Every entry is looked at, so that every wrong one is reported.
        let read: Vec<Option<T>> = items.iter().map(|item| T::read(item, reading)).collect();
        read.into_iter().collect()
    }
    fn show(&self) -> String {
        let items: Vec<String> = self.iter().map(T::show).collect();
        format!("[{}]", items.join(", "))
    }
    fn schema() -> Json {
        json!({ "type": "array", "items": T::schema() })
    }
    fn within(&self, low: &str, high: &str) -> bool {
        self.iter().all(|value| value.within(low, high))
    }
}

/// Credits of one pool, in the units of the pool: packets for headers, 16 B for data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Credit {
    /// Never runs out; advertised as 0 (PCIe Base 6.3 §2.6.1).
    Infinite,
    /// So many.
    Finite(u32),
}

impl ParameterType for Credit {
    fn expected() -> String {
        "a number of credits or \"infinite\"".to_owned()
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        match (&node.value, node.as_str()) {
            (_, Some("infinite")) => Some(Self::Infinite),
            (Value::Integer(_), _) => u32::read(node, reading).map(Self::Finite),
            _ => reading.wrong_type::<Self, _>(node),
        }
    }
    fn show(&self) -> String {
        match self {
            Self::Infinite => "infinite".to_owned(),
            Self::Finite(credits) => credits.to_string(),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "const": "infinite" }, { "type": "integer", "minimum": 1 }] })
    }
    fn within(&self, low: &str, high: &str) -> bool {
        match self {
            Self::Infinite => true,
            Self::Finite(credits) => credits.within(low, high),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::from_text;
    use super::*;
    use lanewise_units::Span;

    #[test]
    fn words_stand_beside_values() {
        assert_eq!(from_text::<Auto<Span>>("auto"), Some(Auto::Auto));
        assert_eq!(from_text::<Auto<Span>>("2 ns"), Some(Auto::Given(Span::from_ns(2))));
        assert_eq!(from_text::<Option<u32>>("none"), Some(None));
        assert_eq!(from_text::<Option<u32>>("7"), Some(Some(7)));
        assert_eq!(from_text::<Credit>("infinite"), Some(Credit::Infinite));
        assert_eq!(from_text::<Credit>("32"), Some(Credit::Finite(32)));
        assert_eq!(from_text::<Vec<u32>>("[1, 2]"), Some(vec![1, 2]));
        assert_eq!(from_text::<Vec<u32>>("[1, \"x\"]"), None);
    }
}
