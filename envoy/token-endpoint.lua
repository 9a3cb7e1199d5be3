-- Corrects the requests that Envoy 1.39.3 sends to the token endpoint of a provider, and the
-- responses that it cannot handle (docs/design.md, "Authorization by Envoy").

local SECONDS_WITHOUT_EXPIRY = 300
local LEAST_SECONDS = 2
local MOST_SECONDS = 86400
-- The search in 100 MB holds up Envoy's main thread for two seconds.
local MOST_BYTES = 262144

-- Envoy does not encode "+" and " " in a form, and adds headers with addresses of this machine.
function envoy_on_request(handle)
  local body = handle:body(true)
  local form = body:getBytes(0, body:length()):gsub("%+", "%%2B"):gsub(" ", "+")
  local length = body:setBytes(form)
  local headers = handle:headers()
  headers:replace("content-length", tostring(length))
  headers:remove("x-forwarded-for")
  headers:remove("x-envoy-internal")
  headers:remove("x-envoy-expected-rq-timeout-ms")
end

-- Some issuers escape "/", or "=" (Gson), although JSON does not require it.
local function token_in(text)
  local token = (text:match('"access_token"%s*:%s*"([^"]+)"') or "")
    :gsub("\\/", "/")
    :gsub("\\u00(%x%x)", function(code) return string.char(tonumber(code, 16)) end)
  return token:match('^[!-~]+$') and not token:find('["\\]') and token
end

-- Envoy never retries after a 200 that it cannot parse, fetches tokens without a pause if they are
-- valid for a second, and logs the body of a response that it rejects.
function envoy_on_response(handle)
  local body = handle:body(true)
  local text = body:length() > MOST_BYTES and "" or body:getBytes(0, body:length())
  local headers = handle:headers()
  local answer = ""
  if headers:get(":status") == "200" then
    local token = token_in(text)
    local seconds = tonumber(text:match('"expires_in"%s*:%s*"?([.%d][-+.%deE]*)')) or SECONDS_WITHOUT_EXPIRY
    if token then
      local bounded = math.min(math.max(seconds, LEAST_SECONDS), MOST_SECONDS)
      answer = string.format('{"access_token":"%s","expires_in":%d}', token, bounded)
    else
      headers:replace(":status", "502")
    end
  end
  headers:remove("content-length")
  body:setBytes(answer)
end
