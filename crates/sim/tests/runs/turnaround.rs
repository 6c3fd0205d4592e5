//! The turn-around test on a simulated link: the host's steps and the link's, and nothing else.

use crate::rig::{metric, results};

/// Mean and standard deviation in ns, of a device on Gen4 x8 with these settings of host and workload.
fn turnaround(host: &str, workload: &str) -> (f64, f64) {
    let text = format!(
        "[run]\ntime_limit = \"5 ms\"\n[host.server]\nslots = {{ slot1 = \"gen4 x8\" }}\n{host}\n\
         [endpoint.fpga]\ngeneration = \"gen4\"\nwidth = \"x8\"\nattach = \"server.slot1\"\n\
         [[workload]]\nkind = \"turnaround\"\nname = \"analyzer\"\ndevice = \"fpga\"\n{workload}\n"
    );
    let results = results(text, &[]);
    (metric(&results, "turnaround mean (ns)"), metric(&results, "turnaround standard deviation (ns)"))
}

#[test]
fn polling_is_the_sum_of_its_steps() {
    let (mean, deviation) = turnaround("", "");
    // 100 into the cache, half a loop of 5, a load of 25, 100 to the root port; a check of 20 there.
    let host = 100.0 + 2.5 + 25.0 + 100.0 + 20.0;
    // 88 B up (8 of framing and LCRC, 16 of header, 64 of data) and 36 B down, headers of 4 DW both, at 15.75 B/ns, and two flights of 2 ns.
    let link = (88.0 + 36.0) / 15.75 + 2.0 * 2.0;
    assert!((mean - host - link).abs() < 0.5, "{mean}");
    // Evenly over the loop, with now and then a SKP ordered set in the way.
    assert!((1.2..2.2).contains(&deviation), "{deviation}");
}

#[test]
fn without_injection_the_line_comes_from_memory() {
    let (cache, _) = turnaround("", "");
    let (memory, _) = turnaround("cache = { injection = false }", "");
    assert!((memory - cache - 60.0 - 65.0).abs() < 0.5, "{memory} {cache}");
}

#[test]
fn reading_is_the_memory_latency_and_the_link() {
    let latency = |host: &str| turnaround(host, "reading = \"read\"").0;
    let (short, long) = (latency("memory_latency = \"200 ns\""), latency("memory_latency = \"300 ns\""));
    assert!((long - short - 100.0).abs() < 0.5, "{long} {short}");
    assert!((220.0..240.0).contains(&short), "{short}");
}
