# The device link: servers whose agents may use this computer's read-only tools.

link-paused = Paused
link-connecting = Connecting …
link-connected = Connected
link-waiting = Not connected; trying again
link-waiting-until = Not connected; next try at { $time }
link-replaced = Connected in another window
link-stopped = Not connected
link-foot = Local tools: { $state }
link-foot-folder = Local tools: { $state } · { $folder }
link-foot-help = { $server }
    Folder: { $folder }
    This device: { $device }

link-state-paused = The connection is paused.
link-state-connecting = Connecting …
link-state-connected = Connected. The server may look into { $workspace }.
link-state-waiting = Not connected, trying again soon
link-state-replaced = A newer connection of this device took over. Stop the other one, then start this one again.
link-state-stopped = Not connected

link-problem-unreachable = The server cannot be reached. Check its address and whether it runs.
link-problem-no-token = There is no token for this address. Enter the one that the server’s operator gave you.
link-problem-token = The server does not accept the token. Ask its operator for a new one and enter it here.
link-problem-ticket = The server gave a ticket and then refused it. If this goes on, its clock, its set-up or its storage is at fault; ask its operator.
link-problem-forbidden = The server refuses connections of this device. Ask its operator.
link-problem-silent = The server fell silent.
link-problem-protocol = The server does not keep to the protocol, so the connection was closed. Its version may not fit this Nod.
link-problem-workspace = The folder cannot be opened. Its disk may be missing: bring it back, or choose another folder.
link-problem-address = This address may not be used.

link-call-running = waiting for you, or running
link-call-succeeded = done
link-call-failed = failed
link-call-rejected = refused
link-call-cancelled = cancelled
link-call-timed-out = took too long
link-call-unknown = unknown: it was cut off

fault-link-address = This address cannot be used for a server: { $url }. It must be https, or http on this computer.
fault-link-taken = There is a connection to this server already: { $url }. Pause it in Settings → Servers first.
fault-link-unknown = There is no such server any more: { $url }

settings-page-servers = Servers
settings-servers-line = An agent on a server can look into one folder of this computer. Nothing is written, no command is run, and you are asked before each file that it reads.
settings-servers-note = Nod connects to the server; nothing on this computer listens. What is in a file that you allow goes to the server and its model.
settings-device = This device: { $device }
settings-server-add = Add a server
settings-server-add-help = You need its address and a user token from whoever runs it.
settings-server-url = Address
settings-server-url-help = https, or http on this computer
settings-server-token = User token
settings-server-token-help = Kept in the system’s keyring, for this address alone.
settings-server-workspace = Folder
settings-server-workspace-help = The one folder that the server may look into.
settings-server-save = Connect
settings-server-remove = Remove this server
settings-server-calls = Calls
settings-server-calls-of = Calls of { $server }
settings-server-no-calls = No calls yet.
settings-server-pause = Disconnect
settings-server-resume = Connect
settings-server-retry = Try now
settings-server-sent = { $size } sent
path-title-workspace = Folder that the server may look into

confirm-title-server = Send this file to a server?
confirm-title-server-list = Send this list to a server?
confirm-what-server = Reads the file whole and sends what is in it to the server.
confirm-what-server-list = Sends the names in this folder to the server.
confirm-server = { $server } asks, over the device link
confirm-fact-tool = Tool
confirm-reason-server = What is in it leaves this computer: the server and its model get it.
confirm-countdown = { $seconds ->
    [one] Refused by itself in { $seconds } second
   *[other] Refused by itself in { $seconds } seconds
}

audit-origin-server = a server

# Chats that live on a server.
thread-new = New chat on { $server }
thread-refresh = Refresh the chats on { $server }
thread-list-failed = Not fetched. Try again
thread-more = Show all { $count }
thread-fewer = Show fewer
thread-lives = This chat lives on { $server }
thread-lives-help = What you write here goes to { $server } and to the model that it uses. Nod reaches nobody else for this chat, so there is no padlock to close. Secrets in files that are attached or read are masked before they leave; for a server there is no “Send anyway”. It takes no pictures.
thread-empty-title = New chat on { $server }
thread-empty-line = Its agent answers there. It may look into { $folder } on this computer, and every file that it wants to read waits for your yes.
thread-unreached = This chat cannot be fetched from { $server }
thread-settings = Servers …
thread-delete = Delete
thread-delete-title = Delete this chat on the server?
thread-delete-detail = “{ $title }” will be deleted on { $server }. Nothing brings it back.
action-new-thread = New chat on { $server }
notice-not-on-server = That is not there for a chat that lives on a server.
fault-thread-gone = The server does not have this chat, or this part of it, any more. Refresh the list at the left.
fault-thread-images = The server takes no pictures. Your message is in its box again: take the picture out, then send it.
fault-thread-unsent = Stopped before the server had your message. It is in its box again.
fault-thread-unsure = The server could not be reached, so it is not known whether it has your message. It is in its box again: refresh the chats of the server before you send it once more.
composer-hint-server = Message — Enter to send
composer-hint-server-ctrl = Message — Ctrl+Enter to send
error-server-away = the server cannot be reached
error-server-lost = The connection to the server broke, and it stops an answer that nobody hears. “Try again” asks in a branch.
error-server-interrupted = The server ended in the middle of this answer. “Try again” asks in a branch.
error-server-run = The server could not answer. “Try again” asks in a branch. Its words: { $detail }

code-device-offline = This computer was not connected to the server.
code-desktop-device-not-selected = No computer was chosen for this chat.
code-device-mismatch = The call was meant for another computer.
code-result-unknown = Whether the call ran is not known: the connection was lost.
code-run-cancelled = The turn was stopped.
code-cancelled-by-server = The server took the call back.
code-desktop-restarted = Nod ended while the call was under way.
code-server-restarted = The server ended before the result came.
