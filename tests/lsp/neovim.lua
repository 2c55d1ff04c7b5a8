-- Edits a game as a user of Neovim would, and writes what was seen as JSON; for test_neovim.py.
local seen = {}

local function await(what, check)
  if not vim.wait(30000, check, 20) then
    error("waited in vain for " .. what)
  end
end

local function messages()
  return vim.tbl_map(function(one) return one.message end, vim.diagnostic.get(0))
end

-- Puts the cursor on the first place of a text, which is plain.
local function go_to(text)
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  assert(vim.fn.search("\\V" .. text, "cW") > 0, text)
end

local function ask(method, params)
  local client = vim.lsp.get_clients({ bufnr = 0 })[1]
  return client:request_sync(method, params or vim.lsp.util.make_position_params(0, client.offset_encoding), 30000).result
end

local function edit()
  await("a client", function() return #vim.lsp.get_clients({ bufnr = 0, name = "gamedsl" }) == 1 end)
  await("the problem", function() return #vim.diagnostic.get(0) > 0 end)
  seen.problems = messages()

  go_to("pric,")
  vim.lsp.buf.code_action({ apply = true, filter = function(action) return action.isPreferred end })
  await("the fix", function() return vim.fn.search("\\Vprice,", "nw") > 0 end)
  await("no problem", function() return #vim.diagnostic.get(0) == 0 end)

  go_to("max(")
  vim.lsp.buf.hover()
  await("the hover", function() return vim.b.lsp_floating_preview ~= nil end)
  seen.hover = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(vim.b.lsp_floating_preview), 0, -1, true)
  vim.api.nvim_win_close(vim.b.lsp_floating_preview, true)

  local found = ask("textDocument/completion")
  seen.completion = vim.tbl_map(function(item) return item.label end, found.items or found)

  go_to("extra:")
  vim.lsp.buf.rename("bonus")
  await("the new name", function() return vim.fn.search("\\Vbonus)", "nw") > 0 end)

  vim.lsp.buf.format({ timeout_ms = 30000 })
  seen.lines = vim.api.nvim_buf_get_lines(0, 0, -1, true)

  go_to("price,")
  vim.lsp.buf.definition()
  await("the definition", function() return vim.fn.expand("%:t") == "base.yaml" end)
  seen.definition = vim.api.nvim_get_current_line()
end

local done, fault = pcall(edit)
if not done then seen.fault = fault .. "; problems: " .. vim.inspect(messages()) end
vim.fn.writefile({ vim.json.encode(seen) }, vim.env.SEEN)
vim.cmd("qall!")
