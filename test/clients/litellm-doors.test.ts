import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { balanceOf, gatewayClient, untilNothingHeld } from '../harness/gateway-client.ts';
import { requirement } from '../harness/requirement.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { jsonAnswer, streamAnswer } from '../provider/acts.ts';
import { DEFAULT_TEXT } from '../provider/chat-format.ts';
import { embeddingsAnswer } from '../provider/embeddings.ts';
import { clientsMissing } from './run-client.ts';

const CLIENTS = resolve(import.meta.dirname, '../../.cache/clients');
const LONGEST_MS = 240_000;
const USAGE = { prompt_tokens: 100, completion_tokens: 50 };
/** Cost at 1,000 nano-dollars a token. */
const COST = 0.00015;

const gateway = withGateway({
  config: {
    models: { m: {}, vectors: { capabilities: ['embeddings'], usd_per_million_tokens: { input: 1 } } },
    apis: { responses: true, messages: true, embeddings: true },
  },
});
const home = mkdtempSync(join(tmpdir(), 'gw-litellm-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

requirement(clientsMissing(), () => {
  test('LiteLLM uses Responses, Messages and Embeddings with base URL and key alone', {
    timeout: LONGEST_MS,
  }, async () => {
    const { key } = await gateway.stack.operator.customer();
    const answer = { usage: USAGE };
    const [whole, streamed] = [jsonAnswer(answer), streamAnswer(answer)];
    gateway.provider.script('m', (call) => (call.seen.stream ? streamed : whole)(call));
    gateway.provider.script('vectors', embeddingsAnswer({ usage: { prompt_tokens: 7, total_tokens: 7 } }));
    const script = join(import.meta.dirname, 'python/litellm_doors.py');
    const { stdout } = await promisify(execFile)(join(CLIENTS, 'openai-2/bin/python'), [script], {
      timeout: LONGEST_MS,
      cwd: home,
      env: {
        ...{ PATH: process.env.PATH, HOME: home, TMPDIR: home, NO_PROXY: '*', LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
        ...{ PYTHONPYCACHEPREFIX: join(CLIENTS, 'bytecode'), GATEWAY_MODEL: 'm' },
        ...{ GATEWAY_URL: `${gateway.stack.origin}/v1`, GATEWAY_KEY: key },
      },
    });
    // LiteLLM prints further lines.
    const acts = stdout.split('\n').filter((line) => line.startsWith('{"act"'));
    const ofMessages = { input_tokens: 100, output_tokens: 50 };
    const ofChat = { prompt_tokens: 100, completion_tokens: 50 };
    expect(acts.map((line) => JSON.parse(line))).toMatchObject([
      { act: 'responses', text: DEFAULT_TEXT, usage: ofMessages },
      { act: 'responses, streamed', text: DEFAULT_TEXT, usage: ofMessages },
      { act: 'messages', text: DEFAULT_TEXT, usage: ofMessages },
      { act: 'messages by completion', text: DEFAULT_TEXT, usage: ofChat },
      { act: 'messages by completion, streamed', text: DEFAULT_TEXT, usage: ofChat },
      { act: 'embedding', text: expect.stringMatching(/^[1-9]/), usage: { prompt_tokens: 7 } },
    ]);
    const client = gatewayClient(gateway.stack.origin, key);
    await untilNothingHeld(client);
    expect(100 - (await balanceOf(client))).toBeCloseTo(5 * COST + 0.000007, 9);
    client.close();
  });
});
