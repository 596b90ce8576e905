//! The local socket in the data folder through which a second start raises the window, and command lines that write are
//! handed to the engine that has the folder. (That there is one is held by the store's lock.)
//!
//! A request is one JSON line; the answer is JSON lines of output, the exit code last. Where the platform has no local sockets a
//! second start says that the folder is in use.

use std::io::{self, BufRead as _, BufReader, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

const SOCKET_NAME: &str = "nod.sock";
/// Room for the arguments of a 5 MB write, escaped.
const LONGEST_REQUEST: u64 = 32 * 1024 * 1024;

/// What is handed over: a command line with everything that it takes from its surroundings.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Handover {
    /// The arguments, the program's name first. None asks for nothing but the window.
    pub arguments: Vec<String>,
    /// Where relative paths start.
    pub cwd: PathBuf,
    /// What came on standard input, where the arguments ask for it.
    pub stdin: String,
    /// The key in the environment variable that the arguments name; empty where they name none.
    #[serde(default)]
    pub api_key: String,
}

/// Standard input may be a key, too.
impl std::fmt::Debug for Handover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handover").field("arguments", &self.arguments).field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

/// A piece of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    /// For standard output.
    Out(String),
    /// For standard error.
    Err(String),
    /// The exit code; nothing follows.
    Exit(u8),
}

/// One request that came in, and the way back.
pub struct Visitor {
    /// What it wants.
    pub handover: Handover,
    stream: socket::Stream,
}

impl Visitor {
    /// Ends the answer.
    ///
    /// # Errors
    /// When the other side has gone.
    pub fn exit(mut self, code: u8) -> io::Result<()> {
        send(&mut self.stream, &Reply::Exit(code))
    }

    /// A writer whose text comes out at the other side's standard output.
    ///
    /// # Errors
    /// When the platform cannot share the connection.
    pub fn out(&self) -> io::Result<impl Write + Send + 'static> {
        Ok(ReplyWriter { stream: self.stream.try_clone()?, wrap: Reply::Out })
    }

    /// A writer whose text comes out at the other side's standard error.
    ///
    /// # Errors
    /// When the platform cannot share the connection.
    pub fn err(&self) -> io::Result<impl Write + Send + 'static> {
        Ok(ReplyWriter { stream: self.stream.try_clone()?, wrap: Reply::Err })
    }

    /// Tells when the other side goes away: a person who pressed Ctrl+C there.
    ///
    /// # Errors
    /// When the platform cannot share the connection.
    pub fn departure(&self) -> io::Result<Departure> {
        Ok(Departure { stream: self.stream.try_clone()? })
    }
}

/// The moment when a visitor goes away.
pub struct Departure {
    stream: socket::Stream,
}

impl Departure {
    /// Does something then, on a thread of its own.
    ///
    /// # Errors
    /// When there can be no more threads.
    pub fn then(mut self, act: impl FnOnce() + Send + 'static) -> io::Result<()> {
        std::thread::Builder::new().name("nod-departure".into()).spawn(move || {
            let mut byte = [0];
            while matches!(self.stream.read(&mut byte), Ok(1..)) {}
            act();
        })?;
        Ok(())
    }
}

struct ReplyWriter {
    stream: socket::Stream,
    wrap: fn(String) -> Reply,
}

impl Write for ReplyWriter {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        // Commands print text; a character is never split, since each call carries whole pieces.
        send(&mut self.stream, &(self.wrap)(String::from_utf8_lossy(text).into_owned()))?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn send(stream: &mut socket::Stream, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Serves requests on a thread of its own, each on its own thread, until the process ends. Only the process that has the
/// data folder may call this.
///
/// # Errors
/// When the socket or the thread cannot be made: the program works without, and a second start says so.
pub fn serve(data_dir: &Path, answer: impl Fn(Visitor) + Send + Sync + 'static) -> io::Result<()> {
    let listener = socket::listen(data_dir)?;
    let answer = Arc::new(answer);
    std::thread::Builder::new().name("nod-instance".into()).spawn(move || {
        while let Ok(stream) = socket::accept(&listener) {
            let answer = Arc::clone(&answer);
            let visit = move || {
                if let Ok(visitor) = receive(stream) {
                    answer(visitor);
                }
            };
            if let Err(error) = std::thread::Builder::new().name("nod-visitor".into()).spawn(visit) {
                tracing::warn!(%error, "a request from another start could not be served");
            }
        }
    })?;
    Ok(())
}

fn receive(stream: socket::Stream) -> io::Result<Visitor> {
    let mut line = Vec::new();
    BufReader::new((&stream).take(LONGEST_REQUEST)).read_until(b'\n', &mut line)?;
    let handover = serde_json::from_slice(&line)?;
    Ok(Visitor { handover, stream })
}

/// Whether a process with a window has this data folder and takes command lines.
pub fn can_hand_over(data_dir: &Path) -> bool {
    socket::connect(data_dir).is_ok()
}

/// Hands a command line to the process that has the data folder and passes every reply on, the exit code last.
///
/// # Errors
/// When the other process cannot be talked to (it has no window, or the platform has no local sockets).
pub fn hand_over(data_dir: &Path, handover: &Handover, mut on_reply: impl FnMut(Reply)) -> io::Result<()> {
    let mut stream = socket::connect(data_dir)?;
    let mut line = serde_json::to_vec(handover)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    for line in BufReader::new(stream).lines() {
        let reply = serde_json::from_str(&line?)?;
        let is_last = matches!(reply, Reply::Exit(_));
        on_reply(reply);
        if is_last {
            return Ok(());
        }
    }
    Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the running Nod ended before it answered"))
}

#[cfg(unix)]
mod socket {
    use std::io;
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::{Path, PathBuf};

    use super::SOCKET_NAME;

    pub(super) type Stream = UnixStream;

    /// A socket's address holds some 100 bytes: the way to a deeper folder is shortened by a handle where the system has one.
    fn with_short_path<T>(data_dir: &Path, act: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
        let path = data_dir.join(SOCKET_NAME);
        if path.as_os_str().len() < 100 || !cfg!(target_os = "linux") {
            return act(&path);
        }
        use std::os::fd::AsRawFd as _;
        let folder = std::fs::File::open(data_dir)?;
        act(&PathBuf::from(format!("/proc/self/fd/{}/{SOCKET_NAME}", folder.as_raw_fd())))
    }

    pub(super) fn listen(data_dir: &Path) -> io::Result<UnixListener> {
        // The lock says that nobody else listens: what is there is left over.
        #[expect(clippy::disallowed_methods, reason = "our own socket, in our own data folder")]
        match std::fs::remove_file(data_dir.join(SOCKET_NAME)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = with_short_path(data_dir, |path| UnixListener::bind(path))?;
        std::fs::set_permissions(data_dir.join(SOCKET_NAME), std::fs::Permissions::from_mode(0o600))?;
        Ok(listener)
    }

    pub(super) fn accept(listener: &UnixListener) -> io::Result<UnixStream> {
        listener.accept().map(|(stream, _)| stream)
    }

    pub(super) fn connect(data_dir: &Path) -> io::Result<UnixStream> {
        with_short_path(data_dir, |path| UnixStream::connect(path))
    }
}

#[cfg(not(unix))]
mod socket {
    use std::io::{self, Read, Write};
    use std::path::Path;

    fn unsupported() -> io::Error {
        io::Error::new(io::ErrorKind::Unsupported, "this system has no local sockets that Nod uses")
    }

    /// Never made: `listen` and `connect` refuse.
    #[derive(Debug)]
    pub(super) struct Stream;

    impl Stream {
        pub(super) fn try_clone(&self) -> io::Result<Self> {
            Err(unsupported())
        }
    }

    impl Read for Stream {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(unsupported())
        }
    }

    impl Read for &Stream {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(unsupported())
        }
    }

    impl Write for Stream {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(unsupported())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    pub(super) fn listen(_: &Path) -> io::Result<()> {
        Err(unsupported())
    }

    pub(super) fn accept((): &()) -> io::Result<Stream> {
        Err(unsupported())
    }

    pub(super) fn connect(_: &Path) -> io::Result<Stream> {
        Err(unsupported())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_handed_over_and_its_output_comes_back_in_order() {
        // Deep enough that the plain path would not fit into a socket's address.
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a-rather-long-name-of-a-folder/".repeat(5));
        std::fs::create_dir_all(&deep).unwrap();
        serve(&deep, |visitor| {
            let echo = visitor.handover.arguments.join(" ");
            visitor.out().unwrap().write_all(echo.as_bytes()).unwrap();
            visitor.err().unwrap().write_all(b"note").unwrap();
            visitor.exit(3).unwrap();
        })
        .unwrap();
        let handover = Handover { arguments: vec!["nod".into(), "tools".into()], ..Handover::default() };
        let mut replies = Vec::new();
        hand_over(&deep, &handover, |reply| replies.push(reply)).unwrap();
        assert_eq!(replies, [Reply::Out("nod tools".into()), Reply::Err("note".into()), Reply::Exit(3)]);
        let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(deep.join(SOCKET_NAME)).unwrap());
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_owner_notices_that_a_visitor_went_away() {
        let folder = tempfile::tempdir().unwrap();
        let (sent, noticed) = std::sync::mpsc::sync_channel(1);
        serve(folder.path(), move |visitor| {
            let sent = sent.clone();
            visitor.departure().unwrap().then(move || sent.send(()).unwrap()).unwrap();
        })
        .unwrap();
        let mut stream = socket::connect(folder.path()).unwrap();
        stream.write_all(b"{\"arguments\":[],\"cwd\":\"/\",\"stdin\":\"\"}\n").unwrap();
        drop(stream);
        noticed.recv_timeout(std::time::Duration::from_secs(10)).unwrap();
    }
}
