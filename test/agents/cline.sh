cline auth openai-compatible --baseurl "$GATEWAY_URL" --apikey "$GATEWAY_KEY" --modelid "$GATEWAY_MODEL"
cline --provider openai-compatible "Change old to new in greeting.txt."
