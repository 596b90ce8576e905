# undo

## What was changed, and where it stands
undo-created = 已新建
undo-changed = 已修改
undo-folder-made = 已新建目录
undo-deleted = 已删除
undo-put-back = 命令结束后已恢复
undo-state-begun = 结果未知
undo-state-done = 已生效
undo-state-undone = 已撤销
undo-state-redone = 已重做
undo-state-void = 未生效
undo-state-stale = 已不再保留
undo-state-altered = 在 Nod 之外被改动

## Actions
panel-changes = 更改
action-history = 显示更改历史
undo-undo = 撤销
undo-redo = 重做
undo-turn = 撤销本轮
undo-session = 撤销此对话中的全部更改
undo-history = 更改历史
undo-history-line = 此对话中的更改，最新的在前。旧版本保留 { $days } 天。
undo-history-of = 此文件的更改
undo-history-all = 全部文件
undo-history-empty = 此对话中还没有任何更改。
undo-history-show = 显示 { $path } 的更改内容
undo-this-file = 只看此文件
undo-command = 命令无法撤销
undo-stale = 已无法撤销
undo-altered = 用来撤销它的记录在 Nod 之外被改动，或无法证实：既不会撤销，也不会重做。

## The question
undo-title-undo = { $count ->
        [1] 撤销此更改？
       *[other] 撤销这 { $count } 处更改？
    }
undo-title-redo = { $count ->
        [1] 重做此更改？
       *[other] 重做这 { $count } 处更改？
    }
undo-line = 以下是将要发生的变化。现在还没有改动任何内容，撤销之后也可以再恢复。
undo-line-changed = 期间有内容发生了变化：以下是现在的情况，请重新查看。
undo-line-conflict = 有文件之后又被改过。请逐个选择；不选择则保持原样。
undo-planning = 正在查看文件…
undo-executed-later = git、shell、构建工具、编辑器或智能体会执行或遵从这里改动的内容。请在清楚它的作用之后再继续。
undo-preview = 更改预览
undo-action-restore = 恢复更改前的版本
redo-action-restore = 恢复被撤销的版本
undo-action-remove = 移除
undo-action-remove-if-empty = 若目录为空则移除
undo-action-nothing = 已经是这样
undo-action-conflict = 之后又被改过
undo-action-follows = 随上面的选择
undo-action-gone = 旧版本已不再保留
undo-action-refused = 被拒绝
undo-choice-keep = 文件保持现状
undo-choice-put-back = 恢复更改前的版本
redo-choice-put-back = 恢复被撤销的版本
undo-choice-remove = 仍然移除
undo-choice-put-back-detail = 现有内容会被保留，可以再恢复。
undo-choice-save-beside = 将更改前的版本另存在旁边
redo-choice-save-beside = 将被撤销的版本另存在旁边
undo-show-change-since = 之后的改动
undo-show-step = 恢复后会有的变化
undo-cancel = 取消
undo-go-undo = 撤销
undo-go-redo = 重做

## Short messages
notice-undone = 已撤销
notice-undone-many = 已撤销 { $count } 处更改
notice-undone-left = 已撤销 { $count } 处；{ $left } 处保持现状
notice-redone = 已重做
notice-redone-many = 已重做 { $count } 处更改
notice-redone-left = 已重做 { $count } 处；{ $left } 处保持现状
notice-redo = 重做
notice-undo-nothing = 没有任何改动。
notice-undo-not-empty = 目录不为空，予以保留：{ $path }
notice-undo-failed = 未能完成：{ $path }

## Faults
fault-undo = 现在无法撤销。
fault-undo-missing = 这里没有可以撤销或重做的更改。
fault-undo-ambiguous = 有多个更改的标识以此开头：请多写几位。
fault-undo-altered = 用来撤销它的记录在 Nod 之外被改动，或无法证实，因此什么也没做。请自行查看这个文件。
fault-undo-space = 磁盘已满，无法保留现有内容，因此没有改动任何内容。请腾出空间后重试。

## The command line
cli-undo-missing = 没有这个标识的更改：{ $id }。可用 `nod undo list` 查看全部。
cli-undo-ambiguous = 有多个更改的标识以此开头：{ $id }
cli-undo-changed = 查看期间内容发生了变化，因此什么也没有做。请重试。
cli-undo-more-lines = …… 还有 { $count } 行：nod undo show { $id }
cli-undo-ask = 仍要执行吗？[y = 是；其他：否]
cli-undo-declined = 未做任何更改。
cli-undo-needs-yes = 未做任何更改：此操作需要确认，而这里无法询问任何人。请先用 `nod undo show` 查看，然后在终端中运行，或加上 --yes。
cli-undo-done = 已撤销：{ $path }
cli-undo-redone = 已重做：{ $path }
cli-undo-nothing = 已经是这样：{ $path }
cli-undo-kept = 之后又被改过，因此保持现状：{ $path }。如需另一个版本，请加上 --if-changed put-back 或 save-beside。
cli-undo-not-empty = 目录不为空，予以保留：{ $path }
cli-undo-saved-beside = 另一个版本位于 { $detail }
cli-undo-failed = 未完成：{ $path }。{ $detail }

## Settings
settings-undo = 撤销
settings-undo-days = 旧版本保留时间
settings-undo-days-help = 单位：天。更早的更改将无法撤销。
settings-undo-file = 可保留的最大文件或目录
settings-undo-file-help = 单位：MB。更改更大的文件前，Nod 会说明无法撤销。被删除的会进入系统回收站。
settings-undo-space = 旧版本可用空间
settings-undo-space-help = 单位：MB。最旧的最先移除。
