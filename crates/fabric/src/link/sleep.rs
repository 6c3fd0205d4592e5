//! Sleep of a link, as the transmitter of one direction has it: since when it is silent, from when on it sleeps, when it is awake
//! (PCIe Base 6.3 §5.4.1).
//!
//! In L0s one direction sleeps, in L1 both. None of it happens by itself: the fabric asks when something is to be sent,
//! or when the books are settled, since when it slept.

use super::initialisation::LinkState;
use super::timer::Timer;
use super::transmitter::Transmitter;
use crate::config::{LinkPower, SleepConfig};
use lanewise_units::{Span, Time};

/// What a transmitter whose link may sleep remembers.
#[derive(Debug)]
pub(crate) struct Sleep {
    /// The last thing was sent before, if `busy_until` is still where the accounts of silence ended.
    idle_since: Time,
    /// Where the accounts of silence ended.
    accounted: Time,
    /// The wire can be used from then on.
    awake_at: Time,
    /// A link further down wakes, and this one is to follow from then on.
    called_at: Time,
}

/// What one end of a link knows of its own silence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Silence {
    /// Since when nothing was sent; [`Time::NEVER`] while it stays awake, because it comes up or something waits for credits.
    pub(crate) since: Time,
    /// Since when nothing that it sent waits for an Ack: the link stays out of L1 while something does.
    pub(crate) acknowledged_since: Time,
}

/// From when on a transmitter sleeps in which state, if nothing is sent; [`Time::NEVER`] for not at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EntryTimes {
    pub(crate) l0s: Time,
    pub(crate) l1: Time,
}

impl EntryTimes {
    /// It stays awake.
    pub(crate) const NEVER: Self = Self { l0s: Time::NEVER, l1: Time::NEVER };

    pub(crate) fn first(self) -> Time {
        self.l0s.min(self.l1)
    }
}

/// A sleep that something ends, with its exit latency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// This direction wakes.
    L0s(Span),
    /// Both wake.
    L1(Span),
}

impl Silence {
    /// Of a transmitter with this many TLPs or flits that are not acknowledged.
    pub(crate) fn of<T: Copy>(
        sleep: Option<&Sleep>,
        transmitter: &Transmitter<T>,
        unacknowledged: usize,
        replay_timer: Span,
    ) -> Self {
        let stays_awake = transmitter.state != LinkState::Active || !transmitter.waiting_for.is_none();
        let idle_since =
            sleep.map_or(transmitter.busy_until, |sleep| sleep.idle_since(transmitter.busy_until));
        let acknowledged_since = match (unacknowledged, transmitter.replay_deadline()) {
            (0, None) => Time::ZERO, // Nothing was ever sent.
            // The Ack started the replay timer anew.
            (0, Some(deadline)) => Time::ZERO + deadline.saturating_since(Time::ZERO + replay_timer),
            (_, _) => Time::NEVER,
        };
        Self { since: if stays_awake { Time::NEVER } else { idle_since }, acknowledged_since }
    }
}

impl Sleep {
    /// None for a link that stays awake.
    pub(crate) fn new(power: &LinkPower) -> Option<Box<Self>> {
        let sleep = Self {
            idle_since: Time::ZERO,
            accounted: Time::NEVER,
            awake_at: Time::ZERO,
            called_at: Time::NEVER,
        };
        (*power != LinkPower::default()).then(|| Box::new(sleep))
    }

    /// When it last sent something, or was woken, given up to when its wire is accounted for.
    pub(crate) fn idle_since(&self, busy_until: Time) -> Time {
        if self.accounted == busy_until { self.idle_since } else { busy_until }
    }

    /// Its time is accounted for up to `busy_until`, and it has been silent since `idle_since`.
    pub(crate) fn account(&mut self, idle_since: Time, busy_until: Time) {
        (self.idle_since, self.accounted) = (idle_since, busy_until);
    }

    /// When it falls asleep, if nothing is sent.
    pub(crate) fn entry_times(&self, power: &LinkPower, own: Silence, peer: Silence) -> EntryTimes {
        let after = |state: Option<SleepConfig>, silent_since: Time| match state {
            Some(state) if silent_since != Time::NEVER => silent_since + state.idle,
            _ => Time::NEVER,
        };
        let acknowledged_since = own.acknowledged_since.max(peer.acknowledged_since);
        EntryTimes {
            l0s: after(power.l0s, own.since),
            l1: after(power.l1, own.since.max(peer.since).max(acknowledged_since)),
        }
    }

    /// Which sleep something that is to be sent at `at` ends, if it sleeps then.
    pub(crate) fn exit_at(&self, power: &LinkPower, entry_times: EntryTimes, at: Time) -> Option<Exit> {
        match *power {
            LinkPower { l1: Some(state), .. } if entry_times.l1 < at => {
                Some(Exit::L1((entry_times.l1 + state.stay).saturating_since(at) + state.exit))
            }
            LinkPower { l0s: Some(state), .. } if entry_times.l0s < at => Some(Exit::L0s(state.exit)),
            _ => None,
        }
    }

    /// It begins to wake, and its wire can be used from then on.
    pub(crate) fn wakes_at(&mut self, awake_at: Time) {
        self.awake_at = awake_at;
        // Its silence counts from there, also where that takes no time and ends where the accounts of sleep did.
        self.account(awake_at, awake_at);
    }

    /// Whether its wire cannot be used yet at `now`.
    pub(crate) fn is_waking(&self, now: Time) -> bool {
        self.awake_at > now
    }

    /// The next link wakes, and this one follows from `at` on at the latest.
    pub(crate) fn call(&mut self, at: Time) {
        self.called_at = self.called_at.min(at);
    }

    /// When it follows the next link; [`Time::NEVER`] if that has not called.
    pub(crate) fn called_at(&self) -> Time {
        self.called_at
    }

    /// Whether it was called by `now`; then no longer.
    pub(crate) fn take_call(&mut self, now: Time) -> bool {
        let called = self.called_at <= now;
        if called {
            self.called_at = Time::NEVER;
        }
        called
    }

    /// When it acts next by itself, and why, if nothing is sent.
    pub(crate) fn next_deadline(&self, entry_times: EntryTimes, now: Time) -> (Time, Timer) {
        if self.is_waking(now) {
            return (self.awake_at, Timer::ExitFromSleep);
        }
        (entry_times.first().min(self.called_at), Timer::Sleep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::DllpSet;
    use crate::wire::WireTiming;
    use lanewise_pcie::flow_control::Scale;
    use lanewise_pcie::tlp::FlowClass;
    use lanewise_units::Bytes;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    const fn state(idle_us: u64, exit_us: u64) -> Option<SleepConfig> {
        Some(SleepConfig::new(Span::from_us(idle_us), Span::from_us(exit_us)))
    }

    const POWER: LinkPower = LinkPower { l0s: state(2, 1), l1: state(6, 8) };

    fn sleep() -> Sleep {
        *Sleep::new(&POWER).expect("it may sleep")
    }

    fn silent(since: u64) -> Silence {
        Silence { since: us(since), acknowledged_since: Time::ZERO }
    }

    #[test]
    fn a_link_that_may_not_sleep_has_no_state_for_it() {
        assert!(Sleep::new(&LinkPower::default()).is_none());
    }

    /// A transmitter by itself that has sent nothing: what of its link and of its credits keeps it awake.
    #[test]
    fn it_stays_awake_while_its_link_comes_up_or_something_waits_for_credits() {
        let wire = WireTiming::unconnected();
        let mut transmitter: Transmitter<u32> = Transmitter::new([Scale::One; 3], Bytes::from_kib(4), &wire);
        let since =
            |transmitter: &Transmitter<u32>| Silence::of(None, transmitter, 0, Span::from_us(10)).since;
        transmitter.waiting_for = DllpSet::NONE;
        assert_eq!(since(&transmitter), Time::NEVER, "it comes up");
        transmitter.become_active(Time::ZERO);
        assert_eq!(since(&transmitter), Time::ZERO);
        transmitter.waiting_for = DllpSet::update_of(0, FlowClass::Posted);
        assert_eq!(since(&transmitter), Time::NEVER, "a TLP waits");
    }

    #[test]
    fn l0s_is_of_one_direction_and_l1_of_both() {
        let sleep = sleep();
        assert_eq!(sleep.entry_times(&POWER, silent(10), silent(12)), EntryTimes { l0s: us(12), l1: us(18) });
        let unacknowledged = Silence { acknowledged_since: Time::NEVER, ..silent(12) };
        assert_eq!(
            sleep.entry_times(&POWER, silent(10), unacknowledged),
            EntryTimes { l0s: us(12), l1: Time::NEVER }
        );
        let awake = Silence { since: Time::NEVER, ..silent(0) };
        assert_eq!(sleep.entry_times(&POWER, awake, silent(12)), EntryTimes::NEVER);
    }

    #[test]
    fn the_deeper_sleep_is_what_ends_and_waking_takes_its_time() {
        let mut sleep = sleep();
        let times = sleep.entry_times(&POWER, silent(10), silent(10));
        assert_eq!(sleep.next_deadline(times, us(11)), (us(12), Timer::Sleep));
        assert_eq!(sleep.exit_at(&POWER, times, us(12)), None, "it sleeps after that, not then");
        assert_eq!(sleep.exit_at(&POWER, times, us(14)), Some(Exit::L0s(Span::from_us(1))));
        assert_eq!(sleep.exit_at(&POWER, times, us(17)), Some(Exit::L1(Span::from_us(8))));
        sleep.wakes_at(us(25));
        assert_eq!(sleep.next_deadline(times, us(17)), (us(25), Timer::ExitFromSleep));
        assert!(sleep.is_waking(us(24)) && !sleep.is_waking(us(25)));
    }

    #[test]
    fn what_comes_too_early_waits_for_the_least_stay_as_well() {
        let stays = SleepConfig { stay: Span::from_us(5), ..state(6, 8).expect("a state") };
        let power = LinkPower { l0s: None, l1: Some(stays) };
        let sleep = sleep();
        let times = sleep.entry_times(&power, silent(10), silent(10));
        for (at, exit) in [(17, 4 + 8), (20, 1 + 8), (21, 8), (100, 8)] {
            assert_eq!(sleep.exit_at(&power, times, us(at)), Some(Exit::L1(Span::from_us(exit))), "{at}");
        }
    }

    #[test]
    fn silence_that_is_accounted_for_goes_on() {
        let mut sleep = sleep();
        assert_eq!(sleep.idle_since(us(5)), us(5));
        sleep.account(us(5), us(9));
        assert_eq!(sleep.idle_since(us(9)), us(5));
        assert_eq!(sleep.idle_since(us(10)), us(10), "something was sent since");
    }
}
