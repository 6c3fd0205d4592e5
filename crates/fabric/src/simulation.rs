//! The run: the one `match` over events, what is done at the end of each, and when to stop.

use crate::audit::Discrepancy;
use crate::config::{FabricConfig, PortNames};
use crate::event::{Event, PackedEvent};
use crate::fabric::Fabric;
use crate::parts::crew::{Crew, LATEST};
use crate::parts::{Apart, NotShared, Reached, SharedRun, Until};
use crate::port::{Port, PortId};
use crate::resources::ResourceReading;
use crate::server::Book;
use crate::waiters::Waiter;
use crate::workload::{Metric, Workload, WorkloadId};
use lanewise_engine::Event as _;
use lanewise_units::{Span, SpanSum, Time, order};
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
    /// Events after which the books are audited next.
    audit_at: u64,
    audits: u64,
    /// Events after which what takes longer is looked at next.
    look_closely_at: u64,
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
            audit_at: AUDIT_EVERY,
            audits: 0,
            look_closely_at: 0,
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

    fn order_of_start(&self) -> Vec<usize> {
        match self.start_order.is_empty() {
            true => (0..self.workloads.len()).collect(),
            false => self.start_order.clone(),
        }
    }

    fn start(&mut self) {
        let order = self.order_of_start();
        let started = match self.take_crew() {
            None => self.start_workloads(&order),
            Some(mut crew) => {
                let own: Vec<usize> = order.iter().copied().filter(|index| !crew.has(*index)).collect();
                let started = crew.start(&order, || self.start_workloads(&own));
                crew.gather_tallies(self);
                self.crew = Some(crew);
                started
            }
        };
        let added = started.into_iter().flat_map(|(index, flows)| std::iter::repeat_n(index, flows));
        self.added_by = added.collect();
        self.listed = (0..self.added_by.len()).collect();
        let flows = self.fabric.observers().flows();
        order::sort_by_key(&mut self.listed, |flow| (self.added_by[*flow], flows[*flow].spec.entry));
    }

    /// Wakes the ports of this part and starts these workloads. How many flows each has added.
    fn start_workloads(&mut self, order: &[usize]) -> Vec<(usize, usize)> {
        self.started = true;
        for id in (0..self.fabric.ports.len() as u32).map(PortId) {
            if self.fabric.has(id) {
                self.fabric.wake(id, Time::ZERO);
            }
        }
        let start = |index: &usize| {
            let before = self.fabric.observers().flows().len();
            self.fabric.current = WorkloadId(*index as u32);
            self.workloads[*index].start(&mut self.fabric);
            (*index, self.fabric.observers().flows().len() - before)
        };
        let started = order.iter().map(start).collect();
        self.finish_event();
        started
    }

    /// Starts as a part of another simulation.
    pub(crate) fn start_part(&mut self) -> Vec<(usize, usize)> {
        let order = self.order_of_start();
        self.start_workloads(&order)
    }

    /// Has the workloads start in another order than that in which they were added: their numbers, each once. Their flows are listed as
    /// if that were not so.
    ///
    /// # Panics
    /// When that is not every workload once.
    pub fn start_in_order(&mut self, order: Vec<usize>) {
        let mut sorted = order.clone();
        order::sort(&mut sorted);
        assert!(sorted.into_iter().eq(0..self.workloads.len()), "{order:?} is not every workload once");
        self.start_order = order;
    }

    /// The workload that added a flow, by its number.
    ///
    /// # Panics
    /// When it was not added by one, at the start of the run.
    pub fn added_by(&self, flow: usize) -> usize {
        self.added_by[flow]
    }

    /// Numbers of all flows in the order in which people read them: of their workloads as they were added, whichever started first, and
    /// within one of them by their [entries](lanewise_observe::WorkloadEntry).
    pub fn listed_flows(&self) -> impl Iterator<Item = usize> {
        let later = self.listed.len()..self.fabric.observers().flows().len();
        self.listed.iter().copied().chain(later)
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
        while self.handle_until(end, self.audit_at).is_some() {
            self.audit_part();
        }
    }

    /// Looks whether the run goes anywhere; how it ended if it does not.
    fn look(&mut self, now: Time) -> Option<Progress> {
        if self.fabric.engine.events_handled() >= self.audit_at {
            self.audit_part();
        }
        if !self.fabric.anything_open() || self.have_ended() == Some(true) {
            return Some(Progress::Finished);
        }
        if !self.fabric.made_progress(now) {
            return Some(Progress::Stalled { waiting: self.fabric.stall_report() });
        }
        None
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

    /// The warm-up ends at `at`: what was observed so far is forgotten.
    ///
    /// `at` is a time that [`Self::run_until`] has reached.
    pub fn start_measuring(&mut self, at: Time) {
        self.fabric.changes.start_measuring();
        self.stop_measuring(at);
        self.window_start = at;
        match self.take_crew() {
            None => self.measure_from(at),
            Some(mut crew) => {
                crew.each(self, move |part| part.measure_from(at));
                self.crew = Some(crew);
            }
        }
        for workload in &mut self.workloads {
            workload.start_measuring(at);
        }
        let readings = self.all_resources(at).into_iter();
        self.first_reading = readings.map(|(by, reading)| ((by, reading.name), reading.book)).collect();
    }

    /// The tallies of this part start again.
    fn measure_from(&mut self, at: Time) {
        let accounted: Vec<Time> = self.fabric.ports.iter().map(|port| port.transmitter.busy_until).collect();
        self.fabric.keep_delivered();
        self.fabric.observers.start_measuring(at, accounted.into_iter());
    }

    /// Every resource that was ever asked for, with what it has done in the window up to `until`.
    pub fn resources(&self, until: Time) -> Vec<ResourceReading> {
        let in_the_window = |(by, mut reading): (usize, ResourceReading)| {
            let of = (by, reading.name);
            let first = self.first_reading.get(&of).copied().unwrap_or_default();
            reading.name = of.1;
            reading.book = reading.book.since(&first);
            reading
        };
        self.all_resources(until).into_iter().map(in_the_window).collect()
    }

    /// With what counts each: the fabric, or which workload; loads of several tools on one host have cores of one name.
    fn all_resources(&self, at: Time) -> Vec<(usize, ResourceReading)> {
        let mut readings = self.fabric.resources((&self.names, &self.port_names), at);
        if let Some(crew) = self.crew.as_ref().filter(|_| SHARES) {
            let of_others = crew.ask(move |part| part.fabric.resources((&part.names, &part.port_names), at));
            readings.extend(of_others.into_iter().flatten());
            order::sort_by_key(&mut readings, |(device, _)| *device);
        }
        let of_fabric = readings.into_iter().map(|(_, reading)| (0, reading));
        let of_workloads = (1..).zip(&self.workloads);
        let of_workloads = of_workloads
            .flat_map(|(by, workload)| workload.resources(at).into_iter().map(move |reading| (by, reading)));
        of_fabric.chain(of_workloads).collect()
    }

    /// Accounts for all time up to `at`, so that results can be read.
    pub fn stop_measuring(&mut self, at: Time) {
        match self.take_crew() {
            None => self.account(at),
            Some(mut crew) => {
                crew.each(self, move |part| part.account(at));
                self.crew = Some(crew);
            }
        }
        if let Err(found) = self.fabric.audit_goodput(at, &self.names) {
            self.end_for(&found);
        }
        let (window, readings) = (at.saturating_since(self.window_start), self.resources(at));
        self.audit_use(window, &readings);
    }

    /// Accounts for all time up to `at` in this part, and audits it.
    fn account(&mut self, at: Time) {
        self.advance_to(at);
        self.fabric.settle_all(at);
        self.look_closely_at = 0;
        self.audit_part();
    }

    /// Checks that everything is conserved. A run does so by itself, every so many events, and when its results are read.
    ///
    /// Credits, sequence numbers, tags, bytes and time of every link direction, and that no more payload went over it than the
    /// closed form allows, in a flow neither; Little's law of requests; that no shared resource was used for more time than there was.
    ///
    /// # Panics
    /// When something is not conserved, which is a bug in this crate: with the seed, the event and the time, at which the run
    /// can be stopped again, and the place.
    pub fn audit(&mut self) {
        match self.take_crew() {
            None => self.audit_part(),
            Some(mut crew) => {
                crew.each(self, |part| part.audit_part());
                self.crew = Some(crew);
            }
        }
    }

    /// The same of this part.
    #[cold]
    fn audit_part(&mut self) {
        let events = self.fabric.engine.events_handled();
        self.audit_at = events + AUDIT_EVERY.max(EVENTS_PER_BOOK * self.fabric.books());
        self.audits += 1;
        if let Err(found) = self.fabric.audit() {
            self.end_for(&found);
        }
        if events >= self.look_closely_at {
            if let Err(found) = self.fabric.audit_closely() {
                self.end_for(&found);
            }
            let at = self.fabric.now();
            let readings = self
                .fabric
                .resources((&self.names, &self.port_names), at)
                .into_iter()
                .map(|(_, reading)| reading);
            let of_workloads = self.workloads.iter().flat_map(|workload| workload.resources(at));
            let readings: Vec<ResourceReading> = readings.chain(of_workloads).collect();
            self.audit_use(at - Time::ZERO, &readings);
            let entries = readings.len() as u64 * ENTRIES_PER_RESOURCE + self.fabric.packets.live() as u64;
            self.look_closely_at = events + EVENTS_PER_ENTRY * entries;
        }
    }

    /// Nothing is used for more time than there was in a span, all its places together.
    fn audit_use(&self, span: Span, readings: &[ResourceReading]) {
        for ResourceReading { name, places, book, .. } in readings {
            let most = SpanSum::from(span) * u64::from(*places);
            if book.busy > most {
                let what = format!("{name}: in use for {:?}, of {most:?} that there were", book.busy);
                self.end_for(&Discrepancy { port: None, what });
            }
        }
    }

    fn end_for(&self, found: &Discrepancy) -> ! {
        let place = found.port.map_or(String::new(), |port| {
            let place = self.fabric.place_of(port);
            format!("{}.{}: ", self.names[place.device], self.port_names[place.device][place.port])
        });
        let (seed, events, at) = (self.fabric.seed, self.fabric.engine.events_handled(), self.fabric.now());
        panic!("not conserved, seed {seed}, event {events}, at {at:?}: {place}{}", found.what);
    }

    #[cfg(test)]
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// How often the books were audited so far.
    pub fn audits(&self) -> u64 {
        self.audits + self.crew.as_ref().map_or(0, |crew| crew.audits())
    }

    /// Those of this part.
    pub(crate) fn own_audits(&self) -> u64 {
        self.audits
    }

    /// How the threads of a [shared](Self::share) run got on so far; none on one thread.
    pub fn shared(&self) -> Option<SharedRun> {
        let crew = self.crew.as_ref()?;
        let Reached { windows, longest_way, .. } = crew.reached();
        Some(SharedRun { windows, window: crew.window(), longest_way })
    }

    /// What the tools of each workload report, from the end of the warm-up to `until`.
    pub fn reports(&self, until: Time) -> Vec<Vec<Vec<Metric>>> {
        self.workloads.iter().map(|workload| workload.reports((self.window_start, until))).collect()
    }

    /// Memory that what is under way takes, in bytes, when there is a little more of it.
    pub fn bytes_under_way(&self) -> u64 {
        let own = self.workloads.iter().map(|workload| workload.bytes_under_way());
        let crew = self.crew.as_ref().filter(|_| SHARES);
        let others = crew.map(|crew| crew.ask(|part| part.bytes_under_way()));
        self.fabric.bytes_under_way() + own.chain(others.into_iter().flatten()).sum::<u64>()
    }

    /// Bytes that are held on their way: in ingress buffers, in caches of hosts, and then by the devices of each workload.
    pub fn held(&self) -> Vec<u64> {
        let levels = (0..self.fabric.ports.len()).flat_map(|port| self.fabric.observers.buffers(port));
        let ingress = levels.map(|level| u64::from(level.now())).sum();
        let crew = self.crew.as_ref().filter(|_| SHARES);
        let others = crew.map(|crew| crew.ask(|part| part.fabric.cached()));
        let cached = self.fabric.cached() + others.into_iter().flatten().sum::<u64>();
        let of_devices = self.workloads.iter().map(|workload| workload.held());
        [ingress, cached].into_iter().chain(of_devices).collect()
    }

    /// Whether every workload with an end of its own has reached it; none when there is no such workload.
    pub fn have_ended(&self) -> Option<bool> {
        self.workloads.iter().filter_map(|workload| workload.has_ended()).reduce(|all, one| all && one)
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

    /// Whether any component still waits for something.
    fn anything_open(&self) -> bool {
        self.transfers.open() > 0
            || self.mmio.taken() > 0
            || self.timers_pending() > 0
            || self.cxl.as_ref().is_some_and(|cxl| cxl.open() > 0)
    }

    /// TLPs have moved since the last look, or workloads are about to act.
    fn made_progress(&mut self, now: Time) -> bool {
        let hops = self.observers.tlp_hops();
        if hops != self.hops_seen || self.timers_pending() > 0 || self.anything_watched() {
            self.hops_seen = hops;
            self.progress_at = now;
        }
        now.saturating_since(self.progress_at) < self.stall_after
    }
}

/// A fabric on which nothing new has moved for so long, with requests open, is stalled: longer than any flow control period,
/// and on top of it the replays that two visits to Recovery take, where the slowest link is damaged again and again. A narrow
/// link in Flit Mode waits for more than a millisecond before each.
pub(crate) fn stall_after(ports: &[Port]) -> Span {
    let replays = |port: &Port| port.settings.replay_timer * 8 + port.settings.wire.recovery * 2;
    Span::from_ms(2) + ports.iter().map(replays).max().unwrap_or(Span::ZERO)
}

/// Events between two audits, at least; and at least so many for each of the books, so that in any fabric an audit takes a small
/// part of the time: `lanewise bench` says which.
const AUDIT_EVERY: u64 = 1 << 14;
const EVENTS_PER_BOOK: u64 = 128;

/// The same for what is looked at less often: packets that are there, and resources, which take longer because they have names.
const EVENTS_PER_ENTRY: u64 = 64;
const ENTRIES_PER_RESOURCE: u64 = 32;

/// Ports that act and rounds of notices within one event: a thousand times as many as a large fabric has ports.
const MOST_AT_ONE_INSTANT: u32 = 1 << 26;

/// Events between two looks at whether the run goes anywhere.
const LOOK_EVERY: u64 = 4096;
