"""A tool as people write it in Open WebUI, whose server runs it."""

from pathlib import Path


class Tools:
    def change_file(self, path: str, old: str, new: str) -> str:
        """
        Replaces text in a file.
        :param path: The file.
        :param old: The text that is there.
        :param new: The text that replaces it.
        """
        file = Path(path)
        file.write_text(file.read_text().replace(old, new))
        return "changed"
