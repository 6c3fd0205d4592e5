//! `path=value` pairs of the command line, as a layer above the scenario.
//!
//! They become a text of their own, one line each, so that a problem in one is shown like a problem in a file.

use crate::diagnostic::Diagnostic;
use crate::document::{Entry, Node, Table, Value, shortened};
use crate::nearest::{did_you_mean, listing};
use crate::parameter::ParameterTable;
use crate::parameters::RunParameters;
use crate::problem::Problem;
use crate::resolve::WORKLOAD_KEYS;
use crate::source::{FileId, Place, SourceFile, SourceMap};
use crate::structure::ComponentKind;

/// The path under which the text of the overrides appears in messages.
pub const COMMAND_LINE: &str = "command line";
/// Most overrides that are read.
const OVERRIDES_LIMIT: usize = 4_096;

/// What the command line sets, pair by pair, and then as a tree from which each component takes its part.
#[derive(Debug, Default)]
pub struct Overrides {
    pairs: Vec<Pair>,
    root: Table,
}

/// One `path=value`.
#[derive(Debug)]
struct Pair {
    keys: Vec<String>,
    node: Node,
}

/// What is said about one device of a group.
#[derive(Debug)]
pub(crate) struct OneDevice {
    pub number: usize,
    pub table: Table,
    pub place: Place,
}

impl Overrides {
    /// Reads the pairs.
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
        let mut read = Self::default();
        for ((path, value), span) in pairs.iter().zip(spans) {
            let place = Place::new(file, span);
            match keys_of(path) {
                Ok(keys) => {
                    let node = Node::from_plain_text(value.trim(), place);
                    read.pairs.push(Pair { keys, node });
                }
                Err(reason) => refuse(path, reason, None, place, diagnostics),
            }
        }
        if let Some((path, _)) = pairs.get(OVERRIDES_LIMIT) {
            let reason = format!("at most {OVERRIDES_LIMIT} are read");
            let problem = Problem::BadOverride { found: shortened(path), reason };
            diagnostics.push(Diagnostic::global(problem));
        }
        read
    }

    /// Puts the pairs into the tree, each under every name of the scenario that it means. Among several for one path the last
    /// holds. `nic[*]` is all of `nic`; in any other name `*` stands for some characters and `?` for one.
    pub(crate) fn bind(
        &mut self,
        components: &[(ComponentKind, String)],
        workloads: &[String],
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        for pair in std::mem::take(&mut self.pairs) {
            let place = pair.node.place;
            if pair.keys.len() < 2 {
                let reason = "a path has at least two parts, such as `sw0.latency`".to_owned();
                let key = pair.keys.first().map(String::as_str).unwrap_or_default();
                let names = components.iter().map(|(_, name)| name.as_str());
                let hint = if names.clone().any(|name| name == key) {
                    Some(format!(
                        "say which of its parameters; `lanewise explain FILE '{key}.*'` prints them"
                    ))
                } else if RunParameters::SCHEMA.fields.iter().any(|field| field.key == key) {
                    Some(format!("did you mean `run.{key}`?"))
                } else {
                    listing("a name comes first; components", names)
                };
                refuse(&pair.keys.join("."), reason, hint, place, diagnostics);
                continue;
            }
            let meant = meant(&pair.keys, components, workloads);
            if meant.is_empty() {
                let reason = "no name in the scenario matches".to_owned();
                let hint =
                    "`*` stands for any characters of one name, such as `nic*.tags` or `workload.*.size`";
                refuse(&pair.keys.join("."), reason, Some(hint.to_owned()), place, diagnostics);
            }
            for keys in meant {
                let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                if let Err(key) = self.root.insert_path(&keys, place, pair.node.clone()) {
                    let reason = format!("`{key}` is given a value and keys below it");
                    refuse(&keys.join("."), reason, None, place, diagnostics);
                }
            }
        }
    }

    /// What is said about single devices of a group, by their numbers.
    pub(crate) fn take_devices_of(
        &mut self,
        group: &str,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<OneDevice> {
        let number = |key: &str| key.strip_prefix(group)?.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
        let keys: Vec<String> = self.root.iter().map(|entry| entry.key.clone()).collect();
        let devices = keys.iter().filter_map(|key| Some((number(key)?, self.root.remove(key)?)));
        let read = |(number, entry): (usize, Entry)| {
            let place = entry.key_place;
            OneDevice { number, table: as_table(entry, diagnostics), place }
        };
        devices.map(read).collect()
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

    /// What is said about a workload, as `workload.name.key`. Its kind and its name are what it is, and stay as they are written.
    pub(crate) fn take_workload(&mut self, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Table {
        let mut table = self.take_nested("workload", name, diagnostics);
        for entry in WORKLOAD_KEYS.iter().filter_map(|key| table.remove(key)) {
            let path = format!("workload.{name}.{}", entry.key);
            let reason = format!("the {} of a workload is only read from the scenario", entry.key);
            refuse(&path, reason, Some("write it there".to_owned()), entry.key_place, diagnostics);
        }
        table
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
        components: &[(ComponentKind, &str)],
        workloads: &[&str],
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let names: Vec<&str> = components.iter().map(|(_, name)| *name).collect();
        for outer in self.root.iter() {
            let kind = ComponentKind::from_word(&outer.key);
            match outer.node.as_table().filter(|_| outer.key == "workload" || kind.is_some()) {
                Some(table) => table.iter().for_each(|entry| match kind {
                    None => {
                        let all = listing("workloads", workloads.iter().copied());
                        report_unused(entry, workloads, None, all, diagnostics);
                    }
                    Some(kind) => {
                        let alike = components.iter().filter(|(other, _)| *other == kind);
                        let all = listing("names of this kind", alike.map(|(_, name)| *name));
                        report_unused(entry, &names, None, all, diagnostics);
                    }
                }),
                None => {
                    let word = outer.key.split('[').next().unwrap_or_default();
                    let hint = match word {
                        "workload" => listing("workloads", workloads.iter().copied()),
                        _ => workloads
                            .contains(&word)
                            .then(|| format!("a workload's path begins with `workload.{word}`")),
                    };
                    let all = listing("components", names.iter().copied());
                    report_unused(outer, &names, hint, all, diagnostics);
                }
            }
        }
    }
}

/// Reports a name that nothing has. The hint is the one given, or the nearest name, or else all there is to choose from.
fn report_unused(
    entry: &Entry,
    names: &[&str],
    hint: Option<String>,
    all: Option<String>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let reason = "nothing in the scenario has this name".to_owned();
    let is_there = names.contains(&entry.key.as_str());
    let other_kind = is_there.then(|| format!("`{}` is of another kind; leave the kind out", entry.key));
    let name = entry.key.split('[').next().unwrap_or_default();
    let hint = hint.or(other_kind).or_else(|| did_you_mean(name, names.iter().copied())).or(all);
    let hint = hint.unwrap_or_else(|| "`lanewise explain` prints every path".to_owned());
    let problem = Problem::BadOverride { found: shortened(&entry.key), reason };
    diagnostics.push(Diagnostic::at(entry.key_place, problem).hint(hint));
}

fn refuse(path: &str, reason: String, hint: Option<String>, place: Place, diagnostics: &mut Vec<Diagnostic>) {
    let problem = Problem::BadOverride { found: shortened(path), reason };
    diagnostics.push(Diagnostic::at(place, problem).maybe_hint(hint));
}

/// The keys of a path.
fn keys_of(path: &str) -> Result<Vec<String>, String> {
    let keys: Vec<String> = path.trim().split('.').map(|key| key.trim().to_owned()).collect();
    if keys.iter().any(String::is_empty) || keys.len() > crate::document::NESTING_LIMIT {
        return Err("a path is `component.key`".to_owned());
    }
    Ok(keys)
}

/// The paths that a path with wildcards means; itself without. None when no name is like it.
fn meant(keys: &[String], components: &[(ComponentKind, String)], workloads: &[String]) -> Vec<Vec<String>> {
    let kind = ComponentKind::from_word(&keys[0]).filter(|_| keys.len() > 2);
    let of_workload = keys[0] == "workload" && keys.len() > 2;
    let at = usize::from(kind.is_some() || of_workload);
    let written = keys[at].strip_suffix("[*]").unwrap_or(&keys[at]);
    let with = |name: &str| {
        // One device of a group is known by its name alone.
        let from = if kind.is_some() && name.ends_with(']') { 1 } else { 0 };
        let mut path = keys[from..].to_vec();
        path[at - from] = name.to_owned();
        path
    };
    if !written.contains(['*', '?']) {
        return vec![with(written)];
    }
    let names: Vec<&String> = match of_workload {
        true => workloads.iter().collect(),
        false => {
            let of_kind = components.iter().filter(|(other, _)| kind.is_none_or(|kind| kind == *other));
            of_kind.map(|(_, name)| name).collect()
        }
    };
    names
        .into_iter()
        .filter(|name| is_like(written.as_bytes(), name.as_bytes()))
        .map(|name| with(name))
        .collect()
}

/// Whether a name is like a pattern, in which `*` stands for any characters and `?` for one.
fn is_like(pattern: &[u8], name: &[u8]) -> bool {
    // The last `*`, and what it stands for so far: a later one makes an earlier one's choice final.
    let (mut at, mut from, mut star) = (0, 0, None);
    while from < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(c) if *c == b'?' || *c == name[from] => (at, from) = (at + 1, from + 1),
            _ => match star {
                Some((pattern, taken)) => {
                    star = Some((pattern, taken + 1));
                    (at, from) = (pattern + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|c| *c == b'*')
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
        let mut overrides = Overrides::new(&pairs, &mut SourceMap::default(), &mut diagnostics);
        let components = ["nic", "nic_b", "ssd"].map(|name| (ComponentKind::Endpoint, name.to_owned()));
        overrides.bind(&components, &["read".to_owned(), "write".to_owned()], &mut diagnostics);
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
    fn the_kind_and_the_name_of_a_workload_are_refused() {
        let (mut overrides, _) = read(&[
            ("workload.read.kind", "copy"),
            ("workload.*.name", "other"),
            ("workload.read.size", "1 B"),
        ]);
        let mut diagnostics = Vec::new();
        let table = overrides.take_workload("read", &mut diagnostics);
        assert_eq!(table.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), ["size"]);
        let codes = diagnostics.iter().map(|diagnostic| diagnostic.problem.code());
        assert_eq!(codes.collect::<Vec<_>>(), ["bad-override", "bad-override"]);
    }

    #[test]
    fn wildcards_stand_for_every_name_that_is_like_them() {
        let (mut overrides, codes) =
            read(&[("nic*.tags", "8"), ("workload.*.size", "1 B"), ("ssd[*].tags", "16")]);
        assert!(codes.is_empty());
        for (name, tags) in [("nic", 8), ("nic_b", 8), ("ssd", 16)] {
            let table = overrides.take_component(ComponentKind::Endpoint, name, &mut Vec::new());
            assert!(
                matches!(table.get("tags").unwrap().value, Value::Integer(found) if found == tags),
                "{name}"
            );
        }
        for name in ["read", "write"] {
            assert_eq!(
                overrides.take_workload(name, &mut Vec::new()).get("size").unwrap().as_str(),
                Some("1 B")
            );
        }
        assert_eq!(read(&[("gpu*.tags", "8")]).1, ["bad-override"]);
        assert_eq!(read(&[("host.nic*.tags", "8")]).1, ["bad-override"]);
    }

    #[test]
    fn one_device_of_a_group_is_told_by_its_number() {
        let (mut overrides, _) =
            read(&[("nic[3].tags", "8"), ("endpoint.nic[3].mps", "128 B"), ("nic.tags", "4")]);
        let devices = overrides.take_devices_of("nic", &mut Vec::new());
        assert_eq!(devices.iter().map(|device| device.number).collect::<Vec<_>>(), [3]);
        assert!(devices[0].table.get("tags").is_some() && devices[0].table.get("mps").is_some());
    }

    #[test]
    fn a_pattern_is_matched_as_a_shell_does() {
        for (pattern, name, is) in [
            ("*", "", true),
            ("a*c", "abc", true),
            ("a*c", "abd", false),
            ("*b*", "abc", true),
            ("a?", "a", false),
        ] {
            assert_eq!(is_like(pattern.as_bytes(), name.as_bytes()), is, "{pattern} {name}");
        }
    }

    #[test]
    fn what_nobody_claims_is_reported_with_the_nearest_name() {
        let (overrides, _) = read(&[("swO.latency", "1 ns")]);
        let mut diagnostics = Vec::new();
        overrides.report_unused(&[(ComponentKind::Switch, "sw0")], &["write"], &mut diagnostics);
        assert_eq!(diagnostics[0].hint.as_deref(), Some("did you mean `sw0`?"));
    }

    #[test]
    fn the_long_spelling_is_reported_by_the_name_in_it() {
        for (path, hint) in [
            ("network.sw1.mtu", "did you mean `sw0`?"),
            ("workload.wriet.size", "did you mean `write`?"),
            ("host.sw0.latency", "`sw0` is of another kind; leave the kind out"),
            ("workload.sw0.size", "workloads here: write"),
            ("host.root.latency", "names of this kind here: server"),
            ("root.latency", "components here: server, sw0"),
        ] {
            let mut diagnostics = Vec::new();
            let components = [(ComponentKind::Host, "server"), (ComponentKind::Switch, "sw0")];
            read(&[(path, "1")]).0.report_unused(&components, &["write"], &mut diagnostics);
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
