//! Where the data of NVMe over Fabrics goes: through the target's memory, or past it.

use crate::rig::{self, Settings, problems};
use lanewise_sim::{Direction, Results};

/// Adapter, drive and a card with memory below one switch of the target; the job's keys come last.
fn rig(job: &str) -> String {
    format!(
        "[run]\nwarm_up = \"1 ms\"\ntime_limit = \"2 ms\"\n\
         [host.target]\nslots = {{ slot1 = \"gen4 x16\" }}\npeer_to_peer = true\n\
         [host.client]\nslots = {{ slot1 = \"gen4 x16\" }}\n\
         [switch.sw0]\nattach = \"target.slot1\"\n\
         ports = {{ port0 = \"gen4 x16\", port1 = \"gen4 x16\", port2 = \"gen4 x4\", port3 = \"gen4 x16\" }}\n\
         [endpoint.nic0]\nattach = \"sw0.port1\"\ngeneration = \"gen4\"\nwidth = \"x16\"\nrdma = {{ ports = 1 }}\n\
         [endpoint.ssd]\npart = \"generic-nvme-gen4-x4\"\nattach = \"sw0.port2\"\n\
         nvme = {{ controller_memory_buffer = \"8 MiB\" }}\n\
         [endpoint.card]\nattach = \"sw0.port3\"\ngeneration = \"gen4\"\nwidth = \"x16\"\n\
         [endpoint.nic1]\nattach = \"client.slot1\"\ngeneration = \"gen4\"\nwidth = \"x16\"\nrdma = {{ ports = 1 }}\n\
         [network.cable]\nkind = \"roce\"\nends = [\"nic1.port1\", \"nic0.port1\"]\n\
         [[workload]]\nkind = \"fio\"\nname = \"job\"\nfilename = [\"ssd\"]\nnetwork = \"cable\"\n\
         ioengine = \"libaio\"\niodepth = 32\nbs = \"128 KiB\"\n{job}\n"
    )
}

fn results(job: &str, settings: &Settings) -> Results {
    rig::results(rig(job), settings)
}

/// Payload in GB/s on the link above a device: towards the host, and away from it.
fn goodput(results: &Results, device: &str) -> [f64; 2] {
    let link = results.links.iter().find(|link| link.name == device).expect("a link of that name");
    let of = |direction: &Direction| direction.ladder.goodput_gb_per_s;
    [of(&link.upstream), of(&link.downstream)]
}

fn job_rate(results: &Results) -> f64 {
    let flows = results.flows.iter().filter(|flow| flow.name == "job" && flow.direction != "control");
    flows.map(|flow| flow.goodput_gb_per_s).sum()
}

#[test]
fn in_the_drive_the_data_never_meets_the_host() {
    for rw in ["read", "write"] {
        let found = results(&format!("rw = \"{rw}\"\nstaging = \"drive\""), &[]);
        let rate = job_rate(&found);
        assert!((3.0..=7.3).contains(&rate), "{rw}: {rate} GB/s");
        for direction in goodput(&found, "sw0") {
            assert!(direction < 0.02 * rate, "{rw}: {direction} GB/s between switch and host");
        }
    }
}

#[test]
fn through_memory_each_byte_crosses_the_hosts_link_twice() {
    for rw in ["read", "write"] {
        let found = results(&format!("rw = \"{rw}\""), &[]);
        let rate = job_rate(&found);
        for direction in goodput(&found, "sw0") {
            assert!((0.97..=1.05).contains(&(direction / rate)), "{rw}: {direction} of {rate} GB/s");
        }
    }
}

#[test]
fn a_card_takes_the_data_twice_and_the_host_not_at_all() {
    let found = results("rw = \"read\"\nstaging = \"card\"", &[]);
    let rate = job_rate(&found);
    let [from_card, to_card] = goodput(&found, "card");
    assert!((0.97..=1.05).contains(&(from_card / rate)) && (0.97..=1.05).contains(&(to_card / rate)));
    assert!(goodput(&found, "sw0").into_iter().all(|direction| direction < 0.02 * rate));
}

#[test]
fn redirect_brings_the_data_back_to_the_hosts_link_but_not_to_its_memory() {
    let found = results("rw = \"read\"\nstaging = \"drive\"", &[("sw0.acs_redirect", "true")]);
    let rate = job_rate(&found);
    // Completions from the drive go up to the root port and down to the adapter.
    for direction in goodput(&found, "sw0") {
        assert!((0.97..=1.06).contains(&(direction / rate)), "{direction} of {rate} GB/s");
    }
    let through_memory = results("rw = \"read\"", &[("sw0.acs_redirect", "true")]);
    let reads = |results: &Results| goodput(results, "sw0")[1];
    assert!((reads(&found) / reads(&through_memory) - 1.0).abs() < 0.1, "as busy as through memory");
}

#[test]
fn a_small_write_lands_in_memory_with_its_capsule() {
    let found = results("rw = \"write\"\nstaging = \"drive\"", &[("workload.job.bs", "4 KiB")]);
    let rate = job_rate(&found);
    let [_, to_drive] = goodput(&found, "ssd");
    assert!(to_drive > 0.97 * rate, "the drive fetches what came in capsules: {to_drive} of {rate} GB/s");
}

#[test]
fn pages_are_taken_only_for_data_that_goes_through_memory() {
    let dearer = |job: &str| {
        let latency = |page_cost| {
            let settings = [("workload.job.iodepth", "1"), ("target.nvme_target.page_cost", page_cost)];
            let found = results(job, &settings);
            let flow = found.flows.iter().find(|flow| flow.name == "job" && flow.direction == "read");
            flow.expect("a flow of reads").latency_ns.mean.expect("measured")
        };
        latency("200 ns") - latency("0 ns")
    };
    let through_memory = dearer("rw = \"read\"");
    assert!((through_memory - 32.0 * 200.0).abs() < 100.0, "{through_memory} ns for 32 pages");
    for job in ["rw = \"read\"\nstaging = \"drive\"", "rw = \"read\"\nstaging = \"card\""] {
        assert_eq!(dearer(job), 0.0, "{job}");
    }
}

#[test]
fn a_slow_buffer_is_the_limit() {
    let found = results("rw = \"read\"\nstaging = \"drive\"", &[("ssd.memory_read_rate", "1 GB/s")]);
    let rate = job_rate(&found);
    assert!((0.9..=1.05).contains(&rate), "{rate} GB/s");
}

#[test]
fn staging_that_cannot_be_is_refused() {
    let codes = |job: &str, settings: &Settings| problems(rig(job), settings);
    let job = "rw = \"read\"\nstaging = \"drive\"";
    assert_eq!(codes(job, &[("ssd.nvme.controller_memory_buffer", "none")]), ["unknown-device"]);
    assert_eq!(codes(job, &[("ssd.nvme.controller_memory_buffer", "1 MiB")]), ["out-of-range"]);
    assert_eq!(codes(job, &[("workload.job.network", "none")]), ["unknown-device"]);
    assert_eq!(codes("rw = \"read\"\nstaging = \"nic1\"", &[]), ["unknown-device"], "below another host");
    assert_eq!(codes("rw = \"read\"\nstaging = \"crad\"", &[]), ["unknown-device"]);
}

/// Two drives and a GPU below one switch, in Gen4 links of x4 and x16; the job's keys come last.
fn gpu_rig(job: &str) -> String {
    format!(
        "[run]\nwarm_up = \"1 ms\"\ntime_limit = \"3 ms\"\n\
         [host.server]\nslots = {{ slot1 = \"gen4 x16\" }}\npeer_to_peer = true\n\
         [switch.sw0]\nattach = \"server.slot1\"\n\
         ports = {{ port0 = \"gen4 x16\", port1 = \"gen4 x16\", port2 = \"gen4 x4\", port3 = \"gen4 x4\" }}\n\
         [endpoint.gpu]\nattach = \"sw0.port1\"\ngeneration = \"gen4\"\nwidth = \"x16\"\n\
         [endpoint.ssd]\npart = \"generic-nvme-gen4-x4\"\ncount = 2\nattach = \"sw0.*\"\n\
         [[workload]]\nname = \"job\"\nfilename = [\"ssd[*]\"]\n{job}\n"
    )
}

#[test]
fn gpudirect_storage_passes_the_host_by_unless_it_is_told_to_bounce() {
    let of_fio = "kind = \"fio\"\nrw = \"read\"\nbs = \"128 KiB\"\nnumjobs = 16\nioengine = \"libcufile\"\n\
                  gpu_dev_ids = [\"gpu\"]";
    let of_gdsio = "kind = \"gdsio\"\ngpu = [\"gpu\"]\nthreads = 8\nio_size = \"128 KiB\"";
    for (job, bounced) in
        [(of_fio, ("workload.job.cuda_io", "posix")), (of_gdsio, ("workload.job.xfer_type", "CPU_GPU"))]
    {
        let direct = rig::results(gpu_rig(job), &[]);
        let rate = job_rate(&direct);
        assert!(rate > 6.0, "{job}: {rate} GB/s");
        assert!(goodput(&direct, "sw0").into_iter().all(|direction| direction < 0.02 * rate), "{job}");
        assert!((goodput(&direct, "gpu")[1] / rate - 1.0).abs() < 0.05, "{job}");

        // Up to the host, and down again by the engine of the GPU.
        let bounced = rig::results(gpu_rig(job), &[bounced]);
        let flows = bounced.flows.iter().filter(|flow| flow.direction == "read");
        let rate: f64 = flows.map(|flow| flow.goodput_gb_per_s).sum();
        assert!(rate > 1.0, "{job}: {rate} GB/s");
        for direction in goodput(&bounced, "sw0") {
            assert!((direction / rate - 1.0).abs() < 0.1, "{job}: {direction} of {rate} GB/s");
        }
    }
}

#[test]
fn gpus_that_a_job_cannot_have_are_reported() {
    let fio = "kind = \"fio\"\nrw = \"read\"\n";
    for (job, expected) in [
        (format!("{fio}ioengine = \"libcufile\""), "missing-key"),
        (format!("{fio}gpu_dev_ids = [\"gpu\"]"), "unknown-device"),
        (
            format!("{fio}ioengine = \"libcufile\"\ngpu_dev_ids = [\"gpu\"]\niomem = \"gpu\""),
            "unknown-device",
        ),
        ("kind = \"gdsio\"\ngpu = []".to_owned(), "missing-key"),
        ("kind = \"gdsio\"\ngpu = [\"gpu\", \"gpu\", \"gpu\"]".to_owned(), "device-count"),
        ("kind = \"gdsio\"\ngpu = [\"ssd[0]\"]".to_owned(), "unknown-device"),
    ] {
        let found = problems(gpu_rig(&job), &[]);
        assert!(found.contains(&expected), "{job}: {found:?}");
    }
}
