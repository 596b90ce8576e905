//! A plan: everything that a yes would be a yes to, and the hash that binds them together.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::ir::{Access, Confinement, Failure, Network, Preview, Tier, ToolDef};
use crate::policy::{CallFacts, Decision, Origin, TargetKind};
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
    /// How far the kernel confines it; `None` for what is no command.
    pub(super) tier: Option<Tier>,
    /// Whether the command may use the network: the person's tick, so never before they were asked.
    pub(super) network: Network,
    /// Whether what it does can be taken back.
    pub(super) is_undoable: bool,
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

    /// The same plan with the person's tick for the network: another plan, with another hash.
    pub(super) fn with_network(mut self, network: Network) -> Self {
        self.hash = self.hash_with(network);
        self.network = network;
        if let Some(Preview::Command(command)) = &mut self.preview {
            command.network = network;
        }
        self
    }

    /// The hash that this plan has with this tick.
    pub(super) fn hash_with(&self, network: Network) -> String {
        if network == self.network {
            return self.hash.clone();
        }
        let Self { args, roots, targets, .. } = self;
        let hash = hash(self.facts.origin, &self.def.name, args, roots, targets, self.tier, network);
        bind(hash, self.preview.as_ref())
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

/// How a command runs: `None` for what is no command.
pub(super) fn tier(access: Access, confinement: &Confinement) -> Option<Tier> {
    match access {
        Access::Execute => Some(confinement.tier),
        Access::Read | Access::Write | Access::Delete => None,
    }
}

/// The hash of a plan with the trees that were shown in it: what is added to one of them makes another plan.
pub(super) fn with_trees(hash: String, targets: &[Target]) -> String {
    let trees: Vec<&str> = targets.iter().filter_map(Target::shown_tree).collect();
    if trees.is_empty() { hash } else { args_hash(&json!([hash, trees])) }
}

/// SHA-256 over origin, tool, canonical arguments, folders, resolved paths, identities and confinement, hex.
pub(super) fn hash(
    origin: Origin,
    tool: &str,
    args: &Value,
    roots: &[Root],
    targets: &[Target],
    tier: Option<Tier>,
    network: Network,
) -> String {
    let folders: Vec<Value> = roots
        .iter()
        .map(|root| json!([exact(root.path()), root.identity().device, root.identity().inode, root.identity().mount]))
        .collect();
    let plan = json!([
        match origin {
            Origin::Model => "model",
            Origin::CommandLine => "command-line",
            Origin::Server => "server",
        },
        tool,
        args,
        folders,
        targets.iter().map(fingerprint).collect::<Vec<_>>(),
        tier.map(|tier| json!([tier, network])),
    ]);
    args_hash(&plan)
}

/// A yes to a command in folders that can be seen whole is none to one in folders that cannot.
pub(super) fn bind(hash: String, preview: Option<&Preview>) -> String {
    match preview {
        Some(Preview::Command(command)) if command.unseen > 0 => args_hash(&json!([hash, "unseen", command.unseen])),
        Some(
            Preview::Command(_)
            | Preview::Nothing
            | Preview::NewFile { .. }
            | Preview::Diff { .. }
            | Preview::Tree { .. },
        )
        | None => hash,
    }
}

/// A path byte for byte: what cannot be shown as text must not look like something else here.
fn exact(path: &Path) -> String {
    hex::encode(path.as_os_str().as_encoded_bytes())
}

/// Which object, in which state. A folder is the same folder whatever comes into it.
fn fingerprint(target: &Target) -> Value {
    let identity = target.identity();
    let state = match target.kind() {
        TargetKind::File | TargetKind::Link | TargetKind::Special => {
            json!([identity.links, identity.bytes, identity.modified_ns.to_string(), target.changed_ns().to_string()])
        }
        TargetKind::Missing | TargetKind::Folder => Value::Null,
    };
    json!([
        exact(target.resolved()),
        format!("{:?}", target.kind()),
        identity.device,
        identity.inode,
        identity.mount,
        state
    ])
}
