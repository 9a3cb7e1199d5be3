import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProcess } from '../launchers/child-process.ts';
import { freePorts } from '../launchers/free-ports.ts';
import { type OtherEnvoy, startOtherEnvoy } from './envoy-process.ts';
import { peerBootstrap, peerFilterConfig } from './peer-config.ts';
import type { PeerLimits } from './peer-limits.ts';

/**
 * Agent Router on the same machine: Envoy with its ext_proc service, configured as by its own
 * controller, with its own metering of tokens. Without `limits` it checks no keys. It never has
 * accounts.
 */
export interface Peer extends OtherEnvoy {
  readonly extProcPid: number;
}

/** `extProcBinary` is built from `cmd/extproc` of github.com/envoyproxy/ai-gateway. */
export async function startPeer(extProcBinary: string, providerPort: number, limits?: PeerLimits): Promise<Peer> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-peer-'));
  const socket = join(folder, 'ext_proc.sock');
  const config = join(folder, 'config.json');
  writeFileSync(config, JSON.stringify(peerFilterConfig()));
  const [adminPort = 0] = await freePorts(1);
  const args = ['-configPath', config, '-extProcAddr', `unix://${socket}`, '-adminPort', String(adminPort)];
  const extProc = startProcess(extProcBinary, [...args, '-logLevel', 'warn'], {
    env: { ...process.env, DISABLE_PPROF: 'true' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stop = async (): Promise<void> => {
    await extProc.end();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    // It reads its configuration only after it listens.
    await sleep(1000);
    if (extProc.hasEnded()) throw new Error(`${extProc.command} ended:\n${extProc.output()}`);
    const envoy = await startOtherEnvoy((port) => peerBootstrap(port, providerPort, socket, limits));
    return {
      origin: envoy.origin,
      pid: envoy.pid,
      extProcPid: extProc.pid,
      stop: async () => {
        await envoy.stop();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
