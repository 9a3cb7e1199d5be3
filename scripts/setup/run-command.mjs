import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Variables with which tools find programs, folders, proxies and certificate authorities. The code
 * of hundreds of packages gets no other variables: with `npm start` the environment has providers'
 * keys and database passwords.
 */
const PASSED =
  /^(?:PATH|HOME|USER|LOGNAME|TMPDIR|TMP|TEMP|LANG|LANGUAGE|LC_\w+|CI|XDG_CACHE_HOME|LD_LIBRARY_PATH|SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(?:https?|ftp|all|no)_proxy)$/i;

/**
 * Settings of Python and pip, passed only to Python, because an index URL may contain a password.
 */
export const PYTHON_SETTINGS = /^(?:PIP_|PYTHON)/;

/** The Node from the dependencies, or else the current one. */
export function ownNode(root) {
  const own = join(root, 'node_modules/.bin/node');
  return existsSync(own) ? own : process.execPath;
}

/**
 * Runs a command to its end, without a shell, so that paths with spaces need no quoting. The
 * environment consists of PASSED, variables that match `alsoPassed`, and `env`. `output` is the end
 * of both streams.
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
  // Drops stack traces of the tools, which do not help to find what is missing.
  const said = `${stdout ?? ''}${stderr ?? ''}`.replace(/^\s+at .*\n?/gm, '').trim() || (error?.message ?? '');
  return { ok: status === 0, output: said.split('\n').slice(-12).join('\n    ') };
}
