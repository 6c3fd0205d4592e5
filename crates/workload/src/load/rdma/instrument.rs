//! All tools over one network as one instrument: which tool gets which event.

use super::driver::{At, Driver, Kinds, ToolNeeds};
use super::osu::{Osu, OsuConfig};
use super::perftest::{Perftest, PerftestConfig};
use super::transactions::{Transactions, TransactionsConfig};
use crate::device::rdma::NicPort;
use crate::device::rdma::RdmaNetwork;
use crate::device::rdma::RdmaNetworkConfig;
use crate::load::LoadName;
use crate::ports::{Event, Instrument, Ports, called_by_fabric, split};
use crate::server::asked_for;
use crate::token::{Joined, Token};
use lanewise_fabric::ResourceReading;
use lanewise_fabric::workload::{Metric, Workload};
use lanewise_units::Time;

/// Settings of a tool.
#[derive(Clone, Debug, PartialEq)]
pub enum RdmaToolConfig {
    /// `ib_write_bw` and the like.
    Perftest(PerftestConfig),
    /// `osu_bw` and the like.
    Osu(OsuConfig),
    /// Requests and responses over TCP.
    Transactions(TransactionsConfig),
}

impl RdmaToolConfig {
    /// Its name.
    pub fn name(&self) -> &LoadName {
        match self {
            Self::Perftest(config) => &config.name,
            Self::Osu(config) => &config.name,
            Self::Transactions(config) => &config.name,
        }
    }

    /// The two ports that it runs between.
    pub fn ports(&self) -> [NicPort; 2] {
        match self {
            Self::Perftest(config) => config.ports,
            Self::Osu(config) => config.ports,
            Self::Transactions(config) => config.ports,
        }
    }

    /// Kind of its report.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Perftest(_) => "perftest",
            Self::Osu(_) => "osu",
            Self::Transactions(_) => "transactions",
        }
    }
}

/// Settings of a network and the tools over it.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RdmaConfig {
    /// Adapters and wires.
    pub network: RdmaNetworkConfig,
    /// Tools.
    pub tools: Vec<RdmaToolConfig>,
}

#[derive(Debug)]
enum Tool {
    Perftest(Box<Perftest>),
    Osu(Box<Osu>),
    Transactions(Box<Transactions>),
}

/// Does the same with whatever tool it is.
macro_rules! each {
    ($tool:expr, $driver:ident => $act:expr) => {
        match $tool {
            Tool::Perftest($driver) => $act,
            Tool::Osu($driver) => $act,
            Tool::Transactions($driver) => $act,
        }
    };
}

/// The instrument.
#[derive(Debug)]
pub struct RdmaWorkload {
    network: RdmaNetwork,
    tools: Vec<Tool>,
    /// Tool of each end.
    owners: Vec<u32>,
}

impl RdmaWorkload {
    /// A network at rest.
    ///
    /// # Panics
    /// When a wire or a tool makes no sense; see [`RdmaNetwork::new`] and the tools.
    pub fn new(config: RdmaConfig) -> Self {
        let tools = config.tools.into_iter().map(|tool| match tool {
            RdmaToolConfig::Perftest(config) => Tool::Perftest(Box::new(Perftest::new(config))),
            RdmaToolConfig::Osu(config) => Tool::Osu(Box::new(Osu::new(config))),
            RdmaToolConfig::Transactions(config) => Tool::Transactions(Box::new(Transactions::new(config))),
        });
        Self { network: RdmaNetwork::new(config.network), tools: tools.collect(), owners: Vec::new() }
    }
}

impl<M: ToolNeeds> Instrument<M> for RdmaWorkload {
    type Kind = Kinds;

    fn begin(&mut self, ports: &mut Ports<'_, M, Kinds>) {
        self.network.begin(&mut ports.second());
        for (number, tool) in self.tools.iter_mut().enumerate() {
            let mut at = At { network: &mut self.network, ports: ports.again(), tool: number as u32 };
            each!(tool, driver => driver.connect(&mut at));
            self.owners.resize(self.network.end_count(), number as u32);
        }
        for (number, tool) in self.tools.iter_mut().enumerate() {
            let mut at = At { network: &mut self.network, ports: ports.again(), tool: number as u32 };
            each!(tool, driver => driver.start(&mut at));
        }
    }

    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M, Kinds>) {
        match split(event) {
            Joined::First(timer) => {
                let Token { subject: detail, detail: number, .. } = timer.token();
                let mut at = At { network: &mut self.network, ports: ports.again(), tool: number };
                each!(&mut self.tools[number as usize], driver => driver.timer(detail, &mut at));
            }
            Joined::Second(event) => self.network.react(event, &mut ports.second()),
        }
        while let Some(completion) = self.network.poll() {
            let number = self.owners[completion.end.0 as usize];
            let mut at = At { network: &mut self.network, ports: ports.again(), tool: number };
            each!(&mut self.tools[number as usize], driver => driver.completion(completion, &mut at));
        }
    }
}

impl Workload for RdmaWorkload {
    called_by_fabric!();

    fn reports(&self, window: (Time, Time)) -> Vec<Vec<Metric>> {
        let report = |tool: &Tool| each!(tool, driver => driver.report(window));
        self.tools.iter().map(report).collect()
    }

    /// A run goes on until every tool has something to report; how much longer is for the run to say.
    fn has_ended(&self) -> Option<bool> {
        let measured = |tool: &Tool| each!(tool, driver => driver.has_measured());
        if self.tools.iter().all(measured) { None } else { Some(false) }
    }

    fn resources(&self, at: Time) -> Vec<ResourceReading> {
        let threads = self.tools.iter().flat_map(|tool| each!(tool, driver => driver.threads(at)));
        threads.chain(self.network.resources(at)).filter(asked_for).collect()
    }

    fn held(&self) -> u64 {
        self.network.held()
    }

    fn start_measuring(&mut self, now: Time) {
        for tool in &mut self.tools {
            each!(tool, driver => driver.start_measuring(now));
        }
    }
}
