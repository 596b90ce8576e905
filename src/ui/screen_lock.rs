//! Whether the screen is locked, as far as the system tells: then a question that waits is refused.
//!
//! On Linux the session's bus tells of a screen saver, the system's bus of a lock. Where neither answers, nothing happens.
//! Nothing is asked of the bus that would start a service, and what it says can only lead to a refusal.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use super::host::Arrival;
use super::waker::Waker;

/// Watches from threads of their own until the program ends.
#[cfg(target_os = "linux")]
pub(super) fn watch(arrived: &SyncSender<Arrival>, waker: &Arc<Waker>) {
    linux::watch(arrived, waker);
}

/// Watches nothing: the time-out has to do.
#[cfg(not(target_os = "linux"))]
pub(super) fn watch(_arrived: &SyncSender<Arrival>, _waker: &Arc<Waker>) {}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashMap;
    use std::sync::atomic::{AtomicBool, Ordering};

    use zbus::MatchRule;
    use zbus::blocking::{Connection, MessageIterator, fdo::DBusProxy};
    use zbus::message::Type;
    use zbus::names::{BusName, MemberName};
    use zbus::zvariant::{OwnedObjectPath, OwnedValue};

    use super::{Arc, Arrival, SyncSender, Waker};
    use crate::app::Intent;

    const LOGIN: &str = "org.freedesktop.login1";
    const LOGIN_SESSION: &str = "org.freedesktop.login1.Session";
    /// Each with its object path.
    const SCREEN_SAVERS: [(&str, &str); 2] = [
        ("org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver"),
        ("org.gnome.ScreenSaver", "/org/gnome/ScreenSaver"),
    ];
    /// Signals that may wait.
    const WAITING: usize = 16;

    /// What one of the two said last, and who hears of it.
    #[derive(Clone)]
    struct Report {
        /// By the screen saver, by the login manager.
        said: Arc<[AtomicBool; 2]>,
        arrived: SyncSender<Arrival>,
        waker: Arc<Waker>,
    }

    #[derive(Clone, Copy)]
    enum By {
        ScreenSaver,
        Login,
    }

    impl Report {
        fn say(&self, by: By, is_locked: bool) {
            let [saver, login] = &*self.said;
            let before = saver.load(Ordering::Relaxed) || login.load(Ordering::Relaxed);
            match by {
                By::ScreenSaver => saver.store(is_locked, Ordering::Relaxed),
                By::Login => login.store(is_locked, Ordering::Relaxed),
            }
            let now = saver.load(Ordering::Relaxed) || login.load(Ordering::Relaxed);
            if now != before {
                self.tell(now);
            }
        }

        /// A request to lock: whether a lock follows, not every desktop tells.
        fn pulse(&self) {
            self.tell(true);
            let is_locked = self.said.iter().any(|said| said.load(Ordering::Relaxed));
            self.tell(is_locked);
        }

        fn tell(&self, is_locked: bool) {
            // The window is gone: nobody waits for this any more.
            if self.arrived.send(Arrival::Intent(Intent::NoteScreenLock { is_locked })).is_ok() {
                self.waker.wake();
            }
        }
    }

    pub(super) fn watch(arrived: &SyncSender<Arrival>, waker: &Arc<Waker>) {
        let said = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let report = Report { said, arrived: arrived.clone(), waker: Arc::clone(waker) };
        for (name, by) in [("nod-screen-saver", By::ScreenSaver), ("nod-screen-lock", By::Login)] {
            let report = report.clone();
            let watch = move || {
                let ended = match by {
                    By::ScreenSaver => screen_saver(&report),
                    By::Login => login(&report),
                };
                if let Err(error) = ended {
                    tracing::debug!(%error, name, "the system does not tell whether the screen is locked");
                }
            };
            if std::thread::Builder::new().name(name.to_owned()).spawn(watch).is_err() {
                tracing::debug!(name, "no thread to watch for a locked screen");
            }
        }
    }

    /// The screen saver of the desktop, by whichever of its names.
    fn screen_saver(report: &Report) -> zbus::Result<()> {
        let bus = Connection::session()?;
        let rule = MatchRule::builder().msg_type(Type::Signal).member("ActiveChanged")?.build();
        let signals = MessageIterator::for_match_rule(rule, &bus, Some(WAITING))?;
        let names = DBusProxy::new(&bus)?;
        for (name, path) in SCREEN_SAVERS {
            if names.name_has_owner(BusName::try_from(name)?).unwrap_or(false)
                && let Ok(reply) = bus.call_method(Some(name), path, Some(name), "GetActive", &())
                && let Ok(is_active) = reply.body().deserialize::<bool>()
            {
                report.say(By::ScreenSaver, is_active);
            }
        }
        for signal in signals {
            let signal = signal?;
            let is_saver = signal.header().interface().is_some_and(|name| name.as_str().ends_with(".ScreenSaver"));
            if let (true, Ok(is_active)) = (is_saver, signal.body().deserialize::<bool>()) {
                report.say(By::ScreenSaver, is_active);
            }
        }
        Ok(())
    }

    /// The login manager's word on this session.
    fn login(report: &Report) -> zbus::Result<()> {
        let bus = Connection::system()?;
        let (manager, path) = ("org.freedesktop.login1.Manager", "/org/freedesktop/login1");
        let session: OwnedObjectPath = bus
            .call_method(Some(LOGIN), path, Some(manager), "GetSession", &("auto",))
            .or_else(|_| bus.call_method(Some(LOGIN), path, Some(manager), "GetSessionByPID", &(0_u32,)))?
            .body()
            .deserialize()?;
        let rule = MatchRule::builder().msg_type(Type::Signal).sender(LOGIN)?.path(session.as_ref())?.build();
        let signals = MessageIterator::for_match_rule(rule, &bus, Some(WAITING))?;
        let properties = Some("org.freedesktop.DBus.Properties");
        let hint = bus.call_method(Some(LOGIN), &session, properties, "Get", &(LOGIN_SESSION, "LockedHint"));
        if let Ok(reply) = hint
            && let Ok(value) = reply.body().deserialize::<OwnedValue>()
            && let Ok(is_locked) = bool::try_from(value)
        {
            report.say(By::Login, is_locked);
        }
        for signal in signals {
            let signal = signal?;
            let header = signal.header();
            match header.member().map(MemberName::as_str) {
                Some("Lock") => report.pulse(),
                Some("Unlock") => report.say(By::Login, false),
                Some("PropertiesChanged") => {
                    let body = signal.body();
                    let changed = body.deserialize::<(String, HashMap<String, OwnedValue>, Vec<String>)>();
                    let hint = changed.ok().and_then(|(_, mut changed, _)| changed.remove("LockedHint"));
                    if let Some(is_locked) = hint.and_then(|hint| bool::try_from(hint).ok()) {
                        report.say(By::Login, is_locked);
                    }
                }
                Some(_) | None => {}
            }
        }
        Ok(())
    }
}
