import os

import dspy

# "openai/" is LiteLLM's word for the protocol.
lm = dspy.LM(
    f"openai/{os.environ['GATEWAY_MODEL']}",
    api_base=os.environ["GATEWAY_URL"],
    api_key=os.environ["GATEWAY_KEY"],
)
dspy.configure(lm=lm)
# End of the snippet.

from shared import weather_in


def weather(city: str) -> str:
    """Weather of a city."""
    return weather_in(city)


# The refusal must come from the gateway.
dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)


def chat(prompt):
    return dspy.Predict("prompt -> answer")(prompt=prompt).answer


async def stream(prompt):
    listeners = [dspy.streaming.StreamListener(signature_field_name="answer")]
    predict = dspy.streamify(dspy.Predict("prompt -> answer"), stream_listeners=listeners)
    return [part.chunk async for part in predict(prompt=prompt) if isinstance(part, dspy.streaming.StreamResponse)]


def tool(prompt):
    return dspy.ReAct("prompt -> answer", tools=[weather])(prompt=prompt).answer
