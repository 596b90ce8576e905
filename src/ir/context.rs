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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ir::json::{round_trip, words};
    use crate::ir::{MemorySource, MemoryType};

    #[test]
    fn a_context_and_its_memories_keep_the_standards_names() {
        let context: Context = round_trip(&json!({
            "id": "x",
            "sessionId": "s",
            "systemPrompt": {"roleDefinition": "a", "outputConstraints": "", "safetyGuidelines": ""},
            "history": [{"role": "user", "content": "hi", "timestamp": 5}],
            "relevantMemories": [{
                "id": "m",
                "type": "semantic",
                "content": "likes tea",
                "summary": "tea",
                "source": "user_input",
                "importance": 0.5,
                "relevanceScore": 0.25,
                "sessionId": "s",
                "createdAt": 1,
                "expiresAt": 9,
            }],
            "currentTask": {"userInput": "hi", "iteration": 1, "taskGoal": "greet"},
            "availableTools": [],
            "estimatedTokens": 12,
            "usageRatio": 0.25,
            "needsCompression": false,
        }));
        assert_eq!(context.relevant_memories[0].memory_type, MemoryType::Semantic);
    }

    #[test]
    fn kinds_and_sources_of_memories_have_the_standards_words() {
        words(&[
            ("episodic", MemoryType::Episodic),
            ("semantic", MemoryType::Semantic),
            ("working", MemoryType::Working),
        ]);
        words(&[
            ("user_input", MemorySource::UserInput),
            ("tool_result", MemorySource::ToolResult),
            ("agent_thought", MemorySource::AgentThought),
            ("imported", MemorySource::Imported),
        ]);
    }
}
