# 设备连接：服务器上的智能体可以使用这台电脑的只读工具。

link-paused = 已暂停
link-connecting = 连接中……
link-connected = 已连接
link-waiting = 未连接，正在重试
link-waiting-until = 未连接，将在 { $time } 重试
link-replaced = 已在另一个窗口连接
link-stopped = 未连接
link-foot = 本机工具：{ $state }
link-foot-folder = 本机工具：{ $state } · { $folder }
link-foot-help = { $server }
    目录：{ $folder }
    本设备：{ $device }

link-state-paused = 连接已暂停。
link-state-connecting = 连接中……
link-state-connected = 已连接。服务器可以查看 { $workspace }。
link-state-waiting = 未连接，稍后重试
link-state-replaced = 这台设备的另一个新连接取代了它。请先停止另一个，再重新启动这个。
link-state-stopped = 未连接

link-problem-unreachable = 无法连接服务器。请检查地址，并确认服务器正在运行。
link-problem-no-token = 这个地址还没有令牌。请输入服务器管理员给你的令牌。
link-problem-token = 服务器不接受这个令牌。请向管理员要一个新的，并在这里输入。
link-problem-ticket = 服务器发了门票，随后又拒绝了它。如果一直这样，可能是服务器的时钟、配置或存储出了问题，请联系管理员。
link-problem-forbidden = 服务器拒绝这台设备连接。请联系管理员。
link-problem-silent = 服务器没有响应了。
link-problem-protocol = 服务器没有遵守协议，连接已关闭。它的版本可能与这个点头不匹配。
link-problem-workspace = 无法打开目录。它所在的磁盘可能没有连接：请重新连接磁盘，或选择另一个目录。
link-problem-address = 不能使用这个地址。

link-call-running = 等待你确认，或正在执行
link-call-succeeded = 已完成
link-call-failed = 失败
link-call-rejected = 已拒绝
link-call-cancelled = 已取消
link-call-timed-out = 超时
link-call-unknown = 未知：中途被打断了

fault-link-address = 这个地址不能用作服务器：{ $url }。必须是 https，或本机上的 http。
fault-link-taken = 已经有到这个服务器的连接：{ $url }。请先在“设置 → 服务器”里暂停它。
fault-link-unknown = 这个服务器已经不在了：{ $url }

settings-page-servers = 服务器
settings-servers-line = 服务器上的智能体可以查看这台电脑上的一个目录。它不写入任何内容，不运行任何命令；每读一个文件都要先问你。
settings-servers-note = 由点头主动连接服务器，这台电脑不监听任何端口。你允许读取的文件，其内容会发给服务器和它的模型。
settings-device = 本设备：{ $device }
settings-server-add = 添加服务器
settings-server-add-help = 需要它的地址，以及管理员给的用户令牌。
settings-server-url = 地址
settings-server-url-help = https，或本机上的 http
settings-server-token = 用户令牌
settings-server-token-help = 保存在系统钥匙串里，只用于这个地址。
settings-server-workspace = 目录
settings-server-workspace-help = 服务器唯一可以查看的目录。
settings-server-save = 连接
settings-server-remove = 移除这个服务器
settings-server-calls = 调用记录
settings-server-calls-of = { $server } 的调用记录
settings-server-no-calls = 还没有调用。
settings-server-pause = 断开
settings-server-resume = 连接
settings-server-retry = 立即重试
settings-server-sent = 已发送 { $size }
path-title-workspace = 服务器可以查看的目录

confirm-title-server = 把这个文件发给服务器吗？
confirm-title-server-list = 把这份列表发给服务器吗？
confirm-what-server = 读取整个文件，并把内容发给服务器。
confirm-what-server-list = 把这个目录里的名称发给服务器。
confirm-server = { $server } 通过设备连接请求
confirm-fact-tool = 工具
confirm-reason-server = 其内容会离开这台电脑：服务器和它的模型都会得到。
confirm-countdown = { $seconds ->
   *[other] { $seconds } 秒后自动拒绝
}

audit-origin-server = 服务器

# 位于服务器上的对话。
thread-new = 在 { $server } 上新建对话
thread-refresh = 刷新 { $server } 上的对话
thread-list-failed = 无法获取列表，点击重试
thread-more = 显示全部 { $count } 个
thread-fewer = 收起
thread-lives = 这个对话位于 { $server }
thread-lives-help = 你在这里写的内容会发送给 { $server } 和它使用的模型。Nod 不会为这个对话连接其他任何地址，所以这里没有“仅限本机”的挂锁。附加或读取的文件中的敏感内容在离开这台电脑之前都会被遮盖，对服务器不提供“仍然发送”。服务器不接受图片。
thread-empty-title = 在 { $server } 上新建对话
thread-empty-line = 由服务器上的智能体回答。它可以查看这台电脑上的 { $folder }，每读一个文件都要先得到你的允许。
thread-unreached = 无法从 { $server } 取得这个对话
thread-settings = 服务器设置
thread-delete = 删除
thread-delete-title = 删除服务器上的这个对话吗？
thread-delete-detail = 将在 { $server } 上删除“{ $title }”，删除后无法恢复。
action-new-thread = 在 { $server } 上新建对话
notice-not-on-server = 位于服务器上的对话没有这项功能。
fault-thread-gone = 服务器上已经没有这个对话或这部分内容了。请刷新左侧的列表。
fault-thread-images = 服务器不接受图片。消息已放回输入框：请先去掉图片再发送。
fault-thread-unsent = 在服务器收到消息之前已停止。消息已放回输入框。
fault-thread-unsure = 无法连接服务器，不确定它是否收到了你的消息。消息已放回输入框：再次发送之前，请先刷新服务器上的对话。
composer-hint-server = 输入消息，按 Enter 发送
composer-hint-server-ctrl = 输入消息，按 Ctrl+Enter 发送
error-server-away = 无法连接服务器
error-server-lost = 与服务器的连接断开了；没有人接收时，服务器会停止回答。点“重试”会在新分支里再问一次。
error-server-interrupted = 服务器在回答途中退出了。点“重试”会在新分支里再问一次。
error-server-run = 服务器无法回答。点“重试”会在新分支里再问一次。服务器的说明：{ $detail }

code-device-offline = 这台电脑当时没有连接到服务器。
code-desktop-device-not-selected = 这个对话没有选定电脑。
code-device-mismatch = 这个调用是给另一台电脑的。
code-result-unknown = 连接中断，不知道这个调用是否执行了。
code-run-cancelled = 这一轮已停止。
code-cancelled-by-server = 服务器撤回了这个调用。
code-desktop-restarted = 调用进行时点头退出了。
code-server-restarted = 结果到达之前服务器退出了。
