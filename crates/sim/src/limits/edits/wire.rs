//! Edits for a link that is full: faster, wider, or with longer payloads.

use super::super::Candidate;
use super::{Edit, Editor};

/// Widths that ports have; twice the widest of slots is no slot.
const WIDTHS: [u32; 6] = [1, 2, 4, 8, 16, 16];
/// Larger payloads are worth a try when headers and framing take more of a wire's time.
const MUCH_AROUND: f64 = 0.02;
/// The largest payload of a TLP: PCIe Base 6.3 §2.2.2.
const LARGEST_PAYLOAD: u64 = 4096;

impl Editor<'_> {
    /// The ports at both ends of links, faster, wider, or with longer payloads.
    pub(super) fn wire(&self, members: &[&Candidate]) -> Vec<Edit> {
        let mut drafts = ["generation", "width"]
            .map(|key| Edit { what: format!("the next {key} of the link"), settings: Vec::new() });
        let [faster, wider] = &mut drafts;
        let mut links: Vec<usize> = members.iter().filter_map(|member| link_of(member)).collect();
        links.dedup();
        for link in &links {
            self.reshape(*link, faster, wider);
        }
        if links.len() > 1 {
            drafts.iter_mut().for_each(|draft| draft.what += "s");
        }
        let mut all = drafts.to_vec();
        all.extend(members.first().and_then(|first| self.longer_payloads(first)));
        all
    }

    /// A link a generation faster, and one that is wider: the weaker end becomes as the stronger one, or both the next better.
    fn reshape(&self, link: usize, faster: &mut Edit, wider: &mut Edit) {
        let config = &self.scenario.fabric.links[link];
        let found = [config.lower, config.upper].map(|end| self.shape(end));
        let [Some(lower), Some(upper)] = found else { return };
        let next = |one: u32, other: u32, all: &[u32]| match one == other {
            true => all.iter().copied().find(|value| *value > one).unwrap_or(one),
            false => one.max(other),
        };
        let generation = next(lower.generation, upper.generation, &[1, 2, 3, 4, 5, 6, 7]);
        let width = next(lower.width, upper.width, &WIDTHS);
        if generation != lower.generation.max(upper.generation) || lower.generation != upper.generation {
            faster.what = format!("gen{generation} above {}", self.name(config.lower.0));
        }
        if width != lower.width.max(upper.width) || lower.width != upper.width {
            wider.what = format!("{width} lanes above {}", self.name(config.lower.0));
        }
        for (end, shape) in [(config.lower, lower), (config.upper, upper)] {
            self.set_shape(faster, end, Shape { generation: generation.max(shape.generation), ..shape });
            self.set_shape(wider, end, Shape { width: width.max(shape.width), ..shape });
        }
        // What holds the link back below what its ends can.
        let below = self.name(config.lower.0);
        let forced = [
            (&mut *faster, "link.force_generation", format!("gen{generation}")),
            (&mut *wider, "link.force_width", format!("x{width}")),
        ];
        for (edit, key, value) in forced {
            if let Some(path) = self.path(below, key).filter(|path| self.values[path.as_str()] != "none") {
                self.set(edit, path, value);
            }
        }
        if let Some(path) =
            self.path(below, "link.slot_reducer").filter(|path| self.values[path.as_str()] != "none")
        {
            self.set(wider, path, "none".to_owned());
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
        let Candidate::Wire { link, upstream } = candidate else { return None };
        let measured = self.results.links.get(*link)?;
        let side = if *upstream { &measured.upstream } else { &measured.downstream };
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

fn link_of(candidate: &Candidate) -> Option<usize> {
    match candidate {
        Candidate::Wire { link, .. } => Some(*link),
        _ => None,
    }
}
