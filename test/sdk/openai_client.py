"""The openai package as a user writes it: only base_url and api_key differ. Reads calls from standard input, one line of JSON each, and
writes for each a line of JSON with what the SDK's caller sees."""

import json
import os
import sys

from openai import APIError, APIStatusError, OpenAI

client = OpenAI(base_url=os.environ["BASE_URL"], api_key=os.environ["API_KEY"])


def run(call):
    client.api_key = call.pop("api_key", os.environ["API_KEY"])
    client.max_retries = call.pop("max_retries", 0)
    call["extra_headers"] = call.pop("headers", None)
    if call.pop("list_models", False):
        return {"models": [model.id for model in client.models.list()]}
    if not call.get("stream"):
        completion = client.chat.completions.create(**call)
        message = completion.choices[0].message
        return {
            "id": completion.id,
            "model": completion.model,
            "text": message.content,
            "finish_reason": completion.choices[0].finish_reason,
            "usage": completion.usage.model_dump(),
            "tool_calls": [[c.function.name, c.function.arguments] for c in message.tool_calls or []],
        }
    seen = {"text": "", "tool_arguments": "", "finish_reason": None, "usage": None}
    try:
        for chunk in client.chat.completions.create(**call):
            if chunk.usage:
                seen["usage"] = chunk.usage.model_dump()
            for choice in chunk.choices:
                seen["text"] += choice.delta.content or ""
                for tool_call in choice.delta.tool_calls or []:
                    seen["tool_arguments"] += tool_call.function.arguments or ""
                seen["finish_reason"] = choice.finish_reason or seen["finish_reason"]
    except APIError as error:
        return {**seen, **described(error)}
    return seen


def described(error):
    return {
        "error": type(error).__name__,
        "status": error.status_code if isinstance(error, APIStatusError) else None,
        "code": error.code,
        "type": error.type,
        "param": error.param,
        "message": error.message,
    }


for line in sys.stdin:
    try:
        result = run(json.loads(line))
    except APIError as error:
        result = described(error)
    print(json.dumps(result), flush=True)
