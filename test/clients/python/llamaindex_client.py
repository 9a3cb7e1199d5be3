import os

from llama_index.llms.openai_like import OpenAILike

llm = OpenAILike(
    model=os.environ["GATEWAY_MODEL"],
    api_base=os.environ["GATEWAY_URL"],
    api_key=os.environ["GATEWAY_KEY"],
    # Without these it asks for /v1/completions, and offers no tools to a model that it does not know.
    is_chat_model=True,
    is_function_calling_model=True,
)
# End of the snippet.

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage

from shared import weather_in


def weather(city: str) -> str:
    """Weather of a city."""
    return weather_in(city)


def chat(prompt):
    return llm.chat([ChatMessage(content=prompt)]).message.content


def stream(prompt):
    return [part.delta for part in llm.stream_chat([ChatMessage(content=prompt)]) if part.delta]


async def tool(prompt):
    return str(await FunctionAgent(tools=[weather], llm=llm).run(prompt))
