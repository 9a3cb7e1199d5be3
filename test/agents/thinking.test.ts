import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { requirement } from '../harness/requirement.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { errorAnswer, streamAnswer } from '../provider/acts.ts';
import type { Act } from '../provider/call.ts';
import { AGENTS } from './agents.ts';
import { agentsMissing, runScript } from './run-agent.ts';

const TURNS = 10;
const MODEL = 'thinks';
const gateway = withGateway(({ baseUrl }) => ({
  config: {
    providers: { remembering: { base_url: baseUrl, reasoning_memory: 'reasoning_content' } },
    models: { [MODEL]: { capabilities: ['tools'], targets: [{ provider: 'remembering', model: MODEL }] } },
  },
}));
const home = mkdtempSync(join(tmpdir(), 'gw-thinking-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

interface Message {
  readonly role: string;
  readonly tool_calls?: unknown;
  readonly reasoning_content?: string;
}

/** Like DeepSeek, refuses assistant tool calls without their `reasoning_content`. */
function thinkingModel(file: string, refused: string[]): Act {
  return (call) => {
    const { messages, tools } = call.seen.json as unknown as { messages: readonly Message[]; tools?: unknown };
    const lacking = messages.filter((one) => one.tool_calls !== undefined && !one.reasoning_content);
    refused.push(...lacking.map((one) => JSON.stringify(one)));
    if (lacking.length > 0) return errorAnswer(400, 'reasoning_content must be passed back')(call);
    const turn = messages.filter(({ role }) => role === 'tool').length;
    if (tools === undefined || turn === TURNS) return streamAnswer()(call);
    const input = { filePath: file, oldString: `turn ${turn}`, newString: `turn ${turn + 1}` };
    const edit = { id: `call_${turn}`, name: 'edit', arguments: JSON.stringify(input) };
    return streamAnswer({ reasoning: `I edit for the time ${turn}.`, toolCalls: [edit] })(call);
  };
}

requirement(agentsMissing(), () => {
  test('opencode makes ten turns with a model that requires its reasoning back', async () => {
    const [opencode] = AGENTS;
    if (opencode === undefined) throw new Error('no agent');
    const folder = join(home, 'work');
    const file = join(folder, 'greeting.txt');
    mkdirSync(folder);
    writeFileSync(file, 'turn 0\n');
    const refused: string[] = [];
    gateway.provider.script(MODEL, thinkingModel(file, refused));
    const { key } = await gateway.stack.operator.customer();
    const surroundings = { url: `${gateway.stack.origin}/v1`, key, model: MODEL, home, folder };
    const { exit, output } = await runScript(opencode, surroundings);
    expect(refused).toEqual([]);
    expect({ exit, text: readFileSync(file, 'utf8') }, output).toEqual({ exit: 0, text: `turn ${TURNS}\n` });
  });
});
