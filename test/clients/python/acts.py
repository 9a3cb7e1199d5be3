"""Runs the acts of one client: `python acts.py NAME`. Each act is a function of the client's module. Standard output gets a line of JSON
for each: what the caller of the act got, or its error."""

import asyncio
import importlib
import inspect
import json
import os
import sys

PROMPTS = {
    "chat": "Say hello.",
    "stream": "Say hello piece by piece.",
    "tool": "How is the weather in Kyiv?",
    "poor": "Say hello on credit.",
}

WEATHER = {
    "name": "weather",
    "description": "Weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def weather_in(city):
    """The only tool: what it answers depends on the argument that the model sent."""
    return f"21 degrees and sunny in {city}"


def described(error):
    """An error as its catcher sees it. Its code is its own, or that of an error which caused it."""
    path, cause = "error", error
    while cause is not None:
        if isinstance(getattr(cause, "code", None), str):
            return {"name": type(error).__name__, "message": str(error), "at": path + ".code", "code": cause.code}
        body = getattr(cause, "body", None)
        if isinstance(body, dict) and isinstance(body.get("code"), str):
            return {"name": type(error).__name__, "message": str(error), "at": path + '.body["code"]', "code": body["code"]}
        path, cause = path + ".__cause__", cause.__cause__
    return {"name": type(error).__name__, "message": str(error), "at": None, "code": None}


async def perform(name, act, prompt, output):
    try:
        got = act(prompt)
        outcome = {"got": await got if inspect.isawaitable(got) else got}
    except Exception as error:
        outcome = {"error": described(error)}
    print(json.dumps({"act": name, **outcome}), file=output, flush=True)


async def main(name):
    # Some clients print: standard output is for the results alone.
    output, sys.stdout = sys.stdout, sys.stderr
    client = importlib.import_module(name)
    for act in ["chat", "stream", "tool"]:
        await perform(act, getattr(client, act), PROMPTS[act], output)
    os.environ["GATEWAY_KEY"] = os.environ["POOR_KEY"]
    await perform("poor", importlib.reload(client).chat, PROMPTS["poor"], output)
    # Some clients leave threads behind.
    output.flush()
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
