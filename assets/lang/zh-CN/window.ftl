# window

## The window's own words
window-cancel = 取消
window-close = 关闭
window-dismiss = 关闭提示
window-drop = 松开即可附加文件或添加目录
window-loading = 正在载入

## Sidebar
sidebar-new-chat = 新建对话
sidebar-search = 搜索对话
sidebar-untitled = 新对话
sidebar-pinned = 已置顶
sidebar-today = 今天
sidebar-yesterday = 昨天
sidebar-last-week = 近 7 天
sidebar-older = 更早
sidebar-running = 正在运行
sidebar-waiting = 等待你确认
sidebar-failed = 已失败
sidebar-unsaved = 不保存
sidebar-rename = 对话名称
sidebar-searching = 正在搜索…
sidebar-nothing-found = 没有找到
session-rename = 重命名
session-pin = 置顶
session-unpin = 取消置顶
session-fork = 创建分支对话
session-export = 导出…
session-delete = 删除

## Top bar
top-show-sidebar = 显示侧栏
top-chat-menu = 对话菜单
top-session-panel = 目录、模式与规则
top-model = 模型
top-choose-model = 选择模型
top-no-model = 不含 AI 模型
top-thinking = 思考：{ $level }
top-thinking-heading = 模型思考的深度
top-context = 上下文：已用 { $used } / { $window } 词元
top-add-folder = 添加目录
top-folders = { $count } 个目录
folder-open = 在文件管理器中打开
folder-copy = 复制路径
folder-remove = 从此对话移除
thinking-auto = 自动
thinking-off = 关
thinking-low = 低
thinking-medium = 中
thinking-high = 高
thinking-max = 最高
provider-ollama = Ollama
provider-guide = 向导
picker-search = 搜索模型
picker-refresh = 刷新模型列表
picker-loading = 正在获取模型
picker-tools = 工具
picker-thinking = 思考
picker-images = 图像
picker-guide = 内置向导（不含 AI 模型）
picker-no-tools = { $model } 不能使用工具，只能对话。
picker-manage = 管理模型

## Composer
composer-message = 消息
composer-hint = 输入消息 — Enter 发送，@ 引用文件，/ 命令
composer-hint-ctrl = 输入消息 — Ctrl+Enter 发送，@ 引用文件，/ 命令
composer-send = 发送
composer-stop = 停止
composer-queue = 排队发送
composer-queued = 排队中：
composer-unqueue = 撤回这条消息
composer-editing = 正在编辑之前的消息
composer-cancel-edit = 取消编辑
composer-attach = 附加文件
composer-remove = 移除 { $name }
mode-heading = 哪些操作要先问你
mode-every-call = 每次调用都询问
mode-changes = 更改前询问
mode-deletions = 删除前询问
mode-automatic = 不询问（不推荐）
mode-always = 删除和命令始终会询问。
slash-new = 新建对话
slash-model = 选择模型
slash-folder = 添加目录
slash-mode = 更改确认模式
slash-stop = 停止回答
slash-continue = 从这里继续
slash-fork = 复制此对话
slash-export = 导出此对话
slash-settings = 打开设置
slash-help = 显示全部快捷键

## Welcome
welcome-title = 今天做点什么？
welcome-promise = Nod 只在你选的目录里读、写、搜索，每次更改前都会先问你。
welcome-ollama-runs = Ollama 正在运行
welcome-models-tools = 本机有 { $count } 个模型 · { $model } 支持工具
welcome-models = 本机有 { $count } 个模型 · { $model } 不支持工具
welcome-use = 使用 { $model }
welcome-using = 正在使用 { $model }
welcome-ollama-empty = Ollama 正在运行，但还没有模型
welcome-ollama-empty-detail = 先下载一个模型
welcome-download = 下载模型
welcome-ollama-search = 正在本机查找 Ollama
welcome-ollama-missing = 没有找到 Ollama
welcome-ollama-missing-detail = { $url } 没有响应，请启动 Ollama，或从 ollama.com 安装
welcome-again = 重新查找
welcome-elsewhere = 使用另一台电脑上的 Ollama
welcome-elsewhere-detail = 填写它的地址 · 此版本暂不支持云端模型
welcome-address = 填写地址
welcome-guide = 先随便看看
welcome-guide-detail = 内置向导，不含 AI 模型：试试列出、读取、查找、创建、删除
welcome-start = 开始
welcome-guide-chosen = 已选用
welcome-folder = 选择目录
welcome-folder-chosen = 目录：{ $folders }
welcome-folder-detail = 不会更改目录之外的任何内容
welcome-choose = 选择…
welcome-folder-more = 再添加一个…

## The panel of a chat
panel-title = 此对话
panel-folders = 允许的目录
panel-no-folders = 还没有目录。工具只能在你添加的目录里工作。
panel-first-folder = 首个
panel-first-folder-detail = 相对路径从这里开始
panel-remove-folder = 移除 { $folder }
panel-add-folder = 选择…
panel-type-folder = 输入路径
panel-mode = 确认模式
panel-sensitive = 受保护的文件
panel-sensitive-detail = 名称表明含有机密的文件（.env、密钥）对工具关闭。你可以在允许的目录内向此对话开放其中一个，模型无法自行请求。
panel-sensitive-lift = 开放一个文件…
panel-rules = 此对话的规则
panel-no-rules = 还没有规则。选择“本次会话允许”会创建规则，它随对话一起删除。
panel-rule-allow = 无需询问即允许：{ $rule }
panel-rule-deny = 始终拒绝：{ $rule }
panel-rule-by-modal = 询问时创建 · 已用 { $hits } 次
panel-rule-by-panel = 在此创建 · 已用 { $hits } 次
panel-revoke = 撤销
panel-revoke-name = 撤销：{ $rule }

## Rules as sentences
rule-exact = { $tool }：参数完全相同，目标为 { $target }
rule-file = { $tool }：文件 { $file }
rule-like = { $tool }：{ $folder } 下的 { $pattern } 文件（不含子目录）
rule-tool = { $tool }：允许目录内的任何位置

## Command palette
palette-search = 搜索操作、对话和模型
palette-nothing = 没有匹配的内容
action-new-chat = 新建对话
action-add-folder = 添加目录…
action-type-folder = 输入路径添加目录
action-choose-model = 选择模型
action-session-panel = 此对话的目录、模式与规则
action-attach = 附加文件…
action-stop = 停止回答
action-edit-last = 编辑上一条消息
action-fork = 复制此对话
action-pin = 置顶此对话
action-unpin = 取消置顶此对话
action-export = 导出此对话…
action-delete = 删除此对话
action-import = 导入对话…
action-toggle-sidebar = 显示或隐藏侧栏
action-refresh-models = 刷新模型列表
action-settings = 设置
action-settings-models = 设置：模型
action-settings-tools = 设置：工具
action-settings-safety = 设置：安全
action-shortcuts = 全部快捷键
action-quit = 退出

## Shortcuts
keys-title = 快捷键
keys-group-chats = 对话
keys-group-message = 消息
keys-group-confirm = 询问时
keys-group-window = 窗口
keys-new-chat = 新建对话
keys-next-chat = 下一个对话
keys-previous-chat = 上一个对话
keys-search = 搜索全部对话
keys-rename = 重命名对话
keys-send = 发送
keys-newline = 换行
keys-edit-last = 编辑上一条消息（输入框为空时）
keys-files = 补全文件名
keys-commands = 命令
keys-stop = 停止回答
keys-deny = 拒绝
keys-allow = 允许一次
keys-move = 在按钮之间移动
keys-palette = 命令面板
keys-sidebar = 显示或隐藏侧栏
keys-settings = 设置
keys-help = 显示此列表
keys-zoom-in = 放大
keys-zoom-out = 缩小
keys-quit = 退出

## Typed paths, links, closing
path-title-folder = 选择目录
path-title-data = 选择存放 Nod 数据的目录
path-title-attach = 附加文件
path-title-export = 导出对话
path-title-import = 导入对话
path-title-sensitive = 向此对话开放一个受保护的文件
path-typed = 输入路径，按 → 补全。
path-no-dialog = 此系统没有打开文件对话框，请输入路径，按 → 补全。
path-field = 路径
path-hint = ~/projects/web
path-use = 使用此路径
link-title = 打开这个链接吗？
link-detail = 将在浏览器中打开以下地址：
link-open = 打开
link-copy = 复制地址
closing-title = 要停止正在进行的工作吗？
closing-detail = 还有 { $count } 个对话在运行。已有的内容会保留。
closing-stay = 继续运行
closing-stop = 停止并退出

