//! Two hosts in one fabric and a network between them: what limits `ib_write_bw` is where it should be.

use crate::rig::{self, held_back};
use lanewise_sim::Results;

/// Two hosts with an adapter each in a slot of this shape, and this network.
fn rig(slot: &str, network: &str, tool: &str) -> String {
    let (generation, width) = slot.split_once(' ').unwrap();
    let side = |host: &str, nic: &str| {
        format!(
            "[host.{host}]\nslots = {{ slot1 = \"{slot}\" }}\n[endpoint.{nic}]\nattach = \"{host}.slot1\"\n\
             generation = \"{generation}\"\nwidth = \"{width}\"\nrdma = {{ ports = 2 }}\n"
        )
    };
    format!(
        "[run]\nwarm_up = \"100 us\"\ntime_limit = \"600 us\"\n{}{}[network.cable]\n{network}\n\
         ends = [\"nic0.port1\", \"nic1.port1\"]\n[[workload]]\nkind = \"perftest\"\nnetwork = \"cable\"\n{tool}\n",
        side("client", "nic0"),
        side("server", "nic1")
    )
}

fn results(text: &str) -> Results {
    rig::results(text, &[])
}

fn average(results: &Results) -> f64 {
    let metrics = results.instruments.iter().flat_map(|instrument| &instrument.metrics);
    metrics.filter(|metric| metric.name == "BW average (Gb/s)").map(|metric| metric.value).sum()
}

#[test]
fn a_wide_slot_leaves_the_wire_as_the_limit() {
    // 65,536 B in packets of 4,096 B take 65,968 B of 100 Gb/s.
    let wire = 100.0 * 65_536.0 / 65_968.0;
    for tool in ["ib_write_bw", "ib_read_bw", "ib_send_bw"] {
        let text = rig("gen3 x16", "kind = \"infiniband-edr\"", &format!("tool = \"{tool}\""));
        let simulated = average(&results(&text));
        assert!((simulated / wire - 1.0).abs() < 2e-3, "{tool}: {simulated} of {wire}");
    }
}

#[test]
fn a_narrow_slot_is_the_limit_in_the_direction_that_carries_the_payload() {
    // Gen3 x4 with 256 B in a completion carries 3.643 GB/s before DLLPs, with 256 B in a write 3.591.
    let average_of = |tool: &str| {
        let text = rig("gen3 x4", "kind = \"infiniband-edr\"", &format!("tool = \"{tool}\""));
        average(&results(&text)) / 8.0
    };
    // The client's adapter reads what it sends, and writes what it gets.
    for (tool, most) in [("ib_write_bw", 3.643), ("ib_read_bw", 3.591)] {
        let simulated = average_of(tool);
        assert!(simulated < most && simulated > 0.97 * most, "{tool}: {simulated} GB/s");
    }
}

#[test]
fn roce_pays_for_ethernet_and_ip() {
    let network = "kind = \"roce\"\nrate = \"100 Gb/s\"\nmtu = \"1024 B\"";
    let simulated = average(&results(&rig("gen3 x16", network, "tool = \"ib_write_bw\"")));
    let wire = 100.0 * 65_536.0 / (64.0 * (1024.0 + 82.0) + 16.0);
    assert!((simulated / wire - 1.0).abs() < 2e-3, "{simulated} of {wire}");
}

#[test]
fn both_hosts_have_their_own_links_and_flows() {
    let text = rig("gen3 x16", "kind = \"infiniband-fdr\"\nmtu = \"2048 B\"", "tool = \"ib_write_bw\"");
    let results = results(&text);
    assert_eq!(results.links.len(), 2);
    let goodput = |device: &str, direction: &str| {
        let found = |flow: &&lanewise_sim::Flow| flow.device == device && flow.direction == direction;
        results.flows.iter().find(found).unwrap().goodput_gb_per_s
    };
    let (read, written) = (goodput("nic0", "read"), goodput("nic1", "write"));
    assert!((read / written - 1.0).abs() < 5e-3, "what one adapter reads the other writes: {read} {written}");
    assert_eq!((goodput("nic0", "write"), goodput("nic1", "read")), (0.0, 0.0));
    assert!((written / 6.73 - 1.0).abs() < 5e-3, "{written}");
    assert_eq!(results.goodput_gb_per_s, written, "what goes over the wire counts once, where it arrives");
    let counted = results.flows.iter().filter(|flow| flow.in_total && flow.bytes > 0);
    assert_eq!(counted.map(|flow| (&*flow.device, flow.direction)).collect::<Vec<_>>(), [("nic1", "write")]);
}

#[test]
fn an_adapter_behind_a_full_wire_says_so() {
    let text = rig("gen3 x16", "kind = \"infiniband-qdr\"", "tool = \"ib_write_bw\"");
    let share = held_back(&results(&text), "nic1", "wire");
    assert!(share > 0.5, "what comes off the wire goes on faster: {share}");
}

#[test]
fn the_same_scenario_has_the_same_trajectory() {
    let text = rig(
        "gen3 x8",
        "kind = \"infiniband-qdr\"",
        "tool = \"ib_write_bw\"\nqueue_pairs = 3\nbidirectional = true",
    );
    assert_eq!(results(&text).fingerprint, results(&text).fingerprint);
}

/// While buffers fill, the client reads faster than the server writes, both as steadily as can be: that is warm-up still.
#[test]
fn what_is_read_is_written_once_the_buffers_are_full() {
    let text = rig("gen3 x8", "kind = \"infiniband-edr\"", "tool = \"ib_write_bw\"");
    let text = text.replace("[run]\nwarm_up = \"100 us\"\ntime_limit = \"600 us\"\n", "");
    let found = results(&text);
    let data: Vec<f64> =
        found.flows.iter().map(|flow| flow.goodput_gb_per_s).filter(|rate| *rate > 1.0).collect();
    assert_eq!((data.len(), found.end_reason), (2, lanewise_sim::EndName::Converged));
    assert!((data[0] / data[1] - 1.0).abs() < 0.001, "{data:?}");
}

/// A number of the first instrument, in ns for one in us.
fn nanoseconds(text: &str, name: &str) -> f64 {
    let metrics = &results(text).instruments[0].metrics;
    metrics.iter().find(|metric| metric.name == name).expect("a metric of that name").value * 1e3
}

#[test]
fn what_a_core_takes_for_a_message_that_was_sent_is_in_each_way_of_sends_alone() {
    let typical = |tool: &str, cost: u32| {
        let text =
            rig("gen3 x16", "kind = \"infiniband-edr\"", &format!("tool = \"{tool}\"\nsize = \"2 B\""));
        let verbs = format!("verbs = {{ receive_cost = \"{cost} ns\" }}\nslots =");
        nanoseconds(&text.replace("slots =", &verbs), "t_typical (us)")
    };
    // TLPs begin at symbol times of the link, 1.016 ns.
    let more = typical("ib_send_lat", 120) - typical("ib_send_lat", 20);
    assert!((more - 100.0).abs() < 2.0, "{more}");
    assert_eq!(typical("ib_write_lat", 120), typical("ib_write_lat", 20));
}

#[test]
fn mpi_that_sends_has_an_entry_and_a_receive_request_more_than_one_that_writes() {
    let latency = |by_send: bool| {
        let tool = format!("tool = \"osu_latency\"\nsize = \"8 B\"\neager_by_send = {by_send}");
        let text = rig("gen3 x16", "kind = \"infiniband-edr\"", &tool);
        nanoseconds(&text.replace("perftest", "osu"), "Latency (us)")
    };
    // 55 ns of the core, and 64 B behind the payload: some 90 B of 15.75 GB/s.
    let more = latency(true) - latency(false);
    assert!((55.0..63.0).contains(&more), "{more}");
}
