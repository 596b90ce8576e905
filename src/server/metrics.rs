//! What an operator's Prometheus reads: counts since the start and what is going on now, in its text format.
#![expect(clippy::disallowed_types, reason = "the server shares what is in memory by short locks, like the engine")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::connection::Connections;

/// Counts of this process.
#[derive(Default)]
pub(super) struct Metrics {
    calls: Mutex<BTreeMap<String, u64>>,
    connections_opened: AtomicU64,
    connections_refused: AtomicU64,
    runs: AtomicU64,
}

impl Metrics {
    /// A call ended with this status or code.
    pub(super) fn call_ended(&self, outcome: &str) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        match calls.get_mut(outcome) {
            Some(count) => *count += 1,
            None => {
                calls.insert(outcome.to_owned(), 1);
            }
        }
    }

    pub(super) fn connection_opened(&self) {
        self.connections_opened.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn connection_refused(&self) {
        self.connections_refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn run_started(&self) {
        self.runs.fetch_add(1, Ordering::Relaxed);
    }

    /// Everything as text (Prometheus exposition format 0.0.4).
    pub(super) fn text(&self, connections: &Connections) -> String {
        let (devices, waiting) = connections.counts();
        let opened = self.connections_opened.load(Ordering::Relaxed);
        let refused = self.connections_refused.load(Ordering::Relaxed);
        let runs = self.runs.load(Ordering::Relaxed);
        let mut text: String = [
            ("nod_devices_connected", "gauge", "Devices connected to this process.", devices as u64),
            ("nod_tool_calls_waiting", "gauge", "Calls whose result is waited for here.", waiting as u64),
            ("nod_connections_opened_total", "counter", "Connections of devices that were let in.", opened),
            ("nod_connections_refused_total", "counter", "Connections that were refused.", refused),
            ("nod_runs_total", "counter", "Runs that were begun.", runs),
        ]
        .map(|(name, kind, help, value)| format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n"))
        .concat();
        text.push_str("# HELP nod_tool_calls_total Calls by how they ended.\n# TYPE nod_tool_calls_total counter\n");
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        text.extend(calls.iter().map(|(outcome, count)| {
            let label: String = outcome.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            format!("nod_tool_calls_total{{outcome=\"{label}\"}} {count}\n")
        }));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_its_help_and_kind() {
        let metrics = Metrics::default();
        metrics.call_ended("succeeded");
        metrics.call_ended("succeeded");
        metrics.call_ended("DEVICE_OFFLINE");
        let text = metrics.text(&Connections::default());
        assert!(text.contains("nod_tool_calls_total{outcome=\"succeeded\"} 2\n"), "{text}");
        assert!(text.contains("nod_tool_calls_total{outcome=\"DEVICE_OFFLINE\"} 1\n"), "{text}");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split(['{', ' ']).next().unwrap();
            assert!(text.contains(&format!("# TYPE {name} ")), "{line}");
        }
    }
}
