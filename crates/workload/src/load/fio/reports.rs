//! Which clones are reported together.
//!
//! Source: `__show_run_stats` of fio 3.33. Clones come one after another; one that is not reported with its group, or that
//! is the first of another group, begins an entry, and all others are added to the last.

use super::jobs::{FioConfig, JobTool};
use super::report::GroupTally;
use lanewise_fabric::workload::Metric;
use lanewise_units::Time;

/// The entries of a report, and the one of each clone.
#[derive(Debug)]
pub(crate) struct Reports {
    entries: Vec<Entry>,
    of_clone: Vec<usize>,
}

#[derive(Debug)]
struct Entry {
    /// Of the job that began it; with its number when every clone has an entry.
    name: String,
    tool: JobTool,
    clones: u32,
    tally: GroupTally,
}

impl Reports {
    /// Empty ones for these jobs.
    pub(crate) fn new<'a>(jobs: impl Iterator<Item = &'a FioConfig>) -> Self {
        let mut reports = Self { entries: Vec::new(), of_clone: Vec::new() };
        for job in jobs {
            for clone in 0..job.jobs {
                reports.add(job, clone);
            }
        }
        reports
    }

    fn add(&mut self, job: &FioConfig, clone: u32) {
        let same_group = job.same_group || clone > 0;
        match self.entries.last_mut().filter(|_| job.group_reporting && same_group) {
            Some(entry) => entry.clones += 1,
            None => {
                let alone = job.group_reporting || job.jobs == 1;
                let name = if alone { job.name.to_string() } else { format!("{}[{clone}]", job.name) };
                self.entries.push(Entry { name, tool: job.tool, clones: 1, tally: GroupTally::default() });
            }
        }
        self.of_clone.push(self.entries.len() - 1);
    }

    /// What a clone, by its number among all of them, is counted in.
    pub(crate) fn of(&mut self, clone: u32) -> &mut GroupTally {
        &mut self.entries[self.of_clone[clone as usize]].tally
    }

    /// Forgets what was counted.
    pub(crate) fn restart(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.tally = GroupTally::default());
    }

    /// Everything that was counted in a window: first fio's report, if there is a job of fio's, then one for each of gdsio's. The time of
    /// an entry is up to the end of its last clone, as fio's is: `ended` says when each ended, by its number, if it has.
    pub(crate) fn all(&self, (start, end): (Time, Time), ended: &[Option<Time>]) -> Vec<Vec<Metric>> {
        let mut until = vec![start; self.entries.len()];
        for (entry, ended) in self.of_clone.iter().zip(ended) {
            until[*entry] = until[*entry].max(ended.map_or(end, |ended| ended.min(end)));
        }
        let window = |number: usize| until[number].saturating_since(start);
        let of = |tool| self.entries.iter().enumerate().filter(move |(_, entry)| entry.tool == tool);
        let fio: Vec<Metric> = of(JobTool::Fio)
            .flat_map(|(number, entry)| entry.tally.metrics(&entry.name, entry.clones, window(number)))
            .collect();
        let gdsio = of(JobTool::Gdsio).map(|(number, entry)| entry.tally.gdsio_metrics(window(number)));
        (!fio.is_empty()).then_some(fio).into_iter().chain(gdsio).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::job::tests::config;
    use super::*;

    fn job(name: &str, jobs: u32, group_reporting: bool, same_group: bool) -> FioConfig {
        FioConfig { name: name.into(), jobs, group_reporting, same_group, ..config() }
    }

    /// Names of the entries, and how many clones each has.
    fn entries(jobs: &[FioConfig]) -> Vec<(String, u32)> {
        let reports = Reports::new(jobs.iter());
        reports.entries.into_iter().map(|entry| (entry.name, entry.clones)).collect()
    }

    #[test]
    fn clones_have_entries_of_their_own_unless_they_are_reported_together() {
        let jobs = [job("a", 2, false, false), job("b", 3, true, false), job("c", 1, false, false)];
        let expected = [("a[0]", 1), ("a[1]", 1), ("b", 3), ("c", 1)];
        assert_eq!(entries(&jobs), expected.map(|(name, clones)| (name.to_owned(), clones)));
    }

    /// What fio 3.33 prints for these jobs, its oddity included: a clone before, reported by itself, takes the group in.
    #[test]
    fn jobs_of_a_group_are_added_to_the_entry_before_them() {
        let jobs = [
            job("a", 2, false, false),
            job("b", 1, true, true),
            job("c", 1, true, true),
            job("d", 1, false, true),
            job("e", 1, true, false),
        ];
        let expected = [("a[0]", 1), ("a[1]", 3), ("d", 1), ("e", 1)];
        assert_eq!(entries(&jobs), expected.map(|(name, clones)| (name.to_owned(), clones)));
    }
}
