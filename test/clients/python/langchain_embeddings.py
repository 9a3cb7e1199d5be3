"""Prints the vectors of two texts, as LangChain's callers get them."""

import json
import os

from langchain_openai import OpenAIEmbeddings

embeddings = OpenAIEmbeddings(
    model=os.environ["GATEWAY_MODEL"],
    base_url=os.environ["GATEWAY_URL"],
    api_key=os.environ["GATEWAY_KEY"],
    # Otherwise it fetches a tokenizer.
    check_embedding_ctx_length=False,
)
print(json.dumps(embeddings.embed_documents(["old", "new"])))
