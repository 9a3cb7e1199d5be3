import os

from smolagents import OpenAIModel

model = OpenAIModel(
    model_id=os.environ["GATEWAY_MODEL"],
    api_base=os.environ["GATEWAY_URL"],
    api_key=os.environ["GATEWAY_KEY"],
)
# End of the snippet.

from smolagents import ToolCallingAgent
from smolagents import tool as tool_of

from shared import weather_in


def weather(city: str) -> str:
    """Weather of a city.

    Args:
        city: Its name.
    """
    return weather_in(city)


def user_says(content):
    return [{"role": "user", "content": content}]


def chat(prompt):
    return model.generate(user_says(prompt)).content


def stream(prompt):
    return [delta.content for delta in model.generate_stream(user_says(prompt)) if delta.content]


def tool(prompt):
    """The agent's last word is a call of its own tool `final_answer`."""
    return ToolCallingAgent(model=model, tools=[tool_of(weather)], verbosity_level=0).run(prompt)
