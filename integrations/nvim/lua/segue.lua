-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
-- Handoff for Neovim: file, cursor, selection and unsaved text, over the lines of `segue stdio`. Everything is
-- asynchronous. Nothing is done while one types: the state is read when somebody continues it.
local M, settings = { offers = {} }, vim.g.segue or {}
local api, fn = vim.api, vim.fn
-- A line has escapes of JSON; a message without them has at most 16 MiB.
local TYPE, LINE, MESSAGE = "SegueActivityTypeEditingText", 24 * 1024 * 1024, 16 * 1024 * 1024 - 65536
local LANGUAGES = { sh = "shellscript", cs = "csharp", tex = "latex", gitcommit = "git-commit" }
local FILETYPES = { shellscript = "sh", csharp = "cs", latex = "tex", ["git-commit"] = "gitcommit" }
local job, number, waiting, read_at, offered = nil, 0, {}, {}, {}
local function say(text) vim.notify("Handoff: " .. text, vim.log.levels.INFO) end
local function warn(text) vim.notify("Handoff: " .. text, vim.log.levels.WARN) end

-- Sends a message. Returns false if it is no text that others could read: json_encode refuses what is no UTF-8.
local function send(message)
  local ok, line = pcall(fn.json_encode, vim.tbl_extend("keep", { jsonrpc = "2.0" }, message))
  if ok and #line < MESSAGE and job then fn.chansend(job, line .. "\n") end
  return ok and #line < MESSAGE
end

local function call(method, params, failed)
  number = number + 1
  waiting[number] = failed or function(failure) warn(failure.message) end
  send({ id = number, method = method, params = params })
end

local function refuse(id, reason) send({ id = id, error = { code = -32000, message = tostring(reason) } }) end
local function invalidate(buffer) call("activity/invalidate", { activity = tostring(buffer) }, function() end) end
local name_of = api.nvim_buf_get_name

-- Columns count Unicode scalars from 1.
local function column(buffer, line, byte)
  local text = api.nvim_buf_get_lines(buffer, line - 1, line, false)[1] or ""
  return (vim.str_utfindex(text:sub(1, byte))) + 1
end

-- Returns the digest of a file that has not changed since it was read or written, and can be read without a pause.
local function digest(buffer)
  local path = name_of(buffer)
  if read_at[buffer] ~= fn.getftime(path) or fn.getfsize(path) > 1024 * 1024 then return end
  local file = io.open(path, "rb")
  local ok, sum = pcall(fn.sha256, file and file:read("*a")) -- refuses a text with NUL
  if file then return ok and "sha-256:" .. sum or nil, file:close() end
end

local function state(buffer)
  local options, name = vim.bo[buffer], name_of(buffer)
  local info = { lineEnding = ({ unix = "lf", dos = "crlf", mac = "cr" })[options.fileformat] }
  if name ~= "" then info.url, info.contentDigest = vim.uri_from_fname(name), digest(buffer) end
  if options.filetype ~= "" then info.language = LANGUAGES[options.filetype] or options.filetype end
  if options.fileencoding ~= "" and options.fileencoding ~= "utf-8" then info.encoding = options.fileencoding end
  if options.modified or name == "" or fn.filereadable(name) == 0 then
    local lines = api.nvim_buf_get_lines(buffer, 0, -1, false)
    assert(not table.concat(lines):find("\n"), "the text has a NUL") -- a LF inside of a line stands for it
    info.text = table.concat(lines, "\n") .. (options.endofline and "\n" or "")
  end
  local window = fn.bufwinid(buffer)
  local cursor = window ~= -1 and api.nvim_win_get_cursor(window)
  if not cursor then return info end
  info.line, info.column = cursor[1], column(buffer, cursor[1], cursor[2])
  info.firstVisibleLine = fn.line("w0", window)
  if window == api.nvim_get_current_win() and fn.mode():find("^[vV\22]") then
    local other = fn.getpos("v")
    info.anchorLine, info.anchorColumn = other[2], column(buffer, other[2], other[3] - 1)
  end
  return info
end

-- Offers a buffer. A session has 64 activities, so the oldest are withdrawn: the current one alone is offered.
local function offer(buffer)
  if not job or not api.nvim_buf_is_valid(buffer) or vim.bo[buffer].buftype ~= "" then return end
  if name_of(buffer) == "" and not vim.bo[buffer].modified then return end
  offered = vim.tbl_filter(function(each) return each ~= buffer end, offered)
  table.insert(offered, buffer)
  if #offered > 32 then invalidate(table.remove(offered, 1)) end
  local title = fn.fnamemodify(name_of(buffer), ":t")
  call("activity/set", { activity = tostring(buffer), type = TYPE, title = title ~= "" and title or "[No Name]" })
  call("activity/current", { activity = tostring(buffer) })
end

-- Moves the cursor to a line and a column, or as near as the text allows.
local function move(line, at)
  line = math.max(1, math.min(line, api.nvim_buf_line_count(0)))
  local text = api.nvim_buf_get_lines(0, line - 1, line, false)[1] or ""
  at = vim.str_byteindex(text, math.max(0, math.min((at or 1) - 1, vim.str_utfindex(text))))
  api.nvim_win_set_cursor(0, { line, at })
end

-- Loads the buffer of a continued text. Returns nil and a reason if the text is not taken.
local function load(info)
  if not info.url then return api.nvim_create_buf(true, false) end
  if not info.url:find("^file:///") then return nil, "not a file of this machine" end
  local path, shortmess = vim.uri_to_fname(info.url), vim.o.shortmess
  if fn.filereadable(path) == 0 and not info.text then return nil, "there is no file " .. path end
  local status = vim.loop.fs_stat(path)
  if status and status.type ~= "file" then return nil, "not a file" end -- a pipe would be waited for
  local buffer = fn.bufadd(path)
  if info.text and fn.bufloaded(buffer) == 1 and vim.bo[buffer].modified then return nil, "unsaved changes here" end
  vim.o.shortmess = shortmess .. "A" -- a swap file asks nothing
  local ok = pcall(fn.bufload, buffer)
  vim.o.shortmess = shortmess
  if not ok then return nil, "the file cannot be read" end
  vim.bo[buffer].buflisted = true
  local here = info.contentDigest and digest(buffer)
  if here and here ~= info.contentDigest then warn(path .. " is another version here") end
  return buffer
end

-- Shows a continued text. Returns false and a reason if it is not taken.
local function show(info)
  local buffer, reason = load(info)
  if not buffer then return false, reason end
  if info.text then
    local lines = vim.split(info.text, "\n", { plain = true })
    local options, ends = vim.bo[buffer], lines[#lines] == ""
    if ends then table.remove(lines) end
    api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
    options.endofline, options.fixendofline = ends, ends and options.fixendofline
    if not info.url and info.language then options.filetype = FILETYPES[info.language] or info.language end
  end
  if not pcall(api.nvim_set_current_buf, buffer) then vim.cmd("sbuffer " .. buffer) end
  if info.firstVisibleLine then fn.winrestview({ topline = info.firstVisibleLine }) end
  local has_selection = info.line and info.anchorLine
  if has_selection then move(info.anchorLine, info.anchorColumn) end
  if has_selection then vim.cmd("normal! v") end
  if info.line then move(info.line, info.column) end
  return true
end

local handlers = {}
handlers["offers/changed"] = function(params) M.offers = params.offers end
handlers["continuation/failed"] = function(params) warn(params.error.message) end
handlers["activity/save"] = function(params, id)
  local buffer = tonumber(params.activity)
  if not buffer or not api.nvim_buf_is_valid(buffer) then return refuse(id, "the buffer is gone") end
  if not send({ id = id, result = { userInfo = state(buffer) } }) then refuse(id, "it is too large, or no UTF-8") end
end
handlers["continuation/continue"] = function(params, id)
  local handled, reason = show(params.userInfo)
  send({ id = id, result = { handled = handled, reason = reason } })
  if handled then call("activity/release", { activity = params.activity }) end
  say(handled and "continued " .. (params.title or "a text") or reason)
end

-- Takes a whole line. Returns the parts of the next one: none.
local function take(line)
  local ok, message = pcall(vim.json.decode, line)
  if not ok then return {} end
  local done, why = pcall(handlers[message.method] or function() end, message.params, message.id)
  if not done and message.id then refuse(message.id, why) elseif not done then warn(why) end
  if message.error and waiting[message.id] then waiting[message.id](message.error) end
  if message.id and not message.method then waiting[message.id] = nil end
  return {}
end

local function program()
  local named = settings.stdio or vim.env.SEGUE_STDIO
  named = named or fn.globpath("/usr/local/libexec,/usr/libexec", "segue/segue-stdio", false, true)[1]
  return named and { named } or { "segue", "stdio" }
end

function M.start()
  if job then return end
  local parts, command = {}, program()
  if fn.executable(command[1]) == 0 then return warn("there is no " .. command[1]) end
  waiting, offered = {}, {}
  job = fn.jobstart(command, {
    on_stdout = function(_, data)
      for index, part in ipairs(data) do
        if index > 1 then parts = take(table.concat(parts)) end
        parts[#parts + 1] = part
      end
    end,
    on_exit = function(_, status)
      job = nil
      if status ~= 0 and vim.v.exiting == vim.NIL then warn("segue stdio has ended") end
    end,
  })
  local app = { protocol = 1, bundleIdentifier = "io.neovim.nvim", name = "Neovim", types = { TYPE }, lineBytes = LINE }
  app.label, app.team = fn.fnamemodify(fn.getcwd(), ":t"), settings.team
  call("open", app)
  offer(api.nvim_get_current_buf())
  api.nvim_create_augroup("segue", {})
  local function on(events, callback) api.nvim_create_autocmd(events, { group = "segue", callback = callback }) end
  on({ "BufEnter", "BufFilePost", "BufModifiedSet" }, function(event) offer(event.buf) end)
  on({ "BufReadPost", "BufWritePost" }, function(event) read_at[event.buf] = fn.getftime(event.file) end)
  on("FocusGained", function() send({ method = "app/foreground", params = { foreground = true } }) end)
  on("BufWipeout", function(event) invalidate(event.buf) end)
  for _, buffer in ipairs(api.nvim_list_bufs()) do read_at[buffer] = fn.getftime(name_of(buffer)) end
end

-- :Handoff lists; :Handoff! takes the frontmost; :Handoff N the one with that number.
function M.command(given)
  if not job then return M.start() end
  if #M.offers == 0 then return say("nothing can be continued here") end
  local function continue(each) return each and call("offers/continue", { offer = each.offer }) end
  local function describe(each) return ("%s (%s on %s)"):format(each.title or each.type, each.app, each.device) end
  local chosen = M.offers[given.bang and 1 or tonumber(given.args)]
  if chosen then return continue(chosen) end
  vim.ui.select(M.offers, { prompt = "Continue", format_item = describe }, continue)
end

return M
