//! Writes the files that are generated from the code: `cargo run -p lanewise-dev -- generate`.
//!
//! With `--check` nothing is written; the exit status says whether every file is current.

mod output;
mod pages;
mod units;
mod uses;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo run -p lanewise-dev -- generate [--check]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["generate"] => write_all(&repository()),
        ["generate", "--check"] => check_all(&repository()),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            // Nothing can be done about a closed stderr.
            let _ = writeln!(std::io::stderr(), "{reason}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository, two folders above this crate.
fn repository() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn write_all(root: &Path) -> Result<(), String> {
    for (path, content) in pages::all()? {
        let path = root.join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        std::fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Names every file that is not what it would be now.
fn check_all(root: &Path) -> Result<(), String> {
    let pages = pages::all()?;
    let is_stale = |(path, content): &&(&str, String)| {
        std::fs::read_to_string(root.join(path)).map_or(true, |written| written != *content)
    };
    let stale: Vec<&str> = pages.iter().filter(is_stale).map(|(path, _)| *path).collect();
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!("not current: {}; run 'make generate' and review what changed", stale.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generated_file_is_current() {
        assert_eq!(check_all(&repository()), Ok(()));
    }

    #[test]
    fn a_missing_file_is_named() {
        let problem = check_all(Path::new("nowhere")).unwrap_err();
        assert!(problem.contains("schema/scenario.schema.json") && problem.contains("make generate"));
    }
}
