import { describe, expect, test } from 'vitest';
import type { Customer } from '../harness/operator.ts';
import { type GatewayOptions, withGateway } from '../harness/with-gateway.ts';
import { AGENT_APIS, type AgentApi, SIGNED_CHAT } from '../provider/agent-apis.ts';
import { ANSWER, costNanoUsd, expectedIn, PRICES, TURNS, turnOf } from '../provider/agent-provider.ts';
import type { Act, SeenRequest } from '../provider/call.ts';

/** An agent's loop with a tool, as users of a library write it. */
export interface Agent {
  readonly name: string;
  run(options: AgentOptions): Promise<AgentResult>;
}

export interface AgentOptions {
  readonly baseUrl: string;
  readonly key: string;
  readonly model: string;
  readonly stream: boolean;
}

export interface AgentResult {
  readonly answer?: string;
  /** Code of the error that the library reported. */
  readonly errorCode?: string | null;
}

const APIS = [...AGENT_APIS, SIGNED_CHAT];
const modelOf = ({ api, name = api }: AgentApi): string => `thinks-over-${name}`;

/** The gateway of a test file with agents. */
export function withAgentGateway(): ReturnType<typeof withGateway> {
  const models = APIS.map((one) => [modelOf(one), modelFor(one)] as const);
  return withGateway(({ baseUrl }) => ({
    config: {
      models: Object.fromEntries(models),
      providers: {
        fake: { base_url: baseUrl, reasoning_memory: 'reasoning_content' },
        signing: { base_url: baseUrl, reasoning_memory: 'extra_content' },
      },
      retries: { per_target: 0 },
      apis: { responses: true, messages: true },
      // The tests read the balance after each turn from the database.
      charges: { durable_in: 'database' },
    },
  }));
}

function modelFor(one: AgentApi): GatewayOptions['config']['models'][string] {
  const budgets = one.api === 'anthropic' ? { reasoning_budgets: { medium: 2_048 } } : {};
  return {
    capabilities: ['tools'],
    reasoning_efforts: ['medium'],
    usd_per_million_tokens: PRICES,
    targets: [{ provider: one === SIGNED_CHAT ? 'signing' : 'fake', model: modelOf(one), api: one.api, ...budgets }],
  };
}

/** Runs ten turns with each API, streamed or not, and a stream that is cut in turn 5. */
export function agentTests(gateway: ReturnType<typeof withGateway>, { name, run }: Agent): void {
  describe.each(APIS.map((api) => [modelOf(api), api] as const))(`${name} with a model that %s`, (model, api) => {
    /** Runs a loop. Returns also the charge of each turn. */
    async function loop(customer: Customer, stream: boolean, acts: readonly Act[]) {
      const { operator, origin } = gateway.stack;
      const before = gateway.provider.requests(model).length;
      const balances: bigint[] = [];
      const noteBalance = async () => {
        const organization = await operator.administration.organization(customer.organizationId);
        balances.push(organization?.balanceNanoUsd ?? 0n);
      };
      // A charge is committed before its response ends, and therefore before the next request.
      const noting = acts.map(
        (act): Act =>
          async (call) => {
            await noteBalance();
            await act(call);
          },
      );
      const [first, ...others] = noting;
      if (first === undefined) throw new Error('a loop needs turns');
      gateway.provider.script(model, first, ...others);
      const result = await run({ baseUrl: `${origin}/v1`, key: customer.key, model, stream });
      await noteBalance();
      const charges = balances.slice(1).map((balance, turn) => (balances[turn] ?? 0n) - balance);
      return { result, charges, requests: gateway.provider.requests(model).slice(before) };
    }

    const turns = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at);

    test.each([false, true])(
      'keeps its reasoning from turn to turn, and is charged for each turn, stream: %s',
      async (stream) => {
        const customer = await gateway.stack.operator.customer();
        const all = turns(1, TURNS);
        const { result, charges, requests } = await loop(
          customer,
          stream,
          all.map((turn) => api.answer(turnOf(turn))),
        );
        expect(result).toEqual({ answer: ANSWER });
        expect(requests.map((seen) => api.partsIn(seen))).toEqual(all.map(expectedIn));
        expect(requests.map(({ stream }) => stream)).toEqual(all.map(() => stream));
        const isAskedToReason = ({ json }: SeenRequest) => json?.thinking ?? json?.reasoning ?? json?.reasoning_effort;
        expect(requests.every(isAskedToReason)).toBe(true);
        expect(charges).toEqual(all.map(costNanoUsd));
      },
    );

    test('reports a stream that is cut in turn 5', async () => {
      const customer = await gateway.stack.operator.customer();
      const acts = [...turns(1, 4).map((turn) => api.answer(turnOf(turn))), api.cut(turnOf(5))];
      const { result, charges, requests } = await loop(customer, true, acts);
      expect(result).toEqual({ errorCode: 'upstream_error' });
      expect(requests.map((seen) => api.partsIn(seen))).toEqual(turns(1, 5).map(expectedIn));
      expect(charges.slice(0, 4)).toEqual(turns(1, 4).map(costNanoUsd));
      expect(charges[4]).toBeGreaterThan(0n);
    });
  });
}
