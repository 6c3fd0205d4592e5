//! The scenario as it is meant: nothing optional, nothing defaulted later, every value with its provenance.

use crate::accepts::Tables;
use crate::addresses::{self, AddressedFunction};
use crate::catalog::{Catalog, catalog};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::document;
use crate::file;
use crate::foreign;
use crate::idle::{Caution, Effect, IdleValue};
use crate::job_file::JobFile;
use crate::overrides::Overrides;
use crate::parameter::{Origin, Output, Provenance, ResolvedParameter, Role};
use crate::parameters::{FirmwareParameters, RunParameters};
use crate::problem::Problem;
use crate::resolve::memory_estimate;
use crate::resolve::{self, NegotiatedLink};
use crate::source::{FILE_SIZE_LIMIT, FileSystem, SourceFile, SourceMap, too_large};
use crate::value::ParameterType;
use lanewise_fabric::config::FabricConfig;
use lanewise_workload::{LoadConfig, WorkloadEntry};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Where a scenario is read from: its text, the catalog that its parts are in, and jobs that are in a file of their own.
#[derive(Clone, Debug)]
pub struct Source {
    file: SourceFile,
    catalog: Catalog,
    jobs: Option<JobFile>,
}

impl Source {
    /// A scenario given as text, with the built-in catalog.
    pub fn from_text(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { file: SourceFile::new(path, text), catalog: catalog(), jobs: None }
    }

    /// A scenario in a file, with the built-in catalog.
    ///
    /// # Errors
    /// When the file cannot be read, is too large or is not UTF-8.
    pub fn read(path: &str, files: &dyn FileSystem) -> Result<Self, Diagnostics> {
        let file = SourceFile::read(path, files).map_err(alone)?;
        Ok(Self { file, catalog: catalog(), jobs: None })
    }

    /// The same with parts of its own in files: a name that ends in `.toml` is looked for in the folder of the scenario.
    ///
    /// A text that is in no file, which is called something like `<text>`, has no folder.
    #[must_use]
    pub fn with_part_files(mut self, files: &'static (dyn FileSystem + Send + Sync)) -> Self {
        if !self.file.path.starts_with('<') {
            let folder = self.folder();
            self.catalog = self.catalog.with_part_files(move |name| {
                SourceFile::read(&beside(&folder, name), files).map_err(|problem| match problem {
                    Problem::UnreadableFile { reason, .. } => reason,
                    other => other.to_string(),
                })
            });
        }
        self
    }

    /// The same with the texts of such files, by the names that the scenario has for them: they are not looked for any more.
    #[must_use]
    pub fn with_part_texts(mut self, texts: impl IntoIterator<Item = (String, String)>) -> Self {
        let folder = self.folder();
        for (name, text) in texts {
            let path = beside(&folder, &name);
            self.catalog.add(&name, SourceFile::new(path, text));
        }
        self
    }

    fn folder(&self) -> PathBuf {
        Path::new(&self.file.path).parent().map(Path::to_path_buf).unwrap_or_default()
    }

    /// The same with another catalog.
    #[must_use]
    pub fn with_catalog(mut self, catalog: Catalog) -> Self {
        self.catalog = catalog;
        self
    }

    /// The same with the jobs of another file in place of its own.
    #[must_use]
    pub fn with_jobs(mut self, jobs: Option<JobFile>) -> Self {
        self.jobs = jobs;
        self
    }
}

/// The path of a part's file, which is named from the folder of the scenario.
fn beside(folder: &Path, name: &str) -> String {
    folder.join(name.strip_prefix("./").unwrap_or(name)).to_string_lossy().into_owned()
}

fn alone(problem: Problem) -> Diagnostics {
    Diagnostics::new(vec![Diagnostic::global(problem)], SourceMap::default())
}

/// A scenario, resolved.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its title, or an empty text.
    pub title: String,
    /// Path it was read from.
    pub path: String,
    /// When the run ends and how exact it is.
    pub run: RunParameters,
    /// What firmware was told.
    pub firmware: FirmwareParameters,
    /// Devices and links.
    pub fabric: FabricConfig,
    /// Who asks for what.
    pub workloads: Vec<Box<dyn LoadConfig>>,
    /// Names of the file's workloads, in its order. Several of a tool that share a machine are one of `workloads`.
    pub workload_names: Vec<String>,
    /// Every value in force and where it came from.
    pub parameters: Vec<ResolvedParameter>,
    /// How every link came up.
    pub links: Vec<NegotiatedLink>,
    /// What the scenario states and nothing reads, or does more than one might think.
    pub remarks: Vec<Remark>,
    tables: Tables,
    sources: SourceMap,
}

/// A value that the scenario or the command line states, and that changes nothing, or does more than one might think.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remark {
    /// Dotted path.
    pub path: String,
    /// As a person would write it.
    pub value: String,
    /// `rig.toml:12` or `command line:1`.
    pub place: String,
    /// What it does.
    pub effect: Effect,
    /// The same in words: `changes nothing`.
    pub does: String,
    /// Why, in a sentence.
    pub reason: String,
}

/// What `explain` prints, in the words of the machine-readable contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Explanation {
    /// Title of the scenario.
    pub title: String,
    /// Every value in force.
    pub parameters: Vec<ExplainedParameter>,
    /// How every link came up.
    pub links: Vec<NegotiatedLink>,
    /// Every port and endpoint with the numbers and addresses that firmware gives it, by host, depth first.
    pub functions: Vec<AddressedFunction>,
    /// What the scenario states and nothing reads, or does more than one might think.
    pub remarks: Vec<Remark>,
}

/// One value in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExplainedParameter {
    /// Dotted path, which is also how an override names it.
    pub path: String,
    /// As a person would write it, unit included.
    pub value: String,
    /// How it is known.
    #[schemars(with = "Provenance")]
    pub provenance: String,
    /// Source, in a sentence.
    pub source: Cow<'static, str>,
    /// `rig.toml:12`, `catalog/PART.toml:5`, `command line:1`, `default` or `computed`; of a part in a file its path and line.
    pub place: Cow<'static, str>,
    /// Cells it was fitted on.
    pub fitted_on: Vec<String>,
    /// A claim about hardware, or a choice of the user.
    pub role: Role,
}

/// Reads and resolves a scenario. Overrides are pairs of a path, as `explain` prints it, and a value.
///
/// # Errors
/// Every problem that was found.
pub fn load(source: &Source, overrides: &[(String, String)]) -> Result<Scenario, Diagnostics> {
    let mut sources = SourceMap::default();
    let mut output = Output::default();
    if source.file.text.len() as u64 > FILE_SIZE_LIMIT.get() {
        return Err(alone(too_large(&source.file.path, format!("{} B", source.file.text.len()))));
    }
    let file_id = sources.add(source.file.clone());
    if let Some(foreign) = foreign::refuse(file_id, &source.file) {
        return Err(Diagnostics::new(vec![foreign], sources));
    }
    let (mut root, damage) = document::parse(file_id, &source.file, &mut output.diagnostics);
    let foreign = if output.diagnostics.is_empty() {
        foreign::refuse_tables(file_id, &source.file, &root)
    } else {
        foreign::refuse_unread(file_id, &source.file)
    };
    if let Some(foreign) = foreign {
        return Err(Diagnostics::new(vec![foreign], sources));
    }
    if let Some(jobs) = &source.jobs {
        jobs.merge_into(&mut root, &mut sources, &mut output.diagnostics);
    }
    let mut overrides = Overrides::new(overrides, &mut sources, &mut output.diagnostics);
    let file = file::read(root, &mut overrides, &source.catalog, &mut sources, &mut output.diagnostics);
    // A file that declares more than is read is refused without working out the part that was read.
    let too_much =
        output.diagnostics.iter().any(|each| matches!(each.problem, Problem::TooManyDevices { .. }));
    let resolution = if too_much { None } else { resolve::resolve(&file, &mut output) };
    match resolution {
        Some(resolution) if output.diagnostics.is_empty() => Ok(Scenario {
            tables: Tables::of(&file),
            title: file.title,
            path: source.file.path.clone(),
            run: resolution.run,
            firmware: resolution.firmware,
            fabric: resolution.fabric,
            workloads: resolution.workloads,
            workload_names: file.workloads.iter().map(|workload| workload.name.clone()).collect(),
            parameters: output.parameters,
            links: resolution.links,
            remarks: remarks(resolution.idle, resolution.cautions, &sources),
            sources,
        }),
        _ => {
            damage.remove_consequences(&source.file, &mut output.diagnostics);
            Err(Diagnostics::new(output.diagnostics, sources))
        }
    }
}

fn remarks(idle: Vec<IdleValue>, cautions: Vec<Caution>, sources: &SourceMap) -> Vec<Remark> {
    let idle = idle.into_iter().map(|IdleValue { path, value, place, reason }| Remark {
        path,
        value,
        place: sources.describe(place),
        effect: Effect::None,
        does: Effect::None.in_words().to_owned(),
        reason: reason.into_owned(),
    });
    let cautions = cautions.into_iter().map(|Caution { path, value, place, effect, reason }| Remark {
        path,
        value,
        place: sources.describe(place),
        effect,
        does: effect.in_words().to_owned(),
        reason,
    });
    idle.chain(cautions).collect()
}

impl Scenario {
    /// Name of one of its workloads.
    pub fn name_of(&self, entry: WorkloadEntry) -> &str {
        &self.workload_names[entry.0 as usize]
    }

    /// Whether a run may take no more memory than `run.memory_limit` allows. True of what was read; a copy that was changed
    /// since may have grown beyond it.
    pub fn fits_memory(&self) -> bool {
        self.memory_estimate() <= self.run.memory_limit.get()
    }

    /// Bytes that a run may take.
    pub fn memory_estimate(&self) -> u64 {
        memory_estimate::estimate(&self.fabric, &self.workloads)
    }

    /// Whether a text is a value of a parameter, a choice it has or a number within its range, as its table says; true also where
    /// no table has the parameter. Whether the whole scenario can be loaded with it, only [`load`] says.
    pub fn accepts(&self, path: &str, text: &str) -> bool {
        self.tables.accepts(path, text)
    }

    /// Every value in force.
    pub fn explained_parameters(&self) -> Vec<ExplainedParameter> {
        self.parameters.iter().map(|parameter| explained(parameter.clone(), &self.sources)).collect()
    }

    /// Every value in force, how every link came up, and what firmware programs into devices.
    pub fn explain(&self) -> Explanation {
        Explanation {
            title: self.title.clone(),
            parameters: self.explained_parameters(),
            links: self.links.clone(),
            functions: addresses::functions(&self.fabric),
            remarks: self.remarks.clone(),
        }
    }

    /// The same of a scenario that is not needed any more: a large one has a million values, none of which is copied.
    pub fn into_explanation(self) -> Explanation {
        let Self { title, parameters, fabric, links, remarks, sources, .. } = self;
        let functions = addresses::functions(&fabric);
        drop(fabric);
        let parameters = parameters.into_iter().map(|parameter| explained(parameter, &sources));
        Explanation { title, parameters: parameters.collect(), links, functions, remarks }
    }

    /// Claims about hardware in force that no specification makes: what the results may be sensitive to.
    pub fn assumptions(&self) -> impl Iterator<Item = &ResolvedParameter> {
        self.parameters.iter().filter(|parameter| parameter.is_assumption())
    }

    /// What is wrong with a change of it.
    pub(crate) fn refuse(&self, diagnostic: Diagnostic) -> Diagnostics {
        Diagnostics::new(vec![diagnostic], self.sources.clone())
    }
}

fn explained(parameter: ResolvedParameter, sources: &SourceMap) -> ExplainedParameter {
    let ResolvedParameter { path, value, provenance, source, fitted_on, role, origin, .. } = parameter;
    let place = match origin {
        Origin::Written(_, place) => Cow::Owned(sources.describe(place)),
        Origin::Default => Cow::Borrowed("default"),
        Origin::Computed => Cow::Borrowed("computed"),
    };
    ExplainedParameter { path, value, provenance: provenance.show(), source, place, fitted_on, role }
}
