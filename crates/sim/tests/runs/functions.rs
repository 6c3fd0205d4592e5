//! Virtual functions with queues of their own, against closed forms: equal or weighted shares of a link, and tags of each.

use crate::rig::{problems, results, scenario, within};
use lanewise_sim::Results;

/// A card with functions at Gen3 x8; `workloads` are pairs of a device and further keys.
fn rig(sriov: &str, card: &str, workloads: &[(&str, &str)]) -> String {
    let mut text = format!(
        "[run]\ntime_limit = \"1200 us\"\nwarm_up = \"200 us\"\nrelative_half_width = 0.00001\n\
         [host.server]\nslots = {{ slot1 = \"gen3 x8\" }}\n\
         [endpoint.card]\nattach = \"server.slot1\"\ngeneration = \"gen3\"\nwidth = \"x8\"\nsriov = {{ {sriov} }}\n{card}\n"
    );
    for (index, (device, keys)) in workloads.iter().enumerate() {
        text += &format!(
            "[[workload]]\nkind = \"dma\"\nname = \"w{index}\"\ndevice = \"{device}\"\nsize = \"4 KiB\"\noutstanding = 16\n{keys}\n"
        );
    }
    text
}

fn rates(found: &Results) -> Vec<f64> {
    found.flows.iter().map(|flow| flow.goodput_gb_per_s).collect()
}

#[test]
fn busy_functions_share_a_link_equally() {
    for direction in ["direction = \"write\"", "direction = \"read\""] {
        let found = results(rig("functions = 4", "", &[("card.vf[*]", direction)]), &[]);
        let alone = results(rig("functions = 4", "", &[("card", direction)]), &[]);
        let shares = rates(&found);
        assert_eq!(found.flows[2].name, "w0 card.vf[2]");
        let total: f64 = shares.iter().sum();
        for share in &shares {
            within(0.5, *share, total / 4.0);
        }
        // More reads under way are more for the host to keep in order, but the link is full either way.
        within(3.0, total, rates(&alone)[0]);
        // However many operations one of them has under way, if the other has enough.
        let keys = [4096, 64].map(|outstanding| format!("{direction}\noutstanding = {outstanding}"));
        let greedy = [("card.vf[0]", keys[0].as_str()), ("card.vf[1]", keys[1].as_str())];
        let text = rig("functions = 2", "", &greedy).replace("outstanding = 16\n", "");
        let shares = rates(&results(text, &[]));
        within(1.0, shares[0], shares[1]);
        within(3.0, shares.iter().sum(), rates(&alone)[0]);
    }
}

/// Two channels of one function have together what the one of another has, and the physical function is one of them.
#[test]
fn functions_share_and_not_their_queues() {
    let write = "direction = \"write\"";
    let found = results(
        rig("functions = 2", "", &[("card.vf[0]", write), ("card.vf[0]", write), ("card", write)]),
        &[],
    );
    let shares = rates(&found);
    within(1.0, shares[0], shares[2] / 2.0);
    within(1.0, shares[1], shares[2] / 2.0);
}

#[test]
fn weights_are_shares() {
    let found = results(
        rig("functions = 3, weights = [4, 2, 1]", "", &[("card.vf[*]", "direction = \"write\"")]),
        &[],
    );
    let shares = rates(&found);
    let total: f64 = shares.iter().sum();
    for (share, weight) in shares.iter().zip([4.0, 2.0, 1.0]) {
        within(1.0, *share, total * weight / 7.0);
    }
}

/// Eight reads of 512 B in a round trip of 40 us and what is on the wire: each function has eight of its own, or all share eight.
#[test]
fn a_function_is_limited_by_its_own_tags() {
    let far = |sriov: &str, card: &str, devices: &[&str]| {
        let read = "direction = \"read\"";
        let workloads: Vec<(&str, &str)> = devices.iter().map(|device| (*device, read)).collect();
        let text = rig(sriov, card, &workloads).replace("slots =", "memory_latency = \"40 us\"\nslots =");
        rates(&results(text, &[("firmware.mrrs", "512 B")]))
    };
    // Behind the latency, eight requests of 512 B and half of the completions take 0.4 us.
    let of_eight = 8.0 * 512.0 / 40.4e3;
    for devices in [&["card.vf[0]"][..], &["card.vf[0]", "card.vf[1]"], &["card.vf[0]", "card.vf[1]", "card"]]
    {
        for rate in far("functions = 2, own_tags = 8", "", devices) {
            within(2.0, rate, of_eight);
        }
    }
    let shared = far("functions = 2", "tags = 8", &["card.vf[0]", "card.vf[1]"]);
    within(2.0, shared.iter().sum(), of_eight);
    within(2.0, shared[0], of_eight / 2.0);
}

#[test]
fn functions_have_requester_ids() {
    let write = [("card", "direction = \"write\"")];
    let explained = scenario(rig("functions = 3, first_offset = 128, stride = 2", "", &write), &[]).explain();
    let named = explained.functions.iter().filter(|each| each.name.starts_with("card"));
    let listed: Vec<(&str, &str)> = named.map(|each| (each.name.as_str(), each.address.as_str())).collect();
    assert_eq!(
        listed,
        [
            ("card", "0000:01:00.0"),
            ("card.vf[0]", "0000:01:10.0"),
            ("card.vf[1]", "0000:01:10.2"),
            ("card.vf[2]", "0000:01:10.4"),
        ]
    );
}

#[test]
fn functions_that_there_are_not_are_refused() {
    let codes =
        |sriov: &str, device: &str| problems(rig(sriov, "", &[(device, "direction = \"write\"")]), &[]);
    assert_eq!(codes("functions = 2", "card.vf[2]"), ["unknown-device"]);
    assert_eq!(codes("functions = 2", "card.vf[first]"), ["unknown-device"]);
    assert_eq!(codes("functions = 0", "card.vf[0]"), ["unknown-device"]);
    assert_eq!(codes("functions = 0", "card.vf[*]"), ["unknown-device"]);
    assert_eq!(codes("functions = 4, weights = [1, 2]", "card"), ["wrong-length"]);
    assert_eq!(codes("functions = 200, stride = 2", "card"), ["out-of-range"]);
    assert_eq!(codes("functions = 2, own_tags = 512", "card"), ["too-many-tags"]);
}

/// One function has two tags of the device's 256: those are the limit, and twice as many are twice the rate.
#[test]
fn own_tags_are_named_as_the_limit() {
    let text = rig("functions = 2, own_tags = 2", "", &[("card.vf[0]", "direction = \"read\"")]);
    let found = results(text.as_str(), &[]);
    let limit = found.limited_by.as_ref().expect("something moved");
    assert!(
        limit.sentence.starts_with("Limited by the 2 tags of each function of card"),
        "{}",
        limit.sentence
    );
    let edit = &limit.edits[0].settings[0];
    assert_eq!((edit.path.as_str(), edit.after.as_str()), ("card.sriov.own_tags", "4"));
    let more = results(text.as_str(), &[(edit.path.as_str(), edit.after.as_str())]);
    within(3.0, rates(&more)[0], 2.0 * rates(&found)[0]);
}
