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
