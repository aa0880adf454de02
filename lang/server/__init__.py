"""The language server: what `lpnc lsp` speaks with an editor (LSP 3.17). `analysis` runs the front end on a text, `index` knows
where names are declared and used, the others make answers of it; `server` alone knows the protocol's library."""
