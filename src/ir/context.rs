//! What the context builder gathered before a request is made of it.

use serde::{Deserialize, Serialize};

use super::{MemoryItem, Message, SessionId, SystemPrompt, ToolDef};

/// Everything that could be sent, with its estimated size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    pub id: String,
    pub session_id: SessionId,
    pub system_prompt: SystemPrompt,
    pub history: Vec<Message>,
    #[serde(default)]
    pub relevant_memories: Vec<MemoryItem>,
    pub current_task: CurrentTask,
    pub available_tools: Vec<ToolDef>,
    pub estimated_tokens: u64,
    /// Estimated tokens over the model's window; above 0.8 the history is compressed.
    pub usage_ratio: f64,
    pub needs_compression: bool,
}

/// What the person wants now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CurrentTask {
    pub user_input: String,
    pub iteration: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_goal: Option<String>,
}
