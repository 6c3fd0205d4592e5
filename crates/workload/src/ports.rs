//! The machine as one component of a workload sees it: [the fabric's ports](lanewise_fabric::ports), with tokens of the component's
//! own kinds.
//!
//! A component says which ports it needs as bounds on the machine, so that its mechanisms can be tested on one whose answers are
//! plain arithmetic. A component that owns another gives it a view of its own: [`Ports::second`].

use crate::token::{Joined, Kind, Token};
use lanewise_fabric::ports::{CxlMem, Dma, LineAccess, Mmio, Timers};
use lanewise_fabric::workload::{DeviceId, DmaQueueId, Transfer, WorkloadEvent};
use lanewise_units::{Bytes, Time};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// What happened to a component.
pub(crate) type Event<K> = WorkloadEvent<Token<K>>;

/// A workload as a state machine over a machine that has the ports it needs.
pub(crate) trait Instrument<M> {
    /// What may happen to it.
    type Kind: Kind;

    /// Called once, at the start of the run.
    fn begin(&mut self, ports: &mut Ports<'_, M, Self::Kind>);

    /// Called for each event that belongs to it.
    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M, Self::Kind>);
}

/// Declares what a component needs of a machine: one name for several of the fabric's ports.
macro_rules! needs {
    ($visible:vis $name:ident: $($port:ident),+) => {
        /// What is needed of the machine.
        $visible trait $name: $(lanewise_fabric::ports::$port +)+ {}
        impl<M: $(lanewise_fabric::ports::$port +)+> $name for M {}
    };
}
pub(crate) use needs;

/// How the fabric calls an instrument: the first two methods of its `Workload`.
macro_rules! called_by_fabric {
    () => {
        fn start(&mut self, fabric: &mut lanewise_fabric::Fabric) {
            let now = fabric.now();
            $crate::ports::Instrument::begin(self, &mut $crate::ports::Ports::of(fabric, now));
        }

        fn handle(
            &mut self,
            event: lanewise_fabric::workload::WorkloadEvent,
            fabric: &mut lanewise_fabric::Fabric,
        ) {
            let now = fabric.now();
            let mut ports = $crate::ports::Ports::of(fabric, now);
            $crate::ports::Instrument::react(self, $crate::ports::typed(event), &mut ports);
        }
    };
}
pub(crate) use called_by_fabric;

/// An event with its token read.
#[inline]
pub(crate) fn typed<K: Kind>(event: WorkloadEvent) -> Event<K> {
    event.map(Token::unpack)
}

/// An event of one of two components.
#[inline]
pub(crate) fn split<A: Kind, B: Kind>(event: Event<Joined<A, B>>) -> Joined<Event<A>, Event<B>> {
    match event.token().kind {
        Joined::First(kind) => Joined::First(event.map(|token| token.with_kind(kind))),
        Joined::Second(kind) => Joined::Second(event.map(|token| token.with_kind(kind))),
    }
}

/// The machine at one instant, for a component whose tokens are of these kinds. Ports that take no token are the machine's own.
#[derive(Debug)]
pub(crate) struct Ports<'a, M, K> {
    machine: &'a mut M,
    now: Time,
    /// Number of the component's first kind among those of the workload.
    base: usize,
    kinds: PhantomData<K>,
}

impl<'a, M, K: Kind> Ports<'a, M, K> {
    /// Those of a whole workload.
    #[inline]
    pub(crate) fn of(machine: &'a mut M, now: Time) -> Self {
        Self { machine, now, base: 0, kinds: PhantomData }
    }

    /// The same for less long.
    #[inline]
    pub(crate) fn again(&mut self) -> Ports<'_, M, K> {
        let Self { now, base, .. } = *self;
        Ports { machine: self.machine, now, base, kinds: PhantomData }
    }

    /// The present.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        self.now
    }
}

impl<'a, M, A: Kind, B: Kind> Ports<'a, M, Joined<A, B>> {
    /// Those of the second of two components.
    #[inline]
    pub(crate) fn second(&mut self) -> Ports<'_, M, B> {
        self.again().into_second()
    }

    /// Those of the first.
    #[inline]
    pub(crate) fn into_first(self) -> Ports<'a, M, A> {
        let Self { machine, now, base, .. } = self;
        Ports { machine, now, base, kinds: PhantomData }
    }

    /// Those of the second.
    #[inline]
    pub(crate) fn into_second(self) -> Ports<'a, M, B> {
        let Self { machine, now, base, .. } = self;
        Ports { machine, now, base: base + A::COUNT, kinds: PhantomData }
    }
}

impl<M: Timers, K: Kind> Ports<'_, M, K> {
    /// [`WorkloadEvent::Timer`] follows at `at`, which is not before now.
    #[inline]
    pub(crate) fn set_timer(&mut self, at: Time, token: Token<K>) {
        self.machine.set_timer(at, token.pack(self.base));
    }
}

impl<M: Dma, K: Kind> Ports<'_, M, K> {
    /// Queues a transfer.
    #[inline]
    pub(crate) fn submit(&mut self, queue: DmaQueueId, transfer: Transfer<Token<K>>) {
        let base = self.base;
        self.machine.submit(queue, transfer.map(|token| token.pack(base)));
    }
}

impl<M: Mmio, K: Kind> Ports<'_, M, K> {
    /// A CPU write that ends as [`WorkloadEvent::MmioWriteArrived`].
    #[inline]
    pub(crate) fn mmio_write(&mut self, device: DeviceId, bytes: Bytes, token: Token<K>) {
        self.machine.mmio_write(device, bytes, token.pack(self.base));
    }

    /// The same, told before as [`WorkloadEvent::MmioWriteLeft`] when the root port has sent it.
    #[inline]
    pub(crate) fn mmio_write_followed(&mut self, device: DeviceId, bytes: Bytes, token: Token<K>) {
        self.machine.mmio_write_followed(device, bytes, token.pack(self.base));
    }

    /// A CPU read that ends as [`WorkloadEvent::MmioReadDone`].
    #[inline]
    pub(crate) fn mmio_read(&mut self, device: DeviceId, bytes: Bytes, token: Token<K>) {
        self.machine.mmio_read(device, bytes, token.pack(self.base));
    }
}

impl<M: CxlMem, K: Kind> Ports<'_, M, K> {
    /// A line of a memory expander, which ends as [`WorkloadEvent::LineDone`].
    #[inline]
    pub(crate) fn line(&mut self, device: DeviceId, access: LineAccess, token: Token<K>) {
        self.machine.line(device, access, token.pack(self.base));
    }
}

impl<M, K> Deref for Ports<'_, M, K> {
    type Target = M;

    #[inline]
    fn deref(&self) -> &M {
        self.machine
    }
}

impl<M, K> DerefMut for Ports<'_, M, K> {
    #[inline]
    fn deref_mut(&mut self) -> &mut M {
        self.machine
    }
}
