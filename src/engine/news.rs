//! What the person is told of what was found when the data was opened.

use crate::port::Event;
use crate::store::{Recovery, Tightened};

/// One notice for each thing that was found, the gravest of a kind alone.
pub(super) fn of(found: &Recovery) -> Vec<Event> {
    let counted = [
        ("notice-recovered-calls", found.calls.len()),
        ("notice-rules-changed", found.changed_rules),
        ("notice-grounds-changed", found.changed_grounds),
        ("notice-sessions-unproven", found.unproven_sessions),
        ("notice-releases-changed", found.changed_releases),
        ("notice-undo-changed", found.changed_undo),
    ];
    let counted = counted.into_iter().filter(|(_, count)| *count > 0);
    let mut news: Vec<Event> =
        counted.map(|(key, count)| Event::Notice { key, args: vec![("count", count.to_string())] }).collect();
    let plain = tightened(found.tightened, found.unproven);
    news.extend(plain.into_iter().map(|key| Event::Notice { key, args: Vec::new() }));
    // A folder that was open and had nothing in it gave nothing away.
    if let Some(first) = found.repaired.iter().find(|path| path.is_file()) {
        let path = first.display().to_string();
        let args = vec![("count", found.repaired.len().to_string()), ("path", path)];
        news.push(Event::Notice { key: "notice-repaired", args });
    }
    if found.is_audit_mended {
        news.push(Event::Notice { key: "notice-audit-changed", args: Vec::new() });
    }
    news
}

/// What was made strict beyond chats: written from outside, or kept by an older Nod without anything that vouches for it.
fn tightened(changed: Tightened, unproven: Tightened) -> Vec<&'static str> {
    let told = [
        (changed.settings, "notice-settings-changed"),
        (changed.providers, "notice-providers-changed"),
        (changed.servers, "notice-servers-changed"),
        (unproven.settings, "notice-settings-unproven"),
        (unproven.providers, "notice-providers-unproven"),
        (unproven.servers, "notice-servers-unproven"),
    ];
    told.into_iter().filter_map(|(is_found, key)| is_found.then_some(key)).collect()
}
