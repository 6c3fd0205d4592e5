//! The tree: which device sits in which slot. Finds every mistake in it before anything is worked out.
//!
//! A component with a count stands for many devices, called instances here; they share its parameters.

use crate::diagnostic::{Diagnostic, hint_unless_crowded};
use crate::document::shortened;
use crate::file::{Component, ScenarioFile};
use crate::nearest::{asking, did_you_mean, listing};
use crate::parameter::Output;
use crate::problem::Problem;
use crate::slots::{SLOT_LIMIT, Slot, read_slots};
use crate::source::Place;
use crate::structure::ComponentKind;
use crate::variants::OneOf;
use lanewise_fabric::MAX_SWITCH_PORTS;
use std::collections::HashMap;
use std::ops::Range;

/// Most devices of all kinds together.
pub const DEVICE_LIMIT: usize = 65_536;
/// Most levels of devices, the host included. A hierarchy has 256 buses, and a switch takes two.
const DEPTH_LIMIT: usize = 128;
/// Most slots that all components of a file may declare together, and most ports of all devices together.
const TOTAL_SLOT_LIMIT: usize = 2 * DEVICE_LIMIT;
const TOTAL_PORT_LIMIT: usize = 524_288;

/// One device: an instance of a component.
#[derive(Clone, Debug)]
pub struct Instance {
    /// `sw0`, or `nic[3]`.
    pub name: String,
    /// Index of the component in the scenario file.
    pub component: usize,
    /// Index of the instance above and of the slot there; nothing for hosts.
    pub above: Option<(usize, usize)>,
}

/// Instances of a component as they are named: `nic` for the only one, `nic[3]`, `nic[0..7]`, or `nic[*]` for all.
#[derive(Clone, Copy)]
pub(crate) struct InstanceName<'w> {
    /// The name of the component.
    pub component: &'w str,
    /// What stands in brackets behind it: a number, `0..7` for the first eight, or `*`.
    index: Option<&'w str>,
}

impl std::fmt::Display for InstanceName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.index {
            Some(index) => write!(f, "{}[{index}]", self.component),
            None => write!(f, "{}", self.component),
        }
    }
}

impl<'w> InstanceName<'w> {
    pub fn parse(text: &'w str) -> Self {
        match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
            Some((component, index)) => Self { component, index: Some(index) },
            None => Self { component: text, index: None },
        }
    }

    /// What is named, and what of it behind a full stop: `leaf[0..1]` and `port1`. Those of a range stand in brackets, and split nothing.
    pub fn split(text: &'w str) -> (&'w str, Option<&'w str>) {
        let mut is_inside = false;
        for (at, letter) in text.char_indices() {
            match letter {
                '[' => is_inside = true,
                ']' => is_inside = false,
                '.' if !is_inside => return (&text[..at], Some(&text[at + 1..])),
                _ => {}
            }
        }
        (text, None)
    }

    /// Those of the component's instances that are meant; none when that is none of them, or one of several.
    pub fn among(self, instances: Range<usize>) -> Option<Range<usize>> {
        match self.index {
            None => (instances.len() == 1).then_some(instances),
            Some("*") => Some(instances),
            Some(index) => {
                let (first, last) = index.split_once("..").unwrap_or((index, index));
                let at = |number: &str| {
                    let at = instances.start.checked_add(number.parse().ok()?)?;
                    instances.contains(&at).then_some(at)
                };
                let (first, last) = (at(first)?, at(last)?);
                (first <= last).then_some(first..last + 1)
            }
        }
    }

    /// What could have been written instead, for a component of so many instances.
    pub fn choices(self, count: usize, takes_all: bool) -> String {
        let Self { component, .. } = self;
        match (count, takes_all) {
            (1, _) => format!("there is one, `{component}`"),
            (_, true) => format!("there are {count}: `{component}[0]` and so on, or `{component}[*]`"),
            (_, false) => format!("there are {count}, from `{component}[0]` to `{component}[{}]`", count - 1),
        }
    }
}

/// All devices and where they are plugged in. Storage is not part of the tree of PCI Express.
#[derive(Debug, Default)]
pub struct Topology {
    /// Slots of each component, by its index; empty for endpoints and storage.
    pub slots: Vec<Vec<Slot>>,
    /// Hosts, switches, endpoints; in the order of the components.
    pub instances: Vec<Instance>,
    /// Instances of each component.
    ranges: Vec<Range<usize>>,
}

impl Topology {
    /// The instances of a component, which are neighbours.
    pub fn instances_of(&self, component: usize) -> Range<usize> {
        self.ranges.get(component).cloned().unwrap_or(0..0)
    }

    /// The host above an instance, and the slot there that leads to it; nothing for hosts, and where nothing is above.
    pub fn root_port(&self, instance: usize) -> Option<(usize, usize)> {
        self.path_up(instance).filter_map(|at| self.instances[at].above).last()
    }

    /// From an instance up to its host, itself first.
    pub fn path_up(&self, instance: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(instance), |at| self.instances[*at].above.map(|(above, _)| above))
    }
}

/// Builds the tree and reports every mistake in it.
pub(crate) fn build(file: &ScenarioFile, output: &mut Output) -> Topology {
    let mut builder = Builder {
        file,
        output,
        topology: Topology::default(),
        slots_are_lost: Vec::new(),
        has_no_host: false,
    };
    builder.add_slots();
    builder.add_instances();
    builder.attach();
    builder.report_loops();
    builder.report_depth();
    builder.topology
}

struct Builder<'f, 'o> {
    file: &'f ScenarioFile,
    output: &'o mut Output,
    topology: Topology,
    /// By component: whether slots of it are written that could not be read.
    slots_are_lost: Vec<bool>,
    /// Whether there is no host, which is reported.
    has_no_host: bool,
}

/// What is attached where so far.
#[derive(Default)]
struct Seating {
    /// The instance in each slot, by instance above and slot.
    taken: HashMap<(usize, usize), usize>,
    /// For each `attach` as written, how many of its candidates are known to be taken.
    cursors: HashMap<String, usize>,
}

/// Every slot of every instance that an `attach` can mean.
struct Candidates {
    instances: Range<usize>,
    slots: Vec<usize>,
}

impl Candidates {
    fn len(&self) -> usize {
        self.instances.len() * self.slots.len()
    }

    fn nth(&self, index: usize) -> (usize, usize) {
        (self.instances.start + index / self.slots.len(), self.slots[index % self.slots.len()])
    }
}

/// An `attach` as written, split into its parts.
struct Target<'w> {
    device: InstanceName<'w>,
    slot: Option<&'w str>,
}

impl<'w> Target<'w> {
    fn parse(text: &'w str) -> Self {
        let (device, slot) = InstanceName::split(text);
        Self { device: InstanceName::parse(device), slot }
    }
}

impl<'f> Builder<'f, '_> {
    fn report(&mut self, place: Place, problem: Problem, hint: Option<String>) {
        self.output.diagnostics.push(Diagnostic::at(place, problem).maybe_hint(hint));
    }

    fn add_slots(&mut self) {
        let components = &self.file.components;
        // Where the text could not be read to its end, the host may be in the rest.
        let unread = |diagnostic: &Diagnostic| matches!(diagnostic.problem, Problem::Syntax { .. });
        let known = !self.output.diagnostics.iter().any(unread) && !self.file.has_lost();
        if known && !components.iter().any(|component| component.kind == ComponentKind::Host) {
            let hint = "add `[host.server]` with `slots = { slot1 = \"gen4 x16\" }`, or with a catalog part";
            self.output.diagnostics.push(Diagnostic::global(Problem::NoHost {}).hint(hint));
            self.has_no_host = true;
        }
        let mut total = 0;
        for component in components {
            let problems = self.output.diagnostics.len();
            let slots = match component.kind.slots_key() {
                Some(_) if total > TOTAL_SLOT_LIMIT => Vec::new(),
                Some(key) => read_slots(&component.name, key, &component.layers(), self.output),
                None => Vec::new(),
            };
            // A slot that could not be read is missed by nobody else, nor are those under a key that is none.
            let misnamed = |problem: &Problem| matches!(problem, Problem::UnknownKey { path, .. } if *path == component.name);
            let none_read = slots.is_empty()
                && self.output.diagnostics.iter().any(|diagnostic| misnamed(&diagnostic.problem));
            let lost = none_read || self.output.diagnostics[problems..].iter().any(|diagnostic| {
                let problem = &diagnostic.problem;
                matches!(problem, Problem::BadName { .. } | Problem::TooManyPorts { .. })
                    || matches!(problem, Problem::WrongType { path, .. } if component.kind.slots_key().is_some_and(|key| *path == format!("{}.{key}", component.name)))
            });
            let lost = lost || total > TOTAL_SLOT_LIMIT;
            let has_no_upstream_port = component.kind == ComponentKind::Switch
                && !component.part_is_unreadable
                && slots.first().is_none_or(|slot| slot.name != "port0");
            self.slots_are_lost.push(lost || has_no_upstream_port);
            let limit = if component.kind == ComponentKind::Host { SLOT_LIMIT } else { MAX_SWITCH_PORTS };
            if slots.len() > limit {
                let (found, allowed) = (slots.len().to_string(), limit.to_string());
                let problem = Problem::TooManyPorts { path: component.name.clone(), found, allowed };
                self.report(component.place, problem, None);
            }
            let known = total;
            total += slots.len();
            // Said once, where it was passed: what comes after was not read.
            if total > TOTAL_SLOT_LIMIT && known <= TOTAL_SLOT_LIMIT {
                let (found, allowed) = (total.to_string(), TOTAL_SLOT_LIMIT.to_string());
                let problem = Problem::TooManyPorts { path: "the scenario".to_owned(), found, allowed };
                self.report(component.place, problem, None);
            } else if has_no_upstream_port && !lost {
                let expected = "the port that faces upstream, such as \"gen4 x16\"".to_owned();
                let (path, key) = (component.name.clone(), "ports.port0".to_owned());
                let hint = match listing("ports", slots.iter().map(|slot| slot.name.as_str())) {
                    Some(ports) => format!("{ports}; the upstream one is called `port0`"),
                    None => "a switch needs `ports`, or a catalog `part` that has them".to_owned(),
                };
                self.report(component.place, Problem::MissingKey { path, key, expected }, Some(hint));
            }
            self.topology.slots.push(slots);
        }
    }

    fn add_instances(&mut self) {
        let (mut total, mut ports) = (0usize, 0usize);
        let mut most: Option<(usize, Place)> = None;
        for (index, component) in self.file.components.iter().enumerate() {
            let first = self.topology.instances.len();
            self.topology.ranges.push(first..first);
            let is_in_tree = matches!(
                component.kind,
                ComponentKind::Host | ComponentKind::Switch | ComponentKind::Endpoint
            );
            if !is_in_tree || component.one_of.is_some() {
                continue;
            }
            let count = count_of(component);
            let number = count.map_or(1, |(number, _)| number as usize);
            total += number;
            if most.is_none_or(|(known, _)| number > known) {
                most = Some((number, count.map_or(component.place, |(_, place)| place)));
            }
            let known = ports;
            ports = ports.saturating_add(number.saturating_mul(self.topology.slots[index].len().max(1)));
            if ports > TOTAL_PORT_LIMIT && total <= DEVICE_LIMIT {
                if known > TOTAL_PORT_LIMIT {
                    continue;
                }
                let (found, allowed) = (ports.to_string(), TOTAL_PORT_LIMIT.to_string());
                let problem = Problem::TooManyPorts { path: "the scenario".to_owned(), found, allowed };
                self.report(count.map_or(component.place, |(_, place)| place), problem, None);
                continue;
            }
            if total > DEVICE_LIMIT {
                continue;
            }
            for number in 0..number {
                let name = match count {
                    Some(_) => format!("{}[{number}]", component.name),
                    None => component.name.clone(),
                };
                self.topology.instances.push(Instance { name, component: index, above: None });
            }
            self.topology.ranges[index].end = self.topology.instances.len();
        }
        for (index, component) in self.file.components.iter().enumerate() {
            let Some(OneOf { group, number }) = component.one_of else { continue };
            if let Some(instance) = self.topology.instances_of(group).nth(number) {
                self.topology.instances[instance].component = index;
            }
        }
        if let Some((_, place)) = most.filter(|_| total > DEVICE_LIMIT) {
            let (found, allowed) = (total.to_string(), DEVICE_LIMIT.to_string());
            self.report(place, Problem::TooManyDevices { found, allowed }, None);
        }
    }

    fn attach(&mut self) {
        let mut seating = Seating::default();
        for (index, component) in self.file.components.iter().enumerate() {
            let is_device = matches!(component.kind, ComponentKind::Switch | ComponentKind::Endpoint);
            if !is_device || component.one_of.is_some() {
                continue;
            }
            let instances = self.topology.instances_of(index);
            let Some((target, place)) = self.attachment(component) else { continue };
            if self.file.find(Target::parse(&target).device.component) == Some(index) {
                let problem = Problem::AttachLoop { path: component.name.clone(), ring: shortened(&target) };
                self.report(place, problem, None);
                continue;
            }
            let Some(candidates) = self.candidates(component, &target, place) else { continue };
            self.occupy(component, instances, &target, place, &candidates, &mut seating);
        }
    }

    fn attachment(&mut self, component: &Component) -> Option<(String, Place)> {
        let attachment = component.structural::<String>("attach", &mut self.output.diagnostics);
        if attachment.is_none() && component.written.get("attach").is_none() {
            let expected = "where it is plugged in, such as \"server.slot1\"".to_owned();
            let problem =
                Problem::MissingKey { path: component.name.clone(), key: "attach".to_owned(), expected };
            self.report(component.place, problem, None);
        }
        attachment
    }

    /// Instances and slots that an `attach` can mean, in order.
    fn candidates(&mut self, component: &Component, text: &str, place: Place) -> Option<Candidates> {
        let target = Target::parse(text);
        let path = component.name.clone();
        if self.file.is_lost(target.device.component) {
            return None;
        }
        let Some(above) = self.file.find(target.device.component) else {
            if self.has_no_host {
                // Everything would be attached to what is missing, and that is said.
                return None;
            }
            let problem = Problem::UnknownAttachTarget { path, target: shortened(text) };
            let names = self.file.components.iter().take(1_000).map(|component| component.name.as_str());
            let above = self.file.components.iter().filter(|other| other.kind.slots_key().is_some());
            let hint = hint_unless_crowded(&self.output.diagnostics, || {
                self.place_meant(text)
                    .map(asking)
                    .or_else(|| no_pattern(target.device.component))
                    .or_else(|| did_you_mean(target.device.component, names))
                    .or_else(|| listing("hosts and switches", above.map(|component| component.name.as_str())))
            });
            self.report(place, problem, hint);
            return None;
        };
        let kind = self.file.components[above].kind;
        if !matches!(kind, ComponentKind::Host | ComponentKind::Switch) {
            let problem = Problem::AttachedToEndpoint { path, target: shortened(target.device.component) };
            self.report(
                place,
                problem,
                Some("attach it to a slot of a host or a port of a switch".to_owned()),
            );
            return None;
        }
        let all = self.topology.instances_of(above);
        let count = all.len();
        let Some(instances) = target.device.among(all) else {
            let problem = Problem::UnknownAttachTarget { path, target: shortened(text) };
            self.report(place, problem, Some(target.device.choices(count, true)));
            return None;
        };
        let slots = self.slots_meant(component, above, &target, place)?;
        Some(Candidates { instances, slots })
    }

    /// A slot of which only the name is written, or one with the kind of its device before it.
    fn place_meant(&self, text: &str) -> Option<String> {
        if let Some((_, rest)) =
            text.split_once('.').filter(|(kind, _)| ComponentKind::from_word(kind).is_some())
        {
            return self.file.find(Target::parse(rest).device.component).map(|_| rest.to_owned());
        }
        let has_it = |slots: &Vec<Slot>| slots.iter().any(|slot| slot.name == text);
        let owner = self.topology.slots.iter().position(has_it)?;
        Some(format!("{}.{text}", self.file.components[owner].name))
    }

    /// What is still free beside a slot that is taken, or instead of fewer than are needed.
    fn room(
        &self,
        target: &Target<'_>,
        wanted: usize,
        candidates: &Candidates,
        seating: &Seating,
    ) -> Option<String> {
        let above = self.file.find(target.device.component)?;
        let component = &self.file.components[above];
        let key = component.kind.slots_key()?;
        if target.slot == Some("*") {
            let total = candidates.len();
            return Some(format!(
                "lower `count`, or give `{}` more `{key}`: it has {total} for devices",
                component.name
            ));
        }
        if wanted > 1 {
            let (device, all) = (target.device, candidates.instances.len());
            let next = format!("`{device}.*` takes the next free ones");
            return Some(match target.slot {
                Some(slot) if all > 1 => format!(
                    "`{device}.{slot}` is one port of each of {all}; put the others on another port of each with a second \
                     block, or write `{device}.*`, which fills the first of them first"
                ),
                _ => next,
            });
        }
        let first = self.topology.instances_of(above).start;
        let below = usize::from(component.kind == ComponentKind::Switch);
        let slots = self.topology.slots[above].iter().enumerate().skip(below);
        let mut free = slots.filter(|(at, _)| !seating.taken.contains_key(&(first, *at)));
        free.next().map(|(_, slot)| format!("`{}.{}` is free", component.name, slot.name))
    }

    /// Indexes of the slots that an `attach` can mean.
    fn slots_meant(
        &mut self,
        component: &Component,
        above: usize,
        target: &Target<'_>,
        place: Place,
    ) -> Option<Vec<usize>> {
        let slots = &self.topology.slots[above];
        // Port 0 of a switch faces upstream.
        let below = usize::from(self.file.components[above].kind == ComponentKind::Switch);
        let are_lost = self.file.components[above].part_is_unreadable || self.slots_are_lost[above];
        if target.slot == Some("*") {
            return (!are_lost).then(|| (below..slots.len()).collect());
        }
        let found = slots.iter().position(|slot| Some(slot.name.as_str()) == target.slot);
        if let Some(slot) = found.filter(|slot| *slot >= below) {
            return Some(vec![slot]);
        }
        if let Some(range) =
            target.slot.and_then(|written| range_of(slots, written)).filter(|range| range.start >= below)
        {
            return Some(range.collect());
        }
        if found.is_none() && are_lost {
            return None;
        }
        let names: Vec<&str> = slots.iter().skip(below).map(|slot| slot.name.as_str()).collect();
        let hint = match target.slot {
            Some(slot) if found.is_some() => Some(format!("`{slot}` faces upstream")),
            Some(_) if names.is_empty() => {
                let (kind, key) = (self.file.components[above].kind, target.device.component);
                let slots = kind.slots_key().unwrap_or("slots");
                Some(format!("`{key}` needs `{slots}`, or a catalog `part` that has them"))
            }
            Some(slot) if slot.contains('*') => Some(in_a_row(target.device.component, slot, &names)),
            Some(slot) => did_you_mean(slot, names.iter().copied()),
            None => Some(format!("say which one, or `{}.*` for the next free one", target.device.component)),
        };
        let available = match names.len() {
            0 => "none".to_owned(),
            1..=12 => names.join(", "),
            count => format!("{count}, from {} to {}", names[0], names[count - 1]),
        };
        let slot = target.slot.map_or_else(|| "no slot".to_owned(), |slot| format!("`{}`", shortened(slot)));
        let (path, device) = (component.name.clone(), target.device.component.to_owned());
        self.report(place, Problem::UnknownSlot { path, device, slot, available }, hint);
        None
    }

    /// Puts every instance of a component into the next free candidate.
    fn occupy(
        &mut self,
        component: &Component,
        instances: Range<usize>,
        text: &str,
        place: Place,
        candidates: &Candidates,
        seating: &mut Seating,
    ) {
        let count = instances.len();
        // Slots are never vacated, so what was full stays full and is not looked at again.
        let mut cursor = seating.cursors.get(text).copied().unwrap_or(0);
        let mut free = Vec::new();
        while free.len() < count && cursor < candidates.len() {
            let candidate = candidates.nth(cursor);
            if !seating.taken.contains_key(&candidate) {
                free.push(candidate);
            }
            cursor += 1;
        }
        if free.len() < count {
            let path = component.name.clone();
            let problem = match (count, candidates.len()) {
                (1, 1) => {
                    let other = seating.taken[&candidates.nth(0)];
                    let other = self.topology.instances[other].name.clone();
                    Problem::SlotOccupied { path, slot: shortened(text), other }
                }
                _ => {
                    let (wanted, free) = (count.to_string(), free.len().to_string());
                    Problem::NoFreeSlot { path, slot: shortened(text), wanted, free }
                }
            };
            let hint = self.room(&Target::parse(text), count, candidates, seating);
            self.report(place, problem, hint);
            return;
        }
        seating.cursors.insert(text.to_owned(), cursor);
        for (instance, candidate) in instances.zip(free) {
            seating.taken.insert(candidate, instance);
            self.topology.instances[instance].above = Some(candidate);
        }
    }

    /// A switch that is its own ancestor has no host above it.
    fn report_loops(&mut self) {
        let count = self.topology.instances.len();
        // 0: not looked at, 1: on the path being followed, 2: known to be no loop or reported.
        let mut state = vec![0u8; count];
        for start in 0..count {
            let mut path = Vec::new();
            let mut at = Some(start);
            while let Some(instance) = at.filter(|instance| state[*instance] == 0) {
                state[instance] = 1;
                path.push(instance);
                at = self.topology.instances[instance].above.map(|(above, _)| above);
            }
            if let Some(instance) = at.filter(|instance| state[*instance] == 1) {
                self.report_loop(&path, instance);
            }
            path.iter().for_each(|instance| state[*instance] = 2);
        }
    }

    /// A tree has as many levels as there are buses to number; a bound also keeps every walk up short.
    fn report_depth(&mut self) {
        let mut depth = vec![0usize; self.topology.instances.len()];
        for start in 0..depth.len() {
            // Loops are cut, so the way up ends; what was measured before is not walked again.
            let mut way = Vec::new();
            let mut at = Some(start);
            while let Some(instance) = at.filter(|instance| depth[*instance] == 0) {
                way.push(instance);
                at = self.topology.instances[instance].above.map(|(above, _)| above);
            }
            let mut level = at.map_or(0, |instance| depth[instance]);
            for instance in way.into_iter().rev() {
                level += 1;
                if level > DEPTH_LIMIT {
                    self.report_too_deep(instance);
                    level = 1;
                }
                depth[instance] = level;
            }
        }
    }

    fn report_too_deep(&mut self, instance: usize) {
        let path = self.topology.instances[instance].name.clone();
        let component = &self.file.components[self.topology.instances[instance].component];
        let problem = Problem::TreeTooDeep { path, allowed: DEPTH_LIMIT.to_string() };
        let place = component.written.get("attach").map_or(component.place, |node| node.place);
        self.topology.instances[instance].above = None;
        self.report(place, problem, None);
    }

    fn report_loop(&mut self, path: &[usize], closing: usize) {
        let start = path.iter().position(|instance| *instance == closing).unwrap_or(0);
        let names: Vec<&str> = path[start..]
            .iter()
            .chain([&closing])
            .take(8)
            .map(|instance| self.topology.instances[*instance].name.as_str())
            .collect();
        let ring = names.join(", which is below ").replacen(", which", "", 1);
        let component = &self.file.components[self.topology.instances[closing].component];
        let problem = Problem::AttachLoop { path: self.topology.instances[closing].name.clone(), ring };
        let place = component.written.get("attach").map_or(component.place, |node| node.place);
        // The ring is cut, so that later steps can walk up from every instance.
        self.topology.instances[closing].above = None;
        self.report(place, problem, None);
    }
}

/// The `count` of a component. A wrong one, which [`check_count`] has reported, stands for a single device.
pub(crate) fn count_of(component: &Component) -> Option<(u32, Place)> {
    component.structural::<u32>("count", &mut Vec::new()).filter(|(number, _)| *number > 0)
}

/// Whether the `count` of a component, if it has one, says how many there are. A wrong one is reported.
pub(crate) fn check_count(component: &Component, diagnostics: &mut Vec<Diagnostic>) -> bool {
    if !component.kind.structural().iter().any(|known| known.key == "count") {
        return true;
    }
    let known = diagnostics.len();
    let count = component.structural::<u32>("count", diagnostics);
    if let Some((0, place)) = count {
        let (path, found) = (format!("{}.count", component.name), "0".to_owned());
        let problem = Problem::OutOfRange { path, found, low: String::new(), high: String::new() };
        diagnostics.push(Diagnostic::at(place, problem));
    }
    for diagnostic in &mut diagnostics[known..] {
        if let Problem::OutOfRange { low, high, .. } = &mut diagnostic.problem {
            (*low, *high) = ("1".to_owned(), DEVICE_LIMIT.to_string());
        }
    }
    diagnostics.len() == known
}

/// What to write for a pattern where one component is meant.
fn no_pattern(component: &str) -> Option<String> {
    let alike = "equal components have one name, and a `count`: `NAME[*].*` is the next free place of each";
    component.contains('*').then(|| alike.to_owned())
}

/// What to write for a pattern like `d*`: the slots from the first to the last whose names begin so.
fn in_a_row(device: &str, pattern: &str, names: &[&str]) -> String {
    let begin = pattern.split('*').next().unwrap_or_default();
    let mut meant = names.iter().filter(|name| name.starts_with(begin));
    let any = format!("`{device}.*` is the next free one");
    match (meant.next(), meant.next_back()) {
        (Some(first), Some(last)) => format!("`{device}.{first}..{last}` stands for slots in a row, {any}"),
        _ => any,
    }
}

/// The slots from one to another, as in `port1..port4`: neighbours in the order in which they are declared.
fn range_of(slots: &[Slot], written: &str) -> Option<Range<usize>> {
    let (first, last) = written.split_once("..")?;
    let at = |name: &str| slots.iter().position(|slot| slot.name == name);
    let (first, last) = (at(first)?, at(last)?);
    (first <= last).then_some(first..last + 1)
}
