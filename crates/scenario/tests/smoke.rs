//! Nothing a person or a generator writes makes loading panic or take for ever.

use lanewise_scenario::{Source, load};
use proptest::prelude::*;

fn swallow(text: &str, overrides: &[(String, String)]) {
    match load(&Source::from_text("rig.toml", text), overrides) {
        Ok(scenario) => drop(scenario.explain()),
        Err(problems) => {
            assert!(!problems.list.is_empty());
            drop((problems.to_string(), problems.records()));
        }
    }
}

/// Good scenarios to be damaged.
fn seeds() -> Vec<String> {
    let folder = format!("{}/../../scenarios", env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// Pieces of which scenarios are made, and some of which they are not.
const PIECES: [&str; 34] = [
    "[host.h]",
    "[switch.s]",
    "[switch.t]",
    "[endpoint.e]",
    "[storage.d]",
    "[[workload]]",
    "[run]",
    "[firmware]",
    "part = \"idt-89hpes24n3a\"",
    "part = \"lsi-sas3801e\"",
    "part = \"sas-15k-73gb\"",
    "attach = \"h.a\"",
    "attach = \"s.*\"",
    "attach = \"t.port1\"",
    "attach = \"s[*].*\"",
    "attach = \"e\"",
    "count = 3",
    "count = 0",
    "slots = { a = \"gen4 x4\", \"b1..b9\" = \"gen6 x32\" }",
    "ports = { port0 = \"gen5 x12\", port1 = \"gen1 x1\" }",
    "generation = \"gen6\"",
    "width = \"x16\"",
    "mps = \"4 KiB\"",
    "mps_supported = \"1 KiB\"",
    "credits = { posted_data = 1, completion_data = \"infinite\" }",
    "link = { flit = true, force_width = \"x2\" }",
    "kind = \"dma\"\ndevice = \"e[*]\"\ndirection = \"both\"",
    "kind = \"iometer\"\ntargets = [\"d\"]\naccess = []",
    "kind = \"mmio\"\ndevice = \"e\"\ndirection = \"read\"",
    "target = \"e\"",
    "span = \"1 B\"",
    "= = [",
    "x.y.z = 1",
    "\u{feff}\r",
];

proptest! {
    #[test]
    fn any_text_is_swallowed(text in "\\PC{0,200}") {
        swallow(&text, &[]);
    }

    #[test]
    fn any_lines_of_a_scenario_are_swallowed(lines in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..24)) {
        swallow(&lines.join("\n"), &[]);
    }

    #[test]
    fn a_damaged_scenario_is_swallowed(
        seed in prop::sample::select(seeds()),
        at in any::<prop::sample::Index>(),
        length in 0usize..12,
        patch in "[\\[\\]{}=.\"#0-9a-z\\n ]{0,8}",
    ) {
        let characters: Vec<char> = seed.chars().collect();
        let start = at.index(characters.len());
        let end = (start + length).min(characters.len());
        let (before, after) = (characters[..start].iter(), characters[end..].iter());
        swallow(&format!("{}{patch}{}", before.collect::<String>(), after.collect::<String>()), &[]);
    }

    #[test]
    fn any_override_is_swallowed(path in "[a-z0-9.\\[\\]*]{0,20}", value in "\\PC{0,20}") {
        swallow(&seeds()[0], &[(path, value)]);
    }

    #[test]
    fn any_value_of_a_parameter_is_swallowed(value in "\\PC{0,24}") {
        for path in ["nvme0.width", "nvme0.mrrs", "run.time_limit", "nvme0.link.bit_error_rate_upstream", "nvme0.attach"] {
            swallow(&seeds()[0], &[(path.to_owned(), value.clone())]);
        }
    }
}

/// Large inputs that are all mistake. Each ends; how soon is for the benchmark, not for a test.
#[test]
fn large_hostile_inputs_end() {
    let many = |line: &dyn Fn(usize) -> String| (0..3_000).map(line).collect::<String>();
    swallow(&many(&|n| format!("k{n} = 1\n")), &[]);
    swallow(&format!("[host.h]\n{}", many(&|n| format!("slotz{n} = 1\n"))), &[]);
    swallow(&many(&|n| format!("[host.h{n}]\nslots = {{ \"a1..a900\" = \"gen4 x4\" }}\n")), &[]);
    swallow(&many(&|n| format!("[switch.s{n}]\nattach = \"s{}.*\"\n", n + 1)), &[]);
    swallow(&many(&|n| format!("[endpoint.e{n}]\npart = \"nothing-{n}\"\nattach = \"h.*\"\n")), &[]);
    swallow(&format!("a = \"{}", "\\u0041".repeat(100_000)), &[]);
    swallow(&"[[workload]]\n".repeat(3_000), &[]);
}

#[test]
fn a_partition_of_a_switch_without_ports_is_a_problem_and_no_panic() {
    swallow(
        "[host.a]\nslots = { s = \"gen4 x16\" }\n[switch.chip]\nattach = \"a.s\"\n\
         [switch.part]\npartition_of = \"chip\"\nattach = \"a.s\"\n",
        &[],
    );
}
