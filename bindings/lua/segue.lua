-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
-- Segue for LuaJIT. It reads segue-api.json when it is loaded, and contains no list of functions.
--   local segue = require "segue"
--   segue.app_open(app)                 each function without its prefix; a status other than OK is an error
--   segue.out("segue_app *", segue.app_create, "com.example.notes", segue.NUL_TERMINATED)      an output as result
local ffi = require "ffi"
-- For this file alone: compiled code must not call a function that calls back (LuaJIT manual, FFI semantics). Code that
-- calls these functions is not compiled either; all other code in the process is.
jit.off(true, true)

local source = debug.getinfo(1, "S").source
local here = source:match "^@(.*[/\\])[^/\\]*$" or ""

local function first_file(...)
  for _, path in ipairs { ... } do
    local file = io.open(path)
    if file then file:close() return path end
  end
end

-- make install fills in both folders; in the source tree the table is beside this one.
local place = os.getenv "SEGUE_API" or first_file("@TABLEDIR@/segue-api.json", here .. "../segue-api.json")
if not place then error("segue: segue-api.json is neither in @TABLEDIR@ nor named by SEGUE_API", 0) end
local file = assert(io.open(place))
local text = file:read "*a"
file:close()

-- Parses the subset of JSON that the file uses. Returns the value and the position after it.
local function json(at)
  at = text:find("%S", at)
  local first, result = text:sub(at, at), {}
  if first == '"' then return text:match('^"([^"]*)"()', at) end
  if first ~= "{" and first ~= "[" then
    local word, behind = text:match("^([%w.+-]+)()", at)
    if word == "true" or word == "false" then return word == "true", behind end
    return tonumber(word), behind
  end
  at = text:find("[^%s]", at + 1)
  while not text:find("^[%]}]", at) do
    local key = #result + 1
    if first == "{" then key, at = json(at); at = text:match("^%s*:()", at) end
    result[key], at = json(at)
    at = text:match("^%s*,?%s*()", at)
  end
  return result, at + 1
end

local api = json(1)
local C = { size = "size_t", double = "double", bool = "bool", void = "void", pointer = "const char *" }
local function c(type) return C[type] or type .. "_t" end
local function signature(each)
  local parameters = {}
  for i, parameter in ipairs(each.parameters) do parameters[i] = parameter.c end
  return "(" .. table.concat(parameters, ", ") .. ");"
end

local declarations, callbacks = {}, {}
local function declare(...) declarations[#declarations + 1] = string.format(...) end
for _, name in ipairs(api.handles) do declare("typedef struct %s %s;", name, name) end
for name, type in pairs(api.types) do declare("typedef %s %s;", c(type), name) end
declare "typedef struct segue_item segue_item;"
for _, each in ipairs(api.callbacks) do
  callbacks[each.name] = each
  declare("typedef %s (*%s)%s", c(each.returns), each.name, signature(each))
end
for _, each in ipairs(api.functions) do declare("%s %s%s", c(each.returns), each.name, signature(each)) end
declare 'void *segue_lua_allocate(size_t, size_t) __asm__("calloc");'
declare 'void segue_lua_free(void *) __asm__("free");'
declare 'int segue_lua_semaphore(void *, int, unsigned) __asm__("sem_init");'
declare 'int segue_lua_destroyed(void *) __asm__("sem_post");'
declare 'int segue_lua_was_destroyed(void *) __asm__("sem_trywait");'
-- Declarations are for ever: a host that loads the module again has them already.
if not pcall(ffi.typeof, "segue_app") then ffi.cdef(table.concat(declarations, "\n")) end

local path = os.getenv "SEGUE_LIBRARY"
  or first_file("@LIBDIR@/" .. api.library, here .. "../../lib/" .. api.library)
  or api.library
local library = ffi.load(path)
-- Whether the library that is loaded has a function: only the one for tests has a virtual fleet.
local function has(name) return pcall(function() return library[name] end) end
local segue = {}
for _, each in ipairs(api.constants) do
  segue[each.name:sub(7)] = each.type == "double" and tonumber(each.value) or each.value -- "nan" is no JSON number
end
segue.NUL_TERMINATED = ffi.cast("size_t", -1LL) -- a Lua number holds 53 bits of it
local version = library.segue_version()
if bit.rshift(version, 8) ~= bit.rshift(segue.VERSION, 8) then
  error(("segue: %s has version 0x%06x, and %s 0x%06x"):format(path, version, place, segue.VERSION), 0)
end

-- Raises an error that names the line which called this module.
local function raise(...)
  local message, level = string.format(...), 2
  while true do
    local info = debug.getinfo(level, "S")
    if not info then error("segue." .. message, 0) end
    if info.source ~= source and info.what ~= "C" then break end
    level = level + 1
  end
  error("segue." .. message, level)
end

-- Gets the errors of callbacks, with their stack, for people. Replace it where standard error is not read; nil: none.
function segue.report(message) io.stderr:write("segue: ", message, "\n") end

-- Tells the library that a callback has failed. The reason is what the other device may see.
local failures = {
  segue_will_save_function = function(reason, _, save) library.segue_save_fail(save, reason, #reason) end,
  segue_continue_function = function(reason, _, _, continuation)
    library.segue_continuation_fail(continuation, reason, #reason)
  end,
  segue_open_document_function = function(reason, _, _, _, _, continuation)
    library.segue_continuation_complete_opening(continuation, nil, reason, #reason)
  end,
  segue_request_function = function(reason, _, request) library.segue_request_refuse(request, reason, #reason) end,
  segue_did_receive_stream_function = function(_, _, stream) library.segue_stream_abort(stream, 0) end,
}

-- Invariant: what a callback registered with is here until the library has destroyed its context. The context is the
-- address of a semaphore, because its destruction, which may be on any thread, must not run Lua: it counts that up.
local registrations, registration_of, count, limit = {}, {}, 0, 64
local function key(pointer) return tostring(ffi.cast("uintptr_t", pointer)) end

local function forget(each, registration)
  ffi.C.segue_lua_free(registration.address)
  registrations[each], count = nil, count - 1
  if registration_of[registration.handle] == registration then registration_of[registration.handle] = nil end
end

local function sweep()
  for each, registration in pairs(registrations) do
    if ffi.C.segue_lua_was_destroyed(registration.address) == 0 then forget(each, registration) end
  end
  limit = math.max(64, 2 * count)
end

local function register(context)
  if count >= limit then sweep() end
  local address = ffi.C.segue_lua_allocate(1, 64) -- a sem_t has at most 32 bytes
  if address == nil or ffi.C.segue_lua_semaphore(address, 0, 0) ~= 0 then error "not enough memory" end
  local registration = { address = address, context = context, functions = {}, handle = "" }
  registrations[key(address)], count = registration, count + 1
  return registration
end

local has_text = { string = true, number = true, boolean = true, ["nil"] = true }

-- Returns the text of an error. The default text of any other value, such as a table, is an address of this process,
-- which is not for another device: it counts as none.
local function text_of(thrown)
  local made = type(thrown) == "table" and (debug.getmetatable(thrown) or {}).__tostring
  if not made and not has_text[type(thrown)] then return end
  local readable, message = pcall(tostring, thrown)
  return readable and type(message) == "string" and message or nil
end

local function problem(thrown)
  local message = text_of(thrown) or "an error without a text"
  return { message = message, stack = debug.traceback(message, 2) }
end

local replies = { [true] = segue.REPLY_YES, [false] = segue.REPLY_NO }

-- The reply that no result stands for, if that is not yes: unsaved changes are replaced only if the handler says so
-- (R3.10).
local defaults = { segue_will_resume_back_function = function(_, changed) return not changed end }

-- The result for the library. Throws if it is none.
local function answer(returns, result)
  if returns == "bool" then return result ~= false end
  local reply = replies[result] or tonumber(result)
  if reply ~= segue.REPLY_YES and reply ~= segue.REPLY_NO and reply ~= segue.REPLY_LATER then
    error("it gave a " .. type(result) .. ", not REPLY_YES, REPLY_NO or REPLY_LATER", 0)
  end
  return reply
end

-- Returns the C function that a parameter stands for: one for all registrations, since LuaJIT has room for about a
-- thousand in a process.
local function guarded(name, parameter)
  local callback = callbacks[parameter.callback]
  local returns, failure, default = callback.returns, failures[callback.name], defaults[callback.name]
  local function run(registration, ...)
    local result = registration.functions[name](registration.context, ...)
    if returns == "void" then return end
    if result == nil then result = default == nil or default(...) end
    return answer(returns, result)
  end
  return ffi.cast(callback.name, function(address, ...)
    local whole, result = xpcall(run, problem, registrations[key(address)], ...)
    if whole then return result end
    if type(result) ~= "table" then result = { message = tostring(result), stack = tostring(result) } end
    pcall(rawget(segue, "report"), name .. ": " .. result.stack)
    local reason = result.message:gsub("^[^\n]-:%d+: ", "") -- without the path, which is not for another device
    if failure then pcall(failure, reason, ...) end
    if returns == "bool" then return false elseif returns ~= "void" then return segue.REPLY_NO end
  end)
end

-- Refuses what cannot work in Lua, which has one thread.
local function refuse(name, parameters, arguments)
  for i, parameter in ipairs(parameters) do
    local given = arguments[i]
    if type(given) == "function" and (parameter.callback == "segue_destroy" or name == "log_set") then
      raise("%s: %s: other threads would run this function, and Lua has one; %s", name, parameter.name,
        name == "log_set" and "the environment variable SEGUE_LOG shows the log"
        or "give nil: a context lives as long as it is needed")
    end
  end
  -- The library gets what LuaJIT converts the argument to: true, 1.5 and 2^32 + 1 may be 1, too. What it cannot convert
  -- is refused by the call.
  local converts, delivery = pcall(ffi.new, "int32_t", arguments[2])
  if name == "app_set_delivery" and converts and tonumber(delivery) ~= segue.DELIVER_HOST then
    raise("%s: delivery: another thread would run the callbacks, and Lua has one: only DELIVER_HOST", name)
  end
end

-- Refuses what the library would read behind the end of a string of Lua.
local function check_lengths(name, sized, arguments)
  for i, parameter in pairs(sized) do
    local given = arguments[i]
    if type(given) == "string" then
      local length = parameter.size or arguments[parameter.at]
      local is_number, bytes = pcall(ffi.cast, "size_t", type(length) ~= "string" and length or nil)
      if is_number and bytes ~= segue.NUL_TERMINATED and bytes > #given then
        raise("%s: %s: has %d bytes, not %s", name, parameter.name, #given, tostring(length))
      end
    end
  end
end

-- The functions of the module, each made from its description.
local function caller(each)
  local called, name, parameters = each.name, each.name:sub(7), each.parameters
  local names, of_type, takes_functions, context, destroy, guards = {}, {}, false, nil, nil, {}
  local position, sized = {}, nil
  for i, parameter in ipairs(parameters) do position[parameter.name] = i end
  for i, parameter in ipairs(parameters) do
    names[i] = parameter.name
    if parameter.direction == "in" and (parameter.length or parameter.size) then
      sized = sized or {}
      sized[i] = { name = parameter.name, size = parameter.size, at = position[parameter.length] }
    end
    local type = parameter.direction == "in" and parameter.handle
    if type then of_type[type] = (of_type[type] and of_type[type] .. " or " or "") .. parameter.name end
    takes_functions = takes_functions or parameter.role == "callback"
    if parameter.role == "context" then context = i end
    if parameter.callback == "segue_destroy" then destroy = i end
  end

  -- Returns the registration of the functions, and what takes all of this back: the library has not got them.
  local function replace_functions(arguments)
    local registration, former = nil, {}
    for i, parameter in ipairs(parameters) do
      if type(arguments[i]) == "function" and parameter.role == "callback" then
        if destroy and arguments[destroy] ~= nil then raise("%s: destroy: only for functions of C", name) end
        if not registration then
          registration = context and register(arguments[context])
            or type(arguments[1]) == "cdata" and registration_of[key(arguments[1])]
        end
        if not registration then raise("%s: %s: it is released, or was not made by Lua", name, names[1]) end
        local id = parameter.name == "function" and name or name .. "." .. parameter.name
        guards[i] = guards[i] or guarded(id, parameter)
        former[id] = registration.functions[id] or false
        registration.functions[id], arguments[i] = arguments[i], guards[i]
      end
    end
    if context and not registration and type(arguments[context]) ~= "cdata" then
      registration = register(arguments[context])
    end
    if context and registration then
      arguments[context] = registration.address
      arguments[destroy] = ffi.cast("segue_destroy", ffi.C.segue_lua_destroyed)
    end
    return context and registration, function()
      if not registration then return end
      if context then return forget(key(registration.address), registration) end
      for id, replaced in pairs(former) do registration.functions[id] = replaced or nil end
    end
  end

  local function native(...) return library[called](...) end

  return function(...)
    local arguments, given = { ... }, select("#", ...)
    if each.only_in and not has(called) then
      raise("%s: %s has no virtual fleet: set SEGUE_LIBRARY to a path of %s", name, path, api[each.only_in])
    end
    if given ~= #parameters then
      raise("%s: %d arguments instead of %d: (%s)", name, given, #parameters, table.concat(names, ", "))
    end
    if sized then check_lengths(name, sized, arguments) end
    local registration, take_back
    if takes_functions or name == "app_set_delivery" then
      refuse(name, parameters, arguments)
      if takes_functions then registration, take_back = replace_functions(arguments) end
    end
    local done, status = pcall(native, unpack(arguments, 1, given))
    if not done then
      if take_back then take_back() end
      local number, why = tostring(status):match "#(%d+) to '[^']*' %((.*)%)$"
      if number then raise("%s: %s: %s", name, names[tonumber(number)], why) end
      raise("%s: %s", name, (tostring(status):gsub("^[^\n]-:%d+: ", "")))
    end
    if each.returns ~= "int32" or status == 0 or name == "last_error" or name == "status_foundation_code" then
      local created = registration and arguments[#parameters]
      if created and created ~= nil and parameters[#parameters].handle then
        registration.handle = key(created[0])
        registration_of[registration.handle] = registration
      end
      return status
    end
    local message = ffi.new("char[?]", segue.MESSAGE_SIZE)
    library.segue_last_error(message, segue.MESSAGE_SIZE)
    -- The library names the type of a handle.
    local said = ffi.string(message):gsub("^segue_[%w_]+", function(type) return of_type[type] or of_type.any end)
    raise("%s: %s: %s", name, ffi.string(library.segue_status_name(status)), said)
  end
end

for _, each in ipairs(api.functions) do segue[each.name:sub(7)] = caller(each) end

-- Calls a function with its inputs and one output behind them, which is the result.
function segue.out(type, call, ...)
  local known, result = pcall(ffi.new, type .. "[1]")
  if not known then raise("out: type: %s", tostring(result)) end
  local inputs = { n = select("#", ...), ... }
  inputs[inputs.n + 1] = result
  call(unpack(inputs, 1, inputs.n + 1))
  return result[0]
end

-- The text that a getter gives, nil if it is absent. The inputs of the getter come first: a handle, mostly.
function segue.text(call, ...)
  local address, length = ffi.new "char *[1]", ffi.new "size_t[1]"
  local inputs = { n = select("#", ...), ... }
  inputs[inputs.n + 1], inputs[inputs.n + 2] = address, length
  call(unpack(inputs, 1, inputs.n + 2))
  if address[0] == nil then return nil end
  local result = ffi.string(address[0], length[0])
  segue.free(address[0])
  return result
end

-- A misspelt name is an error: as nil, a callback that returns it would answer yes, and what is assigned to it is never
-- called.
return setmetatable(segue, {
  __index = function(_, name) raise("%s: there is no such function or constant", tostring(name)) end,
  __newindex = function(_, name, value)
    if name ~= "report" then raise("%s: cannot be assigned: only report can", tostring(name)) end
    rawset(segue, name, value)
  end,
})
