//! Side links between devices: who waits for whom, in closed form.

use crate::rig::{results, within};
use lanewise_sim::Results;

/// Four devices of 100 GB/s; `link` is the side link of the first.
fn rig(link: &str, workloads: &[(&str, &str, &str, &str, &str)]) -> Results {
    let mut text = format!(
        "[run]\nwarm_up = \"5 ms\"\ntime_limit = \"20 ms\"\nrelative_half_width = 0.00001\n\
         [host.server]\npeer_to_peer = true\n\
         slots = {{ slot0 = \"gen4 x16\", slot1 = \"gen4 x16\", slot2 = \"gen4 x16\", slot3 = \"gen4 x16\" }}\n\
         [endpoint.first]\nattach = \"server.slot0\"\ngeneration = \"gen4\"\nwidth = \"x16\"\nside_link = {{ {link} }}\n\
         [endpoint.gpu]\ncount = 3\nattach = \"server.*\"\ngeneration = \"gen4\"\nwidth = \"x16\"\n\
         side_link = {{ rate = \"100 GB/s\", latency = \"500 ns\" }}\n"
    );
    for (name, device, direction, target, size) in workloads {
        text += &format!(
            "[[workload]]\nkind = \"dma\"\nname = \"{name}\"\ndevice = \"{device}\"\ntarget = \"{target}\"\n\
             direction = \"{direction}\"\nsize = \"{size}\"\noutstanding = 1\n"
        );
    }
    results(text, &[])
}

const LIKE_THE_OTHERS: &str = "rate = \"100 GB/s\", latency = \"500 ns\"";

fn gb_per_s(found: &Results, name: &str) -> f64 {
    found.flows.iter().find(|flow| flow.name == name).unwrap_or_else(|| panic!("no {name}")).goodput_gb_per_s
}

/// 64 KiB at 100 GB/s, and the latency.
const ALONE: f64 = 65_536.0 / (655.36 + 500.0);

#[test]
fn one_transfer_at_a_time_takes_its_bytes_and_the_latency() {
    let found = rig(LIKE_THE_OTHERS, &[("write", "first", "write", "gpu[0]", "64 KiB")]);
    within(0.1, gb_per_s(&found, "write"), ALONE);
    let found = rig(LIKE_THE_OTHERS, &[("read", "first", "read", "gpu[0]", "64 KiB")]);
    within(0.1, gb_per_s(&found, "read"), 65_536.0 / (655.36 + 2.0 * 500.0));
}

/// What waits at a sender for its turn is not on its way, and takes nothing of the receiver: others send there meanwhile.
#[test]
fn a_transfer_that_waits_at_its_sender_holds_no_receiver() {
    let found = rig(
        LIKE_THE_OTHERS,
        &[
            ("large", "first", "write", "gpu[0]", "16 MiB"),
            ("behind", "first", "write", "gpu[1]", "64 KiB"),
            ("beside", "gpu[2]", "write", "gpu[1]", "64 KiB"),
        ],
    );
    // One behind each of 16 MiB; some ninety of both in the time that is measured.
    within(1.5, gb_per_s(&found, "large"), 100.0);
    within(1.5, gb_per_s(&found, "behind"), 100.0 / 256.0);
    // One in 168 us meets one of the others.
    within(0.7, gb_per_s(&found, "beside"), ALONE);
}

/// A read takes nothing of the device that has the data until its request is there.
#[test]
fn a_read_that_has_far_to_go_holds_no_sender() {
    let far = "rate = \"100 GB/s\", latency = \"100 us\"";
    let found = rig(
        far,
        &[("far", "first", "read", "gpu[0]", "64 KiB"), ("near", "gpu[0]", "write", "gpu[1]", "64 KiB")],
    );
    within(0.5, gb_per_s(&found, "far"), 65_536.0 / (655.36 + 2.0 * 100_000.0));
    within(0.5, gb_per_s(&found, "near"), ALONE);
}

/// Two senders share the rate of one receiver.
#[test]
fn two_senders_share_a_receiver() {
    let found = rig(
        LIKE_THE_OTHERS,
        &[("one", "first", "write", "gpu[0]", "64 KiB"), ("other", "gpu[1]", "write", "gpu[0]", "64 KiB")],
    );
    let each = 65_536.0 / (2.0 * 655.36);
    within(0.5, gb_per_s(&found, "one"), each);
    within(0.5, gb_per_s(&found, "other"), each);
}
