//! perftest, the OSU benchmarks and transactions: tools over a network, from what is written to their settings.

use super::Inputs;
use super::computed::Computed;
use super::kinds::{WorkloadKind, kind};
use super::networks::Networks;
use super::workload::{place, unknown};
use crate::file::WrittenWorkload;
use crate::parameter::ParameterTable;
use crate::parameter::{Output, Provenance};
use crate::parameters::{
    MpiParameters, OsuParameters, OsuToolChoice, PerftestParameters, PerftestToolChoice, RendezvousChoice,
    TcpStackChoice, TransactionsParameters,
};
use crate::problem::Problem;
use crate::value::Auto;
use lanewise_network::NetworkWire;
use lanewise_units::Bytes;
use lanewise_workload::host::MpiHostConfig;
use lanewise_workload::load::rdma::{
    MpiConfig, OsuConfig, OsuTool, PerftestConfig, PerftestTool, RdmaConfig, RdmaToolConfig, Rendezvous,
    TcpStackConfig, TransactionsConfig,
};

/// perftest over RDMA.
pub(super) const PERFTEST: WorkloadKind =
    kind("perftest", &PerftestParameters::SCHEMA, &[], |reading, workload, path| {
        reading.add_tool(workload, path, WrittenTool::Perftest);
    });

/// OSU Micro-Benchmarks over RDMA.
pub(super) const OSU: WorkloadKind = kind("osu", &OsuParameters::SCHEMA, &[], |reading, workload, path| {
    reading.add_tool(workload, path, WrittenTool::Osu);
});

/// Requests and responses over TCP.
pub(super) const TRANSACTIONS: WorkloadKind =
    kind("transactions", &TransactionsParameters::SCHEMA, &[], |reading, workload, path| {
        reading.add_tool(workload, path, WrittenTool::Transactions);
    });

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
        let Some(link) = networks.find(inputs, workload, name, output) else { continue };
        let ethernet = matches!(networks.config.links[link].wire, NetworkWire::Ethernet { .. });
        if ethernet != matches!(tool, WrittenTool::Transactions(_)) {
            let expected = match ethernet {
                true => "it is plain Ethernet, and RDMA needs InfiniBand or RoCE",
                false => "TCP needs a network of kind \"ethernet\"",
            };
            unknown(inputs, workload, "network", name, expected.to_owned(), output);
            continue;
        }
        configs.extend(match tool {
            WrittenTool::Perftest(parameters) => {
                perftest(inputs, &networks, (workload, parameters), link, computed, output)
            }
            WrittenTool::Osu(parameters) => osu(inputs, &networks, workload, parameters, link),
            WrittenTool::Transactions(parameters) => {
                transactions(inputs, &networks, workload, parameters, link)
            }
        });
    }
    (!configs.is_empty()).then_some(RdmaConfig { network: networks.config, tools: configs })
}

/// Messages above this have a completion entry each: MSG_SIZE_CQ_MOD_LIMIT of perftest.
const MODERATION_LIMIT: Bytes = Bytes::from_kib(8);

fn perftest(
    inputs: &Inputs<'_>,
    networks: &Networks,
    (workload, parameters): (&WrittenWorkload, &PerftestParameters),
    link: usize,
    computed: &mut Computed,
    output: &mut Output,
) -> Option<RdmaToolConfig> {
    let tool = perftest_tool(parameters.tool);
    let ends = networks.config.links[link].ends;
    let inline_max = ends.map(|end| networks.config.nics[end.nic].inline_max).into_iter().min()?;
    let usual_size = if tool.is_latency() { Bytes::new(2) } else { Bytes::from_kib(64) };
    let size = parameters.size.given().unwrap_or(usual_size);
    let usual_moderation = match parameters.post_list {
        1 if size > MODERATION_LIMIT => 1,
        1 => 100.min(parameters.tx_depth),
        list => list,
    };
    let usual_inline = if tool.is_latency() { Bytes::new(220).min(inline_max) } else { Bytes::ZERO };
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
    let config = PerftestConfig {
        name: workload.name.clone(),
        tool,
        ports: ends,
        hosts: networks.drivers(inputs, link)?,
        size,
        iterations: parameters.iterations.given().unwrap_or(usual_iterations),
        queue_pairs: parameters.queue_pairs,
        post_list: parameters.post_list,
        tx_depth: parameters.tx_depth,
        completion_moderation,
        inline_size,
        bidirectional: parameters.bidirectional,
    };
    tell_perftest_defaults(parameters, &config, computed);
    Some(RdmaToolConfig::Perftest(config))
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
    let (path, low) = (format!("workload.{}.{key}", workload.name), "1".to_owned());
    let problem = Problem::OutOfRange { path, found: found.to_string(), low, high: high.to_string() };
    output.report(place(workload, key), problem, Some(hint.to_owned()));
    None
}

/// What is left to perftest has perftest's defaults, which depend on the test.
fn tell_perftest_defaults(parameters: &PerftestParameters, config: &PerftestConfig, computed: &mut Computed) {
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
        computed.parameter(format!("workload.{}.{key}", config.name), value, Provenance::Published, source);
    }
}

fn osu(
    inputs: &Inputs<'_>,
    networks: &Networks,
    workload: &WrittenWorkload,
    parameters: &OsuParameters,
    link: usize,
) -> Option<RdmaToolConfig> {
    let ends = networks.config.links[link].ends;
    let taken = ends.map(|end| networks.config.nics[end.nic].inline_max).into_iter().min()?;
    let [first, second] = ends.map(|end| networks.host(inputs, end.nic));
    let host = |mpi: &MpiParameters| MpiHostConfig {
        send_cost: mpi.send_cost,
        receive_cost: mpi.receive_cost,
        copy_bandwidth: mpi.copy_bandwidth,
    };
    let [first_driver, second_driver] = networks.drivers(inputs, link)?;
    Some(RdmaToolConfig::Osu(OsuConfig {
        name: workload.name.clone(),
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
    link: usize,
) -> Option<RdmaToolConfig> {
    let ends = networks.config.links[link].ends;
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
        name: workload.name.clone(),
        ports: ends,
        stacks: [stack(ends[0].nic, parameters.client_stack)?, stack(ends[1].nic, parameters.server_stack)?],
        request: parameters.request,
        response: parameters.response,
        connections: parameters.connections,
        service_time: parameters.service_time,
    }))
}
