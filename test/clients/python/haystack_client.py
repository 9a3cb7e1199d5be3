import os

from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.utils import Secret

generator = OpenAIChatGenerator(
    model=os.environ["GATEWAY_MODEL"],
    api_base_url=os.environ["GATEWAY_URL"],
    api_key=Secret.from_env_var("GATEWAY_KEY"),
)
# End of the snippet.

from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage
from haystack.tools import tool as tool_of

from shared import weather_in


@tool_of
def weather(city: str) -> str:
    """Weather of a city."""
    return weather_in(city)


def chat(prompt):
    return generator.run([ChatMessage.from_user(prompt)])["replies"][0].text


def stream(prompt):
    chunks = []
    generator.run([ChatMessage.from_user(prompt)], streaming_callback=chunks.append)
    return [chunk.content for chunk in chunks if chunk.content]


def tool(prompt):
    agent = Agent(chat_generator=generator, tools=[weather])
    return agent.run(messages=[ChatMessage.from_user(prompt)])["last_message"].text
