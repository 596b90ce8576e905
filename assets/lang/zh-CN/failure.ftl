# failure

## What is kept: the data folder and its database
store-read-only = 数据目录无法写入，内容没有保存。请设为可写，或选择其他目录：{ $path }
store-full = 磁盘已满，这次没有保存。请腾出空间后重试：{ $path }
store-newer = 数据由更新版本的点头写入，未作任何改动。请升级点头，或以只读方式打开：{ $path }
store-corrupt-in-place = 数据库已损坏。请重新启动点头，把损坏的文件移到一旁：{ $path }
store-corrupt = 数据库已损坏，已移到一旁，没有删除：{ $aside }。目前没有备份，可以从空白数据库重新开始。
store-corrupt-backup = 数据库已损坏，已移到一旁，没有删除：{ $aside }。可以恢复最近的备份（{ $backup }），或从空白数据库重新开始。
store-locked = 另一个点头正在使用这个数据目录。请使用那一个，或将其关闭后重试：{ $path }
store-untrusted-link = 数据没有打开：原来的位置上是一个链接。请把真正的文件放回去：{ $path }
store-untrusted-not-a-file = 数据没有打开：原来的位置上不是普通文件：{ $path }
store-untrusted-owner = 数据没有打开：它属于另一个用户。请选择其他目录：{ $path }
store-untrusted-database = 这是其他程序的数据库，没有打开。请选择其他目录：{ $path }
store-untrusted-schema = 数据库里有点头没有创建的“{ $name }”，因此没有打开：{ $path }
store-missing = 找不到了：{ $id }
store-conflict = 已经存在或已经完成：{ $id }
store-format = 有一项已保存的内容无法读取。{ $detail }
store-import = 无法导入这个文件。{ $detail }
store-io = 保存或读取失败。{ $detail }
store-closed = 数据已经关闭。请重新启动点头。

## Commands that could not be done
fault-no-session = 这个对话已经不在了。
fault-no-message = 这条消息已经不在了。
fault-not-an-answer = 只有回答可以重新生成。
fault-nothing-to-continue = 没有可以继续的内容。
fault-busy = 这个对话还在进行中。请先停止，或等它完成。
fault-turn-broken = 由于 Nod 内部故障，这次回答中断了。已收到的内容保留着，请重试。
fault-queue-full = 这个对话里等待的消息太多了。请等其中一些得到回答。
fault-folder = 无法打开这个目录：{ $path }
fault-folder-blocked = 这个目录不对 Nod 的工具开放，没有添加：{ $path }
fault-export = 无法把对话写入这个文件：{ $path }
fault-import = 无法把这个文件读作对话：{ $path }
fault-setting-unknown = 没有这个名称的设置：{ $key }
fault-setting-value = 这个设置不接受该值：{ $key }

## Answers and downloads that failed
error-network-timeout = 模型服务器没有及时回应。请重试，或换用较小的模型。
error-network = 与模型服务器的连接失败。请检查地址和网络后重试。
error-auth-invalid = 服务器不接受这个密钥或登录。请在设置中检查。
error-auth-expired = 密钥或登录已过期。请在设置中更新。
error-rate-limited = 请求过于频繁。请稍候再试。
error-quota-exceeded = 账户额度已用完。请提高额度，或选择其他模型。
error-model-overloaded = 服务器过载。请稍后重试。
error-model-not-found = 没有这个模型，或尚未选择模型。请选择一个，或在“设置 › 模型”中下载。
error-context-length-exceeded = 对话超出了模型能读取的长度。请新建对话，或为模型设置更大的上下文。
error-output-length-exceeded = 回答达到了模型允许的最大长度，到此为止。
error-content-filtered = 服务器没有放行这个回答。请换一种问法。
error-parse = 收到的内容无法读取。请重试。{ $detail }
error-invalid-response = 服务器的回应无法使用。请重试，或选择其他模型。{ $detail }
error-max-iterations = 已停下：达到了轮数上限，或模型一再重复同样的调用。选择“继续”可以接着做。
error-user-aborted = 已停止。已收到的内容保留着。
error-timeout = 用时超过上限，已停止。已收到的内容保留着。
error-unknown = 出了问题：{ $detail }
error-not-saved = 内容无法保存，回答到此为止。{ $detail }
error-address-refused = 这个地址不会被使用。请在“设置 › 模型”中检查。{ $detail }
error-setup = 无法发出请求。{ $detail }
error-connection-refused = 模型的地址没有任何回应。请启动服务器（Ollama：`ollama serve`），或在“设置 › 模型”中检查地址。
error-unknown-host = 找不到服务器。请在“设置 › 模型”中检查地址。
error-connection-failed = 无法连接到服务器。请检查网络后重试。
error-redirected = 服务器指向另一个地址，没有跟随。请在“设置 › 模型”中检查地址。
error-first-byte-timeout = 服务器迟迟没有开始回答。较大的模型可能仍在加载，请重试。
error-idle-timeout = 服务器在回答中途停住了。请重试。
error-disconnected = 回答途中连接断开。请重试。
error-too-large = 服务器的回应过大，没有接收。
error-tools-not-supported = 这个模型不能调用工具。请换用支持工具的模型（例如 qwen3），或关闭工具，只进行对话。
error-thinking-not-supported = 这个模型不支持思考。请关闭思考，或选择其他模型。
error-chat-not-supported = 这个模型不能用于对话。请选择其他模型。
error-model-not-pulled = Ollama 上还没有这个模型。请在“设置 › 模型”中下载，或选择其他模型。
error-sign-in = 这个模型在 Ollama 云端运行，需要登录：请运行 `ollama signin`。
error-not-ollama = 这个地址有回应，但不是 Ollama。请在“设置 › 模型”中检查地址（Ollama 默认为 http://127.0.0.1:11434）。
error-garbage = 服务器发来的内容不是 Ollama 的格式。请在“设置 › 模型”中检查地址，或重试。
error-image-unavailable = 无法取得所附的图片。请直接附上图片文件。
error-no-such-model = 没有可下载的同名模型。请在 https://ollama.com/library 查找它的名称。

## Nod could not start
fault-start-read-only = Nod 无法写入数据目录
fault-start-read-only-detail = 无法在 { $folder } 中保存任何内容。请让该目录可写，或选择另一个目录。
fault-start-newer = 数据由更新版本的 Nod 写入
fault-start-newer-detail = { $folder } 中的内容没有改动。请更新 Nod，或使用另一个目录。
fault-start-no-space = 磁盘已满
fault-start-no-space-detail = { $folder } 所在的磁盘没有剩余空间。请清理后重试，或选择另一个目录。
fault-start-corrupt = Nod 的数据库已损坏
fault-start-corrupt-detail = 无法读取 { $folder } 中的数据。没有删除任何内容。请重试，或选择另一个目录。
fault-start-locked = Nod 已在运行
fault-start-locked-detail = 另一个 Nod 正在使用 { $folder }。请先关闭它再重试，或选择另一个目录。
fault-start-failed = Nod 无法启动
fault-start-failed-detail = { $folder } 出了问题。请重试，或选择另一个目录。
fault-start-retry = 重试
fault-start-other = 选择另一个目录…
fault-start-unsaved = 不保存，继续使用
fault-start-unsaved-detail = 不保存时，关闭窗口后本次的所有内容都会消失。

