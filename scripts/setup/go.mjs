import { chmodSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './run-command.mjs';

/** Go's own installation folder, which is not always on PATH. */
const USUAL_GO = '/usr/local/go/bin/go';
/** As required by test/stripe-mock/go.mod. Debian 12 has 1.19. */
const LEAST_MINOR = 22;
const GO_SETTINGS = /^GO/;

/** A newer Go, available as a module, with its checksum from Go's checksum database. */
const NEWER_GO = 'golang.org/toolchain@v0.0.1-go1.24.13.linux-amd64';
const NEWER_GO_SUM = 'h1:5sgfUhn9QCgVl4UYj32GrIYFHI3bi2UX55tNfupXwxc=';

/**
 * Finds a Go that is new enough, or makes an older one fetch it into `folder`. Returns `{run}`,
 * which is runCommand() for Go, or `{problem}`.
 */
export function findGo(folder, env) {
  const found = [USUAL_GO, 'go'].map((go) => ({ go, minor: minorOf(go) })).filter(({ minor }) => minor !== undefined);
  const usable = found.find(({ minor }) => minor >= LEAST_MINOR);
  if (usable) return { run: runnerOf(usable.go, env) };
  const [old] = found;
  if (!old) return { problem: 'there is no Go here (golang-go in Debian).' };
  return fetchGo(runnerOf(old.go, env), folder, env);
}

function minorOf(go) {
  const { ok, output } = runCommand(go, ['env', 'GOVERSION'], { env: { GOTOOLCHAIN: 'local' } });
  const minor = /^go1\.(\d+)/m.exec(output)?.[1];
  return ok && minor !== undefined ? Number(minor) : undefined;
}

function runnerOf(go, env) {
  return (args, options) =>
    runCommand(go, args, { ...options, env: { ...env, GOTOOLCHAIN: 'local' }, alsoPassed: GO_SETTINGS });
}

function fetchGo(runOld, folder, env) {
  if (`${process.platform}-${process.arch}` !== 'linux-x64')
    return { problem: `Go 1.${LEAST_MINOR} or newer is needed here.` };
  const { ok, output } = runOld(['mod', 'download', '-json', NEWER_GO], { cwd: folder });
  if (!ok) return { problem: `a newer Go could not be fetched:\n    ${output}` };
  const said = (name) => new RegExp(`"${name}": "(.*)"`).exec(output)?.[1] ?? '';
  if (said('Sum') !== NEWER_GO_SUM)
    return { problem: `the Go that was fetched has the sum ${said('Sum')}, and not ${NEWER_GO_SUM}.` };
  const root = said('Dir');
  makeExecutable(join(root, 'bin'));
  makeExecutable(join(root, 'pkg/tool/linux_amd64'));
  return { run: runnerOf(join(root, 'bin/go'), { ...env, GOROOT: root }) };
}

/** Files of a Go module are not executable. */
function makeExecutable(folder) {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o755);
}
