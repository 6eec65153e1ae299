-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
-- Loads the rest once Neovim has started, so that it costs the start nothing.
if vim.g.loaded_segue then return end
vim.g.loaded_segue = true
local function command(given) require("segue").command(given) end
vim.api.nvim_create_user_command("Handoff", command, { bang = true, nargs = "?", desc = "Continue something here" })
local function start() vim.schedule(function() require("segue").start() end) end
if vim.v.vim_did_enter == 1 then start() else vim.api.nvim_create_autocmd("VimEnter", { callback = start }) end
