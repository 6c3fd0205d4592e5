//! Parameters as data: from one table per kind of component come the typed settings, the checks, `explain`, the
//! JSON Schema and the reference page. A new parameter is one new line in one table.

use crate::diagnostic::{Diagnostic, hint_unless_crowded};
use crate::document::{Entry, Node, Table, Value, shortened};
use crate::idle::{Caution, Idle};
use crate::nearest::{asking, key_meant};
use crate::parameters::LinkParameters;
use crate::problem::Problem;
use crate::reader::Reader;
use crate::source::Place;
use crate::structure::ComponentKind;
use crate::value::{AnySlot, ParameterType, Slot, choices};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value as Json;
use std::borrow::Cow;
use std::collections::BTreeSet;

choices! {
    /// Where a value comes from.
    Provenance, "where the value comes from" {
        /// The PCI Express specification, or another one that is named.
        Spec = "spec",
        /// A vendor's data sheet, manual or source code.
        Datasheet = "datasheet",
        /// A published measurement.
        Published = "published",
        /// Fitted to measured cells, which are named.
        Calibrated = "calibrated",
        /// Engineering judgement.
        Assumed = "assumed",
    }
}

impl JsonSchema for Provenance {
    fn schema_name() -> Cow<'static, str> {
        "Provenance".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = Self::WORDS.iter().map(|(word, _)| *word).collect();
        json_schema!({ "enum": words, "description": "How a value is known." })
    }
}

impl Provenance {
    /// The word for it, as files and results have it.
    pub fn word(self) -> String {
        self.show()
    }
}

/// Whether a parameter says something about hardware or only what the user wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A statement about hardware, which can be wrong and therefore needs a source.
    Claim,
    /// A wish: how long to run, what to transfer, where to plug a card.
    Choice,
}

/// What holds when nothing is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldDefault {
    /// As a person would write it.
    Text(&'static str),
    /// It must be written.
    Required,
}

/// What a text of a scenario is the name of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Names {
    /// Components, or ports of them: `nic`, `nic[3]`, `nic[*].port1`.
    Components,
    /// Places in the list `devices` beside it, counted from 0.
    Places,
}

impl Names {
    /// The word that the schema has for it, under `x-names`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Components => "components",
            Self::Places => "places",
        }
    }
}

/// Why a parameter stays as it is while a run goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stays {
    /// It is one of the whole run.
    Run,
    /// Link training settled it.
    Training,
    /// Buffers are as large as it says, or hold what is as large.
    Buffers,
    /// It is the size of a table.
    Table,
    /// It is one of a workload.
    Workload,
    /// Nothing more can be said than that it is one of the machine.
    Built,
}

impl Stays {
    /// Every reason.
    pub const ALL: [Self; 6] =
        [Self::Run, Self::Training, Self::Buffers, Self::Table, Self::Workload, Self::Built];

    /// Of a table that says nothing of it.
    pub(crate) const fn of(role: Role) -> Self {
        match role {
            Role::Claim => Self::Built,
            Role::Choice => Self::Workload,
        }
    }

    /// In words.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Run => "all of the run so far was made with it",
            Self::Training => {
                "link training agreed on it, and a link trains again only when nothing is in flight on it"
            }
            Self::Buffers => "buffers were built for it, and what is in them was made for it",
            Self::Table => "it is the size of a table that is in use",
            Self::Workload => "the workload began with it, and what it has in flight was made for it",
            Self::Built => "the machine was built with it",
        }
    }
}

/// What may become of a parameter while a run goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InARun {
    /// It may change.
    Live {
        /// From when on the new value holds, or for what.
        from: &'static str,
        /// What there has to be at the start, where something has.
        needs: Option<&'static str>,
    },
    /// It may not.
    Stays(Stays),
}

/// One parameter.
#[derive(Debug)]
pub struct Field {
    /// Its key.
    pub key: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// What a person should write.
    pub expected: fn() -> String,
    /// JSON Schema of what may be written.
    pub schema: fn() -> Json,
    /// What holds when nothing is written.
    pub default: FieldDefault,
    /// Lowest and highest value, as a person would write them.
    pub range: Option<(&'static str, &'static str)>,
    /// Where the default comes from.
    pub provenance: Provenance,
    /// Source of the default, in a sentence.
    pub source: &'static str,
    /// Whether the default is chosen so that nothing depends on it: something is switched off, or never the limit.
    pub is_out_of_the_way: bool,
    /// Whether a text is a value of the parameter, within its range.
    pub accepts: fn(&str) -> bool,
    /// What its texts name, beside words of its own such as "auto"; none for other values.
    pub names: Option<Names>,
    /// What may become of it while a run goes on, where that is not what its table says.
    pub in_a_run: Option<InARun>,
}

impl Field {
    /// What may become of it while a run goes on, in its table.
    pub(crate) fn in_a_run(&self, table: &TableSchema) -> InARun {
        self.in_a_run.unwrap_or(InARun::Stays(table.stays))
    }
}

/// The parameters of one kind of component.
#[derive(Debug)]
pub struct TableSchema {
    /// Its name in the reference.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Claims or choices.
    pub role: Role,
    /// Why its parameters stay as they are while a run goes on, all but those that say otherwise.
    pub stays: Stays,
    /// Its own parameters.
    pub fields: &'static [Field],
    /// Tables whose parameters stand beside its own.
    pub flattened: &'static [&'static TableSchema],
    /// Tables under a key of their own.
    pub groups: &'static [(&'static str, &'static TableSchema)],
}

impl TableSchema {
    /// Every parameter written directly in the table.
    pub fn all_fields(&'static self) -> Vec<&'static Field> {
        let inner = self.flattened.iter().flat_map(|table| table.all_fields());
        self.fields.iter().chain(inner).collect()
    }

    /// Every table under a key of its own.
    pub fn all_groups(&'static self) -> Vec<(&'static str, &'static TableSchema)> {
        let inner = self.flattened.iter().flat_map(|table| table.all_groups());
        self.groups.iter().copied().chain(inner).collect()
    }
}

/// Settings of one kind of component, read from layers of tables.
pub trait ParameterTable: Sized {
    /// The table of parameters.
    const SCHEMA: TableSchema;

    /// Reads every parameter. Nothing when one that is required is missing; problems are in the reader.
    fn read(reader: &mut Reader<'_, '_>) -> Option<Self>;
}

/// Declares a settings struct and its [`TableSchema`] from one table.
macro_rules! parameters {
    (
        $(#[doc = $doc:literal])+
        $name:ident, $role:ident $title:literal $(stays $stays:ident)? {
            $(
                $(#[doc = $field_doc:literal])+
                $key:ident: $type:ty = $default:tt $(in $low:literal to $high:literal)? $(names $names:ident)?
                $(live $from:literal $(needs $needs:literal)?)? $(stays $field_stays:ident)?,
                $provenance:ident $($away:ident)? $source:literal;
            )*
            $(flatten $flat:ident: $flat_type:ty;)*
            $(group $group:ident: $group_type:ty;)*
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, PartialEq, Debug)]
        pub struct $name {
            $($(#[doc = $field_doc])+ pub $key: $type,)*
            $(#[doc = "Parameters that stand beside its own."] pub $flat: $flat_type,)*
            $(#[doc = "Parameters under a key of their own."] pub $group: $group_type,)*
        }

        impl $crate::parameter::ParameterTable for $name {
            const SCHEMA: $crate::parameter::TableSchema = $crate::parameter::TableSchema {
                name: $title,
                doc: concat!($($doc, "\n"),+),
                role: $crate::parameter::Role::$role,
                stays: $crate::parameter::table_stays!($role $($stays)?),
                fields: &[$($crate::parameter::Field {
                    key: stringify!($key),
                    doc: concat!($($field_doc, "\n"),+),
                    expected: <$type as $crate::value::ParameterType>::expected,
                    schema: <$type as $crate::value::ParameterType>::schema,
                    default: $crate::parameter::field_default!($default),
                    range: $crate::parameter::field_range!($($low $high)?),
                    provenance: $crate::parameter::Provenance::$provenance,
                    source: $source,
                    is_out_of_the_way: $crate::parameter::field_away!($($away)?),
                    accepts: |text| $crate::parameter::accepts::<$type>(
                        text,
                        $crate::parameter::field_range!($($low $high)?),
                    ),
                    names: $crate::parameter::field_names!($($names)?),
                    in_a_run: $crate::parameter::field_in_a_run!(
                        $(live $from $(needs $needs)?)? $(stays $field_stays)?
                    ),
                },)*],
                flattened: &[$(&<$flat_type as $crate::parameter::ParameterTable>::SCHEMA,)*],
                groups: &[$((
                    stringify!($group),
                    &<$group_type as $crate::parameter::ParameterTable>::SCHEMA,
                ),)*],
            };

            fn read(reader: &mut $crate::reader::Reader<'_, '_>) -> Option<Self> {
                let schema = &<Self as $crate::parameter::ParameterTable>::SCHEMA;
                let mut fields = schema.fields.iter();
                // Everything is read before anything is given up, so that every problem is reported.
                $(let $key = fields.next().and_then(|field| reader.field::<$type>(field, schema));)*
                $(let $flat = <$flat_type as $crate::parameter::ParameterTable>::read(reader);)*
                $(let $group = reader.group::<$group_type>(stringify!($group));)*
                Some(Self { $($key: $key?,)* $($flat: $flat?,)* $($group: $group?,)* })
            }
        }
    };
}
pub(crate) use parameters;

/// The default of a field in [`parameters!`].
macro_rules! field_default {
    (required) => {
        $crate::parameter::FieldDefault::Required
    };
    ($text:literal) => {
        $crate::parameter::FieldDefault::Text($text)
    };
}
pub(crate) use field_default;

/// The range of a field in [`parameters!`].
macro_rules! field_range {
    () => {
        None
    };
    ($low:literal $high:literal) => {
        Some(($low, $high))
    };
}
pub(crate) use field_range;

/// Whether the default of a field in [`parameters!`] is out of the way.
macro_rules! field_away {
    () => {
        false
    };
    (away) => {
        true
    };
}
pub(crate) use field_away;

/// What a field names in [`parameters!`].
macro_rules! field_names {
    () => {
        None
    };
    ($names:ident) => {
        Some($crate::parameter::Names::$names)
    };
}
pub(crate) use field_names;

/// Why the fields of a table in [`parameters!`] stay.
macro_rules! table_stays {
    ($role:ident) => {
        $crate::parameter::Stays::of($crate::parameter::Role::$role)
    };
    ($role:ident $stays:ident) => {
        $crate::parameter::Stays::$stays
    };
}
pub(crate) use table_stays;

/// What may become of a field in [`parameters!`] while a run goes on.
macro_rules! field_in_a_run {
    () => {
        None
    };
    (live $from:literal) => {
        Some($crate::parameter::InARun::Live { from: $from, needs: None })
    };
    (live $from:literal needs $needs:literal) => {
        Some($crate::parameter::InARun::Live { from: $from, needs: Some($needs) })
    };
    (stays $stays:ident) => {
        Some($crate::parameter::InARun::Stays($crate::parameter::Stays::$stays))
    };
}
pub(crate) use field_in_a_run;

/// Whether a text is a value of a type, within a range.
pub(crate) fn accepts<T: ParameterType>(text: &str, range: Option<(&str, &str)>) -> bool {
    (&mut Slot::<T>(None) as &mut dyn AnySlot).accepts(text, range)
}

/// Which layer a value was written in, strongest first. What no layer says is the default.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Layer {
    /// On the command line.
    Override,
    /// In the scenario.
    Scenario,
    /// In the catalog part.
    Catalog,
    /// In the set of defaults for hosts of its generation and maker.
    Defaults,
}

/// One layer's table.
#[derive(Clone, Copy, Debug)]
pub struct LayerTable<'t> {
    /// Which layer.
    pub layer: Layer,
    /// What is written there.
    pub table: &'t Table,
}

/// Where a resolved value was decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Written in a layer, there.
    Written(Layer, Place),
    /// Nowhere: the default.
    Default,
    /// Worked out from the specification or the rest of the scenario.
    Computed,
}

/// One value in force and where it came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResolvedParameter {
    /// Dotted path, which is also how an override names it.
    pub path: String,
    /// As a person would write it.
    pub value: String,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Source, in a sentence.
    pub source: Cow<'static, str>,
    /// Cells it was fitted on.
    pub fitted_on: Vec<String>,
    /// A claim about hardware, or a choice.
    pub role: Role,
    /// Where it was decided.
    pub origin: Origin,
    /// Chosen so that nothing depends on it: something is switched off, or never the limit. Said where the value is decided: `away` in
    /// the declaration of a default, `out_of_the_way` beside a value that is written.
    pub is_out_of_the_way: bool,
    /// What may become of it while a run goes on.
    pub in_a_run: InARun,
}

impl ResolvedParameter {
    /// A claim about hardware that the specification does not make.
    pub fn is_assumption(&self) -> bool {
        self.role == Role::Claim && self.provenance != Provenance::Spec
    }
}

/// What reading collects.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Every value in force.
    pub parameters: Vec<ResolvedParameter>,
    /// Every problem.
    pub diagnostics: Vec<Diagnostic>,
    /// What nothing reads.
    pub(crate) idle: Idle,
    /// What costs more than one might think.
    pub(crate) cautions: Vec<Caution>,
    /// Instances of endpoints that loads use.
    pub(crate) loaded: BTreeSet<usize>,
}

/// So many unknown keys of one table are reported; the rest would only repeat the lesson.
const UNKNOWN_KEYS_LIMIT: usize = 50;

/// Where a key belongs that stands below a table, but is one of the whole scenario.
fn elsewhere(entry: &Entry) -> Option<String> {
    let key = entry.key.as_str();
    match key {
        _ if is_component(entry) => {
            Some(format!("a component is a table of its own, such as `[endpoint.{}]`", shortened(key)))
        }
        "title" => Some("`title` belongs before the first `[table]`".to_owned()),
        "workload" => Some("workloads are tables of their own, `[[workload]]`".to_owned()),
        "run" | "firmware" => Some(format!("it is a table of its own, `[{key}]`")),
        _ => ComponentKind::from_word(key)
            .map(|_| format!("a component is a table of its own, `[{key}.NAME]`")),
    }
}

/// Reports keys that are not allowed.
pub(crate) fn check_keys(table: &Table, path: &str, allowed: &[&str], diagnostics: &mut Vec<Diagnostic>) {
    check_keys_among(table, path, allowed, &[], diagnostics);
}

/// A component that stands inside another one.
pub(crate) fn is_component(entry: &Entry) -> bool {
    entry.node.as_table().is_some_and(|table| table.get("attach").is_some())
}

/// Where a key belongs that another table of the same component has; `around` are such tables by their keys.
fn in_a_group(path: &str, key: &str, around: &[(&str, Vec<&str>)]) -> Option<String> {
    let (group, _) = around.iter().find(|(_, keys)| keys.contains(&key))?;
    Some(match *group {
        "" => {
            let (component, group) = path.rsplit_once('.').unwrap_or(("", path));
            let key = shortened(key);
            format!(
                "it belongs to the component itself, outside the braces of `{group}`: `{component}.{key}`"
            )
        }
        group => format!("write `{group} = {{ {} = … }}`", shortened(key)),
    })
}

fn check_keys_among(
    table: &Table,
    path: &str,
    allowed: &[&str],
    around: &[(&str, Vec<&str>)],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut unknown = table.iter().filter(|entry| !allowed.contains(&entry.key.as_str()));
    for entry in unknown.by_ref().take(UNKNOWN_KEYS_LIMIT) {
        let found = shortened(&entry.key);
        let problem = Problem::UnknownKey { path: path.to_owned(), found };
        let all = || match allowed.len() <= 12 {
            true => format!("allowed: {}", allowed.join(", ")),
            false => {
                format!("take it out, and `lanewise explain FILE '{path}.*'` prints the keys that there are")
            }
        };
        let hint = hint_unless_crowded(diagnostics, || {
            elsewhere(entry)
                .or_else(|| in_a_group(path, &entry.key, around))
                .or_else(|| key_meant(&entry.key, allowed).map(asking))
                .or_else(|| Some(all()))
        });
        diagnostics.push(Diagnostic::at(entry.key_place, problem).maybe_hint(hint));
    }
    let more = unknown.count();
    if more > 0
        && let Some(last) = diagnostics.last_mut()
    {
        last.hint = Some(format!("{more} more keys of this table are unknown"));
    }
}

/// Reports keys that neither the schema nor `structural` has, in the table and in its groups.
pub(crate) fn check_table(
    table: &Table,
    path: &str,
    schema: &'static TableSchema,
    structural: &[&str],
    diagnostics: &mut Vec<Diagnostic>,
) {
    check_table_of(table, path, schema, structural, &[], diagnostics);
}

/// Reports keys that a group of a component does not have, and says which of them the component has.
pub(crate) fn check_group(
    table: &Table,
    path: &str,
    schema: &'static TableSchema,
    of: &'static TableSchema,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let outer: Vec<&str> = of.all_fields().iter().map(|field| field.key).collect();
    check_table_of(table, path, schema, &[], &outer, diagnostics);
}

fn check_table_of(
    table: &Table,
    path: &str,
    schema: &'static TableSchema,
    structural: &[&str],
    outer: &[&str],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let groups = schema.all_groups();
    let mut allowed: Vec<&str> = schema.all_fields().iter().map(|field| field.key).collect();
    allowed.extend(groups.iter().map(|(key, _)| *key));
    allowed.extend(structural);
    let keys_of = |schema: &'static TableSchema| schema.all_fields().iter().map(|field| field.key).collect();
    let mut around: Vec<(&str, Vec<&str>)> =
        groups.iter().map(|(key, group)| (*key, keys_of(group))).collect();
    if structural.contains(&"link") {
        around.push(("link", keys_of(&LinkParameters::SCHEMA)));
    }
    around.push(("", outer.to_vec()));
    check_keys_among(table, path, &allowed, &around, diagnostics);
    for (key, group) in groups {
        if let Some(Node { value: Value::Table(inner), .. }) = table.get(key) {
            check_table_of(inner, &format!("{path}.{key}"), group, &[], &allowed, diagnostics);
        }
    }
}
