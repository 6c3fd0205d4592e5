//! The catalog: one TOML file per part, every value with its provenance and source.
//!
//! The files of the repository are compiled in, and further parts can be added. One of the same name replaces the built-in
//! one. A part need only say what differs from the one that it is `like`, or what is known better of the one that it is, its
//! `part`. A name that ends in `.toml` is that of a file with a part, in the folder of the scenario.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::document::{self, Table, Value, shortened};
use crate::parameter::{
    Layer, LayerTable, Origin, Output, Provenance, ResolvedParameter, check_keys, check_table,
};
use crate::problem::Problem;
use crate::reader::Reader;
use crate::relative::{Citation, add_known, cite, take_over};
use crate::settings::Settings;
use crate::slots::read_slots;
use crate::source::{Place, SourceFile, SourceMap};
use crate::structure::ComponentKind;
use crate::value::{ParameterType, Reading, quoted_words};
use lzma_rust2::LzmaReader;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt;
use std::io::Read;
use std::sync::{Arc, LazyLock};

mod likeness;

include!(concat!(env!("OUT_DIR"), "/catalog_files.rs"));

/// The texts of all files of the catalog in a row, compressed: see `build.rs`.
static CATALOG_TEXTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/catalog_texts.lzma"));

/// The parts that scenarios can name.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// Name and text of every part, sorted by name.
    files: Arc<Vec<(String, SourceFile)>>,
    /// Reads a part that is in a file of its own; none where there are no such files.
    own: Option<PartFiles>,
}

/// Reads the file that a name of a part is that of, or says why it cannot.
type ReadPart = dyn Fn(&str) -> Result<SourceFile, String> + Send + Sync;

#[derive(Clone)]
struct PartFiles(Arc<ReadPart>);

impl fmt::Debug for PartFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PartFiles")
    }
}

/// How the name of a part ends that is in a file of its own.
const FILE_ENDING: &str = ".toml";

/// One part as written.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// What it is, in words.
    pub title: String,
    /// Kind of component that it describes.
    pub kind: ComponentKind,
    /// How devices that are it call themselves: a regular expression.
    pub known_as: Option<String>,
    /// Its parameters.
    pub table: Table,
}

/// Keys of the head of a file, and its parameters.
const HEAD: [&str; 8] = ["title", "kind", "like", "part", "known_as", "provenance", "source", "parameters"];

/// The file of a part, before anything is taken over.
struct Written {
    title: String,
    /// Nothing where the part that it is like says it.
    kind: Option<ComponentKind>,
    /// The part that the rest is taken from.
    relative: Option<Relative>,
    known_as: Option<String>,
    table: Table,
}

/// A part that another one is like, or is.
struct Relative {
    name: String,
    /// Where it is named.
    place: Place,
    /// Whether it is the same device, so that what is known of it is known as well as there.
    is_same: bool,
}

impl Relative {
    /// The key that names it.
    fn key(&self) -> &'static str {
        if self.is_same { "part" } else { "like" }
    }
}

/// One part as the `parts` command lists it.
#[derive(Clone, Debug)]
pub struct PartListing {
    /// Its name.
    pub name: String,
    /// What it is, in words.
    pub title: String,
    /// Kind of component that it describes.
    pub kind: ComponentKind,
    /// How devices that are it call themselves: a regular expression.
    pub known_as: Option<String>,
    /// Every value it gives, without the name of the part in the path.
    pub parameters: Vec<ResolvedParameter>,
}

/// What `parts` prints.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Parts {
    /// Every part, by name.
    pub parts: Vec<PartRecord>,
}

/// One part in the words of the machine-readable contract.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PartRecord {
    /// Its name.
    pub name: String,
    /// Kind of component that it describes, as a heading of a scenario has it.
    pub kind: &'static str,
    /// What it is, in words.
    pub title: String,
    /// Every value it gives.
    pub parameters: Vec<PartParameter>,
}

/// A value that a part gives.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PartParameter {
    /// Dotted path, without the name of the part.
    pub path: String,
    /// As a person would write it, unit included.
    pub value: String,
    /// How it is known.
    #[schemars(with = "Provenance")]
    pub provenance: String,
    /// Source, in a sentence.
    pub source: String,
    /// Cells it was fitted on.
    pub fitted_on: Vec<String>,
}

impl From<&PartListing> for PartRecord {
    fn from(part: &PartListing) -> Self {
        let parameter = |parameter: &ResolvedParameter| PartParameter {
            path: parameter.path.clone(),
            value: parameter.value.clone(),
            provenance: parameter.provenance.word(),
            source: parameter.source.clone().into_owned(),
            fitted_on: parameter.fitted_on.clone(),
        };
        Self {
            name: part.name.clone(),
            kind: part.kind.word(),
            title: part.title.clone(),
            parameters: part.parameters.iter().map(parameter).collect(),
        }
    }
}

/// The catalog that comes with the program. Unpacked once: a study loads thousands of scenarios.
pub fn catalog() -> Catalog {
    static BUILT_IN: LazyLock<Catalog> = LazyLock::new(|| {
        let mut texts = String::new();
        LzmaReader::new_mem_limit(CATALOG_TEXTS, u32::MAX, None)
            .and_then(|mut reader| reader.read_to_string(&mut texts))
            .expect("build.rs has compressed them");
        let mut start = 0;
        let files = CATALOG_FILES.iter().map(|&(name, end)| {
            let file = SourceFile::new(format!("catalog/{name}.toml"), &texts[start..end]);
            start = end;
            (name.to_owned(), file)
        });
        Catalog { files: Arc::new(files.collect()), own: None }
    });
    BUILT_IN.clone()
}

impl Catalog {
    /// Names of all parts, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(name, _)| name.as_str())
    }

    /// Whether there is such a part.
    pub fn contains(&self, name: &str) -> bool {
        self.position(name).is_ok()
    }

    /// The same, with names that end in `.toml` being those of files, which `read` reads.
    pub(crate) fn with_part_files(
        mut self,
        read: impl Fn(&str) -> Result<SourceFile, String> + Send + Sync + 'static,
    ) -> Self {
        self.own = Some(PartFiles(Arc::new(read)));
        self
    }

    /// The catalog with a part in it, which is read if it is in a file of its own.
    ///
    /// # Errors
    /// Why that file cannot be read; nothing for a name that is not one of a file.
    pub(crate) fn with_part(&self, name: &str) -> Result<Cow<'_, Self>, Option<String>> {
        if self.contains(name) {
            return Ok(Cow::Borrowed(self));
        }
        if !name.ends_with(FILE_ENDING) {
            return Err(None);
        }
        let Some(PartFiles(read)) = &self.own else {
            return Err(Some("this scenario is in no file, and so has no folder to look in".to_owned()));
        };
        let file = read(name).map_err(Some)?;
        let mut all = self.clone();
        all.add(name, file);
        Ok(Cow::Owned(all))
    }

    /// Adds or replaces a part given as text.
    pub fn add(&mut self, name: &str, file: SourceFile) {
        let position = self.position(name);
        let files = Arc::make_mut(&mut self.files);
        match position {
            Ok(at) => files[at].1 = file,
            Err(at) => files.insert(at, (name.to_owned(), file)),
        }
    }

    /// Every part with its values and their sources.
    ///
    /// # Errors
    /// When a part is malformed. The built-in ones are tested not to be.
    pub fn list(&self) -> Result<Vec<PartListing>, Diagnostics> {
        let mut sources = SourceMap::default();
        let mut output = Output::default();
        let mut listings = Vec::new();
        for name in self.names() {
            let part = self.read_part(name, &mut sources, &mut output.diagnostics);
            listings.extend(part.map(|part| listing(part, &mut output)));
        }
        if output.diagnostics.is_empty() {
            Ok(listings)
        } else {
            Err(Diagnostics::new(output.diagnostics, sources))
        }
    }

    /// Every part, as `parts` prints them.
    ///
    /// # Errors
    /// As [`Self::list`].
    pub fn parts(&self) -> Result<Parts, Diagnostics> {
        Ok(Parts { parts: self.list()?.iter().map(PartRecord::from).collect() })
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.files.binary_search_by(|(other, _)| other.as_str().cmp(name))
    }

    /// Reads a part with what it takes over from the part that it is and those that it is `like`, and checks its keys.
    pub(crate) fn read_part(
        &self,
        name: &str,
        sources: &mut SourceMap,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Part> {
        let mut part = self.read_alone(name, sources, diagnostics)?;
        let (mut passed, mut next) = (vec![name.to_owned()], part.relative.take());
        while let Some(relative) = next {
            let (theirs, place, key) = (relative.name.as_str(), relative.place, relative.key());
            if !self.contains(theirs) {
                let problem = Problem::UnknownPart { path: format!("{name}.{key}"), part: shortened(theirs) };
                diagnostics.push(Diagnostic::at(place, problem).hint(self.offer(theirs)));
                return None;
            }
            if passed.iter().any(|other| other == theirs) {
                let reason = format!("it is like itself: {}", passed.join(", "));
                diagnostics.push(Diagnostic::at(place, Problem::MalformedPart { reason }));
                return None;
            }
            let theirs = self.read_alone(theirs, sources, diagnostics)?;
            if part.kind.is_some() && theirs.kind.is_some() && part.kind != theirs.kind {
                let reason = format!("`{}`, its `{key}`, is of another kind", relative.name);
                diagnostics.push(Diagnostic::at(place, Problem::MalformedPart { reason }));
                return None;
            }
            part.kind = part.kind.or(theirs.kind);
            if relative.is_same {
                add_known(&mut part.table, theirs.table);
            } else {
                take_over(&mut part.table, &relative.name, theirs.table);
            }
            passed.push(relative.name);
            next = theirs.relative;
        }
        let Written { title, kind, known_as, table, .. } = part;
        let kind = kind?;
        check_table(&table, name, kind.schema(), kind.slots_key().as_slice(), diagnostics);
        Some(Part { name: name.to_owned(), title, kind, known_as, table })
    }

    /// Parses the file of a part.
    fn read_alone(
        &self,
        name: &str,
        sources: &mut SourceMap,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Written> {
        let source = &self.files[self.position(name).ok()?].1;
        let file = sources.add(source.clone());
        let (mut root, _) = document::parse(file, source, diagnostics);
        let place = Place::new(file, 0..0);
        check_keys(&root, name, &HEAD, diagnostics);
        let mut text = |key: &'static str| {
            let node = root.get(key)?;
            Some((String::read(node, &mut Reading { path: key, diagnostics })?, node.place))
        };
        let (title, like, same, known_as) = (text("title"), text("like"), text("part"), text("known_as"));
        if like.is_some() && same.is_some() {
            malformed("it is `like` another part, or it is a `part`, not both", place, diagnostics);
            return None;
        }
        let is_same = same.is_some();
        let relative = like.or(same).map(|(name, place)| Relative { name, place, is_same });
        let kind = root.get("kind").map(|node| node.as_str().and_then(ComponentKind::from_word));
        if kind == Some(None) || (kind.is_none() && relative.is_none()) {
            let kinds: Vec<&str> = ComponentKind::words().collect();
            malformed(&format!("`kind` is {}", quoted_words(&kinds)), place, diagnostics);
            return None;
        }
        let mut table = match root.remove("parameters").map(|entry| entry.node.value) {
            Some(Value::Table(table)) => table,
            None if relative.is_some() => Table::default(),
            _ => {
                malformed("there is no `[parameters]` table", place, diagnostics);
                return None;
            }
        };
        match (root.get("provenance").cloned(), root.get("source").cloned()) {
            (Some(provenance), Some(source)) => cite(&mut table, &Citation { provenance, source }),
            (None, None) => {}
            _ => {
                malformed("`provenance` and `source` go together", place, diagnostics);
                return None;
            }
        }
        let Some((title, _)) = title else {
            malformed("there is no `title`", place, diagnostics);
            return None;
        };
        let known_as = known_as.map(|(text, _)| text);
        Some(Written { title, kind: kind.flatten(), relative, known_as, table })
    }
}

/// Reports a file that is no part.
fn malformed(reason: &str, place: Place, diagnostics: &mut Vec<Diagnostic>) {
    let problem = Problem::MalformedPart { reason: reason.to_owned() };
    diagnostics.push(Diagnostic::at(place, problem));
}

/// Reads a part on its own and keeps what it says.
fn listing(part: Part, output: &mut Output) -> PartListing {
    let layers = vec![LayerTable { layer: Layer::Catalog, table: &part.table }];
    let mut own = Output::default();
    Settings::read(part.kind, &mut Reader::new(part.name.clone(), layers.clone(), &mut own));
    if let Some(key) = part.kind.slots_key() {
        read_slots(&part.name, key, &layers, &mut own);
    }
    output.diagnostics.append(&mut own.diagnostics);
    let prefix = format!("{}.", part.name);
    let written = own.parameters.into_iter().filter(|p| matches!(p.origin, Origin::Written(..)));
    let parameters = written.map(|mut parameter| {
        parameter.path = parameter.path.strip_prefix(&prefix).unwrap_or(&parameter.path).to_owned();
        parameter
    });
    let parameters = parameters.collect();
    PartListing { name: part.name, title: part.title, kind: part.kind, known_as: part.known_as, parameters }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_part_is_well_formed_and_sourced() {
        let parts = catalog().list().unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
        assert!(parts.len() >= 10);
        for part in &parts {
            assert!(!part.parameters.is_empty(), "{} says nothing", part.name);
            for parameter in &part.parameters {
                assert!(!parameter.source.is_empty(), "{}.{} has no source", part.name, parameter.path);
            }
        }
    }

    #[test]
    fn every_built_in_switch_says_its_lanes_and_its_ports_are_no_more() {
        let parts = catalog().list().unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
        let is_switch =
            |part: &&PartListing| part.kind == ComponentKind::Switch && !part.name.starts_with("defaults-");
        for part in parts.iter().filter(is_switch) {
            let given = |path: &str| part.parameters.iter().find(|parameter| parameter.path == path);
            let lanes = given("lanes").unwrap_or_else(|| panic!("{} does not say its lanes", part.name));
            let shapes = part.parameters.iter().filter(|p| p.path.starts_with("ports."));
            let widths = shapes.filter_map(|p| p.value.split_once(" x")?.1.parse::<u32>().ok());
            let used: u32 = widths.sum();
            assert!(used > 0 && used <= lanes.value.parse().unwrap(), "{}: {used}", part.name);
        }
    }
}
