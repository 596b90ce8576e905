# transcript
copy = 复制
copy-message = 复制消息
copy-markdown = 复制为 Markdown
message-edit = 编辑并重新发送
message-regenerate = 重新回答
message-fork = 从此处分叉
message-delete = 删除
message-more = 更多操作
message-show-all = 显示全部
picture-name = 图片 { $number }
picture-enlarge = { $name }：放大显示
picture-too-large = 图片过大，无法显示
picture-unreadable = 无法显示这张图片
picture-elsewhere = 位于 { $host } 的图片
message-previous-version = 上一个版本
message-next-version = 下一个版本
message-version = { $number } / { $count }
code-plain = 文本
code-wrap = 自动换行
code-unwrap = 不换行
code-fold = 收起
code-unfold = 显示全部 { $count } 行
thinking-now = 正在思考… { $duration }
thinking-done = 思考了 { $duration }
thinking-thought = 思考过程
duration-seconds = { $seconds } 秒
duration-minutes = { $minutes } 分 { $seconds } 秒
meta-tokens = { $count } 词元
meta-speed = { $speed } 词元/秒
call-pending = 检查中
call-waiting = 等待确认
call-running = 运行中
call-succeeded = 完成
call-failed = 失败
call-denied = 已拒绝
call-cancelled = 已停止
call-unknown = 结果未知：请检查目标
card-review = 查看
card-stop = 停止
card-open = 打开
card-show-in-folder = 在目录中显示
card-arguments = 参数
card-hide-arguments = 结果
card-matches = { $count ->
   *[other] { $count } 处匹配
}
card-name-matches = 文件名匹配
card-scanned = 已查看 { $count } 个文件
card-exit-code = 退出码 { $code }
card-signal = 被信号 { $signal } 终止
card-timed-out = 已超时
card-unconfined = 未隔离
group-read = { $count ->
   *[other] 读取 { $count } 个文件
}
group-looked = { $count ->
   *[other] 查看 { $count } 次
}
answer-failed = 回答中断
answer-retry = 重试
answer-stopped = 已由你停止，已生成的内容已保留。
answer-interrupted = 生成过程中 Nod 已退出，已生成的内容已保留。
round-limit = 已达到单次对话的轮数上限。
round-continue = 继续
turn-sending = 正在等待 { $model }
turn-retrying = { $duration }后第 { $attempt } 次重试：{ $reason }
turn-queued = 本轮结束后发送
transcript-newest = 最新
transcript-loading = 正在加载更早的消息
transcript-scroll = 对话滚动条
