import os

from langchain_openai import ChatOpenAI

model = ChatOpenAI(
    model=os.environ["GATEWAY_MODEL"],
    base_url=os.environ["GATEWAY_URL"],
    api_key=os.environ["GATEWAY_KEY"],
)
# End of the snippet.

from langchain.agents import create_agent

from shared import weather_in


def weather(city: str) -> str:
    """Weather of a city."""
    return weather_in(city)


def chat(prompt):
    return model.invoke(prompt).text


def stream(prompt):
    return [chunk.text for chunk in model.stream(prompt) if chunk.text]


def tool(prompt):
    agent = create_agent(model, tools=[weather])
    return agent.invoke({"messages": [{"role": "user", "content": prompt}]})["messages"][-1].text
