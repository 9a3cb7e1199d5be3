import { z } from 'zod';
import { idOf, wholeNumber } from '#contract/fields.ts';
import { MAX_PLAY_MESSAGES, MAX_PLAY_TOKENS } from '#contract/playground.ts';
import { isModelId } from '#core/field-bounds.ts';
import { isProblem, type Problem, problem, tooManyPlaces } from '../http/problem.ts';
import { type OrganizationCall, type Relay, type Route, relayRoute, takerOf } from '../http/route.ts';
import { askGateway } from '../playground/ask-gateway.ts';
import { playSecret, restrictionsOf } from './play-key.ts';

const PLAY_MS = 5 * 60_000;

const modelId = z.string().refine(isModelId, { error: 'This is not a model id.' });

/** Only bounded by the size of the whole body. The gateway checks everything else. */
const chat = z.looseObject({
  model: modelId,
  messages: z
    .array(z.looseObject({}))
    .min(1, { error: 'Write a message.' })
    .max(MAX_PLAY_MESSAGES, { error: `At most ${MAX_PLAY_MESSAGES} messages.` }),
  max_tokens: wholeNumber(1, MAX_PLAY_TOKENS),
});

const play = z.strictObject({ chat, beside: modelId.exactOptional(), likeKey: idOf('key').exactOptional() });
type CheckedPlay = z.output<typeof play>;

export const PLAYGROUND_ROUTES: readonly Route[] = [
  relayRoute('/api/organizations/:organization/playground', { access: 'member', input: play, handle: begin }),
];

async function begin(call: OrganizationCall & { readonly input: CheckedPlay }): Promise<Relay | Problem> {
  const { deps, input } = call;
  const url = deps.settings().playgroundUrl;
  if (url === undefined) return problem('conflict', 'There is no playground: the operator has not set it up.');
  const body = bodyOf(input.chat);
  if (body === undefined) return problem('invalid', 'This is nested too deeply.');
  const restrictions = await restrictionsOf(call, input);
  if (isProblem(restrictions)) return restrictions;
  const end = await deps.playground.plays.take(takerOf(call));
  if (typeof end !== 'function') return tooMany(end);
  const secret = await playSecret(call, restrictions).catch((error: unknown) => {
    end();
    throw error;
  });
  if (typeof secret === 'string') return relayTo(url, secret, body, end);
  end();
  return secret;
}

const tooMany = tooManyPlaces(
  'You have four requests in progress here, or your organization has sixteen. Stop one or wait for it to end.',
  'Too many people are using the playground. Try again in a few seconds.',
);

function relayTo(url: string, secret: string, body: string, end: () => void): Relay {
  return {
    open: (left) => askGateway({ url, secret, body, signal: AbortSignal.any([left, AbortSignal.timeout(PLAY_MS)]) }),
    end,
  };
}

/** The request that any client would send. `undefined`: it is too deeply nested to be written. */
function bodyOf(request: CheckedPlay['chat']): string | undefined {
  try {
    return JSON.stringify({ ...request, stream: true, stream_options: { include_usage: true } });
  } catch {
    return undefined;
  }
}
