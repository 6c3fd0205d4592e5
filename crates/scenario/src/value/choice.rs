//! Words from a closed set.

use super::Reading;
use crate::document::{Node, shortened};
use crate::nearest::did_you_mean;
use crate::problem::Problem;
use serde_json::{Value as Json, json};

/// A word and what it means.
pub(crate) type Word = (&'static str, &'static str);

/// Declares an enum whose variants are words in a file; each word is documented where it is declared.
macro_rules! choices {
    ($(#[doc = $doc:literal])+ $name:ident, $article:literal {
        $($(#[doc = $variant_doc:literal])+ $variant:ident = $word:literal,)+
    }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name { $($(#[doc = $variant_doc])+ $variant,)+ }

        impl $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The words of [`Self::ALL`].
            const WORDS: &'static [$crate::value::Word] = &[$(($word, concat!($($variant_doc),+))),+];
        }

        impl $crate::value::ParameterType for $name {
            fn expected() -> String {
                $crate::value::expected_word($article, Self::WORDS)
            }
            fn read(
                node: &$crate::document::Node,
                reading: &mut $crate::value::Reading<'_>,
            ) -> Option<Self> {
                let at = $crate::value::read_word(node, $article, Self::WORDS, reading)?;
                Some(Self::ALL[at])
            }
            fn show(&self) -> String {
                Self::WORDS[*self as usize].0.to_owned()
            }
            fn schema() -> serde_json::Value {
                $crate::value::schema_of_words(Self::WORDS)
            }
        }
    };
}
pub(crate) use choices;

/// Words as a list for a sentence: `"a", "b" or "c"`.
pub(crate) fn quoted_words(words: &[&str]) -> String {
    one_of(words, '"')
}

/// The same between quotation marks of this kind.
pub(crate) fn one_of(words: &[&str], mark: char) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("{mark}{word}{mark}")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// What a person should write, of which `article` says what it is.
pub(crate) fn expected_word(article: &str, words: &[Word]) -> String {
    format!("{article}: {}", allowed(words))
}

/// Which of the words is written, by its number.
pub(crate) fn read_word(
    node: &Node,
    article: &str,
    words: &'static [Word],
    reading: &mut Reading<'_>,
) -> Option<usize> {
    let Some(found) = node.as_str() else { return reading.wrong(node, expected_word(article, words)) };
    let at = words.iter().position(|(word, _)| *word == found);
    if at.is_none() {
        let problem = Problem::UnknownChoice {
            path: reading.path.to_owned(),
            found: shortened(found),
            allowed: allowed(words),
        };
        let hint = did_you_mean(found, words.iter().map(|(word, _)| *word));
        return reading.refuse_with_hint(node.place, problem, hint);
    }
    at
}

/// JSON Schema of one of the words.
pub(crate) fn schema_of_words(words: &[Word]) -> Json {
    let choice = |(word, meaning): &Word| json!({ "const": word, "description": meaning.trim() });
    json!({ "oneOf": words.iter().map(choice).collect::<Vec<_>>() })
}

fn allowed(words: &[Word]) -> String {
    quoted_words(&words.iter().map(|(word, _)| *word).collect::<Vec<_>>())
}
