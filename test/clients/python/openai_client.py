import os

from openai import OpenAI

client = OpenAI(base_url=os.environ["GATEWAY_URL"], api_key=os.environ["GATEWAY_KEY"])
model = os.environ["GATEWAY_MODEL"]
# End of the snippet.

import json

from shared import WEATHER, weather_in


def user_says(content):
    return [{"role": "user", "content": content}]


def chat(prompt):
    completion = client.chat.completions.create(model=model, messages=user_says(prompt))
    return completion.choices[0].message.content


def stream(prompt):
    chunks = client.chat.completions.create(model=model, messages=user_says(prompt), stream=True)
    return [choice.delta.content for chunk in chunks for choice in chunk.choices if choice.delta.content]


def tool(prompt):
    call = {"model": model, "tools": [{"type": "function", "function": WEATHER}]}
    messages = user_says(prompt)
    message = client.chat.completions.create(messages=messages, **call).choices[0].message
    messages.append(message)
    for wanted in message.tool_calls:
        content = weather_in(**json.loads(wanted.function.arguments))
        messages.append({"role": "tool", "tool_call_id": wanted.id, "content": content})
    return client.chat.completions.create(messages=messages, **call).choices[0].message.content
