import { aiCompatibleClient, aiOpenaiClient } from './ai-sdk.ts';
import { langchainClient } from './langchain-sdk.ts';
import { nodeClient } from './node-sdk.ts';
import { pythonClient, pythonMissing } from './python-sdk.ts';
import type { SdkClient } from './sdk-client.ts';

/**
 * A client library that runs against the gateway, and how it differs from others for its callers.
 */
export interface Sdk {
  readonly name: string;
  /** Why it cannot run on this machine. `undefined` if it can. */
  readonly missing: string | undefined;
  readonly open: (baseUrl: string, apiKey: string) => SdkClient;
  /** False for the AI SDK and LangChain, which cannot list models. */
  readonly listsModels: boolean;
  /** True if callers see fields of `usage` that the OpenAI API does not have. */
  readonly showsCost: boolean;
  /** Class of the exception by status. `stream` is for an error event. */
  readonly errors: Readonly<Record<400 | 401 | 404 | 'stream', string>>;
  /** True if it does not retry because of `x-should-retry: false` or of a long `retry-after`. */
  readonly givesUpForTheDay: boolean;
  /** True if callers see the usage of a broken stream. */
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
