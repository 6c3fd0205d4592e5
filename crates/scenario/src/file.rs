//! The scenario as it was written: components with their tables, in layers, before anything is worked out.

use crate::catalog::{Catalog, Part};
use crate::defaults;
use crate::diagnostic::Diagnostic;
use crate::document::{Entry, Node, Table, Value, shortened};
use crate::link_parts;
use crate::nearest::{asking, key_meant, table_meant};
use crate::overrides::Overrides;
use crate::parameter::{Layer, LayerTable, check_table, is_component};
use crate::problem::Problem;
use crate::source::{Place, SourceMap};
use crate::structure::ComponentKind;
use crate::topology::{DEVICE_LIMIT, check_count};
use crate::value::{ParameterType, Reading};
use crate::variants::{self, OneOf};
use lanewise_units::order;
use lanewise_workload::{LoadName, WorkloadEntry};
use std::collections::{HashMap, HashSet};

/// Keys of a scenario beside the kinds of components.
const SECTIONS: [&str; 4] = ["title", "run", "firmware", "workload"];
/// Targets of DMA that are no component.
const TARGETS: [&str; 2] = ["memory", "nobody"];
/// Whether a scenario may have a table of this name.
pub(crate) fn is_section(key: &str) -> bool {
    SECTIONS.contains(&key) || ComponentKind::ALL.iter().any(|kind| kind.word() == key)
}

/// The table of a scenario that was meant by another word.
pub(crate) fn section_meant(key: &str) -> Option<&'static str> {
    table_meant(key, &tables())
}

/// What the tables of a scenario may be called.
#[inline(never)]
fn tables() -> Vec<&'static str> {
    SECTIONS.into_iter().chain(ComponentKind::words()).collect()
}

/// Longest name.
const NAME_LIMIT: usize = 64;
/// Most components, and most workloads, that one file may declare: as many as there may be devices, so that
/// devices written one by one are refused at the same number as those that `count` says.
const COMPONENT_LIMIT: usize = DEVICE_LIMIT;

/// A scenario as written.
#[derive(Debug, Default)]
pub struct ScenarioFile {
    /// Its title, or nothing.
    pub title: String,
    /// The `[run]` table: overrides first.
    pub run: [Table; 2],
    /// The `[firmware]` table: overrides first.
    pub firmware: [Table; 2],
    /// Hosts, switches, endpoints and storage, in this order, each in the order of the file.
    pub components: Vec<Component>,
    /// Workloads in the order of the file.
    pub workloads: Vec<WrittenWorkload>,
    /// Components by name; of several with one name, which is reported, the first.
    names: HashMap<String, usize>,
    /// What could not be read.
    lost: Lost,
}

/// Components that are written and could not be read, which is reported: a table that names one of them is not to blame.
#[derive(Debug, Default)]
struct Lost {
    /// Names that are no names, that stand before something else than a table, or that two have.
    names: HashSet<String>,
    /// Names of components that are there, but not how many of them: `count` is wrong.
    uncounted: HashSet<String>,
    /// A whole section, with whatever names are in it.
    section: bool,
}

impl ScenarioFile {
    /// Index of the component with this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// Adds a component that is not written, whose name none has.
    pub(crate) fn add(&mut self, component: Component) {
        self.names.insert(component.name.clone(), self.components.len());
        self.components.push(component);
    }

    /// Whether something of this name is written that could not be read, or its `count`, as is reported.
    pub fn is_lost(&self, name: &str) -> bool {
        self.lost.section || self.lost.names.contains(name) || self.lost.uncounted.contains(name)
    }

    /// Whether any component is written that could not be read.
    pub fn has_lost(&self) -> bool {
        self.lost.section || !self.lost.names.is_empty()
    }
}

/// One component as written.
#[derive(Debug)]
pub struct Component {
    /// Host, switch, endpoint or storage.
    pub kind: ComponentKind,
    /// Its name.
    pub name: String,
    /// Where its name is written.
    pub place: Place,
    /// Which device of which group it stands for, when the command line sets it apart.
    pub one_of: Option<OneOf>,
    /// What the command line says about this device alone.
    pub own: Table,
    /// What the command line says about it.
    pub overrides: Table,
    /// What the scenario says about it.
    pub written: Table,
    /// What its catalog part says about it.
    pub part: Option<Part>,
    /// Whether it names a part that could not be read, which is reported.
    pub part_is_unreadable: bool,
    /// Of a host, the set of defaults of its generation and maker.
    pub defaults: Option<Part>,
}

/// One workload as written.
#[derive(Debug)]
pub struct WrittenWorkload {
    /// Which of the workloads that could be read it is.
    pub entry: WorkloadEntry,
    /// Its name; without one, its kind and number.
    pub name: String,
    /// The word after `kind`.
    pub kind: String,
    /// Where the kind is written.
    pub place: Place,
    /// What the command line says about it.
    pub overrides: Table,
    /// What the scenario says about it.
    pub written: Table,
}

impl Component {
    /// Its tables, strongest first.
    pub fn layers(&self) -> Vec<LayerTable<'_>> {
        let mut layers = vec![
            LayerTable { layer: Layer::Override, table: &self.own },
            LayerTable { layer: Layer::Override, table: &self.overrides },
            LayerTable { layer: Layer::Scenario, table: &self.written },
        ];
        layers
            .extend(self.part.as_ref().map(|part| LayerTable { layer: Layer::Catalog, table: &part.table }));
        layers.extend(
            self.defaults.as_ref().map(|set| LayerTable { layer: Layer::Defaults, table: &set.table }),
        );
        layers
    }

    /// The strongest value of a key that says how the component is connected.
    pub fn structural<T: ParameterType>(
        &self,
        key: &str,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<(T, Place)> {
        let node = self.overrides.get(key).or_else(|| self.written.get(key))?;
        let path = format!("{}.{key}", self.name);
        let value = T::read(node, &mut Reading { path: &path, diagnostics })?;
        Some((value, node.place))
    }
}

impl WrittenWorkload {
    /// Where its parameters are: `workload.NAME`.
    pub fn path(&self) -> String {
        format!("workload.{}", self.name)
    }

    /// Where a parameter of it is.
    pub fn path_of(&self, key: &str) -> String {
        format!("workload.{}.{key}", self.name)
    }

    /// What its load is called where it has but one.
    pub fn load_name(&self) -> LoadName {
        LoadName::new(self.name.as_str(), self.entry)
    }

    /// What its load is called on one of several devices.
    pub fn load_name_at(&self, device: &str) -> LoadName {
        LoadName::new(format!("{} {device}", self.name), self.entry)
    }

    /// Its tables, strongest first.
    pub fn layers(&self) -> Vec<LayerTable<'_>> {
        vec![
            LayerTable { layer: Layer::Override, table: &self.overrides },
            LayerTable { layer: Layer::Scenario, table: &self.written },
        ]
    }
}

/// Layers of one of the tables of [`ScenarioFile`] that have no catalog part.
pub(crate) fn two_layers(tables: &[Table; 2]) -> Vec<LayerTable<'_>> {
    let [overrides, written] = tables;
    vec![
        LayerTable { layer: Layer::Override, table: overrides },
        LayerTable { layer: Layer::Scenario, table: written },
    ]
}

/// Reads the root table of a scenario. Whatever cannot be read is reported and left out.
pub(crate) fn read(
    root: Table,
    overrides: &mut Overrides,
    catalog: &Catalog,
    sources: &mut SourceMap,
    diagnostics: &mut Vec<Diagnostic>,
) -> ScenarioFile {
    let mut file = ScenarioFile::default();
    overrides.bind(&component_names(&root), &workload_names(&root), diagnostics);
    let mut sections = ComponentKind::ALL.map(|kind| (kind, None));
    for entry in root.into_entries() {
        let section = sections.iter_mut().find(|(kind, _)| kind.word() == entry.key);
        match (entry.key.as_str(), section) {
            (_, Some((_, section))) => *section = Some(entry),
            ("title", _) => {
                let mut reading = Reading { path: "title", diagnostics };
                file.title = String::read(&entry.node, &mut reading).unwrap_or_default();
            }
            ("run", _) => file.run[1] = table_of(entry, "run", diagnostics),
            ("firmware", _) => file.firmware[1] = table_of(entry, "firmware", diagnostics),
            ("workload", _) => file.workloads = workloads(entry, overrides, diagnostics),
            _ => {
                // `["endpoint.nic0"]` is meant as `[endpoint.nic0]`, and `[hots.server]` as a component, too.
                file.lost.names.extend(entry.key.split_once('.').map(|(_, name)| name.to_owned()));
                file.lost.names.extend(tables_in(&entry));
                diagnostics.push(unknown_table(&entry));
            }
        }
    }
    file.run[0] = overrides.take("run", diagnostics);
    file.firmware[0] = overrides.take("firmware", diagnostics);
    for (kind, section) in sections {
        let Some(entry) = section else { continue };
        file.lost.section |= entry.node.as_table().is_none();
        if let Some(unnamed) = without_a_name(kind, &entry) {
            diagnostics.push(unnamed);
            file.lost.section = true;
            continue;
        }
        for entry in table_of(entry, kind.word(), diagnostics).into_entries() {
            if file.components.len() == COMPONENT_LIMIT {
                diagnostics.push(too_many(entry.key_place));
                break;
            }
            let name = entry.key.clone();
            match component(kind, entry, overrides, diagnostics) {
                Some(component) => file.components.push(component),
                None => drop(file.lost.names.insert(name)),
            }
        }
    }
    for (index, component) in file.components.iter().enumerate() {
        file.names.entry(component.name.clone()).or_insert(index);
    }
    report_duplicates(&mut file, diagnostics);
    let uncounted = file.components.iter().filter(|component| !check_count(component, diagnostics));
    file.lost.uncounted.extend(uncounted.map(|component| component.name.clone()));
    find_parts(&mut file, catalog, sources, diagnostics);
    defaults::find(&mut file, catalog, sources, diagnostics);
    link_parts::add(&mut file, overrides, catalog, sources, diagnostics);
    variants::add(&mut file, overrides, diagnostics);
    let names: Vec<(ComponentKind, &str)> =
        file.components.iter().map(|component| (component.kind, component.name.as_str())).collect();
    let workloads: Vec<&str> = file.workloads.iter().map(|workload| workload.name.as_str()).collect();
    overrides.report_unused(&names, &workloads, diagnostics);
    check_component_keys(&file, diagnostics);
    variants::check_keys(&file, diagnostics);
    let nested: Vec<String> = file.components.iter().flat_map(nested_in).collect();
    file.lost.names.extend(nested);
    file
}

/// Kinds and names of the components that are written, for paths of the command line.
fn component_names(root: &Table) -> Vec<(ComponentKind, String)> {
    let sections =
        root.iter().filter_map(|entry| Some((ComponentKind::from_word(&entry.key)?, entry.node.as_table()?)));
    sections.flat_map(|(kind, table)| table.iter().map(move |entry| (kind, entry.key.clone()))).collect()
}

/// Names of the workloads that are written.
fn workload_names(root: &Table) -> Vec<String> {
    let Some(Value::Array(items)) = root.get("workload").map(|node| &node.value) else { return Vec::new() };
    let text = |table: &Table, key| table.get(key).and_then(|node| node.as_str()).map(str::to_owned);
    let name = |(index, item): (usize, &Node)| {
        let table = item.as_table()?;
        text(table, "name").or_else(|| Some(unnamed(&text(table, "kind")?, index)))
    };
    items.iter().enumerate().filter_map(name).collect()
}

/// The name of a workload that is given none.
fn unnamed(kind: &str, index: usize) -> String {
    format!("{}{index}", shortened(kind))
}

/// The place of a name among others, whatever their order in a file: `job10` comes after `job9`.
pub fn name_order(name: &str) -> impl Ord + use<> {
    let stem = name.trim_end_matches(|end: char| end.is_ascii_digit());
    (stem.to_owned(), name[stem.len()..].parse::<u64>().ok(), name.to_owned())
}

fn too_many(place: Place) -> Diagnostic {
    let (found, allowed) = (format!("more than {COMPONENT_LIMIT} declared"), COMPONENT_LIMIT.to_string());
    let problem = Problem::TooManyDevices { found, allowed };
    Diagnostic::at(place, problem).hint("declare equal devices once, with `count`")
}

/// Names of the tables inside an entry that is none itself: components under a wrong heading.
fn tables_in(entry: &Entry) -> impl Iterator<Item = String> {
    let inside = entry.node.as_table().into_iter().flat_map(Table::iter);
    inside.filter(|inner| inner.node.as_table().is_some()).map(|inner| inner.key.clone())
}

/// The problem of `[host]` and its like: its keys stand where names of components should.
fn without_a_name(kind: ComponentKind, entry: &Entry) -> Option<Diagnostic> {
    let is_key = |key: &str| kind.structural().iter().any(|known| known.key == key);
    let key = entry.node.as_table()?.iter().find(|inner| is_key(&inner.key))?;
    let (found, reason) = (shortened(&key.key), format!("it is a key of {}", kind.noun()));
    Some(Diagnostic::at(key.key_place, Problem::BadName { found, reason }).hint(name_hint(kind)))
}

fn unknown_table(entry: &Entry) -> Diagnostic {
    let problem = Problem::UnknownTable { found: shortened(&entry.key), allowed: tables().join(", ") };
    let quoted = entry.key.split_once('.').filter(|(word, _)| ComponentKind::from_word(word).is_some());
    let hint = match quoted {
        Some(_) => Some(format!("write `[{}]`, without quotes", shortened(&entry.key))),
        None => section_meant(&entry.key).map(asking),
    };
    Diagnostic::at(entry.key_place, problem).maybe_hint(hint)
}

/// The table of an entry; something else is reported and read as empty.
fn table_of(entry: Entry, path: &str, diagnostics: &mut Vec<Diagnostic>) -> Table {
    match entry.node.value {
        Value::Table(table) => table,
        _ => {
            let expected = "a table".to_owned();
            let problem =
                Problem::WrongType { path: path.to_owned(), found: entry.node.describe(), expected };
            let hint = ComponentKind::from_word(path).map(name_hint);
            diagnostics.push(Diagnostic::at(entry.node.place, problem).maybe_hint(hint));
            Table::default()
        }
    }
}

fn name_hint(kind: ComponentKind) -> String {
    format!("a component has a name: `[{}.NAME]`", kind.word())
}

fn component(
    kind: ComponentKind,
    entry: Entry,
    overrides: &mut Overrides,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Component> {
    let (name, place) = (entry.key.clone(), entry.key_place);
    if !check_name(&name, place, diagnostics) {
        return None;
    }
    if !matches!(entry.node.value, Value::Table(_)) {
        let expected = format!("a table with the settings of {}", kind.noun());
        let hint = match entry.node.value {
            Value::Array(_) => format!("write `[{}.{name}]`, in single brackets", kind.word()),
            _ => name_hint(kind),
        };
        let problem = Problem::WrongType { path: name, found: entry.node.describe(), expected };
        diagnostics.push(Diagnostic::at(entry.node.place, problem).hint(hint));
        return None;
    }
    let written = table_of(entry, &name, diagnostics);
    let overrides = overrides.take_component(kind, &name, diagnostics);
    Some(Component {
        kind,
        name,
        place,
        one_of: None,
        own: Table::default(),
        overrides,
        written,
        part: None,
        part_is_unreadable: false,
        defaults: None,
    })
}

/// Whether a name can stand in a path.
pub(crate) fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Why a name cannot be one that is not plain.
pub(crate) const NOT_PLAIN: &str = "a name has letters, digits, `_` and `-` only";

fn check_name(name: &str, place: Place, diagnostics: &mut Vec<Diagnostic>) -> bool {
    let mut reserved = SECTIONS.into_iter().chain(TARGETS).chain(ComponentKind::words());
    let reason = if name.is_empty() || name.len() > NAME_LIMIT {
        "a name has 1 to 64 characters"
    } else if !is_plain(name) {
        NOT_PLAIN
    } else if reserved.any(|word| word == name) {
        "the word is reserved"
    } else {
        return true;
    };
    let problem = Problem::BadName { found: shortened(name), reason: reason.to_owned() };
    diagnostics.push(Diagnostic::at(place, problem));
    false
}

fn workloads(
    entry: Entry,
    overrides: &mut Overrides,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<WrittenWorkload> {
    let Value::Array(items) = entry.node.value else {
        let expected = "a list of tables, written `[[workload]]`,".to_owned();
        let (path, found) = ("workload".to_owned(), entry.node.describe());
        let problem = Problem::WrongType { path, found, expected };
        diagnostics
            .push(Diagnostic::at(entry.node.place, problem).hint("write `[[workload]]`, in double brackets"));
        return Vec::new();
    };
    let mut workloads: Vec<WrittenWorkload> = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        if index == COMPONENT_LIMIT {
            diagnostics.push(too_many(item.place));
            break;
        }
        let entry = WorkloadEntry(workloads.len() as u32);
        workloads.extend(workload((index, entry), item, overrides, diagnostics));
    }
    workloads
}

fn workload(
    (index, entry): (usize, WorkloadEntry),
    item: Node,
    overrides: &mut Overrides,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<WrittenWorkload> {
    let path = format!("workload[{index}]");
    let place = item.place;
    let found = item.describe();
    let Value::Table(written) = item.value else {
        let expected = "a table with a `kind`".to_owned();
        diagnostics.push(Diagnostic::at(place, Problem::WrongType { path, found, expected }));
        return None;
    };
    let Some(kind_node) = written.get("kind") else {
        let expected = crate::value::quoted_words(&crate::resolve::workload_words());
        let problem = Problem::MissingKey { path, key: "kind".to_owned(), expected };
        let other = written.iter().find(|entry| key_meant(&entry.key, &["kind"]).is_some());
        let hint = other.map(|entry| format!("write `kind` for `{}`", shortened(&entry.key)));
        diagnostics
            .push(Diagnostic::at(other.map_or(place, |entry| entry.key_place), problem).maybe_hint(hint));
        return None;
    };
    let kind_place = kind_node.place;
    let kind_path = format!("{path}.kind");
    let kind = String::read(kind_node, &mut Reading { path: &kind_path, diagnostics })?;
    let name = match written.get("name") {
        Some(node) => {
            let name_path = format!("{path}.name");
            let name = String::read(node, &mut Reading { path: &name_path, diagnostics })?;
            if !check_name(&name, node.place, diagnostics) {
                return None;
            }
            name
        }
        None => unnamed(&kind, index),
    };
    let overrides = overrides.take_workload(&name, diagnostics);
    Some(WrittenWorkload { entry, name, kind, place: kind_place, overrides, written })
}

fn report_duplicates(file: &mut ScenarioFile, diagnostics: &mut Vec<Diagnostic>) {
    let mut components: Vec<(&str, Place)> =
        file.components.iter().map(|component| (component.name.as_str(), component.place)).collect();
    let name_place = |workload: &WrittenWorkload| workload.written.get("name").map(|node| node.place);
    let of_workload = |workload| name_place(workload).unwrap_or(workload.place);
    let mut workloads: Vec<(&str, Place)> =
        file.workloads.iter().map(|workload| (workload.name.as_str(), of_workload(workload))).collect();
    let mut twice = Vec::new();
    for names in [&mut components, &mut workloads] {
        order::sort_by(names, Ord::cmp);
        for pair in names.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            let problem = Problem::DuplicateName { name: pair[1].0.to_owned() };
            diagnostics.push(Diagnostic::at(pair[1].1, problem).hint("give it another name"));
        }
    }
    twice
        .extend(components.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].0.to_owned()));
    file.lost.names.extend(twice);
}

/// Looks up the catalog part of every component that names one.
fn find_parts(
    file: &mut ScenarioFile,
    catalog: &Catalog,
    sources: &mut SourceMap,
    diagnostics: &mut Vec<Diagnostic>,
) {
    // Hundreds of devices may share a part; it is read once.
    let mut read: Vec<(String, Option<Part>)> = Vec::new();
    for component in &mut file.components {
        let known = diagnostics.len();
        let named = component.structural::<String>("part", diagnostics);
        component.part_is_unreadable = named.is_some() || diagnostics.len() > known;
        let Some((name, place)) = named else { continue };
        let path = component.name.clone();
        if !read.iter().any(|(other, _)| *other == name) {
            let catalog = match catalog.with_part(&name) {
                Ok(catalog) => catalog,
                Err(why) => {
                    diagnostics.push(no_part(path, &name, why, catalog, place));
                    continue;
                }
            };
            read.push((name.clone(), catalog.read_part(&name, sources, diagnostics)));
        }
        let part = read.iter().find(|(other, _)| *other == name).and_then(|(_, part)| part.clone());
        match part {
            Some(part) if part.kind != component.kind => {
                let (found, expected) = (part.kind.noun().to_owned(), component.kind.noun().to_owned());
                let hint = format!("write it below `[{}.NAME]`, or choose another part", part.kind.word());
                let problem =
                    Problem::WrongPartKind { path: component.name.clone(), part: name, found, expected };
                diagnostics.push(Diagnostic::at(place, problem).hint(hint));
            }
            part => {
                component.part_is_unreadable = part.is_none();
                component.part = part;
            }
        }
    }
}

/// What is wrong with the name of a part that is not there; `why` says it of one that is a file.
fn no_part(path: String, name: &str, why: Option<String>, catalog: &Catalog, place: Place) -> Diagnostic {
    let part = shortened(name);
    match why {
        None => Diagnostic::at(place, Problem::UnknownPart { path, part }).hint(catalog.offer(name)),
        Some(reason) => Diagnostic::at(place, Problem::UnreadablePart { path, part, reason })
            .hint("a name that ends in `.toml` is a file with one part, in the folder of the scenario"),
    }
}

/// Names of components that are written inside another one, which is reported.
fn nested_in(component: &Component) -> Vec<String> {
    let inside = |entry: &Entry| match ComponentKind::from_word(&entry.key) {
        Some(_) => tables_in(entry).collect(),
        None if is_component(entry) => vec![entry.key.clone()],
        None => Vec::new(),
    };
    component.written.iter().flat_map(inside).collect()
}

/// Reports keys that no component of the kind has.
fn check_component_keys(file: &ScenarioFile, diagnostics: &mut Vec<Diagnostic>) {
    for component in file.components.iter().filter(|component| component.one_of.is_none()) {
        let structural: Vec<&str> = component.kind.structural().iter().map(|key| key.key).collect();
        for table in [&component.overrides, &component.written] {
            check_table(table, &component.name, component.kind.schema(), &structural, diagnostics);
        }
    }
}
