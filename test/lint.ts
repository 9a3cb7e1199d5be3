/**
 * Lints the files that changed since the lint last passed here, because Biome judges each file
 * alone: all of them take 18 seconds of CPU.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';

const PASSED = '.cache/lint-passed';
/** If one of these changed, all files are linted. */
const RULES = ['biome.json', 'scripts/error-statuses.grit', 'package-lock.json'];

const began = new Date();
const passedMs = statSync(PASSED, { throwIfNoEntry: false })?.mtimeMs ?? 0;
// The time of change, because a file that is moved or unpacked keeps its time of modification.
const changed = (path: string) => (statSync(path, { throwIfNoEntry: false })?.ctimeMs ?? 0) >= passedMs;
const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
const listed = spawnSync('git', list, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
const all = listed.status !== 0 || RULES.some(changed);
const files = all ? ['.'] : listed.stdout.split('\0').filter((path) => path !== '' && changed(path));
const args = ['check', '--no-errors-on-unmatched', ...files];
if (files.length > 0 && spawnSync('node_modules/.bin/biome', args, { stdio: 'inherit' }).status !== 0) process.exit(1);
mkdirSync('.cache', { recursive: true });
writeFileSync(PASSED, '');
utimesSync(PASSED, began, began);
