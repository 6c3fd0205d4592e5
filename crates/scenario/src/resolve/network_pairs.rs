//! Which adapters of a network a tool runs between: both ends of its wire, or those that it names where there are switches; and
//! whose memory its buffers are in.

use super::Inputs;
use super::networks::Networks;
use super::workload::{check_peer_to_peer, endpoints, place, unfit};
use crate::document::shortened;
use crate::file::WrittenWorkload;
use crate::nearest::listing;
use crate::parameter::Output;
use crate::problem::Problem;
use crate::topology::InstanceName;
use lanewise_fabric::workload::{DeviceId, Target};
use lanewise_workload::LoadName;
use lanewise_workload::device::rdma::NicPort;

/// Two ports that a tool runs between.
pub(super) struct Pair {
    /// Name of the tool: that of the workload, and of the device that tells it from its other pairs.
    pub name: LoadName,
    /// Client and server.
    pub ends: [NicPort; 2],
    /// Which of several clients and servers these are.
    numbers: [usize; 2],
}

/// What a tool says about its adapters.
pub(super) struct Named<'n> {
    pub network: &'n str,
    pub client: &'n str,
    pub server: &'n str,
    pub shift: u32,
}

/// Every pair of a tool; none when something is wrong, which is reported.
pub(super) fn pairs(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    named: &Named<'_>,
    networks: &Networks,
    output: &mut Output,
) -> Option<Vec<Pair>> {
    let component = networks.named(inputs, workload, named.network, output)?;
    let sides = [("client", named.client), ("server", named.server)];
    let Some(members) = networks.members(component) else {
        let Some(link) = networks.link(component) else {
            if output.diagnostics.is_empty() {
                let expected = "no adapter is at it: name the network that the adapters are on";
                let name = |at: &usize| inputs.file.components[*at].name.as_str();
                let hint = || listing("networks with adapters", networks.members.keys().map(name));
                unfit(inputs, workload, ("network", named.network), expected, &hint, output);
            }
            return None;
        };
        let ends = networks.config.links[link].ends;
        let are_meant = are_ends(inputs, workload, (sides, ends), (named.network, networks), output);
        return are_meant.then(|| vec![Pair { name: workload.load_name(), ends, numbers: [0; 2] }]);
    };
    let [clients, servers] = sides
        .map(|(key, name)| side(inputs, workload, (key, name), (named.network, members), networks, output));
    let (clients, servers) = (clients?, servers?);
    let (many, others) = (clients.len(), servers.len());
    if others != 1 && many != 1 && others != many {
        let path = workload.path_of("server");
        let reason = format!("which is {others} adapters, for {many} clients: one for all, or one for each");
        let problem = Problem::DeviceCount { path, found: shortened(named.server), reason };
        output.report(place(workload, "server"), problem, None);
        return None;
    }
    let nic = |end: NicPort| networks.config.nics[end.nic].name.as_str();
    let pair = |number: usize| {
        let numbers = [number % many, (number + named.shift as usize) % others];
        let ends = [clients[numbers[0]], servers[numbers[1]]];
        if ends[0] == ends[1] {
            if inputs.file.is_lost(InstanceName::parse(nic(ends[1])).component) {
                return None;
            }
            let expected = format!("it is the client, too: client {number} has server {}", numbers[1]);
            let hint = match named.shift {
                0 => "name two ports, or set `shift`, so that each server is another adapter".to_owned(),
                shift => format!("`shift = {shift}` over {others} servers comes back to itself: set another"),
            };
            let path = workload.path_of("server");
            let problem = Problem::UnknownDevice { path, found: shortened(nic(ends[1])), expected };
            output.report(place(workload, "server"), problem, Some(hint));
            return None;
        }
        check_joined(inputs, workload, ends, networks, output)?;
        let name = match (many > 1, others > 1) {
            (true, _) => workload.load_name_at(nic(ends[0])),
            (false, true) => workload.load_name_at(nic(ends[1])),
            (false, false) => workload.load_name(),
        };
        Some(Pair { name, ends, numbers })
    };
    (0..many.max(others)).map(pair).collect()
}

/// Whether the adapters that a tool names, if it does, are those at the ends of a wire; it is reported where they are not.
fn are_ends(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    (sides, ends): ([(&str, &str); 2], [NicPort; 2]),
    (network, networks): (&str, &Networks),
    output: &mut Output,
) -> bool {
    let mut are_meant = true;
    for ((key, name), end) in sides.into_iter().zip(ends) {
        let device = &networks.config.nics[end.nic].name;
        if name != "auto" && name != device && *name != format!("{device}.port{}", end.port + 1) {
            let expected = format!("`{device}` is at that end of `{network}`");
            let hint = || Some(format!("leave `{key}` out, or swap the `ends` of `{network}`"));
            unfit(inputs, workload, (key, name), &expected, &hint, output);
            are_meant = false;
        }
    }
    are_meant
}

/// Whether a client and a server reach each other; it is reported where they do not.
fn check_joined(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    [client, server]: [NicPort; 2],
    networks: &Networks,
    output: &mut Output,
) -> Option<()> {
    let nic = |end: NicPort| networks.config.nics[end.nic].name.as_str();
    if !networks.are_joined([client, server]) {
        if !networks.is_partial {
            let expected =
                format!("nothing joins it to `{}`: no wire or switches of any network do", nic(client));
            let are_joined = |end: &&NicPort| **end != client && networks.are_joined([client, **end]);
            let hint = || {
                let joined = networks.islands.keys().filter(are_joined);
                listing(&format!("joined to `{}`", nic(client)), joined.map(|end| nic(*end)))
            };
            unfit(inputs, workload, ("server", nic(server)), &expected, &hint, output);
        }
        return None;
    }
    Some(())
}

/// The ports of a network that a name means.
fn side(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    (key, name): (&str, &str),
    (network, members): (&str, &[NicPort]),
    networks: &Networks,
    output: &mut Output,
) -> Option<Vec<NicPort>> {
    if name == "auto" {
        let (path, key) = (workload.path(), key.to_owned());
        let expected = "an adapter of the network, such as \"nic[0]\"".to_owned();
        let hint = format!("`{network}` has switches, and {} adapters", members.len());
        output.report(workload.place, Problem::MissingKey { path, key, expected }, Some(hint));
        return None;
    }
    let (device, port) = name.split_once(".port").map_or((name, None), |(device, port)| (device, Some(port)));
    let problems = output.diagnostics.len();
    let instances = endpoints(inputs, workload, key, device, output);
    if output.diagnostics.len() > problems {
        return None;
    }
    let mut found = Vec::new();
    for instance in instances {
        let here = |end: &&NicPort| {
            let is_port = port.is_none_or(|port| port == (end.port + 1).to_string());
            networks.config.nics[end.nic].device.0 as usize == instance && is_port
        };
        let Some(end) = members.iter().find(here) else {
            let expected = format!("that is not an adapter with a port at `{network}`");
            let name_of = |end: &NicPort| networks.config.nics[end.nic].name.as_str();
            let hint = || listing(&format!("adapters at `{network}`"), members.iter().map(name_of));
            unfit(inputs, workload, (key, name), &expected, &hint, output);
            return None;
        };
        found.push(*end);
    }
    Some(found)
}

/// Whose memory the buffers of each pair are in, at the client and at the server; none when something is wrong, which is reported.
pub(super) fn memory(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    names: [&str; 2],
    (networks, pairs): (&Networks, &[Pair]),
    output: &mut Output,
) -> Option<Vec<[Target; 2]>> {
    let mut targets = vec![[Target::HostMemory; 2]; pairs.len()];
    for (side, (key, name)) in ["memory", "remote_memory"].into_iter().zip(names).enumerate() {
        if name == "memory" {
            continue;
        }
        let devices = endpoints(inputs, workload, key, name, output);
        let needed = pairs.iter().map(|pair| pair.numbers[side] + 1).max().unwrap_or(0);
        match devices.len() {
            0 => return None,
            count if count != 1 && count != needed => {
                let path = workload.path_of(key);
                let reason =
                    format!("which is {count} devices, for {needed} adapters: one for all, or one for each");
                let problem = Problem::DeviceCount { path, found: shortened(name), reason };
                output.report(place(workload, key), problem, None);
                return None;
            }
            _ => {}
        }
        for (pair, targets) in pairs.iter().zip(&mut targets) {
            let device = devices[pair.numbers[side] % devices.len()];
            let adapter = networks.config.nics[pair.ends[side].nic].device.0 as usize;
            if !check_peer_to_peer(inputs, workload, key, (adapter, device), output) {
                return None;
            }
            targets[side] = Target::Endpoint(DeviceId(device as u32));
        }
    }
    Some(targets)
}
