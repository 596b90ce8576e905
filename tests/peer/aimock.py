#!/usr/bin/env python3
"""A two-round tool turn of the real `nod exec` with every adapter, streamed and not, against a server that nobody here wrote:
the mock of the OpenAI, Anthropic and Ollama APIs from `@copilotkit/aimock`. `packaging/peer.sh` brings it and starts this.

    aimock.py NOD NODE LLMOCK

Exits 1 and says what was wrong; a run in which the mock was not asked is wrong too.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

FIXTURES = Path(__file__).with_name("aimock.json")
ANSWER = "It holds harvest.txt and nothing else. 里面只有 harvest.txt。"
# Provider, model, what stands behind the mock's address, the path that the mock must have been asked for.
ADAPTERS = [
    ("openai", "gpt-4o", "/v1", "/v1/chat/completions"),
    ("deepseek", "deepseek-chat", "/v1", "/v1/chat/completions"),
    ("agnes-ai", "agnes-2.0-flash", "/v1", "/v1/chat/completions"),
    ("agnes-ai-anthropic", "agnes-2.0-flash", "", "/v1/messages"),
    ("anthropic", "claude-sonnet-4-5", "", "/v1/messages"),
    ("ollama", "qwen3:8b", "", "/api/chat"),
]
PATIENCE_S = 60


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read()


def start(node: str, llmock: str) -> tuple[subprocess.Popen, str]:
    """Starts the mock on a free loopback port and waits until it answers."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [node, llmock, "-h", "127.0.0.1", "-p", str(port), "-f", str(FIXTURES), "-l", "20", "-c", "7"]
    server = subprocess.Popen(words + ["--log-level", "silent"], stdin=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if server.poll() is not None:
            sys.exit(f"the mock ended at once, with {server.returncode}")
        try:
            get(f"{url}/health")
            return server, url
        except OSError:
            time.sleep(0.1)
    server.kill()
    sys.exit("the mock does not answer")


def turn(nod: str, url: str, place: Path, adapter: tuple[str, str, str, str], is_streamed: bool) -> list[str]:
    """One turn; gives what was wrong with it."""
    provider, model, suffix, path = adapter
    folder = place / "project"
    folder.mkdir()
    (folder / "harvest.txt").write_text("wheat\n")
    words = [nod, "exec", "--json", "--provider", provider, "--model", model, "--base-url", url + suffix]
    words += ["--api-key-env", "PEER_KEY", "--folder", str(folder)]
    words += [] if is_streamed else ["--no-stream"]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "NOD_DATA_DIR": str(place / "data"),
        "PEER_KEY": "sk-for-the-mock",
        "LANG": "C.UTF-8",
    }
    before = len(json.loads(get(f"{url}/v1/_requests")))
    ended = subprocess.run(
        words + ["list this folder"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S
    )
    lines = [json.loads(line) for line in ended.stdout.decode().splitlines()]
    asked = json.loads(get(f"{url}/v1/_requests"))[before:]
    end = lines[-1] if lines else {}
    results = [line["toolResult"] for line in lines if line["type"] == "tool_result"]
    chats = [request for request in asked if request.get("path", "").endswith(path)]
    deltas = [line for line in lines if line["type"] == "text_delta"]
    faults = []

    def want(holds: bool, words: str) -> None:
        if not holds:
            faults.append(words)

    want(ended.returncode == 0, f"exit code {ended.returncode}: {ended.stderr.decode()[-400:]}")
    want(end.get("type") == "turn_end" and end.get("outcome") == "done", f"the turn did not end well: {end}")
    want(end.get("rounds") == 2, f"{end.get('rounds')} rounds")
    want(end.get("content") == ANSWER, f"the answer is {end.get('content')!r}")
    want(len(results) == 1 and results[0]["success"], f"the call's results are {results}")
    want(len(chats) == 2, f"the mock was asked {len(chats)} times for {path}: {[r.get('path') for r in asked]}")
    if is_streamed:
        # How many is for a busy machine to say, which reads several at once.
        want(len(deltas) > 1, f"the answer came in {len(deltas)} pieces")
    wanted = [bool((request.get("body") or {}).get("stream")) for request in chats]
    want(all(found == is_streamed for found in wanted), f"`stream` was {wanted}")
    return faults


def main() -> int:
    nod, node, llmock = sys.argv[1:]
    server, url = start(node, llmock)
    broken = 0
    try:
        for adapter in ADAPTERS:
            for is_streamed in (True, False):
                name = f"{adapter[0]}, {'streamed' if is_streamed else 'whole'}"
                with tempfile.TemporaryDirectory(prefix="nod-peer-") as place:
                    faults = turn(nod, url, Path(place), adapter, is_streamed)
                print(f"{'FAILED' if faults else 'ok    '}  {name}")
                for fault in faults:
                    print(f"        {fault}")
                broken += bool(faults)
    finally:
        server.terminate()
        server.wait()
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
