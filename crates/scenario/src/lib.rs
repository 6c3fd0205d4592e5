//! Scenario files: from what a person wrote to what the simulator reads.
//!
//! ```text
//! scenario.toml ──► ScenarioFile ──► Scenario { fabric, workloads, run, parameters }
//!               parse             resolve
//! ```
//!
//! | file | does |
//! |---|---|
//! | `source.rs`, `foreign.rs`, `document.rs`, `syntax.rs` | texts, what is no scenario, places, the TOML tree, what could not be read of it |
//! | `quantity.rs`, `value/` | numbers with units; the types a parameter can have |
//! | `parameter.rs`, `parameters/` | parameters as data, one table per kind of component |
//! | `reader.rs`, `catalog.rs`, `overrides.rs`, `file.rs` | the layers of a value: command line, scenario, part, default |
//! | `structure.rs`, `settings.rs`, `variants.rs` | kinds of components; what was read of one; one of a group set apart |
//! | `slots.rs`, `topology.rs` | slots and ports; the tree of devices |
//! | `resolve/` | link training, payload sizes, credits and timers, the fabric's configuration |
//! | `problem.rs`, `diagnostic.rs`, `nearest.rs` | what can be wrong, how it is shown, what was meant |
//! | `scenario.rs`, `addresses.rs` | the result; `explain`, with numbers and addresses as firmware gives them out |
//! | `schema.rs`, `reference.rs` | JSON Schema; reference pages |
//!
//! Every value is looked for in five layers, strongest first: the command line, the scenario file, the catalog
//! part, the set of defaults for hosts of its generation and maker, the default. Every value knows which of them it came from. Wrong input is never a panic: it is a list of
//! [`Diagnostic`]s with codes, places and hints, all of them at once.
//!
//! Leaves out: writing scenario files, and reading them from live machines.

mod accepts;
mod addresses;
mod axes;
mod catalog;
mod defaults;
mod diagnostic;
mod document;
mod file;
mod foreign;
mod idle;
mod job_file;
mod json;
mod link_parts;
mod live;
mod nearest;
mod overrides;
mod parameter;
mod parameters;
mod problem;
mod quantity;
mod reader;
mod reference;
mod relative;
mod resolve;
mod scenario;
mod schema;
mod settings;
mod slots;
mod source;
mod structure;
mod syntax;
mod topology;
mod value;
mod variants;

pub use addresses::{AddressedFunction, FunctionKind, Region, Window};
pub use axes::{Axis, axes};
pub use catalog::{Catalog, PartListing, PartParameter, PartRecord, Parts, catalog};
pub use diagnostic::{Diagnostic, DiagnosticRecord, Diagnostics};
pub use file::name_order;
pub use idle::Effect;
pub use job_file::{JobFile, JobOption, WrittenJob};
pub use lanewise_workload::LoadConfig;
pub use live::{Changed, ChangedValue, change, live_markdown, over};
pub use parameter::{InARun, Layer, Origin, Provenance, ResolvedParameter, Role, Stays};
pub use parameters::{FirmwareParameters, MpsPolicy, RunParameters, RunUntil};
pub use problem::{Problem, all_codes};
pub use quantity::{Dimension, Unit, units};
pub use reference::{problems_markdown, reference_markdown};
pub use resolve::NegotiatedLink;
pub use scenario::{ExplainedParameter, Explanation, Remark, Scenario, Source, load};
pub use schema::schema;
pub use source::{FILE_SIZE_LIMIT, FileSystem, NativeFiles, Place, SourceFile};
pub use structure::ComponentKind;
pub use topology::DEVICE_LIMIT;
pub use value::{Auto, Fraction, PayloadSize};

/// A time as scenarios have it, with its unit: `250 us`. None for anything else.
pub fn span_from_text(text: &str) -> Option<lanewise_units::Span> {
    value::from_text(text)
}
