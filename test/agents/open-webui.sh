export OPENAI_API_BASE_URL="$GATEWAY_URL" OPENAI_API_KEY="$GATEWAY_KEY"
# Embeddings. Without all four it loads a model of its own, or sends texts to OpenAI.
export RAG_EMBEDDING_ENGINE=openai RAG_EMBEDDING_MODEL="$GATEWAY_EMBEDDING_MODEL"
export RAG_OPENAI_API_BASE_URL="$GATEWAY_URL" RAG_OPENAI_API_KEY="$GATEWAY_KEY"
open-webui serve --host 127.0.0.1 --port "${PORT:-3000}"
