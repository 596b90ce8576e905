//! A locked screen, as the desktop's bus tells of it: what waits for an answer in the real window is refused.
#![expect(clippy::disallowed_methods, reason = "a test starts a bus of its own")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use nod::ir::{CallStatus, Decider};

use crate::support::screen::{Screen, until};
use crate::support::window::{Home, Window};
use crate::window::set_up;

/// A bus that starts no service: with the desktop's own, the folder would be asked for by whatever portal is installed here.
const CONFIG: &str = r#"<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;

/// A session bus of the test's own.
struct Bus {
    daemon: Child,
    address: String,
    _config: tempfile::NamedTempFile,
}

impl Bus {
    /// `None` where there is no bus to be had, which the tests of the project do not accept.
    fn start() -> Option<Self> {
        let mut config = tempfile::NamedTempFile::new().unwrap();
        config.write_all(CONFIG.as_bytes()).unwrap();
        let mut command = Command::new("dbus-daemon");
        command.arg("--config-file").arg(config.path()).args(["--nofork", "--nopidfile", "--print-address=1"]);
        let Ok(mut daemon) = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn() else {
            assert!(std::env::var_os("CI").is_none(), "dbus is missing");
            return None;
        };
        let mut address = String::new();
        BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Some(Self { daemon, address: address.trim().to_owned(), _config: config })
    }

    fn connect(&self) -> zbus::blocking::Connection {
        zbus::blocking::connection::Builder::address(self.address.as_str()).unwrap().build().unwrap()
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ended = self.daemon.kill();
        let _reaped = self.daemon.wait();
    }
}

#[test]
fn a_locked_screen_denies_the_question_that_waits() {
    let Some(bus) = Bus::start() else { return };
    let (home, screen) = (Home::new(), Screen::start());
    home.choose_in_dialogs(&home.path("project"));
    let mut command = home.nod();
    command.env("DBUS_SESSION_BUS_ADDRESS", &bus.address);
    let window = Window::open_by(command, &home, &screen);
    let saver = bus.connect();
    set_up(&window, &home);

    let tell = |is_locked: bool| {
        let (path, name) = ("/org/freedesktop/ScreenSaver", "org.freedesktop.ScreenSaver");
        saver.emit_signal(None::<&str>, path, name, "ActiveChanged", &(is_locked,)).unwrap();
    };
    window.say("create notes.txt with hello");
    window.wait_for_question();
    // Told again until it is heard: when the window began to listen, nothing tells.
    let ended = until("the question is refused", || {
        tell(true);
        home.calls().into_iter().find(|call| call.status == CallStatus::Denied)
    });
    assert_eq!((ended.status, ended.decider), (CallStatus::Denied, Some(Decider::Timeout)));
    assert_eq!(ended.result.unwrap().code(), Some("REQUEST_EXPIRED"));
    assert!(!home.has("project/notes.txt"));
    tell(false);
    window.answer();
    window.wait_until_bright();

    // The control: the same question, with the screen open, waits for the person.
    window.say("create notes.txt with hello");
    window.wait_for_question();
    window.press("ctrl+Return");
    assert_eq!(home.ended_call().status, CallStatus::Succeeded);
    window.answer();
    assert!(home.has("project/notes.txt"));
}
