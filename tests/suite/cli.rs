//! The real program without a window, against a loopback server that speaks Ollama's format.
#![expect(clippy::disallowed_methods, reason = "the program is started as a person starts it, with files made by hand")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::support::ollama::{
    OllamaServer, Piece, Reply, calls_line, done_line, done_with_calls_line, text_line, thinking_line,
};

struct Bench {
    place: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("project")).unwrap();
        Self { place }
    }

    fn folder(&self) -> std::path::PathBuf {
        self.place.path().join("project")
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.folder().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn nod(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nod"));
        command
            .env("NOD_DATA_DIR", self.place.path().join("data"))
            .env("XDG_DATA_HOME", self.place.path().join("share"))
            .env("HOME", self.place.path().join("home"))
            .env("LANG", "en_US.UTF-8")
            .current_dir(self.folder());
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.nod().args(words).stdin(std::process::Stdio::null()).output().unwrap()
    }

    fn exec(&self, server: &OllamaServer, words: &[&str]) -> Output {
        let url = server.url();
        let mut all = vec!["exec", "--provider", "ollama", "--model", "qwen3:8b", "--base-url", url.as_str()];
        all.extend(words);
        self.run(&all)
    }
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn lines(output: &Output) -> Vec<Value> {
    out(output).lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"))).collect()
}

fn of_type<'lines>(lines: &'lines [Value], kind: &str) -> Vec<&'lines Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

#[test]
fn exec_prints_the_answer_on_standard_output_and_the_rest_beside_it() {
    let bench = Bench::new();
    let server = OllamaServer::start();
    bench.write("a.txt", "one\n");
    server.answer(Reply::stream([
        thinking_line("I should look."),
        calls_line(&[("read_file", json!({"path": "a.txt"}))]),
        done_line("stop"),
    ]));
    server.answer(Reply::stream([text_line("It says "), text_line("one."), done_line("stop")]));
    let output = bench.exec(&server, &["--folder", ".", "what does a.txt say?"]);
    assert_eq!(out(&output), "It says one.\n", "{}", err(&output));
    assert!(err(&output).contains("read_file"), "{}", err(&output));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn exec_json_prints_events_in_order_and_the_turns_end_last() {
    let bench = Bench::new();
    let server = OllamaServer::start();
    bench.write("a.txt", "one\n");
    bench.write("b.txt", "two\n");
    server.answer(Reply::stream([
        thinking_line("Both."),
        calls_line(&[("read_file", json!({"path": "a.txt"})), ("read_file", json!({"path": "b.txt"}))]),
        done_line("stop"),
    ]));
    server.answer(Reply::stream([text_line("Done."), done_line("stop")]));
    let output = bench.exec(&server, &["--folder", ".", "--json", "read both"]);
    let lines = lines(&output);
    let results = of_type(&lines, "tool_result");
    let contents: Vec<_> =
        results.iter().map(|line| line["toolResult"]["result"]["content"].as_str().unwrap()).collect();
    assert_eq!(contents.len(), 2);
    assert!(contents.contains(&"one\n") && contents.contains(&"two\n"), "{contents:?}");
    let last = lines.last().unwrap();
    assert_eq!((&last["type"], &last["outcome"], &last["rounds"]), (&json!("turn_end"), &json!("done"), &json!(2)));
    assert_eq!(last["content"], "Done.");
    // Stream events are numbered without gaps per request, and `done` is each request's last.
    let mut next: std::collections::HashMap<String, u64> = std::collections::HashMap::new();
    for line in lines.iter().filter(|line| line.get("seq").is_some()) {
        let expected = next.entry(line["requestId"].as_str().unwrap().to_owned()).or_default();
        assert_eq!(line["seq"].as_u64().unwrap(), *expected);
        *expected += 1;
    }
    assert_eq!(of_type(&lines, "done").len(), 2);
    // The results went back in the order of the calls.
    let second = server.chats().pop().unwrap();
    let tools: Vec<_> =
        second["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool").collect();
    assert_eq!(tools.len(), 2);
    assert!(tools[0]["content"].as_str().unwrap().contains("one"));
    assert!(tools[1]["content"].as_str().unwrap().contains("two"));
}

#[test]
fn calls_that_come_only_on_the_done_line_run_too() {
    let bench = Bench::new();
    let server = OllamaServer::start();
    bench.write("a.txt", "one\n");
    server.answer(Reply::stream([done_with_calls_line(&[("read_file", json!({"path": "a.txt"}))])]));
    server.answer(Reply::stream([text_line("one"), done_line("stop")]));
    let output = bench.exec(&server, &["--folder", ".", "--json", "read"]);
    assert_eq!(of_type(&lines(&output), "tool_result").len(), 1, "{}", err(&output));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn an_error_in_mid_stream_keeps_what_came_and_fails() {
    let bench = Bench::new();
    let server = OllamaServer::start();
    server.answer(Reply::pieces([
        Piece::line(text_line("The answer is ")),
        Piece::line(json!({"error": "model runner has unexpectedly stopped"})),
    ]));
    let output = bench.exec(&server, &["--json", "say"]);
    let lines = lines(&output);
    let last = lines.last().unwrap();
    assert_eq!(last["outcome"], "failed");
    assert_eq!(last["content"], "The answer is ");
    assert!(last["error"]["message"].as_str().unwrap().contains("model runner"), "{last}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn what_needs_a_yes_is_denied_where_nobody_can_be_asked() {
    let bench = Bench::new();
    let server = OllamaServer::start();
    server.answer(Reply::stream([
        calls_line(&[("write_file", json!({"path": "new.txt", "content": "x"}))]),
        done_line("stop"),
    ]));
    server.answer(Reply::stream([text_line("You said no."), done_line("stop")]));
    let output = bench.exec(&server, &["--folder", ".", "--json", "write"]);
    let lines = lines(&output);
    assert_eq!(of_type(&lines, "tool_result")[0]["toolResult"]["result"]["code"], "CONFIRMATION_REJECTED");
    assert!(!bench.folder().join("new.txt").exists());
    assert_eq!(lines.last().unwrap()["outcome"], "done", "a refusal is an answer for the model, not the turn's end");
}

#[test]
fn approve_says_what_runs_without_asking_and_no_more() {
    for (approve, write, delete) in
        [("never", false, false), ("reads", false, false), ("writes", true, false), ("all", true, true)]
    {
        let bench = Bench::new();
        bench.write("old.txt", "old\n");
        let output = bench.run(&[
            "tool",
            "write_file",
            r#"{"path":"new.txt","content":"new"}"#,
            "--folder",
            ".",
            "--approve",
            approve,
        ]);
        assert_eq!(bench.folder().join("new.txt").exists(), write, "{approve}: {}", err(&output));
        assert_eq!(output.status.code(), Some(if write { 0 } else { 3 }), "{approve}");
        let output =
            bench.run(&["tool", "delete_file", r#"{"path":"old.txt"}"#, "--folder", ".", "--approve", approve]);
        assert_eq!(bench.folder().join("old.txt").exists(), !delete, "{approve}: {}", err(&output));
        assert_eq!(output.status.code(), Some(if delete { 0 } else { 3 }), "{approve}");
    }
}

#[test]
fn a_policy_denial_stands_whatever_approve_says() {
    let bench = Bench::new();
    let output = bench.run(&[
        "tool",
        "write_file",
        r#"{"path":"/etc/nod-test","content":"x"}"#,
        "--folder",
        ".",
        "--approve",
        "all",
    ]);
    assert_eq!(lines(&output)[0]["code"], "BLOCKED_PATH_DENIED");
    assert_eq!(output.status.code(), Some(1));
    assert!(!Path::new("/etc/nod-test").exists());
}

#[test]
fn arguments_come_from_standard_input_too() {
    let bench = Bench::new();
    let content = "x".repeat(3 * 1024 * 1024);
    let args = bench.place.path().join("args.json");
    std::fs::write(&args, json!({"path": "big.txt", "content": content}).to_string()).unwrap();
    let output = bench
        .nod()
        .args(["tool", "write_file", "-", "--folder", ".", "--approve", "writes"])
        .stdin(std::fs::File::open(args).unwrap())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{} {}", out(&output), err(&output));
    assert_eq!(std::fs::metadata(bench.folder().join("big.txt")).unwrap().len(), 3 * 1024 * 1024);
}

#[test]
fn the_guide_works_with_nothing_installed() {
    let bench = Bench::new();
    bench.write("README.md", "# Hello\n");
    let output = bench.run(&["exec", "--provider", "guide", "--folder", ".", "list", "files"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("README.md"), "{}", out(&output));
}

#[test]
fn a_session_goes_on_is_listed_searched_exported_imported_and_deleted() {
    let bench = Bench::new();
    let server = OllamaServer::start();
    server.answer(Reply::stream([text_line("苹果是红色的。"), done_line("stop")]));
    server.answer(Reply::stream([text_line("Yes."), done_line("stop")]));
    let first = lines(&bench.exec(&server, &["--json", "what colour is an apple?"]));
    let id = first.last().unwrap()["sessionId"].as_str().unwrap().to_owned();
    let output = bench.exec(&server, &["--session", &id, "--json", "are you sure?"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(server.chats()[1]["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "user").count(), 2);

    let listed = out(&bench.run(&["sessions", "list"]));
    assert_eq!(listed.lines().count(), 1, "{listed}");
    assert!(listed.contains("what colour is an apple?"), "{listed}");
    let found = out(&bench.run(&["sessions", "search", "苹果"]));
    assert!(found.contains(&id), "{found}");
    let markdown = out(&bench.run(&["sessions", "export", &id, "--format", "md"]));
    let shown = out(&bench.run(&["sessions", "show", &id]));
    let hosts = shown.strip_prefix(&format!("{markdown}\n---\n\nHosts contacted on behalf of this conversation:\n- "));
    assert!(
        hosts.is_some_and(|hosts| hosts.starts_with("127.0.0.1: requests ") && hosts.lines().count() == 1),
        "{shown}"
    );
    let last = out(&bench.run(&["sessions", "show", &id, "--json"])).lines().last().unwrap().to_owned();
    assert!(last.starts_with(r#"{"contacts":[{"host":"127.0.0.1","requests":"#), "{last}");
    assert!(markdown.contains("苹果是红色的。"), "{markdown}");
    let exported = bench.place.path().join("chat.json");
    std::fs::write(&exported, out(&bench.run(&["sessions", "export", &id]))).unwrap();
    let output = bench.run(&["sessions", "import", exported.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let copy = out(&output).trim().to_owned();
    let again = out(&bench.run(&["sessions", "export", &copy, "--format", "md"]));
    assert_eq!(again, markdown);
    assert_eq!(bench.run(&["sessions", "delete", &id]).status.code(), Some(0));
    let listed = out(&bench.run(&["sessions", "list"]));
    assert!(!listed.contains(&id) && listed.contains(&copy), "{listed}");
}

#[test]
fn settings_are_listed_read_changed_and_reset_by_their_keys() {
    let bench = Bench::new();
    assert_eq!(out(&bench.run(&["config", "get", "general.theme"])), "\"system\"\n");
    assert_eq!(bench.run(&["config", "set", "general.theme", "dark"]).status.code(), Some(0));
    assert_eq!(out(&bench.run(&["config", "get", "general.theme"])), "\"dark\"\n");
    let output = bench.run(&["config", "set", "general.theme", "purple"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("general.theme"), "{}", err(&output));
    assert_eq!(bench.run(&["config", "set", "no.such", "1"]).status.code(), Some(1));
    assert_eq!(bench.run(&["config", "reset", "general.theme"]).status.code(), Some(0));
    assert_eq!(out(&bench.run(&["config", "get", "general.theme"])), "\"system\"\n");
}

#[test]
fn ten_rounds_are_the_limit_and_the_exit_code_says_so() {
    let bench = Bench::new();
    let server = OllamaServer::start();
    server.answer_with(|chat, _| {
        Reply::stream([
            calls_line(&[("list_directory", json!({"path": ".", "max_depth": chat + 1}))]),
            done_line("stop"),
        ])
    });
    let output = bench.exec(&server, &["--folder", ".", "--json", "go"]);
    let lines = lines(&output);
    let last = lines.last().unwrap();
    assert_eq!((&last["outcome"], &last["rounds"]), (&json!("limit"), &json!(10)));
    assert_eq!(last["error"]["code"], "max_iterations");
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn a_wrong_address_a_missing_model_and_a_server_that_is_not_there_say_what_to_do() {
    let bench = Bench::new();
    let output = bench.run(&["exec", "--provider", "ollama", "--model", "m", "--base-url", "http://127.0.0.1:1", "hi"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).to_lowercase().contains("ollama"), "{}", err(&output));
    let server = OllamaServer::start();
    server.answer(Reply::error(404, "model 'nope' not found"));
    let url = server.url();
    let output = bench.run(&["exec", "--provider", "ollama", "--model", "nope", "--base-url", &url, "hi"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("nope"), "{}", err(&output));
    let output = bench.run(&["exec", "--provider", "nobody", "--model", "m", "hi"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("nobody"), "{}", err(&output));
}

#[test]
fn where_the_provider_cannot_answer_the_fallback_does_and_is_named() {
    let bench = Bench::new();
    let (down, up) = (OllamaServer::start(), OllamaServer::start());
    down.answer_with(|_, _| Reply::error(503, "server busy, please try again"));
    up.answer(Reply::stream([text_line("Here I am."), done_line("stop")]));
    let fallback = up.url();
    let words = [
        "--json",
        "--fallback-provider",
        "ollama",
        "--fallback-model",
        "qwen3:8b",
        "--fallback-base-url",
        &fallback,
        "hi",
    ];
    let output = bench.exec(&down, &words);
    let lines = lines(&output);
    assert_eq!(of_type(&lines, "provider_switched").len(), 1, "{}", out(&output));
    assert_eq!(lines.last().unwrap()["content"], "Here I am.");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn folders_and_tools_that_are_not_there_are_bad_usage() {
    let bench = Bench::new();
    for words in [["--folder", "/no/such/folder"], ["--tools", "read_file,bogus"], ["--enable-tool", "bogus"]] {
        let output = bench.run(&[&["exec", "--provider", "guide"], &words[..], &["list"]].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", err(&output));
        assert!(!err(&output).is_empty());
    }
    let output = bench.run(&["exec", "--session", "nope", "--provider", "guide", "hi"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).trim().len() > 10, "an error says what happened: {:?}", err(&output));
}

#[test]
fn the_data_folder_is_closed_to_tools_by_whatever_path_it_is_reached() {
    let bench = Bench::new();
    let real = bench.folder().join("real");
    std::fs::create_dir(&real).unwrap();
    let link = bench.folder().join("link");
    #[cfg(unix)]
    std::os::unix::fs::symlink("real", &link).unwrap();
    for path in ["real", "real/nod.db", "link/nod.db"] {
        let arguments = json!({"path": path}).to_string();
        let output = bench
            .nod()
            .env("NOD_DATA_DIR", &link)
            .args(["tool", "read_file", &arguments, "--folder", ".", "--approve", "all"])
            .output()
            .unwrap();
        assert_eq!(lines(&output)[0]["code"], "BLOCKED_PATH_DENIED", "{path}");
    }
    // The control: the same file where no data folder is.
    std::fs::write(bench.folder().join("nod.db"), "x").unwrap();
    let output = bench.run(&["tool", "read_file", r#"{"path":"nod.db"}"#, "--folder", "."]);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn prose_is_printed_as_it_is_and_what_commands_a_terminal_as_an_escape() {
    let bench = Bench::new();
    let server = OllamaServer::start();
    server.answer(Reply::stream([text_line("全角\u{3000}空格 ❤\u{FE0F} \u{1B}[2Jx\u{202E}y"), done_line("stop")]));
    let output = bench.exec(&server, &["hi"]);
    assert_eq!(out(&output), "全角\u{3000}空格 ❤\u{FE0F} \\u{001B}[2Jx\\u{202E}y\n", "{}", err(&output));
}

#[test]
fn command_lines_on_one_data_folder_wait_for_each_other() {
    let bench = Bench::new();
    bench.write("a.txt", "one\n");
    let children: Vec<_> = (0..4)
        .map(|_| {
            let words = ["tool", "read_file", r#"{"path":"a.txt"}"#, "--folder", "."];
            bench.nod().args(words).stdout(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    }
    assert_eq!(out(&bench.run(&["sessions", "list"])).lines().count(), 1, "all calls are in one session");
}

#[test]
fn bad_usage_is_exit_code_two_and_help_has_examples() {
    let bench = Bench::new();
    assert_eq!(bench.run(&["exec"]).status.code(), Some(2));
    assert_eq!(bench.run(&["no-such-command"]).status.code(), Some(2));
    let help = out(&bench.run(&["exec", "--help"]));
    assert!(help.contains("Examples:") && help.contains("--approve"), "{help}");
    assert!(out(&bench.run(&["completions", "bash"])).contains("nod"));
}

#[test]
fn the_doctor_finds_a_folder_that_cannot_be_written_and_a_broken_database() {
    let bench = Bench::new();
    let output = bench.run(&["doctor", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", out(&output));
    let data_dir = bench.place.path().join("data");
    std::fs::create_dir_all(&data_dir).unwrap();
    std::fs::write(data_dir.join("nod.db"), "this is no database, and longer than a header of one would be".repeat(20))
        .unwrap();
    let output = bench.run(&["doctor", "--json"]);
    let database = lines(&output).into_iter().find(|line| line["subject"] == "database").unwrap();
    assert_eq!(database["health"], "broken", "{database}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn tools_are_listed_with_schema_risk_and_state() {
    let bench = Bench::new();
    let tools = lines(&bench.run(&["tools", "--json"]));
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(
        names,
        [
            "read_file",
            "write_file",
            "edit_file",
            "list_directory",
            "search_files",
            "create_directory",
            "delete_file",
            "run_command"
        ]
    );
    let command = tools.last().unwrap();
    assert_eq!((&command["enabled"], &command["riskLevel"]), (&json!(false), &json!("critical")));
    assert_eq!(tools[0]["parameters"]["required"], json!(["path"]));
}

/// A project that somebody else wrote must not lead what is said to a server of theirs.
#[test]
fn no_file_of_a_project_and_no_variable_of_another_program_says_where_answers_come_from() {
    let bench = Bench::new();
    let (chosen, trap) = (OllamaServer::start(), OllamaServer::start());
    let output = bench.run(&["config", "set", "models.ollama_url", &chosen.url()]);
    assert!(output.status.success(), "{}", err(&output));
    let url = trap.url();
    let variables = ["OLLAMA_HOST", "OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "OLLAMA_BASE_URL"];
    let dotenv = variables.map(|name| format!("{name}={url}")).join("\n");
    for name in [".env", ".env.local", ".envrc"] {
        bench.write(name, &dotenv);
    }
    for name in ["nod.toml", ".nod.toml", ".nod/config.toml", ".config/nod/config.toml"] {
        bench.write(name, &format!("ollama_url = \"{url}\"\n[models]\nollama_url = \"{url}\"\nproxy = \"{url}\"\n"));
    }
    for name in ["nod.json", ".nod/config.json", ".nod/settings.json"] {
        bench.write(name, &json!({"models": {"ollama_url": url, "proxy": url}}).to_string());
    }
    chosen.answer(Reply::stream([text_line("Here."), done_line("stop")]));
    let mut command = bench.nod();
    command.args(["exec", "--provider", "ollama", "--model", "qwen3:8b", "hi"]).stdin(std::process::Stdio::null());
    for name in variables {
        command.env(name, &url);
    }
    let output = command.output().unwrap();
    assert!(out(&output).contains("Here."), "{}", err(&output));
    assert_eq!((chosen.last_chat().is_some(), trap.last_chat()), (true, None));
    // The control: where the person says so, the other one is asked.
    trap.answer(Reply::stream([text_line("There."), done_line("stop")]));
    let output = bench.exec(&trap, &["hi"]);
    assert!(out(&output).contains("There."), "{}", err(&output));
}
