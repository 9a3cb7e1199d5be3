import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { sql } from '../harness/database.ts';
import type { Customer } from '../harness/operator.ts';
import { requirement } from '../harness/requirement.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { AGENT_APIS, type AgentApi } from '../provider/agent-apis.ts';
import { costNanoUsd, PRICES, reasoningOf } from '../provider/agent-provider.ts';
import { AGENTS, type Turn } from './agents.ts';
import { agentsMissing, runScript } from './run-agent.ts';
import { scriptedModel } from './scripted-model.ts';

const TURNS = 10;
const CUT_TURN = 5;

/** An agent whose model has targets of one API. */
interface Case {
  readonly name: string;
  readonly over: AgentApi;
  /** Name of the model. Agents choose their tools by it. */
  readonly model: string;
  turns(path: string): readonly Turn[];
  /** The file after all turns. */
  readonly text: string;
  /** Text that the target receives only if the agent's body is passed on. */
  readonly passed?: string;
}

const step = (turn: number) => `step ${turn}`;
const steps = (last: number): number[] => Array.from({ length: last }, (_, index) => index);

/** Codex uses a JavaScript tool for models that it knows, and a command tool for others. */
const CODEX: Record<AgentApi['api'], Pick<Case, 'model'> & { readonly edit: (command: string) => Turn }> = {
  chat: {
    model: 'gpt-6.1-sol',
    edit: (cmd) => ({ tool: 'functions__exec', input: javaScript(cmd) }),
  },
  responses: {
    model: 'gpt-6.1-terra',
    edit: (cmd) => ({ tool: 'exec', namespace: 'functions', input: javaScript(cmd) }),
  },
  anthropic: { model: 'sonnet-in-codex', edit: (cmd) => ({ tool: 'exec_command', input: { cmd } }) },
};
const javaScript = (cmd: string) => `text(await tools.exec_command(${JSON.stringify({ cmd })}))`;

const codex = (over: AgentApi): Case => ({
  ...{ name: 'Codex', over, model: CODEX[over.api].model },
  ...(over.api === 'responses' ? { passed: 'input.0.tools' } : {}),
  text: step(TURNS),
  turns: (path) => steps(TURNS).map((at) => CODEX[over.api].edit(`sed -i 's/${step(at)}/${step(at + 1)}/' '${path}'`)),
});

const claudeCode = (over: AgentApi): Case => ({
  ...{ name: 'Claude Code', over, model: `claude-sonnet-5-5-over-${over.api}` },
  ...(over.api === 'anthropic' ? { passed: 'context_management' } : {}),
  text: step(TURNS - 1),
  // Its tool edits only files that it has read.
  turns: (file_path) => [
    { tool: 'Read', input: { file_path } },
    ...steps(TURNS - 1).map((at) => ({
      tool: 'Edit',
      input: { file_path, old_string: step(at), new_string: step(at + 1) },
    })),
  ],
});

const CASES = AGENT_APIS.flatMap((over) => [codex(over), claudeCode(over)]);
const cutModelOf = ({ model }: Case) => `${model}-cut`;

const gateway = withGateway(({ baseUrl }) => {
  const modelFor = (over: AgentApi, model: string) => ({
    capabilities: ['tools', 'vision'],
    reasoning_efforts: ['low', 'medium', 'high'],
    usd_per_million_tokens: PRICES,
    targets: [{ provider: 'fake', model, api: over.api }],
  });
  return {
    config: {
      providers: { fake: { base_url: baseUrl, reasoning_memory: 'reasoning_content' } },
      models: Object.fromEntries(
        CASES.flatMap((one) =>
          [one.model, cutModelOf(one)].map((model) => [model, modelFor(one.over, model)] as const),
        ),
      ),
      apis: { messages: true, responses: true },
    },
  };
});
const folder = mkdtempSync(join(tmpdir(), 'gw-target-apis-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs an agent whose model changes a file in every turn. */
async function run({ name, over, turns }: Case, { key }: Customer, model: string, cutTurn?: number) {
  const agent = AGENTS.find((one) => one.name === name);
  if (agent === undefined) throw new Error(`no agent ${name}`);
  const home = mkdtempSync(join(folder, 'home-'));
  const work = join(home, 'work');
  const file = join(work, 'greeting.txt');
  mkdirSync(work);
  writeFileSync(file, step(0));
  gateway.provider.script(model, scriptedModel(turns(file), { over, thinks: true, ...(cutTurn ? { cutTurn } : {}) }));
  const surroundings = { url: `${gateway.stack.origin}/v1`, key, model, home, folder: work };
  const { exit, output } = await runScript(agent, surroundings);
  return { output, ended: { exit, text: readFileSync(file, 'utf8') } };
}

interface Charge {
  readonly cost: bigint;
  /** True if the provider reported no usage. */
  readonly isCounted: boolean;
  readonly finishReason: string | null;
}

/** All charges of a customer in order. */
async function chargesOf({ organizationId }: Customer): Promise<Charge[]> {
  await gateway.stack.operator.balance(organizationId);
  const rows = await sql<{ cost: string; counted: boolean; reason: string | null }>(
    gateway.stack.databaseUrl,
    `select -amount_nano_usd as cost, usage_counted as counted, finish_reason as reason
     from ledger_entries join generations on generations.id = generation_id
     where kind = 'charge' and generations.organization_id = '${organizationId}' order by sequence`,
  );
  return rows.map(({ cost, counted, reason }) => ({ cost: BigInt(cost), isCounted: counted, finishReason: reason }));
}

/** The model's reasoning in all turns, which an agent's last request sends back. */
const THOUGHTS = steps(TURNS).map((at) => `reasoning ${reasoningOf(at + 1)}`);

requirement(agentsMissing(), () => {
  describe.concurrent('through targets of each API', () => {
    afterAll(() => gateway.stack.operator.verifyLedger());

    test.for(CASES)('$name makes ten turns over $over.api, each charged exactly', async (one, { expect }) => {
      const customer = await gateway.stack.operator.customer();
      const { ended, output } = await run(one, customer, one.model);
      expect(ended, output).toEqual({ exit: 0, text: one.text });
      const requests = gateway.provider.requests(one.model);
      expect(requests).toHaveLength(TURNS + 1);
      if (one.passed) expect(requests[0]?.json).toHaveProperty(one.passed);
      const last = requests.at(-1);
      expect(last && one.over.partsIn(last).filter((part) => part.startsWith('reasoning'))).toEqual(THOUGHTS);
      const exact = requests.map((_, at) => ({ cost: costNanoUsd(at + 1), isCounted: false }));
      expect(await chargesOf(customer)).toMatchObject(exact);
    });

    test.for(CASES)('$name repeats a turn that was cut over $over.api', async (one, { expect }) => {
      const customer = await gateway.stack.operator.customer();
      const model = cutModelOf(one);
      const { ended, output } = await run(one, customer, model, CUT_TURN);
      expect(ended, output).toEqual({ exit: 0, text: one.text });
      expect(gateway.provider.requests(model)).toHaveLength(TURNS + 2);
      const charges = await chargesOf(customer);
      const [cut] = charges.splice(CUT_TURN - 1, 1);
      expect(cut).toMatchObject({ isCounted: true, finishReason: 'error' });
      expect(cut?.cost).toBeGreaterThan(0n);
      const others = steps(TURNS + 2).filter((at) => at !== CUT_TURN - 1);
      expect(charges).toMatchObject(others.map((at) => ({ cost: costNanoUsd(at + 1), isCounted: false })));
    });
  });
});
