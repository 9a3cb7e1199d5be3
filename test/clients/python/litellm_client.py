import os

from litellm import completion

gateway = {
    # "openai/" is LiteLLM's word for the protocol.
    "model": f"openai/{os.environ['GATEWAY_MODEL']}",
    "api_base": os.environ["GATEWAY_URL"],
    "api_key": os.environ["GATEWAY_KEY"],
}
# End of the snippet.

import json

from shared import WEATHER, weather_in


def user_says(content):
    return [{"role": "user", "content": content}]


def chat(prompt):
    return completion(**gateway, messages=user_says(prompt)).choices[0].message.content


def stream(prompt):
    chunks = completion(**gateway, messages=user_says(prompt), stream=True)
    return [chunk.choices[0].delta.content for chunk in chunks if chunk.choices[0].delta.content]


def tool(prompt):
    tools = [{"type": "function", "function": WEATHER}]
    messages = user_says(prompt)
    message = completion(**gateway, messages=messages, tools=tools).choices[0].message
    messages.append(message)
    for wanted in message.tool_calls:
        content = weather_in(**json.loads(wanted.function.arguments))
        messages.append({"role": "tool", "tool_call_id": wanted.id, "content": content})
    return completion(**gateway, messages=messages, tools=tools).choices[0].message.content
