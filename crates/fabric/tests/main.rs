//! What the parts of a fabric do, a file for each: one binary, which is linked once and keeps all cores busy to its end.
//! What is about a link alone is in `link.rs`.

mod bit_errors;
mod bridges;
mod ceilings;
mod common;
mod corruption;
mod credit_pools;
mod delivered_ahead;
mod dma_engines;
mod fingerprints;
mod flit_forwarding;
mod forwarding;
mod idle_memory;
mod memory_path;
mod mmio;
mod ordered_sets;
mod ordering;
mod peers_across_sockets;
mod root_complex;
mod self_tests;
mod stacks;
mod storage;
mod switches;
mod threads;
mod told;
mod transaction_errors;
mod waiters;
mod waits;

/// A file that is not named above would never run.
#[test]
fn every_file_here_is_a_module() {
    let files =
        std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).expect("the folder of this file");
    let names = files.map(|file| file.expect("an entry").file_name().into_string().expect("a plain name"));
    let named = concat!(include_str!("main.rs"), include_str!("link.rs"));
    let mut missing: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".rs").map(str::to_owned))
        .filter(|name| !matches!(name.as_str(), "main" | "link"))
        .filter(|name| !named.contains(&format!("\nmod {name};\n")))
        .collect();
    missing.sort();
    assert!(missing.is_empty(), "in no binary: {missing:?}");
}
