//! Slots of hosts and ports of switches, from the layers of a component.
//!
//! A slot is written as what it can do, `slot1 = "gen4 x8"`, or as a table with that under `link` and with any
//! parameter of a port that holds for this slot alone. `"port1..port8"` stands for eight ports alike.

use crate::diagnostic::Diagnostic;
use crate::document::{Node, Table, Value, shortened};
use crate::file::{NOT_PLAIN, is_plain};
use crate::parameter::{Layer, LayerTable, Origin, Output, ParameterTable, check_table};
use crate::parameters::PortParameters;
use crate::problem::Problem;
use crate::reader::Reader;
use crate::source::Place;
use crate::structure::{HostSlotParameters, SlotParameters};
use crate::value::{Auto, LinkShape};
use lanewise_units::{Generation, Width, order};
use std::collections::HashMap;

/// Most slots of a host.
pub(crate) const SLOT_LIMIT: usize = 1_024;

/// Stands for a shape that could not be read, which is reported, so that nothing that is attached to it is blamed.
const UNREAD_SHAPE: LinkShape = LinkShape { generation: Generation::Gen5, width: Width::X16 };

/// A slot of a host or a port of a switch, shared by all instances of the component.
#[derive(Clone, Debug)]
pub struct Slot {
    /// `slot1`, `port3`.
    pub name: String,
    /// What it can do.
    pub shape: LinkShape,
    /// Settings of the port.
    pub port: PortParameters,
    /// Socket that it belongs to; 0 for ports of switches.
    pub socket: u32,
    /// Stack that it shares with other slots; none for one of its own.
    pub stack: Option<u32>,
    /// NUMA node that it is counted to; none for that of its socket.
    pub numa_node: Option<u32>,
}

/// Reads the slots of a component from its layers, strongest first. Values that hold for one slot alone are added
/// to the parameters.
pub(crate) fn read_slots(name: &str, key: &str, layers: &[LayerTable<'_>], output: &mut Output) -> Vec<Slot> {
    // Name of a slot, and its entry in each layer that has one.
    let mut names: Vec<(String, Vec<(Layer, Node)>)> = Vec::new();
    let mut index: HashMap<String, usize> = HashMap::new();
    for layer in layers.iter().rev() {
        let Some(node) = layer.table.get(key) else { continue };
        let Some(table) = node.as_table() else {
            let expected = format!("a table such as {{ {}1 = \"gen4 x8\" }}", key.trim_end_matches('s'));
            let problem =
                Problem::WrongType { path: format!("{name}.{key}"), found: node.describe(), expected };
            output.diagnostics.push(Diagnostic::at(node.place, problem));
            continue;
        };
        for entry in table.iter() {
            let expanded = expand_range(&entry.key);
            if expanded.is_empty() || names.len() + expanded.len() > 2 * SLOT_LIMIT {
                let (path, found) = (format!("{name}.{key}"), format!("more than {SLOT_LIMIT}"));
                let problem = Problem::TooManyPorts { path, found, allowed: SLOT_LIMIT.to_string() };
                output.diagnostics.push(Diagnostic::at(entry.key_place, problem));
                continue;
            }
            if !expanded.iter().all(|slot| is_plain(slot)) {
                let problem = Problem::BadName { found: shortened(&entry.key), reason: NOT_PLAIN.to_owned() };
                let example = if key == "ports" { "port1..port4" } else { "slot1..slot4" };
                let range = entry.key.contains("..").then(|| {
                    let upwards = entry.key.split_once("..").map(|(first, last)| format!("{last}..{first}"));
                    let upwards = upwards.filter(|key| expand_range(key).len() > 1);
                    format!("a range goes up: `{}`", upwards.as_deref().unwrap_or(example))
                });
                output.diagnostics.push(Diagnostic::at(entry.key_place, problem).maybe_hint(range));
                continue;
            }
            if let Some(range) = range_meant(&entry.key) {
                let reason = "a range has two points".to_owned();
                let problem = Problem::BadName { found: shortened(&entry.key), reason };
                output
                    .diagnostics
                    .push(Diagnostic::at(entry.key_place, problem).hint(format!("write \"{range}\"")));
                continue;
            }
            for slot in expanded {
                let at = *index.entry(slot.clone()).or_insert_with(|| {
                    names.push((slot, Vec::new()));
                    names.len() - 1
                });
                names[at].1.insert(0, (layer.layer, slot_table(&entry.node)));
            }
        }
    }
    if key == "ports" {
        // Port 0 faces upstream, wherever it is written.
        order::sort_by_key(&mut names, |(slot, _)| slot != "port0");
    }
    names
        .iter()
        .filter_map(|(slot, own)| {
            read_slot(&format!("{name}.{key}.{slot}"), slot, own, layers, key == "slots", output)
        })
        .collect()
}

/// Reads one slot. What it does not say itself is said by the component.
fn read_slot(
    path: &str,
    slot: &str,
    own: &[(Layer, Node)],
    layers: &[LayerTable<'_>],
    of_host: bool,
    output: &mut Output,
) -> Option<Slot> {
    let mut merged = Vec::new();
    let schema = if of_host { &HostSlotParameters::SCHEMA } else { &SlotParameters::SCHEMA };
    for layer in [Layer::Override, Layer::Scenario, Layer::Catalog, Layer::Defaults] {
        let tables = own.iter().filter(|(other, _)| *other == layer).filter_map(|(_, node)| node.as_table());
        for table in tables {
            check_table(table, path, schema, &[], &mut output.diagnostics);
            merged.push(LayerTable { layer, table });
        }
        merged.extend(layers.iter().filter(|other| other.layer == layer));
    }
    // A component's own `link` is the link above it, never that of a slot.
    let mut read = Output::default();
    let link_layers: Vec<LayerTable<'_>> = own
        .iter()
        .filter_map(|(layer, node)| Some(LayerTable { layer: *layer, table: node.as_table()? }))
        .collect();
    let mut own_reader = Reader::new(path, link_layers, &mut read);
    let shape = own_reader.field::<LinkShape>(&schema.fields[0], schema);
    let socket = if of_host { own_reader.field::<u32>(&schema.fields[1], schema).unwrap_or(0) } else { 0 };
    let stack = of_host.then(|| own_reader.field::<Auto<u32>>(&schema.fields[2], schema)).flatten();
    let numa_node = of_host.then(|| own_reader.field::<Auto<u32>>(&schema.fields[3], schema)).flatten();
    let port = PortParameters::read(&mut Reader::new(path, merged, &mut read));
    let places: Vec<Place> = own.iter().map(|(_, node)| node.place).collect();
    // What the slot shares with the component is listed once, with the component.
    read.parameters.retain(|parameter| match parameter.origin {
        Origin::Written(_, place) => places.iter().any(|outer| outer.contains(place)),
        _ => false,
    });
    output.parameters.append(&mut read.parameters);
    output.diagnostics.append(&mut read.diagnostics);
    let (stack, numa_node) = (stack.and_then(Auto::given), numa_node.and_then(Auto::given));
    let shape = shape.unwrap_or(UNREAD_SHAPE);
    Some(Slot { name: slot.to_owned(), shape, port: port?, socket, stack, numa_node })
}

/// A slot as a table: a plain `"gen4 x8"`, with or without provenance, is its `link`.
fn slot_table(node: &Node) -> Node {
    match node.as_table() {
        Some(table) if table.get("value").is_none() => node.clone(),
        _ => Node { place: node.place, value: Value::Table(Table::with_one("link", node.clone())) },
    }
}

/// The range in `port1-port4` or `port1-4`, which is no name that anybody gives to a port.
fn range_meant(key: &str) -> Option<String> {
    let (first, last) = key.split_once('-')?;
    let (prefix, low) = number_at_end(first)?;
    let (other, high) = number_at_end(last)?;
    let is_range = !prefix.is_empty() && (other == prefix || other.is_empty()) && low < high;
    is_range.then(|| format!("{prefix}{low}..{prefix}{high}"))
}

/// The names that a key stands for: itself, or `port1..port4`. Nothing when there are too many.
fn expand_range(key: &str) -> Vec<String> {
    let parts =
        key.split_once("..").and_then(|(first, last)| Some((number_at_end(first)?, number_at_end(last)?)));
    match parts {
        Some(((prefix, first), (other, last))) if prefix == other && first <= last => {
            if last - first >= SLOT_LIMIT as u32 {
                return Vec::new();
            }
            (first..=last).map(|number| format!("{prefix}{number}")).collect()
        }
        _ => vec![key.to_owned()],
    }
}

fn number_at_end(name: &str) -> Option<(&str, u32)> {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    Some((prefix, name[prefix.len()..].parse().ok()?))
}
