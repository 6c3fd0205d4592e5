//! Reads parameters from layers: the strongest that has a value decides, and the value remembers which it was.

use crate::diagnostic::Diagnostic;
use crate::document::{Node, Table, Value};
use crate::file::Component;
use crate::parameter::{
    Field, FieldDefault, Layer, LayerTable, Origin, Output, ParameterTable, Provenance, ResolvedParameter,
    Role, TableSchema, check_keys, check_table,
};
use crate::problem::Problem;
use crate::schema::one_line;
use crate::source::Place;
use crate::structure::ComponentKind;
use crate::value::{AnySlot, ParameterType, Reading, Slot};
use std::borrow::Cow;

/// Reads one component from its layers.
pub struct Reader<'t, 'o> {
    path: String,
    layers: Vec<LayerTable<'t>>,
    place: Option<Place>,
    /// Whether a layer could not be read, which may have had what nobody else has.
    lacks_a_layer: bool,
    /// Whether it names no part of the catalog, which could have what is missing.
    lacks_a_part: bool,
    output: &'o mut Output,
}

/// Where a value comes from: provenance, source, and the cells it was fitted on.
type Annotation = (Provenance, Cow<'static, str>, Vec<String>, bool);

/// Keys of a value with its provenance.
const ANNOTATION_KEYS: [&str; 5] = ["value", "provenance", "source", "fitted_on", "out_of_the_way"];

/// Says the range of the parameter, where a type could only say what it can hold.
fn narrow(diagnostics: &mut [Diagnostic], field: &Field) {
    let Some((lowest, highest)) = field.range else { return };
    for diagnostic in diagnostics {
        if let Problem::OutOfRange { low, high, .. } = &mut diagnostic.problem {
            (*low, *high) = (lowest.to_owned(), highest.to_owned());
        }
    }
}

/// The first entry of a list that lies outside the range of its parameter.
fn outlier<'n>(node: &'n Node, low: &str, high: &str, slot: &mut dyn AnySlot) -> Option<&'n Node> {
    let Value::Array(items) = &node.value else { return None };
    items.iter().find(|item| {
        let alone = Node { place: item.place, value: Value::Array(vec![(*item).clone()]) };
        let mut reading = Reading { path: "", diagnostics: &mut Vec::new() };
        slot.read(&alone, &mut reading) && !slot.within(low, high)
    })
}

/// Reads a table that is an entry of a list; nothing when anything in it is wrong.
pub fn read_entry<P: ParameterTable + ParameterType>(node: &Node, reading: &mut Reading<'_>) -> Option<P> {
    let Some(table) = node.as_table() else { return reading.wrong_type::<P, _>(node) };
    check_table(table, reading.path, &P::SCHEMA, &[], reading.diagnostics);
    let mut output = Output::default();
    let layers = vec![LayerTable { layer: Layer::Scenario, table }];
    let entry =
        <P as ParameterTable>::read(&mut Reader::new(reading.path, layers, &mut output).at(node.place));
    let failed = !output.diagnostics.is_empty();
    reading.diagnostics.append(&mut output.diagnostics);
    entry.filter(|_| !failed)
}

impl<'t, 'o> Reader<'t, 'o> {
    /// A component at `path`, its layers strongest first.
    pub fn new(path: impl Into<String>, layers: Vec<LayerTable<'t>>, output: &'o mut Output) -> Self {
        Self { path: path.into(), layers, place: None, lacks_a_layer: false, lacks_a_part: false, output }
    }

    /// A component as written.
    pub fn of(component: &'t Component, output: &'o mut Output) -> Self {
        let lacks_a_layer = component.part_is_unreadable;
        let has_parts = matches!(component.kind, ComponentKind::Endpoint | ComponentKind::Switch);
        let lacks_a_part = has_parts && component.part.is_none();
        let (path, layers, place) = (component.name.clone(), component.layers(), Some(component.place));
        Self { path, layers, place, lacks_a_layer, lacks_a_part, output }
    }

    /// The same, knowing where the component is named: the place of what is missing from an empty one.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// The parameter's value: from the strongest layer that has it, or its default. A wrong value is reported, and what would hold
    /// without it stands in, so that the rest can be checked; nothing only when a required one is missing.
    pub fn field<T: ParameterType>(&mut self, field: &Field, of: &TableSchema) -> Option<T> {
        let mut slot = Slot(None);
        if self.fill(field, of, &mut slot) { slot.0 } else { None }
    }

    fn fill(&mut self, field: &Field, of: &TableSchema, slot: &mut dyn AnySlot) -> bool {
        let path = format!("{}.{}", self.path, field.key);
        let mut is_written = false;
        for at in 0..self.layers.len() {
            let LayerTable { layer, table } = self.layers[at];
            if let Some(node) = table.get(field.key) {
                is_written = true;
                if self.fill_from(node, layer, &path, (field, of), slot) {
                    return true;
                }
            }
        }
        match field.default {
            FieldDefault::Text(text) => {
                let read = slot.read_text(text);
                if read && !is_written {
                    let source = Cow::Borrowed(field.source);
                    let annotation = (field.provenance, source, Vec::new(), field.is_out_of_the_way);
                    self.push(path, slot, annotation, (field, of), Origin::Default);
                }
                read
            }
            FieldDefault::Required => {
                if !is_written && !self.lacks_a_layer {
                    self.missing(field);
                }
                false
            }
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
        let (place, lacks_a_layer) = (self.place, self.lacks_a_layer);
        G::read(&mut Reader { path, layers, place, lacks_a_layer, lacks_a_part: false, output: self.output })
    }

    /// Reads what a layer has; whether it is a value within the range.
    fn fill_from(
        &mut self,
        node: &Node,
        layer: Layer,
        path: &str,
        (field, of): (&Field, &TableSchema),
        slot: &mut dyn AnySlot,
    ) -> bool {
        let Some((inner, annotation)) = self.annotation(path, of.role, layer, node) else { return false };
        let known = self.output.diagnostics.len();
        let mut reading = Reading { path, diagnostics: &mut self.output.diagnostics };
        if !slot.read(inner, &mut reading) {
            narrow(&mut self.output.diagnostics[known..], field);
            return false;
        }
        if let Some((low, high)) = field.range
            && !slot.within(low, high)
        {
            reading.out_of_range::<()>(outlier(inner, low, high, slot).unwrap_or(inner), low, high);
            return false;
        }
        self.push(path.to_owned(), slot, annotation, (field, of), Origin::Written(layer, inner.place));
        true
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
            if matches!(layer, Layer::Catalog | Layer::Defaults) && role == Role::Claim {
                let problem = Problem::MissingProvenance { path: path.to_owned() };
                let hint = "write { value = …, provenance = \"datasheet\", source = \"…\" }";
                self.output.diagnostics.push(Diagnostic::at(node.place, problem).hint(hint));
            }
            let source = match layer {
                Layer::Override => "given on the command line",
                Layer::Scenario => "written in the scenario without a source",
                Layer::Catalog | Layer::Defaults => "written in the catalog without a source",
            };
            return Some((node, (Provenance::Assumed, Cow::Borrowed(source), Vec::new(), false)));
        };
        check_keys(table, path, &ANNOTATION_KEYS, &mut self.output.diagnostics);
        let provenance = self.note::<Provenance>(table, path, "provenance");
        if table.get("provenance").is_none() && matches!(layer, Layer::Catalog | Layer::Defaults) {
            let problem = Problem::MissingProvenance { path: path.to_owned() };
            self.output.diagnostics.push(Diagnostic::at(node.place, problem));
        }
        let annotation = (
            provenance.unwrap_or(Provenance::Assumed),
            Cow::Owned(self.note(table, path, "source").unwrap_or_default()),
            self.note(table, path, "fitted_on").unwrap_or_default(),
            self.note(table, path, "out_of_the_way").unwrap_or_default(),
        );
        Some((table.get("value")?, annotation))
    }

    /// One of the keys beside a value.
    fn note<T: ParameterType>(&mut self, table: &Table, path: &str, key: &str) -> Option<T> {
        let path = format!("{path}.{key}");
        T::read(table.get(key)?, &mut Reading { path: &path, diagnostics: &mut self.output.diagnostics })
    }

    fn push(
        &mut self,
        path: String,
        value: &dyn AnySlot,
        (provenance, source, fitted_on, is_out_of_the_way): Annotation,
        (field, of): (&Field, &TableSchema),
        origin: Origin,
    ) {
        let value = value.show();
        self.output.parameters.push(ResolvedParameter {
            path,
            value,
            provenance,
            source,
            fitted_on,
            role: of.role,
            origin,
            is_out_of_the_way,
            in_a_run: field.in_a_run(of),
        });
    }

    fn missing(&mut self, field: &Field) {
        let (path, key, expected) = (self.path.clone(), field.key.to_owned(), (field.expected)());
        let problem = Problem::MissingKey { path, key, expected };
        let mut meaning = format!("`{}`: {}", field.key, one_line(field.doc));
        if self.lacks_a_part {
            meaning += " Or name a `part` that has it: `lanewise parts` lists them";
        }
        // Any place inside the component beats none.
        let place =
            self.layers.iter().find_map(|layer| layer.table.iter().next().map(|entry| entry.key_place));
        let place = self.place.or(place);
        let diagnostic = match place {
            Some(place) => Diagnostic::at(place, problem),
            None => Diagnostic::global(problem),
        };
        self.output.diagnostics.push(diagnostic.hint(meaning));
    }
}
