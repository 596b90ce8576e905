//! For the tests of tools: a folder, and calls that go resolve → preview → run without the gate.
#![expect(clippy::disallowed_methods, reason = "tests lay out their own files and issue their own permits")]

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{CommandWalls, GuardLog, Limits, Permit, PreviewContext, RunContext, RunError, Tool, schema};
use crate::ir::{CallId, Failure, Preview};
use crate::policy::{Platform, RelPath, Surroundings};
use crate::workspace::{Root, Target, resolve};

/// A temporary allowed folder, with a home of its own beside it.
pub(super) struct Place {
    temp: TempDir,
    pub(super) root: Root,
    pub(super) context: RunContext,
}

impl Place {
    pub(super) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("ws")).unwrap();
        fs::create_dir(temp.path().join("home")).unwrap();
        let root = Root::open(&temp.path().join("ws")).unwrap();
        let context = RunContext {
            cancel: CancellationToken::new(),
            limits: Limits::default(),
            progress: Box::new(|_| ()),
            helper: PathBuf::new(),
            surroundings: Surroundings {
                home: Some(temp.path().join("home")),
                data_dir: None,
                platform: Platform::current(),
            },
            lifted: Vec::new(),
            withheld: None,
            walls: CommandWalls::default(),
            guard_log: GuardLog::default(),
        };
        Self { temp, root, context }
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub(super) fn home(&self, path: &str) -> PathBuf {
        self.temp.path().join("home").join(path)
    }

    /// A path as results show it.
    pub(super) fn shown(&self, path: &str) -> String {
        self.root.real_path().join(path).to_str().unwrap().to_owned()
    }

    pub(super) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(super) fn folder(&self, path: &str) {
        fs::create_dir_all(self.path(path)).unwrap();
    }

    pub(super) fn get(&self, path: &str) -> Option<Vec<u8>> {
        fs::read(self.path(path)).ok()
    }

    pub(super) fn targets(&self, tool: &dyn Tool, args: &Value) -> Result<Vec<Target>, Failure> {
        schema::validate(&tool.definition(), args)?;
        let request = tool.parse(args)?;
        let resolved = request.paths.iter().map(|wanted| {
            let parts = wanted.given.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect();
            resolve(&self.root, &RelPath::from_parts(parts).unwrap(), wanted.purpose).map_err(Failure::from)
        });
        resolved.collect()
    }

    pub(super) fn preview(&self, tool: &dyn Tool, args: &Value) -> Result<Preview, Failure> {
        let targets = self.targets(tool, args)?;
        tool.preview(
            args,
            &targets,
            &PreviewContext { limits: self.context.limits.clone(), ..PreviewContext::default() },
        )
    }

    pub(super) fn call(&self, tool: &dyn Tool, args: Value) -> Result<Value, RunError> {
        let targets = self.targets(tool, &args)?;
        tool.preview(
            &args,
            &targets,
            &PreviewContext { limits: self.context.limits.clone(), ..PreviewContext::default() },
        )?;
        self.run(tool, args, targets)
    }

    pub(super) fn run(&self, tool: &dyn Tool, args: Value, targets: Vec<Target>) -> Result<Value, RunError> {
        let permit = Permit::issue(CallId::new("call"), args, targets, vec![self.root.clone()], String::new());
        tool.run(permit, &self.context)
    }
}
