-- SPDX-License-Identifier: Apache-2.0
-- Segue for LuaJIT. It reads segue-api.json when it is loaded, and contains no list of functions.
--   local segue = require "segue"
--   segue.app_open(app)                 each function without its prefix; a status other than OK is an error
--   segue.out("segue_app *", segue.app_create, "com.example.notes", segue.NUL_TERMINATED)      an output as result
local ffi = require "ffi"
jit.off() -- compiled code must not call a function that calls back (LuaJIT manual, FFI semantics)

local here = debug.getinfo(1, "S").source:match "^@(.*)segue%.lua$"
local file = assert(io.open(os.getenv "SEGUE_API" or here .. "../segue-api.json"))
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

local declarations = {}
local function declare(...) declarations[#declarations + 1] = string.format(...) end
for _, name in ipairs(api.handles) do declare("typedef struct %s %s;", name, name) end
for name, type in pairs(api.types) do declare("typedef %s %s;", c(type), name) end
declare "typedef struct segue_item segue_item;"
for _, each in ipairs(api.callbacks) do declare("typedef %s (*%s)%s", c(each.returns), each.name, signature(each)) end
for _, each in ipairs(api.functions) do declare("%s %s%s", c(each.returns), each.name, signature(each)) end
ffi.cdef(table.concat(declarations, "\n"))

local library = ffi.load(os.getenv "SEGUE_LIBRARY" or api.library)
local segue = {}
for _, each in ipairs(api.constants) do segue[each.name:sub(7)] = each.value end
segue.NUL_TERMINATED = ffi.cast("size_t", -1LL) -- a Lua number holds 53 bits of it
for _, each in ipairs(api.functions) do
  local called = each.name
  segue[called:sub(7)] = each.returns ~= "int32" and function(...) return library[called](...) end or function(...)
    local status = library[called](...)
    if status ~= 0 and called ~= "segue_last_error" and called ~= "segue_status_foundation_code" then
      local message = ffi.new("char[?]", segue.MESSAGE_SIZE)
      library.segue_last_error(message, segue.MESSAGE_SIZE)
      error(ffi.string(library.segue_status_name(status)) .. ": " .. ffi.string(message), 2)
    end
    return status
  end
end

-- Calls a function with its inputs and one output behind them, which is the result.
function segue.out(type, call, ...)
  local result = ffi.new(type .. "[1]")
  local inputs = { n = select("#", ...), ... }
  inputs[inputs.n + 1] = result
  call(unpack(inputs, 1, inputs.n + 1))
  return result[0]
end

-- The text that a getter gives, nil if it is absent.
function segue.text(call, handle)
  local address, length = ffi.new "char *[1]", ffi.new "size_t[1]"
  call(handle, address, length)
  if address[0] == nil then return nil end
  local result = ffi.string(address[0], length[0])
  segue.free(address[0])
  return result
end

return segue
