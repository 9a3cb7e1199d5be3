export OPENAI_API_BASE_URL="$GATEWAY_URL" OPENAI_API_KEY="$GATEWAY_KEY"
open-webui serve --host 127.0.0.1 --port "${PORT:-3000}"
