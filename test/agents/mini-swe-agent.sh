export OPENAI_API_BASE="$GATEWAY_URL" OPENAI_API_KEY="$GATEWAY_KEY"
# Prices of the model are unknown to it. By default it makes ten attempts, in four minutes.
export MSWEA_COST_TRACKING=ignore_errors MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT=3
# "openai/" is LiteLLM's word for the protocol.
mini --model "openai/$GATEWAY_MODEL" --yolo --exit-immediately --task "Change old to new in greeting.txt."
