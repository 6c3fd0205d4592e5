//! The directions of a trace, found by the names that rows have.

use lanewise_sim::{TraceDirection, TraceFrame, TraceRow};
use std::collections::BTreeMap;

/// Directions by number, in the order of the frame.
pub(crate) struct Directions {
    all: Vec<TraceDirection>,
    of_link: BTreeMap<String, Link>,
}

#[derive(Clone, Copy)]
struct Link {
    ways: [Option<usize>; 2],
}

impl Directions {
    pub(crate) fn of(frame: &TraceFrame) -> Self {
        let mut of_link: BTreeMap<String, Link> = BTreeMap::new();
        for (number, direction) in frame.directions.iter().enumerate() {
            let link = of_link.entry(direction.link.clone()).or_insert(Link { ways: [None; 2] });
            link.ways[place(direction.way)] = Some(number);
        }
        Self { all: frame.directions.clone(), of_link }
    }

    pub(crate) fn all(&self) -> &[TraceDirection] {
        &self.all
    }

    /// The direction of a row, if the frame has it.
    pub(crate) fn number(&self, row: &TraceRow) -> Option<usize> {
        self.of_link.get(&row.link)?.ways[place(row.direction)]
    }

    /// The other direction of the same link.
    pub(crate) fn opposite(&self, number: usize) -> Option<usize> {
        let direction = &self.all[number];
        self.of_link[&direction.link].ways[1 - place(direction.way)]
    }
}

fn place(way: &str) -> usize {
    usize::from(way == "downstream")
}
