//! Edits for a link that is full: faster, wider, or with longer payloads.

use super::super::candidate::{Candidate, LinkDirection};
use super::super::suspect::SATURATED;
use super::{Edit, Editor, device_index};
use crate::results::{Direction, Results};
use lanewise_fabric::ResourceId;
use lanewise_units::order;
use std::collections::HashSet;

/// Widths that ports have; twice the widest of slots is no slot.
const WIDTHS: [u32; 5] = [1, 2, 4, 8, 16];
const GENERATIONS: [u32; 7] = [1, 2, 3, 4, 5, 6, 7];
/// Larger payloads are worth a try when headers and framing take more of a wire's time.
const MUCH_AROUND: f64 = 0.02;
/// The largest payload of a TLP: PCIe Base 6.3 §2.2.2.
const LARGEST_PAYLOAD: u64 = 4096;

impl Editor<'_> {
    /// The ports at both ends of links, faster, wider, or with longer payloads.
    pub(super) fn wire(&self, members: &[&Candidate]) -> Vec<Edit> {
        let mut drafts = self.reshaped(members);
        // The end that is weaker than the other one, before both.
        order::sort_by_key(&mut drafts, |draft| draft.settings.len());
        let mut all = drafts.to_vec();
        all.extend(members.first().and_then(|first| self.longer_payloads(first)));
        all
    }

    /// The link above a device, of which a way of CXL.mem is full.
    pub(super) fn cxl_wire(&self, id: &ResourceId) -> Vec<Edit> {
        let links = &self.scenario.fabric.links;
        let Some(link) = links.iter().position(|link| Some(link.lower.0) == device_index(id)) else {
            return Vec::new();
        };
        let mut drafts = self.reshaped(&[&Candidate::wire(link, false)]).to_vec();
        order::sort_by_key(&mut drafts, |draft| draft.settings.len());
        drafts
    }

    /// All links that are full at once: of two behind one another, one alone brings nothing.
    pub(super) fn all_full(&self, links: &[&Candidate]) -> [Edit; 2] {
        let mut drafts = self.reshaped(links);
        for (draft, how) in drafts.iter_mut().zip(["a generation faster", "wider"]) {
            draft.what = format!("every full link {how}");
        }
        drafts
    }

    /// Links a generation faster, and wider.
    fn reshaped(&self, members: &[&Candidate]) -> [Edit; 2] {
        let nothing = Edit { what: String::new(), settings: Vec::new() };
        let mut drafts = [nothing.clone(), nothing];
        let [faster, wider] = &mut drafts;
        let mut links: Vec<usize> = members.iter().filter_map(|member| member.link()).collect();
        order::sort(&mut links);
        links.dedup();
        for link in &links {
            self.reshape(*link, faster, wider);
        }
        if links.len() > 1 {
            let alike = format!(" and {} alike", links.len() - 1);
            drafts.iter_mut().for_each(|draft| draft.what += &alike);
        }
        drafts
    }

    /// A link a generation faster, and one that is wider: what its ends can, if it came up as less; what the stronger end can; else the next
    /// better of both.
    fn reshape(&self, link: usize, faster: &mut Edit, wider: &mut Edit) {
        let config = &self.scenario.fabric.links[link];
        let found = [config.lower, config.upper].map(|end| self.shape(end));
        let [Some(lower), Some(upper)] = found else { return };
        let mode = config.mode;
        let trained = Shape { generation: mode.generation.number().into(), width: mode.width.lanes() as u32 };
        let generation = next(trained.generation, [lower.generation, upper.generation], &GENERATIONS);
        let width = next(trained.width, [lower.width, upper.width], &WIDTHS);
        let below = self.name(config.lower.0);
        for (edit, what) in [
            (&mut *faster, format!("gen{generation} above {below}")),
            (&mut *wider, format!("{width} lanes above {below}")),
        ] {
            if edit.what.is_empty() {
                edit.what = what;
            }
        }
        for (end, shape) in [(config.lower, lower), (config.upper, upper)] {
            self.set_shape(faster, end, Shape { generation: generation.max(shape.generation), ..shape });
            self.set_shape(wider, end, Shape { width: width.max(shape.width), ..shape });
        }
        // What holds the link back below what its ends can.
        let (is_faster, is_wider) = (generation > trained.generation, width > trained.width);
        self.release(faster, below, "link.force_generation", format!("gen{generation}"), is_faster);
        self.release(wider, below, "link.force_width", format!("x{width}"), is_wider);
        self.release(wider, below, "link.slot_reducer", "none".to_owned(), is_wider);
    }

    /// What says that a link is less than its ends, if it does and the link is to be better.
    fn release(&self, edit: &mut Edit, below: &str, key: &str, value: String, is_better: bool) {
        let path = self.path(below, key).filter(|path| is_better && self.values[path.as_str()] != "none");
        if let Some(path) = path {
            self.set(edit, path, value);
        }
    }

    fn shape(&self, end: (usize, usize)) -> Option<Shape> {
        let value = |path: String| self.values.get(path.as_str()).copied();
        let port = self.port(end);
        if let Some(text) = value(format!("{port}.link")) {
            let (generation, width) = text.split_once(' ')?;
            return Shape::read(generation, width);
        }
        let device = self.name(end.0);
        Shape::read(value(self.path(device, "generation")?)?, value(self.path(device, "width")?)?)
    }

    fn set_shape(&self, edit: &mut Edit, end: (usize, usize), Shape { generation, width }: Shape) {
        let port = format!("{}.link", self.port(end));
        if self.values.contains_key(port.as_str()) {
            return self.set(edit, port, format!("gen{generation} x{width}"));
        }
        let device = self.name(end.0).to_owned();
        for (key, value) in [("generation", format!("gen{generation}")), ("width", format!("x{width}"))] {
            if let Some(path) = self.path(&device, key) {
                self.set(edit, path, value);
            }
        }
    }

    /// Twice the payload of a TLP in all devices that take less, where headers and framing cost the wire's time.
    fn longer_payloads(&self, candidate: &Candidate) -> Option<Edit> {
        let Candidate::Direction(LinkDirection { link, upstream }, _) = *candidate else { return None };
        let measured = self.results.links.get(link)?;
        let side = if upstream { &measured.upstream } else { &measured.downstream };
        let share = |use_of: &str| side.time_attribution.get(use_of).and_then(serde_json::Value::as_f64);
        let around = share("header").unwrap_or(0.0) + share("framing").unwrap_or(0.0);
        let bytes = 2 * measured.mps_bytes;
        if around < MUCH_AROUND || bytes > LARGEST_PAYLOAD {
            return None;
        }
        let mut edit =
            Edit { what: format!("payloads of up to {bytes} B in all devices"), settings: Vec::new() };
        for (path, value) in &self.values {
            let limits = path.ends_with(".mps_supported") || *path == "firmware.mps";
            let has: Option<u64> = value.strip_suffix(" B").and_then(|number| number.parse().ok());
            if limits && has.is_some_and(|has| has < bytes) {
                self.set(&mut edit, (*path).to_owned(), format!("{bytes} B"));
            }
        }
        Some(edit)
    }
}

/// What comes after what a link came up with: what both ends can, what the stronger one can, or the next there is.
fn next(trained: u32, ends: [u32; 2], all: &[u32]) -> u32 {
    let [least, most] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
    match (trained < least, least < most) {
        (true, _) => least,
        (false, true) => most,
        (false, false) => all.iter().copied().find(|value| *value > trained).unwrap_or(trained),
    }
}

/// Generation and width of a port, by their numbers.
#[derive(Clone, Copy)]
struct Shape {
    generation: u32,
    width: u32,
}

impl Shape {
    fn read(generation: &str, width: &str) -> Option<Self> {
        let number = |text: &str, prefix: &str| text.strip_prefix(prefix)?.parse().ok();
        Some(Self { generation: number(generation, "gen")?, width: number(width, "x")? })
    }
}

/// Directions of links that are in use nearly all the time, besides candidates and the links that they are of.
pub(super) fn others_that_are_full(results: &Results, members: &[&Candidate]) -> Vec<Candidate> {
    let known: HashSet<usize> = members.iter().filter_map(|member| member.link()).collect();
    if known.is_empty() {
        return Vec::new();
    }
    let links = results.links.iter().enumerate().filter(|(link, _)| !known.contains(link));
    let wires = links.filter_map(|(link, measured)| {
        let full = |side: &Direction| side.utilisation >= SATURATED;
        let upstream = full(&measured.upstream);
        (upstream || full(&measured.downstream)).then_some(Candidate::wire(link, upstream))
    });
    wires.collect()
}
