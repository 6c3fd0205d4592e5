//! Everything that can be wrong with a scenario, a catalog part or a command line override.
//!
//! One entry per problem holds its stable code, its meaning for the reference, and its message. A code is never
//! reused for something else.

use thiserror::Error;

/// Declares [`Problem`]: the enum, the stable code of each variant and the list of all codes, from one table.
macro_rules! problems {
    ($($(#[doc = $doc:literal])+ $code:literal $name:ident { $($field:ident),* } = $message:literal;)+) => {
        /// One thing that is wrong, with what was found and what is allowed.
        #[derive(Clone, Debug, PartialEq, Eq, Error)]
        #[allow(missing_docs, reason = "the fields fill the message, which says what they are")]
        pub enum Problem {
            $($(#[doc = $doc])+ #[error($message)] $name { $($field: String),* },)+
        }

        impl Problem {
            /// Stable code, for tools and for the reference.
            pub fn code(&self) -> &'static str {
                match self { $(Self::$name { .. } => $code,)+ }
            }
        }

        /// Every code with what it means, in the order of the reference.
        pub fn all_codes() -> &'static [(&'static str, &'static str)] {
            &[$(($code, concat!($($doc),+)),)+]
        }
    };
}

impl Problem {
    /// The file that it is about, where it is in none.
    pub(crate) fn file(&self) -> Option<&str> {
        match self {
            Self::UnreadableFile { path, .. } => Some(path),
            _ => None,
        }
    }

    /// A word is allowed, too, beside values of a type that it says are needed.
    pub(crate) fn allow_word(&mut self, word: &str) {
        if let Self::WrongType { expected: needed, .. }
        | Self::MissingUnit { expected: needed, .. }
        | Self::WrongUnit { expected: needed, .. }
        | Self::NotANumber { expected: needed, .. }
        | Self::UnknownChoice { allowed: needed, .. } = self
        {
            *needed += &format!(", or \"{word}\"");
        }
    }
}

problems! {
    /// The file could not be read at all.
    "unreadable-file" UnreadableFile { path, reason } = "cannot read `{path}`: {reason}";
    /// The file is larger than a scenario may be.
    "file-too-large" FileTooLarge { path, found, allowed } = "`{path}` has {found}, but a scenario has at most {allowed}";
    /// The file is something else that Lanewise knows, such as a dump of a machine.
    "not-a-scenario" NotAScenario { path, what } = "`{path}` is {what}, not a scenario";
    /// The text is not TOML.
    "syntax-error" Syntax { reason } = "{reason}";
    /// Tables or arrays are nested deeper than any scenario needs.
    "nested-too-deeply" NestedTooDeeply { allowed } = "nested deeper than {allowed} levels";
    /// A top-level table or key that no scenario has.
    "unknown-table" UnknownTable { found, allowed } = "unknown table `{found}`; a scenario has {allowed}";
    /// A key that this table does not have.
    "unknown-key" UnknownKey { path, found } = "unknown key `{found}` in `{path}`";
    /// A key that the table needs is missing.
    "missing-key" MissingKey { path, key, expected } = "`{path}` needs `{key}`: {expected}";
    /// The value has another type than the parameter.
    "wrong-type" WrongType { path, found, expected } = "`{path}` is {found}, but {expected} is needed";
    /// A bare number where a quantity with a unit is needed.
    "missing-unit" MissingUnit { path, found, expected } = "`{path}` is {found} without a unit; {expected} is needed";
    /// A quantity of another kind, such as bytes where a time is needed.
    "wrong-unit" WrongUnit { path, found, kind, expected } = "`{path}` is {found}, {kind}, but {expected} is needed";
    /// A unit that does not exist.
    "unknown-unit" UnknownUnit { path, found, unit } = "`{path}` is {found}, but `{unit}` is not a unit";
    /// Text that should have been a number.
    "not-a-number" NotANumber { path, found, expected } = "`{path}` is {found}, which is not a number; {expected} is needed";
    /// The value lies outside what is allowed.
    "out-of-range" OutOfRange { path, found, low, high } = "`{path}` is {found}, but it has to lie between {low} and {high}";
    /// The value lies between the limits, but is not one of those allowed.
    "bad-value" BadValue { path, found, rule } = "`{path}` is {found}, but it has to be {rule}";
    /// A number of lanes that no link can have.
    "impossible-width" ImpossibleWidth { path, found } = "`{path}` is {found}, but a link is x1, x2, x4, x8, x12, x16 or x32 wide";
    /// A generation that does not exist.
    "unknown-generation" UnknownGeneration { path, found } = "`{path}` is {found}, but generations are gen1 to gen7";
    /// A word that is not among the choices of the parameter.
    "unknown-choice" UnknownChoice { path, found, allowed } = "`{path}` is `{found}`, but it has to be one of {allowed}";
    /// A name with characters that paths cannot hold, or one that is reserved.
    "bad-name" BadName { found, reason } = "`{found}` cannot be a name: {reason}";
    /// Two components with one name.
    "duplicate-name" DuplicateName { name } = "the name `{name}` is given twice";
    /// A part that the catalog does not have.
    "unknown-part" UnknownPart { path, part } = "`{path}` names the part `{part}`, which is not in the catalog";
    /// A part in a file of its own, which cannot be read.
    "unreadable-part" UnreadablePart { path, part, reason } = "`{path}` names the part `{part}`, a file that cannot be read: {reason}";
    /// A part of another kind than the component.
    "wrong-part-kind" WrongPartKind { path, part, found, expected } = "`{path}` is {expected}, but the part `{part}` is {found}";
    /// A value in the catalog that does not say where it comes from.
    "missing-provenance" MissingProvenance { path } = "`{path}` does not say its provenance and source";
    /// A catalog file that lacks its title, its kind or its parameters.
    "malformed-part" MalformedPart { reason } = "not a catalog part: {reason}";
    /// A scenario without a host has nothing to attach to.
    "no-host" NoHost {} = "no host: a scenario needs at least one `[host.NAME]`";
    /// Attached to a component that does not exist.
    "unknown-attach-target" UnknownAttachTarget { path, target } = "`{path}` is attached to `{target}`, which does not exist";
    /// The component above has no such slot or port.
    "unknown-slot" UnknownSlot { path, device, slot, available } = "`{path}` is attached to {slot} of `{device}`, which has {available}";
    /// Two devices in one slot.
    "slot-occupied" SlotOccupied { path, slot, other } = "`{path}` is attached to `{slot}`, which `{other}` already uses";
    /// More devices than free slots.
    "no-free-slot" NoFreeSlot { path, slot, wanted, free } = "`{path}` is {wanted} devices, but `{slot}` has room for {free}";
    /// Switches attached to each other in a ring.
    "attach-loop" AttachLoop { path, ring } = "`{path}` is attached to itself: {ring}";
    /// More switches below each other than a hierarchy has buses for.
    "tree-too-deep" TreeTooDeep { path, allowed } = "`{path}` is more than {allowed} levels below its host";
    /// Endpoints have no ports below them.
    "attached-to-endpoint" AttachedToEndpoint { path, target } = "`{path}` is attached to `{target}`, an endpoint, which has nothing below it";
    /// Drives sit behind a host bus adapter, an endpoint with a wire.
    "storage-needs-adapter" StorageNeedsAdapter { path, target, reason } = "`{path}` is attached to `{target}`, which {reason}";
    /// A network ends at ports of RDMA adapters, each of which has one wire.
    "bad-network-end" BadNetworkEnd { path, target, reason } = "`{path}` ends at `{target}`, which {reason}";
    /// A partition of something that is not a switch, or one that does not fit its switch.
    "bad-partition" BadPartition { path, found, reason } = "`{path}` cannot be a partition of `{found}`: {reason}";
    /// Two endpoints that cannot be the sides of one bridge.
    "bad-bridge" BadBridge { path, found, reason } = "`{path}` cannot be bridged to `{found}`: {reason}";
    /// Ports of a hybrid switch that are not in exactly one group each.
    "bad-groups" BadGroups { path, reason } = "`{path}` has to put each port in one group, but {reason}";
    /// A drive that cannot change hosts as the file asks.
    "bad-move" BadMove { path, reason } = "`{path}` cannot change hosts: {reason}";
    /// Ports in use that need more lanes than the switch has.
    "too-many-lanes" TooManyLanes { path, found, allowed } = "the ports of `{path}` in use have {found} lanes, but the part has {allowed}";
    /// More components than the simulator accepts.
    "too-many-devices" TooManyDevices { found, allowed } = "{found} devices, but at most {allowed} are allowed";
    /// A run that would take more memory than it is given.
    "too-much-memory" TooMuchMemory { found, allowed, most } = "the run may take {found} of memory, but `run.memory_limit` is {allowed}: {most}";
    /// More ports or slots than one component may have.
    "too-many-ports" TooManyPorts { path, found, allowed } = "`{path}` has {found} ports, but at most {allowed} are allowed";
    /// A payload size above what a device on the path supports.
    "mps-too-large" MpsTooLarge { path, found, limiter, allowed } = "`{path}` is {found}, but `{limiter}` supports at most {allowed}";
    /// A forced width or generation above what both ends can do.
    "link-cannot-train" LinkCannotTrain { path, found, allowed } = "`{path}` is {found}, but both ends can do at most {allowed}";
    /// Flit Mode asked for, or refused, where the link cannot comply.
    "flit-mode-impossible" FlitModeImpossible { path, reason } = "`{path}` is impossible: {reason}";
    /// Power states that the link cannot have.
    "aspm-impossible" AspmImpossible { path, reason } = "`{path}` is impossible: {reason}";
    /// Base address registers that do not fit where they have to be.
    "no-address-space" NoAddressSpace { path, reason } = "`{path}` has too little address space: {reason}";
    /// Virtual channels that a link cannot have.
    "virtual-channels-impossible" VirtualChannelsImpossible { path, reason } = "`{path}` is impossible: {reason}";
    /// More tags than the tag field can tell apart.
    "too-many-tags" TooManyTags { path, found, allowed } = "`{path}` is {found}, but the tag field in use has room for {allowed}";
    /// Credits below the legal minimum for the payload size.
    "too-few-credits" TooFewCredits { path, found, allowed } = "`{path}` is {found}, but the specification asks for at least {allowed}";
    /// Credits beyond what the link's flow control can advertise.
    "too-many-credits" TooManyCredits { path, found, allowed } = "`{path}` is {found}, but this link can advertise at most {allowed}";
    /// A retry buffer that cannot hold one packet of full size.
    "retry-buffer-too-small" RetryBufferTooSmall { path, found, allowed } = "`{path}` is {found}, but one packet of full size needs {allowed}";
    /// A list that needs one entry per port has another length.
    "wrong-length" WrongLength { path, found, expected } = "`{path}` has {found} entries, but {expected} are needed";
    /// A workload names a component that does not exist or is of another kind.
    "unknown-device" UnknownDevice { path, found, expected } = "`{path}` names `{found}`, but {expected}";
    /// A workload names several devices where one is needed, or another number of them than it can pair.
    "device-count" DeviceCount { path, found, reason } = "`{path}` names `{found}`, {reason}";
    /// The percentages of an access specification do not sum to 100.
    "access-percentages" AccessPercentages { path, found } = "the percentages of `{path}` sum to {found}, not to 100";
    /// Peer-to-peer traffic that the host would have to forward, but does not.
    "peer-to-peer-blocked" PeerToPeerBlocked { path, host } = "`{path}` crosses root ports of `{host}`, which forwards no peer-to-peer traffic";
    /// A memory expander is below a host or a switch that does not carry CXL.mem.
    "no-cxl-mem" NoCxlMem { path, above } = "`{path}` is a memory expander, but `{above}` above it does not carry CXL.mem";
    /// A memory expander's link is slower than any that carries CXL.
    "cxl-link-too-slow" CxlLinkTooSlow { path, found } = "the link above `{path}` trains to {found}, but CXL.mem needs at least 8 GT/s: gen3";
    /// Loads on a memory expander and on another device meet on one CXL link.
    "cxl-wire-shared" CxlWireShared { path, expander, switch } = "loads on `{path}` and on the memory expander `{expander}` meet on the link above `{switch}`: CXL.io and CXL.mem would share its wire, which is not modelled";
    /// A command line override that is not `path=value`, or names nothing in the scenario.
    "bad-override" BadOverride { found, reason } = "the override `{found}` cannot be used: {reason}";
    /// A parameter that may not change while a run goes on; see [what may](live.md).
    "fixed-in-a-run" FixedInARun { path, found, reason } = "`{path}` cannot become {found} during the run: {reason}";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_kebab_case() {
        let codes: Vec<&str> = all_codes().iter().map(|(code, _)| *code).collect();
        for (index, code) in codes.iter().enumerate() {
            assert!(!codes[..index].contains(code), "{code} is listed twice");
            assert!(code.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{code}");
        }
    }
}
