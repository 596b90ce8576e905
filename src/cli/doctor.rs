//! `nod doctor`: what is wrong on this computer and how to mend it.

use std::path::Path;

use crate::engine::{ConfiguredProviders, Health, examine};
use crate::port::Settings;

use super::args::ListArgs;
use super::console::Console;
use super::exit::Exit;

/// Prints every finding; fails if something that is needed is broken.
pub(super) fn run(
    args: &ListArgs,
    data_dir: &Path,
    settings: &Settings,
    source: &ConfiguredProviders,
    console: &mut Console,
) -> Exit {
    let findings = examine(data_dir, settings, source);
    for finding in &findings {
        if args.json {
            console.data(&serde_json::to_string(finding).unwrap_or_default());
            continue;
        }
        let mark = match finding.health {
            Health::Good => "✓",
            Health::Absent => "–",
            Health::Broken => "✗",
        };
        let subject = console.say(&format!("doctor-{}", finding.subject), &[]);
        console.line(&format!("{mark} {subject}  {}", finding.detail));
        if let Some(remedy) = finding.remedy {
            let remedy = console.say(remedy, &[]);
            console.line(&format!("    {remedy}"));
        }
    }
    if findings.iter().any(|finding| finding.health == Health::Broken) { Exit::Failed } else { Exit::Done }
}
