import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll } from 'vitest';
import { requirement } from '../harness/requirement.ts';
import { type Agent, type AgentResult, agentTests, withAgentGateway } from '../sdk/agent-loop.ts';
import { clientsMissing } from './run-client.ts';

const PYTHON = resolve(import.meta.dirname, '../../.cache/clients/openai-3/bin/python');
const SCRIPT = join(import.meta.dirname, 'python/agent_loop.py');
const LONGEST_MS = 240_000;

const home = mkdtempSync(join(tmpdir(), 'gw-agents-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const AGENTS_SDK: Agent = {
  name: 'OpenAI Agents SDK (Python)',
  async run({ baseUrl, key, model, stream }) {
    const own = { GATEWAY_URL: baseUrl, GATEWAY_KEY: key, GATEWAY_MODEL: model, STREAM: String(stream) };
    const child = spawn(PYTHON, [SCRIPT], {
      env: { ...own, PATH: process.env.PATH, HOME: home, NO_PROXY: '*', PYTHONDONTWRITEBYTECODE: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LONGEST_MS,
      killSignal: 'SIGKILL',
    });
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    if (code !== 0) throw new Error(`the Agents SDK ended with ${code}:\n${stderr}`);
    return JSON.parse(stdout) as AgentResult;
  },
};

requirement(clientsMissing(), () => agentTests(withAgentGateway(), AGENTS_SDK));
