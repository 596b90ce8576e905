//! The real program with its real window, worked as a person works it: keys, mouse, eyes. What it did is read from its files.
#![expect(clippy::disallowed_methods, reason = "a test lays out files and starts the program")]
#![expect(clippy::print_stderr, reason = "a failing test says where its picture is")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use nod::engine::{Archive, system_clock};
use nod::ir::{CallRecord, CallStatus, MessageStatus, Role};
use nod::policy::Rule;
use nod::store::{SessionExport, Store};
use nod::ui::theme::{Mode, Theme};
use tempfile::TempDir;

use super::screen::{Picture, Screen, until, within};

/// A person's computer: data, home, trash, a project, and the programs that there are.
pub(crate) struct Home {
    place: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        for folder in ["project", "home", "share", "run", "bin"] {
            std::fs::create_dir(place.path().join(folder)).unwrap();
        }
        Self { place }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Puts a file dialog in place in which the person chooses this path; it writes down how it was called.
    pub(crate) fn choose_in_dialogs(&self, path: &Path) {
        let (log, path) = (self.path("dialogs"), path.display());
        self.write("bin/zenity", &format!("#!/bin/sh\necho \"$*\" >> '{}'\necho '{path}'\n", log.display()));
        let program = self.path("bin/zenity");
        std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The program; no other program is to be found but those of `bin`, and no session bus that could open dialogs.
    pub(crate) fn nod(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nod"));
        command
            .env("NOD_DATA_DIR", self.path("data"))
            .env("HOME", self.path("home"))
            .env("XDG_DATA_HOME", self.path("share"))
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .env("PATH", self.path("bin"))
            .env("LANG", "en_US.UTF-8")
            .env_remove("DISPLAY")
            .env_remove("DBUS_SESSION_BUS_ADDRESS")
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("WAYLAND_SOCKET")
            .current_dir(self.path("project"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.nod().args(words).output().unwrap()
    }

    /// Everything that is stored, newest first.
    pub(crate) fn chats(&self) -> Vec<SessionExport> {
        let Some(archive) = Archive::open(&self.path("data"), system_clock()).ok().flatten() else { return Vec::new() };
        let sessions = archive.sessions().unwrap_or_default();
        sessions.iter().filter_map(|session| archive.export(&session.id).ok()).collect()
    }

    /// The only chat.
    pub(crate) fn chat(&self) -> Option<SessionExport> {
        let mut chats = self.chats();
        assert!(chats.len() < 2, "there is more than one chat");
        chats.pop()
    }

    /// The rules of the only chat.
    pub(crate) fn rules(&self) -> Vec<Rule> {
        let chat = self.chat().unwrap();
        let store = Store::open_read_only(&self.path("data"), system_clock()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.rules(&chat.session.id)).unwrap().intact
    }

    /// What is wrong with the database.
    pub(crate) fn problems(&self) -> Vec<String> {
        Archive::open(&self.path("data"), system_clock()).unwrap().unwrap().integrity_problems().unwrap()
    }

    /// Waits for the newest call of all to come to an end.
    pub(crate) fn ended_call(&self) -> CallRecord {
        until("the call ends", || {
            let call = self.newest_call()?;
            match call.status {
                CallStatus::Pending | CallStatus::Waiting | CallStatus::Running => None,
                CallStatus::Succeeded
                | CallStatus::Failed
                | CallStatus::Denied
                | CallStatus::Cancelled
                | CallStatus::Unknown => Some(call),
            }
        })
    }

    /// Every call that is on record.
    pub(crate) fn calls(&self) -> Vec<CallRecord> {
        self.chats().into_iter().flat_map(|chat| chat.calls).collect()
    }

    fn newest_call(&self) -> Option<CallRecord> {
        self.calls().into_iter().max_by_key(|call| call.created_at)
    }

    fn draft(&self) -> Option<String> {
        self.chats().into_iter().next().map(|chat| chat.session.draft)
    }
}

/// A colour of the light theme.
pub(crate) fn color(of: impl Fn(&Theme) -> [u8; 4]) -> u32 {
    let [red, green, blue, _] = of(&Theme::new(Mode::Light));
    u32::from_be_bytes([0, red, green, blue])
}

/// The colour of the one button that leads on.
pub(crate) fn accent() -> u32 {
    color(|theme| theme.colors.accent.to_array())
}

/// More than a blinking caret changes.
const CARET_PIXELS: usize = 100;
/// Nothing changes for so long: it is done, and a question takes answers.
const STILL: Duration = Duration::from_millis(700);

/// The open window. It is ended when it is dropped.
pub(crate) struct Window<'home> {
    home: &'home Home,
    screen: &'home Screen,
    process: Child,
    id: u32,
}

impl<'home> Window<'home> {
    /// Starts the program on a display, gives it the keyboard and waits until something is drawn.
    pub(crate) fn open(home: &'home Home, screen: &'home Screen) -> Self {
        Self::open_by(home.nod(), home, screen)
    }

    /// The same with a command of the test's own.
    pub(crate) fn open_by(mut command: Command, home: &'home Home, screen: &'home Screen) -> Self {
        let mut process = command.env("DISPLAY", screen.name()).spawn().unwrap();
        let id = until("the window opens", || {
            assert_eq!(process.try_wait().unwrap(), None, "the program ended");
            screen.xdotool(&["search", "--onlyvisible", "--name", "^Nod$"]).parse().ok()
        });
        let window = Self { home, screen, process, id };
        window.screen.xdotool(&["windowfocus", "--sync", &id.to_string()]);
        let background = color(|theme| theme.colors.background.to_array());
        until("the window is drawn", || (window.picture().count(background) > 1000).then_some(()));
        window
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn picture(&self) -> Picture {
        self.screen.picture()
    }

    /// Waits until the message box takes the keyboard.
    pub(crate) fn wait_for_composer(&self) {
        until("the message box takes keys", || {
            self.type_text("x");
            within(Duration::from_secs(3), || self.home.draft().filter(|draft| draft.ends_with('x')))
        });
        self.clear();
    }

    /// Empties the message box.
    pub(crate) fn clear(&self) {
        self.press("ctrl+a");
        self.press("BackSpace");
        until("the message box is empty", || self.home.draft().filter(String::is_empty));
    }

    pub(crate) fn press(&self, key: &str) {
        self.screen.xdotool(&["key", "--clearmodifiers", key]);
    }

    /// Presses a key and waits until that is to be seen and nothing moves any more.
    pub(crate) fn step(&self, key: &str) -> Picture {
        let before = self.picture();
        self.press(key);
        until(&format!("{key} does something"), || (self.picture().difference(&before) > CARET_PIXELS).then_some(()));
        self.still()
    }

    pub(crate) fn type_text(&self, text: &str) {
        self.screen.xdotool(&["type", "--clearmodifiers", "--delay", "4", text]);
    }

    pub(crate) fn click(&self, (x, y): (usize, usize)) {
        self.screen.xdotool(&["mousemove", &x.to_string(), &y.to_string(), "click", "1"]);
    }

    /// Waits until nothing but a caret moves.
    pub(crate) fn still(&self) -> Picture {
        let mut last = self.picture();
        let mut since = Instant::now();
        until("the window comes to rest", || {
            let now = self.picture();
            if now.difference(&last) > CARET_PIXELS {
                last = now;
                since = Instant::now();
            }
            (since.elapsed() > STILL).then(|| last.clone())
        })
    }

    /// Whether something lies over everything else: what is behind it is dim.
    pub(crate) fn is_dim(&self) -> bool {
        let background = color(|theme| theme.colors.background.to_array());
        let sidebar = color(|theme| theme.colors.sidebar.to_array());
        let picture = self.picture();
        picture.count(sidebar) < 10_000 && picture.count(background) < 500_000
    }

    pub(crate) fn wait_until_dim(&self) {
        until("a dialog opens", || self.is_dim().then_some(()));
    }

    pub(crate) fn wait_until_bright(&self) {
        until("the dialog closes", || (!self.is_dim()).then_some(()));
    }

    /// Does an action of the command palette.
    pub(crate) fn choose(&self, name: &str) {
        self.press("ctrl+k");
        self.wait_until_dim();
        self.still();
        self.type_text(name);
        self.still();
        self.press("Return");
    }

    /// Types a message, without sending it.
    pub(crate) fn write(&self, text: &str) {
        self.type_text(text);
        until(&format!("the message box holds {text:?}"), || self.home.draft().filter(|draft| draft == text));
    }

    /// Says something.
    pub(crate) fn say(&self, text: &str) {
        let said =
            |chat: &SessionExport| chat.messages.iter().filter(|record| record.message.role == Role::User).count();
        let before = self.home.chat().as_ref().map_or(0, said);
        self.write(text);
        self.press("Return");
        until("the message is sent", || self.home.chat().filter(|chat| said(chat) > before));
    }

    /// Waits for the end of the answer; gives its text.
    pub(crate) fn answer(&self) -> String {
        until("the answer ends", || {
            let record = self.home.chat()?.messages.pop()?;
            let is_answer = record.message.role == Role::Assistant && record.status == MessageStatus::Complete;
            (is_answer && record.message.tool_calls.is_none()).then_some(record.message.content)
        })
    }

    /// Waits for a question about a call, and until it takes answers.
    pub(crate) fn wait_for_question(&self) -> CallRecord {
        let call =
            until("a question is asked", || self.home.newest_call().filter(|call| call.status == CallStatus::Waiting));
        self.wait_until_dim();
        self.still();
        call
    }

    /// Presses the window's X.
    pub(crate) fn press_close(&self) {
        self.screen.press_close(self.id);
    }

    /// Whether the window asks a window manager for the person's attention.
    pub(crate) fn asks_for_attention(&self) -> bool {
        const URGENT: u32 = 1 << 8;
        self.screen.hint_flags(self.id) & URGENT != 0
    }

    /// How many windows there are.
    pub(crate) fn count(&self) -> usize {
        self.screen.xdotool(&["search", "--onlyvisible", "--name", "^Nod$"]).lines().count()
    }

    pub(crate) fn is_open(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// Waits for the program's end.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        until("the program ends", || self.process.try_wait().unwrap())
    }

    /// What the ended program said on its standard error, where that was piped.
    pub(crate) fn errors(&mut self) -> Vec<u8> {
        let mut said = Vec::new();
        if let Some(mut stderr) = self.process.stderr.take() {
            std::io::Read::read_to_end(&mut stderr, &mut said).unwrap();
        }
        said
    }

    /// Closes the window, and with it the program.
    pub(crate) fn close(mut self) {
        self.press_close();
        assert!(self.ended().success());
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let name = std::thread::current().name().unwrap_or("window").replace(':', "_");
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.ppm"));
            if std::fs::write(&path, self.picture().to_ppm()).is_ok() {
                eprintln!("what was to be seen: {}", path.display());
            }
        }
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}
