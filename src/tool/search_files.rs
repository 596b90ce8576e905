//! `search_files`: files by name and lines by content, in a folder or a file.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::schema::{arguments, schema_of};
use super::visible::{is_content_closed, is_hidden_by_policy};
use super::{Permit, PreviewContext, Progress, RunContext, RunError, Tool, ToolRequest, cancelled, one_path, only};
use crate::ir::{Access, Code, Failure, Preview, RiskLevel, ToolCategory, ToolDef};
use crate::policy::{Masker, TargetKind, note_key_lines};
use crate::workspace::{
    FileMatches, Purpose, QueryOptions, SearchError, SearchLimit, SearchLimits, SearchOptions, SearchOutcome,
    SearchQuery, Target, WalkStart, search_file, search_tree,
};

/// A search.
pub(super) struct SearchFiles;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The folder to search, or a single file.
    path: String,
    /// A text, or for file names also a pattern such as `*.ts`.
    query: String,
    /// What to search: `filename`, `content` or `both`; `both` by default.
    #[serde(default)]
    search_type: SearchType,
    /// Whether capital letters count; false by default.
    #[serde(default)]
    case_sensitive: bool,
    /// Most matches to return; 50 by default.
    #[serde(default = "default_max_results")]
    #[schemars(range(min = 1, max = 1000))]
    max_results: usize,
    /// Only files with these extensions, for example `[".ts", ".js"]`.
    #[serde(default)]
    file_extensions: Vec<String>,
    /// Whether `query` is a regular expression; false by default.
    #[serde(default)]
    regex: bool,
    /// Whether files that `.gitignore` names are left out; true by default.
    #[serde(default = "yes")]
    respect_gitignore: bool,
    /// Whether names that begin with a dot are searched; false by default.
    #[serde(default)]
    include_hidden: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SearchType {
    Filename,
    Content,
    #[default]
    Both,
}

const fn default_max_results() -> usize {
    50
}

const fn yes() -> bool {
    true
}

impl Arguments {
    fn query(&self) -> Result<SearchQuery, Failure> {
        let (in_names, in_content) = match self.search_type {
            SearchType::Filename => (true, false),
            SearchType::Content => (false, true),
            SearchType::Both => (true, true),
        };
        let options = QueryOptions {
            in_names,
            in_content,
            case_sensitive: self.case_sensitive,
            regex: self.regex,
            extensions: self.file_extensions.clone(),
        };
        SearchQuery::parse(&self.query, &options)
    }
}

impl Tool for SearchFiles {
    fn definition(&self) -> ToolDef {
        ToolDef {
            name: "search_files".into(),
            description:
                "Searches for files by name (a text or a pattern such as *.ts) and for text in files. Returns \
                matching lines with their numbers. Binary files, ignored files and files over 500 KB are left out; so \
                is the text of files whose names speak of passwords or other secrets."
                    .into(),
            parameters: schema_of::<Arguments>(),
            category: ToolCategory::Search,
            risk_level: RiskLevel::Low,
            requires_permission: false,
            timeout_ms: 60_000,
        }
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn parse(&self, args: &Value) -> Result<ToolRequest, Failure> {
        let args: Arguments = arguments(args)?;
        args.query()?;
        Ok(one_path(args.path, Purpose::Read))
    }

    fn preview(&self, _args: &Value, _targets: &[Target], _context: &PreviewContext) -> Result<Preview, Failure> {
        Ok(Preview::Nothing)
    }

    fn run(&self, permit: Permit, context: &RunContext) -> Result<Value, RunError> {
        let args: Arguments = arguments(permit.args())?;
        let query = match &context.withheld {
            Some(secrets) => args.query()?.without_secrets(Masker::new(secrets.clone())),
            None => args.query()?,
        };
        let target = only(permit.targets())?;
        let limits = SearchLimits {
            file_bytes: context.limits.search_file_bytes,
            files: context.limits.search_files,
            matches_per_file: context.limits.search_matches_per_file,
            matches: args.max_results,
        };
        let outcome = if target.kind() == TargetKind::File {
            search_file(target, &query, &limits, &context.cancel)
        } else {
            let options = SearchOptions {
                include_hidden: args.include_hidden,
                respect_gitignore: args.respect_gitignore,
                is_hidden_by_policy: &|path, name| is_hidden_by_policy(path, name, context),
                is_content_closed: &is_content_closed,
                cancel: &context.cancel,
            };
            let start = WalkStart::at(target)?;
            search_tree(&start, &query, &options, &limits, &|files| (context.progress)(Progress::Scanned { files }))
        };
        Ok(result(&args, &outcome.map_err(failure_of)?, &shown_start(&permit, target)))
    }
}

/// Where results lie, as a path that the next call can use: relative to the first allowed folder where it is inside it.
fn shown_start(permit: &Permit, target: &Target) -> String {
    let first = permit.roots().first();
    match (target.root(), target.resolved_relative()) {
        (Some(root), Some(relative)) if first.is_some_and(|first| first.path() == root.path()) => relative.to_slash(),
        _ => target.resolved().display().to_string(),
    }
}

fn result(args: &Arguments, outcome: &SearchOutcome, start: &str) -> Value {
    let results: Vec<Value> = outcome.results.iter().map(|file| file_value(file, start)).collect();
    let mut value = Map::new();
    let mut put = |name: &str, field: Value| value.insert(name.to_owned(), field);
    put("query", args.query.clone().into());
    put("search_type", json!(args.search_type));
    put("total_files", outcome.files.into());
    put("total_matches", outcome.results.iter().map(|file| file.matches.len()).sum::<usize>().into());
    put("results", results.into());
    put("truncated", outcome.limit.is_some().into());
    if let Some(limit) = outcome.limit {
        let name = match limit {
            SearchLimit::Matches => "max_results",
            SearchLimit::Files => "search_files",
            SearchLimit::Depth => "depth",
            SearchLimit::MatchesPerFile => "search_matches_per_file",
        };
        put("limit", name.into());
    }
    for (name, count) in [
        ("skipped_large", outcome.skipped_large),
        ("skipped_binary", outcome.skipped_binary),
        ("skipped_suspicious", outcome.skipped_closed),
        ("unreadable", outcome.unreadable),
        ("hidden_by_policy", outcome.hidden_by_policy),
    ] {
        put(name, count.into());
    }
    value.into()
}

fn file_value(file: &FileMatches, start: &str) -> Value {
    let matches: Vec<Value> = file
        .matches
        .iter()
        .map(|found| {
            let mut shown = json!({"line": found.line, "text": found.text, "column": found.column});
            let key_lines: &[[u64; 2]] = if found.is_private_key { &[[1, 1]] } else { &[] };
            note_key_lines(&mut shown, key_lines);
            shown
        })
        .collect();
    let mut value = json!({"path": joined(start, &file.relative), "matches": matches});
    if file.has_more
        && let Some(value) = value.as_object_mut()
    {
        value.insert("truncated".into(), true.into());
    }
    value
}

/// With `/` on every system, as tools take it.
fn joined(start: &str, relative: &Path) -> String {
    let parts = relative.iter().map(|part| part.to_string_lossy());
    let mut path = start.trim_end_matches('/').to_owned();
    for part in parts {
        if !path.is_empty() || start.starts_with('/') {
            path.push('/');
        }
        path.push_str(&part);
    }
    path
}

fn failure_of(error: SearchError) -> Failure {
    match error {
        SearchError::Cancelled => cancelled(),
        SearchError::Workspace(error) => error.into(),
        SearchError::Threads(error) => Failure::new(Code::IoError, format!("The search could not run: {error}.")),
    }
}
