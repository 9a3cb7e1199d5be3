import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess } from '../launchers/child-process.ts';
import { freePorts } from '../launchers/free-ports.ts';

/** A real Prometheus that scrapes one metrics page every half second. */
export interface Prometheus {
  /**
   * Runs an instant query and returns the value of each series. Rejects when the query is refused.
   */
  query(expr: string): Promise<readonly number[]>;
  close(): Promise<void>;
}

export const PROMETHEUS = process.env.PROMETHEUS ?? 'prometheus';

/** `job` is the job name that the alerts expect. */
export async function startPrometheus(metricsOrigin: string, job: string): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-prometheus-'));
  const [port = 0] = await freePorts(1);
  const config = {
    global: { scrape_interval: '500ms', scrape_timeout: '500ms' },
    scrape_configs: [{ job_name: job, static_configs: [{ targets: [new URL(metricsOrigin).host] }] }],
  };
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const server = startProcess(
    PROMETHEUS,
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  return {
    async query(expr) {
      const body = new URLSearchParams({ query: expr });
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/query`, { method: 'POST', body }).catch(() => {
        if (server.hasEnded()) throw new Error(`Prometheus ended:\n${server.output()}`);
      });
      // Prometheus is still starting.
      if (response === undefined || response.status === 503) return [];
      const answer = (await response.json()) as Answer;
      if (answer.status !== 'success') throw new Error(`${expr}: ${answer.error}`);
      return answer.data.result.map(({ value: [, text] }) => Number(text));
    },
    close: async () => {
      await server.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

type Answer =
  | { readonly status: 'success'; readonly data: { readonly result: readonly { readonly value: [number, string] }[] } }
  | { readonly status: 'error'; readonly error: string };
