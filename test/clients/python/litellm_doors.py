"""LiteLLM as a client of each API but chat completions. Prints a line of JSON for each act: what its caller got."""

import asyncio
import json
import os

# Where LiteLLM is given `api_key` for Anthropic's API, it sends another header than `Authorization`.
os.environ["ANTHROPIC_AUTH_TOKEN"] = os.environ["GATEWAY_KEY"]

import litellm

ORIGIN = os.environ["GATEWAY_URL"].removesuffix("/v1")
MODEL = os.environ["GATEWAY_MODEL"]
OF_OPENAI = {"model": f"openai/{MODEL}", "api_base": os.environ["GATEWAY_URL"], "api_key": os.environ["GATEWAY_KEY"]}
OF_ANTHROPIC = {"model": f"anthropic/{MODEL}", "api_base": ORIGIN, "max_tokens": 100}
MESSAGES = [{"role": "user", "content": "Hello"}]


def plain(usage):
    return usage if isinstance(usage, dict) else usage.model_dump()


def write(act, text, usage):
    print(json.dumps({"act": act, "text": text, "usage": plain(usage)}, default=str), flush=True)


async def main():
    response = await litellm.aresponses(input="Hello", **OF_OPENAI)
    write("responses", response.output[-1].content[0].text, response.usage)

    events = [event async for event in await litellm.aresponses(input="Hello", stream=True, **OF_OPENAI)]
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    write("responses, streamed", text, events[-1].response.usage)

    message = await litellm.anthropic_messages(messages=MESSAGES, **OF_ANTHROPIC)
    write("messages", message["content"][0]["text"], message["usage"])

    completion = await litellm.acompletion(messages=MESSAGES, **OF_ANTHROPIC)
    write("messages by completion", completion.choices[0].message.content, completion.usage)

    options = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = [chunk async for chunk in await litellm.acompletion(messages=MESSAGES, **options, **OF_ANTHROPIC)]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    write("messages by completion, streamed", text, chunks[-1].usage)

    embedding = await litellm.aembedding(input=["Hello"], **{**OF_OPENAI, "model": "openai/vectors"})
    write("embedding", str(len(embedding.data[0]["embedding"])), embedding.usage)


asyncio.run(main())
