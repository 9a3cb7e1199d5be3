import os

from agno.agent import Agent
from agno.models.openai.like import OpenAILike

# The name "openai:…" would ask for /v1/responses.
model = OpenAILike(
    id=os.environ["GATEWAY_MODEL"],
    base_url=os.environ["GATEWAY_URL"],
    api_key=os.environ["GATEWAY_KEY"],
)
agent = Agent(model=model)
# End of the snippet.

from agno.run.base import RunStatus
from shared import NotThrown, weather_in


def weather(city: str) -> str:
    """Weather of a city."""
    return weather_in(city)


def chat(prompt):
    result = agent.run(prompt)
    if result.status == RunStatus.error:
        raise NotThrown("status: RunStatus.error", result.content)
    return result.content


def stream(prompt):
    return [event.content for event in agent.run(prompt, stream=True) if event.content]


def tool(prompt):
    return Agent(model=model, tools=[weather]).run(prompt).content
