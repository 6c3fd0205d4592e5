//! Automatic credits and retry buffers are never the reason why a link is slower than it could be.

use crate::rig::results;

/// Writes on a link of one device, with everything automatic but its rate, its width and its payload.
fn writes(generation: u8, lanes: u64, mps: u64, size: u64) -> lanewise_sim::Results {
    let text = format!(
        "[run]\ntime_limit = \"60 us\"\nwarm_up = \"20 us\"\nrelative_half_width = 0.00001\n\
         [host.h]\nmemory_base = \"0 B\"\nwrite_bandwidth = \"10 TB/s\"\nmemory_bandwidth = \"10 TB/s\"\n\
         slots = {{ a = {{ link = \"gen{generation} x{lanes}\", mps_supported = \"{mps} B\" }} }}\n\
         [endpoint.e]\nattach = \"h.a\"\ngeneration = \"gen{generation}\"\nwidth = \"x{lanes}\"\nmps_supported = \"{mps} B\"\n\
         [[workload]]\nkind = \"dma\"\nname = \"w\"\ndevice = \"e\"\ndirection = \"write\"\nsize = \"{size} B\"\noutstanding = 1024\n"
    );
    results(text, &[])
}

/// TLPs back to back fill the 236 B that a flit has for them, and SKP ordered sets take their share: on all rates, widths
/// and payloads, of the size that credits are made for and of the largest.
#[test]
fn flits_are_full_with_automatic_credits_and_retry_buffers() {
    // PCIe Base 6.3 Table 4-30, 1b/1b with a common clock; 40 B of SKP ordered set on each lane.
    for (lanes, flits) in [(1, 46), (2, 93), (4, 187), (8, 374), (16, 748)] {
        let left_by_skips = f64::from(flits * 256 / lanes) / f64::from(flits * 256 / lanes + 40);
        for (generation, gb_per_s_per_lane) in [(6, 8.0), (7, 16.0)] {
            for (mps, payload) in [(128, 64), (128, 128), (256, 64), (256, 256), (512, 512)] {
                let found = writes(generation, lanes as u64, mps, payload);
                let share = 236.0 / 256.0 * payload as f64 / (payload as f64 + 12.0);
                let ceiling = gb_per_s_per_lane * f64::from(lanes) * share * left_by_skips;
                let off = (found.flows[0].goodput_gb_per_s / ceiling - 1.0) * 100.0;
                assert!(off.abs() < 0.7, "gen{generation} x{lanes}, MPS {mps} B, {payload} B: {off:+.2} %");
            }
        }
    }
}
