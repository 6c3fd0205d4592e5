//! The run: the one `match` over events, what is done at the end of each, and when to stop.
//!
//! Beside it, in `simulation/`: how it starts, whether it goes anywhere, how it is measured, and how it audits itself.

mod auditing;
mod measuring;
mod progress;
mod starting;

pub(crate) use progress::stall_after;

use crate::config::{FabricConfig, PortNames};
use crate::event::{Event, PackedEvent};
use crate::fabric::Fabric;
use crate::parts::crew::{Crew, LATEST};
use crate::parts::{Apart, NotShared, Reached, SharedRun, Until};
use crate::server::Book;
use crate::waiters::Waiter;
use crate::workload::{Workload, WorkloadId};
use auditing::Auditing;
use lanewise_engine::Event as _;
use lanewise_units::{Span, Time};
use progress::LOOK_EVERY;
use std::any::Any;
use std::collections::HashMap;

/// How a call of [`Simulation::run_until`] ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The time asked for was reached.
    Reached,
    /// Every workload is done.
    Finished,
    /// Requests are open and nothing moves: who waits for whom.
    Stalled {
        /// All ports and requesters that wait; none in a [shared](Simulation::share) run, in which no part sees all of them.
        waiting: Vec<Waiter>,
    },
    /// The number of events asked for was reached first.
    EventLimit,
    /// A pause was reached: see [`Simulation::run_or_pause`].
    Paused,
}

/// Where a run stands still for a while, whichever comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pause {
    /// After everything up to then.
    pub at: Time,
    /// After so many more events.
    pub events: u64,
}

impl Pause {
    /// It does not.
    pub const NEVER: Self = Self { at: Time::NEVER, events: u64::MAX };
}

/// Whether a run can be on several threads: not in WebAssembly, where their code would be a tenth of the module.
const SHARES: bool = !cfg!(target_family = "wasm");

/// A fabric and its workloads.
pub struct Simulation {
    /// The fabric.
    pub fabric: Fabric,
    workloads: Vec<Box<dyn Workload>>,
    /// Their numbers in the order in which they start; empty when they start as they were added.
    start_order: Vec<usize>,
    /// Of each flow, the workload that added it.
    added_by: Vec<usize>,
    /// Flows that workloads added when they started, as they are listed.
    listed: Vec<usize>,
    started: bool,
    window_start: Time,
    /// Names of the devices.
    names: Vec<String>,
    /// Of the ports of each.
    port_names: Vec<PortNames>,
    /// Books of the resources when the window started.
    first_reading: HashMap<(usize, String), Book>,
    auditing: Auditing,
    /// Events after which it is looked next whether the run goes anywhere; none but during a pause.
    look_at: Option<u64>,
    /// Threads that have parts of it; none where this is the whole.
    crew: Option<Box<Crew>>,
}

impl Simulation {
    /// Builds the fabric, at rest.
    ///
    /// # Errors
    /// When the configuration does not describe a tree of devices, or their BARs do not fit; see [`crate::AssemblyError`].
    pub fn build(config: &FabricConfig) -> Result<Self, crate::AssemblyError> {
        let parts = crate::assembly::assemble(config)?;
        let mut fabric = Fabric::new(parts, config.seed);
        fabric.cxl = crate::cxl::Cxl::build(config, &fabric);
        fabric.own_books.payload_ceilings = crate::audit::payload_ceilings(config, &fabric);
        Ok(Self {
            fabric,
            workloads: Vec::new(),
            start_order: Vec::new(),
            added_by: Vec::new(),
            listed: Vec::new(),
            started: false,
            window_start: Time::ZERO,
            names: config.devices.iter().map(|device| device.name.clone()).collect(),
            port_names: config.devices.iter().map(|device| device.port_names.clone()).collect(),
            first_reading: HashMap::new(),
            auditing: Auditing::default(),
            look_at: None,
            crew: None,
        })
    }

    /// Adds a workload; it starts with the run.
    pub fn add_workload(&mut self, workload: Box<dyn Workload>) -> WorkloadId {
        self.workloads.push(workload);
        WorkloadId(self.workloads.len() as u32 - 1)
    }

    /// Whether threads have parts of it.
    const fn is_shared(&self) -> bool {
        SHARES && self.crew.is_some()
    }

    /// The threads, for a call that needs them and the rest of this.
    fn take_crew(&mut self) -> Option<Box<Crew>> {
        if SHARES { self.crew.take() } else { None }
    }

    /// Shares the run among so many threads at most, before it begins; `apart` says of each workload how it may be on another one.
    /// Returns how many there are.
    ///
    /// What follows is the same run, with the same fingerprint and the same results. It stops for a number of events at the end of the
    /// window in which that is reached, and tells that it has finished or stalled a little sooner or later than one thread does.
    ///
    /// # Errors
    /// Why one thread has to do it all: nothing has changed then.
    ///
    /// # Panics
    /// When the run has begun, a listener is there, or `apart` is not about every workload.
    pub fn share(
        &mut self,
        config: &FabricConfig,
        threads: usize,
        apart: Vec<Option<Apart>>,
    ) -> Result<usize, NotShared> {
        assert!(!self.started && !self.fabric.observers.are_heard(), "a run is shared before it begins");
        assert_eq!(apart.len(), self.workloads.len(), "it is said of every workload");
        let order = self.order_of_start();
        let crew = Crew::new(config, &mut self.fabric, threads, apart, &order)?;
        let parts = crew.parts();
        self.crew = Some(Box::new(crew));
        Ok(parts)
    }

    /// Does something in every part of the run, which on one thread is the whole.
    fn on_every_part(&mut self, act: impl Fn(&mut Self) + Copy + Send + Sync + 'static) {
        match self.take_crew() {
            None => act(self),
            Some(mut crew) => {
                crew.each(self, act);
                self.crew = Some(crew);
            }
        }
    }

    /// Runs until `limit`, or until exactly `events` more were handled; of none, it only begins.
    pub fn run_until(&mut self, limit: Time, events: u64) -> Progress {
        self.run_or_pause(limit, events, Pause::NEVER)
    }

    /// The same, and stands still at a pause on the way.
    ///
    /// A pause is no look at anything: ports stay as far as they were, and nothing is counted. So a run that goes on after it, with
    /// the same limit and what is left of the events, is the run without it, event for event, on any link.
    pub fn run_or_pause(&mut self, limit: Time, events: u64, pause: Pause) -> Progress {
        if !self.started {
            self.start();
        }
        if events == 0 {
            return Progress::EventLimit;
        }
        if self.is_shared() {
            return self.run_shared(limit, events, pause);
        }
        let before = self.events_handled();
        let (last_event, pause_event) = (before.saturating_add(events), before.saturating_add(pause.events));
        let mut look_at = self.look_at.take().unwrap_or(before.saturating_add(LOOK_EVERY)).min(last_event);
        if pause.events == 0 && before < look_at {
            self.look_at = Some(look_at);
            return Progress::Paused;
        }
        loop {
            let mut stop_at = look_at.min(pause_event);
            while let Some(now) = self.handle_until(limit.min(pause.at), stop_at) {
                let handled = self.fabric.engine.events_handled();
                if handled >= look_at {
                    look_at = (handled + LOOK_EVERY).min(last_event);
                    if let Some(end) = self.look(now) {
                        return end;
                    }
                    if handled >= last_event {
                        return Progress::EventLimit;
                    }
                }
                if handled >= pause_event {
                    self.look_at = Some(look_at);
                    return Progress::Paused;
                }
                stop_at = look_at.min(pause_event);
            }
            if pause.at < limit {
                self.look_at = Some(look_at);
                return Progress::Paused;
            }
            if !self.fabric.anything_open() {
                self.advance_to(self.fabric.now());
                return Progress::Finished;
            }
            if !self.advance_to(limit) {
                break;
            }
        }
        if self.fabric.engine.pending() == 0 {
            Progress::Stalled { waiting: self.fabric.stall_report() }
        } else {
            Progress::Reached
        }
    }

    /// Handles events up to `limit`, or until so many are handled in all: the time of the last one, then. The one loop over events.
    #[inline(never)]
    fn handle_until(&mut self, limit: Time, stop_at: u64) -> Option<Time> {
        while let Some((now, event)) = self.fabric.engine.next_before(limit) {
            self.fabric.handle(event);
            self.finish_event();
            if self.fabric.engine.events_handled() >= stop_at {
                return Some(now);
            }
        }
        None
    }

    /// The same on several threads.
    #[cold]
    fn run_shared(&mut self, limit: Time, events: u64, pause: Pause) -> Progress {
        let mut crew = self.take_crew().expect("asked for only where there is one");
        let end = limit.min(pause.at).min(LATEST);
        let before = crew.reached().events;
        let until = Until {
            end,
            events: before.saturating_add(events.min(pause.events)),
            silence: Span::from_ticks(self.fabric.stall_after.ticks() / 2),
        };
        let reached = crew.run(self, until);
        let is_at_end = reached.before > end;
        if is_at_end && pause.at >= limit {
            crew.each(self, move |part| _ = part.advance_to(limit));
        }
        crew.gather_tallies(self);
        self.crew = Some(crew);
        match is_at_end {
            _ if reached.is_finished => Progress::Finished,
            _ if reached.is_stalled => Progress::Stalled { waiting: Vec::new() },
            true if pause.at < limit => Progress::Paused,
            true => Progress::Reached,
            false if events <= pause.events => Progress::EventLimit,
            false => Progress::Paused,
        }
    }

    /// Everything up to `end`, of a part: what no other part takes part in.
    pub(crate) fn run_window(&mut self, end: Time) {
        while self.handle_until(end, self.auditing.next_at).is_some() {
            self.audit_part();
        }
    }

    /// Does what ports do without being asked to up to `at`. True when that let one act now, as the end of a link that woke
    /// meanwhile does: there may be events before `at` then.
    fn advance_to(&mut self, at: Time) -> bool {
        self.fabric.advance_all(at);
        let somebody_acts = !self.fabric.ready.is_empty();
        self.finish_event();
        somebody_acts
    }

    /// Tells the workloads what happened and, unless something else happens at this instant that comes before, lets the ports that
    /// became able to send do so, until both are quiet.
    ///
    /// Neither is an event, so no limit of a run ends this: it is bounded here.
    #[inline(always)]
    fn finish_event(&mut self) {
        if !self.fabric.ready.is_empty() || !self.fabric.notices.is_empty() {
            self.until_quiet();
        }
    }

    #[inline(never)]
    fn until_quiet(&mut self) {
        for _ in 0..MOST_AT_ONE_INSTANT {
            if !self.fabric.notices.is_empty() {
                self.deliver_notices();
            } else if let Some(port) = self.fabric.ready.first() {
                let turn = Event::Wake(port).pack().rank();
                if self.fabric.engine.next_now().is_some_and(|next| next.rank() <= turn) {
                    return; // It is an event, and what waits here comes after it.
                }
                self.fabric.ready.take_first();
                self.fabric.on_wake(port);
            } else {
                return;
            }
        }
        let (at, seed, port) = (self.fabric.now(), self.fabric.seed, self.fabric.ready.first());
        panic!("no end of what happens at {at:?}, seed {seed}: {port:?} acts again and again");
    }

    fn deliver_notices(&mut self) {
        while let Some((workload, event)) = self.fabric.notices.pop_front() {
            self.fabric.current = workload;
            self.workloads[workload.0 as usize].handle(event, &mut self.fabric);
        }
    }

    /// Changes settings while the run goes on, at `at`, up to which everything has happened: those of the fabric become what
    /// `config` says, and each workload that is named gets new settings of its kind. The change is told under `name`.
    ///
    /// Other settings than [`FabricConfig::with_live_settings_of`] has, and than a workload takes, must be as they were.
    pub fn change(&mut self, at: Time, name: String, config: &FabricConfig, workloads: &[(usize, &dyn Any)]) {
        self.fabric.engine.wait_until(at);
        self.fabric.take_live_settings(config);
        for (index, to) in workloads {
            self.fabric.current = WorkloadId(*index as u32);
            self.workloads[*index].change(*to, &mut self.fabric);
        }
        self.fabric.changed_from_outside(name);
        self.finish_event();
    }

    /// How the threads of a [shared](Self::share) run got on so far; none on one thread.
    pub fn shared(&self) -> Option<SharedRun> {
        let crew = self.crew.as_ref()?;
        let Reached { windows, longest_way, .. } = crew.reached();
        Some(SharedRun { windows, window: crew.window(), longest_way })
    }

    /// Whether every workload with an end of its own has reached it; none when there is no such workload.
    pub fn have_ended(&self) -> Option<bool> {
        self.workloads.iter().filter_map(|workload| workload.has_ended()).reduce(|all, one| all && one)
    }

    #[cfg(test)]
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Up to when everything has happened: in a [shared](Self::share) run the end of the last window, else the last event.
    pub fn happened_until(&self) -> Time {
        match &self.crew {
            None => self.fabric.now(),
            Some(crew) => Time::from_ticks(crew.reached().before.ticks().saturating_sub(1)),
        }
    }

    /// Events handled so far.
    pub fn events_handled(&self) -> u64 {
        match &self.crew {
            None => self.fabric.engine.events_handled(),
            Some(crew) => crew.reached().events,
        }
    }
}

impl Fabric {
    #[inline]
    fn handle(&mut self, event: PackedEvent) {
        match event.as_wake() {
            Some(port) => self.on_wake(port),
            None => match event.unpack() {
                Event::Arrival(port) => self.on_arrival(port),
                event => self.handle_rare(event),
            },
        }
    }

    #[inline(never)]
    fn handle_rare(&mut self, event: Event) {
        match event {
            Event::Wake(port) => self.on_wake(port),
            Event::Arrival(port) => self.on_arrival(port),
            Event::ReplayTimer(port) => self.on_replay_timer(port),
            Event::Timer(index) => self.on_timer(index),
            Event::Entry(stack) => self.on_entry(stack),
            Event::Cxl(step) => self.on_cxl(step),
            Event::CxlSend(place) => self.cxl_sends(place),
            Event::Watch(index) => {
                let watch = self.watches.take(index);
                self.on_watch(watch);
            }
        }
    }
}

/// Ports that act and rounds of notices within one event: a thousand times as many as a large fabric has ports.
const MOST_AT_ONE_INSTANT: u32 = 1 << 26;
