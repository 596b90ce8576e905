//! The audit as the window looks at it: filters, the pages that were seen, what its examination found.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{AuditCheck, AuditFilter, AuditRow};
use crate::port::Command;

use super::{AppState, Reaction};

/// Lines of one page, as the engine gives them.
pub const PAGE: u64 = 100;
/// Pages that are kept: far more than a window shows, far less than there may be.
const MOST_PAGES: usize = 12;

/// The open audit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AuditView {
    pub filter: AuditFilter,
    /// How many lines fit; `None` until the first page has come.
    pub total: Option<u64>,
    /// What the examination found; `None` while it runs.
    pub check: Option<AuditCheck>,
    /// Pages by their number, newest lines first.
    pages: BTreeMap<u64, Vec<AuditRow>>,
    /// Pages that are on their way.
    awaited: BTreeSet<u64>,
    number: u64,
    check_number: u64,
}

impl AuditView {
    /// The line at this place, newest first; `None` while its page is on its way.
    pub fn row(&self, index: u64) -> Option<&AuditRow> {
        let page = self.pages.get(&(index / PAGE))?;
        page.get(usize::try_from(index % PAGE).ok()?)
    }

    /// The first of these lines whose page nobody has asked for.
    pub fn missing(&self, lines: std::ops::Range<u64>) -> Option<u64> {
        let pages = (lines.start / PAGE)..=(lines.end.saturating_sub(1) / PAGE);
        pages.into_iter().find(|page| !self.pages.contains_key(page) && !self.awaited.contains(page))
    }

    fn load(&mut self, page: u64) -> Command {
        self.awaited.insert(page);
        Command::LoadAudit { filter: self.filter.clone(), offset: page * PAGE, number: self.number }
    }
}

impl AppState {
    pub(super) fn open_audit(&mut self) -> Reaction {
        self.panel = None;
        let check_number = self.take_number();
        self.audit = Some(AuditView { check_number, ..AuditView::default() });
        self.filter_audit(AuditFilter::default()).and(Command::CheckAudit { number: check_number }.into())
    }

    /// Looks at other lines; what was found of the whole stays.
    pub(super) fn filter_audit(&mut self, filter: AuditFilter) -> Reaction {
        let number = self.take_number();
        let Some(view) = &mut self.audit else { return Reaction::none() };
        let (check, check_number) = (view.check.take(), view.check_number);
        // The newest line of all is the newest one that is shown: the first answer says which that is.
        let filter = AuditFilter { up_to: None, ..filter };
        *view = AuditView { filter, check, number, check_number, ..AuditView::default() };
        view.load(0).into()
    }

    pub(super) fn load_audit_page(&mut self, page: u64) -> Reaction {
        let Some(view) = &mut self.audit else { return Reaction::none() };
        if view.total.is_none() || view.missing(page * PAGE..page * PAGE + 1).is_none() {
            return Reaction::none();
        }
        view.load(page).into()
    }

    pub(super) fn audit_loaded(&mut self, number: u64, offset: u64, rows: Vec<AuditRow>, total: u64, last: u64) {
        let Some(view) = self.audit.as_mut().filter(|view| view.number == number) else { return };
        let page = offset / PAGE;
        view.total = Some(total);
        view.filter.up_to.get_or_insert(last);
        view.awaited.remove(&page);
        view.pages.insert(page, rows);
        while view.pages.len() > MOST_PAGES {
            // What lies farthest from what was just asked for goes first.
            let Some(farthest) = view.pages.keys().copied().max_by_key(|kept| kept.abs_diff(page)) else { break };
            view.pages.remove(&farthest);
        }
    }

    pub(super) fn audit_checked(&mut self, number: u64, check: AuditCheck) {
        if let Some(view) = self.audit.as_mut().filter(|view| view.check_number == number) {
            view.check = Some(check);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{AuditAct, AuditEntry, AuditOrigin, UnixMs};

    fn rows(first: u64, count: u64) -> Vec<AuditRow> {
        let entry = AuditEntry::new(UnixMs(0), AuditAct::Ended, AuditOrigin::Model);
        let row = |seq| AuditRow { seq, entry: Some(entry.clone()), hash: String::new() };
        (0..count).map(|step| row(first - step)).collect()
    }

    fn loads(reaction: &Reaction) -> Vec<(u64, u64, Option<u64>)> {
        let load = |command: &Command| {
            let Command::LoadAudit { filter, offset, number } = command else { return None };
            Some((*offset, *number, filter.up_to))
        };
        reaction.commands.iter().filter_map(load).collect()
    }

    #[test]
    fn only_pages_that_are_looked_at_are_asked_for_and_each_once() {
        let mut state = AppState::default();
        let opened = state.open_audit();
        let [(0, number, None)] = loads(&opened)[..] else { panic!("{opened:?}") };
        assert_eq!(loads(&state.load_audit_page(3)), [], "how many there are is not known yet");
        state.audit_loaded(number, 0, rows(5_000, PAGE), 5_000, 5_000);
        let view = state.audit.as_ref().unwrap();
        assert_eq!((view.row(99).map(|row| row.seq), view.row(100)), (Some(4_901), None));
        assert_eq!(view.missing(90..110), Some(1));
        assert_eq!(loads(&state.load_audit_page(1)), [(100, number, Some(5_000))], "later lines do not move it");
        assert_eq!(loads(&state.load_audit_page(1)), [], "it is on its way");
    }

    #[test]
    fn far_pages_are_forgotten_and_a_late_answer_to_another_filter_is_dropped() {
        let mut state = AppState::default();
        let [(_, number, _)] = loads(&state.open_audit())[..] else { panic!() };
        for page in 0..30 {
            state.audit_loaded(number, page * PAGE, rows(9_999 - page * PAGE, PAGE), 5_000, 9_999);
        }
        let view = state.audit.as_ref().unwrap();
        assert!(view.pages.len() <= MOST_PAGES && view.row(29 * PAGE).is_some() && view.row(0).is_none());
        state.filter_audit(AuditFilter { tool: Some("write_file".to_owned()), ..AuditFilter::default() });
        state.audit_loaded(number, 0, rows(5, 5), 5, 5);
        assert_eq!(state.audit.as_ref().unwrap().total, None);
    }
}
