"""Prints the vectors of two texts, as LlamaIndex's callers get them."""

import json
import os

from llama_index.embeddings.openai_like import OpenAILikeEmbedding

embeddings = OpenAILikeEmbedding(
    model_name=os.environ["GATEWAY_MODEL"],
    api_base=os.environ["GATEWAY_URL"],
    api_key=os.environ["GATEWAY_KEY"],
)
print(json.dumps(embeddings.get_text_embedding_batch(["old", "new"])))
