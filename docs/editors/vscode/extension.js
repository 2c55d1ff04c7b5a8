// Starts `gamedsl lsp` and connects it to YAML files; the server itself passes over other YAML.
const { commands, window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
  const [command, ...args] = workspace.getConfiguration("gamedsl").get("command");
  client = new LanguageClient(
    "gamedsl",
    "gamedsl",
    { command, args },
    { documentSelector: [{ language: "yaml", scheme: "file" }] },
  );
  try {
    await client.start();
  } catch (error) {
    window.showErrorMessage(
      `\`${command}\` could not be started (${error.message}). ` +
        "Install gamedsl with its extra `lsp`, or set `gamedsl.command`.",
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running && running.isRunning()) await running.stop();
}

exports.activate = async (context) => {
  const restart = async () => {
    await stop();
    await start();
  };
  context.subscriptions.push(commands.registerCommand("gamedsl.restart", restart));
  await start();
};

exports.deactivate = stop;
