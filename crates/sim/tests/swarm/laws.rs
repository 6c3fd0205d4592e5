//! What must hold of every run, whatever the scenario. Conservation is the run's own business: it ends as a mistake of ours
//! where it is violated.

use lanewise_sim::{Direction, Results};
use serde_json::Value;

fn check_direction(link: &str, direction: &Direction) {
    let ticks =
        direction.time_attribution_ticks.values().map(|ticks| ticks.as_u64().expect("a whole number"));
    assert_eq!(
        ticks.sum::<u64>(),
        direction.measured_ticks,
        "{link}: {:?}",
        direction.time_attribution_ticks
    );
    let ladder = &direction.ladder;
    let rungs = [
        ladder.line_rate_gb_per_s,
        ladder.coded_gb_per_s,
        ladder.link_bandwidth_gb_per_s,
        ladder.tlp_bandwidth_gb_per_s,
        ladder.after_replays_gb_per_s,
        ladder.sent_gb_per_s,
        ladder.goodput_gb_per_s,
        0.0,
    ];
    assert!(rungs.is_sorted_by(|higher, lower| *higher >= lower - 1e-9), "{link}: {ladder:?}");
    assert!((0.0..=1.0 + 1e-9).contains(&direction.utilisation), "{link}: {}", direction.utilisation);
}

/// Everything that must hold of any result.
pub fn check(results: &Results, may_stall: bool) {
    if results.end_reason == lanewise_sim::EndName::Stalled {
        assert!(may_stall, "stalled: {:?}", results.stalled_waiting);
        assert!(!results.stalled_waiting.is_empty(), "stalled, and nobody waits");
    }
    for link in &results.links {
        check_direction(&link.name, &link.upstream);
        check_direction(&link.name, &link.downstream);
    }
    for requester in &results.requesters {
        let total: f64 = requester.time_attribution.values().filter_map(Value::as_f64).sum();
        assert!((total - 1.0).abs() < 1e-9 || results.measured_s == 0.0, "{requester:?}");
    }
    for buffer in &results.buffers {
        let room = buffer.capacity_bytes.unwrap_or(u32::MAX);
        assert!(
            buffer.max_bytes <= room && buffer.mean_bytes <= f64::from(buffer.max_bytes) + 1e-9,
            "{buffer:?}"
        );
    }
    for flow in &results.flows {
        let latency = &flow.latency_ns;
        // A percentile with too few latencies is none; the others rise.
        let rising =
            [latency.min, latency.p50, latency.p90, latency.p95, latency.p99, latency.p99_9, latency.max];
        let rising: Vec<f64> = rising.into_iter().flatten().collect();
        assert!(rising.is_sorted(), "{flow:?}");
        // Of nothing there is no latency.
        let some = [latency.min, latency.mean, latency.stddev, latency.max].map(|ns| ns.is_some());
        assert_eq!(some, [latency.count > 0; 4], "{flow:?}");
        if let (Some(mean), Some(stddev), Some(max)) = (latency.mean, latency.stddev, latency.max) {
            assert!(mean <= max * (1.0 + 1e-9) && stddev.is_finite(), "{flow:?}");
        }
    }
    let total: u64 = results.flows.iter().filter(|flow| flow.in_total).map(|flow| flow.bytes).sum();
    let counted = results.goodput_gb_per_s * results.measured_s * 1e9;
    assert!((counted - total as f64).abs() <= 1e-9 * total as f64, "{counted} of {total} bytes");
    for phase in results.phases.windows(2) {
        assert!(phase[0].end_s <= phase[1].start_s + 1e-12);
    }
}
