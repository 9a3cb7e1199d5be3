import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lastLines, PYTHON_SETTINGS, runCommand } from './run-command.mjs';

/**
 * The Python SDK that test/sdk runs against the gateway, and Kubernetes' schemas, by which
 * test/deploy validates the manifests.
 */
const REQUIREMENTS = ['openai==3.52.0', 'kubernetes-validate==1.37.0'];
const STAMP = '.setup-stamp';

export function pythonIsReady(root) {
  const stamp = join(folderOf(root), STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === REQUIREMENTS.join('\n');
}

/** Returns the problem, or undefined when `.cache/python/bin/python` can import them. */
export function preparePython(root, say) {
  const folder = folderOf(root);
  const python = join(folder, 'bin', 'python');
  say('Preparing Python for the tests of SDK and manifests …');
  rmSync(folder, { recursive: true, force: true });
  const steps = [
    ['python3', ['-m', 'venv', folder]],
    [python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...REQUIREMENTS]],
    [python, ['-c', 'import openai, kubernetes_validate']],
  ];
  for (const [command, args] of steps) {
    const result = runCommand(command, args, { alsoPassed: PYTHON_SETTINGS });
    if (!result.ok) {
      rmSync(folder, { recursive: true, force: true });
      return `The tests that need Python will be skipped: ${command} ${args.slice(0, 2).join(' ')} failed.\n${lastLines(result.output)}`;
    }
  }
  writeFileSync(join(folder, STAMP), REQUIREMENTS.join('\n'));
  return undefined;
}

function folderOf(root) {
  return join(root, '.cache', 'python');
}
