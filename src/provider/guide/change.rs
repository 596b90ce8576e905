//! Requests that change something: create, write, replace, delete. Pure.

use super::phrase::{
    Side, cut, has_word, looks_like_file, name, strip_any_prefix, strip_any_suffix, strip_verb, unquoted,
};
use super::understand::Wish;

/// Words before a name that say nothing about it.
const ARTICLES: &[&str] = &["a", "an", "the", "my", "new", "empty", "text", "一个", "新的", "新", "空的", "空", "这个"];
const NAMED: &[&str] = &["called", "named", "叫做", "叫", "名为", "名叫"];

pub(super) fn replace(text: &str) -> Option<Wish> {
    let english = || {
        // "in PATH, replace A with B", "edit PATH: replace A with B", "replace A with B in PATH"
        let (path, rest) = match strip_verb(text, &["in the file", "in file", "in", "edit the file", "edit"]) {
            Some(rest) => {
                let (path, rest) = cut(rest, &["replace ", "change "], Side::First)?;
                let path = strip_any_suffix(path.trim_end_matches([',', ':', ' ']), &[" and", ","]);
                (Some(path), rest)
            }
            None => (None, strip_verb(text, &["replace", "change", "rename the text"])?),
        };
        let (rest, every) =
            match strip_verb(rest, &["all occurrences of", "every occurrence of", "all", "every", "each"]) {
                Some(rest) => (rest, true),
                None => (rest, false),
            };
        let rest = strip_verb(rest, &["the text", "the word"]).unwrap_or(rest);
        let (old, rest) = cut(rest, &[" with ", " by ", " to "], Side::First)?;
        let (new, path) = match path {
            Some(path) => (rest, path),
            None => cut(rest, &[" in "], Side::Last)?,
        };
        Some((path, old, new, every))
    };
    let chinese = || {
        let rest = strip_verb(text, &["把", "将", "替换", "在"])?;
        let (path, rest) = cut(rest, &["里面的", "里的", "中的", "里面", "里", "中"], Side::First)?;
        let rest = strip_any_prefix(rest.trim_start_matches(['，', ',', ' ']), &["把", "将", "替换"]);
        let (rest, every) = match strip_verb(rest, &["所有的", "所有", "全部的", "全部", "每个"]) {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let (old, new) = cut(
            rest,
            &[
                "全部替换成",
                "全部替换为",
                "全部改成",
                "替换成",
                "替换为",
                "都换成",
                "换成",
                "改成",
                "改为",
                "变成",
                "为",
            ],
            Side::First,
        )?;
        Some((path, old, new, every || text.contains("全部") || text.contains("都换成")))
    };
    let (path, old, new, every) = english().or_else(chinese)?;
    let (path, old, new) = (name(path), unquoted(old), unquoted(new));
    (!path.is_empty() && !old.is_empty()).then_some(Wish::Replace { path, old, new, every })
}

pub(super) fn create_folder(text: &str) -> Option<Wish> {
    let rest = if let Some(rest) = strip_verb(text, &["mkdir -p", "mkdir"]) {
        rest
    } else {
        let rest = strip_verb(
            text,
            &["create", "make", "add", "new", "新建一个", "新建", "创建一个", "创建", "建立", "建一个", "建"],
        )?;
        let rest = strip_any_prefix(rest, ARTICLES);
        // 创建一个名为 X 的文件夹
        if let Some(named) = strip_verb(rest, &["叫做", "叫", "名为", "名叫"]) {
            let path = strip_any_suffix(named.trim_end_matches('。'), &["的文件夹", "的目录"]);
            let path = name(path);
            return (named.trim_end_matches('。').ends_with(['夹', '录']) && !path.is_empty())
                .then_some(Wish::CreateFolder { path });
        }
        strip_verb(rest, &["folders", "folder", "directories", "directory", "文件夹", "目录"])?
    };
    let path = name(strip_any_prefix(rest.trim_start_matches([':', '：', ' ']), NAMED));
    (!path.is_empty()).then_some(Wish::CreateFolder { path })
}

pub(super) fn write(text: &str) -> Option<Wish> {
    write_to(text).or_else(|| write_chinese_into(text)).or_else(|| create_file(text))
}

/// "write CONTENT to PATH"
fn write_to(text: &str) -> Option<Wish> {
    let rest = strip_verb(text, &["write", "save", "put"])?;
    let (content, path) =
        cut(rest, &[" into the file ", " to the file ", " into ", " to ", " in ", " as "], Side::Last)?;
    let path = name(path);
    let is_one_name = looks_like_file(&path) && !path.contains(char::is_whitespace);
    let content = unquoted(strip_any_prefix(content, &["the text", "text"]));
    (is_one_name && !content.is_empty()).then_some(Wish::Write { path, content })
}

/// 把“内容”写入 PATH · 在 PATH 中写入“内容”
fn write_chinese_into(text: &str) -> Option<Wish> {
    if let Some(rest) = strip_verb(text, &["把", "将"]) {
        let (content, path) = cut(rest, &["写入到", "写入", "写到", "写进", "保存到", "保存为", "存到"], Side::Last)?;
        let path = name(strip_any_suffix(strip_any_prefix(path, &["文件"]), &["里面", "里", "中"]));
        let content = unquoted(content);
        return (!path.is_empty() && !content.is_empty()).then_some(Wish::Write { path, content });
    }
    let rest = strip_verb(text, &["在", "往", "向"])?;
    let (path, content) = cut(rest, &["写入", "写上", "写"], Side::First)?;
    let path = name(strip_any_suffix(path, &["里面", "里", "中", "文件"]));
    let content = unquoted(content.trim_start_matches([':', '：', ' ']));
    (looks_like_file(&path) && !content.is_empty()).then_some(Wish::Write { path, content })
}

/// "create PATH with CONTENT"
fn create_file(text: &str) -> Option<Wish> {
    let rest = strip_verb(
        text,
        &[
            "create",
            "make",
            "add",
            "new",
            "write",
            "touch",
            "新建一个",
            "新建",
            "创建一个",
            "创建",
            "建立",
            "建一个",
            "写一个",
            "建",
        ],
    )?;
    let rest = strip_any_prefix(rest, ARTICLES);
    let (rest, says_file) = match strip_verb(rest, &["file", "文件"]) {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let rest = strip_any_prefix(rest, NAMED);
    let separators = [
        " with the content ",
        " with the contents ",
        " with the text ",
        " with content ",
        " with text ",
        " with ",
        " containing the text ",
        " containing ",
        " that contains ",
        " that says ",
        " which says ",
        " saying ",
        "，内容是",
        "，内容为",
        "，内容：",
        "，内容",
        ",内容是",
        ",内容为",
        " 内容是",
        " 内容为",
        " 内容：",
        " 内容",
        "内容是",
        "内容为",
        "内容：",
        "，写上",
        "，写入",
        "，里面写",
        "，写着",
        " 写上",
        " 写入",
        "：",
        ": ",
        ":\n",
        "\n",
    ];
    let (path, content) = cut(rest, &separators, Side::First).unwrap_or((rest, ""));
    let path = name(strip_any_suffix(path, &["的文件"]));
    if path.is_empty()
        || !(says_file || looks_like_file(&path))
        || (path.contains(' ') && !rest.starts_with(['"', '“', '`']))
    {
        return None;
    }
    let mut content = unquoted(content.trim_start_matches([':', '：', ' ']));
    if !content.is_empty() && !content.ends_with('\n') {
        content.push('\n');
    }
    Some(Wish::Write { path, content })
}

pub(super) fn delete(text: &str) -> Option<Wish> {
    // 把 X 删掉
    let chinese = strip_verb(text, &["把", "将"]).map(|rest| {
        let rest = rest.trim_end_matches(['。', '！', '吧', ' ']);
        (rest, strip_any_suffix(rest, &["全部删除", "删除掉", "删除", "删掉", "删了", "移除"]))
    });
    let text = match chinese {
        Some((rest, path)) if path.len() < rest.len() => &format!("删除 {path}"),
        Some(_) => return None,
        None => text,
    };
    let is_rm = has_word(text, &["rm -r", "rm -rf"]);
    let rest = strip_verb(
        text,
        &[
            "delete",
            "remove",
            "erase",
            "trash",
            "rm -rf",
            "rm -r",
            "rm",
            "删除掉",
            "删除",
            "删掉",
            "删去",
            "移除",
            "删",
        ],
    )?;
    let everything = [
        " and everything in it",
        " and all its contents",
        " with everything in it",
        " recursively",
        "和里面的所有内容",
        "及其内容",
    ];
    let without = strip_any_suffix(rest.trim_end_matches(['.', '。', '!', '！']), &everything);
    let says_everything = without.len() < rest.trim_end_matches(['.', '。', '!', '！']).len();
    let rest = strip_any_prefix(if says_everything { without } else { rest }, ARTICLES);
    let (rest, is_folder) = match strip_verb(rest, &["folder", "directory", "文件夹", "目录"]) {
        Some(rest) => (rest, true),
        None => (strip_verb(rest, &["file", "文件"]).unwrap_or(rest), false),
    };
    let trimmed = strip_any_suffix(rest, &[" folder", " directory", "文件夹", "目录"]);
    let is_folder = is_folder || trimmed.len() < rest.len();
    let path = name(strip_any_prefix(trimmed, NAMED));
    let recursive = is_folder || is_rm || says_everything || path.ends_with('/');
    (!path.is_empty()).then_some(Wish::Delete { path, recursive })
}
