//! How long a switch takes that does not say so: what switches of its generation take.

use super::Inputs;
use super::computed::Computed;
use crate::parameter::Provenance;
use crate::parameters::SwitchParameters;
use crate::value::Auto;
use lanewise_units::{Generation, Span};

/// Cut-through latency of an unloaded switch, and where that is from.
const fn of_generation(generation: Generation) -> (u64, Provenance, &'static str) {
    match generation {
        Generation::Gen1 => {
            (200, Provenance::Assumed, "switches of Gen1 take 150 to 300 ns; briefs say low hundreds")
        }
        Generation::Gen2 => {
            (150, Provenance::Published, "PLX briefs: 140 ns for PEX 8647 and 8648, 160 ns for PEX 8624")
        }
        Generation::Gen3 => {
            (125, Provenance::Published, "PLX briefs: 100 ns for PEX 8747 and 8748, 150 ns for PEX 8796")
        }
        Generation::Gen4 => (105, Provenance::Published, "PEX88000, Linley Newsletter 2019-09-24"),
        Generation::Gen5 => (115, Provenance::Published, "PEX89144, as the trade press has it"),
        Generation::Gen6 | Generation::Gen7 => {
            (115, Provenance::Assumed, "as a switch of Gen5; a flit has to be in before, which comes on top")
        }
    }
}

/// The latency that is given, or that of switches as fast as its fastest port.
pub(super) fn of(inputs: &Inputs<'_>, instance: usize, parameters: &SwitchParameters) -> Span {
    parameters.latency.given().unwrap_or_else(|| Span::from_ns(of_generation(fastest(inputs, instance)).0))
}

/// Notes what an automatic latency came to.
pub(super) fn tell(
    inputs: &Inputs<'_>,
    instance: usize,
    parameters: &SwitchParameters,
    computed: &mut Computed,
) {
    if parameters.latency == Auto::Auto
        && let Some(mut port) = inputs.port(instance, 0)
    {
        port.slot = None;
        let (ns, provenance, source) = of_generation(fastest(inputs, instance));
        computed.port(inputs, port, "latency", Span::from_ns(ns).to_string(), provenance, source);
    }
}

fn fastest(inputs: &Inputs<'_>, instance: usize) -> Generation {
    let slots = &inputs.topology.slots[inputs.topology.instances[instance].component];
    slots.iter().map(|slot| slot.shape.generation).max().unwrap_or(Generation::Gen1)
}
