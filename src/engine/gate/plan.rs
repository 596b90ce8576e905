//! A plan: everything that a yes would be a yes to, and the hash that binds them together.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::ir::{Access, Confinement, Failure, Network, Preview, Started, Tier, ToolDef};
use crate::policy::{CallFacts, Decision, MaskedSecret, Origin, Shown, TargetKind};
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
    /// The files that it starts, with what they hold.
    pub(super) started: Started,
    /// What must not be learned from its answer, as it was when this was shown; see [`crate::tool::RunContext::withheld`].
    pub(super) withheld: Option<Vec<MaskedSecret>>,
    /// Why its target outside could not be opened: an answer for after the yes.
    pub(super) unopened: Option<Failure>,
    pub(super) hash: String,
}

/// A longer preview is shown with the question and not kept: the arguments are in the ledger anyway.
const KEPT_PREVIEW_BYTES: usize = 256 * 1024;

impl Plan {
    /// Whether what it does can be taken back, as it was shown.
    pub(super) fn is_undoable(&self) -> bool {
        self.facts.access.changes_named_files() && !self.facts.shown.is_for_good
    }

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
        self.bound(network).hash()
    }

    /// The plan with the hash of all that is known of it.
    pub(super) fn bind(self) -> Self {
        let hash = self.bound(self.network).hash();
        Self { hash, ..self }
    }

    fn bound(&self, network: Network) -> Bound<'_> {
        Bound {
            origin: self.facts.origin,
            tool: &self.def.name,
            args: &self.args,
            roots: &self.roots,
            targets: &self.targets,
            tier: self.tier,
            network,
            started: &self.started,
            shown: &self.facts.shown,
        }
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

/// All that a yes is bound to, and nothing else: where one of these is another, it is another plan.
pub(super) struct Bound<'plan> {
    pub(super) origin: Origin,
    pub(super) tool: &'plan str,
    pub(super) args: &'plan Value,
    pub(super) roots: &'plan [Root],
    /// Each with the tree that was shown of it: what is added to one of them makes another plan.
    pub(super) targets: &'plan [Target],
    pub(super) tier: Option<Tier>,
    pub(super) network: Network,
    /// What lies in the files that a command starts is as much what is run as its own text.
    pub(super) started: &'plan Started,
    /// A yes where a command's folders can be seen whole is none where they cannot, and none to other files that it can change
    /// outside them; a yes to what can be undone is none to the same thing for good.
    pub(super) shown: &'plan Shown,
}

impl Bound<'_> {
    /// SHA-256, hex.
    pub(super) fn hash(&self) -> String {
        let Self { origin, tool, args, roots, targets, tier, network, started, shown } = self;
        let Shown { unseen_places, linked, is_for_good } = shown;
        args_hash(&json!({
            "origin": match origin {
                Origin::Model => "model",
                Origin::CommandLine => "command-line",
                Origin::Server => "server",
            },
            "tool": tool,
            "args": args,
            "folders": roots.iter().map(folder).collect::<Vec<_>>(),
            "targets": targets.iter().map(fingerprint).collect::<Vec<_>>(),
            "tier": tier,
            "network": network,
            "started": started,
            "unseenPlaces": unseen_places,
            "linkedOutside": [linked.count.to_string(), &linked.mark, linked.is_cut.to_string()],
            "isForGood": is_for_good,
        }))
    }
}

fn folder(root: &Root) -> Value {
    let identity = root.identity();
    json!([exact(root.path()), identity.device, identity.inode, identity.mount])
}

/// A path byte for byte: what cannot be shown as text must not look like something else here.
fn exact(path: &Path) -> String {
    hex::encode(path.as_os_str().as_encoded_bytes())
}

/// Which object, in which state. A folder is the same folder whatever comes into it, but for the tree that was shown.
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
        state,
        target.shown_tree()
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{LinkedOutside, StartedFile};
    use crate::policy::RelPath;
    use crate::workspace::{Purpose, resolve};

    #[test]
    fn whatever_a_yes_is_bound_to_makes_another_plan_when_it_is_another() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir_all(here.path().join("tree/inner")).unwrap();
        let open = |folder: &tempfile::TempDir| [Root::open(folder.path()).unwrap()];
        let (roots, other_roots) = (open(&here), open(&there));
        let target = |path: &str| {
            let path = RelPath::from_parts(path.split('/').map(str::to_owned).collect()).unwrap();
            [resolve(&roots[0], &path, Purpose::Delete).unwrap()]
        };
        let (tree, inner, shown) = (target("tree"), target("tree/inner"), target("tree"));
        shown[0].show_tree().unwrap();
        let (args, other_args) = (json!({"n": 1}), json!({"n": 2}));
        let (nothing, nothing_shown) = (Started::default(), Shown::default());
        let linked = |linked| Shown { linked, ..Shown::default() };
        let one_linked = linked(LinkedOutside { count: 1, mark: "1".into(), ..LinkedOutside::default() });
        let other_linked = linked(LinkedOutside { count: 1, mark: "2".into(), ..LinkedOutside::default() });
        let uncounted = linked(LinkedOutside { is_cut: true, ..LinkedOutside::default() });
        let holding = |sha256: Option<&str>| Started {
            files: vec![StartedFile {
                path: "/projects/a.sh".into(),
                sha256: sha256.map(str::to_owned),
                moment: crate::ir::StartMoment::First,
            }],
            is_complete: true,
        };
        let (one, other, none) = (holding(Some("1")), holding(Some("2")), holding(None));
        let bound = || Bound {
            origin: Origin::Model,
            tool: "probe",
            args: &args,
            roots: &roots,
            targets: &tree,
            tier: None,
            network: Network::Denied,
            started: &nothing,
            shown: &nothing_shown,
        };
        assert_eq!(bound().hash(), bound().hash());
        let plans = [
            bound(),
            Bound { origin: Origin::CommandLine, ..bound() },
            Bound { origin: Origin::Server, ..bound() },
            Bound { tool: "other", ..bound() },
            Bound { args: &other_args, ..bound() },
            Bound { roots: &other_roots, ..bound() },
            Bound { targets: &inner, ..bound() },
            Bound { targets: &shown, ..bound() },
            Bound { targets: &[], ..bound() },
            Bound { tier: Some(Tier::A), ..bound() },
            Bound { tier: Some(Tier::B), ..bound() },
            Bound { network: Network::Allowed, ..bound() },
            Bound { started: &one, ..bound() },
            Bound { started: &other, ..bound() },
            Bound { started: &none, ..bound() },
            Bound { shown: &Shown { unseen_places: 1, ..Shown::default() }, ..bound() },
            Bound { shown: &Shown { is_for_good: true, ..Shown::default() }, ..bound() },
            Bound { shown: &one_linked, ..bound() },
            Bound { shown: &other_linked, ..bound() },
            Bound { shown: &uncounted, ..bound() },
        ];
        let hashes: std::collections::BTreeSet<_> = plans.iter().map(Bound::hash).collect();
        assert_eq!(hashes.len(), plans.len());
    }
}
