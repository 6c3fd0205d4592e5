//! Gathers what the wheel carries beside code, so that `maturin` can put it under `lanewise/data`.
//!
//! `pyproject.toml` names the folder `data` in cargo's output folder, and `python/lanewise/data.py` finds the files again. The
//! catalog is not among them: `crates/scenario` compiles it in.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const FOLDERS: [&str; 4] = ["examples", "experiments", "scenarios", "schema"];

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo says where the manifest is"));
    let root = root.join("../..");
    let data = PathBuf::from(env::var("OUT_DIR").expect("cargo says where to write")).join("data");
    if data.exists() {
        fs::remove_dir_all(&data).expect("what an earlier build left can be removed");
    }
    for name in FOLDERS {
        let folder = root.join(name);
        println!("cargo:rerun-if-changed={}", folder.display());
        copy(&folder, &data.join(name))
            .unwrap_or_else(|error| panic!("'{}' cannot be copied: {error}", folder.display()));
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &place)?;
        } else {
            fs::copy(entry.path(), place)?;
        }
    }
    Ok(())
}
