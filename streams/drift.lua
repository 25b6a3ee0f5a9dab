-- Takes updates of subjects in, each subject as one step. The same rule as state.drift.Entity; tests hold the
-- two together.
--
-- KEYS: one for each subject; its other keys are named after it, and share its hash tag and so its node.
-- ARGV: generation, how long what is retired is kept (ms), how many of them, how long the keys live (ms); then
-- for each subject, in MessagePack, {namespace, name, updates}, each update
--   {topic, offset, spelling, kind of alert or "", since, lifetime,
--    fact, version, bearing, told, at, declared, cause}
-- Instants and versions are text, because a number of Lua is written with too few digits.
local generation, kept_ms, kept_max, live_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local FIRST = 4
local REGISTERS = '^(%d)|(%d+)|(%d+)|(%d+)|(%-?%d*)|(%-?%d+)|(%d)|(.*)$'

local function let_go(keys, ids)
  for _, id in ipairs(ids) do
    redis.call('HDEL', keys.facts, id)
    redis.call('ZREM', keys.places, id)
    redis.call('ZREM', keys.drift, id)
    redis.call('ZREM', keys.churn, id)
  end
end

local function tidy(keys)
  local newest = redis.call('ZRANGE', keys.places, -1, -1, 'WITHSCORES')[2]
  if not newest then return end
  local reach = tonumber(newest) - kept_ms
  if tonumber(redis.call('ZRANGE', keys.places, 0, 0, 'WITHSCORES')[2]) <= reach then
    let_go(keys, redis.call('ZRANGEBYSCORE', keys.places, '-inf', reach))
  end
  local surplus = redis.call('ZCARD', keys.places) - kept_max
  if surplus > 0 then let_go(keys, redis.call('ZRANGE', keys.places, 0, surplus - 1)) end
end

-- Changes `entity`, the fields of the subject, by an alert.
local function take_alert(entity, kind, since, lifetime)
  entity[(kind == 'unstable' or kind == 'stable') and 'unstable' or 'churning'] = since
  if lifetime > tonumber(entity.said) then entity.said = lifetime end
end

-- Changes `entity` and the retired facts by an event of a fact.
local function take_news(keys, entity, id, version, bearing, told, at, declared, cause)
  local is_in, told_by, dated_by, counted, held_at, place, held_declared, held_cause
  local held = redis.call('HGET', keys.facts, id)
  if held then
    is_in, told_by, dated_by, counted, held_at, place, held_declared, held_cause =
      string.match(held, REGISTERS)
  else
    is_in, told_by, dated_by, counted = '0', '0', '0', '0'
    held_at, held_declared, held_cause = '', declared, cause
    place = at ~= '' and at or redis.call('ZRANGE', keys.places, -1, -1, 'WITHSCORES')[2] or '0'
  end
  local number = tonumber(version)
  if told == '1' and number > tonumber(counted) then
    counted = version
    entity.lifetime = entity.lifetime + 1
  end
  if bearing ~= 'moves' and number > tonumber(told_by) then
    told_by = version
    is_in = bearing == 'enters' and '1' or '0'
  end
  if number > tonumber(dated_by) then
    if held and held_declared ~= declared then
      redis.call('ZREM', held_declared == '1' and keys.drift or keys.churn, id)
    end
    dated_by, held_at, held_declared, held_cause = version, at, declared, cause
    if at ~= '' then place = at end
  end
  redis.call('HSET', keys.facts, id, table.concat(
    {is_in, told_by, dated_by, counted, held_at, place, held_declared, held_cause}, '|'))
  redis.call('ZADD', keys.places, place, id)
  local window = held_declared == '1' and keys.drift or keys.churn
  if is_in == '1' and held_at ~= '' then
    redis.call('ZADD', window, held_at, id)
  elseif held then
    redis.call('ZREM', window, id)
  end
end

local function new_entity()
  return {generation = generation, spelling = '', lifetime = 0, said = 0, unstable = '', churning = ''}
end

local function take(key, namespace, name, updates)
  local keys = {
    facts = key .. ':facts', places = key .. ':places', drift = key .. ':drift', churn = key .. ':churn',
  }
  local entity = new_entity()
  local held = redis.call('HGETALL', key)
  for i = 1, #held, 2 do entity[held[i]] = held[i + 1] end
  -- Whoever still fills what was emptied must not be taken for a part of what is filled anew, nor spoil it.
  if entity.generation > generation then return end
  if entity.generation < generation then
    redis.call('DEL', key, keys.facts, keys.places, keys.drift, keys.churn)
    entity = new_entity()
  end
  local has_news, n_taken = false, 0
  for _, u in ipairs(updates) do
    local mark = 'applied:' .. u[1]
    if u[2] >= tonumber(entity[mark] or 0) then
      n_taken = n_taken + 1
      entity[mark], entity.spelling = u[2] + 1, u[3]
      if u[4] ~= '' then
        take_alert(entity, u[4], u[5], u[6])
      else
        has_news = true
        take_news(keys, entity, u[7], u[8], u[9], u[10], u[11], u[12], u[13])
      end
    end
  end
  if n_taken == 0 then return end
  entity.namespace, entity.name = namespace, name
  local fields = {}
  for field, value in pairs(entity) do
    fields[#fields + 1] = field
    fields[#fields + 1] = value
  end
  redis.call('HSET', key, unpack(fields))
  if has_news then
    tidy(keys)
    for _, other in pairs(keys) do redis.call('PEXPIRE', other, live_ms) end
  end
end

for number, key in ipairs(KEYS) do take(key, unpack(cmsgpack.unpack(ARGV[FIRST + number]))) end
return #KEYS
