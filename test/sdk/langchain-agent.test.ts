import { AIMessageChunk, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { TOOL } from '../provider/agent-provider.ts';
import { type Agent, type AgentOptions, type AgentResult, agentTests, withAgentGateway } from './agent-loop.ts';

const PARAMETERS = {
  type: 'object',
  properties: { step: { type: 'integer' }, note: { type: 'string' } },
  required: ['step', 'note'],
};
const TOOLS = [{ type: 'function' as const, function: { name: TOOL, parameters: PARAMETERS } }];

const LANGCHAIN: Agent = {
  name: 'LangChain',
  async run(options) {
    try {
      return { answer: await answerOf(options) };
    } catch (error) {
      return described(error);
    }
  },
};

/** The loop from LangChain's documentation of chat models. */
async function answerOf({ baseUrl, key, model, stream }: AgentOptions): Promise<string> {
  const chat = new ChatOpenAI({
    ...{ model, apiKey: key, configuration: { baseURL: baseUrl }, maxRetries: 0 },
    modelKwargs: { reasoning_effort: 'medium' },
  }).bindTools(TOOLS);
  const messages: BaseMessage[] = [new HumanMessage('Look at every step.')];
  for (;;) {
    const answer = stream ? await gathered(await chat.stream(messages)) : await chat.invoke(messages);
    messages.push(answer);
    const calls = answer.tool_calls ?? [];
    if (calls.length === 0) return answer.text;
    for (const { id = '', args } of calls)
      messages.push(new ToolMessage({ tool_call_id: id, content: `seen ${args.step}` }));
  }
}

async function gathered(chunks: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of chunks) whole = whole?.concat(chunk) ?? chunk;
  return whole ?? new AIMessageChunk('');
}

function described(error: unknown): AgentResult {
  if (!(error instanceof Error && 'code' in error)) throw error;
  return { errorCode: String(error.code) };
}

agentTests(withAgentGateway(), LANGCHAIN);
