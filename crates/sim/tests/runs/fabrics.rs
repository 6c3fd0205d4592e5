//! NVMe over Fabrics on the fabric: drives in one tree, the job in another, a network between the two.

use crate::rig::{self, metric, problems};
use lanewise_sim::Results;

/// Two hosts with an adapter each, a drive at the server, and a job of these keys.
fn rig(job: &str) -> String {
    let side = |host: &str, nic: &str| {
        format!(
            "[host.{host}]\nslots = {{ slot1 = \"gen4 x16\", slot2 = \"gen4 x4\" }}\n[endpoint.{nic}]\n\
             attach = \"{host}.slot1\"\ngeneration = \"gen4\"\nwidth = \"x16\"\nrdma = {{ ports = 1 }}\n"
        )
    };
    format!(
        "[run]\nwarm_up = \"400 us\"\ntime_limit = \"2 ms\"\n{}{}[network.cable]\nkind = \"roce\"\n\
         ends = [\"nic0.port1\", \"nic1.port1\"]\n[endpoint.ssd]\npart = \"generic-nvme-gen4-x4\"\n\
         attach = \"server.slot2\"\n[[workload]]\nkind = \"fio\"\nname = \"job\"\nfilename = [\"ssd\"]\n{job}\n",
        side("client", "nic0"),
        side("server", "nic1")
    )
}

fn results(job: &str) -> Results {
    rig::results(rig(job), &[])
}

#[test]
fn a_network_adds_software_and_two_crossings() {
    let job = "rw = \"read\"";
    let latency = |job: &str| metric(&results(job), "job.read.lat_ns.mean");
    let added = latency(&format!("{job}\nnetwork = \"cable\"")) - latency(job);
    // 4.5 us of the target's own costs and an interrupt of 1 us more, 3.4 us of the storage stack once more, 1 us of
    // registering memory, 0.24 us of posting and polling; and two crossings of 0.7 to 1.5 us, what RDMA of the time
    // takes from memory to memory.
    assert!((11_540.0..=13_140.0).contains(&added), "{added} ns");
}

#[test]
fn one_fast_drive_leaves_the_drive_as_the_limit() {
    let job = "rw = \"read\"\nbs = \"128 KiB\"\nioengine = \"libaio\"\niodepth = 32\nnetwork = \"cable\"";
    let rate = metric(&results(job), "job.read.bw_bytes") / 1e9;
    assert!((6.5..=7.3).contains(&rate), "{rate} GB/s");
}

#[test]
fn writes_are_read_by_the_target() {
    let job = "rw = \"write\"\nbs = \"128 KiB\"\nioengine = \"libaio\"\niodepth = 32\nnetwork = \"cable\"";
    let found = results(job);
    let rate = metric(&found, "job.write.bw_bytes") / 1e9;
    assert!((4.6..=5.4).contains(&rate), "{rate} GB/s");
    // The initiator's adapter reads the data from memory, the target's writes it.
    let moved = |flow: &str, direction: &str| {
        let mut ends = found.flows.iter().filter(|end| end.name == flow);
        ends.find(|end| end.direction == direction)
            .unwrap_or_else(|| panic!("{flow} {direction}"))
            .goodput_gb_per_s
    };
    assert!(moved("job at initiator", "read") > 4.5 && moved("job at target", "write") > 4.5);
    assert_eq!(
        found.goodput_gb_per_s,
        moved("job", "write"),
        "the drives' data is all there is, three times"
    );
}

#[test]
fn a_network_that_does_not_reach_the_drives_is_refused() {
    assert_eq!(problems(rig("rw = \"read\"\nnetwork = \"cabel\""), &[]), ["unknown-device"]);
}
