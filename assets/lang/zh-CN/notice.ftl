# notice

## From the engine
notice-recovered-calls = Nod 关闭时还有调用在运行：{ $count } 个。请检查它们的目标；Nod 不会自动重新运行。
notice-rules-changed = 有规则被外部改动、添加或删除：{ $count } 条。在你从对话面板或设置中移除它们之前，它们不允许任何操作，它们可能拒绝过的操作一律拒绝。`nod audit --verify` 会列出它们建立的位置。
notice-grounds-changed = Nod 关闭期间，{ $count } 个对话或已开放的受保护文件被外部改动。在你从对话面板重新设置之前，这些对话每次调用都会询问、没有可用目录、只能访问本机，这些文件保持关闭。
notice-sessions-unproven = 有 { $count } 个对话由旧版 Nod 保存，无法证明此后未被改动。在你从对话面板重新设置之前，它们每次调用都会询问、没有可用目录、只能访问本机。
notice-releases-changed = 有 { $count } 个被遮盖的值被外部设为原样发送。它们已重新遮盖。
notice-undo-changed = 更改历史中有 { $count } 条记录在 Nod 之外被改动，或无法证实。它们会如此标明，既不会撤销，也不会重做。
notice-settings-changed = Nod 关闭期间，安全或工具设置被外部改动。现按最严格的设置执行：新对话每次调用都会询问、没有可用目录，工具已关闭；请在设置中重新选择。
notice-providers-changed = Nod 关闭期间，服务商被外部改动。现在所有服务商都视为不在本机，机密会被遮盖。请在设置中查看它们的地址，并重新保存正确的服务商。
notice-servers-changed = Nod 关闭期间，设备连接的服务器被外部改动。所有服务器已暂停。请先在设置中查看它们的目录，再让它们继续。
notice-settings-unproven = 安全和工具设置由旧版 Nod 保存，无法证明此后未被改动。现按最严格的设置执行，请在设置中重新选择。
notice-providers-unproven = 服务商由旧版 Nod 保存，无法证明此后未被改动。在你从设置中重新保存之前，它们都视为不在本机。
notice-servers-unproven = 设备连接的服务器由旧版 Nod 保存，无法证明此后未被改动。在你从设置中让它们继续之前，它们都已暂停。
notice-repaired = 本机其他用户曾可读取 Nod 自己的文件，现已改为不可读：{ $count } 个，其中第一个是 { $path }。如果有其他人使用这台电脑，请视其中内容已被看到。
notice-audit-changed = 决策记录被外部改动，或者其密钥已丢失。“审计”面板或 `nod audit --verify` 会显示位置；请检查你的规则，可能有拒绝规则已丢失。
notice-look-put-back = Nod 关闭时有命令正在运行。以后会被执行的内容已恢复原状，可通过撤销找回：{ $paths }
notice-look-left = Nod 关闭时有命令正在运行。它更改了以后会被执行的内容，且未能恢复，请检查：{ $paths }
notice-look-later = Nod 关闭时有命令正在运行。以下内容是在命令结束之后更改的，因此保持原样：{ $paths }
notice-look-gone = Nod 关闭时有命令正在运行，它的目录已不在原处：{ $paths }。请在目录的新位置检查 .git 中命令可能留下的内容；如果文件 .git/commondir 里只有一个“.”，请将它删除。
notice-look-unseen = Nod 关闭时有命令正在运行。它的目录未能全部检查：{ $paths }
notice-waits-for-other = 一次调用正在等待：同一目录中有另一次调用在进行，其中一个从脚本启动，期间该脚本不可被替换。
notice-folder-disk = 这是整个磁盘。除被禁止的位置外，Nod 都能读取：{ $path }
notice-folder-home = 这是主目录。其中的机密仍被禁止访问，但选小一点的目录更安全：{ $path }
notice-folder-holds-blocked = 这个目录里有些位置仍被禁止访问：{ $path }

## Short messages that need no answer
notice-undo = 撤销
notify-answer = Nod 正在等待您的答复
notify-ended = { $program }：回答已完成
notify-failed = { $program }：回答中断
notice-question-expired = 有一个确认等待过久无人回答，已拒绝。聊天中的卡片会标明是哪一个。
notice-question-locked = 等待确认时屏幕被锁定，该操作已被拒绝。聊天中的卡片会标明是哪一个。
notice-session-deleted = 已删除“{ $title }”
notice-sessions-deleted = 已删除 { $count } 个对话
notice-prompt-deleted = 已删除提示词“{ $name }”
notice-exported = 已导出到 { $path }
notice-backed-up = 已备份到 { $path }
notice-imported = 已导入 { $count } 个对话
notice-provider-switched = 现由 { $to } 代替 { $from } 回答。
notice-model-downloaded = 已下载 { $model }
notice-choose-model = 请先选择模型，你输入的内容还在。
notice-engine-busy = 操作太多，这一次未被接受。请稍后再试。
notice-setting-refused = 该设置不接受这个值。
notice-attach-unreadable = 无法读取 { $name }
notice-attach-large = { $name } 太大，无法附加。请先缩小。
notice-no-folder = 这个对话还没有允许任何目录。添加一个目录后，就能读取其中的文件。
notice-open-failed = 这台电脑上没有能打开 { $path } 的程序
notice-attach-binary = { $name } 既不是文本，也不是模型支持的图像
notice-attach-damaged = { $name } 是损坏的图片，无法读取
notice-server-masked = 所附文件中已遮盖的机密：{ $count } 处。该服务器的模型不在这台电脑上。如仍要发送，请自行输入。
notice-attach-kind = { $name } 是模型不支持的图片格式。请另存为 PNG 或 JPEG 后再附加。

