//! Devices of a group that the command line sets apart: `nic[3].tags=32` for one of `count = 8`.
//!
//! Such a device gets a component of its own, with the values of its group and what is said about it alone. It stands behind
//! all others and has no name that anything is attached to: its place in the tree is that of its group.

use crate::diagnostic::Diagnostic;
use crate::document::Table;
use crate::file::{Component, ScenarioFile};
use crate::overrides::{OneDevice, Overrides};
use crate::parameter::{Output, check_table};
use crate::problem::Problem;
use crate::source::Place;
use crate::structure::ComponentKind;

/// Which device of which group a component stands for.
#[derive(Clone, Copy, Debug)]
pub struct OneOf {
    /// Index of the component of the group.
    pub group: usize,
    /// Its number in the group, from 0.
    pub number: usize,
}

/// Adds a component for each device that is set apart. What cannot be is reported.
pub(crate) fn add(file: &mut ScenarioFile, overrides: &mut Overrides, diagnostics: &mut Vec<Diagnostic>) {
    for group in 0..file.components.len() {
        let name = file.components[group].name.clone();
        for device in overrides.take_devices_of(&name, diagnostics) {
            match variant(&file.components[group], group, device) {
                Ok(variant) => file.components.push(variant),
                Err(diagnostic) => diagnostics.push(*diagnostic),
            }
        }
    }
}

fn variant(group: &Component, index: usize, device: OneDevice) -> Result<Component, Box<Diagnostic>> {
    let OneDevice { number, table, place } = device;
    let name = format!("{}[{number}]", group.name);
    check(group, number, &table).map_err(|(reason, hint)| refusal(&name, reason, hint, place))?;
    Ok(Component {
        kind: group.kind,
        name,
        place: group.place,
        one_of: Some(OneOf { group: index, number }),
        own: table,
        overrides: group.overrides.clone(),
        written: group.written.clone(),
        part: group.part.clone(),
        part_is_unreadable: group.part_is_unreadable,
        defaults: group.defaults.clone(),
    })
}

/// Why a device cannot be set apart like that, and what can be done.
fn check(group: &Component, number: usize, table: &Table) -> Result<(), (String, String)> {
    let name = &group.name;
    if !matches!(group.kind, ComponentKind::Switch | ComponentKind::Endpoint) {
        let reason = format!("`{name}` is {}, all of which is set at once", group.kind.noun());
        return Err((reason, format!("write `{name}` without brackets")));
    }
    let Some((count, _)) = group.structural::<u32>("count", &mut Vec::new()) else {
        return Err((format!("there is one `{name}`"), format!("write `{name}` without brackets")));
    };
    if number >= count as usize {
        let reason = format!("there are {count}, from `{name}[0]` to `{name}[{}]`", count.saturating_sub(1));
        return Err((reason, format!("`{name}[*]`, or `{name}` alone, is all of them")));
    }
    let shared = |key: &str| matches!(key, "attach" | "count" | "part" | "partition_of");
    match table.iter().find(|entry| shared(&entry.key)) {
        Some(entry) => {
            let reason = format!("all of `{name}` have one `{}`", entry.key);
            Err((reason, format!("write a component of its own instead of one of `{name}`")))
        }
        None => Ok(()),
    }
}

fn refusal(name: &str, reason: String, hint: String, place: Place) -> Box<Diagnostic> {
    Box::new(Diagnostic::at(place, Problem::BadOverride { found: name.to_owned(), reason }).hint(hint))
}

/// Reports keys of devices set apart that they do not have.
pub(crate) fn check_keys(file: &ScenarioFile, diagnostics: &mut Vec<Diagnostic>) {
    for component in file.components.iter().filter(|component| component.one_of.is_some()) {
        let structural: Vec<&str> = component.kind.structural().iter().map(|key| key.key).collect();
        check_table(&component.own, &component.name, component.kind.schema(), &structural, diagnostics);
    }
}

/// Drops the parameters of devices set apart in which they are like their group.
pub(crate) fn keep_differences(file: &ScenarioFile, output: &mut Output) {
    let apart = file.components.iter().filter_map(|component| Some((component, component.one_of?)));
    let apart: Vec<(String, String)> = apart
        .map(|(component, OneOf { group, .. })| {
            (format!("{}.", component.name), format!("{}.", file.components[group].name))
        })
        .collect();
    if apart.is_empty() {
        return;
    }
    let of_group: std::collections::HashMap<String, String> =
        output.parameters.iter().map(|parameter| (parameter.path.clone(), parameter.value.clone())).collect();
    output.parameters.retain(|parameter| {
        let like = apart
            .iter()
            .find_map(|(own, group)| Some(format!("{group}{}", parameter.path.strip_prefix(own.as_str())?)));
        like.is_none_or(|like| of_group.get(&like) != Some(&parameter.value))
    });
}
