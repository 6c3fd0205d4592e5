//! Credits that are given, and ports that nothing is attached to.

use crate::rig::{results, results_of_file};

#[test]
fn more_credits_than_fit_unscaled_leave_a_free_slot_in_peace() {
    let text = "[host.server]\nslots = { slot1 = \"gen4 x4\", slot2 = \"gen4 x4\" }\n\
                credits = { posted_header = 2032, posted_data = 32752 }\n\
                [endpoint.nic0]\nattach = \"server.slot1\"\ngeneration = \"gen4\"\nwidth = \"x4\"\n\
                [[workload]]\nkind = \"dma\"\ndevice = \"nic0\"\ndirection = \"write\"\n";
    let both_used = text.replace("attach = \"server.slot1\"", "attach = \"server.*\"\ncount = 2");
    let both_used = both_used.replace("device = \"nic0\"", "device = \"nic0[0]\"");
    let goodput = |text: &str| results(text, &[]).flows[0].goodput_gb_per_s;
    assert_eq!(goodput(text), goodput(&both_used));
}

/// The level of a buffer is that of all its virtual channels together, and so is what it holds.
#[test]
fn a_buffer_of_several_channels_is_never_fuller_than_it_holds() {
    let results = results_of_file("virtual_channels", &[("server.stack.write_bandwidth", "1 MB/s")]);
    let buffer =
        results.buffers.iter().find(|buffer| buffer.port == "server.slot1" && buffer.class == "posted");
    let buffer = buffer.expect("it was used");
    let room = buffer.capacity_bytes.expect("credits are counted");
    assert!(buffer.max_bytes <= room && buffer.max_bytes > room / 2, "{buffer:?}");
}

/// Found by the swarm: a device that leaves gaps keeps VC0 as one of several, and nobody gave it a weight.
#[test]
fn one_channel_needs_no_weight() {
    let text = "[host.server]\nslots = { slot1 = \"gen3 x4\" }\n[endpoint.nic0]\nattach = \"server.slot1\"\n\
                generation = \"gen3\"\nwidth = \"x4\"\ntlp_gap = \"1 us\"\n\
                channels = { arbitration = \"weighted-round-robin\" }\n\
                [[workload]]\nkind = \"dma\"\ndevice = \"nic0\"\ndirection = \"write\"\n";
    // 256 B each microsecond and their own time, 84 ns.
    let goodput = results(text, &[]).flows[0].goodput_gb_per_s;
    assert!((0.22..0.256).contains(&goodput), "{goodput}");
}

/// A root port that holds so many packets for 200 ns each, and whatever is automatic beside that.
fn small_pool(generation: u8, packets: u32) -> f64 {
    let text = format!(
        "[run]\nrelative_half_width = \"0.1 %\"\n[host.server]\nmps_supported = \"256 B\"\nmemory_base = \"0 B\"\n\
         write_latency = \"200 ns\"\nwrite_bandwidth = \"10 TB/s\"\nmemory_bandwidth = \"10 TB/s\"\nslots = {{ a = {{ link = \"gen{generation} x16\", \
         credits = {{ posted_header = {packets}, posted_data = {} }} }} }}\n\
         [endpoint.card]\nattach = \"server.a\"\ngeneration = \"gen{generation}\"\nwidth = \"x16\"\n\
         link = {{ propagation = \"1 ns\" }}\n\
         [[workload]]\nkind = \"dma\"\ndevice = \"card\"\ndirection = \"write\"\nsize = \"64 KiB\"\n",
        16 * packets
    );
    results(text, &[]).flows[0].goodput_gb_per_s
}

/// Credits of a small pool come back one by one at every generation: only a large pool is told of in steps of four or more,
/// and that its own end and the other end have such pools changes nothing.
#[test]
fn a_small_pool_beside_large_ones_is_told_of_one_by_one() {
    for (generation, rate) in
        [(3, 16.0 * 128.0 / 130.0), (4, 32.0 * 128.0 / 130.0), (5, 64.0 * 128.0 / 130.0)]
    {
        for packets in 4..=7 {
            let span = 276.0 / rate;
            // Wires and checks there and back, the buffer, the UpdateFC, half a symbol before each start.
            let around = 2.0 * (1.0 + 20.0) + 200.0 + 8.0 / rate + 16.0 / rate;
            let expected = f64::from(packets) * 256.0 / (around + span);
            let found = small_pool(generation, packets);
            let off = found / expected - 1.0;
            assert!(off.abs() < 0.005, "gen{generation}, {packets} packets: {found}, expected {expected}");
        }
    }
}
