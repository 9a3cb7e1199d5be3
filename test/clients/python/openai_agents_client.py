import os

from agents import Agent, OpenAIProvider, RunConfig

config = RunConfig(
    model_provider=OpenAIProvider(
        base_url=os.environ["GATEWAY_URL"],
        api_key=os.environ["GATEWAY_KEY"],
        # Without it the provider asks for /v1/responses.
        use_responses=False,
    ),
    # Traces go to OpenAI.
    tracing_disabled=True,
)
agent = Agent(name="assistant", model=os.environ["GATEWAY_MODEL"])
# End of the snippet.

from agents import Runner, function_tool

from shared import weather_in


@function_tool
def weather(city: str) -> str:
    """Weather of a city."""
    return weather_in(city)


async def chat(prompt):
    return (await Runner.run(agent, prompt, run_config=config)).final_output


async def stream(prompt):
    result = Runner.run_streamed(agent, prompt, run_config=config)
    events = [event.data async for event in result.stream_events() if event.type == "raw_response_event"]
    return [event.delta for event in events if event.type == "response.output_text.delta"]


async def tool(prompt):
    return (await Runner.run(agent.clone(tools=[weather]), prompt, run_config=config)).final_output
