//! A candidate and what speaks for it, and which of several is the first to be suspected.
//!
//! Errors that cost most of the time are first; else what is in use nearly all the time ([`SATURATED`]), a wire before others as much in
//! use; else what is waited for most. The rest of the rules is for what is full because of something else: see [`select_suspect`].

use super::candidate::{Candidate, OfDevice, OfDirection};
use lanewise_fabric::ResourceKind;
use lanewise_fabric::config::FabricConfig;

/// A candidate and the share of the time that speaks for it.
#[derive(Clone, Debug)]
pub(crate) struct Suspect {
    pub(crate) candidate: Candidate,
    pub(crate) share: f64,
    /// The share is of time in use, rather than of time that requests waited for it.
    pub(crate) in_use: bool,
    /// Of a wire: requests wait for it most of the time, however much it is used. Of software of copies: the device waits for it.
    pub(super) contended: bool,
    /// Of credits and buffers: the part of the time in which their link direction, or wire, is in use or blocked.
    pub(crate) occupied: f64,
    /// How much there is of a resource, or is open of a load that holds itself back.
    pub(super) limit: String,
}

/// Candidates of the same kind and size with close shares: enlarged together.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) members: Vec<Suspect>,
    /// Goodput of the flows that it is the first suspect of.
    pub(super) weight: f64,
    /// Name of those flows, where the same data go through all of them.
    pub(super) transfer: Option<String>,
}

/// In use for more of the time than this, no other part can bring more than a ninth.
pub(crate) const SATURATED: f64 = 0.9;
/// Uses that differ by less are the same.
const TIE: f64 = 0.005;
/// Shares of alike candidates that differ by less.
pub(super) const ALIKE: f64 = 0.05;
/// Credits, or silence after TLPs, that are waited for in less of the time are not what keeps a link direction from being free: more
/// of them brings what is waited, over what the wire is used, which is a sixth here and no more than what the wire itself would.
const LEAST_SHORT: f64 = 0.15;
/// Credits that are waited for in less of the time hold nothing back.
pub(crate) const LEAST_HELD: f64 = 0.02;
/// In use or blocked for more of the time, a direction is never free.
pub(crate) const NEVER_FREE: f64 = 0.98;
/// A state that a requester is in for more of the time.
pub(super) const MOSTLY: f64 = 0.5;

impl Suspect {
    pub(super) fn in_use(candidate: Candidate, share: f64) -> Self {
        Self { candidate, share, in_use: true, contended: false, occupied: 0.0, limit: String::new() }
    }

    pub(super) fn waited_for(candidate: Candidate, share: f64) -> Self {
        Self { candidate, share, in_use: false, contended: false, occupied: 0.0, limit: String::new() }
    }

    /// A resource that no share of time speaks for, and how much there is of it.
    pub(super) fn of_resource(candidate: Candidate, limit: &str) -> Self {
        Self { limit: limit.to_owned(), ..Self::waited_for(candidate, 0.0) }
    }

    /// Whether these are credits for which a wire waits whenever it is not in use.
    fn keeps_busy(&self) -> bool {
        let is_credits = matches!(self.candidate, Candidate::Direction(_, OfDirection::Credits(_)));
        is_credits && self.share >= LEAST_HELD && self.occupied >= NEVER_FREE
    }

    /// How far behind the limit it may be, where all wait as long: what works, then what is taken while something else works, then reads
    /// under way, which wait for room, and what is outstanding or asked, which all of those hold up.
    fn depth(&self) -> u8 {
        match self.candidate {
            Candidate::Resource { ref id, .. } if id.kind() == ResourceKind::OutstandingReads => 2,
            Candidate::Resource { ref id, .. } if id.kind().is_held() => 1,
            Candidate::Device(_, OfDevice::Window | OfDevice::Demand) => 3,
            _ => 0,
        }
    }

    /// Whether room in it is kept for what is still being read: it is full, too, where tags or memory are why that takes long.
    fn keeps_room(&self) -> bool {
        use ResourceKind::{AdapterBuffer, OutstandingReads};
        matches!(self.candidate.resource_kind(), Some(AdapterBuffer | OutstandingReads))
    }

    /// Whether it is a cache of translations, which is tried and never named without a proof.
    pub(super) fn is_cache(&self) -> bool {
        self.candidate.resource_kind().is_some_and(ResourceKind::keeps_translations)
    }

    /// How one sees it, in words.
    pub(super) fn evidence(&self) -> String {
        let percent = self.share * 100.0;
        match &self.candidate {
            Candidate::Device(_, OfDevice::Demand) if !self.limit.is_empty() => self.limit.clone(),
            Candidate::Device(_, OfDevice::Demand) => format!("nothing to do {percent:.1} % of the time"),
            Candidate::Device(_, OfDevice::Tags) => format!("all in use {percent:.1} %"),
            Candidate::Device(_, OfDevice::Window) => format!("at its limit {percent:.1} %"),
            Candidate::Direction(_, OfDirection::Errors) => {
                format!("it trains again or sends again {percent:.1} % of the time")
            }
            Candidate::WakeUp { .. } => format!("it wakes {percent:.1} % of the time"),
            Candidate::Direction(_, OfDirection::ReplayTimer) => {
                format!("it sends again what has arrived {percent:.1} % of the time")
            }
            _ if self.in_use => format!("in use {percent:.1} %"),
            _ => format!("waited for {percent:.1} %"),
        }
    }

    /// What it is, in words.
    pub(crate) fn words(&self, fabric: &FabricConfig) -> String {
        self.candidate.words(fabric, &self.limit)
    }
}

impl Group {
    /// Candidates that no share of time speaks for, as one group; none when there are none.
    pub(crate) fn of(candidates: impl Iterator<Item = Candidate>) -> Option<Self> {
        let members: Vec<Suspect> = candidates.map(|one| Suspect::waited_for(one, 0.0)).collect();
        (!members.is_empty()).then(|| Self::alike(members))
    }

    /// Candidates that are alike.
    pub(super) fn alike(members: Vec<Suspect>) -> Self {
        Self { members, weight: 0.0, transfer: None }
    }

    /// It is the first suspect of one more flow.
    pub(super) fn join(&mut self, weight: f64, transfer: Option<&str>) {
        self.weight += weight;
        if self.transfer.as_deref() != transfer {
            self.transfer = None;
        }
    }

    /// Whether it limits more than another, or as much and is in use all the time, where the other is not: of the two ends of a
    /// transfer, which have a flow each, one may see no more than that its data leave slowly.
    pub(super) fn leads(&self, other: &Self) -> bool {
        let is_saturated = |group: &Self| group.members[0].in_use && group.members[0].share >= SATURATED;
        // One end may begin or end to count a little later than the other.
        let same = self.transfer.is_some() && self.transfer == other.transfer;
        let close = same || (self.weight - other.weight).abs() <= ALIKE * self.weight.max(other.weight);
        match (close, is_saturated(self), is_saturated(other)) {
            (true, true, false) => true,
            (true, false, true) => false,
            // Which of two is a trifle heavier is chance where both are full, and another at each point of a sweep: the fuller one, else the
            // first stays.
            (true, true, true) => self.members[0].share > other.members[0].share + TIE,
            _ => self.weight > other.weight,
        }
    }

    /// What it consists of.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.members.iter().map(|member| &member.candidate)
    }

    /// Highest share of its members.
    pub(crate) fn share(&self) -> f64 {
        self.members.iter().map(|member| member.share).fold(0.0, f64::max)
    }
}

/// Errors that cost more than half of the time: whatever else waits, waits for what does not get through.
pub(super) fn choose_errors(suspects: impl Iterator<Item = Suspect>) -> Option<Suspect> {
    let errors = suspects.filter(|suspect| {
        matches!(suspect.candidate, Candidate::Direction(_, OfDirection::Errors)) && suspect.share > MOSTLY
    });
    errors.reduce(|worst, next| if next.share > worst.share { next } else { worst })
}

/// The first suspect: errors that cost most of the time; else what is in use nearly all the time, a wire before others as much in use; else the credits that keep a link
/// direction blocked whenever it is not in use: it is never free, and what a device has outstanding waits there; else what is
/// waited for most.
pub(super) fn select_suspect(mut suspects: Vec<Suspect>) -> Option<Suspect> {
    suspects.retain(|suspect| !suspect.is_cache());
    if let Some(errors) = choose_errors(suspects.iter().cloned()) {
        return Some(errors);
    }
    let in_use = suspects.iter().filter(|suspect| suspect.in_use);
    let used = in_use.map(|suspect| suspect.share).fold(0.0, f64::max);
    fn most<'a>(best: &'a Suspect, next: &'a Suspect) -> &'a Suspect {
        if next.share > best.share { next } else { best }
    }
    if used < SATURATED {
        let never_free = |suspect: &&Suspect| suspect.occupied >= SATURATED && suspect.share >= LEAST_SHORT;
        let waits = suspects.iter().filter(|suspect| !suspect.in_use || suspect.contended);
        let blocked = suspects.iter().filter(never_free).filter(|suspect| !suspect.keeps_room());
        let first = blocked.reduce(most).or_else(|| {
            let wait = |suspect: &Suspect| if never_free(&suspect) { 1.0 } else { suspect.share };
            let longest = waits.clone().map(wait).fold(0.0, f64::max);
            let as_long = waits.filter(|suspect| wait(suspect) >= longest - ALIKE);
            as_long.min_by(|a, b| a.depth().cmp(&b.depth()).then(b.share.total_cmp(&a.share)))
        });
        return first.filter(|suspect| suspect.share > 0.0).cloned();
    }
    let is_wire = |suspect: &Suspect| {
        let of_cxl = suspect.candidate.resource_kind() == Some(ResourceKind::CxlWire);
        of_cxl || matches!(suspect.candidate, Candidate::Direction(_, OfDirection::Wire))
    };
    let tied = suspects.iter().filter(|suspect| suspect.in_use && suspect.share >= used - TIE);
    let mut wires = tied.clone().filter(|suspect| is_wire(suspect));
    // A wire that is never free, and what it is not used for waits for credits: a faster one would wait for them, too, and wires
    // behind it get no more. Unless something else has little time left, which is then why credits come late.
    let is_other = |suspect: &Suspect| suspect.in_use && suspect.share >= SATURATED && !is_wire(suspect);
    let others = suspects.iter().any(is_other);
    // The credits of a wire follow it.
    let mut at = None;
    let credits = suspects.iter().filter(|suspect| {
        if is_wire(suspect) {
            at = suspect.candidate.direction().filter(|_| suspect.share >= used - TIE);
        }
        !others && suspect.keeps_busy() && at.is_some() && suspect.candidate.direction() == at
    });
    let credits = credits.reduce(most);
    credits.or_else(|| wires.next()).or_else(|| tied.min_by_key(|suspect| suspect.depth())).cloned()
}

#[cfg(test)]
mod tests {
    use super::super::candidate::LinkDirection;
    use super::*;
    use lanewise_pcie::tlp::FlowClass;

    fn upstream(link: usize, what: OfDirection) -> Candidate {
        Candidate::Direction(LinkDirection { link, upstream: true }, what)
    }

    /// A flow passes a link that is free for a while, then one as much in use that waits for credits for the rest of the time.
    #[test]
    fn of_wires_in_use_as_much_the_one_that_waits_for_credits_tells() {
        let wires = [(0, 0.960), (1, 0.958)];
        let wires = wires.map(|(link, share)| Suspect::in_use(upstream(link, OfDirection::Wire), share));
        let credits = upstream(1, OfDirection::Credits(FlowClass::Posted));
        let short = Suspect { occupied: 1.0, ..Suspect::waited_for(credits.clone(), 0.042) };
        let chosen =
            |suspects: &[Suspect]| select_suspect(suspects.to_vec()).map(|suspect| suspect.candidate);
        assert_eq!(chosen(&wires), Some(upstream(0, OfDirection::Wire)));
        for order in [[0, 1], [1, 0]] {
            let with_credits = order.into_iter().flat_map(|link: usize| {
                let own = (link == 1).then(|| short.clone());
                std::iter::once(wires[link].clone()).chain(own)
            });
            assert_eq!(chosen(&with_credits.collect::<Vec<_>>()), Some(credits.clone()));
        }
    }
}
