import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import { exists } from '#core/exists.ts';
import { DRAINING } from '#core/process-figures.ts';
import { keepDoing } from '#core/retry/keep-doing.ts';
import { drainIngress, readIngressLoad } from '../envoy-config/envoy-admin.ts';

/**
 * Drains Envoy in deployments without a supervisor, which would end the processes in order. No
 * program in Envoy's image can call its admin socket, so Envoy's container writes a file when it
 * has to end. This process then lets Envoy drain, and writes another file when clients have
 * received everything. Envoy's container removes both files when it starts. Every process of the
 * host does so, because any of them may be asked whether it is ready.
 */
export interface EnvoyDrain {
  /** Reason why no request should come here any more. `undefined`: Envoy does not end. */
  notReady(): string | undefined;
  /** Resolves when clients have received everything, the time is up, or Envoy does not end. */
  handedOut(withinMs: number): Promise<void>;
  /** Closes this part. If Envoy still waits for this process, it may end now. */
  close(): Promise<void>;
}

export interface EnvoyDrainOptions {
  readonly paths: Pick<RuntimePaths, 'socketDir' | 'envoyAdminSocket'>;
  readonly log: { info(message: string): void; error(fields: object, message: string): void };
  readonly pollMs?: number;
}

const POLL_MS = 200;

export function openEnvoyDrain({ paths, log, pollMs = POLL_MS }: EnvoyDrainOptions): EnvoyDrain {
  const asked = join(paths.socketDir, 'envoy-ends');
  const idle = join(paths.socketDir, 'envoy-idle');
  let leaving: { readonly listensUntilMs: number; idle: boolean } | undefined;

  async function look(): Promise<void> {
    if (!(await exists(asked))) {
      leaving = undefined;
      return;
    }
    if (leaving === undefined) {
      log.info('Envoy is asked to end: it drains');
      const drainMs = await drainIngress(paths.envoyAdminSocket);
      leaving = { listensUntilMs: performance.now() + (drainMs ?? 0), idle: false };
    }
    if (leaving.idle || performance.now() < leaving.listensUntilMs) return;
    if (!(await handedOutAll(paths.envoyAdminSocket))) return;
    await writeFile(idle, '');
    leaving.idle = true;
    log.info('Envoy has handed out everything');
  }

  const stopLooking = keepDoing(pollMs, look, (error) => log.error({ err: error }, 'Envoy could not be let go'));
  return {
    notReady() {
      if (leaving === undefined) return undefined;
      // Not draining any more: if Envoy stays away, its clients are not served.
      return leaving.idle ? 'Envoy was asked to end' : `${DRAINING}: Envoy is asked to end`;
    },
    async handedOut(withinMs) {
      const deadlineMs = performance.now() + withinMs;
      while (leaving?.idle === false && performance.now() < deadlineMs) await wait(pollMs);
    },
    async close() {
      await stopLooking();
      if (await exists(asked)) await writeFile(idle, '');
    },
  };
}

/** For deployments in which a supervisor drains Envoy. */
export const NO_ENVOY_DRAIN: EnvoyDrain = {
  notReady: () => undefined,
  handedOut: async () => {},
  close: async () => {},
};

async function handedOutAll(adminSocket: string): Promise<boolean> {
  const load = await readIngressLoad(adminSocket);
  return load === undefined || (load.requests === 0 && load.bufferedBytes === 0);
}
