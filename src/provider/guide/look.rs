//! Requests that only look: list, read, find. Pure.

use super::phrase::{
    Side, cut, has_word, line_range, looks_like_file, name, sentence, strip_any_prefix, strip_any_suffix, strip_verb,
    unquoted,
};
use super::understand::{Only, Wish};

pub(super) fn find(text: &str) -> Option<Wish> {
    let (query, path) = find_chinese(text).or_else(|| find_english(text))?;
    let (query, only) = [
        ("files containing", Only::Contents),
        ("files with", Only::Contents),
        ("the text", Only::Contents),
        ("the word", Only::Contents),
        ("text", Only::Contents),
        ("包含", Only::Contents),
        ("含有", Only::Contents),
        ("files named", Only::Names),
        ("files called", Only::Names),
        ("a file named", Only::Names),
        ("the file", Only::Names),
        ("all files", Only::Names),
        ("files", Only::Names),
        ("名为", Only::Names),
        ("文件名", Only::Names),
    ]
    .into_iter()
    .find_map(|(words, only)| strip_verb(query, &[words]).filter(|rest| !rest.is_empty()).map(|rest| (rest, only)))
    .unwrap_or((query, Only::Both));
    let query = strip_any_suffix(query.trim_end_matches(['?', '？', '。']), &["的文件", "文件"]);
    let query = unquoted(query);
    let is_glob = query.contains(['*', '?']) && !query.contains(' ');
    (!query.is_empty()).then_some(Wish::Find {
        query,
        path: place(path),
        only: if is_glob { Only::Names } else { only },
    })
}

fn find_english(text: &str) -> Option<(&str, &str)> {
    if let Some(rest) = strip_verb(text, &["search"])
        && let Some((path, query)) = cut(rest, &[" for "], Side::First)
    {
        return Some((query, path));
    }
    let verbs =
        ["search for", "search", "find me", "find", "grep", "look for", "where is", "where are", "which files contain"];
    let rest = strip_verb(text, &verbs)?;
    Some(cut(rest, &[" inside ", " within ", " under ", " in "], Side::Last).unwrap_or((rest, "")))
}

fn find_chinese(text: &str) -> Option<(&str, &str)> {
    const VERBS: &[&str] = &["查找", "搜索一下", "搜索", "搜一下", "搜", "寻找", "找一下", "找出", "找到", "找"];
    if let Some(rest) = strip_verb(text, &["在"]) {
        let (path, query) = cut(rest, VERBS, Side::First)?;
        return Some((query, path));
    }
    let rest = strip_verb(text, VERBS)?;
    Some(cut(rest, &[" 在", "，在"], Side::Last).unwrap_or((rest, "")))
}

/// The folder that words of a place mean; nothing is the first allowed folder.
fn place(words: &str) -> String {
    let words = sentence(words);
    let words =
        strip_any_suffix(words, &["里面", "里边", "里", "中", "下面", "下", "文件夹", "目录", " folder", " directory"]);
    let words = strip_any_prefix(words, &["the", "my", "folder", "directory", "文件夹", "目录"]);
    let is_here = [
        "",
        "here",
        "this",
        "it",
        "all files",
        "every file",
        "everything",
        "project",
        "files",
        "all",
        "current",
        "当前",
        "这",
        "这里",
        "所有文件",
        "项目",
    ]
    .contains(&words.to_lowercase().as_str());
    if is_here { ".".into() } else { name(words) }
}

pub(super) fn read(text: &str) -> Option<Wish> {
    const SURE: &[&str] =
        &["read me", "read", "cat", "open the file", "open", "读取一下", "读取", "读一下", "读", "打开"];
    const EITHER: &[&str] =
        &["show me", "show", "view", "print", "display", "look at", "显示", "查看", "看一下", "看看", "看"];
    let (rest, is_sure) = match strip_verb(text, SURE) {
        Some(rest) => (rest, true),
        None => (strip_verb(text, EITHER)?, false),
    };
    let (rest, lines) = line_range(rest);
    let noise = [
        "the contents of",
        "the content of",
        "contents of",
        "content of",
        "what is in",
        "the file",
        "file",
        "the",
        "my",
        "of",
        "文件",
        "一下",
    ];
    let rest = strip_any_prefix(rest, &noise);
    let rest = strip_any_suffix(
        rest.trim_end_matches(['?', '？', '。', '！', ' ']),
        &[" file", "文件的内容", "的内容", "文件"],
    );
    let path = name(rest);
    let is_file = looks_like_file(&path) || lines.is_some();
    if path.is_empty() || path == "." || !(is_file || (is_sure && !has_word(rest, &["folder", "directory", "files"]))) {
        return None;
    }
    Some(Wish::Read { path, lines })
}

/// "what is in src?", src 里有什么？
pub(super) fn list_by_question(text: &str) -> Option<Wish> {
    let bare = text.trim_end_matches(['?', '？', '。', '吗', '呢', ' ']);
    let verbs = [
        "what's in",
        "whats in",
        "what is in",
        "what's inside",
        "what is inside",
        "what files are in",
        "what files are there in",
        "which files are in",
        "what files are there",
        "what is here",
        "what's here",
        "what do i have in",
    ];
    if let Some(rest) = strip_verb(bare, &verbs) {
        let path = name(strip_any_prefix(rest, &["the folder", "the directory", "the", "my", "folder", "directory"]));
        if looks_like_file(&path) {
            return Some(Wish::Read { path, lines: None });
        }
        return Some(Wish::List { path: place(rest), recursive: false });
    }
    let endings = ["有什么文件", "有哪些文件", "有什么东西", "有什么", "有哪些", "有啥"];
    let rest = strip_any_suffix(bare, &endings);
    (rest.len() < bare.len())
        .then(|| Wish::List { path: place(strip_any_prefix(rest, &["看看", "看一下"])), recursive: false })
}

pub(super) fn list(text: &str) -> Option<Wish> {
    let verbs = [
        "list",
        "ls",
        "dir",
        "show me",
        "show",
        "view",
        "look in",
        "look at",
        "look into",
        "browse",
        "open",
        "tree",
        "递归列出",
        "递归列举",
        "递归显示",
        "列出来",
        "列出",
        "列一下",
        "列举",
        "列",
        "显示",
        "查看",
        "看一下",
        "看看",
        "打开",
    ];
    let rest = strip_verb(text, &verbs)?;
    let deep = ["recursively", "recursive", "subfolders", "all levels", "递归", "子文件夹", "子目录"];
    let recursive = has_word(text, &deep) || strip_verb(text, &["tree"]).is_some();
    let mut rest = sentence(rest);
    rest = strip_any_suffix(
        rest,
        &[
            " recursively",
            " with subfolders",
            " with all subfolders",
            "，包括子文件夹",
            "包括子文件夹",
            "（递归）",
            " folder",
            " directory",
        ],
    );
    let noise = [
        "recursively",
        "all",
        "everything",
        "every",
        "the",
        "my",
        "me",
        "files and folders",
        "files",
        "file",
        "folders",
        "contents",
        "content",
        "of",
        "in",
        "inside",
        "under",
        "from",
        "at",
        "folder",
        "directory",
        "递归",
        "所有的",
        "所有",
        "全部",
        "一下",
        "文件夹",
        "目录",
        "文件",
    ];
    rest = strip_any_prefix(rest, &noise);
    rest = strip_any_suffix(
        rest,
        &[
            "里面的所有文件",
            "里的所有文件",
            "中的所有文件",
            "下的所有文件",
            "里面的文件",
            "里的文件",
            "中的文件",
            "下的文件",
            "里的内容",
            "的内容",
            "的文件",
            "里面",
            "里",
            "中",
            "下",
            "文件夹",
            "目录",
        ],
    );
    Some(Wish::List { path: place(rest), recursive })
}
