//! Parameters as data: from one table per kind of component come the typed settings, the checks, `explain`, the
//! JSON Schema and the reference page. A new parameter is one new line in one table.

use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::document::{Node, Table, Value};
use crate::problem::Problem;
use crate::source::Place;
use crate::value::{ParameterType, Reading, choices, from_text};
use serde_json::Value as Json;

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

impl Provenance {
    /// The word for it, as files and results have it.
    pub fn word(self) -> String {
        self.show()
    }
}

/// Whether a parameter says something about hardware or only what the user wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A statement about hardware, which can be wrong and therefore needs a source.
    Claim,
    /// A wish: how long to run, what to transfer, where to plug a card.
    Choice,
}

impl Role {
    /// `claim` or `choice`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Choice => "choice",
        }
    }
}

/// What holds when nothing is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldDefault {
    /// As a person would write it.
    Text(&'static str),
    /// It must be written.
    Required,
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
    /// Whether a text is a value of the parameter, within its range.
    pub accepts: fn(&str) -> bool,
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
        $name:ident, $role:ident $title:literal {
            $(
                $(#[doc = $field_doc:literal])+
                $key:ident: $type:ty = $default:tt $(in $low:literal to $high:literal)?,
                $provenance:ident $source:literal;
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
                fields: &[$($crate::parameter::Field {
                    key: stringify!($key),
                    doc: concat!($($field_doc, "\n"),+),
                    expected: <$type as $crate::value::ParameterType>::expected,
                    schema: <$type as $crate::value::ParameterType>::schema,
                    default: $crate::parameter::field_default!($default),
                    range: $crate::parameter::field_range!($($low $high)?),
                    provenance: $crate::parameter::Provenance::$provenance,
                    source: $source,
                    accepts: |text| $crate::parameter::accepts::<$type>(
                        text,
                        $crate::parameter::field_range!($($low $high)?),
                    ),
                },)*],
                flattened: &[$(&<$flat_type as $crate::parameter::ParameterTable>::SCHEMA,)*],
                groups: &[$((
                    stringify!($group),
                    &<$group_type as $crate::parameter::ParameterTable>::SCHEMA,
                ),)*],
            };

            fn read(reader: &mut $crate::parameter::Reader<'_, '_>) -> Option<Self> {
                let schema = &<Self as $crate::parameter::ParameterTable>::SCHEMA;
                let mut fields = schema.fields.iter();
                // Everything is read before anything is given up, so that every problem is reported.
                $(let $key = fields.next().and_then(|field| reader.field::<$type>(field, schema.role));)*
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

/// Whether a text is a value of a type, within a range.
pub(crate) fn accepts<T: ParameterType>(text: &str, range: Option<(&str, &str)>) -> bool {
    from_text::<T>(text).is_some_and(|value| range.is_none_or(|(low, high)| value.within(low, high)))
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
    pub source: String,
    /// Cells it was fitted on.
    pub fitted_on: Vec<String>,
    /// A claim about hardware, or a choice.
    pub role: Role,
    /// Where it was decided.
    pub origin: Origin,
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
}

/// Reads one component from its layers.
pub struct Reader<'t, 'o> {
    path: String,
    layers: Vec<LayerTable<'t>>,
    output: &'o mut Output,
}

/// Where a value comes from: provenance, source, and the cells it was fitted on.
type Annotation = (Provenance, String, Vec<String>);

/// Keys of a value with its provenance.
const ANNOTATION_KEYS: [&str; 4] = ["value", "provenance", "source", "fitted_on"];

impl<'t, 'o> Reader<'t, 'o> {
    /// A component at `path`, its layers strongest first.
    pub fn new(path: impl Into<String>, layers: Vec<LayerTable<'t>>, output: &'o mut Output) -> Self {
        Self { path: path.into(), layers, output }
    }

    /// The parameter's value: from the strongest layer that has it, or its default. A wrong value is reported and
    /// stands for the default, so that the rest can be checked; nothing only when a required one is missing.
    pub fn field<T: ParameterType>(&mut self, field: &Field, role: Role) -> Option<T> {
        let path = format!("{}.{}", self.path, field.key);
        let written = self.layers.iter().find_map(|layer| Some((*layer, layer.table.get(field.key)?)));
        if let Some((layer, node)) = written
            && let Some(value) = self.written::<T>(&path, field, role, layer.layer, node)
        {
            return Some(value);
        }
        match (field.default, written) {
            (FieldDefault::Text(text), _) => {
                let value = from_text::<T>(text)?;
                if written.is_none() {
                    self.push(
                        path,
                        &value,
                        (field.provenance, field.source.to_owned(), Vec::new()),
                        role,
                        Origin::Default,
                    );
                }
                Some(value)
            }
            (FieldDefault::Required, None) => self.missing(field.key, (field.expected)()),
            (FieldDefault::Required, Some(_)) => None,
        }
    }

    /// The table under a key.
    pub fn group<G: ParameterTable>(&mut self, key: &str) -> Option<G> {
        let path = format!("{}.{key}", self.path);
        let mut layers = Vec::new();
        for layer in &self.layers {
            match layer.table.get(key).map(|node| (node, node.as_table())) {
                Some((_, Some(table))) => layers.push(LayerTable { layer: layer.layer, table }),
                Some((node, None)) => {
                    let expected = format!("a table with the parameters of {}", G::SCHEMA.name);
                    let problem = Problem::WrongType { path: path.clone(), found: node.describe(), expected };
                    self.output.diagnostics.push(Diagnostic::at(node.place, problem));
                }
                None => {}
            }
        }
        G::read(&mut Reader::new(path, layers, self.output))
    }

    fn written<T: ParameterType>(
        &mut self,
        path: &str,
        field: &Field,
        role: Role,
        layer: Layer,
        node: &Node,
    ) -> Option<T> {
        let (inner, (provenance, source, fitted_on)) = self.annotation(path, role, layer, node)?;
        let mut reading = Reading { path, diagnostics: &mut self.output.diagnostics };
        let value = T::read(inner, &mut reading)?;
        if let Some((low, high)) = field.range
            && !value.within(low, high)
        {
            return reading.out_of_range(inner, low, high);
        }
        let origin = Origin::Written(layer, inner.place);
        self.push(path.to_owned(), &value, (provenance, source, fitted_on), role, origin);
        Some(value)
    }

    /// Splits `{ value = …, provenance = …, source = … }`; a plain value stands for itself.
    fn annotation<'n>(
        &mut self,
        path: &str,
        role: Role,
        layer: Layer,
        node: &'n Node,
    ) -> Option<(&'n Node, Annotation)> {
        let Some(table) = node.as_table().filter(|table| table.get("value").is_some()) else {
            if layer == Layer::Catalog && role == Role::Claim {
                let problem = Problem::MissingProvenance { path: path.to_owned() };
                let hint = "write { value = …, provenance = \"datasheet\", source = \"…\" }";
                self.output.diagnostics.push(Diagnostic::at(node.place, problem).hint(hint));
            }
            let source = match layer {
                Layer::Override => "given on the command line",
                Layer::Scenario => "written in the scenario without a source",
                Layer::Catalog => "written in the catalog without a source",
            };
            return Some((node, (Provenance::Assumed, source.to_owned(), Vec::new())));
        };
        check_keys(table, path, &ANNOTATION_KEYS, &mut self.output.diagnostics);
        let mut reading = Reading { path, diagnostics: &mut self.output.diagnostics };
        let provenance = match table.get("provenance") {
            Some(node) => Provenance::read(node, &mut reading).unwrap_or(Provenance::Assumed),
            None if layer == Layer::Catalog => {
                let problem = Problem::MissingProvenance { path: path.to_owned() };
                reading.refuse::<()>(node.place, problem);
                Provenance::Assumed
            }
            None => Provenance::Assumed,
        };
        let source =
            table.get("source").and_then(|node| String::read(node, &mut reading)).unwrap_or_default();
        let fitted_on = table.get("fitted_on").and_then(|node| Vec::<String>::read(node, &mut reading));
        Some((table.get("value")?, (provenance, source, fitted_on.unwrap_or_default())))
    }

    fn push<T: ParameterType>(
        &mut self,
        path: String,
        value: &T,
        (provenance, source, fitted_on): Annotation,
        role: Role,
        origin: Origin,
    ) {
        let value = value.show();
        self.output.parameters.push(ResolvedParameter {
            path,
            value,
            provenance,
            source,
            fitted_on,
            role,
            origin,
        });
    }

    fn missing<T>(&mut self, key: &str, expected: String) -> Option<T> {
        let problem = Problem::MissingKey { path: self.path.clone(), key: key.to_owned(), expected };
        // Any place inside the component beats none.
        let place =
            self.layers.iter().find_map(|layer| layer.table.iter().next().map(|entry| entry.key_place));
        self.output.diagnostics.push(match place {
            Some(place) => Diagnostic::at(place, problem),
            None => Diagnostic::global(problem),
        });
        None
    }
}

/// So many unknown keys of one table are reported; the rest would only repeat the lesson.
const UNKNOWN_KEYS_LIMIT: usize = 50;

/// Reports keys that are not allowed.
pub(crate) fn check_keys(table: &Table, path: &str, allowed: &[&str], diagnostics: &mut Vec<Diagnostic>) {
    let unknown = table.iter().filter(|entry| !allowed.contains(&entry.key.as_str()));
    for entry in unknown.take(UNKNOWN_KEYS_LIMIT) {
        let found = crate::document::shortened(&entry.key);
        let problem = Problem::UnknownKey { path: path.to_owned(), found };
        let hint = did_you_mean(&entry.key, allowed.iter().copied())
            .or_else(|| (allowed.len() <= 12).then(|| format!("allowed: {}", allowed.join(", "))));
        diagnostics.push(Diagnostic::at(entry.key_place, problem).maybe_hint(hint));
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
    let groups = schema.all_groups();
    let mut allowed: Vec<&str> = schema.all_fields().iter().map(|field| field.key).collect();
    allowed.extend(groups.iter().map(|(key, _)| *key));
    allowed.extend(structural);
    check_keys(table, path, &allowed, diagnostics);
    for (key, group) in groups {
        if let Some(Node { value: Value::Table(inner), .. }) = table.get(key) {
            check_table(inner, &format!("{path}.{key}"), group, &[], diagnostics);
        }
    }
}
