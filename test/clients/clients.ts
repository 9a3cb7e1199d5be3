import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A client library, unmodified from its registry, that runs against the gateway. */
export interface Client {
  /** Name in docs/clients.md. */
  readonly name: string;
  /** Its file in `node` or `python`, without the extension. */
  readonly file: string;
  /** For Python, its environment in `.cache/clients` (scripts/setup/clients.mjs). */
  readonly runtime: 'node' | 'openai-3' | 'openai-2' | 'pydantic-2.13';
  /** Class of the error that its callers get for a 402. */
  readonly error: string;
  /** Path of the gateway's code in that error. `undefined` if the error has only the message. */
  readonly code?: string;
  /** The library's own code for the status, in `error.code`. */
  readonly ownCode?: string;
  /** Why it cannot stream. */
  readonly lacksStream?: string;
  /** Role of messages with tool results. Default: `tool`. */
  readonly resultRole?: 'user';
  /** How it requests the arguments of a tool. Default: it sends `tools`. */
  readonly asksFor?: 'a JSON Schema' | 'text';
  /** Number of requests of a run with a tool. Default: 2. */
  readonly toolRequests?: 3;
}

const OF_OPENAI = { error: 'APIError', code: 'error.code' };
const OF_OPENAI_PYTHON = { error: 'APIStatusError', code: 'error.code' };
const CAUSED = 'error.__cause__.code';
const OF_AI_SDK = { error: 'APICallError', code: 'error.data.error.code' };

export const CLIENTS: readonly Client[] = [
  { name: 'openai (Node)', file: 'openai', runtime: 'node', ...OF_OPENAI },
  { name: 'openai (Python)', file: 'openai_client', runtime: 'openai-3', ...OF_OPENAI_PYTHON },
  { name: 'AI SDK, @ai-sdk/openai', file: 'ai-sdk-openai', runtime: 'node', ...OF_AI_SDK },
  { name: 'AI SDK, @ai-sdk/openai-compatible', file: 'ai-sdk-openai-compatible', runtime: 'node', ...OF_AI_SDK },
  { name: 'LangChain (JavaScript)', file: 'langchain', runtime: 'node', ...OF_OPENAI },
  { name: 'LangChain (Python)', file: 'langchain_client', runtime: 'openai-3', ...OF_OPENAI_PYTHON },
  { name: 'LlamaIndex (TypeScript)', file: 'llamaindex', runtime: 'node', ...OF_OPENAI },
  { name: 'LlamaIndex (Python)', file: 'llamaindex_client', runtime: 'openai-2', ...OF_OPENAI_PYTHON },
  { name: 'OpenAI Agents SDK (JavaScript)', file: 'openai-agents', runtime: 'node', ...OF_OPENAI },
  { name: 'OpenAI Agents SDK (Python)', file: 'openai_agents_client', runtime: 'openai-3', ...OF_OPENAI_PYTHON },
  {
    name: 'Pydantic AI',
    file: 'pydantic_ai_client',
    runtime: 'openai-3',
    error: 'ModelQuotaExceededError',
    code: 'error.body["code"]',
  },
  { name: 'Agno', file: 'agno_client', runtime: 'openai-3', error: 'status: RunStatus.error' },
  { name: 'smolagents', file: 'smolagents_client', runtime: 'openai-3', ...OF_OPENAI_PYTHON, resultRole: 'user' },
  { name: 'Haystack', file: 'haystack_client', runtime: 'openai-3', ...OF_OPENAI_PYTHON },
  {
    name: 'Semantic Kernel',
    file: 'semantic_kernel_client',
    runtime: 'pydantic-2.13',
    error: 'ServiceResponseException',
    code: CAUSED,
  },
  {
    name: 'instructor',
    file: 'instructor_client',
    runtime: 'pydantic-2.13',
    error: 'InstructorRetryException',
    code: CAUSED,
    resultRole: 'user',
  },
  {
    name: 'DSPy',
    file: 'dspy_client',
    runtime: 'openai-2',
    error: 'LMBillingError',
    ownCode: 'billing',
    resultRole: 'user',
    asksFor: 'text',
    toolRequests: 3,
  },
  {
    name: 'browser-use',
    file: 'browser_use_client',
    runtime: 'openai-2',
    error: 'ModelProviderError',
    code: CAUSED,
    lacksStream: 'It has no streams.',
    resultRole: 'user',
    asksFor: 'a JSON Schema',
  },
  {
    name: 'mem0',
    file: 'mem0_client',
    runtime: 'pydantic-2.13',
    ...OF_OPENAI_PYTHON,
    lacksStream: 'It has no streams.',
    resultRole: 'user',
  },
  { name: 'LiteLLM', file: 'litellm_client', runtime: 'openai-2', error: 'APIError' },
  { name: 'pi-ai', file: 'pi-ai', runtime: 'node', error: "stopReason: 'error'" },
  { name: 'Continue', file: 'continue', runtime: 'node', ...OF_OPENAI },
];

/** Each client has its own model, by which the provider identifies the client. */
export function modelOf({ file, runtime }: Client): string {
  return `${runtime}-${file}`;
}

const END_OF_SNIPPET = /^(?:\/\/|#) End of the snippet\.$/m;

export function scriptOf({ file, runtime }: Client): string {
  const [folder, ending] = runtime === 'node' ? ['node', 'mjs'] : ['python', 'py'];
  return join(import.meta.dirname, folder, `${file}.${ending}`);
}

/** The lines of the client's script that docs/clients.md shows. */
export function snippetOf(client: Client): string {
  const [snippet = '', ...others] = readFileSync(scriptOf(client), 'utf8').split(END_OF_SNIPPET);
  if (others.length !== 1) throw new Error(`${client.file} has ${others.length} ends of its snippet`);
  return snippet.trim();
}
