//! Catalog parts that links name: each becomes a component of its own name, so that `explain` shows what it says.

use crate::catalog::Catalog;
use crate::diagnostic::Diagnostic;
use crate::document::{Node, Table, Value};
use crate::file::{Component, ScenarioFile};
use crate::overrides::Overrides;
use crate::source::{Place, SourceMap};
use crate::structure::ComponentKind;

/// Adds a component for each part of the catalog that a link names as retimer or cable, and that the scenario does not declare.
/// Names of nothing are reported where links are trained.
pub(crate) fn add(
    file: &mut ScenarioFile,
    overrides: &mut Overrides,
    catalog: &Catalog,
    sources: &mut SourceMap,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for (name, kind, place) in file.components.iter().flat_map(named_by).collect::<Vec<_>>() {
        if file.find(&name).is_some() || !catalog.contains(&name) {
            continue;
        }
        let Some(part) = catalog.read_part(&name, sources, diagnostics) else { continue };
        if part.kind != kind {
            continue;
        }
        let overrides = overrides.take_component(kind, &name, diagnostics);
        file.add(Component {
            kind,
            name,
            place,
            one_of: None,
            own: Table::default(),
            overrides,
            written: Table::default(),
            part: Some(part),
            part_is_unreadable: false,
            defaults: None,
        });
    }
}

/// What the links of a component name: in whatever layer, as the strongest may be another one for each device.
fn named_by(component: &Component) -> Vec<(String, ComponentKind, Place)> {
    let mut found = Vec::new();
    let links = component.layers().into_iter().filter_map(|layer| layer.table.get("link")?.as_table());
    for link in links {
        let mut add = |key, kind| {
            let names = link.get(key).map(texts).unwrap_or_default();
            found.extend(names.into_iter().map(|(name, place)| (name, kind, place)));
        };
        add("retimers", ComponentKind::Retimer);
        add("cable", ComponentKind::Cable);
    }
    found
}

/// The texts of a value: of one, of a list, or of either with its provenance.
fn texts(node: &Node) -> Vec<(String, Place)> {
    match &node.value {
        Value::String(text) => vec![(text.clone(), node.place)],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Table(table) => table.get("value").map(texts).unwrap_or_default(),
        _ => Vec::new(),
    }
}
