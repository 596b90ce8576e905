# settings

## The settings
settings-title = 设置
settings-back = 返回对话
settings-page-general = 通用
settings-page-models = 模型
settings-page-tools = 工具
settings-page-safety = 安全
settings-page-prompts = 提示词
settings-page-data = 数据
settings-page-shortcuts = 快捷键
settings-page-about = 关于
settings-choose = 选择…
settings-open-folder = 打开目录
settings-copy-path = 复制路径

## General
settings-general-line = 窗口的外观与输入方式。所有更改立即生效。
settings-language = 语言
settings-language-system = 跟随系统
settings-language-en = English
settings-language-zh = 简体中文
settings-theme = 主题
settings-theme-system = 跟随系统
settings-theme-light = 浅色
settings-theme-dark = 深色
settings-scale = 界面缩放
settings-message-size = 消息字号
settings-code-size = 代码字号
settings-animations = 动画
settings-animations-help = 关闭后没有渐变和滑动，加载标记也静止不动。
settings-writing = 输入
settings-send-key = 发送键
settings-send-key-help = 另一个键用于换行。
settings-send-enter = Enter
settings-send-ctrl-enter = Ctrl+Enter
settings-start = 启动
settings-starts-with = Nod 启动时
settings-starts-with-last = 打开上次的对话
settings-starts-with-new = 新建对话
settings-show-sidebar = 显示侧栏

## Models
settings-models-line = 回答从哪里来。密钥存在系统钥匙串里，绝不写入文件。
settings-ollama-url = Ollama 地址
settings-ollama-running = 正在运行 · { $count } 个模型
settings-ollama-asking = 正在询问…
settings-test = 测试
settings-guide-help = 不含 AI 模型 · 能理解几种输入的请求
settings-always-there = 始终可用
settings-installed = 模型
settings-no-models = 还没有模型
settings-no-models-help = 在下方下载一个；较小的模型适合大多数电脑。
settings-context-k = { $tokens } 词元上下文
settings-context-unknown = 上下文长度未知
settings-no-tools = 不支持工具
settings-pull = 下载模型
settings-pull-help = 填写它在 Ollama 模型库中的名称。
settings-pull-field = 模型名称
settings-pull-start = 下载
settings-pull-starting = 正在开始…
settings-pull-progress = { $done } / { $total }
settings-pull-cancel = 取消下载 { $model }
settings-defaults = 默认设置
settings-default-model = 新对话的模型
settings-default-none = 尚未选择
settings-num-ctx = 上下文窗口（num_ctx）
settings-num-ctx-help = 向 Ollama 请求的词元数，越大占用的内存越多。
settings-keep-alive = 模型保持载入
settings-keep-alive-help = 例如 5m 或 1h，留空则使用 Ollama 的默认值。
settings-temperature = 温度
settings-temperature-help = 0 最稳定，2 最随机。
settings-thinking = 新对话的思考深度
settings-thinking-help = 适用于会先思考的模型。
settings-show-thinking = 实时显示思考过程
settings-max-rounds = 每轮最多请求次数
settings-max-rounds-help = 每次请求包含一次模型回答及其要求的调用。

## Tools
settings-tools-line = 模型可以请求的操作。每次调用仍受目录限制，并需要你的同意。
settings-tools-master = 工具
settings-tools-master-help = 关闭后模型只能对话。
settings-tools-each = 各个工具
settings-tool-read-file = 读取文件的文本
settings-tool-list-directory = 列出目录内容
settings-tool-search-files = 按名称和内容查找文件
settings-tool-write-file = 写入整个文件
settings-tool-edit-file = 修改文件的一部分
settings-tool-create-directory = 创建目录
settings-tool-delete-file = 把文件和目录移到回收站；始终询问
settings-tool-run-command = 用 shell 运行命令，由内核隔离；始终询问
settings-command-note = 命令可以任意更改你允许的目录中的内容，而且无法在这里撤销。除非需要，请保持 run_command 关闭。
settings-limits = 限制
settings-limit-read-bytes = 可读取的最大文件（字节）
settings-limit-read-lines = 一次读取的最多行数
settings-limit-write-bytes = 可写入的最大文件（字节）
settings-limit-list = 列表的最多条目
settings-limit-search-bytes = 可搜索的最大文件（字节）
settings-limit-search-files = 搜索的最多文件数
settings-limit-matches = 单个文件的最多匹配数
settings-limit-output = 命令输出的上限（字节）
settings-limit-timeout = 命令的默认时限（毫秒）
settings-limit-timeout-max = 命令的最长时限（毫秒）

## Safety
settings-safety-line = 没有你点头，什么都不会改变。
settings-mode = 新对话的确认模式
settings-unconfined = 只在内核隔离下运行命令
settings-unconfined-help = 开启后，内核无法隔离的命令一律不运行。
settings-remember-commands = 规则可以涵盖完全相同的命令
settings-remember-commands-help = 仅限同一目录中完全相同的命令，且它运行的一切都已知：已安装的程序，以及内容未变的脚本。不包括项目的构建、测试或程序。
settings-answer-within = 确认最多等待的秒数
settings-answer-within-help = 超过后即视为拒绝；系统报告锁屏时也会拒绝。0：一直等待。
settings-rules = 适用于所有对话的规则
settings-no-rules = 没有。在这里创建的规则适用于所有对话；回答询问时创建的规则只适用于那个对话。
settings-audit = 记录
settings-audit-help = 每个决定及其结果：由谁、何时、依据什么作出。从不包含内容本身。
settings-audit-open = 打开
settings-default-folders = 新对话的目录
settings-no-default-folders = 没有：新对话开始时不带目录。
settings-add-default-folder = 添加目录
settings-default-folders-help = 新对话会沿用你上次使用的目录。
settings-blocked = 始终禁止访问
settings-blocked-system = 系统目录
settings-blocked-windows = Windows 系统目录
settings-blocked-keys = 主目录中的密钥与账户
settings-blocked-names = 名称表明含有机密的文件
settings-blocked-writes = 禁止写入：其他程序会执行它们
settings-blocked-help = 浏览器配置、密钥环、其他智能体的设置以及 Nod 自己的数据同样禁止访问。任何设置或规则都无法打开它们。

## Prompts
settings-prompts-line = 每次对话开始时附带的内容。
settings-uses-system-prompt = 使用系统提示词
settings-uses-system-prompt-help = 关闭后，下面的内容会保留，但不会发送。
settings-system-prompt = 系统提示词
settings-system-prompt-hint = 例如：回答要简短。我写 Rust。
settings-prompts-note = 留空则不使用。它会附加在 Nod 自带的工具说明之后。

## Data
settings-data-line = 所有内容都保存在本机。
settings-data-folder = 目录
settings-data-size = 大小
settings-data-measuring = 正在计算…
settings-data-chats = 对话
settings-export = 导出此对话
settings-export-help = 导出为可再次导入的 JSON，或便于阅读的 Markdown。
settings-export-start = 导出…
settings-export-all = 导出全部对话
settings-export-all-help = 将本机的全部对话导出为一个 JSON 或 Markdown 文件。
settings-export-all-start = 全部导出…
settings-import = 导入对话
settings-import-help = 从 Nod 导出的 JSON 文件导入，可包含一个或全部对话。其中的目录、确认模式和系统提示词不会沿用。
settings-import-start = 导入…
settings-data-whole = 全部数据
settings-backup = 备份
settings-backup-help = 数据库的副本，包含对话、设置、规则和决定记录，不含密钥和为撤销保留的文件。要恢复时，请退出 Nod 并运行：nod restore 文件。在另一台电脑上只能恢复对话：规则、确认模式和目录与本机绑定。
settings-backup-start = 备份…
settings-delete-all = 删除全部对话
settings-delete-all-help = 删除本机的全部对话。设置、规则和决定记录会保留。
settings-delete-all-start = 全部删除…
delete-all-title = 要删除全部对话吗？
delete-all-detail = 将删除本机的全部 { $count } 个对话，其中正在进行的工作也会停止。随后的提示中可以撤销；几秒之后，它们连同为撤销其更改而保留的内容将从文件中彻底清除。
delete-all = 全部删除
settings-data-note = 删除的对话可在几秒内从提示中恢复，之后将从文件中彻底清除。备份、导出文件以及升级前的副本（nod.db.backup-…）仍会保留其中的内容。

## Shortcuts, About
settings-shortcuts-line = 在任何位置按 ? 即可查看。
settings-about-name = 点头
settings-about-line = 更改任何内容之前都会先询问的桌面智能体。
settings-version = 版本
settings-licence = 许可证
settings-fonts = 字体与图标
settings-help = 帮助
settings-logs = 日志目录
settings-diagnostics = 诊断信息
settings-diagnostics-help = 只含版本与数量，不含消息、文件和密钥。
settings-diagnostics-copy = 复制诊断信息
settings-diagnostics-text = Nod { $version }，{ $system } { $machine }，数据目录：{ $folder }，对话数：{ $sessions }，来源：{ $providers }

