//! Credits and their scale: given ones are checked, automatic ones are those of one credit loop.

use super::Inputs;
use super::computed::Computed;
use super::port::{End, packet, place_of_port, reach, receivers, update_latency};
use crate::parameter::{Output, Provenance};
use crate::parameters::ScaleChoice;
use crate::problem::Problem;
use crate::value::{Auto, Credit, ParameterType};
use lanewise_pcie::flit::FLIT_BYTES;
use lanewise_pcie::flow_control::{
    CreditPool, ReceiverKind, Scale, largest_advertisement, minimum_advertisement,
};
use lanewise_pcie::tlp::{DATA_CREDIT, FlowClass};
use lanewise_units::{Bytes, Generation, Span};

/// Payload of the packets that automatic header credits are made for.
/// Assumed: designers size header buffers for cache lines.
const SMALL_PAYLOAD: Bytes = Bytes::new(64);
/// What automatic credits add to the loop for the receiver's own work, on top of what its parameters say.
/// Assumed.
const LOOP_ALLOWANCE: Span = Span::from_ns(200);

/// In which steps each end tells of its credits, for posted, non-posted and completion: what is asked for, or the smallest that
/// the credits of the class fit in, where both ends can scale at all.
pub(super) fn scales(ends: &[End<'_>; 2]) -> [[Scale; 3]; 2] {
    // A port that is told to scale can; otherwise the rate tells.
    let able = |end: &End<'_>| match end.view.parameters.flow_control_scale {
        ScaleChoice::Off => false,
        ScaleChoice::Four | ScaleChoice::Sixteen => true,
        ScaleChoice::Auto => end.view.shape.generation >= Generation::Gen4,
    };
    let wish = |end: &End<'_>| match end.view.parameters.flow_control_scale {
        ScaleChoice::Off => [Scale::One; 3],
        ScaleChoice::Four => [Scale::Four; 3],
        ScaleChoice::Sixteen => [Scale::Sixteen; 3],
        ScaleChoice::Auto => wanted_credits(end).map(scale_for),
    };
    if ends.iter().all(able) { ends.each_ref().map(wish) } else { [[Scale::One; 3]; 2] }
}

fn scale_for((header, data): (u64, u64)) -> Scale {
    let fits = |scale: &Scale| {
        let most = largest_advertisement(*scale);
        most.header.is_none_or(|most| header <= most.into())
            && most.data.is_none_or(|most| data <= most.into())
    };
    Scale::ALL.into_iter().find(fits).unwrap_or(Scale::Sixteen)
}

/// Header and data credits of each class that this end would like to advertise, on any of its virtual channels: given ones, or
/// those of a loop.
fn wanted_credits(end: &End<'_>) -> [(u64, u64); 3] {
    let tables = [CreditTable::Vc0, CreditTable::BeyondVc0];
    let used = &tables[..end.channels.min(tables.len())];
    FlowClass::ALL.map(|class| {
        let most = |kind: usize| {
            let of = |table: &CreditTable| match pools(end, *table)[class.index()][kind] {
                Pool { given: Auto::Auto, automatic, .. } => automatic,
                Pool { given: Auto::Given(Credit::Infinite), .. } => 0,
                Pool { given: Auto::Given(Credit::Finite(credits)), .. } => credits.into(),
            };
            used.iter().map(of).max().unwrap_or(0)
        };
        (most(0), most(1))
    })
}

/// Header and data credits that keep the link busy for one credit loop, over a link of the length that the part is built for.
fn loop_credits(end: &End<'_>) -> (u64, u64) {
    loop_credits_over(end, reach(end))
}

/// The same over a link of some length, one way.
pub(super) fn loop_credits_over(end: &End<'_>, length: Span) -> (u64, u64) {
    let [packet, small] = [end.mps, SMALL_PAYLOAD].map(|payload| end.mode.wire_span(packet(payload)));
    let around = update_latency(end)
        + receivers(end)
        + length * 2
        + packet * 2
        + end.drain
        + LOOP_ALLOWANCE.max(flits_waited_for(end));
    let data = around.div_ceil(packet) * end.mps.div_ceil(DATA_CREDIT);
    (around.div_ceil(small), data)
}

/// What a loop takes longer in Flit Mode: packets reach into whole flits, an UpdateFC waits for one and rides in it, and the
/// next packet waits for one.
fn flits_waited_for(end: &End<'_>) -> Span {
    if !end.mode.flit {
        return Span::ZERO;
    }
    let packet = packet(end.mps);
    let padding = FLIT_BYTES * packet.div_ceil(FLIT_BYTES) - packet;
    end.mode.wire_span(FLIT_BYTES * 3 + padding * 2)
}

/// Which credits of a port.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CreditTable {
    Vc0,
    BeyondVc0,
}

impl CreditTable {
    /// Its key in the table of a port.
    const fn key(self) -> &'static str {
        match self {
            Self::Vc0 => "credits",
            Self::BeyondVc0 => "channels",
        }
    }
}

/// The six pools of one virtual channel, checked against what is legal.
pub(super) fn credits(
    inputs: &Inputs<'_>,
    end: &End<'_>,
    table: CreditTable,
    scales: [Scale; 3],
    computed: &mut Computed,
    output: &mut Output,
) -> [CreditPool; 3] {
    let pools = pools(end, table);
    FlowClass::ALL.map(|class| {
        let ([header, data], scale) = (&pools[class.index()], scales[class.index()]);
        let least = minimum_advertisement(class, end.mps, scale, end.receiver);
        // A port that counts where the specification says infinite still has to take a packet of full size.
        let counted = minimum_advertisement(class, end.mps, scale, ReceiverKind::Switch);
        let most = largest_advertisement(scale);
        let mut pool = |pool: &Pool, least, counted, most| match pool.given {
            Auto::Auto => automatic_pool(inputs, end, pool, (least, most), scale, computed),
            Auto::Given(Credit::Infinite) => None,
            Auto::Given(Credit::Finite(credits)) => {
                Some(given_pool(inputs, end, pool, (counted, most), credits, output))
            }
        };
        let header = pool(header, least.header, counted.header, most.header);
        let data = pool(data, least.data, counted.data, most.data);
        CreditPool { header, data }
    })
}

/// The pools of one virtual channel, headers and data of each class.
fn pools(end: &End<'_>, table: CreditTable) -> [[Pool; 2]; 3] {
    let given = match table {
        CreditTable::Vc0 => &end.view.parameters.credits,
        CreditTable::BeyondVc0 => &end.view.parameters.channels.credits,
    };
    let (header, data) = loop_credits(end);
    let posted = [
        Pool { key: "posted_header", table, given: given.posted_header, automatic: header },
        Pool { key: "posted_data", table, given: given.posted_data, automatic: data },
    ];
    let non_posted = [
        Pool { key: "non_posted_header", table, given: given.non_posted_header, automatic: header },
        Pool { key: "non_posted_data", table, given: given.non_posted_data, automatic: header },
    ];
    let completion = [
        Pool { key: "completion_header", table, given: given.completion_header, automatic: header },
        Pool { key: "completion_data", table, given: given.completion_data, automatic: data },
    ];
    [posted, non_posted, completion]
}

/// One of the six pools of a port.
struct Pool {
    /// Key in the table.
    key: &'static str,
    table: CreditTable,
    given: Auto<Credit>,
    /// What it comes to when it is not given and not infinite.
    automatic: u64,
}

impl Pool {
    /// Its key with that of the table.
    fn path(&self) -> String {
        format!("{}.{}", self.table.key(), self.key)
    }
}

/// Credits of an automatic pool: infinite where the specification says so, the credits of a loop elsewhere.
fn automatic_pool(
    inputs: &Inputs<'_>,
    end: &End<'_>,
    pool: &Pool,
    (least, most): (Option<u16>, Option<u16>),
    scale: Scale,
    computed: &mut Computed,
) -> Option<u16> {
    let Some(least) = least else {
        let source = "infinite at endpoints and root ports, PCIe Base 6.3 Table 2-50";
        computed.port(inputs, end.view, &pool.path(), Credit::Infinite.show(), Provenance::Spec, source);
        return None;
    };
    let step = u64::from(scale.factor());
    let most = u64::from(most.unwrap_or(u16::MAX));
    let credits =
        pool.automatic.div_ceil(step).saturating_mul(step).clamp(least.into(), most.max(least.into()));
    let source = "what keeps the link busy for one credit loop";
    computed.port(inputs, end.view, &pool.path(), credits.to_string(), Provenance::Assumed, source);
    u16::try_from(credits).ok()
}

/// A given pool. What is not legal is reported, and the nearest legal value stands for it: of an idle port, whose
/// problems that no reader sees, the credits have to be legal all the same.
fn given_pool(
    inputs: &Inputs<'_>,
    end: &End<'_>,
    pool: &Pool,
    (least, most): (Option<u16>, Option<u16>),
    credits: u32,
    output: &mut Output,
) -> u16 {
    let path = format!("{}.{}", end.view.path(inputs), pool.path());
    let found = credits.to_string();
    let place = || place_of_port(inputs, end.view, &[pool.table.key(), pool.key]);
    if let Some(least) = least.filter(|least| credits < u32::from(*least)) {
        let problem = Problem::TooFewCredits { path, found, allowed: least.to_string() };
        let hint = format!("PCIe Base 6.3 Table 2-50, for a payload of {}", end.mps);
        output.report(place(), problem, Some(hint));
    } else if let Some(most) = most.filter(|most| credits > u32::from(*most)) {
        let problem = Problem::TooManyCredits { path, found, allowed: most.to_string() };
        let hint =
            "more needs scaled flow control: both ends support gen4 and `flow_control_scale` is not \"off\"";
        output.report(place(), problem, Some(hint.to_owned()));
    }
    let (least, most) = (least.unwrap_or(1), most.unwrap_or(u16::MAX));
    u16::try_from(credits).unwrap_or(u16::MAX).clamp(least, most.max(least))
}
