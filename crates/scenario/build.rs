//! Puts the catalog's files into the program, so that a new part is one new file and the catalog needs no file system at run
//! time. Comments are for readers of the files: they stay out, and leave empty lines, so that places are those of the files.

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

    let mut list = String::from(
        "/// Name and text of every catalog file, sorted by name.\nstatic CATALOG_FILES: &[(&str, &str)] = &[\n",
    );
    for path in paths {
        let path = path.canonicalize().expect("a listed file exists");
        let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a listed file can be read");
        writeln!(list, "    ({name:?}, {:?}),", without_comments(&text)).expect("text can grow");
    }
    list.push_str("];\n");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo says where to write"));
    fs::write(out.join("catalog_files.rs"), list).expect("the build folder can be written");
}

/// A text in TOML without the lines that are comments. No part has a text of several lines, in which `#` may begin one.
fn without_comments(text: &str) -> String {
    assert!(!text.contains("\"\"\"") && !text.contains("'''"), "a part has texts of one line");
    text.split('\n').map(|line| if line.starts_with('#') { "" } else { line }).collect::<Vec<_>>().join("\n")
}
