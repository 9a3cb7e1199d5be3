import { createOpenAI } from '@ai-sdk/openai';

const gateway = createOpenAI({ baseURL: process.env.GATEWAY_URL, apiKey: process.env.GATEWAY_KEY });
// Without `.chat` the provider asks for /v1/responses. A second turn there needs
// providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } }.
const model = gateway.chat(process.env.GATEWAY_MODEL);

// End of the snippet.

import { actsOf } from './ai-sdk.mjs';

export const { chat, stream, tool } = actsOf(model);
