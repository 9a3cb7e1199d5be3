import os

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

# The name "openai:…" would ask for /v1/responses.
model = OpenAIChatModel(
    os.environ["GATEWAY_MODEL"],
    provider=OpenAIProvider(base_url=os.environ["GATEWAY_URL"], api_key=os.environ["GATEWAY_KEY"]),
)
agent = Agent(model)
# End of the snippet.

from shared import weather_in


def weather(city: str) -> str:
    """Weather of a city."""
    return weather_in(city)


async def chat(prompt):
    return (await agent.run(prompt)).output


async def stream(prompt):
    async with agent.run_stream(prompt) as result:
        return [piece async for piece in result.stream_text(delta=True, debounce_by=None)]


async def tool(prompt):
    return (await Agent(model, tools=[weather]).run(prompt)).output
