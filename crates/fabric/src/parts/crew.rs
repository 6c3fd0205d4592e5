//! Threads that simulate parts, and what the simulation that drives them asks of them.
//!
//! Each thread builds its own simulation of the whole fabric and keeps it; orders come to it as closures. Between two calls that run the
//! simulation, all tallies lie together in the first part, where they are read as if there were no others.

use super::border::Border;
use super::exchange::{Exchange, Mail, Part, Reached, Report, Until};
use super::plan::Plan;
use super::{Apart, NotShared};
use crate::config::FabricConfig;
use crate::fabric::Fabric;
use crate::simulation::Simulation;
use lanewise_observe::{Shells, Tallies};
use lanewise_units::{Span, Time};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

type Order = Box<dyn FnOnce(&mut Simulation) + Send>;

/// What comes of an order; or the panic that it ended with.
type Answer<R> = Receiver<std::thread::Result<R>>;

/// A part on a thread of its own.
struct Worker {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

/// All parts but the first.
pub(crate) struct Crew {
    plan: Plan,
    exchange: Arc<Exchange>,
    workers: Vec<Worker>,
    reached: Reached,
    /// While the tallies lie together, what is left of those of each part.
    together: Option<Shells>,
    audits: u64,
}

/// Tells the others when a part is given up.
struct GivesUp(Arc<Exchange>);

impl Drop for GivesUp {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.give_up();
        }
    }
}

impl Crew {
    /// Shares a simulation among so many threads at most. `order` is that in which workloads start.
    ///
    /// # Errors
    /// Why it cannot be shared.
    pub(crate) fn new(
        config: &FabricConfig,
        fabric: &mut Fabric,
        threads: usize,
        mut workloads: Vec<Option<Apart>>,
        order: &[usize],
    ) -> Result<Self, NotShared> {
        let plan = Plan::new(config, fabric, threads, &workloads)?;
        let exchange = Arc::new(Exchange::new(plan.parts, plan.window));
        let config = Arc::new(config.clone());
        let worker = |part: usize| -> Result<Worker, NotShared> {
            let of_part = order.iter().filter(|index| usize::from(plan.of_workload[**index]) == part);
            let makers: Vec<Apart> = of_part.filter_map(|index| workloads[*index].take()).collect();
            let border = Border::new(part, &plan.owners.ports, &plan.links);
            let config = Arc::clone(&config);
            let (orders, inbox) = channel::<Order>();
            let work = move || {
                let mut simulation = Simulation::build(&config).expect("it was built before");
                makers.iter().for_each(|apart| {
                    simulation.add_workload((apart.make)());
                });
                simulation.fabric.become_part(border);
                inbox.into_iter().for_each(|order| order(&mut simulation));
            };
            let thread = std::thread::Builder::new().name(format!("part {part}")).spawn(work);
            let thread = thread.map_err(|error| NotShared::NoThread(error.to_string()))?;
            Ok(Worker { orders: Some(orders), thread: Some(thread) })
        };
        let workers = (1..plan.parts).map(worker).collect::<Result<_, _>>()?;
        fabric.become_part(Border::new(0, &plan.owners.ports, &plan.links));
        Ok(Self { plan, exchange, workers, reached: Reached::NOTHING, together: None, audits: 0 })
    }

    pub(crate) fn parts(&self) -> usize {
        self.plan.parts
    }

    /// How far parts may run ahead of each other.
    pub(crate) fn window(&self) -> Span {
        self.plan.window
    }

    /// Whether a workload runs on another thread.
    pub(crate) fn has(&self, workload: usize) -> bool {
        self.plan.of_workload[workload] != 0
    }

    /// Has every other part do something, all at once, and returns what came of it, in the order of parts.
    pub(crate) fn ask<R: Send + 'static>(
        &self,
        what: impl Fn(&mut Simulation) -> R + Send + Sync + 'static,
    ) -> Vec<R> {
        self.ask_each(std::iter::repeat_n((), self.workers.len()).collect(), move |simulation, ()| {
            what(simulation)
        })
    }

    /// The same, with something for each.
    fn ask_each<A: Send + 'static, R: Send + 'static>(
        &self,
        arguments: Vec<A>,
        what: impl Fn(&mut Simulation, A) -> R + Send + Sync + 'static,
    ) -> Vec<R> {
        let answers = self.order(arguments, what);
        self.answers(answers)
    }

    fn order<A: Send + 'static, R: Send + 'static>(
        &self,
        arguments: Vec<A>,
        what: impl Fn(&mut Simulation, A) -> R + Send + Sync + 'static,
    ) -> Vec<Answer<R>> {
        let what = Arc::new(what);
        let give = |(worker, argument): (&Worker, A)| {
            let (answer, answers) = channel();
            let (what, exchange) = (Arc::clone(&what), Arc::clone(&self.exchange));
            let order: Order = Box::new(move |simulation| {
                let answered = catch_unwind(AssertUnwindSafe(|| what(simulation, argument)));
                if answered.is_err() {
                    exchange.give_up();
                }
                // When another part was given up, no answer is read any more.
                let _ = answer.send(answered);
            });
            let _ = worker.orders.as_ref().expect("it is at work").send(order);
            answers
        };
        self.workers.iter().zip(arguments).map(give).collect()
    }

    /// What parts have answered. A part that panics ends all with what it said.
    fn answers<R>(&self, answers: Vec<Answer<R>>) -> Vec<R> {
        let answered =
            answers.into_iter().map(|answer| answer.recv().expect("a part is there as long as the crew"));
        let answered: Vec<_> = answered.collect();
        answered.into_iter().map(|answer| answer.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    }

    /// Starts the workloads of other parts, and the first part with `start_own`: by workload, as many flows as each has added.
    pub(crate) fn start(
        &mut self,
        order: &[usize],
        start_own: impl FnOnce() -> Vec<(usize, usize)>,
    ) -> Vec<(usize, usize)> {
        let started = self.order(vec![(); self.workers.len()], |simulation, ()| simulation.start_part());
        let own = start_own();
        let mut parts = vec![own];
        parts.extend(self.answers(started));
        let mut next: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
        let mut added = Vec::with_capacity(order.len());
        for index in order.iter().copied() {
            let part = usize::from(self.plan.of_workload[index]);
            let (_, flows) = next[part].next().expect("every workload has started");
            added.push((index, flows));
            self.plan.owners.flows.extend(std::iter::repeat_n(part as u16, flows));
        }
        added
    }

    /// Runs all parts.
    pub(crate) fn run(&mut self, own: &mut Simulation, until: Until) -> Reached {
        self.part_tallies(own);
        let (reached, exchange) = (self.reached, Arc::clone(&self.exchange));
        let arguments = (1..self.plan.parts).collect();
        let answers =
            self.order(arguments, move |simulation, me| exchange.run(simulation, me, reached, until));
        let exchange = Arc::clone(&self.exchange);
        let gives_up = GivesUp(Arc::clone(&self.exchange));
        let result = exchange.run(own, 0, reached, until);
        drop(gives_up);
        self.answers(answers);
        self.reached = result.expect("a part that gave up has said so");
        self.reached
    }

    /// How far all parts are.
    pub(crate) fn reached(&self) -> Reached {
        self.reached
    }

    /// Audits of other parts so far.
    pub(crate) fn audits(&self) -> u64 {
        self.audits
    }

    /// Everything up to `at` is accounted for in every part, as in `what`, which the first part does here.
    pub(crate) fn each(
        &mut self,
        own: &mut Simulation,
        what: impl Fn(&mut Simulation) + Send + Sync + Copy + 'static,
    ) {
        self.part_tallies(own);
        let answers = self.order(vec![(); self.workers.len()], move |simulation, ()| {
            what(simulation);
            simulation.own_audits()
        });
        what(own);
        self.audits = self.answers(answers).into_iter().sum();
        self.gather_tallies(own);
    }

    /// Puts all tallies into the first part.
    pub(crate) fn gather_tallies(&mut self, own: &mut Simulation) {
        if self.together.is_none() {
            let answers =
                self.order(vec![(); self.workers.len()], |simulation, ()| simulation.fabric.observers.lend());
            let mut parts = vec![own.fabric.observers.lend()];
            parts.extend(self.answers(answers));
            let (all, shells) = Tallies::together(parts, &self.plan.owners);
            own.fabric.observers.take_back(all);
            self.together = Some(shells);
        }
    }

    /// Gives every part its tallies again.
    pub(crate) fn part_tallies(&mut self, own: &mut Simulation) {
        if let Some(shells) = self.together.take() {
            let mut parts = own.fabric.observers.lend().apart(shells, &self.plan.owners).into_iter();
            own.fabric.observers.take_back(parts.next().expect("the first part"));
            self.ask_each(parts.collect(), |simulation, tallies| {
                simulation.fabric.observers.take_back(tallies)
            });
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.exchange.give_up();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // If it panicked, it has said so.
            let _ = thread.join();
        }
    }
}

impl Part for Simulation {
    fn run(&mut self, end: Time) {
        self.run_window(end);
    }

    fn send(&mut self, end: Time, mail: &mut [Mail]) -> Report {
        let sent = self.fabric.put_into_mail(end, mail);
        self.fabric.how_far(sent)
    }

    fn take(&mut self, end: Time, mail: &mut Mail) {
        self.fabric.take_mail(end, mail);
    }
}

/// The latest instant that parts are asked for: one window more is a time, too.
pub(crate) const LATEST: Time = Time::from_ticks(u64::MAX - Span::from_ms(1).ticks());
