//! The looks after commands that Nod did not live to see: finished at the start, before any command can run, and told.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::ir::CallRecord;
use crate::policy::escape_name;
use crate::port::Event;
use crate::tool::PutBack;
use crate::workspace::{FinishedLook, Revert, finish_looks};

use super::shared::Shared;
use super::undo;

/// More paths than this are counted, not named.
const MOST_NAMED: usize = 20;

/// Finishes what is left of them in this folder; gives what the person is told. `calls` are those that a crash broke off.
pub(super) async fn finish(shared: &Shared, folder: PathBuf, calls: &[CallRecord]) -> Vec<Event> {
    let finished = tokio::task::spawn_blocking(move || finish_looks(&folder)).await.unwrap_or_default();
    let mut news = Vec::new();
    for look in finished {
        if let Some(call) = calls.iter().find(|call| call.call.id.as_str() == look.mark) {
            let after = undo::After {
                session: call.session.clone(),
                call: call.call.id.clone(),
                message: call.message.clone(),
            };
            undo::keep_put_back(shared, &after, PutBack::of(&look.report, &look.roots)).await;
        }
        news.extend(told(&look));
    }
    news
}

fn told(look: &FinishedLook) -> Vec<Event> {
    let mut by_key: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for reverted in &look.report.reverted {
        let key = match reverted.how {
            Revert::Removed | Revert::Restored => "notice-look-put-back",
            Revert::Left => "notice-look-left",
            Revert::Outside | Revert::Prevented => continue,
        };
        let folder = look.roots.get(reverted.root).map(|root| root.path().display().to_string()).unwrap_or_default();
        by_key.entry(key).or_default().push(shown(&format!("{folder}/{}", reverted.path)));
    }
    for (number, path) in &look.later {
        let folder = look.roots.get(*number).map(|root| root.path().display().to_string()).unwrap_or_default();
        by_key.entry("notice-look-later").or_default().push(shown(&format!("{folder}/{path}")));
    }
    for folder in &look.gone {
        by_key.entry("notice-look-gone").or_default().push(shown(&folder.display().to_string()));
    }
    if look.report.unseen > 0 {
        let folders = look.roots.iter().map(|root| shown(&root.path().display().to_string()));
        by_key.entry("notice-look-unseen").or_default().extend(folders);
    }
    let named = by_key.into_iter().map(|(key, paths)| {
        let more = if paths.len() > MOST_NAMED { "…" } else { "" };
        let paths = paths.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
        Event::Notice { key, args: vec![("paths", format!("{paths}{more}"))] }
    });
    named.collect()
}

/// A name on a disk may hold anything.
fn shown(path: &str) -> String {
    escape_name(path, false).into_owned()
}
