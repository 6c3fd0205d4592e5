//! Words from a closed set.

/// Declares an enum whose variants are words in a file; each word is documented where it is declared.
macro_rules! choices {
    ($(#[doc = $doc:literal])+ $name:ident, $article:literal {
        $($(#[doc = $variant_doc:literal])+ $variant:ident = $word:literal,)+
    }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name { $($(#[doc = $variant_doc])+ $variant,)+ }

        impl $name {
            const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl $crate::value::ParameterType for $name {
            fn expected() -> String {
                format!("{}: {}", $article, $crate::value::quoted_words(Self::WORDS))
            }
            fn read(
                node: &$crate::document::Node,
                reading: &mut $crate::value::Reading<'_>,
            ) -> Option<Self> {
                match node.as_str() {
                    $(Some($word) => Some(Self::$variant),)+
                    Some(other) => $crate::value::refuse_word(node, other, Self::WORDS, reading),
                    None => reading.wrong_type::<Self, _>(node),
                }
            }
            fn show(&self) -> String {
                match self { $(Self::$variant => $word,)+ }.to_owned()
            }
            fn schema() -> serde_json::Value {
                serde_json::json!({ "oneOf": [
                    $({ "const": $word, "description": concat!($($variant_doc),+).trim() }),+
                ] })
            }
        }
    };
}
pub(crate) use choices;

use super::Reading;
use crate::document::{Node, shortened};
use crate::nearest::did_you_mean;
use crate::problem::Problem;

/// Words as a list for a sentence: `"a", "b" or "c"`.
pub(crate) fn quoted_words(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// The word is none of the choices.
pub(crate) fn refuse_word<T>(
    node: &Node,
    found: &str,
    words: &'static [&'static str],
    reading: &mut Reading<'_>,
) -> Option<T> {
    let problem = Problem::UnknownChoice {
        path: reading.path.to_owned(),
        found: shortened(found),
        allowed: quoted_words(words),
    };
    reading.refuse_with_hint(node.place, problem, did_you_mean(found, words.iter().copied()))
}
