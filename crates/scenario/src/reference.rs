//! The reference pages, generated from the parameter tables, the problems and the catalog.

use crate::parameter::{FieldDefault, ParameterTable, Provenance, TableSchema};
use crate::parameters::{FirmwareParameters, LinkParameters, RunParameters};
use crate::problem::all_codes;
use crate::resolve::WORKLOAD_KINDS;
use crate::schema::one_line;
use crate::structure::{ComponentKind, HostSlotParameters, SlotParameters};
use crate::value::ParameterType;
use std::fmt::Write as _;

/// Every table and parameter of a scenario file, as Markdown.
pub fn reference_markdown() -> String {
    let mut page = String::from(
        "# Scenario files\n\nEvery table of a scenario file and every parameter in it. A value may be plain, or carry \
         its provenance: `{ value = \"150 ns\", provenance = \"datasheet\", source = \"…\" }`. Quantities are texts with a \
         unit: `GB` is 10⁹, `GiB` is 2³⁰. `B` is a byte and `b` a bit: rates may be in either, as in `100 Gb/s`; a size in bits, as \
         in `4 Kib`, is refused.\n",
    );
    section(&mut page, "`[run]`", &RunParameters::SCHEMA);
    section(&mut page, "`[firmware]`", &FirmwareParameters::SCHEMA);
    for kind in ComponentKind::ALL {
        let heading = format!("`[{}.NAME]`", kind.word());
        section(&mut page, &heading, kind.schema());
        structural(&mut page, kind);
    }
    section(&mut page, "A slot of a host", &HostSlotParameters::SCHEMA);
    section(&mut page, "A port of a switch", &SlotParameters::SCHEMA);
    section(&mut page, "`link` of a switch or endpoint", &LinkParameters::SCHEMA);
    for kind in WORKLOAD_KINDS {
        section(&mut page, &format!("`[[workload]]` with `kind = \"{}\"`", kind.word), kind.table);
        for (heading, table) in kind.lines {
            section(&mut page, heading, table);
        }
    }
    page
}

/// Every diagnostic code, as Markdown.
pub fn problems_markdown() -> String {
    let mut page = String::from("# Problems in scenario files\n\n| code | meaning |\n|---|---|\n");
    for (code, meaning) in all_codes() {
        writeln!(page, "| `{code}` | {} |", cell(meaning)).expect("text can grow");
    }
    page
}

fn section(page: &mut String, heading: &str, table: &'static TableSchema) {
    write!(page, "\n## {heading}\n\n{}\n\n", one_line(table.doc)).expect("text can grow");
    rows(page, "", table);
}

fn rows(page: &mut String, prefix: &str, table: &'static TableSchema) {
    if prefix.is_empty() {
        page.push_str(
            "| key | meaning | value | default | provenance | source |\n|---|---|---|---|---|---|\n",
        );
    }
    for field in table.all_fields() {
        let default = match field.default {
            FieldDefault::Text(text) => format!("`{text}`"),
            FieldDefault::Required => "required".to_owned(),
        };
        let mut value = (field.expected)();
        if let Some((low, high)) = field.range {
            write!(value, "; {low} to {high}").expect("text can grow");
        }
        writeln!(
            page,
            "| `{prefix}{}` | {} | {} | {default} | {} | {} |",
            field.key,
            cell(field.doc),
            cell(&value),
            Provenance::show(&field.provenance),
            cell(field.source),
        )
        .expect("text can grow");
    }
    for (key, group) in table.all_groups() {
        rows(page, &format!("{prefix}{key}."), group);
    }
}

fn structural(page: &mut String, kind: ComponentKind) {
    page.push_str("\nHow it hangs together with the rest:\n\n| key | meaning |\n|---|---|\n");
    for key in kind.structural() {
        writeln!(page, "| `{}` | {} |", key.key, cell(key.doc)).expect("text can grow");
    }
}

/// A text that may stand in a table cell.
fn cell(text: &str) -> String {
    one_line(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_name_every_parameter_and_every_code() {
        let page = reference_markdown();
        for kind in ComponentKind::ALL {
            for field in kind.schema().all_fields() {
                assert!(page.contains(&format!("| `{}` |", field.key)), "{}", field.key);
            }
        }
        assert!(page.contains("| `credits.posted_data` |"));
        let problems = problems_markdown();
        assert!(all_codes().iter().all(|(code, _)| problems.contains(&format!("| `{code}` |"))));
    }
}
