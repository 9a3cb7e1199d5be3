/**
 * Runs the acts of one client: `node acts.mjs NAME`. Each act is a function that the client's file
 * exports. Prints a line of JSON for each, with its result or its error.
 */

import { NotThrown } from './not-thrown.mjs';

const PROMPTS = {
  chat: 'Say hello.',
  stream: 'Say hello piece by piece.',
  tool: 'How is the weather in Kyiv?',
  poor: 'Say hello on credit.',
};

/** Where an error may keep the response's error body. */
const BODIES = ['', 'error', 'cause', 'lastError', 'data.error', 'cause.data.error', 'lastError.data.error'];

function described(thrown) {
  const at = BODIES.find((path) => typeof memberOf(thrown, path)?.code === 'string');
  return {
    name: thrown instanceof NotThrown ? thrown.name : (thrown?.constructor?.name ?? typeof thrown),
    message: String(thrown?.message ?? thrown),
    at: at === undefined ? null : ['error', ...at.split('.'), 'code'].filter((part) => part !== '').join('.'),
    code: at === undefined ? null : memberOf(thrown, at).code,
  };
}

function memberOf(value, path) {
  return path === '' ? value : path.split('.').reduce((member, name) => member?.[name], value);
}

async function perform(name, act, prompt) {
  let outcome;
  try {
    outcome = { got: await act(prompt) };
  } catch (error) {
    outcome = { error: described(error) };
  }
  process.stdout.write(`${JSON.stringify({ act: name, ...outcome })}\n`);
}

// Some clients print, but standard output is only for results.
console.log = console.error;
const file = new URL(`${process.argv[2]}.mjs`, import.meta.url).href;
const client = await import(file);
for (const act of ['chat', 'stream', 'tool']) if (client[act]) await perform(act, client[act], PROMPTS[act]);
process.env.GATEWAY_KEY = process.env.POOR_KEY;
// With a query it is loaded as another module, which creates its client with the other key.
const poor = await import(`${file}?poor`);
await perform('poor', poor.chat, PROMPTS.poor);
// Some clients leave timers and connections open.
process.exit();
