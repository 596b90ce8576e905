//! The window and the engine brought together: the only place that knows both. A second start raises the window that is there.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use nod::app::{FaultChoice, StartFault, StartFaultKind};
use nod::cli::{self, Exit};
use nod::engine::{Engine, EngineOptions, Handover, Inbox, Storage, hand_over, serve, start_logging};
use nod::port::{Command, Event};
use nod::store::StoreError;
use nod::ui::{Port, Wake, WindowOptions};

/// Opens the window, or raises the one that has this data folder.
pub(crate) fn open(data_dir: PathBuf) -> ExitCode {
    if is_raised(&data_dir) {
        return Exit::Done.into();
    }
    let _log = start_logging(&data_dir);
    let launcher = Arc::new(move |choice, wake| launch(&data_dir, choice, wake));
    match nod::ui::run(WindowOptions::new(launcher)) {
        Ok(()) => Exit::Done.into(),
        Err(error) => cli::report_no_display(&error.to_string()),
    }
}

/// Whether another process has the folder and brought its window forward.
fn is_raised(data_dir: &Path) -> bool {
    let mut exit = Exit::Failed;
    let raise = hand_over(data_dir, &Handover::default(), |reply| {
        if let nod::engine::Reply::Exit(code) = reply {
            exit = Exit::from_code(code);
        }
    });
    raise.is_ok() && exit == Exit::Done
}

fn launch(data_dir: &Path, choice: Option<FaultChoice>, wake: Wake) -> Result<Box<dyn Port>, Box<StartFault>> {
    let (folder, storage) = match choice {
        None | Some(FaultChoice::Retry) => (data_dir.to_path_buf(), Storage::InFolder),
        Some(FaultChoice::UseFolder(folder)) => (folder, Storage::InFolder),
        Some(FaultChoice::WithoutSaving) => (data_dir.to_path_buf(), Storage::InMemory),
    };
    let fault = |kind, detail: String| Box::new(StartFault { kind, folder: folder.clone(), detail });
    let helper = std::env::current_exe().map_err(|error| fault(StartFaultKind::Other, error.to_string()))?;
    let options = EngineOptions { storage, ..EngineOptions::new(&folder, helper) };
    let engine = Engine::start(options).map_err(|error| fault(kind_of(&error), error.to_string()))?;
    if storage == Storage::InFolder {
        let handle = engine.handle();
        if let Err(error) = serve(&folder, move |visitor| cli::serve(&handle, visitor)) {
            tracing::warn!(%error, "a second start will not find this window");
        }
    }
    engine.end_on_interrupt();
    let inbox = engine.subscribe(wake);
    Ok(Box::new(EnginePort { engine: Some(engine), inbox }))
}

fn kind_of(error: &nod::engine::StartError) -> StartFaultKind {
    match error {
        nod::engine::StartError::Store(error) => match error {
            StoreError::ReadOnly { .. } => StartFaultKind::ReadOnly,
            StoreError::Full { .. } => StartFaultKind::NoSpace,
            StoreError::Newer { .. } => StartFaultKind::Newer,
            StoreError::Corrupt { .. } => StartFaultKind::Corrupt,
            StoreError::Locked { .. } => StartFaultKind::Locked,
            StoreError::Untrusted { .. }
            | StoreError::Missing { .. }
            | StoreError::Conflict { .. }
            | StoreError::Format { .. }
            | StoreError::Import { .. }
            | StoreError::Io { .. }
            | StoreError::Sql { .. }
            | StoreError::Closed => StartFaultKind::Other,
        },
        nod::engine::StartError::Threads { .. } => StartFaultKind::Other,
    }
}

/// The engine as the window talks to it; the window's end is the engine's end.
struct EnginePort {
    engine: Option<Engine>,
    inbox: Inbox,
}

impl Port for EnginePort {
    fn send(&mut self, command: Command) -> Result<(), Box<Command>> {
        let Some(engine) = &self.engine else { return Err(Box::new(command)) };
        engine.send(command.clone()).map_err(|_full| Box::new(command))
    }

    fn drain(&mut self, budget: Duration) -> Vec<Event> {
        self.inbox.drain(budget)
    }

    fn is_empty(&self) -> bool {
        self.inbox.is_empty()
    }
}

impl Drop for EnginePort {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.take() {
            engine.shutdown();
        }
    }
}
