# transcript
copy = Copy
copy-message = Copy message
copy-markdown = Copy as Markdown
message-edit = Edit and resend
message-regenerate = Answer again
message-fork = Fork from here
message-delete = Delete
message-more = More actions
message-show-all = Show all
picture-name = Image { $number }
picture-enlarge = { $name }: show larger
picture-too-large = This image is too large to be shown
picture-unreadable = This image cannot be shown
picture-elsewhere = Image at { $host }
picture-loading = Loading the image…
picture-locked = The padlock of this chat is closed, so the image was not loaded. Open the padlock to load it.
picture-refused = Images are loaded only from https addresses and from this computer.
picture-unreachable = The image could not be loaded from there. Try again, or open it in your browser.
message-previous-version = Previous version
message-next-version = Next version
message-version = { $number } of { $count }
code-plain = Text
code-wrap = Wrap
code-unwrap = No wrap
code-fold = Show less
code-unfold = Show all { $count } lines
thinking-now = Thinking… { $duration }
thinking-done = Thought for { $duration }
thinking-thought = Thoughts
duration-seconds = { $seconds } s
duration-minutes = { $minutes } min { $seconds } s
meta-tokens = { $count } tokens
meta-speed = { $speed } tok/s
meta-cost = ≈ { $cost }
meta-cost-why = An estimate from the published prices or your own. The provider’s bill is what counts.
meta-thought = its thinking, as the answer
meta-thought-why = The model never said where its thinking ends, or said nothing else. What it thought stands here as the answer.
meta-shortened = earlier calls cut
meta-left-out = { $count } earlier messages not sent
meta-left-out-why = The conversation is longer than this model can read, so its oldest part was not sent. It is all still here. A model with a larger context, or a new chat, helps.
call-pending = checking
call-waiting = waiting for you
call-running = running
call-succeeded = done
call-failed = failed
call-denied = denied
call-cancelled = stopped
call-unknown = unknown: check the target
card-review = Review
card-stop = Stop
card-revoke-rule = Revoke the rule
card-open = Open
card-show-in-folder = Show in folder
card-arguments = Arguments
card-hide-arguments = Result
card-matches = { $count ->
    [one] 1 match
   *[other] { $count } matches
}
card-name-matches = name matches
card-scanned = { $count } files looked at
card-exit-code = exit code { $code }
card-signal = ended by signal { $signal }
card-timed-out = timed out
card-adjusted = arguments adjusted
card-repaired = arguments repaired
card-printed = call read from text
card-by-server = as the server tells it
card-by-import = as the imported file tells it
masked-chip = { $count ->
    [one] 1 secret masked
   *[other] { $count } secrets masked
}
masked-none = { $count ->
    [one] 1 secret sent as it is
   *[other] { $count } secrets sent as they are
}
masked-heading = Not sent to the model
masked-api-key = API key
masked-token = Token
masked-password = Password
masked-private-key = Private key
masked-send = Send anyway
masked-again = Mask again
masked-detail = A model on another machine gets a placeholder in its place. “Send anyway” holds for this one value in this chat, from the next request on.
group-read = { $count ->
    [one] Read 1 file
   *[other] Read { $count } files
}
group-looked = { $count ->
    [one] Looked 1 time
   *[other] Looked { $count } times
}
answer-failed = The answer broke off
answer-retry = Try again
answer-stopped = Stopped by you. What had come is kept.
answer-interrupted = Nod ended while this was written. What had come is kept.
round-limit = The limit of rounds for one turn is reached.
round-continue = Continue
turn-sending = Waiting for { $model }
turn-retrying = Trying again ({ $attempt }) in { $duration }: { $reason }
turn-queued = Sent when this turn ends
transcript-newest = Newest
transcript-loading = Loading earlier messages
transcript-scroll = Scroll bar of the chat
