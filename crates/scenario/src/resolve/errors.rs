//! Errors of the transaction layer: from parameters to settings.

use super::{Inputs, Settings};
use crate::idle::Idle;
use crate::parameters::{DeviceErrorParameters, HostErrorParameters, SwitchErrorParameters};
use lanewise_fabric::config::{CorruptionConfig, ErrorConfig};

pub(crate) fn of_host(errors: &HostErrorParameters) -> ErrorConfig {
    ErrorConfig {
        unanswered_reads: errors.unanswered_reads.clone(),
        late_reads: errors.late_reads.clone(),
        late_by: errors.late_by,
        poisoned: errors.poisoned.clone(),
        ..ErrorConfig::default()
    }
}

pub(crate) fn of_device(errors: &DeviceErrorParameters) -> ErrorConfig {
    ErrorConfig {
        unanswered_reads: errors.unanswered_reads.clone(),
        poisoned: errors.poisoned.clone(),
        completion_timeout: errors.completion_timeout,
        retries: errors.retries,
        ..ErrorConfig::default()
    }
}

pub(crate) fn of_switch(errors: &SwitchErrorParameters) -> CorruptionConfig {
    CorruptionConfig { probability: errors.corruption_rate.0, tlps: errors.corrupt_tlps.clone() }
}

/// Tables of errors that are all as usual.
pub(crate) fn idle(inputs: &Inputs<'_>, idle: &mut Idle) {
    for (component, settings) in inputs.file.components.iter().zip(&inputs.settings) {
        let is_none = match settings {
            Some(Settings::Host(host)) => of_host(&host.errors).is_none(),
            Some(Settings::Endpoint(endpoint)) => of_device(&endpoint.errors).is_none(),
            Some(Settings::Switch(switch)) => of_switch(&switch.errors).is_none(),
            _ => false,
        };
        if is_none {
            idle.quietly(format!("{}.errors", component.name));
        }
    }
}
