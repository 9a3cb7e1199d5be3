mkdir -p ~/.codex
cat >~/.codex/gateway.config.toml <<TOML
model = "$GATEWAY_MODEL"
model_provider = "gateway"
# The context_window of the model. Codex assumes 272000.
model_context_window = 128000
[model_providers.gateway]
name = "Gateway"
base_url = "$GATEWAY_URL"
env_key = "GATEWAY_KEY"
wire_api = "responses"
TOML
# --output-schema is refused: the gateway streams no JSON format.
codex exec --profile gateway --sandbox workspace-write --skip-git-repo-check \
  "Change old to new in greeting.txt."
