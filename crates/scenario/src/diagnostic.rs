//! Problems with their places and hints, collected until everything was looked at, and shown as `rustc` would.

use crate::nearest::asking;
use crate::problem::Problem;
use crate::source::{Place, SourceFile, SourceMap};
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use lanewise_units::order;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// At most so many diagnostics are kept and shown; a broken generator should not fill a screen for minutes.
pub const DIAGNOSTICS_LIMIT: usize = 200;
/// A line longer than this is named but not drawn.
const DRAWN_LINE_LIMIT: usize = 2_000;

/// One problem, where it is, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong.
    pub problem: Problem,
    /// Where, when it is anywhere.
    pub place: Option<Place>,
    /// What to do.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A problem at a place, without a hint.
    pub fn at(place: Place, problem: Problem) -> Self {
        Self { problem, place: Some(place), hint: None }
    }

    /// A problem of the scenario as a whole.
    pub fn global(problem: Problem) -> Self {
        Self { problem, place: None, hint: None }
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with a hint, when there is one.
    #[must_use]
    pub fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }
}

/// All problems of a scenario, with the texts they are in. Prints itself as one block per problem.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    /// In the order of the texts; never empty.
    pub list: Vec<Diagnostic>,
    sources: SourceMap,
    left_out: usize,
}

/// A diagnostic in the words of the machine-readable contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DiagnosticRecord {
    /// Stable code.
    pub code: &'static str,
    /// One sentence: what was found and what is allowed.
    pub message: String,
    /// File, or nothing for the scenario as a whole.
    pub path: Option<String>,
    /// From 1.
    pub line: Option<usize>,
    /// From 1, in characters.
    pub column: Option<usize>,
    /// What to do.
    pub hint: Option<String>,
}

impl Diagnostics {
    /// Sorts by place, drops repetitions and keeps the first [`DIAGNOSTICS_LIMIT`].
    pub(crate) fn new(mut list: Vec<Diagnostic>, sources: SourceMap) -> Self {
        drop_misnamed(&mut list);
        order::sort_by_key(&mut list, |diagnostic| (diagnostic.place.is_none(), diagnostic.place));
        // One value may be read for each of many ports; it is wrong once. Several keys may be missing in one place.
        list.dedup_by(|later, earlier| {
            let same_value = later.place.is_some() && !matches!(later.problem, Problem::MissingKey { .. });
            later.problem.code() == earlier.problem.code()
                && later.place == earlier.place
                && (same_value || later.problem == earlier.problem)
        });
        let left_out = list.len().saturating_sub(DIAGNOSTICS_LIMIT);
        list.truncate(DIAGNOSTICS_LIMIT);
        Self { list, sources, left_out }
    }

    /// The same as records.
    pub fn records(&self) -> Vec<DiagnosticRecord> {
        self.list.iter().map(|diagnostic| self.record(diagnostic)).collect()
    }

    /// The codes, in order.
    pub fn codes(&self) -> Vec<&'static str> {
        self.list.iter().map(|diagnostic| diagnostic.problem.code()).collect()
    }

    fn record(&self, diagnostic: &Diagnostic) -> DiagnosticRecord {
        let file = diagnostic.place.map(|place| self.sources.file(place.file));
        let position = diagnostic.place.zip(file).map(|(place, file)| file.line_column(place.start as usize));
        DiagnosticRecord {
            code: diagnostic.problem.code(),
            message: diagnostic.problem.to_string(),
            path: file.map(|file| file.path.clone()).or_else(|| diagnostic.problem.file().map(str::to_owned)),
            line: position.map(|(line, _)| line),
            column: position.map(|(_, column)| column),
            hint: diagnostic.hint.clone(),
        }
    }

    fn render(&self, diagnostic: &Diagnostic) -> String {
        let message = diagnostic.problem.to_string();
        let title = Level::ERROR.primary_title(message.as_str()).id(diagnostic.problem.code());
        let mut group = match diagnostic.place {
            Some(place) => underlined(Group::with_title(title), self.sources.file(place.file), place),
            None => Group::with_title(title),
        };
        if let Some(hint) = &diagnostic.hint {
            group = group.element(Level::HELP.with_name("hint").message(hint.as_str()));
        }
        Renderer::plain().render(&[group])
    }
}

/// Adds the source line and the caret; a line too long to draw is only named.
fn underlined<'a>(group: Group<'a>, file: &'a SourceFile, place: Place) -> Group<'a> {
    let (line, column) = file.line_column(place.start as usize);
    let range = file.line_range(line);
    let text = &file.text[range.clone()];
    if text.len() > DRAWN_LINE_LIMIT {
        return group.element(Origin::path(file.shown_path.as_str()).line(line).char_column(column));
    }
    // Only the line itself is handed over: cost stays independent of the size of the file.
    let start = (place.start as usize).clamp(range.start, range.end) - range.start;
    let end = (place.end as usize).clamp(range.start, range.end) - range.start;
    let start = (0..=start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let end = (end..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let annotation = AnnotationKind::Primary.span(start..end.max(start));
    group
        .element(Snippet::source(text).path(file.shown_path.as_str()).line_start(line).annotation(annotation))
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.list.iter().enumerate() {
            if index > 0 {
                writeln!(f, "\n")?;
            }
            write!(f, "{}", self.render(diagnostic))?;
        }
        let total = self.list.len() + self.left_out;
        write!(f, "\n\n{total} problem{}", if total == 1 { "" } else { "s" })?;
        if self.left_out > 0 { write!(f, ", the first {DIAGNOSTICS_LIMIT} are shown") } else { Ok(()) }
    }
}

impl std::error::Error for Diagnostics {}

/// Drops keys that are missing because they are written under another name, which is reported and says so.
fn drop_misnamed(list: &mut Vec<Diagnostic>) {
    let misnamed = |diagnostic: &Diagnostic| match (&diagnostic.problem, &diagnostic.hint) {
        (Problem::UnknownKey { path, .. }, Some(hint)) => Some((path.clone(), hint.clone())),
        _ => None,
    };
    let misnamed: Vec<(String, String)> = list.iter().filter_map(misnamed).collect();
    list.retain(|diagnostic| {
        let Problem::MissingKey { path, key, .. } = &diagnostic.problem else { return true };
        let meant = asking(key.split('.').next().unwrap_or(key));
        !misnamed.iter().any(|(other, hint)| other == path && *hint == meant)
    });
}

/// The hint, unless there are more problems than are shown: to compare names takes time, and it would not be shown.
pub(crate) fn hint_unless_crowded(
    known: &[Diagnostic],
    hint: impl FnOnce() -> Option<String>,
) -> Option<String> {
    if known.len() < DIAGNOSTICS_LIMIT { hint() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    fn one(text: &str, range: std::ops::Range<usize>) -> Diagnostics {
        let mut sources = SourceMap::default();
        let file = sources.add(SourceFile::new("rig.toml", text));
        let problem = Problem::UnknownKey { path: "sw0".into(), found: "latencie".into() };
        let diagnostic = Diagnostic::at(Place::new(file, range), problem).hint("did you mean `latency`?");
        Diagnostics::new(vec![diagnostic], sources)
    }

    #[test]
    fn a_diagnostic_is_drawn_with_its_line_caret_and_hint() {
        let shown = one("title = \"x\"\nlatencie = \"1 ns\"\n", 12..20).to_string();
        assert!(shown.contains("error[unknown-key]: unknown key `latencie` in `sw0`"), "{shown}");
        assert!(shown.contains("rig.toml:2:1"), "{shown}");
        assert!(shown.contains("2 | latencie = \"1 ns\"") && shown.contains("^^^^^^^^"), "{shown}");
        assert!(shown.contains("hint: did you mean `latency`?") && shown.ends_with("1 problem"), "{shown}");
    }

    #[test]
    fn strange_places_are_drawn_without_a_panic() {
        for range in [0..0, 0..999, 999..999, 5..6, 6..6] {
            assert!(one("aé\r\n\té\u{200b}", range).to_string().contains("unknown-key"));
        }
        let long = format!("a = \"{}\"", "x".repeat(DRAWN_LINE_LIMIT));
        assert!(one(&long, 4..9).to_string().contains("rig.toml:1:5"));
    }

    #[test]
    fn the_name_of_a_file_steers_no_terminal() {
        let mut sources = SourceMap::default();
        let file = sources.add(SourceFile::new("rig\u{1b}[31m.toml", "a = 1\n"));
        let problem = Problem::UnknownKey { path: "sw0".into(), found: "a\u{1b}".into() };
        let problems = Diagnostics::new(vec![Diagnostic::at(Place::new(file, 0..1), problem)], sources);
        assert!(!problems.to_string().contains('\u{1b}'), "{problems:?}");
        assert_eq!(problems.records()[0].path.as_deref(), Some("rig\u{1b}[31m.toml"));
    }

    #[test]
    fn the_same_problem_in_one_place_is_said_once() {
        let problem = || Problem::UnknownKey { path: "a".into(), found: "b".into() };
        let mut sources = SourceMap::default();
        sources.add(SourceFile::new("rig.toml", "b = 1"));
        let place = Place::new(FileId(0), 0..1);
        let twice = vec![Diagnostic::at(place, problem()), Diagnostic::at(place, problem())];
        assert_eq!(Diagnostics::new(twice, sources).list.len(), 1);
    }
}
