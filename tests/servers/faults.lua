-- Faults in front of a real server, decided request by request; faults.py makes the nginx configuration that calls this.
-- All state is in this table: nginx runs as one process here.
local M = {}

local DEFAULTS = {
  seed = 1,
  latency_ms = 0, jitter_ms = 0,      -- added before the request goes on: latency + uniform(0, jitter)
  share_503 = 0, share_503_retry = 0, -- SlowDown without and with Retry-After
  retry_after_s = 1,
  share_closed = 0,                   -- closed without an answer
  share_truncated = 0,                -- half of the body, then closed (GET)
  share_stalled = 0,                  -- half of the body, then nothing for ever (GET)
  share_never = 0,                    -- never answered
  share_slow = 0, slow_bytes_per_s = 10000,
  token_lifetime_s = 0,               -- session tokens seen first longer ago are ExpiredToken; 0: never
}
-- One draw decides, so the shares are exclusive; the order is that of the documentation.
local KINDS = { "503", "503_retry", "closed", "truncated", "stalled", "never", "slow" }
local CUT = { truncated = true, stalled = true, slow = true } -- these are about bodies: GET alone has them
local FOR_EVER_S = 3600

local settings, counts, tokens, in_flight
local outage = { till = 0, kind = "closed" }
local resets = 0 -- what hangs "for ever" ends at the next one, so that no test leaves a request in flight to those after it

local function clear_counts()
  counts = { requests = 0, finished = 0, bytes_sent = 0, peak_in_flight = in_flight, answered_2xx = 0, answered_4xx = 0,
             answered_5xx = 0, outage = 0, expired_token = 0, gone_clients = 0 }
  for _, kind in ipairs(KINDS) do counts["fault_" .. kind] = 0 end
end

local function clear()
  resets = resets + 1
  settings, tokens, outage = {}, {}, { till = 0, kind = "closed" }
  for key, value in pairs(DEFAULTS) do settings[key] = value end
  clear_counts()
end

in_flight = 0
clear()

-- Two numbers in [0, 1) that follow from the seed and the number of the request alone.
local function draw(number)
  local bytes = ngx.md5_bin(settings.seed .. ":" .. number)
  local function at(i)
    local a, b, c, d = bytes:byte(i, i + 3)
    return (((a * 256 + b) * 256 + c) * 256 + d) / 4294967296
  end
  return at(1), at(5)
end

local function choose(number)
  local first, second = draw(number)
  for _, kind in ipairs(KINDS) do
    local share = settings["share_" .. kind]
    if first < share then return (not CUT[kind] or ngx.req.get_method() == "GET") and kind or nil, second end
    first = first - share
  end
  return nil, second
end

local function refuse(status, code, headers)
  ngx.status = status
  ngx.header["Content-Type"] = "application/xml"
  for key, value in pairs(headers or {}) do ngx.header[key] = value end
  local text = '<?xml version="1.0" encoding="UTF-8"?><Error><Code>' .. code .. "</Code><Message>Told by the test's proxy."
    .. "</Message></Error>"
  ngx.header["Content-Length"] = #text
  if ngx.req.get_method() ~= "HEAD" then ngx.print(text) end
  return ngx.exit(status)
end

local function hang()
  local before, till = resets, ngx.now() + FOR_EVER_S
  while resets == before and ngx.now() < till do ngx.sleep(0.25) end
end

local function in_outage() return ngx.now() < outage.till end

local function fail_by(kind)
  if kind == "503" then return refuse(503, "SlowDown") end
  if kind == "503_retry" then return refuse(503, "SlowDown", { ["Retry-After"] = settings.retry_after_s }) end
  if kind == "never" then
    ngx.req.read_body() -- bytes that nobody read hide the client's end from nginx, and the request would stay in flight for ever
    hang()
  end
  return ngx.exit(444)
end

local function during_outage()
  counts.outage = counts.outage + 1
  return fail_by(outage.kind)
end

local function token_is_old()
  local token = ngx.var.http_x_amz_security_token
  if not token then return false end
  tokens[token] = tokens[token] or ngx.now()
  return settings.token_lifetime_s > 0 and ngx.now() - tokens[token] > settings.token_lifetime_s
end

-- access_by_lua
function M.access()
  ngx.var.faults_counted = "1"
  counts.requests = counts.requests + 1
  in_flight = in_flight + 1
  counts.peak_in_flight = math.max(counts.peak_in_flight, in_flight)
  local kind, jitter = choose(counts.requests)
  if in_outage() then return during_outage() end
  local wait_ms = settings.latency_ms + jitter * settings.jitter_ms
  if wait_ms > 0 then
    ngx.sleep(wait_ms / 1000)
    if in_outage() then return during_outage() end
  end
  if token_is_old() then
    counts.expired_token = counts.expired_token + 1
    return refuse(400, "ExpiredToken")
  end
  if not kind then return end
  counts["fault_" .. kind] = counts["fault_" .. kind] + 1
  if CUT[kind] then
    ngx.var.faults_cut = kind
    return ngx.exec("@cut")
  end
  return fail_by(kind)
end

local function give_slowly(body)
  local piece = math.max(1, math.floor(settings.slow_bytes_per_s / 10))
  for at = 1, #body, piece do
    if not ngx.print(body:sub(at, at + piece - 1)) or not ngx.flush(true) then return end
    ngx.sleep(0.1)
  end
end

-- content_by_lua of @cut: the whole answer is taken, half of it is given, or all of it in small pieces.
function M.cut()
  local answer = ngx.location.capture("/__whole")
  ngx.status = answer.status
  for key, value in pairs(answer.header) do
    if key ~= "Connection" and key ~= "Transfer-Encoding" then ngx.header[key] = value end
  end
  ngx.header["Content-Length"] = #answer.body
  if ngx.var.faults_cut == "slow" then return give_slowly(answer.body) end
  ngx.print(answer.body:sub(1, math.floor(#answer.body / 2)))
  ngx.flush(true)
  if ngx.var.faults_cut == "stalled" then hang() end
  return ngx.exit(444)
end

-- body_filter_by_lua: an outage also cuts what is being sent.
function M.body()
  if in_outage() and (outage.kind == "closed" or outage.kind == "never") then return ngx.ERROR end
end

-- log_by_lua
function M.finished()
  if ngx.var.faults_counted ~= "1" then return end
  in_flight = in_flight - 1
  counts.finished = counts.finished + 1
  counts.bytes_sent = counts.bytes_sent + (tonumber(ngx.var.body_bytes_sent) or 0)
  local status = ngx.status
  if status == 499 then counts.gone_clients = counts.gone_clients + 1 end
  local class = "answered_" .. math.floor(status / 100) .. "xx"
  if counts[class] and status ~= 444 and status ~= 499 then counts[class] = counts[class] + 1 end
end

local function json(value)
  if type(value) ~= "table" then return type(value) == "string" and '"' .. value .. '"' or tostring(value) end
  local keys, parts = {}, {}
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys)
  for _, key in ipairs(keys) do parts[#parts + 1] = '"' .. key .. '": ' .. json(value[key]) end
  return "{" .. table.concat(parts, ", ") .. "}"
end

local function misuse(text)
  ngx.status = 400
  ngx.say(json({ error = text }))
  return ngx.exit(400)
end

local function set(arguments)
  for key, value in pairs(arguments) do
    if DEFAULTS[key] == nil then return misuse("no such setting: " .. key) end
    if not tonumber(value) or tonumber(value) < 0 then return misuse(key .. " is no number from 0") end
  end
  for key, value in pairs(arguments) do settings[key] = tonumber(value) end
end

local function begin_outage(arguments)
  local seconds, kind = tonumber(arguments.seconds), arguments.kind or "closed"
  if not seconds then return misuse("outage needs seconds=") end
  if kind ~= "closed" and kind ~= "never" and kind ~= "503" then return misuse("kind is closed, never or 503") end
  outage = { till = ngx.now() + seconds, kind = kind }
end

local ACTIONS = { ["/status"] = function() end, ["/set"] = set, ["/reset"] = clear, ["/reset_counts"] = clear_counts,
                  ["/outage"] = begin_outage }

-- content_by_lua of the control server
function M.control()
  ngx.update_time()
  local action = ACTIONS[ngx.var.uri]
  ngx.header["Content-Type"] = "application/json"
  if not action then return misuse("there are /status, /set, /reset, /reset_counts, /outage") end
  action(ngx.req.get_uri_args())
  local answer = { settings = settings, counts = counts, in_flight = in_flight,
                   outage_s = math.max(0, outage.till - ngx.now()), connections = tonumber(ngx.var.connections_active) }
  ngx.say(json(answer))
end

return M
