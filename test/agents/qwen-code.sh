export OPENAI_BASE_URL="$GATEWAY_URL" OPENAI_API_KEY="$GATEWAY_KEY" OPENAI_MODEL="$GATEWAY_MODEL"
export QWEN_CODE_MAX_OUTPUT_TOKENS=8192
qwen --auth-type openai --yolo --prompt "Change old to new in greeting.txt."
