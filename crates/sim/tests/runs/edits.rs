//! Every edit that a run proposes can be loaded: of the shipped scenarios, and at the ends of what parameters may be.

use crate::rig::{file, results, results_of_file};
use lanewise_sim::{Results, Source, load};

/// What is wrong with the edits of a run, and how many there are.
fn refused(source: &Source, settings: &[(&str, &str)], run: &Results) -> (Vec<String>, usize) {
    let edits = run.limited_by.as_ref().map_or(&[][..], |limit| &limit.edits);
    let settings = settings.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned()));
    let problems = edits.iter().filter_map(|edit| {
        let mine = edit.settings.iter().map(|each| (each.path.clone(), each.after.clone()));
        let all: Vec<(String, String)> = settings.clone().chain(mine).collect();
        load(source, &all).err().map(|found| format!("{}: {found}", edit.what))
    });
    (problems.collect(), edits.len())
}

#[test]
fn every_edit_of_the_shipped_scenarios_can_be_loaded() {
    let folder = format!("{}/../../scenarios", env!("CARGO_MANIFEST_DIR"));
    let paths = std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    let mut names: Vec<String> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    let (mut problems, mut count) = (Vec::new(), 0);
    for name in &names {
        let run = results_of_file(name, &[]);
        let (wrong, of_it) = refused(&file(name), &[], &run);
        problems.extend(wrong.into_iter().map(|what| format!("{name}: {what}")));
        count += of_it;
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(count > 50, "{count} edits of {} scenarios", names.len());
}

const RIG: &str = r#"
title = "One device"
[host.server]
slots = { slot1 = "gen4 x16" }
[endpoint.card]
attach = "server.slot1"
generation = "gen4"
width = "x16"
[[workload]]
kind = "dma"
name = "stream"
device = "card"
direction = "read"
size = "64 KiB"
outstanding = 16
"#;

/// With few tags longer requests help, as far as there are any (PCIe Base 6.3 §7.5.3.4: at most 4096 B).
#[test]
fn what_is_at_its_end_is_not_offered() {
    let source = Source::from_text("rig.toml", RIG);
    for path in ["card.mrrs", "firmware.mrrs"] {
        let offered = |value: &str| {
            let settings = [("card.tags", "2"), ("server.stack.read_trackers", "1024"), (path, value)];
            let run = results(RIG, &settings);
            let (wrong, count) = refused(&source, &settings, &run);
            assert!(wrong.is_empty() && count > 0, "{path} = {value}: {wrong:?}");
            let limit = run.limited_by.expect("something moved");
            assert_eq!(limit.kind, "tags", "{path} = {value}: {}", limit.sentence);
            let mut settings = limit.edits.into_iter().flat_map(|edit| edit.settings);
            settings.find(|each| each.path.ends_with(".mrrs")).map(|each| each.after)
        };
        assert_eq!(offered("2048 B").as_deref(), Some("4096 B"), "{path}");
        assert_eq!(offered("4096 B"), None, "{path}");
    }
}
