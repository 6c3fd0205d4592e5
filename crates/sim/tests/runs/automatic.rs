//! Automatic credits and retry buffers are never the reason why a link is slower than it could be.

use crate::rig::results;

/// Goodput in GB/s of writes on a link in Flit Mode, with everything automatic but its rate, its width and its payload.
fn writes(generation: u8, lanes: u64, mps: u64, size: u64, measured_us: u64) -> f64 {
    let end = format!("mps_supported = \"{mps} B\", flit_mode = true");
    let text = format!(
        "[run]\ntime_limit = \"{} us\"\nwarm_up = \"{measured_us} us\"\nrelative_half_width = 0.00001\n\
         [host.h]\nmemory_base = \"0 B\"\nwrite_bandwidth = \"10 TB/s\"\nmemory_bandwidth = \"10 TB/s\"\n\
         slots = {{ a = {{ link = \"gen{generation} x{lanes}\", {end} }} }}\n\
         [endpoint]\ne = {{ attach = \"h.a\", generation = \"gen{generation}\", width = \"x{lanes}\", {end} }}\n\
         [[workload]]\nkind = \"dma\"\nname = \"w\"\ndevice = \"e\"\ndirection = \"write\"\nsize = \"{size} B\"\noutstanding = 1024\n",
        2 * measured_us
    );
    results(text, &[]).flows[0].goodput_gb_per_s
}

/// TLPs back to back fill the 236 B that a flit has for them, and SKP ordered sets take their share: on all rates, widths
/// and payloads, of the size that credits are made for and of the largest.
#[test]
fn flits_are_full_with_automatic_credits_and_retry_buffers() {
    let line = [0.25, 0.5, 16.0 / 16.25, 32.0 / 16.25, 64.0 / 16.25, 8.0, 16.0]; // GB/s of a lane after coding
    // Flits between ordered sets with 1b/1b, PCIe Base 6.3 Table 4-30: 40 symbols each. Half as many with 128b/130b, of 16.
    for (lanes, flits) in [(1, 46), (2, 93), (4, 187), (8, 374), (16, 748)] {
        for (generation, line) in (1..).zip(line) {
            let skips = match generation {
                1 | 2 => 4.0 / 1359.0,
                3..=5 => 16.0 / f64::from(flits / 2 * 256 / lanes + 16),
                _ => 40.0 / f64::from(flits * 256 / lanes + 40),
            };
            let rate = line * f64::from(lanes);
            let measured_us = (256.0 / rate * 4.0).max(40.0) as u64; // 4000 flits, or more
            for (mps, payload) in [(128, 64), (128, 128), (256, 64), (256, 256), (512, 512)] {
                let ceiling = rate * 236.0 / 256.0 * payload as f64 / (payload as f64 + 12.0) * (1.0 - skips);
                let found = writes(generation, lanes as u64, mps, payload, measured_us);
                let off = (found / ceiling - 1.0) * 100.0;
                assert!(off.abs() < 0.7, "gen{generation} x{lanes}, MPS {mps} B, {payload} B: {off:+.2} %");
            }
        }
    }
}
