-- Settles or raises a reservation. Idempotent: without the reservation nothing happens.
-- KEYS: buckets in pairs of requests and tokens, then the reservation. ARGV: capacity of each bucket; then the tokens
-- used, the requests to return, and the new TTL of the reservation in seconds (0 settles it).
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local count = #KEYS - 1
local used, requests, ttl = tonumber(ARGV[count + 1]), tonumber(ARGV[count + 2]), tonumber(ARGV[count + 3])
local debited = tonumber(redis.call('HGET', KEYS[count + 1], 'd'))
if not debited then
  -- An undone charge may still be on its way, on another connection: the mark makes it take nothing.
  if requests > 0 then
    redis.call('HSET', KEYS[count + 1], 'd', '')
    redis.call('EXPIRE', KEYS[count + 1], 10)
  end
  return 0
end
for i = 1, count do
  local capacity = tonumber(ARGV[i])
  local give = requests
  if i % 2 == 0 then give = debited - used end
  if give ~= 0 then
    local held = redis.call('HMGET', KEYS[i], 'v', 't')
    local level = tonumber(held[1]) or capacity
    level = math.min(capacity, level + math.max(0, now - (tonumber(held[2]) or now)) * capacity / 60000)
    level = math.min(capacity, level + give)
    redis.call('HSET', KEYS[i], 'v', string.format('%.3f', level), 't', now)
    local full = math.ceil((capacity - level) * 60000 / math.max(capacity, 1)) + 60000
    redis.call('PEXPIRE', KEYS[i], string.format('%.0f', math.min(full, 1e12)))
  end
end
if ttl == 0 then
  redis.call('DEL', KEYS[count + 1])
else
  redis.call('HSET', KEYS[count + 1], 'd', used)
  redis.call('EXPIRE', KEYS[count + 1], ttl)
end
return 1
