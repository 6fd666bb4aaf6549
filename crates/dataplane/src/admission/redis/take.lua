-- Takes the cost from every bucket, or nothing from any.
-- KEYS: buckets in pairs of requests and tokens, then the reservation. ARGV: for each bucket its capacity, the cost, the
-- level to start with if there is no such bucket, and what the node granted on its own (both in thousandths); then the
-- tokens of the reservation and its TTL in seconds.
-- Returns the wait in milliseconds and the number of the bucket that requires it (0, 0 if admitted), then the levels.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local count = #KEYS - 1
local wait, slowest, levels, changed = 0, 0, {}, false
for i = 1, count do
  local capacity, cost = tonumber(ARGV[4 * i - 3]), tonumber(ARGV[4 * i - 2])
  local rate = capacity / 60000
  local held = redis.call('HMGET', KEYS[i], 'v', 't')
  local level = tonumber(held[1])
  if not level then
    level = math.min(capacity, tonumber(ARGV[4 * i - 1]) / 1000)
    changed = changed or level < capacity
  else
    level = math.min(capacity, level + math.max(0, now - (tonumber(held[2]) or now)) * rate)
    if ARGV[4 * i] ~= '0' then
      -- Nodes that granted more than there was leave the bucket empty, not in debt.
      level = math.min(capacity, math.max(level - tonumber(ARGV[4 * i]) / 1000, math.min(level, 0)))
      changed = true
    end
  end
  levels[i] = level
  local need = math.min(cost, capacity)
  if cost > 0 and need < 1 then need = 1 end
  if level < need then
    local missing = 3600000
    if rate > 0 then missing = math.ceil((need - level) / rate) end
    if missing > wait then wait, slowest = missing, i end
  end
end
-- The reservation exists if the charge came so late that it was undone before.
local taken = wait == 0 and redis.call('HSETNX', KEYS[count + 1], 'd', ARGV[4 * count + 1]) == 1
if taken or changed then
  for i = 1, count do
    local capacity, level = tonumber(ARGV[4 * i - 3]), levels[i]
    if taken then level = level - tonumber(ARGV[4 * i - 2]) end
    levels[i] = level
    redis.call('HSET', KEYS[i], 'v', string.format('%.3f', level), 't', now)
    -- A bucket never expires while its level is negative.
    local full = math.ceil((capacity - level) * 60000 / math.max(capacity, 1)) + 60000
    redis.call('PEXPIRE', KEYS[i], string.format('%.0f', math.min(full, 1e12)))
  end
end
if taken then redis.call('EXPIRE', KEYS[count + 1], ARGV[4 * count + 2]) end
-- Larger numbers are not exact in Redis.
local response = { math.min(wait, 1e12), slowest }
for i = 1, count do response[i + 2] = math.max(math.floor(levels[i]), -1e15) end
return response
