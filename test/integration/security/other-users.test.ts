import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { runtimePaths } from '#core/config/runtime-paths.ts';
import { PATIENCE_MS } from '../../fixtures/patience.ts';
import { REPOSITORY } from '../../harness/deployment.ts';
import { requirement } from '../../harness/requirement.ts';
import { chat, type Home, launch, makeHome, startService } from '../../harness/service.ts';
import { startProcess } from '../../launchers/child-process.ts';

/** Another user of the machine, who tries to take over our sockets. */
const NOBODY = 65_534;
let home: Home;
afterEach(() => home.remove());

/** Runs a command as that user. Returns its exit status. */
function asNobody(...[command = '', ...args]: readonly string[]): number | null {
  return spawnSync(command, args, { uid: NOBODY, gid: NOBODY, cwd: '/', stdio: 'ignore' }).status;
}

const command = (env: NodeJS.ProcessEnv, program: string, ...args: string[]) =>
  startProcess(process.execPath, [join(REPOSITORY, program), ...args], { cwd: REPOSITORY, env });

requirement(process.getuid?.() === 0 ? undefined : 'root, who can be another user too', () => {
  test('if PostgreSQL runs as another user, that user cannot replace a socket of ours', async () => {
    home = await makeHome();
    // Lets the user enter the folders, on a machine that withholds the capability to enter closed
    // ones.
    chmodSync(home.folder, 0o711);
    mkdirSync(join(home.folder, 'bin'));
    const setpriv = `#!/bin/sh\ncase "$*" in *+dac_read_search*) exit 1;; esac\nexec /usr/bin/setpriv "$@"\n`;
    writeFileSync(join(home.folder, 'bin/setpriv'), setpriv, { mode: 0o755 });
    const env = { PATH: `${join(home.folder, 'bin')}:${process.env.PATH}` };
    // The folder of all sockets belongs to that user, and has a file of theirs.
    const { dataDir, socketDir, egressSocket } = runtimePaths(home.env);
    mkdirSync(socketDir, { recursive: true, mode: 0o700 });
    writeFileSync(join(socketDir, 'theirs'), '');
    for (const path of [socketDir, join(socketDir, 'theirs')]) chownSync(path, NOBODY, NOBODY);
    const service = await startService(home, env);
    expect(existsSync(join(socketDir, 'theirs'))).toBe(false);
    expect(lstatSync(`/proc/${service.childNamed('/postgres').pid}`).uid).toBe(NOBODY);
    expect([lstatSync(socketDir).uid, lstatSync(socketDir).mode & 0o777]).toEqual([0, 0o700]);

    // The other user can enter the data folder and write beside PostgreSQL's socket, and no more.
    expect(asNobody('test', '-x', dataDir)).toBe(0);
    const mine = join(`${socketDir}-postgres`, 'mine');
    expect(asNobody('touch', mine)).toBe(0);
    for (const attempt of [
      ['mv', '-f', mine, egressSocket],
      ['rm', '-f', egressSocket],
      ['ln', '-sf', mine, egressSocket],
      ['touch', join(socketDir, 'stream-1.sock')],
      ['mv', socketDir, `${socketDir}-away`],
    ]) {
      expect([attempt[0], asNobody(...attempt) === 0]).toEqual([attempt[0], false]);
    }
    expect(lstatSync(egressSocket).isSocket()).toBe(true);
    expect(await chat(home, service)).toMatchObject({ status: 200 });
    // The command line finds the database at its usual path.
    const listed = command({ ...home.env, ...env }, 'operator/main.ts', 'org', 'list');
    expect([await listed.exited, listed.output()]).toEqual([0, expect.stringContaining('Demo')]);
    await service.end('SIGTERM', PATIENCE_MS);
  });

  test('none of our programs uses a socket folder that somebody else made in the temporary folder', async () => {
    home = await makeHome();
    const env = { ...home.env, GATEWAY_DATA: join(home.folder, 'x'.repeat(100)) };
    const { socketDir } = runtimePaths(env);
    const said = `${socketDir} belongs to another user, or others can write to it`;
    for (const [owner, mode] of [
      [NOBODY, 0o700],
      [0, 0o777],
    ] as const) {
      mkdirSync(socketDir);
      chmodSync(socketDir, mode);
      chownSync(socketDir, owner, owner);
      const programs = [
        command(env, 'operator/main.ts', 'org', 'list'),
        launch(home, env),
        command({ ...env, DATABASE_URL: 'postgres://127.0.0.1:1/d' }, 'ext-proc/main.ts'),
      ];
      const ended = await Promise.all(programs.map(({ exited }) => exited));
      expect([owner, ended]).toEqual([owner, [1, 1, 78]]);
      for (const { output } of programs) expect(output()).toContain(said);
      rmSync(socketDir, { recursive: true });
    }
    expect(existsSync(socketDir)).toBe(false);
  });
});
