import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './run-command.mjs';

/** NODE_COMPILE_CACHE of `npm start` and of the operator's commands: with it a program is loaded at half the CPU (measured). */
function folderOf(root) {
  return join(root, '.cache', 'compiled');
}

export function programsAreCompiled(root) {
  return existsSync(folderOf(root));
}

/** Each of them ends as soon as it is loaded: there is no such configuration, no such port, and no command. */
const PROGRAMS = [
  ['supervisor/main.ts'],
  ['ext-proc/main.ts'],
  ['dashboard/server/main.ts'],
  ['demo/provider.ts', '--port', 'none'],
  ['operator/main.ts'],
];

/** So that already the first start is quick. What changes afterwards is compiled, and kept, by whatever starts next. */
export function compilePrograms(root, say) {
  say('Compiling …');
  const own = join(root, 'node_modules', '.bin', 'node');
  const node = existsSync(own) ? own : process.execPath;
  const folder = folderOf(root);
  mkdirSync(folder, { recursive: true });
  const env = { NODE_COMPILE_CACHE: folder, GATEWAY_CONFIG: join(folder, 'none.yaml') };
  for (const [program, ...args] of PROGRAMS) runCommand(node, [join(root, program), ...args], { cwd: root, env });
}
