import { aiCompatibleClient, aiOpenaiClient } from './ai-sdk.ts';
import { langchainClient } from './langchain-sdk.ts';
import { nodeClient } from './node-sdk.ts';
import { pythonClient, pythonMissing } from './python-sdk.ts';
import type { SdkClient } from './sdk-client.ts';

/** The client libraries that run against the gateway, and where what their callers see differs. */
export interface Sdk {
  readonly name: string;
  /** Why it cannot run on this machine. */
  readonly missing: string | undefined;
  readonly open: (baseUrl: string, apiKey: string) => SdkClient;
  /** The libraries of the AI SDK and LangChain have no call for it. */
  readonly listsModels: boolean;
  /** Fields of `usage` that the OpenAI API does not have reach the caller. */
  readonly showsCost: boolean;
  /** Class of the exception, by status; `stream` for an error event. */
  readonly errors: Readonly<Record<400 | 401 | 404 | 'stream', string>>;
  /**
   * Gives up on `x-should-retry: false`, or because the `retry-after` of the day's end is too long
   * for it.
   */
  readonly givesUpForTheDay: boolean;
  /** The usage of a stream that broke reaches the caller. */
  readonly showsUsageOfBrokenStream: boolean;
}

const openaiErrors = { 400: 'BadRequestError', 401: 'AuthenticationError', 404: 'NotFoundError', stream: 'APIError' };
const aiErrors = { 400: 'APICallError', 401: 'APICallError', 404: 'APICallError', stream: 'StreamProviderError' };

export const SDKS: readonly Sdk[] = [
  {
    name: 'openai-node',
    missing: undefined,
    open: nodeClient,
    listsModels: true,
    showsCost: true,
    errors: openaiErrors,
    givesUpForTheDay: true,
    showsUsageOfBrokenStream: true,
  },
  {
    name: 'openai-python',
    missing: pythonMissing(),
    open: pythonClient,
    listsModels: true,
    showsCost: true,
    errors: openaiErrors,
    givesUpForTheDay: true,
    showsUsageOfBrokenStream: true,
  },
  {
    name: '@ai-sdk/openai',
    missing: undefined,
    open: aiOpenaiClient,
    listsModels: false,
    showsCost: false,
    errors: aiErrors,
    givesUpForTheDay: false,
    showsUsageOfBrokenStream: true,
  },
  {
    name: '@ai-sdk/openai-compatible',
    missing: undefined,
    open: aiCompatibleClient,
    listsModels: false,
    showsCost: true,
    errors: aiErrors,
    givesUpForTheDay: false,
    showsUsageOfBrokenStream: true,
  },
  {
    name: '@langchain/openai',
    missing: undefined,
    open: langchainClient,
    listsModels: false,
    showsCost: true,
    errors: openaiErrors,
    givesUpForTheDay: true,
    showsUsageOfBrokenStream: false,
  },
];
