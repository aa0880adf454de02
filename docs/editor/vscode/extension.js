// Starts `lpnc lsp` and lets it speak with the editor.
const { workspace } = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

exports.activate = () => {
  const command = workspace.getConfiguration('lpn').get('command');
  client = new LanguageClient('lpn', 'LPN', { command, args: ['lsp'] }, { documentSelector: [{ language: 'lpn' }] });
  return client.start();
};

exports.deactivate = () => client && client.stop();
