//! What a port can do: its fastest generation and widest width.

use super::meant::{shape_meant, width_meant};
use super::{ParameterType, Reading};
use crate::document::{Node, Value};
use lanewise_units::{Generation, Width};
use serde_json::{Value as Json, json};

/// Fastest generation and widest width of a port, written `"gen4 x8"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkShape {
    /// Fastest generation.
    pub generation: Generation,
    /// Widest width.
    pub width: Width,
}

impl ParameterType for LinkShape {
    fn expected() -> String {
        "a generation and a width such as \"gen4 x8\"".to_owned()
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        let Some(text) = node.as_str() else {
            // A width alone: any generation shows how it is written.
            let width = match &node.value {
                Value::Integer(number) => width_meant(&number.to_string()),
                _ => None,
            };
            let meant = width.map(|width| format!("a generation, too, such as \"gen4 {width}\""));
            return reading.wrong_type_meant::<Self, _>(node, meant);
        };
        let words: Vec<&str> = text.split_whitespace().take(3).collect();
        let meant = shape_meant(text).map(|shape| format!("\"{}\"", shape.show()));
        let [generation, width] = words[..] else { return reading.wrong_type_meant::<Self, _>(node, meant) };
        let in_order = generation.to_ascii_lowercase().starts_with("gen") && width.starts_with(['x', 'X']);
        if meant.is_some() && !in_order {
            return reading.wrong_type_meant::<Self, _>(node, meant);
        }
        // Each word is read as if it stood alone, so that both are checked.
        let word = |text: &str| Node { place: node.place, value: Value::String(text.to_owned()) };
        let generation = Generation::read(&word(generation), reading);
        let width = Width::read(&word(width), reading);
        Some(Self { generation: generation?, width: width? })
    }
    fn show(&self) -> String {
        format!("{} {}", self.generation, self.width)
    }
    fn schema() -> Json {
        json!({
            "type": "string",
            "pattern": r"^\s*[gG][eE][nN]0*[1-7]\s+[xX]0*(1|2|4|8|12|16|32)\s*$",
            "examples": ["gen4 x8"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::from_text;
    use super::*;

    #[test]
    fn both_words_are_needed_and_checked() {
        let shape = LinkShape { generation: Generation::Gen1, width: Width::X8 };
        assert_eq!(from_text::<LinkShape>("gen1 x8"), Some(shape));
        assert_eq!(from_text::<LinkShape>("gen1"), None);
        assert_eq!(from_text::<LinkShape>("gen8 x8"), None);
        assert_eq!(from_text::<LinkShape>("gen1 x3"), None);
        assert_eq!(from_text::<LinkShape>("8"), None);
    }
}
