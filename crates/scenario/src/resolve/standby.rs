//! Links that sleep: from what is written to the power states of a link.

use super::Inputs;
use crate::idle::Idle;
use crate::parameter::Output;
use crate::parameters::{AspmChoice, LinkParameters};
use crate::problem::Problem;
use lanewise_fabric::config::{LinkPower, SleepConfig};
use lanewise_pcie::encoding::LinkMode;
use lanewise_units::Span;

/// The longest time until power is off in L1.2, and the least time for which it then stays off: T_POWER_OFF and T_L1.2, PCIe Base 3.1
/// §5.5.3.3.1 and Table 5-11, as Linux cites them (`drivers/pci/pcie/aspm.c`).
const POWER_OFF: Span = Span::from_us(2);
const L1_2_STAY: Span = Span::from_us(4);

/// The power states that the link enters by itself.
pub(crate) fn power(link: &LinkParameters) -> LinkPower {
    let l0s = SleepConfig::new(link.l0s_idle, link.l0s_exit);
    let mut l1 = SleepConfig::new(link.l1_idle, link.l1_exit);
    if let Some(exit) = link.l1_2_exit {
        l1.stay = POWER_OFF + L1_2_STAY;
        l1.exit += exit;
    }
    LinkPower { l0s: uses_l0s(link).then_some(l0s), l1: uses_l1(link).then_some(l1) }
}

/// How long a direction takes to wake from L0s; nothing where none is entered.
pub(crate) fn l0s_exit(link: &LinkParameters) -> Span {
    power(link).l0s.map_or(Span::ZERO, |l0s| l0s.exit)
}

fn uses_l0s(link: &LinkParameters) -> bool {
    matches!(link.aspm, AspmChoice::L0s | AspmChoice::Both)
}

fn uses_l1(link: &LinkParameters) -> bool {
    matches!(link.aspm, AspmChoice::L1 | AspmChoice::Both)
}

/// Reports a link in Flit Mode that is to sleep: there is no L0s in Flit Mode, and its L1 is not modelled.
pub(crate) fn check(
    inputs: &Inputs<'_>,
    component: usize,
    link: &LinkParameters,
    mode: LinkMode,
    output: &mut Output,
) {
    if link.aspm == AspmChoice::Off || !mode.flit {
        return;
    }
    let path = format!("{}.link.aspm", inputs.file.components[component].name);
    let reason = "the link runs in Flit Mode, whose power states are not modelled".to_owned();
    let hint = "write `aspm = \"off\"`, or `flit = false` where both ends can do without".to_owned();
    let place = inputs.place_of(component, &["link", "aspm"]);
    output.report(place, Problem::AspmImpossible { path, reason }, Some(hint));
}

/// Times of power states that no link enters.
pub(crate) fn idle(inputs: &Inputs<'_>, idle: &mut Idle) {
    for (component, link) in inputs.file.components.iter().zip(&inputs.links) {
        let Some(link) = link else { continue };
        let states: [(bool, &[&str], &str); 2] = [
            (uses_l0s(link), &["l0s_idle", "l0s_exit"], "`link.aspm` does not let the link enter L0s"),
            (
                uses_l1(link),
                &["l1_idle", "l1_exit", "l1_2_exit"],
                "`link.aspm` does not let the link enter L1",
            ),
        ];
        for (_, keys, reason) in states.into_iter().filter(|(used, ..)| !used) {
            keys.iter().for_each(|key| idle.because(format!("{}.link.{key}", component.name), reason));
        }
    }
}
