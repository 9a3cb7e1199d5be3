import os

import instructor
from openai import OpenAI

client = instructor.from_openai(OpenAI(base_url=os.environ["GATEWAY_URL"], api_key=os.environ["GATEWAY_KEY"]))
model = os.environ["GATEWAY_MODEL"]
# End of the snippet.

from pydantic import BaseModel

from shared import weather_in


class Greeting(BaseModel):
    text: str


class weather(BaseModel):
    """The library names the tool, by whose arguments the model answers, as the class."""

    city: str


def user_says(content):
    return [{"role": "user", "content": content}]


def chat(prompt):
    return client.create(model=model, messages=user_says(prompt), response_model=Greeting).text


def stream(prompt):
    partials = client.create_partial(model=model, messages=user_says(prompt), response_model=Greeting)
    texts = [""] + [partial.text or "" for partial in partials]
    return [text[len(before) :] for before, text in zip(texts, texts[1:]) if text != before]


def tool(prompt):
    city = client.create(model=model, messages=user_says(prompt), response_model=weather).city
    messages = user_says(prompt) + user_says(weather_in(city))
    return client.create(model=model, messages=messages, response_model=Greeting).text
