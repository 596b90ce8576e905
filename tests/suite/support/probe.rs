//! A tool of the tests' own: it reads or changes "something" by calling what it was given.

use std::sync::Arc;

use nod::ir::{Access, Failure, Preview, RiskLevel, ToolCategory, ToolDef};
use nod::provider::scripted::Step;
use nod::tool::{Permit, PreviewContext, RunContext, RunError, Tool, ToolRequest};
use nod::workspace::Target;
use serde_json::{Value, json};

/// Takes a number, `n`, to tell its calls apart.
pub(crate) struct Probe {
    access: Access,
    look: Box<Look>,
    run: Box<Run>,
}

type Look = dyn Fn(&Value) + Send + Sync;
type Run = dyn Fn(&Permit, &RunContext) -> Result<Value, RunError> + Send + Sync;

impl Probe {
    pub(crate) fn new(
        access: Access,
        run: impl Fn(&Permit, &RunContext) -> Result<Value, RunError> + Send + Sync + 'static,
    ) -> Self {
        Self { access, look: Box::new(|_| ()), run: Box::new(run) }
    }

    /// What happens while a call of it is examined.
    pub(crate) fn looking(mut self, look: impl Fn(&Value) + Send + Sync + 'static) -> Self {
        self.look = Box::new(look);
        self
    }

    /// The only tool there is.
    pub(crate) fn alone(self) -> Vec<Arc<dyn Tool>> {
        vec![Arc::new(self)]
    }

    pub(crate) fn call(n: usize) -> Step {
        Step::call("probe", json!({"n": n}))
    }
}

impl Tool for Probe {
    fn definition(&self) -> ToolDef {
        ToolDef {
            name: "probe".into(),
            description: "A probe.".into(),
            parameters: json!({"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": false}),
            category: ToolCategory::Custom,
            risk_level: RiskLevel::Low,
            requires_permission: false,
            timeout_ms: 60_000,
        }
    }

    fn access(&self) -> Access {
        self.access
    }

    fn parse(&self, _: &Value) -> Result<ToolRequest, Failure> {
        Ok(ToolRequest::default())
    }

    fn preview(&self, args: &Value, _: &[Target], _: &PreviewContext) -> Result<Preview, Failure> {
        (self.look)(args);
        Ok(Preview::Nothing)
    }

    fn run(&self, permit: Permit, context: &RunContext) -> Result<Value, RunError> {
        (self.run)(&permit, context)
    }
}
