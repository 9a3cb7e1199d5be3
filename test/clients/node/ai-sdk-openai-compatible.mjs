import { createOpenAICompatible } from '@ai-sdk/openai-compatible';

const gateway = createOpenAICompatible({
  name: 'gateway',
  baseURL: process.env.GATEWAY_URL,
  apiKey: process.env.GATEWAY_KEY,
});
const model = gateway(process.env.GATEWAY_MODEL);

// End of the snippet.

import { actsOf } from './ai-sdk.mjs';

export const { chat, stream, tool } = actsOf(model);
