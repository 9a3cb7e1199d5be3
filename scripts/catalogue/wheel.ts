import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A downloaded release of a Python package, from which files can be read. */
export interface Wheel {
  readonly version: string;
  readonly licence: string;
  read(member: string): string;
}

export const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Downloads a release (default: the newest) with pip, without dependencies or running code. */
export function withWheel<Content>(name: string, version: string | undefined, use: (wheel: Wheel) => Content): Content {
  const folder = mkdtempSync(join(tmpdir(), 'catalogue-'));
  try {
    const wanted = version === undefined ? name : `${name}==${version}`;
    const options = ['--quiet', '--no-deps', '--only-binary=:all:', '--dest', folder];
    execFileSync('python3', ['-m', 'pip', 'download', ...options, wanted], { stdio: ['ignore', 'inherit', 'inherit'] });
    const [file = ''] = readdirSync(folder);
    const [, stem = '', release = ''] = /^([a-z_]+)-([0-9][0-9a-z.]*)-/.exec(file) ?? [];
    const read = (member: string) => readMember(join(folder, file), member);
    return use({ version: release, licence: read(`${stem}-${release}.dist-info/licenses/LICENSE`), read });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const READ_MEMBER = 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))';

function readMember(path: string, member: string): string {
  return execFileSync('python3', ['-c', READ_MEMBER, path, member], { encoding: 'utf8', maxBuffer: MAX_FILE_BYTES });
}
