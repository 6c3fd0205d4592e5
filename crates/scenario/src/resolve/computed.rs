//! What "auto" came to, for `explain`: one entry for each port in use, and one record for each link.

use super::link::TrainedLink;
use super::payload::Payload;
use super::{Inputs, PortView};
use crate::parameter::{InARun, Origin, Provenance, ResolvedParameter, Role, Stays};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A link as it came up, in the words of the machine-readable contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NegotiatedLink {
    /// Name of the lower device.
    pub name: String,
    /// The port above, as `server.slot1`.
    pub upper: String,
    /// The device below.
    pub lower: String,
    /// Generation it runs at.
    pub generation: String,
    /// Width it runs at.
    pub width: String,
    /// Whether bytes travel in flits.
    pub flit: bool,
    /// What decided the generation.
    pub generation_limited_by: String,
    /// What decided the width.
    pub width_limited_by: String,
    /// Retimers, redrivers and the cable between its ends, by name, from the upper end down.
    pub through: Vec<String>,
    /// Time from transmitter pin to receiver pin, with what lies between: `2 ns`.
    pub one_way: String,
    /// Maximum Payload Size, in bytes.
    pub mps_bytes: u64,
    /// What decided the Maximum Payload Size.
    pub mps_limited_by: String,
}

/// One record for each link.
pub(crate) fn links(
    inputs: &Inputs<'_>,
    trained: &[Option<TrainedLink>],
    payload: &Payload,
) -> Vec<NegotiatedLink> {
    let each = trained.iter().enumerate().filter_map(|(lower, link)| {
        let link = link.as_ref()?;
        let programmed = payload.of(lower)?;
        let (above, slot) = inputs.topology.instances[lower].above?;
        let slot = &inputs.topology.slots[inputs.topology.instances[above].component][slot].name;
        let name = inputs.topology.instances[lower].name.clone();
        Some(NegotiatedLink {
            upper: format!("{}.{slot}", inputs.topology.instances[above].name),
            lower: name.clone(),
            name,
            generation: link.mode.generation.to_string(),
            width: link.mode.width.to_string(),
            flit: link.mode.flit,
            generation_limited_by: link.limited_by.0.clone(),
            width_limited_by: link.limited_by.1.clone(),
            through: link.through.iter().map(|part| inputs.file.components[*part].name.clone()).collect(),
            one_way: link.way.to_string(),
            mps_bytes: programmed.mps.get(),
            mps_limited_by: programmed.limited_by.clone(),
        })
    });
    each.collect()
}

/// Values that were worked out, by path. Instances of a component share a path and may differ.
#[derive(Debug, Default)]
pub(crate) struct Computed {
    order: Vec<ComputedValue>,
    index: HashMap<Rc<str>, usize>,
}

#[derive(Debug)]
struct ComputedValue {
    /// Path of the component's parameter, which this stands for together with others, where that is another one.
    device_path: Option<String>,
    path: Rc<str>,
    value: String,
    differs: bool,
    provenance: Provenance,
    source: &'static str,
}

impl Computed {
    /// Notes what a parameter of a port came to.
    pub fn port(
        &mut self,
        inputs: &Inputs<'_>,
        port: PortView<'_>,
        key: &str,
        value: String,
        provenance: Provenance,
        source: &'static str,
    ) {
        let component = &inputs.file.components[port.component].name;
        let device_path = port.slot.map(|_| format!("{component}.{key}"));
        self.add(device_path, format!("{}.{key}", port.path(inputs)), value, provenance, source);
    }

    /// Notes what a parameter came to that belongs to no port.
    pub fn parameter(&mut self, path: String, value: String, provenance: Provenance, source: &'static str) {
        self.add(None, path, value, provenance, source);
    }

    fn add(
        &mut self,
        device_path: Option<String>,
        path: String,
        value: String,
        provenance: Provenance,
        source: &'static str,
    ) {
        if let Some(&at) = self.index.get(path.as_str()) {
            let earlier = &mut self.order[at];
            if !earlier.differs && earlier.value != value {
                earlier.differs = true;
                earlier.value = format!("{} and others, by device", earlier.value);
            }
            return;
        }
        let path: Rc<str> = path.into();
        self.index.insert(Rc::clone(&path), self.order.len());
        self.order.push(ComputedValue { device_path, path, value, differs: false, provenance, source });
    }

    /// Puts what was worked out in the place of every "auto" that it explains.
    pub fn replace_automatic(self, parameters: &mut Vec<ResolvedParameter>) {
        let devices: HashSet<&str> =
            self.order.iter().map(|value| value.device_path.as_deref().unwrap_or(&value.path)).collect();
        // A device's "auto" that is told port by port would only repeat itself.
        parameters.retain(|parameter| {
            let path = parameter.path.as_str();
            parameter.value != "auto" || self.index.contains_key(path) || !devices.contains(path)
        });
        let mut computed: Vec<Option<ComputedValue>> = self.order.into_iter().map(Some).collect();
        for parameter in parameters.iter_mut() {
            let value = self.index.get(parameter.path.as_str()).and_then(|at| computed[*at].take());
            if let Some(value) = value {
                *parameter = value.resolved(parameter.role, parameter.is_out_of_the_way, parameter.in_a_run);
            }
        }
        let stays = InARun::Stays(Stays::Built);
        parameters
            .extend(computed.into_iter().flatten().map(|value| value.resolved(Role::Claim, false, stays)));
    }
}

impl ComputedValue {
    fn resolved(self, role: Role, is_out_of_the_way: bool, in_a_run: InARun) -> ResolvedParameter {
        ResolvedParameter {
            path: self.path.as_ref().to_owned(),
            value: self.value,
            provenance: self.provenance,
            source: Cow::Borrowed(self.source),
            fitted_on: Vec::new(),
            role,
            origin: Origin::Computed,
            is_out_of_the_way,
            in_a_run,
        }
    }
}
