/**
 * Makes connection-bound.wasm of the sources beside it: `node envoy/connection-bound/build.ts`. The
 * compiler is no dependency, because it is 100 MB for 5 KB that hardly ever change. The module
 * carries the hash of its sources, by which a test sees that they belong together.
 */
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const COMPILER = 'assemblyscript@0.28.20';
const here = import.meta.dirname;
const sources = readdirSync(here)
  .filter((name) => name.endsWith('.as'))
  .sort();
const folder = mkdtempSync(join(tmpdir(), 'gw-wasm-'));
try {
  for (const name of sources) copyFileSync(join(here, name), join(folder, name.replace('.as', '.ts')));
  const options = ['--runtime', 'incremental', '-O3', '--noAssert', '--use', 'abort='];
  const compile = ['--yes', '--package', COMPILER, 'asc', 'connection-bound.ts', '-o', 'module.wasm', ...options];
  execFileSync('npx', compile, { cwd: folder, stdio: 'inherit' });
  const compiled = readFileSync(join(folder, 'module.wasm'));
  const source = Buffer.concat(sources.map((name) => readFileSync(join(here, name))));
  const named = Buffer.concat([text('source-sha256'), Buffer.from(hash('sha256', source))]);
  // A custom section: its id, its length, its name, its content (WebAssembly, binary format).
  const section = Buffer.concat([Buffer.of(0, named.length), named]);
  writeFileSync(join(here, 'connection-bound.wasm'), Buffer.concat([compiled, section]));
} finally {
  rmSync(folder, { recursive: true });
}

/** With its length in one byte: shorter than 128. */
function text(value: string): Buffer {
  return Buffer.concat([Buffer.of(value.length), Buffer.from(value)]);
}
