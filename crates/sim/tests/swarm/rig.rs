//! Scenarios at random: machines of hosts, switches and devices with work for each, or a shipped scenario, and settings of their
//! parameters, at their ends more often than not.

use lanewise_engine::random::RandomStream;
use lanewise_scenario::{Axis, ComponentKind, NativeFiles, axes, catalog};
use lanewise_sim::{Diagnostics, Scenario, Source, load};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A scenario in pieces that can be left out, and settings on top.
#[derive(Clone, Debug)]
pub struct Rig {
    /// Tables of components and workloads: host first.
    pub blocks: Vec<String>,
    /// Paths and values, as after `--set`.
    pub settings: Vec<(String, String)>,
}

impl Rig {
    pub fn text(&self) -> String {
        self.blocks.concat()
    }

    pub fn load(&self) -> Result<Scenario, Diagnostics> {
        load(&Source::from_text("swarm.toml", self.text()), &self.settings)
    }
}

/// What is known before any scenario is drawn.
pub struct World {
    /// Values at the ends, and others, by path within a component or workload.
    axes: BTreeMap<String, Axis>,
    shipped: Vec<String>,
    switches: Vec<String>,
    endpoints: Vec<String>,
    hosts: Vec<String>,
    /// Ends of axes that were part of a scenario, and pairs of them.
    pub ends_tried: BTreeSet<(String, String)>,
    pub pairs_tried: BTreeSet<[(String, String); 2]>,
}

const GENERATIONS: [&str; 7] = ["gen1", "gen2", "gen3", "gen4", "gen5", "gen6", "gen7"];
const WIDTHS: [&str; 6] = ["x1", "x2", "x4", "x8", "x12", "x16"];

/// What the run itself is told, which nothing else changes.
const RUN: [&str; 2] = ["run.time_limit", "run.event_limit"];

fn any<'a, T: ?Sized>(random: &mut RandomStream, list: &[&'a T]) -> &'a T {
    list[random.below(list.len() as u64) as usize]
}

fn one_in(random: &mut RandomStream, times: u64) -> bool {
    random.below(times) == 0
}

impl World {
    pub fn new() -> Self {
        let mut by_path: BTreeMap<String, Axis> = BTreeMap::new();
        for axis in axes() {
            let known = by_path.entry(axis.path.clone()).or_insert_with(|| Axis {
                ends: Vec::new(),
                others: Vec::new(),
                path: axis.path.clone(),
            });
            known.ends.extend(axis.ends);
            known.others.extend(axis.others);
        }
        let folder = format!("{}/../../scenarios", env!("CARGO_MANIFEST_DIR"));
        let files = std::fs::read_dir(folder).expect("the folder of scenarios");
        let paths = files.map(|file| file.expect("a file").path().display().to_string());
        let mut shipped: Vec<String> = paths.filter(|path| path.ends_with(".toml")).collect();
        shipped.sort();
        let parts = catalog().list().unwrap_or_else(|found| panic!("{found}"));
        let of = |kind| parts.iter().filter(|part| part.kind == kind).map(|part| part.name.clone()).collect();
        Self {
            axes: by_path,
            shipped,
            switches: of(ComponentKind::Switch),
            endpoints: of(ComponentKind::Endpoint),
            hosts: of(ComponentKind::Host),
            ends_tried: BTreeSet::new(),
            pairs_tried: BTreeSet::new(),
        }
    }

    /// How many ends of axes there are.
    pub fn ends(&self) -> usize {
        self.axes.values().map(|axis| axis.ends.iter().collect::<BTreeSet<_>>().len()).sum()
    }

    /// All of them: parameter and value.
    pub fn all_ends(&self) -> BTreeSet<(String, String)> {
        let of = |(path, axis): (&String, &Axis)| {
            axis.ends.iter().map(|end| (path.clone(), end.clone())).collect::<Vec<_>>()
        };
        self.axes.iter().flat_map(of).collect()
    }

    /// Every shipped scenario, in pieces.
    pub fn shipped_blocks(&self) -> Vec<Vec<String>> {
        self.shipped.iter().map(|path| blocks_of(path)).collect()
    }

    /// The scenario of a seed, and what it is when loaded.
    pub fn draw(&mut self, seed: u64) -> (Rig, Scenario) {
        let random = &mut RandomStream::new(seed, "swarm", "scenario");
        let (mut rig, mut scenario) = loop {
            let blocks = if one_in(random, 3) { self.shipped_one(random) } else { self.machine(random) };
            let events = (1 + random.below(6)) * 10_u64.pow(1 + random.below(4) as u32);
            let limits = [format!("{} us", 1 + random.below(4000)), events.to_string()];
            let settings = RUN.iter().zip(limits).map(|(path, value)| ((*path).to_owned(), value)).collect();
            let rig = Rig { blocks, settings };
            if let Ok(scenario) = rig.load() {
                break (rig, scenario);
            }
        };
        let mut at_ends: Vec<(String, String)> = Vec::new();
        let parameters = scenario.explained_parameters();
        for _ in 0..random.below(16) {
            let parameter = &parameters[random.below(parameters.len() as u64) as usize];
            let taken = rig.settings.iter().any(|(path, _)| *path == parameter.path);
            let Some((value, end)) = self.another(&parameter.path, &parameter.value, random) else {
                continue;
            };
            if taken {
                continue;
            }
            rig.settings.push((parameter.path.clone(), value));
            match rig.load() {
                Ok(found) => scenario = found,
                Err(_) => {
                    rig.settings.pop();
                    continue;
                }
            }
            at_ends.extend(end);
        }
        at_ends.sort();
        at_ends.dedup();
        for (nth, one) in at_ends.iter().enumerate() {
            at_ends[..nth].iter().for_each(|other| {
                self.pairs_tried.insert([other.clone(), one.clone()]);
            });
        }
        self.ends_tried.extend(at_ends);
        (rig, scenario)
    }

    /// Another value for a parameter: one of its ends, one of its words, or more or less than it is; with the axis and the end, if
    /// it is one. Often not one that can be.
    fn another(
        &self,
        path: &str,
        value: &str,
        random: &mut RandomStream,
    ) -> Option<(String, Option<(String, String)>)> {
        let keys: Vec<&str> = path.split('.').collect();
        let axis = (1..keys.len()).find_map(|from| self.axes.get(&keys[from..].join(".")))?;
        if !axis.ends.is_empty() && !one_in(random, 3) {
            let end = &axis.ends[random.below(axis.ends.len() as u64) as usize];
            return Some((end.clone(), Some((axis.path.clone(), end.clone()))));
        }
        let number: String = value.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        if let Ok(now) = number.parse::<f64>() {
            let factor: f64 =
                any(random, &["0", "0.1", "0.25", "0.5", "2", "3", "8", "50"]).parse().expect("a number");
            return Some((format!("{}{}", (now * factor * 1e3).round() / 1e3, &value[number.len()..]), None));
        }
        if axis.others.is_empty() {
            return None;
        }
        let word = axis.others[random.below(axis.others.len() as u64) as usize].clone();
        Some((word, None))
    }

    fn shipped_one(&self, random: &mut RandomStream) -> Vec<String> {
        blocks_of(&self.shipped[random.below(self.shipped.len() as u64) as usize])
    }

    /// A host with a tree of switches and devices below some of its slots, and work for every device.
    fn machine(&self, random: &mut RandomStream) -> Vec<String> {
        let mut machine =
            Machine { blocks: Vec::new(), work: Vec::new(), devices: Vec::new(), random, world: self };
        machine.host();
        let Machine { mut blocks, work, .. } = machine;
        blocks.extend(work);
        blocks
    }
}

fn blocks_of(path: &str) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("it can be read");
    assert!(Source::read(path, &NativeFiles).is_ok());
    // A table begins at the start of a line; what belongs to a component follows it.
    let mut blocks = vec![String::new()];
    for line in text.lines() {
        if line.starts_with('[') {
            blocks.push(String::new());
        }
        let _ = writeln!(blocks.last_mut().expect("there is one"), "{line}");
    }
    blocks
}

struct Machine<'a> {
    blocks: Vec<String>,
    work: Vec<String>,
    devices: Vec<String>,
    random: &'a mut RandomStream,
    world: &'a World,
}

impl Machine<'_> {
    fn shape(&mut self) -> String {
        format!("{} {}", any(self.random, &GENERATIONS), any(self.random, &WIDTHS))
    }

    fn host(&mut self) {
        let slots = 1 + self.random.below(3);
        if one_in(self.random, 3) {
            let part = &self.world.hosts[self.random.below(self.world.hosts.len() as u64) as usize];
            self.blocks.push(format!("[host.h]\npart = \"{part}\"\npeer_to_peer = true\n"));
        } else {
            let mut text = "[host.h]\npeer_to_peer = true\nslots = { ".to_owned();
            for slot in 1..=slots {
                let shape = self.shape();
                let _ = write!(text, "{}slot{slot} = \"{shape}\"", if slot > 1 { ", " } else { "" });
            }
            self.blocks.push(text + " }\n");
        }
        for slot in 1..=slots {
            self.below(&format!("h.slot{slot}"), 0);
        }
    }

    /// Something that is plugged in.
    fn below(&mut self, attach: &str, depth: u32) {
        if depth < 3 && self.random.below(3) == 0 && self.blocks.len() < 12 {
            self.switch(attach, depth);
        } else {
            self.endpoint(attach);
        }
    }

    fn link(&mut self) -> String {
        match self.random.below(8) {
            0 => {
                format!("link = {{ aspm = \"l0s and l1\", l1_2_exit = \"{} us\" }}\n", self.random.below(50))
            }
            1 => "link = { virtual_channels = [[7], [2, 3]] }\n".to_owned(),
            2 => "link = { bit_error_rate_upstream = 1e-7, bit_error_rate_downstream = 1e-8 }\n".to_owned(),
            3 => {
                "link = { corrupt_tlps_upstream = [3, 4, 9], corrupt_tlps_downstream = [0, 17] }\n".to_owned()
            }
            _ => String::new(),
        }
    }

    fn switch(&mut self, attach: &str, depth: u32) {
        let name = format!("s{}", self.blocks.len());
        let ports = 1 + self.random.below(4);
        let link = self.link();
        let mut text = format!("[switch.{name}]\nattach = \"{attach}\"\n{link}");
        if one_in(self.random, 3) {
            let part = &self.world.switches[self.random.below(self.world.switches.len() as u64) as usize];
            let _ = writeln!(text, "part = \"{part}\"");
        } else {
            let up = self.shape();
            let _ = write!(text, "ports = {{ port0 = \"{up}\"");
            for port in 1..=ports {
                let shape = self.shape();
                let _ = write!(text, ", port{port} = \"{shape}\"");
            }
            text += " }\n";
        }
        self.blocks.push(text);
        for port in 1..=ports {
            self.below(&format!("{name}.port{port}"), depth + 1);
        }
    }

    fn endpoint(&mut self, attach: &str) {
        let name = format!("e{}", self.blocks.len());
        let link = self.link();
        let mut text = format!("[endpoint.{name}]\nattach = \"{attach}\"\n{link}");
        if one_in(self.random, 3) {
            let part = &self.world.endpoints[self.random.below(self.world.endpoints.len() as u64) as usize];
            let _ = writeln!(text, "part = \"{part}\"");
        } else {
            let (generation, width) = (any(self.random, &GENERATIONS), any(self.random, &WIDTHS));
            let _ = writeln!(text, "generation = \"{generation}\"\nwidth = \"{width}\"");
        }
        self.blocks.push(text);
        self.devices.push(name.clone());
        for nth in 0..1 + self.random.below(2) {
            self.work_for(&name, nth);
        }
    }

    fn work_for(&mut self, device: &str, nth: u64) {
        let random = &mut *self.random;
        let head = format!("name = \"{device}w{nth}\"\ndevice = \"{device}\"\n");
        let direction = any(random, &["read", "write", "both"]);
        let size = any(random, &["1 B", "64 B", "257 B", "4 KiB", "100000 B", "1 MiB"]);
        let outstanding = any(random, &["1", "2", "7", "64", "300"]);
        let body = match random.below(8) {
            0 => format!("kind = \"mmio\"\ndirection = \"{}\"\n", any(random, &["read", "write"])),
            1 => format!("kind = \"rings\"\ndirection = \"{}\"\n", any(random, &["receive", "send"])),
            2 => format!(
                "kind = \"copy\"\ndirection = \"{}\"\nsizes = [\"{size}\"]\n",
                any(random, &["host-to-device", "device-to-host"])
            ),
            3 => {
                let peer = &self.devices[random.below(self.devices.len() as u64) as usize];
                format!(
                    "kind = \"dma\"\ndirection = \"{direction}\"\ntarget = \"{peer}\"\nsize = \"{size}\"\n"
                )
            }
            4 => {
                let order = any(random, &["sequential", "random"]);
                format!(
                    "kind = \"dma\"\ndirection = \"{direction}\"\norder = \"{order}\"\nsize = \"{size}\"\ntraffic_class = 7\n"
                )
            }
            _ => format!(
                "kind = \"dma\"\ndirection = \"{direction}\"\nsize = \"{size}\"\noutstanding = {outstanding}\n"
            ),
        };
        self.work.push(format!("[[workload]]\n{head}{body}"));
    }
}
