# failure

## What is kept: the data folder and its database
store-read-only = 数据文件夹无法写入，内容没有保存。请设为可写，或选择其他文件夹：{ $path }
store-full = 磁盘已满，这次没有保存。请腾出空间后重试：{ $path }
store-newer = 数据由更新版本的点头写入，未作任何改动。请升级点头，或以只读方式打开：{ $path }
store-corrupt-in-place = 数据库已损坏。请重新启动点头，把损坏的文件移到一旁：{ $path }
store-corrupt = 数据库已损坏，已移到一旁，没有删除：{ $aside }。目前没有备份，可以从空白数据库重新开始。
store-corrupt-backup = 数据库已损坏，已移到一旁，没有删除：{ $aside }。可以恢复最近的备份（{ $backup }），或从空白数据库重新开始。
store-locked = 另一个点头正在使用这个数据文件夹。请使用那一个，或将其关闭后重试：{ $path }
store-untrusted-link = 数据没有打开：原来的位置上是一个链接。请把真正的文件放回去：{ $path }
store-untrusted-not-a-file = 数据没有打开：原来的位置上不是普通文件：{ $path }
store-untrusted-owner = 数据没有打开：它属于另一个用户。请选择其他文件夹：{ $path }
store-untrusted-database = 这是其他程序的数据库，没有打开。请选择其他文件夹：{ $path }
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
fault-folder = 无法打开这个文件夹：{ $path }
fault-folder-blocked = 这个文件夹不对 Nod 的工具开放，没有添加：{ $path }
fault-export = 无法把对话写入这个文件：{ $path }
fault-import = 无法把这个文件读作对话：{ $path }
fault-setting-unknown = 没有这个名称的设置：{ $key }
fault-setting-value = 这个设置不接受该值：{ $key }

### window begin
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
fault-start-other = 选择另一个目录……
fault-start-unsaved = 不保存，继续使用
fault-start-unsaved-detail = 不保存时，关闭窗口后本次的所有内容都会消失。
### window end
