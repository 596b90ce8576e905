//! The tree that an attack is tried on: an allowed folder `ws`, the world outside `out`, and what a program without the
//! gate would do to them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode};
use serde_json::Value;
use tempfile::TempDir;

/// What stands in every file that a call must not read.
pub(super) const SECRET: &str = "OUTSIDE-SECRET";
/// What every write of an attack writes.
pub(super) const ATTACK: &str = "attack";

/// Something that a case puts into its tree. Paths begin with `ws/` or `out/`; `{out}` and `{ws}` in a link's text are the
/// absolute paths.
#[derive(Clone)]
pub(super) enum Piece {
    File(&'static str, &'static str),
    Folder(&'static str),
    Link(&'static str, &'static str),
    /// Another name (the first) of a file (the second).
    HardLink(&'static str, &'static str),
    Pipe(&'static str),
    Socket(&'static str),
    /// A file of this many bytes with nothing in it, on the disk neither.
    Sparse(&'static str, u64),
    Mode(&'static str, u32),
    Do(fn(&Ground)),
}

/// A tree of a case's own.
pub(super) struct Ground {
    _temp: TempDir,
    top: PathBuf,
    home: PathBuf,
}

impl Ground {
    pub(super) fn new(home: &Path, pieces: &[Piece]) -> Self {
        let temp = tempfile::Builder::new().prefix("nod-attack-").tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let ground = Self { _temp: temp, top, home: home.canonicalize().unwrap() };
        for piece in [
            Piece::File("ws/a.txt", "inside\n"),
            Piece::File("ws/sub/b.txt", "below\n"),
            Piece::File("out/private.txt", SECRET),
            Piece::File("out/folder/deep-private.txt", SECRET),
        ] {
            ground.put(&piece);
        }
        for piece in pieces {
            ground.put(piece);
        }
        ground
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.top.join(path)
    }

    pub(super) fn ws(&self) -> PathBuf {
        self.path("ws")
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// A text with its places named: `{ws}`, `{out}`, `{top}`, `{home}`.
    pub(super) fn expand(&self, text: &str) -> String {
        let place = |path: PathBuf| path.to_str().unwrap().to_owned();
        text.replace("{ws}", &place(self.ws()))
            .replace("{out}", &place(self.path("out")))
            .replace("{top}", &place(self.top.clone()))
            .replace("{home}", &place(self.home.clone()))
    }

    /// The same for every text in a value.
    pub(super) fn expand_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.expand(text).into(),
            Value::Array(items) => items.iter().map(|item| self.expand_value(item)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), self.expand_value(value))).collect()
            }
            other => other.clone(),
        }
    }

    /// A text in which this tree's own place is no longer told, so that two trees can be compared.
    pub(super) fn without_place(&self, text: &str) -> String {
        text.replace(self.top.to_str().unwrap(), "{top}")
    }

    pub(super) fn put(&self, piece: &Piece) {
        let made = |path: &str| {
            let path = self.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            path
        };
        match *piece {
            Piece::File(path, content) => fs::write(made(path), content).unwrap(),
            Piece::Folder(path) => fs::create_dir_all(made(path)).unwrap(),
            Piece::Link(path, to) => symlink(self.expand(to), made(path)).unwrap(),
            Piece::HardLink(path, of) => fs::hard_link(self.path(of), made(path)).unwrap(),
            Piece::Pipe(path) => {
                rustix::fs::mknodat(rustix::fs::CWD, made(path), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
            }
            Piece::Socket(path) => drop(std::os::unix::net::UnixListener::bind(made(path)).unwrap()),
            Piece::Sparse(path, bytes) => fs::File::create(made(path)).unwrap().set_len(bytes).unwrap(),
            Piece::Mode(path, mode) => fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap(),
            Piece::Do(act) => act(self),
        }
    }

    /// Everything below a path: what it is, its permissions, its time and its content.
    pub(super) fn snapshot(&self, path: &str) -> BTreeMap<PathBuf, String> {
        let mut seen = BTreeMap::new();
        let mut waiting = vec![self.path(path)];
        while let Some(path) = waiting.pop() {
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            let state = if found.is_dir() {
                // Its time changes with every file in it: those are looked at themselves.
                waiting.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
                "folder".to_owned()
            } else if found.is_symlink() {
                format!("link {:?}", fs::read_link(&path))
            } else if found.is_file() && found.len() <= 16 << 20 {
                format!("file {}.{} {:?}", found.mtime(), found.mtime_nsec(), fs::read(&path).map_err(|e| e.kind()))
            } else {
                format!("other {}", found.len())
            };
            seen.insert(path, format!("{:o} {state}", found.mode()));
        }
        seen
    }

    /// What a program without the gate does: joins the text to its folder and uses what comes out. Gives what it read.
    pub(super) fn unguarded(&self, tool: &str, args: &Value) -> io::Result<String> {
        let text = args["path"].as_str().unwrap_or(".");
        let path = match text.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => self.ws().join(text),
        };
        match tool {
            "read_file" => fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            "list_directory" => {
                let names = fs::read_dir(&path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
                names.collect::<io::Result<Vec<_>>>().map(|names| names.join("\n"))
            }
            "search_files" => fs::metadata(&path).and_then(|_| read_everything(&path)),
            "write_file" | "edit_file" => {
                fs::create_dir_all(path.parent().unwrap()).ok();
                fs::write(&path, ATTACK).map(|()| String::new())
            }
            "create_directory" => fs::create_dir_all(&path).map(|()| String::new()),
            "delete_file" if fs::symlink_metadata(&path)?.is_dir() => fs::remove_dir_all(&path).map(|()| String::new()),
            "delete_file" => fs::remove_file(&path).map(|()| String::new()),
            other => panic!("nobody knows what {other} does without the gate"),
        }
    }
}

/// Every file below a path, links followed, as a careless search would.
fn read_everything(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let mut waiting = vec![(path.to_path_buf(), 0)];
    while let Some((path, depth)) = waiting.pop() {
        let Ok(found) = fs::metadata(&path) else { continue };
        if found.is_dir() && depth < 8 {
            waiting.extend(fs::read_dir(&path)?.flatten().map(|entry| (entry.path(), depth + 1)));
        } else if found.is_file() && found.len() <= 16 << 20 {
            text.push_str(&String::from_utf8_lossy(&fs::read(&path)?));
        }
    }
    Ok(text)
}
