import { rawAnswer } from './acts.ts';
import type { Act } from './call.ts';

export interface EmbeddingsContent {
  /** `null` omits the usage. Default: one token for each input. */
  readonly usage?: object | null;
  /** Components of each vector. */
  readonly dimensions?: number;
  /** Further members of the response. */
  readonly members?: object;
  readonly ofVector?: object;
}

/** Returns a vector for each input in the requested encoding. */
export function embeddingsAnswer(content: EmbeddingsContent = {}): Act {
  const { usage, dimensions = 4, members = {}, ofVector = {} } = content;
  return (call) => {
    const { input, encoding_format: encoding } = call.seen.json ?? {};
    const isSeveral = Array.isArray(input) && typeof input[0] !== 'number';
    const count = isSeveral ? input.length : 1;
    const data = Array.from({ length: count }, (_, index) => {
      const vector = Float32Array.from({ length: dimensions }, (_, at) => Math.fround((index + 1) / (at + 3)));
      const embedding = encoding === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector];
      return { object: 'embedding', index, embedding, ...ofVector };
    });
    const reported = usage === undefined ? { prompt_tokens: count, total_tokens: count } : usage;
    const body = { object: 'list', data, model: call.seen.model, usage: reported, ...members };
    return rawAnswer(200, { 'content-type': 'application/json' }, JSON.stringify(body))(call);
  };
}
