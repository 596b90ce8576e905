//! The permit: the only thing a tool runs with.

use serde_json::Value;

use crate::ir::CallId;
use crate::workspace::{Root, Target};

/// Says that the gate let this very call through, with the handles it checked. Used up by running.
#[derive(Debug)]
pub struct Permit {
    call: CallId,
    args: Value,
    targets: Vec<Target>,
    roots: Vec<Root>,
    plan_hash: String,
}

impl Permit {
    /// Issues a permit. Only `engine::gate` may call this: the lint configuration bans it everywhere else.
    pub fn issue(call: CallId, args: Value, targets: Vec<Target>, roots: Vec<Root>, plan_hash: String) -> Self {
        Self { call, args, targets, roots, plan_hash }
    }

    /// The call that was let through.
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// Its arguments, exactly those that were judged and shown.
    pub fn args(&self) -> &Value {
        &self.args
    }

    /// The checked targets, in the order of the request's paths.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// The session's allowed folders; the first is the working folder.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// SHA-256 of the plan that was approved, hex.
    pub fn plan_hash(&self) -> &str {
        &self.plan_hash
    }
}
