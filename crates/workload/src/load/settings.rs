//! The settings of a load: what a scenario asks for, and all that others may ask of it.
//!
//! A kind of load is its settings, which implement [`LoadConfig`], and the instrument that they make. Scenarios
//! and runs hold loads by this trait. The search for limits reads the settings of some kinds (`of_kind`), as what is
//! to be edited is theirs; so does the scenario with those of plain DMA, to see whose memory a device deals with.

use super::LoadName;
use lanewise_fabric::workload::{DeviceId, Workload};
use lanewise_fabric::{HostPart, ResourceId};
use lanewise_observe::WorkloadEntry;
use lanewise_units::{Bytes, Rate, Span};
use std::any::Any;
use std::collections::HashSet;
use std::fmt::{self, Debug, Formatter};

/// An endpoint that a flow reads from or writes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reached<'a> {
    /// Name of the flow.
    pub flow: &'a str,
    /// The device that asks; none where each device of the flow may.
    pub by: Option<DeviceId>,
    /// The endpoint.
    pub device: DeviceId,
}

/// A core of a host on which software of a flow runs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OnCore {
    /// Name of the flow.
    pub flow: String,
    /// The host.
    pub host: DeviceId,
    /// Which of its cores.
    pub core: HostPart,
}

/// For which parts of the time what is asked for holds a flow up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HeldUp {
    /// The device that is asked, or that asks.
    pub device: DeviceId,
    /// All that may be outstanding is; none where something else of the load decides how much that is.
    pub outstanding: Option<f64>,
    /// Nothing is asked for; none where what asks does so at once.
    pub paused: Option<f64>,
}

/// An edit of a scenario that makes something of a load larger: parameters, each of them a step further.
#[derive(Clone, PartialEq, Debug)]
pub struct Draft {
    /// What it does, in words.
    pub what: &'static str,
    /// Parameters, by whose they are and by their keys there; one that a scenario does not have is passed over.
    pub parameters: Vec<(Owner, &'static str)>,
    /// How each becomes another one.
    pub step: Step,
    /// Whether it is only those whose value the resource, in saying how much there is of it, states; all where it states none.
    pub is_stated: bool,
}

/// What several edits do, in words.
pub(crate) const DATA_PATH: &str = "twice the rate of the device's data path";

/// Whose parameter one is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// That of the component that has the resource.
    Resource,
    /// A device's.
    Device(DeviceId),
    /// That of the host at the top of the tree that a device is in.
    HostAbove(DeviceId),
    /// A workload's.
    Workload(WorkloadEntry),
}

/// How a value becomes another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Step {
    Double,
    Halve,
    Tenth,
}

/// The settings of one load.
pub trait LoadConfig: Any + Alike + Send + Sync {
    /// The instrument, at rest.
    fn build(&self) -> Box<dyn Workload>;

    /// A copy.
    fn boxed(&self) -> Box<dyn LoadConfig>;

    /// Each tool that the load stands for, in the order of [`Workload::reports`].
    fn tools(&self) -> Vec<Tool>;

    /// Operations that it may have open at a time, each with the parameters that say so.
    fn demands(&self) -> Vec<Demand> {
        Vec::new()
    }

    /// Names of flows, each with the operations that it may have open at a time. A flow that is in none of these may have any number,
    /// or does not hold itself back.
    fn open_at_most(&self) -> Vec<(String, u64)> {
        Vec::new()
    }

    /// Its devices, if it asks for nothing but DMA between them and memory of the host, keeps nothing that anybody reads after a run, and
    /// goes on for as long as it is let: then it may run on a thread of its own ([`lanewise_fabric::Apart`]). None for all others.
    fn apart(&self) -> Option<Vec<DeviceId>> {
        None
    }

    /// When it first changes the machine, after the start of the run; none if it never does.
    fn first_change(&self) -> Option<Span> {
        None
    }

    /// Endpoints that its flows read from or write to.
    fn targets(&self) -> Vec<Reached<'_>> {
        Vec::new()
    }

    /// Name of the network whose wire at a switch a resource is, and whether both ends of that are at switches.
    fn network_of(&self, resource: &ResourceId) -> Option<(&str, bool)> {
        let _ = resource;
        None
    }

    /// Of each flow over a network with switches, by name: the resources of switches that its packets may use, either way. What is
    /// in none of these lists may be used by all.
    fn ways(&self) -> Vec<(String, Vec<ResourceId>)> {
        Vec::new()
    }

    /// Flows through which the same data go, as of an adapter at either end of a wire, by their names; a flow of several devices may be
    /// several. What holds one of them up, holds up all.
    fn transfers(&self) -> Vec<Vec<String>> {
        Vec::new()
    }

    /// Those of its flows of which one message is under way at a time, by name: what is on the wires between their ends goes one way at a
    /// time, and in turn.
    fn in_turn(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Cores of hosts that it has among its resources, with the flows whose software runs on each. No other flow is held up by them.
    fn cores(&self) -> Vec<OnCore> {
        Vec::new()
    }

    /// Devices that it has leave a host or come to one: their links are down for a part of the run.
    fn moved(&self) -> Vec<DeviceId> {
        Vec::new()
    }

    /// Whether all that its devices write is posted and goes with nothing else: no request that waits for a completion.
    fn posts_only(&self) -> bool {
        false
    }

    /// What holds its flow up, where the load knows that better than the engines of the device, with what was measured of the flow. None
    /// where they know.
    fn held_up(&self, operations_per_s: f64, latency_ns: f64) -> Option<HeldUp> {
        let _ = (operations_per_s, latency_ns);
        None
    }

    /// Endpoints whose memory other devices address, each with the longest transfer there.
    fn peer_memory(&self) -> Vec<(DeviceId, Bytes)> {
        Vec::new()
    }

    /// Keeps more operations outstanding at a device. None when it keeps none there.
    fn more_outstanding(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        let _ = (device, larger);
        None
    }

    /// Keys of one of its workloads that change nothing, or are refused, as its other settings are.
    fn idle_keys(&self, name: &str) -> &'static [&'static str] {
        let _ = name;
        &[]
    }

    /// Asks a device again sooner: pauses between what it is asked for are shorter. None when it makes none there.
    fn shorten_pauses(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        let _ = (device, larger);
        None
    }

    /// Makes wires beyond a device, which are not PCI Express, faster. None when it has none there.
    fn faster_wires(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        let _ = (device, larger);
        None
    }

    /// Makes an adapter quicker: what it takes for a message, out and in, beside what messages wait for. None when the device is none.
    fn quicker_adapters(&mut self, device: DeviceId, larger: &mut Enlarge) -> Option<()> {
        let _ = (device, larger);
        None
    }

    /// These settings, with what may change while the load is at work as in `other`; the load began with `first`. A copy where nothing
    /// may change. What differs then is what [`Workload::change`] takes.
    fn retuned(&self, other: &dyn LoadConfig, first: &dyn LoadConfig) -> Box<dyn LoadConfig> {
        let _ = (other, first);
        self.boxed()
    }

    /// Makes a shared resource of its own larger, one of [`Workload::resources`]. None when it has no such one that can be larger.
    fn enlarge(&mut self, resource: &ResourceId, larger: &mut Enlarge) -> Option<()> {
        let _ = (resource, larger);
        None
    }

    /// Edits that make a shared resource of its own larger, the likeliest first: the parameters that say what [`Self::enlarge`] changes. None
    /// of software, whose costs are in several groups of a host.
    fn edits(&self, resource: &ResourceId) -> Vec<Draft> {
        let _ = resource;
        Vec::new()
    }
}

/// Equality with settings whose kind is not known.
pub trait Alike {
    /// Whether the others are of the same kind, and the same.
    fn is_as(&self, other: &dyn Any) -> bool;
}

impl<C: Any + PartialEq> Alike for C {
    fn is_as(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}

impl PartialEq for dyn LoadConfig {
    fn eq(&self, other: &Self) -> bool {
        Alike::is_as(self, other)
    }
}

/// Only the tools: settings are long, and of no use in this form.
impl Debug for dyn LoadConfig {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.tools().fmt(formatter)
    }
}

impl Clone for Box<dyn LoadConfig> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

impl dyn LoadConfig {
    /// The settings, if they are of this kind.
    pub fn of_kind<C: LoadConfig>(&self) -> Option<&C> {
        (self as &dyn Any).downcast_ref()
    }

    /// The same, to be changed.
    pub fn of_kind_mut<C: LoadConfig>(&mut self) -> Option<&mut C> {
        (self as &mut dyn Any).downcast_mut()
    }
}

/// A tool that a load stands for, as results name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tool {
    /// Its name in results.
    pub name: String,
    /// Which workload it is of; none where it is of all that the load stands for.
    pub entry: Option<WorkloadEntry>,
    /// Its `kind` there.
    pub kind: &'static str,
}

impl Draft {
    /// An edit of one parameter.
    pub(crate) fn one(what: &'static str, owner: Owner, key: &'static str, step: Step) -> Self {
        Self { what, parameters: vec![(owner, key)], step, is_stated: false }
    }

    /// An edit of parameters of the component that has the resource.
    pub(crate) fn own(what: &'static str, keys: &[&'static str], step: Step) -> Self {
        let parameters = keys.iter().map(|key| (Owner::Resource, *key)).collect();
        Self { what, parameters, step, is_stated: false }
    }

    /// Those of them that the resource states.
    pub(crate) fn stated(self) -> Self {
        Self { is_stated: true, ..self }
    }
}

impl Tool {
    /// A tool of a workload.
    pub(crate) fn of(name: &LoadName, kind: &'static str) -> Self {
        Self { name: name.to_string(), entry: Some(name.entry()), kind }
    }

    /// What all workloads of a load have together.
    pub(crate) fn of_all(name: &str, kind: &'static str) -> Self {
        Self { name: name.to_owned(), entry: None, kind }
    }
}

/// Operations that a load may have open at a time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Demand {
    /// How many.
    pub operations: u64,
    /// The parameters that say so, as a product of paths.
    pub of: String,
}

/// Makes settings so many times larger, each once: what asks for more may share a setting with what asked before.
#[derive(Debug)]
pub struct Enlarge {
    times: u32,
    /// Settings that are larger already, by where they lie.
    done: HashSet<usize>,
}

impl Enlarge {
    /// Nothing is larger yet.
    pub fn new(times: u32) -> Self {
        Self { times, done: HashSet::new() }
    }

    /// A number of things.
    pub fn count(&mut self, number: &mut u32) {
        if self.is_new(number) {
            *number = number.saturating_mul(self.times);
        }
    }

    /// A buffer.
    pub fn bytes(&mut self, bytes: &mut Bytes) {
        if self.is_new(bytes) {
            *bytes = Bytes::new(bytes.get().saturating_mul(self.times.into()));
        }
    }

    /// A rate.
    pub fn rate(&mut self, rate: &mut Rate) {
        if self.is_new(rate) {
            *rate = Rate::from_bytes_per_second(rate.bytes_per_second().saturating_mul(self.times.into()));
        }
    }

    /// A time that something takes: divided.
    pub fn shorten(&mut self, span: &mut Span) {
        if self.is_new(span) {
            *span = Span::from_ticks(span.ticks() / u64::from(self.times));
        }
    }

    /// Several of them.
    pub fn shorten_all<const N: usize>(&mut self, spans: [&mut Span; N]) {
        spans.into_iter().for_each(|span| self.shorten(span));
    }

    fn is_new<T>(&mut self, setting: &T) -> bool {
        self.done.insert(std::ptr::from_ref(setting).addr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings of two kinds, which no test runs.
    #[derive(Clone, PartialEq)]
    struct Asked<const KIND: u8>(u32);

    impl<const KIND: u8> LoadConfig for Asked<KIND> {
        fn build(&self) -> Box<dyn Workload> {
            unreachable!("no test runs it")
        }
        fn boxed(&self) -> Box<dyn LoadConfig> {
            Box::new(self.clone())
        }
        fn tools(&self) -> Vec<Tool> {
            vec![Tool::of_all("asked", "kind")]
        }
    }

    #[test]
    fn settings_are_the_same_if_their_kind_and_their_values_are() {
        let one: Box<dyn LoadConfig> = Box::new(Asked::<0>(7));
        assert!(*one == *one.clone());
        for other in [Asked::<0>(8).boxed(), Asked::<1>(7).boxed()] {
            assert!(*one != *other);
        }
    }

    #[test]
    fn what_is_asked_for_twice_becomes_larger_once() {
        let mut larger = Enlarge::new(10);
        let (mut count, mut rate, mut span) = (3, Rate::from_bytes_per_second(7), Span::from_ticks(1_000));
        for _ in 0..2 {
            larger.count(&mut count);
            larger.rate(&mut rate);
            larger.shorten(&mut span);
        }
        assert_eq!((count, rate.bytes_per_second(), span.ticks()), (30, 70, 100));
    }
}
