# audit

## The record of who decided what
audit-title = Audit
audit-back = Back
audit-checking = being examined…
audit-whole = whole: { $lines ->
    [one] { $lines } line
   *[other] { $lines } lines
}
audit-broken = changed or cut: { $lines ->
    [one] { $lines } line
   *[other] { $lines } lines
} left
audit-export = Export…
audit-nothing = Nothing here fits these filters.
audit-more-breaks = and { $count } more places
audit-break-changed = Line { $seq }: it, or the line before it, was changed after Nod wrote it. What it says cannot be trusted; the lines around it are as they were.
audit-break-missing = Line { $seq }: lines before it are missing. They were deleted from outside.
audit-break-unreadable = Line { $seq } cannot be read: it was changed from outside, or a newer Nod wrote it.
audit-break-cut = The end is missing: after line { $seq } there were more lines, which were deleted from outside, or an older copy of the database was put in its place.
audit-break-forged = The end (line { $seq }) does not carry Nod's own code: lines were rewritten from outside, or the key that the code is made with was lost.
audit-break-unanchored = What says beside the database where the record ends (audit.anchor) is missing: lines after line { $seq } may have been removed unnoticed.
audit-break-mended = Line { $seq }: at this start Nod found the end of the record not as it had left it, or its key was gone, and went on from here.
audit-break-rule-changed = Line { $seq }: the rule that was made here was changed or removed from outside. If it was a refusal, everything of its tool is refused until you remove it in the session's panel or in Settings.
audit-break-rule-added = Up to line { $seq }: there is a rule that Nod never made, or that was taken back. It allows nothing; remove it in the session's panel or in Settings.
audit-reach = What this shows: no line was changed, removed or cut off since Nod wrote it, and the database is no older copy that was put back alone. What it cannot show: an older copy of the whole data folder, and changes by a program that runs as you and uses Nod’s own key.
audit-column-line = Line
audit-column-time = Time
audit-column-what = What
audit-column-who = Decision
audit-column-outcome = Outcome
audit-column-session = Chat
audit-any-session = All chats
audit-session = Chat
audit-any-tool = All tools
audit-tool = Tool
audit-any-verdict = Any decision
audit-verdict = Decision
audit-allowed = allowed
audit-denied = denied
audit-anybody = Decided by anybody
audit-decider = Decided by
audit-by-built-in = built-in
audit-by-rule = your rule
audit-by-person = you
audit-by-mode = mode
audit-by-flag = --approve
audit-by-timeout = no answer
audit-any-time = Any time
audit-time = Time
audit-today = Today
audit-week = Last 7 days
audit-month = Last 30 days
audit-act-decided = decision
audit-act-ended = end of the call
audit-act-stale = yes not used: something changed
audit-act-expired = yes not used: too old
audit-act-recovered = found open at a start
audit-act-undone = change taken back
audit-act-redone = change made again
audit-act-rule-made = rule made
audit-act-rule-revoked = rule taken back
audit-act-mode-changed = mode changed
audit-act-setting-changed = setting changed
audit-act-file-lifted = protected file opened
audit-act-secret-sent = masked value sent
audit-act-began = record begun
audit-act-format-changed = database brought to a newer format
audit-act-restored = backup restored
audit-act-mended = end of the record not as left
audit-origin-model = a model
audit-origin-command-line = the command line
audit-origin-person = you
audit-origin-nod = Nod
audit-unreadable = cannot be read
audit-line = Line { $seq }
audit-close-line = Close the line
audit-fact-origin = Asked by
audit-fact-model = Model
audit-fact-tool = Tool
audit-fact-rule = Rule
audit-fact-tier = Confinement
audit-fact-duration = Took
audit-fact-bytes = Size
audit-fact-detail = Detail
audit-fact-call = Call
audit-fact-plan = Plan
audit-fact-hash = Hash
