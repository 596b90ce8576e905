//! The list of what is never run, by program. Wrappers were taken off before.

use super::places::{is_device, is_in_system, is_vital, may_be_vital};

const AS_SOMEBODY_ELSE: &[&str] = &[
    "sudo", "sudoedit", "su", "doas", "pkexec", "run0", "runuser", "gksu", "gksudo", "kdesu", "runas", "gsudo",
    "please",
];
const ERASERS: &[&str] = &["wipefs", "shred", "blkdiscard", "mke2fs", "mkswap", "newfs", "diskpart", "badblocks"];
const POWER: &[&str] = &["shutdown", "reboot", "poweroff", "halt", "telinit"];
const USERS: &[&str] = &[
    "useradd",
    "userdel",
    "usermod",
    "adduser",
    "deluser",
    "groupadd",
    "groupdel",
    "groupmod",
    "addgroup",
    "delgroup",
    "passwd",
    "chpasswd",
    "chgpasswd",
    "gpasswd",
    "chage",
    "chsh",
    "chfn",
    "newusers",
    "vipw",
    "vigr",
    "visudo",
    "dscl",
    "dseditgroup",
    "sysadminctl",
    "pwconv",
    "grpconv",
    "newgrp",
];
const SYSTEMCTL_READS: &[&str] = &[
    "status",
    "show",
    "cat",
    "help",
    "get-default",
    "is-active",
    "is-enabled",
    "is-failed",
    "is-system-running",
    "list-units",
    "list-unit-files",
    "list-timers",
    "list-sockets",
    "list-jobs",
    "list-dependencies",
    "list-machines",
    "list-automounts",
    "list-paths",
    "show-environment",
];
const POWER_VERBS: &[&str] = &[
    "poweroff",
    "reboot",
    "halt",
    "kexec",
    "suspend",
    "hibernate",
    "hybrid-sleep",
    "rescue",
    "emergency",
    "soft-reboot",
];

/// Why a program with these arguments is refused, if it is.
pub(super) fn refusal(program: &str, arguments: &[String], folder: Option<&str>) -> Option<&'static str> {
    let list = Arguments { all: arguments, folder };
    let program = program.strip_suffix(".exe").unwrap_or(program);
    if AS_SOMEBODY_ELSE.contains(&program) {
        return Some("it acts as another user or as the administrator");
    }
    if ERASERS.contains(&program) || program == "mkfs" || program.starts_with("mkfs.") || program.starts_with("newfs_")
    {
        return Some("it erases a disk or makes files unrecoverable");
    }
    if POWER.contains(&program) {
        return Some("it shuts down or restarts the computer");
    }
    if USERS.contains(&program) {
        return Some("it changes users, groups or passwords");
    }
    match program {
        "rm" | "rmdir" | "unlink" | "srm" => list.removes_vital(program),
        "find" => list.finds_and_deletes_vital(),
        "mv" => list.moves_vital(),
        "dd" => list.writes_device_by_dd(),
        "tee" | "cp" | "install" | "truncate" => {
            list.operands().any(is_device).then_some("it writes over a disk or another device")
        }
        "format" => list.operands().any(|drive| drive.len() == 2 && drive.ends_with(':')).then_some("it erases a disk"),
        "diskutil" => list
            .operands()
            .any(|verb| verb.to_ascii_lowercase().starts_with("erase") || verb.eq_ignore_ascii_case("partitiondisk"))
            .then_some("it erases a disk"),
        "chmod" | "chattr" | "setfacl" => list.opens_vital(),
        "chown" | "chgrp" => list.takes_over_system(),
        "init" => list
            .operands()
            .any(|level| matches!(level, "0" | "1" | "6" | "s" | "S"))
            .then_some("it shuts down or restarts the computer"),
        "systemctl" | "loginctl" => list.changes_services_by_systemctl(),
        "service" | "rc-service" => {
            list.operands().nth(1).is_some_and(|verb| verb != "status").then_some("it changes services of the system")
        }
        "update-rc.d" | "chkconfig" | "rc-update" | "invoke-rc.d" | "initctl" => {
            Some("it changes services of the system")
        }
        "launchctl" => list
            .operands()
            .next()
            .is_some_and(|verb| !matches!(verb, "list" | "print" | "blame" | "help" | "version" | "error"))
            .then_some("it changes services of the system"),
        "sc" => list
            .operands()
            .next()
            .is_some_and(|verb| !verb.starts_with("query") && !verb.starts_with("qc"))
            .then_some("it changes services of the system"),
        "net" => list.operands().next().and_then(|what| match what {
            "user" | "localgroup" | "group" | "accounts" => Some("it changes users, groups or passwords"),
            "start" | "stop" => Some("it changes services of the system"),
            _ => None,
        }),
        "crontab" => (!list.has_short('l') || list.has_short('r') || list.has_short('e'))
            .then_some("it changes what the computer runs by itself"),
        "nc" | "ncat" | "netcat" | "nc.traditional" | "nc.openbsd" => list.serves_a_shell_by_netcat(),
        "socat" => list
            .all
            .iter()
            .any(|address| {
                let address = address.to_ascii_lowercase();
                ["exec:", "system:", "shell:"].iter().any(|kind| address.starts_with(kind))
            })
            .then_some("it gives a shell to another computer"),
        _ => None,
    }
}

/// Whether a deletion may take away far more than it says, by a value that is empty or by the folders above.
pub(super) fn is_doubtful(program: &str, arguments: &[String], folder: Option<&str>) -> bool {
    let list = Arguments { all: arguments, folder };
    program == "rm" && list.is_recursive() && list.operands().any(|target| may_be_vital(target, folder))
}

struct Arguments<'a> {
    all: &'a [String],
    folder: Option<&'a str>,
}

impl<'a> Arguments<'a> {
    /// What is no option; all that follows `--`.
    fn operands(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let mut only_operands = false;
        self.all.iter().map(String::as_str).filter(move |argument| {
            if only_operands {
                return true;
            }
            only_operands = *argument == "--";
            !only_operands && (!argument.starts_with('-') || *argument == "-")
        })
    }

    fn options(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.all
            .iter()
            .map(String::as_str)
            .take_while(|argument| *argument != "--")
            .filter(|text| text.starts_with('-'))
    }

    /// Whether a one-letter option is given, alone or among others.
    fn has_short(&self, letter: char) -> bool {
        self.options().any(|option| !option.starts_with("--") && option.contains(letter))
    }

    /// Whether a long option is given, in full or shortened.
    fn has_long(&self, name: &str) -> bool {
        self.options()
            .any(|option| option.strip_prefix("--").is_some_and(|given| given.len() > 2 && name.starts_with(given)))
    }

    fn is_recursive(&self) -> bool {
        self.has_short('r') || self.has_short('R') || self.has_long("recursive")
    }

    fn names_vital(&self) -> bool {
        self.operands().any(|target| is_vital(target, self.folder))
    }

    fn removes_vital(&self, program: &str) -> Option<&'static str> {
        const WHAT: &str = "it would wipe a whole disk, a home folder or a system folder";
        if self.has_long("no-preserve-root") {
            return Some(WHAT);
        }
        (program != "rm" || self.is_recursive()).then_some(())?;
        self.names_vital().then_some(WHAT)
    }

    fn moves_vital(&self) -> Option<&'static str> {
        let targets: Vec<&str> = self.operands().collect();
        let (_, sources) = targets.split_last()?;
        sources
            .iter()
            .any(|source| is_vital(source, self.folder))
            .then_some("it would move away a home folder or a system folder")
    }

    /// `find / -delete` with nothing that narrows it.
    fn finds_and_deletes_vital(&self) -> Option<&'static str> {
        let deletes = self.all.iter().any(|argument| argument == "-delete");
        (deletes && self.finds_everything()).then_some("it would wipe a whole disk, a home folder or a system folder")
    }

    fn finds_everything(&self) -> bool {
        let starts = self.all.iter().take_while(|argument| !argument.starts_with(['-', '(', '!']));
        let mut starts = starts.map(String::as_str);
        starts.any(|start| is_vital(start, self.folder)) && !self.all.iter().any(|test| is_narrowing(test))
    }

    fn writes_device_by_dd(&self) -> Option<&'static str> {
        self.all
            .iter()
            .filter_map(|argument| argument.strip_prefix("of="))
            .any(is_device)
            .then_some("it writes over a disk or another device")
    }

    fn opens_vital(&self) -> Option<&'static str> {
        (self.is_recursive() && self.names_vital())
            .then_some("it would change the permissions of a whole disk, a home folder or a system folder")
    }

    fn takes_over_system(&self) -> Option<&'static str> {
        let is_taken = |target| is_in_system(target, self.folder) || is_vital(target, self.folder);
        self.operands().skip(1).any(is_taken).then_some("it would change who owns system files or a home folder")
    }

    fn changes_services_by_systemctl(&self) -> Option<&'static str> {
        let verb = self.operands().next()?;
        if POWER_VERBS.contains(&verb) {
            return Some("it shuts down or restarts the computer");
        }
        let reads = SYSTEMCTL_READS.contains(&verb) || verb.starts_with("list-") || verb.ends_with("-status");
        (!reads).then_some("it changes services of the system")
    }

    fn serves_a_shell_by_netcat(&self) -> Option<&'static str> {
        let runs = self.has_short('e') || self.has_short('c') || self.has_long("exec") || self.has_long("sh-exec");
        runs.then_some("it gives a shell to another computer")
    }
}

/// Tests of `find` that leave most files out.
fn is_narrowing(test: &str) -> bool {
    const TESTS: &[&str] = &[
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-regex",
        "-iregex",
        "-newer",
        "-mtime",
        "-mmin",
        "-ctime",
        "-cmin",
        "-atime",
        "-amin",
        "-size",
        "-empty",
        "-user",
        "-group",
        "-perm",
        "-inum",
        "-samefile",
        "-lname",
    ];
    TESTS.contains(&test) || test.starts_with("-newer")
}

/// Whether `find` with these arguments passes everything of a vital place to its `-exec`.
pub(super) fn finds_everything_vital(arguments: &[String], folder: Option<&str>) -> bool {
    Arguments { all: arguments, folder }.finds_everything()
}

/// Whether code of another language opens a shell to another computer, or a fork bomb. By its words: nobody parses it.
pub(super) fn code_refusal(code: &str) -> Option<&'static str> {
    let code = code.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| code.contains(word));
    let connects =
        has(&["socket", "/inet/tcp", "/inet/udp", "fsockopen", "tcpsocket", "net.connect", "net/http::socket"]);
    let runs =
        has(&["/bin/sh", "/bin/bash", "pty.spawn", "dup2", "subprocess", "os.system", "exec(", "exec \"", "spawn("]);
    if connects && runs {
        return Some("it gives a shell to another computer");
    }
    let forks = has(&["fork while", "while fork", "while(fork", "fork()while"])
        || (has(&["fork()"]) && has(&["while", "loop"]));
    forks.then_some("it is a fork bomb")
}

/// Whether code of another language starts programs, so that texts in it are worth judging as command lines.
pub(super) fn code_runs_commands(code: &str) -> bool {
    ["system", "popen", "subprocess", "exec", "spawn", "`"].iter().any(|word| code.contains(word))
}
