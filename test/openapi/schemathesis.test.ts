import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { API_DOCUMENT, apiDocument } from '../fixtures/api-document.ts';
import { REPOSITORY } from '../harness/deployment.ts';
import { requirement } from '../harness/requirement.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { embeddingsAnswer } from '../provider/embeddings.ts';

/**
 * Schemathesis generates valid and invalid requests from docs/openapi.yaml, and checks the
 * responses against it. OPENAPI_SEED selects other requests, OPENAPI_EXAMPLES sets their number.
 */
const PROGRAMS = join(REPOSITORY, '.cache/schemathesis/bin');
const SCHEMATHESIS = join(PROGRAMS, 'schemathesis');
const MISSING = existsSync(SCHEMATHESIS)
  ? undefined
  : 'no Schemathesis in .cache/schemathesis: node scripts/setup.mjs --openapi installs it';
const { OPENAPI_SEED = '1', OPENAPI_EXAMPLES = '200' } = process.env;
const MOST_MS = Math.max(1_200_000, Number(OPENAPI_EXAMPLES) * 1000);

const MODEL = 'gpt-6-luna';
const EMBEDS = 'text-embedding-3-small';
const EFFORTS = ['low', 'high'];

/** Runs one of the programs. Resolves with its status and output. */
async function run(program: string, args: readonly string[], cwd: string) {
  const env = {
    ...process.env,
    PYTHONPATH: import.meta.dirname,
    PYTHONDONTWRITEBYTECODE: '1',
    SCHEMATHESIS_HOOKS: 'checks',
  };
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: MOST_MS });
  const pieces: Buffer[] = [];
  for (const output of [child.stdout, child.stderr]) output.on('data', (piece: Buffer) => pieces.push(piece));
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, output: Buffer.concat(pieces).toString() };
}

requirement(MISSING, () => {
  const gateway = withGateway(
    {
      config: {
        models: {
          [MODEL]: {
            capabilities: ['tools', 'vision', 'json_mode', 'files'],
            reasoning_efforts: EFFORTS,
            max_output_tokens: 100_000,
          },
          [EMBEDS]: { capabilities: ['embeddings'], usd_per_million_tokens: { input: 1 } },
        },
        apis: { responses: true, messages: true, embeddings: true },
        limits: { read_rpm: 1_000_000, refused_rpm: 10_000_000 },
      },
    },
    { provider: { record: false } },
  );
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'gateway-openapi-'));
    return () => rmSync(folder, { recursive: true });
  });

  test('docs/openapi.yaml is valid OpenAPI', async () => {
    const { status, output } = await run(join(PROGRAMS, 'openapi-spec-validator'), [API_DOCUMENT], folder);
    expect(status, output).toBe(0);
  });

  test('Schemathesis finds no violation', { timeout: MOST_MS }, async () => {
    gateway.provider.script(EMBEDS, embeddingsAnswer());
    // Only requests for an existing model reach the provider.
    const document = structuredClone(apiDocument);
    const { schemas } = document.components;
    for (const name of ['ChatCompletionRequest', 'ResponsesRequest', 'MessagesRequest', 'CountTokensRequest'])
      Object.assign(schemas[name]?.properties ?? {}, { model: { type: 'string', enum: [MODEL] } });
    Object.assign(schemas.EmbeddingsRequest?.properties ?? {}, { model: { type: 'string', enum: [EMBEDS] } });
    Object.assign(schemas.ChatCompletionRequest?.properties ?? {}, { reasoning_effort: { enum: [...EFFORTS, null] } });
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document));
    const { key } = await gateway.stack.operator.customer({
      credit: '1000000',
      organization: { allowMultipleCompletions: true },
    });
    const args = [
      ...['run', 'openapi.json', '--url', gateway.stack.origin, '--header', `Authorization: Bearer ${key}`],
      // These two checks compare only statuses. test/openapi/checks.py compares error codes.
      ...['--checks', 'all', '--exclude-checks', 'positive_data_acceptance,unsupported_method'],
      ...['--phases', 'examples,coverage,fuzzing', '--seed', OPENAPI_SEED, '--max-examples', OPENAPI_EXAMPLES],
      ...['--request-timeout', '60', '--continue-on-failure', '--suppress-health-check', 'all'],
      ...['--generation-database', 'none', '--warnings', 'off', '--no-color'],
    ];
    const { status, output } = await run(SCHEMATHESIS, args, folder);
    expect(status, output).toBe(0);
    expect(output).toMatch(/Selected: 10\/10\s+Tested: 10/);
  });
});
