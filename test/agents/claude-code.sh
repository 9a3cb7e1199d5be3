export ANTHROPIC_BASE_URL="${GATEWAY_URL%/v1}" ANTHROPIC_AUTH_TOKEN="$GATEWAY_KEY"
export ANTHROPIC_MODEL="$GATEWAY_MODEL" CLAUDE_CODE_MAX_OUTPUT_TOKENS=8192
# The context_window of the model. Claude Code assumes 1000000.
export CLAUDE_CODE_MAX_CONTEXT_TOKENS=128000
# Not for a model with a price for cache writes.
export DISABLE_PROMPT_CACHING=1
claude --permission-mode acceptEdits --print "Change old to new in greeting.txt."
