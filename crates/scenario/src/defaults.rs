//! Sets of defaults: for hosts by the generation of their fastest slot and by maker, for switches by that of their fastest port.
//!
//! A set is a part of the catalog whose name begins with `defaults-`: `defaults-gen4-amd`, or `defaults-gen4` for hosts
//! whose maker is not said; `defaults-switch-gen4` for switches. It has what every host of that kind has in common (payload and
//! completion sizes, latency of memory, when Acks and UpdateFCs are sent, what is forwarded) or every switch (its latency), and neither
//! slots nor bandwidth. What it says holds where neither the scenario nor a part says anything; `explain` names the set as the place
//! of such a value.

use crate::catalog::{Catalog, Part};
use crate::diagnostic::Diagnostic;
use crate::document::{Node, shortened};
use crate::file::{Component, ScenarioFile};
use crate::nearest::did_you_mean;
use crate::problem::Problem;
use crate::source::SourceMap;
use crate::structure::ComponentKind;
use crate::value::{LinkShape, ParameterType, Reading};
use lanewise_units::Generation;

/// Makers that `maker` of a host may name. Those without a set of their own have that of their generation.
const MAKERS: [&str; 5] = ["intel", "amd", "ibm", "arm", "other"];

/// Looks up the set of defaults of every host and switch.
pub(crate) fn find(
    file: &mut ScenarioFile,
    catalog: &Catalog,
    sources: &mut SourceMap,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut read: Vec<(String, Option<Part>)> = Vec::new();
    for component in &mut file.components {
        let (of, maker) = match component.kind {
            ComponentKind::Host => ("", maker(component, diagnostics)),
            ComponentKind::Switch => ("switch-", None),
            _ => continue,
        };
        let Some(generation) = fastest_slot(component) else { continue };
        let Some(name) = set_of(catalog, of, generation, maker.as_deref()) else { continue };
        if !read.iter().any(|(other, _)| *other == name) {
            read.push((name.clone(), catalog.read_part(&name, sources, diagnostics)));
        }
        component.defaults = read.iter().find(|(other, _)| *other == name).and_then(|(_, part)| part.clone());
    }
}

/// The maker of the processor, if that is said.
fn maker(component: &Component, diagnostics: &mut Vec<Diagnostic>) -> Option<String> {
    let (named, place) = component.structural::<String>("maker", diagnostics)?;
    if MAKERS.contains(&named.as_str()) {
        return Some(named);
    }
    let path = format!("{}.maker", component.name);
    let allowed = crate::value::quoted_words(&MAKERS);
    let found = shortened(&named);
    let hint = did_you_mean(&named, MAKERS);
    let problem = Problem::UnknownChoice { path, found, allowed };
    diagnostics.push(Diagnostic::at(place, problem).maybe_hint(hint));
    None
}

/// The set for a generation and a maker: of later generations than there are sets, the last one's. `of` stands before the generation.
fn set_of(catalog: &Catalog, of: &str, generation: Generation, maker: Option<&str>) -> Option<String> {
    let sets = Generation::ALL.into_iter().filter(|other| *other <= generation).rev();
    let names = sets.flat_map(|generation| {
        let of_all = format!("defaults-{of}{}", generation.to_string().to_ascii_lowercase());
        let of_maker = maker.map(|maker| format!("{of_all}-{maker}"));
        of_maker.into_iter().chain([of_all])
    });
    names.into_iter().find(|name| catalog.contains(name))
}

/// Generation of the fastest slot, or port of a switch, that any layer has. What cannot be read is reported elsewhere.
fn fastest_slot(component: &Component) -> Option<Generation> {
    let key = component.kind.slots_key()?;
    let slots = component.layers().into_iter().filter_map(|layer| layer.table.get(key)?.as_table());
    slots.flat_map(|slots| slots.iter().filter_map(|entry| generation_of(&entry.node))).max()
}

fn generation_of(node: &Node) -> Option<Generation> {
    let Some(table) = node.as_table() else {
        let mut reading = Reading { path: "", diagnostics: &mut Vec::new() };
        return LinkShape::read(node, &mut reading).map(|shape| shape.generation);
    };
    table.get("value").or_else(|| table.get("link")).and_then(generation_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::catalog;

    fn set(generation: Generation, maker: Option<&str>) -> Option<String> {
        set_of(&catalog(), "", generation, maker)
    }

    #[test]
    fn the_nearest_set_is_taken() {
        assert_eq!(set(Generation::Gen4, Some("amd")).as_deref(), Some("defaults-gen4-amd"));
        assert_eq!(set(Generation::Gen4, None).as_deref(), Some("defaults-gen4"));
        assert_eq!(set(Generation::Gen3, Some("ibm")).as_deref(), Some("defaults-gen3"));
        assert_eq!(set(Generation::Gen7, None).as_deref(), Some("defaults-gen6"));
    }

    #[test]
    fn every_generation_has_a_set() {
        let without = Generation::ALL.into_iter().find(|generation| set(*generation, None).is_none());
        assert_eq!(without, None);
        let of_switches = |generation| set_of(&catalog(), "switch-", generation, None);
        let without = Generation::ALL.into_iter().find(|generation| of_switches(*generation).is_none());
        assert_eq!(without, None);
        assert_eq!(of_switches(Generation::Gen7).as_deref(), Some("defaults-switch-gen6"));
    }
}
