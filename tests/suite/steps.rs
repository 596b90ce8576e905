//! What git keeps of a rebase or of picks that are half done, and what makes a program of it: git itself, and a prompt. Every
//! attack is made without the guard too, and git or the shell runs it there.
#![expect(clippy::disallowed_methods, reason = "these tests lay out files and start git")]

use std::process::{Command, Stdio};

use nod::ir::Tier;
use nod::tool::CommandWalls;

use crate::confinement::{also_as_ordinary_user, run_tool, tiers};
use crate::lead::{Ground, no_git};

#[test]
fn steps_that_run_a_command_do_not_outlive_the_command_that_wrote_them() {
    also_as_ordinary_user("steps::steps_that_run_a_command_do_not_outlive_the_command_that_wrote_them");
    if no_git() {
        return;
    }
    for walls in std::iter::once(CommandWalls::default()).chain(tiers()) {
        for (line, runs) in [
            ("printf 'exec id > \"%s\"\\n' \"$MARK\" >> .git/rebase-merge/git-rebase-todo", true),
            (
                "mv .git/rebase-merge evil; printf 'exec id > \"%s\"\\n' \"$MARK\" >> evil/git-rebase-todo; \
                 ln -s ../evil .git/rebase-merge",
                true,
            ),
            ("git rebase --edit-todo >/dev/null", false),
        ] {
            let ground = Ground::new();
            ground.repository();
            ground.commit();
            let mut stop = Command::new("git");
            stop.arg("-C").arg(ground.folder()).args(["rebase", "-i", "--root"]).env("HOME", "/nonexistent");
            stop.env("GIT_SEQUENCE_EDITOR", "sed -i -e 1s/pick/edit/").stdin(Stdio::null());
            stop.output().unwrap();
            assert!(ground.folder().join(".git/rebase-merge/git-rebase-todo").exists());
            let set = format!("export MARK='{}' GIT_SEQUENCE_EDITOR=true", ground.mark().display());
            let ran = run_tool(&walls, &ground.folder(), &format!("{set}; {line}"));
            ground.git(&["-c", "core.editor=true", "rebase", "--continue"]);
            let is_run = ground.mark().exists();
            assert_eq!(is_run, runs && walls.tier == Tier::Unconfined, "{:?}: {line}: {ran:?}", walls.tier);
            if !runs {
                assert_eq!(ran.unwrap().get("reverted"), None);
            }
        }
    }
}

impl Ground {
    /// A branch of two commits of which the first does not fit onto `main`.
    fn conflict(&self) {
        self.repository();
        self.git(&["branch", "-M", "main"]);
        self.git(&["checkout", "-q", "-b", "side"]);
        self.put("a.txt", "side\n");
        self.git(&["commit", "-q", "-a", "-m", "side"]);
        self.put("b.txt", "b\n");
        self.git(&["add", "b.txt"]);
        self.git(&["commit", "-q", "-m", "second"]);
        self.git(&["checkout", "-q", "main"]);
        self.put("a.txt", "main\n");
        self.git(&["commit", "-q", "-a", "-m", "main"]);
    }

    /// A program, and the name of a strategy by which git comes to it from the top of the work tree.
    fn strategy(&self) -> String {
        format!(
            "mkdir git-merge-..; printf '#!/bin/sh\nid > \"%s\"\nexit 1\n' '{}' > evil; chmod +x evil",
            self.mark().display()
        )
    }

    fn go_on(&self, with: &str) {
        self.put("a.txt", "both\n");
        self.git(&["add", "a.txt"]);
        self.git(&["-c", "core.editor=true", with, "--continue"]);
    }
}

#[test]
fn no_strategy_of_a_command_gets_into_what_is_half_done() {
    also_as_ordinary_user("steps::no_strategy_of_a_command_gets_into_what_is_half_done");
    if no_git() {
        return;
    }
    for walls in std::iter::once(CommandWalls::default()).chain(tiers()) {
        for (begin, line, with) in [
            (&["rebase", "main", "side"][..], "echo ../../evil > .git/rebase-merge/strategy", "rebase"),
            (
                &["rebase", "main", "side"],
                "cp -r .git/rebase-merge r; echo ../../evil > r/strategy; rm -r .git/rebase-merge; mv r .git/rebase-merge",
                "rebase",
            ),
            (
                &["cherry-pick", "side~1", "side"],
                "printf '[options]\n\tstrategy = ../../evil\n' > .git/sequencer/opts",
                "cherry-pick",
            ),
        ] {
            let ground = Ground::new();
            ground.conflict();
            ground.git(begin);
            let ran = run_tool(&walls, &ground.folder(), &format!("{}; {line}", ground.strategy()));
            ground.go_on(with);
            assert_eq!(ground.mark().exists(), walls.tier == Tier::Unconfined, "{:?}: {line}: {ran:?}", walls.tier);
        }
    }
}

#[test]
fn git_goes_on_with_a_rebase_in_a_command() {
    also_as_ordinary_user("steps::git_goes_on_with_a_rebase_in_a_command");
    if no_git() {
        return;
    }
    for walls in tiers() {
        for (line, is_over) in [
            ("git rebase -q -s ours main side", true),
            (
                "git rebase -q main side || { echo both > a.txt; git add a.txt; git -c core.editor=true rebase --continue; }",
                true,
            ),
            ("git rebase -q main side || git status", false),
            (
                "git checkout -q side; git format-patch -q --stdout main > p; git checkout -q main; git am p || git am --abort",
                true,
            ),
            ("git cherry-pick -X theirs main..side", true),
        ] {
            let ground = Ground::new();
            ground.conflict();
            let ran = run_tool(&walls, &ground.folder(), line);
            let told = match &ran {
                Ok(result) => result.get("reverted"),
                Err(refused) => refused.details.get("reverted"),
            };
            assert_eq!(told, None, "{:?}: {line}: {ran:?}", walls.tier);
            assert_eq!(ground.folder().join(".git/rebase-merge").exists(), !is_over, "{line}: {ran:?}");
        }
    }
}

/// As `git-prompt.sh` does in `PROMPT_COMMAND`: what the files say becomes a part of a prompt that bash expands.
#[test]
fn no_text_gets_where_a_prompt_reads_how_far_a_rebase_is() {
    also_as_ordinary_user("steps::no_text_gets_where_a_prompt_reads_how_far_a_rebase_is");
    for walls in std::iter::once(CommandWalls::default()).chain(tiers()) {
        for file in ["rebase-merge/msgnum", "rebase-merge/end", "rebase-apply/next", "rebase-apply/last"] {
            let ground = Ground::new();
            for (path, text) in [("HEAD", "ref: refs/heads/main\n"), ("refs/x", ""), ("objects/x", "")] {
                ground.put(&format!(".git/{path}"), text);
            }
            let mark = ground.mark();
            let line = format!(
                "mkdir -p .git/rebase-merge .git/rebase-apply; echo '$(id > {})' > .git/{file}; sleep 0.5",
                mark.display()
            );
            let ran = run_tool(&walls, &ground.folder(), &line);
            let prompt = format!("step=$(cat '.git/{file}' 2>/dev/null); PS1=\"|REBASE $step\"; : \"${{PS1@P}}\"");
            Command::new("bash").current_dir(ground.folder()).args(["-c", &prompt]).status().unwrap();
            assert_eq!(mark.exists(), walls.tier == Tier::Unconfined, "{:?}: {file}: {ran:?}", walls.tier);
            // At the next prompt, not at the next end of a command.
            assert!(walls.tier == Tier::Unconfined || ran.is_err(), "{:?}: {file}: {ran:?}", walls.tier);
        }
    }
}
