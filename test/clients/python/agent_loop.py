"""Runs the OpenAI Agents SDK until its agent has an answer. Prints a line of JSON with the answer, or with the code of the error that
the SDK reported."""

import asyncio
import json
import os

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import APIError, AsyncOpenAI
from openai.types.shared import Reasoning

set_tracing_disabled(True)
client = AsyncOpenAI(base_url=os.environ["GATEWAY_URL"], api_key=os.environ["GATEWAY_KEY"], max_retries=0)


@function_tool
def look(step: int, note: str) -> str:
    """Looks at a step."""
    return f"seen {step}"


agent = Agent(
    name="walker",
    model=OpenAIChatCompletionsModel(model=os.environ["GATEWAY_MODEL"], openai_client=client),
    model_settings=ModelSettings(reasoning=Reasoning(effort="medium")),
    tools=[look],
)


async def answer():
    prompt = "Look at every step."
    if os.environ["STREAM"] != "true":
        return (await Runner.run(agent, prompt, max_turns=20)).final_output
    result = Runner.run_streamed(agent, prompt, max_turns=20)
    async for _ in result.stream_events():
        pass
    return result.final_output


async def main():
    try:
        outcome = {"answer": await answer()}
    except APIError as error:
        outcome = {"errorCode": error.code}
    print(json.dumps(outcome))


asyncio.run(main())
