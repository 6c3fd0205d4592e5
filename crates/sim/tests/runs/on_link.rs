//! What lies on a link, against closed forms: retimers and cables, encryption.

use crate::rig::{problems, results, scenario, within};

/// Writes of 256 B over Gen5 x16; `link` is the table of the link above the card, `more` what else there is.
fn writes(link: &str, more: &str) -> String {
    format!(
        "[run]\ntime_limit = \"1020 us\"\nwarm_up = \"20 us\"\nrelative_half_width = 0.00001\n\
         [host.server]\nmemory_base = \"0 B\"\nslots = {{ slot1 = {{ link = \"gen5 x16\", ack_every_tlps = 1, update_every_tlps = 1, \
         credits = {{ posted_header = 64, posted_data = 256 }} }} }}\n\
         [endpoint.card]\nattach = \"server.slot1\"\ngeneration = \"gen5\"\nwidth = \"x16\"\nretry_buffer = \"1 MiB\"\n{link}\n{more}\n\
         [[workload]]\nkind = \"dma\"\nname = \"w\"\ndevice = \"card\"\ndirection = \"write\"\nsize = \"64 KiB\"\noutstanding = 16\n"
    )
}

fn goodput(link: &str, more: &str) -> f64 {
    results(writes(link, more), &[]).flows[0].goodput_gb_per_s
}

/// The credits of a root port for 16 writes of 256 B go around once with each turn of the loop, and each part makes that longer by
/// its latency, twice. How long the rest of the loop takes need not be known.
#[test]
fn the_loop_is_longer_by_each_part_there_and_back() {
    let bytes = 256.0 * 16.0;
    let turn = |link: &str, more: &str| bytes / goodput(link, more);
    let base = turn("link = { propagation = \"300 ns\" }", "");
    let astera = "\"astera-aries5-x16\"";
    for (link, more, one_way) in [
        (format!("link = {{ propagation = \"300 ns\", retimers = [{astera}] }}"), "", 10.0),
        (
            format!("link = {{ propagation = \"300 ns\", retimers = [{astera}, \"generic-retimer\"] }}"),
            "",
            74.0,
        ),
        (
            "link = { propagation = \"300 ns\", cable = \"fibre\" }".to_owned(),
            "[link_cable.fibre]\npart = \"dolphin-firefly-optical\"\nmetres = 100",
            502.0,
        ),
        (
            format!(
                "link = {{ propagation = \"300 ns\", retimers = [{astera}, {astera}], cable = \"fibre\" }}"
            ),
            "[link_cable.fibre]\npart = \"dolphin-firefly-optical\"\nmetres = 30",
            172.0,
        ),
    ] {
        let found = turn(&link, more);
        within(0.5, found, base + 2.0 * one_way);
        assert!(found > base * 1.02, "{link}: {found} ns, {base} ns without");
    }
}

/// A part is nothing but time: the same run as with a wire that is as long.
#[test]
fn a_retimer_is_as_good_as_a_longer_wire() {
    let part = results(writes("link = { retimers = [\"astera-aries5-x16\"] }", ""), &[]);
    let wire = results(writes("link = { propagation = \"12 ns\" }", ""), &[]);
    assert_eq!(part.fingerprint, wire.fingerprint);
}

#[test]
fn a_link_is_what_its_parts_let_through() {
    let found = scenario(writes("link = { retimers = [\"astera-pt4161l\"] }", ""), &[]).explain();
    assert_eq!((found.links[0].generation.as_str(), found.links[0].one_way.as_str()), ("gen4", "12 ns"));
    assert_eq!(found.links[0].generation_limited_by, "astera-pt4161l.generation");
    assert_eq!(found.links[0].through, ["astera-pt4161l"]);
    let shown =
        |path: &str| found.parameters.iter().find(|each| each.path == path).map(|each| each.value.clone());
    assert_eq!(shown("astera-pt4161l.latency").as_deref(), Some("10 ns"));
    let narrow = writes("link = { cable = \"four\" }", "[link_cable.four]\nwidth = \"x4\"");
    let found = scenario(narrow, &[]).explain();
    assert_eq!(
        (found.links[0].width.as_str(), found.links[0].width_limited_by.as_str()),
        ("x4", "four.width")
    );
}

/// PCIe Base 6.3 §4.3.8: 32 symbol times up to 5 GT/s, 64, 128 and 256 after that.
#[test]
fn a_retimer_at_the_limit_takes_so_many_symbols() {
    for (generation, one_way) in [("gen1", 128), ("gen2", 64), ("gen3", 64), ("gen4", 64), ("gen5", 64)] {
        let link = "link = { propagation = \"0 ns\", retimers = [\"generic-retimer\"] }";
        let found = scenario(writes(link, ""), &[("card.generation", generation)]).explain();
        assert_eq!(found.links[0].one_way, format!("{one_way} ns"), "{generation}");
        let latency =
            found.parameters.iter().find(|each| each.path == "generic-retimer.latency").expect("told");
        assert_eq!((latency.value.clone(), latency.place.as_ref()), (format!("{one_way} ns"), "computed"));
    }
}

#[test]
fn what_there_is_not_cannot_lie_on_a_link() {
    let three = "link = { retimers = [\"generic-redriver\", \"generic-redriver\", \"generic-redriver\"] }";
    assert_eq!(problems(writes(three, ""), &[]), ["out-of-range"]);
    for wrong in ["retimers = [\"astera\"]", "cable = \"generic-retimer\"", "retimers = [\"server\"]"] {
        assert_eq!(
            problems(writes(&format!("link = {{ {wrong} }}"), ""), &[]),
            ["unknown-device"],
            "{wrong}"
        );
    }
    let idle = scenario(writes("", "[retimer.spare]\nlatency = \"9 ns\""), &[]);
    assert_eq!(idle.remarks[0].path, "spare.latency");
}

/// Transfers of 256 B in packets of 256 B over a link, with addresses above 4 GiB; `card` and `workload` are keys of theirs.
fn protected(link: &str, card: &str, workload: &str) -> String {
    let (generation, width) = link.split_once(' ').expect("a generation and a width");
    format!(
        "[run]\ntime_limit = \"320 us\"\nwarm_up = \"20 us\"\nrelative_half_width = 0.00001\n\
         [firmware]\nmps = \"256 B\"\nmrrs = \"256 B\"\n\
         [host.server]\nmemory_base = \"4 GiB\"\nrcb = \"64 B\"\ncompletion_combine = \"256 B\"\nslots = {{ slot1 = \"{link}\" }}\n\
         [endpoint.card]\nattach = \"server.slot1\"\ngeneration = \"{generation}\"\nwidth = \"{width}\"\n{card}\n\
         [[workload]]\nkind = \"dma\"\nname = \"w\"\ndevice = \"card\"\nsize = \"256 B\"\n{workload}\n"
    )
}

const PROTECTIONS: [(&str, f64); 5] =
    [("every TLP", 16.0), ("2 TLPs", 10.0), ("4 TLPs", 7.0), ("8 TLPs", 5.5), ("off", 0.0)];

/// PCIe Base 6.3 §6.33: 4 B for each TLP and 12 B for each MAC, whatever the mode; physics of 256 B at Gen5: −5.4 % and −1.9 %.
#[test]
fn ide_costs_its_prefix_and_its_share_of_a_mac() {
    for (link, header, workload) in [
        ("gen5 x16", 24.0, "direction = \"write\"\noutstanding = 64"),
        ("gen5 x16", 20.0, "direction = \"read\"\noutstanding = 256"),
        ("gen6 x4", 16.0, "direction = \"write\"\noutstanding = 64"),
    ] {
        let goodput = |mac: &str| {
            let card = format!("ide = {{ mac = \"{mac}\" }}");
            results(protected(link, &card, workload), &[]).flows[0].goodput_gb_per_s
        };
        let plain = goodput("off");
        for (mac, added) in PROTECTIONS {
            within(0.5, goodput(mac) / plain, (256.0 + header) / (256.0 + header + added));
        }
        let with_pcrc = "ide = { mac = \"every TLP\", pcrc = true }";
        let found = results(protected(link, with_pcrc, workload), &[]).flows[0].goodput_gb_per_s;
        within(0.5, found / plain, (256.0 + header) / (256.0 + header + 20.0));
    }
}

/// To a DLLP on Gen1 x4, which takes 8 ns.
#[track_caller]
fn assert_about(found_ns: f64, expected_ns: f64) {
    assert!((found_ns - expected_ns).abs() <= 8.0, "{found_ns} ns, expected {expected_ns} ns");
}

/// Each TLP is encrypted and decrypted once: a write waits twice for 30 ns, a read four times; and 16 B more are on the wire.
#[test]
fn ide_takes_its_time_at_both_ends() {
    let latency = |direction: &str, mac: &str| {
        let card = format!("ide = {{ mac = \"{mac}\", latency = \"30 ns\" }}");
        let workload = format!("direction = \"{direction}\"\noutstanding = 1");
        results(protected("gen1 x4", &card, &workload), &[]).flows[0].latency_ns.min.expect("measured")
    };
    // A byte takes a nanosecond; a DLLP of 8 B may be in the way of one and not of the other.
    let longer = |direction| latency(direction, "every TLP") - latency(direction, "off");
    assert_about(longer("write"), 2.0 * 30.0 + 16.0);
    assert_about(longer("read"), 4.0 * 30.0 + 2.0 * 16.0);
}

/// Engines take one TLP after the other: what they take does not show in the rate.
#[test]
fn slow_encryption_costs_no_goodput() {
    let goodput = |latency: &str| {
        let card = format!("ide = {{ mac = \"8 TLPs\", latency = \"{latency}\" }}");
        results(protected("gen5 x16", &card, "direction = \"write\"\noutstanding = 256"), &[]).flows[0]
            .goodput_gb_per_s
    };
    within(0.1, goodput("100 ns"), goodput("0 ns"));
}

/// A stream goes through a switch as it is: both links carry as much.
#[test]
fn a_stream_is_from_end_to_end() {
    let text = "[run]\ntime_limit = \"320 us\"\nwarm_up = \"20 us\"\nrelative_half_width = 0.00001\n\
         [host.server]\nmemory_base = \"4 GiB\"\nslots = { slot1 = \"gen4 x8\" }\n\
         [switch.sw0]\nattach = \"server.slot1\"\nports = { port0 = \"gen4 x8\", \"port1..port2\" = \"gen4 x8\" }\n\
         [endpoint.card]\nattach = \"sw0.*\"\ncount = 2\ngeneration = \"gen4\"\nwidth = \"x8\"\nide = { mac = \"every TLP\" }\n\
         [[workload]]\nkind = \"dma\"\nname = \"w\"\ndevice = \"card[*]\"\ndirection = \"write\"\nsize = \"64 KiB\"\noutstanding = 4\n";
    let sealed = results(text, &[]);
    let plain = results(text, &[("card.ide.mac", "off")]);
    let half = results(text, &[("card[1].ide.mac", "off")]);
    let total =
        |found: &lanewise_sim::Results| found.flows.iter().map(|flow| flow.goodput_gb_per_s).sum::<f64>();
    within(0.3, total(&sealed) / total(&plain), 280.0 / 296.0);
    within(0.3, total(&half) / total(&plain), 280.0 / 288.0);
}

/// Registers, too: a load is 24 B there and 24 B back, and 16 B more each.
#[test]
fn loads_and_stores_are_part_of_the_stream() {
    let latency = |mac: &str| {
        let text = format!(
            "[run]\ntime_limit = \"120 us\"\nwarm_up = \"20 us\"\n[host.server]\nslots = {{ slot1 = \"gen1 x4\" }}\n\
             [endpoint.card]\nattach = \"server.slot1\"\ngeneration = \"gen1\"\nwidth = \"x4\"\n\
             ide = {{ mac = \"{mac}\", latency = \"30 ns\" }}\n\
             [[workload]]\nkind = \"mmio\"\nname = \"w\"\ndevice = \"card\"\ndirection = \"read\"\nsize = \"4 B\"\n"
        );
        let flow = &results(text, &[]).flows[0];
        flow.operation_latency_ns.as_ref().unwrap_or(&flow.latency_ns).min.expect("measured")
    };
    assert_about(latency("every TLP") - latency("off"), 4.0 * 30.0 + 2.0 * 16.0);
}
