import os

from browser_use import ChatOpenAI

llm = ChatOpenAI(
    model=os.environ["GATEWAY_MODEL"],
    base_url=os.environ["GATEWAY_URL"],
    api_key=os.environ["GATEWAY_KEY"],
)
# End of the snippet.

from browser_use.llm.messages import AssistantMessage, UserMessage
from pydantic import BaseModel

from shared import weather_in


class Step(BaseModel):
    city: str


async def chat(prompt):
    return (await llm.ainvoke([UserMessage(content=prompt)])).completion


async def tool(prompt):
    """Agents of browser-use get the next step as JSON by a schema, and send its result as a user message."""
    messages = [UserMessage(content=prompt)]
    step = (await llm.ainvoke(messages, output_format=Step)).completion
    messages += [AssistantMessage(content=step.model_dump_json()), UserMessage(content=weather_in(step.city))]
    return (await llm.ainvoke(messages)).completion
