//! Numbers of a report that there may be none of.

use lanewise_fabric::workload::Metric;

/// A number under its name; none where nothing was measured: a zero would be a measurement.
pub(super) fn measured(name: &str, value: Option<f64>) -> Option<Metric> {
    value.filter(|value| value.is_finite()).map(|value| Metric { name: name.to_owned(), value })
}

/// A quotient; none of nothing.
pub(super) fn per(amount: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| amount / of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_nothing_there_is_no_number() {
        assert!(measured("rate", per(0.0, 0.0)).is_none() && measured("rate", Some(f64::NAN)).is_none());
        assert_eq!(measured("rate", per(0.0, 2.0)).map(|metric| metric.value), Some(0.0), "that is one");
    }
}
