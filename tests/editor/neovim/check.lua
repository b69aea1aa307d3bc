-- Opens bank.py, waits for the diagnostics, asks for the actions of a line, pins the counterexample, and reports.
local report = io.open(os.getenv("DPOR_REPORT"), "w")
local function say(text)
  report:write(text .. "\n")
  report:flush()
end

local client = vim.lsp.start_client({
  name = "dpor",
  cmd = { os.getenv("DPOR_PYTHON"), "-m", "dpor_lsp" },
  root_dir = vim.fn.getcwd(),
})
vim.cmd("edit bank.py")
vim.lsp.buf_attach_client(0, client)
vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end, 50)
for _, item in ipairs(vim.diagnostic.get(0)) do
  say(string.format("diagnostic %d:%d %s", item.lnum, item.col, vim.split(item.message, "\n")[1]))
end

local here = { line = 13, character = 0 }
local params = {
  textDocument = vim.lsp.util.make_text_document_params(),
  range = { start = here, ["end"] = here },
  context = { diagnostics = {} },
}
local answers = vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 60000)
for _, answer in pairs(answers) do
  for _, action in ipairs(answer.result) do
    say("action " .. action.title)
    if vim.startswith(action.title, "Pin") then
      vim.lsp.buf_request_sync(0, "workspace/executeCommand", action.command, 60000)
    end
  end
end
vim.cmd("silent! wall")
vim.cmd("qa!")
