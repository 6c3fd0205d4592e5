//! What must be conserved on CXL.mem: credits, counted where they are spent, where they are freed, and on their way back.
//!
//! Leaves out directions with bit errors, where what is given back by a flit that is dropped is on no wire for a while.

use super::{Cxl, Link};
use lanewise_cxl::message::{Class, Way};

impl Cxl {
    /// Whether the books of every direction balance; what does not otherwise.
    pub(crate) fn audit(&self) -> Result<(), String> {
        for link in &self.links {
            for (way, back) in [(Way::M2s, Way::S2m), (Way::S2m, Way::M2s)] {
                link.audit(way, back)?;
            }
        }
        let open: u32 = self.expanders.iter().map(|expander| expander.open).sum();
        match open as usize == self.open() {
            true => Ok(()),
            false => Err(format!("{} lines are under way, and expanders have {open}", self.open())),
        }
    }
}

impl Link {
    fn audit(&self, way: Way, back: Way) -> Result<(), String> {
        let (direction, returning) = (&self.ways[way as usize], &self.ways[back as usize]);
        if direction.has_errors() || returning.has_errors() {
            return Ok(());
        }
        for class in Class::ALL {
            let book = &direction.credit_books[class as usize];
            let inside = book.spent() - direction.receiver.freed[class as usize];
            let returning =
                u64::from(direction.receiver.owed[class as usize] + returning.credits_on_wire(class));
            let out = u64::from(book.out());
            if inside + returning != out {
                let name = class.name(way);
                return Err(format!(
                    "{out} of {} credits for {name} are out: {inside} messages have them, {returning} are on their way back",
                    book.places
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::common::direct;
    use crate::config::{CxlConfig, CxlLinkConfig, ExpanderConfig, FabricConfig, MemoryConfig};
    use crate::fabric::Fabric;
    use crate::ports::{CxlMem, LineAccess};
    use crate::workload::{DeviceId, Direction};
    use crate::{Progress, Simulation};
    use lanewise_cxl::message::Class;
    use lanewise_units::{Bytes, Generation, Rate, Span, Time, Width};

    /// A fabric with an expander, some lines of which are under way.
    fn under_way() -> Simulation {
        let lines = (0..100).map(|number| if number % 3 == 0 { Direction::Write } else { Direction::Read });
        asked_for_at_once(lines.collect(), Span::from_ns(150))
    }

    /// A fabric with an expander of which these lines are asked for at the start, after so much time.
    pub(in crate::cxl) fn asked_for_at_once(lines: Vec<Direction>, span: Span) -> Simulation {
        asked_for(direct(Generation::Gen5, Width::X8, 256), lines, span)
    }

    /// The same of a fabric whose last device is the expander, and whose links all carry CXL.mem.
    pub(in crate::cxl) fn asked_for(
        mut config: FabricConfig,
        lines: Vec<Direction>,
        span: Span,
    ) -> Simulation {
        let memory = MemoryConfig {
            rate: Rate::from_bytes_per_second(30_000_000_000),
            channels: 1,
            interleave: Bytes::new(256),
            banks: None,
        };
        let (read_latency, write_latency) = (Span::from_ns(100), Span::from_ns(20));
        let device = config.devices.len() - 1;
        let link = |link| CxlLinkConfig {
            link,
            low_latency: false,
            several_headers: true,
            m2s_credits: [8; 2],
            s2m_credits: [8; 2],
            retry_buffer: 64,
            flush_after: Span::from_ns(32),
        };
        config.cxl = CxlConfig {
            expanders: vec![ExpanderConfig {
                device,
                memory,
                read_latency,
                write_latency,
                read_rate: None,
                write_rate: None,
            }],
            links: (0..config.links.len()).map(link).collect(),
            switches: (1..device).map(|switch| (switch, Span::from_ns(70))).collect(),
        };
        let mut simulation = Simulation::build(&config).expect("a tree of devices");
        simulation.add_workload(Box::new(Lines { device: DeviceId(device as u32), lines }));
        let ended = simulation.run_until(Time::ZERO + span, u64::MAX);
        assert_eq!(ended, Progress::Reached);
        simulation
    }

    /// Asks for lines at once.
    struct Lines {
        device: DeviceId,
        lines: Vec<Direction>,
    }

    impl crate::workload::Workload for Lines {
        fn start(&mut self, fabric: &mut Fabric) {
            for (direction, number) in self.lines.iter().zip(0..) {
                fabric.line(self.device, LineAccess { direction: *direction, address: number * 64 }, number);
            }
        }

        fn handle(&mut self, _: crate::workload::WorkloadEvent, _: &mut Fabric) {}
    }

    #[test]
    fn a_credit_that_is_lost_is_found() {
        let mut simulation = under_way();
        let cxl = simulation.fabric.cxl.as_mut().expect("an expander");
        assert!(cxl.open() > 0);
        assert_eq!(cxl.audit(), Ok(()));
        cxl.links[0].ways[0].receiver.owed[Class::Plain as usize] += 1;
        let what = cxl.audit().expect_err("a credit too many");
        assert!(what.contains("credits for Req"), "{what}");
    }

    #[test]
    fn a_line_that_is_lost_is_found() {
        let mut simulation = under_way();
        let cxl = simulation.fabric.cxl.as_mut().expect("an expander");
        cxl.expanders[0].open -= 1;
        assert!(cxl.audit().is_err());
    }
}
