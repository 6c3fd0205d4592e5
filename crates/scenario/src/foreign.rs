//! Texts that are given as scenarios and are something else: dumps of machines, job files, other encodings.

use crate::diagnostic::Diagnostic;
use crate::file::is_section;
use crate::json::{self, is_json};
use crate::problem::Problem;
use crate::source::{FileId, Place, SourceFile};

/// What a text is when it is no scenario, and what to do with it.
pub(crate) fn refuse(file: FileId, source: &SourceFile) -> Option<Diagnostic> {
    let (what, hint) = kind_of(&source.text, &source.shown_path)?;
    let first = source.text.find(|c: char| !c.is_whitespace()).unwrap_or(0);
    let (line, _) = source.line_column(first);
    let place = Place::new(file, source.line_range(line));
    let problem = Problem::NotAScenario { path: source.shown_path.clone(), what: what.to_owned() };
    Some(Diagnostic::at(place, problem).hint(hint))
}

fn kind_of(text: &str, path: &str) -> Option<(&'static str, String)> {
    let scan = |what| {
        (what, format!("`lanewise scan {path}` reads machines, and `--scenario` writes one as a scenario"))
    };
    let start = text.trim_start();
    if start.starts_with("<?xml") || start.starts_with("<system") || start.starts_with("<topology") {
        return Some(scan("XML, as dumps of machines are"));
    }
    if start.starts_with('<') {
        return Some((
            "HTML or XML",
            "a scenario is a TOML file; `lanewise new` copies one to start from".to_owned(),
        ));
    }
    if is_json(text) && !is_scenario(text) {
        return Some((
            "JSON",
            "a scenario in JSON has keys like `host` and `endpoint`; `lanewise import` reads results of tools".to_owned(),
        ));
    }
    if text.lines().take(200).any(is_function) {
        return Some(scan("a dump of a machine, with functions as lspci prints them"));
    }
    let is_job = |line: &str| {
        ["ioengine=", "rw=", "filename=", "iodepth=", "bs="].iter().any(|key| line.starts_with(key))
    };
    if start.starts_with("[global]") && text.lines().any(|line| is_job(line.trim())) {
        let hint = format!("`lanewise run SCENARIO --fio {path}` runs its jobs on a scenario");
        return Some(("a job file of fio", hint));
    }
    None
}

/// Whether JSON is a scenario, by the keys of its outermost object; one with a mistake is taken for a scenario, which reports it.
fn is_scenario(text: &str) -> bool {
    let Some(keys) = json::keys(text) else { return true };
    let sections = keys.iter().filter(|key| is_section(key)).count();
    sections * 2 >= keys.len()
}

/// Whether a line begins with the address of a function, like `01:00.0 Non-Volatile memory controller`.
fn is_function(line: &str) -> bool {
    let Some((address, rest)) = line.split_once(' ') else { return false };
    let parts: Vec<&str> = address.split([':', '.']).collect();
    let hexadecimal = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_hexdigit());
    let short = parts.len() == 3 && parts[0].len() == 2;
    let long = parts.len() == 4 && parts[0].len() >= 4;
    (short || long)
        && parts.iter().all(hexadecimal)
        && address.contains('.')
        && rest.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// In which encoding bytes are that are no UTF-8, and what to do; nothing where that cannot be told.
pub(crate) fn encoding_of(bytes: &[u8]) -> &'static str {
    let zeros = bytes.iter().take(1_000).filter(|byte| **byte == 0).count();
    let controls = bytes.iter().take(1_000).filter(|byte| **byte < 9).count();
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "it is text in UTF-16; save it as UTF-8",
        [0x1f, 0x8b, ..] => "it is compressed; `lanewise scan` reads archives of machines",
        _ if zeros > 100 && zeros * 3 > bytes.len().min(1_000) => "it is text in UTF-16; save it as UTF-8",
        _ if controls == 0 => "it looks like Latin-1 or Windows-1252; save it as UTF-8",
        _ => "it is not text; a scenario is a TOML file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_scenario_is_called_by_its_name() {
        for (text, what) in [
            ("<?xml version=\"1.0\"?><system/>", "XML"),
            ("<html>", "HTML"),
            ("{\"fio version\": \"fio-3.36\"}", "JSON"),
            ("01:00.0 Non-Volatile memory controller: Samsung", "dump"),
            ("0000:01:00.0 VGA compatible controller", "dump"),
            ("[global]\nrw=read\n[job]\n", "job file"),
        ] {
            let (found, _) = kind_of(text, "a").unwrap_or_else(|| panic!("{text} is not told"));
            assert!(found.contains(what), "{found}");
        }
        assert!(kind_of("{\"host\": {}, \"title\": \"a\"}", "a").is_none());
        assert!(kind_of("title = \"01:00.0 a\"\n[host.a]\n", "a").is_none());
    }

    #[test]
    fn encodings_are_told_apart() {
        assert!(encoding_of(b"\xff\xfet\0").contains("UTF-16"));
        assert!(encoding_of(&b"t\0i\0".repeat(200)).contains("UTF-16"));
        assert!(encoding_of(b"title = \"Gr\xf6\xdfe\"").contains("Latin-1"));
        assert!(encoding_of(b"\x7fELF\x02\x01\x01").contains("not text"));
    }
}
