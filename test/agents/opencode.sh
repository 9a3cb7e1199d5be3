cat >opencode.json <<EOF
{
  "provider": {
    "gateway": {
      "npm": "@ai-sdk/openai-compatible",
      "options": { "baseURL": "{env:GATEWAY_URL}", "apiKey": "{env:GATEWAY_KEY}" },
      "models": { "$GATEWAY_MODEL": { "limit": { "context": 128000, "output": 8192 } } }
    }
  }
}
EOF
opencode run --model "gateway/$GATEWAY_MODEL" "Change old to new in greeting.txt."
