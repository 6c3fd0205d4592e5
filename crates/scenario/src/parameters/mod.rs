//! The parameters of every kind of component. Each file is one table; see [`crate::parameter`].

mod channels;
mod copies;
mod endpoint;
mod errors;
mod ethernet;
mod frames;
mod host;
mod link;
mod memory_path;
mod nvme;
mod port;
mod rdma;
mod rdma_tools;
mod reassign;
mod rings;
mod run;
mod storage;
mod switch;
mod turnaround;
mod workload;

pub use channels::{ChannelArbitrationChoice, ChannelParameters};
pub use copies::{
    CopyDirectionChoice, CopyEngineParameters, CopyParameters, EngineChoice, KernelParameters,
    PageableParameters, PeerCopyChoice,
};
pub use endpoint::{BarChoice, BuffersChoice, EndpointParameters, TagChoice};
pub use errors::{DeviceErrorParameters, HostErrorParameters, SwitchErrorParameters};
pub use ethernet::{
    EthernetAdapterParameters, EthernetRateChoice, ServiceChoice, SmartFlowParameters, SmartFlowTestChoice,
    SystemParameters, TrafficFlowParameters,
};
pub use frames::{FramesParameters, SceneParameters};
pub use host::{HostParameters, RcbChoice, SoftwareParameters};
pub use link::{AspmChoice, LinkParameters};
pub use memory_path::{
    InterconnectParameters, IommuParameters, LastLevelCacheParameters, MemoryParameters, PeerParameters,
    StackParameters,
};
pub use nvme::{
    FioParameters, IoEngineChoice, NvmeParameters, NvmeSoftwareParameters, NvmeTargetParameters, RwChoice,
    TargetCompletionsChoice,
};
pub use port::{PortParameters, ReplayRuleChoice, ScaleChoice};
pub use rdma::{
    KernelTcpParameters, MpiParameters, NetworkKindChoice, NetworkParameters, RdmaParameters,
    UserTcpParameters, VerbsParameters,
};
pub use rdma_tools::{
    OsuParameters, OsuToolChoice, PerftestParameters, PerftestToolChoice, RendezvousChoice, TcpStackChoice,
    TransactionsParameters,
};
pub use reassign::ReassignParameters;
pub use rings::{FrameDirectionChoice, RingsParameters};
pub use run::{FirmwareParameters, MpsPolicy, RunParameters, RunUntil};
pub use storage::{AdapterParameters, StorageParameters, WireChoice};
pub use switch::{ArbitrationChoice, CoreChoice, ForwardingChoice, SwitchParameters};
pub use turnaround::{CacheParameters, ReadingChoice, TurnaroundParameters};
pub use workload::{
    AccessLineParameters, AssignmentChoice, DirectionChoice, DmaParameters, IometerParameters,
    MmioDirectionChoice, MmioParameters, OrderChoice,
};

use crate::parameter::{ParameterTable, TableSchema};

/// A kind of workload.
pub(crate) struct WorkloadKind {
    /// What `kind` says.
    pub word: &'static str,
    /// Its parameters.
    pub table: &'static TableSchema,
    /// Tables within them that are pages of their own in the reference, and what they are.
    pub lines: &'static [(&'static str, &'static TableSchema)],
}

/// Every kind of workload, in the order of the reference.
pub(crate) const WORKLOAD_KINDS: [WorkloadKind; 13] = [
    kind("dma", &DmaParameters::SCHEMA, &[]),
    kind("copy", &CopyParameters::SCHEMA, &[]),
    kind("mmio", &MmioParameters::SCHEMA, &[]),
    kind("rings", &RingsParameters::SCHEMA, &[]),
    kind("iometer", &IometerParameters::SCHEMA, &[("A line of `access`", &AccessLineParameters::SCHEMA)]),
    kind("fio", &FioParameters::SCHEMA, &[]),
    kind("reassign", &ReassignParameters::SCHEMA, &[]),
    kind("perftest", &PerftestParameters::SCHEMA, &[]),
    kind("osu", &OsuParameters::SCHEMA, &[]),
    kind("transactions", &TransactionsParameters::SCHEMA, &[]),
    kind("smartflow", &SmartFlowParameters::SCHEMA, &[("A flow of `flows`", &TrafficFlowParameters::SCHEMA)]),
    kind("frames", &FramesParameters::SCHEMA, &[("A scene of `scenes`", &SceneParameters::SCHEMA)]),
    kind("turnaround", &TurnaroundParameters::SCHEMA, &[]),
];

const fn kind(
    word: &'static str,
    table: &'static TableSchema,
    lines: &'static [(&'static str, &'static TableSchema)],
) -> WorkloadKind {
    WorkloadKind { word, table, lines }
}

/// What `kind` of a workload may say.
pub(crate) fn workload_words() -> Vec<&'static str> {
    WORKLOAD_KINDS.iter().map(|kind| kind.word).collect()
}

#[cfg(test)]
mod tests {
    use crate::parameter::{FieldDefault, ParameterTable, TableSchema};
    use crate::structure::ComponentKind;

    fn check(schema: &'static TableSchema) {
        for field in schema.fields {
            let place = format!("{}.{}", schema.name, field.key);
            if let FieldDefault::Text(text) = field.default {
                assert!(
                    (field.accepts)(text),
                    "{place}: the default {text:?} is not a value within its range"
                );
            }
            if let Some((low, high)) = field.range {
                let legal = |text: &str| (field.accepts)(text) || (field.accepts)(&format!("[{text}]"));
                assert!(legal(low) && legal(high), "{place}: {low} to {high}");
            }
            assert!(!field.source.is_empty() && field.doc.trim().ends_with('.'), "{place} is not explained");
        }
        schema.flattened.iter().for_each(|inner| check(inner));
        schema.groups.iter().for_each(|(_, inner)| check(inner));
    }

    #[test]
    fn every_default_is_a_legal_value_and_has_a_source() {
        check(&super::RunParameters::SCHEMA);
        check(&super::FirmwareParameters::SCHEMA);
        check(&super::LinkParameters::SCHEMA);
        for kind in ComponentKind::ALL {
            check(kind.schema());
        }
        for kind in super::WORKLOAD_KINDS {
            check(kind.table);
            kind.lines.iter().for_each(|(_, table)| check(table));
        }
    }
}
