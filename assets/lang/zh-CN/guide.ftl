# 内置向导：按规则工作的小助手，不是 AI 模型。

guide-hello = 你好！我是内置向导。我背后没有 AI 模型：我只听得懂几种请求，不过会像真正的模型一样，用同样的工具、同样的询问和同样的安全规则来完成。
guide-unknown = 这句话我没看懂。我是内置向导，不是 AI 模型，只听得懂几种请求。
guide-examples = 比如可以这样写：
guide-example-list = 列出 src 里的文件
guide-example-read = 读取 README.md
guide-example-find = 在 src 里查找 TODO
guide-example-write = 新建文件 笔记.txt，内容是你好
guide-example-folder = 新建文件夹 草稿
guide-example-replace = 把 笔记.txt 里的 你好 换成 再见
guide-example-delete = 删除 笔记.txt
guide-example-run = 运行 ls -la
guide-examples-end = 只是查看的话会马上做；要改动任何东西之前，都会先问你。想自由对话，请在窗口顶部选择一个模型。

## Before a call
guide-will-list = 我看看 { $path } 里有什么。
guide-will-read = 我来读取 { $path }。
guide-will-find = 我在 { $path } 里查找 { $query }。
guide-will-write = 我来写 { $path }。写入之前，你会先看到内容。
guide-will-folder = 我来新建目录 { $path }。
guide-will-replace = 我来修改 { $path }。修改之前，你会先看到改动。
guide-will-delete = 我来删除 { $path }。删除之前会先问你。
guide-will-run = 我来运行 { $command }。运行之前会先问你。
guide-this-folder = 第一个允许的目录
guide-tools-off = 这个对话关闭了工具，所以我只能聊几句。可以在“设置”的“工具”里打开。
guide-tool-off = 工具 { $tool } 没有打开。可以在“设置”的“工具”里打开它。

## After a call
guide-listed = { $count ->
    [0] { $path } 是空的。
   *[other] { $path } 里有 { $count } 项：
}
guide-listed-hidden = 另有 { $count } 项可能含有机密，没有列出。
guide-more = ……还有 { $count } 项，见上面的卡片。
guide-read = { $path }，{ $count ->
    [0] 空文件。
    [one] 只有一行：
   *[other] 第 { $first } 到 { $last } 行：
}
guide-read-bytes = { $path }，{ $size } 字节。它不是纯文本，内容见上面的卡片。
guide-found-none = 没有找到 { $query }。
guide-found = 在 { $files } 个文件里找到 { $count } 处：
guide-found-names = 找到 { $files } 个文件：
guide-at-limit = 可能还有更多：查找到达上限后就停下了。
guide-created-file = { $path } 已建好（{ $size } 字节）。
guide-overwrote-file = { $path } 已被替换（{ $size } 字节）。
guide-created-folder = 目录 { $path } 已建好。
guide-had-folder = 目录 { $path } 本来就有。
guide-changed = { $path } 已修改，共 { $count } 处。
guide-trashed = { $path } 已移到回收站，可以从那里恢复。
guide-deleted = { $path } 已删除。
guide-ran = 命令正常结束。
guide-ran-silent = 命令正常结束，没有输出。
guide-ran-failed = 命令结束，退出码为 { $code }。
guide-ran-killed = 命令还没做完就被结束了。
guide-done = 完成了。

## When it did not work
guide-refused = 你没有同意，所以我什么都没改。
guide-refused-because = 你没有同意，所以我什么都没改。你的理由：{ $reason }
guide-refused-by-rule = 你的一条规则拒绝这样做，所以我什么都没改。
guide-not-asked = 这一步要有人点头才能做，但没有人点头，所以我什么都没改。
guide-not-found = 没有 { $path }。想看看有什么，可以写：列出文件
guide-out-of-scope = { $path } 不在这个对话可以使用的目录里。请先在窗口顶部添加它所在的目录。
guide-closed = { $path } 不对工具开放，因为它可能含有机密或属于系统。这是为了保护你，谁也不能说服我绕过。
guide-not-a-file = { $path } 是目录，不是文件。
guide-not-a-folder = { $path } 是文件，不是目录。
guide-not-empty = { $path } 不是空的。要连里面的内容一起删除，可以写：删除目录 { $path }
guide-binary = { $path } 不是文本文件。
guide-too-large = { $path } 太大了。想读其中一部分，可以写：读取 { $path } 第 1 到 100 行
guide-edit-missing = { $path } 里没有要替换的文字，什么都没改。
guide-edit-twice = 要替换的文字在 { $path } 里不止一处。要全部替换，可以写“把……里所有的……换成……”。什么都没改。
guide-changed-meanwhile = 询问之后 { $path } 又变了，所以什么都没做。再说一次，就能看到它现在的样子。
guide-command-denied = 这条命令属于永远不会运行的那一类。
guide-unconfined = 这台电脑无法限制命令的权限，所以不会运行。可以在“设置”的“安全”里更改。
guide-not-allowed = 系统不允许对 { $path } 这样做。
guide-no-space = 磁盘已满，什么都没改。
guide-cancelled = 已停止。
guide-timed-out = 时间太长，已停止。
guide-failed = 没有成功（{ $code }）：{ $detail }
