//! The parameters of every kind of component. Each file is one table; see [`crate::parameter`].

mod ats;
mod between;
mod channels;
mod collective;
mod copies;
mod cxl;
mod endpoint;
mod errors;
mod ethernet;
mod frames;
mod gdsio;
mod host;
mod ide;
mod link;
mod memory_path;
mod network_switch;
mod ntb;
mod nvme;
mod port;
mod rdma;
mod rdma_tools;
mod reassign;
mod rings;
mod run;
mod side_link;
mod sriov;
mod storage;
mod switch;
mod turnaround;
mod workload;

pub use ats::AtsParameters;
pub use between::{CableParameters, RetimerParameters};
pub use channels::{ChannelArbitrationChoice, ChannelParameters};
pub use collective::{
    AlgorithmChoice, CollectiveParameters, DistanceChoice, OperationChoice, ProtocolChoice,
};
pub use copies::{
    CopyDirectionChoice, CopyEngineParameters, CopyParameters, EngineChoice, KernelParameters,
    PageableParameters, PeerCopiesParameters, PeerCopyChoice, WaitingChoice,
};
pub use cxl::{
    CxlLinkParameters, ExpanderParameters, HostCxlParameters, LineOrderChoice, PaceChoice,
    PointerChaseParameters, StoreChoice, StreamParameters, SwitchCxlParameters,
};
pub use endpoint::{BarChoice, BuffersChoice, EndpointParameters, TagChoice};
pub use errors::{DeviceErrorParameters, HostErrorParameters, SwitchErrorParameters};
pub use ethernet::{
    EthernetAdapterParameters, EthernetRateChoice, ServiceChoice, SmartFlowParameters, SmartFlowTestChoice,
    SystemParameters, TrafficFlowParameters,
};
pub use frames::{FramesParameters, SceneParameters};
pub use gdsio::{GdsioParameters, IoTypeChoice, XferTypeChoice};
pub use host::{HostParameters, PayloadSizeOrRcb, ProcessorChoice, SoftwareParameters};
pub use ide::IdeParameters;
pub use link::{AspmChoice, LinkParameters};
pub use memory_path::{
    InterconnectParameters, IommuParameters, LastLevelCacheParameters, MemoryParameters, PeerParameters,
    StackParameters,
};
pub use network_switch::{LayoutChoice, NetworkSwitchParameters, WaysChoice};
pub use ntb::NtbParameters;
pub use nvme::{
    CudaIoChoice, FioParameters, IoEngineChoice, NvmeParameters, NvmeSoftwareParameters,
    NvmeTargetParameters, RwChoice, TargetCompletionsChoice,
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
pub use side_link::SideLinkParameters;
pub use sriov::SriovParameters;
pub use storage::{AdapterParameters, StorageParameters, WireChoice};
pub use switch::{ArbitrationChoice, CoreChoice, ForwardingChoice, SwitchParameters};
pub use turnaround::{CacheParameters, ReadingChoice, TurnaroundParameters};
pub use workload::{
    AccessLineParameters, AssignmentChoice, DirectionChoice, DmaParameters, IometerParameters,
    MmioDirectionChoice, MmioParameters, OrderChoice,
};

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
        for kind in crate::resolve::WORKLOAD_KINDS {
            check(kind.table);
            kind.lines.iter().for_each(|(_, table)| check(table));
        }
    }
}
