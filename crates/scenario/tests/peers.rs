//! What `device` and `target` of one workload mean together, for every kind that has a peer; and devices of a group that the
//! command line sets apart.

use lanewise_scenario::{LoadConfig, Scenario, Source, load};
use lanewise_workload::load::collective::CollectiveConfig;
use lanewise_workload::load::copy::CopyConfig;
use lanewise_workload::load::dma::DmaConfig;

const RIG: &str = "[host.server]\nslots = { slot1 = \"gen4 x16\" }\n\
    [switch.sw]\nattach = \"server.slot1\"\nports = { port0 = \"gen4 x16\", \"port1..port9\" = \"gen4 x4\" }\n\
    [endpoint.nic]\nattach = \"sw.*\"\ncount = 2\ngeneration = \"gen4\"\nwidth = \"x4\"\n\
    [endpoint.gpu]\nattach = \"sw.*\"\ncount = 2\ngeneration = \"gen4\"\nwidth = \"x4\"\ntags = 32\n";

fn loaded(workload: &str, overrides: &[(&str, &str)]) -> Result<Scenario, Vec<&'static str>> {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    let text = format!("{RIG}[[workload]]\nname = \"w\"\n{workload}\n");
    load(&Source::from_text("rig.toml", text), &overrides).map_err(|problems| problems.codes())
}

/// Name, device and target of each instrument; devices by their place in the tree.
fn pairs(kind: &str, device: &str, target: &str) -> Result<Vec<(String, u32, String)>, Vec<&'static str>> {
    let direction = if kind == "copy" { "peer" } else { "write" };
    let text = format!(
        "kind = \"{kind}\"\ndirection = \"{direction}\"\ndevice = \"{device}\"\ntarget = \"{target}\""
    );
    let scenario = loaded(&text, &[])?;
    let pair = |load: &dyn LoadConfig| {
        let dma = load.of_kind().map(|dma: &DmaConfig| (dma.name.to_string(), dma.device.0, dma.target));
        let copy = |copy: &CopyConfig| (copy.name.to_string(), copy.device.0, copy.ways[0].target);
        let (name, device, target) =
            dma.or_else(|| load.of_kind().map(copy)).unwrap_or_else(|| panic!("{load:?}"));
        (name, device, format!("{target:?}"))
    };
    Ok(scenario.workloads.iter().map(|load| pair(load.as_ref())).collect())
}

#[test]
fn one_line_means_one_to_one_pairs_or_one_to_each() {
    // Host 0, switch 1, nic[0] 2, nic[1] 3, gpu[0] 4, gpu[1] 5.
    let expected = |list: &[(&str, u32, u32)]| -> Vec<(String, u32, String)> {
        list.iter()
            .map(|(name, from, to)| ((*name).to_owned(), *from, format!("Endpoint(DeviceId({to}))")))
            .collect()
    };
    for kind in ["dma", "copy"] {
        assert_eq!(pairs(kind, "nic[0]", "gpu[1]"), Ok(expected(&[("w", 2, 5)])), "{kind}");
        let all_to_one = expected(&[("w nic[0]", 2, 5), ("w nic[1]", 3, 5)]);
        assert_eq!(pairs(kind, "nic[*]", "gpu[1]"), Ok(all_to_one), "{kind}");
        let paired = expected(&[("w nic[0]", 2, 4), ("w nic[1]", 3, 5)]);
        assert_eq!(pairs(kind, "nic[*]", "gpu[*]"), Ok(paired), "{kind}");
        let to_each = expected(&[("w gpu[0]", 2, 4), ("w gpu[1]", 2, 5)]);
        assert_eq!(pairs(kind, "nic[0]", "gpu[*]"), Ok(to_each), "{kind}");
        assert_eq!(pairs(kind, "gpu[*]", "gpu[*]"), Err(vec!["device-count"]), "{kind}");
    }
}

#[test]
fn a_key_that_is_about_one_device_takes_no_other_number() {
    let fio = "kind = \"fio\"\nfilename = [\"nic[0]\"]\nrw = \"read\"\niomem = \"gpu[*]\"";
    let drive = [("nic.nvme.capacity", "1 GB")];
    assert_eq!(loaded(fio, &drive).unwrap_err(), ["device-count"]);
    assert_eq!(loaded("kind = \"turnaround\"\ndevice = \"nic[*]\"", &[]).unwrap_err(), ["device-count"]);
    let reassign = "kind = \"reassign\"\ndevice = \"nic[*]\"\nto = \"sw\"\nat = \"1 ms\"";
    assert_eq!(loaded(reassign, &[]).unwrap_err(), ["device-count"]);
}

#[test]
fn a_ring_is_of_two_devices_at_least_each_once() {
    let ring = |devices: &str| loaded(&format!("kind = \"collective\"\ndevices = {devices}"), &[]);
    let made = ring("[\"gpu[*]\", \"nic[0]\"]").unwrap();
    let devices = |config: &CollectiveConfig| -> Vec<String> {
        config.ranks.iter().map(|rank| rank.name.clone()).collect()
    };
    assert_eq!(made.workloads[0].of_kind().map(devices).unwrap(), ["gpu[0]", "gpu[1]", "nic[0]"]);
    assert_eq!(ring("[]").unwrap_err(), ["device-count"]);
    assert_eq!(ring("[\"gpu[0]\"]").unwrap_err(), ["device-count"]);
    assert_eq!(ring("[\"gpu[*]\", \"gpu[1]\"]").unwrap_err(), ["duplicate-name"]);
    assert_eq!(ring("[\"gpus[*]\"]").unwrap_err(), ["unknown-device"]);
}

#[test]
fn one_device_of_a_group_has_values_of_its_own() {
    let dma = "kind = \"dma\"\ndevice = \"gpu[*]\"\ndirection = \"read\"";
    let tags = |overrides: &[(&str, &str)]| -> Vec<(String, String)> {
        let scenario = loaded(dma, overrides).unwrap();
        let of_tags =
            scenario.parameters.iter().filter(|p| p.path.starts_with("gpu") && p.path.ends_with("tags"));
        of_tags.map(|parameter| (parameter.path.clone(), parameter.value.clone())).collect()
    };
    let pair = |path: &str, value: &str| (path.to_owned(), value.to_owned());
    assert_eq!(tags(&[]), [pair("gpu.tags", "32")]);
    assert_eq!(tags(&[("gpu[1].tags", "8")]), [pair("gpu.tags", "32"), pair("gpu[1].tags", "8")]);
    assert_eq!(tags(&[("endpoint.gpu[1].tags", "8")]), [pair("gpu.tags", "32"), pair("gpu[1].tags", "8")]);
    assert_eq!(tags(&[("gpu[*].tags", "8")]), [pair("gpu.tags", "8")]);
    let scenario = loaded(dma, &[("gpu[1].link.force_width", "x1"), ("gpu[0].tags", "8")]).unwrap();
    let widths: Vec<(&str, String)> =
        scenario.links.iter().map(|link| (link.name.as_str(), link.width.to_string())).collect();
    let is = |name: &str, width: &str| widths.contains(&(name, width.to_owned()));
    assert!(is("gpu[0]", "x4") && is("gpu[1]", "x1"), "{widths:?}");
}

#[test]
fn every_value_that_explain_prints_of_a_scenario_can_be_set() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    // Lists of tables are written in the file; `explain` shows them in words.
    let in_words = ["access", "scenes", "flows"];
    let mut tried = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let source = Source::from_text(path.display().to_string(), text);
        for parameter in load(&source, &[]).unwrap().explain().parameters {
            let key = parameter.path.rsplit('.').next().unwrap().to_owned();
            let form = parameter.value.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
            // A computed value that devices of a group, or sizes, do not share is no value of any of them.
            let differs =
                parameter.value.ends_with(" and others, by device") || parameter.value.ends_with(", by size");
            if differs || in_words.contains(&key.as_str()) || !tried.insert((key, form)) {
                continue;
            }
            let pair = (parameter.path.clone(), parameter.value.clone());
            let again = load(&source, std::slice::from_ref(&pair));
            assert!(again.is_ok(), "--set {}={}: {}", pair.0, pair.1, again.unwrap_err());
        }
    }
    assert!(tried.len() > 200, "only {} values tried", tried.len());
}
