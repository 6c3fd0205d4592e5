//! The catalog: one TOML file per part, every value with its provenance and source.
//!
//! The files of the repository are compiled in; a folder of further parts can be added. A part of the same name
//! in the folder replaces the built-in one.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::document::{self, Table, Value};
use crate::nearest::nearest;
use crate::parameter::{
    Layer, LayerTable, Origin, Output, Provenance, ResolvedParameter, check_keys, check_table,
};
use crate::problem::Problem;
use crate::reader::Reader;
use crate::settings::Settings;
use crate::slots::read_slots;
use crate::source::{FileSystem, Place, SourceFile, SourceMap};
use crate::structure::ComponentKind;
use crate::value::{ParameterType, Reading, quoted_words};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::{Arc, LazyLock};

include!(concat!(env!("OUT_DIR"), "/catalog_files.rs"));

/// The parts that scenarios can name.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// Name and text of every part, sorted by name.
    files: Arc<Vec<(String, SourceFile)>>,
}

/// One part as written.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// What it is, in words.
    pub title: String,
    /// Kind of component that it describes.
    pub kind: ComponentKind,
    /// Its parameters.
    pub table: Table,
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

/// The catalog that comes with the program. Made once: a study loads thousands of scenarios.
pub fn catalog() -> Catalog {
    static BUILT_IN: LazyLock<Catalog> = LazyLock::new(|| {
        let files = CATALOG_FILES
            .iter()
            .map(|(name, text)| ((*name).to_owned(), SourceFile::new(format!("catalog/{name}.toml"), *text)));
        Catalog { files: Arc::new(files.collect()) }
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

    /// The part that was meant by a name that none has: one that ends or begins with it, or the nearest.
    pub(crate) fn meant(&self, name: &str) -> Option<&str> {
        let lower = name.to_lowercase();
        let has = |part: &&str| lower.len() > 2 && (part.ends_with(&lower) || part.contains(&lower));
        let shortest = self.names().filter(has).min_by_key(|part| part.len());
        shortest.or_else(|| nearest(name, self.names()))
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

    /// Adds every `*.toml` of a folder.
    ///
    /// # Errors
    /// When the folder or one of the files cannot be read.
    pub fn add_folder(&mut self, folder: &str, files: &dyn FileSystem) -> Result<(), Problem> {
        let mut paths = files
            .list(folder)
            .map_err(|reason| Problem::UnreadableFile { path: folder.to_owned(), reason })?;
        paths.sort();
        for path in paths {
            let file_name = path.rsplit(['/', '\\']).next().unwrap_or(&path);
            if let Some(name) = file_name.strip_suffix(".toml") {
                self.add(name, SourceFile::read(&path, files)?);
            }
        }
        Ok(())
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

    /// Parses a part and checks its keys.
    pub(crate) fn read_part(
        &self,
        name: &str,
        sources: &mut SourceMap,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Part> {
        let source = &self.files[self.position(name).ok()?].1;
        let file = sources.add(source.clone());
        let (mut root, _) = document::parse(file, source, diagnostics);
        let place = Place::new(file, 0..0);
        check_keys(&root, name, &["title", "kind", "parameters"], diagnostics);
        let mut malformed = |reason: &str| {
            let problem = Problem::MalformedPart { reason: reason.to_owned() };
            diagnostics.push(Diagnostic::at(place, problem));
        };
        let kind = match root.get("kind").and_then(|node| node.as_str()).map(ComponentKind::from_word) {
            Some(Some(kind)) => kind,
            _ => {
                let kinds: Vec<&str> = ComponentKind::words().collect();
                malformed(&format!("`kind` is {}", quoted_words(&kinds)));
                return None;
            }
        };
        let Some(Value::Table(table)) = root.remove("parameters").map(|entry| entry.node.value) else {
            malformed("there is no `[parameters]` table");
            return None;
        };
        let title = match root.get("title") {
            Some(node) => String::read(node, &mut Reading { path: "title", diagnostics })?,
            None => {
                malformed("there is no `title`");
                return None;
            }
        };
        check_table(&table, name, kind.schema(), kind.slots_key().as_slice(), diagnostics);
        Some(Part { name: name.to_owned(), title, kind, table })
    }
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
    PartListing { name: part.name, title: part.title, kind: part.kind, parameters }
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
        for part in parts.iter().filter(|part| part.kind == ComponentKind::Switch) {
            let given = |path: &str| part.parameters.iter().find(|parameter| parameter.path == path);
            let lanes = given("lanes").unwrap_or_else(|| panic!("{} does not say its lanes", part.name));
            let shapes = part.parameters.iter().filter(|p| p.path.starts_with("ports."));
            let widths = shapes.filter_map(|p| p.value.split_once(" x")?.1.parse::<u32>().ok());
            let used: u32 = widths.sum();
            assert!(used > 0 && used <= lanes.value.parse().unwrap(), "{}: {used}", part.name);
        }
    }
}
