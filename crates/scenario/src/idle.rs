//! Values that nothing reads, as a scenario is.
//!
//! A default that is idle is left out of what is in force. A value that the scenario or the command line states is told of:
//! its author expects something of it.

use crate::parameter::{Layer, Origin, ResolvedParameter};
use crate::source::Place;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::HashMap;

/// Why a table or a value is idle.
#[derive(Clone, Debug)]
struct Reason {
    /// The key in it that makes it so, with a dot before it, if it is one of its own; that one is read.
    decided_by: Option<&'static str>,
    /// In a sentence; nothing where what is idle is at its default anyway.
    text: Option<Cow<'static, str>>,
}

/// What is idle, by dotted path of a table or of a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Idle(HashMap<String, Reason>);

/// What a remark says of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It changes nothing.
    None,
    /// It makes a link slower than its ends.
    Slower,
    /// It makes a wire faster than its ends.
    Faster,
}

impl Effect {
    pub(crate) const fn in_words(self) -> &'static str {
        match self {
            Self::None => "changes nothing",
            Self::Slower => "makes the link slower",
            Self::Faster => "makes the wire faster than its ends",
        }
    }
}

/// A value that is stated and that nothing reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IdleValue {
    /// Dotted path.
    pub path: String,
    /// As a person would write it.
    pub value: String,
    /// Where it is stated.
    pub place: Place,
    /// Why nothing reads it, in a sentence.
    pub reason: Cow<'static, str>,
}

/// A value that is stated and that does more than one might think.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caution {
    /// Dotted path.
    pub path: String,
    /// As a person would write it.
    pub value: String,
    /// Where it is stated.
    pub place: Place,
    /// What it does.
    pub effect: Effect,
    /// How, in a sentence.
    pub reason: String,
}

impl Idle {
    /// A table or a value at its default is idle.
    pub(crate) fn quietly(&mut self, path: String) {
        self.0.insert(path, Reason { decided_by: None, text: None });
    }

    /// A table or a value is idle, because of `reason`.
    pub(crate) fn because(&mut self, path: String, reason: impl Into<Cow<'static, str>>) {
        self.0.insert(path, Reason { decided_by: None, text: Some(reason.into()) });
    }

    /// A table is idle because of one of its own keys.
    pub(crate) fn because_of(
        &mut self,
        path: String,
        decided_by: &'static str,
        reason: impl Into<Cow<'static, str>>,
    ) {
        self.0.insert(path, Reason { decided_by: Some(decided_by), text: Some(reason.into()) });
    }

    fn of(&self, path: &str) -> Option<&Reason> {
        let (table, _) = path.rsplit_once('.')?;
        self.0.get(path).or_else(|| self.0.get(table))
    }

    /// Drops idle defaults from `parameters`, and returns what is stated and idle.
    pub(crate) fn settle(&self, parameters: &mut Vec<ResolvedParameter>) -> Vec<IdleValue> {
        let mut stated = Vec::new();
        parameters.retain(|parameter| {
            let Some(reason) = self.of(&parameter.path) else { return true };
            let decides = reason.decided_by.is_some_and(|key| parameter.path.ends_with(key));
            if let Origin::Written(Layer::Override | Layer::Scenario, place) = parameter.origin
                && let Some(reason) = &reason.text
                && !decides
            {
                let (path, value) = (parameter.path.clone(), parameter.value.clone());
                stated.push(IdleValue { path, value, place, reason: reason.clone() });
            }
            // That an adapter could have a wire, and has none, is worth saying: much hangs on it.
            parameter.origin != Origin::Default || parameter.path.ends_with(".wire")
        });
        stated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::{InARun, Provenance, Role, Stays};
    use crate::source::FileId;

    fn parameter(path: &str, origin: Origin) -> ResolvedParameter {
        ResolvedParameter {
            path: path.into(),
            value: "7".into(),
            provenance: Provenance::Assumed,
            source: "".into(),
            fitted_on: Vec::new(),
            role: Role::Choice,
            origin,
            is_out_of_the_way: false,
            in_a_run: InARun::Stays(Stays::Workload),
        }
    }

    #[test]
    fn idle_defaults_are_dropped_and_idle_values_that_are_stated_are_told_of() {
        let mut idle = Idle::default();
        idle.because_of("ssd.nvme".into(), ".capacity", "it is no drive");
        idle.quietly("ssd.errors".into());
        let place = Place::new(FileId(0), 3..4);
        let written = |layer| Origin::Written(layer, place);
        let mut parameters = vec![
            parameter("ssd.nvme.dies", Origin::Default),
            parameter("ssd.nvme.piece", written(Layer::Scenario)),
            parameter("ssd.nvme.buffer", written(Layer::Catalog)),
            parameter("ssd.nvme.capacity", written(Layer::Override)),
            parameter("ssd.errors.poisoned", written(Layer::Scenario)),
            parameter("ssd.tags", Origin::Default),
        ];
        let stated = idle.settle(&mut parameters);
        let paths: Vec<&str> = parameters.iter().map(|each| each.path.as_str()).collect();
        let kept =
            ["ssd.nvme.piece", "ssd.nvme.buffer", "ssd.nvme.capacity", "ssd.errors.poisoned", "ssd.tags"];
        assert_eq!(paths, kept);
        let (path, value) = ("ssd.nvme.piece".to_owned(), "7".to_owned());
        assert_eq!(stated, [IdleValue { path, value, place, reason: "it is no drive".into() }]);
    }
}
