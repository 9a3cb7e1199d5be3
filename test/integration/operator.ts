import { spawn } from 'node:child_process';
import { resolve } from 'node:path';

/** What an operator does on the command line, as tests need it. */
export interface Operator {
  /** Runs one command with `--json`. */
  run(...args: readonly string[]): Promise<CommandResult>;
  /** An organization with credit, and a key of it. */
  customer(options?: CustomerOptions): Promise<Customer>;
  balance(organizationId: string): Promise<number>;
  /** Throws with the differences when balance, ledger and generations disagree. */
  verifyLedger(): Promise<void>;
}

export interface CommandResult {
  readonly exitCode: number;
  readonly json: Readonly<Record<string, unknown>>;
  readonly text: string;
}

export interface CustomerOptions {
  readonly credit?: string;
  /** Further flags of `org create`. */
  readonly org?: readonly string[];
  readonly scopes?: string;
  /** Further flags of `key create`. */
  readonly key?: readonly string[];
}

export interface Customer {
  readonly organizationId: string;
  readonly keyId: string;
  readonly key: string;
}

const REPOSITORY = resolve(import.meta.dirname, '../..');

export function operatorFor(env: Readonly<Record<string, string>>): Operator {
  const run = (...args: readonly string[]): Promise<CommandResult> => runCommand(args, env);
  const succeed = async (...args: readonly string[]): Promise<CommandResult['json']> => {
    const result = await run(...args);
    if (result.exitCode !== 0) throw new Error(`gateway ${args.join(' ')}: exit ${result.exitCode}\n${result.text}`);
    return result.json;
  };
  return {
    run,
    async customer({ credit = '100', org = [], scopes = 'chat,usage:read', key = [] } = {}) {
      const created = await succeed('org', 'create', '--name', 'test', '--credit', credit, ...org);
      const organizationId = String(created.id);
      const made = await succeed(
        'key',
        'create',
        '--org',
        organizationId,
        '--name',
        'test',
        '--scopes',
        scopes,
        ...key,
      );
      return { organizationId, keyId: String(made.id), key: String(made.key) };
    },
    balance: async (organizationId) => Number((await succeed('org', 'show', organizationId)).balance),
    verifyLedger: async () => void (await succeed('ledger', 'verify')),
  };
}

function runCommand(args: readonly string[], env: Readonly<Record<string, string>>): Promise<CommandResult> {
  return new Promise((resolvePromise, reject) => {
    const child = spawn(process.execPath, [resolve(REPOSITORY, 'operator/main.ts'), ...args, '--json'], {
      cwd: REPOSITORY,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (piece) => (stdout += piece));
    child.stderr.on('data', (piece) => (stderr += piece));
    child.on('error', reject);
    child.on('close', (code) => {
      resolvePromise({ exitCode: code ?? -1, json: parseObject(stdout), text: `${stdout}${stderr}` });
    });
  });
}

function parseObject(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
