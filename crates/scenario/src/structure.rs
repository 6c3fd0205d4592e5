//! What kinds of components there are, and the keys that say how they hang together.

use crate::parameter::{Names, ParameterTable, TableSchema, parameters};
use crate::parameters::{
    CableParameters, EndpointParameters, HostParameters, LinkParameters, NetworkParameters,
    NetworkSwitchParameters, PortParameters, RetimerParameters, StorageParameters, SwitchParameters,
    SystemParameters,
};
use crate::value::{Auto, LinkShape, ParameterType};
use serde_json::{Value as Json, json};

/// Kind of a component.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ComponentKind {
    /// Root complex with memory and slots.
    Host,
    /// Switch.
    Switch,
    /// Device at a leaf.
    Endpoint,
    /// Drives behind a host bus adapter.
    Storage,
    /// Wires between RDMA adapters, or between them and network switches.
    Network,
    /// Switch of an InfiniBand or Ethernet network.
    NetworkSwitch,
    /// Operating system of a host.
    System,
    /// A retimer or redriver on a link.
    Retimer,
    /// A cable that a link goes over.
    Cable,
}

/// A key that says how a component hangs together with others.
#[derive(Clone, Copy, Debug)]
pub struct StructuralKey {
    /// The key.
    pub key: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// JSON Schema of what may be written.
    pub schema: fn() -> Json,
    /// What its texts name; none for other values.
    pub names: Option<Names>,
}

parameters! {
    /// A port of a switch: how wide and how fast it is. Every parameter of a port can be set for one alone.
    SlotParameters, Claim "slot" {
        /// Fastest generation and widest width, such as "gen1 x8".
        link: LinkShape = required stays Training,
        Datasheet "given by the part, or by the scenario";
        flatten port: PortParameters;
    }
}

parameters! {
    /// A slot of a host: how wide and how fast it is, and where. Every parameter of a port can be set for one slot alone.
    HostSlotParameters, Claim "slot" {
        /// Fastest generation and widest width, such as "gen1 x8".
        link: LinkShape = required stays Training,
        Datasheet "given by the part, or by the scenario";
        /// Socket whose root port this is, counted from 0.
        socket: u32 = "0" in "0" to "63",
        Assumed "one socket";
        /// Stack that this root port shares with others of the same number, counted from 0; "auto" for one of its own.
        stack: Auto<u32> = "auto" in "0" to "1023",
        Assumed "a slot of sixteen lanes is a stack of most hosts";
        /// NUMA node that firmware counts this root port to, from 0 on over all sockets; "auto" for a node of each socket. NCCL takes what is between two
        /// nodes for what is between two sockets.
        numa_node: Auto<u32> = "auto" in "0" to "255",
        Assumed "firmware that makes one node of a socket";
        flatten port: PortParameters;
    }
}

const PART: StructuralKey = StructuralKey {
    key: "part",
    doc: "Name of a catalog part, whose values hold where nothing else is written. Or a file with a part of your own, from the folder \
          of the scenario: \"my-nic.toml\".",
    schema: String::schema,
    names: None,
};
const ATTACH: StructuralKey = StructuralKey {
    key: "attach",
    doc: "Where it is plugged in: \"server.slot1\", \"sw0.port1\", or \"sw0.*\" for the next free ports. \"sw[*].*\" fills the first of \
          several switches first, \"sw[*].port1..port2\" these two ports of each; `explain` draws what came where.",
    schema: String::schema,
    names: Some(Names::Components),
};
const ADAPTER: StructuralKey = StructuralKey {
    key: "attach",
    doc: "The host bus adapter that the drives are behind: the name of an endpoint with a wire.",
    schema: String::schema,
    names: Some(Names::Components),
};
const ENDS: StructuralKey = StructuralKey {
    key: "ends",
    doc: "The two ports that it joins, such as [\"nic0.port1\", \"nic1.port1\"]; or adapters and switches, or switches and switches, each \
          with as many wires as they have: [\"nic[*]\", \"leaf[*]\"] gives each adapter a port of a switch, [\"leaf[*]\", \"spine[*]\"] joins \
          each leaf to each spine.",
    schema: Vec::<String>::schema,
    names: Some(Names::Components),
};
const RUNS_ON: StructuralKey = StructuralKey {
    key: "attach",
    doc: "The host that it runs on.",
    schema: String::schema,
    names: Some(Names::Components),
};
const COUNT: StructuralKey = StructuralKey {
    key: "count",
    doc: "So many of them, named `name[0]`, `name[1]` and so on, on the free ports in order.",
    schema: u32::schema,
    names: None,
};
const HOSTS: StructuralKey = StructuralKey {
    key: "count",
    doc: "So many of them, named `name[0]`, `name[1]` and so on. `name[*].slot1` is that slot of each, `name[*].*` all slots of the first, then \
          of the next.",
    schema: u32::schema,
    names: None,
};
const SWITCHES: StructuralKey = StructuralKey {
    key: "count",
    doc: "So many of them, named `name[0]`, `name[1]` and so on.",
    schema: u32::schema,
    names: None,
};
const PARTITION: StructuralKey = StructuralKey {
    key: "partition_of",
    doc: "The switch that this is another partition of: the same part with an upstream port of its own. A port belongs to \
          one partition.",
    schema: String::schema,
    names: Some(Names::Components),
};
const LINK: StructuralKey =
    StructuralKey { key: "link", doc: "The link above it.", schema: link_schema, names: None };
const MAKER: StructuralKey = StructuralKey {
    key: "maker",
    doc: "Maker of the processor, \"intel\" or \"amd\": with the generation of its fastest slot it decides which set of defaults \
          holds where neither scenario nor part says anything.",
    schema: String::schema,
    names: None,
};
const SLOTS: StructuralKey = StructuralKey {
    key: "slots",
    doc: "Its slots by name. \"slot1..slot4\" stands for four slots alike.",
    schema: host_slots_schema,
    names: None,
};
const PORTS: StructuralKey = StructuralKey {
    key: "ports",
    doc: "Its ports by name; port0 faces upstream. \"port1..port8\" stands for eight ports alike.",
    schema: slots_schema,
    names: None,
};

fn link_schema() -> Json {
    crate::schema::table_schema(&LinkParameters::SCHEMA, &[])
}

fn host_slots_schema() -> Json {
    slots_of(&HostSlotParameters::SCHEMA)
}

fn slots_schema() -> Json {
    slots_of(&SlotParameters::SCHEMA)
}

fn slots_of(schema: &'static TableSchema) -> Json {
    let table = crate::schema::table_schema(schema, &[]);
    let slot = json!({ "anyOf": [crate::schema::annotated(LinkShape::schema()), table] });
    json!({ "type": "object", "additionalProperties": slot })
}

impl ComponentKind {
    /// Every kind, in the order in which devices are numbered.
    pub const ALL: [Self; 9] = [
        Self::Host,
        Self::Switch,
        Self::Endpoint,
        Self::Storage,
        Self::Network,
        Self::System,
        Self::NetworkSwitch,
        Self::Retimer,
        Self::Cable,
    ];

    /// The word in scenario and catalog files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Switch => "switch",
            Self::Endpoint => "endpoint",
            Self::Storage => "storage",
            Self::Network => "network",
            Self::NetworkSwitch => "network_switch",
            Self::System => "system",
            Self::Retimer => "retimer",
            Self::Cable => "link_cable",
        }
    }

    /// The word with its article, for a sentence.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Host => "a host",
            Self::Switch => "a switch",
            Self::Endpoint => "an endpoint",
            Self::Storage => "a storage",
            Self::Network => "a network",
            Self::NetworkSwitch => "a network switch",
            Self::System => "a system",
            Self::Retimer => "a retimer",
            Self::Cable => "a link cable",
        }
    }

    /// Every word.
    pub fn words() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(Self::word)
    }

    /// The kind with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Its parameters.
    pub const fn schema(self) -> &'static TableSchema {
        match self {
            Self::Host => &HostParameters::SCHEMA,
            Self::Switch => &SwitchParameters::SCHEMA,
            Self::Endpoint => &EndpointParameters::SCHEMA,
            Self::Storage => &StorageParameters::SCHEMA,
            Self::Network => &NetworkParameters::SCHEMA,
            Self::NetworkSwitch => &NetworkSwitchParameters::SCHEMA,
            Self::System => &SystemParameters::SCHEMA,
            Self::Retimer => &RetimerParameters::SCHEMA,
            Self::Cable => &CableParameters::SCHEMA,
        }
    }

    /// Its keys that are structure.
    pub const fn structural(self) -> &'static [StructuralKey] {
        match self {
            Self::Host => &[PART, MAKER, HOSTS, SLOTS],
            Self::Switch => &[PART, ATTACH, COUNT, PARTITION, LINK, PORTS],
            Self::Endpoint => &[PART, ATTACH, COUNT, LINK],
            Self::Storage => &[PART, ADAPTER],
            Self::Network => &[PART, ENDS],
            Self::NetworkSwitch => &[PART, SWITCHES],
            Self::System => &[PART, RUNS_ON],
            Self::Retimer | Self::Cable => &[PART],
        }
    }

    /// The key of its slots or ports, when it has any below it.
    pub const fn slots_key(self) -> Option<&'static str> {
        match self {
            Self::Host => Some("slots"),
            Self::Switch => Some("ports"),
            Self::Endpoint
            | Self::Storage
            | Self::Network
            | Self::NetworkSwitch
            | Self::System
            | Self::Retimer
            | Self::Cable => None,
        }
    }
}
