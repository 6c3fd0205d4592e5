//! Who did what in IOmeter's report: managers, their workers, and each worker's disks.
//!
//! Numbers are those of [`super::report`] under the names of a manager ("manager 1: "), a worker ("reads worker 2: ") or
//! one of its disks ("reads worker 2 disks0[3]: "), counted from 1 as IOmeter does. Workers of groups with different access
//! specifications may belong to one manager. Leaves out: all of it where there are more than [`MOST_SEATS`] disks of workers.

use super::StorageConfig;
use super::report::{GroupTally, io_metrics};
use lanewise_fabric::workload::Metric;
use lanewise_units::Span;

/// Disks of workers that are still told apart. Assumed: nobody reads a longer table.
const MOST_SEATS: usize = 512;

/// One disk of one worker.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    /// Index of the group.
    pub group: usize,
    /// Number of the worker in its group.
    pub worker: u32,
    /// Index of the drive.
    pub drive: usize,
    /// What was done in the window.
    pub tally: GroupTally,
}

/// What those seats have done that are asked for.
pub(super) fn sum_of(seats: &[Seat], counts: impl Fn(&Seat) -> bool) -> GroupTally {
    let tallies = seats.iter().filter(|seat| counts(seat)).map(|seat| seat.tally);
    tallies.fold(GroupTally::default(), GroupTally::plus)
}

/// Results of each manager, of each worker and of each of its disks.
pub(super) fn metrics(seats: &[Seat], config: &StorageConfig, window: Span) -> Vec<Metric> {
    if seats.len() > MOST_SEATS {
        return Vec::new();
    }
    let mut metrics = Vec::new();
    for manager in 0..config.groups.iter().map(|group| group.managers).max().unwrap_or(0) {
        let tally = sum_of(seats, |seat| config.groups[seat.group].manager_of(seat.worker) == manager);
        metrics.extend(io_metrics(&format!("manager {}: ", manager + 1), &tally, window));
    }
    for (index, group) in config.groups.iter().enumerate() {
        for worker in 0..group.workers {
            let name = format!("{} worker {}", group.name, worker + 1);
            let is_its = |seat: &Seat| (seat.group, seat.worker) == (index, worker);
            metrics.extend(io_metrics(&format!("{name}: "), &sum_of(seats, is_its), window));
            for seat in seats.iter().filter(|seat| is_its(seat)) {
                let drive = &config.drives[seat.drive].name;
                metrics.extend(io_metrics(&format!("{name} {drive}: "), &seat.tally, window));
            }
        }
    }
    metrics
}
