"""Runs the acts of one client: `python acts.py NAME`. Each act is a function of the client's module. Prints a line of JSON
for each, with its result or its error."""

import asyncio
import importlib
import inspect
import json
import os
import sys

from shared import NotThrown

PROMPTS = {
    "chat": "Say hello.",
    "stream": "Say hello piece by piece.",
    "tool": "How is the weather in Kyiv?",
    "poor": "Say hello on credit.",
}

def described(error):
    at, code = code_of("error", error)
    name = error.name if isinstance(error, NotThrown) else type(error).__name__
    return {"name": name, "message": str(error), "at": at, "code": code}


def code_of(path, error):
    """The path at which an error or one of its causes has a code, and the code."""
    if error is None:
        return None, None
    if isinstance(getattr(error, "code", None), str):
        return path + ".code", error.code
    body = getattr(error, "body", None)
    if isinstance(body, dict) and isinstance(body.get("code"), str):
        return path + '.body["code"]', body["code"]
    return code_of(path + ".__cause__", error.__cause__)


async def perform(name, act, prompt, output):
    try:
        got = act(prompt)
        outcome = {"got": await got if inspect.isawaitable(got) else got}
    except Exception as error:
        outcome = {"error": described(error)}
    print(json.dumps({"act": name, **outcome}), file=output, flush=True)


async def main(name):
    # Some clients print, but standard output is only for results.
    output, sys.stdout = sys.stdout, sys.stderr
    client = importlib.import_module(name)
    for act in ["chat", "stream", "tool"]:
        if hasattr(client, act):
            await perform(act, getattr(client, act), PROMPTS[act], output)
    os.environ["GATEWAY_KEY"] = os.environ["POOR_KEY"]
    await perform("poor", importlib.reload(client).chat, PROMPTS["poor"], output)
    # Some clients leave threads running.
    output.flush()
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
