import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ICruiseResult } from 'dependency-cruiser';
import { beforeAll, describe, expect, it } from 'vitest';
import packageFile from '../../package.json' with { type: 'json' };
import { AREAS, PACKAGES, SEAMS, TESTS } from './import-order.ts';
import { FOLDERS } from './import-rules.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const isTest = new RegExp(TESTS);

let result: ICruiseResult;
/** Imports outside tests, each with the importing and the imported file. */
let imports: (readonly [from: string, to: string])[];

beforeAll(() => {
  const [command = '', ...args] = packageFile.scripts.imports.split(' ');
  const { stdout, stderr } = spawnSync(command, [...args, '--output-type', 'json'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    timeout: 300_000,
  });
  expect(stderr).toBe('');
  result = JSON.parse(stdout) as ICruiseResult;
  imports = result.modules
    .filter(({ source }) => !isTest.test(source))
    .flatMap(({ source, dependencies }) => dependencies.map(({ resolved }) => [source, resolved] as const));
});

const isBelow = (path: string, folder: string) => path.startsWith(`${folder}/`);

describe('imports', () => {
  it('follow the order of areas and folders, without a cycle', () => {
    const { violations, totalCruised } = result.summary;
    expect(totalCruised).toBeGreaterThan(1000);
    expect(violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`)).toEqual([]);
  });
});

describe('the order', () => {
  it('lists each area after those that it uses', () => {
    const paths = AREAS.map(({ path }) => path);
    const late = AREAS.flatMap(({ path, uses }, index) =>
      uses
        .filter((used) => !paths.slice(0, index).some((former) => isBelow(`${used}/`, former) || isBelow(former, used)))
        .map((used) => `${path} uses ${used}`),
    );
    expect(late).toEqual([]);
  });

  it('lists each folder once, and no folder without files', () => {
    expect(FOLDERS.filter((folder, index) => FOLDERS.indexOf(folder) !== index)).toEqual([]);
    const folders = new Set(result.modules.map(({ source }) => dirname(source)));
    expect(FOLDERS.filter((folder) => !folders.has(folder))).toEqual([]);
  });

  it('keeps the folders of a room together, so that rooms are ordered too', () => {
    const roomOf = (folder: string) => folder.split('/', 2).join('/');
    const scattered = FOLDERS.map(roomOf).filter(
      (room, index, rooms) => rooms[index - 1] !== room && rooms.indexOf(room) < index,
    );
    expect(scattered).toEqual([]);
  });

  it('gives the gateway process at most 16 rooms on 7 floors', () => {
    const roomOf = (file: string) => file.split('/').slice(0, -1).slice(0, 2).join('/');
    const below = Map.groupBy(
      imports.filter(
        ([from, to]) => isBelow(from, 'ext-proc') && isBelow(to, 'ext-proc') && roomOf(from) !== roomOf(to),
      ),
      ([from]) => roomOf(from),
    );
    const floorOf = (room: string): number =>
      1 + Math.max(0, ...new Set(below.get(room)?.map(([, to]) => floorOf(roomOf(to)))));
    const rooms = new Set(
      FOLDERS.filter((folder) => isBelow(`${folder}/`, 'ext-proc')).map((folder) => roomOf(`${folder}/`)),
    );
    expect(rooms.size).toBeLessThanOrEqual(16);
    expect(floorOf('ext-proc')).toBeLessThanOrEqual(7);
  });

  it('lists no area as used that is unused', () => {
    const unused = AREAS.flatMap(({ path, uses }) =>
      uses
        .filter((used) => !imports.some(([from, to]) => isBelow(from, path) && isBelow(to, used)))
        .map((used) => `${path} uses ${used}`),
    );
    expect(unused).toEqual([]);
  });

  it('grants no folder a seam or package that it does not import', () => {
    const allowed = [
      ...SEAMS.map(({ to, only }) => ({ to: new RegExp(to), only })),
      ...Object.entries(PACKAGES).map(([name, only]) => ({ to: new RegExp(`^node_modules/${name}/`), only })),
    ];
    const unused = allowed.flatMap(({ to, only }) =>
      only
        .filter((folder) => !imports.some(([from, resolved]) => isBelow(from, folder) && to.test(resolved)))
        .map((folder) => `${to.source} from ${folder}`),
    );
    expect(unused).toEqual([]);
  });
});
