//! What an operator's Prometheus reads: counts since the start and what is going on now, in its text format.
#![expect(clippy::disallowed_types, reason = "the server shares what is in memory by short locks, like the engine")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::connection::Connections;

/// Ends of calls that are told apart.
const MOST_OUTCOMES: usize = 64;

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
        // Codes come from devices: what is invented there must not grow without end here.
        let is_room = calls.len() < MOST_OUTCOMES || calls.contains_key(outcome);
        *calls.entry(if is_room { outcome } else { "other" }.to_owned()).or_default() += 1;
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
    fn made_up_codes_do_not_grow_without_end() {
        let metrics = Metrics::default();
        for number in 0..10 * MOST_OUTCOMES {
            metrics.call_ended(&format!("CODE_{number}"));
        }
        let text = metrics.text(&Connections::default());
        assert_eq!(text.matches("nod_tool_calls_total{").count(), MOST_OUTCOMES + 1);
        assert!(text.contains(&format!("{{outcome=\"other\"}} {}\n", 9 * MOST_OUTCOMES)), "{text}");
    }

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
