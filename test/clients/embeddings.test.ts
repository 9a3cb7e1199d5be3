import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { requirement } from '../harness/requirement.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { embeddingsAnswer } from '../provider/embeddings.ts';
import { clientsMissing } from './run-client.ts';

const ENVIRONMENTS = resolve(import.meta.dirname, '../../.cache/clients');
const LONGEST_MS = 240_000;
const MODEL = 'embeds';

const gateway = withGateway({
  config: {
    models: { [MODEL]: { capabilities: ['embeddings'], usd_per_million_tokens: { input: 1 } } },
    apis: { embeddings: true },
  },
});
const home = mkdtempSync(join(tmpdir(), 'gw-embeddings-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

requirement(clientsMissing(), () => {
  test.each([
    ['LangChain', 'openai-3', 'langchain_embeddings'],
    ['LlamaIndex', 'openai-2', 'llamaindex_embeddings'],
  ])('%s for Python gets a vector for each text', async (_, runtime, file) => {
    const { key, organizationId } = await gateway.stack.operator.customer({ credit: '1' });
    gateway.provider.script(MODEL, embeddingsAnswer({ dimensions: 2 }));
    const own = { GATEWAY_URL: `${gateway.stack.origin}/v1`, GATEWAY_KEY: key, GATEWAY_MODEL: MODEL };
    const { stdout } = await promisify(execFile)(
      join(ENVIRONMENTS, runtime, 'bin/python'),
      [join(import.meta.dirname, 'python', `${file}.py`)],
      {
        env: {
          ...{ ...own, PATH: process.env.PATH, HOME: home, TMPDIR: home, NO_PROXY: '*' },
          PYTHONPYCACHEPREFIX: join(ENVIRONMENTS, 'bytecode'),
        },
        timeout: LONGEST_MS,
        killSignal: 'SIGKILL',
      },
    );
    expect(JSON.parse(stdout)).toEqual([
      [expect.closeTo(1 / 3), expect.closeTo(1 / 4)],
      [expect.closeTo(2 / 3), expect.closeTo(2 / 4)],
    ]);
    // One token for each text, at 1 USD per million.
    expect(await gateway.stack.operator.balance(organizationId)).toBe(0.999998);
  });
});
