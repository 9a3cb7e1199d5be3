mkdir -p ~/.codex
cat >~/.codex/gateway.config.toml <<TOML
model = "$GATEWAY_MODEL"
model_provider = "gateway"
[model_providers.gateway]
name = "Gateway"
base_url = "$GATEWAY_URL"
env_key = "GATEWAY_KEY"
wire_api = "responses"
TOML
codex exec --profile gateway --sandbox workspace-write --skip-git-repo-check \
  "Change old to new in greeting.txt."
