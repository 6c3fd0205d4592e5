//! The order of tables in a file says nothing: devices and workloads are known by their names.
//!
//! Leaves out what the order says by its meaning: `attach = "sw0.*"` is the next free port, so whatever is attached to a device that
//! somebody is attached to like that stays in order; and a workload without a name is called by its number, so it stays in its place.

use crate::rig::results;
use lanewise_engine::random::RandomStream;
use lanewise_sim::Results;
use serde::Serialize;
use std::collections::BTreeMap;

/// Enough for the busy part of each run.
const SETTINGS: [(&str, &str); 1] = [("run.event_limit", "150000")];

/// Tables of a file, each with what is below it, and comments before it with the table before that.
fn tables(text: &str) -> (String, Vec<String>) {
    let (mut head, mut tables) = (String::new(), Vec::<String>::new());
    for line in text.lines() {
        let header = line.split('#').next().unwrap_or("").trim();
        let name = header.trim_matches(['[', ']']);
        let is_own = match header.starts_with("[[") {
            true => name == "workload",
            false => header.starts_with('[') && name.split('.').count() <= 2 && !name.starts_with("workload"),
        };
        if is_own {
            tables.push(String::new());
        }
        let table = tables.last_mut().unwrap_or(&mut head);
        table.push_str(line);
        table.push('\n');
    }
    (head, tables)
}

fn value<'t>(table: &'t str, key: &str) -> Option<&'t str> {
    let written = |line: &'t str| line.split_once('=').filter(|(known, _)| known.trim() == key);
    let (_, value) = table.lines().find_map(written)?;
    value.split('"').nth(1)
}

/// The same tables in another order, which means the same.
fn shuffled(text: &str, seed: u64) -> String {
    let (head, tables) = tables(text);
    let mut random = RandomStream::new(seed, "tables", "order");
    let mut order: Vec<usize> = (0..tables.len()).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
    let device = |attach: &str| attach.split('.').next().unwrap_or("").to_owned();
    let attached = |index: &usize| value(&tables[*index], "attach");
    let is_free = |attach: &&str| attach.ends_with('*') || !attach.contains('.');
    let mut kept: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for free in (0..tables.len()).filter_map(|index| attached(&index)).filter(is_free) {
        let own = |index: &usize| attached(index).is_some_and(|attach| device(attach) == device(free));
        kept.insert(device(free), (0..tables.len()).filter(own).collect());
    }
    let is_unnamed =
        |index: &usize| tables[*index].starts_with("[[") && value(&tables[*index], "name").is_none();
    if (0..tables.len()).any(|index| is_unnamed(&index)) {
        let is_workload = |index: &usize| tables[*index].starts_with("[[");
        kept.insert("[[workload]]".to_owned(), (0..tables.len()).filter(is_workload).collect());
    }
    for group in kept.values() {
        let places: Vec<usize> = (0..order.len()).filter(|place| group.contains(&order[*place])).collect();
        places.iter().zip(group).for_each(|(place, table)| order[*place] = *table);
    }
    head + &order.into_iter().map(|table| tables[table].as_str()).collect::<String>()
}

/// Everything that was measured, in an order of its own, and what limits the run.
fn measured(results: &Results) -> Vec<String> {
    fn sorted<T: Serialize>(list: &[T]) -> Vec<String> {
        let text = |one: &T| serde_json::to_string(one).expect("results are JSON");
        let mut list: Vec<String> = list.iter().map(text).collect();
        list.sort();
        list
    }
    let run = format!("{} {} {:?}", results.fingerprint, results.events, results.simulated_s);
    let phases = results.phases.iter().flat_map(|phase| sorted(&phase.flows));
    let mut all = vec![run];
    all.extend(phases);
    all.extend(sorted(&results.flows));
    all.extend(sorted(&results.links));
    all.extend(sorted(&results.requesters));
    all.extend(sorted(&results.buffers));
    all.extend(sorted(&results.resources));
    all.extend(sorted(&results.errors));
    all.extend(sorted(&results.instruments));
    // What to edit is listed in the order of the file.
    let limit = results
        .limited_by
        .as_ref()
        .map(|limit| (&limit.sentence, &limit.alike, limit.share, limit.of_goodput));
    all.push(format!("{limit:?}"));
    all
}

fn same_in_any_order(name: &str, text: &str, seeds: std::ops::Range<u64>) {
    let as_written = measured(&results(text, &SETTINGS));
    for seed in seeds {
        let other = shuffled(text, seed);
        let results = measured(&results(other.as_str(), &SETTINGS));
        let difference = as_written.iter().zip(&results).find(|(one, other)| one != other);
        assert!(difference.is_none(), "{name}, seed {seed}: {difference:#?}, from\n{other}");
        assert_eq!(as_written.len(), results.len());
    }
}

#[test]
fn no_shipped_scenario_depends_on_the_order_of_its_tables() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut known = 0;
    for file in std::fs::read_dir(folder).expect("scenarios are there") {
        let path = file.expect("a file").path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let text = std::fs::read_to_string(&path).expect("a scenario is text");
            same_in_any_order(&path.display().to_string(), &text, 0..2);
            known += 1;
        }
    }
    assert!(known > 20, "{known} scenarios");
}

/// Two hosts with trees of two levels, and loads that meet at each place at the same instants.
const TREES: &str = r#"
title = "Trees"

[host.left]
slots = { slot1 = "gen4 x8", slot2 = "gen3 x4" }

[host.right]
slots = { slot1 = "gen4 x8" }

[switch.top]
attach = "left.slot1"
ports = { port0 = "gen4 x8", port1 = "gen4 x4", port2 = "gen4 x4", port3 = "gen4 x4" }

[switch.under]
attach = "top.port2"
ports = { port0 = "gen4 x4", port1 = "gen4 x4", port2 = "gen4 x4" }

[switch.other]
attach = "right.slot1"
ports = { port0 = "gen4 x8", port1 = "gen4 x4", port2 = "gen4 x4" }

[endpoint.direct]
attach = "left.slot2"
generation = "gen3"
width = "x4"

[endpoint.a]
attach = "top.port1"
generation = "gen4"
width = "x4"

[endpoint.b]
attach = "top.port3"
generation = "gen4"
width = "x4"

[endpoint.c]
attach = "under.port1"
generation = "gen4"
width = "x4"

[endpoint.d]
attach = "under.port2"
generation = "gen4"
width = "x4"

[endpoint.e]
attach = "other.port1"
generation = "gen4"
width = "x4"

[endpoint.f]
attach = "other.port2"
generation = "gen4"
width = "x4"
"#;

/// Loads on each device, some of them at one.
fn loads_on_trees() -> String {
    let load = |(index, (device, direction)): (usize, &(&str, &str))| {
        format!(
            "[[workload]]\nkind = \"dma\"\nname = \"load{index}\"\ndevice = \"{device}\"\ndirection = \"{direction}\"\n\
             size = \"4 KiB\"\noutstanding = {}\n",
            1 + index % 3
        )
    };
    let loads = [
        ("f", "read"),
        ("c", "write"),
        ("a", "read"),
        ("a", "write"),
        ("b", "read"),
        ("e", "read"),
        ("d", "read"),
        ("c", "read"),
        ("direct", "read"),
        ("f", "write"),
        ("e", "write"),
        ("a", "read"),
        ("b", "write"),
    ];
    TREES.to_owned() + &loads.iter().enumerate().map(load).collect::<String>()
}

#[test]
fn devices_and_loads_that_meet_at_one_instant_do_so_in_an_order_of_their_own() {
    same_in_any_order("trees", &loads_on_trees(), 0..6);
}

#[test]
fn what_is_listed_is_in_the_order_of_the_file() {
    for seed in 0..3 {
        let text = shuffled(&loads_on_trees(), seed);
        let results = results(text.as_str(), &SETTINGS);
        let listed: Vec<&str> = results.flows.iter().map(|flow| flow.name.as_str()).collect();
        let (_, tables) = tables(&text);
        let written: Vec<&str> = tables.iter().filter_map(|table| value(table, "name")).collect();
        assert_eq!(listed, written);
        let ends = |kind: &str| {
            let header = format!("[{kind}.");
            let names = tables.iter().filter_map(|table| table.strip_prefix(&header)?.split_once(']'));
            names.map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
        };
        let requesters: Vec<&str> = results.requesters.iter().map(|one| one.device.as_str()).collect();
        assert_eq!(requesters, ends("endpoint"));
        let links: Vec<&str> = results.links.iter().map(|link| link.name.as_str()).collect();
        assert_eq!(links, [ends("switch"), ends("endpoint")].concat());
    }
}
