export OPENAI_API_BASE="$GATEWAY_URL" OPENAI_API_KEY="$GATEWAY_KEY"
# "openai/" is LiteLLM's word for the protocol.
aider --model "openai/$GATEWAY_MODEL" --edit-format diff --no-show-model-warnings --yes-always \
  --message "Change old to new in greeting.txt." greeting.txt
