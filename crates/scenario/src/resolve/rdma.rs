//! perftest, the OSU benchmarks and transactions: tools over a network, from what is written to their settings.

use super::Inputs;
use super::computed::Computed;
use super::kinds::{Group, WorkloadKind, kind};
use super::network_pairs::{self, Named, Pair};
use super::networks::{Networks, is_ethernet, kind_hint};
use super::workload::{place, unfit};
use crate::file::WrittenWorkload;
use crate::nearest::{asking, listing};
use crate::parameter::ParameterTable;
use crate::parameter::{Output, Provenance};
use crate::parameters::{
    MpiParameters, OsuParameters, OsuToolChoice, PerftestParameters, PerftestToolChoice, RendezvousChoice,
    TcpStackChoice, TransactionsParameters,
};
use crate::problem::Problem;
use crate::structure::ComponentKind;
use crate::value::Auto;
use lanewise_fabric::workload::Target;
use lanewise_units::Bytes;
use lanewise_workload::device::rdma::NicPort;
use lanewise_workload::host::MpiHostConfig;
use lanewise_workload::load::rdma::{
    MpiConfig, OsuConfig, OsuTool, PerftestConfig, PerftestTool, RdmaConfig, RdmaToolConfig, Rendezvous,
    TcpStackConfig, TransactionsConfig,
};

/// perftest over RDMA.
pub(super) const PERFTEST: WorkloadKind =
    kind("perftest", &PerftestParameters::SCHEMA, &[], |reading, workload| {
        reading.add_tool(workload, WrittenTool::Perftest);
    })
    .over_network()
    .meant_by(|word| match word {
        "rdma" => Some(asking("perftest")),
        _ => word.starts_with("ib_").then(|| format!("write `kind = \"perftest\"` and `tool = \"{word}\"`")),
    });

/// OSU Micro-Benchmarks over RDMA.
pub(super) const OSU: WorkloadKind = kind("osu", &OsuParameters::SCHEMA, &[], |reading, workload| {
    reading.add_tool(workload, WrittenTool::Osu);
})
.over_network()
.using(&[Group { of: ComponentKind::Host, key: "mpi" }])
.meant_by(|word| {
    let test = word.strip_prefix("osu_")?;
    Some(format!("write `kind = \"osu\"` and `test = \"{test}\"`"))
});

/// Requests and responses over TCP.
pub(super) const TRANSACTIONS: WorkloadKind =
    kind("transactions", &TransactionsParameters::SCHEMA, &[], |reading, workload| {
        reading.add_tool(workload, WrittenTool::Transactions);
    })
    .over_network()
    .using(&[
        Group { of: ComponentKind::Host, key: "kernel_tcp" },
        Group { of: ComponentKind::Host, key: "user_tcp" },
    ]);

/// A tool as written.
pub(crate) enum WrittenTool {
    Perftest(PerftestParameters),
    Osu(OsuParameters),
    Transactions(TransactionsParameters),
}

/// The instrument of all tools, if there are any.
pub(crate) fn build(
    inputs: &Inputs<'_>,
    tools: &[(&WrittenWorkload, WrittenTool)],
    networks: Networks,
    computed: &mut Computed,
    output: &mut Output,
) -> Option<RdmaConfig> {
    let mut configs = Vec::new();
    for (workload, tool) in tools {
        let name = match tool {
            WrittenTool::Perftest(parameters) => &parameters.network,
            WrittenTool::Osu(parameters) => &parameters.network,
            WrittenTool::Transactions(parameters) => &parameters.network,
        };
        let (client, server, shift) = match tool {
            WrittenTool::Perftest(written) => {
                (written.client.as_str(), written.server.as_str(), written.shift)
            }
            WrittenTool::Osu(_) | WrittenTool::Transactions(_) => ("auto", "auto", 0),
        };
        let Some(network) = networks.named(inputs, workload, name, output) else { continue };
        let one_wire = matches!(tool, WrittenTool::Osu(_) | WrittenTool::Transactions(_));
        if one_wire && networks.members(network).is_some() {
            let expected = "it has switches, and this tool needs a wire from adapter to adapter";
            let how = || {
                format!(
                    "give `[network.{name}]` a port of an adapter at both `ends`, which no other network has"
                )
            };
            let hint = || wires_for(tool, &networks).or_else(|| Some(how()));
            unfit(inputs, workload, ("network", name), expected, &hint, output);
            continue;
        }
        let wire = networks.link(network).map(|link| &networks.config.links[link]);
        let ethernet = wire.is_some_and(is_ethernet);
        if ethernet != matches!(tool, WrittenTool::Transactions(_)) {
            let (expected, kind) = match ethernet {
                true => ("it is plain Ethernet, and RDMA needs InfiniBand or RoCE", "roce"),
                false => ("TCP needs a network of kind \"ethernet\"", "ethernet"),
            };
            let hint = || wires_for(tool, &networks).or_else(|| Some(kind_hint(name, kind)));
            unfit(inputs, workload, ("network", name), expected, &hint, output);
            continue;
        }
        let named = Named { network: name, client, server, shift };
        let Some(pairs) = network_pairs::pairs(inputs, workload, &named, &networks, output) else { continue };
        let names = match tool {
            WrittenTool::Perftest(written) => [written.memory.as_str(), written.remote_memory.as_str()],
            WrittenTool::Osu(_) | WrittenTool::Transactions(_) => ["memory"; 2],
        };
        let memory = network_pairs::memory(inputs, workload, names, (&networks, &pairs), output);
        let pairs = pairs.into_iter().zip(memory.unwrap_or_default());
        for (number, (pair, memory)) in pairs.enumerate() {
            let config = match tool {
                WrittenTool::Perftest(parameters) => {
                    perftest(inputs, &networks, (workload, parameters), (pair, memory), output)
                }
                WrittenTool::Osu(parameters) => osu(inputs, &networks, workload, parameters, pair.ends),
                WrittenTool::Transactions(parameters) => {
                    transactions(inputs, &networks, workload, parameters, pair.ends)
                }
            };
            // What is wrong with one pair is wrong with all, and what is left to the tool is the same for all.
            let Some(config) = config else { break };
            if let (0, WrittenTool::Perftest(parameters), RdmaToolConfig::Perftest(config)) =
                (number, tool, &config)
            {
                tell_perftest_defaults(&workload.name, parameters, config, computed);
            }
            configs.push(config);
        }
    }
    (!configs.is_empty()).then_some(RdmaConfig { network: networks.config, tools: configs })
}

/// Wires between two adapters that a tool can run over.
fn wires_for(tool: &WrittenTool, networks: &Networks) -> Option<String> {
    let on_ethernet = matches!(tool, WrittenTool::Transactions(_));
    let wires = networks.config.links.iter().filter(|wire| is_ethernet(wire) == on_ethernet);
    listing("wires for it", wires.map(|wire| wire.name.as_str()))
}

/// Messages above this have a completion entry each: MSG_SIZE_CQ_MOD_LIMIT of perftest.
const MODERATION_LIMIT: Bytes = Bytes::from_kib(8);

fn perftest(
    inputs: &Inputs<'_>,
    networks: &Networks,
    (workload, parameters): (&WrittenWorkload, &PerftestParameters),
    (Pair { name, ends, .. }, memory): (Pair, [Target; 2]),
    output: &mut Output,
) -> Option<RdmaToolConfig> {
    let tool = perftest_tool(parameters.tool);
    let inline_max = ends.map(|end| networks.config.nics[end.nic].inline_max).into_iter().min()?;
    let usual_size = if tool.is_latency() { Bytes::new(2) } else { Bytes::from_kib(64) };
    let size = parameters.size.given().unwrap_or(usual_size);
    let usual_moderation = match parameters.post_list {
        1 if size > MODERATION_LIMIT => 1,
        1 => 100.min(parameters.tx_depth),
        list => list,
    };
    let in_devices = memory != [Target::HostMemory; 2];
    let inlines = tool.is_latency() && !in_devices;
    let usual_inline = if inlines { Bytes::new(220).min(inline_max) } else { Bytes::ZERO };
    let usual_iterations = if tool == PerftestTool::WriteBandwidth { 5_000 } else { 1_000 };
    let completion_moderation = parameters.completion_moderation.given().unwrap_or(usual_moderation);
    let inline_size = parameters.inline_size.given().unwrap_or(usual_inline);
    let most_pairs = if tool.is_latency() { 1 } else { u64::MAX };
    let depth = parameters.tx_depth.into();
    let limits = [
        ("completion_moderation", completion_moderation.into(), depth, "it is at most `tx_depth`"),
        // A list waits for room while the last completion entry leaves all but one of the others open.
        (
            "post_list",
            u64::from(parameters.post_list) + u64::from(completion_moderation.max(1)) - 1,
            depth,
            "with `completion_moderation` less one it is at most `tx_depth`",
        ),
        (
            "inline_size",
            inline_size.get(),
            inline_max.get(),
            "it is at most what both adapters take: `rdma.inline_max`",
        ),
        ("queue_pairs", parameters.queue_pairs.into(), most_pairs, "a latency test has one queue pair"),
    ];
    check_limits(workload, limits, output)?;
    if in_devices {
        check_device_memory(inputs, workload, (tool, parameters), (size, inline_size), output)?;
    }
    let config = PerftestConfig {
        name,
        tool,
        ports: ends,
        hosts: networks.drivers(inputs, ends)?,
        memory,
        size,
        iterations: parameters.iterations.given().unwrap_or(usual_iterations),
        queue_pairs: parameters.queue_pairs,
        post_list: parameters.post_list,
        tx_depth: parameters.tx_depth,
        completion_moderation,
        inline_size,
        bidirectional: parameters.bidirectional,
    };
    Some(RdmaToolConfig::Perftest(config))
}

/// What perftest refuses with memory of a GPU: polling its last byte, and data that the core would have to read from it.
/// Source: perftest, `force_dependecies`, messages about CUDA.
fn check_device_memory(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    (tool, parameters): (PerftestTool, &PerftestParameters),
    (size, inline_size): (Bytes, Bytes),
    output: &mut Output,
) -> Option<()> {
    let refusal = match tool {
        PerftestTool::WriteLatency => {
            "a latency test whose core polls the last byte needs memory of the host"
        }
        _ if size <= inline_size => "messages inside the work request need memory of the host",
        _ => return Some(()),
    };
    let (key, name) = match parameters.memory.as_str() {
        "memory" => ("remote_memory", &parameters.remote_memory),
        _ => ("memory", &parameters.memory),
    };
    unfit(inputs, workload, (key, name), refusal, &|| Some(format!("leave `{key}` out")), output);
    None
}

fn perftest_tool(choice: PerftestToolChoice) -> PerftestTool {
    match choice {
        PerftestToolChoice::WriteBandwidth => PerftestTool::WriteBandwidth,
        PerftestToolChoice::ReadBandwidth => PerftestTool::ReadBandwidth,
        PerftestToolChoice::SendBandwidth => PerftestTool::SendBandwidth,
        PerftestToolChoice::WriteLatency => PerftestTool::WriteLatency,
        PerftestToolChoice::ReadLatency => PerftestTool::ReadLatency,
        PerftestToolChoice::SendLatency => PerftestTool::SendLatency,
    }
}

/// Reports the first option that is above its limit: key, what was found, the limit, and a hint.
fn check_limits(
    workload: &WrittenWorkload,
    limits: [(&str, u64, u64, &str); 4],
    output: &mut Output,
) -> Option<()> {
    let Some((key, found, high, hint)) = limits.into_iter().find(|(_, found, high, _)| found > high) else {
        return Some(());
    };
    let (path, low) = (workload.path_of(key), "1".to_owned());
    let problem = Problem::OutOfRange { path, found: found.to_string(), low, high: high.to_string() };
    output.report(place(workload, key), problem, Some(hint.to_owned()));
    None
}

/// What is left to perftest has perftest's defaults, which depend on the test.
fn tell_perftest_defaults(
    name: &str,
    parameters: &PerftestParameters,
    config: &PerftestConfig,
    computed: &mut Computed,
) {
    let automatic = [
        ("size", parameters.size == Auto::Auto, config.size.to_string()),
        ("iterations", parameters.iterations == Auto::Auto, config.iterations.to_string()),
        (
            "completion_moderation",
            parameters.completion_moderation == Auto::Auto,
            config.completion_moderation.to_string(),
        ),
        ("inline_size", parameters.inline_size == Auto::Auto, config.inline_size.to_string()),
    ];
    for (key, _, value) in automatic.into_iter().filter(|(_, auto, _)| *auto) {
        let source = "perftest's default for this test";
        computed.parameter(format!("workload.{name}.{key}"), value, Provenance::Published, source);
    }
}

fn osu(
    inputs: &Inputs<'_>,
    networks: &Networks,
    workload: &WrittenWorkload,
    parameters: &OsuParameters,
    ends: [NicPort; 2],
) -> Option<RdmaToolConfig> {
    let taken = ends.map(|end| networks.config.nics[end.nic].inline_max).into_iter().min()?;
    let [first, second] = ends.map(|end| networks.host(inputs, end.nic));
    let host = |mpi: &MpiParameters| MpiHostConfig {
        send_cost: mpi.send_cost,
        receive_cost: mpi.receive_cost,
        copy_bandwidth: mpi.copy_bandwidth,
        waits_for_doorbell: mpi.waits_for_doorbell,
    };
    let [first_driver, second_driver] = networks.drivers(inputs, ends)?;
    Some(RdmaToolConfig::Osu(OsuConfig {
        name: workload.load_name(),
        tool: match parameters.tool {
            OsuToolChoice::Latency => OsuTool::Latency,
            OsuToolChoice::Bandwidth => OsuTool::Bandwidth,
            OsuToolChoice::BidirectionalBandwidth => OsuTool::BidirectionalBandwidth,
        },
        ports: ends,
        hosts: [(first_driver, host(&first?.mpi)), (second_driver, host(&second?.mpi))],
        mpi: MpiConfig {
            eager_max: parameters.eager_max,
            header: parameters.header,
            eager_by_send: parameters.eager_by_send,
            rendezvous: match parameters.rendezvous {
                RendezvousChoice::Write => Rendezvous::Write,
                RendezvousChoice::Read => Rendezvous::Read,
            },
            inline_max: parameters.inline_max.min(taken),
        },
        size: parameters.size,
        window: parameters.window,
    }))
}

fn transactions(
    inputs: &Inputs<'_>,
    networks: &Networks,
    workload: &WrittenWorkload,
    parameters: &TransactionsParameters,
    ends: [NicPort; 2],
) -> Option<RdmaToolConfig> {
    let stack = |nic: usize, choice: TcpStackChoice| {
        let host = networks.host(inputs, nic)?;
        let (kernel, user) = (&host.kernel_tcp, &host.user_tcp);
        let (send_cost, receive_cost, wake_latency) = match choice {
            TcpStackChoice::Kernel => (kernel.send_cost, kernel.receive_cost, kernel.wake_latency),
            TcpStackChoice::UserSpace => (user.send_cost, user.receive_cost, user.wake_latency),
        };
        Some(TcpStackConfig { send_cost, receive_cost, wake_latency })
    };
    Some(RdmaToolConfig::Transactions(TransactionsConfig {
        name: workload.load_name(),
        ports: ends,
        stacks: [stack(ends[0].nic, parameters.client_stack)?, stack(ends[1].nic, parameters.server_stack)?],
        request: parameters.request,
        response: parameters.response,
        connections: parameters.connections,
        service_time: parameters.service_time,
    }))
}
