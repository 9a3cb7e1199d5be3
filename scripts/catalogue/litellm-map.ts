import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One model of LiteLLM's map. Only the members that are read are known to be there. */
export type MapEntry = Readonly<Record<string, unknown>>;

export interface LiteLlmMap {
  readonly version: string;
  readonly licence: string;
  readonly entries: ReadonlyMap<string, MapEntry>;
}

const PACKAGE = 'litellm';
const MAP_FILE = 'litellm/model_prices_and_context_window_backup.json';
const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** First entry of the map: the documentation of its members. */
const SAMPLE = 'sample_spec';

/**
 * Downloads a release of LiteLLM with pip, without what it depends on and without running any of
 * it, and reads the map in it. Without a version: the newest release.
 */
export function downloadMap(version: string | undefined): LiteLlmMap {
  const folder = mkdtempSync(join(tmpdir(), 'catalogue-'));
  try {
    const wanted = version === undefined ? PACKAGE : `${PACKAGE}==${version}`;
    const options = ['--quiet', '--no-deps', '--only-binary=:all:', '--dest', folder];
    execFileSync('python3', ['-m', 'pip', 'download', ...options, wanted], { stdio: ['ignore', 'inherit', 'inherit'] });
    const [wheel = ''] = readdirSync(folder);
    const [, release = ''] = /^litellm-([0-9][0-9a-z.]*)-/.exec(wheel) ?? [];
    const path = join(folder, wheel);
    return {
      version: release,
      licence: readMember(path, `litellm-${release}.dist-info/licenses/LICENSE`),
      entries: readMap(readMember(path, MAP_FILE)),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const READ_MEMBER = 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))';

function readMember(wheel: string, member: string): string {
  return execFileSync('python3', ['-c', READ_MEMBER, wheel, member], { encoding: 'utf8', maxBuffer: MAX_FILE_BYTES });
}

export function readMap(text: string): ReadonlyMap<string, MapEntry> {
  const entries = Object.entries(JSON.parse(text) as Record<string, MapEntry>);
  return new Map(entries.filter(([name]) => name !== SAMPLE));
}
