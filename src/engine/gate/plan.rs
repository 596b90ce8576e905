//! A plan: everything that a yes would be a yes to, and the hash that binds them together.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::ir::{Access, Failure, Preview, ToolDef};
use crate::policy::{CallFacts, Decision, Origin, TargetKind};
use crate::sandbox::Tier;
use crate::tool::Tool;
use crate::tool::schema::args_hash;
use crate::workspace::{Root, Target};

/// A call, examined: what it would do, to what, and what the rules say.
pub(super) struct Plan {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) def: ToolDef,
    pub(super) args: Value,
    pub(super) targets: Vec<Target>,
    pub(super) roots: Vec<Root>,
    pub(super) facts: CallFacts,
    pub(super) decision: Decision,
    /// `None` for a read that nobody is asked about.
    pub(super) preview: Option<Preview>,
    /// Why its target outside could not be opened: an answer for after the yes.
    pub(super) unopened: Option<Failure>,
    pub(super) hash: String,
}

/// A longer preview is shown with the question and not kept: the arguments are in the ledger anyway.
const KEPT_PREVIEW_BYTES: usize = 256 * 1024;

impl Plan {
    /// The preview for the ledger and the card; `None` where it is long.
    pub(super) fn preview_to_keep(&self) -> Option<Preview> {
        let preview = self.preview.as_ref()?;
        let bytes: usize = match preview {
            Preview::Nothing => 0,
            Preview::NewFile { content } => content.len(),
            Preview::Diff { lines, .. } => lines.iter().map(|line| line.text.len() + size_of_val(line)).sum(),
            Preview::Tree { entries, .. } => entries.iter().map(|entry| entry.path.len() + size_of_val(entry)).sum(),
            Preview::Command(command) => command.command.len(),
        };
        (bytes <= KEPT_PREVIEW_BYTES).then(|| preview.clone())
    }

    /// What it is about, as it is shown: the resolved target, or the command.
    pub(super) fn target(&self) -> String {
        match (self.targets.first(), &self.preview) {
            (_, Some(Preview::Command(command))) => command.command.clone(),
            (Some(target), _) => target.resolved().display().to_string(),
            (None, _) => String::new(),
        }
    }
}

/// SHA-256 over origin, tool, canonical arguments, folders, resolved paths, identities and confinement, hex.
pub(super) fn hash(
    origin: Origin,
    tool: &str,
    access: Access,
    args: &Value,
    roots: &[Root],
    targets: &[Target],
) -> String {
    let tier = match access {
        Access::Execute => Some(Tier::Unconfined),
        Access::Read | Access::Write | Access::Delete => None,
    };
    let folders: Vec<Value> = roots
        .iter()
        .map(|root| json!([root.path().display().to_string(), root.identity().device, root.identity().inode]))
        .collect();
    let plan = json!([
        match origin {
            Origin::Model => "model",
            Origin::CommandLine => "command-line",
        },
        tool,
        args,
        folders,
        targets.iter().map(fingerprint).collect::<Vec<_>>(),
        tier,
    ]);
    args_hash(&plan)
}

/// Which object, in which state. A folder is the same folder whatever comes into it.
fn fingerprint(target: &Target) -> Value {
    let identity = target.identity();
    let state = match target.kind() {
        TargetKind::File | TargetKind::Link | TargetKind::Special => {
            json!([identity.links, identity.bytes, identity.modified_ns.to_string()])
        }
        TargetKind::Missing | TargetKind::Folder => Value::Null,
    };
    let resolved = target.resolved().display().to_string();
    json!([resolved, format!("{:?}", target.kind()), identity.device, identity.inode, identity.mount, state])
}
