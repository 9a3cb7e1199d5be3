import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { DASHBOARD } from '../../fixtures/observability-files.ts';
import { showLogsOnFailure } from '../../harness/failure-logs.ts';
import { type GatewayClient, gatewayClient } from '../../harness/gateway-client.ts';
import { opened } from '../../harness/opened.ts';
import { PROMETHEUS, type Prometheus, startPrometheus } from '../../harness/prometheus.ts';
import { requirement } from '../../harness/requirement.ts';
import { type Stack, startStack } from '../../harness/stack.ts';
import { errorAnswer } from '../../provider/acts.ts';
import { startFakeProvider } from '../../provider/fake-provider.ts';

const JOB = 'inference-gateway';
/** Half a second between two tries. */
const SOON = { interval: 500 };

requirement(missingPrometheus(), () => {
  const provider = opened(startFakeProvider);
  let stack: Stack;
  let client: GatewayClient;
  let prometheus: Prometheus;
  beforeAll(async () => {
    provider.script('broken', errorAnswer(500, 'oops'));
    stack = await startStack({
      postgresSocketDir: inject('postgresSocketDir'),
      config: {
        // Envoy never ejects providers on the loopback, and has no metric of it for them. The
        // distant provider gets no requests.
        providers: { fake: { base_url: provider.baseUrl }, far: { base_url: 'https://192.0.2.1/v1' } },
        models: { plain: {}, broken: {}, far: { targets: [{ provider: 'far', model: 'far' }] } },
      },
    });
    client = gatewayClient(stack.origin, (await stack.operator.customer()).key);
    prometheus = await startPrometheus(stack.metricsOrigin, JOB);
  });
  afterAll(async () => {
    client?.close();
    await prometheus?.close();
    await stack?.close();
  });
  showLogsOnFailure(() => stack);

  test('every query of every panel returns a number once there is traffic', async () => {
    const queries = DASHBOARD.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));
    expect(queries.length).toBeGreaterThan(60);
    const emptyOnes = async (): Promise<string[]> => {
      await someTraffic();
      const empty: string[] = [];
      for (const { title, expr } of queries) {
        const values = await prometheus.query(asGrafanaAsks(expr));
        // A ratio or quantile without samples is NaN.
        if (!values.some(Number.isFinite)) empty.push(`${title}: ${expr}`);
      }
      return empty;
    };
    await expect.poll(emptyOnes, SOON).toEqual([]);
  });

  /**
   * Sends every kind of request that a panel shows: JSON and streams, failures, refusals, requests
   * with an Idempotency-Key, reads.
   */
  async function someTraffic(): Promise<void> {
    await client.chat({ model: 'plain' });
    await client.chat({ model: 'plain', stream: true });
    await client.chat({ model: 'plain' }, { headers: { 'idempotency-key': String(performance.now()) } });
    await client.chat({ model: 'broken' });
    await client.chat({ model: 'plain', temperature: 7 });
    await client.get('/v1/credits');
  }
});

/** The query with all instances selected, over an interval with several scrapes. */
function asGrafanaAsks(expr: string): string {
  const asked = expr.replaceAll('$job', JOB).replaceAll('$instance', '.*').replaceAll('$__rate_interval', '10s');
  expect(asked).not.toContain('$');
  return asked;
}

function missingPrometheus(): string | undefined {
  try {
    execFileSync(PROMETHEUS, ['--version'], { stdio: 'ignore', timeout: 60_000 });
    return undefined;
  } catch {
    return 'prometheus on the PATH (Debian: apt-get install prometheus)';
  }
}
