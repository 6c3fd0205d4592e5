//! The files of `scenarios/` load, explain themselves, and mean what their comments say.

use lanewise_fabric::config::DeviceKind;
use lanewise_pcie::flow_control::CreditPool;
use lanewise_scenario::{NativeFiles, Scenario, Source, load};
use lanewise_units::{Bytes, Generation, Width};
use lanewise_workload::load::fio::NvmeConfig;
use lanewise_workload::load::iometer::StorageConfig;

fn scenario(name: &str) -> Scenario {
    let path = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let source = Source::read(&path, &NativeFiles).unwrap_or_else(|problems| panic!("{problems}"));
    load(&source, &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn value(scenario: &Scenario, path: &str) -> String {
    let explanation = scenario.explain();
    let found = explanation.parameters.iter().find(|parameter| parameter.path == path);
    found.unwrap_or_else(|| panic!("no {path}")).value.clone()
}

#[test]
fn every_scenario_loads_and_explains_every_value_once() {
    let folder = format!("{}/../../scenarios", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned();
        let explanation = scenario(&name).explain();
        assert_eq!(explanation.remarks, [], "{name}: a value that changes nothing");
        let mut paths: Vec<&str> = explanation.parameters.iter().map(|p| p.path.as_str()).collect();
        let total = paths.len();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), total, "{name}: a path is explained twice");
        assert!(
            explanation.parameters.iter().all(|p| !p.source.is_empty()),
            "{name}: a value without a source"
        );
        count += 1;
    }
    assert!(count >= 8);
}

#[test]
fn what_is_stated_and_changes_nothing_is_told_of_with_the_reason() {
    let text = "[host.server]\nslots = { slot1 = \"gen4 x4\" }\n[endpoint.ssd]\nattach = \"server.slot1\"\n\
                part = \"samsung-pm9a3\"\nadapter.command_time = \"1 us\"\nlink.aspm = \"off\"\nlink.l1_exit = \"4 us\"\n\
                [[workload]]\nkind = \"fio\"\nfilename = [\"ssd\"]\nrw = \"randread\"\niodepth = 32\n";
    let remarks = |overrides: &[(&str, &str)]| {
        let pair = |(path, value): &(&str, &str)| ((*path).to_owned(), (*value).to_owned());
        let overrides: Vec<_> = overrides.iter().map(pair).collect();
        let scenario = load(&Source::from_text("rig.toml", text), &overrides).unwrap();
        let shown =
            scenario.remarks.iter().map(|each| format!("{} {} = {}", each.place, each.path, each.value));
        shown.collect::<Vec<_>>()
    };
    let stated = [
        "rig.toml:6 ssd.adapter.command_time = 1 us",
        "rig.toml:8 ssd.link.l1_exit = 4 us",
        "rig.toml:13 workload.fio0.iodepth = 32",
    ];
    assert_eq!(remarks(&[]), stated);
    assert_eq!(remarks(&[("workload.fio0.ioengine", "libaio"), ("ssd.link.aspm", "l1")]), stated[..1]);
    let more = remarks(&[("workload.fio0.rwmixread", "70")]);
    assert_eq!(more[2], "command line:1 workload.fio0.rwmixread = 70");
}

#[test]
fn the_first_rig_is_a_gen4_x4_link_with_the_specifications_timers() {
    let scenario = scenario("first_rig");
    let link = &scenario.fabric.links[0];
    assert_eq!((link.mode.generation, link.mode.width, link.mode.flit), (Generation::Gen4, Width::X4, false));
    // The host supports 512 B, as hosts of its generation do; the drive 256 B.
    assert_eq!(scenario.fabric.devices[1].ports[0].mps, Bytes::new(256));
    assert_eq!(scenario.links[0].mps_limited_by, "nvme0.mps_supported");
    // PCIe Base 6.3 Table 3-12: 214 symbol times of 0.5 ns and a sync header each 16.
    assert_eq!(value(&scenario, "nvme0.ack_latency"), "108.671875 ns");
    assert_eq!(value(&scenario, "nvme0.tag_width"), "10 bits");
    assert_eq!(scenario.fabric.devices[1].ports[0].credits[2], CreditPool::INFINITE);
}

#[test]
fn firmware_takes_the_minimum_over_the_hierarchy_and_says_why() {
    let scenario = scenario("switch");
    assert_eq!(scenario.links.iter().map(|link| link.mps_bytes).collect::<Vec<_>>(), [256, 256, 256]);
    assert_eq!(scenario.links[1].generation, "gen3");
    assert_eq!(scenario.links[1].upper, "sw0.port1");
}

#[test]
fn a_count_fills_the_free_ports_in_order_and_a_star_means_all_of_them() {
    let scenario = scenario("oversubscribed");
    let names: Vec<&str> = scenario.fabric.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(&names[..4], ["server", "sw0", "nvme[0]", "nvme[1]"]);
    assert_eq!(scenario.fabric.links[1].upper, (1, 1));
    assert_eq!(scenario.fabric.links[8].upper, (1, 8));
    assert_eq!(scenario.workloads.len(), 8);
}

#[test]
fn a_slot_reducer_narrows_the_link_and_the_board_programs_its_payload_size() {
    let scenario = scenario("storage");
    let link = &scenario.links[0];
    assert_eq!((link.width.as_str(), link.width_limited_by.as_str()), ("x4", "hba0.link.slot_reducer"));
    assert_eq!((link.mps_bytes, link.mps_limited_by.as_str()), (128, "server.slots.slot1.mps"));
    let DeviceKind::RootComplex(host) = &scenario.fabric.devices[0].kind else {
        panic!("a host comes first")
    };
    assert_eq!(host.completion_combine_max, Bytes::new(64));
    let storage = scenario.workloads[0].of_kind::<StorageConfig>().expect("IOmeter is storage");
    assert_eq!((storage.hbas.len(), storage.drives.len(), storage.groups.len()), (1, 8, 1));
    assert_eq!(storage.groups[0].access[0].size, Bytes::from_kib(310));
    let ports: Vec<usize> = storage.drives.iter().map(|drive| drive.port).collect();
    assert_eq!(ports, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn flits_are_used_where_the_rate_demands_them() {
    let scenario = scenario("flit");
    assert!(scenario.fabric.links[0].mode.flit);
    assert_eq!(value(&scenario, "gpu0.ack_latency"), "50 ns");
}

#[test]
fn a_smart_nic_is_a_host_of_its_own_that_its_adapter_sits_in() {
    let targets = ["nvme_over_fabrics", "nvme_over_fabrics_smartnic"].map(|name| {
        let scenario = scenario(name);
        let nvme = scenario.workloads[0].of_kind::<NvmeConfig>().expect("fio is on drives");
        let fabrics = nvme.groups[0].fabrics.clone().expect("the drives are elsewhere");
        assert_eq!(nvme.hosts[fabrics.target].name, "target");
        assert_eq!(nvme.hosts[nvme.groups[0].host].name, "initiator");
        let jbof = scenario.links.iter().find(|link| link.lower == "jbof").expect("it is attached");
        (jbof.generation.clone(), fabrics.software.core_speed, nvme.hosts[fabrics.target].cores)
    });
    assert_eq!(targets, [("gen4".to_owned(), 100, 16), ("gen3".to_owned(), 66, 8)]);
}
