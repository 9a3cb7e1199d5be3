import { execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runtimePaths } from '#core/config/runtime-paths.ts';
import { FRUGAL } from '#supervisor/children/node-child.ts';
import { PATIENCE_MS } from '../fixtures/patience.ts';
import { startProcess, type TestProcess } from '../launchers/child-process.ts';
import { freePorts } from '../launchers/free-ports.ts';
import { endAll, identityOf, isAlive, type ProcessIdentity } from '../launchers/process-identity.ts';
import { COMPILE_CACHE, REPOSITORY } from './deployment.ts';

/** A data folder for `npm start` with the embedded database. The folder outlives the processes. */
export interface Home {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly apiPort: number;
  readonly metricsPort: number;
  readonly dashboardPort: number;
  remove(): Promise<void>;
}

export interface Service extends TestProcess {
  /** From the banner, which has it only at the first start on a folder. */
  readonly demoKey: string | undefined;
  /** The supervisor and all its descendants. */
  processes(): ProcessIdentity[];
  childNamed(part: string): ProcessIdentity;
}

const seen: ProcessIdentity[] = [];

/** The folder's name contains a space and a comma on purpose. */
export async function makeHome(owner?: number): Promise<Home> {
  const folder = mkdtempSync(join(tmpdir(), 'gw home, '));
  const [apiPort = 0, metricsPort = 0, dashboardPort = 0, demoPort = 0] = await freePorts(4);
  writeFileSync(
    join(folder, 'gateway.yaml'),
    `listen: {api: "127.0.0.1:${apiPort}", metrics: "127.0.0.1:${metricsPort}", dashboard: "127.0.0.1:${dashboardPort}"}
demo: true
providers: {demo: {base_url: "http://127.0.0.1:${demoPort}/v1"}}
models:
  demo-chat:
    context_window: 32768
    max_output_tokens: 4096
    usd_per_million_tokens: {input: 0.1, output: 0.4}
    targets: [{provider: demo, model: demo-chat}]
`,
  );
  if (owner !== undefined) chownSync(folder, owner, owner);
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    GATEWAY_CONFIG: join(folder, 'gateway.yaml'),
    GATEWAY_DATA: join(folder, 'data'),
    // The default cache is in the data folder, which is new for every test.
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    // `pg` would use these variables for parts that a URL leaves out.
    PGPORT: '1',
    PGSSLMODE: 'require',
    PGHOST: 'nowhere.invalid',
  };
  delete env.DATABASE_URL;
  const remove = async (): Promise<void> => {
    await endAll(seen.splice(0), 'SIGKILL', 5_000);
    rmSync(folder, { recursive: true, force: true });
    rmSync(runtimePaths(env).socketDir, { recursive: true, force: true });
  };
  return { folder, env, apiPort, metricsPort, dashboardPort, remove };
}

export function launch(home: Home, env: NodeJS.ProcessEnv = {}, uid?: number): TestProcess {
  const { nodeOptions, env: frugal } = FRUGAL;
  return startProcess(process.execPath, [...nodeOptions, join(REPOSITORY, 'supervisor/main.ts')], {
    cwd: REPOSITORY,
    // A process group of its own, to which tests send signals as a terminal does for Ctrl-C.
    detached: true,
    env: { ...home.env, ...frugal, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
}

export async function startService(home: Home, env: NodeJS.ProcessEnv = {}, uid?: number): Promise<Service> {
  const main = launch(home, env, uid);
  const deadline = performance.now() + PATIENCE_MS;
  while (!main.output().includes('Ctrl-C drains')) {
    if (main.hasEnded() || performance.now() > deadline) {
      await main.end('SIGTERM', 10_000);
      throw new Error(`the service did not start:\n${main.output()}`);
    }
    await sleep(20);
  }
  const processes = (): ProcessIdentity[] => descendantsOf(main.pid).map(identityOf);
  seen.push(...processes());
  const childNamed = (part: string): ProcessIdentity => {
    const pid = descendantsOf(main.pid).find((one) => commandLine(one).includes(part));
    if (pid === undefined) throw new Error(`no child ${part}`);
    return identityOf(pid);
  };
  return { ...main, demoKey: /sk-gw-[\w-]{43}/.exec(main.output())?.[0], processes, childNamed };
}

export async function allGoneWithin(processes: readonly ProcessIdentity[], ms: number): Promise<string[]> {
  const deadline = performance.now() + ms;
  while (processes.some(isAlive) && performance.now() < deadline) await sleep(20);
  return processes.filter(isAlive).map(({ pid }) => commandLine(pid));
}

function descendantsOf(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = /^PPid:\s+(\d+)$/m.exec(readText(`/proc/${name}/status`))?.[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const found = [root];
  for (const pid of found) for (const [child, parent] of parents) if (parent === pid) found.push(child);
  return found;
}

function commandLine(pid: number): string {
  return readText(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Runs the `curl` command of the banner unchanged in a shell. */
export function runCurlLine(output: string): string {
  const line = /^ {2}(curl (?:.*\\\n)*.*)/m.exec(output)?.[1];
  if (line === undefined) throw new Error(`no curl line in:\n${output}`);
  return execFileSync('sh', ['-c', line], { encoding: 'utf8', timeout: 20_000 });
}

export async function chat(
  home: Home,
  service: Pick<Service, 'demoKey'>,
  content = 'hi',
  onHead: () => void = () => undefined,
): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://127.0.0.1:${home.apiPort}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.demoKey}`, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ model: 'demo-chat', stream: true, messages: [{ role: 'user', content }] }),
  });
  onHead();
  return { status: response.status, text: await response.text() };
}

/**
 * Status of a request that passes Envoy, the gateway process and PostgreSQL, but calls no provider.
 */
export async function statusOfModels(home: Home, service: Pick<Service, 'demoKey'>): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${home.apiPort}/v1/models`, {
    headers: { authorization: `Bearer ${service.demoKey}`, connection: 'close' },
  });
  await response.arrayBuffer();
  return response.status;
}
