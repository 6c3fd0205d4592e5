//! A hint that is followed to the letter leads to a scenario that runs, and never back to what it led away from.

use lanewise_scenario::{Source, load};

/// Drives below one host, fio on another, a wire of RoCE between their adapters.
const FABRICS: &str = r#"
[host.initiator]
part = "generic-gen4-server"
[endpoint.near]
part = "mellanox-connectx-5"
attach = "initiator.slot1"
[host.target]
part = "generic-gen4-server"
[endpoint.far]
part = "mellanox-connectx-5"
attach = "target.slot1"
[endpoint.drive]
part = "generic-nvme-gen4-x4"
attach = "target.slot2"
[network.cable]
kind = "roce"
ends = ["near.port1", "far.port1"]
"#;

const JOB: &str = r#"
[[workload]]
kind = "fio"
name = "read"
filename = ["drive"]
rw = "read"
network = "cable"
"#;

/// The same adapters, each at a switch by a network of its own, whose names are near each other.
const SWITCHED: &str = r#"
[network_switch.leaf]
[network.cable1]
kind = "roce"
ends = ["far.port1", "leaf"]
"#;

/// A part of a hint, and what it says to change: from, to.
type Step<'t> = (&'t str, &'t [(&'t str, &'t str)]);

/// Follows hints one after another. Each is of the only problem, and behind the last there is none.
#[track_caller]
fn leads_to_a_run(text: &str, steps: &[Step<'_>]) {
    let mut text = text.to_owned();
    let found = |text: &str| load(&Source::from_text("rig.toml", text), &[]).err();
    for (part, edits) in steps {
        let problems = found(&text).unwrap_or_else(|| panic!("nothing to say `{part}` about"));
        let hints: Vec<_> = problems.records().into_iter().map(|record| record.hint).collect();
        let [Some(hint)] = &hints[..] else { panic!("{part}: {problems}") };
        assert!(hint.contains(part), "{part}: {problems}");
        for (from, to) in *edits {
            assert_eq!(text.matches(from).count(), 1, "`{from}` for {part}");
            text = text.replace(from, to);
        }
    }
    if let Some(problems) = found(&text) {
        panic!("{problems}");
    }
}

#[test]
fn a_job_over_switches_is_led_to_a_wire() {
    let switched = FABRICS.replace("far.port1\"]", "leaf\"]") + SWITCHED + JOB;
    leads_to_a_run(
        &switched,
        &[(
            "`ends = [\"near.port1\", \"far.port1\"]` make `[network.cable]` one; no other network has these ports",
            &[
                ("[\"near.port1\", \"leaf\"]", "[\"near.port1\", \"far.port1\"]"),
                ("[\"far.port1\", \"leaf\"]", "[\"leaf\", \"leaf\"]"),
                ("[network_switch.leaf]", "[network_switch.leaf]\ncount = 2"),
                ("[\"leaf\", \"leaf\"]", "[\"leaf[*]\", \"leaf[*]\"]"),
            ],
        )],
    );
    // Where there is a wire, it is named, and a near name is not.
    let both = switched.replace("[\"near.port1\", \"leaf\"]", "[\"near.port2\", \"leaf\"]");
    let both = both.replace("[\"far.port1\", \"leaf\"]", "[\"far.port2\", \"leaf\"]")
        + "[endpoint.near2]\npart = \"mellanox-connectx-5\"\nattach = \"initiator.slot2\"\n[endpoint.far2]\n\
           part = \"mellanox-connectx-5\"\nattach = \"target.slot3\"\n[network.direct]\nkind = \"roce\"\n\
           ends = [\"near2\", \"far2\"]\n";
    let both = both.replace("near.port2", "near.port1").replace("far.port2", "far.port1");
    leads_to_a_run(
        &both,
        &[("wires of RDMA to `target` here: direct", &[("network = \"cable\"", "network = \"direct\"")])],
    );
}

#[test]
fn a_job_over_a_wire_that_leads_elsewhere_is_led_to_one_that_does_not() {
    let more = "[endpoint.other]\npart = \"mellanox-connectx-5\"\nattach = \"initiator.slot2\"\n";
    let text = format!("{}{more}{JOB}", FABRICS.replace("\"far.port1\"", "\"other.port1\""));
    leads_to_a_run(
        &text,
        &[("`ends = [\"near.port1\", \"far.port1\"]`", &[("\"other.port1\"", "\"far.port1\"")])],
    );
    let ethernet = FABRICS.replace("\"roce\"", "\"ethernet\"") + JOB;
    leads_to_a_run(
        &ethernet,
        &[("set `kind = \"roce\"` in `[network.cable]`", &[("\"ethernet\"", "\"roce\"")])],
    );
    let alone = FABRICS.replace(
        "part = \"mellanox-connectx-5\"\nattach = \"target",
        "generation = \"gen4\"\nwidth = \"x4\"\nattach = \"target",
    );
    let alone = alone.replace("\"far.port1\"", "\"other.port1\"") + more + JOB;
    leads_to_a_run(
        &alone,
        &[(
            "put an adapter with `rdma.ports` below `target`, and make it an end of `cable`",
            &[
                ("generation = \"gen4\"\nwidth = \"x4\"", "part = \"mellanox-connectx-5\""),
                ("\"other.port1\"", "\"far.port1\""),
            ],
        )],
    );
}

#[test]
fn what_else_a_job_over_fabrics_cannot_have_says_what_to_leave_out() {
    let forwarding = FABRICS.replace("[host.target]\n", "[host.target]\npeer_to_peer = true\n");
    for (more, part) in [
        ("iomem = \"far\"\n", "leave `iomem` out"),
        ("staging = \"drive\"\n", "leave `staging` out"),
        (
            "ioengine = \"libcufile\"\ngpu_dev_ids = [\"far\"]\n",
            "leave `network` out, or `gpu_dev_ids` and `ioengine`",
        ),
    ] {
        leads_to_a_run(&format!("{forwarding}{JOB}{more}"), &[(part, &[(more, "")])]);
    }
    for wrong in ["drive", "near"] {
        let iomem = format!("{forwarding}{JOB}iomem = \"{wrong}\"\n");
        leads_to_a_run(
            &iomem,
            &[
                (
                    "devices below the host of `drive` here: far",
                    &[(&format!("iomem = \"{wrong}\""), "iomem = \"far\"")],
                ),
                ("leave `iomem` out", &[("iomem = \"far\"\n", "")]),
            ],
        );
    }
    let adapter = FABRICS.to_owned() + &JOB.replace("[\"drive\"]", "[\"far\"]");
    leads_to_a_run(&adapter, &[("drives here: drive", &[("[\"far\"]", "[\"drive\"]")])]);
    let attached = FABRICS.to_owned() + &JOB.replace("network = \"cable\"", "staging = \"drive\"");
    leads_to_a_run(&attached, &[("leave `staging` out", &[("staging = \"drive\"", "")])]);
    let tool =
        "[[workload]]\nkind = \"perftest\"\nname = \"w\"\ntool = \"ib_write_bw\"\nnetwork = \"cable\"\n";
    leads_to_a_run(
        &format!("{FABRICS}{JOB}{tool}"),
        &[("move the workloads of other kinds that name a network", &[(tool, "")])],
    );
}

#[test]
fn tools_over_a_network_are_led_to_one_that_they_run_over() {
    let switched = FABRICS.replace("far.port1\"]", "leaf\"]") + SWITCHED;
    let wire = [
        ("[\"near.port1\", \"leaf\"]", "[\"near.port1\", \"far.port1\"]"),
        ("[network.cable1]\nkind = \"roce\"\nends = [\"far.port1\", \"leaf\"]\n", ""),
        ("[network_switch.leaf]", ""),
    ];
    let tool = |kind: &str, more: &str| {
        format!("[[workload]]\nkind = \"{kind}\"\nname = \"w\"\nnetwork = \"cable\"\n{more}")
    };
    let osu = tool("osu", "tool = \"osu_latency\"\n");
    let both_ends = "give `[network.cable]` a port of an adapter at both `ends`, which no other network has";
    leads_to_a_run(&(switched.clone() + &osu), &[(both_ends, &wire)]);
    let to_ethernet = ("set `kind = \"ethernet\"` in `[network.cable]`", &[("\"roce\"", "\"ethernet\"")][..]);
    leads_to_a_run(&(switched + &tool("transactions", "")), &[(both_ends, &wire), to_ethernet]);
    leads_to_a_run(&(FABRICS.to_owned() + &tool("transactions", "")), &[to_ethernet]);
    let ethernet = FABRICS.replace("\"roce\"", "\"ethernet\"");
    let perftest = tool("perftest", "tool = \"ib_write_bw\"\n");
    leads_to_a_run(
        &(ethernet + &perftest),
        &[("set `kind = \"roce\"` in `[network.cable]`", &[("\"ethernet\"", "\"roce\"")])],
    );
    leads_to_a_run(
        &(FABRICS.to_owned() + &perftest + "client = \"far\"\n"),
        &[("leave `client` out, or swap the `ends` of `cable`", &[("client = \"far\"\n", "")])],
    );
}

#[test]
fn a_parameter_of_the_run_without_its_table_is_named_with_it() {
    let source = Source::from_text("rig.toml", format!("{FABRICS}{JOB}"));
    let overrides = |path: &str| [(path.to_owned(), "3".to_owned())];
    let found = load(&source, &overrides("seed")).expect_err("a path has two parts").to_string();
    assert!(found.contains("did you mean `run.seed`?"), "{found}");
    assert!(load(&source, &overrides("run.seed")).is_ok());
}

/// What is allowed beside values of a type is said, too: whoever writes "auto" where "none" is meant reads of it.
#[test]
fn a_word_that_is_allowed_beside_a_value_is_in_the_message() {
    let source = Source::from_text("rig.toml", format!("{FABRICS}{JOB}"));
    let said = |path: &str, value: &str| {
        let overrides = [(path.to_owned(), value.to_owned())];
        load(&source, &overrides).expect_err("no such value").to_string()
    };
    for (path, value, word) in [
        ("near.link.force_width", "auto", "none"),
        ("near.rdma.port_rate", "fast", "none"),
        ("near.rdma.port_rate", "3 ns", "none"),
        ("near.rdma.port_rate", "3", "none"),
        ("cable.rate", "none", "auto"),
    ] {
        let found = said(path, value);
        let sentence = found.lines().next().expect("a sentence");
        assert!(sentence.contains(&format!(", or \"{word}\" is needed")), "{path} = {value}: {sentence}");
        assert_eq!(sentence.matches(word).count(), 1, "{sentence}");
    }
}
