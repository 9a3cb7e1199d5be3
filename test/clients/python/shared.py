"""What the acts of all clients share."""

WEATHER = {
    "name": "weather",
    "description": "Weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def weather_in(city):
    """The only tool: what it answers depends on the argument that the model sent."""
    return f"21 degrees and sunny in {city}"


class NotThrown(Exception):
    """An error that a client reports in its result: `name` is what the caller sees of it."""

    def __init__(self, name, message):
        super().__init__(message)
        self.name = name
