//! The cores of a host that bridges: interrupts first, then the ports that have frames, in turn.
//!
//! An interrupt puts its port on the list of its core. A core works on the first port of the list until it finds
//! nothing there, or the budget is used up: then another port has its turn. Interrupts of a port stay off while it
//! is on the list, so a busy host polls and an idle one is interrupted. A core that reads a register stands still
//! until the data is back. Under strict priority it looks for the port whose next frame has the highest class before each
//! frame, and the turns are among ports of one class.

use crate::device::ethernet::Frame;
use lanewise_fabric::workload::DeviceId;
use lanewise_fabric::{Book, HostPart, ResourceId, ResourceOwner, ResourceReading};
use lanewise_network::ethernet::SMALLEST_FRAME;
use lanewise_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// CPU costs of an operating system that bridges, and the cores that pay them.
#[derive(Clone, Debug, PartialEq)]
pub struct StackConfig {
    /// The host.
    pub device: DeviceId,
    /// Name of the operating system, whose costs these are.
    pub system: String,
    /// Cores; port n interrupts core n, counted round.
    pub cores: u32,
    /// Interrupt service, for each interrupt.
    pub interrupt_cost: Span,
    /// Register reads of an interrupt; the core waits for each.
    pub interrupt_reads: u32,
    /// For a frame of the smallest size.
    pub packet_cost: Span,
    /// For each byte beyond the smallest size.
    pub byte_cost: Span,
    /// Bytes of a frame beyond which none cost anything; none for no such limit.
    pub byte_limit: Option<Bytes>,
    /// Register reads for each frame; the core waits for each.
    pub packet_reads: u32,
    /// Posted register writes for each frame, beside the doorbell.
    pub packet_writes: u32,
    /// Frames of a port that are worked on before another port has its turn.
    pub budget: u32,
    /// Receive descriptors that are given back to the adapter together.
    pub replenish: u32,
    /// Which goes first where frames wait.
    pub service: Service,
}

/// Which of the frames that wait in a host goes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// Whichever came first; ports have turns.
    Fifo,
    /// The one of the highest priority.
    StrictPriority,
}

/// What a core is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    /// Interrupt service of a port.
    Interrupt { port: usize },
    /// A frame that came in at a port.
    Frame { port: usize, frame: Frame },
}

impl Work {
    /// The port it is for.
    pub(crate) fn port(self) -> usize {
        match self {
            Self::Interrupt { port } | Self::Frame { port, .. } => port,
        }
    }
}

/// A piece of work and what is left of it.
#[derive(Clone, Copy, Debug)]
struct Task {
    work: Work,
    reads_left: u32,
}

/// What a core does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Works for so long.
    Compute(Span),
    /// Reads a register of the adapter of this port.
    Read(usize),
    /// Has finished this.
    Finish(Work),
    /// Found nothing more at this port: interrupts are allowed again.
    Leave(usize),
    /// Nothing to do.
    Idle,
}

/// One core.
#[derive(Clone, Debug, Default)]
pub(crate) struct Core {
    interrupts: VecDeque<usize>,
    /// Ports to work on.
    list: VecDeque<usize>,
    /// Frames of the first port since its turn began.
    turn: u32,
    /// What it works on, or has worked on but for reads that are left.
    task: Option<Task>,
}

impl Core {
    /// An interrupt came. True when the core was idle and has to be looked at.
    pub(crate) fn interrupt(&mut self, port: usize) -> bool {
        self.interrupts.push_back(port);
        self.task.is_none()
    }

    /// What it works on.
    pub(crate) fn work(&self) -> Option<Work> {
        self.task.map(|task| task.work)
    }

    /// What comes next; `receive` takes the next frame that waits at a port.
    pub(crate) fn step(&mut self, stack: &StackConfig, receive: impl FnMut(usize) -> Option<Frame>) -> Step {
        let Some(task) = &mut self.task else { return self.select_next(stack, receive) };
        if task.reads_left > 0 {
            task.reads_left -= 1;
            return Step::Read(task.work.port());
        }
        let work = task.work;
        self.task = None;
        if let Work::Interrupt { port } = work {
            self.list.push_back(port);
        }
        Step::Finish(work)
    }

    /// Puts the port of the highest priority first on the list; among equals, the one whose turn it is.
    pub(crate) fn favour(&mut self, stack: &StackConfig, priority_of: impl Fn(usize) -> Option<u8>) {
        if self.turn >= stack.budget {
            self.turn = 0;
            self.list.rotate_left(1);
        }
        let highest = self.list.iter().map(|port| priority_of(*port)).max();
        let Some(place) = self.list.iter().position(|port| Some(priority_of(*port)) == highest) else {
            return;
        };
        if place > 0 {
            self.turn = 0;
            let port = self.list.remove(place).expect("just found");
            self.list.push_front(port);
        }
    }

    fn select_next(&mut self, stack: &StackConfig, mut receive: impl FnMut(usize) -> Option<Frame>) -> Step {
        if let Some(port) = self.interrupts.pop_front() {
            return self.begin(stack, Work::Interrupt { port }, stack.interrupt_reads);
        }
        if self.turn >= stack.budget {
            self.turn = 0;
            self.list.rotate_left(1);
        }
        let Some(port) = self.list.front().copied() else { return Step::Idle };
        match receive(port) {
            Some(frame) => {
                self.turn += 1;
                self.begin(stack, Work::Frame { port, frame }, stack.packet_reads)
            }
            None => {
                self.turn = 0;
                self.list.pop_front();
                Step::Leave(port)
            }
        }
    }

    fn begin(&mut self, stack: &StackConfig, work: Work, reads: u32) -> Step {
        self.task = Some(Task { work, reads_left: reads });
        Step::Compute(cost(stack, work))
    }
}

/// Time of the core alone for a piece of work.
fn cost(stack: &StackConfig, work: Work) -> Span {
    match work {
        Work::Interrupt { .. } => stack.interrupt_cost,
        Work::Frame { frame, .. } => {
            let size = Bytes::new(frame.size.into());
            let counted = stack.byte_limit.map_or(size, |limit| size.min(limit));
            stack.packet_cost + stack.byte_cost * counted.saturating_sub(SMALLEST_FRAME).get()
        }
    }
}

/// What a core has done.
#[derive(Clone, Copy, Default, Debug)]
struct CoreBook {
    book: Book,
    /// Start of the piece of work that it is busy with, register reads included.
    since: Option<Time>,
}

/// Cores, and the frames and register reads they have had.
#[derive(Clone, Debug)]
pub(crate) struct Software {
    pub(crate) config: StackConfig,
    pub(crate) cores: Vec<Core>,
    books: Vec<CoreBook>,
    /// By port, its last interrupt: from then on its frames wait for nothing but the core.
    called: Vec<Time>,
    /// Start of the register read that each core waits for.
    pub(crate) read_started: Vec<Time>,
    pub(crate) tally: SoftwareTally,
}

/// What the software has done.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct SoftwareTally {
    /// Frames bridged.
    pub frames: u64,
    /// Interrupts taken.
    pub interrupts: u64,
    /// Register reads.
    pub reads: u64,
    /// Time spent waiting for them.
    pub read_time: Span,
}

impl Software {
    /// Idle cores, of a host with so many ports.
    pub(crate) fn new(config: StackConfig, ports: usize) -> Self {
        let cores = config.cores.max(1) as usize;
        Self {
            cores: vec![Core::default(); cores],
            books: vec![CoreBook::default(); cores],
            called: vec![Time::ZERO; ports],
            read_started: vec![Time::ZERO; cores],
            tally: SoftwareTally::default(),
            config,
        }
    }

    /// The core that serves a port.
    pub(crate) fn core_of(&self, port: usize) -> usize {
        port % self.cores.len()
    }

    /// An interrupt of a port comes to its core. Returns the core if it was idle and has to be looked at.
    pub(crate) fn interrupt(&mut self, port: usize, now: Time) -> Option<usize> {
        self.tally.interrupts += 1;
        self.called[port] = now;
        let core = self.core_of(port);
        self.cores[core].interrupt(port).then_some(core)
    }

    /// A core begins with the work that it has just taken.
    pub(crate) fn begins(&mut self, core: usize, now: Time) {
        let asked = match self.cores[core].work() {
            Some(Work::Frame { port, frame }) => frame.seen.max(self.called[port]),
            Some(Work::Interrupt { port }) => self.called[port],
            None => now,
        };
        let CoreBook { book, since } = &mut self.books[core];
        book.enter(asked, now, Span::ZERO);
        *since = Some(now);
    }

    /// A core is done with that.
    pub(crate) fn ends(&mut self, core: usize, now: Time) {
        let CoreBook { book, since } = &mut self.books[core];
        book.busy += now.saturating_since(since.take().unwrap_or(now));
    }

    /// What each core has done up to `at`.
    pub(crate) fn resources(&self, at: Time) -> impl Iterator<Item = ResourceReading> {
        let StackConfig { device, system, packet_cost, .. } = &self.config;
        let owner = ResourceOwner::System { host: *device, name: system.clone() };
        (0..).zip(&self.books).map(move |(core, &CoreBook { mut book, since })| {
            book.busy += at.saturating_since(since.unwrap_or(at));
            ResourceReading {
                id: ResourceId { owner: owner.clone(), part: HostPart::BridgeCore { core }.into() },
                name: format!("{system}.core{core}"),
                places: 1,
                limit: format!("one core, {packet_cost} for a frame"),
                book,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::smartflow::tests::stack;

    fn frame(size: u32) -> Frame {
        Frame { flow: 0, size, priority: 0, arrived: Time::ZERO, seen: Time::ZERO }
    }

    #[test]
    fn an_interrupt_leads_to_frames_until_none_is_left() {
        let stack = StackConfig { interrupt_reads: 1, ..stack() };
        let mut core = Core::default();
        assert!(core.interrupt(3));
        let mut frames = vec![frame(64), frame(64)];
        let mut steps = Vec::new();
        loop {
            let step = core.step(&stack, |_| frames.pop());
            steps.push(step);
            if step == Step::Idle {
                break;
            }
        }
        let work = Work::Frame { port: 3, frame: frame(64) };
        let frame_cost = Step::Compute(stack.packet_cost);
        let expected = [
            Step::Compute(stack.interrupt_cost),
            Step::Read(3),
            Step::Finish(Work::Interrupt { port: 3 }),
            frame_cost,
            Step::Finish(work),
            frame_cost,
            Step::Finish(work),
            Step::Leave(3),
            Step::Idle,
        ];
        assert_eq!(steps, expected);
    }

    #[test]
    fn a_budget_gives_every_port_its_turn() {
        let stack = StackConfig { budget: 2, ..stack() };
        let mut core = Core::default();
        core.interrupt(0);
        core.interrupt(1);
        let mut order = Vec::new();
        while order.len() < 6 {
            if let Step::Finish(Work::Frame { port, .. }) = core.step(&stack, |_| Some(frame(64))) {
                order.push(port);
            }
        }
        assert_eq!(order, [0, 0, 1, 1, 0, 0]);
    }

    #[test]
    fn bytes_cost_up_to_a_limit() {
        let limited = StackConfig { byte_limit: Some(Bytes::new(256)), ..stack() };
        let cost_of = |size| cost(&limited, Work::Frame { port: 0, frame: frame(size) });
        assert_eq!(cost_of(1518), cost_of(256));
        assert_eq!(cost_of(256), limited.packet_cost + limited.byte_cost * 192);
    }
}
