//! How fast the simulator is, on rigs that anybody can read: what `lanewise bench` measures.
//!
//! A hop is one TLP over one link. Every mechanism and every observer is on. The rigs are ordinary scenarios.

use crate::threads::apart;
use crate::{Source, build, load};
use lanewise_fabric::Simulation;
use lanewise_units::{Span, Time};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;
use std::time::Instant;

/// One benchmark's figures.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Benchmark {
    /// `chain`, `mixed`, `tree512`, `tree4096`, or `tree4096x2`, which is the same on two threads.
    pub name: &'static str,
    /// Threads that took part.
    pub threads: usize,
    /// Wall time on one thread over that on several, of the same, one after the other; none on one thread.
    pub speedup: Option<f64>,
    /// TLPs over links per second of wall time.
    pub tlp_hops_per_s: f64,
    /// Events per second of wall time.
    pub events_per_s: f64,
    /// TLPs over links.
    pub tlp_hops: u64,
    /// Events handled.
    pub events: u64,
    /// Simulated time.
    pub simulated_s: f64,
    /// Wall time.
    pub wall_s: f64,
    /// Memory of the fabric at rest, per port: ports, observers and their share of the switches.
    pub bytes_per_idle_port: f64,
    /// Part of the wall time that went into audits, percent: how many there were, at what the last state takes to audit.
    pub audit_percent: f64,
    /// Hash of the trajectory: a benchmark that does other work is another benchmark.
    #[schemars(regex(pattern = "^[0-9a-f]{16}$"))]
    pub fingerprint: String,
}

/// Names of the benchmarks, in the order in which they are reported.
pub const NAMES: [&str; 5] = ["chain", "mixed", "tree512", "tree4096", "tree4096x2"];

/// Fabrics of these benchmarks, and how long they are simulated.
fn rig(name: &str) -> Option<(&'static str, String, Span)> {
    match name {
        "chain" => Some(("chain", chain(), Span::from_ms(20))),
        "mixed" => Some(("mixed", mixed(), Span::from_ms(4))),
        "tree512" => Some(("tree512", tree(4, 8, 16), Span::from_us(400))),
        "tree4096" => Some(("tree4096", tree(8, 16, 32), Span::from_us(100))),
        "tree4096x2" => Some(("tree4096x2", tree(8, 16, 32), Span::from_us(100))),
        _ => None,
    }
}

/// The clock starts after this part of the simulated time: queues have grown to their size and links are busy.
const WARM_UP_SHARE: u64 = 8;

/// Runs a benchmark once; one on several threads after the same on one, which it is compared with. `None` when there is none of that
/// name.
///
/// # Panics
/// When the rig does not resolve, or is another run on several threads: a bug in this file.
pub fn bench(name: &str) -> Option<Benchmark> {
    rig(name)?;
    let threads = if name.ends_with("x2") { 2 } else { 1 };
    bench_on(name, threads)
}

/// The same on so many threads.
///
/// # Panics
/// As above, and when the rig cannot be shared.
pub fn bench_on(name: &str, threads: usize) -> Option<Benchmark> {
    let alone = measure(name, 1)?;
    if threads == 1 {
        return Some(alone);
    }
    let shared = measure(name, threads)?;
    let (one, several) = (&alone.fingerprint, &shared.fingerprint);
    assert_eq!(one, several, "{name} is the same on one thread and on several");
    Some(Benchmark { speedup: Some(alone.wall_s / shared.wall_s), ..shared })
}

fn measure(name: &str, threads: usize) -> Option<Benchmark> {
    let (name, text, simulated) = rig(name)?;
    let scenario = load(&Source::from_text(format!("{name}.toml"), text), &[])
        .unwrap_or_else(|problems| panic!("the rig of `{name}` is sound: {problems}"));
    let mut simulation = build(&scenario).expect("the rig is a tree");
    let bytes_per_idle_port = simulation.fabric.bytes_per_port();
    let mut used = 1;
    if threads > 1 {
        let shared = simulation.share(&scenario.fabric, threads, apart(&scenario));
        used = shared.unwrap_or_else(|why| panic!("`{name}` can be shared: {why}"));
    }
    let warm = Time::ZERO + Span::from_ticks(simulated.ticks() / WARM_UP_SHARE);
    let until = warm + simulated;
    simulation.run_until(warm, u64::MAX);
    let (hops_before, events_before) =
        (simulation.fabric.observers().tlp_hops(), simulation.events_handled());
    let audits_before = simulation.audits();
    let started = Instant::now();
    simulation.run_until(until, u64::MAX);
    let wall_s = started.elapsed().as_secs_f64();
    let audits = simulation.audits() - audits_before;
    simulation.stop_measuring(until);
    // Parts audit themselves all at once.
    let audit_s = seconds_of_an_audit(&mut simulation) * audits as f64 / used as f64;
    let tlp_hops = simulation.fabric.observers().tlp_hops() - hops_before;
    let events = simulation.events_handled() - events_before;
    Some(Benchmark {
        name,
        threads: used,
        speedup: None,
        tlp_hops_per_s: tlp_hops as f64 / wall_s,
        events_per_s: events as f64 / wall_s,
        tlp_hops,
        events,
        simulated_s: simulated.as_seconds(),
        wall_s,
        bytes_per_idle_port,
        audit_percent: audit_s / wall_s * 100.0,
        fingerprint: format!("{:016x}", simulation.fabric.observers().fingerprint()),
    })
}

/// What one audit takes, of several.
fn seconds_of_an_audit(simulation: &mut Simulation) -> f64 {
    const AUDITS: u32 = 8;
    let started = Instant::now();
    (0..AUDITS).for_each(|_| simulation.audit());
    started.elapsed().as_secs_f64() / f64::from(AUDITS)
}

/// The text of a benchmark's scenario, to run it by other means.
pub fn scenario_text(name: &str) -> Option<String> {
    rig(name).map(|(_, text, _)| text)
}

/// What the root complexes of the benchmarks are: the same whatever the defaults of the day, so that results compare.
const ROOT: &str = "mps_supported = \"256 B\"\ncompletion_combine = \"256 B\"\nmemory_latency = \"200 ns\"\n\
                    write_latency = \"50 ns\"\nack_every_tlps = 8\nupdate_every_tlps = 8\n";

/// One endpoint, a switch, a root complex; posted writes of 256 B at Gen3 x8.
fn chain() -> String {
    let mut text = format!(
        r#"title = "One endpoint, one switch, posted writes"
[host.root]
{ROOT}slots = {{ slot1 = "gen3 x8" }}
[switch.sw]
attach = "root.slot1"
ports = {{ port0 = "gen3 x8", port1 = "gen3 x8" }}
"#,
    );
    endpoint(&mut text, "end", "sw.port1", "gen3 x8");
    dma(&mut text, "end", "write", "1 MiB", 2);
    text
}

/// Eight endpoints at Gen3 x4 below one switch with a x16 uplink, all reading and writing.
fn mixed() -> String {
    let mut text = format!(
        "title = \"Eight endpoints, reads and writes\"\n[host.root]\n{ROOT}slots = {{ slot1 = \"gen3 x16\" }}\n"
    );
    switch(&mut text, "sw", "root.slot1", "gen3 x16", 8, "gen3 x4");
    for index in 0..8 {
        let name = format!("end{index}");
        endpoint(&mut text, &name, &format!("sw.port{}", index + 1), "gen3 x4");
        dma(&mut text, &name, "both", "64 KiB", 2);
    }
    text
}

/// Two levels of switches: `roots` root ports, `middle` switches below each, `leaves` endpoints below each of those.
/// Endpoints take turns at reading and writing.
fn tree(roots: usize, middle: usize, leaves: usize) -> String {
    let mut text =
        format!("title = \"A tree of switches, reads and writes\"\n[host.root]\n{ROOT}slots = {{ ");
    let slots: Vec<String> = (1..=roots).map(|slot| format!("slot{slot} = \"gen4 x16\"")).collect();
    let _ = writeln!(text, "{} }}", slots.join(", "));
    for root in 0..roots {
        let top = format!("top{root}");
        switch(&mut text, &top, &format!("root.slot{}", root + 1), "gen4 x16", middle, "gen4 x8");
        for branch in 0..middle {
            let below = format!("switch{root}_{branch}");
            switch(&mut text, &below, &format!("{top}.port{}", branch + 1), "gen4 x8", leaves, "gen4 x4");
            for leaf in 0..leaves {
                let name = format!("end{root}_{branch}_{leaf}");
                endpoint(&mut text, &name, &format!("{below}.port{}", leaf + 1), "gen4 x4");
                dma(&mut text, &name, if leaf % 2 == 0 { "write" } else { "read" }, "16 KiB", 2);
            }
        }
    }
    text
}

fn switch(text: &mut String, name: &str, attach: &str, up: &str, ports: usize, down: &str) {
    let ports: Vec<String> = (1..=ports).map(|port| format!("port{port} = \"{down}\"")).collect();
    let _ = writeln!(
        text,
        "[switch.{name}]\nattach = \"{attach}\"\nports = {{ port0 = \"{up}\", {} }}",
        ports.join(", ")
    );
}

fn endpoint(text: &mut String, name: &str, attach: &str, link: &str) {
    let (generation, width) = link.split_once(' ').expect("a generation and a width");
    let _ = writeln!(
        text,
        "[endpoint.{name}]\nattach = \"{attach}\"\ngeneration = \"{generation}\"\nwidth = \"{width}\""
    );
}

fn dma(text: &mut String, device: &str, direction: &str, size: &str, outstanding: usize) {
    let _ = writeln!(
        text,
        "[[workload]]\nkind = \"dma\"\nname = \"{device}\"\ndevice = \"{device}\"\ndirection = \"{direction}\"\n\
         size = \"{size}\"\noutstanding = {outstanding}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rig_resolves_and_has_the_endpoints_it_promises() {
        for (name, endpoints) in NAMES.into_iter().zip([1, 8, 512, 4096, 4096]) {
            let text = scenario_text(name).expect("a rig for each name");
            let scenario =
                load(&Source::from_text(name, text), &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(scenario.workloads.len(), endpoints, "{name}");
        }
    }
}
