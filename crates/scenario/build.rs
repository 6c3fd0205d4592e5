//! Lists the catalog's files, so that a new part is one new file and the catalog needs no file system at run time.

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
        writeln!(list, "    ({name:?}, include_str!({:?})),", path.display().to_string())
            .expect("text can grow");
    }
    list.push_str("];\n");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo says where to write"));
    fs::write(out.join("catalog_files.rs"), list).expect("the build folder can be written");
}
