# 命令行

cli-engine-ended = 还没等到结果，引擎就结束了。请再试一次。
cli-engine-busy = 引擎正忙，暂时无法接受这条命令。请稍后再试。
cli-no-window = 此版本不含窗口。用 `nod --help` 查看可用的命令。
cli-no-display = 无法在此打开窗口：{ $detail }。窗口需要支持 OpenGL 的图形显示（DISPLAY 或 WAYLAND_DISPLAY）。没有显示时请使用命令行：`nod --help`。
cli-handover-broken = 正在运行的 Nod 接收了这条命令，但还没答复就结束了（{ $detail }）。请先查看结果，再决定是否重试。
cli-no-model = 还没有选择模型。请用 --model 指定名称（`nod models` 可列出 Ollama 的模型），或试试内置向导：--provider guide。
cli-no-provider = 没有名为 { $id } 的模型服务。可选：{ $known }。
cli-no-such-tool = 没有名为 { $tool } 的工具。用 `nod tools` 查看全部。
cli-folder-blocked = 无论如何允许，工具都不能访问：{ $path }
cli-folder-wide = 这个目录范围很大；其中禁止工具访问的部分仍然禁止：{ $path }
cli-cut-off = 回答达到长度上限而被截断；其中的工具调用没有运行。
cli-empty-answer = 模型没有回答任何内容。
cli-command-line = 命令行
cli-folder-taken = 另一个 Nod 使用这个数据目录已有一分钟，且不接受命令。请等它结束，或用 --data-dir 指定其他目录。
restore-done = 备份已就位。其中的记录有 { $lines } 行，并增加了一行说明它是恢复而来的。
restore-left-behind = 只存在于被替换数据库中的记录行数：{ $lines }
restore-aside = 被替换的数据库保存为 { $path }
restore-from-elsewhere = 这个备份来自别处：对话及其内容已恢复。其中的调用会标明来自导入的文件，在那里做过的更改无法在这里撤销。在你重新设置之前，规则一律无效，对话每次调用都会询问且没有可用目录，工具已关闭，服务商都视为不在本机，服务器都已暂停；记录会注明其开头部分无法证实。备份中从不包含密钥。
cli-bad-input = 无法把标准输入当作文本读取：{ $detail }
cli-empty-prompt = 提示为空。请说明要做什么，例如：nod exec "列出这里的文件" --folder .
cli-bad-image = 无法附加这张图片：{ $path }（{ $detail }）
cli-not-an-image = 不是图片文件
cli-session-missing = 没有编号为 { $id } 的对话。用 `nod sessions list` 查看全部。
cli-no-hosts = 没有为此对话联系过任何主机。
cli-hosts = 为此对话联系过的主机：
cli-host = - { $host }：请求 { $requests } 次，被锁定拦下 { $refused } 次，发送 { $sent } 字节，接收 { $received } 字节
cli-session-ambiguous = 有多个对话的编号以 { $id } 开头，请多写几位。
cli-untitled = （无标题）

cli-retrying = 第 { $attempt } 次尝试失败：{ $detail } 将在 { $seconds } 秒后重试。
cli-switched = { $from } 没有响应（{ $detail }），改由 { $to } 回答。
cli-shortened = 对话超过了模型能读的长度。已重新发送：省略了较早的 { $count } 条消息，并截短了较早的工具调用。
cli-turn-denied = 已拒绝并停止。
cli-turn-stopped = 已停止。
cli-turn-limit = 已达到上限而停止。继续请运行：nod exec --session { $session } "继续"
cli-call-succeeded = ✓ { $tool } { $target }
cli-call-failed = ✗ { $tool } { $target } — { $detail }
cli-call-denied = ⊘ { $tool } { $target } — { $detail }
cli-call-cancelled = ⊘ { $tool } { $target } — 已取消
cli-call-unknown = ? { $tool } { $target } — 结果未知：请检查目标

cli-ask-heading = { $tool } 想要操作 { $target }
cli-ask-question = 是否允许 { $tool } 操作 { $target }？［y = 允许一次；n = 拒绝，可附上理由；s = 拒绝并停止］{""}
cli-ask-question-command = 是否允许 { $tool } 在 { $target } 中运行？［y = 允许一次；n = 拒绝，可附上理由；s = 拒绝并停止］{""}
cli-ask-question-network = 是否允许 { $tool } 在 { $target } 中运行？［y = 允许一次；net = 允许并可用网络；n = 拒绝，可附上理由；s = 拒绝并停止］{""}
cli-ask-words = 模型自己说：
cli-ask-words-guide = 向导说：
cli-ask-words-cut = …… 还有 { $count } 个字符
cli-ask-folder = 所在的允许目录：{ $folder }
cli-ask-arguments = 参数：{ $arguments }
cli-ask-limit = { $seconds } 秒后停止
cli-ask-starts = 启动 { $path } 当前的内容（SHA-256 { $hash }…）
cli-ask-starts-until = 启动 { $path } 当前的内容（SHA-256 { $hash }…），除非启动前被其他程序更改
cli-ask-starts-changeable = 启动 { $path }，启动前内容可能改变（当前 SHA-256 { $hash }…）
cli-ask-starts-unknown = 启动 { $path }，内容未知：不存在、过大或无法读取
cli-ask-environment = 环境变量：{ $variables }
cli-ask-expires = { $seconds } 秒后自动拒绝
cli-ask-link = 通过链接 { $link }
cli-ask-tree = 共 { $count } 项，{ $bytes } 字节
cli-ask-tree-at-least = 至少 { $count } 项、{ $bytes } 字节：超出可统计的范围
cli-ask-unconfined = 这条命令不受任何限制：你能做的它都能做。
cli-ask-outside = 目标在允许的目录之外。
cli-ask-hidden = 名称中含有看不见的字符，或首尾有空格，此处以转义形式显示。
cli-ask-deceptive = 其中有些字符不可见，或与其他字符相似：此处以转义形式显示。
cli-ask-protected = 这个文件以后会被其他程序执行。
cli-ask-hard-link = 这个文件还有其他名字（硬链接）。
cli-ask-other-mount = 目标与其所在目录不在同一个文件系统。
cli-ask-not-undoable = 此操作无法撤销。
cli-ask-unparsed = 无法解析这条命令：请仔细查看。
cli-bad-moment = “{ $text }”不是时间：请写成 2025-11-30 这样的日期，或 2025-11-30T18:00 这样的时刻

cli-can-tools = 工具
cli-can-think = 思考
cli-can-see = 图片
cli-tool-on = 开
cli-tool-off = 关

doctor-data-folder = 数据目录
doctor-database = 数据库
doctor-provider = 模型服务
doctor-confinement = 命令限制
doctor-display = 显示
doctor-dialog = 目录对话框
doctor-mend-no-data-folder = 首次启动时会创建。
doctor-mend-data-folder = 请让该目录对你可写，或用 --data-dir 指定其他目录。
doctor-mend-no-database = 还没有保存任何内容；首次启动时会创建数据库。
doctor-mend-database = 请先把数据目录复制到安全的地方。nod.db 旁边可能有备份（nod.db.backup-…），可以用它来代替。
doctor-mend-provider = 要使用本地模型，请从 https://ollama.com 安装 Ollama 并用 `ollama serve` 启动；其他地址可用 `nod config set models.ollama_url URL` 设置。
doctor-mend-confinement = 这个系统没有 Nod 可以用来隔离命令的机制：run_command 默认关闭，打开后每条命令都会以红色询问。
doctor-mend-no-bubblewrap = 要获得最好的隔离，请安装 bubblewrap（Debian、Ubuntu：sudo apt install bubblewrap；Fedora：sudo dnf install bubblewrap），然后重新启动 Nod。
doctor-mend-bubblewrap-failed = bubblewrap 无法建立命名空间：系统可能禁止了用户命名空间（sysctl kernel.unprivileged_userns_clone、AppArmor），或者这是一个容器。
doctor-mend-landlock = 隔离需要 Landlock：Linux 5.13 或更新的版本，并在安全模块中启用“landlock”（lsm=…）；B 级需要 Linux 6.2 或更新的版本。
doctor-mend-probe = 隔离没有通过自身的实测，因此不予使用。请附上上面一行报告此问题。
doctor-mend-display = 窗口需要图形显示（DISPLAY 或 WAYLAND_DISPLAY）；命令行无需显示。
doctor-mend-dialog = 既没有桌面门户也没有 zenity：目录可在 Nod 自己的输入框里填写。
