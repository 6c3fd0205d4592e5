//! Races the event queue and a binary heap over the hold model and prints one table, in millions of pop-and-push pairs a second.
//!
//! `cargo run --release -p lanewise-engine --example queue_race`

mod hold;

use hold::{Aheads, BinaryHeapQueue, Hold, POPULATIONS};
use lanewise_engine::EventQueue;
use lanewise_engine::queue::WheelQueue;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Instant;

/// Rounds of which the upper quartile of speeds is printed: other work on the machine only ever slows a round down.
/// The queues take turns within a round, so that a disturbance hits all.
const ROUNDS: usize = 100;
/// Pairs per queue and round: a few milliseconds, less than a slice of the operating system's scheduler.
const PAIRS: usize = 16_384;

/// One queue in the race.
struct Runner {
    name: &'static str,
    run: Box<dyn FnMut(usize)>,
    mega_pairs_per_s: Vec<f64>,
}

impl Runner {
    fn new<Q: EventQueue<u32> + 'static>(name: &'static str, population: usize, aheads: Aheads) -> Self {
        let mut hold: Hold<Q> = Hold::new(population, aheads);
        Self { name, run: Box::new(move |pairs| hold.run(pairs)), mega_pairs_per_s: Vec::new() }
    }

    fn lap(&mut self) {
        let start = Instant::now();
        (self.run)(PAIRS);
        self.mega_pairs_per_s.push(PAIRS as f64 / start.elapsed().as_secs_f64() / 1e6);
    }

    fn upper_quartile(&mut self) -> f64 {
        self.mega_pairs_per_s.sort_by(f64::total_cmp);
        self.mega_pairs_per_s[ROUNDS * 3 / 4]
    }
}

fn field(population: usize, aheads: fn() -> Aheads) -> Vec<Runner> {
    vec![
        Runner::new::<BinaryHeapQueue<u32>>("binary heap", population, aheads()),
        Runner::new::<WheelQueue<u32>>("wheel", population, aheads()),
    ]
}

/// One column: the speed of each queue.
fn race(population: usize, aheads: fn() -> Aheads) -> Vec<(&'static str, f64)> {
    let mut field = field(population, aheads);
    for _ in 0..ROUNDS {
        field.iter_mut().for_each(Runner::lap);
    }
    field.iter_mut().map(|runner| (runner.name, runner.upper_quartile())).collect()
}

fn table(title: &str, aheads: fn() -> Aheads) -> String {
    let columns: Vec<_> = POPULATIONS.iter().map(|&population| race(population, aheads)).collect();
    let mut table = format!("| {title}: M pairs/s (ns per pair) |");
    POPULATIONS.iter().for_each(|population| table += &format!(" {population} |"));
    table += "\n|---|---:|---:|---:|---:|\n";
    for row in 0..columns[0].len() {
        write!(table, "| {} |", columns[0][row].0).expect("a string takes text");
        for (_, speed) in columns.iter().map(|column| column[row]) {
            write!(table, " {speed:.1} ({:.0}) |", 1e3 / speed).expect("a string takes text");
        }
        table.push('\n');
    }
    table
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{}", table("fabric mix", Aheads::fabric))?;
    writeln!(out, "{}", table("lockstep", Aheads::lockstep))
}
