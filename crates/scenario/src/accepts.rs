//! Whether a text is a value of a parameter of a scenario, by its table alone.
//!
//! Leaves out: what only the whole scenario can say, such as blocks that do not fit a drive; [`crate::load`] does.

use crate::file::ScenarioFile;
use crate::parameter::{Field, ParameterTable, TableSchema};
use crate::parameters::{FirmwareParameters, LinkParameters, PortParameters, RunParameters};
use crate::resolve::kind_of;
use std::collections::HashMap;

/// The tables that parameters stand in, by what has them: `server`, `workload.stream`, `firmware`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables(HashMap<String, &'static TableSchema>);

impl Tables {
    pub fn of(file: &ScenarioFile) -> Self {
        let components = file.components.iter().map(|each| (each.name.clone(), each.kind.schema()));
        let workloads = file.workloads.iter().filter_map(|each| {
            let kind = kind_of(each)?;
            Some((each.path(), kind.table))
        });
        let own = [("run", &RunParameters::SCHEMA), ("firmware", &FirmwareParameters::SCHEMA)];
        let own = own.into_iter().map(|(word, table)| (word.to_owned(), table));
        Self(components.chain(workloads).chain(own).collect())
    }

    /// Whether a text is a value of a parameter, within its range; also where no table has the parameter.
    pub fn accepts(&self, path: &str, text: &str) -> bool {
        self.field(path).is_none_or(|field| (field.accepts)(text))
    }

    fn field(&self, path: &str) -> Option<&'static Field> {
        let mut keys: Vec<&str> = path.split('.').collect();
        let owner: Vec<&str> =
            keys.drain(..if keys[0] == "workload" { 2.min(keys.len()) } else { 1 }).collect();
        let owner = owner.join(".");
        // Devices of a group have their table together: `nvme[3].tags`.
        let group = || self.0.get(owner.split('[').next()?);
        let mut table = *self.0.get(&owner).or_else(group)?;
        let (key, groups) = keys.split_last()?;
        let mut groups = groups.iter();
        while let Some(group) = groups.next() {
            table = match *group {
                "link" => &LinkParameters::SCHEMA,
                // Of one of them, whose name is next.
                "slots" | "ports" => {
                    groups.next()?;
                    &PortParameters::SCHEMA
                }
                group => table.all_groups().into_iter().find(|(name, _)| *name == group)?.1,
            };
        }
        table.all_fields().into_iter().find(|field| field.key == *key)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Scenario, Source, load};

    const RIG: &str = r#"
[host.server]
slots = { slot1 = "gen4 x8", slot2 = { link = "gen4 x4", mps_supported = "512 B" } }
[endpoint.card]
attach = "server.*"
count = 2
generation = "gen4"
width = "x4"
[[workload]]
kind = "dma"
name = "stream"
device = "card[*]"
direction = "write"
"#;

    fn scenario() -> Scenario {
        load(&Source::from_text("rig.toml", RIG), &[]).unwrap_or_else(|found| panic!("{found}"))
    }

    #[test]
    fn the_ends_of_ranges_and_choices_are_known() {
        let scenario = scenario();
        for (path, good, bad) in [
            ("card.mrrs", "4096 B", "8192 B"),
            ("card[1].mrrs", "4096 B", "8192 B"),
            ("card.link.bit_error_rate_upstream", "0.001", "2"),
            ("server.slots.slot2.mps_supported", "4096 B", "8192 B"),
            ("server.credits.posted_header", "2032", "4064"),
            ("server.stack.read_trackers", "64", "0"),
            ("firmware.mps", "256 B", "300 B"),
            ("workload.stream.size", "1 GiB", "2 GiB"),
        ] {
            assert!(scenario.accepts(path, good), "{path}: {good}");
            assert!(!scenario.accepts(path, bad), "{path}: {bad}");
        }
    }

    /// What is accepted here is what can be loaded, as far as a table says.
    #[test]
    fn values_in_force_are_accepted() {
        let scenario = scenario();
        for each in &scenario.parameters {
            assert!(scenario.accepts(&each.path, &each.value), "{} = {}", each.path, each.value);
        }
        assert!(scenario.accepts("card.no_such_key", "1") && scenario.accepts("workload", "1"));
    }
}
