import { type Stack, startStack } from '../harness/stack.ts';
import type { LoadTarget } from './checks.ts';
import { type Generator, type MockProvider, startGenerator, startMockProvider } from './children.ts';

/** A stack with the mock provider and a load generator. */
export interface LoadStack {
  readonly stack: Stack;
  readonly target: LoadTarget;
  readonly generator: Generator;
  readonly provider: MockProvider;
  close(): Promise<void>;
}

export const LOAD_MODELS = ['json', 'fast-stream', 'paced-stream', 'big-stream', 'big-json'];

export async function startLoadStack(postgresSocketDir: string): Promise<LoadStack> {
  const provider = await startMockProvider();
  const stack = await startStack({
    postgresSocketDir,
    config: {
      providers: { mock: { base_url: `http://127.0.0.1:${provider.port}/v1` } },
      models: Object.fromEntries(LOAD_MODELS.map((name) => [name, {}])),
      timeouts: { first_byte: '60s', stream_idle: '60s', total: '120s' },
    },
  });
  const generator = await startGenerator();
  const { key } = await stack.operator.customer({ credit: '1000000', organization: { concurrency: 10_000 } });
  const { origin, envoy, gateway } = stack;
  return {
    stack,
    target: { origin, key, envoyPid: envoy.pid, gatewayPid: gateway.pid },
    generator,
    provider,
    close: async () => {
      await generator.stop();
      await stack.close();
      await provider.stop();
    },
  };
}
