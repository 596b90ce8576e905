//! The app's side of a command: starts the helper stage, drains both streams, keeps the time-out and hears the stop.
//!
//! One thread and one `poll`: it sleeps until there is output, an end, a stop or a deadline.

use std::fs::Permissions;
use std::io::{ErrorKind, Read, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::pin::pin;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::task::{Context, Wake};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::capture::{Decoder, HeadTail, Live};
use super::channel::{Covered, Order, Placed, Report, parse_report, send_order};
use super::{
    Captured, CommandOutcome, CommandSpec, Ending, HELPER_ARGUMENT, INNER_TEMPORARY_FOLDER, SandboxError, environment,
    tree,
};
use crate::ir::Tier;

/// How long the end of all that a command started is waited for, once it was stopped, took too long or its shell ended. What
/// is left after that hangs in the kernel; the helper goes on until it is gone. Not less: with the return of the call whoever
/// waits to write a file that is held may write, and on a busy machine the killing takes its time.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a helper may take to read its order.
const ORDER_PATIENCE: Duration = Duration::from_secs(1);

/// Runs a command to its end, its time-out or the stop. Blocks. `helper` is this very program; `on_output` gets live
/// output as (is it the error stream, text), at most 30 times a second.
///
/// # Errors
/// When the command could not be started, or its helper stage was killed.
pub fn run(
    spec: &CommandSpec,
    helper: &Path,
    cancel: &CancellationToken,
    on_output: &mut dyn FnMut(bool, &str),
) -> Result<CommandOutcome, SandboxError> {
    let started = Instant::now();
    let mut running = start(spec, helper)?;
    let wake = WakeSocket::new()?;
    let waker = wake.waker();
    let mut cancelled = pin!(cancel.cancelled());
    let mut is_cancelled = move || cancelled.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();

    let mut streams = Streams::new(&mut running.helper, spec.output_bytes)?;
    let deadline = started + spec.timeout;
    let mut stopped_by = None;
    let mut give_up_at: Option<Instant> = None;
    let mut received = Vec::new();
    let has_ended = loop {
        let now = Instant::now();
        if stopped_by.is_none() && give_up_at.is_none() {
            let stop = if is_cancelled() {
                Some(Ending::Cancelled)
            } else if now >= deadline {
                Some(Ending::TimedOut)
            } else {
                None
            };
            if stop.is_some() {
                running.control.shutdown(Shutdown::Write).ok();
                stopped_by = stop;
                give_up_at = Some(now + PATIENCE);
            }
        } else if give_up_at.is_some_and(|at| now >= at) {
            break false;
        }
        if streams.live.due().is_some_and(|due| now >= due) {
            streams.live.show(now, on_output);
        }
        let until = [Some(give_up_at.unwrap_or(deadline)), streams.live.due()].into_iter().flatten().min();
        wait(&running.control, &wake, &streams, until.map_or(Duration::ZERO, |at| at.saturating_duration_since(now)))?;
        wake.clear();
        streams.read();
        match read_some(&running.control, &mut received) {
            Reading::Some => {}
            Reading::Nothing => continue,
            Reading::End => break true,
        }
        if give_up_at.is_none() && parse_report(&received).is_some() {
            give_up_at = Some(Instant::now() + PATIENCE);
        }
    };
    let report = parse_report(&received);
    if has_ended && report.is_none() {
        running.sweep_after_lost_helper();
    }
    streams.read_rest();
    streams.live.show(Instant::now(), on_output);
    let [stdout, stderr] = streams.finish();
    running.leave(has_ended);
    let (report, is_exchanged) = match report {
        Some(Report::Exchanged(report)) => (Some(*report), true),
        report => (report, false),
    };
    let ending = match (report, stopped_by) {
        (Some(Report::Exited(code)), _) => Ending::Exited(code),
        (Some(Report::Signalled(signal)), None) => Ending::Signalled(signal),
        (Some(Report::TooManyProcesses), None) => Ending::TooManyProcesses,
        (Some(Report::Unconfinable(message)), _) => return Err(SandboxError::Confinement { message }),
        (Some(Report::Failed(message)), _) => return Err(SandboxError::Start { message }),
        (Some(Report::Signalled(_) | Report::TooManyProcesses | Report::Exchanged(_)) | None, Some(stopped_by)) => {
            stopped_by
        }
        (Some(Report::Exchanged(_)) | None, None) => return Err(SandboxError::HelperLost),
    };
    Ok(CommandOutcome { stdout, stderr, ending, duration: started.elapsed(), is_exchanged })
}

/// A helper at work, with the folder that is removed after it.
struct Running {
    helper: Child,
    control: UnixStream,
    temporary: TempDir,
}

fn start(spec: &CommandSpec, helper: &Path) -> Result<Running, SandboxError> {
    let io = |action| move |source| SandboxError::Io { action, source };
    let temporary = tempfile::Builder::new()
        .prefix("nod-run-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .map_err(io("making a temporary folder"))?;
    let shown = match spec.confine.tier {
        // It has a folder of its own there, in memory, that ends with it.
        Tier::A => INNER_TEMPORARY_FOLDER.into(),
        Tier::B | Tier::Seatbelt | Tier::Unconfined => temporary.path().to_string_lossy(),
    };
    let environment = environment(&spec.cwd_path, &shown);
    let (control, theirs) = UnixStream::pair().map_err(io("opening a channel to the command"))?;
    let helper = Command::new(helper)
        .arg(HELPER_ARGUMENT)
        .env_clear()
        .current_dir("/")
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(io("starting the helper process"))?;
    let running = Running { helper, control, temporary };
    let confine = &spec.confine;
    let order = Order {
        command: spec.command.clone(),
        environment,
        tier: confine.tier,
        network: confine.network,
        bubblewrap: confine.bubblewrap.clone(),
        places: confine
            .places
            .iter()
            .map(|place| Placed { path: place.path.clone().into(), treatment: place.treatment })
            .collect(),
        hidden: confine
            .hidden
            .iter()
            .map(|hidden| Covered { path: hidden.path.clone().into(), is_folder: hidden.is_folder })
            .collect(),
        aliases: confine.aliases.iter().map(|(alias, real)| (alias.into(), real.into())).collect(),
        submounts: confine.submounts.iter().map(Into::into).collect(),
        open_files: super::limit::open_files_before(),
    };
    let places: Vec<_> = confine.places.iter().map(|place| place.handle.as_fd()).collect();
    let sent = running
        .control
        .set_write_timeout(Some(ORDER_PATIENCE))
        .and_then(|()| send_order(&running.control, &order, spec.cwd.as_fd(), &places))
        .and_then(|()| running.control.set_nonblocking(true));
    match sent {
        Ok(()) => Ok(running),
        Err(source) => {
            running.leave(false);
            Err(SandboxError::Io { action: "sending the command to its helper process", source })
        }
    }
}

impl Running {
    /// Reaps the helper: at once when it has ended, else on a thread of its own, since a process that hangs in the kernel
    /// may keep it.
    fn leave(self, has_ended: bool) {
        let Self { mut helper, control, temporary } = self;
        let finish = move || {
            drop(control);
            helper.wait().ok();
            drop(temporary);
        };
        if has_ended {
            finish();
        } else {
            // Without a thread the helper stays a zombie until Nod ends: harmless.
            std::thread::Builder::new().name("command-end".into()).spawn(finish).ok();
        }
    }

    /// The helper was killed before it could end what it watched over: ends what did not leave its session.
    fn sweep_after_lost_helper(&self) {
        if let Some(pid) = i32::try_from(self.helper.id()).ok().and_then(rustix::process::Pid::from_raw) {
            tree::end_session(pid);
        }
    }
}

/// Sleeps until something can be read or the time is over.
fn wait(control: &UnixStream, wake: &WakeSocket, streams: &Streams, timeout: Duration) -> Result<(), SandboxError> {
    let mut waited = vec![PollFd::new(control, PollFlags::IN), PollFd::new(&wake.reader, PollFlags::IN)];
    waited.extend(
        streams.open.iter().flatten().map(|stream| PollFd::from_borrowed_fd(stream.pipe.as_fd(), PollFlags::IN)),
    );
    let timeout = Timespec::try_from(timeout).ok();
    match poll(&mut waited, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(SandboxError::Io { action: "waiting for the command", source: error.into() }),
    }
}

enum Reading {
    Some,
    Nothing,
    End,
}

fn read_some(mut source: impl Read, into: &mut Vec<u8>) -> Reading {
    let mut buffer = [0; 1024];
    match source.read(&mut buffer) {
        Ok(0) => Reading::End,
        Ok(count) => {
            into.extend(buffer.iter().take(count));
            Reading::Some
        }
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Reading::Nothing,
        Err(_) => Reading::End,
    }
}

/// Both output streams.
struct Streams {
    open: [Option<Stream>; 2],
    kept: [HeadTail; 2],
    live: Live,
    buffer: Vec<u8>,
}

struct Stream {
    pipe: Box<dyn Pipe>,
    decoder: Decoder,
}

trait Pipe: Read + AsFd {}
impl<T: Read + AsFd> Pipe for T {}

impl Streams {
    fn new(helper: &mut Child, cap: usize) -> Result<Self, SandboxError> {
        let stdout = helper.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Pipe>);
        let stderr = helper.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Pipe>);
        let mut open = [None, None];
        for (slot, pipe) in open.iter_mut().zip([stdout, stderr]) {
            if let Some(pipe) = pipe {
                ioctl_fionbio(pipe.as_fd(), true)
                    .map_err(|error| SandboxError::Io { action: "opening the output", source: error.into() })?;
                *slot = Some(Stream { pipe, decoder: Decoder::default() });
            }
        }
        let kept = [HeadTail::new(cap), HeadTail::new(cap)];
        Ok(Self { open, kept, live: Live::new(Instant::now()), buffer: vec![0; 64 * 1024] })
    }

    /// Reads once from each stream. `false` when neither had anything.
    fn read(&mut self) -> bool {
        let mut has_read = false;
        for ((slot, kept), is_stderr) in self.open.iter_mut().zip(&mut self.kept).zip([false, true]) {
            let Some(stream) = slot else { continue };
            let text = match stream.pipe.read(&mut self.buffer) {
                Ok(0) => {
                    let rest = stream.decoder.finish().to_owned();
                    *slot = None;
                    rest
                }
                Ok(count) => {
                    has_read = true;
                    stream.decoder.push(self.buffer.get(..count).unwrap_or_default())
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => continue,
                Err(_) => {
                    *slot = None;
                    continue;
                }
            };
            kept.push(&text);
            self.live.push(is_stderr, &text);
        }
        has_read
    }

    /// Reads what lies in the pipes when the command is over. A pipe holds little; a process that survived may not keep
    /// this going.
    fn read_rest(&mut self) {
        const READS: usize = 64;
        for _ in 0..READS {
            if !self.read() {
                return;
            }
        }
    }

    fn finish(mut self) -> [Captured; 2] {
        for (slot, kept) in self.open.iter_mut().zip(&mut self.kept) {
            if let Some(stream) = slot {
                kept.push(stream.decoder.finish());
            }
        }
        self.kept.map(HeadTail::finish)
    }
}

/// Turns the stop, which is told to a waker, into something that `poll` sees.
struct WakeSocket {
    reader: UnixStream,
    writer: Arc<Writer>,
}

struct Writer(UnixStream);

impl Wake for Writer {
    fn wake(self: Arc<Self>) {
        // A full socket already wakes.
        (&self.0).write_all(&[1]).ok();
    }
}

impl WakeSocket {
    fn new() -> Result<Self, SandboxError> {
        let open = || {
            let (reader, writer) = UnixStream::pair()?;
            reader.set_nonblocking(true)?;
            writer.set_nonblocking(true)?;
            Ok(Self { reader, writer: Arc::new(Writer(writer)) })
        };
        open().map_err(|source| SandboxError::Io { action: "opening a channel for the stop", source })
    }

    fn waker(&self) -> std::task::Waker {
        Arc::clone(&self.writer).into()
    }

    fn clear(&self) {
        // There is one stop, and so one byte.
        (&self.reader).read_exact(&mut [0]).ok();
    }
}
