//! Puts the catalog's files into the program, so that a new part is one new file and the catalog needs no file system at run
//! time: their texts in a row, compressed (LZMA) from some 340 kB to 32. Comments are for readers of the files: they stay out, and
//! leave empty lines, so that places are those of the files.

use lzma_rust2::{LzmaOptions, LzmaWriter};
use std::fmt::Write as _;
use std::io::Write as _;
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

    let (mut whole, mut list) = (String::new(), String::new());
    for path in &paths {
        let name = path.file_stem().expect("a file has a name").to_string_lossy();
        let text = fs::read_to_string(path).expect("a listed file can be read");
        whole.push_str(&without_comments(&text));
        writeln!(list, "    ({name:?}, {}),", whole.len()).expect("text can grow");
    }
    let list = format!(
        "/// Name of every file, sorted, and where its text ends among the texts of all.\n\
         static CATALOG_FILES: &[(&str, usize)] = &[\n{list}];\n"
    );
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo says where to write"));
    fs::write(out.join("catalog_files.rs"), list).expect("the build folder can be written");
    let options = LzmaOptions { dict_size: whole.len() as u32, pb: 0, ..LzmaOptions::with_preset(9) };
    let mut compressed = LzmaWriter::new_use_header(Vec::new(), &options, Some(whole.len() as u64))
        .expect("the options are good");
    compressed.write_all(whole.as_bytes()).expect("a list of bytes can grow");
    let compressed = compressed.finish().expect("a list of bytes can grow");
    fs::write(out.join("catalog_texts.lzma"), compressed).expect("the build folder can be written");
}

/// A text in TOML without the lines that are comments. No part has a text of several lines, in which `#` may begin one.
fn without_comments(text: &str) -> String {
    assert!(!text.contains("\"\"\"") && !text.contains("'''"), "a part has texts of one line");
    text.split('\n').map(|line| if line.starts_with('#') { "" } else { line }).collect::<Vec<_>>().join("\n")
}
