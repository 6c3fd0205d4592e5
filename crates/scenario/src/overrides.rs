//! `path=value` pairs of the command line, as a layer above the scenario.
//!
//! They become a text of their own, one line each, so that a problem in one is shown like a problem in a file.

use crate::diagnostic::{Diagnostic, did_you_mean, listing};
use crate::document::{Entry, Node, Table, Value, shortened};
use crate::problem::Problem;
use crate::source::{FileId, Place, SourceFile, SourceMap};
use crate::structure::ComponentKind;

/// The path under which the text of the overrides appears in messages.
pub const COMMAND_LINE: &str = "command line";
/// Most overrides that are read.
const OVERRIDES_LIMIT: usize = 4_096;

/// Overrides that nobody has claimed yet.
#[derive(Debug, Default)]
pub struct Overrides {
    root: Table,
}

impl Overrides {
    /// Reads the pairs. Among several for one path the last holds.
    pub fn new(
        pairs: &[(String, String)],
        sources: &mut SourceMap,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        if pairs.is_empty() {
            return Self::default();
        }
        let mut text = String::new();
        let mut spans = Vec::new();
        for (path, value) in pairs.iter().take(OVERRIDES_LIMIT) {
            let line = format!("{}={}", shortened(path), shortened(value));
            spans.push(text.len()..text.len() + line.len());
            text.push_str(&line);
            text.push('\n');
        }
        let file: FileId = sources.add(SourceFile::new(COMMAND_LINE, text));
        let mut root = Table::default();
        for ((path, value), span) in pairs.iter().zip(spans) {
            let place = Place::new(file, span);
            if let Err(reason) = insert(&mut root, path, value, place) {
                let problem = Problem::BadOverride { found: shortened(path), reason };
                diagnostics.push(Diagnostic::at(place, problem));
            }
        }
        if let Some((path, _)) = pairs.get(OVERRIDES_LIMIT) {
            let reason = format!("it is one more than the {OVERRIDES_LIMIT} that are read");
            let problem = Problem::BadOverride { found: shortened(path), reason };
            diagnostics.push(Diagnostic::global(problem));
        }
        Self { root }
    }

    /// What is said about a table at the top, such as `run`.
    pub(crate) fn take(&mut self, key: &str, diagnostics: &mut Vec<Diagnostic>) -> Table {
        self.root.remove(key).map_or_else(Table::default, |entry| as_table(entry, diagnostics))
    }

    /// What is said about a component, as `name.key` or `kind.name.key`.
    pub(crate) fn take_component(
        &mut self,
        kind: ComponentKind,
        name: &str,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Table {
        let long = self.take_nested(kind.word(), name, diagnostics);
        let mut short = self.take(name, diagnostics);
        short.extend_missing(long);
        short
    }

    /// What is said about a workload, as `workload.name.key`.
    pub(crate) fn take_workload(&mut self, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Table {
        self.take_nested("workload", name, diagnostics)
    }

    fn take_nested(&mut self, outer: &str, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Table {
        let inner = self.root.get_mut(outer).and_then(|node| match &mut node.value {
            Value::Table(table) => table.remove(name),
            _ => None,
        });
        inner.map_or_else(Table::default, |entry| as_table(entry, diagnostics))
    }

    /// Reports what named nothing in the scenario, with the nearest name of a component or workload.
    pub(crate) fn report_unused(
        &self,
        components: &[&str],
        workloads: &[&str],
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        for outer in self.root.iter() {
            let names = if outer.key == "workload" { workloads } else { components };
            let long = outer.key == "workload" || ComponentKind::words().any(|word| word == outer.key);
            match outer.node.as_table().filter(|_| long) {
                Some(table) => table.iter().for_each(|entry| report_unused(entry, names, None, diagnostics)),
                None => {
                    let word = outer.key.split('[').next().unwrap_or_default();
                    let hint = match word {
                        "workload" => listing("workloads", workloads.iter().copied()),
                        _ => workloads
                            .contains(&word)
                            .then(|| format!("a workload's path begins with `workload.{word}`")),
                    };
                    report_unused(outer, names, hint, diagnostics);
                }
            }
        }
    }
}

fn report_unused(entry: &Entry, names: &[&str], hint: Option<String>, diagnostics: &mut Vec<Diagnostic>) {
    let reason = "nothing in the scenario has this name".to_owned();
    let is_there = names.contains(&entry.key.as_str());
    let other_kind = is_there.then(|| format!("`{}` is of another kind; leave the kind out", entry.key));
    let hint = hint.or(other_kind).or_else(|| did_you_mean(&entry.key, names.iter().copied()));
    let hint = hint.unwrap_or_else(|| "`lanewise explain` prints every path".to_owned());
    let problem = Problem::BadOverride { found: shortened(&entry.key), reason };
    diagnostics.push(Diagnostic::at(entry.key_place, problem).hint(hint));
}

fn insert(root: &mut Table, path: &str, value: &str, place: Place) -> Result<(), String> {
    let keys: Vec<&str> = path.trim().split('.').collect();
    if keys.iter().any(|key| key.is_empty()) || keys.len() > crate::document::NESTING_LIMIT {
        return Err("a path is `component.key`".to_owned());
    }
    if keys.len() < 2 {
        return Err("a path has at least two parts, such as `sw0.latency`".to_owned());
    }
    let node = Node::from_plain_text(value.trim(), place);
    root.insert_path(&keys, place, node).map_err(|key| format!("`{key}` is given a value and keys below it"))
}

fn as_table(entry: Entry, diagnostics: &mut Vec<Diagnostic>) -> Table {
    match entry.node.value {
        Value::Table(table) => table,
        _ => {
            let reason = "a path is `component.key`".to_owned();
            let problem = Problem::BadOverride { found: shortened(&entry.key), reason };
            diagnostics.push(Diagnostic::at(entry.key_place, problem));
            Table::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> (Overrides, Vec<&'static str>) {
        let pairs: Vec<(String, String)> =
            pairs.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
        let mut diagnostics = Vec::new();
        let overrides = Overrides::new(&pairs, &mut SourceMap::default(), &mut diagnostics);
        (overrides, diagnostics.iter().map(|diagnostic| diagnostic.problem.code()).collect())
    }

    #[test]
    fn both_spellings_reach_a_component_and_the_last_value_holds() {
        let (mut overrides, codes) =
            read(&[("sw0.latency", "1 ns"), ("sw0.latency", "2 ns"), ("switch.sw0.core", "crossbar")]);
        assert!(codes.is_empty());
        let table = overrides.take_component(ComponentKind::Switch, "sw0", &mut Vec::new());
        assert_eq!(table.get("latency").unwrap().as_str(), Some("2 ns"));
        assert_eq!(table.get("core").unwrap().as_str(), Some("crossbar"));
    }

    #[test]
    fn what_is_not_a_path_is_refused() {
        for pair in [("latency", "1 ns"), ("a..b", "1"), ("", "")] {
            assert_eq!(read(&[pair]).1, ["bad-override"], "{pair:?}");
        }
        assert_eq!(read(&[("a.b", "1"), ("a.b.c", "1")]).1, ["bad-override"]);
        assert_eq!(read(&[("a.b.c", "1"), ("a.b", "1")]).1, ["bad-override"]);
    }

    #[test]
    fn what_nobody_claims_is_reported_with_the_nearest_name() {
        let (overrides, _) = read(&[("swO.latency", "1 ns")]);
        let mut diagnostics = Vec::new();
        overrides.report_unused(&["sw0"], &["write"], &mut diagnostics);
        assert_eq!(diagnostics[0].hint.as_deref(), Some("did you mean `sw0`?"));
    }

    #[test]
    fn the_long_spelling_is_reported_by_the_name_in_it() {
        for (path, hint) in [
            ("network.sw1.mtu", "did you mean `sw0`?"),
            ("workload.wriet.size", "did you mean `write`?"),
            ("host.sw0.latency", "`sw0` is of another kind; leave the kind out"),
            ("workload.sw0.size", "`lanewise explain` prints every path"),
        ] {
            let mut diagnostics = Vec::new();
            read(&[(path, "1")]).0.report_unused(&["sw0"], &["write"], &mut diagnostics);
            assert_eq!(diagnostics[0].hint.as_deref(), Some(hint), "{path}");
            assert!(!diagnostics[0].problem.to_string().contains("network"), "{path}");
        }
    }

    #[test]
    fn more_overrides_than_are_read_are_refused() {
        let pairs = vec![("sw0.latency".to_owned(), "1 ns".to_owned()); OVERRIDES_LIMIT + 1];
        let mut diagnostics = Vec::new();
        Overrides::new(&pairs, &mut SourceMap::default(), &mut diagnostics);
        assert_eq!(diagnostics.len(), 1);
        assert_eq!(diagnostics[0].problem.code(), "bad-override");
    }
}
