//! What scenario files mean, a file for each subject: one binary, which is linked once.

mod bridges;
mod collectives;
mod ethernet;
mod hints;
mod idle;
mod job_files;
mod layers;
mod live;
mod long_links;
mod networks;
mod peer_copies;
mod peers;
mod problems;
mod scenarios;
mod sizes;
mod smoke;

/// A file that is not named above would never run.
#[test]
fn every_file_here_is_a_module() {
    let files =
        std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).expect("the folder of this file");
    let names = files.map(|file| file.expect("an entry").file_name().into_string().expect("a plain name"));
    let mut missing: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".rs").map(str::to_owned))
        .filter(|name| name != "main" && !include_str!("main.rs").contains(&format!("\nmod {name};\n")))
        .collect();
    missing.sort();
    assert!(missing.is_empty(), "not in main.rs: {missing:?}");
}
