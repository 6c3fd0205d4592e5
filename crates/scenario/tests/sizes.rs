//! How large a scenario may be: what is too large is refused once, with the same limit however it is written.

use lanewise_scenario::{DEVICE_LIMIT, Source, load};
use std::fmt::Write;

/// A host, 32 switches with 64 ports, and below each port a switch that has 32 ports downstream.
fn tree(leaves: &str) -> String {
    let mut text = String::from("[host.root]\nslots = { \"slot1..slot32\" = \"gen4 x16\" }\n");
    for top in 0..32 {
        let _ = writeln!(
            text,
            "[switch.top{top}]\nattach = \"root.*\"\nports = {{ port0 = \"gen4 x16\", \"port1..port64\" = \"gen4 x4\" }}"
        );
        let _ = writeln!(
            text,
            "[switch.low{top}]\nattach = \"top{top}.*\"\ncount = 64\nports = {{ port0 = \"gen4 x4\", \"port1..port32\" = \"gen4 x4\" }}\n\
             {}",
            leaves.replace("TOP", &top.to_string())
        );
    }
    text
}

fn problems(text: &str) -> Vec<String> {
    let source = Source::from_text("rig.toml", text);
    load(&source, &[])
        .err()
        .map_or(Vec::new(), |all| all.list.iter().map(|each| each.problem.to_string()).collect())
}

#[test]
fn as_many_devices_as_are_promised_can_be_loaded() {
    // A host, 32 + 2,048 switches, and endpoints: 1,982 below each of the first.
    let text = tree(
        "[endpoint.eTOP]\nattach = \"lowTOP[*].*\"\ncount = 1982\ngeneration = \"gen4\"\nwidth = \"x4\"",
    );
    assert_eq!(1 + 32 + 32 * 64 + 32 * 1982, DEVICE_LIMIT - 31);
    assert_eq!(problems(&text), Vec::<String>::new());
}

#[test]
fn one_device_too_many_is_refused_with_the_same_limit_however_it_is_written() {
    let limit = DEVICE_LIMIT.to_string();
    let counted = tree(
        "[endpoint.eTOP]\nattach = \"lowTOP[*].*\"\ncount = 2000\ngeneration = \"gen4\"\nwidth = \"x4\"",
    );
    let mut written = String::from("[host.root]\nslots = { slot1 = \"gen4 x16\" }\n");
    for device in 0..=DEVICE_LIMIT {
        let _ = writeln!(written, "[endpoint.e{device}]\nattach = \"root.slot1\"");
    }
    for text in [counted, written] {
        let found = problems(&text);
        assert_eq!(found.len(), 1, "{:?}", &found[..found.len().min(5)]);
        assert!(found[0].ends_with(&format!("but at most {limit} are allowed")), "{}", found[0]);
    }
}

#[test]
fn ports_beyond_the_limit_are_one_problem() {
    let mut text = String::from("[host.root]\nslots = { slot1 = \"gen4 x16\" }\n");
    for switch in 0..1_200 {
        let above = match switch {
            0 => "root.slot1".to_owned(),
            _ => format!("s{}.port{}", (switch - 1) / 100, (switch - 1) % 100 + 1),
        };
        let _ = writeln!(
            text,
            "[switch.s{switch}]\nattach = \"{above}\"\nports = {{ port0 = \"gen4 x4\", \"port1..port127\" = \"gen4 x4\" }}"
        );
    }
    let found = problems(&text);
    assert_eq!(found.len(), 1, "{:?}", &found[..found.len().min(5)]);
    assert!(found[0].contains("ports, but at most"), "{}", found[0]);
}
