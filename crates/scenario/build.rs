//! Puts the catalog's files into the program, so that a new part is one new file and the catalog needs no file system at run
//! time. Comments are for readers of the files: they stay out, and leave empty lines, so that places are those of the files.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let manifest = env::var("CARGO_MANIFEST_DIR").expect("cargo says where the manifest is");
    let catalog = PathBuf::from(manifest).join("../../catalog");
    println!("cargo:rerun-if-changed={}", catalog.display());
    let entries = fs::read_dir(&catalog).expect("the catalog folder is beside the crates folder");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the catalog can be listed").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort_by(|one, other| one.file_stem().cmp(&other.file_stem()));

    let files: Vec<(String, String)> = paths
        .iter()
        .map(|path| {
            let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
            let text = fs::read_to_string(path).expect("a listed file can be read");
            (name, without_comments(&text))
        })
        .collect();

    let (mut whole, mut ranges) = (String::new(), vec![0..0; files.len()]);
    for at in alike_in_a_row(&files) {
        let start = whole.len();
        whole.push_str(&files[at].1);
        ranges[at] = start..whole.len();
    }
    let mut list =
        format!("/// The texts of all files of the catalog.\nstatic CATALOG_TEXT: &str = {whole:?};\n");
    list.push_str("/// Name of every file, and where its text begins and ends, sorted by name.\n");
    list.push_str("static CATALOG_FILES: &[(&str, usize, usize)] = &[\n");
    for ((name, _), range) in files.iter().zip(ranges) {
        writeln!(list, "    ({name:?}, {}, {}),", range.start, range.end).expect("text can grow");
    }
    list.push_str("];\n");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo says where to write"));
    fs::write(out.join("catalog_files.rs"), list).expect("the build folder can be written");
}

/// An order of the files in which each follows the one with which it shares most text: parts of a family repeat each other's
/// sources, and a program compresses the better, the nearer such repeats are. By name they take 5 kB more of the WebAssembly
/// module as it is sent.
fn alike_in_a_row(files: &[(String, String)]) -> Vec<usize> {
    let pieces: Vec<BTreeSet<&str>> = files.iter().map(|(_, text)| text.split('"').collect()).collect();
    let shared = |one: usize, other: usize| -> usize {
        pieces[one].intersection(&pieces[other]).map(|piece| piece.len()).sum()
    };
    let mut left: BTreeSet<usize> = (0..files.len()).collect();
    let mut row: Vec<usize> = left.pop_first().into_iter().collect();
    while let Some(&last) = row.last() {
        let next = left.iter().copied().max_by_key(|&other| (shared(last, other), Reverse(other)));
        let Some(next) = next else { break };
        left.remove(&next);
        row.push(next);
    }
    row
}

/// A text in TOML without the lines that are comments. No part has a text of several lines, in which `#` may begin one.
fn without_comments(text: &str) -> String {
    assert!(!text.contains("\"\"\"") && !text.contains("'''"), "a part has texts of one line");
    text.split('\n').map(|line| if line.starts_with('#') { "" } else { line }).collect::<Vec<_>>().join("\n")
}
