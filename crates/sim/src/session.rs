//! A run that one can stop anywhere, look into, change, and let go on. [`crate::run`] is a loop over it.
//!
//! ```
//! use lanewise_scenario::Source;
//! use lanewise_sim::{Ends, Session};
//! use lanewise_units::{Span, Time};
//!
//! let text = r#"
//!     [host.server]
//!     slots = { slot1 = "gen3 x8" }
//!     [endpoint.nic]
//!     attach = "server.slot1"
//!     generation = "gen3"
//!     width = "x8"
//!     [[workload]]
//!     kind = "dma"
//!     name = "reads"
//!     device = "nic"
//!     direction = "read"
//!     size = "4 KiB"
//!     outstanding = 1
//! "#;
//! let mut session = Session::load(Source::from_text("nic.toml", text), &[], Ends::AtItsLimits).expect("sound");
//! session.step(Time::ZERO + Span::from_us(100));
//! let before = session.state().flows[0].last.goodput_gb_per_s;
//! session.change("server.memory_latency", "5 us").expect("a latency may change");
//! session.step(Time::ZERO + Span::from_us(300));
//! assert!(session.state().flows[0].last.goodput_gb_per_s < before / 4.0);
//! ```
//!
//! There is no thread, clock, file or signal in it: the caller decides how much is done at a time, with [`Session::advance`]
//! by events where the caller has a screen to draw. So it is the same in a browser.
//!
//! A stop is no look at the simulation, so a run in pieces is the run in one piece, event for event, on any link; `state` only
//! reads. Results need all time accounted for, which is a look: what goes on after them is done again from the start to the same
//! place, so that they change nothing either. That costs what the run has cost so far.

use crate::bit_errors::BitErrors;
use crate::progress::RunProgress;
use crate::results::{ParameterChange, Results};
use crate::run_limits::EndReason;
use crate::runner::{Piece, Run};
use crate::state::{Looks, State};
use crate::{build, limits_of};
use lanewise_fabric::{AssemblyError, Pause, Simulation};
use lanewise_observe::{Fingerprint, Observer};
use lanewise_scenario::{Changed, ChangedValue, Diagnostics, Scenario, Source, change, load};
use lanewise_units::Time;
use std::any::Any;
use std::borrow::Cow;

/// Whether a run ends when its results are narrow enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// When they are, as `lanewise run` does.
    WhenNarrow,
    /// At the limits of time, events and memory only, or when its workloads are done.
    AtItsLimits,
}

/// Whether a session goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It stopped where it was told to.
    Paused,
    /// The run is over.
    Over,
}

/// A scenario at work.
pub struct Session<'a> {
    /// As it was at the start.
    first: Cow<'a, Scenario>,
    /// Where it was read from; none for a session that cannot change.
    written: Option<Written>,
    changes: Vec<Change>,
    ends: Ends,
    simulation: Simulation,
    run: Run,
    now: Time,
    looks: Looks,
    /// Its results were read before its end: the simulation is accounted for up to now.
    is_settled: bool,
}

/// Where a scenario was read from, with overrides, those that came later included.
struct Written {
    source: Source,
    overrides: Vec<(String, String)>,
}

/// A change that was made while the run went on.
struct Change {
    at: Time,
    values: Vec<ChangedValue>,
    /// What it is from then on.
    scenario: Scenario,
}

impl Session<'static> {
    /// Reads a scenario, with overrides, and puts it at rest at its start.
    ///
    /// # Errors
    /// Every problem of the scenario.
    ///
    /// # Panics
    /// Never: a scenario without problems is a forest of devices.
    pub fn load(source: Source, overrides: &[(String, String)], ends: Ends) -> Result<Self, Diagnostics> {
        let scenario = load(&source, overrides)?;
        let made = Self::at_rest(Cow::Owned(scenario), ends);
        let mut session = made.expect("resolving has excluded what cannot be built");
        session.written = Some(Written { source, overrides: overrides.to_vec() });
        Ok(session)
    }
}

impl<'a> Session<'a> {
    /// A scenario at rest at its start.
    ///
    /// # Errors
    /// When the scenario's devices do not form trees, or their BARs do not fit; resolving a scenario has excluded that.
    pub fn of(scenario: &'a Scenario, ends: Ends) -> Result<Self, AssemblyError> {
        Self::at_rest(Cow::Borrowed(scenario), ends)
    }

    fn at_rest(scenario: Cow<'a, Scenario>, ends: Ends) -> Result<Self, AssemblyError> {
        let simulation = build(&scenario)?;
        let run = Run::new(limits_of(&scenario, ends), BitErrors::of(&simulation, &scenario.fabric));
        Ok(Self {
            first: scenario,
            written: None,
            changes: Vec::new(),
            ends,
            simulation,
            run,
            now: Time::ZERO,
            looks: Looks::default(),
            is_settled: false,
        })
    }

    /// The scenario, with all changes that were made.
    pub fn scenario(&self) -> &Scenario {
        self.changes.last().map_or(&self.first, |change| &change.scenario)
    }

    /// How far it has come: everything up to then has happened.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Why it is over; none while it can go on.
    pub fn end_reason(&self) -> Option<&EndReason> {
        self.run.outcome().filter(|_| !self.is_settled).map(|outcome| &outcome.reason)
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.simulation.events_handled()
    }

    /// Hash of what went over the links so far.
    pub fn trajectory(&self) -> u64 {
        self.simulation.fabric.observers().fingerprint()
    }

    /// Goes on until everything up to `until` has happened, or to the end of the run.
    pub fn step(&mut self, until: Time) -> Status {
        self.advance(until, u64::MAX)
    }

    /// The same, and stops after so many events at the latest, which may be in the middle of an instant.
    pub fn advance(&mut self, until: Time, events: u64) -> Status {
        self.go_on_after_results();
        let last_event = self.events().saturating_add(events);
        loop {
            let pause = Pause { at: until, events: last_event.saturating_sub(self.events()) };
            match self.piece(pause) {
                Piece::Long => {}
                Piece::Paused => return Status::Paused,
                Piece::Over => return Status::Over,
            }
        }
    }

    /// A part of a run after which the caller wants to hear of it.
    pub(crate) fn piece(&mut self, pause: Pause) -> Piece {
        let last_event = self.events().saturating_add(pause.events);
        let piece = self.run.go(&mut self.simulation, pause);
        let happened = self.simulation.happened_until();
        self.now = match piece {
            // Nothing more happens before the pause, unless it ended for the number of events.
            Piece::Paused if self.events() < last_event && pause.at != Time::NEVER => self.now.max(pause.at),
            // The end of a stretch lies behind it although nothing may have happened then, and counting began there.
            Piece::Paused | Piece::Long => self.now.max(happened).max(self.run.reached_until()),
            Piece::Over => self.run.outcome().map_or(happened, |outcome| outcome.end),
        };
        piece
    }

    pub(crate) fn progress(&self) -> RunProgress<'_> {
        RunProgress::new(&self.simulation, self.now, self.run.limits().time_limit, self.run.measuring_since())
    }

    /// What is there now, and what has happened since the last call. Reads only.
    pub fn state(&mut self) -> State {
        let progress = RunProgress::new(
            &self.simulation,
            self.now,
            self.run.limits().time_limit,
            self.run.measuring_since(),
        );
        let end_reason = self.run.outcome().filter(|_| !self.is_settled).map(|outcome| outcome.reason.name());
        let scenario = self.changes.last().map_or(&*self.first, |change| &change.scenario);
        crate::state::read(scenario, (&self.simulation, &progress), end_reason, &mut self.looks)
    }

    /// Results of the run, or, before its end, those of a run that is interrupted here. The session can go on.
    pub fn results(&mut self) -> Results {
        self.finish_instant();
        self.end_here();
        self.read()
    }

    /// The same, of a session that does not go on.
    pub fn finish(mut self) -> Results {
        self.end_here();
        self.read()
    }

    fn read(&self) -> Results {
        let outcome = self.run.outcome().expect("it was ended");
        let mut results = crate::read(self.scenario(), &self.simulation, outcome, self.run.limits());
        results.fingerprint = format!("{:016x}", self.fingerprint());
        results.changes = self.changes();
        results
    }

    /// Lets one more observer hear every fact from now on; it is not there any more in a session that goes on after results.
    pub(crate) fn listen(&mut self, observer: Box<dyn Observer>) {
        self.simulation.fabric.add_observer(observer);
    }

    pub(crate) fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    pub(crate) fn simulation_mut(&mut self) -> &mut Simulation {
        &mut self.simulation
    }

    /// Ends the run where it is, with all time accounted for, if it has not ended.
    pub(crate) fn end_here(&mut self) {
        if self.run.outcome().is_none() {
            self.run.end(&mut self.simulation, EndReason::Interrupted, self.now);
            self.is_settled = true;
        }
    }

    /// Everything at the present instant has happened.
    fn finish_instant(&mut self) {
        if !self.is_settled {
            self.step(self.now);
        }
    }

    /// Comes to the same place again in a simulation whose time is not accounted for.
    fn go_on_after_results(&mut self) {
        if !std::mem::take(&mut self.is_settled) {
            return;
        }
        let now = self.now;
        self.simulation = build(&self.first).expect("it was built before");
        let bit_errors = BitErrors::of(&self.simulation, &self.first.fabric);
        self.run = Run::new(limits_of(&self.first, self.ends), bit_errors);
        let changes = std::mem::take(&mut self.changes);
        for change in changes {
            self.step(change.at);
            self.make(change);
        }
        self.step(now);
    }

    /// Changes a parameter from now on: a path and a value as an override has them. What became another value; nothing when it was
    /// that already. Which parameters may change is in the reference, docs/reference/live.md.
    ///
    /// # Errors
    /// Problems of the path and the value, and `fixed-in-a-run` for what may not change, or not now. Nothing is changed then.
    ///
    /// # Panics
    /// When the session was made of a scenario that was read already, with [`Self::of`].
    pub fn change(&mut self, path: &str, value: &str) -> Result<Vec<ChangedValue>, Diagnostics> {
        self.go_on_after_results();
        self.finish_instant();
        if self.run.outcome().is_some() {
            return Err(lanewise_scenario::over(self.scenario(), path, value));
        }
        let Written { source, overrides } = self.written.as_ref().expect("read by the session itself");
        let Changed { scenario, values } =
            change(source, overrides, (&self.first, self.scenario()), (path, value))?;
        if !values.is_empty() {
            self.make(Change { at: self.now, values: values.clone(), scenario });
            let written = self.written.as_mut().expect("as before");
            written.overrides.push((path.to_owned(), value.to_owned()));
        }
        Ok(values)
    }

    fn make(&mut self, change: Change) {
        let before = self.scenario().workloads.iter().zip(&change.scenario.workloads).enumerate();
        let differ = before.filter(|(_, (before, after))| before != after);
        let workloads: Vec<(usize, &dyn Any)> =
            differ.map(|(at, (_, after))| (at, &**after as &dyn Any)).collect();
        let named = |value: &ChangedValue| format!("{} = {}", value.path, value.after);
        let name = change.values.iter().map(named).collect::<Vec<_>>().join(", ");
        self.simulation.change(change.at, name, &change.scenario.fabric, &workloads);
        self.run.disturb(BitErrors::of(&self.simulation, &change.scenario.fabric));
        self.changes.push(change);
    }

    /// Every change so far, in order.
    pub fn changes(&self) -> Vec<ParameterChange> {
        let of = |change: &Change| {
            let at = change.at - Time::ZERO;
            let one = move |value: &ChangedValue| ParameterChange {
                at_s: at.as_seconds(),
                at_ticks: at.ticks(),
                path: value.path.clone(),
                before: value.before.clone(),
                after: value.after.clone(),
            };
            change.values.iter().map(one).collect::<Vec<_>>()
        };
        self.changes.iter().flat_map(of).collect()
    }

    /// Hash of what went over the links so far, and of the changes that were made; of the first alone where there were none.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Fingerprint::default();
        let nothing = hash.value();
        for change in &self.changes {
            for value in &change.values {
                // Letter by letter, each at its place: the sum of hashes does not mind their order.
                let letters = value.path.bytes().chain([0]).chain(value.after.bytes());
                letters
                    .zip(0_u64..)
                    .for_each(|(letter, place)| hash.mix(change.at, place << 8 | u64::from(letter)));
            }
        }
        self.trajectory().wrapping_add(hash.value().wrapping_sub(nothing))
    }
}
