import os

from mem0.llms.openai import OpenAILLM

settings = {
    "model": os.environ["GATEWAY_MODEL"],
    "openai_base_url": os.environ["GATEWAY_URL"],
    "api_key": os.environ["GATEWAY_KEY"],
}
# In the configuration of `Memory`: {"llm": {"provider": "openai", "config": settings}, …}
llm = OpenAILLM(settings)
# End of the snippet.

import json

from shared import WEATHER, weather_in


def user_says(content):
    return [{"role": "user", "content": content}]


def chat(prompt):
    return llm.generate_response(user_says(prompt))


def tool(prompt):
    """mem0 omits the ids of calls, so its callers send results as plain text."""
    tools = [{"type": "function", "function": WEATHER}]
    messages = user_says(prompt)
    answer = llm.generate_response(messages, tools=tools)
    for wanted in answer["tool_calls"]:
        messages += user_says(weather_in(**wanted["arguments"]))
    return llm.generate_response(messages, tools=tools)["content"]
