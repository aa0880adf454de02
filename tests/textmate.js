// node textmate.js MODULES GRAMMAR FILE...: the scopes of each token of the files, as JSON: by file, by line, [start, end, scopes].
const fs = require('fs');
const path = require('path');
const [modules, grammarPath, ...files] = process.argv.slice(2);
const textmate = require(path.join(modules, 'vscode-textmate'));
const oniguruma = require(path.join(modules, 'vscode-oniguruma'));

(async () => {
  await oniguruma.loadWASM(fs.readFileSync(path.join(modules, 'vscode-oniguruma/release/onig.wasm')).buffer);
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => textmate.parseRawGrammar(fs.readFileSync(grammarPath, 'utf8'), grammarPath),
  });
  const grammar = await registry.loadGrammar('source.lpn');
  const out = {};
  for (const file of files) {
    let stack = textmate.INITIAL;
    out[file] = fs.readFileSync(file, 'utf8').split('\n').map((line) => {
      const result = grammar.tokenizeLine(line, stack);
      stack = result.ruleStack;
      return result.tokens.map((token) => [token.startIndex, token.endIndex, token.scopes.slice(1)]);
    });
  }
  process.stdout.write(JSON.stringify(out));
})().catch((error) => { console.error(error); process.exit(1); });
