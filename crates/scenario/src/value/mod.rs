//! Types a parameter can have: how each is read, checked, shown, and described to a person and to an editor.

mod block_sizes;
mod choice;
mod link_shape;
mod meant;
mod payload;
mod scalar;
mod wrapper;

pub(crate) use choice::{Word, choices, expected_word, one_of, quoted_words, read_word, schema_of_words};
pub use link_shape::LinkShape;
pub use payload::PayloadSize;
pub use scalar::Fraction;
pub use wrapper::{Auto, Credit};

use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::problem::Problem;
use crate::source::Place;
use serde_json::Value as Json;

/// A type that a parameter can have.
pub trait ParameterType: Sized + Clone {
    /// What a person should write, with an article: `a time such as "150 ns"`.
    fn expected() -> String;

    /// Reads a value; problems go to `reading`.
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self>;

    /// As a person would write it.
    fn show(&self) -> String;

    /// JSON Schema of what may be written.
    fn schema() -> Json;

    /// Whether the value lies between two values written as text. Types without an order are always inside.
    fn within(&self, _low: &str, _high: &str) -> bool {
        true
    }
}

/// A value being read: its path in the scenario, for messages, and where problems go.
pub struct Reading<'a> {
    /// `sw0.latency`.
    pub path: &'a str,
    /// Problems so far.
    pub diagnostics: &'a mut Vec<Diagnostic>,
}

impl Reading<'_> {
    /// Notes a problem; the result is nothing, so that it can be returned at once.
    pub(crate) fn refuse<T>(&mut self, place: Place, problem: Problem) -> Option<T> {
        self.diagnostics.push(Diagnostic::at(place, problem));
        None
    }

    /// Notes a problem with a hint.
    pub(crate) fn refuse_with_hint<T>(
        &mut self,
        place: Place,
        problem: Problem,
        hint: Option<String>,
    ) -> Option<T> {
        self.diagnostics.push(Diagnostic::at(place, problem).maybe_hint(hint));
        None
    }

    /// The value has the wrong type.
    pub(crate) fn wrong_type<T: ParameterType, R>(&mut self, node: &Node) -> Option<R> {
        self.wrong(node, T::expected())
    }

    /// The same, with what a person should write.
    pub(crate) fn wrong<R>(&mut self, node: &Node, expected: String) -> Option<R> {
        let problem = Problem::WrongType { path: self.path.to_owned(), found: node.describe(), expected };
        self.refuse(node.place, problem)
    }

    /// The same, when it is known what was meant: it is offered as a person should write it, quotes included.
    pub(crate) fn wrong_type_meant<T: ParameterType, R>(
        &mut self,
        node: &Node,
        meant: Option<String>,
    ) -> Option<R> {
        self.wrong_type::<T, R>(node);
        if let Some(meant) = meant
            && let Some(last) = self.diagnostics.last_mut()
        {
            last.hint = Some(format!("write {meant}"));
        }
        None
    }

    /// Reads a value beside which a word is allowed, which the value is not.
    pub(crate) fn read_beside<T: ParameterType>(&mut self, word: &str, node: &Node) -> Option<T> {
        let before = self.diagnostics.len();
        let read = T::read(node, self);
        let of_it = self.diagnostics[before..].iter_mut().filter(|found| found.place == Some(node.place));
        of_it.for_each(|found| found.problem.allow_word(word));
        read
    }

    /// The value is outside of what the type can hold.
    pub(crate) fn out_of_range<T>(&mut self, node: &Node, low: &str, high: &str) -> Option<T> {
        let problem = Problem::OutOfRange {
            path: self.path.to_owned(),
            found: node.describe(),
            low: low.to_owned(),
            high: high.to_owned(),
        };
        self.refuse(node.place, problem)
    }
}

/// A value of some type while it is read. What does the same for all types takes one of these, and is compiled once.
pub(crate) trait AnySlot {
    /// Reads a value; whether there is one now.
    fn read(&mut self, node: &Node, reading: &mut Reading<'_>) -> bool;

    /// Whether the value lies between two values written as text.
    fn within(&self, low: &str, high: &str) -> bool;

    /// As a person would write it.
    fn show(&self) -> String;
}

/// A place for one value.
pub(crate) struct Slot<T>(pub(crate) Option<T>);

impl<T: ParameterType> AnySlot for Slot<T> {
    fn read(&mut self, node: &Node, reading: &mut Reading<'_>) -> bool {
        self.0 = T::read(node, reading);
        self.0.is_some()
    }

    fn within(&self, low: &str, high: &str) -> bool {
        self.0.as_ref().is_none_or(|value| value.within(low, high))
    }

    fn show(&self) -> String {
        self.0.as_ref().map_or_else(String::new, T::show)
    }
}

impl dyn AnySlot + '_ {
    /// Reads a value from text that belongs to the program; whether there is one now.
    pub(crate) fn read_text(&mut self, text: &str) -> bool {
        let place = Place::new(crate::source::FileId(0), 0..0);
        let mut reading = Reading { path: "default", diagnostics: &mut Vec::new() };
        self.read(&Node::from_plain_text(text, place), &mut reading)
    }

    /// Whether a text is a value, within a range if there is one.
    pub(crate) fn accepts(&mut self, text: &str, range: Option<(&str, &str)>) -> bool {
        self.read_text(text) && range.is_none_or(|(low, high)| self.within(low, high))
    }
}

/// Reads a value from text that belongs to the program: defaults and limits.
pub(crate) fn from_text<T: ParameterType>(text: &str) -> Option<T> {
    let mut slot = Slot(None);
    (&mut slot as &mut dyn AnySlot).read_text(text);
    slot.0
}

/// Whether a value with an order lies between two texts.
pub(crate) fn ordered_within<T: ParameterType + PartialOrd>(value: &T, low: &str, high: &str) -> bool {
    let above = from_text::<T>(low).is_none_or(|low| *value >= low);
    above && from_text::<T>(high).is_none_or(|high| *value <= high)
}

/// A text as TOML has it.
pub(crate) fn quoted(text: &str) -> String {
    // What JSON escapes, TOML reads; of control characters that leaves one out.
    serde_json::to_string(text).expect("texts are JSON").replace('\u{7f}', "\\u007f")
}

/// A table as TOML has it on one line, so that what `explain` prints can be given again.
pub(crate) fn inline_table(entries: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let entries: Vec<String> = entries.into_iter().map(|(key, value)| format!("{key} = {value}")).collect();
    format!("{{ {} }}", entries.join(", "))
}
