import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../launchers/free-ports.ts';
import type { Agent } from './agents.ts';
import { type AgentRun, type AgentSurroundings, endScript, startScript } from './run-agent.ts';

const TOOL = readFileSync(join(import.meta.dirname, 'python/change_file.py'), 'utf8');
/** The title of a new chat. */
const NEW_CHAT = 'New Chat';
export const EMBEDDING_MODEL = 'embeds';
/** A memory that it embeds. */
export const MEMORY = 'The user likes old words.';
/** Longest time for its start, and for its response. */
const LONGEST_MS = 140_000;

/** A message of a chat, as the page shows it. */
interface Message {
  readonly done?: boolean;
  readonly content?: string;
  readonly error?: unknown;
}

interface SavedChat {
  readonly title: string;
  readonly chat: { readonly history: { readonly messages: Readonly<Record<string, Message>> } };
}

/**
 * Starts the server, creates the tool, and sends a chat like its page. The exit code is 1 if the
 * page would show an error.
 */
export async function chatInOpenWebUi(agent: Agent, surroundings: AgentSurroundings): Promise<AgentRun> {
  const [port = 0] = await freePorts(1);
  const origin = `http://127.0.0.1:${port}`;
  const server = startScript(
    agent,
    { ...surroundings, port },
    // Without accounts, and with the packages of its slim image (python/open-webui.in).
    {
      ...{ WEBUI_AUTH: 'False', USE_SLIM_DOCKER: 'true', DATA_DIR: surroundings.home },
      GATEWAY_EMBEDDING_MODEL: EMBEDDING_MODEL,
    },
  );
  try {
    await until('started', async () => {
      if (server.hasEnded()) throw new Error(`Open WebUI did not start:\n${server.output()}`);
      return (await fetch(`${origin}/health`).catch(() => undefined))?.ok;
    });
    const { error, ...message } = await answerTo('Change old to new in greeting.txt.', origin, surroundings.model);
    return { exit: error === undefined ? 0 : 1, output: JSON.stringify({ ...message, error }) };
  } finally {
    await endScript(server);
  }
}

async function answerTo(content: string, origin: string, model: string): Promise<Message> {
  const { token } = await ask<{ token: string }>(`${origin}/api/v1/auths/signin`, {
    body: { email: '', password: '' },
  });
  const tool = { id: 'files', name: 'Files', content: TOOL, meta: { description: 'Changes files.' } };
  await ask(`${origin}/api/v1/tools/create`, { token, body: tool });
  // Fails after the embedding, because the slim image has no vector database.
  await ask(`${origin}/api/v1/memories/add`, { token, body: { content: MEMORY } }).catch(() => {});
  // Its page lists the models before a user chooses one.
  await ask(`${origin}/api/models`, { token });
  const answerId = randomUUID();
  const { chat_id } = await ask<{ chat_id: string }>(`${origin}/api/chat/completions`, {
    token,
    body: {
      ...{ model, stream: true, messages: [{ role: 'user', content }], tool_ids: ['files'], session_id: randomUUID() },
      ...{ parent_id: null, message_ids: [{ model_id: model, message_id: answerId }] },
      user_message: { id: randomUUID(), parentId: null, childrenIds: [], role: 'user', content, models: [model] },
      background_tasks: { title_generation: true },
    },
  });
  return until('answered', async () => {
    const { chat, title } = await ask<SavedChat>(`${origin}/api/v1/chats/${chat_id}`, { token });
    const answer = chat.history.messages[answerId];
    return answer?.done && title !== NEW_CHAT ? answer : undefined;
  });
}

interface Question {
  readonly token?: string;
  /** Absent for a GET. */
  readonly body?: object;
}

async function ask<T>(url: string, { token, body }: Question): Promise<T> {
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

/** Polls until there is a result. */
async function until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  const deadline = performance.now() + LONGEST_MS;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (performance.now() > deadline) throw new Error(`Open WebUI has not ${what} in time`);
    await sleep(200);
  }
}
