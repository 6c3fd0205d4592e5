//! A run in pieces of any length, by time and by events, with a look at its state after each.

use lanewise_engine::random::RandomStream;
use lanewise_sim::{Ends, Results, Scenario, Session, Status};
use lanewise_units::Span;

/// Results of a run that is stopped a few dozen times. `events` are about as many as it has.
pub fn in_pieces(scenario: &Scenario, events: u64) -> Results {
    let mut random = RandomStream::new(scenario.run.seed, "swarm", "pieces");
    let mut session = Session::of(scenario, Ends::WhenNarrow).expect("trees of devices");
    loop {
        // From a single event, or none, to a tenth of all.
        let most = (events / 10).max(1) >> random.below(16);
        let next = 1 + random.below(most.max(1));
        let status = match random.below(2) {
            0 => session.advance(lanewise_units::Time::NEVER, next),
            _ => session.step(session.now() + Span::from_ticks(random.below(next * 1_000_000))),
        };
        let state = session.state();
        assert!(state.links.iter().flat_map(|link| [&link.upstream, &link.downstream]).all(sums_to_one));
        if status == Status::Over {
            return session.finish();
        }
    }
}

fn sums_to_one(direction: &lanewise_sim::LiveDirection) -> bool {
    let sum: f64 = direction.time_attribution.values().filter_map(|share| share.as_f64()).sum();
    direction.time_attribution.is_empty() || (sum - 1.0).abs() < 1e-9
}
