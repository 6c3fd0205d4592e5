use super::*;
use proptest::prelude::*;

const MIB: u64 = 1 << 20;
const HIGH: u64 = 1 << 45;

fn bridge(above: Option<usize>) -> Function {
    Function { above, header: Header::Bridge }
}

fn device(above: usize, bars: &[(u64, bool)]) -> Function {
    let bars = bars.iter().map(|(size, is_wide)| Bar { size: *size, is_wide: *is_wide }).collect();
    Function { above: Some(above), header: Header::Device(bars) }
}

/// Root port, switch, so many downstream ports, a device with these BARs below each.
fn one_switch(ports: usize, bars: &[(u64, bool)]) -> Vec<Function> {
    let mut functions = vec![bridge(None), bridge(Some(0))];
    for _ in 0..ports {
        functions.push(bridge(Some(1)));
        functions.push(device(functions.len() - 1, bars));
    }
    functions
}

fn text(programmed: &Programmed) -> String {
    programmed.location().to_string()
}

#[test]
fn a_switch_is_numbered_as_lspci_shows_it() {
    let made = enumerate(&one_switch(3, &[(0x4000, true)]), HIGH).unwrap();
    let numbers: Vec<String> = made.functions.iter().map(text).collect();
    let expected = ["00:01.0", "01:00.0", "02:00.0", "03:00.0", "02:01.0", "04:00.0", "02:02.0", "05:00.0"];
    assert_eq!(numbers, expected.map(|number| format!("0000:{number}")));
    let buses: Vec<_> =
        made.functions.iter().map(|each| each.buses.map(|it| (it.secondary, it.subordinate))).collect();
    let leaf = |bus| Some((bus, bus));
    assert_eq!(buses, [Some((1, 5)), Some((2, 5)), leaf(3), None, leaf(4), None, leaf(5), None]);
}

/// A window is a MiB for each device below, and those of a switch are that of its root port.
#[test]
fn windows_of_equal_devices_follow_each_other() {
    for ports in [1, 2, 24, 32] {
        let made = enumerate(&one_switch(ports, &[(0x4000, true)]), HIGH).unwrap();
        let whole = HIGH..HIGH + ports as u64 * MIB;
        assert_eq!((&made.high, &made.functions[0].prefetchable), (&whole, &whole));
        assert_eq!(made.functions[1].prefetchable, whole);
        assert!(made.low.is_empty() && made.functions[0].memory.is_empty());
        for port in 0..ports {
            let start = HIGH + port as u64 * MIB;
            assert_eq!(made.functions[2 + 2 * port].prefetchable, start..start + MIB);
            assert_eq!(made.functions[3 + 2 * port].bars, [start]);
        }
    }
}

#[test]
fn what_has_32_bits_lies_below_the_interrupt_controllers() {
    let made = enumerate(&one_switch(3, &[(0x4000, false), (1 << 28, true)]), HIGH).unwrap();
    assert_eq!(made.low, LOW_END - 3 * MIB..LOW_END);
    assert_eq!(made.functions[3].bars, [LOW_END - 3 * MIB, HIGH]);
    assert_eq!(made.functions[7].bars, [LOW_END - MIB, HIGH + 2 * (1 << 28)]);
    let full = enumerate(&one_switch(16, &[(1 << 28, false)]), HIGH);
    let room = LOW_END - (1 << 28);
    assert_eq!(full, Err(NoRoom { needed: 1 << 32, room }));
    let nearly = enumerate(&one_switch(15, &[(1 << 28, false)]), HIGH);
    assert_eq!(nearly, Err(NoRoom { needed: 15 << 28, room }), "they begin at a multiple of their size");
    assert!(full.unwrap_err().to_string().contains("take 4096 MiB"));
}

/// The largest BAR is first, and what is smaller fills up behind it: no gap.
#[test]
fn sizes_are_packed_without_gaps() {
    let sizes = [MIB, 1 << 36, 64 * MIB, 1 << 36];
    let mut functions = vec![bridge(None), bridge(Some(0))];
    for size in sizes {
        functions.push(bridge(Some(1)));
        functions.push(device(functions.len() - 1, &[(size, true)]));
    }
    let made = enumerate(&functions, HIGH + MIB).unwrap();
    let base = HIGH + (1 << 36); // The next multiple of the largest BAR.
    assert_eq!(made.high, base..base + sizes.iter().sum::<u64>());
    let firsts: Vec<u64> = (0..4).map(|port| made.functions[3 + 2 * port].bars[0] - base).collect();
    assert_eq!(firsts, [(2 << 36) + 64 * MIB, 0, 2 << 36, 1 << 36]);
}

#[test]
fn an_empty_port_has_a_bus_and_closed_windows() {
    let made = enumerate(&[bridge(None), bridge(None)], HIGH).unwrap();
    for (port, bus) in made.functions.iter().zip(1..) {
        assert_eq!(port.buses, Some(Buses { secondary: bus, subordinate: bus }));
        assert!(!port.forwards(0) && !port.forwards(HIGH));
    }
}

#[test]
fn a_segment_that_is_full_is_followed_by_another() {
    // 130 buses below each root port: one of them fits a segment.
    let mut functions = Vec::new();
    for _ in 0..3 {
        let root = functions.len();
        functions.extend([bridge(None), bridge(Some(root))]);
        functions.extend((0..128).map(|_| bridge(Some(root + 1))));
    }
    let made = enumerate(&functions, HIGH).unwrap();
    let roots: Vec<String> = [0, 130, 260].map(|at| text(&made.functions[at])).to_vec();
    assert_eq!(roots, ["0000:00:01.0", "0001:00:01.0", "0002:00:01.0"]);
    let buses = [0, 130, 260].map(|at| made.functions[at].buses);
    let below = |root_bus: u32| Some(Buses { secondary: root_bus + 1, subordinate: root_bus + 130 });
    assert_eq!(buses, [0, 256, 512].map(below));
    assert_eq!(text(&made.functions[129]), "0000:02:1f.3", "port 128 of a bus with 32 devices");
    // More root ports than a bus has numbers.
    let made = enumerate(&vec![bridge(None); 249], HIGH).unwrap();
    assert_eq!(text(&made.functions[247]), "0000:00:1f.7");
    assert_eq!(text(&made.functions[248]), "0001:00:01.0");
    // A hierarchy that no segment holds goes on in the next.
    let mut functions = vec![bridge(None), bridge(Some(0))];
    for switch in 0..3 {
        functions.push(bridge(Some(1)));
        let upstream = functions.len();
        functions.push(bridge(Some(upstream - 1)));
        functions.extend((0..100).map(|_| bridge(Some(upstream))));
        assert_eq!(functions[upstream].above, Some(2 + switch * 102));
    }
    functions.push(bridge(None));
    let made = enumerate(&functions, HIGH).unwrap();
    assert_eq!(made.functions[0].buses, Some(Buses { secondary: 1, subordinate: 308 }));
    assert_eq!(text(made.functions.last().unwrap()), "0002:00:01.0");
}

/// A bus number has eight bits: the root bus and 255 buses below it (PCIe Base 6.3 §7.5.1.3).
#[test]
fn a_segment_is_full_at_bus_255() {
    let with_second = |buses: usize| {
        let mut functions = vec![bridge(None)];
        functions.extend((1..128).map(|_| bridge(Some(0))));
        functions.push(bridge(None));
        functions.extend((1..buses).map(|_| bridge(Some(128))));
        enumerate(&functions, HIGH).unwrap().functions.swap_remove(128)
    };
    let last = with_second(127);
    assert_eq!(text(&last), "0000:00:02.0");
    assert_eq!(last.buses, Some(Buses { secondary: 129, subordinate: 255 }));
    let over = with_second(128);
    assert_eq!(text(&over), "0001:00:01.0");
    assert_eq!(over.buses, Some(Buses { secondary: 257, subordinate: 384 }));
}

#[test]
fn what_has_32_bits_may_begin_at_the_lowest_address_there_is() {
    let of = |ports| enumerate(&one_switch(ports, &[(16 * MIB, false)]), HIGH);
    assert_eq!(of(253).unwrap().low, LOW_START..LOW_START + 253 * 16 * MIB);
    assert_eq!(of(254), Err(NoRoom { needed: 254 * 16 * MIB, room: LOW_END - LOW_START }));
}

/// Where each function is below: a number that is taken modulo the bridges there are, and its BARs by the exponents of their sizes.
fn tree() -> impl Strategy<Value = Vec<Function>> {
    let bars = prop::collection::vec((7u32..30, any::<bool>()), 0..4);
    prop::collection::vec((any::<prop::sample::Index>(), any::<bool>(), bars), 1..60).prop_map(|nodes| {
        // Children of each, then depth first.
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len() + 1];
        let mut bridges = vec![0];
        for (at, (above, is_bridge, _)) in nodes.iter().enumerate() {
            let above = *above.get(&bridges);
            children[above].push(at + 1);
            if *is_bridge || above == 0 {
                bridges.push(at + 1);
            }
        }
        let mut functions = Vec::new();
        let mut open: Vec<(usize, Option<usize>)> = children[0].iter().rev().map(|at| (*at, None)).collect();
        while let Some((at, above)) = open.pop() {
            let (_, _, bars) = &nodes[at - 1];
            let header = match bridges.contains(&at) {
                true => Header::Bridge,
                false => Header::Device(
                    bars.iter()
                        .map(|(size, is_wide)| Bar {
                            size: 1 << if *is_wide { *size } else { *size % 20 + 7 },
                            is_wide: *is_wide,
                        })
                        .collect(),
                ),
            };
            let own = functions.len();
            functions.push(Function { above, header });
            open.extend(children[at].iter().rev().map(|below| (*below, Some(own))));
        }
        functions
    })
}

/// All BARs: whose, from where to where, whether above 4 GiB.
fn all_bars(functions: &[Function], made: &Enumeration) -> Vec<(usize, Range<u64>, bool)> {
    let of = |(index, function): (usize, &Function)| match &function.header {
        Header::Bridge => Vec::new(),
        Header::Device(bars) => {
            let at = made.functions[index].bars.iter().zip(bars);
            at.map(|(start, bar)| (index, *start..*start + bar.size, bar.is_wide)).collect()
        }
    };
    functions.iter().enumerate().flat_map(of).collect()
}

fn is_below(functions: &[Function], index: usize, bridge: usize) -> bool {
    core::iter::successors(functions[index].above, |above| functions[*above].above)
        .any(|above| above == bridge)
}

proptest! {
    #[test]
    fn addresses_are_aligned_and_nobody_elses(functions in tree()) {
        let made = enumerate(&functions, HIGH).unwrap();
        let mut bars = all_bars(&functions, &made);
        for (_, at, is_wide) in &bars {
            prop_assert_eq!(at.start % (at.end - at.start), 0);
            let within = if *is_wide { &made.high } else { &made.low };
            prop_assert!(within.start <= at.start && at.end <= within.end);
        }
        bars.sort_by_key(|(_, at, _)| at.start);
        prop_assert!(bars.windows(2).all(|two| two[0].1.end <= two[1].1.start));
    }

    /// A window is the hull of the BARs below, in whole MiB; those of two bridges overlap only where one is below the other.
    #[test]
    fn windows_are_hulls(functions in tree()) {
        let made = enumerate(&functions, HIGH).unwrap();
        let bars = all_bars(&functions, &made);
        for (index, function) in functions.iter().enumerate() {
            if function.header != Header::Bridge { continue }
            for is_wide in [false, true] {
                let programmed = &made.functions[index];
                let window = if is_wide { &programmed.prefetchable } else { &programmed.memory };
                let below = || bars.iter().filter(|(whose, _, wide)| *wide == is_wide && is_below(&functions, *whose, index));
                let first = below().map(|(_, at, _)| at.start / MIB * MIB).min();
                let last = below().map(|(_, at, _)| at.end.next_multiple_of(MIB)).max();
                prop_assert_eq!(window, &(first.unwrap_or(0)..last.unwrap_or(0)));
            }
        }
    }

    /// The way down by windows, and by buses, ends at the function that is meant, and no other bridge of a bus has it, too.
    #[test]
    fn each_address_and_each_id_has_one_way(functions in tree()) {
        let made = enumerate(&functions, HIGH).unwrap();
        for (whose, at, _) in all_bars(&functions, &made) {
            for address in [at.start, at.end - 1] {
                for (index, programmed) in made.functions.iter().enumerate() {
                    prop_assert_eq!(programmed.forwards(address), is_below(&functions, whose, index));
                }
            }
        }
        for (whose, programmed) in made.functions.iter().enumerate() {
            for (index, bridge) in made.functions.iter().enumerate() {
                prop_assert_eq!(bridge.leads_to(programmed.bus), is_below(&functions, whose, index));
            }
        }
        let mut numbers: Vec<Location> = made.functions.iter().map(Programmed::location).collect();
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), functions.len());
    }
}

/// Eight bits of bus number, and the segment above them (PCIe Base 6.3 §2.2.4.2, §7.5.1.3).
#[test]
fn a_bus_of_another_segment_is_written_with_its_segment() {
    let programmed = Programmed { bus: 0x0317, device: (4, 2), ..Programmed::default() };
    let location = programmed.location();
    assert_eq!(location.to_string(), "0003:17:04.2");
    assert_eq!((location.bus(), location.id.get()), (0x0317, 0x1722));
}

/// Intel's adapters have an offset of 128 and a stride of 2, which skips the second port; functions of eight follow in devices.
#[test]
fn virtual_functions_have_numbers_behind_the_physical_one() {
    let physical = Location { segment: 1, id: FunctionId::new(0x17, 0, 0) };
    let written = |numbers, index| physical.virtual_function(numbers, index).to_string();
    assert_eq!(
        [0, 6, 7].map(|index| written((1, 1), index)),
        ["0001:17:00.1", "0001:17:00.7", "0001:17:01.0"]
    );
    assert_eq!(
        [0, 1, 63].map(|index| written((128, 2), index)),
        ["0001:17:10.0", "0001:17:10.2", "0001:17:1f.6"]
    );
}
