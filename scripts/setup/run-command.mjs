import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Variables by which tools find programs, folders, proxies and authorities. The code of hundreds of
 * packages gets nothing else of our environment: with `npm start` it has providers' keys and
 * database passwords.
 */
const PASSED =
  /^(?:PATH|HOME|USER|LOGNAME|TMPDIR|TMP|TEMP|LANG|LANGUAGE|LC_\w+|CI|XDG_CACHE_HOME|LD_LIBRARY_PATH|SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(?:https?|ftp|all|no)_proxy)$/i;

/** Python's and pip's own settings, for Python alone: an index may be named with a password. */
export const PYTHON_SETTINGS = /^(?:PIP_|PYTHON)/;

/** The Node that the dependencies brought, else this one. */
export function ownNode(root) {
  const own = join(root, 'node_modules/.bin/node');
  return existsSync(own) ? own : process.execPath;
}

/**
 * Runs to the end without a shell, so that paths with spaces need no care. The environment is
 * PASSED, variables that match `alsoPassed`, and `env`. `output` is the end of both streams.
 */
export function runCommand(command, args, { env = {}, alsoPassed = /^$/, ...options } = {}) {
  const passed = Object.entries(process.env).filter(([name]) => PASSED.test(name) || alsoPassed.test(name));
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    env: { ...Object.fromEntries(passed), ...env },
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
    timeout: 15 * 60_000,
    ...options,
  });
  // Stack traces of the tools say nothing about what is missing.
  const said = `${stdout ?? ''}${stderr ?? ''}`.replace(/^\s+at .*\n?/gm, '').trim() || (error?.message ?? '');
  return { ok: status === 0, output: said.split('\n').slice(-12).join('\n    ') };
}
