//! What a person's sentence asks for, in English or Chinese, by fixed patterns. Pure. What fits no pattern is `Unknown`:
//! guessing would be worse than saying what is understood.

use super::change::{create_folder, delete, replace, write};
use super::look::{find, list, list_by_question, read};
use super::phrase::{Line, strip_verb};

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    List { path: String, recursive: bool },
    Read { path: String, lines: Option<Line> },
    Find { query: String, path: String, only: Only },
    Write { path: String, content: String },
    CreateFolder { path: String },
    Replace { path: String, old: String, new: String, every: bool },
    Delete { path: String, recursive: bool },
    Run { command: String },
    Greeting,
    Help,
    Unknown,
}

/// Where a search looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Only {
    Names,
    Contents,
    Both,
}

/// What may stand around a request without changing it.
const POLITE: &[&str] = &[
    "please",
    "can you",
    "could you",
    "would you",
    "will you",
    "i want you to",
    "i want to",
    "i would like to",
    "i'd like to",
    "let's",
    "now",
    "then",
    "also",
    "and",
    "ok",
    "okay",
    "so",
    "just",
    "nod",
    "hey nod",
    "请你",
    "请",
    "麻烦你",
    "麻烦",
    "帮我",
    "帮忙",
    "你能不能",
    "能不能",
    "你能",
    "可以",
    "可不可以",
    "给我",
    "我想要",
    "我想",
    "我要",
    "现在",
    "然后",
    "再",
];

/// Understands one message.
pub(super) fn understand(message: &str) -> Wish {
    let mut text = message.trim();
    if let Some(command) = text.strip_prefix("$ ") {
        return run(command);
    }
    while let Some(rest) = strip_verb(text, POLITE) {
        text = rest.trim_start_matches([',', '，', ' ', '、']);
    }
    if text.is_empty() {
        return Wish::Unknown;
    }
    small_talk(text)
        .or_else(|| command(text))
        .or_else(|| replace(text))
        .or_else(|| create_folder(text))
        .or_else(|| write(text))
        .or_else(|| delete(text))
        .or_else(|| find(text))
        .or_else(|| list_by_question(text))
        .or_else(|| read(text))
        .or_else(|| list(text))
        .unwrap_or(Wish::Unknown)
}

fn small_talk(text: &str) -> Option<Wish> {
    let bare = text.trim_end_matches(['?', '？', '!', '！', '.', '。', ' ', '~', '～']).to_lowercase();
    match bare.as_str() {
        "" | "help" | "help me" | "what can you do" | "what do you do" | "how does this work" | "commands" | "帮助"
        | "帮忙" | "怎么用" | "你会什么" | "你能做什么" | "能做什么" | "你可以做什么" | "做什么" => {
            Some(Wish::Help)
        }
        "hi" | "hello" | "hey" | "hi there" | "hello there" | "good morning" | "who are you" | "你好" | "您好"
        | "嗨" | "你是谁" => Some(Wish::Greeting),
        _ => None,
    }
}

fn command(text: &str) -> Option<Wish> {
    let rest = strip_verb(
        text,
        &[
            "run the command",
            "run command",
            "execute the command",
            "run",
            "execute",
            "运行命令",
            "执行命令",
            "运行",
            "执行",
        ],
    )?;
    Some(run(rest))
}

fn run(command: &str) -> Wish {
    let command = command.trim().trim_start_matches([':', '：']).trim();
    let command = command.strip_prefix('`').and_then(|inner| inner.strip_suffix('`')).unwrap_or(command);
    if command.is_empty() { Wish::Unknown } else { Wish::Run { command: command.into() } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(path: &str) -> Wish {
        Wish::List { path: path.into(), recursive: false }
    }

    fn read(path: &str) -> Wish {
        Wish::Read { path: path.into(), lines: None }
    }

    fn lines(path: &str, first: u64, last: Option<u64>) -> Wish {
        Wish::Read { path: path.into(), lines: Some(Line { first, last }) }
    }

    fn find(query: &str, path: &str, only: Only) -> Wish {
        Wish::Find { query: query.into(), path: path.into(), only }
    }

    fn write(path: &str, content: &str) -> Wish {
        Wish::Write { path: path.into(), content: content.into() }
    }

    fn folder(path: &str) -> Wish {
        Wish::CreateFolder { path: path.into() }
    }

    fn replace(path: &str, old: &str, new: &str, every: bool) -> Wish {
        Wish::Replace { path: path.into(), old: old.into(), new: new.into(), every }
    }

    fn delete(path: &str, recursive: bool) -> Wish {
        Wish::Delete { path: path.into(), recursive }
    }

    fn check(cases: &[(&str, Wish)]) {
        let wrong: Vec<String> = cases
            .iter()
            .filter(|(text, expected)| understand(text) != *expected)
            .map(|(text, expected)| format!("{text:?}: {:?} instead of {expected:?}", understand(text)))
            .collect();
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }

    #[test]
    fn listing() {
        let deep = |path: &str| Wish::List { path: path.into(), recursive: true };
        check(&[
            ("list", list(".")),
            ("List files", list(".")),
            ("list the files in src", list("src")),
            ("Please list all files in the folder src/provider.", list("src/provider")),
            ("list \"my notes\"", list("my notes")),
            ("ls ..", list("..")),
            ("ls .", list(".")),
            ("show me the src folder", list("src")),
            ("what is in src?", list("src")),
            ("What's in the folder docs?", list("docs")),
            ("what files are there?", list(".")),
            ("can you list everything here?", list(".")),
            ("list src recursively", deep("src")),
            ("tree src", deep("src")),
            ("列出文件", list(".")),
            ("请列出 src 里的文件", list("src")),
            ("列出src目录下的所有文件", list("src")),
            ("src 里有什么？", list("src")),
            ("这里有哪些文件", list(".")),
            ("帮我看看 docs 文件夹里有什么", list("docs")),
            ("递归列出 src", deep("src")),
            ("列出 src，包括子文件夹", deep("src")),
            ("显示当前目录", list(".")),
        ]);
    }

    #[test]
    fn reading() {
        check(&[
            ("read README.md", read("README.md")),
            ("Could you read the file src/main.rs?", read("src/main.rs")),
            ("read LICENSE", read("LICENSE")),
            ("open notes.txt", read("notes.txt")),
            ("show me Cargo.toml", read("Cargo.toml")),
            ("what's in README.md?", read("README.md")),
            ("cat 'a b.txt'", read("a b.txt")),
            ("read lines 3 to 10 of src/main.rs", lines("src/main.rs", 3, Some(10))),
            ("read src/main.rs lines 3-10", lines("src/main.rs", 3, Some(10))),
            ("read the first 5 lines of a.txt", lines("a.txt", 1, Some(5))),
            ("show line 7 of a.txt", lines("a.txt", 7, Some(7))),
            ("读取 README.md", read("README.md")),
            ("请打开文件 src/main.rs", read("src/main.rs")),
            ("看看 Cargo.toml 的内容", read("Cargo.toml")),
            ("读取 src/main.rs 第3到10行", lines("src/main.rs", 3, Some(10))),
            ("读取 a.txt 的前 5 行", lines("a.txt", 1, Some(5))),
        ]);
    }

    #[test]
    fn finding() {
        check(&[
            ("find TODO", find("TODO", ".", Only::Both)),
            ("find TODO in src", find("TODO", "src", Only::Both)),
            ("search for \"log in page\" in docs", find("log in page", "docs", Only::Both)),
            ("search src for TODO", find("TODO", "src", Only::Both)),
            ("find files named main", find("main", ".", Only::Names)),
            ("find all files *.rs in the folder src", find("*.rs", "src", Only::Names)),
            ("find *.md", find("*.md", ".", Only::Names)),
            ("which files contain password?", find("password", ".", Only::Both)),
            ("find the text fn main in all files", find("fn main", ".", Only::Contents)),
            ("查找 TODO", find("TODO", ".", Only::Both)),
            ("在 src 里查找 TODO", find("TODO", "src", Only::Both)),
            ("在docs文件夹中搜索“登录”", find("登录", "docs", Only::Both)),
            ("帮我搜索包含 TODO 的文件", find("TODO", ".", Only::Contents)),
        ]);
    }

    #[test]
    fn creating() {
        check(&[
            ("create notes.txt with Hello, world", write("notes.txt", "Hello, world\n")),
            ("Create a file named notes.txt with the text \"Hello: you\"", write("notes.txt", "Hello: you\n")),
            ("create a new file todo with content buy milk", write("todo", "buy milk\n")),
            ("make empty.txt", write("empty.txt", "")),
            ("create a.py:\nprint(1)\nprint(2)", write("a.py", "print(1)\nprint(2)\n")),
            ("write \"hello\" to greeting.txt", write("greeting.txt", "hello")),
            ("save the text see you as note.md", write("note.md", "see you")),
            ("create a folder called drafts", folder("drafts")),
            ("mkdir a/b", folder("a/b")),
            ("new folder \"my notes\"", folder("my notes")),
            ("新建文件 笔记.txt，内容是你好", write("笔记.txt", "你好\n")),
            ("新建 notes.txt，内容：第一行", write("notes.txt", "第一行\n")),
            ("创建一个文件叫 a.txt", write("a.txt", "")),
            ("把“你好，世界”写入 hello.txt", write("hello.txt", "你好，世界")),
            ("在 a.txt 中写入 你好", write("a.txt", "你好")),
            ("新建文件夹 草稿", folder("草稿")),
            ("请创建一个名为 src 的目录", folder("src")),
            ("创建一个叫做 a.txt 的文件，内容是 好", write("a.txt", "好\n")),
            ("创建目录 a/b", folder("a/b")),
        ]);
    }

    #[test]
    fn replacing() {
        check(&[
            ("replace foo with bar in a.txt", replace("a.txt", "foo", "bar", false)),
            ("Replace all \"a in b\" with \"c\" in src/x.rs", replace("src/x.rs", "a in b", "c", true)),
            ("change 1 to 2 in config.json", replace("config.json", "1", "2", false)),
            ("in a.txt, replace foo with bar", replace("a.txt", "foo", "bar", false)),
            ("edit a.txt and replace every foo with bar", replace("a.txt", "foo", "bar", true)),
            ("把 a.txt 里的 foo 换成 bar", replace("a.txt", "foo", "bar", false)),
            ("将 a.txt 中所有的“你好”替换为“再见”", replace("a.txt", "你好", "再见", true)),
            ("在 a.txt 中，把 foo 改成 bar", replace("a.txt", "foo", "bar", false)),
        ]);
    }

    #[test]
    fn deleting_and_running() {
        let run = |command: &str| Wish::Run { command: command.into() };
        check(&[
            ("delete old.txt", delete("old.txt", false)),
            ("Please delete the file old.txt.", delete("old.txt", false)),
            ("remove the folder build", delete("build", true)),
            ("delete the build folder", delete("build", true)),
            ("delete build and everything in it", delete("build", true)),
            ("rm -r build", delete("build", true)),
            ("删除 old.txt", delete("old.txt", false)),
            ("把 old.txt 删掉", delete("old.txt", false)),
            ("把文件夹 build 删除", delete("build", true)),
            ("请删除文件夹 build", delete("build", true)),
            ("run ls -la", run("ls -la")),
            ("run `cargo test --lib`", run("cargo test --lib")),
            ("$ echo \"Hi\"", run("echo \"Hi\"")),
            ("运行 ls -la", run("ls -la")),
            ("执行命令：git status", run("git status")),
        ]);
    }

    #[test]
    fn small_talk_and_the_rest() {
        check(&[
            ("help", Wish::Help),
            ("What can you do?", Wish::Help),
            ("你能做什么？", Wish::Help),
            ("?", Wish::Help),
            ("Hello!", Wish::Greeting),
            ("你好", Wish::Greeting),
            ("", Wish::Unknown),
            ("please", Wish::Unknown),
            ("what is the capital of France", Wish::Unknown),
            ("create", Wish::Unknown),
            ("delete", Wish::Unknown),
            ("run", Wish::Unknown),
            ("find", Wish::Unknown),
            ("今天天气怎么样", Wish::Unknown),
            ("\"", Wish::Unknown),
            ("“在", Wish::Unknown),
            ("write me a poem about the sea", Wish::Unknown),
        ]);
    }

    proptest::proptest! {
        #[test]
        fn no_message_makes_it_stumble(text in "([a-z]{1,4}|list|read|find|create|replace|in|with|删|在|中|里|把|写|“|”|\"|'|`|:| |\\n|第3行|lines 3){0,12}") {
            understand(&text);
        }
    }
}
