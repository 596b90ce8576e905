// A turn with tool calls on `nod-server`, run by the npm client of AG-UI, which nobody here wrote: it checks the order of the
// events by itself, and every event is held against the schemas of `@ag-ui/core` once more. The device is played over Node's own
// WebSocket, the model is the mock of `@copilotkit/aimock`. `packaging/agui.sh` brings all of it and starts this.
//
//     node agui.mjs SERVER_URL TOKEN
//
// Exits 1 and says what was wrong.
import assert from "node:assert/strict";
import { HttpAgent } from "@ag-ui/client";
import { EventSchemas } from "@ag-ui/core/schemas";

const [base, token] = process.argv.slice(2);
const headers = { authorization: `Bearer ${token}` };
const patience = setTimeout(() => { console.error("it took too long"); process.exit(1); }, 60_000);

const post = async (path, body) => {
    const response = await fetch(base + path, {
        method: "POST", headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body),
    });
    assert.equal(response.status, 200, await response.clone().text());
    return response.json();
};

/** Connects a device that lists `harvest.txt` and reads `wheat` from it. */
const connectDevice = async (id) => {
    const { ticket } = await post("/api/desktop/connection-ticket", { device_id: id });
    const socket = new WebSocket(`${base.replace("http", "ws")}/api/desktop/ws?ticket=${ticket}`);
    let sequence = 0;
    const say = (message) =>
        socket.send(JSON.stringify({ event_id: crypto.randomUUID(), sequence: (sequence += 1), ...message }));
    const asked = [];
    const ready = Promise.withResolvers();
    socket.onclose = (event) => ready.reject(new Error(`closed with ${event.code}`));
    socket.onopen = () => say({ type: "device.register", device_id: id, instance_id: "peer", app_version: "1", protocol_version: 1 });
    socket.onmessage = ({ data }) => {
        const frame = JSON.parse(data);
        if (frame.type === "device.registered") {
            const tool = { version: "1", risk: "low", requires_confirmation: false, timeout_ms: 10_000, input_schema: {} };
            say({ type: "tool.registry.sync", tools: ["workspace.list_files", "workspace.read_file"].map((name) => ({ name, ...tool })) });
            say({ type: "heartbeat" });
        } else if (frame.type === "heartbeat") {
            ready.resolve();
        } else if (frame.type === "tool.call.request") {
            asked.push(frame.tool_name);
            const output = frame.tool_name === "workspace.list_files"
                ? { entries: [{ name: "harvest.txt", kind: "file", size: 6 }] }
                : { content: "wheat\n" };
            const { tool_call_id, execution_id } = frame;
            say({ type: "tool.call.result", tool_call_id, execution_id, status: "succeeded", output, duration_ms: 1 });
        }
    };
    await ready.promise;
    return { socket, asked };
};

const { socket, asked } = await connectDevice("peer-device");
const agent = new HttpAgent({ url: `${base}/api/agent`, headers, threadId: "peer-thread" });
agent.messages = [{ id: "m1", role: "user", content: "list and read my harvest" }];
const events = [];
await agent.runAgent({ runId: "peer-run", forwardedProps: { deviceId: "peer-device" } }, {
    onEvent: ({ event }) => { events.push(EventSchemas.parse(event)); },
    onRunFailed: ({ error }) => { throw error; },
});

// What the client makes of the events is the conversation.
const [user, first, list, second, read, thought, answer] = agent.messages;
assert.equal(agent.messages.length, 7, JSON.stringify(agent.messages, null, 1));
assert.deepEqual([user, first, list, second, read, thought, answer].map(({ role }) => role),
    ["user", "assistant", "tool", "assistant", "tool", "reasoning", "assistant"]);
assert.equal(first.toolCalls[0].function.name, "workspace_list_files");
assert.deepEqual(JSON.parse(second.toolCalls[0].function.arguments), { path: "harvest.txt" });
assert.equal(list.toolCallId, first.toolCalls[0].id);
assert.equal(JSON.parse(read.content).data.content, "wheat\n");
assert.equal(answer.content, "It holds wheat. 里面是小麦。");
assert.deepEqual(asked, ["workspace.list_files", "workspace.read_file"]);
assert.equal(events[0].type, "RUN_STARTED");
assert.deepEqual(events.at(-1).outcome, { type: "success" });
assert.ok(events.filter(({ type }) => type === "TEXT_MESSAGE_CONTENT").length > 1, "the answer comes in pieces");

// The ledger has the calls under the names that the stream gave them.
for (const { id } of [first.toolCalls[0], second.toolCalls[0]]) {
    const call = await (await fetch(`${base}/api/tool-calls/${encodeURIComponent(id)}`, { headers })).json();
    assert.equal(call.status, "succeeded", JSON.stringify(call));
    assert.equal(call.executions.length, 1);
}

// A second turn in the same thread, stopped by the client: the server ends the run.
agent.messages.push({ id: "m2", role: "user", content: "list and read my harvest again, slowly" });
const stopped = agent.runAgent({ runId: "peer-stop", forwardedProps: { deviceId: "peer-device" } }, {
    onTextMessageContentEvent: () => { agent.abortRun(); },
});
await stopped.catch(() => {});
let turn;
do {
    await new Promise((resolve) => setTimeout(resolve, 50));
    turn = (await (await fetch(`${base}/api/threads/peer-thread`, { headers })).json()).turns.at(-1);
} while (turn.status === "running");
assert.equal(turn.status, "cancelled", JSON.stringify(turn));

socket.onclose = null;
socket.close();
clearTimeout(patience);
console.log(`ok      ${events.length} events, each as @ag-ui/core has it, and a stop`);
