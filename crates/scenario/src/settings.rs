//! Settings of one component of any kind.

use crate::parameter::ParameterTable;
use crate::parameters::{
    CableParameters, EndpointParameters, HostParameters, NetworkParameters, NetworkSwitchParameters,
    RetimerParameters, StorageParameters, SwitchParameters, SystemParameters,
};
use crate::reader::Reader;
use crate::structure::ComponentKind;

/// Settings of a component, as far as they could be read.
#[derive(Clone, Debug)]
pub(crate) enum Settings {
    Host(Box<HostParameters>),
    Switch(Box<SwitchParameters>),
    Endpoint(Box<EndpointParameters>),
    Storage(Box<StorageParameters>),
    Network(Box<NetworkParameters>),
    NetworkSwitch(Box<NetworkSwitchParameters>),
    System(Box<SystemParameters>),
    Retimer(Box<RetimerParameters>),
    Cable(Box<CableParameters>),
}

impl Settings {
    /// Reads the parameters of a kind.
    pub fn read(kind: ComponentKind, reader: &mut Reader<'_, '_>) -> Option<Self> {
        Some(match kind {
            ComponentKind::Host => Self::Host(Box::new(HostParameters::read(reader)?)),
            ComponentKind::Switch => Self::Switch(Box::new(SwitchParameters::read(reader)?)),
            ComponentKind::Endpoint => Self::Endpoint(Box::new(EndpointParameters::read(reader)?)),
            ComponentKind::Storage => Self::Storage(Box::new(StorageParameters::read(reader)?)),
            ComponentKind::Network => Self::Network(Box::new(NetworkParameters::read(reader)?)),
            ComponentKind::NetworkSwitch => {
                Self::NetworkSwitch(Box::new(NetworkSwitchParameters::read(reader)?))
            }
            ComponentKind::System => Self::System(Box::new(SystemParameters::read(reader)?)),
            ComponentKind::Retimer => Self::Retimer(Box::new(RetimerParameters::read(reader)?)),
            ComponentKind::Cable => Self::Cable(Box::new(CableParameters::read(reader)?)),
        })
    }
}
