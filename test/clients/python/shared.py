"""Shared by the acts of all clients."""

WEATHER = {
    "name": "weather",
    "description": "Weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def weather_in(city):
    """The only tool. Its result depends on the model's argument."""
    return f"21 degrees and sunny in {city}"


class NotThrown(Exception):
    """An error that a client reports in its result instead of raising it. `name` is what the caller sees."""

    def __init__(self, name, message):
        super().__init__(message)
        self.name = name
