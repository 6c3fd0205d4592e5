//! What an instrument needs of the machine it runs on, and the shape that every instrument has.
//!
//! The fabric is the platform of a run. Instruments are written against the trait, so that their own mechanisms
//! can be tested on a platform whose answers are plain arithmetic.

use lanewise_engine::random::RandomStream;
use lanewise_fabric::Fabric;
use lanewise_fabric::config::EngineConfig;
use lanewise_fabric::workload::{ChannelId, DeviceId, Transfer, WorkloadEvent};
use lanewise_observe::{FlowId, FlowSpec, RequesterState};
use lanewise_units::{Bytes, Span, Time};

/// Moves bytes and keeps time for an instrument. Each method is the one of [`Fabric`] with the same name.
pub trait Platform {
    /// The present.
    fn now(&self) -> Time;
    /// Asks for [`WorkloadEvent::Timer`] at `at`, which is not before now.
    fn set_timer(&mut self, at: Time, token: u64);
    /// A new queue of transfers of `device`.
    fn open_channel(&mut self, device: DeviceId) -> ChannelId;
    /// The same, of a traffic class other than the device's own. A platform without channels knows no classes.
    fn open_channel_of(&mut self, device: DeviceId, traffic_class: u8) -> ChannelId {
        let _ = traffic_class;
        self.open_channel(device)
    }
    /// The same, with a DMA engine of its own. A platform without requests has no use for its units.
    fn open_channel_with(&mut self, device: DeviceId, engine: &EngineConfig) -> ChannelId {
        let _ = engine;
        self.open_channel(device)
    }
    /// Queues a transfer.
    fn submit(&mut self, channel: ChannelId, transfer: Transfer);
    /// A CPU write that ends as [`WorkloadEvent::MmioWriteArrived`].
    fn mmio_write(&mut self, device: DeviceId, bytes: Bytes, token: u64);
    /// A CPU read that ends as [`WorkloadEvent::MmioReadDone`].
    fn mmio_read(&mut self, device: DeviceId, bytes: Bytes, token: u64);
    /// Declares a flow in the results.
    fn add_flow(&mut self, spec: FlowSpec) -> FlowId;
    /// Counts payload of a flow that did not travel as a transfer.
    fn payload_delivered(&mut self, flow: FlowId, payload: Bytes);
    /// Counts an operation of a flow and its latency.
    fn operation_done(&mut self, flow: FlowId, latency: Span);
    /// States what `device` waits for while it asks for nothing; results show it as what held the device back. A
    /// platform without results need not listen.
    fn waits_for(&mut self, device: DeviceId, state: RequesterState) {
        let _ = (device, state);
    }
    /// Whether nothing of `device` is under way. A platform without links says yes.
    fn is_at_rest(&mut self, device: DeviceId) -> bool {
        let _ = device;
        true
    }
    /// Takes the link of `device`, which is at rest, down.
    fn disconnect(&mut self, device: DeviceId) {
        let _ = device;
    }
    /// Lets the link of `device` come up.
    fn connect(&mut self, device: DeviceId) {
        let _ = device;
    }
    /// So many changes of the machine are to come.
    fn expect_changes(&mut self, count: usize) {
        let _ = count;
    }
    /// A change of the machine: results tell what was before from what is after, under this name.
    fn changed(&mut self, name: String) {
        let _ = name;
    }
    /// The random stream of this name; the same name gives the same draws.
    fn random_stream(&self, path: &str, purpose: &str) -> RandomStream;
}

/// A workload as a state machine over any platform.
pub trait Instrument {
    /// Called once, at the start of the run.
    fn begin<P: Platform>(&mut self, platform: &mut P);
    /// Called for each event that belongs to the instrument.
    fn react<P: Platform>(&mut self, event: WorkloadEvent, platform: &mut P);
}

impl Platform for Fabric {
    #[inline]
    fn now(&self) -> Time {
        Fabric::now(self)
    }

    #[inline]
    fn set_timer(&mut self, at: Time, token: u64) {
        Fabric::set_timer(self, at, token);
    }

    fn open_channel(&mut self, device: DeviceId) -> ChannelId {
        Fabric::open_channel(self, device)
    }

    fn open_channel_of(&mut self, device: DeviceId, traffic_class: u8) -> ChannelId {
        Fabric::open_channel_of(self, device, traffic_class)
    }

    fn open_channel_with(&mut self, device: DeviceId, engine: &EngineConfig) -> ChannelId {
        Fabric::open_channel_with(self, device, engine)
    }

    #[inline]
    fn submit(&mut self, channel: ChannelId, transfer: Transfer) {
        Fabric::submit(self, channel, transfer);
    }

    #[inline]
    fn mmio_write(&mut self, device: DeviceId, bytes: Bytes, token: u64) {
        Fabric::mmio_write(self, device, bytes, token);
    }

    #[inline]
    fn mmio_read(&mut self, device: DeviceId, bytes: Bytes, token: u64) {
        Fabric::mmio_read(self, device, bytes, token);
    }

    fn add_flow(&mut self, spec: FlowSpec) -> FlowId {
        Fabric::add_flow(self, spec)
    }

    #[inline]
    fn payload_delivered(&mut self, flow: FlowId, payload: Bytes) {
        Fabric::payload_delivered(self, flow, payload);
    }

    #[inline]
    fn operation_done(&mut self, flow: FlowId, latency: Span) {
        Fabric::operation_done(self, flow, latency);
    }

    fn waits_for(&mut self, device: DeviceId, state: RequesterState) {
        Fabric::waits_for(self, device, state);
    }

    fn is_at_rest(&mut self, device: DeviceId) -> bool {
        Fabric::is_at_rest(self, device)
    }

    fn disconnect(&mut self, device: DeviceId) {
        Fabric::disconnect(self, device);
    }

    fn connect(&mut self, device: DeviceId) {
        Fabric::connect(self, device);
    }

    fn expect_changes(&mut self, count: usize) {
        Fabric::expect_changes(self, count);
    }

    fn changed(&mut self, name: String) {
        Fabric::changed(self, name);
    }

    fn random_stream(&self, path: &str, purpose: &str) -> RandomStream {
        Fabric::random_stream(self, path, purpose)
    }
}
