import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { sql } from '../harness/database.ts';
import type { Customer } from '../harness/operator.ts';
import { requirement } from '../harness/requirement.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { PRICES } from '../provider/agent-provider.ts';
import { embeddingsAnswer } from '../provider/embeddings.ts';
import { AGENTS, type Agent, NEW_TEXT, OLD_TEXT } from './agents.ts';
import { chatInOpenWebUi, EMBEDDING_MODEL, MEMORY } from './open-webui.ts';
import { agentsMissing, runScript } from './run-agent.ts';
import { costOfRequests, scriptedModel } from './scripted-model.ts';

/** Each agent has its own models, by which the provider identifies the agent. */
const refusedModelOf = ({ file }: Agent) => `${file}-refused`;
const MODEL = { capabilities: ['tools'], usd_per_million_tokens: PRICES };
const EMBEDDINGS = { capabilities: ['embeddings'], usd_per_million_tokens: { input: 1 } };
/** Cost of one token, the usage of an embedding. */
const EMBEDDING_NANO_USD = 1_000n;
const models = AGENTS.flatMap((agent) => [agent.file, refusedModelOf(agent)]).map((model) => [model, MODEL] as const);
const gateway = withGateway({
  config: {
    models: Object.fromEntries([...models, [EMBEDDING_MODEL, EMBEDDINGS]]),
    apis: { messages: true, responses: true, embeddings: true },
  },
});
const folder = mkdtempSync(join(tmpdir(), 'gw-agents-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs an agent whose model changes a file. Returns also the final text of the file. */
async function run(agent: Agent, { key }: Customer, model: string) {
  const home = mkdtempSync(join(folder, 'home-'));
  const work = join(home, 'work');
  const file = join(work, 'greeting.txt');
  mkdirSync(work);
  writeFileSync(file, OLD_TEXT);
  gateway.provider.script(EMBEDDING_MODEL, embeddingsAnswer());
  gateway.provider.script(model, scriptedModel(agent.turns(file)));
  const surroundings = { url: `${gateway.stack.origin}/v1`, key, model, home, folder: work };
  const { exit, output } = await (agent.isServer ? chatInOpenWebUi : runScript)(agent, surroundings);
  return { exit, output, text: readFileSync(file, 'utf8') };
}

/** Sum of a customer's charges in the ledger, in nano-USD. */
async function charged({ organizationId }: Customer): Promise<bigint> {
  const [row] = await sql<{ sum: string }>(
    gateway.stack.databaseUrl,
    `select coalesce(sum(-amount_nano_usd), 0)::text as sum from ledger_entries
     where kind = 'charge' and organization_id = '${organizationId}'`,
  );
  return BigInt(row?.sum ?? 0);
}

requirement(agentsMissing(), () => {
  describe.concurrent('with base URL and key alone', () => {
    // Runs first, because some agents wait between attempts while others compute.
    test.for(AGENTS)('$name without credit reports it and exits', async (agent, { expect }) => {
      const customer = await gateway.stack.operator.customer({ credit: '0.000001' });
      const { exit, output, text } = await run(agent, customer, refusedModelOf(agent));
      expect(output).toContain('balance');
      expect({ exit, text }, output).toEqual({ exit: agent.refusedExit ?? 1, text: OLD_TEXT });
      expect(gateway.provider.requests(refusedModelOf(agent))).toEqual([]);
      expect(await charged(customer)).toBe(0n);
    });

    test.for(AGENTS)('$name changes a file, and is charged exactly', async (agent, { expect }) => {
      const customer = await gateway.stack.operator.customer();
      const { exit, output, text } = await run(agent, customer, agent.file);
      expect({ exit, text }, output).toEqual({ exit: 0, text: NEW_TEXT });
      const requests = () => gateway.provider.requests(agent.file).length;
      expect(requests()).toBeGreaterThanOrEqual(agent.turns('').length);
      // An agent may exit before its request for a title has reached the provider.
      const embedding = agent.isServer ? EMBEDDING_NANO_USD : 0n;
      const uncharged = async () => costOfRequests(requests()) + embedding - (await charged(customer));
      await expect.poll(uncharged).toBe(0n);
      const embedded = gateway.provider.requests(EMBEDDING_MODEL).map(({ json }) => json?.input);
      if (agent.isServer) expect(embedded).toEqual([[MEMORY]]);
    });
  });
});
