//! The window itself: moves events in, commands out, and does what only a window can (dialogs, clipboard, links).
//!
//! `logic` takes events for at most 4 ms and never draws; `draw` reads the state and fills the outbox.
#![expect(clippy::disallowed_methods, reason = "the window reads the clock and hands the time to the state")]

mod act;
mod looks;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime};

use egui::{Context, Ui, UserAttentionType, ViewportCommand, Visuals};

use crate::app::rows::{model_rows, palette_rows, sidebar_rows};
use crate::app::{AppState, Closing, FaultChoice, Intent, Phase, Reaction, StartFault};
use crate::ir::{SessionId, UnixMs};
use crate::lang::{Lang, Locale};
use crate::port::{Command, Event, GeneralSettings, Language, Theme as ThemeSetting, WindowPlace};

use looks::Looks;

use super::notice::{LONG_TURN_MS, Notice};
use super::panel::composer;
use super::scene::{Rows, Scene, ViewState};
use super::stray::Strays;
use super::theme::{Mode, Theme};
use super::transcript::Transcript;
use super::waker::Waker;
use super::{font, layout, screen_lock, task};

/// Called from any thread when events have come; does not block.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// How the window talks to the engine.
pub trait Port: Send {
    /// Hands a command over without waiting.
    ///
    /// # Errors
    /// Gives the command back when the engine's queue is full or the engine is gone.
    fn send(&mut self, command: Command) -> Result<(), Box<Command>>;

    /// Takes events for at most this long, without waiting for any.
    fn drain(&mut self, budget: Duration) -> Vec<Event>;

    /// Whether nothing is left to take.
    fn is_empty(&self) -> bool;
}

/// Starts an engine; `None` for the first time, else as the person chose after a fault. Called on a thread of its own.
pub type Launcher = Arc<dyn Fn(Option<FaultChoice>, Wake) -> Result<Box<dyn Port>, Box<StartFault>> + Send + Sync>;

/// What a window is opened with.
pub struct WindowOptions {
    /// Starts the engine.
    pub launcher: Launcher,
    /// The time; the system's own outside tests.
    pub clock: Arc<dyn Fn() -> UnixMs + Send + Sync>,
    /// The system's language.
    pub locale: Locale,
    /// The person's home folder, for short paths.
    pub home: Option<PathBuf>,
}

impl WindowOptions {
    /// The usual window around an engine.
    pub fn new(launcher: Launcher) -> Self {
        let home = directories::BaseDirs::new().map(|folders| folders.home_dir().to_path_buf());
        Self { launcher, clock: Arc::new(system_time), locale: Locale::system(), home }
    }
}

/// What a worker thread brings back.
pub(super) enum Arrival {
    Intent(Intent),
    Launched(Result<Box<dyn Port>, Box<StartFault>>),
}

/// How long `logic` may take events.
const DRAIN_BUDGET: Duration = Duration::from_millis(4);
/// How long after a composition its last key may still come, in milliseconds.
const COMPOSITION_TAIL_MS: u64 = 60;
/// How long the caret blinks after the last key or click, in milliseconds.
const BLINK_MS: u64 = 8_000;
/// How long opening waits for the settings, so that the first frame already has them.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// The window: an eframe app, also driven by tests.
pub struct Window {
    state: AppState,
    view: ViewState,
    rows: Rows,
    lang: Lang,
    locale: Locale,
    home: Option<String>,
    port: Option<Box<dyn Port>>,
    launcher: Launcher,
    clock: Arc<dyn Fn() -> UnixMs + Send + Sync>,
    wake: Arc<Waker>,
    outbox: VecDeque<Intent>,
    arrivals: Receiver<Arrival>,
    arrived: SyncSender<Arrival>,
    rows_are_stale: bool,
    may_close: bool,
    place: Option<WindowPlace>,
    rows_day: i64,
    /// Whether the person sees the window and types into it.
    is_in_sight: bool,
    /// How it looked in the last frame.
    looks: Option<Looks>,
    /// Whether an input method composes.
    composes: bool,
    /// Something came that the person would want to see.
    wants_attention: bool,
    /// What the desktop is told of, should the window have no focus.
    notice: Option<Notice>,
    /// When each running turn began.
    turns: HashMap<SessionId, UnixMs>,
    /// When the person last did anything.
    touched_at: UnixMs,
    /// Keys and clicks that were meant for something else than the question that is shown.
    strays: Strays,
}

fn system_time() -> UnixMs {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    UnixMs(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Opens the window and stays until it closes.
///
/// # Errors
/// When no window can be opened: no display, no graphics.
pub fn run(options: WindowOptions) -> Result<(), eframe::Error> {
    let mut window = Window::new(options);
    window.launch(None);
    window.wait_for_settings(FIRST_WAIT);
    let general = window.state.settings.general.clone();
    let native = eframe::NativeOptions {
        viewport: viewport(&general),
        renderer: eframe::Renderer::Glow,
        persist_window: false,
        centered: general.window.is_none(),
        dithering: false,
        ..eframe::NativeOptions::default()
    };
    eframe::run_native(
        "Nod",
        native,
        Box::new(move |creation| {
            window.attach(&creation.egui_ctx);
            screen_lock::watch(&window.arrived, &window.wake);
            Ok(Box::new(window))
        }),
    )
}

fn viewport(general: &GeneralSettings) -> egui::ViewportBuilder {
    let place =
        general.window.unwrap_or(WindowPlace { x: 0.0, y: 0.0, width: 1180.0, height: 800.0, is_maximized: false });
    let mut viewport = egui::ViewportBuilder::default()
        .with_title("Nod")
        .with_app_id("nod")
        .with_drag_and_drop(true)
        .with_min_inner_size([640.0, 420.0])
        .with_inner_size([place.width.max(640.0), place.height.max(420.0)])
        .with_maximized(place.is_maximized);
    if general.window.is_some() {
        viewport = viewport.with_position([place.x, place.y]);
    }
    viewport
}

impl Window {
    /// A window that is not shown yet.
    pub fn new(options: WindowOptions) -> Self {
        let (arrived, arrivals) = sync_channel(64);
        let locale = options.locale;
        Self {
            state: AppState::default(),
            view: ViewState { focus_composer: true, ..ViewState::default() },
            rows: Rows::default(),
            lang: Lang::new(locale),
            locale,
            home: options.home.map(|home| home.to_string_lossy().into_owned()),
            port: None,
            launcher: options.launcher,
            clock: options.clock,
            wake: Arc::new(Waker::default()),
            outbox: VecDeque::new(),
            arrivals,
            arrived,
            rows_are_stale: true,
            may_close: false,
            place: None,
            rows_day: 0,
            is_in_sight: false,
            looks: None,
            composes: false,
            wants_attention: false,
            notice: None,
            turns: HashMap::new(),
            touched_at: UnixMs(0),
            strays: Strays::default(),
        }
    }

    /// Binds it to what draws it: fonts, and wake-ups from other threads.
    pub fn attach(&mut self, ctx: &Context) {
        font::install(ctx);
        if self.wake.ctx.set(ctx.clone()).is_err() {
            tracing::warn!("the window was attached twice");
        }
        self.view.transcript = Some(Transcript::new(ctx));
        self.apply_settings(ctx, (self.clock)());
    }

    /// The state, for tests.
    pub fn state(&self) -> &AppState {
        &self.state
    }

    /// Does what a person would do, for tests.
    pub fn act(&mut self, intent: Intent) {
        self.outbox.push_back(intent);
    }

    /// Lets the start have failed, for tests.
    pub fn fail(&mut self, fault: StartFault) {
        self.state.fail_start(fault);
    }

    /// Lets the person have gone on without saving, for tests.
    pub fn unsaved(&mut self) {
        self.state.is_unsaved = true;
    }

    /// Uses an engine that runs already, for tests.
    pub fn connect(&mut self, port: Box<dyn Port>) {
        self.port = Some(port);
    }

    /// What wakes the window.
    pub fn wake(&self) -> Wake {
        let waker = Arc::clone(&self.wake);
        Arc::new(move || waker.wake())
    }

    fn launch(&mut self, choice: Option<FaultChoice>) {
        self.port = None;
        let launcher = Arc::clone(&self.launcher);
        let wake = self.wake();
        task::spawn("nod start", &self.arrived, &self.wake, move || vec![Arrival::Launched(launcher(choice, wake))]);
    }

    fn wait_for_settings(&mut self, most: Duration) {
        let start = Instant::now();
        while self.state.phase == Phase::Starting && start.elapsed() < most {
            let now = (self.clock)();
            if self.port.is_none() {
                match self.arrivals.recv_timeout(most.saturating_sub(start.elapsed())) {
                    Ok(arrival) => self.take(arrival, now),
                    Err(_) => return,
                }
            } else {
                self.take_events(now);
                std::thread::park_timeout(Duration::from_millis(2));
            }
        }
    }

    fn take(&mut self, arrival: Arrival, now: UnixMs) {
        match arrival {
            Arrival::Intent(intent) => {
                let reaction = self.state.on_intent(intent, now);
                self.carry_out(reaction, None, now);
            }
            Arrival::Launched(Ok(port)) => self.port = Some(port),
            Arrival::Launched(Err(fault)) => self.state.fail_start(*fault),
        }
        self.rows_are_stale = true;
    }

    fn take_events(&mut self, now: UnixMs) {
        let Some(port) = &mut self.port else { return };
        let events = port.drain(DRAIN_BUDGET);
        for event in events {
            self.wants_attention |= matches!(event, Event::ConfirmAsked(_) | Event::TurnEnded(_));
            self.take_notice(&event, now);
            let reaction = self.state.on_event(event, now);
            self.carry_out(reaction, None, now);
            self.rows_are_stale = true;
        }
    }

    /// What the desktop is told of, should the window have no focus.
    fn take_notice(&mut self, event: &Event, now: UnixMs) {
        if let Event::ConfirmAsked(request) = event {
            self.notice = Some(Notice::of_question(&self.lang, request));
        } else if let Event::StateChanged { session, state } = event
            && state.is_running()
        {
            self.turns.entry(session.clone()).or_insert(now);
        } else if let Event::TurnEnded(end) = event
            && self.turns.remove(&end.session_id).is_some_and(|began| now.since(began) >= LONG_TURN_MS)
        {
            let session = self.state.sessions.iter().find(|session| session.id == end.session_id);
            let session = session.or_else(|| self.state.threads.find(&end.session_id));
            let title = session.map_or("", |session| session.title.as_str());
            self.notice = Notice::of_end(&self.lang, end, title);
        }
    }

    /// Everything of a frame that draws nothing; also runs while the window is hidden.
    pub fn logic(&mut self, ctx: &Context) {
        let now = (self.clock)();
        self.state.utc_offset_ms = utc_offset_ms(now);
        while let Ok(arrival) = self.arrivals.try_recv() {
            self.take(arrival, now);
        }
        self.take_events(now);
        if self.port.as_ref().is_some_and(|port| !port.is_empty()) {
            ctx.request_repaint();
        }
        self.take_input(ctx, now);
        if std::mem::take(&mut self.wants_attention) && !ctx.input(|input| input.focused) {
            ctx.send_viewport_cmd(ViewportCommand::RequestUserAttention(UserAttentionType::Informational));
            if let Some(notice) = self.notice.take() {
                notice.show();
            }
        }
        self.notice = None;
        let reaction = self.state.on_tick(now);
        self.carry_out(reaction, Some(ctx), now);
        self.apply_outbox(ctx, now);
        self.apply_settings(ctx, now);
        self.refresh_rows(now);
        if let Some(request) = self.state.confirms.shown() {
            // A part of the text at a time, so that a preview of 5 MB never holds a frame up.
            if self.view.confirm.prepare(request, self.view.transcript.as_mut().map(Transcript::highlighter)) {
                ctx.request_repaint();
            }
        }
        if self.view.undo.prepare(self.state.undo.as_ref(), self.view.transcript.as_mut().map(Transcript::highlighter))
        {
            ctx.request_repaint();
        }
        self.view.history.prepare(&self.state.history);
        if let Some(next) = self.state.next_tick(now) {
            let rest = u64::try_from(next.0.saturating_sub(now.0)).unwrap_or(0);
            ctx.request_repaint_after(Duration::from_millis(rest.max(10)));
        }
    }

    /// What is typed or clicked while a question is shown that was not meant for it.
    fn listen(&mut self, ctx: &Context, now: UnixMs) {
        let writes = self.view.confirm.writes_reason(ctx);
        let Self { strays, state, .. } = self;
        ctx.input(|input| strays.listen(&input.events, &mut state.confirms, writes, now));
    }

    fn take_input(&mut self, ctx: &Context, now: UnixMs) {
        let (dropped, images, close_requested, place) = ctx.input(|input| {
            let dropped: Vec<PathBuf> = input.raw.dropped_files.iter().map(|file| file.path().to_path_buf()).collect();
            let images: Vec<_> = input
                .events
                .iter()
                .filter_map(
                    |event| {
                        if let egui::Event::PasteImage(image) = event { Some(Arc::clone(image)) } else { None }
                    },
                )
                .collect();
            let viewport = input.viewport();
            let place = viewport.outer_rect.zip(viewport.inner_rect).map(|(outer, inner)| WindowPlace {
                x: outer.left(),
                y: outer.top(),
                width: inner.width(),
                height: inner.height(),
                is_maximized: viewport.maximized.unwrap_or(false),
            });
            (dropped, images, viewport.close_requested(), place)
        });
        if ctx.input(|input| !input.events.is_empty()) {
            self.touched_at = now;
            self.listen(ctx, now);
        }
        let is_in_sight = ctx.input(|input| {
            let viewport = input.viewport();
            input.focused && viewport.minimized != Some(true) && viewport.occluded != Some(true)
        });
        if is_in_sight && !self.is_in_sight {
            self.state.confirms.appear(now);
        }
        self.is_in_sight = is_in_sight;
        // A caret that blinks for ever would paint for ever.
        let blinks = self.state.settings.general.animations && now.since(self.touched_at) < BLINK_MS;
        if ctx.global_style().visuals.text_cursor.blink != blinks {
            ctx.global_style_mut(|style| style.visuals.text_cursor.blink = blinks);
        }
        if let Some(place) = place.filter(|place| place.width > 1.0) {
            self.place = Some(place);
        }
        if !dropped.is_empty() {
            self.outbox.push_back(Intent::AttachFiles(dropped));
        }
        for image in images {
            task::spawn("nod image", &self.arrived, &self.wake, move || task::pasted_image(&image));
        }
        if close_requested && !self.may_close && self.state.phase != Phase::Ended {
            ctx.send_viewport_cmd(ViewportCommand::CancelClose);
            if self.state.closing != Closing::Quitting {
                self.remember_place(now);
                self.outbox.push_back(Intent::RequestClose);
            }
        }
    }

    fn remember_place(&mut self, now: UnixMs) {
        if self.place.is_none() || self.place == self.state.settings.general.window {
            return;
        }
        if let Ok(value) = serde_json::to_value(self.place) {
            let reaction = self.state.on_intent(Intent::SetSetting { key: "general.window", value }, now);
            self.carry_out(reaction, None, now);
        }
    }

    fn apply_outbox(&mut self, ctx: &Context, now: UnixMs) {
        while let Some(intent) = self.outbox.pop_front() {
            if intent == Intent::RequestClose {
                self.remember_place(now);
            }
            let reaction = self.state.on_intent(intent, now);
            self.carry_out(reaction, Some(ctx), now);
            self.rows_are_stale = true;
        }
    }

    fn carry_out(&mut self, reaction: Reaction, ctx: Option<&Context>, now: UnixMs) {
        for command in reaction.commands {
            let refused = match &mut self.port {
                Some(port) => port.send(command).err().map(|command| *command),
                None => Some(command),
            };
            if let Some(command) = refused {
                tracing::warn!("the engine did not take a command");
                self.state.on_refused(command, now);
            }
        }
        for action in reaction.actions {
            let ctx = ctx.or_else(|| self.wake.ctx.get()).cloned();
            self.act_on(action, ctx.as_ref());
        }
    }

    fn apply_settings(&mut self, ctx: &Context, now: UnixMs) {
        let general = &self.state.settings.general;
        let locale = match general.language {
            Language::System => self.locale,
            Language::English => Locale::English,
            Language::Chinese => Locale::Chinese,
        };
        if locale != self.lang.locale() {
            self.lang = Lang::new(locale);
        }
        let mode = match general.theme {
            ThemeSetting::Light => Mode::Light,
            ThemeSetting::Dark => Mode::Dark,
            ThemeSetting::System => match ctx.system_theme() {
                Some(egui::Theme::Dark) => Mode::Dark,
                Some(egui::Theme::Light) | None => Mode::Light,
            },
        };
        let theme = Theme {
            message_size: general.message_font_size.clamp(10.0, 28.0),
            code_size: general.code_font_size.clamp(9.0, 28.0),
            animations: general.animations,
            ..Theme::new(mode)
        };
        theme.install(ctx);
        let zoom = general.ui_scale.clamp(0.5, 3.0);
        if (ctx.zoom_factor() - zoom).abs() > 0.001 {
            ctx.set_zoom_factor(zoom);
        }
        // Other words, other colours or another place under the pointer: what was about to be pressed may be something else.
        let looks = Looks::of(ctx, locale, mode, theme.code_size);
        if self.looks.replace(looks).is_some_and(|before| before != looks) {
            self.state.confirms.appear(now);
        }
    }

    fn refresh_rows(&mut self, now: UnixMs) {
        let day = now.0.saturating_add(self.state.utc_offset_ms).div_euclid(86_400_000);
        if !self.rows_are_stale && day == self.rows_day {
            return;
        }
        self.rows_are_stale = false;
        self.rows_day = day;
        self.rows.sidebar = sidebar_rows(&self.state, now);
        self.rows.models = model_rows(&self.state, "");
        let wants_palette = self.state.panel == Some(crate::app::Panel::Palette);
        self.rows.palette = if wants_palette { palette_rows(&self.state, now) } else { Vec::new() };
    }

    /// Draws a frame. May run twice for one frame: what the person did is carried out once.
    pub fn draw(&mut self, ui: &mut Ui) {
        let now = (self.clock)();
        self.wake.frame_drawn();
        let theme = Theme::of(ui.ctx());
        let was_composing = self.composes;
        self.composes = ui.input(|input| composer::composes_after(&input.events, was_composing));
        if was_composing && !self.composes {
            self.view.composed_at = Some(now);
        }
        let ended_just_now = self.view.composed_at.is_some_and(|at| now.since(at) < COMPOSITION_TAIL_MS);
        self.view.is_composing = was_composing || self.composes || ended_just_now;
        let mut scene = Scene {
            state: &self.state,
            lang: &self.lang,
            theme: &theme,
            rows: &self.rows,
            home: self.home.as_deref(),
            now,
            top: None,
            outbox: &mut self.outbox,
        };
        layout::show(ui, &mut scene, &mut self.view);
        if !self.outbox.is_empty() {
            let ctx = ui.ctx().clone();
            self.apply_outbox(&ctx, now);
            ctx.request_repaint();
        }
    }
}

impl eframe::App for Window {
    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        Self::logic(self, ctx);
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        self.draw(ui);
    }

    fn clear_color(&self, visuals: &Visuals) -> [f32; 4] {
        visuals.panel_fill.to_normalized_gamma_f32()
    }

    fn persist_egui_memory(&self) -> bool {
        false
    }
}

fn utc_offset_ms(now: UnixMs) -> i64 {
    let zone = jiff::tz::TimeZone::system();
    jiff::Timestamp::from_millisecond(now.0).map_or(0, |time| i64::from(zone.to_offset(time).seconds()) * 1000)
}
