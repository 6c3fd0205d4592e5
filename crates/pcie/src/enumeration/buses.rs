//! Bus, device and function numbers.

use super::{Buses, Function, Header, Programmed};

/// Buses of a segment, the root bus included.
const BUSES: u32 = 256;

/// Root ports on a root bus: device 0 is the host bridge, and each other device has eight functions.
const ROOT_PORTS: u32 = 31 * 8;

/// Numbers all functions. A root port for which a segment has too few buses left, or no number, begins the next segment.
pub(super) fn number(functions: &[Function], programmed: &mut [Programmed]) {
    let below = bridges_below(functions);
    // By function, how many on the bus below have a number so far.
    let mut numbered = vec![0; functions.len()];
    let (mut root_bus, mut on_root_bus, mut next) = (0, 0, 1);
    for (index, function) in functions.iter().enumerate() {
        match function.above {
            Some(above) => {
                programmed[index].bus = programmed[above].buses.expect("a bridge").secondary;
                let nth: u32 = numbered[above];
                numbered[above] += 1;
                programmed[index].device = device(nth, 32);
            }
            None => {
                let is_full = next + below[index] > root_bus + BUSES || on_root_bus == ROOT_PORTS;
                if is_full && on_root_bus > 0 {
                    root_bus = next.next_multiple_of(BUSES);
                    (on_root_bus, next) = (0, root_bus + 1);
                }
                let (device, function) = device(on_root_bus, 31);
                programmed[index].bus = root_bus;
                programmed[index].device = (device + 1, function);
                on_root_bus += 1;
            }
        }
        if function.header == Header::Bridge {
            programmed[index].buses = Some(Buses { secondary: next, subordinate: next + below[index] - 1 });
            next += 1;
        }
    }
}

/// Device and function number of the nth on a bus with so many devices: functions only where devices run out.
fn device(nth: u32, devices: u32) -> (u8, u8) {
    assert!(nth < devices * 8, "a bus has {} functions, not {nth}", devices * 8);
    ((nth % devices) as u8, (nth / devices) as u8)
}

/// Of each bridge, how many there are from it on down: as many buses as it has below.
fn bridges_below(functions: &[Function]) -> Vec<u32> {
    let mut count = vec![0; functions.len()];
    for (index, function) in functions.iter().enumerate().rev() {
        if function.header == Header::Bridge {
            count[index] += 1;
            if let Some(above) = function.above {
                count[above] += count[index];
            }
        }
    }
    count
}
