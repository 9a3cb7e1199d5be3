import os

from openai import AsyncOpenAI
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion

service = OpenAIChatCompletion(
    ai_model_id=os.environ["GATEWAY_MODEL"],
    async_client=AsyncOpenAI(base_url=os.environ["GATEWAY_URL"], api_key=os.environ["GATEWAY_KEY"]),
)
# End of the snippet.

from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.functions import kernel_function

from shared import weather_in


class Weather:
    @kernel_function
    def weather(self, city: str) -> str:
        """Weather of a city."""
        return weather_in(city)


async def chat(prompt):
    return str(await ChatCompletionAgent(service=service).get_response(prompt))


async def stream(prompt):
    replies = ChatCompletionAgent(service=service).invoke_stream(prompt)
    return [str(reply) async for reply in replies if str(reply)]


async def tool(prompt):
    return str(await ChatCompletionAgent(service=service, plugins=[Weather()]).get_response(prompt))
