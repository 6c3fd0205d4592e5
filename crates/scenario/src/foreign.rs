//! Texts that are given as scenarios and are something else: dumps of machines, job files, other encodings.

use crate::diagnostic::Diagnostic;
use crate::document::Table;
use crate::file::{is_section, section_meant};
use crate::json::{self, is_json};
use crate::problem::Problem;
use crate::source::{FileId, Place, SourceFile};

/// What a text is when it is no scenario, and what to do with it.
pub(crate) fn refuse(file: FileId, source: &SourceFile) -> Option<Diagnostic> {
    let (what, hint) = kind_of(&source.text, &source.shown_path)?;
    Some(not_a_scenario(file, source, what, hint))
}

/// The same of a text that could not be read as TOML to its end. One with a table of a scenario is a scenario with mistakes, each
/// of which is reported.
pub(crate) fn refuse_unread(file: FileId, source: &SourceFile) -> Option<Diagnostic> {
    let (what, hint) = language_of(&source.text).filter(|_| !is_json(&source.text))?;
    Some(not_a_scenario(file, source, what, hint.to_owned()))
}

/// The same of TOML that is a part, or has other tables than a scenario.
pub(crate) fn refuse_tables(file: FileId, source: &SourceFile, root: &Table) -> Option<Diagnostic> {
    let has = |key: &str| root.get(key).is_some();
    if has("parameters") && ["kind", "like", "part"].into_iter().any(has) {
        let name = source.shown_path.rsplit(['/', '\\']).next().unwrap_or_default();
        let hint = format!("a scenario beside it names it: `part = \"{name}\"` in the table of a device");
        return Some(not_a_scenario(file, source, "a part", hint));
    }
    let is_other = |key: &str| !is_section(key) && section_meant(key).is_none();
    let is_foreign = root.iter().count() >= FOREIGN_KEYS && root.iter().all(|entry| is_other(&entry.key));
    is_foreign.then(|| not_a_scenario(file, source, "TOML of another kind", TO_START.to_owned()))
}

/// So many keys that no scenario has are those of another file; fewer may be a scenario that was begun.
const FOREIGN_KEYS: usize = 3;

const TO_START: &str = "`lanewise new` copies a scenario to start from; `lanewise scan` reads machines, \
    `lanewise import` benchmarks";

fn not_a_scenario(file: FileId, source: &SourceFile, what: &str, hint: String) -> Diagnostic {
    let first = source.text.find(|c: char| !c.is_whitespace()).unwrap_or(0);
    let (line, _) = source.line_column(first);
    let place = Place::new(file, source.line_range(line));
    let problem = Problem::NotAScenario { path: source.shown_path.clone(), what: what.to_owned() };
    Diagnostic::at(place, problem).hint(hint)
}

/// In which language a text is that is not TOML, and what to do with it; nothing where it has tables of a scenario, or may have.
fn language_of(text: &str) -> Option<(&'static str, &'static str)> {
    // Lines that are no comments, those of them that TOML could have, and headings.
    let (mut written, mut statements, mut headings) = (0, 0, 0);
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            return Some(("Markdown", "copy the scenario out of its block of code"));
        }
        let heading = heading(line);
        if let Some(word) = heading {
            if is_section(word) || section_meant(word).is_some() {
                return None;
            }
            headings += 1;
        }
        let is_written = !line.is_empty() && !line.starts_with('#');
        written += usize::from(is_written);
        statements += usize::from(is_written && (heading.is_some() || gives_a_value(line)));
    }
    let is_other = text.starts_with("#!") || statements * 2 < written || headings > 0;
    is_other.then_some(("text of another program", TO_START))
}

/// The first word of a heading, like `host` of `[host.server]`; nothing for another line.
fn heading(line: &str) -> Option<&str> {
    let words = line.strip_prefix('[')?;
    let words = words.strip_prefix('[').unwrap_or(words);
    let end = words.bytes().position(|byte| matches!(byte, b'.' | b']' | b' ')).unwrap_or(words.len());
    (end > 0).then(|| &words[..end])
}

/// Whether a line gives a key a value.
fn gives_a_value(line: &str) -> bool {
    let is_of_key = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.\"' ".contains(byte) || !byte.is_ascii();
    let key = line.bytes().position(|byte| byte == b'=').map_or(&[][..], |end| &line.as_bytes()[..end]);
    !key.is_empty() && key.iter().all(is_of_key)
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
        return Some(("HTML or XML", TO_START.to_owned()));
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
    let has_section = || text.lines().any(|line| line.trim() == "[global]");
    if has_section() && text.lines().any(|line| is_job(line.trim())) {
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
            ("; two drives\n\n[global]\nrw=read\n[job]\n", "job file"),
        ] {
            let (found, _) = kind_of(text, "a").unwrap_or_else(|| panic!("{text} is not told"));
            assert!(found.contains(what), "{found}");
        }
        assert!(kind_of("{\"host\": {}, \"title\": \"a\"}", "a").is_none());
        assert!(kind_of("title = \"01:00.0 a\"\n[host.a]\n", "a").is_none());
    }

    #[test]
    fn text_that_is_not_toml_is_told_by_its_language() {
        for (text, what) in [
            ("# Title\n\nSome words.\n\n```toml\n[host.server]\n```\n", "Markdown"),
            ("#!/bin/sh\nname=value\n", "another program"),
            ("# OSU MPI Bandwidth Test\n1   0.02\n2   10.59\n", "another program"),
            ("[ ID] Interval\n[  5] 0.00-1.00 sec  1 GBytes\n", "another program"),
            ("Words of one line", "another program"),
            ("[Unit]\nDescription=A service\n", "another program"),
        ] {
            let (found, _) = language_of(text).unwrap_or_else(|| panic!("{text} is not told"));
            assert!(found.contains(what), "{text}: {found}");
        }
        for text in ["[host.server]\nslots\nwords\nmore words\n", "[hots.server]\na b\n", "title = \"open\n"]
        {
            assert_eq!(language_of(text), None, "{text}");
        }
    }

    #[test]
    fn encodings_are_told_apart() {
        assert!(encoding_of(b"\xff\xfet\0").contains("UTF-16"));
        assert!(encoding_of(&b"t\0i\0".repeat(200)).contains("UTF-16"));
        assert!(encoding_of(b"title = \"Gr\xf6\xdfe\"").contains("Latin-1"));
        assert!(encoding_of(b"\x7fELF\x02\x01\x01").contains("not text"));
    }
}
