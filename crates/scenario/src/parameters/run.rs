//! How long a run is and how exact, and what firmware programs into the devices.

use crate::parameter::parameters;
use crate::value::{Auto, Fraction, PayloadSize, choices};
use lanewise_units::{Bytes, Span};

parameters! {
    /// One run: when it ends, how exact its results are, and which random numbers it draws.
    RunParameters, Choice "run" stays Run {
        /// Names the random streams: same scenario, seed and version, same trajectory.
        seed: u64 = "1" in "0" to "18446744073709551615",
        Assumed "any seed will do; a fixed one makes runs repeat";
        /// Simulated time after which the run ends, converged or not.
        time_limit: Span = "50 ms" in "1 ns" to "14400 s",
        Assumed "long enough for thousands of operations of most workloads";
        /// Number of events after which the run ends, exactly.
        event_limit: u64 = "2000000000" in "1" to "18446744073709551615",
        Assumed "a bound on computing time: minutes, not hours";
        /// Memory that the run may take. By an estimate before it begins, from the devices and the operations that its workloads
        /// may have open at a time: what may take more is refused. And by what is under way while it goes on: it ends before that
        /// takes more.
        memory_limit: Bytes = "8 GiB" in "1 MiB" to "1048576 GiB",
        Assumed "what most machines that run simulations have to spare; 16,384 endpoints take 1 GiB";
        /// Time at the start that is not measured, or "auto": found from the results.
        warm_up: Auto<Span> = "auto" in "0 ns" to "14399 s",
        Assumed "the run itself shows when it has settled";
        /// Probability with which the confidence interval covers the true mean.
        confidence_level: Fraction = "0.95" in "0.5" to "0.9999",
        Assumed "the customary level";
        /// The run has converged when the confidence interval of every flow's goodput is at most this wide to
        /// either side, as a part of the mean.
        relative_half_width: Fraction = "0.5 %" in "0.00001" to "1",
        Assumed "small beside the differences that scenarios are compared for";
        /// What has to be known well enough before a run ends.
        until: RunUntil = "throughput",
        Assumed "most runs are about throughput, and percentiles take many times longer";
        /// The percentile of latencies, of operations where there are such, that decides with "latency".
        latency_percentile: Fraction = "0.99" in "0.5" to "0.99999",
        Assumed "the customary tail";
        /// With "latency", the interval of that percentile is at most this wide to either side, as a part of it.
        latency_half_width: Fraction = "5 %" in "0.005" to "1",
        Assumed "percentiles come from a histogram that is exact to 1 %";
    }
}

choices! {
    /// What decides when a run ends.
    RunUntil, "what has to be known well enough" {
        /// Goodput of every flow that matters.
        Throughput = "throughput",
        /// That, and a percentile of its latencies.
        Latency = "latency",
    }
}

choices! {
    /// How firmware chooses the Maximum Payload Size.
    MpsPolicy, "how firmware chooses the payload size" {
        /// The minimum over every device below a root port.
        Minimum = "minimum",
        /// The value of `mps`, wherever it is supported.
        Fixed = "fixed",
    }
}

parameters! {
    /// What firmware programs into every device.
    FirmwareParameters, Choice "firmware" stays Run {
        /// How the Maximum Payload Size is chosen.
        mps_policy: MpsPolicy = "minimum",
        Published "skiboot core/pci.c programs the minimum over the hierarchy below a root port";
        /// Maximum Payload Size where the policy is "fixed"; an upper bound where it is "minimum".
        mps: Auto<PayloadSize> = "auto",
        Assumed "whatever the policy finds";
        /// Maximum Read Request Size of every device that does not say its own.
        mrrs: PayloadSize = "512 B",
        Spec "reset default, PCIe Base 6.3 §7.5.3.4";
    }
}
