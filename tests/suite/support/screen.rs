//! A virtual display of a test's own, and what is to be seen on it.
#![expect(clippy::disallowed_methods, reason = "a test starts a display and waits for what comes")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Longer than anything that a test waits for.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// How often a test looks.
const GLANCE: Duration = Duration::from_millis(25);

/// What `look` finds within this time.
pub(crate) fn within<T>(most: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        let found = look();
        if found.is_some() || start.elapsed() > most {
            return found;
        }
        std::thread::park_timeout(GLANCE);
    }
}

/// Waits for what must come.
pub(crate) fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, look).unwrap_or_else(|| panic!("waited in vain: {what}"))
}

/// The display. It ends when it is dropped.
pub(crate) struct Screen {
    server: Child,
    number: String,
    frame: TempDir,
}

impl Screen {
    pub(crate) fn start() -> Self {
        let frame = tempfile::tempdir().unwrap();
        // Without key repetition: on a busy machine a key stays down for longer than anybody means.
        let mut server = Command::new("Xvfb")
            .args([
                "-displayfd",
                "1",
                "-screen",
                "0",
                "1280x900x24",
                "+extension",
                "GLX",
                "-nolisten",
                "tcp",
                "-r",
                "-noreset",
            ])
            .arg("-fbdir")
            .arg(frame.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb is missing: packaging/test.sh installs it");
        let mut number = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut number).unwrap();
        let screen = Self { server, number: number.trim().to_owned(), frame };
        assert!(!screen.number.is_empty(), "the virtual display did not start");
        screen
    }

    /// What `DISPLAY` is for its programs.
    pub(crate) fn name(&self) -> String {
        format!(":{}", self.number)
    }

    /// Runs `xdotool` to its end; gives what it printed.
    pub(crate) fn xdotool(&self, words: &[&str]) -> String {
        let output = Command::new("xdotool")
            .args(words)
            .env("DISPLAY", self.name())
            .output()
            .expect("xdotool is missing: packaging/test.sh installs it");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// What is to be seen now.
    pub(crate) fn picture(&self) -> Picture {
        Picture::from_dump(&std::fs::read(self.frame.path().join("Xvfb_screen0")).unwrap())
    }

    /// The hints that a window gives to a window manager: its flags.
    pub(crate) fn hint_flags(&self, window: u32) -> u32 {
        const WM_HINTS: u32 = 35;
        let mut request = vec![20, 0, 6, 0];
        for word in [window, WM_HINTS, 0, 0, 1] {
            request.extend(word.to_le_bytes());
        }
        let (_, value) = Wire::open(&self.number).ask(&request);
        value.first_chunk().map_or(0, |flags| u32::from_le_bytes(*flags))
    }

    /// Does what a window manager does when the person presses the window's X.
    pub(crate) fn press_close(&self, window: u32) {
        /// A client message, of 32-bit words.
        const KIND: u32 = 0x2021;
        let mut wire = Wire::open(&self.number);
        let (protocols, delete) = (wire.atom("WM_PROTOCOLS"), wire.atom("WM_DELETE_WINDOW"));
        let mut request = vec![25, 0, 11, 0];
        for word in [window, 0, KIND, window, protocols, delete, 0, 0, 0, 0] {
            request.extend(word.to_le_bytes());
        }
        wire.tell(&request);
    }

    /// Takes the keyboard away from every window.
    pub(crate) fn take_keyboard_away(&self) {
        Wire::open(&self.number).tell(&[42, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ended = self.server.kill();
        let _reaped = self.server.wait();
    }
}

/// The little of the X protocol that `xdotool` does not speak.
struct Wire {
    stream: UnixStream,
}

impl Wire {
    fn open(display: &str) -> Self {
        let mut stream = UnixStream::connect(format!("/tmp/.X11-unix/X{display}")).unwrap();
        // Little-endian, version 11.0, nothing to prove who one is.
        stream.write_all(&[b'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        let mut head = [0; 8];
        stream.read_exact(&mut head).unwrap();
        assert_eq!(head[0], 1, "the display lets nobody in");
        let mut rest = vec![0; usize::from(u16::from_le_bytes([head[6], head[7]])) * 4];
        stream.read_exact(&mut rest).unwrap();
        Self { stream }
    }

    /// Sends what has no answer, and waits until the server took it.
    fn tell(&mut self, request: &[u8]) {
        self.stream.write_all(request).unwrap();
        // A question that is answered afterwards: where the keyboard is.
        self.ask(&[43, 0, 1, 0]);
    }

    /// The answer's fixed part, and what follows it.
    fn ask(&mut self, request: &[u8]) -> ([u8; 32], Vec<u8>) {
        self.stream.write_all(request).unwrap();
        let mut head = [0; 32];
        self.stream.read_exact(&mut head).unwrap();
        assert_eq!(head[0], 1, "the display refused: {head:?}");
        let words = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        let mut rest = vec![0; usize::try_from(words).unwrap() * 4];
        self.stream.read_exact(&mut rest).unwrap();
        (head, rest)
    }

    fn atom(&mut self, name: &str) -> u32 {
        let padded = name.len().div_ceil(4) * 4;
        let mut request = vec![16, 0, u8::try_from(2 + padded / 4).unwrap(), 0];
        request.extend(u32::try_from(name.len()).unwrap().to_le_bytes());
        request.extend(name.as_bytes());
        request.resize(8 + padded, 0);
        let (head, _) = self.ask(&request);
        u32::from_le_bytes([head[8], head[9], head[10], head[11]])
    }
}

/// What was to be seen at a moment; colours as `0xRRGGBB`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Picture {
    width: usize,
    pixels: Vec<u32>,
}

impl Picture {
    /// Reads an X window dump of 32 bits a pixel.
    fn from_dump(dump: &[u8]) -> Self {
        let word = |index: usize| u32::from_be_bytes(dump[index * 4..][..4].try_into().unwrap()) as usize;
        let (header, width, height, bits, colors) = (word(0), word(4), word(5), word(11), word(19));
        assert_eq!(bits, 32);
        let pixels = dump[header + colors * 12..].chunks_exact(4).take(width * height);
        let pixels = pixels.map(|pixel| u32::from_le_bytes(pixel.try_into().unwrap()) & 0x00ff_ffff).collect();
        Self { width, pixels }
    }

    /// How many pixels differ.
    pub(crate) fn difference(&self, other: &Self) -> usize {
        self.pixels.iter().zip(&other.pixels).filter(|(a, b)| a != b).count()
    }

    /// How many pixels have this colour.
    pub(crate) fn count(&self, color: u32) -> usize {
        self.pixels.iter().filter(|pixel| **pixel == color).count()
    }

    /// The middle of everything that has this colour.
    pub(crate) fn middle_of(&self, color: u32) -> Option<(usize, usize)> {
        let places = || self.pixels.iter().enumerate().filter(|(_, pixel)| **pixel == color).map(|(index, _)| index);
        let middle = |low: Option<usize>, high: Option<usize>| Some(usize::midpoint(low?, high?));
        let x = middle(places().map(|at| at % self.width).min(), places().map(|at| at % self.width).max())?;
        let y = middle(places().map(|at| at / self.width).min(), places().map(|at| at / self.width).max())?;
        Some((x, y))
    }

    /// A part: left, top, width, height.
    pub(crate) fn part(&self, [left, top, width, height]: [usize; 4]) -> Self {
        let rows = (top..top + height).map(|y| &self.pixels[y * self.width + left..][..width]);
        Self { width, pixels: rows.flatten().copied().collect() }
    }

    /// As a file that any viewer opens.
    pub(crate) fn to_ppm(&self) -> Vec<u8> {
        let mut file = format!("P6 {} {} 255\n", self.width, self.pixels.len() / self.width).into_bytes();
        file.extend(self.pixels.iter().flat_map(|pixel| pixel.to_be_bytes().into_iter().skip(1)));
        file
    }
}
